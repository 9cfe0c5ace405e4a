"""The comparison with other packages, `make compare`. The command is in `__main__.py`."""

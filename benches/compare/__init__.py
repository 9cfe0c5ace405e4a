"""Parts of the benchmark against other packages; `compare_fit.py` puts them together."""

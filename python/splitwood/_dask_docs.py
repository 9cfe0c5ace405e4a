"""Docstrings of the estimators of a cluster, made of those of the plain estimators."""

from __future__ import annotations

import inspect
import re

# What differs from the plain estimators, as entries of numpydoc.
_PARAMETERS = {
    "n_jobs": """n_jobs : int, default=None
    Number of threads of each worker. None means those that the worker has. The model is the same
    for every value.
""",
    "verbose": """verbose : int, default=0
    1 prints the phase of the fit, its progress, and the bytes that were moved between workers. 0
    prints nothing.
""",
}
_CLIENT = """client : distributed.Client, default=None
    The cluster. None means the current client. It is not pickled.
"""


def with_sections_of(plain: type, own: str | None) -> str | None:
    """Insert the parameters and attributes of the plain class before the examples."""
    text = plain.__doc__
    if own is None or text is None:
        # Python was started without docstrings.
        return own
    parameters = _section(inspect.cleandoc(text), "Parameters")
    for name, entry in _PARAMETERS.items():
        parameters = re.sub(rf"^{name} : .+\n(?: {{4}}.+\n)+", entry, parameters, flags=re.M)
    attributes = _section(inspect.cleandoc(text), "Attributes")
    summary, examples = inspect.cleandoc(own).split("\nExamples\n")
    return (
        f"{summary}\nParameters\n----------\n{parameters}{_CLIENT}\n"
        f"Attributes\n----------\n{attributes}\n"
        f"See Also\n--------\nsplitwood.{plain.__name__} : The same model on one machine.\n\n"
        f"Examples\n{examples}\n"
    )


def _section(text: str, title: str) -> str:
    """Get the entries of a section; the last line ends with a line break."""
    (body,) = re.findall(rf"^{title}\n-+\n(.*?\n)\n", text, flags=re.DOTALL | re.MULTILINE)
    return str(body)

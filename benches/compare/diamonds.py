"""The prices of 53,940 diamonds, by size and grades: 9 columns, few distinct values in each.

From the PyPI package ``plotnine`` (MIT), as ggplot2 made them known.
"""

from functools import cache

import numpy as np

from compare import shipped

ROWS = 53_940
TARGET = "price"
COLUMNS = ("carat", "cut", "color", "clarity", "depth", "table", "x", "y", "z")


@cache
def load() -> tuple[np.ndarray, np.ndarray]:
    """Features as float32 and the price."""
    return shipped.read("plotnine", "plotnine/data/diamonds.csv", COLUMNS, TARGET)

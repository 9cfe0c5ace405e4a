"""Single trees with every option, and on tables as users have them.

The targets are ratios to scikit-learn's time; scikit-learn uses one thread.
"""

from typing import Any

from compare import census, flights
from compare.cases import (
    CANCER,
    CENSUS,
    COUNTS,
    DIGITS,
    EXTRA_TREE,
    FLIGHTS,
    MISSING,
    SPARSE,
    TEXT,
    UNIFORM,
    Case,
    Target,
)

# Rows that no tree has seen: a random tree fits its own rows perfectly, whatever it is worth.
HELD_OUT = 20_000
# Losses on held-out rows of two random trees differ by chance.
BY_CHANCE = 0.05
SIGNS = [0, 0, 0, 1, 1, 0, 0, -1, 0, 0]


def _option(name: str, ratio: float, options: dict[str, Any], **changes: Any) -> Case:
    """A fit of 100,000 × 10 with options, judged by held-out rows."""
    changes = {"held_out": HELD_OUT, "loss_tolerance": BY_CHANCE} | changes
    return Case(
        name,
        changes.pop("rows", 100_000),
        changes.pop("depth", None),
        (Target("scikit-learn", ratio),),
        options=options,
        **changes,
    )


OPTIONS = (
    _option("third", 18, {"max_features": 1 / 3}, quick=True),
    _option("sqrt-classes", 16, {"max_features": "sqrt"}, n_classes=2, quick=True),
    _option("sqrt-classes-50", 16, {"max_features": "sqrt"}, n_classes=2, columns=50),
    _option("third-absolute", 25, {"max_features": 1 / 3}, criterion="absolute_error"),
    _option("random", 8, {"splitter": "random"}, quick=True),
    _option("extra-tree-classes", 5, {}, model=EXTRA_TREE, n_classes=2, quick=True),
    _option("monotonic", 18, {"monotonic_cst": SIGNS}, quick=True),
    _option("leaves-1000", 20, {"max_leaf_nodes": 1_000}),
    _option("ccp-alpha", 100, {"ccp_alpha": 0.01}),
)

WEIGHTS = (
    _option("weights", 22, {}, weights=UNIFORM, quick=True),
    _option("counts", 22, {}, weights=COUNTS, quick=True),
    _option("counts-absolute", 22, {}, weights=COUNTS, criterion="absolute_error"),
)

TARGETS = (
    _option("five-outputs", 10, {}, n_outputs=5, quick=True),
    _option("three-outputs-classes", 10, {}, n_outputs=3, n_classes=2, quick=True),
    _option("ten-classes", 22, {}, n_classes=10, quick=True),
    _option("ten-classes-entropy", 22, {"criterion": "entropy"}, n_classes=10),
    _option("poisson", 18, {}, criterion="poisson", quick=True),
)

INPUTS = (
    _option("missing", 20, {}, source=MISSING, quick=True),
    _option("sparse", 6, {}, source=SPARSE, columns=1_000, depth=10, held_out=0),
    _option(
        "text",
        4,
        {},
        source=TEXT,
        rows=5_000,
        columns=5_000,
        n_classes=5,
        held_out=1_000,
        quick=True,
    ),
    _option("wide", 14, {}, rows=200, columns=5_000, held_out=0, quick=True),
    _option("small", 5, {}, rows=150, columns=4, held_out=0, quick=True),
)

# Carrier, origin and destination.
FLIGHT_CATEGORIES = tuple(map(flights.COLUMNS.index, ("carrier", "origin", "dest")))
TABLES = (
    Case(
        "census",
        40_000,
        None,
        (Target("scikit-learn", 10),),
        n_classes=2,
        source=CENSUS,
        columns=len(census.COLUMNS),
        held_out=8_000,
        loss_tolerance=BY_CHANCE,
        quick=True,
    ),
    Case(
        "digits",
        1_797,
        None,
        (Target("scikit-learn", 8),),
        n_classes=10,
        source=DIGITS,
        columns=64,
        quick=True,
    ),
    Case(
        "cancer",
        569,
        None,
        (Target("scikit-learn", 10),),
        n_classes=2,
        source=CANCER,
        columns=30,
        quick=True,
    ),
    Case(
        "flights-categories",
        flights.ROWS - 60_000,
        None,
        (Target("YDF", 1), Target("LightGBM", 1)),
        min_samples_leaf=20,
        source=FLIGHTS,
        columns=len(flights.COLUMNS),
        categories=FLIGHT_CATEGORIES,
        held_out=60_000,
        only_targets=True,
    ),
)

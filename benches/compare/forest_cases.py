"""Forests. All systems use the same number of threads, and losses are those of held-out rows.

Where a forest of 100 trees would take scikit-learn minutes, all systems grow fewer.
"""

from typing import Any

from compare import diamonds, flights
from compare.cases import (
    DIAMONDS,
    EXTRA_FOREST,
    FLIGHTS,
    FOREST,
    QUANTILE_FOREST,
    Case,
    Prediction,
    Target,
)

# The losses of two forests differ by chance.
BY_CHANCE = 0.05
HELD_OUT = 10_000
BESIDE = (Target("YDF", 4), Target("ranger", 1), Target("scikit-learn-intelex", 1))


def _forest(name: str, rows: int, trees: int, targets: tuple[Target, ...], **changes: Any) -> Case:
    fields: dict[str, Any] = {"model": FOREST, "held_out": HELD_OUT} | changes
    options = {"n_estimators": trees} | fields.pop("options", {})
    depth = fields.pop("depth", None)
    return Case(
        name,
        rows,
        depth,
        targets,
        options=options,
        loss_tolerance=BY_CHANCE,
        only_targets=True,
        **fields,
    )


CURVE = (Target("scikit-learn", 1), Target("YDF", 1))
FITS = (
    _forest("forest-1k", 1_000, 100, (Target("scikit-learn", 10),), quick=True),
    _forest("forest-10k", 10_000, 100, (Target("scikit-learn", 10), Target("YDF", 1))),
    # For the curves over rows and over trees.
    *(
        _forest(f"forest-{rows // 1_000}k-{trees}", rows, trees, CURVE)
        for rows, trees in ((1_000, 20), (10_000, 5), (10_000, 20))
    ),
    _forest(
        "forest-100k", 100_000, 20, (Target("scikit-learn", 12), Target("XGBoost", 4), *BESIDE)
    ),
    _forest("forest-1m", 1_000_000, 4, (Target("scikit-learn", 15),), memory_target=8),
    _forest(
        "forest-absolute", 100_000, 4, (Target("scikit-learn", 20),), criterion="absolute_error"
    ),
    _forest(
        "forest-absolute-depth6",
        100_000,
        4,
        (Target("scikit-learn", 30),),
        depth=6,
        criterion="absolute_error",
    ),
    _forest("forest-classes", 100_000, 20, (Target("scikit-learn", 8), *BESIDE), n_classes=2),
    _forest("forest-classes-54", 50_000, 10, (Target("scikit-learn", 8),), n_classes=2, columns=54),
    _forest("extra-trees", 100_000, 20, (Target("scikit-learn", 5),), model=EXTRA_FOREST),
    _forest(
        "extra-trees-classes",
        100_000,
        20,
        (Target("scikit-learn", 4),),
        model=EXTRA_FOREST,
        n_classes=2,
    ),
    _forest(
        "forest-diamonds",
        diamonds.ROWS - HELD_OUT,
        20,
        (Target("scikit-learn", 6),),
        source=DIAMONDS,
        columns=len(diamonds.COLUMNS),
        quick=True,
    ),
    _forest(
        "forest-flights-absolute",
        flights.ROWS - HELD_OUT,
        2,
        (Target("scikit-learn", 15),),
        source=FLIGHTS,
        columns=len(flights.COLUMNS),
        criterion="absolute_error",
        min_samples_leaf=20,
    ),
)

PREDICTIONS = (
    *(
        Prediction(
            f"forest-predict-{trees}",
            rows,
            None,
            (Target("scikit-learn", 8),),
            model=FOREST,
            options={"n_estimators": trees},
            only_targets=True,
        )
        for trees, rows in ((20, 100_000), (100, 20_000))
    ),
    Prediction(
        "forest-predict-one-row",
        10_000,
        None,
        (Target("scikit-learn", 50),),
        model=FOREST,
        options={"n_estimators": 100},
        predicted=1,
        calls=20,
        only_targets=True,
        quick=True,
    ),
    Prediction(
        "forest-quantiles",
        100_000,
        None,
        (Target("quantile-forest", 30), Target("quantile-forest, sampled", 3)),
        model=QUANTILE_FOREST,
        options={"n_estimators": 20},
        min_samples_leaf=10,
        predicted=100_000,
        held_out=2_000,
        loss_tolerance=BY_CHANCE,
        only_targets=True,
    ),
)

"""The cases of the comparison with their targets, and the series that show growth."""

from dataclasses import replace

from compare import diamonds, flights, forest_cases, option_cases
from compare.cases import (
    BEST_EXACT_PEER,
    COARSE,
    DIAMONDS,
    FLIGHTS,
    NOISE,
    OURS_NAME,
    TIES,
    UNIFORM,
    Case,
    Limit,
    Prediction,
    Series,
    Setting,
    Target,
)

SQUARED = Setting("splitwood, squared error", {"criterion": "squared_error"})
WEIGHTED = Setting("splitwood, weighted", {"weights": UNIFORM})
# The most that a tree of medians may cost beside a tree of means.
MEDIAN_LIMITS = (Limit(OURS_NAME, SQUARED.name, 2), Limit(WEIGHTED.name, SQUARED.name, 5))
MEDIANS = {
    "criterion": "absolute_error",
    "settings": (SQUARED, WEIGHTED),
    "limits": MEDIAN_LIMITS,
}
# A prediction allocates its result and very little else.
PREDICTION_BYTES = 500_000

SQUARED_ERROR = (
    Case("1k", 1_000, None, (Target("scikit-learn", 5),), quick=True),
    Case("10k", 10_000, None, quick=True),
    Case(
        "100k",
        100_000,
        None,
        (Target("scikit-learn", 25), Target(BEST_EXACT_PEER, 10)),
        quick=True,
    ),
    Case(
        "1m",
        1_000_000,
        None,
        (Target("scikit-learn", 35), Target(BEST_EXACT_PEER, 12)),
        memory_target=6,
    ),
)

ABSOLUTE_ERROR = (
    Case(
        "1k-absolute",
        1_000,
        None,
        criterion="absolute_error",
        settings=(SQUARED, WEIGHTED),
        quick=True,
    ),
    Case(
        "10k-absolute",
        10_000,
        None,
        criterion="absolute_error",
        settings=(SQUARED, WEIGHTED),
        quick=True,
    ),
    Case("100k-absolute", 100_000, None, (Target("scikit-learn", 40),), quick=True, **MEDIANS),
    Case("1m-absolute", 1_000_000, None, criterion="absolute_error", settings=(SQUARED,)),
    Case("100k-absolute-depth6", 100_000, 6, (Target("scikit-learn", 40),), **MEDIANS),
)

CLASSES = (
    Case("1k-classes", 1_000, None, n_classes=2, quick=True),
    Case("10k-classes", 10_000, None, n_classes=2),
    Case("100k-classes", 100_000, None, (Target("scikit-learn", 20),), n_classes=2, quick=True),
    Case("1m-classes", 1_000_000, None, n_classes=2),
    Case("100k-classes-depth6", 100_000, 6, n_classes=2),
)

DEPTHS = (
    Case("1k-depth6", 1_000, 6, quick=True),
    Case("10k-depth6", 10_000, 6, quick=True),
    Case("100k-depth1", 100_000, 1, quick=True),
    Case("100k-depth6", 100_000, 6, quick=True),
    Case("100k-depth12", 100_000, 12),
    Case("1m-depth1", 1_000_000, 1),
    Case(
        "1m-depth6",
        1_000_000,
        6,
        (Target("scikit-learn", 40), Target(BEST_EXACT_PEER, 8), Target("LightGBM", 2)),
        memory_target=6,
    ),
    Case("1m-depth12", 1_000_000, 12),
)

COLUMNS = (
    Case("10k-2", 10_000, None, columns=2, quick=True),
    Case("10k-50", 10_000, None, columns=50),
    Case("10k-200", 10_000, None, columns=200, quick=True),
    Case("10k-200-depth6", 10_000, 6, columns=200, quick=True),
)

KINDS = (
    Case("coarse", 100_000, None, source=COARSE, quick=True),
    Case("coarse-depth6", 100_000, 6, source=COARSE, quick=True),
    # Integer targets and tied features: many splits tie exactly, and the choice among them
    # changes the loss of the whole tree.
    Case("ties", 100_000, None, source=TIES, loss_tolerance=1e-3, quick=True),
    Case("ties-depth6", 100_000, 6, source=TIES, loss_tolerance=1e-3),
    Case("noise", 100_000, None, source=NOISE),
    Case("noise-depth6", 100_000, 6, source=NOISE),
)

_FLIGHTS = Case(
    "flights",
    flights.ROWS,
    None,
    min_samples_leaf=20,
    source=FLIGHTS,
    columns=len(flights.COLUMNS),
    # Delays are whole minutes: as for ties.
    loss_tolerance=1e-3,
)
_DIAMONDS = Case(
    "diamonds",
    diamonds.ROWS,
    None,
    source=DIAMONDS,
    columns=len(diamonds.COLUMNS),
    loss_tolerance=1e-3,
    quick=True,
)
REAL = (
    _FLIGHTS,
    replace(_FLIGHTS, name="flights-absolute", targets=(Target("scikit-learn", 40),), **MEDIANS),
    replace(_FLIGHTS, name="flights-classes", n_classes=2),
    _DIAMONDS,
    replace(_DIAMONDS, name="diamonds-absolute", quick=False, **MEDIANS),
    replace(_DIAMONDS, name="diamonds-classes", quick=False, n_classes=2),
)

_DEPTH6 = Prediction(
    "predict-depth6",
    100_000,
    6,
    (Target("scikit-learn", 8), Target("XGBoost", 3)),
    memory_target=PREDICTION_BYTES,
    quick=True,
)
_DEPTH12 = Prediction("predict-depth12", 100_000, 12, (Target("scikit-learn", 10),), quick=True)
_MANY_LEAVES = Prediction(
    "predict-100k-leaves",
    100_000,
    None,
    (Target("scikit-learn", 20), Target("YDF", 5)),
)
_MILLION_LEAVES = Prediction(
    "predict-1m-leaves",
    1_000_000,
    None,
    (Target("scikit-learn", 25), Target("YDF", 4)),
    only_targets=True,
    memory_target=PREDICTION_BYTES,
)
PREDICTIONS = (
    Prediction(
        "predict-one-row",
        100_000,
        6,
        (Target("scikit-learn", 20),),
        predicted=1,
        calls=100,
        quick=True,
    ),
    replace(_DEPTH12, name="predict-1k-rows", predicted=1_000, calls=20, targets=(), quick=False),
    replace(_DEPTH12, name="predict-10k-rows", predicted=10_000, calls=5, targets=(), quick=False),
    replace(_DEPTH12, name="predict-100k-rows", predicted=100_000, targets=(), quick=False),
    _DEPTH6,
    # The same in double precision, for its memory.
    replace(
        _DEPTH6,
        name="predict-depth6-double",
        dtype="float64",
        targets=(),
        only_targets=True,
        quick=False,
    ),
    _DEPTH12,
    _MANY_LEAVES,
    _MILLION_LEAVES,
    replace(_MILLION_LEAVES, name="predict-1m-leaves-double", dtype="float64", targets=()),
    *(
        replace(
            case,
            name=f"{case.name}-idle",
            idle=True,
            targets=(Target("scikit-learn", ratio),),
            only_targets=True,
            memory_target=None,
        )
        for case, ratio in ((_MANY_LEAVES, 20), (_MILLION_LEAVES, 25))
    ),
    Prediction(
        "predict-wide",
        100_000,
        12,
        (Target("scikit-learn", 5),),
        columns=50,
        dtype="float64",
    ),
)

GROUPS = {
    "Squared error": SQUARED_ERROR,
    "Absolute error": ABSOLUTE_ERROR,
    "Two classes": CLASSES,
    "Depth limits": DEPTHS,
    "Few and many columns": COLUMNS,
    "Hard kinds of data": KINDS,
    "Real data": REAL + option_cases.TABLES,
    "Options": option_cases.OPTIONS,
    "Weights": option_cases.WEIGHTS,
    "Several outputs and classes, counts": option_cases.TARGETS,
    "Missing values, sparse, wide and small tables": option_cases.INPUTS,
    "Forests": forest_cases.FITS,
    "Predictions": PREDICTIONS,
    "Predictions of forests": forest_cases.PREDICTIONS,
}
# Groups of cases that several peers can fit: one picture shows these, another one the rest.
PLAIN = (
    "Squared error",
    "Absolute error",
    "Two classes",
    "Depth limits",
    "Few and many columns",
    "Hard kinds of data",
    "Predictions",
)
CASES = tuple(replace(case, group=group) for group, cases in GROUPS.items() for case in cases)

ALONG_COLUMNS = ("10k-2", "10k", "10k-50", "10k-200")
SERIES = (
    Series("fit, squared error", "rows", ("1k", "10k", "100k", "1m")),
    Series(
        "fit, squared error, depth 6",
        "rows",
        ("1k-depth6", "10k-depth6", "100k-depth6", "1m-depth6"),
    ),
    Series(
        "fit, absolute error",
        "rows",
        ("1k-absolute", "10k-absolute", "100k-absolute", "1m-absolute"),
    ),
    Series("fit, two classes", "rows", ("1k-classes", "10k-classes", "100k-classes", "1m-classes")),
    Series(
        "predict, depth 12",
        "rows",
        ("predict-1k-rows", "predict-10k-rows", "predict-100k-rows", "predict-depth12"),
    ),
    Series("fit of 10,000 rows, squared error", "columns", ALONG_COLUMNS),
    Series("fit of a forest of 20", "rows", ("forest-1k-20", "forest-10k-20", "forest-100k")),
    Series(
        "fit of a forest, 10,000 rows", "trees", ("forest-10k-5", "forest-10k-20", "forest-10k")
    ),
    Series("fit, squared error", "rows", ("10k", "100k", "1m"), of="memory"),
    Series("fit of 10,000 rows, squared error", "columns", ALONG_COLUMNS[1:], of="memory"),
)


def in_memory_series(case: Case) -> bool:
    """Whether the memory of every system is measured, to show how it grows."""
    return any(case.name in series.cases for series in SERIES if series.of == "memory")

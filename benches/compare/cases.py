"""What is fitted and predicted, and how much faster than the others it should be."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.datasets import make_friedman1

from compare import flights

BEST_EXACT_PEER = "best exact peer"


@dataclass(frozen=True)
class Target:
    """The time of `against` should be at least `ratio` times ours."""

    against: str
    ratio: float


@dataclass(frozen=True)
class Setting:
    """splitwood on the same data, with some fields of the case changed."""

    name: str
    changes: dict[str, Any]


@dataclass(frozen=True)
class Limit:
    """The time of `system` should be at most `ratio` times that of `against`; both are splitwood."""

    system: str
    against: str
    ratio: float


OURS_NAME = "splitwood"
SQUARED = Setting("splitwood, squared error", {"criterion": "squared_error"})
WEIGHTED = Setting("splitwood, weighted", {"weighted": True})
# What a median tree may cost beside one of means.
MEDIAN_LIMITS = (Limit(OURS_NAME, SQUARED.name, 2), Limit(WEIGHTED.name, SQUARED.name, 5))


FRIEDMAN1 = "friedman1"
FLIGHTS = "New York flights"


@dataclass(frozen=True)
class Case:
    """One fit: data of some size, a depth, a kind of target."""

    name: str
    rows: int
    depth: int | None
    targets: tuple[Target, ...]
    classes: bool = False
    # What trees for values minimise, by scikit-learn's name.
    criterion: str = "squared_error"
    weighted: bool = False
    min_samples_leaf: int = 1
    source: str = FRIEDMAN1
    columns: int = 10
    # Fits of a millisecond need more rounds for a stable best.
    rounds_per_repeat: int = 1
    # How much worse than an exact peer's our training loss may be, as a share of it. Exact trees part where
    # two splits are all but equal; scikit-learn skips cuts between values less than 1e-7 apart.
    loss_tolerance: float = 1e-4
    # Most memory that a fit may add, in sizes of X.
    memory_target: float | None = None
    dtype: str = "float32"
    # What else splitwood fits to the data, and how the times of these fits should compare.
    settings: tuple[Setting, ...] = ()
    limits: tuple[Limit, ...] = ()
    # Peers that have no target are left out, where their fits take minutes.
    only_targets: bool = False

    def asks(self, peer: str) -> bool:
        """Whether this peer is to be measured."""
        return not self.only_targets or any(target.against == peer for target in self.targets)

    def under(self, setting: Setting) -> Self:
        """The same case, changed as the setting says."""
        return replace(self, **setting.changes)

    @property
    def title(self) -> str:
        kind = "two classes" if self.classes else self.criterion.replace("_", " ")
        kind = f"weighted {kind}" if self.weighted else kind
        leaf = f", leaves of {self.min_samples_leaf} and more" if self.min_samples_leaf > 1 else ""
        source = "" if self.source == FRIEDMAN1 else f"{self.source}, "
        return f"{source}{self.rows:,} × {self.columns}, {kind}, {self._depth}{leaf}"

    @property
    def _depth(self) -> str:
        return "unlimited depth" if self.depth is None else f"depth {self.depth}"


@dataclass(frozen=True)
class Prediction(Case):
    """A fit, and the rows that its tree is to predict."""

    predicted: int = 1_000_000
    # Calls that are timed as one: those of a microsecond are shorter than the clock's own time.
    calls: int = 1

    @property
    def title(self) -> str:
        leaves = self._depth if self.depth else f"{self.rows:,} leaves"
        rows = "one row" if self.predicted == 1 else f"{self.predicted:,} rows"
        return f"{rows} × {self.columns} {self.dtype}, {leaves}"


@dataclass(frozen=True)
class Data:
    """Features in C order; y as float64, or as class codes 0 and 1; weights for those who want some."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray


CASES = (
    Case(
        "1m",
        1_000_000,
        None,
        (Target("scikit-learn", 35), Target(BEST_EXACT_PEER, 12)),
        memory_target=6,
    ),
    Case(
        "1m-depth6",
        1_000_000,
        6,
        (Target("scikit-learn", 40), Target(BEST_EXACT_PEER, 8), Target("LightGBM", 2)),
        memory_target=6,
    ),
    Case("100k", 100_000, None, (Target("scikit-learn", 25), Target(BEST_EXACT_PEER, 10))),
    Case("100k-classes", 100_000, None, (Target("scikit-learn", 20),), classes=True),
    Case(
        "flights",
        flights.ROWS,
        None,
        (),
        min_samples_leaf=20,
        source=FLIGHTS,
        columns=len(flights.COLUMNS),
    ),
    Case(
        "1m-absolute",
        1_000_000,
        None,
        (),
        criterion="absolute_error",
        settings=(SQUARED,),
        only_targets=True,
    ),
    Case(
        "100k-absolute",
        100_000,
        None,
        (Target("scikit-learn", 40),),
        criterion="absolute_error",
        settings=(SQUARED, WEIGHTED),
        limits=MEDIAN_LIMITS,
    ),
    Case(
        "100k-absolute-depth6",
        100_000,
        6,
        (Target("scikit-learn", 40),),
        criterion="absolute_error",
        settings=(SQUARED, WEIGHTED),
        limits=MEDIAN_LIMITS,
    ),
    Case(
        "flights-absolute",
        flights.ROWS,
        None,
        (Target("scikit-learn", 40),),
        criterion="absolute_error",
        min_samples_leaf=20,
        source=FLIGHTS,
        columns=len(flights.COLUMNS),
        # Delays are whole minutes: many splits tie exactly, and which of them is taken changes
        # the loss of the whole tree, in scikit-learn from seed to seed.
        loss_tolerance=1e-3,
        settings=(SQUARED, WEIGHTED),
        limits=MEDIAN_LIMITS,
    ),
    Case("1k", 1_000, None, (Target("scikit-learn", 5),), rounds_per_repeat=10),
)
QUICK = ("100k", "100k-classes", "100k-absolute", "1k")


PREDICTIONS = (
    Prediction("depth6", 100_000, 6, (Target("scikit-learn", 8), Target("XGBoost", 3))),
    Prediction("depth12", 100_000, 12, (Target("scikit-learn", 10),)),
    Prediction("100k-leaves", 100_000, None, (Target("scikit-learn", 15), Target("YDF", 5))),
    Prediction(
        "1m-leaves",
        1_000_000,
        None,
        (Target("scikit-learn", 15), Target("YDF", 4)),
        only_targets=True,
    ),
    Prediction("wide", 100_000, 12, (Target("scikit-learn", 5),), columns=50, dtype="float64"),
    Prediction("one-row", 100_000, 6, (Target("scikit-learn", 20),), predicted=1, calls=100),
)
QUICK_PREDICTIONS = ("depth6", "depth12", "one-row")


def make_data(case: Case) -> Data:
    """The first rows of the case's data set."""
    weights = np.random.default_rng(0).uniform(0.5, 2.0, case.rows)
    if case.source == FLIGHTS:
        X, y = flights.load()
        return Data(X[: case.rows], y[: case.rows], weights)
    # Friedman's first data set: five columns matter, the others are noise.
    X, y = make_friedman1(case.rows, case.columns, noise=1.0, random_state=0)
    if case.classes:
        y = (y > np.median(y)).astype(np.int64)
    return Data(X.astype(case.dtype), y, weights)


def make_rows(case: Prediction) -> np.ndarray:
    """Rows that no tree has seen."""
    X, _ = make_friedman1(case.predicted, case.columns, random_state=1)
    return X.astype(case.dtype)

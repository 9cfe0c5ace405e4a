"""A case: the data, the model, and the ratio that splitwood should reach."""

from dataclasses import dataclass, field, replace
from math import log2
from typing import Any, Self

BEST_EXACT_PEER = "best exact peer"
OURS_NAME = "splitwood"

# Where the data come from; `data.py` makes them.
FRIEDMAN1 = "friedman1"
COARSE = "ten values per column"
TIES = "heavy ties"
NOISE = "pure noise"
MISSING = "a tenth missing"
SPARSE = "sparse, 1 % entries"
TEXT = "TF-IDF of text"
FLIGHTS = "New York flights"
DIAMONDS = "diamonds"
CENSUS = "census-like, mixed types"
DIGITS = "digits"
CANCER = "breast cancer"

# Kinds of models, by the words of the reports.
TREE = "tree"
EXTRA_TREE = "extra tree"
FOREST = "random forest"
EXTRA_FOREST = "extra-trees forest"
QUANTILE_FOREST = "quantile forest"
FORESTS = (FOREST, EXTRA_FOREST, QUANTILE_FOREST)
# What a quantile forest predicts.
QUANTILES = (0.1, 0.5, 0.9)

# Kinds of weights.
UNIFORM = "weights"
COUNTS = "bootstrap counts"


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
    """The time of `system` should be at most `ratio` times that of `against`, both splitwood."""

    system: str
    against: str
    ratio: float


@dataclass(frozen=True)
class Case:
    """One fit: data of some size, a model, a depth, a kind of target."""

    name: str
    rows: int
    depth: int | None
    targets: tuple[Target, ...] = ()
    # The heading it is reported under.
    group: str = "other"
    model: str = TREE
    # Further parameters, by scikit-learn's names. Only scikit-learn and splitwood have them.
    options: dict[str, Any] = field(default_factory=dict)
    # 0 for values.
    n_classes: int = 0
    n_outputs: int = 1
    # What trees for values minimise, by scikit-learn's name.
    criterion: str = "squared_error"
    # UNIFORM, COUNTS, or none.
    weights: str = ""
    min_samples_leaf: int = 1
    # The columns that are categories, if the system has them.
    categories: tuple[int, ...] = ()
    source: str = FRIEDMAN1
    columns: int = 10
    # Two training losses count as equal if they differ by at most this share. Exact trees diverge
    # where two splits gain nearly the same, and scikit-learn skips cuts between values less than
    # 1e-7 apart.
    loss_tolerance: float = 1e-4
    # Rows that are predicted but not fitted: the loss is theirs. 0: the loss is that of the fitted
    # rows.
    held_out: int = 0
    # The most memory that a fit may add, in sizes of X.
    memory_target: float | None = None
    dtype: str = "float32"
    # Other settings under which splitwood fits the data, and how the times should compare.
    settings: tuple[Setting, ...] = ()
    limits: tuple[Limit, ...] = ()
    # Leaves out peers without a target, the fits of which would take minutes.
    only_targets: bool = False
    # Whether it is part of the short run.
    quick: bool = False

    def includes(self, peer: str) -> bool:
        """Whether this peer is measured."""
        return not self.only_targets or self.names(peer)

    def names(self, peer: str) -> bool:
        """Whether a target names this peer."""
        return any(target.against == peer for target in self.targets)

    def under(self, setting: Setting) -> Self:
        """The same case with the changes of a setting."""
        return replace(self, **setting.changes)

    @property
    def n_trees(self) -> int:
        return self.options.get("n_estimators", 100) if self.model in FORESTS else 1

    @property
    def leaves(self) -> int:
        """The largest possible number."""
        most = self.rows // self.min_samples_leaf
        return most if self.depth is None else min(most, 2**self.depth)

    @property
    def levels(self) -> float:
        """The number in a tree with even splits."""
        return log2(max(2, self.leaves))

    @property
    def x_rows(self) -> int:
        """Rows that are fitted or predicted."""
        return self.rows

    @property
    def title(self) -> str:
        parts = [
            "" if self.source == FRIEDMAN1 else self.source,
            f"{self.rows:,} × {self.columns:,}",
            "" if self.model == TREE else self._model,
            self._target,
            self.weights,
            *(
                f"{name}={_shown(value)}"
                for name, value in self.options.items()
                if name != "n_estimators"
            ),
            "with categories" if self.categories else "",
            self._depth,
            f"leaves of {self.min_samples_leaf} or more" if self.min_samples_leaf > 1 else "",
        ]
        return ", ".join(filter(None, parts))

    @property
    def _model(self) -> str:
        return f"{self.model} of {self.n_trees}" if self.model in FORESTS else self.model

    @property
    def _target(self) -> str:
        kind = self.criterion.replace("_", " ")
        if self.n_classes:
            kind = "two classes" if self.n_classes == 2 else f"{self.n_classes} classes"
        return kind if self.n_outputs == 1 else f"{self.n_outputs} outputs of {kind}"

    @property
    def _depth(self) -> str:
        return "unlimited depth" if self.depth is None else f"depth {self.depth}"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return "…" if isinstance(value, list | tuple) else str(value)


@dataclass(frozen=True)
class Prediction(Case):
    """A fit, and the rows that its tree predicts.

    `memory_target` is the most memory that a prediction may add beyond its result, in bytes.
    """

    predicted: int = 1_000_000
    # Calls that are timed together: a call of a microsecond is shorter than reading the clock.
    calls: int = 1
    # Whether each call comes after a pause, as in a service. Otherwise calls follow each other.
    idle: bool = False

    @property
    def x_rows(self) -> int:
        return self.predicted

    @property
    def title(self) -> str:
        leaves = self._depth if self.depth else f"{self.rows:,} leaves"
        if self.min_samples_leaf > 1:
            leaves = f"leaves of {self.min_samples_leaf} or more of {self.rows:,} rows"
        if self.model in FORESTS:
            leaves = f"{self._model}, {leaves}"
        rows = "one row" if self.predicted == 1 else f"{self.predicted:,} rows"
        what = (
            f"predict {len(QUANTILES)} quantiles of" if self.model == QUANTILE_FOREST else "predict"
        )
        idle = ", from idle" if self.idle else ""
        return f"{what} {rows} × {self.columns} {self.dtype}, {leaves}{idle}"


@dataclass(frozen=True)
class Series:
    """Cases that differ only in the number of rows, columns or trees, to show how cost grows."""

    title: str
    # "rows", "columns" or "trees".
    along: str
    # By name, the smallest first.
    cases: tuple[str, ...]
    # "time" or "memory".
    of: str = "time"

    def size(self, case: Case) -> int:
        if self.along == "trees":
            return case.n_trees
        return case.x_rows if self.along == "rows" else case.columns

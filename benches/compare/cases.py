"""A case: the data, the tree, and the ratio that splitwood should reach."""

from dataclasses import dataclass, replace
from math import log2
from typing import Any, Self

BEST_EXACT_PEER = "best exact peer"
OURS_NAME = "splitwood"

# Where the data come from; `data.py` makes them.
FRIEDMAN1 = "friedman1"
COARSE = "ten values per column"
TIES = "heavy ties"
NOISE = "pure noise"
FLIGHTS = "New York flights"
DIAMONDS = "diamonds"
MISSING = "10 % missing"
DIGITS = "digits"
BREAST_CANCER = "breast cancer"
IRIS = "iris"


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
    """One fit: data of some size, a depth, a kind of target."""

    name: str
    rows: int
    depth: int | None
    targets: tuple[Target, ...] = ()
    # The heading it is reported under.
    group: str = "other"
    classes: bool = False
    # How many classes values are turned into; labelled data keep their own.
    n_classes: int = 2
    # What trees for values minimise, by scikit-learn's name.
    criterion: str = "squared_error"
    weighted: bool = False
    # Whether the weights are how often a bootstrap draws each row.
    bootstrap: bool = False
    min_samples_leaf: int = 1
    # The number or share of features that are drawn at each node.
    max_features: float | str | None = None
    source: str = FRIEDMAN1
    columns: int = 10
    # Two training losses count as equal if they differ by at most this share. Exact trees diverge
    # where two splits gain nearly the same, and scikit-learn skips cuts between values less than
    # 1e-7 apart.
    loss_tolerance: float = 1e-4
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
        return not self.only_targets or any(target.against == peer for target in self.targets)

    def under(self, setting: Setting) -> Self:
        """The same case with the changes of a setting."""
        return replace(self, **setting.changes)

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
        kind = self._classes if self.classes else self.criterion.replace("_", " ")
        if self.weighted:
            kind = f"bootstrap of {kind}" if self.bootstrap else f"weighted {kind}"
        drawn = f", max_features={self.max_features:.5}" if self.max_features else ""
        leaf = f", leaves of {self.min_samples_leaf} or more" if self.min_samples_leaf > 1 else ""
        source = "" if self.source == FRIEDMAN1 else f"{self.source}, "
        return f"{source}{self.rows:,} × {self.columns}, {kind}, {self._depth}{leaf}{drawn}"

    @property
    def _classes(self) -> str:
        return "two classes" if self.n_classes == 2 else f"{self.n_classes} classes"

    @property
    def _depth(self) -> str:
        return "unlimited depth" if self.depth is None else f"depth {self.depth}"


@dataclass(frozen=True)
class Prediction(Case):
    """A fit, and the rows that its tree predicts.

    `memory_target` is the most memory that a prediction may add beyond its result, in bytes.
    """

    predicted: int = 1_000_000
    # Calls that are timed together: a call of a microsecond is shorter than reading the clock.
    calls: int = 1

    @property
    def x_rows(self) -> int:
        return self.predicted

    @property
    def title(self) -> str:
        leaves = self._depth if self.depth else f"{self.rows:,} leaves"
        rows = "one row" if self.predicted == 1 else f"{self.predicted:,} rows"
        return f"predict {rows} × {self.columns} {self.dtype}, {leaves}"


@dataclass(frozen=True)
class Series:
    """Cases that differ only in the number of rows or columns, to show how cost grows."""

    title: str
    # "rows" or "columns".
    along: str
    # By name, the smallest first.
    cases: tuple[str, ...]
    # "time" or "memory".
    of: str = "time"

    def size(self, case: Case) -> int:
        return case.x_rows if self.along == "rows" else case.columns

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
FIVE_OUTPUTS = "five outputs"
THREE_LABELS = "three outputs of classes"
SPARSE = "sparse, 1 % entries"
TEXT = "TF-IDF text, five classes"


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
    # What trees for values minimise, by scikit-learn's name.
    criterion: str = "squared_error"
    weighted: bool = False
    # Other parameters of scikit-learn's and splitwood's estimators, as pairs.
    options: tuple[tuple[str, Any], ...] = ()
    # Whether the tree is an extra tree: drawn features and random thresholds.
    extra: bool = False
    min_samples_leaf: int = 1
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
        kind = self.criterion.replace("_", " ")
        if self.classes:
            kind = "classes" if self.source in (THREE_LABELS, TEXT) else "two classes"
        kind = f"{kind}, extra tree" if self.extra else kind
        kind += "".join(f", {name}={value}" for name, value in self.options)
        kind = f"weighted {kind}" if self.weighted else kind
        leaf = f", leaves of {self.min_samples_leaf} or more" if self.min_samples_leaf > 1 else ""
        source = "" if self.source == FRIEDMAN1 else f"{self.source}, "
        return f"{source}{self.rows:,} × {self.columns}, {kind}, {self._depth}{leaf}"

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

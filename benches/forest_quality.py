"""Are forests as good as scikit-learn's? Scores and importances of both on ten tables, over seeds.

    python benches/forest_quality.py [--seeds 10] [--trees 100]

Both libraries draw the same bags for a seed, but other features and thresholds, so single scores
differ. Per table, kind of forest and score (out of bag, and of held-out rows):

- the *standard error* is that of the difference of the two means over the seeds, from the spread of
  the scores of both libraries. Of two libraries without any difference, 68 % of the differences are
  within one standard error by chance, 95 % within two;
- a *bias* shows in all tables together: the mean of the differences in standard errors, times the
  root of their number, is 0 ± 1 without one. The bags make the two scores of a seed similar, so the
  standard error of the paired differences is used here: it is smaller, and finds smaller biases.

Symmetric features (eight columns that the targets depend on in the same way) must have importances
that are equal up to chance: their spread over the columns is compared with scikit-learn's.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import sklearn.ensemble
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_friedman1,
    make_friedman2,
    make_moons,
)

import splitwood

Table = tuple[np.ndarray, np.ndarray]


def _with_ties(is_class: bool) -> Table:
    """Few distinct values per column, and missing values."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(400, 6)).astype(float)
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=400)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, (y > np.median(y)).astype(int) if is_class else y


def _counts() -> Table:
    X, y = make_friedman1(400, random_state=1)
    return X, np.random.default_rng(1).poisson(y / 4.0).astype(float)


REGRESSIONS: dict[str, Callable[[], Table]] = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "friedman1": lambda: make_friedman1(400, noise=1.0, random_state=0),
    "friedman2": lambda: make_friedman2(400, noise=50.0, random_state=0),
    "ties": lambda: _with_ties(is_class=False),
    "counts": _counts,
}
CLASSIFICATIONS: dict[str, Callable[[], Table]] = {
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "digits": lambda: tuple(part[:500] for part in load_digits(return_X_y=True)),
    "moons": lambda: make_moons(400, noise=0.3, random_state=0),
    "ties": lambda: _with_ties(is_class=True),
}


def scores(kind: Any, table: Table, seeds: range, n_trees: int, **settings: Any) -> np.ndarray:
    """Get the out-of-bag score and the score of held-out rows, with a row per seed."""
    X, y = table
    found = []
    seen = np.random.default_rng(0).permutation(len(y)) < 2 * len(y) // 3
    for seed in seeds:
        forest = kind(
            n_trees, bootstrap=True, oob_score=True, random_state=seed, n_jobs=1, **settings
        )
        forest.fit(X[seen], y[seen])
        found.append((forest.oob_score_, forest.score(X[~seen], y[~seen])))
    return np.array(found)


class Comparison(NamedTuple):
    """The scores of two libraries over the same seeds: out of bag, held out."""

    ours: np.ndarray
    known: np.ndarray

    @property
    def difference(self) -> np.ndarray:
        return self.ours.mean(axis=0) - self.known.mean(axis=0)

    @property
    def standard_error(self) -> np.ndarray:
        spread = self.ours.var(axis=0, ddof=1) + self.known.var(axis=0, ddof=1)
        return np.sqrt(spread / len(self.ours))

    @property
    def paired(self) -> np.ndarray:
        """The difference in standard errors of the paired differences."""
        differences = self.ours - self.known
        spread = differences.std(axis=0, ddof=1) / np.sqrt(len(differences))
        # Scores that are the same for all seeds don't differ.
        return self.difference / np.where(spread > 0.0, spread, 1.0)


def bias(comparisons: list[Comparison]) -> np.ndarray:
    """Get the differences of all tables together, as a number that is 0 ± 1 without a bias."""
    t = np.array([comparison.paired for comparison in comparisons])
    degrees = len(comparisons[0].ours) - 1
    # The variance of Student's t.
    return t.sum(axis=0) / np.sqrt(len(t) * degrees / (degrees - 2))


def compare(name: str, table: Table, seeds: range, n_trees: int, **settings: Any) -> Comparison:
    """Compare the forests of this name."""
    ours, known = (
        scores(getattr(library, name), table, seeds, n_trees, **settings)
        for library in (splitwood, sklearn.ensemble)
    )
    return Comparison(ours, known)


def symmetric_importances(library: Any, name: str, seeds: range, n_trees: int) -> np.ndarray:
    """Get the importances of eight symmetric features with ties, with a row per seed.

    The rows of another seed are other rows, so that no column is better by chance in all of them.
    """
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 3, size=(300, 8)).astype(float)
        y = X.sum(axis=1) + rng.normal(size=300)
        y = (y > np.median(y)).astype(int) if name.endswith("Classifier") else y
        forest = getattr(library, name)(n_trees, random_state=seed, n_jobs=1).fit(X, y)
        found.append(forest.feature_importances_)
    return np.array(found)


KINDS = {
    "RandomForestRegressor": REGRESSIONS,
    "ExtraTreesRegressor": REGRESSIONS,
    "RandomForestClassifier": CLASSIFICATIONS,
    "ExtraTreesClassifier": CLASSIFICATIONS,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trees", type=int, default=100)
    options = parser.parse_args()
    seeds = range(options.seeds)
    warnings.simplefilter("ignore")
    every = []
    print("| forest | table | out of bag, scikit-learn | standard errors | held out | errors |")
    print("|---|---|---|---|---|---|")
    for name, tables in KINDS.items():
        for table, load in tables.items():
            found = compare(name, load(), seeds, options.trees)
            every.append(found)
            cells = [
                f"{ours:.4f}, {known:.4f} | {difference / error if error else 0.0:+.1f}"
                for ours, known, difference, error in zip(
                    found.ours.mean(axis=0),
                    found.known.mean(axis=0),
                    found.difference,
                    found.standard_error,
                    strict=True,
                )
            ]
            print(f"| `{name}` | {table} | {' | '.join(cells)} |", flush=True)
    error = np.array([one.standard_error for one in every])
    z = np.array([one.difference for one in every]) / np.where(error > 0.0, error, 1.0)
    share, n = (np.abs(z) <= 1.0).mean(), z.size
    print(
        f"\nwithin one standard error: {share:.0%} of {n}, within two: {(abs(z) <= 2).mean():.0%}"
    )
    print("without a difference: 68 % and 95 %")
    for label, number in zip(("out of bag", "held out"), bias(every), strict=True):
        print(f"bias {label}, 0 ± 1 without one: {number:+.1f}")
    print("\nimportances of eight symmetric features: mean per column, and standard error")
    for name in KINDS:
        for library in (splitwood, sklearn.ensemble):
            found = symmetric_importances(library, name, seeds, options.trees)
            errors = found.std(axis=0, ddof=1) / np.sqrt(len(found))
            print(
                f"{name:24} {library.__name__:17} {found.mean(axis=0).round(3)} ± {errors.mean():.3f}"
            )


if __name__ == "__main__":
    main()

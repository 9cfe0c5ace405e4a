"""Load: many threads fit and predict on shared models for a while, and every result is checked.

Run with ``make soak``. Each thread picks what to do at random: predict with a shared model, fit a
model of its own, fit a shared one again (to the same rows, so that others who predict with it
meanwhile must see no difference), or pickle one.
"""

from __future__ import annotations

import argparse
import gc
import pickle
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np

from splitwood import DecisionTreeClassifier, DecisionTreeRegressor

N_ROWS = 20_000
SETTINGS = [
    (DecisionTreeRegressor, {}),
    (DecisionTreeRegressor, {"criterion": "absolute_error", "max_depth": 8}),
    (DecisionTreeRegressor, {"max_features": 3, "random_state": 0, "max_depth": 8}),
    (DecisionTreeRegressor, {"max_leaf_nodes": 200}),
    (DecisionTreeClassifier, {}),
    (DecisionTreeClassifier, {"criterion": "entropy", "n_jobs": 1}),
]


def resident_megabytes() -> float:
    """Memory of this process, or NaN where /proc does not tell."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    return next(int(line.split()[1]) / 1024 for line in status.open() if line.startswith("VmRSS"))


class Soak:
    """The shared models with what they must predict, and what was done so far."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(N_ROWS, 6))
        y = self.X[:, 0] + np.sin(self.X[:, 1]) + 0.3 * rng.normal(size=N_ROWS)
        self.targets = {
            DecisionTreeRegressor: y,
            DecisionTreeClassifier: np.digitize(y, [-1, 0, 1]),
        }
        self.models = [
            kind(**settings).fit(self.X, self.targets[kind]) for kind, settings in SETTINGS
        ]
        self.expected = [model.predict(self.X) for model in self.models]
        self.trees = [pickle.dumps(model.tree_) for model in self.models]
        self.done: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self.lock = threading.Lock()

    def predict(self, k: int, rng: np.random.Generator) -> bool:
        n = int(rng.choice([1, 100, N_ROWS]))
        start = int(rng.integers(0, N_ROWS - n + 1))
        rows = slice(start, start + n)
        return np.array_equal(self.models[k].predict(self.X[rows]), self.expected[k][rows])

    def fit(self, k: int, rng: np.random.Generator) -> bool:
        kind, settings = SETTINGS[k]
        model = kind(**settings).fit(self.X, self.targets[kind])
        return pickle.dumps(model.tree_) == self.trees[k]

    def fit_shared(self, k: int, rng: np.random.Generator) -> bool:
        self.models[k].fit(self.X, self.targets[SETTINGS[k][0]])
        return True

    def copy(self, k: int, rng: np.random.Generator) -> bool:
        return pickle.dumps(pickle.loads(pickle.dumps(self.models[k])).tree_) == self.trees[k]

    def work(self, seed: int, until: float) -> None:
        rng = np.random.default_rng(seed)
        ways = [self.predict, self.predict, self.predict, self.fit, self.fit_shared, self.copy]
        while time.monotonic() < until:
            way = ways[rng.integers(len(ways))]
            try:
                is_right = way(int(rng.integers(len(SETTINGS))), rng)
            except Exception as error:
                print(f"{way.__name__}: {error!r}", file=sys.stderr)
                is_right = False
            with self.lock:
                self.done[way.__name__] += 1
                self.wrong[way.__name__] += not is_right


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=16)
    arguments = parser.parse_args()
    soak = Soak()
    gc.collect()
    before = resident_megabytes()
    start = time.monotonic()
    until = start + arguments.seconds
    threads = [
        threading.Thread(target=soak.work, args=(k, until)) for k in range(arguments.threads)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - start
    gc.collect()
    print(f"{arguments.threads} threads for {seconds:.1f} s")
    for name, count in sorted(soak.done.items()):
        print(f"  {name:<12} {count:>8} done, {soak.wrong[name]} wrong")
    print(f"  memory from {before:.0f} MB to {resident_megabytes():.0f} MB")
    return 1 if sum(soak.wrong.values()) or not soak.done else 0


if __name__ == "__main__":
    sys.exit(main())

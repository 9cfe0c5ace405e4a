"""Write the golden models of this version's format: once, and never again."""

from pathlib import Path

import numpy as np
import pandas as pd

from splitwood import DecisionTreeClassifier, DecisionTreeRegressor
from splitwood._storage import FORMAT_VERSION

FOLDER = Path(__file__).parent / ".".join(map(str, FORMAT_VERSION))
N_ROWS = 60


def spread(y, weight):
    """A callable for leaves: no file can hold it."""
    return float(y.max() - y.min())


def rows(rng):
    """Ties, missing values, infinities and numbers that float32 does not have."""
    X = np.round(rng.normal(size=(N_ROWS, 3)), 1)
    X[:, 1] = 1.7e9 + rng.integers(0, 50, N_ROWS)
    X[rng.random(X.shape) < 0.15] = np.nan
    X[rng.random(X.shape) < 0.03] = np.inf
    return X


def models(rng, X):
    # What is missing is high in the first column and low in the last: it goes right and left.
    y = np.where(np.isnan(X[:, 0]), 3.0, np.nan_to_num(X[:, 0], posinf=2.0))
    y += np.where(np.isnan(X[:, 2]), -3.0, np.nan_to_num(X[:, 2], posinf=2.0))
    y += 0.1 * rng.normal(size=N_ROWS)
    yield "regressor", DecisionTreeRegressor(max_depth=4).fit(X, y)
    frame = pd.DataFrame(X, columns=["größe", "Zeit in s", ""])
    weight = rng.uniform(0.0, 2.0, N_ROWS) * (rng.random(N_ROWS) < 0.9)
    median = DecisionTreeRegressor(criterion="absolute_error", max_depth=3, leaf_value=spread)
    yield "weighted-median-of-a-frame", median.fit(frame, y, weight)
    labels = np.array(["ja", "nein", "日本語"])[np.digitize(y, [0.0, 1.0])]
    weights = {"ja": 2.0, "nein": 1.0, "日本語": 0.5}
    strings = DecisionTreeClassifier(class_weight=weights, min_samples_leaf=3, n_jobs=1)
    yield "string-classes", strings.fit(X, labels)
    objects = DecisionTreeClassifier(criterion="entropy", max_depth=2)
    yield "object-classes", objects.fit(X, labels.astype(object))
    integers = DecisionTreeClassifier(max_depth=5, min_impurity_decrease=1e-3)
    yield "int32-classes", integers.fit(X, np.digitize(y, [0.0]).astype(np.int32) * 7 - 3)
    yield "bool-classes", DecisionTreeClassifier(max_depth=2).fit(X, y > 0.5)
    yield "float-classes", DecisionTreeClassifier(max_depth=2).fit(X, np.sign(y - 0.5))
    two = np.stack([y, -3.0 * y * y], axis=1)
    yield "two-numbers", DecisionTreeRegressor(max_depth=3).fit(X, two)
    labels = np.stack([y > 0.5, np.digitize(y, [0.0, 1.0])], axis=1)
    yield "two-classes", DecisionTreeClassifier(max_depth=3).fit(X, labels)
    yield "leaf", DecisionTreeRegressor(max_depth=1, min_impurity_decrease=np.inf).fit(X, y)


def write(name, model, X):
    model.save(FOLDER / f"{name}.splitwood")
    if hasattr(model, "feature_names_in_"):
        X = pd.DataFrame(X, columns=model.feature_names_in_)
    answers = [list(map(str, row)) for row in model.predict(X).reshape(len(X), -1).tolist()]
    if hasattr(model, "predict_proba"):
        values = model.tree_.predict(np.asarray(X)).tolist()
        for line, shares in zip(answers, values, strict=True):
            line += map(repr, shares)
    write_lines(FOLDER / f"{name}.expected.csv", answers)


def write_lines(path, lines):
    text = "".join(",".join(line) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    FOLDER.mkdir()
    rng = np.random.default_rng(0)
    X = rows(rng)
    cells = [["" if np.isnan(x) else repr(x) for x in row] for row in X.tolist()]
    write_lines(FOLDER / "rows.csv", cells)
    for name, model in models(rng, X):
        write(name, model, X)
    print(f"{sum(file.stat().st_size for file in FOLDER.iterdir())} bytes in {FOLDER}")

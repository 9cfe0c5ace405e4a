"""Write the golden models of this version's format: once, and never again."""

from pathlib import Path

import numpy as np
import pandas as pd

from splitwood import (
    RandomForestClassifier,
    RandomForestQuantileRegressor,
    RandomForestRegressor,
)
from splitwood._storage import FORMAT_VERSION

FOLDER = Path(__file__).parent / ".".join(map(str, FORMAT_VERSION))
N_ROWS = 60


def rows(rng):
    """Ties, missing values, infinities and numbers that float32 does not have."""
    X = np.round(rng.normal(size=(N_ROWS, 3)), 1)
    X[:, 1] = 1.7e9 + rng.integers(0, 50, N_ROWS)
    X[rng.random(X.shape) < 0.15] = np.nan
    X[rng.random(X.shape) < 0.03] = np.inf
    return X


def models(rng, X):
    """The models that earlier formats can't hold. Those in other folders have earlier versions."""
    X = np.concatenate([X] * 5)
    X[:, 0] = rng.permutation(len(X)) % 40
    y = rng.normal(size=40)[X[:, 0].astype(int)] + 0.1 * rng.normal(size=len(X))
    small = {"n_estimators": 3, "max_depth": 4, "random_state": 0}
    yield "forest", RandomForestRegressor(categorical_features=[0], **small).fit(X, y)
    labels = np.array(["no", "maybe", "yes"])[rng.integers(0, 3, len(X))]
    yield "forest-of-classes", RandomForestClassifier(**small).fit(X, labels)
    quantiles = RandomForestQuantileRegressor(default_quantiles=0.7, **small)
    yield "quantile-forest", quantiles.fit(X, np.column_stack([y, -3.0 * y]))


def write(name, model, X):
    model.save(FOLDER / f"{name}.splitwood")
    if hasattr(model, "feature_names_in_"):
        X = pd.DataFrame(X, columns=model.feature_names_in_)
    answers = [list(map(str, row)) for row in model.predict(X).reshape(len(X), -1).tolist()]
    if hasattr(model, "predict_proba"):
        values = model.forest_.predict(np.asarray(X)).tolist()
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
    X[:, 0] = rng.integers(0, 420, N_ROWS)
    X[::9, 0] = np.nan
    cells = [["" if np.isnan(x) else repr(x) for x in row] for row in X.tolist()]
    write_lines(FOLDER / "rows.csv", cells)
    for name, model in models(rng, X):
        write(name, model, X)
    print(f"{sum(file.stat().st_size for file in FOLDER.iterdir())} bytes in {FOLDER}")

"""Write the golden pickles of this version: once per release, and never again."""

import pickle
from pathlib import Path

import numpy as np
from make import rows, write_lines

import splitwood

FOLDER = Path(__file__).parent / "pickles" / splitwood.__version__


def models(rng, X):
    y = np.nan_to_num(X[:, 0], posinf=2.0) + 0.1 * rng.normal(size=len(X))
    labels = np.array(["no", "yes"])[(y > 0.2).astype(int)]
    depth = {"max_depth": 3, "random_state": 0}
    yield "DecisionTreeRegressor", splitwood.DecisionTreeRegressor(**depth).fit(X, y)
    yield "DecisionTreeClassifier", splitwood.DecisionTreeClassifier(**depth).fit(X, labels)
    yield "ExtraTreeRegressor", splitwood.ExtraTreeRegressor(**depth).fit(X, y)
    yield "ExtraTreeClassifier", splitwood.ExtraTreeClassifier(**depth).fit(X, labels)
    categorical = splitwood.DecisionTreeRegressor(categorical_features=[2], **depth)
    yield "categories", categorical.fit(X, y)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True)
    rng = np.random.default_rng(0)
    X = rows(rng)
    cells = [["" if np.isnan(x) else repr(x) for x in row] for row in X.tolist()]
    write_lines(FOLDER / "rows.csv", cells)
    for name, model in models(rng, X):
        (FOLDER / f"{name}.pickle").write_bytes(pickle.dumps(model, protocol=4))
        write_lines(FOLDER / f"{name}.expected.csv", [[str(y)] for y in model.predict(X).tolist()])
    print(f"{sum(file.stat().st_size for file in FOLDER.iterdir())} bytes in {FOLDER}")

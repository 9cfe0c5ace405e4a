"""Test an installed splitwood: import, fit, predict, pickle, save and load, also in many threads.

`make wheel` runs this in environments that hold the wheel or the compiled sdist, and nothing else
of the project.
"""

import pickle
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes

import splitwood
from splitwood import DecisionTreeClassifier, DecisionTreeRegressor


def check_origin() -> None:
    """The package under test is the installed one, complete with its types."""
    folder = Path(splitwood.__file__).parent
    assert folder.is_relative_to(sys.prefix), f"{folder} is not inside {sys.prefix}"
    assert splitwood.__version__ == version("splitwood")
    missing = [name for name in ("py.typed", "_core.pyi") if not (folder / name).is_file()]
    assert not missing, f"the wheel lacks {missing}"


def check_tree(tree: object, X: np.ndarray, y: np.ndarray) -> None:
    """An unlimited tree fits distinct rows exactly; pickled and saved copies predict the same."""
    tree.fit(X, y)
    predicted = tree.predict(X)
    np.testing.assert_allclose(predicted, y, rtol=1e-12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tree)).predict(X), predicted)
    with tempfile.TemporaryDirectory() as folder:
        tree.save(Path(folder) / "tree.splitwood")
        loaded = splitwood.load(Path(folder) / "tree.splitwood")
    np.testing.assert_array_equal(loaded.predict(X), predicted)


def check_threads(X: np.ndarray, y: np.ndarray) -> None:
    """Threads that fit and predict at the same time get what one thread gets.

    On a free-threaded interpreter they really run at the same time: no module that splitwood
    imports has brought the global lock back.
    """
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        assert not sys._is_gil_enabled(), "the global lock is back"
    shared = DecisionTreeRegressor(criterion="absolute_error").fit(X, y)
    expected = pickle.dumps(shared), shared.predict(X).tobytes()

    def run(_: int) -> tuple[bytes, bytes]:
        tree = DecisionTreeRegressor(criterion="absolute_error").fit(X, y)
        return pickle.dumps(tree), shared.predict(X).tobytes()

    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(run, range(200))) == {expected}


def main() -> None:
    check_origin()
    check_threads(*load_diabetes(return_X_y=True))
    check_tree(DecisionTreeRegressor(), *load_diabetes(return_X_y=True))
    check_tree(DecisionTreeClassifier(), *load_breast_cancer(return_X_y=True))
    print(f"splitwood {splitwood.__version__} on Python {sys.version.split()[0]}: it works")


if __name__ == "__main__":
    main()

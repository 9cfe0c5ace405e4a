"""Decision trees on a Dask cluster: the same models as on one machine, byte for byte.

The extra ``splitwood[dask]`` installs what this module needs.

Examples
--------
>>> import dask.array as da
>>> from distributed import Client
>>> from splitwood.dask import DaskDecisionTreeRegressor
>>> client = Client(n_workers=1, processes=False, dashboard_address=None)
>>> X = da.from_array([[1.0], [2.0], [3.0], [4.0]], chunks=(2, 1))
>>> y = da.from_array([5.0, 5.0, 9.0, 9.0], chunks=2)
>>> tree = DaskDecisionTreeRegressor(client=client).fit(X, y)
>>> tree.predict(X).compute()
array([5., 5., 9., 9.])
>>> client.close()
"""

from __future__ import annotations

import copy
import inspect
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets

from ._base import features_per_split
from ._base_tree import BaseTree
from ._class_weight import ClassWeight, weigh_outputs
from ._cluster import Encoded, WorkerLost, grow
from ._estimators import DecisionTreeClassifier, DecisionTreeRegressor
from ._inputs import aligned
from ._sklearn_inputs import as_numbers, as_weights, checked_rows, checked_training

try:
    import dask.array
    import dask.dataframe
    import distributed

    from ._dask_engine import DaskEngine, columns_of
except ImportError as error:
    raise ImportError(
        f"splitwood.dask needs Dask, of which {error.name} is missing; install splitwood[dask]"
    ) from error

if TYPE_CHECKING:
    _Base = BaseTree
else:
    _Base = object

__all__ = ["DaskDecisionTreeClassifier", "DaskDecisionTreeRegressor", "WorkerLost"]


class _OnDask(_Base):
    """What both estimators do on a cluster."""

    # The estimator of one machine.
    _plain: type[BaseTree]
    client: Any

    def __init__(self, *, client: Any = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.client = client

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        plain = inspect.signature(cls._plain.__init__).parameters
        client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
        own = [parameter for name, parameter in plain.items() if name != "self"]
        cls.__signature__ = inspect.Signature([*own, client])

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """List the parameters of the plain estimator, and the client."""
        return sorted([*cls._plain._get_param_names(), "client"])

    def __sklearn_clone__(self) -> Self:
        """Clone everything but the client, which both use."""
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")
        return type(self)(client=client, **clone(self._plain(**parameters)).get_params(deep=False))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the client, which can't be pickled."""
        state: dict[str, Any] = super().__getstate__()
        return state | {"client": None}

    def to_local(self) -> Any:
        """Get the plain estimator, which needs no Dask.

        Returns
        -------
        estimator : DecisionTreeRegressor or DecisionTreeClassifier
            It has the same parameters, and the tree if there is one.

        Examples
        --------
        >>> from splitwood.dask import DaskDecisionTreeRegressor
        >>> DaskDecisionTreeRegressor(max_depth=3).to_local()
        DecisionTreeRegressor(max_depth=3)
        """
        local = self._plain.__new__(self._plain)
        local.__dict__ = {name: value for name, value in self.__dict__.items() if name != "client"}
        return local

    def save(self, path: Any) -> None:
        """Write the model to a file, as the plain estimator does.

        Parameters
        ----------
        path : str or path-like
            The file. It is replaced if it exists. `splitwood.load` reads it, without Dask.

        Examples
        --------
        >>> import tempfile
        >>> import dask.array as da
        >>> import splitwood
        >>> from distributed import Client
        >>> from splitwood.dask import DaskDecisionTreeRegressor
        >>> with Client(n_workers=1, processes=False, dashboard_address=None):
        ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([5.0, 9.0])
        ...     tree = DaskDecisionTreeRegressor().fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tree.save(f"{folder}/tree.model")
        ...     splitwood.load(f"{folder}/tree.model")
        DecisionTreeRegressor()
        """
        self.to_local().save(path)

    def _check_supported(self) -> None:
        """Refuse what is not distributed, before any work."""
        draws = features_per_split(self.max_features, self.n_features_in_) < self.n_features_in_
        for name, is_given, what in (
            ("splitter", self.splitter == "random", "random thresholds are"),
            ("max_features", draws, "drawn features are"),
            ("monotonic_cst", self.monotonic_cst is not None, "monotonic constraints are"),
            ("categorical_features", self.categorical_features is not None, "categories are"),
            ("leaf_value", getattr(self, "leaf_value", None) is not None, "values of leaves are"),
        ):
            if is_given:
                raise ValueError(
                    f"{name}: {what} not supported on a cluster; fit {self._plain.__name__}"
                )

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        """Grow the tree from training rows that are distributed over a cluster.

        The tree is that of the plain estimator, byte for byte, for every number of workers and all
        partitions. If the fit fails or is interrupted, the estimator does not change.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            Training rows, in partitions of any size. Cells are read as the plain estimator reads
            them.
        y : dask array, series or data frame of shape (n_samples,)
            Targets, in partitions of their own.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Non-negative weights, not all zero.
        check_input : bool, default=True
            For the signature of the plain estimator: collections of Dask are always checked.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        WorkerLost
            If a worker died, left or stopped. The estimator has not changed.
        MemoryError
            If a worker has too little memory for its share of the features.

        Examples
        --------
        >>> import dask.array as da
        >>> from distributed import Client
        >>> from splitwood.dask import DaskDecisionTreeRegressor
        >>> with Client(n_workers=1, processes=False, dashboard_address=None):
        ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([5.0, 9.0])
        ...     DaskDecisionTreeRegressor().fit(X, y).tree_.node_count
        3
        """
        twin = copy.copy(self)
        # A copy is made like a pickle, without the client.
        twin.client = self.client
        twin.__dict__.pop("_leaf_targets", None)
        sample = _sample(X)
        checked_training(twin, sample, np.arange(2.0))
        twin._check_supported()
        twin.n_outputs_ = 1
        if getattr(y, "ndim", 1) == 2 and y.shape[1] != 1:
            raise ValueError("y: several outputs are not supported on a cluster")
        # The plain estimator checks the parameters, on two rows.
        trial = clone(twin.to_local())
        if hasattr(trial, "class_weight"):
            trial.class_weight = None
        trial.set_params(verbose=0, max_features=None).fit(sample, [1, 2])
        settings = twin._grow_settings() | {"max_features": None}
        client = distributed.get_client() if self.client is None else self.client
        report = _reporter(self.verbose)
        with DaskEngine(client, twin.n_features_in_) as engine:
            _distribute(engine, twin, X, y, sample_weight, settings, report)
            tree, table = grow(engine, engine.features, settings, report)
        twin.tree_, twin._x_dtype = tree, table.dtype
        twin._set_classes(table.classes)
        self.__dict__ = twin.__dict__
        return self

    def _grow_settings(self) -> dict[str, Any]:
        return self._settings()

    def _encode(self) -> Any:
        raise NotImplementedError

    def _set_classes(self, classes: NDArray[Any] | None) -> None:
        """Keep the classes, if there are any."""

    def _each_block(self, X: Any, method: str, width: int | None, dtype: Any) -> Any:
        """Call a method of the plain estimator, lazily for collections of Dask."""
        local = self.to_local()
        if not _is_dask(X):
            return getattr(local, method)(X)
        call = partial(_call, local, method, width, dtype)
        if isinstance(X, dask.array.Array):
            whole = X.rechunk({1: -1})
            if width is None:
                return whole.map_blocks(call, drop_axis=1, dtype=dtype, meta=np.empty(0, dtype))
            chunks = (whole.chunks[0], (width,))
            return whole.map_blocks(call, chunks=chunks, dtype=dtype, meta=np.empty((0, 0), dtype))
        return X.map_partitions(call, meta=call(X._meta_nonempty).iloc[:0])

    def apply(self, X: Any, check_input: bool = True) -> Any:
        """Find the leaf of each row.

        Parameters
        ----------
        X : dask array or data frame, or anything that the plain estimator reads
            Rows to send down the tree.
        check_input : bool, default=True
            As in the plain estimator; collections of Dask are always checked.

        Returns
        -------
        leaves : dask array or series, or ndarray
            Node ids, lazily if ``X`` is a collection of Dask.

        Examples
        --------
        >>> import dask.array as da
        >>> from distributed import Client
        >>> from splitwood.dask import DaskDecisionTreeRegressor
        >>> with Client(n_workers=1, processes=False, dashboard_address=None):
        ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([5.0, 9.0])
        ...     DaskDecisionTreeRegressor().fit(X, y).apply(X).compute()
        array([1, 2])
        """
        if not _is_dask(X):
            return self.to_local().apply(X, check_input)
        return self._each_block(X, "apply", None, np.int64)


def _call(local: Any, method: str, width: int | None, dtype: Any, block: Any) -> Any:
    """Call a method of an estimator for one partition, which may be empty."""
    if len(block) == 0:
        values = np.empty(0 if width is None else (0, width), dtype)
    else:
        values = getattr(local, method)(block)
    if not hasattr(block, "iloc"):
        return values
    import pandas as pd

    if width is None:
        return pd.Series(values, index=block.index)
    return pd.DataFrame(values, index=block.index, columns=list(local.classes_))


def _is_dask(X: Any) -> bool:
    return isinstance(X, dask.array.Array | dask.dataframe.DataFrame | dask.dataframe.Series)


def _sample(X: Any) -> Any:
    """Make two rows with the dtypes and names of a collection."""
    if isinstance(X, dask.dataframe.DataFrame):
        return X._meta_nonempty
    if not isinstance(X, dask.array.Array):
        raise TypeError(
            f"X: must be a dask array or a dask data frame, got {type(X).__name__}; "
            "fit the plain estimator to data of one machine"
        )
    if X.ndim != 2:
        raise ValueError(f"X: must have two dimensions, got {X.ndim}")
    return np.zeros((2, X.shape[1]), X.dtype)


def _reporter(verbose: int) -> Any:
    """Get a function that shows where a fit is, if it is to be shown."""
    start = time.monotonic()

    def report(line: str) -> None:
        if verbose:
            sys.stderr.write(f"{time.monotonic() - start:6.1f} s  {line}\n")
            sys.stderr.flush()

    return report


def _blocks(name: str, values: Any) -> Any:
    """Get the partitions of a collection, each with all its columns, as delayed objects."""
    if isinstance(values, dask.array.Array):
        values = values.rechunk({1: -1}) if values.ndim == 2 else values
        return values.to_delayed().ravel()
    if not _is_dask(values):
        raise TypeError(f"{name}: must be a collection of Dask, as X is; got {type(values)}")
    return values.to_delayed()


def _cells(estimator: BaseTree, block: Any) -> NDArray[Any]:
    """Read a partition of X as the plain estimator does."""
    if len(block) == 0:
        # The dtype that every other one can be converted to without loss.
        return np.empty((0, estimator.n_features_in_), np.float32)
    cells: NDArray[Any] = aligned(checked_rows(estimator, block))
    return cells


def _vector(block: Any) -> NDArray[Any]:
    """Read a partition of y or of the weights."""
    values = np.asarray(block)
    return values[:, 0] if values.ndim == 2 else values


def _weights(block: Any) -> NDArray[np.float64]:
    values = _vector(block)
    checked = as_weights(values, len(values)) if len(values) else None
    return np.empty(0) if checked is None else checked


def _checked_targets(y: NDArray[Any]) -> NDArray[Any]:
    """Check the targets of all rows as scikit-learn does in a local fit."""
    checked: NDArray[Any] = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    return checked


def _encode_numbers(y: NDArray[Any], sample_weight: NDArray[np.float64] | None) -> Encoded:
    return Encoded(as_numbers(_checked_targets(y)), sample_weight, None)


def _encode_classes(
    class_weight: ClassWeight, y: NDArray[Any], sample_weight: NDArray[np.float64] | None
) -> Encoded:
    check_classification_targets(_checked_targets(y))
    classes, codes = np.unique(y, return_inverse=True)
    codes = codes.astype(np.int64, copy=False)
    return Encoded(codes, weigh_outputs(class_weight, [classes], [codes], sample_weight), classes)


def _distribute(
    engine: DaskEngine,
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    settings: dict[str, Any],
    report: Any,
) -> None:
    """Send each seat its columns of all rows, and all targets."""
    report(f"reading the rows for {len(engine.features)} workers")
    reader = clone(estimator.to_local())
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(reader, name, getattr(estimator, name))
    reader.tree_ = None
    read = [engine.submit(_cells, reader, block) for block in engine.compute(_blocks("X", X))]
    targets = [engine.submit(_vector, block) for block in engine.compute(_blocks("y", y))]
    weights = None
    if sample_weight is not None:
        blocks = engine.compute(_blocks("sample_weight", sample_weight))
        weights = [engine.submit(_weights, block) for block in blocks]
    shapes = engine.wait([engine.submit(_shape, block) for block in read])
    n_rows = sum(rows for rows, _ in shapes)
    if n_rows == 0:
        raise ValueError("X: has no rows")
    # Empty partitions have no say in the dtype.
    n_bytes = max(size for rows, size in shapes if rows)
    engine.check_memory(n_rows, n_bytes, settings)
    full = [block for block, (rows, _) in zip(read, shapes, strict=True) if rows]
    pieces = [[engine.submit(columns_of, block, own) for block in full] for own in engine.features]
    report(f"sorting {n_rows:,} rows")
    engine.spawn(pieces, targets, weights, estimator._encode(), settings)


def _shape(cells: NDArray[Any]) -> tuple[int, int]:
    return len(cells), cells.dtype.itemsize


class DaskDecisionTreeRegressor(_OnDask, DecisionTreeRegressor):
    """A regression tree that is fitted on a Dask cluster.

    The model is that of `splitwood.DecisionTreeRegressor`, byte for byte. All its methods are here,
    too; those that are not listed below work on data of this machine.

    Parameters
    ----------
    **parameters
        The parameters of `splitwood.DecisionTreeRegressor`. Random thresholds, drawn features,
        monotonic constraints, categories and `leaf_value` are refused by `fit`. `n_jobs` is the
        number of threads of each worker; None means those that the worker has.
    client : distributed.Client, default=None
        The cluster. None means the current client. It is not pickled.

    See Also
    --------
    splitwood.DecisionTreeRegressor : The same tree on one machine.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from splitwood.dask import DaskDecisionTreeRegressor
    >>> with Client(n_workers=1, processes=False, dashboard_address=None):
    ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([5.0, 9.0])
    ...     DaskDecisionTreeRegressor(max_depth=1).fit(X, y).predict(X).compute()
    array([5., 9.])
    """

    _plain = DecisionTreeRegressor

    def _grow_settings(self) -> dict[str, Any]:
        criterion = "squared_error" if self.criterion == "friedman_mse" else self.criterion
        return self._settings() | {"quantile": self.quantile, "criterion": criterion}

    def _encode(self) -> Any:
        return _encode_numbers

    def predict(self, X: Any, check_input: bool = True) -> Any:
        """Predict the mean of each row's leaf, or its median or quantile.

        Parameters
        ----------
        X : dask array or data frame, or anything that the plain estimator reads
            Rows to predict.
        check_input : bool, default=True
            As in the plain estimator; collections of Dask are always checked.

        Returns
        -------
        y : dask array or series, or ndarray
            Predicted targets, lazily if ``X`` is a collection of Dask.

        Examples
        --------
        >>> import dask.array as da
        >>> from distributed import Client
        >>> from splitwood.dask import DaskDecisionTreeRegressor
        >>> with Client(n_workers=1, processes=False, dashboard_address=None):
        ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([5.0, 9.0])
        ...     tree = DaskDecisionTreeRegressor().fit(X, y)
        >>> tree.predict([[0.0]])
        array([5.])
        """
        if not _is_dask(X):
            return self.to_local().predict(X, check_input)
        return self._each_block(X, "predict", None, np.float64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the coefficient of determination, R².

        Parameters
        ----------
        X : dask array or data frame, or anything that the plain estimator reads
            Rows to predict.
        y : as X, of shape (n_samples,)
            Their targets.
        sample_weight : as y, default=None
            Their weights.

        Returns
        -------
        score : float
            1 for perfect predictions, 0 for those of the mean.

        Examples
        --------
        >>> import dask.array as da
        >>> from distributed import Client
        >>> from splitwood.dask import DaskDecisionTreeRegressor
        >>> with Client(n_workers=1, processes=False, dashboard_address=None):
        ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([5.0, 9.0])
        ...     DaskDecisionTreeRegressor().fit(X, y).score(X, y)
        1.0
        """
        return _score(self, X, y, sample_weight)


class DaskDecisionTreeClassifier(_OnDask, DecisionTreeClassifier):
    """A classification tree that is fitted on a Dask cluster.

    The model is that of `splitwood.DecisionTreeClassifier`, byte for byte. All its methods are
    here, too; those that are not listed below work on data of this machine.

    Parameters
    ----------
    **parameters
        The parameters of `splitwood.DecisionTreeClassifier`. Random thresholds, drawn features,
        monotonic constraints and categories are refused by `fit`. `n_jobs` is the number of threads
        of each worker; None means those that the worker has.
    client : distributed.Client, default=None
        The cluster. None means the current client. It is not pickled.

    See Also
    --------
    splitwood.DecisionTreeClassifier : The same tree on one machine.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from splitwood.dask import DaskDecisionTreeClassifier
    >>> with Client(n_workers=1, processes=False, dashboard_address=None):
    ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array(["no", "yes"])
    ...     DaskDecisionTreeClassifier().fit(X, y).predict_proba(X).compute()
    array([[1., 0.],
           [0., 1.]])
    """

    _plain = DecisionTreeClassifier

    def _encode(self) -> Any:
        return partial(_encode_classes, self.class_weight)

    def _set_classes(self, classes: NDArray[Any] | None) -> None:
        self.classes_ = classes
        self.n_classes_ = 0 if classes is None else len(classes)

    def predict(self, X: Any, check_input: bool = True) -> Any:
        """Predict the class with the largest share in each row's leaf.

        Parameters
        ----------
        X : dask array or data frame, or anything that the plain estimator reads
            Rows to predict.
        check_input : bool, default=True
            As in the plain estimator; collections of Dask are always checked.

        Returns
        -------
        y : dask array or series, or ndarray
            Class labels, lazily if ``X`` is a collection of Dask.

        Examples
        --------
        >>> import dask.array as da
        >>> from distributed import Client
        >>> from splitwood.dask import DaskDecisionTreeClassifier
        >>> with Client(n_workers=1, processes=False, dashboard_address=None):
        ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([3, 4])
        ...     tree = DaskDecisionTreeClassifier().fit(X, y)
        >>> tree.predict([[0.0]])
        array([3])
        """
        if not _is_dask(X):
            return self.to_local().predict(X, check_input)
        dtype = getattr(self, "classes_", np.empty(0)).dtype
        return self._each_block(X, "predict", None, dtype)

    def predict_proba(self, X: Any, check_input: bool = True) -> Any:
        """Predict the share of each class.

        Parameters
        ----------
        X : dask array or data frame, or anything that the plain estimator reads
            Rows to predict.
        check_input : bool, default=True
            As in the plain estimator; collections of Dask are always checked.

        Returns
        -------
        proba : dask array or data frame, or ndarray
            Shares in the order of ``classes_``, lazily if ``X`` is a collection of Dask.

        Examples
        --------
        >>> import dask.array as da
        >>> from distributed import Client
        >>> from splitwood.dask import DaskDecisionTreeClassifier
        >>> with Client(n_workers=1, processes=False, dashboard_address=None):
        ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([3, 4])
        ...     tree = DaskDecisionTreeClassifier().fit(X, y)
        >>> tree.predict_proba([[0.0]])
        array([[1., 0.]])
        """
        if not _is_dask(X):
            return self.to_local().predict_proba(X, check_input)
        return self._each_block(X, "predict_proba", getattr(self, "n_classes_", 0), np.float64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the share of rows whose class is predicted.

        Parameters
        ----------
        X : dask array or data frame, or anything that the plain estimator reads
            Rows to predict.
        y : as X, of shape (n_samples,)
            Their classes.
        sample_weight : as y, default=None
            Their weights.

        Returns
        -------
        score : float
            The accuracy.

        Examples
        --------
        >>> import dask.array as da
        >>> from distributed import Client
        >>> from splitwood.dask import DaskDecisionTreeClassifier
        >>> with Client(n_workers=1, processes=False, dashboard_address=None):
        ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([3, 4])
        ...     DaskDecisionTreeClassifier().fit(X, y).score(X, y)
        1.0
        """
        return _score(self, X, y, sample_weight)


def _score(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Score predictions by scikit-learn, which gets targets and predictions, but not X."""
    local = estimator.to_local()
    if not _is_dask(X):
        return float(local.score(X, y, sample_weight))
    from sklearn.metrics import accuracy_score, r2_score

    given = [estimator.predict(X), y, *([] if sample_weight is None else [sample_weight])]
    predicted, targets, *weights = (_vector(values) for values in dask.compute(*given))
    measure = accuracy_score if hasattr(local, "classes_") else r2_score
    return float(measure(targets, predicted, sample_weight=weights[0] if weights else None))

"""Trees and forests on a Dask cluster: the same models as on one machine, byte for byte.

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
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._bags import Bags, OwnBags, number_of_draws
from ._base import BaseModel, features_per_split, known_criterion
from ._base_forest import BaseForest, warn_of_no_new_trees
from ._base_tree import BaseTree
from ._class_weight import ClassWeight, encode_classes, weigh_outputs
from ._cluster import Encoded, WorkerLost, grow
from ._estimators import DecisionTreeClassifier, DecisionTreeRegressor
from ._fitted_forest import RESULTS
from ._forest_cluster import Held, grow_forest, on_all, on_any
from ._forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from ._inputs import aligned
from ._sklearn_inputs import as_numbers, checked_training

try:
    import dask.array
    import dask.dataframe
    import distributed

    from ._dask_data import Partitions, checked_targets, is_dask, reader_of, sample_of, vector
    from ._dask_docs import with_sections_of
    from ._dask_engine import DaskEngine, columns_of
    from ._dask_forest_engine import DaskTreeEngine
except ImportError as error:
    raise ImportError(
        f"splitwood.dask needs Dask, of which {error.name} is missing; install splitwood[dask]"
    ) from error

if TYPE_CHECKING:
    _Base = BaseModel
    _TreeBase = BaseTree
    _ForestBase = BaseForest
else:
    _Base = _TreeBase = _ForestBase = object

__all__ = [
    "DaskDecisionTreeClassifier",
    "DaskDecisionTreeRegressor",
    "DaskExtraTreesClassifier",
    "DaskExtraTreesRegressor",
    "DaskRandomForestClassifier",
    "DaskRandomForestRegressor",
    "WorkerLost",
]


class _Call(NamedTuple):
    """A method of a plain estimator that is called for each partition."""

    method: str
    # The number of columns of the result; None for a vector.
    width: int | None
    dtype: Any
    # The arguments after X.
    given: tuple[Any, ...] = ()
    # Which of the results, if there is one per output.
    output: int | None = None


class _OnDask(_Base):
    """What all estimators do on a cluster."""

    # The estimator of one machine.
    _plain: type[Any]
    client: Any
    verbose: int

    def __init__(self, *arguments: Any, client: Any = None, **parameters: Any) -> None:
        super().__init__(*arguments, **parameters)
        self.client = client

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not hasattr(cls, "_plain"):
            return
        cls.__doc__ = with_sections_of(cls._plain, cls.__doc__)
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
        estimator : object
            The estimator of splitwood without "Dask" in its name. It has the same parameters, and
            the model if there is one.

        Examples
        --------
        >>> from splitwood.dask import DaskDecisionTreeRegressor
        >>> DaskDecisionTreeRegressor(max_depth=3).to_local()
        DecisionTreeRegressor(max_depth=3)
        """
        local = object.__new__(self._plain)
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

    def _twin(self, X: Any, y: Any, has_own_bags: bool = False) -> tuple[Self, Any]:
        """Copy the estimator for a fit, and check what can be checked without the rows.

        Also gets a plain estimator that was fitted to two rows: it has checked the parameters.
        """
        twin = copy.copy(self)
        # A copy is made like a pickle, without the client.
        twin.client = self.client
        sample = sample_of(X)
        with warnings.catch_warnings():
            # The two rows are no data to warn of.
            warnings.simplefilter("ignore")
            checked_training(twin, sample, np.arange(2.0))
        twin.n_outputs_ = y.shape[1] if getattr(y, "ndim", 1) == 2 else 1
        twin._check_settings(has_own_bags)
        # A trial draws nothing from the user's generator.
        check_random_state(self.random_state)
        trial = clone(twin.to_local()).set_params(verbose=0, random_state=0, **self._of_trial())
        if hasattr(trial, "class_weight"):
            trial.class_weight = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial.fit(sample, np.array([[1], [2]]).repeat(twin.n_outputs_, axis=1).squeeze())
        return twin, trial

    def _check_settings(self, has_own_bags: bool) -> None:
        """Refuse what a fit to two rows would not, before any work."""

    def _of_trial(self) -> dict[str, Any]:
        """Get the parameters that a fit to two rows would refuse."""
        return {}

    def _client(self) -> Any:
        if self.client is not None:
            return self.client
        try:
            return distributed.get_client()
        except ValueError as error:
            raise ValueError(
                "client: there is no current client; connect to a cluster by distributed.Client "
                "first, or pass client"
            ) from error

    def _predict(self, X: Any, dtype: Any, *given: Any) -> Any:
        """Predict a number or a label per row and output."""
        n_outputs = getattr(self, "n_outputs_", 1)
        width = None if n_outputs == 1 else n_outputs
        return self._each_block(X, _Call("predict", width, dtype, given))

    def _each_block(self, X: Any, what: _Call) -> Any:
        """Call a method of the plain estimator, lazily for collections of Dask."""
        local = self.to_local()
        if not is_dask(X):
            return getattr(local, what.method)(X, *what.given)
        check_is_fitted(self)
        call, width, dtype = partial(_call, local, what), what.width, what.dtype
        if isinstance(X, dask.array.Array):
            whole = X.rechunk({1: -1})
            if width is None:
                return whole.map_blocks(call, drop_axis=1, dtype=dtype, meta=np.empty(0, dtype))
            chunks = (whole.chunks[0], (width,))
            return whole.map_blocks(call, chunks=chunks, dtype=dtype, meta=np.empty((0, 0), dtype))
        return X.map_partitions(call, meta=call(X._meta_nonempty).iloc[:0])


def _call(local: Any, what: _Call, block: Any) -> Any:
    """Call a method of an estimator for one partition, which may be empty."""
    if len(block) == 0:
        values = np.empty(0 if what.width is None else (0, what.width), what.dtype)
    else:
        values = getattr(local, what.method)(block, *what.given)
        values = values if what.output is None else values[what.output]
    if not hasattr(block, "iloc"):
        return values
    import pandas as pd

    if what.width is None:
        return pd.Series(values, index=block.index)
    columns = range(what.width)
    if what.method == "predict_proba":
        columns = local.classes_ if what.output is None else local.classes_[what.output]
    return pd.DataFrame(values, index=block.index, columns=list(columns))


def _reporter(verbose: int) -> Any:
    """Get a function that shows where a fit is, if it is to be shown."""
    start = time.monotonic()

    def report(line: str) -> None:
        if verbose:
            sys.stderr.write(f"{time.monotonic() - start:6.1f} s  {line}\n")
            sys.stderr.flush()

    return report


def _encode_numbers(y: NDArray[Any], sample_weight: NDArray[np.float64] | None) -> Encoded:
    return Encoded(as_numbers(checked_targets(y)), sample_weight, None)


def _encode_classes(
    class_weight: ClassWeight, y: NDArray[Any], sample_weight: NDArray[np.float64] | None
) -> Encoded:
    classes, codes = encode_classes([checked_targets(y)])
    check_classification_targets(y)
    return Encoded(codes[0], weigh_outputs(class_weight, classes, codes, sample_weight), classes[0])


class _RegressorOnDask(_OnDask):
    """What regressors do on a cluster."""

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


class _ClassifierOnDask(_OnDask):
    """What classifiers do on a cluster."""

    # For several outputs, a list and an array with one entry per output.
    classes_: Any
    n_classes_: Any

    def _predict_labels(self, X: Any) -> Any:
        check_is_fitted(self)
        labels = self.classes_ if isinstance(self.classes_, list) else [self.classes_]
        return self._predict(X, np.result_type(*labels))

    def _shares_of(self, X: Any) -> Any:
        check_is_fitted(self)
        if np.ndim(self.n_classes_) == 0 or not is_dask(X):
            return self._each_block(X, _Call("predict_proba", self.n_classes_, np.float64))
        calls = [
            _Call("predict_proba", n_classes, np.float64, output=output)
            for output, n_classes in enumerate(self.n_classes_)
        ]
        return [self._each_block(X, call) for call in calls]

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
    if not is_dask(X):
        return float(local.score(X, y, sample_weight))
    from sklearn.metrics import accuracy_score, r2_score

    given = [estimator.predict(X), y, *([] if sample_weight is None else [sample_weight])]
    predicted, targets, *weights = (vector(values) for values in dask.compute(*given))
    measure = accuracy_score if hasattr(local, "classes_") else r2_score
    return float(measure(targets, predicted, sample_weight=weights[0] if weights else None))


class _TreeOnDask(_OnDask, _TreeBase):
    """What trees do on a cluster: their columns are distributed."""

    def _whole_because(self) -> str | None:
        """Say why one worker grows the whole tree, if a level step over columns can't."""
        if self.n_outputs_ > 1:
            return "with several outputs"
        if self.is_categorical_ is not None:
            # The best set of labels is found in one piece.
            return "with categories"
        if self.splitter == "random":
            return "with random thresholds"
        if features_per_split(self.max_features, self.n_features_in_) < self.n_features_in_:
            return "from drawn features"
        return None if self.monotonic_cst is None else "with monotonic constraints"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        """Grow the tree from training rows that are distributed over a cluster.

        The tree is that of the plain estimator, byte for byte, for every number of workers and all
        partitions. If the fit fails or is interrupted, the estimator does not change.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            Training rows, in partitions of any size. Cells are read as the plain estimator reads
            them.
        y : dask array, series or data frame of shape (n_samples,) or (n_samples, n_outputs)
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
        twin, _ = self._twin(X, y)
        twin.__dict__.pop("_leaf_targets", None)
        report = _reporter(self.verbose)
        why = twin._whole_because()
        if why is None:
            twin._fit_columns(X, y, sample_weight, report)
        else:
            twin._fit_whole(why, X, y, sample_weight, report)
        self.__dict__ = twin.__dict__
        return self

    def _fit_columns(self, X: Any, y: Any, sample_weight: Any, report: Any) -> None:
        """Grow the tree on all workers, each of which gets some features."""
        settings = self._grow_settings() | {"max_features": None}
        value = settings.pop("leaf_value", None)
        with DaskEngine(self._client(), self.n_features_in_) as engine:
            report(f"reading the rows for {len(engine.features)} workers")
            data = Partitions(engine, self, X, y, sample_weight)
            engine.check_memory(data.n_rows, data.cell_bytes, settings, data.weights is not None)
            pieces = [
                [engine.submit(columns_of, block, own) for block in data.rows]
                for own in engine.features
            ]
            report(f"sorting {data.n_rows:,} rows")
            kept = [] if value is None else [*data.rows, *data.targets, *(data.weights or ())]
            engine.spawn(pieces, data.targets, data.weights, self._encoder(), settings, kept)
            self.tree_, table = grow(engine, engine.features, settings, report)
            self._x_dtype = table.dtype
            self._set_classes(table.classes)
            if value is not None:
                report("setting the values of the leaves")
                leaves = [engine.submit(_leaves, self.tree_, block) for block in data.rows]
                given = (self.tree_, value, leaves, data.targets, data.weights)
                (self.tree_,) = engine.wait([engine.submit(_set_leaf_values, *given)])

    def _fit_whole(self, why: str, X: Any, y: Any, sample_weight: Any, report: Any) -> None:
        """Grow the tree on one worker: it needs all features of a node, or all nodes, at once."""
        with DaskTreeEngine(self._client(), 1, self.n_jobs) as engine:
            report(f"reading the rows for one worker, which grows trees {why}")
            data = Partitions(engine, self, X, y, sample_weight)
            engine.check_memory(data.n_rows, self.n_features_in_, data.cell_bytes)
            given = data.rows, data.targets, data.weights
            reader = reader_of(self)
            # The worker draws what a local fit would draw here, and the generator goes on here.
            reader.random_state = copy.deepcopy(check_random_state(self.random_state))
            self._seed()
            engine.spawn(reader, *given, checked_targets)
            report(f"growing the tree from {data.n_rows:,} rows")
            self.__dict__.update(on_any(engine, "fit_tree"))

    def _grow_settings(self) -> dict[str, Any]:
        return self._settings()

    def _encoder(self) -> Any:
        """Get the function that encodes targets and weights on the workers."""
        raise NotImplementedError

    def _set_classes(self, classes: NDArray[Any] | None) -> None:
        """Keep the classes, if there are any."""

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
        if not is_dask(X):
            return self.to_local().apply(X, check_input)
        return self._each_block(X, _Call("apply", None, np.int64))


def _leaves(tree: _core.Tree, cells: NDArray[Any]) -> NDArray[np.int32]:
    """Find the leaf of each row of a partition."""
    # The buffers of rows that came from another worker may have any address.
    return tree.apply(aligned(cells), 1).astype(np.int32)


def _set_leaf_values(
    tree: _core.Tree,
    leaf_value: Any,
    leaves: list[NDArray[np.int32]],
    targets: list[NDArray[Any]],
    weights: list[NDArray[np.float64]] | None,
) -> _core.Tree:
    """Set the values of the leaves from the rows of all partitions."""
    return _core.set_values_of_leaves(
        tree,
        np.concatenate(leaves).astype(np.int64),
        as_numbers(np.concatenate(targets)),
        None if weights is None else np.concatenate(weights),
        {"leaf_value": leaf_value},
    )


class _ForestOnDask(_OnDask, _ForestBase):
    """What forests do on a cluster: every worker holds all rows and grows some of the trees."""

    def _check_settings(self, has_own_bags: bool) -> None:
        self._check_parameters()
        n_draws, own = None, np.empty((0, 1), np.uint32) if has_own_bags else None
        if self._draws_rows(has_own_bags):
            n_draws = number_of_draws(self.max_samples, 1 << 30, None)
        self._check_out_of_bag(Bags(1, np.empty(0, np.uint64), n_draws, None, own))

    def _of_trial(self) -> dict[str, Any]:
        own = {"n_estimators": 1, "bootstrap": False, "max_samples": None, "warm_start": False}
        return own | {"oob_score": False, "importance_type": "impurity"}

    def fit(self, X: Any, y: Any, sample_weight: Any = None, bags: OwnBags = None) -> Self:
        """Grow the trees from training rows that are distributed over a cluster.

        Every worker gets all rows, sorts them once, and grows some of the trees. The forest is that
        of the plain estimator, byte for byte, for every number of workers and all partitions. The
        trees of a worker that is lost are grown by the others. If the fit fails or is interrupted,
        the estimator does not change.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            Training rows, in partitions of any size. Cells are read as the plain estimator reads
            them.
        y : dask array, series or data frame of shape (n_samples,) or (n_samples, n_outputs)
            Targets, in partitions of their own.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Non-negative weights, not all zero.
        bags : array-like of shape (n_samples, n_estimators) or callable, default=None
            Bags of your own, as in the plain estimator. They are drawn or read by the client, which
            sends each tree's counts to the worker that grows it, 4 bytes per row.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        WorkerLost
            If all workers died, left or stopped, or one that did not answer had rows. The estimator
            has not changed.
        MemoryError
            If a worker has too little memory for all rows.

        Examples
        --------
        >>> import dask.array as da
        >>> from distributed import Client
        >>> from splitwood.dask import DaskRandomForestRegressor
        >>> with Client(n_workers=1, processes=False, dashboard_address=None):
        ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([5.0, 9.0])
        ...     len(DaskRandomForestRegressor(n_estimators=5).fit(X, y).estimators_)
        5
        """
        twin, _ = self._twin(X, y, bags is not None)
        report = _reporter(self.verbose)
        with DaskTreeEngine(self._client(), self.n_estimators, self.n_jobs) as engine:
            report("reading the rows")
            data = Partitions(engine, twin, X, y, sample_weight)
            engine.check_memory(data.n_rows, twin.n_features_in_, data.cell_bytes)
            given = data.rows, data.targets, data.weights
            engine.spawn(reader_of(twin), *given, checked_targets)
            report(f"sorting {data.n_rows:,} rows on {len(engine.threads)} workers")
            draws = self._draws_rows(bags is not None)
            held = on_all(engine, "sort", twin._seat_settings(), draws)
            n_bytes = sum(one.n_bytes for one in held)
            report(f"{n_bytes:,} bytes moved to the workers")
            twin.__dict__.update(held[0].attributes)
            twin._x_dtype = held[0].dtype
            twin._grow_on(engine, held[0], self._forest_to_extend(twin), report, bags)
        self.__dict__ = twin.__dict__
        return self

    def _seat_settings(self) -> dict[str, Any]:
        """Get the settings that do not depend on the trees or the seat."""
        fixed = {"splitter": self._splitter, "seed": 0, "bags": None, "oob": False}
        return self._growth_settings() | fixed

    def _grow_on(
        self,
        engine: DaskTreeEngine,
        held: Held,
        earlier: _core.Forest | None,
        report: Any,
        own: OwnBags = None,
    ) -> None:
        """Grow the missing trees, join them with the earlier ones, and set the results."""
        n_earlier = 0 if earlier is None else earlier.n_trees
        bags = self._new_bags(held.n_rows, held.weights, own, n_earlier)
        if len(bags.seeds) == 0:
            warn_of_no_new_trees()
        else:
            grown = grow_forest(engine, bags, report)
            if earlier is None:
                self.forest_, self._bags = grown, [bags]
            else:
                self.forest_ = _core.Forest.concat([earlier, grown])
                self._bags = [*self._bags, bags]
        self._trees = None
        if len(bags.seeds) == 0 and "oob_score_" in self.__dict__:
            return
        for name in RESULTS:
            self.__dict__.pop(name, None)
        if self.oob_score or self.importance_type == "unbiased":
            report("predicting the rows out of the bags")
            found, caught = on_any(engine, "results", self.forest_, self._bags)
            self.__dict__.update(found)
            for message, category in caught:
                warnings.warn(message, category, stacklevel=3)

    def apply(self, X: Any) -> Any:
        """Find the leaf of each row in each tree.

        Parameters
        ----------
        X : dask array or data frame, or anything that the plain estimator reads
            Rows to send down the trees.

        Returns
        -------
        leaves : dask array or data frame, or ndarray, of shape (n_samples, n_estimators)
            Node ids, lazily if ``X`` is a collection of Dask.

        Examples
        --------
        >>> import dask.array as da
        >>> from distributed import Client
        >>> from splitwood.dask import DaskExtraTreesRegressor
        >>> with Client(n_workers=1, processes=False, dashboard_address=None):
        ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([5.0, 9.0])
        ...     DaskExtraTreesRegressor(n_estimators=2).fit(X, y).apply(X).compute()
        array([[1, 1],
               [2, 2]])
        """
        check_is_fitted(self)
        return self._each_block(X, _Call("apply", self.forest_.n_trees, np.int64))


class _ForestRegressorOnDask(_RegressorOnDask, _ForestOnDask):
    """What forests for numbers do on a cluster."""

    def predict(self, X: Any, aggregate: Literal["mean", "median"] = "mean") -> Any:
        """Predict the mean, or the median, of the trees' predictions.

        Parameters
        ----------
        X : dask array or data frame, or anything that the plain estimator reads
            Rows to predict.
        aggregate : {"mean", "median"}, default="mean"
            What becomes of the predictions of the trees.

        Returns
        -------
        y : dask array or series, or ndarray
            Predicted targets, lazily if ``X`` is a collection of Dask.

        Examples
        --------
        >>> import dask.array as da
        >>> from distributed import Client
        >>> from splitwood.dask import DaskExtraTreesRegressor
        >>> with Client(n_workers=1, processes=False, dashboard_address=None):
        ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([5.0, 9.0])
        ...     DaskExtraTreesRegressor(n_estimators=2).fit(X, y).predict(X).compute()
        array([5., 9.])
        """
        return self._predict(X, np.float64, aggregate)


class _ForestClassifierOnDask(_ClassifierOnDask, _ForestOnDask):
    """What forests for classes do on a cluster."""

    def predict(self, X: Any) -> Any:
        """Predict the class with the largest mean share in the rows' leaves.

        Parameters
        ----------
        X : dask array or data frame, or anything that the plain estimator reads
            Rows to predict.

        Returns
        -------
        y : dask array or series, or ndarray
            Class labels, lazily if ``X`` is a collection of Dask.

        Examples
        --------
        >>> import dask.array as da
        >>> from distributed import Client
        >>> from splitwood.dask import DaskExtraTreesClassifier
        >>> with Client(n_workers=1, processes=False, dashboard_address=None):
        ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([3, 4])
        ...     DaskExtraTreesClassifier(n_estimators=2).fit(X, y).predict(X).compute()
        array([3, 4])
        """
        return self._predict_labels(X)

    def predict_proba(self, X: Any) -> Any:
        """Predict the share of each class: the mean of its shares in the rows' leaves.

        Parameters
        ----------
        X : dask array or data frame, or anything that the plain estimator reads
            Rows to predict.

        Returns
        -------
        proba : dask array or data frame, or ndarray
            Shares in the order of ``classes_``, lazily if ``X`` is a collection of Dask.

        Examples
        --------
        >>> import dask.array as da
        >>> from distributed import Client
        >>> from splitwood.dask import DaskExtraTreesClassifier
        >>> with Client(n_workers=1, processes=False, dashboard_address=None):
        ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([3, 4])
        ...     DaskExtraTreesClassifier(n_estimators=2).fit(X, y).predict_proba(X).compute()
        array([[1., 0.],
               [0., 1.]])
        """
        return self._shares_of(X)


class DaskDecisionTreeRegressor(_RegressorOnDask, _TreeOnDask, DecisionTreeRegressor):
    """A regression tree that is fitted on a Dask cluster.

    The model is that of `splitwood.DecisionTreeRegressor`, byte for byte. All its methods are here,
    too; those that take no collections of Dask work on data of this machine. A tree
    with categories, several outputs, random thresholds, drawn features or monotonic constraints is
    grown by one worker, which must have room for all rows.

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
    if TYPE_CHECKING:

        def to_local(self) -> DecisionTreeRegressor: ...

    def _grow_settings(self) -> dict[str, Any]:
        return self._settings() | {
            "quantile": self.quantile,
            "criterion": known_criterion(self.criterion, stacklevel=4),
            "leaf_value": self.leaf_value,
        }

    def _encoder(self) -> Any:
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
        if not is_dask(X):
            return self.to_local().predict(X, check_input)
        return self._predict(X, np.float64)


class DaskDecisionTreeClassifier(_ClassifierOnDask, _TreeOnDask, DecisionTreeClassifier):
    """A classification tree that is fitted on a Dask cluster.

    The model is that of `splitwood.DecisionTreeClassifier`, byte for byte. All its methods are
    here, too; those that take no collections of Dask work on data of this machine. A tree with
    categories, several outputs, random thresholds, drawn features or monotonic constraints is grown
    by one worker, which must have room for all rows.

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
    if TYPE_CHECKING:

        def to_local(self) -> DecisionTreeClassifier: ...

    def _encoder(self) -> Any:
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
        if not is_dask(X):
            return self.to_local().predict(X, check_input)
        return self._predict_labels(X)

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
        if not is_dask(X):
            return self.to_local().predict_proba(X, check_input)
        return self._shares_of(X)


class DaskRandomForestRegressor(_ForestRegressorOnDask, RandomForestRegressor):
    """A random forest that predicts numbers, fitted on a Dask cluster.

    The model is that of `splitwood.RandomForestRegressor`, byte for byte. All its methods
    are here, too; those that take no collections of Dask work on data of this machine. Every worker
    must have room for all rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from splitwood.dask import DaskRandomForestRegressor
    >>> with Client(n_workers=1, processes=False, dashboard_address=None):
    ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([5.0, 9.0])
    ...     forest = DaskRandomForestRegressor(5, random_state=0, bootstrap=False).fit(X, y)
    ...     forest.predict(X).compute()
    array([5., 9.])
    """

    _plain = RandomForestRegressor
    if TYPE_CHECKING:

        def to_local(self) -> RandomForestRegressor: ...


class DaskRandomForestClassifier(_ForestClassifierOnDask, RandomForestClassifier):
    """A random forest that predicts classes, fitted on a Dask cluster.

    The model is that of `splitwood.RandomForestClassifier`, byte for byte. All its methods
    are here, too; those that take no collections of Dask work on data of this machine. Every worker
    must have room for all rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from splitwood.dask import DaskRandomForestClassifier
    >>> with Client(n_workers=1, processes=False, dashboard_address=None):
    ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([3, 4])
    ...     forest = DaskRandomForestClassifier(5, random_state=0, bootstrap=False).fit(X, y)
    ...     forest.predict(X).compute()
    array([3, 4])
    """

    _plain = RandomForestClassifier
    if TYPE_CHECKING:

        def to_local(self) -> RandomForestClassifier: ...


class DaskExtraTreesRegressor(_ForestRegressorOnDask, ExtraTreesRegressor):
    """A forest with random thresholds that predicts numbers, fitted on a Dask cluster.

    The model is that of `splitwood.ExtraTreesRegressor`, byte for byte. All its methods
    are here, too; those that take no collections of Dask work on data of this machine. Every worker
    must have room for all rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from splitwood.dask import DaskExtraTreesRegressor
    >>> with Client(n_workers=1, processes=False, dashboard_address=None):
    ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([5.0, 9.0])
    ...     forest = DaskExtraTreesRegressor(5, random_state=0).fit(X, y)
    ...     forest.predict(X).compute()
    array([5., 9.])
    """

    _plain = ExtraTreesRegressor
    if TYPE_CHECKING:

        def to_local(self) -> ExtraTreesRegressor: ...


class DaskExtraTreesClassifier(_ForestClassifierOnDask, ExtraTreesClassifier):
    """A forest with random thresholds that predicts classes, fitted on a Dask cluster.

    The model is that of `splitwood.ExtraTreesClassifier`, byte for byte. All its methods
    are here, too; those that take no collections of Dask work on data of this machine. Every worker
    must have room for all rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from splitwood.dask import DaskExtraTreesClassifier
    >>> with Client(n_workers=1, processes=False, dashboard_address=None):
    ...     X, y = da.from_array([[1.0], [2.0]]), da.from_array([3, 4])
    ...     forest = DaskExtraTreesClassifier(5, random_state=0).fit(X, y)
    ...     forest.predict(X).compute()
    array([3, 4])
    """

    _plain = ExtraTreesClassifier
    if TYPE_CHECKING:

        def to_local(self) -> ExtraTreesClassifier: ...

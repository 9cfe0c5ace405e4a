"""Fitted forests in other formats: files, scikit-learn's classes, ONNX and shap.

The modules that do the work import the estimators, so they are imported at the first call.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike, DTypeLike
from sklearn.utils.validation import check_is_fitted

from . import _storage

if TYPE_CHECKING:
    from onnx import ModelProto


class ForestFilesMixin:
    """The methods of an estimator that store its fitted forest."""

    # `self` is a fitted estimator, whose attributes this class does not declare.

    def save(self: Any, path: str | os.PathLike[str]) -> None:
        """Write the fitted forest to a file, for `splitwood.load`.

        The file holds the trees, the parameters, the class labels, the feature names and, of a
        quantile forest, the training rows of the leaves and their targets. It is in splitwood's own
        format, which is checksummed and safe to load from untrusted sources. It does not hold the
        bags of the trees and the results of ``oob_score``; a pickle does.

        Parameters
        ----------
        path : str or path-like
            The file; an existing file is replaced.

        Examples
        --------
        >>> import tempfile, pathlib, splitwood
        >>> forest = splitwood.ExtraTreesRegressor(n_estimators=10).fit([[1.0], [3.0]], [5.0, 9.0])
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "forest.splitwood"
        >>> forest.save(path)
        >>> splitwood.load(path).predict([[0.0], [4.0]])
        array([5., 9.])
        """
        check_is_fitted(self)
        _storage.save(self, path)

    def to_dict(self: Any) -> dict[str, Any]:
        """Convert the fitted forest to lists, numbers and strings, for `splitwood.from_dict`.

        The dict holds what a file of `save` holds, and takes far more room.

        Returns
        -------
        data : dict
            Data for ``json.dumps(data, allow_nan=False)``. docs/model-format.md lists the keys.

        Examples
        --------
        >>> import splitwood
        >>> forest = splitwood.ExtraTreesRegressor(n_estimators=2).fit([[1.0], [3.0]], [5.0, 9.0])
        >>> [tree["n_node_samples"] for tree in forest.to_dict()["trees"]]
        [[2, 1, 1], [2, 1, 1]]
        """
        check_is_fitted(self)
        return _storage.to_dict(self)


class ForestConversionsMixin(ForestFilesMixin):
    """The methods of an estimator that convert its fitted forest."""

    def to_sklearn(self: Any, X: ArrayLike | None = None) -> Any:
        """Convert the forest to scikit-learn's own class, with the same trees.

        scikit-learn rounds ``X`` to float32. Rows in float32 take the same paths in both forests. A
        float64 cell that is rounded across a threshold goes to the other side; a warning gives the
        number of such thresholds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Rows in which such cells are counted, for example those of the fit. None counts only
            thresholds that are so close together that no float32 lies between them.

        Returns
        -------
        forest : object
            A fitted forest of ``sklearn.ensemble``, with the parameters that both classes have.

        Examples
        --------
        >>> from splitwood import ExtraTreesRegressor
        >>> forest = ExtraTreesRegressor(n_estimators=10).fit([[1.0], [3.0]], [5.0, 9.0])
        >>> type(forest.to_sklearn()).__module__
        'sklearn.ensemble._forest'
        >>> forest.to_sklearn().predict([[0.0], [4.0]])
        array([5., 9.])
        """
        from ._sklearn_bridge import forest_to_sklearn

        return forest_to_sklearn(self, X)

    def to_onnx(self: Any, dtype: DTypeLike | None = None) -> ModelProto:
        """Convert the forest to an ONNX model, for runtimes without Python.

        Needs onnx: ``pip install 'splitwood[onnx]'``. Rows of the given dtype reach the same leaves
        as here. The runtime computes the mean over the trees, and may round it differently.

        Parameters
        ----------
        dtype : {np.float32, np.float64}, default=None
            Type of the cells of the input "X". None means float32 if the rows of the fit were
            float32, and float64 otherwise.

        Returns
        -------
        model : onnx.ModelProto
            With the outputs that `DecisionTreeRegressor.to_onnx` describes.

        Examples
        --------
        >>> import numpy as np
        >>> import onnxruntime
        >>> from splitwood import ExtraTreesRegressor
        >>> forest = ExtraTreesRegressor(n_estimators=10).fit([[1.0], [3.0]], [5.0, 9.0])
        >>> session = onnxruntime.InferenceSession(forest.to_onnx().SerializeToString())
        >>> session.run(["prediction"], {"X": np.array([[0.0], [4.0]])})
        [array([5., 9.])]
        """
        from ._onnx import forest_to_onnx

        return forest_to_onnx(self, dtype)

    def to_shap(self: Any) -> dict[str, Any]:
        """Describe the forest as a model for ``shap.TreeExplainer``.

        The values that shap then assigns to the features of a row sum to the prediction of the row
        minus the expected prediction; for a classifier, the predictions are probabilities. Cells of
        categorical features are those that `DecisionTreeRegressor.to_shap` describes.

        Returns
        -------
        model : dict
            The first argument of ``shap.TreeExplainer``.

        Examples
        --------
        >>> import numpy as np
        >>> import shap
        >>> from splitwood import ExtraTreesRegressor
        >>> forest = ExtraTreesRegressor(n_estimators=10).fit([[1.0], [3.0]], [5.0, 9.0])
        >>> explainer = shap.TreeExplainer(forest.to_shap())
        >>> explainer(np.array([[4.0]])).values.round(6)
        array([[2.]])
        """
        from ._shap import forest_to_shap

        return forest_to_shap(self)

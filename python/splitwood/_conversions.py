"""Fitted estimators in other formats: files, dicts, scikit-learn's classes, ONNX and shap.

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


class ConversionsMixin:
    """The methods of an estimator that convert its fitted tree."""

    # `self` is a fitted estimator, whose attributes this class does not declare.

    def save(self: Any, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file, for `splitwood.load`.

        The file holds the tree, the parameters, the class labels and the feature names in
        splitwood's own format. The format is small and checksummed, and unlike a pickle it is safe
        to load from untrusted sources. The file is written under a temporary name and then
        renamed, so that it is never incomplete.

        A parameter that is not data, such as a callable `leaf_value`, is not stored; the leaves
        keep the values that it gave them. After loading, the parameter is a string that says so,
        and `fit` refuses it. The targets of `DecisionTreeRegressor.keep_leaf_targets` are not
        stored either, which gives a warning. An estimator of a subclass is loaded as an estimator
        of this class.

        Parameters
        ----------
        path : str or path-like
            The file; an existing file is replaced.

        Examples
        --------
        >>> import tempfile, pathlib, splitwood
        >>> tree = splitwood.DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "tree.splitwood"
        >>> tree.save(path)
        >>> splitwood.load(path).predict([[0.0], [4.0]])
        array([5., 9.])
        """
        check_is_fitted(self)
        _storage.save(self, path)

    def to_dict(self: Any) -> dict[str, Any]:
        """Convert the fitted estimator to lists, numbers and strings, for `splitwood.from_dict`.

        Floats keep every bit. `save` says what is not stored. For large trees, a file is smaller,
        faster and checksummed.

        Returns
        -------
        data : dict
            Data for ``json.dumps(data, allow_nan=False)``. docs/model-format.md lists the keys.

        Examples
        --------
        >>> import splitwood
        >>> tree = splitwood.DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
        >>> tree.to_dict()["tree"]["threshold"]
        [2.5, -2.0, -2.0]
        """
        check_is_fitted(self)
        return _storage.to_dict(self)

    def to_sklearn(self: Any, X: ArrayLike | None = None) -> Any:
        """Convert the tree to scikit-learn's own class, with the same predictions.

        scikit-learn rounds ``X`` to float32. Rows in float32 get the same predictions from both
        trees. A float64 cell that is rounded across a threshold goes to the other side; a warning
        gives the number of such thresholds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Rows in which such cells are counted, for example those of the fit. None counts only
            thresholds that are so close together that no float32 lies between them.

        Returns
        -------
        tree : sklearn.tree.DecisionTreeRegressor or sklearn.tree.DecisionTreeClassifier
            A fitted tree with the same nodes and with the parameters that both classes have; these
            matter only for another fit. scikit-learn has no ``criterion="quantile"``: it becomes
            "absolute_error". Versions of scikit-learn that do not predict missing values for that
            criterion get "squared_error".

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
        >>> type(tree.to_sklearn()).__module__
        'sklearn.tree._classes'
        >>> tree.to_sklearn().predict([[0.0], [4.0]])
        array([5., 9.])
        """
        from ._sklearn_bridge import to_sklearn

        return to_sklearn(self, X)

    def to_onnx(self: Any, dtype: DTypeLike | None = None) -> ModelProto:
        """Convert the tree to an ONNX model with the same predictions, for runtimes without Python.

        Needs onnx: ``pip install 'splitwood[onnx]'``. Predictions are identical to the last bit
        for rows of the given dtype, missing values included. A categorical feature has its labels
        as cells of "X" if these are numbers, and otherwise their codes: the index of the label in
        ``categories_``, or NaN if it is not there.

        Parameters
        ----------
        dtype : {np.float32, np.float64}, default=None
            Type of the cells of the input "X". None means float32 if the rows of the fit were
            float32, and float64 otherwise.

        Returns
        -------
        model : onnx.ModelProto
            The model of a regressor has the output "prediction" of shape (n_samples,) or
            (n_samples, n_outputs). The model of a classifier has the outputs "label" of shape
            (n_samples,) and "probabilities" of shape (n_samples, n_classes); with several outputs,
            "label_0", "probabilities_0", "label_1" and so on. The operator is ``TreeEnsemble`` of
            ``ai.onnx.ml`` 5.

        Examples
        --------
        >>> import numpy as np
        >>> import onnxruntime
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
        >>> session = onnxruntime.InferenceSession(tree.to_onnx().SerializeToString())
        >>> session.run(["prediction"], {"X": np.array([[0.0], [4.0]])})
        [array([5., 9.])]
        """
        from ._onnx import to_onnx

        return to_onnx(self, dtype)

    def to_shap(self: Any) -> dict[str, Any]:
        """Describe the tree as a model for ``shap.TreeExplainer``.

        The values that shap then assigns to the features of a row sum to the prediction of the row
        minus the expected prediction; for a classifier, the predictions are probabilities. Missing
        values go where the tree sends them. With background data, shap itself rounds thresholds
        and values to float32.

        The cells of a categorical feature are those that `to_onnx` describes. A label that did not
        occur at the fit must be NaN. A split on categories becomes several thresholds, which do not
        change the values of shap, but make the model larger.

        Returns
        -------
        model : dict
            The first argument of ``shap.TreeExplainer``.

        Examples
        --------
        >>> import shap
        >>> from splitwood import DecisionTreeRegressor
        >>> X = [[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [3.0, 1.0]]
        >>> tree = DecisionTreeRegressor().fit(X, [5.0, 5.0, 9.0, 9.0])
        >>> explainer = shap.TreeExplainer(tree.to_shap())
        >>> explainer.expected_value
        array([7.])
        >>> import numpy as np
        >>> explainer(np.array([[3.0, 1.0]])).values
        array([[2., 0.]])
        """
        from ._shap import to_shap

        return to_shap(self)

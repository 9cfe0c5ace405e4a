"""A warning where mlflow's autolog would log nothing without a word."""

from __future__ import annotations

import sys
import warnings


def warn_of_autolog() -> None:
    """Warn that ``mlflow.sklearn.autolog`` does not log the fit of a tree alone.

    autolog replaces the method ``fit`` of scikit-learn's own classes only. It does log pipelines
    and searches, with the parameters of the trees in them.
    """
    flavor = sys.modules.get("mlflow.sklearn")
    if flavor is None:
        return
    try:
        utils = sys.modules["mlflow.utils.autologging_utils"]
        is_silent = (
            utils.autologging_is_disabled("sklearn") or flavor._SklearnTrainingSession.is_active()
        )
    except (AttributeError, KeyError):
        # The names are those of mlflow 3. A fit must not fail where they change.
        return
    if is_silent:
        return
    warnings.warn(
        "mlflow.sklearn.autolog logs scikit-learn's classes, and so does not log this fit; fit "
        "sklearn.pipeline.make_pipeline(model), or call mlflow.sklearn.log_model(model, "
        'serialization_format="cloudpickle")',
        UserWarning,
        stacklevel=3,
    )

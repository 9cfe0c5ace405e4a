"""Settings of hypothesis, a variable that scipy reads when it is imported, and shared fixtures."""

import gc
import os

import pytest
from hypothesis import settings

# Without it, scikit-learn skips one of its estimator checks.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# The same cases in every run, so that a failure is due to the change. `make explore` draws others.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(scope="module")
def no_collector():
    """Switch the garbage collector off: only what nothing refers to is freed, and at once.

    In a process with many objects, as that of the whole test suite, it seldom looks at old ones.
    """
    gc.collect()
    gc.disable()
    yield
    gc.enable()

"""Settings that must stand before anything imports scipy, and those of hypothesis."""

import os

from hypothesis import settings

# Without it, scikit-learn skips one of its estimator checks; none is to be skipped.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# The same cases every time, so that what fails is the change; `make explore` tries others.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

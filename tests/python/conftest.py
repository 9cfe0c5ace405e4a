"""Settings of hypothesis, and an environment variable that scipy reads when it is imported."""

import os

from hypothesis import settings

# Without it, scikit-learn skips one of its estimator checks.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# The same cases in every run, so that a failure is due to the change. `make explore` draws others.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

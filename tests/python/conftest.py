"""Settings that must stand before anything imports scipy."""

import os

# Without it, scikit-learn skips one of its estimator checks; none is to be skipped.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

"""
An offset of the target changes nothing
=======================================

Adding a constant to the target should move every prediction by that constant and change no split.
Sums of squares in floating point lose this property when the constant is large. splitwood
subtracts the lowest target of a node before it squares anything, and adds integers.
"""

# %%
# The same data twice: once around 0, once around a billion, as for time stamps or amounts of money.
import matplotlib.pyplot as plt
import numpy as np
import sklearn.tree

import splitwood

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 1_000))
y = np.sin(x) + rng.normal(0, 0.2, len(x))
X = x[:, None]
OFFSET = 1e9

# %%
# Both libraries fit a tree of the same depth to the shifted target. The picture shows the
# predictions minus the offset.
figure, both = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for axes, package in zip(both, (sklearn.tree, splitwood), strict=True):
    settings = {"max_depth": 5, "min_samples_leaf": 10, "random_state": 0}
    around_0 = package.DecisionTreeRegressor(**settings).fit(X, y)
    around_billion = package.DecisionTreeRegressor(**settings).fit(X, y + OFFSET)
    axes.scatter(x, y, s=6, color="#bbbbbb", linewidths=0)
    axes.step(x, around_0.predict(X), color="black", lw=1.5, ls=":", label="fitted to y")
    shifted = around_billion.predict(X) - OFFSET
    axes.step(x, shifted, color="#d55e00", lw=2, label="fitted to y + 1e9")
    same = np.array_equal(around_0.apply(X), around_billion.apply(X))
    title = f"{package.__name__}: {'the same' if same else 'other'} leaves"
    axes.set_title(title, loc="left", weight="bold")
    axes.set_xlabel("x")
    axes.legend(frameon=False)

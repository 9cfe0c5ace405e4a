"""
Several quantiles of one tree
=============================

A tree with ``criterion="quantile"`` is made for one level. A tree that has kept the targets of its
leaves predicts every level, and its quantiles never cross.
"""

# %%
# The noise grows with x, and it is not symmetric.
import matplotlib.pyplot as plt
import numpy as np

from splitwood import DecisionTreeRegressor

rng = np.random.default_rng(2)
x = np.sort(rng.uniform(0, 10, 4_000))
y = 10 + 3 * np.sin(x / 2) + rng.gamma(2.0, 0.2 + 0.35 * x)
X = x[:, None]

# %%
# One half of the rows grows the tree; its leaves keep the targets of the other half. The quantiles
# are then those of rows that the search for splits has not seen.
tree = DecisionTreeRegressor(max_depth=5, min_samples_leaf=60).fit(X[::2], y[::2])
tree.keep_leaf_targets(X[1::2], y[1::2])

levels = [0.05, 0.25, 0.5, 0.75, 0.95]
lines = tree.predict_quantiles(X, levels).T

# %%
# Nine of ten rows should be inside the outer band.
inside = np.mean((lines[0] <= y) & (y <= lines[-1]))
print(f"inside the outer band: {inside:.1%}")

figure, axes = plt.subplots(figsize=(9, 4.4), layout="constrained")
axes.scatter(x, y, s=5, color="#bbbbbb", linewidths=0)
axes.fill_between(x, lines[0], lines[4], color="#0072b2", alpha=0.15, lw=0, label="5 % to 95 %")
axes.fill_between(x, lines[1], lines[3], color="#0072b2", alpha=0.3, lw=0, label="25 % to 75 %")
axes.plot(x, lines[2], color="#0072b2", lw=2.5, label="median")
axes.set(xlabel="x", ylabel="y")
axes.legend(frameon=False, loc="upper left")

"""
Predictions that never decrease
===============================

``monotonic_cst`` makes the predictions rise or fall with a feature, whatever the noise says: a
larger home never costs less, and a higher dose never helps less.
"""

# %%
# A rising curve, and noise that hides it here and there.
import matplotlib.pyplot as plt
import numpy as np

from splitwood import DecisionTreeRegressor

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0, 10, 400))
y = np.log1p(x) + rng.normal(0, 0.35, len(x))
X = x[:, None]

# %%
# The same settings without and with the constraint.
free = DecisionTreeRegressor(min_samples_leaf=8).fit(X, y)
rising = DecisionTreeRegressor(min_samples_leaf=8, monotonic_cst=[1]).fit(X, y)
where = np.linspace(0, 10, 2_000)[:, None]
assert (np.diff(rising.predict(where)) >= 0).all()

figure, both = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for axes, tree, title in ((both[0], free, "no constraint"), (both[1], rising, "never decreases")):
    axes.scatter(x, y, s=8, color="#bbbbbb", linewidths=0)
    axes.plot(where, np.log1p(where), color="black", lw=1, ls=":")
    axes.step(where[:, 0], tree.predict(where), color="#0072b2", lw=2.5)
    axes.set_title(f"{title}: {tree.get_n_leaves()} leaves", loc="left", weight="bold")
    axes.set_xlabel("x")

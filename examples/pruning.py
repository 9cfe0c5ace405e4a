"""
How many leaves a tree should have
==================================

``prune`` cuts a fitted tree back without another fit. The pruning path lists the costs per leaf at
which the tree changes, so that the best size can be found on held-out rows in one pass.
"""

# %%
# Three thousand noisy rows, of which a third is held out.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split

from splitwood import DecisionTreeRegressor

X, y = make_friedman1(3_000, noise=2.0, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0)

# %%
# The whole tree is fitted once. Each point of the picture is a pruned copy of it.
whole = DecisionTreeRegressor().fit(X_train, y_train)
path = whole.cost_complexity_pruning_path(X_train, y_train)
alphas = path.ccp_alphas[:: max(1, len(path.ccp_alphas) // 200)]
trees = [whole.prune(alpha) for alpha in alphas]
leaves = np.array([tree.get_n_leaves() for tree in trees])
held_out = np.array([tree.score(X_test, y_test) for tree in trees])
best = held_out.argmax()
print(f"whole tree: {leaves[0]:,} leaves, R² {held_out[0]:.2f}")
print(f"best tree: {leaves[best]:,} leaves, R² {held_out[best]:.2f}")

# %%
figure, axes = plt.subplots(figsize=(9, 4.4), layout="constrained")
axes.plot(leaves, [tree.score(X_train, y_train) for tree in trees], color="#9a9a9a", lw=2)
axes.plot(leaves, held_out, color="#0072b2", lw=2.5)
axes.plot(leaves[best], held_out[best], "o", color="#d55e00", ms=9)
axes.annotate("training rows", (leaves[0], 0.98), color="#777777", ha="right", va="top")
axes.annotate("held-out rows", (leaves[0], held_out[0] + 0.02), color="#0072b2", ha="right")
note = f"{leaves[best]} leaves"
axes.annotate(note, (leaves[best], held_out[best] + 0.03), color="#d55e00", ha="center")
axes.set(xscale="log", xlabel="leaves", ylabel="R²", ylim=(0, 1))

"""
Categories without encoding
===========================

A split on a categorical feature sends the best of all subsets of its labels to the left. No
encoding is needed, and no order of the labels is invented.
"""

# %%
# A price per district: the names say nothing about the order of the prices.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from splitwood import DecisionTreeRegressor, export_text, plot_tree

rng = np.random.default_rng(0)
level = dict(zip("ABCDEFGHIJ", [3, 8, 3, 5, 8, 5, 3, 8, 5, 3], strict=True))
X = pd.DataFrame({"district": rng.choice(list(level), 2_000), "area": rng.uniform(30, 200, 2_000)})
y = X["district"].map(level) * X["area"] + rng.normal(0, 30, 2_000)

# %%
# The first splits find the three groups of districts.
tree = DecisionTreeRegressor(max_leaf_nodes=6, categorical_features=["district"]).fit(X, y)
print(export_text(tree))

# %%
plt.figure(figsize=(11, 5.5), layout="constrained")
plot_tree(tree, filled=True, rounded=True, impurity=False)

# %%
# With one-hot columns, a split can separate only one district from all others, and the tree needs
# more leaves for the same error.
encoded = pd.get_dummies(X)
for leaves in (6, 12, 24):
    settings = {"max_leaf_nodes": leaves}
    subsets = DecisionTreeRegressor(categorical_features=["district"], **settings).fit(X, y)
    one_hot = DecisionTreeRegressor(**settings).fit(encoded, y)
    print(
        f"{leaves:2} leaves: R² {subsets.score(X, y):.3f}, one-hot {one_hot.score(encoded, y):.3f}"
    )

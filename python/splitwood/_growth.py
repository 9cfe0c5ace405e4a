"""Pictures and animations of a growing tree: the same data, fitted with increasing depths.

With one feature, a tree is a step function. With two features, it is a surface of flat plates.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_regressor

from ._arguments import check_count
from ._estimators import DecisionTreeRegressor
from ._frames import read_frame
from ._plot import load_pyplot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLUE, _GREY = "#1f4e8c", "#8a8a8a"
_COLORS = "viridis"
# Points per side of a surface: enough for flat plates, few enough for small files.
_GRID = 64
# Width and height of a panel in inches, by the number of features.
_PANEL = {1: (4.2, 3.1), 2: (3.6, 3.5)}
# Margin above and below the data, as a share of their range.
_ROOM = 0.06


def plot_growth(
    estimator_or_params: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    depths: Iterable[int] = (1, 2, 4, 6),
) -> Figure:
    """Draw the predictions of a regression tree of one or two features, depth by depth.

    Needs matplotlib: ``pip install 'splitwood[plot]'``.

    Parameters
    ----------
    estimator_or_params : regressor or dict
        A regressor with the parameter ``max_depth``, which does not change, or parameters of
        `DecisionTreeRegressor`.
    X : array-like or data frame of shape (n_samples, 1) or (n_samples, 2)
        Training rows. A vector is a single feature.
    y : array-like of shape (n_samples,)
        Targets.
    depths : sequence of int, default=(1, 2, 4, 6)
        The depths to draw, one per panel.

    Returns
    -------
    figure : matplotlib figure
        For one feature, each panel shows the data and the tree's step function. For two features,
        the first panel shows the data, and the others show the tree's surface.

    See Also
    --------
    animate_growth : An animation of the depths.

    Examples
    --------
    >>> import numpy as np
    >>> from splitwood import plot_growth
    >>> x = np.linspace(0, np.pi, 200)
    >>> figure = plot_growth({"min_samples_leaf": 3}, x, np.cos(x**2), depths=(2, 4))
    >>> [axes.get_title() for axes in figure.axes]
    ['depth 2: 4 leaves, R² 0.618', 'depth 4: 16 leaves, R² 0.954']
    """
    pyplot = load_pyplot("plot_growth")
    scene = _Scene.of(estimator_or_params, X, y, depths)
    panels = len(scene.trees) + (scene.n_features == 2)
    columns = panels if panels <= 3 else int(np.ceil(np.sqrt(panels)))
    rows = -(-panels // columns)
    width, height = _PANEL[scene.n_features]
    figure = pyplot.figure(figsize=(width * columns, height * rows), layout="constrained")
    places = iter(scene.axes(figure, rows, columns, panels))
    if scene.n_features == 2:
        scene.draw_data(next(places))
    for tree, axes in zip(scene.trees, places, strict=True):
        scene.draw_tree(axes, tree)
    return figure


def animate_growth(
    estimator_or_params: Any,
    X: ArrayLike,
    y: ArrayLike,
    path: str | os.PathLike[str],
    *,
    depths: Iterable[int] = (1, 2, 3, 4, 5, 6, 7, 8),
    fps: float = 1.5,
) -> None:
    """Write an animated GIF of a regression tree of one or two features that grows.

    Needs matplotlib: ``pip install 'splitwood[plot]'``.

    Parameters
    ----------
    estimator_or_params : regressor or dict
        A regressor with the parameter ``max_depth``, which does not change, or parameters of
        `DecisionTreeRegressor`.
    X : array-like or data frame of shape (n_samples, 1) or (n_samples, 2)
        Training rows. A vector is a single feature.
    y : array-like of shape (n_samples,)
        Targets.
    path : str or path
        The file to write.
    depths : sequence of int, default=(1, 2, 3, 4, 5, 6, 7, 8)
        The depths to show, one per frame.
    fps : float, default=1.5
        Frames per second.

    See Also
    --------
    plot_growth : A figure with one panel per depth.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from splitwood import animate_growth
    >>> x = np.linspace(0, np.pi, 200)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     animate_growth({}, x, np.cos(x**2), Path(folder) / "chirp.gif", depths=(1, 2, 3))
    ...     (Path(folder) / "chirp.gif").read_bytes()[:6]
    b'GIF89a'
    """
    pyplot = load_pyplot("animate_growth")
    from matplotlib.animation import PillowWriter

    if not fps > 0:
        raise ValueError(f"fps: must be above 0, got {fps!r}")
    scene = _Scene.of(estimator_or_params, X, y, depths)
    panels = scene.n_features
    width, height = _PANEL[panels]
    figure = pyplot.figure(figsize=(1.35 * width * panels, 1.35 * height), layout="constrained")
    try:
        *still, moving = scene.axes(figure, 1, panels, panels)
        for axes in still:
            scene.draw_data(axes)
        writer = PillowWriter(fps=fps)
        with writer.saving(figure, os.fspath(path), dpi=72):
            for tree in scene.trees:
                moving.clear()
                scene.draw_tree(moving, tree)
                writer.grab_frame()
    finally:
        pyplot.close(figure)


@dataclass
class _Scene:
    """The data and the trees, and methods that draw them; all panels have the same ranges."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    names: list[str]
    target_name: str
    trees: list[tuple[int, Any, float]]

    @classmethod
    def of(
        cls, estimator_or_params: Any, X: ArrayLike, y: ArrayLike, depths: Iterable[int]
    ) -> _Scene:
        depths = [check_count("depths", depth, 1) for depth in depths]
        if not depths:
            raise ValueError("depths: must have at least one")
        estimator = _regressor(estimator_or_params)
        cells = read_frame(X)
        cells = np.asarray(X) if cells is None else cells
        cells = cells[:, None] if cells.ndim == 1 else cells
        if cells.ndim != 2 or cells.shape[1] not in (1, 2):
            raise ValueError(
                f"X: must have one or two features to be drawn, got shape {cells.shape}"
            )
        targets = np.asarray(y, dtype=np.float64)
        if targets.ndim != 1:
            raise ValueError(f"y: must be a vector to be drawn, got shape {targets.shape}")
        trees = []
        for depth in depths:
            tree = clone(estimator).set_params(max_depth=depth).fit(cells, y)
            trees.append((depth, tree, tree.score(cells, y)))
        unnamed = [_name(X, "x")] if cells.shape[1] == 1 else ["x[0]", "x[1]"]
        # pyarrow has the names in `column_names`, pandas and polars in `columns`.
        names = getattr(X, "column_names", getattr(X, "columns", unnamed))
        return cls(cells.astype(np.float64), targets, [*map(str, names)], _name(y, "y"), trees)

    @property
    def n_features(self) -> int:
        return len(self.names)

    def axes(self, figure: Figure, rows: int, columns: int, panels: int) -> list[Any]:
        if self.n_features == 2:
            return [
                figure.add_subplot(rows, columns, place + 1, projection="3d")
                for place in range(panels)
            ]
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for unused in grid.ravel()[panels:]:
            unused.remove()
        return list(grid.ravel()[:panels])

    def draw_tree(self, axes: Any, fitted: tuple[int, Any, float]) -> None:
        depth, tree, score = fitted
        if self.n_features == 1:
            self._draw_steps(axes, tree)
        else:
            self._draw_surface(axes, *self._surface(tree))
        leaves = tree.get_n_leaves()
        words = f"depth {depth}: {leaves} {'leaf' if leaves == 1 else 'leaves'}, R² {score:.3f}"
        axes.set_title(words, fontsize=11)

    def draw_data(self, axes: Any) -> None:
        grid = self._grid_of_data()
        if grid is None:
            axes.scatter(*self.X.T, self.y, c=self.y, cmap=_COLORS, s=6)
            self._frame_surface(axes)
        else:
            self._draw_surface(axes, *grid)
        axes.set_title("the data", fontsize=11)

    def _draw_steps(self, axes: Any, tree: Any) -> None:
        """Draw the data, and steps whose edges are the thresholds."""
        x = self.X[:, 0]
        low, high = np.nanmin(x), np.nanmax(x)
        nodes = tree.tree_
        at = np.unique(nodes.threshold[nodes.children_left >= 0])
        edges = np.concatenate(([low], at[(at > low) & (at < high)], [high]))
        values = tree.predict((edges[:-1] + (edges[1:] - edges[:-1]) / 2)[:, None])
        axes.scatter(x, self.y, s=9, color=_GREY, alpha=0.6, linewidths=0)
        axes.stairs(values, edges, baseline=None, color=_BLUE, linewidth=2)
        room = _ROOM * (np.ptp(self.y) or 1.0)
        axes.set(ylim=(self.y.min() - room, self.y.max() + room))
        axes.set(xlabel=self.names[0], ylabel=self.target_name)
        axes.label_outer()
        axes.spines[["top", "right"]].set_visible(False)

    def _surface(self, tree: Any) -> tuple[NDArray[Any], ...]:
        sides = [np.linspace(np.nanmin(side), np.nanmax(side), _GRID) for side in self.X.T]
        first, second = np.meshgrid(*sides)
        height = tree.predict(np.column_stack([first.ravel(), second.ravel()]))
        return first, second, height.reshape(first.shape)

    def _grid_of_data(self) -> tuple[NDArray[Any], ...] | None:
        """Get the data as a surface; None unless there is one row per point of a grid."""
        sides = [np.unique(side) for side in self.X.T]
        if len(sides[0]) * len(sides[1]) != len(self.y) or np.isnan(self.X).any():
            return None
        order = np.lexsort((self.X[:, 0], self.X[:, 1]))
        first, second = np.meshgrid(*sides)
        if not np.array_equal(self.X[order], np.column_stack([first.ravel(), second.ravel()])):
            return None
        return first, second, self.y[order].reshape(first.shape)

    def _draw_surface(
        self, axes: Any, first: NDArray[Any], second: NDArray[Any], height: NDArray[Any]
    ) -> None:
        # Each tile has its own colour, without lines in between, so that plates keep their edges.
        axes.plot_surface(
            *(first, second, height),
            **{"cmap": _COLORS, "vmin": self.y.min(), "vmax": self.y.max()},
            **{"rcount": _GRID, "ccount": _GRID, "linewidth": 0, "antialiased": False},
        )
        self._frame_surface(axes)

    def _frame_surface(self, axes: Any) -> None:
        room = _ROOM * (np.ptp(self.y) or 1.0)
        axes.set(xlabel=self.names[0], ylabel=self.names[1], zlabel=self.target_name)
        axes.set_zlim(self.y.min() - room, self.y.max() + room)
        axes.tick_params(labelsize=8, pad=0)


def _name(series: Any, unnamed: str) -> str:
    """Get the name of a Series of pandas or polars; of all else, `unnamed`."""
    name = getattr(series, "name", None)
    return unnamed if name is None or name == "" else str(name)


def _regressor(estimator_or_params: Any) -> Any:
    if isinstance(estimator_or_params, Mapping):
        return DecisionTreeRegressor(**estimator_or_params)
    if not is_regressor(estimator_or_params) or "max_depth" not in estimator_or_params.get_params():
        raise TypeError(
            "estimator_or_params: must be a regressor with max_depth, or a dict of parameters of "
            f"DecisionTreeRegressor, got {type(estimator_or_params).__name__}"
        )
    return estimator_or_params

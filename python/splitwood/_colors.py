"""A colour for each node, by its class and purity or by its value."""

from __future__ import annotations

import colorsys

import numpy as np
from numpy.typing import NDArray

from . import _core

# The colour of branches that are not shown, as in scikit-learn.
GREY = "#c0c0c0"
# The first hue is orange; the other hues are spread evenly around the colour wheel.
_FIRST_HUE, _SATURATION, _BRIGHTNESS = 25.0 / 360.0, 0.75, 0.9


class NodeColors:
    """Colours of nodes: the deeper, the larger the share of the main class or the value.

    With several outputs, a colour is the deeper, the lower the impurity of the node.
    """

    def __init__(self, tree: _core.Tree) -> None:
        self._shares: NDArray[np.float64] | None = None
        if tree.n_outputs > 1:
            self._numbers = -tree.impurity
        elif tree.max_n_classes == 1:
            self._numbers = tree.value[:, 0, 0]
        else:
            self._shares = tree.value[:, 0, :]
        if self._shares is None:
            # The difference of two large numbers could overflow; that of their halves can't.
            self._numbers = np.nan_to_num(self._numbers) / 2.0
            self._bounds = (float(self._numbers.min()), float(self._numbers.max()))
        n_hues = 1 if self._shares is None else tree.max_n_classes
        self._hues = [
            np.array(colorsys.hsv_to_rgb((_FIRST_HUE + k / n_hues) % 1.0, _SATURATION, _BRIGHTNESS))
            for k in range(n_hues)
        ]

    def of(self, node: int) -> str:
        """Get the colour of a node as ``#rrggbb``."""
        if self._shares is None:
            low, high = self._bounds
            depth = (self._numbers[node] - low) / (high - low) if high > low else 0.0
            return _over_white(self._hues[0], depth)
        shares = self._shares[node]
        first = int(np.argmax(shares))
        second = float(np.max(np.delete(shares, first)))
        depth = (shares[first] - second) / (1.0 - second) if second < 1.0 else 0.0
        return _over_white(self._hues[first], depth)


def ink(color: str) -> str:
    """Get black or white, whichever is legible on this colour."""
    red, green, blue = (int(color[start : start + 2], 16) / 255.0 for start in (1, 3, 5))
    # At a luminance (with a gamma of 2) of about 0.18, black and white have the same contrast.
    return "white" if 0.21 * red**2 + 0.72 * green**2 + 0.07 * blue**2 < 0.18 else "black"


def _over_white(rgb: NDArray[np.float64], depth: float) -> str:
    # Shares may exceed 1 by a rounding.
    depth = min(max(depth, 0.0), 1.0)
    mixed = np.rint(255.0 * (depth * rgb + (1.0 - depth))).astype(int)
    return "#{:02x}{:02x}{:02x}".format(*mixed)

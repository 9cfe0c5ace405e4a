"""
Watch a tree learn a surface
============================

Draw how a tree learns a surface, sinc on a grid, as a still and as an animation.

.. code-block:: sh

    python examples/sinc.py [folder]

The drawing needs the extra "plot": pip install 'splitwood[plot]'.
"""

import sys
from pathlib import Path

import numpy as np

from splitwood import animate_growth, plot_growth

PICTURES = Path(sys.argv[0]).resolve().parents[1] / "docs/pictures"


def sinc_on_a_grid(points: int = 64) -> tuple[np.ndarray, np.ndarray]:
    """sin(πr)/(πr) at the distance r from the origin, for the points of a square."""
    side = np.linspace(-3.0, 3.0, points)
    X = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    return X, np.sinc(np.hypot(*X.T))


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    X, y = sinc_on_a_grid()
    still, animation = folder / "sinc.png", folder / "sinc.gif"
    plot_growth({}, X, y, depths=(4, 8)).savefig(still, dpi=160)
    animate_growth({}, X, y, animation, depths=range(1, 11))
    print(still, animation, sep="\n")


if __name__ == "__main__":
    main()

"""
Watch a tree learn a chirp
==========================

Draw how a tree learns a chirp, y = cos(x²) on [0, π], as a still and as an animation.

.. code-block:: sh

    python examples/chirp.py [folder]

The drawing needs the extra "plot": pip install 'splitwood[plot]'.
"""

import sys
from pathlib import Path

import numpy as np

from splitwood import animate_growth, plot_growth

PICTURES = Path(sys.argv[0]).resolve().parents[1] / "docs/pictures"
SETTINGS = {"min_samples_leaf": 2}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    x = np.linspace(0.0, np.pi, 300)
    y = np.cos(x**2)
    still, animation = folder / "chirp.png", folder / "chirp.gif"
    plot_growth(SETTINGS, x, y, depths=(1, 2, 3, 5)).savefig(still, dpi=200)
    animate_growth(SETTINGS, x, y, animation, depths=range(1, 8))
    print(still, animation, sep="\n")


if __name__ == "__main__":
    main()

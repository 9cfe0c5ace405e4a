"""
Draw a tree
===========

Draw the tree of the iris data, and take a picture of its display in a notebook.

.. code-block:: sh

    python examples/iris_tree.py [folder]

The drawing needs the extra "plot": pip install 'splitwood[plot]'. The picture of the notebook needs
chromium, and is left out without it.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_iris

from splitwood import DecisionTreeClassifier, plot_tree

PICTURES = Path(sys.argv[0]).resolve().parents[1] / "docs/pictures"
PAGE = "<!doctype html><meta charset='utf-8'><body style='margin:12px'>{}</body>"
WINDOW = "460,470"
# Sharp at half of a page's width on dense screens.
SCALE = 2


def draw(tree: DecisionTreeClassifier, picture: Path) -> None:
    boxes = plot_tree(tree, filled=True, rounded=True, class_names=True, impurity=False)
    boxes[0].figure.savefig(picture, dpi=220)
    print(picture)


def photograph(tree: DecisionTreeClassifier, picture: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        print("no chromium: no picture of the notebook")
        return
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "notebook.html"
        page.write_text(PAGE.format(tree._repr_html_()), encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={WINDOW}"]
        options.append(f"--force-device-scale-factor={SCALE}")
        subprocess.run(
            [chromium, *options, f"--screenshot={picture}", page.as_uri()],
            check=True,
            stderr=subprocess.DEVNULL,
        )
    print(picture)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    iris = load_iris(as_frame=True)
    species = iris.target_names[iris.target]
    tree = DecisionTreeClassifier(max_depth=3).fit(iris.data, species)
    draw(tree, folder / "iris-tree.png")
    photograph(tree, folder / "notebook.png")


if __name__ == "__main__":
    main()

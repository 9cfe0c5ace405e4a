"""Drawings of trees: the boxes have the text of the graph, don't overlap, and are legible."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from handover import chain
from splitwood import DecisionTreeClassifier, DecisionTreeRegressor, export_graphviz, plot_tree

matplotlib = pytest.importorskip("matplotlib", reason="drawings need matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (after the choice of the backend)


@pytest.fixture(autouse=True)
def _no_open_figures():
    pyplot.close("all")
    yield
    pyplot.close("all")


def tree_of_43_nodes():
    data = load_breast_cancer(as_frame=True)
    return DecisionTreeClassifier().fit(data.data, data.target)


def overlaps(a, b):
    return a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1


def extents(boxes):
    pyplot.gcf().draw_without_rendering()
    return [box.get_bbox_patch().get_window_extent() for box in boxes]


@pytest.mark.parametrize("options", [{}, {"filled": True, "rounded": True, "class_names": True}])
def test_a_tree_of_about_fifty_nodes_can_be_read(options):
    boxes = plot_tree(tree_of_43_nodes(), **options)
    assert len(boxes) == 43
    drawn = extents(boxes)
    assert not any(overlaps(a, b) for i, a in enumerate(drawn) for b in drawn[:i])
    figure = pyplot.gcf().bbox
    assert all(e.x0 >= figure.x0 and e.x1 <= figure.x1 and e.y0 >= figure.y0 for e in drawn)
    assert all(box.get_fontsize() >= 8 for box in boxes)


def test_boxes_fit_the_axes_that_are_given():
    _, axes = pyplot.subplots(1, 2, figsize=(12, 5))
    boxes = plot_tree(tree_of_43_nodes(), ax=axes[1], max_depth=2)
    drawn = extents(boxes)
    assert not any(overlaps(a, b) for i, a in enumerate(drawn) for b in drawn[:i])
    assert all(e.x0 >= axes[1].bbox.x0 - 1 for e in drawn)
    assert len(axes[0].texts) == 0


def test_an_open_figure_is_drawn_into():
    figure = pyplot.figure(figsize=(3, 2))
    plot_tree(tree_of_43_nodes(), max_depth=1)
    assert pyplot.get_fignums() == [figure.number]
    assert figure.axes[0].texts


def test_boxes_say_what_the_graph_says():
    data = load_iris()
    ours = DecisionTreeClassifier().fit(data.data, data.target)
    graph = export_graphviz(ours, class_names=data.target_names)
    for box in plot_tree(ours, class_names=data.target_names):
        text = box.get_text().replace("\n", "\\n")
        assert f'"{text}"' in graph


def test_a_large_tree_is_drawn_in_part_and_says_so():
    rng = np.random.default_rng(0)
    ours = DecisionTreeRegressor().fit(rng.random((2000, 3)), rng.random(2000))
    boxes = plot_tree(ours)
    texts = [box.get_text() for box in boxes]
    assert 31 <= len(boxes) <= 63
    left_out = sum(int(t.split()[1].replace(",", "")) for t in texts if t.startswith("(...)"))
    whole = sum(not t.startswith("(...)") for t in texts)
    assert left_out + whole == 3999
    note = pyplot.gca().texts[-1].get_text()
    assert note == f"{whole} of 3,999 nodes; the tree goes down to depth {ours.get_depth()}"


@pytest.mark.parametrize("given", [True, False])
def test_small_axes_get_the_levels_that_can_be_read(given):
    rng = np.random.default_rng(1)
    ours = DecisionTreeRegressor(max_leaf_nodes=61).fit(rng.random((500, 3)), rng.random(500))
    assert ours.tree_.node_count == 121
    _, axes = pyplot.subplots(figsize=(16, 8))
    boxes = plot_tree(ours, ax=axes if given else None)
    assert all(box.get_fontsize() >= 4.5 for box in boxes)
    assert 7 <= len(boxes) < 121
    drawn = sum(not box.get_text().startswith("(...)") for box in boxes)
    note = axes.texts[-1].get_text()
    assert note == f"{drawn} of 121 nodes; the tree goes down to depth {ours.get_depth()}"
    # A depth or a font that is asked for is drawn.
    assert len(plot_tree(ours, ax=axes, max_depth=100)) == 121
    assert len(plot_tree(ours, ax=axes, fontsize=4)) == 121


def test_a_chain_a_million_deep_is_drawn_in_part():
    assert len(plot_tree(chain(1_000_000))) <= 63


def test_the_size_of_the_text_can_be_chosen():
    boxes = plot_tree(tree_of_43_nodes(), max_depth=1, fontsize=5)
    assert {box.get_fontsize() for box in boxes} == {5.0}


def test_dollar_signs_are_no_formulas():
    ours = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [0.0, 1.0])
    boxes = plot_tree(ours, feature_names=["$cost$ in \\$"])
    pyplot.gcf().draw_without_rendering()
    assert boxes[0].get_text().startswith(r"\$cost\$ in")


def test_without_matplotlib_the_error_names_the_extra():
    code = """
import sys
sys.modules["matplotlib"] = None
import splitwood
tree = splitwood.DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
try:
    splitwood.plot_tree(tree)
except ModuleNotFoundError as error:
    print(error)
"""
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert printed.stdout == "plot_tree needs matplotlib: pip install 'splitwood[plot]'\n"


def test_importing_the_package_imports_no_extra():
    code = "import splitwood, sys; print(sorted({'matplotlib', 'onnx', 'shap'} & set(sys.modules)))"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert printed.stdout == "[]\n"

"""The HTML for notebooks: scikit-learn's diagram and the tree below it, escaped and well-formed."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from handover import chain, fitted_categories, fitted_outputs
from splitwood import DecisionTreeClassifier, DecisionTreeRegressor


def ours(estimator):
    """Parse the tree's part of the HTML. Open tags and names without escapes raise an error."""
    html = estimator._repr_mimebundle_()["text/html"]
    part = html[html.index('<div class="splitwood-tree"') :]
    return ElementTree.fromstring(part)


def words(element):
    return " ".join(" ".join(element.itertext()).split())


def iris():
    data = load_iris(as_frame=True)
    return DecisionTreeClassifier(max_depth=3).fit(data.data, data.target_names[data.target])


def test_a_fitted_tree_shows_its_size_its_splits_and_its_importances():
    shown = words(ours(iris()))
    assert "9 nodes · 5 leaves · depth 3 · 4 features" in shown
    assert "petal length (cm) ≤ 2.45 150 rows" in shown
    assert "setosa 50 rows" in shown
    importances = sorted(iris().feature_importances_, reverse=True)
    assert f"petal length (cm) {importances[0]:.1%}" in shown


def test_the_diagram_and_the_parameters_are_those_of_scikit_learn():
    html = iris()._repr_mimebundle_()["text/html"]
    assert "sk-container" in html
    assert "max_depth" in html
    assert iris()._repr_html_().endswith(html[html.index('<div class="splitwood-tree"') :])


def test_an_unfitted_tree_shows_its_parameters_only():
    html = DecisionTreeRegressor(max_depth=2)._repr_html_()
    assert "max_depth" in html
    assert "splitwood-tree" not in html


def test_the_setting_of_scikit_learn_is_respected():
    with sklearn.config_context(display="text"):
        assert "text/html" not in iris()._repr_mimebundle_()
        assert not hasattr(iris(), "_repr_html_")


def test_a_pipeline_shows_its_own_diagram():
    pipeline = make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=1))
    pipeline.fit([[0.0], [1.0]], [0.0, 1.0])
    assert "DecisionTreeRegressor" in pipeline._repr_html_()


HOSTILE = "<script>alert('x')</script> & \"quoted\""


def test_names_are_escaped():
    pandas = pytest.importorskip("pandas", reason="data frames have names")
    X = pandas.DataFrame({HOSTILE: [0.0, 1.0, 2.0], "</svg>": [0.0, 0.0, 1.0]})
    tree = DecisionTreeClassifier().fit(X, [HOSTILE, "<b>", "&amp;"])
    html = tree._fitted_html()
    assert "<script" not in html
    assert "<b>" not in html
    # The parser undoes the escapes, so titles have the original names.
    titles = [title.text for title in ours(tree).iter("title")]
    assert f"{HOSTILE} ≤ 0.5, 3 rows" in titles
    assert "&amp;, 1 row" in titles


@pytest.mark.parametrize("depth", [2, 1000, 1_000_000])
def test_large_trees_are_drawn_in_part(depth):
    part = ours(chain(depth))
    boxes = list(part.iter("g"))
    assert len(boxes) <= 15
    assert f"{2 * depth + 1:,} nodes" in words(part)
    assert (depth > 7) == any("…" in words(box) for box in boxes)


def test_boxes_don_t_overlap_and_are_inside():
    data = load_breast_cancer(as_frame=True)
    svg = next(ours(DecisionTreeClassifier().fit(data.data, data.target)).iter("svg"))
    width, height = float(svg.get("width")), float(svg.get("height"))
    spans = {}
    for rect in svg.iter("rect"):
        x, y, w, h = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
        assert x >= 0
        assert x + w <= width
        assert y + h <= height
        spans.setdefault(y, []).append((x, x + w))
    assert len(spans) == 4
    for level in spans.values():
        ends = np.array(sorted(level))
        assert (ends[1:, 0] > ends[:-1, 1]).all()


def test_a_single_leaf_has_no_importances():
    part = ours(DecisionTreeRegressor().fit([[0.0], [0.0]], [1.0, 2.0]))
    assert words(part) == "1 node · 1 leaf · depth 0 · 1 feature 1.5, 2 rows 1.5 2 rows"


def test_several_outputs_and_categories_are_drawn():
    assert "5 more}, " in words(ours(fitted_categories()))
    assert re.search(r"\[[-.\d]+, [-.\d]+\] \d+ rows", words(ours(fitted_outputs(max_depth=2))))
    assert re.search(
        r"\[top, yes\] \d+ rows", words(ours(fitted_outputs(classes=True, max_depth=2)))
    )


def test_of_many_features_the_first_are_listed():
    rng = np.random.default_rng(0)
    part = ours(DecisionTreeRegressor().fit(rng.random((300, 20)), rng.random(300)))
    rows = [words(row) for row in part.iter("tr")]
    assert len(rows) == 9
    assert re.fullmatch(r"12 more [\d.]+%", rows[-1])
    shares = [float(re.search(r"([\d.]+)%", row)[1]) for row in rows]
    assert sum(shares) == pytest.approx(100, abs=0.5)

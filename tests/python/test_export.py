"""Trees as text and as graphs: scikit-learn's output, and the additions to it."""

import io
import re
import shutil
import subprocess

import numpy as np
import pytest
import sklearn.tree
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import splitwood
from handover import chain, fitted_categories, fitted_classifier, fitted_outputs
from splitwood import DecisionTreeClassifier, DecisionTreeRegressor, export_graphviz, export_text
from splitwood._labels import number
from splitwood._outline import deepest_outline, node_depths, outline, positions

IRIS = load_iris()


def iris_tree(**settings):
    return DecisionTreeClassifier(**settings).fit(IRIS.data, IRIS.target)


def diabetes_tree(**settings):
    X, y = load_diabetes(return_X_y=True)
    # Numbers with no more digits than are shown.
    return DecisionTreeRegressor(**settings).fit(np.rint(X * 1000), y)


# ---- text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"feature_names": IRIS.feature_names, "class_names": IRIS.target_names},
        {"show_weights": True, "decimals": 4, "spacing": 5},
        {"max_depth": 9, "decimals": 3},
    ],
)
def test_text_is_that_of_scikit_learn(options):
    ours = iris_tree()
    assert export_text(ours, **options) == sklearn.tree.export_text(ours.to_sklearn(), **options)


def test_text_of_a_regressor_is_that_of_scikit_learn():
    ours = diabetes_tree(max_depth=5)
    assert export_text(ours) == sklearn.tree.export_text(ours.to_sklearn())


def test_text_of_a_single_leaf_is_that_of_scikit_learn():
    ours = diabetes_tree(min_samples_leaf=442)
    assert export_text(ours) == sklearn.tree.export_text(ours.to_sklearn())


def test_truncated_text_says_what_is_missing():
    report = export_text(diabetes_tree(), max_depth=2)
    cut = [
        int(n.replace(",", ""))
        for n in re.findall(r"truncated branch of depth \d+, (.*) nodes", report)
    ]
    written = report.count("<=") + report.count("value")
    assert written + sum(cut) == diabetes_tree().tree_.node_count
    theirs = sklearn.tree.export_text(diabetes_tree().to_sklearn(), max_depth=2)
    assert re.sub(r", [\d,]+ nodes", "", report) == theirs


def test_names_of_a_data_frame_are_used():
    frame = load_iris(as_frame=True)
    ours = DecisionTreeClassifier(max_depth=2).fit(frame.data, frame.target)
    assert "petal length (cm) <= 2.45" in export_text(ours)
    assert "petal length (cm) <= 2.45" in export_graphviz(ours)
    assert "one <= 2.45" in export_text(ours, feature_names=["zero", "other", "one", "two"])


def missing_tree():
    """Missing values of the first feature go left, to fewer rows, and are separated there."""
    X = [[0.0, 1.0], [np.nan, 1.0], [5.0, 1.0], [6.0, 1.0], [7.0, 1.0], [8.0, 1.0]]
    return DecisionTreeRegressor().fit(X, [0.0, 1.0, 9.0, 9.0, 9.0, 9.0])


def test_text_shows_where_missing_values_go():
    assert export_text(missing_tree()) == (
        "|--- feature_0 <= 2.50 or missing\n"
        "|   |--- feature_0 is not missing\n"
        "|   |   |--- value: [0.00]\n"
        "|   |--- feature_0 is missing\n"
        "|   |   |--- value: [1.00]\n"
        "|--- feature_0 >  2.50\n"
        "|   |--- value: [9.00]\n"
    )


def test_missing_values_can_be_shown_or_not():
    ours = iris_tree(max_depth=1)
    assert "missing" not in export_text(ours)
    assert "petal" not in export_text(ours)
    assert export_text(ours, show_missing=True).startswith("|--- feature_2 <= 2.45\n")
    assert "|--- feature_2 >  2.45 or missing\n" in export_text(ours, show_missing=True)
    assert "or missing" not in export_text(missing_tree(), show_missing=False)
    assert "2.45, not missing" in export_graphviz(ours, show_missing=True)


def test_categories_are_sets():
    report = export_text(fitted_categories(), feature_names=["color", "size"])
    assert report.splitlines()[0] == "|--- color in {1, 2, 4, 5, 7, 8, 10, 11, 5 more}"
    assert "\n|--- color not in {1, 2, 4, 5, 7, 8, 10, 11, 5 more}\n" in report
    assert "x[0] in {1, 2, 4" in export_graphviz(fitted_categories())
    assert "color in {1, 2, 4, 5, 7, 8, 10, 11, 5 more} or missing" in export_text(
        fitted_categories(), feature_names=["color", "size"], show_missing=True
    )


def test_several_outputs_are_listed():
    numbers = DecisionTreeRegressor(max_depth=3).fit(IRIS.data[:, :2], IRIS.data[:, 2:])
    assert export_text(numbers) == sklearn.tree.export_text(numbers.to_sklearn())
    classes = fitted_outputs(classes=True, max_depth=2)
    report = export_text(classes, show_weights=True)
    leaf = int(np.flatnonzero(classes.tree_.children_left < 0)[0])
    weights = classes.tree_.value[leaf] * classes.tree_.weighted_n_node_samples[leaf]
    words = ", ".join("[" + ", ".join(f"{v:.2f}" for v in row) + "]" for row in weights)
    labels = [names[row.argmax()] for names, row in zip(classes.classes_, weights, strict=True)]
    assert f"weights: {words} class: [{', '.join(labels)}]" in report
    graph = export_graphviz(classes, filled=True, class_names=True)
    assert f"class = [{', '.join(labels)}]" in graph
    with pytest.raises(
        ValueError, match="class_names: several outputs have the names of their labels"
    ):
        export_text(classes, class_names=["a", "b", "c"])


def test_a_chain_a_million_deep_prints_its_first_levels():
    deep = chain(1_000_000)
    report = export_text(deep)
    assert "truncated branch of depth 999,990, 1,999,979 nodes" in report.replace(
        "999990", "999,990"
    )
    assert len(report.splitlines()) < 50
    graph = export_graphviz(deep, max_depth=3)
    assert '"(...)\\n1,999,993 nodes"' in graph
    assert len(graph.splitlines()) < 50


@pytest.mark.parametrize(
    ("value", "decimals", "padded", "short"),
    [
        (0.8, 2, "0.80", "0.8"),
        (2.0, 3, "2.000", "2.0"),
        (-0.001, 0, "-0.001", "-0.001"),
        (0.0, 2, "0.00", "0.0"),
        (-0.0, 2, "0.00", "0.0"),
        (1.234e-9, 2, "1.2e-09", "1.2e-09"),
        (0.0148, 2, "0.015", "0.015"),
        (0.0199, 2, "0.02", "0.02"),
        (1.7e9 + 0.5, 2, "1700000000.50", "1700000000.5"),
        (1.5e300, 2, "1.5e+300", "1.5e+300"),
        (5e-324, 3, "4.94e-324", "4.94e-324"),
    ],
)
def test_no_number_reads_as_another(value, decimals, padded, short):
    assert number(value, decimals, padded=True) == padded
    assert number(value, decimals, padded=False) == short


# ---- graphs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"feature_names": IRIS.feature_names, "class_names": IRIS.target_names},
        {"label": "root", "node_ids": True, "proportion": True, "impurity": False},
        {"label": "none", "rotate": True, "rounded": True, "fontname": "times"},
        {"leaves_parallel": True, "precision": 2},
        {"special_characters": True, "node_ids": True, "class_names": ["a", "b", "c"]},
    ],
)
def test_graph_is_that_of_scikit_learn(options):
    ours = iris_tree()
    assert export_graphviz(ours, **options) == sklearn.tree.export_graphviz(
        ours.to_sklearn(), **options
    )


def test_graph_of_a_regressor_is_that_of_scikit_learn():
    ours = diabetes_tree(max_depth=4)
    assert export_graphviz(ours) == sklearn.tree.export_graphviz(ours.to_sklearn())


@pytest.mark.parametrize(
    "ours", [iris_tree(), diabetes_tree(max_depth=4), diabetes_tree(min_samples_leaf=442)]
)
def test_colours_are_those_of_scikit_learn(ours):
    def colours(graph):
        found = re.findall(r'fillcolor="#(..)(..)(..)"', graph)
        return np.array([[int(part, 16) for part in rgb] for rgb in found])

    theirs = sklearn.tree.export_graphviz(ours.to_sklearn(), filled=True)
    mine = export_graphviz(ours, filled=True)
    # scikit-learn truncates where splitwood rounds, before and after mixing.
    assert np.abs(colours(mine) - colours(theirs)).max() <= 2


def test_true_names_the_classes_by_their_labels():
    assert 'class = zzz"' in export_graphviz(
        fitted_classifier(labels=("x", "zzz")), class_names=True
    )


def test_graph_is_written_to_files(tmp_path):
    ours = iris_tree(max_depth=2)
    graph = export_graphviz(ours)
    path = tmp_path / "tree.dot"
    for out_file in (str(path), path):
        assert export_graphviz(ours, out_file) is None
        assert path.read_text(encoding="utf-8") == graph
        path.unlink()
    file = io.StringIO()
    export_graphviz(ours, file)
    assert file.getvalue() == graph


HOSTILE_NAMES = ['a "quoted" name', r"back\slash\n", "a <b> & c", "$x$ {|}"]


@pytest.mark.parametrize("special_characters", [False, True])
def test_hostile_names_are_drawn_as_they_are(special_characters, tmp_path):
    if shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed")
    rows = np.random.default_rng(0).random((200, 4))
    names = np.array(HOSTILE_NAMES)
    ours = DecisionTreeClassifier(max_depth=5).fit(rows, names[rows.argmax(axis=1)])
    graph = export_graphviz(
        ours, feature_names=HOSTILE_NAMES, class_names=True, special_characters=special_characters
    )
    drawn = subprocess.run(
        ["dot", "-Tplain"], input=graph, capture_output=True, text=True, check=True
    )
    assert drawn.stderr == ""
    svg = subprocess.run(
        ["dot", "-Tsvg"], input=graph, capture_output=True, text=True, check=True
    ).stdout
    text = svg.replace("&#160;", " ").replace("&#45;", "-")
    assert "a &quot;quoted&quot; name" in text
    assert r"back\slash\n" in text
    assert "a &lt;b&gt; &amp; c" in text


# ---- refusals ------------------------------------------------------------------------------------


def test_wrong_arguments_are_named():
    ours = iris_tree(max_depth=2)
    for export in (export_text, export_graphviz):
        with pytest.raises(ValueError, match="feature_names: the tree has 4 features, got 2 names"):
            export(ours, feature_names=["a", "b"])
        with pytest.raises(ValueError, match="feature_names: must be strings"):
            export(ours, feature_names=[1, 2, 3, 4])
        with pytest.raises(ValueError, match="class_names: the tree has 3 classes, got 2 names"):
            export(ours, class_names=["a", "b"])
        with pytest.raises(ValueError, match="max_depth: must be an integer of at least 0, got -1"):
            export(ours, max_depth=-1)
        with pytest.raises(sklearn.exceptions.NotFittedError):
            export(DecisionTreeRegressor())
        with pytest.raises(TypeError, match="from_sklearn"):
            export(ours.to_sklearn())
    with pytest.raises(ValueError, match="spacing: must be an integer of at least 1, got 0"):
        export_text(ours, spacing=0)
    with pytest.raises(ValueError, match='label: must be "all", "root" or "none", got \'some\''):
        export_graphviz(ours, label="some")
    with pytest.raises(ValueError, match=r"precision: must be an integer of at least 0, got 1\.5"):
        export_graphviz(ours, precision=1.5)


# ---- outline and positions -----------------------------------------------------------------------


def big_tree():
    rng = np.random.default_rng(0)
    return DecisionTreeRegressor().fit(rng.random((3000, 3)), rng.random(3000)).tree_


def test_depths_are_those_of_a_walk():
    tree = big_tree()
    expected = np.zeros(tree.node_count, dtype=int)
    for node in range(tree.node_count):
        if tree.children_left[node] >= 0:
            for child in (tree.children_left[node], tree.children_right[node]):
                expected[child] = expected[node] + 1
    np.testing.assert_array_equal(node_depths(tree), expected)


@pytest.mark.parametrize("max_nodes", [3, 50, 127, 10**6])
def test_the_deepest_outline_is_just_small_enough(max_nodes):
    tree = big_tree()
    depth = deepest_outline(tree, max_nodes)
    assert len(outline(tree, depth)) <= max_nodes
    assert len(outline(tree, depth + 1)) > max_nodes or depth + 1 >= tree.max_depth


@pytest.mark.parametrize("max_depth", [0, 3, 8, None])
def test_nothing_overlaps_and_parents_are_in_the_middle(max_depth):
    shown = outline(big_tree(), max_depth)
    widths = np.random.default_rng(1).uniform(0.5, 4.0, len(shown))
    x = positions(shown, widths)
    assert (x - widths / 2).min() == pytest.approx(0.0, abs=1e-9)
    children = {}
    for place, item in enumerate(shown):
        children.setdefault(item.parent, []).append(place)
    for parent, pair in children.items():
        if parent is not None:
            assert x[parent] == pytest.approx(x[pair].mean())
    for depth in range(max(item.depth for item in shown) + 1):
        level = [place for place, item in enumerate(shown) if item.depth == depth]
        gaps = np.diff(x[level]) - (widths[level][1:] + widths[level][:-1]) / 2
        assert (gaps > -1e-9).all()


def test_an_outline_adds_up():
    tree = big_tree()
    for max_depth in (0, 1, 5, None):
        shown = outline(tree, max_depth)
        assert sum(item.size if item.is_cut else 1 for item in shown) == tree.node_count
        tallest = max(item.depth + item.height - 1 for item in shown)
        assert tallest == tree.max_depth


def test_exports_are_public():
    assert {"export_text", "export_graphviz", "plot_tree", "from_sklearn"} <= set(splitwood.__all__)


def test_a_real_tree_of_about_fifty_nodes_fits_a_screen():
    X, y = load_breast_cancer(return_X_y=True)
    report = export_text(DecisionTreeClassifier().fit(X, y))
    assert max(map(len, report.splitlines())) < 80
    assert len(report.splitlines()) < 70

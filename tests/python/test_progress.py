"""verbose=1 shows progress and changes nothing else."""

import pickle
import sys
from contextlib import nullcontext

import numpy as np
import pytest

from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    _base_tree,
)
from splitwood._progress import shown_progress, shown_trees
from trees import assert_same_tree


def problem(n=200_000):
    rng = np.random.default_rng(0)
    X = rng.random((n, 5), dtype=np.float32)
    return X, (X.sum(axis=1) + rng.normal(size=n) > 2.5).astype(float)


@pytest.mark.parametrize(
    "kind", [DecisionTreeRegressor, DecisionTreeClassifier, ExtraTreeRegressor]
)
def test_a_bar_that_ends_at_all_rows(kind, capsys):
    X, y = problem()
    shown = kind(verbose=1, random_state=0).fit(X, y)
    text = capsys.readouterr().err
    assert "rows settled" in text
    assert "100%" in text
    assert_same_tree(shown, kind(random_state=0).fit(X, y))
    assert capsys.readouterr().err == ""


def test_a_line_where_tqdm_is_not_installed(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with shown_progress(1, 100) as report:
        report(0.25)
    text = capsys.readouterr().err
    assert " 25% of the rows settled" in text
    assert "100% of the rows settled" in text
    assert text.endswith("\n")


def fit_and_tell(report, monkeypatch):
    """Fit a large table with the given function as the progress report."""
    monkeypatch.setattr(_base_tree, "shown_progress", lambda verbose, n_rows: nullcontext(report))
    X, y = problem(1_000_000)
    return DecisionTreeRegressor().fit(X, X[:, 0] + y)


def test_shares_rise_to_one(monkeypatch):
    shares = []
    fit_and_tell(shares.append, monkeypatch)
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)
    assert any(share > 0 for share in shares)


def test_what_the_report_raises_ends_the_fit(monkeypatch):
    def report(share):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fit_and_tell(report, monkeypatch)


# ---- forests -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [RandomForestRegressor, RandomForestClassifier])
def test_a_forest_shows_its_running_score_and_is_the_same(kind, capsys):
    X, y = problem(20_000)
    settings = {"n_estimators": 30, "oob_score": True, "random_state": 0}
    shown = kind(verbose=1, **settings).fit(X, y)
    text = capsys.readouterr().err
    assert "forest grown" in text
    assert f"out-of-bag score {shown.oob_score_:.4g}" in text
    silent = kind(**settings).fit(X, y)
    assert capsys.readouterr().err == ""
    assert pickle.dumps(shown.forest_) == pickle.dumps(silent.forest_)
    assert shown.oob_score_ == silent.oob_score_
    kind(verbose=1, **settings | {"oob_score": False}).fit(X, y)
    assert "out-of-bag" not in capsys.readouterr().err


def scores_during_a_fit(monkeypatch, X, y, **settings):
    """Get the running sums of a fit that takes a while."""
    sums = []
    running = RandomForestRegressor._running_score

    def remember(forest, out_of_bag, targets):
        sums.append(out_of_bag)
        return running(forest, out_of_bag, targets)

    monkeypatch.setattr(RandomForestRegressor, "_running_score", remember)
    forest = RandomForestRegressor(oob_score=True, verbose=1, random_state=0, **settings).fit(X, y)
    return forest, sums


def test_running_scores_are_those_of_the_first_trees(monkeypatch):
    X, y = problem(30_000)
    forest, sums = scores_during_a_fit(monkeypatch, X, y, n_estimators=60)
    assert len(sums) > 1
    # The trees that left the first rows out, added up by hand.
    bags = [np.bincount(rows, minlength=len(y))[:50] == 0 for rows in forest.estimators_samples_]
    each = [tree.predict(X[:50]) for tree in forest.estimators_]
    for values, n_trees in sums:
        upto = np.cumsum(bags, axis=0)
        first = next(n for n in range(60) if (upto[n] == n_trees[:50]).all())
        expected = sum(np.where(b, e, 0.0) for b, e in zip(bags[: first + 1], each, strict=False))
        np.testing.assert_array_equal(values[:50, 0], expected)


def test_a_score_that_raises_while_trees_grow_ends_the_fit():
    X, y = problem(30_000)
    forest = RandomForestRegressor(3, random_state=0).fit(X, y)
    trees = forest.forest_

    def fails(truth, predicted):
        raise RuntimeError("no score today")

    forest.set_params(n_estimators=60, oob_score=fails, verbose=1)
    with pytest.raises(RuntimeError, match="no score today"):
        forest.fit(X, y)
    assert forest.forest_ is trees


def test_a_warm_start_shows_no_running_score(capsys):
    X, y = problem(5_000)
    forest = RandomForestRegressor(20, oob_score=True, warm_start=True, random_state=0, verbose=1)
    forest.fit(X, y)
    capsys.readouterr()
    forest.set_params(n_estimators=30).fit(X, y)
    assert "out-of-bag" not in capsys.readouterr().err


def test_a_line_with_the_score_where_tqdm_is_not_installed(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with shown_trees(1, 4, lambda out_of_bag: 0.123456) as report:
        report(1, 0.25, None)
        report(2, 0.5, ())
        report(3, 0.75, None)
    lines = capsys.readouterr().err.split("\r")
    assert ["out-of-bag score 0.1235" in line for line in lines[1:]] == [False, True, True, True]
    assert "100% of the forest grown" in lines[-1]

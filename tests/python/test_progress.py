"""verbose=1 shows progress and changes nothing else."""

import sys
from contextlib import nullcontext

import numpy as np
import pytest

from splitwood import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor, _base_tree
from splitwood._progress import shown_progress
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

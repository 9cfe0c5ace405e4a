"""The comparison with other packages: what it computes, and a tiny run of it from end to end."""

import io
import json
import runpy
from dataclasses import asdict, fields, replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import mean_poisson_deviance

from compare import command, figures, memory, numpy_tree, plots, report, store
from compare.cases import (
    BEST_EXACT_PEER,
    EXTRA_TREE,
    FLIGHTS,
    TREE,
    Case,
    Limit,
    Prediction,
    Target,
)
from compare.catalogue import CASES, SERIES, SQUARED
from compare.data import make_data
from compare.growth import growths, slope
from compare.losses import loss
from compare.progress import PAUSE_SECONDS, Progress
from compare.results import Result, Run, not_ahead, verdicts
from compare.systems import OURS, PEERS, fit_numpy, fit_scikit_learn, ours_under
from compare.timing import Measured, Rounds, expected_seconds, turns
from scripts import LINUX

ROOT = Path(__file__).parents[2]
CASE = {case.name: case for case in CASES}
PEER = {peer.name: peer for peer in PEERS}


def run_of(*results):
    return Run("a machine", "today", 2, {}, results=list(results))


def timed(name, *seconds, loss=1.0):
    return Measured(OURS if name == OURS.name else PEER[name], list(seconds), loss)


# ---- growth --------------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0])
def test_slope_is_the_exponent_of_a_power(exponent):
    sizes = np.array([1e3, 1e4, 1e5, 1e6])
    assert slope(sizes, 3e-7 * sizes**exponent) == pytest.approx(exponent, abs=1e-12)


def test_slope_of_n_log_n_is_what_the_report_says():
    sizes = np.array([1e3, 1e4, 1e5, 1e6])
    assert slope(sizes, sizes * np.log(sizes)) == pytest.approx(1.1, abs=0.02)


def test_slope_needs_two_sizes_with_a_cost():
    assert slope([1_000], [1.0]) is None
    assert slope([1_000, 10_000], [0, 1.0]) is None
    assert slope([], []) is None


def test_growth_follows_each_system_along_the_cases_that_it_was_measured_in():
    series = next(series for series in SERIES if series.cases[0] == "1k")
    run = run_of(
        Result(CASE["10k"], [timed("splitwood", 0.2, 0.1), timed("YDF", 1.0)]),
        Result(CASE["1k"], [timed("splitwood", 0.01), timed("scikit-learn", 1.0)]),
        Result(CASE["1m"], [timed("splitwood", 10.0), timed("YDF", 100.0)]),
    )
    ours, theirs = growths(run, series)
    assert (ours.system, ours.sizes, ours.costs) == (
        "splitwood",
        (1_000, 10_000, 1_000_000),
        (0.01, 0.1, 10.0),
    )
    assert ours.slope == pytest.approx(1.0)
    assert (theirs.system, theirs.slope) == ("YDF", pytest.approx(1.0))


# ---- the catalogue -------------------------------------------------------------------------------


def test_names_of_cases_are_unique():
    assert len(CASE) == len(CASES)


@pytest.mark.parametrize("series", SERIES, ids=lambda series: f"{series.of} {series.title}")
def test_cases_of_a_series_differ_in_size_alone(series):
    first, *others = (CASE[name] for name in series.cases)
    own = {"name", "targets", "limits", "settings", "memory_target", "quick"}
    own |= {"group", "calls", "predicted"}
    own.add({"rows": "rows", "columns": "columns", "trees": "options"}[series.along])
    sizes = [series.size(CASE[name]) for name in series.cases]
    assert sizes == sorted(set(sizes))
    for case in others:
        for field in {field.name for field in fields(case)} - own:
            assert getattr(case, field) == getattr(first, field), field
    if isinstance(first, Prediction):
        assert len({CASE[name].rows for name in series.cases}) == 1


TINY_ROWS = 300
# The flights come with the extra bench.
OPTION_CASES = [
    case
    for case in CASES
    if case.model in (TREE, EXTRA_TREE) and case.held_out and case.source != FLIGHTS
]


@pytest.mark.parametrize("case", OPTION_CASES, ids=lambda case: case.name)
def test_options_are_fitted_alike_and_judged_by_held_out_rows(case):
    case = replace(case, rows=TINY_ROWS, held_out=TINY_ROWS // 2)
    data = make_data(case)
    X, y = data.judged
    assert data.X.shape == (TINY_ROWS, X.shape[1])
    assert (len(data.y), len(y)) == (TINY_ROWS, TINY_ROWS // 2)
    for system in (OURS, PEER["scikit-learn"]):
        if system.takes_part(case):
            assert np.isfinite(loss(system.fit(case, data, 1), case, X, y))


def test_brier_score_of_several_outputs_and_classes():
    case = case_with(n_classes=3, n_outputs=2)
    y = np.array([[0, 2], [1, 1]])
    right = [np.eye(3)[y[:, output]] for output in range(2)]
    assert loss(lambda X: right, case, None, y) == 0.0
    wrong = [np.eye(3)[(y[:, output] + 1) % 3] for output in range(2)]
    assert loss(lambda X: wrong, case, None, y) == 2.0


def test_poisson_deviance_is_scikit_learns():
    y, predicted = np.array([0.0, 1.0, 4.0]), np.array([0.5, 2.0, 4.0])
    case = case_with(criterion="poisson")
    assert loss(lambda X: predicted, case, None, y) == pytest.approx(
        mean_poisson_deviance(y, predicted)
    )


# ---- ratios and verdicts -------------------------------------------------------------------------


def case_with(**changes):
    return replace(Case("synthetic", 1_000, 6), **changes)


def test_ratios_are_of_the_best_times_and_targets_are_judged_by_them():
    case = case_with(targets=(Target("scikit-learn", 5), Target(BEST_EXACT_PEER, 3)))
    result = Result(
        case,
        [
            timed("splitwood", 2.0, 1.0, 3.0),
            timed("scikit-learn", 9.0, 6.0),
            timed("YDF", 2.5, 4.0),
            timed("LightGBM", 0.5),  # approximate: not among the exact peers
        ],
    )
    first, second = verdicts(result)
    assert (first.against, first.measured, first.reached) == ("scikit-learn", "6.0", True)
    assert second.against == "best exact peer (YDF)"
    assert (second.measured, second.reached) == ("2.5", False)


def test_nobody_wins_by_fitting_worse():
    case = case_with(targets=(Target("scikit-learn", 5),))
    ours, theirs = timed("splitwood", 1.0, loss=1.01), timed("scikit-learn", 9.0, loss=1.0)
    (verdict,) = verdicts(Result(case, [ours, theirs]))
    assert not verdict.reached
    assert verdict.remark == "fits worse"


def test_limits_compare_settings_of_our_own():
    case = case_with(settings=(SQUARED,), limits=(Limit(OURS.name, SQUARED.name, 2),))
    squared = Measured(ours_under(SQUARED), [1.0], 1.0)
    (verdict,) = verdicts(Result(case, [timed("splitwood", 2.5), squared]))
    assert (verdict.measured, verdict.reached) == ("2.50", False)


def test_memory_is_judged_in_sizes_of_x_and_beyond_the_result():
    fit = case_with(memory_target=6)
    assert memory.Memory(added=700, size=100, cells=25, kept=200).sizes == 5.0
    used = memory.Memory(added=700, size=100, cells=25)
    (verdict,) = verdicts(Result(fit, memory={OURS.name: used}))
    assert (verdict.target, verdict.measured, verdict.reached) == ("≤ 6", "7.00", False)
    assert used.bytes_per_cell == 28
    prediction = Prediction("synthetic", 1_000, 6, memory_target=500_000)
    used = memory.Memory(added=8_400_000, size=8_000_000, cells=1, first=9_000_000)
    (verdict,) = verdicts(Result(prediction, memory={OURS.name: used}))
    assert (verdict.target, verdict.measured, verdict.reached) == ("≤ 500 kB", "400 kB", True)


def test_every_faster_peer_is_listed_those_that_fit_as_well_first():
    run = run_of(
        Result(
            CASE["1k"],
            [timed("splitwood", 1.0), timed("LightGBM", 0.5, loss=2.0), timed("YDF", 1.1)],
        ),
        Result(CASE["10k"], [timed("splitwood", 1.0), timed("LightGBM", 0.9)]),
    )
    listed = [(result.case.name, peer.system.name) for result, peer in not_ahead(run)]
    assert listed == [("10k", "LightGBM"), ("1k", "LightGBM")]
    table = report.not_ahead_table(run)
    assert table.count("fits worse") == 1
    assert table.count("**fits as well**") == 1
    alone = run_of(Result(CASE["1k"], [timed("splitwood", 1)]))
    assert report.not_ahead_table(alone) == "No peer was faster in any case of this run."


def test_medians_are_compared_with_means_of_the_same_data():
    squared = Measured(ours_under(SQUARED), [0.5], 1.0)
    run = run_of(
        Result(CASE["1k-absolute"], [timed("splitwood", 1.0), squared]),
        Result(CASE["1k"], [timed("splitwood", 1.0)]),
    )
    table = report.median_table(run)
    assert "| 500 ms | 1.00 s (2.00) | – |" in table
    assert table.count("\n") == 2


def test_the_overview_has_the_range_of_the_ratios_to_scikit_learn():
    run = run_of(
        *(
            Result(CASE[name], [timed("splitwood", 1.0), timed("scikit-learn", ratio)])
            for name, ratio in (("1k", 2.0), ("10k", 8.0), ("100k", 20.0))
        )
    )
    expected = "In 3 fits, scikit-learn takes 2.0 to 20 times splitwood's time; the median is 8.0."
    assert report.overview(run) == expected


def test_each_group_is_listed_with_its_least_and_largest_ratio():
    run = run_of(
        *(
            Result(CASE[name], [timed("splitwood", 1.0), timed("scikit-learn", ratio)])
            for name, ratio in (("1k", 2.0), ("100k", 20.0), ("10k", 8.0), ("third", 5.0))
        )
    )
    _, _, plain, options = report.glance_table(run).splitlines()
    least, most = CASE["1k"].title, CASE["100k"].title
    assert plain == f"| Squared error | 3 | 8.0 | 2.0: {least} | 20: {most} |"
    assert options.startswith("| Options | 1 | 5.0 | 5.0: ")


@pytest.mark.parametrize(
    "text",
    ["It takes 1.5 s.", "It\ntakes 1.5 s.\n\nIt has 2.5 s.", "- a b\n- It takes 1.5 s. Yes.\n- c"],
)
def test_a_figure_of_a_page_is_replaced_and_nothing_else(text):
    figure = figures.Figure("page", "It takes {}.", lambda run: ("20 ms",))
    filled = figure.filled(text, run_of())
    assert filled.replace("\n", " ") == text.replace("1.5 s", "20 ms").replace("\n", " ")
    assert figure.filled(filled, run_of()) == filled


@pytest.mark.parametrize("text", ["It costs 1.5 s.", "It takes 1.5 s. It takes 2 s."])
def test_a_figure_that_is_not_on_its_page_once_is_an_error(text):
    figure = figures.Figure("page", "It takes {}.", lambda run: ("20 ms",))
    with pytest.raises(ValueError, match="times, not once"):
        figure.filled(text, run_of())


def test_paragraphs_with_figures_are_filled_anew():
    figure = figures.Figure("page", "in {} words", lambda run: ("long " * 40 + "gap",))
    text = "- one\n- in a few words\n- three\n"
    first, *lines, last = figure.filled(text, run_of()).splitlines()
    assert (first, last) == ("- one", "- three")
    assert all(len(line) <= figures.WIDTH for line in lines)
    assert [line[:2] for line in lines] == ["- ", "  "]


def test_peers_that_need_less_memory_are_listed():
    used = {"splitwood": 300, "scikit-learn": 200, "YDF": 400}
    run = run_of(Result(CASE["10k"], memory={k: memory.Memory(v, 1, 1) for k, v in used.items()}))
    table = report.less_memory_table(run)
    assert "scikit-learn" in table
    assert "YDF" not in table


# ---- the plain numpy trees -----------------------------------------------------------------------


def test_running_loss_is_the_absolute_error_around_the_median():
    rng = np.random.default_rng(0)
    for n in range(1, 40):
        values = rng.integers(0, 10, n).astype(float)
        expected = [np.abs(values[:k] - np.median(values[:k])).sum() for k in range(1, n + 1)]
        assert numpy_tree._running_loss(values.tolist()) == pytest.approx(expected)


@pytest.mark.parametrize("source", ["friedman1", "ten values per column", "heavy ties"])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize(("depth", "leaf"), [(1, 1), (3, 20), (None, 1), (None, 7)])
def test_numpy_trees_are_as_good_as_scikit_learns(source, criterion, depth, leaf):
    case = Case(
        "tiny", 300, depth, source=source, criterion=criterion, min_samples_leaf=leaf, columns=6
    )
    data = make_data(case)
    losses = [
        loss(fit(case, data, 1), case, data.X, data.y) for fit in (fit_numpy, fit_scikit_learn)
    ]
    # Where splits tie, the one that is taken decides about the tree below.
    ties = source != "friedman1" or criterion == "absolute_error"
    tolerance = 0.05 if ties and depth != 1 and leaf > 1 else 1e-9
    assert losses[0] == pytest.approx(losses[1], rel=tolerance, abs=1e-12)


# ---- rounds and progress -------------------------------------------------------------------------


def test_slow_systems_get_fewer_rounds():
    rounds = Rounds(repeat=5, seconds=10.0)
    assert [rounds.wanted(seconds) for seconds in (1e-6, 1.0, 4.0, 20.0)] == [5, 5, 2, 1]
    assert expected_seconds(CASE["1m"], [OURS, *PEERS], rounds) > expected_seconds(
        CASE["100k"], [OURS, *PEERS], rounds
    )


def test_a_single_hiccup_does_not_cost_a_system_its_rounds():
    rounds = Rounds(repeat=5, seconds=3.0)
    case = CASE["100k-depth1"]  # a tenth of a second
    hiccup, usual = timed("XGBoost"), timed("splitwood")
    for _, one in turns(case, rounds, [hiccup, usual]):
        one.seconds.append(0.1 if one.seconds else 60.0)
    assert (len(hiccup.seconds), len(usual.seconds)) == (5, 5)
    slow = timed("scikit-learn")
    for _, one in turns(CASE["1m"], rounds, [slow]):
        one.seconds.append(20.0)
    assert len(slow.seconds) == 1


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_tells_the_share_and_the_time_left():
    clock = iter(range(1_000)).__next__
    stream = Terminal()
    progress = Progress(100.0, stream, lambda: 10.0 * clock())  # started at 0
    progress.enter(40.0)
    progress("first", 20.0)
    progress("second", 20.0)
    assert progress.share == 0.2
    progress.enter(60.0)  # whatever the steps were, the part is over
    assert progress.share == 0.4
    progress.now = lambda: 80.0
    assert progress.seconds_left == pytest.approx(120.0)
    assert stream.getvalue().count("\r") == 2
    assert "20%" in stream.getvalue()
    assert "\n" not in stream.getvalue()


def test_progress_away_from_a_terminal_is_a_line_now_and_then():
    now = [0.0]
    stream = io.StringIO()
    progress = Progress(100.0, stream, lambda: now[0])
    for second in range(int(2.5 * PAUSE_SECONDS)):
        now[0] = float(second)
        progress("working", 1.0)
    assert stream.getvalue().count("\n") == 3


# ---- memory --------------------------------------------------------------------------------------


@LINUX
def test_memory_is_what_the_work_added_at_its_peak():
    def work():
        # 64 MB: the allocator may keep blocks of up to 32 MiB when they are freed.
        gone = np.ones(8_000_000)
        del gone
        return np.ones(1_000_000)

    assert memory._added(work) == pytest.approx(64e6, abs=2e6)


@LINUX
def test_memory_of_a_fit_is_measured_in_a_process_of_its_own():
    fit = memory.measure_memory(Case("tiny", 20_000, 3), OURS, 2)
    assert fit.size == 800_000
    assert 1 < fit.sizes < 30


@LINUX
def test_memory_of_a_prediction_is_its_result_and_next_to_nothing_else():
    predicted = memory.measure_memory(Prediction("tiny", 500, 3, predicted=500_000), OURS, 2)
    assert predicted.size == 4_000_000
    assert predicted.added == pytest.approx(predicted.size, abs=500_000)
    assert predicted.first >= predicted.size - 500_000


# ---- the whole -----------------------------------------------------------------------------------


def test_quantiles_are_judged_by_the_pinball_loss():
    case = CASE["forest-quantiles"]
    y = np.array([0.0, 10.0])
    predicted = np.array([[1.0, 1.0, 1.0], [9.0, 9.0, 9.0]])
    over, under = 0.9 + 0.5 + 0.1, 0.1 + 0.5 + 0.9
    assert loss(lambda X: predicted, case, None, y) == pytest.approx((over + under) / 6)


def test_peers_of_a_quantile_forest_are_exact_and_sampled():
    case = replace(CASE["forest-quantiles"], rows=60, held_out=20, options={"n_estimators": 3})
    data = make_data(case)
    systems = [system for system in (OURS, *PEERS) if system.takes_part(case)]
    assert [one.name for one in systems[1:]] == ["quantile-forest", "quantile-forest, sampled"]
    ours, exact, _ = (system.fit(case, data, 1)(data.X) for system in systems)
    assert ours.shape == exact.shape == (60, 3)


TINY = {
    "1k": {"rows": 60},
    "10k": {"rows": 120},
    "100k": {"rows": 240},
    "1k-absolute": {"rows": 60},
    "10k-2": {"rows": 120},
    "predict-1k-rows": {"rows": 100, "predicted": 50, "calls": 1},
    "predict-depth12": {"rows": 100, "predicted": 500},
}


def test_a_tiny_run_from_end_to_end(tmp_path, monkeypatch, capsys):
    tiny = tuple(replace(CASE[name], **changes) for name, changes in TINY.items())
    monkeypatch.setattr(command, "CASES", tiny)
    monkeypatch.setattr(store, "CASES", tiny)
    monkeypatch.setattr("compare.ways.ROUNDS", 5)
    peers = ["--peers", "scikit-learn", "numpy, presorted", "numpy, two heaps", "numpy, partition"]
    only = ["--only", "fit", "predict", "ways"]
    out = ["--out", str(tmp_path)]
    command.main("doc", ["--repeat", "1", *peers, *only, *out])

    shown = capsys.readouterr().out
    assert "## Targets" in shown
    assert "slope" in shown

    stored = json.loads((tmp_path / "results.json").read_text())
    assert [case["name"] for case in stored["cases"]] == list(TINY)
    fitted = stored["cases"][0]["systems"]
    assert [one["name"] for one in fitted] == ["splitwood", "scikit-learn", "numpy, presorted"]
    assert all(one["best"] == min(one["seconds"]) > 0 for one in fitted)
    assert all(one["loss"] < 1e-12 for one in fitted)
    assert {growth["along"] for growth in stored["growth"]} == {"rows", "columns"}
    assert stored["versions"]["splitwood"]

    page = (tmp_path / "README.md").read_text()
    for heading in (
        "# Benchmarks",
        "## At a glance",
        "## Beside other packages",
        "## Where splitwood is not ahead",
        "## Every case",
    ):
        assert heading in page
    # Targets are for those who work on splitwood, and stay in the terminal.
    assert "arget" not in page.replace("`target/compare`", "")
    for case in tiny:
        assert case.title in page
    for key in ("ratios", "times", "ways"):
        picture = report.PICTURES[key]
        assert f"({picture})" in page
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")

    # The same again, from what was stored.
    (tmp_path / "README.md").unlink()
    command.main("doc", ["--redraw", *out])
    assert (tmp_path / "README.md").read_text() == page


def test_a_case_that_fails_costs_the_run_no_other_case(tmp_path, monkeypatch):
    tiny = tuple(replace(CASE[name], **TINY[name]) for name in ("1k", "10k"))
    monkeypatch.setattr(command, "CASES", tiny)

    def measure(case, *_):
        if case.name == "1k":
            raise MemoryError
        return [timed("splitwood", 1.0)]

    monkeypatch.setattr(command, "measure", measure)
    with pytest.raises(SystemExit, match="1k"):
        command.main("doc", ["--peers", "--only", "fit", "--out", str(tmp_path)])
    stored = json.loads((tmp_path / "results.json").read_text())
    assert [case["name"] for case in stored["cases"]] == ["10k"]


def test_what_is_stored_comes_back(tmp_path):
    used = memory.Memory(added=3, size=2, cells=1)
    result = Result(
        CASE["1k-absolute"],
        [timed("splitwood", 1.0, 2.0), Measured(ours_under(SQUARED), [0.5], 0.25)],
        {OURS.name: used},
    )
    run = replace(run_of(result), partial="--quick", ways={"splitwood": 1e-5})
    store.save(run, tmp_path / "results.json")
    again = store.load(tmp_path / "results.json")
    assert [one.system.name for one in again.results[0].measured] == [OURS.name, SQUARED.name]
    assert [one.seconds for one in again.results[0].measured] == [[1.0, 2.0], [0.5]]
    assert again.results[0].memory == {OURS.name: used}
    assert (again.partial, again.ways, again.threads) == ("--quick", {"splitwood": 1e-5}, 2)
    assert asdict(again.results[0].case) == asdict(CASE["1k-absolute"])


def test_memory_is_drawn_where_it_was_measured(tmp_path):
    run = run_of(
        *(
            Result(CASE[name], memory={OURS.name: memory.Memory(1_000_000 * k, 1, 1)})
            for k, name in enumerate(("10k", "100k", "1m"), 1)
        )
    )
    assert plots.draw_memory(run, tmp_path / "memory.png")
    assert (tmp_path / "memory.png").read_bytes().startswith(b"\x89PNG")
    assert not plots.draw_times(run, tmp_path / "times.png")
    assert not (tmp_path / "times.png").exists()


def test_labels_keep_clear_of_each_other():
    placed = plots._apart([0.5, 0.1, 0.51, 0.52], 0.05)
    ordered = sorted(placed)
    assert min(np.diff(ordered)) >= 0.05 - 1e-6
    assert np.argsort(placed).tolist() == [1, 0, 2, 3]
    assert placed[1] == 0.1


def test_the_demo_reports_both_libraries(capsys):
    """`make demo` on a table of 200 rows: progress, scores and ratios of every criterion."""
    demo = runpy.run_path(str(ROOT / "examples/demo.py"))
    X = np.random.default_rng(0).random((200, 3)).astype(np.float32)
    line = 100 * X[:, 0].astype(float)
    targets = {"squared_error": line, "absolute_error": line, "gini": line > 50}
    tasks = [
        demo["Task"](f"tiny {criterion}", lambda y=y: (X, y), criterion)
        for criterion, y in targets.items()
    ]
    demo["main"](tasks)
    shown = capsys.readouterr().out
    assert "[3/3] tiny gini" in shown
    # A tree can learn a line and a step; both libraries must have learnt them.
    for metric, low, high in (("R²", 0.99, 1), ("MAE", 0, 1), ("accuracy", 0.95, 1)):
        (cells,) = (cells for cells in map(str.split, shown.splitlines()) if metric in cells[2:5])
        scores = [float(cell) for cell in cells[cells.index(metric) + 1 :][:2]]
        assert all(low <= score <= high for score in scores), (metric, scores)


def test_parts_of_a_run_never_take_the_place_of_the_published_one():
    parse = command.parser("doc").parse_args
    assert command._partial(parse([])) == ""
    assert command._partial(parse(["--quick", "--only", "fit"])) == "--quick --only fit"
    assert command._partial(parse(["--peers"])) == "--peers"

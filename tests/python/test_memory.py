"""Memory: a MemoryError before the work if there is not enough, and no leaks."""

import time

import numpy as np
import pytest

from scripts import LINUX, run_script
from splitwood import DecisionTreeRegressor, RandomForestRegressor

LIMITED = """
    import json, resource
    from pathlib import Path
    import numpy as np
    from splitwood import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreesRegressor
    from splitwood import RandomForestQuantileRegressor, RandomForestRegressor

    def in_use():
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmSize"))

    def outcome(work):
        try:
            work()
        except MemoryError as error:
            return str(error)
        return "done"

    rng = np.random.default_rng(0)
    # Whatever is started once is started before the limit.
    warm_up = rng.normal(size=(20_000, 4))
    model = DecisionTreeRegressor().fit(warm_up, warm_up[:, 0])
    DecisionTreeRegressor(n_jobs=1).fit(warm_up, warm_up[:, 0])
    model.predict(warm_up)
    RandomForestQuantileRegressor(4).fit(warm_up, warm_up[:, 0]).predict(warm_up[:9])
"""


@LINUX
def test_case_32_fits_and_predictions_that_need_too_much_raise_memory_error():
    outcomes = run_script(
        LIMITED,
        """
    # Tables whose cells are all the same one: no memory, but no end of work.
    wide = np.broadcast_to(np.float32(1.0), (1 << 16, 1 << 16))
    long = np.broadcast_to(1.0, (1 << 30, 4))
    y = rng.normal(size=1 << 16)
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (in_use() + (1 << 30), hard))
    outcomes = [
        outcome(lambda: DecisionTreeRegressor().fit(wide, y)),
        outcome(lambda: DecisionTreeRegressor(criterion="absolute_error").fit(wide, y)),
        outcome(lambda: DecisionTreeRegressor(max_features="sqrt").fit(wide, y)),
        outcome(lambda: DecisionTreeClassifier().fit(wide, y > 0)),
        outcome(lambda: RandomForestRegressor(2).fit(wide, y)),
        outcome(lambda: ExtraTreesRegressor(2).fit(wide, y)),
        outcome(lambda: model.predict(long)),
        outcome(lambda: model.apply(long)),
        outcome(lambda: model.decision_path(long)),
    ]
    DecisionTreeRegressor().fit(warm_up, warm_up[:, 0])
    print(json.dumps(outcomes))
    """,
    )
    for text in outcomes:
        assert "allocate" in text, outcomes


@LINUX
@pytest.mark.parametrize(
    "estimator",
    [
        "DecisionTreeRegressor(max_depth=4)",
        "DecisionTreeRegressor(max_depth=4, criterion='absolute_error')",
        "DecisionTreeRegressor(max_depth=4, max_features=6)",
        "RandomForestRegressor(2, max_depth=4, oob_score=True)",
        "ExtraTreesRegressor(2, max_depth=4)",
    ],
)
def test_case_32_a_fit_near_the_limit_succeeds_or_raises_memory_error(estimator):
    """The process survives any limit: an allocation that fails during the fit would abort it."""
    outcomes = run_script(
        LIMITED,
        f"""
    X, y = rng.normal(size=(200_000, 12)), rng.normal(size=200_000)
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    outcomes = []
    for megabytes in range(4, 214, 21):
        resource.setrlimit(resource.RLIMIT_AS, (in_use() + (megabytes << 20), hard))
        outcomes.append(outcome(lambda: {estimator}.fit(X, y)))
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    print(json.dumps(outcomes))
    """,
        # With an arena per thread, memory that is reserved but free would hide the limit.
        MALLOC_ARENA_MAX="1",
    )
    assert outcomes[0] != "done"
    assert outcomes[-1] == "done"


@LINUX
def test_case_32_a_forest_that_has_no_room_is_refused_after_its_first_tree():
    """The trees that fit into the memory would take minutes, and then be thrown away."""
    text, kilobytes = run_script(
        LIMITED,
        """
    X, y = rng.normal(size=(20_000, 4)), rng.normal(size=20_000)
    RandomForestRegressor(4).fit(X, y)
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (in_use() + (1 << 30), hard))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = outcome(lambda: RandomForestRegressor(5_000).fit(X, y))
    print(json.dumps([text, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before]))
    """,
    )
    assert "allocate" in text
    # A tree has 1.2 MB, the memory of the limit a million.
    assert kilobytes < 100_000


def test_a_tree_that_fails_ends_the_fit_of_its_forest():
    """A bag without weight is found when its tree is grown. The other trees are not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2_000, 50)), rng.normal(size=2_000)
    weights = np.ones(len(y))
    weights[0] = 0.0
    bags = np.ones((len(y), 201), dtype=np.uint8)
    # The odd tree is grown first, by all threads.
    bags[1:, 0] = 0
    start = time.process_time()
    for seed in range(10):
        RandomForestRegressor(1, random_state=seed).fit(X, y, weights, bags=bags[:, 1:2])
    of_ten_trees = time.process_time() - start
    start = time.process_time()
    with pytest.raises(ValueError, match="sample_weight"):
        RandomForestRegressor(201).fit(X, y, weights, bags=bags)
    assert time.process_time() - start < 5 * of_ten_trees


def test_case_32_more_than_2_to_the_31_cells_are_predicted_right():
    n_rows, n_columns = (1 << 19) + 1, 1 << 12
    column = np.arange(n_columns, dtype=np.float32)
    model = DecisionTreeRegressor().fit(np.eye(n_columns, dtype=np.float32)[:50], np.arange(50.0))
    row = np.where(column == 7, 1.0, 0.0).astype(np.float32)
    X = np.broadcast_to(row, (n_rows, n_columns))
    assert X.size > 1 << 31
    expected = model.predict(row[None])
    assert (model.predict(X) == expected).all()


@LINUX
def test_fitting_a_thousand_times_keeps_no_memory():
    before, after = run_script("""
    import gc, json
    from itertools import cycle
    from pathlib import Path
    import numpy as np
    from splitwood import DecisionTreeClassifier, DecisionTreeRegressor

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8_500, 4)), rng.normal(size=8_500)
    models = cycle([
        DecisionTreeRegressor(max_depth=2),
        DecisionTreeRegressor(max_depth=2, criterion="absolute_error"),
        DecisionTreeRegressor(max_depth=2, max_features=2, random_state=0, max_leaf_nodes=3),
        DecisionTreeClassifier(max_depth=2),
    ])

    def resident():
        gc.collect()
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

    def fit(n):
        for model, _ in zip(models, range(n)):
            model.fit(X, np.sign(y)).predict(X)

    fit(200)
    before = resident()
    fit(1000)
    print(json.dumps([before, resident()]))
    """)
    # In kilobytes. A leak of one column per fit would be 34,000, a leak of one tree per fit 1,000.
    assert after - before < 4_000

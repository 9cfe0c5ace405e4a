"""Tables of pandas, polars and pyarrow: the same model as from an array; refusals name columns."""

import datetime
import decimal
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from splitwood import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestRegressor
from splitwood._frames import read_frame
from trees import assert_same_tree

Y = [0.0, 0.0, 1.0, 4.0, 5.0, 5.0]
WHOLE = [3, 1, 2, 6, 5, 4]
HOLES = [3, None, 2, 6, None, 4]
NAMES = ["whole", "holes", "half", "flag"]
CELLS = np.array(
    [
        WHOLE,
        [np.nan if h is None else h for h in HOLES],
        np.array(WHOLE) / 2,
        [1, 0, np.nan, 1, 0, 1],
    ]
).T
FLAGS = [True, False, None, True, False, True]


def pandas_nullable():
    columns = [
        pd.array(WHOLE, "Int64"),
        pd.array(HOLES, "Int16"),
        pd.array(np.array(WHOLE) / 2, "Float64"),
        pd.array(FLAGS, "boolean"),
    ]
    return pd.DataFrame(dict(zip(NAMES, columns, strict=True)))


def pandas_arrow():
    return arrow_table().to_pandas(types_mapper=pd.ArrowDtype)


def pandas_numpy():
    frame = pd.DataFrame(CELLS, columns=NAMES)
    return frame.astype({"whole": "int32", "half": "float32"})


def pandas_objects():
    columns = [WHOLE, [pd.NA if h is None else h for h in HOLES], CELLS[:, 2], FLAGS]
    return pd.DataFrame({n: np.array(c, object) for n, c in zip(NAMES, columns, strict=True)})


def polars_frame():
    columns = [WHOLE, HOLES, CELLS[:, 2].tolist(), FLAGS]
    return pl.DataFrame(dict(zip(NAMES, columns, strict=True)))


def polars_chunks():
    return pl.concat([polars_frame()[:2], polars_frame()[2:]], rechunk=False)


def polars_decimals():
    return polars_frame().with_columns(pl.col("whole", "half").cast(pl.Decimal(10, 2)))


def arrow_table():
    columns = [WHOLE, HOLES, CELLS[:, 2], FLAGS]
    return pa.table(dict(zip(NAMES, columns, strict=True)))


def arrow_chunks():
    return pa.concat_tables([arrow_table().slice(0, 2), arrow_table().slice(2)])


def arrow_decimals():
    numbers = pa.array([decimal.Decimal(w) for w in WHOLE], pa.decimal128(10, 2))
    return arrow_table().set_column(0, "whole", numbers)


MAKERS = [
    pandas_nullable,
    pandas_arrow,
    pandas_numpy,
    pandas_objects,
    polars_frame,
    polars_chunks,
    polars_decimals,
    arrow_table,
    arrow_chunks,
    arrow_decimals,
]
EVERY_TABLE = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)


@EVERY_TABLE
def test_the_same_model_as_from_an_array(make):
    expected = DecisionTreeRegressor().fit(CELLS, Y)
    model = DecisionTreeRegressor().fit(make(), Y)
    assert_same_tree(model, expected)
    np.testing.assert_array_equal(model.feature_names_in_, NAMES)
    assert model.feature_names_in_.dtype == object
    assert model.n_features_in_ == 4
    np.testing.assert_array_equal(model.predict(make()), expected.predict(CELLS))
    np.testing.assert_array_equal(model.apply(make()), expected.apply(CELLS))


@EVERY_TABLE
def test_any_table_predicts_with_a_model_of_any_other(make):
    model = DecisionTreeClassifier().fit(pandas_nullable(), Y)
    np.testing.assert_array_equal(model.predict_proba(make()), model.predict_proba(polars_frame()))


@given(
    st.data(),
    st.sampled_from(["Int8", "UInt16", "Int32", "Int64", "Float32", "Float64", "boolean"]),
    st.sampled_from(["pandas", "polars", "pyarrow"]),
)
def test_cells_are_read_exactly_and_null_is_nan(data, dtype, library):
    if dtype == "boolean":
        entries = st.booleans()
    elif dtype.startswith("Float"):
        entries = st.floats(width=int(dtype[5:]), allow_nan=False)
    else:
        info = np.iinfo(dtype.lower())
        entries = st.integers(max(int(info.min), -(2**53)), min(int(info.max), 2**53))
    entries = data.draw(st.lists(st.none() | entries, min_size=1, max_size=8))
    frame = pd.DataFrame({"a": pd.array(entries, dtype)})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    tables = {"pandas": frame, "polars": pl.from_arrow(table), "pyarrow": table}
    cells = read_frame(tables[library])
    expected = np.array([[np.nan if e is None else float(e)] for e in entries])
    np.testing.assert_array_equal(cells, expected)
    assert cells.dtype == (np.float64 if dtype in ("Int32", "Int64", "Float64") else np.float32)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": pd.array([1, 2], "Int8"), "b": np.array([1, 2], np.float32)}),
        pl.DataFrame({"a": [1, 2], "b": [1.5, 2.5]}, schema={"a": pl.Int8, "b": pl.Float32}),
        pa.table({"a": pa.array([1, 2], pa.uint16()), "b": pa.array([True, False])}),
        pl.DataFrame({"a": [None, None], "b": [1.5, 2.5]}, schema={"a": pl.Null, "b": pl.Float32}),
        pa.table({"a": pa.nulls(2), "b": pa.array(np.array([1, 2], np.float16))}),
    ],
    ids=["pandas", "polars", "pyarrow", "polars null", "pyarrow null"],
)
def test_narrow_columns_stay_narrow(table):
    assert read_frame(table).dtype == np.float32


def test_a_frame_of_floats_is_not_copied():
    cells = np.random.default_rng(0).normal(size=(50, 3))
    frame = pd.DataFrame(cells, columns=list("abc"), copy=False)
    assert np.shares_memory(read_frame(frame), cells)


def test_other_things_are_left_to_scikit_learn():
    class Table:
        pass

    for other in (CELLS, CELLS.tolist(), pd.Series([1.0]), None, Table(), "text"):
        assert read_frame(other) is None


def test_subclasses_duplicate_names_and_other_labels():
    class Frame(pd.DataFrame):
        pass

    frame = Frame(pandas_nullable().set_axis(["a", "a", "b", "b"], axis=1))
    np.testing.assert_array_equal(read_frame(frame), CELLS)
    model = DecisionTreeRegressor().fit(pandas_nullable().set_axis([3, 1, 0, 2], axis=1), Y)
    assert not hasattr(model, "feature_names_in_")


REFUSED = [
    (pd.DataFrame({"ok": [1], "city": ["Rome"]}), "holds strings", "OrdinalEncoder"),
    (pd.DataFrame({"city": np.array(["Rome"], object)}), "holds strings", "OrdinalEncoder"),
    (
        pd.DataFrame({"city": pd.array(["Rome", pd.NA], "string")}),
        "holds strings",
        "OrdinalEncoder",
    ),
    (
        pd.DataFrame({"city": pd.array(["R"], pd.ArrowDtype(pa.string()))}),
        "holds strings",
        "Ordinal",
    ),
    (pd.DataFrame({"city": pd.Categorical(["Rome"])}), "is categorical", "OneHotEncoder"),
    (pd.DataFrame({"city": pd.Categorical([3])}), "is categorical", "OneHotEncoder"),
    (pd.DataFrame({"city": pd.to_datetime(["2024-01-01"])}), "holds dates", "seconds since 1970"),
    (pd.DataFrame({"city": pd.to_datetime(["2024-01-01"], utc=True)}), "holds dates", "seconds"),
    (pd.DataFrame({"city": pd.to_timedelta([1], "s")}), "holds dates or times", "seconds"),
    (
        pd.DataFrame({"city": pd.period_range("2024", periods=1)}),
        "does not hold numbers",
        "drop it",
    ),
    (pd.DataFrame({"city": [1j]}), "does not hold numbers", "turn it into numbers"),
    (pd.DataFrame({"city": [[1]]}), "does not hold numbers", "turn it into numbers"),
    (pl.DataFrame({"ok": [1], "city": ["Rome"]}), "holds strings", "OrdinalEncoder"),
    (pl.DataFrame({"city": pl.Series(["R"], dtype=pl.Categorical)}), "is categorical", "OneHot"),
    (pl.DataFrame({"city": pl.Series(["R"], dtype=pl.Enum(["R"]))}), "is categorical", "OneHot"),
    (pl.DataFrame({"city": [datetime.date(2024, 1, 1)]}), "holds dates", "seconds since 1970"),
    (pl.DataFrame({"city": [datetime.timedelta(1)]}), "holds dates or times", "seconds"),
    (pl.DataFrame({"city": [[1, 2]]}), "does not hold numbers", "turn it into numbers"),
    (pl.DataFrame({"city": [{"a": 1}]}), "does not hold numbers", "turn it into numbers"),
    (pa.table({"ok": [1], "city": ["Rome"]}), "holds strings", "OrdinalEncoder"),
    (pa.table({"city": pa.array(["Rome"]).dictionary_encode()}), "is categorical", "OneHotEncoder"),
    (pa.table({"city": [datetime.datetime(2024, 1, 1)]}), "holds dates", "seconds since 1970"),
    (pa.table({"city": [[1, 2]]}), "does not hold numbers", "turn it into numbers"),
    (pa.table({"city": [b"Rome"]}), "does not hold numbers", "turn it into numbers"),
]


@pytest.mark.parametrize(("table", "problem", "remedy"), REFUSED)
def test_columns_without_numbers_are_refused_by_name(table, problem, remedy):
    with pytest.raises(ValueError, match=f"^X: column 'city' {problem}.*; .*{remedy}"):
        DecisionTreeRegressor().fit(table, np.zeros(len(table)))


def test_columns_without_numbers_are_refused_at_prediction_too():
    model = DecisionTreeRegressor().fit(pd.DataFrame({"city": [1.0, 2.0]}), [0, 1])
    with pytest.raises(ValueError, match="X: column 'city' holds strings"):
        model.predict(pl.DataFrame({"city": ["Rome"]}))


def test_a_lazy_frame_is_to_be_collected():
    with pytest.raises(ValueError, match=r"pass X\.collect\(\)"):
        DecisionTreeRegressor().fit(polars_frame().lazy(), Y)


@EVERY_TABLE
def test_names_are_checked_in_scikit_learns_words(make):
    model = DecisionTreeRegressor().fit(make(), Y)
    turned = pl.DataFrame(dict(zip(NAMES[::-1], CELLS.T[::-1], strict=True)))
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        model.predict(turned)
    with pytest.raises(ValueError, match=r"Feature names unseen at fit time:\n- other"):
        model.predict(pa.Table.from_arrays(list(CELLS.T), names=["other", *NAMES[1:]]))
    with pytest.raises(ValueError, match=r"seen at fit time, yet now missing:\n- flag"):
        model.predict(pd.DataFrame(CELLS[:, :3], columns=NAMES[:3]))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(CELLS)


@EVERY_TABLE
def test_a_model_without_names_warns_of_names(make):
    model = DecisionTreeRegressor().fit(CELLS, Y)
    with pytest.warns(
        UserWarning, match="X has feature names, but DecisionTreeRegressor was fitted"
    ):
        model.predict(make())


@pytest.mark.parametrize(
    "table", [pd.DataFrame(index=range(3)), pl.DataFrame(), pa.table({}), polars_frame()[:0]]
)
def test_empty_tables_are_refused(table):
    with pytest.raises(ValueError, match=r"0 (feature|sample)\(s\)|inconsistent numbers"):
        DecisionTreeRegressor().fit(table, [0.0, 0.0, 1.0][: len(table)])


# ---- Arrow's stream interface --------------------------------------------------------------------


class Stream:
    """A table of a library that splitwood does not know; it can be read once."""

    def __init__(self, table):
        self._reader = table.to_reader()

    def __arrow_c_stream__(self, requested_schema=None):
        return self._reader.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "read",
    [Stream, pa.Table.to_reader, lambda table: table.to_batches()[0]],
    ids=["unknown", "reader", "batch"],
)
def test_streams_are_read_with_their_names(read):
    table = pa.table({"a": CELLS[:, 0], "b": pa.array([None, *CELLS[1:, 1]], pa.float32())})
    expected = DecisionTreeRegressor().fit(table, Y)
    model = DecisionTreeRegressor().fit(read(table), Y)
    assert_same_tree(model, expected)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.predict(read(table)), expected.predict(table))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(read(table.rename_columns(["b", "a"])))


def test_streams_of_categories_are_read():
    words = pa.array(["x", "y"]).take(pa.array(np.arange(len(Y)) % 2)).dictionary_encode()
    table = pa.table({"word": words, "size": CELLS[:, 0]})
    settings = {"categorical_features": "from_dtype"}
    expected = DecisionTreeRegressor(**settings).fit(table, Y)
    model = DecisionTreeRegressor(**settings).fit(Stream(table), Y)
    assert_same_tree(model, expected)
    np.testing.assert_array_equal(model.predict(Stream(table)), expected.predict(table))


def test_streams_are_read_by_polars_without_pyarrow(monkeypatch):
    table = pa.table({"a": CELLS[:, 0]})
    expected = DecisionTreeRegressor().fit(table, Y)
    stream, again = Stream(table), Stream(table)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert_same_tree(DecisionTreeRegressor().fit(stream, Y), expected)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModuleNotFoundError, match=r"to read a Stream .* needs pyarrow or polars"):
        DecisionTreeRegressor().fit(again, Y)


def test_targets_may_come_in_columns_too():
    expected = DecisionTreeRegressor().fit(CELLS, Y, WHOLE)
    for y, weight in (
        (pd.Series(Y, dtype="Float64"), pd.Series(WHOLE, dtype="Int64")),
        (pl.Series(Y), pl.Series(WHOLE)),
        (pa.chunked_array([Y]), pa.array(WHOLE)),
    ):
        assert_same_tree(DecisionTreeRegressor().fit(CELLS, y, weight), expected)


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, RandomForestRegressor])
def test_a_stream_in_the_place_of_a_column_is_refused_by_name(kind):
    stream = Stream(pa.table({"a": Y}))
    with pytest.raises(TypeError, match=r"^y: is a Stream, a table .* pass one of its columns"):
        kind().fit(CELLS, stream)
    with pytest.raises(TypeError, match=r"^sample_weight: is a Stream, a table"):
        kind().fit(CELLS, Y, stream)


def imported_with(modules):
    code = f"import sys, {modules}; print(*sorted({{'pandas', 'polars', 'pyarrow'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_no_library_is_imported():
    assert imported_with("splitwood").split() == []
    # The estimators import only what scikit-learn itself imports.
    assert imported_with("splitwood._estimators") == imported_with("sklearn.tree, scipy.sparse")

"""pandas, polars and pyarrow tables → arrays, column by column.

None of the three is imported: a table is recognised by its class. Its columns are read one by one into an
array of float32, if that holds all of them exactly, or else of float64; missing entries become NaN. A column
that has no numbers is refused by its name, with what to do about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

_NUMBERS = "biuf"


class _Column(NamedTuple):
    name: object
    # The entries as a numpy dtype: numbers, or something else by its kind.
    dtype: np.dtype[Any]
    # What the table's owner calls the dtype.
    label: str
    # The entries as numbers of a dtype, missing ones as NaN.
    read: Callable[[np.dtype[Any]], Any]


def read_frame(X: object) -> NDArray[Any] | None:
    """The cells of a table as an array that the core can read, or None if ``X`` is no table that is known."""
    for cls in type(X).__mro__:
        library = cls.__module__.partition(".")[0]
        reader = _READERS.get((library, cls.__name__))
        if reader is not None:
            return reader(X)
    return None


def _read_pandas(X: Any) -> NDArray[Any]:
    dtypes = set(X.dtypes)
    if len(dtypes) == 1 and dtypes <= {np.dtype(np.float64), np.dtype(np.float32)}:
        # Often a view.
        cells: NDArray[Any] = X.to_numpy()
        return cells
    return _gather(
        len(X), map(_pandas_column, X.columns, (X.iloc[:, j] for j in range(X.shape[1])))
    )


def _read_polars(X: Any) -> NDArray[Any]:
    return _gather(X.height, map(_polars_column, X.columns, X.get_columns()))


def _read_pyarrow(X: Any) -> NDArray[Any]:
    return _gather(X.num_rows, map(_pyarrow_column, X.column_names, X.columns))


def _refuse_lazy(X: Any) -> NoReturn:
    raise ValueError("X: a polars LazyFrame has no rows yet; pass X.collect()")


_READERS: dict[tuple[str, str], Callable[[Any], NDArray[Any]]] = {
    ("pandas", "DataFrame"): _read_pandas,
    ("polars", "DataFrame"): _read_polars,
    ("polars", "LazyFrame"): _refuse_lazy,
    ("pyarrow", "Table"): _read_pyarrow,
}


def _gather(n_rows: int, columns: Iterator[_Column]) -> NDArray[Any]:
    checked = [_checked(column) for column in columns]
    # float16 is the least float; the narrowest that holds it and all columns is float32 or float64.
    common = np.result_type(np.float16, *(column.dtype for column in checked))
    dtype = np.dtype(np.float32 if common.itemsize <= 4 else np.float64)
    cells = np.empty((n_rows, len(checked)), dtype=dtype, order="F")
    for j, column in enumerate(checked):
        cells[:, j] = column.read(dtype)
    return cells


def _checked(column: _Column) -> _Column:
    """The column, if it has numbers."""
    name, dtype, label, _ = column
    kind = dtype.kind
    if kind in _NUMBERS:
        return column
    if label.startswith(("category", "Categorical", "Enum", "dictionary")):
        problem = f"is categorical ({label}), and categories have no order to split by"
        remedy = (
            "encode it with sklearn.preprocessing.OneHotEncoder, or pass its codes as numbers "
            "if their order means something"
        )
    elif kind in "SU":
        problem = f"holds strings ({label})"
        remedy = "encode it as numbers, for example with sklearn.preprocessing.OrdinalEncoder, or drop it"
    elif kind in "mM":
        problem = f"holds dates or times ({label})"
        remedy = "turn it into numbers, for example seconds since 1970, or drop it"
    else:
        problem = f"does not hold numbers ({label})"
        remedy = "turn it into numbers, or drop it"
    raise ValueError(f"X: column {name!r} {problem}; {remedy}")


# ---- pandas --------------------------------------------------------------------------------------


def _pandas_column(name: object, column: Any) -> _Column:
    label = str(column.dtype)
    if label == "object":
        return _object_column(name, column)
    dtype = getattr(column.dtype, "numpy_dtype", column.dtype)
    if not isinstance(dtype, np.dtype):
        # Strings, categories, sparse columns, dates with a time zone: their kind is all that is needed.
        kind = "U" if label.startswith(("str", "large_string")) else dtype.kind
        dtype = getattr(dtype, "subtype", np.dtype({"U": "U", "M": "M8[ns]"}.get(kind, "O")))
    elif label.startswith(("str", "large_string")):
        dtype = np.dtype("U")
    return _Column(name, dtype, label, lambda to: column.to_numpy(dtype=to, na_value=np.nan))


def _object_column(name: object, column: Any) -> _Column:
    """Objects: numbers and missing entries among them are read, strings are seen."""
    if any(isinstance(entry, str | bytes) for entry in column):
        return _Column(name, np.dtype("U"), "object", column.to_numpy)
    try:
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return _Column(name, np.dtype("O"), "object", column.to_numpy)
    return _Column(name, numbers.dtype, "object", lambda _: numbers)


# ---- polars --------------------------------------------------------------------------------------

_POLARS_DTYPES = {
    "Boolean": "?",
    "Float16": "f2",
    "Float32": "f4",
    "Float64": "f8",
    **{f"Int{bits}": f"i{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": f"u{bits // 8}" for bits in (8, 16, 32, 64)},
    "Int128": "f8",
    "UInt128": "f8",
    "Decimal": "f8",
    "Null": "f2",
    "String": "U",
    "Date": "M8[D]",
    "Datetime": "M8[us]",
    "Time": "m8[us]",
    "Duration": "m8[us]",
}


# Read by way of float64, also without missing entries.
_POLARS_INDIRECT = ("Boolean", "Int128", "UInt128", "Decimal", "Null")


def _polars_column(name: str, column: Any) -> _Column:
    label = str(column.dtype)
    base = label.partition("(")[0]
    dtype = np.dtype(_POLARS_DTYPES.get(base, "O"))

    def read(_: np.dtype[Any]) -> Any:
        # Python's float is polars' Float64, where null becomes NaN.
        indirect = base in _POLARS_INDIRECT or column.null_count() > 0
        return (column.cast(float) if indirect else column).to_numpy()

    return _Column(name, dtype, label, read)


# ---- pyarrow -------------------------------------------------------------------------------------

_PYARROW_DTYPES = {
    "bool": "?",
    "halffloat": "f2",
    "float": "f4",
    "double": "f8",
    **{f"int{bits}": f"i{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"decimal{bits}": "f8" for bits in (32, 64, 128, 256)},
    "null": "f2",
    **dict.fromkeys(("string", "large_string", "string_view"), "U"),
    **dict.fromkeys(("date32", "date64", "timestamp"), "M8[ns]"),
    **dict.fromkeys(("time32", "time64", "duration"), "m8[ns]"),
}


def _pyarrow_column(name: str, column: Any) -> _Column:
    label = str(column.type)
    base = label.partition("(")[0].partition("[")[0]
    dtype = np.dtype(_PYARROW_DTYPES.get(base, "O"))

    def read(_: np.dtype[Any]) -> Any:
        if base == "bool":
            # Which only becomes a float by way of an integer.
            return column.cast("int8").cast("float64").to_numpy()
        if base in ("null", "halffloat") or base.startswith("decimal"):
            return column.cast("float64").to_numpy()
        return column.to_numpy()

    return _Column(name, dtype, label, read)

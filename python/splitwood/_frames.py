"""pandas, polars and pyarrow tables → arrays, column by column.

None of the three libraries is imported: a table is recognised by the name of its class. Other
tables, such as the relations of duckdb, are read through Arrow's stream interface, for which
pyarrow or polars is imported. The columns are read one by one into an array of float32 if that
holds all of them exactly, otherwise of float64. Missing entries become NaN. The error for a column
without numbers gives its name and a remedy. Labels of categories are collected here, and get their
codes in `_categories.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import islice
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

_NUMBERS = "biuf"


# The index of each row's label in a list, -1 if it is missing, and the list. Some labels in the
# list may not occur in any row.
Labelled = tuple[NDArray[np.intp], list[Any]]


class Column(NamedTuple):
    """A column, whose entries are read by its functions."""

    name: object
    # The numpy dtype of the entries; if they are not numbers, only its kind matters.
    dtype: np.dtype[Any]
    # The library's name of the dtype.
    label: str
    # Reads the entries as numbers of a dtype, missing ones as NaN.
    read: Callable[[np.dtype[Any]], Any]
    # Reads the entries as labels.
    factorize: Callable[[], Labelled]

    @property
    def is_categorical(self) -> bool:
        """Whether the library's dtype is one for categories."""
        return self.label.startswith(("category", "Categorical", "Enum", "dictionary"))

    @property
    def is_text(self) -> bool:
        """Whether the entries are strings."""
        return self.dtype.kind in "SU"


def from_stream(X: Any) -> Any:
    """Read a table of another library that has Arrow's stream interface; return all else as it is.

    A stream can be read only once, so the result must be used from then on.
    """
    if _find_reader(X) is not None or not hasattr(type(X), "__arrow_c_stream__"):
        return X
    for library, read in (("pyarrow", "table"), ("polars", "DataFrame")):
        try:
            return getattr(import_module(library), read)(X)
        except ModuleNotFoundError as error:
            if error.name != library:
                raise
    raise ModuleNotFoundError(
        f"X: to read a {type(X).__name__} through Arrow's stream interface, splitwood needs "
        "pyarrow or polars: pip install pyarrow"
    )


def read_frame(X: Any) -> NDArray[Any] | None:
    """Read a table into an array for the core; None if ``X`` is not a table of these libraries."""
    reader = _find_reader(X)
    if reader is None:
        return None
    if reader is _pandas_columns and set(X.dtypes) in _PLAIN_DTYPES:
        # This is often a view, without a copy.
        cells: NDArray[Any] = X.to_numpy()
        return cells
    columns = reader(X)
    return gather(len(X), columns)


def read_columns(X: Any) -> list[Column] | None:
    """Get the columns of a table; None if ``X`` is not a table of these libraries."""
    reader = _find_reader(X)
    return None if reader is None else list(reader(X))


_PLAIN_DTYPES = [{np.dtype(np.float64)}, {np.dtype(np.float32)}]


def _find_reader(X: object) -> Callable[[Any], Iterable[Column]] | None:
    for cls in type(X).__mro__:
        library = cls.__module__.partition(".")[0]
        reader = _READERS.get((library, cls.__name__))
        if reader is not None:
            return reader
    return None


def gather(n_rows: int, columns: Iterable[Column]) -> NDArray[Any]:
    """Read columns of numbers into one array."""
    checked = [_checked(column) for column in columns]
    # numpy finds the narrowest float that holds all columns.
    common = np.result_type(np.float16, *(column.dtype for column in checked))
    dtype = np.dtype(np.float32 if common.itemsize <= 4 else np.float64)
    cells = np.empty((n_rows, len(checked)), dtype=dtype, order="F")
    for j, column in enumerate(checked):
        cells[:, j] = column.read(dtype)
    return cells


def _checked(column: Column) -> Column:
    """Check that a column has numbers."""
    name, dtype, label = column.name, column.dtype, column.label
    kind = dtype.kind
    if kind in _NUMBERS:
        return column
    if column.is_categorical:
        problem = f"is categorical ({label}), and categories have no order to split by"
        remedy = (
            'fit with categorical_features="from_dtype", encode it with '
            "sklearn.preprocessing.OneHotEncoder, or pass its codes as numbers if their order "
            "means something"
        )
    elif column.is_text:
        problem = f"holds strings ({label})"
        remedy = (
            'fit with categorical_features="from_dtype" or with it among the categorical_features, '
            "encode it as numbers, for example with sklearn.preprocessing.OrdinalEncoder, or drop "
            "it"
        )
    elif kind in "mM":
        problem = f"holds dates or times ({label})"
        remedy = "turn it into numbers, for example seconds since 1970, or drop it"
    else:
        problem = f"does not hold numbers ({label})"
        remedy = "turn it into numbers, or drop it"
    raise ValueError(f"X: column {name!r} {problem}; {remedy}")


# ---- numpy ---------------------------------------------------------------------------------------


def array_columns(X: NDArray[Any]) -> list[Column]:
    """Get the columns of an array of numbers or objects; the name of a column is its index."""
    return [_array_column(j, X[:, j]) for j in range(X.shape[1])]


def _array_column(place: int, column: NDArray[Any]) -> Column:
    label = str(column.dtype)
    if column.dtype.kind in _NUMBERS:

        def factorize() -> Labelled:
            labels, places = np.unique(column, return_inverse=True)
            return places, labels.tolist()

        return Column(place, column.dtype, label, column.astype, factorize)

    entries = column.tolist()

    def factorize_objects() -> Labelled:
        labels = list(dict.fromkeys(entries))
        places = {label: place for place, label in enumerate(labels)}
        # `map` looks up all rows without running Python code for each.
        of_rows = map(places.__getitem__, entries)
        return np.fromiter(of_rows, dtype=np.intp, count=len(entries)), labels

    dtype, read = _object_numbers(entries, column.astype)
    return Column(place, dtype, label, read, factorize_objects)


# Columns of words mostly show it in this many entries.
_FEW = 100


def _has_words(entries: Iterable[Any]) -> bool:
    # By the set of types, which is collected without running Python code for each entry.
    return any(issubclass(kind, str | bytes) for kind in set(map(type, entries)))


def _object_numbers(
    entries: Iterable[Any], as_numbers: Callable[[np.dtype[Any]], Any]
) -> tuple[np.dtype[Any], Callable[[np.dtype[Any]], Any]]:
    """Get the dtype of objects and a function that reads them; strings are not parsed."""
    if _has_words(islice(entries, _FEW)) or _has_words(entries):
        return np.dtype("U"), as_numbers
    try:
        numbers = as_numbers(np.dtype(np.float64))
    except (TypeError, ValueError):
        return np.dtype("O"), as_numbers
    return numbers.dtype, lambda _: numbers


# ---- pandas --------------------------------------------------------------------------------------


def _pandas_columns(X: Any) -> Iterator[Column]:
    return map(_pandas_column, X.columns, (X.iloc[:, j] for j in range(X.shape[1])))


def _pandas_column(name: object, column: Any) -> Column:
    label = str(column.dtype)

    def as_numbers(dtype: np.dtype[Any]) -> Any:
        return column.to_numpy(dtype=dtype, na_value=np.nan)

    def factorize() -> Labelled:
        if label == "category":
            return column.cat.codes.to_numpy().astype(np.intp), column.cat.categories.tolist()
        places, labels = column.factorize()
        return places, labels.tolist()

    if label == "object":
        dtype, read = _object_numbers(column, as_numbers)
        return Column(name, dtype, label, read, factorize)
    dtype = getattr(column.dtype, "numpy_dtype", column.dtype)
    if not isinstance(dtype, np.dtype):
        # For strings, categories, sparse columns and dates with a time zone, only the kind matters.
        kind = "U" if label.startswith(("str", "large_string")) else dtype.kind
        dtype = getattr(dtype, "subtype", np.dtype({"U": "U", "M": "M8[ns]"}.get(kind, "O")))
    elif label.startswith(("str", "large_string")):
        dtype = np.dtype("U")
    return Column(name, dtype, label, as_numbers, factorize)


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


# These have codes of their own, or are given some faster than they are sorted.
_POLARS_CODED = ("String", "Categorical", "Enum")

# These are converted to Float64 first, even without missing entries.
_POLARS_INDIRECT = ("Boolean", "Int128", "UInt128", "Decimal", "Null")


def _polars_columns(X: Any) -> Iterator[Column]:
    return map(_polars_column, X.columns, X.get_columns())


def _refuse_lazy(X: Any) -> NoReturn:
    raise ValueError("X: a polars LazyFrame has no rows yet; pass X.collect()")


def _polars_column(name: str, column: Any) -> Column:
    label = str(column.dtype)
    base = label.partition("(")[0]
    dtype = np.dtype(_POLARS_DTYPES.get(base, "O"))

    def read(_: np.dtype[Any]) -> Any:
        # Python's float stands for Float64, in which null becomes NaN.
        indirect = base in _POLARS_INDIRECT or column.null_count() > 0
        return (column.cast(float) if indirect else column).to_numpy()

    def factorize() -> Labelled:
        if dtype.kind == "O" and base not in _POLARS_CODED and base != "Binary":
            # In some versions of polars, lists and objects are a panic, which is no Exception.
            raise TypeError(f"{label} can't be labels")
        if base in _POLARS_CODED:
            return _polars_codes(column)
        ranks = column.rank("dense").cast(int).fill_null(0).to_numpy()
        return ranks - 1, column.unique().drop_nulls().sort().to_list()

    return Column(name, dtype, label, read, factorize)


def _polars_codes(column: Any) -> Labelled:
    """Read strings and categories by the codes that polars has for them, without sorting."""
    categorical = import_module("polars").Categorical
    coded = column.cast(categorical) if str(column.dtype) == "String" else column
    # A code that no label has stands for null, whose label is None.
    codes = coded.to_physical().cast(int).fill_null(-1).to_numpy()
    # The codes of all columns of a program may share one numbering, which can have large gaps.
    least, spread = _range_of(codes)
    if spread > 4 * len(codes) + 1024:
        codes = np.unique(codes, return_inverse=True)[1]
        least, spread = _range_of(codes)
    first = np.full(spread, -1, dtype=np.intp)
    first[codes[::-1] - least] = np.arange(len(codes) - 1, -1, -1)
    rows = np.flatnonzero(first >= 0)
    places = np.empty(spread, dtype=np.intp)
    places[rows] = np.arange(len(rows))
    labels = column.gather(first[rows]).cast(str).to_list()
    return places[codes - least], labels


def _range_of(codes: NDArray[Any]) -> tuple[int, int]:
    """Get the least code, and how many codes there are up to the greatest one."""
    if len(codes) == 0:
        return 0, 0
    least = int(codes.min())
    return least, int(codes.max()) - least + 1


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


def _pyarrow_columns(X: Any) -> Iterator[Column]:
    return map(_pyarrow_column, X.column_names, X.columns)


def _pyarrow_column(name: str, column: Any) -> Column:
    label = str(column.type)
    base = label.partition("(")[0].partition("[")[0]
    dtype = np.dtype(_PYARROW_DTYPES.get(base, "O"))

    def read(_: np.dtype[Any]) -> Any:
        if base == "bool":
            # pyarrow casts bool to float only by way of an integer.
            return column.cast("int8").cast("float64").to_numpy()
        if base in ("null", "halffloat") or base.startswith("decimal"):
            return column.cast("float64").to_numpy()
        return column.to_numpy()

    def factorize() -> Labelled:
        entries = column.combine_chunks()
        try:
            entries = entries if base.startswith("dictionary") else entries.dictionary_encode()
        except NotImplementedError:
            raise TypeError(f"{label} can't be labels") from None
        places = entries.indices.cast("int64").fill_null(-1).to_numpy()
        return places, entries.dictionary.to_pylist()

    return Column(name, dtype, label, read, factorize)


_READERS: dict[tuple[str, str], Callable[[Any], Iterable[Column]]] = {
    ("pandas", "DataFrame"): _pandas_columns,
    ("polars", "DataFrame"): _polars_columns,
    ("polars", "LazyFrame"): _refuse_lazy,
    ("pyarrow", "Table"): _pyarrow_columns,
}

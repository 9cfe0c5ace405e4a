//! numpy arrays → views for the core, without copies.

use std::borrow::Cow;
use std::mem::MaybeUninit;

use numpy::ndarray::{Dimension, IntoDimension};
use numpy::{
    Element, PyArray, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::data::{Cell, Matrix};
use crate::error::{Error, Result};
use crate::memory::check_room;

/// Available memory is checked for results of at least this many bytes; for a few rows the check
/// would take longer than the prediction.
const CHECKED_BYTES: usize = 1 << 20;

/// X as the user passes it: float32 or float64, in any memory order.
pub(super) enum Table<'py> {
    Narrow(PyReadonlyArray2<'py, f32>),
    Wide(PyReadonlyArray2<'py, f64>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Table<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArray2<f32>>() {
            return Ok(Self::Narrow(array.try_readonly()?));
        }
        match object.cast::<PyArray2<f64>>() {
            Ok(array) => Ok(Self::Wide(array.try_readonly()?)),
            Err(_) => Err(PyTypeError::new_err("X must be a two-dimensional numpy array of float32 or float64")),
        }
    }
}

/// X of a fit: an array, or sparse columns as a tuple of scipy's arrays.
pub(super) enum Source<'py> {
    Dense(Table<'py>),
    Sparse(Entries<'py>),
}

/// Rows to predict: an array, or a sparse matrix of scipy.
pub(super) enum RowSource<'py> {
    Dense(Table<'py>),
    Sparse(Entries<'py>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for RowSource<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.cast::<PyUntypedArray>().is_ok() || !object.hasattr("tocsr")? {
            return Ok(Self::Dense(object.extract()?));
        }
        let read = object.py().import("splitwood._sparse")?.getattr("sparse_rows")?;
        Ok(Self::Sparse(read.call1((object.call_method0("tocsr")?,))?.extract()?))
    }
}

/// The entries of sparse rows or columns.
pub(super) struct Entries<'py> {
    /// Number of rows of sparse columns, or of columns of sparse rows.
    pub n: usize,
    /// scipy's `indptr`.
    pub starts: PyReadonlyArray1<'py, i64>,
    pub indices: PyReadonlyArray1<'py, i32>,
    pub cells: Cells<'py>,
}

/// scipy's `data`.
pub(super) enum Cells<'py> {
    Narrow(PyReadonlyArray1<'py, f32>),
    Wide(PyReadonlyArray1<'py, f64>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Entries<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let (n, starts, indices, cells): (usize, _, _, Bound<'py, PyAny>) = object.extract()?;
        let cells = match cells.extract() {
            Ok(cells) => Cells::Narrow(cells),
            Err(_) => Cells::Wide(cells.extract()?),
        };
        Ok(Self { n, starts, indices, cells })
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Source<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyTuple>() {
            return Ok(Self::Sparse(object.extract()?));
        }
        Ok(Self::Dense(object.extract()?))
    }
}

/// Evaluates `$dense` with the matrix, or `$sparse` with the sparse columns, for either type of
/// cells.
macro_rules! with_source {
    ($source:expr, |$x:ident| $dense:expr, |$columns:ident| $sparse:expr) => {
        match $source {
            $crate::python::arrays::Source::Dense(table) => {
                $crate::python::arrays::with_matrix!(table, |$x| $dense)
            }
            $crate::python::arrays::Source::Sparse(entries) => {
                let (starts, indices) =
                    ($crate::python::arrays::vector(&entries.starts), $crate::python::arrays::vector(&entries.indices));
                match &entries.cells {
                    $crate::python::arrays::Cells::Narrow(cells) => {
                        let cells = $crate::python::arrays::vector(cells);
                        let $columns = &$crate::data::SparseColumns::new(entries.n, &starts, &indices, &cells)?;
                        $sparse
                    }
                    $crate::python::arrays::Cells::Wide(cells) => {
                        let cells = $crate::python::arrays::vector(cells);
                        let $columns = &$crate::data::SparseColumns::new(entries.n, &starts, &indices, &cells)?;
                        $sparse
                    }
                }
            }
        }
    };
}
pub(super) use with_source;

/// Whether this is a numpy array, not of a subclass, that can be read as a matrix with this number
/// of columns.
pub(super) fn is_plain_table(object: &Bound<'_, PyAny>, n_columns: usize) -> bool {
    let Ok(array) = object.cast_exact::<PyUntypedArray>() else { return false };
    (object.cast::<PyArray2<f32>>().is_ok() || object.cast::<PyArray2<f64>>().is_ok())
        && array.shape()[0] > 0
        && array.shape()[1] == n_columns
        && array.is_aligned()
}

/// Evaluates `$body` with `$x` bound to the matrix, for either type of cells.
macro_rules! with_matrix {
    ($table:expr, |$x:ident| $body:expr) => {
        match $table {
            $crate::python::arrays::Table::Narrow(array) => {
                let $x = &$crate::python::arrays::matrix(&array)?;
                $body
            }
            $crate::python::arrays::Table::Wide(array) => {
                let $x = &$crate::python::arrays::matrix(&array)?;
                $body
            }
        }
    };
}
pub(super) use with_matrix;

/// A view of the array's cells.
pub(super) fn matrix<'a, X: Cell + Element>(array: &'a PyReadonlyArray2<'_, X>) -> Result<Matrix<'a, X>> {
    let size = size_of::<X>() as isize;
    let [n_rows, n_columns] = [array.shape()[0], array.shape()[1]];
    if n_rows == 0 || n_columns == 0 {
        return Matrix::with_strides(&[], 0, n_rows, n_columns, 0, 0);
    }
    let strides = array.strides();
    let first = array.data();
    if first.align_offset(align_of::<X>()) != 0 || strides.iter().any(|stride| stride % size != 0) {
        return Err(Error::argument("X", "is not aligned in memory; pass X.copy()"));
    }
    let [row_stride, column_stride] = [strides[0] / size, strides[1] / size];
    let (down, across) = ((n_rows as isize - 1) * row_stride, (n_columns as isize - 1) * column_stride);
    let before = -(down.min(0) + across.min(0));
    let len = before + down.max(0) + across.max(0) + 1;
    // SAFETY: numpy keeps every element of an array inside one allocation, and the array is aligned
    // (checked above), so the cells from the lowest to the highest address are readable. The handle
    // keeps the array alive, and users of rust-numpy can't change it. Other code that writes to it
    // from another thread changes the values that are read, not the addresses.
    let cells = unsafe { std::slice::from_raw_parts(first.offset(-before), len as usize) };
    Matrix::with_strides(cells, before as usize, n_rows, n_columns, row_stride, column_stride)
}

/// A view of a vector; a copy if its entries are not adjacent.
pub(super) fn vector<'a, T: Element + Copy>(array: &'a PyReadonlyArray1<'_, T>) -> Cow<'a, [T]> {
    match array.as_slice() {
        Ok(slice) => Cow::Borrowed(slice),
        Err(_) => Cow::Owned(array.as_array().to_vec()),
    }
}

/// A view of the entries of an array of any shape, row after row; a copy if they are stored in
/// another order.
pub(super) fn entries<'a, T: Element + Copy>(array: &'a PyReadonlyArrayDyn<'_, T>) -> Cow<'a, [T]> {
    match array.as_slice() {
        Ok(slice) => Cow::Borrowed(slice),
        Err(_) => Cow::Owned(array.as_array().iter().copied().collect()),
    }
}

/// A new array that `write` fills. numpy allocates it, because it gets large arrays in large pages.
pub(super) fn filled<T: Element + Copy, const N: usize, D: Dimension>(
    py: Python<'_>,
    shape: [usize; N],
    write: impl FnOnce(&mut [MaybeUninit<T>]) -> PyResult<()>,
) -> PyResult<Bound<'_, PyArray<T, D>>>
where
    [usize; N]: IntoDimension<Dim = D>,
{
    // numpy panics if it can't allocate, so memory is checked first.
    let bytes = shape.iter().fold(size_of::<T>(), |bytes, &len| bytes.saturating_mul(len));
    if bytes >= CHECKED_BYTES {
        check_room(bytes)?;
    }
    // SAFETY: the places of a new array are contiguous, and no other code has the array before all
    // places are written: if `write` fails, it is dropped. Numbers need no drop.
    let array = unsafe { PyArray::<T, D>::new(py, shape, false) };
    // SAFETY: as above; `MaybeUninit` allows any bytes in places that are still to be written.
    write(unsafe { std::slice::from_raw_parts_mut(array.data().cast(), array.len()) })?;
    Ok(array)
}

//! What one tree of a forest sees: its rows, numbered from 0, with their weights and targets, and
//! the columns in the tree's own order.
//!
//! Ties between features go to the first one. In a forest each tree has its own order of features,
//! so that no feature is favoured by all of them. The copy of X costs one pass; a tree that sees
//! all rows and columns in their order reads X itself.

use std::borrow::Cow;

use crate::data::{Cell, Matrix, Source, SparseColumns, Values};
use crate::error::Result;
use crate::grow::random::Seed;
use crate::params::{Objective, Params};

/// Changes a tree's seed for its order of features.
const ORDER: u64 = 0x6F72_6465_726F_7264;

/// Rows per block of a copy: X is read in order of its rows, and a block stays in the cache.
const BLOCK: usize = 512;

/// The features in a random order.
pub(super) fn shuffled_features(seed: u64, n_features: usize) -> Vec<u32> {
    let mut stream = Seed::new(seed ^ ORDER).stream();
    let mut features: Vec<u32> = (0..n_features as u32).collect();
    for place in 1..n_features {
        features.swap(place, stream.below(place + 1));
    }
    features
}

/// The settings of a tree whose column `k` is feature `features[k]` of the forest.
pub(super) fn tree_params(params: &Params, seed: u64, features: &[u32]) -> Params {
    Params {
        seed,
        monotonic_cst: params.monotonic_cst.as_deref().map(|signs| reordered(signs, features)),
        categories: params.categories.as_deref().map(|counts| reordered(counts, features)),
        ..params.clone()
    }
}

fn reordered<T: Copy>(by_feature: &[T], features: &[u32]) -> Vec<T> {
    features.iter().map(|&feature| by_feature[feature as usize]).collect()
}

/// The cells of some rows, with the columns in some order.
pub(super) enum TreeCells<X> {
    /// With the distances between two rows and between two columns.
    Dense {
        cells: Vec<X>,
        shape: [usize; 2],
        strides: [isize; 2],
    },
    Sparse {
        starts: Vec<i64>,
        rows: Vec<i32>,
        cells: Vec<X>,
        n_rows: usize,
    },
}

impl<X: Cell> TreeCells<X> {
    pub fn new(x: Source<'_, X>, rows: &[u32], features: &[u32]) -> Self {
        match x {
            Source::Dense(x) => Self::dense(x, rows, features),
            Source::Sparse(x) => Self::sparse(x, rows, features),
        }
    }

    /// The same cells; those of a row are adjacent.
    pub fn by_rows(x: Source<'_, X>, rows: &[u32], features: &[u32]) -> Self {
        let x = match x {
            Source::Dense(x) => x,
            Source::Sparse(x) => return Self::sparse(x, rows, features),
        };
        let shape = [rows.len(), features.len()];
        let mut cells = vec![X::default(); shape[0] * shape[1]];
        for (cells, &row) in cells.chunks_exact_mut(shape[1]).zip(rows) {
            for (cell, &feature) in cells.iter_mut().zip(features) {
                *cell = x.get(row as usize, feature as usize);
            }
        }
        Self::Dense { cells, shape, strides: [shape[1] as isize, 1] }
    }

    fn dense(x: &Matrix<'_, X>, rows: &[u32], features: &[u32]) -> Self {
        let (n_rows, n_columns) = (rows.len(), features.len());
        let mut cells = vec![X::default(); n_rows * n_columns];
        for (block, rows) in rows.chunks(BLOCK).enumerate() {
            for (column, &feature) in cells.chunks_exact_mut(n_rows).zip(features) {
                for (cell, &row) in column[block * BLOCK..].iter_mut().zip(rows) {
                    *cell = x.get(row as usize, feature as usize);
                }
            }
        }
        Self::Dense { cells, shape: [n_rows, n_columns], strides: [1, n_rows as isize] }
    }

    fn sparse(x: &SparseColumns<'_, X>, of_tree: &[u32], features: &[u32]) -> Self {
        let mut local = vec![-1; x.n_rows()];
        for (place, &row) in (0..).zip(of_tree) {
            local[row as usize] = place;
        }
        let (mut starts, mut rows, mut cells) = (vec![0], Vec::new(), Vec::new());
        for &feature in features {
            let (of_column, column) = x.entries(feature as usize);
            for (&row, &cell) in of_column.iter().zip(column).filter(|(row, _)| local[**row as usize] >= 0) {
                rows.push(local[row as usize]);
                cells.push(cell);
            }
            starts.push(cells.len() as i64);
        }
        Self::Sparse { starts, rows, cells, n_rows: of_tree.len() }
    }

    /// Calls `work` with a view of the cells.
    pub fn with<R>(&self, work: impl FnOnce(Source<'_, X>) -> Result<R>) -> Result<R> {
        match self {
            &Self::Dense { ref cells, shape: [n_rows, n_columns], strides: [down, across] } => {
                work(Source::Dense(&Matrix::with_strides(cells, 0, n_rows, n_columns, down, across)?))
            }
            Self::Sparse { starts, rows, cells, n_rows } => {
                work(Source::Sparse(&SparseColumns::new(*n_rows, starts, rows, cells)?))
            }
        }
    }
}

/// The targets of some rows.
pub(super) enum TreeTargets<'a> {
    Values(Cow<'a, [f64]>),
    Codes(Cow<'a, [u32]>),
}

impl<'a> TreeTargets<'a> {
    pub fn new(objective: &Objective<'a>, rows: &[u32]) -> Self {
        match *objective {
            Objective::Values { y, n_outputs, .. } => Self::Values(picked(y, n_outputs, rows)),
            Objective::Classes { codes, n_outputs, .. } => Self::Codes(picked(codes, n_outputs, rows)),
        }
    }

    /// The objective of the forest with these targets.
    pub fn objective<'t>(&'t self, of_forest: &Objective<'_>) -> Objective<'t> {
        match (self, *of_forest) {
            (Self::Values(y), Objective::Values { n_outputs, loss, .. }) => Objective::Values { y, n_outputs, loss },
            (Self::Codes(codes), Objective::Classes { n_outputs, n_classes, impurity, .. }) => {
                Objective::Classes { codes, n_outputs, n_classes, impurity }
            }
            _ => unreachable!("the targets are those of the objective"),
        }
    }
}

/// The entries of some rows in ascending order, each of which has `width` entries.
pub(super) fn picked<'a, T: Copy>(entries: &'a [T], width: usize, rows: &[u32]) -> Cow<'a, [T]> {
    if rows.len() * width == entries.len() {
        return Cow::Borrowed(entries);
    }
    rows.iter().flat_map(|&row| &entries[row as usize * width..][..width]).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_features_is_as_likely() {
        let mut counts = std::collections::HashMap::new();
        for seed in 0..6_000 {
            *counts.entry(shuffled_features(seed, 3)).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (880..1_120).contains(count)), "{counts:?}");
    }

    #[test]
    fn dense_and_sparse_cells_are_picked_alike() {
        let cells = [1.0, 0.0, 3.0, 4.0, 5.0, 0.0, 0.0, 8.0, 9.0];
        let x = Matrix::from_rows(&cells, 3, 3).unwrap();
        let sparse =
            SparseColumns::new(3, &[0, 2, 4, 6], &[0, 1, 1, 2, 0, 2], &[1.0, 4.0, 5.0, 8.0, 3.0, 9.0]).unwrap();
        let read = |x: Source<'_, f64>| {
            let x = x.values();
            Ok([0, 1].map(|row| [0, 1, 2].map(|column| x.value(row, column))))
        };
        let expected = Ok([[0.0, 4.0, 5.0], [9.0, 0.0, 8.0]]);
        assert_eq!(TreeCells::new(Source::Dense(&x), &[1, 2], &[2, 0, 1]).with(read), expected);
        assert_eq!(TreeCells::by_rows(Source::Dense(&x), &[1, 2], &[2, 0, 1]).with(read), expected);
        assert_eq!(TreeCells::new(Source::Sparse(&sparse), &[1, 2], &[2, 0, 1]).with(read), expected);
    }
}

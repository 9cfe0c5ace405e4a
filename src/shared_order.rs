//! The order of every column, sorted once for all trees of a forest.
//!
//! A tree sees some rows of X, numbered from 0, and the columns in an order of its own. Its sorted
//! columns are the shared ones without the rows that it does not see, or with copies of rows:
//!
//! ```text
//! shared order of a column    7 2 5 0 3 …        local number    2 → 0, 3 → 1, 7 → 2, others: none
//! the tree's                  2 0 1 …            7, 2 and 3 by their local numbers
//! ```
//!
//! Local numbers ascend with the rows, so equal values stay in row order: the result is what
//! `presort` would make of the tree's own rows (`agrees_with_a_presort_of_the_rows`). Cost: one
//! forward pass over a column, with two random reads per row. Memory: 4 bytes per cell of X, and 4
//! bytes per row and tree that is being grown.

use crate::columns::{CodedColumns, Columns, SortedColumn};
use crate::data::{Cell, Matrix, Places, Rows, has_copies};
use crate::presort::presort;
use crate::threads::Team;

/// The local number of a row that a tree does not see.
const NONE: u32 = u32::MAX;

/// The rows in the order of each column, and of the targets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SharedOrder {
    /// Empty if X is sparse, or no tree needs an order.
    columns: Vec<Vec<u32>>,
    /// Empty if the criterion does not rank its targets, or there are several outputs.
    targets: Vec<u32>,
}

impl SharedOrder {
    /// Sorts the columns of `x` and the numbers `targets`, if they are given. If the team was
    /// cancelled, the order is not sorted and must not be used.
    pub fn new<X: Cell>(x: Option<&Matrix<'_, X>>, targets: Option<&[f64]>, team: &Team) -> Self {
        let columns = x.map_or_else(Vec::new, |x| sort(x, team));
        let targets = targets.and_then(|y| Matrix::from_rows(y, y.len(), 1).ok());
        Self { columns, targets: targets.map_or_else(Vec::new, |y| sort(&y, team).swap_remove(0)) }
    }
}

fn sort<X: Cell>(x: &Matrix<'_, X>, team: &Team) -> Vec<Vec<u32>> {
    let Ok(rows) = Rows::new(x.n_rows(), None) else { unreachable!("there are no weights to refuse") };
    let columns = presort(x, &rows, &vec![(); x.n_rows()], 0, team).features;
    columns.into_iter().map(|column| column.rows).collect()
}

/// The local numbers of the rows of a shared order.
enum LocalNumbers {
    /// One per row, or `NONE`.
    Single(Vec<u32>),
    /// Several of rows with copies.
    Copies(Places),
}

/// The shared order as one tree sees it.
pub(crate) struct TreeOrder<'a> {
    shared: &'a SharedOrder,
    local: LocalNumbers,
    n_rows: usize,
    /// By column of the tree: the shared column.
    columns: &'a [u32],
}

impl<'a> TreeOrder<'a> {
    /// The order of a tree that sees these of `n_rows` rows, in ascending order, and the columns in
    /// this order. Equal rows are copies.
    pub fn new(shared: &'a SharedOrder, n_rows: usize, rows: &[u32], columns: &'a [u32]) -> Self {
        let local = if has_copies(rows) {
            LocalNumbers::Copies(Places::new(n_rows, rows))
        } else {
            let mut local = vec![NONE; n_rows];
            for (place, &row) in (0..).zip(rows) {
                local[row as usize] = place;
            }
            LocalNumbers::Single(local)
        };
        Self { shared, local, n_rows: rows.len(), columns }
    }

    /// The sorted columns of the tree, with the items of its rows; `x` is its own X. `None` if the
    /// columns are not sorted.
    pub fn columns<X: Cell, T: Copy + Default + Send + Sync>(
        &self,
        x: &Matrix<'_, X>,
        items: &[T],
        team: &Team,
    ) -> Option<Columns<T>> {
        if self.shared.columns.is_empty() {
            return None;
        }
        let mut features: Vec<_> = self.columns.iter().map(|_| SortedColumn::with_capacity(self.n_rows)).collect();
        let mut work: Vec<_> = features.iter_mut().zip(self.columns).collect();
        team.each(&mut work, &mut vec![(); team.threads()], |(), (column, shared)| {
            self.filter(&self.shared.columns[**shared as usize], items, column);
        });
        let is_missing = |(feature, column): (usize, &SortedColumn<T>)| {
            x.get(column.rows[self.n_rows - 1] as usize, feature).is_missing()
        };
        let has_missing = features.iter().enumerate().map(is_missing).collect();
        Some(Columns { features, has_missing, targets: SortedColumn::with_len(0), coded: CodedColumns::none() })
    }

    /// The tree's rows in the order of their targets, with their items. `None` if the targets are
    /// not sorted.
    pub fn targets<T: Copy + Default>(&self, items: &[T]) -> Option<SortedColumn<T>> {
        if self.shared.targets.is_empty() {
            return None;
        }
        let mut column = SortedColumn::with_capacity(self.n_rows);
        self.filter(&self.shared.targets, items, &mut column);
        Some(column)
    }

    /// Writes the local numbers of the rows that the tree sees, and their items.
    fn filter<T: Copy>(&self, rows: &[u32], items: &[T], column: &mut SortedColumn<T>) {
        match &self.local {
            LocalNumbers::Copies(places) => column.rows.extend(rows.iter().flat_map(|&row| places.of(row as usize))),
            LocalNumbers::Single(numbers) => {
                column.rows.resize(self.n_rows, 0);
                let mut kept = 0;
                // A branch on whether the tree sees a row would be mispredicted for a third of
                // them.
                for &row in rows {
                    let local = numbers[row as usize];
                    // After the last row that is kept, the column is full.
                    if let Some(place) = column.rows.get_mut(kept) {
                        *place = local;
                    }
                    kept += usize::from(local != NONE);
                }
            }
        }
        column.items.extend(column.rows.iter().map(|&local| items[local as usize]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_presort_of_the_rows(
            (cells, weights) in (1..200usize).prop_flat_map(|n| (
                prop::collection::vec(prop_oneof![4 => (-3..3).prop_map(f64::from), 1 => any::<f64>()], 3 * n),
                prop::collection::vec(prop_oneof![Just(0.0), Just(1.0)], n),
            )),
            columns in Just(vec![0, 1, 2]).prop_shuffle(),
            copies in prop::option::of(1..4usize),
        ) {
            let n = weights.len();
            let mut weights = weights;
            weights[0] = 1.0;
            let x = Matrix::from_rows(&cells, n, 3).unwrap();
            let mut ids = Rows::new(n, Some(&weights)).unwrap().ids();
            if let Some(copies) = copies {
                ids = ids.into_iter().flat_map(|id| std::iter::repeat_n(id, id as usize * 7 % (copies + 1))).collect();
                ids.push(n as u32 - 1);
            }
            let team = Team::new(None, 1, usize::MAX).unwrap();
            let own: Vec<f64> = ids.iter()
                .flat_map(|&id| columns.iter().map(move |&column| (id, column)))
                .map(|(id, column)| x.get(id as usize, column as usize))
                .collect();
            let own = Matrix::from_rows(&own, ids.len(), 3).unwrap();
            let items: Vec<u32> = (0..ids.len() as u32).map(|i| 3 * i).collect();
            let expected = presort(&own, &Rows::new(ids.len(), None).unwrap(), &items, 0, &team);

            let shared = SharedOrder::new(Some(&x), Some(&cells[..n]), &team);
            let order = TreeOrder::new(&shared, n, &ids, &columns);
            let found = order.columns(&own, &items, &team).unwrap();
            for (found, expected) in found.features.iter().zip(&expected.features) {
                prop_assert_eq!((&found.rows, &found.items), (&expected.rows, &expected.items));
            }
            prop_assert_eq!(found.has_missing, expected.has_missing);
            let targets = order.targets(&items).unwrap();
            let y = |local: u32| cells[ids[local as usize] as usize];
            prop_assert!(targets.rows.is_sorted_by(|&a, &b| y(a) < y(b) || a < b || y(b).is_nan()));
        }
    }
}

//! The rows that take part in a fit, and their weights. Rows of weight 0 don't take part.
//!
//! Weights that are small whole numbers can be exchanged for copies of rows: a row of weight 3
//! takes part three times, and sums need no weights.

use super::{MAX_ROWS, check_finite, lowest_bit, power_of_two};
use crate::error::{Error, Result};

/// The rows that take part in a fit and their total weight.
pub(crate) struct Rows {
    /// Ascending ids; `None` means all rows.
    kept: Option<Vec<u32>>,
    len: usize,
    /// In `weight_unit`s.
    pub total_weight: f64,
    /// A power of two near the heaviest weight. The fit divides weights by it, so that they are of
    /// ordinary size whatever the user's are.
    pub weight_unit: f64,
    /// If weights were exchanged for copies: by row, whether it is a copy of the row before it.
    copies: Option<Vec<bool>>,
}

/// Copies are made if there are at most this many times as many rows with them. A bootstrap has
/// 1.58 times as many draws as rows.
const MAX_ROWS_PER_ROW: f64 = 2.0;

/// Rows, each as often as its weight says.
pub(crate) struct RepeatedRows {
    /// Ascending; equal ones are copies of one row.
    pub ids: Vec<u32>,
    /// The weight of one copy.
    unit: f64,
}

impl RepeatedRows {
    /// The rows of a table that has a row for each of the ids.
    pub fn rows(&self) -> Rows {
        let is_copy = |place: usize| place > 0 && self.ids[place] == self.ids[place - 1];
        Rows {
            kept: None,
            len: self.ids.len(),
            total_weight: self.ids.len() as f64,
            weight_unit: self.unit,
            copies: Some((0..self.ids.len()).map(is_copy).collect()),
        }
    }
}

impl Rows {
    /// Checks the weights: as many as rows, finite, none negative, not all zero.
    pub fn new(n_rows: usize, weights: Option<&[f64]>) -> Result<Self> {
        let Some(weights) = weights else {
            return Ok(Self { kept: None, len: n_rows, total_weight: n_rows as f64, weight_unit: 1.0, copies: None });
        };
        if weights.len() != n_rows {
            let problem = format!("has {} entries, but X has {n_rows} rows", weights.len());
            return Err(Error::argument("sample_weight", problem));
        }
        check_finite("sample_weight", weights)?;
        if let Some(row) = weights.iter().position(|&w| w < 0.0) {
            let problem = format!("must not be negative, got {} in row {row}", weights[row]);
            return Err(Error::argument("sample_weight", problem));
        }
        let sum: f64 = weights.iter().sum();
        if sum == 0.0 {
            return Err(Error::argument("sample_weight", "all weights are zero; at least one must be positive"));
        }
        if !sum.is_finite() {
            return Err(Error::argument("sample_weight", "the sum overflows; rescale the weights"));
        }
        let weight_unit = power_of_two(weights);
        // A row that is lighter than this relative to the heaviest is left out: its weight would
        // underflow to 0.
        let takes_part = |&row: &u32| weights[row as usize] / weight_unit >= f64::MIN_POSITIVE;
        let kept: Vec<u32> = (0..n_rows as u32).filter(takes_part).collect();
        let len = kept.len();
        let total_weight = weights.iter().map(|weight| weight / weight_unit).sum();
        Ok(Self { kept: (len < n_rows).then_some(kept), len, total_weight, weight_unit, copies: None })
    }

    /// These rows with copies instead of weights; `None` if the weights are no whole multiples of a
    /// power of two, or there would be too many copies.
    pub fn repeated(&self, weights: &[f64]) -> Option<RepeatedRows> {
        let unit = weights.iter().filter(|&&weight| weight > 0.0).map(|&weight| lowest_bit(weight)).reduce(f64::min)?;
        let total = self.total_weight * (self.weight_unit / unit);
        let most = (MAX_ROWS_PER_ROW * self.len as f64).min(MAX_ROWS as f64);
        if total.is_nan() || total > most {
            return None;
        }
        let copies = |id: u32| std::iter::repeat_n(id, (weights[id as usize] / unit) as usize);
        Some(RepeatedRows { ids: (0..self.len).flat_map(|place| copies(self.id(place))).collect(), unit })
    }

    /// By row, whether it is a copy of the row before it; `None` if weights were not exchanged for
    /// copies.
    pub fn copies(&self) -> Option<&[bool]> {
        self.copies.as_deref()
    }

    /// For each of these rows, whether it is a copy; `None` if weights were not exchanged for
    /// copies.
    pub fn copies_among(&self, rows: &[u32]) -> Option<Vec<bool>> {
        let copies = self.copies.as_ref()?;
        Some(rows.iter().map(|&row| copies[row as usize]).collect())
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The same rows, numbered from 0 on.
    pub fn renumbered(&self) -> Self {
        Self { kept: None, copies: None, ..*self }
    }

    /// The items of the rows that take part, from one item per row of X.
    pub fn pick<T: Copy>(&self, items: Vec<T>) -> Vec<T> {
        match &self.kept {
            Some(kept) => kept.iter().map(|&row| items[row as usize]).collect(),
            None => items,
        }
    }

    /// The ids of the rows that take part, in ascending order.
    pub fn ids(&self) -> Vec<u32> {
        (0..self.len).map(|place| self.id(place)).collect()
    }

    /// By row of X: whether it takes part.
    pub fn mask(&self, n_rows: usize) -> Vec<bool> {
        let mut mask = vec![self.kept.is_none(); n_rows];
        self.kept.iter().flatten().for_each(|&row| mask[row as usize] = true);
        mask
    }

    /// Row id of the `place`-th row that takes part.
    #[inline]
    pub fn id(&self, place: usize) -> u32 {
        match &self.kept {
            Some(kept) => kept[place],
            None => place as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_weight_are_left_out() {
        let rows = Rows::new(4, Some(&[0.0, 1.0, 0.0, 2.0])).unwrap();
        assert_eq!((rows.len(), rows.id(0), rows.id(1)), (2, 1, 3));
        assert_eq!(rows.pick(vec!['a', 'b', 'c', 'd']), ['b', 'd']);
        assert_eq!(rows.total_weight * rows.weight_unit, 3.0);
        for bad in [[0.0; 2], [-1.0, 1.0], [f64::NAN, 1.0], [f64::INFINITY, 1.0], [1e308, 1.7e308]] {
            assert!(Rows::new(2, Some(&bad)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn small_whole_weights_are_copies() {
        let repeated = |weights: &[f64]| Rows::new(weights.len(), Some(weights)).unwrap().repeated(weights);
        for unit in [1.0, 0.25, 2f64.powi(900)] {
            let weights = [0.0, 3.0, 1.0, 1.0].map(|weight| weight * unit);
            let found = repeated(&weights).unwrap();
            assert_eq!((&*found.ids, found.unit), (&[1, 1, 1, 2, 3][..], unit));
        }
        assert_eq!(repeated(&[1.0, 1.0]).unwrap().ids, [0, 1]);
        for other in [[1.0, 0.1], [1.0, 5.0], [1.0, 1e300], [1.0, 5e-324]] {
            assert!(repeated(&other).is_none(), "{other:?}");
        }
        let rows = RepeatedRows { ids: vec![1, 1, 1, 2, 3], unit: 0.5 }.rows();
        assert_eq!((rows.len(), rows.id(4), rows.total_weight * rows.weight_unit), (5, 4, 2.5));
        assert_eq!(rows.copies_among(&[4, 0, 2]), Some(vec![false, false, true]));
    }
}

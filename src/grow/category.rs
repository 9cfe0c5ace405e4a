//! Orders the categories of a node, so that a categorical feature is swept like a numeric one.
//!
//! ```text
//! rows     0 1 2 3 4 5 6        codes 1 0 1 2 ? 0 1        means of the labels: 5, 1, 3
//! order    0 2 6 │ 3 │ 1 5 │ ?  label 1, then 2, then 0; missing values last
//! ```
//!
//! The order is that of the labels' means, quantiles or principal component
//! ([`LabelOrder`](crate::criterion::LabelOrder)); `label_sums.rs` computes it. By means, the best
//! of all sets of labels is a cut of the order. Elsewhere, and where a rule forbids that cut,
//! `category_sets.rs` tries all sets of a few labels.
//!
//! Cost: O(rows · numbers + labels · log labels) per node and categorical feature.

use super::label_sums::LabelSums;
use crate::criterion::Criterion;

/// The code of a missing value, which is that of no label.
pub(super) const MISSING: u32 = u32::MAX;

/// A label of a node, and its rows: places of the node's rows in the order of the codes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    pub code: u32,
    pub start: usize,
    pub end: usize,
}

impl Label {
    pub fn len(self) -> usize {
        self.end - self.start
    }
}

/// Buffers, reused from node to node.
#[derive(Default)]
pub(super) struct CategoryOrder {
    /// By code: the number of its rows, then the end of its places. All 0 between uses.
    counts: Vec<usize>,
    /// The node's rows in the order of their codes, missing values last.
    rows: Vec<u32>,
    /// In the order that was made last.
    labels: Vec<Label>,
    sums: LabelSums,
}

impl CategoryOrder {
    /// Writes the rows to `order`, label after label, in the order that the criterion gives the
    /// labels. Returns the factor by which gains of this order are discounted.
    pub fn arrange<C: Criterion>(
        &mut self,
        rows: &[u32],
        codes: &[u32],
        targets: (&C, &C::NodeStats, &[C::Item]),
        smoothing: f64,
        order: &mut Vec<u32>,
        values: &mut Vec<f64>,
    ) -> f64 {
        self.group(rows, codes);
        let discount = self.sums.sort(targets, &self.rows, smoothing, &mut self.labels);
        self.write(0..self.labels.len(), order, values);
        discount
    }

    /// Groups the rows by label; both rows and labels ascend.
    fn group(&mut self, rows: &[u32], codes: &[u32]) {
        let Self { counts, labels, rows: grouped, .. } = self;
        labels.clear();
        for &row in rows {
            let code = codes[row as usize];
            if code == MISSING {
                continue;
            }
            if counts.len() <= code as usize {
                counts.resize(code as usize + 1, 0);
            }
            if counts[code as usize] == 0 {
                labels.push(Label { code, start: 0, end: 0 });
            }
            counts[code as usize] += 1;
        }
        labels.sort_unstable_by_key(|label| label.code);
        let mut end = 0;
        for label in &mut *labels {
            let count = &mut counts[label.code as usize];
            (label.start, label.end) = (end, end + *count);
            *count = end;
            end = label.end;
        }
        grouped.resize(rows.len(), 0);
        for &row in rows {
            let place = match codes[row as usize] {
                MISSING => &mut end,
                code => &mut counts[code as usize],
            };
            grouped[*place] = row;
            *place += 1;
        }
        for label in labels {
            counts[label.code as usize] = 0;
        }
    }

    /// The labels of the node in the order that was made last.
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// Whether some label has the mean 0 in its targets' first number.
    pub fn has_zero_label(&self) -> bool {
        self.sums.least() == 0.0
    }

    /// Writes the rows in another order of the labels, given by their places in the last one.
    pub fn write(&self, places: impl Iterator<Item = usize>, order: &mut Vec<u32>, values: &mut Vec<f64>) {
        order.clear();
        values.clear();
        let mut n_known = 0;
        for place in places {
            let label = self.labels[place];
            order.extend_from_slice(&self.rows[label.start..label.end]);
            values.resize(order.len(), place as f64);
            n_known += label.len();
        }
        order.extend_from_slice(&self.rows[n_known..]);
        values.resize(order.len(), f64::NAN);
    }
}

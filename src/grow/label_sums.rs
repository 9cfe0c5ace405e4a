//! What the targets of a node say of its labels: their order, and how far it can be trusted.
//!
//! Labels that are put in the order of their means fit the noise of the node: `k` labels without
//! any effect differ by `k − 1` times the variance `v` of the rows within a label, and the order
//! collects these differences on two sides. The more labels, the better such a feature looks
//! beside a numeric one. Two brakes, both as strong as the smoothing `s`, work against that:
//!
//! ```text
//! between labels     B = Σ w (mean of the label − mean of the node)²
//! order              n · (mean of the label − mean of the node) / (n · t + s · v)
//! discount of gains  1 − (s · (k − 2) · v / B)⁴, at least 2⁻¹⁰
//! ```
//!
//! The first is the label's mean shrunk towards the node's (Bühlmann and Straub 1970): `n` are the
//! label's rows and `t` the variance of the labels' effects. So labels with few rows stay together
//! in the middle of the order, between labels with many rows that differ. The second compares B
//! with what noise explains, as James and Stein's factor and the F test do: a feature whose labels
//! differ by less than `s` times the noise loses to any other. The power leaves the gains alone
//! where labels differ by clearly more. Both are estimated from the node, without a unit. `v`
//! counts the variance of the node itself as [`PRIOR_ROWS`] rows more, because few rows may agree
//! by accident. Rows are counted, not their weights: a duplicate is no further evidence, and
//! weights have no unit.
//!
//! Sums are integers on a grid of the node, so the order of the rows doesn't matter.
//! Cost: O(rows · numbers).

use super::category::Label;
use crate::criterion::{Criterion, Grid, LabelOrder};
use crate::median::{Center, Level};

/// How many rows the variance of the node counts in that within labels.
const PRIOR_ROWS: f64 = 1.0;

/// The least factor of a gain: of features without any signal, the better one wins.
const LEAST_DISCOUNT: f64 = 1.0 / 1024.0;

/// Steps of the power iteration; the order of labels needs few digits of the component.
const STEPS: usize = 40;

/// Sums over the rows of each label. Buffers, reused from node to node.
#[derive(Default)]
pub(super) struct LabelSums {
    /// The numbers of one row.
    numbers: Vec<f64>,
    /// By number: the least and the greatest of all rows.
    low: Vec<f64>,
    high: Vec<f64>,
    /// By label: its weight and, label after label, the means of its numbers, first above `low`,
    /// then above those of the node.
    weights: Vec<f64>,
    means: Vec<f64>,
    /// The least mean of a label's first number.
    least: f64,
    /// By label: the sum of weighted squares around its means.
    within: Vec<f64>,
    /// The targets and weights of one label.
    sample: Vec<(f64, f64)>,
    keys: Vec<(f64, Label)>,
}

/// The variances of a node's labels, per row.
#[derive(Clone, Copy, Debug)]
struct Spread {
    /// Of rows within a label.
    within: f64,
    /// Of the effects of labels.
    effects: f64,
    /// B, the sum of squares between labels.
    between: f64,
}

impl LabelSums {
    /// Sorts the labels, whose places are those of `rows`. Returns the discount of gains.
    pub fn sort<C: Criterion>(
        &mut self,
        targets: (&C, &C::NodeStats, &[C::Item]),
        rows: &[u32],
        smoothing: f64,
        labels: &mut [Label],
    ) -> f64 {
        if labels.len() < 2 {
            return 1.0;
        }
        let order = targets.0.label_order(targets.1);
        self.sum_up(targets, order, &rows[..labels[labels.len() - 1].end], labels);
        self.center();
        let spread = self.spread(labels);
        let component = if order == LabelOrder::Component { self.component() } else { vec![1.0] };
        self.keys.clear();
        for (place, &label) in labels.iter().enumerate() {
            let deviation = match order {
                LabelOrder::Quantile { level, of_node } => {
                    self.quantile(targets, level, &rows[label.start..label.end]) - of_node
                }
                LabelOrder::Mean | LabelOrder::Component => dot(self.means_of(place), &component),
            };
            self.keys.push((spread.shrunk(deviation, label.len(), smoothing), label));
        }
        self.keys.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (label, key) in labels.iter_mut().zip(&self.keys) {
            *label = key.1;
        }
        spread.discount(labels.len(), smoothing)
    }

    /// The least mean of a label's first number.
    pub fn least(&self) -> f64 {
        self.least
    }

    /// The numbers of a row and its weight. Of a quantile, only the side of the target counts, so
    /// that no outlier does.
    fn read<C: Criterion>(
        &mut self,
        (criterion, _, items): (&C, &C::NodeStats, &[C::Item]),
        order: LabelOrder,
        row: u32,
    ) -> f64 {
        self.numbers.clear();
        let weight = criterion.label_numbers(items[row as usize], &mut self.numbers);
        if let LabelOrder::Quantile { of_node, .. } = order {
            let y = self.numbers[0];
            self.numbers[0] = f64::from(u8::from(y > of_node)) - f64::from(u8::from(y < of_node));
        }
        weight
    }

    /// Computes weights, means above `low`, and squares of all labels. `rows` are those of labels.
    fn sum_up<C: Criterion>(
        &mut self,
        targets: (&C, &C::NodeStats, &[C::Item]),
        order: LabelOrder,
        rows: &[u32],
        labels: &[Label],
    ) {
        let n_numbers = targets.0.n_label_numbers();
        let heaviest = self.find_range(targets, order, rows, n_numbers);
        let n_rows = rows.len() as f64;
        let of_weights = Grid::new(heaviest, heaviest * n_rows);
        let grid = |(low, high): (&f64, &f64)| Grid::new(heaviest * (high - low), heaviest * (high - low) * n_rows);
        let grids: Vec<Grid> = self.low.iter().zip(&self.high).map(grid).collect();
        let mut sums = vec![0; n_numbers];
        self.weights.clear();
        self.means.clear();
        self.within.clear();
        self.least = f64::INFINITY;
        for label in labels {
            sums.fill(0);
            let (mut units, mut squares) = (0, 0.0);
            for &row in &rows[label.start..label.end] {
                let weight = self.read(targets, order, row);
                units += of_weights.put(weight);
                for (((sum, grid), number), low) in sums.iter_mut().zip(&grids).zip(&self.numbers).zip(&self.low) {
                    let number = number - low;
                    *sum += grid.put(weight * number);
                    squares += weight * number * number;
                }
            }
            // Rows that are too light for the grid count as one unit.
            let weight = units.max(1) as f64 * of_weights.unit;
            let means = sums.iter().zip(&grids).map(|(&sum, grid)| sum as f64 * grid.unit / weight);
            let start = self.means.len();
            self.means.extend(means);
            let means = &self.means[start..];
            self.within.push((squares - weight * dot(means, means)).max(0.0));
            self.weights.push(weight);
            self.least = self.least.min(means[0] + self.low[0]);
        }
    }

    /// Finds the least and the greatest of each number. Returns the greatest weight.
    fn find_range<C: Criterion>(
        &mut self,
        targets: (&C, &C::NodeStats, &[C::Item]),
        order: LabelOrder,
        rows: &[u32],
        n_numbers: usize,
    ) -> f64 {
        self.low.clear();
        self.low.resize(n_numbers, f64::INFINITY);
        self.high.clear();
        self.high.resize(n_numbers, f64::NEG_INFINITY);
        let mut heaviest = 0.0;
        for &row in rows {
            heaviest = self.read(targets, order, row).max(heaviest);
            let ends = self.low.iter_mut().zip(&mut self.high);
            for ((low, high), &number) in ends.zip(&self.numbers) {
                (*low, *high) = (low.min(number), high.max(number));
            }
        }
        heaviest
    }

    fn means_of(&self, label: usize) -> &[f64] {
        &self.means[label * self.low.len()..][..self.low.len()]
    }

    /// Makes the means of the labels deviations from those of all rows with a label.
    fn center(&mut self) {
        let total: f64 = self.weights.iter().sum();
        for number in 0..self.low.len() {
            let means = self.means.iter_mut().skip(number).step_by(self.low.len());
            let sum: f64 = means.zip(&self.weights).map(|(mean, weight)| *mean * weight).sum();
            self.means.iter_mut().skip(number).step_by(self.low.len()).for_each(|mean| *mean -= sum / total);
        }
    }

    fn spread(&self, labels: &[Label]) -> Spread {
        let (n_labels, n_rows) = (labels.len() as f64, labels.iter().map(|label| label.len()).sum::<usize>() as f64);
        // Weights count as shares of all rows.
        let per_weight = n_rows / self.weights.iter().sum::<f64>();
        let square = |(label, weight): (usize, &f64)| weight * dot(self.means_of(label), self.means_of(label));
        let between = per_weight * self.weights.iter().enumerate().map(square).sum::<f64>();
        let within = per_weight * self.within.iter().sum::<f64>();
        let of_node = (between + within) / (n_rows - 1.0).max(1.0);
        let within = (within + PRIOR_ROWS * of_node) / (n_rows - n_labels + PRIOR_ROWS);
        let squared_rows = labels.iter().map(|label| (label.len() as f64).powi(2)).sum::<f64>();
        let effects = (between - (n_labels - 1.0) * within) / (n_rows - squared_rows / n_rows);
        Spread { within, effects: effects.max(0.0), between }
    }

    /// The first principal component of the labels' means, by power iteration from the label that
    /// deviates most. Of the two directions, the one whose largest number is positive.
    fn component(&self) -> Vec<f64> {
        let weighted = |label: usize| self.weights[label] * dot(self.means_of(label), self.means_of(label));
        let n_labels = self.weights.len();
        let first = (0..n_labels).max_by(|&a, &b| weighted(a).total_cmp(&weighted(b))).unwrap_or(0);
        let mut component = self.means_of(first).to_vec();
        for _ in 0..STEPS {
            let largest = component.iter().fold(0.0, |most: f64, &x| if x.abs() > most.abs() { x } else { most });
            if largest == 0.0 {
                break;
            }
            for x in &mut component {
                *x /= largest;
            }
            let mut next = vec![0.0; component.len()];
            for label in 0..n_labels {
                let means = self.means_of(label);
                let along = self.weights[label] * dot(means, &component);
                next.iter_mut().zip(means).for_each(|(x, mean)| *x += along * mean);
            }
            component = next;
        }
        component
    }

    /// The quantile of a label's targets.
    fn quantile<C: Criterion>(
        &mut self,
        (criterion, _, items): (&C, &C::NodeStats, &[C::Item]),
        level: Level,
        rows: &[u32],
    ) -> f64 {
        self.sample.clear();
        for &row in rows {
            self.numbers.clear();
            let weight = criterion.label_numbers(items[row as usize], &mut self.numbers);
            self.sample.push((self.numbers[0], weight));
        }
        self.sample.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        Center::of_weighted(level, self.sample.iter().copied()).value
    }
}

impl Spread {
    /// The deviation of a label with this many rows, shrunk towards the node.
    fn shrunk(self, deviation: f64, n_rows: usize, smoothing: f64) -> f64 {
        let noise = smoothing * self.within;
        if noise == 0.0 {
            return deviation;
        }
        let n_rows = n_rows as f64;
        n_rows * deviation / (n_rows * self.effects + noise)
    }

    /// The factor of the gains of an order of this many labels.
    fn discount(self, n_labels: usize, smoothing: f64) -> f64 {
        let noise = smoothing * n_labels.saturating_sub(2) as f64 * self.within;
        if noise == 0.0 { 1.0 } else { (1.0 - (noise / self.between).powi(4)).max(LEAST_DISCOUNT) }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

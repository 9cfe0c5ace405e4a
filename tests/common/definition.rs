//! Losses from their definitions: the reference for the optimised criteria.

/// A row: its target (a class code as a number) and its weight.
pub type Row = (f64, f64);

/// The loss that a tree minimises, summed over the weight of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// Squared deviations from the mean.
    SquaredError,
    /// Absolute deviations from the median.
    AbsoluteError,
    /// Pinball loss at the level `below / whole`.
    Quantile {
        /// Numerator: the share of the weight below the quantile.
        below: u32,
        /// Denominator.
        whole: u32,
    },
    /// Half the Poisson deviance from the mean; infinite for targets that are all 0.
    Poisson,
    /// Gini impurity.
    Gini,
    /// Entropy in bits.
    Entropy,
}

impl Definition {
    /// Loss of these rows: one pass for the mean, a second one for the deviations.
    pub fn loss(self, rows: &[Row]) -> f64 {
        match self {
            Self::SquaredError => {
                let (mean, weight) = (mean_above_lowest(rows), total_weight(rows));
                let deviations = || above_lowest(rows).map(|(y, weight)| (y - mean, weight));
                let squares: f64 = deviations().map(|(d, weight)| weight * d * d).sum();
                // Correct for the rounding of the mean.
                let rest: f64 = deviations().map(|(d, weight)| weight * d).sum();
                squares - rest * rest / weight
            }
            Self::AbsoluteError | Self::Quantile { .. } => self.loss_around(self.quantile(rows), rows),
            Self::Poisson => {
                let (above, weight) = (mean_above_lowest(rows), total_weight(rows));
                let mean = lowest(rows) + above;
                let deviances = above_lowest(rows).map(|(y, weight)| weight * deviance((y - above) / mean));
                if mean * weight > 0.0 { mean * deviances.sum::<f64>() } else { f64::INFINITY }
            }
            Self::Gini | Self::Entropy => self.loss_of_classes(&class_weights(rows)),
        }
    }

    /// Losses of the first row, the first two rows, and so on. One pass (Welford's) for the squared
    /// error and for classes.
    pub fn running_losses(self, rows: impl Iterator<Item = Row>) -> Vec<f64> {
        if matches!(self, Self::AbsoluteError | Self::Quantile { .. }) {
            return self.running_losses_around_quantiles(&rows.collect::<Vec<Row>>());
        }
        let (mut total, mut mean, mut loss, mut classes) = (0.0, 0.0, 0.0, Vec::new());
        let rows: Vec<Row> = rows.collect();
        // An offset changes a deviance and can't be removed from y, so the mean is summed above the
        // lowest target.
        let base = if self == Self::Poisson { lowest(&rows) } else { 0.0 };
        let add = |(y, weight): Row| {
            if matches!(self, Self::Gini | Self::Entropy) {
                add_to_class(&mut classes, (y, weight));
                return self.loss_of_classes(&classes);
            }
            let (y, rest, before) = (y - base, total, mean);
            total += weight;
            mean += (y - before) * weight / total;
            if self == Self::SquaredError {
                loss += weight * (y - before) * (y - mean);
                return loss;
            }
            let whole = base + mean;
            if whole > 0.0 {
                // What this row adds to the loss of the rows before it: deviations from the mean
                // sum to 0.
                let deviation = (y - before) / whole;
                let [old, new] = [-deviation * weight / total, deviation * rest / total];
                loss += whole * (rest * deviance(old) + weight * deviance(new));
            }
            if whole > 0.0 { loss } else { f64::INFINITY }
        };
        rows.into_iter().map(add).collect()
    }

    /// The value of a leaf with these rows.
    pub fn value(self, rows: &[Row], n_classes: usize) -> Vec<f64> {
        match self {
            Self::SquaredError | Self::Poisson => return vec![lowest(rows) + mean_above_lowest(rows)],
            Self::AbsoluteError | Self::Quantile { .. } => return vec![self.quantile(rows)],
            Self::Gini | Self::Entropy => {}
        }
        let mut weights = class_weights(rows);
        weights.resize(n_classes, 0.0);
        weights.iter().map(|weight| weight / total_weight(rows)).collect()
    }

    /// Bound on the absolute error of a gain that the grid of a node with these rows causes.
    ///
    /// The grid has 50 bits below the largest w·(y − lowest y), and each row is rounded to it once.
    /// So the error of a sum is at most n · 2^-51 · heaviest · range. The derivative of a gain by
    /// the sum is at most four times the range, so the error of a gain is at most n · 2^-49 ·
    /// heaviest · range². Without weights that is below n · 2^-48 of the node's loss (two rows as
    /// far apart as the range have a loss of half its square): 1e-11 for a thousand rows. Where
    /// weights differ by 1e18, rows that are lighter than the grid count as rows without weight,
    /// and the gain that they could contribute is within the bound as well. Entropy adds logarithms
    /// of such ratios, up to 60 bits, and its declared noise is 1e-13 of the weight.
    pub fn blur(self, rows: &[Row]) -> f64 {
        let most = rows.len() as f64 * heaviest(rows);
        match self {
            Self::SquaredError => most * range(rows).powi(2) * 2f64.powi(-48),
            // The distance of a row is rounded with its target and with its weight: up to 2^51
            // units of the product of both grids, on which the heaviest weight and the range have
            // 2^50 units each at least. Both gains of a comparison are sums of such distances, and
            // gains that differ by 2^52 units per row are ties.
            Self::AbsoluteError | Self::Quantile { .. } => most * range(rows) * 2f64.powi(-47),
            // The derivative is the logarithm of a ratio of means, at most 50 bits.
            Self::Poisson => most * range(rows) * 2f64.powi(-44),
            Self::Gini => most * 2f64.powi(-47),
            Self::Entropy => most * 1e-12,
        }
    }

    /// Bound on what rounding a leaf's value to 53 bits adds to its impurity.
    pub fn rounding(self, rows: &[Row]) -> f64 {
        let rounding = lowest(rows).abs() * f64::EPSILON;
        if matches!(self, Self::AbsoluteError | Self::Quantile { .. }) { rounding } else { rounding.powi(2) }
    }

    /// The level of the quantile, as a fraction.
    fn level(self) -> (u32, u32) {
        match self {
            Self::Quantile { below, whole } => (below, whole),
            _ => (1, 2),
        }
    }

    /// The quantile of these rows.
    fn quantile(self, rows: &[Row]) -> f64 {
        let mut sorted = rows.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.quantile_of_sorted(&sorted)
    }

    /// The midpoint of all values that have at most the level's share of the weight strictly below
    /// and at most the rest strictly above. Shares are compared up to the rounding of the weights.
    fn quantile_of_sorted(self, sorted: &[Row]) -> f64 {
        let (below, whole) = self.level();
        let total = total_weight(sorted);
        let (share, slack) = (total * f64::from(below) / f64::from(whole), total * 1e-14);
        let first = |enough: f64| {
            let mut upto = 0.0;
            let reaches = |row: &&Row| {
                upto += row.1;
                upto >= enough
            };
            sorted.iter().find(reaches).map_or(f64::NAN, |row| row.0)
        };
        f64::midpoint(first(share - slack), first(share + slack))
    }

    fn loss_around(self, m: f64, rows: &[Row]) -> f64 {
        let (below, whole) = self.level();
        // The absolute error is the pinball loss with a cost of 1 on both sides.
        let unit = if self == Self::AbsoluteError { 1.0 } else { 1.0 / f64::from(whole) };
        let cost = |y: f64| if y > m { f64::from(below) * (y - m) } else { f64::from(whole - below) * (m - y) };
        rows.iter().map(|&(y, weight)| weight * cost(y) * unit).sum()
    }

    /// By the definition for few rows; for many, by the running median, which has tests of its own.
    fn running_losses_around_quantiles(self, rows: &[Row]) -> Vec<f64> {
        if rows.len() <= 200 {
            let mut sorted: Vec<Row> = Vec::new();
            let insert = |&row: &Row| {
                sorted.insert(sorted.partition_point(|other| other.0 <= row.0), row);
                self.loss_around(self.quantile_of_sorted(&sorted), &sorted)
            };
            return rows.iter().map(insert).collect();
        }
        let (below, whole) = self.level();
        let (y, weights): (Vec<f64>, Vec<f64>) = rows.iter().copied().unzip();
        let running = splitwood::running_median(&y, Some(&weights), f64::from(below) / f64::from(whole));
        let losses = running.expect("sound rows").losses;
        // At the level one half, the running median reports the absolute error.
        let factor = if self != Self::AbsoluteError && 2 * below == whole { 0.5 } else { 1.0 };
        losses.iter().map(|loss| loss * factor).collect()
    }

    /// Each class against the sum of the other classes, so that nothing cancels.
    fn loss_of_classes(self, weights: &[f64]) -> f64 {
        let total: f64 = weights.iter().sum();
        let loss = |class: usize| {
            let weight = weights[class];
            let others: f64 = weights.iter().enumerate().filter(|&(k, _)| k != class).map(|(_, w)| w).sum();
            match self {
                _ if weight == 0.0 => 0.0,
                Self::Entropy => weight * (others / weight).ln_1p() / std::f64::consts::LN_2,
                _ => weight * others / total,
            }
        };
        (0..weights.len()).map(loss).sum()
    }
}

/// (1 + x) · ln(1 + x) − x: the deviance of a row whose target is (1 + x) times the mean, per unit
/// of the mean.
fn deviance(x: f64) -> f64 {
    if x.abs() < 1e-4 {
        x * x * (0.5 - x / 6.0 + x * x / 12.0)
    } else if x <= -1.0 {
        1.0
    } else {
        (1.0 + x) * x.ln_1p() - x
    }
}

/// Weight of these rows.
pub fn total_weight(rows: &[Row]) -> f64 {
    rows.iter().map(|row| row.1).sum()
}

/// Weights below this may round to 0 on the grid of a node with these rows.
pub fn least_seen(rows: &[Row]) -> f64 {
    rows.len() as f64 * heaviest(rows) * 2f64.powi(-50)
}

/// Weight of the heaviest row.
fn heaviest(rows: &[Row]) -> f64 {
    rows.iter().fold(0.0, |most, row| row.1.max(most))
}

/// Difference between the highest and the lowest target.
pub fn range(rows: &[Row]) -> f64 {
    above_lowest(rows).fold(0.0, |most, row| row.0.max(most))
}

/// Lowest target.
pub fn lowest(rows: &[Row]) -> f64 {
    rows.iter().fold(f64::INFINITY, |least, row| row.0.min(least))
}

fn above_lowest(rows: &[Row]) -> impl Iterator<Item = Row> {
    let lowest = lowest(rows);
    rows.iter().map(move |&(y, weight)| (y - lowest, weight))
}

fn mean_above_lowest(rows: &[Row]) -> f64 {
    above_lowest(rows).map(|(y, weight)| y * weight).sum::<f64>() / total_weight(rows)
}

fn class_weights(rows: &[Row]) -> Vec<f64> {
    let mut weights = Vec::new();
    for &row in rows {
        add_to_class(&mut weights, row);
    }
    weights
}

fn add_to_class(weights: &mut Vec<f64>, (class, weight): Row) {
    let class = class as usize;
    weights.resize(weights.len().max(class + 1), 0.0);
    weights[class] += weight;
}

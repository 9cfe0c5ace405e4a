//! Losses from their definitions: what every optimised criterion is measured by.

/// A row as the definitions see it: its target (a class code as a number) and its weight.
pub type Row = (f64, f64);

/// What a tree is to minimise, summed over the weight of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// Squared deviations from the mean.
    SquaredError,
    /// Absolute deviations from the median.
    AbsoluteError,
    /// Pinball loss at the level `below / whole`.
    Quantile {
        /// Share of the weight that is below.
        below: u32,
        /// The whole.
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
    /// Loss of these rows: sums in one pass, deviations from them in a second one.
    pub fn loss(self, rows: &[Row]) -> f64 {
        match self {
            Self::SquaredError => {
                let (mean, weight) = (mean_above_lowest(rows), total_weight(rows));
                let deviations = || above_lowest(rows).map(|(y, weight)| (y - mean, weight));
                let squares: f64 = deviations().map(|(d, weight)| weight * d * d).sum();
                // The mean is rounded; what that adds is taken off again.
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

    /// Losses of the first row, the first two, the first three, and so on, in one pass (Welford's) for the squared error and classes.
    pub fn running_losses(self, rows: impl Iterator<Item = Row>) -> Vec<f64> {
        if matches!(self, Self::AbsoluteError | Self::Quantile { .. }) {
            return self.running_losses_around_quantiles(&rows.collect::<Vec<Row>>());
        }
        let (mut total, mut mean, mut loss, mut classes) = (0.0, 0.0, 0.0, Vec::new());
        let rows: Vec<Row> = rows.collect();
        // Means of a deviance, which has no offset to take off, are summed up above the lowest target.
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
                // What merging the rows before with this one adds; deviations from the mean add up to 0.
                let deviation = (y - before) / whole;
                let [old, new] = [-deviation * weight / total, deviation * rest / total];
                loss += whole * (rest * deviance(old) + weight * deviance(new));
            }
            if whole > 0.0 { loss } else { f64::INFINITY }
        };
        rows.into_iter().map(add).collect()
    }

    /// What a leaf with these rows predicts.
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

    /// What the grid of a node with these rows may hide of a gain, absolutely.
    ///
    /// The grid has 50 bits below the largest w·(y − lowest y), and each row is rounded to it once. So a sum is off by up
    /// to n · 2^-51 · heaviest · range, and a gain, whose derivative by the sum is at most four times the range, by n ·
    /// 2^-49 · heaviest · range². Without weights that is below n · 2^-48 of the node's loss (two rows as far apart
    /// as the range lose half its square): 1e-11 for a thousand rows. Where weights differ by 1e18, rows that are lighter
    /// than the grid can't be told from rows of no weight, and what could be gained with them is within this as well.
    /// Entropy adds logarithms of such ratios, up to 60 bits, and declares 1e-13 of the weight its noise.
    pub fn blur(self, rows: &[Row]) -> f64 {
        let most = rows.len() as f64 * heaviest(rows);
        match self {
            Self::SquaredError => most * range(rows).powi(2) * 2f64.powi(-48),
            // A row's distance is rounded with its target and with its weight: 2^51 units of the grids, of which the heaviest row
            // and the range have 2^50 each at least. Both gains of a comparison are sums of such, and gains that differ
            // by 2^52 units a row are ties.
            Self::AbsoluteError | Self::Quantile { .. } => most * range(rows) * 2f64.powi(-47),
            // The derivative is a logarithm of a ratio of means, up to 50 bits.
            Self::Poisson => most * range(rows) * 2f64.powi(-44),
            Self::Gini => most * 2f64.powi(-47),
            Self::Entropy => most * 1e-12,
        }
    }

    /// What the rounding of a leaf's value, a number of 53 bits, may add to its impurity.
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

    /// The midpoint of all values with at most their share of the weight strictly below and at most the rest strictly above.
    /// Shares are met up to the rounding of the weights.
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
        // The absolute error is both costs of the median together.
        let unit = if self == Self::AbsoluteError { 1.0 } else { 1.0 / f64::from(whole) };
        let cost = |y: f64| if y > m { f64::from(below) * (y - m) } else { f64::from(whole - below) * (m - y) };
        rows.iter().map(|&(y, weight)| weight * cost(y) * unit).sum()
    }

    /// By the definition for some rows, by the running median, which has tests of its own, for many.
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

    /// Each class against the sum of the others, so that nothing cancels.
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

/// (1 + x) · ln(1 + x) − x: a row's part of the deviance whose target exceeds the mean by this share.
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

/// Weights below this may be nothing to the grid of a node with these rows.
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

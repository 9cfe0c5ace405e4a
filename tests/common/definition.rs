//! Losses from their definitions: what every optimised criterion is measured by.

/// A row as the definitions see it: its target (a class code as a number) and its weight.
pub type Row = (f64, f64);

/// What a tree is to minimise, summed over the weight of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// Squared deviations from the mean.
    SquaredError,
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
            Self::Poisson => {
                let (above, weight) = (mean_above_lowest(rows), total_weight(rows));
                let mean = lowest(rows) + above;
                let deviances = above_lowest(rows).map(|(y, weight)| weight * deviance((y - above) / mean));
                if mean * weight > 0.0 { mean * deviances.sum::<f64>() } else { f64::INFINITY }
            }
            _ => self.loss_of_classes(&class_weights(rows)),
        }
    }

    /// Losses of the first row, the first two, the first three, and so on, in one pass (Welford's).
    pub fn running_losses(self, rows: impl Iterator<Item = Row>) -> Vec<f64> {
        let (mut total, mut mean, mut loss, mut classes) = (0.0, 0.0, 0.0, Vec::new());
        // Means of a deviance are above the first target.
        let mut first = None;
        rows.map(|(y, weight)| {
            if matches!(self, Self::Gini | Self::Entropy) {
                add_to_class(&mut classes, (y, weight));
                return self.loss_of_classes(&classes);
            }
            let base = if self == Self::Poisson { *first.get_or_insert(y) } else { 0.0 };
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
        })
        .collect()
    }

    /// What a leaf with these rows predicts.
    pub fn value(self, rows: &[Row], n_classes: usize) -> Vec<f64> {
        if matches!(self, Self::SquaredError | Self::Poisson) {
            return vec![lowest(rows) + mean_above_lowest(rows)];
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
            // The derivative is a logarithm of a ratio of means, up to 50 bits.
            Self::Poisson => most * range(rows) * 2f64.powi(-44),
            Self::Gini => most * 2f64.powi(-47),
            Self::Entropy => most * 1e-12,
        }
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

//! Losses from their definitions: what every optimised criterion is measured by.

/// A row as the definitions see it: its target (a class code as a number) and its weight.
pub type Row = (f64, f64);

/// What a tree is to minimise, summed over the weight of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// Squared deviations from the mean.
    SquaredError,
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
            _ => self.loss_of_classes(&class_weights(rows)),
        }
    }

    /// Losses of the first row, the first two, the first three, and so on, in one pass (Welford's).
    pub fn running_losses(self, rows: impl Iterator<Item = Row>) -> Vec<f64> {
        let (mut total, mut mean, mut squares, mut classes) = (0.0, 0.0, 0.0, Vec::new());
        rows.map(|(y, weight)| {
            if self != Self::SquaredError {
                add_to_class(&mut classes, (y, weight));
                return self.loss_of_classes(&classes);
            }
            total += weight;
            let before = y - mean;
            mean += before * weight / total;
            squares += weight * before * (y - mean);
            squares
        })
        .collect()
    }

    /// What a leaf with these rows predicts.
    pub fn value(self, rows: &[Row], n_classes: usize) -> Vec<f64> {
        if self == Self::SquaredError {
            return vec![lowest(rows) + mean_above_lowest(rows)];
        }
        let mut weights = class_weights(rows);
        weights.resize(n_classes, 0.0);
        weights.iter().map(|weight| weight / total_weight(rows)).collect()
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

/// Weight of these rows.
pub fn total_weight(rows: &[Row]) -> f64 {
    rows.iter().map(|row| row.1).sum()
}

/// Weight of the heaviest row.
pub fn heaviest(rows: &[Row]) -> f64 {
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
    rows.iter().for_each(|&row| add_to_class(&mut weights, row));
    weights
}

fn add_to_class(weights: &mut Vec<f64>, (class, weight): Row) {
    let class = class as usize;
    weights.resize(weights.len().max(class + 1), 0.0);
    weights[class] += weight;
}

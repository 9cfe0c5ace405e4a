//! Checks settings, shapes, loss and target of a fit, and resolves them into a [`ValidFit`].
//!
//! This is the only place where a setting is checked (`n_jobs` alone is checked in `threads.rs`,
//! for fits and predictions). Cost: O(rows), and O(rows) per categorical feature.

use super::{ColumnOrders, ColumnStorage, Loss, MaxFeatures, Params, Size, Splitter, WholeWeights};
use crate::data::{RepeatedRows, Rows, Target, Values, check_counts};
use crate::error::{Error, Result};
use crate::median::{Level, checked_level};

/// Orders are made on demand if there are at least this many columns per drawn feature: the ratio
/// from which on it was faster in `cargo bench --bench fit -- drawn`.
const COLUMNS_PER_DRAWN: usize = 6;

/// Settings and data of a fit that passed all checks. The engine accepts nothing else.
pub(crate) struct ValidFit<'a> {
    pub rows: Rows,
    pub rules: Rules,
    /// `None`: every split is the best of all splits, and no split is forbidden.
    pub choices: Option<Choices>,
    pub storage: ColumnStorage,
    pub whole_weights: WholeWeights,
    pub max_leaves: usize,
    pub ccp_alpha: f64,
    pub objective: Objective<'a>,
}

impl ValidFit<'_> {
    /// These rows with copies instead of weights, if that is faster and the tree the same: medians
    /// are found several times as fast without weights. Copies count as rows for the smallest
    /// numbers of rows, which must therefore forbid nothing that separates rows.
    pub fn repeated(&self, rows: &Rows, weights: Option<&[f64]>) -> Option<RepeatedRows> {
        let forbids_nothing = self.rules.min_rows_leaf == 1 && self.rules.min_rows_split == 2;
        let is_faster = self.objective.ranks_targets() && self.objective.n_outputs() == 1;
        let is_wanted = self.whole_weights == WholeWeights::Auto && is_faster && forbids_nothing;
        if is_wanted { rows.repeated(weights?) } else { None }
    }
}

/// A loss with the targets that go with it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Objective<'a> {
    /// `n_outputs` numbers per row.
    Values { y: &'a [f64], n_outputs: usize, loss: ValueLoss },
    /// `n_outputs` class codes per row.
    Classes { codes: &'a [u32], n_outputs: usize, n_classes: usize, impurity: Impurity },
}

/// A loss of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ValueLoss {
    SquaredError,
    AbsoluteError,
    Quantile(Level),
    Poisson,
}

/// A loss of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Impurity {
    Gini,
    Entropy,
}

impl<'a> Objective<'a> {
    fn new(loss: Loss, target: Target<'a>) -> Result<Self> {
        let n_outputs = target.n_outputs();
        match target {
            Target::Values(y) | Target::ManyValues { values: y, .. } => {
                let loss = match loss {
                    Loss::SquaredError => ValueLoss::SquaredError,
                    Loss::AbsoluteError => ValueLoss::AbsoluteError,
                    Loss::Quantile(level) => ValueLoss::Quantile(checked_level(level)?),
                    Loss::Poisson => ValueLoss::Poisson,
                    Loss::Gini | Loss::Entropy => {
                        return Err(Error::argument("criterion", "Gini and entropy need classes, not values"));
                    }
                };
                Ok(Self::Values { y, n_outputs, loss })
            }
            Target::Classes { codes, n_classes } | Target::ManyClasses { codes, n_classes, .. } => {
                let impurity = match loss {
                    Loss::Gini => Impurity::Gini,
                    Loss::Entropy => Impurity::Entropy,
                    _ => {
                        let problem = "losses other than Gini and entropy need values, not classes";
                        return Err(Error::argument("criterion", problem));
                    }
                };
                Ok(Self::Classes { codes, n_outputs, n_classes, impurity })
            }
        }
    }

    pub fn n_outputs(&self) -> usize {
        match *self {
            Self::Values { n_outputs, .. } | Self::Classes { n_outputs, .. } => n_outputs,
        }
    }

    /// Whether the order of the targets counts.
    pub fn ranks_targets(&self) -> bool {
        matches!(self, Self::Values { loss: ValueLoss::AbsoluteError | ValueLoss::Quantile(_), .. })
    }

    /// The Poisson deviance needs targets that are not negative, in every output.
    fn check_counts(&self, weights: Option<&[f64]>) -> Result<()> {
        let &Self::Values { y, n_outputs, loss: ValueLoss::Poisson } = self else { return Ok(()) };
        for output in 0..n_outputs {
            let y: Vec<f64> = y.iter().skip(output).step_by(n_outputs).copied().collect();
            check_counts(&y, weights)?;
        }
        Ok(())
    }
}

impl Choices {
    /// Refuses constraints that this loss has no rule for.
    fn check_objective(&self, objective: &Objective<'_>) -> Result<()> {
        let many_classes = matches!(objective, Objective::Classes { n_classes, .. } if *n_classes > 2);
        let many_outputs = objective.n_outputs() > 1;
        if self.monotonic.is_some() && (many_classes || many_outputs) {
            let what = if many_classes { "multiclass classification" } else { "multiple output trees" };
            let problem = format!("Monotonicity constraints are not supported with {what}");
            return Err(Error::argument("monotonic_cst", problem));
        }
        Ok(())
    }

    /// Cells of a categorical feature must be codes below its number of categories, or missing.
    fn check_codes(&self, x: &dyn Values) -> Result<()> {
        let counts = self.categories.iter().flatten().enumerate().filter(|&(_, &count)| count > 0);
        for (feature, &count) in counts {
            let is_code = |code: f64| code.is_nan() || (0.0..f64::from(count)).contains(&code) && code.fract() == 0.0;
            if let Some(row) = (0..x.n_rows()).find(|&row| !is_code(x.value(row, feature))) {
                let problem =
                    format!("feature {feature} has {} in row {row}, not a code below {count}", x.value(row, feature));
                return Err(Error::argument("categorical_features", problem));
            }
        }
        Ok(())
    }
}

/// The stopping rules of a fit, resolved to rows and weights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub max_depth: u32,
    pub min_rows_split: usize,
    pub min_rows_leaf: usize,
    pub min_weight_leaf: f64,
    /// Smallest gain in units of the loss, summed over rows (not averaged).
    pub min_gain: f64,
}

/// Which features and thresholds are evaluated at a split, and which splits are allowed.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    /// Number of features that are evaluated for each split.
    pub n_features: usize,
    /// Whether small nodes order their rows by a feature when it is drawn; see `columns/ranks.rs`.
    /// It changes no tree.
    pub orders_on_demand: bool,
    pub splitter: Splitter,
    pub seed: u64,
    /// By feature: 1, −1 or 0, as in [`Params::monotonic_cst`].
    pub monotonic: Option<Vec<i8>>,
    /// By feature: its number of categories, 0 for numeric features.
    pub categories: Option<Vec<u32>>,
    /// As in [`Params::category_smoothing`].
    pub category_smoothing: f64,
}

impl Choices {
    /// Whether thresholds are drawn, so that no column needs an order.
    pub fn are_random_splits(&self) -> bool {
        self.splitter == Splitter::Random
    }

    /// Whether presorted columns of numbers are all that these choices need.
    pub fn are_of_sorted_columns(&self) -> bool {
        self.splitter == Splitter::Best && self.categories.is_none()
    }

    /// Whether no feature has a monotonic constraint.
    pub fn are_free_of_signs(&self) -> bool {
        self.monotonic.is_none()
    }

    /// How predictions must change with a feature: 1 never down, −1 never up, 0 freely.
    pub fn sign(&self, feature: usize) -> i8 {
        self.monotonic.as_ref().map_or(0, |signs| signs[feature])
    }
}

impl Rules {
    /// The largest number of nodes of a subtree whose root has this many rows and this depth.
    pub fn max_nodes(&self, n_rows: usize, depth: u32) -> usize {
        let by_rows = 2 * (n_rows / self.min_rows_leaf).max(1) - 1;
        let levels = self.max_depth.saturating_sub(depth).min(usize::BITS - 2) + 1;
        by_rows.min((1 << levels) - 1)
    }

    /// Whether a node with this many rows and this weight is a leaf at this depth for any targets.
    pub fn is_leaf(&self, rows: usize, weight: f64, depth: u32) -> bool {
        depth >= self.max_depth || rows < self.min_rows_split || weight < 2.0 * self.min_weight_leaf
    }

    /// Whether the number of rows on either side is the only rule for cuts: neither weights nor
    /// gains can forbid one.
    pub fn limit_rows_only(&self) -> bool {
        self.min_weight_leaf == 0.0 && self.min_gain == 0.0
    }
}

impl Params {
    /// Checks all arguments of a fit, and resolves shares to numbers of rows, weights and features.
    pub(crate) fn check<'a>(
        &self,
        x: &dyn Values,
        target: Target<'a>,
        weights: Option<&[f64]>,
        loss: Loss,
    ) -> Result<ValidFit<'a>> {
        target.check(x.n_rows())?;
        let rows = Rows::new(x.n_rows(), weights)?;
        let rules = self.rules(x.n_rows(), rows.total_weight, weights.is_some())?;
        let choices = self.choices(x.n_columns())?;
        let max_leaves = self.max_leaves()?;
        let objective = Objective::new(loss, target)?;
        objective.check_counts(weights)?;
        if let Some(choices) = &choices {
            choices.check_objective(&objective)?;
            choices.check_codes(x)?;
        }
        let &Self { column_storage: storage, whole_weights, ccp_alpha, .. } = self;
        Ok(ValidFit { rows, rules, choices, storage, whole_weights, max_leaves, ccp_alpha, objective })
    }

    /// The fit of one tree of a forest, whose arguments passed [`Self::check`]. The tree sees some
    /// of `n_rows` rows, with their targets, in a fit with these settings.
    pub(crate) fn of_tree<'a>(
        &self,
        rows: Rows,
        n_rows: usize,
        n_features: usize,
        objective: Objective<'a>,
        is_weighted: bool,
    ) -> Result<ValidFit<'a>> {
        let rules = self.rules(n_rows, rows.total_weight, is_weighted)?;
        let (choices, max_leaves) = (self.choices(n_features)?, self.max_leaves()?);
        let &Self { column_storage: storage, whole_weights, ccp_alpha, .. } = self;
        Ok(ValidFit { rows, rules, choices, storage, whole_weights, max_leaves, ccp_alpha, objective })
    }

    /// Checks the stopping rules for a data set of `n_rows` rows.
    fn rules(&self, n_rows: usize, total_weight: f64, is_weighted: bool) -> Result<Rules> {
        let max_depth = match self.max_depth {
            None => u32::MAX,
            Some(depth) if depth >= 1 => u32::try_from(depth).unwrap_or(u32::MAX),
            Some(depth) => {
                return Err(Error::argument("max_depth", format!("must be at least 1 or None, got {depth}")));
            }
        };
        let min_rows_leaf = self.min_samples_leaf.resolve("min_samples_leaf", 1, n_rows, |f| f < 1.0)?;
        let min_rows_split = self.min_samples_split.resolve("min_samples_split", 2, n_rows, |f| f <= 1.0)?;
        let share = self.min_weight_fraction_leaf;
        if !(0.0..=0.5).contains(&share) {
            return Err(Error::argument("min_weight_fraction_leaf", format!("must be between 0 and 0.5, got {share}")));
        }
        let decrease = self.min_impurity_decrease;
        if decrease.is_nan() || decrease < 0.0 {
            return Err(Error::argument("min_impurity_decrease", format!("must be at least 0, got {decrease}")));
        }
        check_ccp_alpha(self.ccp_alpha)?;
        Ok(Rules {
            max_depth,
            min_rows_split: min_rows_split.max(min_rows_leaf.saturating_mul(2)),
            min_rows_leaf,
            // Relative slack for sums of weights: a child whose weight equals the minimum up to
            // rounding is heavy enough.
            min_weight_leaf: share * total_weight * if is_weighted { 1.0 - 1e-12 } else { 1.0 },
            // Relative slack: a gain that equals the minimum up to rounding is enough.
            min_gain: decrease * total_weight * (1.0 - 1e-12),
        })
    }

    /// Checks the choices for a data set of `n_features` features. `None`: every split is the best
    /// of all splits, and no split is forbidden.
    fn choices(&self, n_features: usize) -> Result<Option<Choices>> {
        let drawn = self.max_features.resolve(n_features)?;
        check_monotonic(self.monotonic_cst.as_deref(), n_features)?;
        check_categories(self.categories.as_deref(), self.monotonic_cst.as_deref(), n_features)?;
        if self.splitter == Splitter::Random && self.categories.iter().flatten().any(|&count| count > 0) {
            return Err(Error::argument("categorical_features", "no threshold can be drawn; use splitter=\"best\""));
        }
        let smoothing = self.category_smoothing;
        if !(smoothing >= 0.0 && smoothing.is_finite()) {
            let problem = format!("must be at least 0 and finite, got {smoothing}");
            return Err(Error::argument("categorical_smoothing", problem));
        }
        let chooses = drawn < n_features || self.splitter == Splitter::Random;
        let constrains = self.monotonic_cst.is_some() || self.categories.is_some();
        let orders_on_demand = match self.column_orders {
            ColumnOrders::Auto => drawn * COLUMNS_PER_DRAWN <= n_features,
            ColumnOrders::Carried => false,
            ColumnOrders::OnDemand => true,
        };
        let choices = || Choices { n_features: drawn, orders_on_demand, ..self.all_choices(n_features) };
        Ok((chooses || constrains).then(choices))
    }

    /// The choices if all features are evaluated.
    pub(crate) fn all_choices(&self, n_features: usize) -> Choices {
        Choices {
            n_features,
            orders_on_demand: false,
            splitter: self.splitter,
            seed: self.seed,
            monotonic: self.monotonic_cst.clone(),
            categories: self.categories.clone(),
            category_smoothing: self.category_smoothing,
        }
    }

    /// The largest number of leaves; `usize::MAX` if there is no limit.
    pub(crate) fn max_leaves(&self) -> Result<usize> {
        match self.max_leaf_nodes {
            None => Ok(usize::MAX),
            Some(leaves) if leaves >= 2 => Ok(usize::try_from(leaves).unwrap_or(usize::MAX)),
            Some(leaves) => Err(Error::argument("max_leaf_nodes", format!("must be at least 2 or None, got {leaves}"))),
        }
    }
}

impl MaxFeatures {
    /// The number of features, at least one and at most all.
    fn resolve(self, n_features: usize) -> Result<usize> {
        let n = n_features as f64;
        let drawn = match self {
            Self::All => n_features,
            Self::Count(count) if count >= 1 => usize::try_from(count).unwrap_or(usize::MAX),
            Self::Count(count) => {
                return Err(Error::argument("max_features", format!("as an int must be at least 1, got {count}")));
            }
            Self::Fraction(share) if share > 0.0 && share <= 1.0 => (share * n) as usize,
            Self::Fraction(share) => {
                let problem = format!("as a float must be above 0 and at most 1, got {share:?}");
                return Err(Error::argument("max_features", problem));
            }
            Self::Sqrt => n_features.isqrt(),
            Self::Log2 => n_features.max(1).ilog2() as usize,
        };
        Ok(drawn.clamp(1, n_features.max(1)))
    }
}

fn check_monotonic(monotonic: Option<&[i8]>, n_features: usize) -> Result<()> {
    let Some(signs) = monotonic else { return Ok(()) };
    let refuse = |problem: String| Err(Error::argument("monotonic_cst", problem));
    if signs.len() != n_features {
        return refuse(format!("has {} entries, but X has {n_features} features", signs.len()));
    }
    match signs.iter().find(|sign| !(-1..=1).contains(*sign)) {
        Some(sign) => refuse(format!("must be -1, 0 or 1 for each feature, got {sign}")),
        None => Ok(()),
    }
}

fn check_categories(categories: Option<&[u32]>, monotonic: Option<&[i8]>, n_features: usize) -> Result<()> {
    let Some(categories) = categories else { return Ok(()) };
    let refuse = |problem: String| Err(Error::argument("categorical_features", problem));
    if categories.len() != n_features {
        return refuse(format!("has {} entries, but X has {n_features} features", categories.len()));
    }
    let both = |feature: &usize| categories[*feature] > 0 && monotonic.is_some_and(|signs| signs[*feature] != 0);
    match (0..n_features).find(both) {
        Some(feature) => refuse(format!("feature {feature} has categories, which have no order to be monotonic in")),
        None => Ok(()),
    }
}

/// The cost per leaf must be at least 0; infinity is allowed.
pub(crate) fn check_ccp_alpha(ccp_alpha: f64) -> Result<()> {
    if ccp_alpha.is_nan() || ccp_alpha < 0.0 {
        return Err(Error::argument("ccp_alpha", format!("must be at least 0, got {ccp_alpha}")));
    }
    Ok(())
}

impl Size {
    /// The number of rows, at least `least`; `is_allowed` is for fractions above 0.
    fn resolve(self, name: &'static str, least: usize, n_rows: usize, is_allowed: fn(f64) -> bool) -> Result<usize> {
        // scikit-learn's words, which its tests compare.
        let refuse = |given: String| {
            let end = if is_allowed(1.0) { ']' } else { ')' };
            let ranges = format!("an int in the range [{least}, inf) or a float in the range (0.0, 1.0{end}");
            Err(Error::argument(name, format!("the parameter '{name}' of a fit must be {ranges}, got {given}")))
        };
        match self {
            Self::Rows(rows) if rows >= least as i64 => Ok(usize::try_from(rows).unwrap_or(usize::MAX)),
            Self::Rows(rows) => refuse(rows.to_string()),
            Self::Fraction(share) if share > 0.0 && is_allowed(share) => {
                Ok(((share * n_rows as f64).ceil() as usize).max(least))
            }
            Self::Fraction(share) => refuse(format!("{share:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_round_up_and_leaves_bound_splits() {
        let params = Params { min_samples_leaf: Size::Fraction(0.101), ..Params::default() };
        let rules = params.rules(100, 100.0, false).unwrap();
        assert_eq!((rules.min_rows_leaf, rules.min_rows_split), (11, 22));
    }

    #[test]
    fn a_huge_depth_is_clamped() {
        let params = Params { max_depth: Some(1 << 40), ..Params::default() };
        assert_eq!(params.rules(10, 10.0, false).unwrap().max_depth, u32::MAX);
    }

    #[test]
    fn each_bad_setting_is_refused_by_name() {
        let ok = Params::default();
        let cases = [
            ("max_depth", Params { max_depth: Some(0), ..ok.clone() }),
            ("min_samples_leaf", Params { min_samples_leaf: Size::Rows(0), ..ok.clone() }),
            ("min_samples_leaf", Params { min_samples_leaf: Size::Fraction(1.0), ..ok.clone() }),
            ("min_samples_split", Params { min_samples_split: Size::Rows(1), ..ok.clone() }),
            ("min_samples_split", Params { min_samples_split: Size::Fraction(f64::NAN), ..ok.clone() }),
            ("min_weight_fraction_leaf", Params { min_weight_fraction_leaf: 0.6, ..ok.clone() }),
            ("min_impurity_decrease", Params { min_impurity_decrease: f64::NAN, ..ok.clone() }),
            ("ccp_alpha", Params { ccp_alpha: -0.1, ..ok.clone() }),
            ("ccp_alpha", Params { ccp_alpha: f64::NAN, ..ok }),
        ];
        for (argument, params) in cases {
            match params.rules(10, 10.0, false) {
                Err(Error::Argument { name, .. }) => assert_eq!(name, argument),
                other => panic!("{argument}: {other:?}"),
            }
        }
    }
}

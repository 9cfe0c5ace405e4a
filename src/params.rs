//! Raw settings in, valid rules out: the only place where a setting is judged.

use crate::error::{Error, Result};

/// What a split is to minimise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Sum of squared deviations from the mean.
    SquaredError,
    /// Sum of absolute deviations from the median.
    AbsoluteError,
    /// Pinball loss around the quantile of this level, strictly between 0 and 1.
    Quantile(f64),
    /// Half the Poisson deviance from the mean, for targets that are not negative.
    Poisson,
    /// Gini impurity of the class distribution.
    Gini,
    /// Entropy of the class distribution.
    Entropy,
}

/// How the medians and quantiles of both sides are found for every cut. The trees are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MedianMethod {
    /// One pass over a bitmap of ranks.
    #[default]
    RankBitmap,
    /// Two heaps, once from either end: the textbook's way, several times slower.
    TwoHeaps,
}

/// How a feature's threshold is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Splitter {
    /// The best of all.
    #[default]
    Best,
    /// One at random between the least and the greatest value of the node.
    Random,
}

/// How many features are looked at for each split, drawn anew for each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MaxFeatures {
    /// All of them.
    #[default]
    All,
    /// So many, or all if there are fewer.
    Count(i64),
    /// This share, rounded down, at least one.
    Fraction(f64),
    /// The square root, rounded down.
    Sqrt,
    /// The logarithm to the base 2, rounded down, at least one.
    Log2,
}

/// A number of rows, given as such or as a fraction of all rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// So many rows.
    Rows(i64),
    /// This share of the rows of the whole data set, rounded up.
    Fraction(f64),
}

/// Settings of a fit as the user gives them, with scikit-learn's names, defaults and meaning.
///
/// ```
/// use splitwood::{Params, Size};
///
/// let params = Params { max_depth: Some(6), min_samples_leaf: Size::Rows(5), ..Params::default() };
/// assert_eq!(params.min_samples_split, Size::Rows(2));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Deepest level of a leaf; the root is at depth 0. `None`: no limit.
    pub max_depth: Option<i64>,
    /// Smallest node that may be split.
    pub min_samples_split: Size,
    /// Smallest number of rows on either side of a split.
    pub min_samples_leaf: Size,
    /// Smallest share of the total weight on either side of a split.
    pub min_weight_fraction_leaf: f64,
    /// Smallest decrease of the weighted impurity that justifies a split.
    pub min_impurity_decrease: f64,
    /// Most leaves of the tree: those splits are made that gain most. `None`: no limit.
    pub max_leaf_nodes: Option<i64>,
    /// How many features are looked at for each split. If the drawn ones are all constant, more are drawn until one is not.
    pub max_features: MaxFeatures,
    /// How thresholds are chosen.
    pub splitter: Splitter,
    /// What random choices follow from. They are the same for every number of threads.
    pub seed: u64,
    /// For each feature, how predictions must change with it: 1 never down, −1 never up, 0 freely. `None`: all freely.
    pub monotonic_cst: Option<Vec<i8>>,
    /// For each feature its number of categories, or 0 if it is a number. Cells of a feature with categories are their codes 0, 1, …
    /// `None`: all are numbers.
    pub categories: Option<Vec<u32>>,
    /// What a leaf costs: the grown tree is pruned to the one of least loss and cost. 0: it is not pruned.
    pub ccp_alpha: f64,
    /// How medians and quantiles are found.
    pub median_method: MedianMethod,
    /// Number of threads. `None` and −1: all CPUs this process may use; −2: all but one, and so on.
    pub n_jobs: Option<i64>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            max_depth: None,
            min_samples_split: Size::Rows(2),
            min_samples_leaf: Size::Rows(1),
            min_weight_fraction_leaf: 0.0,
            min_impurity_decrease: 0.0,
            max_leaf_nodes: None,
            max_features: MaxFeatures::All,
            splitter: Splitter::Best,
            seed: 0,
            monotonic_cst: None,
            categories: None,
            ccp_alpha: 0.0,
            median_method: MedianMethod::RankBitmap,
            n_jobs: None,
        }
    }
}

/// The stopping rules of one fit: checked, and resolved to rows and weights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub max_depth: u32,
    pub min_rows_split: usize,
    pub min_rows_leaf: usize,
    pub min_weight_leaf: f64,
    /// Smallest gain in units of the loss, summed over rows (not averaged).
    pub min_gain: f64,
}

/// What is chosen at a split, and what not every split may do: checked, for a data set of so many features.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    /// Features that are looked at for each split.
    pub n_features: usize,
    pub splitter: Splitter,
    pub seed: u64,
    pub monotonic: Option<Vec<i8>>,
    /// For each feature its number of categories, 0 for numbers.
    pub categories: Option<Vec<u32>>,
}

impl Rules {
    /// The most nodes that a tree of so many rows can have, below a root at this depth.
    pub fn max_nodes(&self, n_rows: usize, depth: u32) -> usize {
        let by_rows = 2 * (n_rows / self.min_rows_leaf).max(1) - 1;
        let levels = self.max_depth.saturating_sub(depth).min(usize::BITS - 2) + 1;
        by_rows.min((1 << levels) - 1)
    }

    /// True if a cut needs no more than enough rows on both sides: neither weight nor gain can forbid it.
    pub fn count_rows_alone(&self) -> bool {
        self.min_weight_leaf == 0.0 && self.min_gain == 0.0
    }
}

impl Params {
    /// Checks the settings and resolves fractions for a data set of `n_rows` rows.
    pub(crate) fn rules(&self, n_rows: usize, total_weight: f64, is_weighted: bool) -> Result<Rules> {
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
            // Sums of weights round: a child that is as heavy as it must be up to rounding is heavy enough.
            min_weight_leaf: share * total_weight * if is_weighted { 1.0 - 1e-12 } else { 1.0 },
            // Relative slack: a gain that equals the minimum up to rounding passes.
            min_gain: decrease * total_weight * (1.0 - 1e-12),
        })
    }
}

impl Params {
    /// Checks the choices for a data set of `n_features` features. `None`: every split is the best of all, and any is allowed.
    pub(crate) fn choices(&self, n_features: usize) -> Result<Option<Choices>> {
        let drawn = self.max_features.resolve(n_features)?;
        check_monotonic(self.monotonic_cst.as_deref(), n_features)?;
        check_categories(self.categories.as_deref(), self.monotonic_cst.as_deref(), n_features)?;
        if self.splitter == Splitter::Random && self.categories.iter().flatten().any(|&count| count > 0) {
            return Err(Error::argument("categorical_features", "no threshold can be drawn; use splitter=\"best\""));
        }
        let chooses = drawn < n_features || self.splitter == Splitter::Random;
        let constrains = self.monotonic_cst.is_some() || self.categories.is_some();
        let choices = || Choices { n_features: drawn, ..self.all_choices(n_features) };
        Ok((chooses || constrains).then(choices))
    }

    /// The choices among all features.
    pub(crate) fn all_choices(&self, n_features: usize) -> Choices {
        Choices {
            n_features,
            splitter: self.splitter,
            seed: self.seed,
            monotonic: self.monotonic_cst.clone(),
            categories: self.categories.clone(),
        }
    }

    /// Checks the number of leaves; `usize::MAX` if there is no limit.
    pub(crate) fn max_leaves(&self) -> Result<usize> {
        match self.max_leaf_nodes {
            None => Ok(usize::MAX),
            Some(leaves) if leaves >= 2 => Ok(usize::try_from(leaves).unwrap_or(usize::MAX)),
            Some(leaves) => Err(Error::argument("max_leaf_nodes", format!("must be at least 2 or None, got {leaves}"))),
        }
    }
}

impl MaxFeatures {
    /// Number of features, at least one and at most all.
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

/// A leaf's price: 0 or more, also infinite.
pub(crate) fn check_ccp_alpha(ccp_alpha: f64) -> Result<()> {
    if ccp_alpha.is_nan() || ccp_alpha < 0.0 {
        return Err(Error::argument("ccp_alpha", format!("must be at least 0, got {ccp_alpha}")));
    }
    Ok(())
}

impl Size {
    /// Number of rows, at least `least`; `fits` says which fractions above 0 are allowed.
    fn resolve(self, name: &'static str, least: usize, n_rows: usize, fits: fn(f64) -> bool) -> Result<usize> {
        match self {
            Self::Rows(rows) if rows >= least as i64 => Ok(usize::try_from(rows).unwrap_or(usize::MAX)),
            Self::Rows(rows) => Err(Error::argument(name, format!("as an int must be at least {least}, got {rows}"))),
            Self::Fraction(share) if share > 0.0 && fits(share) => {
                Ok(((share * n_rows as f64).ceil() as usize).max(least))
            }
            Self::Fraction(share) => {
                let end = if fits(1.0) { "1 included" } else { "1 excluded" };
                Err(Error::argument(name, format!("as a float must be between 0 and 1 ({end}), got {share:?}")))
            }
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

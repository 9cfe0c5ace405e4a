//! Settings as the user gives them. `valid.rs` checks them against the data and resolves them for
//! the engine.

mod picked;
mod valid;

pub(crate) use self::picked::PickedTargets;
pub(crate) use self::valid::{Choices, Impurity, Objective, Rules, ValidFit, ValueLoss, check_ccp_alpha};

/// The loss that splits minimise.
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

/// How the medians and quantiles of both sides of every cut are computed. All methods give the same
/// tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MedianMethod {
    /// One pass over a bitmap of ranks.
    #[default]
    RankBitmap,
    /// Two heaps, once from either end: the textbook method, several times slower.
    TwoHeaps,
}

/// How small nodes get their rows in the order of a feature if `max_features` draws some of the
/// features. All ways give the same tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnOrders {
    /// The faster way for the number of columns and of drawn features.
    #[default]
    Auto,
    /// Each split partitions the orders of all features.
    Carried,
    /// A feature's order is made where the feature is drawn.
    OnDemand,
}

/// How weights that are small whole numbers, such as the counts of a bootstrap, enter into absolute
/// error and quantiles. All ways give the same tree, up to rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WholeWeights {
    /// As copies of rows where that is faster.
    #[default]
    Auto,
    /// As weights.
    Weights,
}

/// How features with few distinct values are stored. All ways give the same tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnStorage {
    /// As codes where large nodes gain by it.
    #[default]
    Auto,
    /// All features are sorted.
    Sorted,
    /// As codes wherever the loss and the targets allow it.
    Coded,
}

/// How a feature's threshold is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Splitter {
    /// The best of all thresholds.
    #[default]
    Best,
    /// A random threshold between the node's least and greatest value.
    Random,
}

/// How many features are evaluated for each split. They are drawn again for each split.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MaxFeatures {
    /// All of them.
    #[default]
    All,
    /// This number, or all if there are fewer.
    Count(i64),
    /// This share of the features, rounded down, at least one.
    Fraction(f64),
    /// The square root, rounded down.
    Sqrt,
    /// The logarithm to the base 2, rounded down, at least one.
    Log2,
}

/// A number of rows, absolute or as a fraction of all rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// This number of rows.
    Rows(i64),
    /// This share of the rows of the whole data set, rounded up.
    Fraction(f64),
}

/// Settings of a fit as the user gives them, with scikit-learn's names, defaults and meaning.
///
/// ```
/// use splitwood::{Params, Size};
///
/// let leaf = Size::Rows(5);
/// let params = Params { max_depth: Some(6), min_samples_leaf: leaf, ..Params::default() };
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
    /// Largest number of leaves: the splits with the highest gains are made first. `None`: no
    /// limit.
    pub max_leaf_nodes: Option<i64>,
    /// How many features are evaluated for each split. If the drawn features are all constant, more
    /// are drawn until one is not.
    pub max_features: MaxFeatures,
    /// How thresholds are chosen.
    pub splitter: Splitter,
    /// Seed of the random choices. They are the same for every number of threads.
    pub seed: u64,
    /// For each feature: 1 if predictions must not decrease with it, −1 if they must not increase,
    /// 0 if it is not constrained. `None`: no feature is constrained.
    pub monotonic_cst: Option<Vec<i8>>,
    /// For each feature its number of categories, or 0 if it is numeric. Cells of a categorical
    /// feature are codes 0, 1, … `None`: all features are numeric.
    pub categories: Option<Vec<u32>>,
    /// How strongly categorical features are braked: the labels of a node must differ by more than
    /// this many times what noise explains. 0: not at all.
    pub category_smoothing: f64,
    /// Cost per leaf: the grown tree is pruned to the subtree with the least loss plus cost. 0: no
    /// pruning.
    pub ccp_alpha: f64,
    /// How medians and quantiles are computed.
    pub median_method: MedianMethod,
    /// How small nodes get their orders where features are drawn.
    pub column_orders: ColumnOrders,
    /// How features with few distinct values are stored.
    pub column_storage: ColumnStorage,
    /// How weights that are small whole numbers enter into medians and quantiles.
    pub whole_weights: WholeWeights,
    /// Number of threads. `None` and −1: all CPUs that this process may use; −2: all but one, and
    /// so on.
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
            category_smoothing: 3.0,
            ccp_alpha: 0.0,
            median_method: MedianMethod::RankBitmap,
            column_orders: ColumnOrders::Auto,
            column_storage: ColumnStorage::Auto,
            whole_weights: WholeWeights::Auto,
            n_jobs: None,
        }
    }
}

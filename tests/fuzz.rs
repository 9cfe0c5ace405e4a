//! Wild input: valid and invalid cells, targets, weights and settings. A fit either is refused with
//! the name of an argument, or gives a consistent tree. `FUZZ_TIMES` multiplies the number of
//! cases, and `PROPTEST_RNG_SEED` selects them.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use splitwood::{
    ColumnOrders, ColumnStorage, Error, LeafValue, Loss, Matrix, MaxFeatures, MedianMethod, Params, Size,
    SparseColumns, Splitter, Target, Tree, WholeWeights, fit, fit_sparse,
};

use crate::common::draw::Dice;
use crate::common::ways::row_by_row;

/// Ordinary numbers first, then extreme and invalid ones.
const WILD: [f64; 24] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    3.0,
    0.1,
    0.5,
    1e-9,
    1e9,
    1.0 + f64::EPSILON,
    5e-324,
    -5e-324,
    f64::MIN_POSITIVE,
    f32::MAX as f64,
    1e150,
    -1e150,
    1e200,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    1.7e9,
];
/// How many of the numbers in `WILD` are ordinary.
const TAME: usize = 11;

/// One number of `WILD`, one of its ordinary ones, or a real from −5 to 5.
fn number(dice: &mut Dice, wildness: f64) -> f64 {
    if dice.chance(wildness) {
        WILD[dice.below(WILD.len())]
    } else if dice.chance(0.5) {
        WILD[dice.below(TAME)]
    } else {
        dice.unit() * 10.0 - 5.0
    }
}

fn integer(dice: &mut Dice) -> i64 {
    [i64::MIN, -5, -1, 0, 1, 2, 3, 10, 100, 1 << 31, i64::MAX][dice.below(11)]
}

/// The usual setting three times out of four, otherwise a drawn one.
fn seldom<T>(dice: &mut Dice, usual: T, draw: impl FnOnce(&mut Dice) -> T) -> T {
    if dice.chance(0.75) { usual } else { draw(dice) }
}

fn size(dice: &mut Dice) -> Size {
    if dice.chance(0.5) { Size::Rows(integer(dice)) } else { Size::Fraction(number(dice, 0.2)) }
}

fn max_features(dice: &mut Dice) -> MaxFeatures {
    match dice.below(4) {
        0 => MaxFeatures::Count(integer(dice)),
        1 => MaxFeatures::Fraction(number(dice, 0.2)),
        2 => MaxFeatures::Sqrt,
        _ => MaxFeatures::Log2,
    }
}

/// A list with an entry per column, most of the time.
fn per_column<T>(dice: &mut Dice, n_columns: usize, mut entry: impl FnMut(&mut Dice) -> T) -> Vec<T> {
    let len = if dice.chance(0.9) { n_columns } else { dice.below(n_columns + 3) };
    (0..len).map(|_| entry(dice)).collect()
}

fn params(dice: &mut Dice, n_columns: usize) -> Params {
    let usual = Params::default();
    Params {
        max_depth: seldom(dice, None, |dice| Some(integer(dice))),
        min_samples_split: seldom(dice, usual.min_samples_split, size),
        min_samples_leaf: seldom(dice, usual.min_samples_leaf, size),
        min_weight_fraction_leaf: seldom(dice, 0.0, |dice| number(dice, 0.2)),
        min_impurity_decrease: seldom(dice, 0.0, |dice| number(dice, 0.2)),
        max_leaf_nodes: seldom(dice, None, |dice| Some(integer(dice))),
        max_features: seldom(dice, MaxFeatures::All, max_features),
        splitter: seldom(dice, Splitter::Best, |_| Splitter::Random),
        seed: dice.below(1 << 20) as u64,
        monotonic_cst: seldom(dice, None, |dice| Some(per_column(dice, n_columns, |dice| dice.below(4) as i8 - 1))),
        categories: seldom(dice, None, |dice| Some(per_column(dice, n_columns, |dice| dice.below(6) as u32))),
        category_smoothing: seldom(dice, usual.category_smoothing, |dice| number(dice, 5.0)),
        ccp_alpha: seldom(dice, 0.0, |dice| number(dice, 0.2)),
        median_method: seldom(dice, MedianMethod::RankBitmap, |_| MedianMethod::TwoHeaps),
        column_orders: seldom(dice, ColumnOrders::Auto, |dice| {
            if dice.chance(0.5) { ColumnOrders::Carried } else { ColumnOrders::OnDemand }
        }),
        column_storage: seldom(dice, ColumnStorage::Auto, |_| ColumnStorage::Coded),
        whole_weights: seldom(dice, WholeWeights::Auto, |_| WholeWeights::Weights),
        n_jobs: seldom(dice, Some(1), |dice| Some(integer(dice))),
    }
}

fn loss(dice: &mut Dice) -> Loss {
    match dice.below(6) {
        0 => Loss::SquaredError,
        1 => Loss::AbsoluteError,
        2 => Loss::Quantile(if dice.chance(0.7) { 0.1 + 0.8 * dice.unit() } else { number(dice, 0.5) }),
        3 => Loss::Poisson,
        4 => Loss::Gini,
        _ => Loss::Entropy,
    }
}

/// A problem of random shape, whose cells are never, rarely or often wild.
struct Problem {
    n_rows: usize,
    n_columns: usize,
    cells: Vec<f64>,
    values: Vec<f64>,
    codes: Vec<u32>,
    n_outputs: usize,
    n_classes: usize,
    weights: Option<Vec<f64>>,
    loss: Loss,
    params: Params,
}

impl Problem {
    fn new(seed: u64, max_rows: usize) -> Self {
        let dice = &mut Dice::new(seed);
        let (n_rows, n_columns) = (1 + dice.below(max_rows), 1 + dice.below(5));
        let wildness = [0.0, 0.0, 0.02, 0.3][dice.below(4)];
        // Small integers are also valid codes of categories.
        let whole = dice.chance(0.3);
        let cell = |dice: &mut Dice| if whole { dice.below(5) as f64 } else { number(dice, wildness) };
        let cells = (0..n_rows * n_columns).map(|_| cell(dice)).collect();
        let params = params(dice, n_columns);
        let loss = loss(dice);
        let n_outputs = if dice.chance(0.7) { 1 } else { dice.below(4) };
        // Sometimes one too many or too few.
        let n_entries = if dice.chance(0.97) { n_rows * n_outputs } else { dice.below(n_rows + 3) };
        let n_classes = if dice.chance(0.95) { 1 + dice.below(4) } else { [0, 1 << 12, usize::MAX][dice.below(3)] };
        let wild_y = if dice.chance(0.8) { 0.0 } else { 0.05 };
        let value = |dice: &mut Dice| {
            let value = number(dice, wild_y);
            if loss == Loss::Poisson { value.abs() } else { value }
        };
        let values = (0..n_entries).map(|_| value(dice)).collect();
        let codes = (0..n_entries).map(|_| dice.below(n_classes.clamp(1, 4)) as u32).collect();
        let wild_weight = if dice.chance(0.8) { 0.0 } else { 0.05 };
        let weights = seldom(dice, None, |dice| {
            Some(
                (0..n_rows)
                    .map(|_| number(dice, wild_weight))
                    .map(|w| if wild_weight > 0.0 { w } else { w.abs() })
                    .collect(),
            )
        });
        Self { n_rows, n_columns, cells, values, codes, n_outputs, n_classes, weights, loss, params }
    }

    fn target(&self) -> Target<'_> {
        let Self { values, codes, n_outputs, n_classes, .. } = self;
        let (n_outputs, n_classes) = (*n_outputs, *n_classes);
        match (self.loss, n_outputs) {
            (Loss::Gini | Loss::Entropy, 1) => Target::Classes { codes, n_classes },
            (Loss::Gini | Loss::Entropy, _) => Target::ManyClasses { codes, n_outputs, n_classes },
            (_, 1) => Target::Values(values),
            _ => Target::ManyValues { values, n_outputs },
        }
    }

    fn matrix(&self) -> Matrix<'_, f64> {
        Matrix::from_rows(&self.cells, self.n_rows, self.n_columns).expect("a sound matrix")
    }

    /// Whether the weight of a row is not negligible next to the heaviest weight.
    fn takes_part(&self, row: usize) -> bool {
        self.weights.as_ref().is_none_or(|weights| {
            let heaviest = weights.iter().copied().fold(0.0, f64::max);
            let unit = f64::from_bits((heaviest.to_bits() >> 52).max(1) << 52);
            weights[row] / unit >= f64::MIN_POSITIVE
        })
    }

    fn taking_part(&self) -> impl Iterator<Item = usize> {
        (0..self.n_rows).filter(|&row| self.takes_part(row))
    }
}

/// Checks that a tree is consistent: the children of a split have its rows, all numbers are valid,
/// and all ways to predict agree.
fn check(problem: &Problem, tree: &Tree) -> TestCaseResult {
    prop_assert_eq!(tree.n_rows(0), problem.taking_part().count());
    let mut n_leaves = 0;
    for id in 0..tree.node_count() {
        prop_assert!(tree.value(id).iter().all(|value| value.is_finite()), "node {id}: {:?}", tree.value(id));
        prop_assert!(tree.impurity(id) >= 0.0 && tree.impurity(id).is_finite(), "node {id}: {}", tree.impurity(id));
        prop_assert!(tree.weight(id) > 0.0);
        match tree.children(id) {
            None => n_leaves += 1,
            Some((left, right)) => prop_assert_eq!(tree.n_rows(id), tree.n_rows(left) + tree.n_rows(right)),
        }
    }
    prop_assert_eq!(tree.n_leaves(), n_leaves);
    if let Some(most) = problem.params.max_leaf_nodes {
        prop_assert!(n_leaves as i64 <= most);
    }

    let x = problem.matrix();
    let leaves = tree.apply(&x, Some(1)).expect("as many columns");
    let mut rows = vec![0; tree.node_count()];
    problem.taking_part().for_each(|row| rows[leaves[row] as usize] += 1);
    for leaf in (0..tree.node_count()).filter(|&id| tree.children(id).is_none()) {
        prop_assert_eq!(rows[leaf], tree.n_rows(leaf), "leaf {}", leaf);
    }
    let expected: Vec<f64> = leaves.iter().flat_map(|&leaf| tree.value(leaf as usize)).copied().collect();
    prop_assert_eq!(tree.predict(&x, Some(1)).expect("as many columns"), expected);
    let (starts, nodes) = tree.decision_path(&x).expect("as many columns");
    for (row, &leaf) in leaves.iter().enumerate() {
        prop_assert_eq!(nodes[starts[row + 1] as usize - 1], leaf);
    }
    if problem.params.categories.is_none() {
        prop_assert_eq!(row_by_row(tree, &x), leaves);
    }
    Ok(())
}

/// Checks that the outcome is a consistent tree, or an error that names an argument and the reason.
fn check_outcome(problem: &Problem, outcome: &Result<Tree, Error>) -> TestCaseResult {
    match outcome {
        Ok(tree) => check(problem, tree),
        Err(Error::Argument { name, problem }) => {
            prop_assert!(!name.is_empty() && !problem.is_empty());
            Ok(())
        }
        Err(other) => Err(TestCaseError::fail(format!("{other}"))),
    }
}

fn n_cases(usual: u32) -> u32 {
    let times = std::env::var("FUZZ_TIMES").ok().and_then(|times| times.parse().ok());
    usual.saturating_mul(times.unwrap_or(1))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(n_cases(1_500)))]

    #[test]
    fn fits_hold_together_or_are_refused(seed in any::<u64>(), max_rows in prop::sample::select(vec![1, 3, 20, 200])) {
        let problem = Problem::new(seed, max_rows);
        let fit_to = |x: &Matrix<'_, f64>| fit(x, problem.target(), problem.weights.as_deref(), problem.loss, &problem.params);
        let outcome = fit_to(&problem.matrix());
        check_outcome(&problem, &outcome)?;

        // The same outcome, errors included, from cells in column order.
        let by_columns: Vec<f64> = (0..problem.n_columns)
            .flat_map(|column| problem.cells.iter().skip(column).step_by(problem.n_columns).copied())
            .collect();
        let stride = problem.n_rows as isize;
        let x = Matrix::with_strides(&by_columns, 0, problem.n_rows, problem.n_columns, 1, stride).expect("a sound matrix");
        prop_assert_eq!(fit_to(&x), outcome.clone());

        // The same outcome from sparse columns, with missing and infinite cells.
        let (mut starts, mut rows, mut cells) = (vec![0], Vec::new(), Vec::new());
        for column in by_columns.chunks(problem.n_rows) {
            for (row, &cell) in (0..).zip(column).filter(|(_, cell)| **cell != 0.0) {
                rows.push(row);
                cells.push(cell);
            }
            starts.push(cells.len() as i64);
        }
        let x = SparseColumns::new(problem.n_rows, &starts, &rows, &cells).expect("sound columns");
        let sparse = fit_sparse(&x, problem.target(), problem.weights.as_deref(), problem.loss, &problem.params);
        prop_assert_eq!(sparse.is_ok(), outcome.is_ok());
        check_outcome(&problem, &sparse)?;
    }

    /// Pruning and leaf values keep a tree consistent.
    #[test]
    fn trees_stay_whole(seed in any::<u64>()) {
        let problem = Problem::new(seed, 60);
        let fitted = fit(&problem.matrix(), problem.target(), problem.weights.as_deref(), problem.loss, &problem.params);
        let Ok(tree) = fitted else { return Ok(()) };
        let mut dice = Dice::new(seed);
        let path = tree.pruning_path();
        prop_assert!(path.ccp_alphas.is_sorted() && path.ccp_alphas.len() == path.impurities.len());
        for alpha in [number(&mut dice, 0.5), path.ccp_alphas[dice.below(path.ccp_alphas.len())]] {
            check_outcome(&problem, &tree.pruned(alpha))?;
        }
        if matches!(problem.target(), Target::Values(_)) {
            let x = problem.matrix();
            for value in [LeafValue::Mean, LeafValue::Median] {
                let weights = problem.weights.as_deref();
                let other = tree.clone().with_leaf_values(&x, &problem.values, weights, None, |y, weights| {
                    Ok::<_, Error>(value.of(y, weights))
                });
                check_outcome(&problem, &other)?;
            }
        }
    }

    /// Invalid sparse arrays are refused; valid ones give a consistent tree.
    #[test]
    fn sparse_arrays_are_judged(seed in any::<u64>()) {
        let dice = &mut Dice::new(seed);
        let n_rows = dice.below(6);
        let place = |dice: &mut Dice| if dice.chance(0.9) { dice.below(7) as i64 } else { integer(dice) };
        let mut starts: Vec<i64> = (0..dice.below(5)).map(|_| place(dice)).collect();
        if dice.chance(0.8) {
            starts.insert(0, 0);
            starts.sort_unstable();
        }
        let n_entries = if dice.chance(0.8) { starts.last().copied().unwrap_or(0).clamp(0, 20) as usize } else { dice.below(8) };
        let mut rows: Vec<i32> = (0..n_entries).map(|_| place(dice) as i32).collect();
        if let (true, Some(ends)) = (dice.chance(0.8), starts.is_sorted().then(|| starts.clone())) {
            for ends in ends.windows(2) {
                let clamp = |end: i64| end.clamp(0, n_entries as i64) as usize;
                rows[clamp(ends[0])..clamp(ends[1])].sort_unstable();
            }
        }
        let cells: Vec<f64> = (0..n_entries).map(|_| number(dice, 0.3)).collect();
        if let Ok(x) = SparseColumns::new(n_rows, &starts, &rows, &cells) {
            let y: Vec<f64> = (0..n_rows).map(|_| dice.unit()).collect();
            let tree = fit_sparse(&x, Target::Values(&y), None, Loss::SquaredError, &Params::default()).expect("a sound fit");
            prop_assert_eq!(tree.n_rows(0), n_rows);
        }
        // The same arrays as rows to predict, with a tree of two features.
        let x = Matrix::from_rows(&[0.0, 1.0, 1.0, 0.0], 2, 2).expect("a sound matrix");
        let tree = fit(&x, Target::Values(&[0.0, 1.0]), None, Loss::SquaredError, &Params::default()).expect("a fit");
        if let Ok(leaves) = tree.apply_sparse(&starts, &rows, &cells) {
            prop_assert_eq!(leaves.len(), starts.len() - 1);
        }
    }
}

//! Forests against a naive forest: each tree is fitted by the function for single trees, on all
//! rows, with the counts of its bag as weights and a copy of X in its order of features.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::feature_order::shuffled_features;
use super::*;
use crate::data::{Matrix, SparseColumns, Target};
use crate::fit::fit;
use crate::naive::draw::Dice;
use crate::params::{Loss, MaxFeatures, Params, Size, Splitter};
use crate::predict::filled;
use crate::threads::tests::CPUS;

/// A table with ties, missing values, targets of every kind and weights.
#[derive(Clone, Debug)]
struct Table {
    /// Row after row.
    cells: Vec<f64>,
    n_columns: usize,
    y: Vec<f64>,
    codes: Vec<u32>,
    weights: Vec<f64>,
}

const N_CLASSES: usize = 3;

impl Table {
    fn any(n_rows: std::ops::Range<usize>) -> impl Strategy<Value = Self> {
        (n_rows, 1..5usize).prop_flat_map(|(n_rows, n_columns)| {
            let cell = prop_oneof![
                6 => (-3..4).prop_map(f64::from),
                4 => (0..1000).prop_map(|k| f64::from(k) / 7.0),
                1 => Just(f64::NAN),
            ];
            let y = prop_oneof![(0..4).prop_map(f64::from), (0..1000).prop_map(|k| f64::from(k) / 8.0)];
            (
                prop::collection::vec(cell, n_rows * n_columns),
                prop::collection::vec(y, n_rows),
                prop::collection::vec(0..N_CLASSES as u32, n_rows),
                prop::collection::vec((0..4).prop_map(|k| f64::from(k) / 2.0), n_rows),
            )
                .prop_map(move |(cells, mut y, codes, mut weights)| {
                    // Some row must have a weight and a target above 0.
                    (y[0], weights[0]) = (1.0, 1.0);
                    Self { cells, n_columns, y, codes, weights }
                })
        })
    }

    fn n_rows(&self) -> usize {
        self.y.len()
    }

    fn matrix(&self) -> Matrix<'_, f64> {
        Matrix::from_rows(&self.cells, self.n_rows(), self.n_columns).unwrap()
    }

    /// The cells with the columns in another order.
    fn reordered(&self, features: &[u32]) -> Vec<f64> {
        let row = |row: &[f64]| features.iter().map(|&feature| row[feature as usize]).collect::<Vec<_>>();
        self.cells.chunks_exact(self.n_columns).flat_map(row).collect()
    }

    fn target(&self, loss: Loss) -> Target<'_> {
        match loss {
            Loss::Gini | Loss::Entropy => Target::Classes { codes: &self.codes, n_classes: N_CLASSES },
            _ => Target::Values(&self.y),
        }
    }
}

/// All numbers of a tree to the last bit.
fn bytes(tree: &Tree) -> String {
    format!("{tree:?}")
}

/// The counts and the weights of a tree's rows, by definition.
fn naive_bag(table: &Table, params: &ForestParams<'_>, weights: Option<&[f64]>, tree: usize) -> [Option<Vec<f64>>; 2] {
    let n_rows = table.n_rows();
    let numbers = |counts: &[u32]| counts.iter().map(|&count| f64::from(count)).collect::<Vec<_>>();
    match params.bags {
        Bags::Whole => [None, weights.map(<[f64]>::to_vec)],
        Bags::Bootstrap(n_draws) => {
            let counts = numbers(&draw_bag(params.seeds[tree], n_rows, n_draws, weights));
            [Some(counts.clone()), Some(counts)]
        }
        Bags::Counts(counts) => {
            let counts = numbers(&counts[tree * n_rows..][..n_rows]);
            if counts.iter().all(|&count| count == 1.0) {
                return [None, weights.map(<[f64]>::to_vec)];
            }
            let product = weights.map(|weights| weights.iter().zip(&counts).map(|(w, c)| w * c).collect());
            [Some(counts.clone()), Some(product.unwrap_or(counts))]
        }
    }
}

/// A tree of the forest by definition.
fn naive_tree(table: &Table, loss: Loss, params: &ForestParams<'_>, weights: Option<&[f64]>, tree: usize) -> Tree {
    let [counts, weights] = naive_bag(table, params, weights, tree);
    let draws = params.tree.max_features != MaxFeatures::All || params.tree.splitter == Splitter::Random;
    let features = if counts.is_some() || draws {
        shuffled_features(params.seeds[tree], table.n_columns)
    } else {
        (0..table.n_columns as u32).collect()
    };
    let cells = table.reordered(&features);
    let x = Matrix::from_rows(&cells, table.n_rows(), table.n_columns).unwrap();
    let own = Params { seed: params.seeds[tree], n_jobs: Some(1), ..params.tree.clone() };
    fit(&x, table.target(loss), weights.as_deref(), loss, &own).unwrap().with_features(&features)
}

fn any_params() -> impl Strategy<Value = Params> {
    let max_features =
        prop_oneof![Just(MaxFeatures::All), Just(MaxFeatures::Count(1)), Just(MaxFeatures::Fraction(0.6))];
    let splitter = prop_oneof![3 => Just(Splitter::Best), 1 => Just(Splitter::Random)];
    let leaf = prop_oneof![3 => Just(Size::Rows(1)), 1 => Just(Size::Rows(3)), 1 => Just(Size::Fraction(0.1))];
    let depth = prop_oneof![3 => Just(None), 1 => (1..4i64).prop_map(Some)];
    let leaves = prop_oneof![4 => Just(None), 1 => (2..6i64).prop_map(Some)];
    (max_features, splitter, leaf, depth, leaves).prop_map(|(max_features, splitter, leaf, max_depth, leaves)| Params {
        max_features,
        splitter,
        min_samples_leaf: leaf,
        max_depth,
        max_leaf_nodes: leaves,
        ..Params::default()
    })
}

fn any_loss() -> impl Strategy<Value = Loss> {
    prop::sample::select(vec![
        Loss::SquaredError,
        Loss::AbsoluteError,
        Loss::Quantile(0.3),
        Loss::Poisson,
        Loss::Gini,
        Loss::Entropy,
    ])
}

#[derive(Clone, Copy, Debug)]
enum BagKind {
    Whole,
    Bootstrap(usize),
    Counts,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_tree_is_the_single_tree_of_its_bag(
        table in Table::any(1..60),
        loss in any_loss(),
        tree in any_params(),
        kind in prop_oneof![Just(BagKind::Whole), (1..80usize).prop_map(BagKind::Bootstrap), Just(BagKind::Counts)],
        is_weighted in any::<bool>(),
        seed in any::<u64>(),
        n_trees in 1..6usize,
    ) {
        CPUS.set(Some(5));
        let n_rows = table.n_rows();
        let mut counts: Vec<u32> = (0..n_trees as u64).flat_map(|k| draw_bag(seed ^ k, n_rows, n_rows, None)).collect();
        // The first bag has every row once; row 0, which has a weight, is in all of them.
        counts[..n_rows].fill(1);
        counts.iter_mut().step_by(n_rows).for_each(|count| *count = (*count).max(1));
        let bags = match kind {
            BagKind::Whole => Bags::Whole,
            BagKind::Bootstrap(n_draws) => Bags::Bootstrap(n_draws),
            BagKind::Counts => Bags::Counts(&counts),
        };
        let weights = is_weighted.then_some(&table.weights[..]);
        let mut params = ForestParams { tree, bags, out_of_bag: true, ..ForestParams::new(n_trees, seed) };
        let fit_with = |params: &ForestParams<'_>| fit_forest(&table.matrix(), table.target(loss), weights, loss, params);
        let fitted = fit_with(&params).unwrap();
        for (number, tree) in fitted.forest.trees().iter().enumerate() {
            prop_assert_eq!(bytes(tree), bytes(&naive_tree(&table, loss, &params, weights, number)));
        }
        for n_jobs in [1, 2, 5] {
            params.tree.n_jobs = Some(n_jobs);
            prop_assert_eq!(&fit_with(&params).unwrap(), &fitted);
        }
        check_out_of_bag(&table, &params, weights, &fitted)?;
        check_predictions(&table, &fitted.forest)?;
    }

    #[test]
    fn sparse_columns_give_the_same_forest(table in Table::any(2..40), seed in any::<u64>(), loss in any_loss()) {
        let (mut starts, mut rows, mut cells) = (vec![0], Vec::new(), Vec::new());
        for column in 0..table.n_columns {
            for row in 0..table.n_rows() {
                let cell = table.matrix().get(row, column);
                if cell != 0.0 {
                    rows.push(row as i32);
                    cells.push(cell);
                }
            }
            starts.push(cells.len() as i64);
        }
        let x = SparseColumns::new(table.n_rows(), &starts, &rows, &cells).unwrap();
        let tree = Params { max_features: MaxFeatures::Count(2), ..Params::default() };
        let bags = Bags::Bootstrap(table.n_rows());
        let params = ForestParams { tree, bags, out_of_bag: true, ..ForestParams::new(3, seed) };
        let sparse = fit_sparse_forest(&x, table.target(loss), None, loss, &params).unwrap();
        let dense = fit_forest(&table.matrix(), table.target(loss), None, loss, &params).unwrap();
        let structure = |forest: &Forest| {
            let trees = forest.trees().iter();
            trees.map(|tree| tree.nodes.clone()).collect::<Vec<_>>()
        };
        prop_assert_eq!(structure(&sparse.forest), structure(&dense.forest));
        prop_assert_eq!(sparse.out_of_bag.unwrap().n_trees, dense.out_of_bag.unwrap().n_trees);
    }
}

fn check_out_of_bag(
    table: &Table,
    params: &ForestParams<'_>,
    weights: Option<&[f64]>,
    fitted: &FittedForest,
) -> TestCaseResult {
    let n_values = fitted.forest.n_values();
    let mut expected = OutOfBag { sums: vec![0.0; table.n_rows() * n_values], n_trees: vec![0; table.n_rows()] };
    for (number, tree) in fitted.forest.trees().iter().enumerate() {
        let Some(counts) = &naive_bag(table, params, weights, number)[0] else { continue };
        let predicted = tree.predict(&table.matrix(), None).unwrap();
        for row in (0..table.n_rows()).filter(|&row| counts[row] == 0.0) {
            expected.n_trees[row] += 1;
            let places = row * n_values..(row + 1) * n_values;
            for (sum, value) in expected.sums[places.clone()].iter_mut().zip(&predicted[places]) {
                *sum += value;
            }
        }
    }
    prop_assert_eq!(fitted.out_of_bag.as_ref(), Some(&expected));
    Ok(())
}

fn check_predictions(table: &Table, forest: &Forest) -> TestCaseResult {
    let x = table.matrix();
    let mut sums = vec![0.0; table.n_rows() * forest.n_values()];
    for tree in forest.trees() {
        sums.iter_mut().zip(tree.predict(&x, None).unwrap()).for_each(|(sum, value)| *sum += value);
    }
    for sum in &mut sums {
        *sum /= forest.n_trees() as f64;
    }
    let leaves: Vec<Vec<i64>> = forest.trees().iter().map(|tree| tree.apply(&x, None).unwrap()).collect();
    let leaves: Vec<i64> = (0..table.n_rows()).flat_map(|row| leaves.iter().map(move |of_tree| of_tree[row])).collect();
    let values: Vec<Vec<f64>> = forest.trees().iter().map(|tree| tree.predict(&x, None).unwrap()).collect();
    let median = |place: usize| {
        let mut of_trees: Vec<f64> = values.iter().map(|of_tree| of_tree[place]).collect();
        of_trees.sort_by(f64::total_cmp);
        let (low, high) = (of_trees[(of_trees.len() - 1) / 2], of_trees[of_trees.len() / 2]);
        if low == high { low } else { 0.5 * low + 0.5 * high }
    };
    let medians: Vec<f64> = (0..sums.len()).map(median).collect();
    for n_jobs in [1, 3] {
        prop_assert_eq!(&forest.predict_median(&x, Some(n_jobs)).unwrap(), &medians);
        prop_assert_eq!(&forest.predict(&x, Some(n_jobs)).unwrap(), &sums);
        prop_assert_eq!(&forest.apply(&x, Some(n_jobs)).unwrap(), &leaves);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn quantiles_are_those_of_the_targets_in_the_leaves(
        table in Table::any(1..60),
        tree in any_params(),
        seed in any::<u64>(),
        mut levels in prop::collection::vec(prop_oneof![Just(0.0), Just(0.5), Just(1.0), 0.0..1.0], 1..5),
    ) {
        let (loss, x, n_rows) = (Loss::SquaredError, table.matrix(), table.n_rows());
        levels.push(0.25);
        let params = ForestParams { tree, bags: Bags::Bootstrap(n_rows), ..ForestParams::new(4, seed) };
        let forest = fit_forest(&x, table.target(loss), None, loss, &params).unwrap().forest;
        let counts = |tree: usize| Some(draw_bag(params.seeds[tree], n_rows, n_rows, None));
        let targets = LeafTargets::new(&forest, &x, &table.y, counts, Some(2)).unwrap();
        let (sorted, starts, ranks) = targets.parts();
        prop_assert_eq!(&LeafTargets::from_parts(&forest, sorted.to_vec(), &starts, &ranks).unwrap(), &targets);

        let leaves = forest.apply(&x, None).unwrap();
        let mask: Vec<bool> = (0..leaves.len()).map(|i| i % 3 > 0 || seed % 2 == 0).collect();
        for interpolation in [Interpolation::Linear, Interpolation::Lower, Interpolation::Higher, Interpolation::Nearest] {
            let quantiles = filled(n_rows * levels.len(), |out| {
                targets.quantiles_into(out, &forest, &x, &levels, interpolation, Some(&mask), Some(3), || true)
            }).unwrap();
            for row in 0..n_rows {
                let mut found = Vec::new();
                for tree in (0..4).filter(|tree| mask[row * 4 + tree]) {
                    let counts = counts(tree).unwrap();
                    let same = (0..n_rows).filter(|&other| leaves[other * 4 + tree] == leaves[row * 4 + tree]);
                    same.for_each(|other| found.extend(vec![table.y[other]; counts[other] as usize]));
                }
                found.sort_by(f64::total_cmp);
                for (level, quantile) in levels.iter().zip(&quantiles[row * levels.len()..]) {
                    prop_assert_eq!(naive_quantile(&found, *level, interpolation).to_bits(), quantile.to_bits());
                }
            }
        }
        let counted = targets.counts(&forest, &x, &table.y, None).unwrap();
        for (row, counted) in counted.chunks_exact(3).enumerate() {
            let whole = |other: usize| (0..4).map(|tree| {
                let same = leaves[other * 4 + tree] == leaves[row * 4 + tree];
                if same { i64::from(counts(tree).unwrap()[other]) } else { 0 }
            }).sum::<i64>();
            let total = |holds: &dyn Fn(f64) -> bool| (0..n_rows).filter(|&other| holds(table.y[other])).map(whole).sum::<i64>();
            let y = table.y[row];
            prop_assert_eq!(counted, [total(&|other| other < y), total(&|other| other == y), total(&|_| true)]);
        }
        let mut broken = ranks.clone();
        broken[0] = n_rows as u32;
        prop_assert!(LeafTargets::from_parts(&forest, sorted.to_vec(), &starts, &broken).is_err());
        prop_assert!(LeafTargets::from_parts(&forest, sorted.to_vec(), &starts[1..], &ranks).is_err());
        prop_assert!(LeafTargets::from_parts(&forest, sorted.to_vec(), &starts, &ranks[1..]).is_err());
    }
}

/// Rows of several blocks and chunks, whose ranks are gathered a few rows at a time.
#[test]
fn quantiles_of_large_leaves() {
    let (n_rows, n_trees) = (2_000, 5);
    let mut dice = Dice::new(7);
    let cells: Vec<f32> = (0..n_rows * 2).map(|_| dice.unit() as f32).collect();
    let y: Vec<f64> = cells.chunks(2).map(|row| f64::from(row[0]) * 3.0 + dice.unit()).collect();
    let x = Matrix::from_rows(&cells, n_rows, 2).unwrap();
    let tree = Params { max_depth: Some(2), ..Params::default() };
    let params = ForestParams { tree, bags: Bags::Bootstrap(n_rows), ..ForestParams::new(n_trees, 3) };
    let forest = fit_forest(&x, Target::Values(&y), None, Loss::SquaredError, &params).unwrap().forest;
    let bags: Vec<_> = params.seeds.iter().map(|&seed| draw_bag(seed, n_rows, n_rows, None)).collect();
    let targets = LeafTargets::new(&forest, &x, &y, |tree| Some(bags[tree].clone()), Some(2)).unwrap();
    let leaves = forest.apply(&x, Some(1)).unwrap();
    let (levels, kind) = ([0.0, 0.1, 0.5, 0.93, 1.0], Interpolation::Linear);
    let quantiles = targets.quantiles(&forest, &x, &levels, kind, Some(1)).unwrap();
    for n_jobs in [2, 3] {
        assert_eq!(targets.quantiles(&forest, &x, &levels, kind, Some(n_jobs)).unwrap(), quantiles);
    }
    for row in (0..n_rows).step_by(37) {
        let mut found = Vec::new();
        for (tree, bag) in bags.iter().enumerate() {
            let is_same = |&other: &usize| leaves[other * n_trees + tree] == leaves[row * n_trees + tree];
            (0..n_rows).filter(is_same).for_each(|other| found.extend(vec![y[other]; bag[other] as usize]));
        }
        assert!(found.len() > 1_000);
        found.sort_by(f64::total_cmp);
        for (level, quantile) in levels.iter().zip(&quantiles[row * levels.len()..]) {
            assert_eq!(naive_quantile(&found, *level, kind).to_bits(), quantile.to_bits());
        }
    }
}

#[test]
fn bags_too_large_for_the_leaves_are_refused() {
    let x = Matrix::from_rows(&[0.0, 1.0], 2, 1).unwrap();
    let y = [0.0, 1.0];
    let params = ForestParams::new(2, 0);
    let forest = fit_forest(&x, Target::Values(&y), None, Loss::SquaredError, &params).unwrap().forest;
    let found = LeafTargets::new(&forest, &x, &y, |_| Some(vec![u32::MAX; 2]), Some(1));
    assert!(found.unwrap_err().to_string().starts_with("bags: the leaves of a tree have 8589934590 rows"));
}

/// The quantile of numbers in ascending order, by definition.
fn naive_quantile(sorted: &[f64], level: f64, interpolation: Interpolation) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let place = level * (sorted.len() - 1) as f64;
    let (low, high, share) = (sorted[place.floor() as usize], sorted[place.ceil() as usize], place.fract());
    match interpolation {
        _ if share == 0.0 => low,
        Interpolation::Lower => low,
        Interpolation::Higher => high,
        Interpolation::Midpoint => f64::midpoint(low, high),
        Interpolation::Nearest => sorted[place.round_ties_even() as usize],
        Interpolation::Linear => low + share * (high - low),
    }
}

/// A table of independent uniform features, the same target for all of them.
fn symmetric(n_rows: usize, n_columns: usize) -> Table {
    let mut stream = crate::grow::random::Seed::new(3).stream();
    let cells: Vec<f64> = (0..n_rows * n_columns).map(|_| (stream.next() >> 11) as f64 / (1u64 << 53) as f64).collect();
    let y = cells.chunks_exact(n_columns).map(|row| row.iter().sum()).collect();
    Table { cells, n_columns, y, codes: vec![0; n_rows], weights: vec![1.0; n_rows] }
}

#[test]
fn large_forests_are_the_same_for_every_number_of_threads() {
    CPUS.set(Some(5));
    let table = symmetric(30_000, 3);
    let x = table.matrix();
    let mut params = ForestParams { bags: Bags::Bootstrap(30_000), out_of_bag: true, ..ForestParams::new(7, 1) };
    for (loss, splitter) in [
        (Loss::SquaredError, Splitter::Best),
        (Loss::AbsoluteError, Splitter::Best),
        (Loss::SquaredError, Splitter::Random),
    ] {
        params.tree.splitter = splitter;
        let fit_with = |n_jobs: i64| {
            let tree = Params { n_jobs: Some(n_jobs), ..params.tree.clone() };
            fit_forest(&x, table.target(loss), None, loss, &ForestParams { tree, ..params.clone() }).unwrap()
        };
        let one = fit_with(1);
        let naive = naive_tree(&table, loss, &params, None, 2);
        assert_eq!(bytes(&one.forest.trees()[2]), bytes(&naive));
        for n_jobs in [2, 5] {
            assert!(fit_with(n_jobs) == one, "{loss:?}, {n_jobs} threads");
        }
        let predicted = one.forest.predict(&x, Some(1)).unwrap();
        assert_eq!(one.forest.predict(&x, Some(5)).unwrap(), predicted);
    }
}

#[test]
fn ties_favour_no_feature() {
    // Every column is the same: only ties decide which one is used.
    let mut table = symmetric(200, 1);
    table.cells = table.cells.iter().flat_map(|&cell| [cell; 4]).collect();
    table.n_columns = 4;
    let params = ForestParams { bags: Bags::Bootstrap(200), ..ForestParams::new(400, 0) };
    let fitted = fit_forest(&table.matrix(), table.target(Loss::SquaredError), None, Loss::SquaredError, &params);
    let importances = fitted.unwrap().forest.feature_importances(None).unwrap();
    assert!(importances.iter().all(|importance| (0.18..0.32).contains(importance)), "{importances:?}");
}

#[test]
fn balanced_subsamples_give_classes_the_same_weight() {
    let table = Table { codes: [vec![0; 90], vec![1; 10]].concat(), ..symmetric(100, 2) };
    let target = Target::Classes { codes: &table.codes, n_classes: 2 };
    let params = ForestParams { bags: Bags::Bootstrap(100), balanced_subsample: true, ..ForestParams::new(5, 0) };
    let fitted = fit_forest(&table.matrix(), target, None, Loss::Gini, &params).unwrap();
    for tree in fitted.forest.trees() {
        assert!(tree.value(0).iter().all(|share| (share - 0.5).abs() < 1e-12), "{:?}", tree.value(0));
    }
    let values = fit_forest(&table.matrix(), Target::Values(&table.y), None, Loss::SquaredError, &params);
    assert!(matches!(values, Err(Error::Argument { name: "class_weight", .. })));
}

#[test]
fn trees_can_be_added_merged_and_taken_apart() {
    let table = symmetric(50, 2);
    let (target, loss) = (Target::Values(&table.y), Loss::SquaredError);
    let all = ForestParams { bags: Bags::Bootstrap(50), ..ForestParams::new(6, 9) };
    let part = |range: Range<usize>| ForestParams { seeds: all.seeds[range].to_vec(), ..all.clone() };
    let fit_with = |params: &ForestParams<'_>| fit_forest(&table.matrix(), target, None, loss, params).unwrap().forest;
    let whole = fit_with(&all);
    let merged = Forest::merged([&fit_with(&part(0..2)), &fit_with(&part(2..6))]).unwrap();
    assert_eq!(merged, whole);
    assert_eq!(whole.part(2..6).unwrap(), fit_with(&part(2..6)));
    assert!(Arc::ptr_eq(&whole.trees()[1], &whole.part(1..2).unwrap().trees()[0]));
    assert!(whole.part(1..1).is_err());
    let other = symmetric(50, 3);
    let other = fit_forest(&other.matrix(), target, None, loss, &all).unwrap().forest;
    assert!(Forest::merged([&whole, &other]).is_err());
}

#[test]
fn a_fit_that_is_stopped_says_so() {
    CPUS.set(Some(2));
    let table = symmetric(20_000, 3);
    let params = ForestParams { bags: Bags::Bootstrap(20_000), ..ForestParams::new(1_000, 9) };
    let start = std::time::Instant::now();
    let stopped =
        fit_forest_while(|_| false, &table.matrix(), Target::Values(&table.y), None, Loss::SquaredError, &params);
    assert_eq!(stopped.err(), Some(Error::Interrupted));
    assert!(start.elapsed().as_secs() < 20);
}

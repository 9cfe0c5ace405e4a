//! Random features and thresholds, monotonic constraints, and `max_leaf_nodes`.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use splitwood::{Loss, Matrix, MaxFeatures, Params, Splitter, Tree};

use crate::common;
use crate::common::audit::{Rivals, audit_among};
use crate::common::draw::Dice;
use crate::common::table::{Recipe, Settings, Table};

fn recipes() -> impl Strategy<Value = Recipe> {
    Recipe::any(1..200, 1..6)
}

fn predict(tree: &Tree, row: &[f64]) -> f64 {
    let x = Matrix::from_rows(row, 1, row.len()).expect("a sound matrix");
    *tree.predict(&x, None).expect("as many columns").last().expect("a value")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// The general grower, given nothing to choose, grows the tree of the fast one.
    #[test]
    fn no_choice_at_all(recipe in recipes(), settings in Settings::any()) {
        let table = recipe.table();
        let params = settings.params(&table);
        let numbers = Params { categories: Some(vec![0; table.columns.len()]), ..params.clone() };
        let (expected, found) = (table.fit(&params), table.fit(&numbers));
        prop_assert_eq!(common::structure(&found), common::structure(&expected));
        for id in 0..expected.node_count() {
            prop_assert_eq!(found.n_rows(id), expected.n_rows(id));
            for (a, b) in found.value(id).iter().zip(expected.value(id)) {
                prop_assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "node {}: {} for {}", id, a, b);
            }
        }
    }

    #[test]
    fn features_at_random(recipe in recipes(), settings in Settings::any(), drawn in 1..4i64, seed in any::<u64>()) {
        let table = recipe.table();
        let params = Params { max_features: MaxFeatures::Count(drawn), seed, ..settings.params(&table) };
        audit_among(Rivals::SameFeature, &table, &params, &table.fit(&params), |_| true)?;
    }

    #[test]
    fn thresholds_at_random(recipe in recipes(), settings in Settings::any(), drawn in 1..6i64, seed in any::<u64>()) {
        let table = recipe.table();
        let params = settings.params(&table);
        let params = Params { max_features: MaxFeatures::Count(drawn), splitter: Splitter::Random, seed, ..params };
        audit_among(Rivals::None, &table, &params, &table.fit(&params), |_| true)?;
    }

    #[test]
    fn few_leaves(recipe in recipes(), settings in Settings::any(), max_leaves in 2..40usize) {
        let table = recipe.table();
        let params = settings.params(&table);
        let whole = table.fit(&params);
        let few = table.fit(&Params { max_leaf_nodes: Some(max_leaves as i64), ..params });
        prop_assert_eq!(few.n_leaves(), whole.n_leaves().min(max_leaves));
        check_best_first(&whole, &few)?;
    }

    #[test]
    fn monotonic_predictions(recipe in recipes(), settings in Settings::any(), signs in any::<u64>(), random in any::<bool>()) {
        let table = recipe.table();
        prop_assume!(table.n_classes <= 2);
        let sign = |feature: usize| (signs >> (2 * feature) & 3).min(2) as i8 - 1;
        let signs: Vec<i8> = (0..table.columns.len()).map(sign).collect();
        let splitter = if random { Splitter::Random } else { Splitter::Best };
        let params = Params { monotonic_cst: Some(signs.clone()), splitter, ..settings.params(&table) };
        check_monotonic(&table, &table.fit(&params), &signs, recipe.seed)?;
    }
}

/// Replays best-first growth: makes the splits of the small tree in the order of their gains, and
/// checks that no split which was left out gains more, up to rounding. Of splits that gain the same
/// up to rounding, any may have been made first: those that would be followed by the largest gain
/// that was left out are made last.
fn check_best_first(whole: &Tree, few: &Tree) -> TestCaseResult {
    let loss = |id: usize| whole.weight(id) * whole.impurity(id);
    let gain = |id: usize| whole.children(id).map_or(0.0, |(left, right)| loss(id) - loss(left) - loss(right));
    let tolerance = 1e-10 * loss(0);
    // Nodes that could be split next, oldest first, as pairs of node ids in both trees.
    let mut open = vec![(0, 0)];
    loop {
        let near = |gain: f64| gain - tolerance;
        let made = |k: &usize| few.children(open[*k].1).is_some();
        let most = (0..open.len()).filter(made).map(|k| gain(open[k].0)).fold(f64::NEG_INFINITY, f64::max);
        // The largest gain that is left out once this split is made, and those below it that gain
        // more and so come next.
        let left_out = |k: &usize| {
            let (mut largest, mut next) = (0.0, vec![open[*k]]);
            while let Some((old, new)) = next.pop() {
                let (old, new) = (whole.children(old).expect("a split"), few.children(new).expect("a split"));
                for (old, new) in [(old.0, new.0), (old.1, new.1)] {
                    if few.children(new).is_none() {
                        largest = gain(old).max(largest);
                    } else if gain(old) > most + tolerance {
                        next.push((old, new));
                    }
                }
            }
            largest
        };
        let equals = (0..open.len()).filter(|k| made(k) && gain(open[*k].0) >= near(most));
        let Some(next) = equals.min_by(|a, b| left_out(a).total_cmp(&left_out(b))) else { break };
        let best = open.iter().map(|&(id, _)| gain(id)).fold(0.0, f64::max);
        let (old, new) = open.remove(next);
        prop_assert!(gain(old) >= near(best), "{} when there was {}", gain(old), best);
        prop_assert_eq!((whole.feature(old), whole.threshold(old)), (few.feature(new), few.threshold(new)));
        let (old, new) = (whole.children(old).expect("a split"), few.children(new).expect("a split"));
        open.extend([(old.0, new.0), (old.1, new.1)]);
    }
    prop_assert_eq!(open.len(), few.n_leaves());
    for (old, new) in open {
        prop_assert_eq!((whole.value(old), whole.n_rows(old)), (few.value(new), few.n_rows(new)));
    }
    Ok(())
}

/// Varies each constrained feature, starting at random rows, and checks the order of the
/// predictions.
fn check_monotonic(table: &Table, tree: &Tree, signs: &[i8], seed: u64) -> TestCaseResult {
    let mut dice = Dice::new(seed);
    let thresholds: Vec<f64> = (0..tree.node_count()).filter_map(|id| tree.threshold(id)).collect();
    let pick = |dice: &mut Dice, feature: usize| match dice.below(3) {
        0 => table.columns[feature][dice.below(table.n_rows())],
        1 if !thresholds.is_empty() => thresholds[dice.below(thresholds.len())],
        _ => dice.unit() * 20.0 - 10.0,
    };
    for (feature, &sign) in signs.iter().enumerate().filter(|(_, sign)| **sign != 0) {
        for _ in 0..10 {
            let mut row: Vec<f64> = (0..signs.len()).map(|feature| pick(&mut dice, feature)).collect();
            let mut steps: Vec<f64> = (0..20).map(|_| pick(&mut dice, feature)).filter(|x| !x.is_nan()).collect();
            steps.sort_by(f64::total_cmp);
            let mut last = None;
            for step in steps {
                row[feature] = step;
                let value = predict(tree, &row);
                if let Some(last) = last {
                    let change = f64::from(sign) * (value - last);
                    prop_assert!(change >= 0.0, "{} after {} for sign {} at {:?}", value, last, sign, row);
                }
                last = Some(value);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn threads(recipe in Recipe::long(), seed in any::<u64>(), random in any::<bool>(), max_leaves in prop::option::of(2..300i64)) {
        let table = recipe.table();
        let splitter = if random { Splitter::Random } else { Splitter::Best };
        let max_features = MaxFeatures::Sqrt;
        let params = Params { max_features, splitter, seed, max_leaf_nodes: max_leaves, ..Params::default() };
        let alone = table.fit(&Params { n_jobs: Some(1), ..params.clone() });
        prop_assert_eq!(&alone, &table.fit(&params));
        audit_among(Rivals::None, &table, &params, &table.fit(&Params { max_leaf_nodes: None, ..params.clone() }), |_| false)?;
        let other = table.fit(&Params { seed: seed ^ 1, ..params });
        prop_assert!(alone.node_count() < 3 || alone != other, "another seed, the same tree");
    }
}

/// Random thresholds are uniform between the lowest and the highest value.
#[test]
fn thresholds_are_drawn_from_the_whole_range() {
    let table = Table::of_values(vec![vec![0.0, 0.1, 1.0]], vec![1.0, 2.0, 4.0], None);
    let threshold = |seed: u64| {
        let params = Params { splitter: Splitter::Random, max_depth: Some(1), seed, ..Params::default() };
        table.fit(&params).threshold(0).expect("a split")
    };
    let thresholds: Vec<f64> = (0..4_000).map(threshold).collect();
    let below = thresholds.iter().filter(|&&threshold| threshold < 0.1).count();
    assert!((320..480).contains(&below), "{below} of 4000 below 0.1");
    let mean = thresholds.iter().sum::<f64>() / 4_000.0;
    assert!((mean - 0.5).abs() < 0.02, "{mean}");
}

#[test]
fn every_feature_has_its_turn() {
    let columns: Vec<Vec<f64>> = (0..4).map(|_| (0..50).map(f64::from).collect()).collect();
    let table = Table::of_values(columns, (0..50).map(f64::from).collect(), None);
    let mut counts = [0; 4];
    for seed in 0..400 {
        let params = Params { max_features: MaxFeatures::Count(2), max_depth: Some(1), seed, ..Params::default() };
        counts[table.fit(&params).feature(0).expect("a split")] += 1;
    }
    // The features tie, so the lower index of the two drawn wins: in 3, 2 and 1 of 6 pairs.
    assert!(counts[3] == 0 && (160..240).contains(&counts[0]) && (40..95).contains(&counts[2]), "{counts:?}");
}

/// Constant features count as drawn, but drawing goes on until one feature can be split.
#[test]
fn constant_features_do_not_end_the_search() {
    let mut columns = vec![vec![7.0; 20]; 9];
    columns.push((0..20).map(f64::from).collect());
    let table = Table::of_values(columns, (0..20).map(f64::from).collect(), None);
    for seed in 0..50 {
        let params = Params { max_features: MaxFeatures::Count(1), seed, ..Params::default() };
        assert_eq!(table.fit(&params).n_leaves(), 20);
    }
}

/// A constraint against the trend leaves no split; one along the trend costs none.
#[test]
fn constraints_forbid_no_more_than_they_must() {
    let x: Vec<f64> = (0..100).map(f64::from).collect();
    for loss in [Loss::SquaredError, Loss::AbsoluteError, Loss::Quantile(0.25), Loss::Poisson] {
        let table = Table { loss, ..Table::of_values(vec![x.clone()], x.iter().map(|x| 1.0 + x * x).collect(), None) };
        let stump = Params { max_depth: Some(1), ..Params::default() };
        let with = |sign: i8| table.fit(&Params { monotonic_cst: Some(vec![sign]), ..stump.clone() });
        assert_eq!(common::structure(&with(1)), common::structure(&table.fit(&stump)));
        assert_eq!(with(-1).n_leaves(), 1);
    }
}

//! Fits on several workers: the same tree as a local fit, byte for byte.

use std::thread;

use proptest::prelude::*;
use splitwood::{
    Cells as WorkerCells, ColumnWorker, Driver, Loss, MaxFeatures, Params, Result, Splitter, Target, Tree,
};

use crate::common::draw::{Cells, Values, Weights};
use crate::common::structure;
use crate::common::table::{Aim, Recipe, Settings, Table};

/// All bytes of a tree.
fn bytes(tree: &Tree) -> (usize, usize, Vec<impl PartialEq + std::fmt::Debug + use<>>) {
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let statistics = |id: usize| (tree.n_rows(id), bits(&[tree.weight(id), tree.impurity(id)]), bits(tree.value(id)));
    let nodes = structure(tree).into_iter().enumerate().map(|(id, test)| (test, statistics(id))).collect();
    (tree.n_features(), tree.max_depth(), nodes)
}

/// Calls a method of every worker, each in a thread of its own.
fn on_all<T: Send>(
    workers: &mut [ColumnWorker],
    call: impl Fn(usize, &mut ColumnWorker) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let call = &call;
    thread::scope(|scope| {
        let calls = workers.iter_mut().enumerate().map(|(k, worker)| scope.spawn(move || call(k, worker)));
        calls.collect::<Vec<_>>().into_iter().map(|call| call.join().expect("no panic")).collect()
    })
}

/// A table, and which worker has which features.
struct Cluster<'a> {
    table: &'a Table,
    features: Vec<Vec<usize>>,
    is_single: bool,
}

impl Cluster<'_> {
    fn workers(&self, params: &Params) -> Result<Vec<ColumnWorker>> {
        let table = self.table;
        let codes: Vec<u32> = table.y.iter().map(|&y| y as u32).collect();
        let target = match table.n_classes {
            0 => Target::Values(&table.y),
            n_classes => Target::Classes { codes: &codes, n_classes },
        };
        let worker = |features: &Vec<usize>| {
            let cells = features.iter().flat_map(|&feature| table.columns[feature].iter().copied());
            let cells = if self.is_single {
                WorkerCells::Single(cells.map(|cell| cell as f32).collect())
            } else {
                WorkerCells::Double(cells.collect())
            };
            let (n_features, weights) = (table.columns.len(), table.weights.as_deref());
            ColumnWorker::new(cells, features, n_features, target, weights, table.loss, params)
        };
        self.features.iter().map(worker).collect()
    }

    fn fit(&self, params: &Params) -> Result<Tree> {
        let mut workers = self.workers(params)?;
        let mut driver = Driver::new(&self.features, self.table.columns.len(), params)?;
        let mut has_missing = vec![false; self.table.columns.len()];
        for (worker, features) in workers.iter().zip(&self.features) {
            features.iter().zip(worker.has_missing()).for_each(|(&feature, missing)| has_missing[feature] = missing);
        }
        let roots = on_all(&mut workers, |_, worker| worker.root(&has_missing))?;
        assert!(roots.iter().all(|root| *root == roots[0]));
        driver.begin(&roots[0])?;
        while !driver.is_done() {
            let n_open = driver.progress()[0];
            let decisions = driver.decide(&on_all(&mut workers, |_, worker| Ok(worker.search()))?)?;
            while let Some(plan) = driver.hand_over() {
                let parcels = on_all(&mut workers, |k, worker| worker.extract(&plan, k))?;
                let to = |k: usize| parcels.iter().map(|parcels| &parcels[k]).collect::<Vec<_>>();
                for pieces in on_all(&mut workers, |k, worker| worker.finish(&to(k)))? {
                    driver.finished(&pieces)?;
                }
            }
            let divided = on_all(&mut workers, |k, worker| worker.divide(&decisions[k]))?;
            let (divisions, sides): (Vec<_>, Vec<_>) = divided.into_iter().unzip();
            let n_bytes: usize = sides.iter().map(Vec::len).sum();
            assert!(n_bytes <= self.table.n_rows() / 8 + n_open, "{n_bytes} bytes of sides");
            let splits = driver.divided(&divisions)?;
            on_all(&mut workers, |_, worker| worker.apply(&splits, &sides))?;
        }
        driver.tree()
    }
}

/// Deals the features out, in turn or in blocks. Workers without features don't take part.
fn deal(n_features: usize, n_workers: usize, in_turn: bool) -> Vec<Vec<usize>> {
    let n_workers = n_workers.min(n_features);
    let owner = |feature: usize| if in_turn { feature % n_workers } else { feature * n_workers / n_features };
    (0..n_workers).map(|worker| (0..n_features).filter(|&feature| owner(feature) == worker).collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_fit(
        recipe in prop_oneof![Recipe::any(1..300, 1..9), Recipe::wide(), Recipe::long()],
        settings in Settings::any(),
        max_leaf_nodes in prop_oneof![4 => Just(None), 1 => (2..40i64).prop_map(Some)],
        ccp_alpha in prop_oneof![4 => Just(0.0), 1 => 0.0..0.1],
        in_turn in any::<bool>(),
        is_single in any::<bool>(),
    ) {
        let table = recipe.table();
        let params = Params { max_leaf_nodes, ccp_alpha, ..settings.params(&table) };
        let local = if is_single { table.fit_single(&params) } else { table.fit(&params) };
        for n_workers in [1, 2, 3, 7] {
            let features = deal(table.columns.len(), n_workers, in_turn);
            let tree = Cluster { table: &table, features, is_single }.fit(&params).expect("a sound fit");
            prop_assert_eq!(bytes(&tree), bytes(&local), "{} workers", n_workers);
        }
    }
}

/// Each criterion, with and without weights, on a table with ties and missing values whose top has
/// several levels.
#[test]
fn every_criterion() {
    let aims = [
        Aim::Values(Values::Reals),
        Aim::Ranks(Values::Reals, Loss::AbsoluteError),
        Aim::Ranks(Values::Reals, Loss::Quantile(0.3)),
        Aim::Counts(Values::Reals),
        Aim::Classes { n_classes: 2, loss: Loss::Gini },
        Aim::Classes { n_classes: 4, loss: Loss::Gini },
        Aim::Classes { n_classes: 3, loss: Loss::Entropy },
    ];
    let columns = [(Cells::Distinct, 0.0), (Cells::Ties, 0.1), (Cells::Distinct, 0.3), (Cells::Distinct, 0.0)];
    for aim in aims {
        for (weights, leaf) in [(None, 4), (Some((Weights::Reals, 0.2)), 4), (Some((Weights::Counts, 0.2)), 1)] {
            let columns = columns.iter().copied().cycle().take(260).collect();
            let table = Recipe { n_rows: 3_000, columns, aim, weights, seed: 7 }.table();
            let params = Params { min_samples_leaf: splitwood::Size::Rows(leaf), ..Params::default() };
            let local = table.fit(&params);
            assert!(local.max_depth() > 5, "{aim:?} has a tree of depth {}", local.max_depth());
            let features = deal(260, 3, true);
            let tree = Cluster { table: &table, features, is_single: false }.fit(&params).expect("a sound fit");
            assert_eq!(bytes(&tree), bytes(&local), "{aim:?}, weights {weights:?}");
        }
    }
}

#[test]
fn what_is_not_distributed_is_refused_by_name() {
    let table = Table::of_values(vec![vec![0.0, 1.0]; 2], vec![0.0, 1.0], None);
    let cluster = Cluster { table: &table, features: deal(2, 2, true), is_single: false };
    let default = Params::default;
    for (params, name) in [
        (Params { splitter: Splitter::Random, ..default() }, "splitter"),
        (Params { max_features: MaxFeatures::Sqrt, ..default() }, "max_features"),
        (Params { monotonic_cst: Some(vec![1, 0]), ..default() }, "monotonic_cst"),
        (Params { categories: Some(vec![2, 0]), ..default() }, "categorical_features"),
        (Params { max_depth: Some(0), ..default() }, "max_depth"),
        (Params { max_leaf_nodes: Some(1), ..default() }, "max_leaf_nodes"),
    ] {
        let error = cluster.fit(&params).expect_err("refused").to_string();
        assert!(error.starts_with(name), "{error}");
    }
    let worker = |features: &[usize], y: Target<'_>| {
        ColumnWorker::new(WorkerCells::Double(vec![0.0, 1.0]), features, 2, y, None, Loss::SquaredError, &default())
    };
    let many = Target::ManyValues { values: &[0.0; 4], n_outputs: 2 };
    for (features, y, name) in [
        (&[0][..], many, "y"),
        (&[2], Target::Values(&table.y), "features"),
        (&[0, 0], Target::Values(&table.y), "features"),
        (&[], Target::Values(&table.y), "features"),
        (&[0, 1], Target::Values(&table.y), "X"),
    ] {
        let error = worker(features, y).err().expect("refused").to_string();
        assert!(error.starts_with(name), "{error}");
    }
    for features in [vec![vec![0], vec![0, 1]], vec![vec![0]], vec![vec![0, 1, 2]]] {
        assert!(Driver::new(&features, 2, &default()).is_err(), "{features:?}");
    }
}

/// Messages that are damaged, out of turn or of another worker are errors, and never panics.
#[test]
fn damaged_messages_are_refused() {
    let columns = vec![(Cells::Distinct, 0.0); 300];
    let table = Recipe { n_rows: 600, columns, aim: Aim::Values(Values::Reals), weights: None, seed: 3 }.table();
    let params = Params::default();
    let cluster = Cluster { table: &table, features: deal(300, 2, true), is_single: false };
    let mut workers = cluster.workers(&params).unwrap();
    let mut driver = Driver::new(&cluster.features, 300, &params).unwrap();
    assert!(workers[0].root(&[false; 299]).is_err());
    let root = workers[0].root(&[false; 300]).unwrap();
    assert!(driver.begin(&root[1..]).is_err());
    driver.begin(&root).unwrap();
    let findings = on_all(&mut workers, |_, worker| Ok(worker.search())).unwrap();
    assert!(driver.decide(&findings[..1]).is_err());
    assert!(driver.decide(&[&findings[0][..], &findings[1][..9]]).is_err());
    let decisions = driver.decide(&findings).unwrap();
    let winner = usize::from(decisions[0].len() < decisions[1].len());
    assert!(workers[1 - winner].divide(&decisions[winner]).is_err());
    let (divisions, sides) = workers[winner].divide(&decisions[winner]).unwrap();
    let in_order = |own: &[u8]| if winner == 0 { [own.to_vec(), Vec::new()] } else { [Vec::new(), own.to_vec()] };
    assert!(driver.divided(&in_order(&divisions[..20])).is_err());
    let splits = driver.divided(&in_order(&divisions)).unwrap();
    assert!(workers[0].apply(&splits, &in_order(&sides[1..])).is_err());
    let flipped: Vec<u8> = sides.iter().map(|byte| !byte).collect();
    assert!(workers[0].apply(&splits, &in_order(&flipped)).is_err());
    assert!(workers[0].extract(&[1, 2, 3], 0).is_err());
    assert!(driver.finished(&[1]).is_err());
    assert!(driver.tree().is_err());
    // A refused message changes nothing: the right one is accepted afterwards.
    assert!(workers[0].apply(&splits, &in_order(&sides)).is_ok());
}

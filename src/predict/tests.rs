//! Predictions of random trees and rows, compared with the walk down the arena row by row.

use std::ops::Range;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::runs::Runs;
use crate::data::{Cell, Matrix};
use crate::naive::draw::Dice;
use crate::tree::{ArenaNode, Statistics, Test, Tree};

/// How the descendants of a node are shared out between its children.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Balanced,
    Random,
    LeftChain,
    RightChain,
    ZigZag,
}

impl Shape {
    /// How many of the `n` inner nodes below a node are on the left.
    fn left(self, dice: &mut Dice, n: usize) -> usize {
        match self {
            Self::Balanced => n / 2,
            Self::Random => dice.below(n + 1),
            Self::LeftChain => n,
            Self::RightChain => 0,
            Self::ZigZag => n * (n % 2),
        }
    }
}

/// How the cells of X lie in memory.
#[derive(Clone, Copy, Debug)]
enum Order {
    Rows,
    Columns,
    Backwards,
    EverySecond,
    /// Every row is the same memory.
    Broadcast,
}

/// The settings of a random tree and random rows.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    n_inner: usize,
    n_features: usize,
    n_values: usize,
    shape: Shape,
    n_rows: usize,
    order: Order,
    /// Share of the cells that are missing.
    missing: f64,
    /// Whether infinities are among the cells.
    infinite: bool,
    /// Share of the thresholds that are extreme.
    extreme: f64,
    seed: u64,
}

const THRESHOLDS: [f64; 14] = [
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    -1e300,
    f32::MAX as f64,
    0.0,
    -0.0,
    1e-45,
    -1e-60,
    5e-324,
    1.0,
    1.0 + 1e-12,
    1.0 - 1e-12,
    16_777_217.0,
];

impl Drawn {
    pub fn any(n_rows: Range<usize>) -> impl Strategy<Value = Self> {
        use Order::{Backwards, Broadcast, Columns, EverySecond, Rows};
        let shapes = vec![Shape::Balanced, Shape::Random, Shape::LeftChain, Shape::RightChain, Shape::ZigZag];
        let n_inner = prop_oneof![1 => Just(0), 4 => 1..60usize, 1 => 60..3_000usize];
        let orders = prop::sample::select(vec![Rows, Rows, Columns, Backwards, EverySecond, Broadcast]);
        let cells = (prop::sample::select(vec![0.0, 0.0, 0.01, 0.3, 1.0]), any::<bool>());
        let tree = (n_inner, 1..12usize, prop_oneof![3 => Just(1), 1 => 2..5usize], prop::sample::select(shapes));
        (tree, n_rows, orders, cells, any::<u64>()).prop_map(
            |((n_inner, n_features, n_values, shape), n_rows, order, (missing, infinite), seed)| Self {
                n_inner,
                n_features,
                n_values,
                shape,
                n_rows,
                order,
                missing,
                infinite,
                extreme: 0.3,
                seed,
            },
        )
    }

    pub fn tree(&self) -> Tree {
        let mut dice = Dice::new(self.seed);
        let mut nodes = Vec::new();
        // Still to be written: `Ok`, a subtree with this many inner nodes; `Err`, the inner node
        // whose right child comes next.
        let mut pending = vec![Ok(self.n_inner)];
        while let Some(next) = pending.pop() {
            match next {
                Ok(0) => nodes.push(ArenaNode::leaf()),
                Ok(n) => {
                    let left = self.shape.left(&mut dice, n - 1);
                    pending.extend([Ok(n - 1 - left), Err(nodes.len()), Ok(left)]);
                    nodes.push(ArenaNode::leaf());
                }
                Err(parent) => nodes[parent] = self.draw_node(&mut dice, nodes.len()),
            }
        }
        let n = nodes.len();
        let values = (0..n * self.n_values).map(|i| i as f64 * 0.7).collect();
        let statistics = Statistics { values, impurity: vec![0.0; n], rows: vec![1; n], weight: None };
        Tree::new(nodes, statistics, self.n_features, self.n_values, None).expect("a sound tree")
    }

    fn draw_node(&self, dice: &mut Dice, right: usize) -> ArenaNode {
        let ordinary = dice.unit() * 8.0 - 4.0;
        let threshold = if dice.chance(self.extreme) { THRESHOLDS[dice.below(THRESHOLDS.len())] } else { ordinary };
        let feature = dice.below(self.n_features) as u32;
        ArenaNode::inner(Test { feature, threshold, missing_left: dice.chance(0.5), right: right as u32 })
    }

    /// Cells for a matrix of any order: ordinary ones, thresholds of the tree, and numbers next to
    /// these.
    pub fn cells<X: Cell + FromF64>(&self, tree: &Tree) -> Vec<X> {
        let mut dice = Dice::new(!self.seed);
        let thresholds: Vec<f64> = tree.nodes.iter().filter_map(|node| Some(node.test()?.threshold)).collect();
        let mut cell = || {
            let cell = match dice.below(6) {
                0 if !thresholds.is_empty() => thresholds[dice.below(thresholds.len())],
                1 if !thresholds.is_empty() => thresholds[dice.below(thresholds.len())].next_up(),
                2 => [0.0, -0.0, 1e-45, -1e-45, 1.0][dice.below(5)],
                3 => [f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN][dice.below(4)],
                _ => dice.unit() * 8.0 - 4.0,
            };
            let cell = if self.infinite || cell.abs() < 1e9 { cell } else { 1e9 };
            // Missing values of both signs.
            if dice.chance(self.missing) { f64::NAN.copysign(dice.unit() - 0.5) } else { cell }
        };
        (0..2 * self.n_rows * self.n_features).map(|_| X::from_f64(cell())).collect()
    }

    pub fn matrix<'a, X: Cell>(&self, cells: &'a [X]) -> Matrix<'a, X> {
        let (rows, columns) = (self.n_rows as isize, self.n_features as isize);
        let (first, row_stride, column_stride) = match self.order {
            Order::Rows => (0, columns, 1),
            Order::Columns => (0, 1, rows),
            Order::Backwards => (rows * columns - 1, -columns, -1),
            Order::EverySecond => (1, 2 * columns, 2),
            Order::Broadcast => (0, 0, 1),
        };
        Matrix::with_strides(cells, first as usize, self.n_rows, self.n_features, row_stride, column_stride)
            .expect("a sound matrix")
    }
}

/// Conversion from `f64`, rounded for `f32`.
pub(super) trait FromF64 {
    fn from_f64(value: f64) -> Self;
}

impl FromF64 for f32 {
    fn from_f64(value: f64) -> Self {
        value as Self
    }
}

impl FromF64 for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }
}

/// Each row's leaf by the walk down the arena.
pub(super) fn leaves<X: Cell>(tree: &Tree, x: &Matrix<'_, X>) -> Vec<i64> {
    (0..x.n_rows()).map(|row| tree.walk(|feature| x.get(row, feature).to_f64(), |_| ()) as i64).collect()
}

/// Checks leaves and values for several numbers of threads, before and after compact copies are
/// built.
fn check<X: Cell>(tree: &Tree, x: &Matrix<'_, X>) -> TestCaseResult {
    let leaves = leaves(tree, x);
    let values: Vec<f64> = leaves.iter().flat_map(|&leaf| tree.value(leaf as usize)).copied().collect();
    for n_jobs in [Some(1), Some(2), None] {
        prop_assert_eq!(tree.apply(x, n_jobs), Ok(leaves.clone()));
        prop_assert_eq!(tree.predict(x, n_jobs), Ok(values.clone()));
    }
    Ok(())
}

proptest! {
    #[test]
    fn few_rows(drawn in Drawn::any(1..200)) {
        let tree = drawn.tree();
        check(&tree, &drawn.matrix(&drawn.cells::<f32>(&tree)))?;
        check(&tree, &drawn.matrix(&drawn.cells::<f64>(&tree)))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    /// Enough rows for several pieces of work on several threads.
    #[test]
    fn many_rows(drawn in Drawn::any(9_000..20_000)) {
        let tree = Drawn { n_inner: drawn.n_inner.min(200), ..drawn.clone() }.tree();
        check(&tree, &drawn.matrix(&drawn.cells::<f32>(&tree)))?;
        check(&tree, &drawn.matrix(&drawn.cells::<f64>(&tree)))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn runs_agree_with_the_arena(drawn in Drawn::any(1..200), is_narrow in any::<bool>()) {
        // Runs are long where there is one feature.
        let drawn = if is_narrow { Drawn { n_features: 1, ..drawn } } else { drawn };
        let tree = drawn.tree();
        let cells = drawn.cells::<f64>(&tree);
        let x = drawn.matrix(&cells);
        let runs = Runs::new(&tree).unwrap();
        for (row, expected) in leaves(&tree, &x).into_iter().enumerate() {
            prop_assert_eq!(runs.leaf(&tree, |feature| x.get(row, feature)) as i64, expected);
        }
    }
}

/// A table of runs costs about as much as some rows on their way down the chain.
#[test]
fn runs_pay_in_deep_trees() {
    let chain = drawn(10_000, 1, Shape::RightChain).tree();
    assert!(Runs::pay(&chain, 100) && !Runs::pay(&chain, 10));
    assert!(!Runs::pay(&drawn(200, 1, Shape::RightChain).tree(), usize::MAX));
    assert!(!Runs::pay(&drawn(200_000, 1, Shape::Balanced).tree(), usize::MAX));
}

fn drawn(n_inner: usize, n_features: usize, shape: Shape) -> Drawn {
    let (n_values, n_rows, order, missing, infinite, extreme) = (1, 100, Order::Rows, 0.1, true, 0.3);
    Drawn { n_inner, n_features, n_values, shape, n_rows, order, missing, infinite, extreme, seed: 5 }
}

#[test]
fn chains_of_a_hundred_thousand_nodes() {
    for (shape, last) in [(Shape::LeftChain, 50_000), (Shape::RightChain, 100_000)] {
        let drawn = Drawn { extreme: 0.0, ..drawn(50_000, 2, shape) };
        let tree = drawn.tree();
        check(&tree, &drawn.matrix(&drawn.cells::<f32>(&tree))).unwrap();
        // Rows that walk to the deepest leaf, and rows that leave at once.
        for end in [-1e10, 1e10] {
            let mut cells = vec![end; 200];
            cells[..100].fill(-end);
            check(&tree, &drawn.matrix(&cells)).unwrap();
            assert!(tree.apply(&drawn.matrix(&cells), None).unwrap().contains(&last));
        }
    }
}

#[test]
fn more_features_or_nodes_than_fit_in_8_bytes() {
    for (n_inner, n_features) in [(300, 1_024), (300, 1_025), (300, 3_000), (1 << 20, 2), ((1 << 20) - 1, 2)] {
        let drawn = drawn(n_inner, n_features, Shape::Balanced);
        let tree = drawn.tree();
        let narrow = super::layout::Narrow::fits(n_features, tree.node_count());
        assert_eq!(narrow, n_features <= 1_024 && n_inner < 1 << 20);
        let cells = drawn.cells::<f32>(&tree);
        let x = drawn.matrix(&cells);
        // Few rows of a large tree walk down the arena. The copy is built after enough predictions.
        while tree.layouts.narrow.get().is_none() && tree.layouts.wide.get().is_none() {
            check(&tree, &x).unwrap();
        }
        check(&tree, &x).unwrap();
        assert_eq!((tree.layouts.narrow.get().is_some(), tree.layouts.wide.get().is_some()), (narrow, !narrow));
    }
}

#[test]
fn a_large_tree_is_copied_after_enough_rows() {
    let drawn = drawn(50_000, 3, Shape::Balanced);
    let tree = drawn.tree();
    let cells = drawn.cells::<f64>(&tree);
    let one = Matrix::from_rows(&cells[..3], 1, 3).unwrap();
    tree.apply(&one, None).unwrap();
    assert!(tree.layouts.wide.get().is_none(), "not for one row");
    let copy = tree.clone();
    tree.apply(&drawn.matrix(&cells), None).unwrap();
    assert!(tree.layouts.wide.get().is_none(), "not for a hundred rows");
    for _ in 0..20 {
        tree.apply(&drawn.matrix(&cells), None).unwrap();
    }
    assert!(tree.layouts.wide.get().is_some(), "for two thousand rows");
    assert!(copy.layouts.wide.get().is_none() && copy == tree, "a clone builds its own");
}

#[test]
fn many_threads_predict_at_once() {
    let drawn = drawn(5_000, 3, Shape::Random);
    let tree = drawn.tree();
    let cells = drawn.cells::<f32>(&tree);
    let x = drawn.matrix(&cells);
    let expected = Ok(leaves(&tree, &x));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(tree.apply(&x, Some(2)), expected));
        }
    });
}

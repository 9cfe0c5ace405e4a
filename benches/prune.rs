//! Cost-complexity pruning of fully grown trees of up to a million nodes. Throughput is in nodes.

use divan::Bencher;
use divan::counter::ItemsCount;
use splitwood::{Loss, Matrix, Params, Target, Tree, fit};

fn main() {
    divan::main();
}

/// A tree with one leaf per row: half of its splits fit a wave in two features, the rest fit noise.
fn full_tree(n_leaves: usize) -> Tree {
    let unit =
        |i: usize| (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let unit = |i: usize| (unit(i) >> 11) as f64 / (1u64 << 53) as f64;
    let x: Vec<f64> = (0..2 * n_leaves).map(unit).collect();
    let wave = |row: &[f64]| (20.0 * row[0]).sin() + (9.0 * row[1]).cos();
    let y: Vec<f64> = x.chunks(2).enumerate().map(|(i, row)| wave(row) + unit(i + x.len())).collect();
    let x = Matrix::from_rows(&x, n_leaves, 2).unwrap();
    fit(&x, Target::Values(&y), None, Loss::SquaredError, &Params::default()).unwrap()
}

const LEAVES: [usize; 3] = [500, 50_000, 500_000];

#[divan::bench(args = LEAVES, sample_count = 10)]
fn path(bencher: Bencher<'_, '_>, n_leaves: usize) {
    let tree = full_tree(n_leaves);
    bencher.counter(ItemsCount::new(tree.node_count())).bench(|| tree.pruning_path());
}

#[divan::bench(args = LEAVES, sample_count = 10)]
fn to_half_of_the_path(bencher: Bencher<'_, '_>, n_leaves: usize) {
    let tree = full_tree(n_leaves);
    let alphas = tree.pruning_path().ccp_alphas;
    let alpha = alphas[alphas.len() / 2];
    bencher.counter(ItemsCount::new(tree.node_count())).bench(|| tree.pruned(alpha).unwrap());
}

//! Shared by the integration tests: random tables, the definitions of the losses, and the
//! audit of a tree.

pub mod audit;
pub mod definition;
pub mod draw;
pub mod table;
pub mod ways;

use splitwood::Tree;

/// A split without its statistics: feature, bits of the threshold, whether missing values go left,
/// children.
pub type Test = (usize, u64, bool, (usize, usize));

/// The splits of a tree without its statistics, node by node; `None` for a leaf.
pub fn structure(tree: &Tree) -> Vec<Option<Test>> {
    let test = |node: usize| {
        let threshold = tree.threshold(node)?.to_bits();
        Some((tree.feature(node)?, threshold, tree.missing_go_to_left(node)?, tree.children(node)?))
    };
    (0..tree.node_count()).map(test).collect()
}

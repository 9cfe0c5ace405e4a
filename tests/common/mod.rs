//! What the integration tests share: random tables, the losses' definitions, the audit of a tree, and checksums of files.

#![allow(dead_code, reason = "each test crate takes its own part")]

pub mod audit;
pub mod checksums;
pub mod definition;
pub mod draw;
pub mod table;
pub mod ways;

use splitwood::Tree;

/// A node but for reported numbers: feature, bits of the threshold, whether missing values go left, and children.
pub type Test = (usize, u64, bool, (usize, usize));

/// What makes two trees the same but for reported numbers; `None` for a leaf.
pub fn structure(tree: &Tree) -> Vec<Option<Test>> {
    let test = |node: usize| {
        let threshold = tree.threshold(node)?.to_bits();
        Some((tree.feature(node)?, threshold, tree.missing_go_to_left(node)?, tree.children(node)?))
    };
    (0..tree.node_count()).map(test).collect()
}

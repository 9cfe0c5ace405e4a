//! The section "shape": the kind and size of a model, from which the lengths of its other sections
//! follow.

use std::io::Write;

use super::codec::{Bounded, write_all};
use super::layout::{Entry, Name};
use super::{Contents, Task};
use crate::data::MAX_ROWS;
use crate::error::{Error, Result};
use crate::tree::Tree;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub task: u32,
    pub n_outputs: u32,
    pub n_features: u64,
    pub n_nodes: u64,
    /// Numbers per node.
    pub n_values: u64,
}

impl Shape {
    pub const LENGTH: u64 = 32;
    /// A tree without the meaning of its values.
    pub const TREE: u32 = 0;
    pub const REGRESSION: u32 = 1;
    pub const CLASSIFICATION: u32 = 2;

    pub fn of(contents: &Contents<'_>) -> Self {
        let tree = contents.trees[0];
        Self {
            task: match contents.task {
                None => Self::TREE,
                Some(Task::Regression) => Self::REGRESSION,
                Some(Task::Classification(_)) => Self::CLASSIFICATION,
            },
            n_outputs: tree.n_outputs() as u32,
            n_features: tree.n_features() as u64,
            n_nodes: contents.trees.iter().map(|tree| tree.node_count() as u64).sum(),
            n_values: tree.n_values() as u64,
        }
    }

    pub fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        write_all(out, &[self.task, self.n_outputs])?;
        write_all(out, &[self.n_features, self.n_nodes, self.n_values])
    }

    pub fn read(source: &mut impl Bounded) -> Result<Self> {
        let shape = Self {
            task: source.number()?,
            n_outputs: source.number()?,
            n_features: source.number()?,
            n_nodes: source.number()?,
            n_values: source.number()?,
        };
        if shape.task > Self::CLASSIFICATION {
            return Err(Error::model(format!("this version of splitwood does not know task {}", shape.task)));
        }
        if shape.n_features == 0 || shape.n_features > MAX_ROWS as u64 {
            return Err(Error::model(format!("a tree can't have {} features", shape.n_features)));
        }
        if shape.n_outputs == 0 || !shape.n_values.is_multiple_of(u64::from(shape.n_outputs)) {
            let problem = format!("{} values per node can't be shared by {} outputs", shape.n_values, shape.n_outputs);
            return Err(Error::model(problem));
        }
        Ok(shape)
    }

    /// Checks that the sections of a model of this shape exist and have the right lengths; `trees`
    /// are its trees.
    pub fn check(&self, entries: &[Entry], trees: &[TreeShape]) -> Result<()> {
        let length = |name: Name| entries.iter().find(|entry| entry.name == name).map(|entry| entry.length);
        let per_node = |size: u64| self.n_nodes.checked_mul(size);
        let required = [
            (Name::NODES, per_node(16)),
            (Name::VALUES, self.n_values.checked_mul(8).and_then(per_node)),
            (Name::IMPURITY, per_node(8)),
            (Name::ROWS, per_node(4)),
        ];
        let optional = [
            (Name::WEIGHT, sum(trees, |tree| if tree.is_weighted { tree.n_nodes } else { 0 })),
            (Name::CATEGORY_COUNTS, self.n_features.checked_mul(4)),
            (Name::CATEGORY_SETS, sum(trees, |tree| tree.n_set_words)),
            (Name::LEAF_SIZES, per_node(4)),
        ];
        let optional = optional.into_iter().filter(|&(name, _)| length(name).is_some());
        let is_weighted = trees.iter().any(|tree| tree.is_weighted);
        let has_sets = trees.iter().any(|tree| tree.n_set_words > 0);
        if sum(trees, |tree| tree.n_nodes) != per_node(8)
            || is_weighted != length(Name::WEIGHT).is_some()
            || has_sets && length(Name::CATEGORY_SETS).is_none()
        {
            let problem = "don't have this many nodes together, or a section of their weights or categories is missing";
            return Err(Error::model(format!("{} nodes: its trees {problem}", self.n_nodes)));
        }
        for (name, expected) in required.into_iter().chain(optional) {
            if expected.is_none() || length(name) != expected {
                return Err(Error::model(format!(
                    "section {name} is missing, or its length does not match {} nodes of {} values and {} features",
                    self.n_nodes, self.n_values, self.n_features
                )));
            }
        }
        if length(Name::TREES).is_some() {
            return Err(Error::model("section 'trees' must follow section 'shape'"));
        }
        if length(Name::CATEGORY_COUNTS).is_some() != length(Name::CATEGORY_SETS).is_some() {
            return Err(Error::model("sections 'catcount' and 'catsets' must occur together"));
        }
        let of_leaves = [Name::LEAF_SIZES, Name::LEAF_ROWS, Name::TARGETS].map(|name| length(name).is_some());
        if of_leaves.contains(&true) && (of_leaves.contains(&false) || self.task != Self::REGRESSION) {
            let problem = "sections 'leafsize', 'leafrows' and 'targets' must occur together, in a regression";
            return Err(Error::model(problem));
        }
        if length(Name::CLASSES).is_some() != (self.task == Self::CLASSIFICATION) {
            return Err(Error::model("a classification needs section 'classes', and other models must not have it"));
        }
        Ok(())
    }
}

/// Bytes of all entries of 8 bytes, of which each tree has this many.
fn sum(trees: &[TreeShape], entries: impl Fn(&TreeShape) -> u64) -> Option<u64> {
    trees.iter().try_fold(0u64, |sum, tree| sum.checked_add(entries(tree)))?.checked_mul(8)
}

/// An entry of the section "trees": the size of one tree of a forest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeShape {
    pub n_nodes: u64,
    /// Words of its sets of categories.
    pub n_set_words: u64,
    /// Whether its nodes have weights.
    pub is_weighted: bool,
}

impl TreeShape {
    /// Bytes of an entry.
    pub const LENGTH: u64 = 24;

    pub fn of(tree: &Tree) -> Self {
        Self {
            n_nodes: tree.node_count() as u64,
            n_set_words: tree.categories.as_ref().map_or(0, |categories| categories.sets.words.len() as u64),
            is_weighted: tree.statistics.weight.is_some(),
        }
    }

    /// The only tree of a model without a section "trees".
    pub fn of_single(shape: &Shape, entries: &[Entry]) -> Self {
        let length = |name: Name| entries.iter().find(|entry| entry.name == name).map(|entry| entry.length);
        Self {
            n_nodes: shape.n_nodes,
            n_set_words: length(Name::CATEGORY_SETS).unwrap_or(0) / 8,
            is_weighted: length(Name::WEIGHT).is_some(),
        }
    }

    pub fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        write_all(out, &[self.n_nodes, self.n_set_words, self.is_weighted.into()])
    }

    pub fn read(source: &mut impl Bounded) -> Result<Self> {
        let [n_nodes, n_set_words, flags] = [source.number()?, source.number()?, source.number::<u64>()?];
        if flags > 1 {
            return Err(Error::model("a tree has unknown flags"));
        }
        Ok(Self { n_nodes, n_set_words, is_weighted: flags == 1 })
    }
}

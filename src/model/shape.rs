//! The section "shape": the kind and size of a model, from which the lengths of its other sections
//! follow.

use std::io::Write;

use super::Task;
use super::codec::{Bounded, write_all};
use super::layout::{Entry, Name};
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

    pub fn of(tree: &Tree, task: Option<&Task>) -> Self {
        Self {
            task: match task {
                None => Self::TREE,
                Some(Task::Regression) => Self::REGRESSION,
                Some(Task::Classification(_)) => Self::CLASSIFICATION,
            },
            n_outputs: tree.n_outputs() as u32,
            n_features: tree.n_features() as u64,
            n_nodes: tree.node_count() as u64,
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

    /// Checks that the sections of a model of this shape exist and have the right lengths.
    pub fn check(&self, entries: &[Entry]) -> Result<()> {
        let length = |name: Name| entries.iter().find(|entry| entry.name == name).map(|entry| entry.length);
        let per_node = |size: u64| self.n_nodes.checked_mul(size);
        let required = [
            (Name::NODES, per_node(16)),
            (Name::VALUES, self.n_values.checked_mul(8).and_then(per_node)),
            (Name::IMPURITY, per_node(8)),
            (Name::ROWS, per_node(4)),
        ];
        let optional = [
            (Name::WEIGHT, per_node(8)),
            (Name::CATEGORY_COUNTS, self.n_features.checked_mul(4)),
            (Name::CATEGORY_SETS, length(Name::CATEGORY_SETS).map(|length| length / 8 * 8)),
        ];
        let optional = optional.into_iter().filter(|&(name, _)| length(name).is_some());
        for (name, expected) in required.into_iter().chain(optional) {
            if expected.is_none() || length(name) != expected {
                return Err(Error::model(format!(
                    "section {name} is missing, or its length does not match {} nodes of {} values and {} features",
                    self.n_nodes, self.n_values, self.n_features
                )));
            }
        }
        if length(Name::CATEGORY_COUNTS).is_some() != length(Name::CATEGORY_SETS).is_some() {
            return Err(Error::model("sections 'catcount' and 'catsets' must occur together"));
        }
        if length(Name::CLASSES).is_some() != (self.task == Self::CLASSIFICATION) {
            return Err(Error::model("a classification needs section 'classes', and other models must not have it"));
        }
        Ok(())
    }
}

//! What workers and the driver tell each other.

use crate::error::Result;
use crate::grow::tree_piece::NodeSummary;
use crate::search::Choice;
use crate::split::{Cut, Found};
use crate::tree::Test;
use crate::wire::{Wire, refuse, wire_struct};

wire_struct!(Cut { n_left, missing_left });
wire_struct!(Found { top, cut, gain });
wire_struct!(Choice { feature, gain, least, cut });
wire_struct!(Test { feature, threshold, missing_left, right });

/// How a node is grown on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    Leaf,
    /// Handed over whole to one worker.
    Small,
    /// Searched by all workers.
    Open,
}

impl Wire for NodeKind {
    fn write(&self, to: &mut Vec<u8>) {
        (*self as u8).write(to);
    }

    fn read(from: &mut &[u8]) -> Result<Self> {
        match u8::read(from)? {
            0 => Ok(Self::Leaf),
            1 => Ok(Self::Small),
            2 => Ok(Self::Open),
            kind => refuse(format!("has no node of kind {kind}")),
        }
    }
}

/// What the driver learns of a node.
#[derive(Clone)]
pub(super) struct NodeReport {
    pub kind: NodeKind,
    pub summary: NodeSummary,
    /// Absolute error of the node's gains.
    pub noise: f64,
    /// The gain up to which a cut gains nothing.
    pub nothing: Option<f64>,
}
wire_struct!(NodeReport { kind, summary, noise, nothing });

/// The best cut of a feature, which is numbered in the whole table; `None` if it was skipped or has
/// no allowed cut. Where no cut of the worker gains anything and the criterion avoids chains, also
/// the cut in the middle of the feature.
pub(super) type Finding = (usize, (Option<Found>, Option<Found>));

/// A worker's findings for each open node: those that could win, in ascending order of features.
pub(super) type Findings = Vec<Vec<Finding>>;

/// The feature that wins an open node.
pub(super) struct Decision {
    /// Its index among the open nodes.
    pub node: usize,
    pub choice: Choice,
}
wire_struct!(Decision { node, choice });

/// A node that the owner of the winning feature has divided.
pub(super) struct Divided {
    pub test: Test,
    pub n_left: usize,
    /// The statistics of the children, which only workers can read, and what the driver learns.
    pub children: [(Vec<u8>, NodeReport); 2],
}
wire_struct!(Divided { test, n_left, children });

/// For each decision of a worker, the division; `None` if the node becomes a leaf.
pub(super) type Divisions = Vec<Option<Divided>>;

/// How an open node was split.
pub(super) struct SplitNode {
    /// The worker that divided it.
    pub worker: usize,
    pub n_left: usize,
    /// The children's numbers in the top of the tree.
    pub ids: [usize; 2],
    /// The children's statistics.
    pub children: [Vec<u8>; 2],
}
wire_struct!(SplitNode { worker, n_left, ids, children });

/// For each open node, its split; `None` if it became a leaf.
pub(super) type Splits = Vec<Option<SplitNode>>;

/// Small nodes, by their number in the top, and the worker that grows each of them.
pub(super) struct HandOver {
    pub n_workers: usize,
    pub nodes: Vec<(usize, usize)>,
}
wire_struct!(HandOver { n_workers, nodes });

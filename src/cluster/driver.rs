//! The driver: decides the splits of each level from the findings of all workers, says which worker
//! grows which small node, and assembles the tree. It has neither cells nor targets.

use super::messages::{
    Decision, Divided, Divisions, Finding, Findings, HandOver, NodeKind, NodeReport, SplitNode, Splits,
};
use crate::error::{Error, Result};
use crate::fit::limit_leaves;
use crate::grow::Units;
use crate::grow::assemble::{NodeOutcome, TreeTop};
use crate::grow::tree_piece::TreePiece;
use crate::params::{Params, check_ccp_alpha};
use crate::search::{Choice, choose, gains_nothing, most_cuts};
use crate::threads::Team;
use crate::tree::Tree;
use crate::wire::{Wire, refuse};

/// Small nodes wait until there are this many per worker, so that no worker is idle for long.
const BATCH: usize = 16;
/// Small nodes that a worker gets at a time: bounds the memory of parcels.
const MOST_AT_ONCE: usize = 64;

/// Decides the splits of a fit on several machines, and assembles its tree.
///
/// [`ColumnWorker`](super::ColumnWorker) has an example.
pub struct Driver {
    tree: TreeTop,
    /// By feature: the worker that has it.
    owners: Vec<usize>,
    n_workers: usize,
    n_values: usize,
    max_leaves: usize,
    ccp_alpha: f64,
    /// Nodes that all workers search.
    open: Vec<OpenNode>,
    /// Small nodes of the last splits, whose rows the workers have not moved yet.
    arriving: Vec<SmallNode>,
    /// Small nodes that can be handed over.
    waiting: Vec<SmallNode>,
    /// Pieces that workers still have to send.
    n_handed_over: usize,
    /// For each worker the open nodes that it divides.
    decided: Vec<Vec<usize>>,
}

struct OpenNode {
    id: usize,
    noise: f64,
    nothing: Option<f64>,
}

#[derive(Clone, Copy)]
struct SmallNode {
    id: usize,
    rows: u32,
}

impl Driver {
    /// A driver for workers with these features, of a table with `n_features`.
    ///
    /// # Errors
    /// If a feature has no worker or several, or a setting of the whole tree is invalid.
    pub fn new(features_of_workers: &[Vec<usize>], n_features: usize, params: &Params) -> Result<Self> {
        check_ccp_alpha(params.ccp_alpha)?;
        let mut owners = vec![None; n_features];
        for (worker, features) in features_of_workers.iter().enumerate() {
            for &feature in features {
                if owners.get_mut(feature).is_none_or(|owner| owner.replace(worker).is_some()) {
                    let problem = format!("feature {feature} has two workers, or is not below {n_features}");
                    return Err(Error::argument("features", problem));
                }
            }
        }
        let Some(owners) = owners.into_iter().collect::<Option<Vec<usize>>>() else {
            return Err(Error::argument("features", "each feature needs a worker"));
        };
        Ok(Self {
            tree: TreeTop::default(),
            owners,
            n_workers: features_of_workers.len(),
            n_values: 0,
            max_leaves: params.max_leaves()?,
            ccp_alpha: params.ccp_alpha,
            open: Vec::new(),
            arriving: Vec::new(),
            waiting: Vec::new(),
            n_handed_over: 0,
            decided: Vec::new(),
        })
    }

    /// Takes a worker's description of the root; that of all workers is the same.
    ///
    /// # Errors
    /// If the message is damaged.
    pub fn begin(&mut self, root: &[u8]) -> Result<()> {
        let root = NodeReport::from_bytes(root)?;
        self.n_values = root.summary.values.len();
        self.add_node(root);
        Ok(())
    }

    /// Whether all nodes are grown.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.open.is_empty() && self.arriving.is_empty() && self.waiting.is_empty() && self.n_handed_over == 0
    }

    /// Number of nodes that are searched, of small nodes that wait, and of nodes of the top.
    #[must_use]
    pub fn progress(&self) -> [usize; 3] {
        [self.open.len(), self.arriving.len() + self.waiting.len(), self.tree.len()]
    }

    /// Decides the splits of the open nodes. Returns the message to each worker; a worker that has
    /// won no node (see [`Driver::winners`]) need not be asked to divide.
    ///
    /// # Errors
    /// If there is not one message per worker, or it doesn't fit the open nodes.
    pub fn decide(&mut self, findings: &[impl AsRef<[u8]>]) -> Result<Vec<Vec<u8>>> {
        let findings = findings.iter().map(|bytes| Findings::from_bytes(bytes.as_ref())).collect::<Result<Vec<_>>>()?;
        if findings.len() != self.n_workers || findings.iter().any(|nodes| nodes.len() != self.open.len()) {
            return refuse("has findings for other nodes than the open ones");
        }
        let mut decisions: Vec<Vec<Decision>> = (0..self.n_workers).map(|_| Vec::new()).collect();
        for (node, open) in self.open.iter().enumerate() {
            let mut found: Vec<_> = findings.iter().flat_map(|nodes| nodes[node].iter().copied()).collect();
            found.sort_unstable_by_key(|&(feature, _)| feature);
            if let Some(choice) = decide_node(&found, open) {
                let Some(&owner) = self.owners.get(choice.feature) else {
                    return refuse(format!("has feature {}, which no worker has", choice.feature));
                };
                decisions[owner].push(Decision { node, choice });
            }
        }
        self.waiting.append(&mut self.arriving);
        self.decided = decisions.iter().map(|of| of.iter().map(|decision| decision.node).collect()).collect();
        Ok(decisions.iter().map(Wire::to_bytes).collect())
    }

    /// The workers that have nodes to divide, after [`Driver::decide`].
    #[must_use]
    pub fn winners(&self) -> Vec<usize> {
        (0..self.decided.len()).filter(|&worker| !self.decided[worker].is_empty()).collect()
    }

    /// Which small nodes are handed over now, and to which workers; `None` if it is better to wait
    /// for more. Call it again until it returns `None`.
    pub fn hand_over(&mut self) -> Option<Vec<u8>> {
        let is_time = self.open.is_empty() || self.waiting.len() >= BATCH * self.n_workers;
        if self.waiting.is_empty() || !(is_time || self.n_handed_over > 0) {
            return None;
        }
        self.waiting.sort_unstable_by_key(|node| node.rows);
        let first = self.waiting.len().saturating_sub(MOST_AT_ONCE * self.n_workers);
        let (mut load, mut nodes) = (vec![0; self.n_workers], Vec::new());
        for node in self.waiting.drain(first..).rev() {
            let worker = (0..self.n_workers).min_by_key(|&worker| load[worker]).unwrap_or(0);
            load[worker] += u64::from(node.rows);
            nodes.push((node.id, worker));
        }
        self.n_handed_over += nodes.len();
        Some(HandOver { n_workers: self.n_workers, nodes }.to_bytes())
    }

    /// Takes the subtrees that a worker has grown.
    ///
    /// # Errors
    /// If the message is damaged, or has more subtrees than were handed over.
    pub fn finished(&mut self, pieces: &[u8]) -> Result<()> {
        for (id, piece) in Vec::<(usize, TreePiece)>::from_bytes(pieces)? {
            if id >= self.tree.len() || self.n_handed_over == 0 {
                return refuse(format!("has a subtree of node {id}, which was not handed over"));
            }
            self.n_handed_over -= 1;
            self.tree.set_outcome(id, NodeOutcome::Subtree(piece));
        }
        Ok(())
    }

    /// Takes the divisions of all workers, in their order; a worker without decisions may send
    /// nothing. Returns the message to all workers.
    ///
    /// # Errors
    /// If a message is damaged or doesn't fit the decisions.
    pub fn divided(&mut self, divisions: &[impl AsRef<[u8]>]) -> Result<Vec<u8>> {
        let mut divided: Vec<Option<(usize, Divided)>> = self.open.iter().map(|_| None).collect();
        for (worker, (bytes, nodes)) in divisions.iter().zip(&self.decided).enumerate() {
            let divisions = if nodes.is_empty() { Vec::new() } else { Divisions::from_bytes(bytes.as_ref())? };
            if divisions.len() != nodes.len() {
                return refuse(format!("has {} divisions instead of {}", divisions.len(), nodes.len()));
            }
            for (&node, division) in nodes.iter().zip(divisions) {
                divided[node] = division.map(|division| (worker, division));
            }
        }
        let open = std::mem::take(&mut self.open);
        let splits: Splits = open.iter().zip(divided).map(|(open, divided)| Some(self.split(open, divided?))).collect();
        Ok(splits.to_bytes())
    }

    /// Splits a node of the top.
    fn split(&mut self, open: &OpenNode, (worker, divided): (usize, Divided)) -> SplitNode {
        let Divided { test, n_left, children: [(left, left_report), (right, right_report)] } = divided;
        let ids = [self.add_node(left_report), self.add_node(right_report)];
        self.tree.set_outcome(open.id, NodeOutcome::Inner(test, ids));
        SplitNode { worker, n_left, ids, children: [left, right] }
    }

    /// Appends a node to the top of the tree, and returns its number.
    fn add_node(&mut self, NodeReport { kind, summary, noise, nothing }: NodeReport) -> usize {
        let rows = summary.rows;
        let id = self.tree.push_summary(summary);
        match kind {
            NodeKind::Leaf => {}
            NodeKind::Small => self.arriving.push(SmallNode { id, rows }),
            NodeKind::Open => self.open.push(OpenNode { id, noise, nothing }),
        }
        id
    }

    /// The tree.
    ///
    /// # Errors
    /// If the fit is not done.
    pub fn tree(self) -> Result<Tree> {
        if !self.is_done() || self.n_values == 0 {
            return refuse("asks for the tree before all nodes are grown");
        }
        let units = Units { target: 1.0, impurity: 1.0, weight: 1.0 };
        let team = Team::new(Some(1), 1, 0)?;
        let tree = self.tree.assemble_in(units, self.owners.len(), self.n_values, &team);
        limit_leaves(tree, self.max_leaves, self.ccp_alpha)
    }
}

/// Chooses among the findings of all workers, in ascending order of the features, as
/// [`decide`](crate::search::decide) does.
fn decide_node(findings: &[Finding], open: &OpenNode) -> Option<Choice> {
    let best = || findings.iter().filter_map(|&(feature, (found, _))| Some((feature, found?)));
    let middles = || findings.iter().filter_map(|&(feature, (_, middle))| Some((feature, middle?)));
    if let Some(gain) = gains_nothing(best(), open.nothing)
        && let Some((feature, cut)) = most_cuts(middles())
    {
        return Some(Choice { feature, gain, least: gain, cut: Some(cut) });
    }
    choose(best(), open.noise)
}

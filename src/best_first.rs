//! Best-first growth: the split with the largest gain is made next, until there are enough leaves.
//!
//! The split of a node does not depend on when it is made. So the tree is grown as usual, its
//! splits are then taken in best-first order, and nodes that this order does not reach become
//! leaves. Cost: a full fit, and O(leaves · log leaves) for the order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::error::Result;
use crate::tree::Tree;

/// A split that could be made next: its gain, when it became available, and its node. The greatest
/// is made: the one with the largest gain, and of equal ones the first.
type OpenSplit = (u64, Reverse<usize>, usize);

impl Tree {
    /// This tree with only the splits that best-first growth to at most `max_leaves` leaves makes.
    pub(crate) fn with_best_leaves(&self, max_leaves: usize) -> Result<Self> {
        let mut is_made = vec![false; self.node_count()];
        let mut n_available = 0;
        let mut open: BinaryHeap<OpenSplit> = BinaryHeap::new();
        let mut add = |open: &mut BinaryHeap<OpenSplit>, id: usize| {
            if self.children(id).is_some() {
                open.push((self.gain_key(id), Reverse(n_available), id));
            }
            n_available += 1;
        };
        add(&mut open, 0);
        for _ in 1..max_leaves {
            let Some((_, _, id)) = open.pop() else { break };
            is_made[id] = true;
            let (left, right) = self.children(id).expect("only splits are added");
            add(&mut open, left);
            add(&mut open, right);
        }
        self.cut(|id| !is_made[id])
    }

    /// The gain of the node's split, as bits in the order of gains. A gain is a difference of
    /// losses, so that its last digits are rounding: gains that differ only in these are equal.
    fn gain_key(&self, id: usize) -> u64 {
        let (left, right) = self.children(id).expect("a split");
        let gain = (self.loss(id) - self.loss(left) - self.loss(right)).max(0.0);
        // About 2^-44 of the loss, rounded to a power of two, so that the grids of different nodes
        // have points in common.
        let grid = f64::from_bits((self.loss(id).to_bits() >> 52 << 52).saturating_sub(44 << 52).max(1 << 52));
        let rounded = gain / grid;
        // Gains beyond 2^52 grid steps have no digits below the grid. The quotient is infinite for
        // the finest grids.
        (if rounded < 4e15 { rounded.round() * grid } else { gain }).to_bits()
    }
}

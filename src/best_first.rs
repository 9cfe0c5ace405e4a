//! Best-first growth: of all splits that could come next, the one that gains most is made, until there are enough leaves.
//!
//! What a node's split is does not depend on when it is made. So the tree is grown as usual, and the splits are then taken in
//! that order; those that are never reached become leaves again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::error::Result;
use crate::tree::Tree;

/// A split that could be made next. The greatest is: the one that gains most, the first to come up among equals.
type Offer = (u64, Reverse<usize>, usize);

impl Tree {
    /// The same tree with the splits alone that growing it best-first to at most this many leaves makes.
    pub(crate) fn with_best_leaves(&self, max_leaves: usize) -> Result<Self> {
        let mut is_made = vec![false; self.node_count()];
        let mut came_up = 0;
        let mut offers: BinaryHeap<Offer> = BinaryHeap::new();
        let mut offer = |offers: &mut BinaryHeap<Offer>, id: usize| {
            if self.children(id).is_some() {
                offers.push((self.gain_key(id), Reverse(came_up), id));
            }
            came_up += 1;
        };
        offer(&mut offers, 0);
        for _ in 1..max_leaves {
            let Some((_, _, id)) = offers.pop() else { break };
            is_made[id] = true;
            let (left, right) = self.children(id).expect("only splits are offered");
            offer(&mut offers, left);
            offer(&mut offers, right);
        }
        self.cut(|id| !is_made[id])
    }

    /// What the node's split gains, as bits that order like it. Its last digits are rounding of the losses that it is a difference of:
    /// gains that differ in them alone are equal.
    fn gain_key(&self, id: usize) -> u64 {
        let (left, right) = self.children(id).expect("a split");
        let gain = (self.loss(id) - self.loss(left) - self.loss(right)).max(0.0);
        // 2^-44 of the loss, or a little more: a power of two, so that the grids of different nodes have points in common.
        let grid = f64::from_bits((self.loss(id).to_bits() >> 52 << 52).saturating_sub(44 << 52).max(1 << 52));
        let rounded = gain / grid;
        // Beyond 2^52 a gain has no digits below the grid; infinite where the grid is that fine.
        (if rounded < 4e15 { rounded.round() * grid } else { gain }).to_bits()
    }
}

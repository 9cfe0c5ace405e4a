//! Compact nodes: what a step down needs and nothing else, with children side by side.
//!
//! ```text
//!  slot   0      1      2     3       4     5        6   7
//!       none │ root │ left  right │ left  right  │ …
//!                     of the root   of its left child
//! ```
//!
//! A step down is `next + !(cell <= threshold)`: no branch, and the two children are adjacent.
//! Pairs of children stand in the arena's depth-first order, so half of the steps end nearby, and a
//! subtree is contiguous in memory.
//!
//! The threshold of a leaf is NaN, so every comparison fails, and its `next` is the slot before its
//! own: a step from a leaf leads to the leaf itself. Rows that have arrived can therefore be
//! stepped further without a test. The NaN's payload is the leaf's id in the arena.
//!
//! Cost of a copy: one pass over the arena, about 10 ns per node; 8 or 16 bytes per node. The trees
//! of a forest stand in one piece of memory, which large pages can hold.

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::data::Cell;
use crate::memory::Pages;
use crate::threads::Team;
use crate::tree::{ArenaNode, Test, Tree};

/// The root's slot.
pub(super) const ROOT: u32 = 1;

/// A node of a layout, for cells of type `X`.
pub(crate) trait CompactNode<X: Cell>: Copy + Send + Sync {
    /// An inner node whose children are in the slots `next` and `next + 1`.
    fn inner(test: &Test, next: u32) -> Self;
    /// A leaf in this slot, with this id in the arena.
    fn leaf(slot: u32, id: u32) -> Self;
    /// The feature that the node tests; feature 0 at a leaf.
    fn feature(&self) -> usize;
    /// The slot of the child that a cell leads to, or the leaf's own slot. A missing cell goes to
    /// the learned side only if `MISSING`; otherwise it goes right.
    fn step<const MISSING: bool>(&self, cell: X) -> usize;
    /// A leaf's id in the arena.
    fn id(&self) -> u32;
}

/// A node of 8 bytes, for `f32` cells and all but the largest trees.
///
/// The threshold is rounded down to an `f32`. No `f32` lies between the rounded threshold and the
/// exact one, so every `f32` cell goes to the same side as in the arena.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(crate) struct Narrow {
    threshold: f32,
    /// From the highest bit: the feature, a bit that is 1 if missing values go left, and `next`.
    packed: u32,
}

impl Narrow {
    const FEATURE_BITS: u32 = 10;
    const SLOT_BITS: u32 = u32::BITS - 1 - Self::FEATURE_BITS;
    /// Bits of the NaN that stands for the leaf with id 0. Infinity is one less.
    const FIRST_NAN: u32 = f32::INFINITY.to_bits() + 1;

    /// Whether a tree of this size fits into such nodes.
    pub fn fits(n_features: usize, node_count: usize) -> bool {
        n_features <= 1 << Self::FEATURE_BITS && node_count < 1 << Self::SLOT_BITS
    }
}

impl CompactNode<f32> for Narrow {
    fn inner(test: &Test, next: u32) -> Self {
        let missing_left = u32::from(test.missing_left);
        let packed = test.feature << (1 + Self::SLOT_BITS) | missing_left << Self::SLOT_BITS | next;
        Self { threshold: f32::not_above(test.threshold), packed }
    }

    fn leaf(slot: u32, id: u32) -> Self {
        Self { threshold: f32::from_bits(Self::FIRST_NAN + id), packed: slot - 1 }
    }

    #[inline(always)]
    fn feature(&self) -> usize {
        (self.packed >> (1 + Self::SLOT_BITS)) as usize
    }

    #[inline(always)]
    fn step<const MISSING: bool>(&self, cell: f32) -> usize {
        let next = self.packed & ((1 << Self::SLOT_BITS) - 1);
        let missing_left = self.packed >> Self::SLOT_BITS & 1 != 0;
        choose::<f32, MISSING>(next, cell, self.threshold, missing_left)
    }

    #[inline(always)]
    fn id(&self) -> u32 {
        debug_assert!(self.threshold.is_nan(), "only leaves have one");
        self.threshold.to_bits() - Self::FIRST_NAN
    }
}

/// A node of 16 bytes, for `f64` cells and for the largest trees.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub(crate) struct Wide {
    threshold: f64,
    /// The feature, and a lowest bit that is 1 if missing values go left.
    feature: u32,
    next: u32,
}

impl Wide {
    const FIRST_NAN: u64 = f64::INFINITY.to_bits() + 1;
}

impl<X: Cell> CompactNode<X> for Wide {
    fn inner(test: &Test, next: u32) -> Self {
        Self { threshold: test.threshold, feature: test.feature << 1 | u32::from(test.missing_left), next }
    }

    fn leaf(slot: u32, id: u32) -> Self {
        Self { threshold: f64::from_bits(Self::FIRST_NAN + u64::from(id)), feature: 0, next: slot - 1 }
    }

    #[inline(always)]
    fn feature(&self) -> usize {
        (self.feature >> 1) as usize
    }

    #[inline(always)]
    fn step<const MISSING: bool>(&self, cell: X) -> usize {
        choose::<f64, MISSING>(self.next, cell.to_f64(), self.threshold, self.feature & 1 != 0)
    }

    #[inline(always)]
    fn id(&self) -> u32 {
        debug_assert!(self.threshold.is_nan(), "only leaves have one");
        (self.threshold.to_bits() - Self::FIRST_NAN) as u32
    }
}

/// `next` if the cell goes left, else the slot after it.
#[inline(always)]
// With a NaN, as a missing cell or as the threshold of a leaf, the comparison is false: right.
#[allow(clippy::neg_cmp_op_on_partial_ord)]
fn choose<X: Cell, const MISSING: bool>(next: u32, cell: X, threshold: X, missing_left: bool) -> usize {
    let right = !(cell <= threshold) & !(MISSING & missing_left & cell.is_missing());
    // Processors add the outcome of this comparison to a number in one instruction.
    (next + u32::from(right)) as usize
}

/// The compact nodes of one or more trees, tree after tree, in one piece of memory.
#[derive(Debug)]
pub(crate) struct CompactTrees<N> {
    nodes: Pages<N>,
    /// By tree: its nodes, and the number of steps from the root to the deepest leaf.
    trees: Vec<(Range<usize>, usize)>,
    n_features: usize,
}

impl<N> CompactTrees<N> {
    /// Copies trees with the same number of features; the threads of the team take whole trees.
    /// `None` if there is not enough memory.
    pub fn new<X: Cell>(trees: &[&Tree], team: &Team) -> Option<Self>
    where
        N: CompactNode<X>,
    {
        let mut end = 0;
        let ranges = trees.iter().map(|tree| {
            // An unused slot, and an odd number of nodes. So every tree begins at an even slot.
            let start = end;
            end += tree.node_count() + 1;
            (start..end, tree.max_depth())
        });
        let ranges: Vec<_> = ranges.collect();
        let nodes = Pages::filled(end, |mut places| {
            let mut jobs = Vec::new();
            for tree in trees {
                let (of_tree, later) = std::mem::take(&mut places).split_at_mut(tree.node_count() + 1);
                jobs.push((&tree.nodes, of_tree));
                places = later;
            }
            team.each(&mut jobs, &mut vec![(); team.threads()], |(), (arena, places)| copy::<X, N>(arena, places));
        });
        Some(Self { nodes: nodes?, trees: ranges, n_features: trees[0].n_features() })
    }

    /// The nodes of one tree.
    pub fn layout(&self, tree: usize) -> Layout<'_, N>
    where
        N: Copy,
    {
        let (range, depth) = &self.trees[tree];
        Layout { nodes: &self.nodes[range.clone()], depth: *depth, n_features: self.n_features }
    }
}

/// Writes every place: slot 0, and the slots of a valid arena. The stack is as high as the tree is
/// deep.
fn copy<X: Cell, N: CompactNode<X>>(arena: &[ArenaNode], places: &mut [MaybeUninit<N>]) {
    for place in &mut *places {
        place.write(N::leaf(ROOT, 0));
    }
    // Slots of the right children that are still to come, the next one last.
    let mut pending = Vec::new();
    let (mut slot, mut next) = (ROOT, ROOT + 1);
    for (id, node) in arena.iter().enumerate() {
        if let Some(test) = node.test() {
            places[slot as usize].write(N::inner(&test, next));
            pending.push(next + 1);
            slot = next;
            next += 2;
        } else {
            places[slot as usize].write(N::leaf(slot, id as u32));
            slot = pending.pop().unwrap_or_default();
        }
    }
}

/// A tree in compact nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout<'n, N> {
    /// Invariant: every `next` is a slot of this slice, and so is `next + 1` of an inner node.
    pub nodes: &'n [N],
    /// Steps from the root to the deepest leaf.
    pub depth: usize,
    /// Invariant: every feature of `nodes` is below this number.
    pub n_features: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_threshold() -> impl Strategy<Value = f64> {
        let special = vec![
            0.0,
            -0.0,
            5e-324,
            -5e-324,
            1e-50,
            -1e-50,
            1e-45,
            f64::from(f32::MAX),
            f64::from(f32::MAX) * (1.0 + 1e-9),
            f64::from(f32::MAX) * (1.0 + 1e-7),
            f64::MAX,
            f64::INFINITY,
        ];
        let special = prop::sample::select(special).prop_flat_map(|x| prop::sample::select(vec![x, -x]));
        let beside = any::<f32>().prop_flat_map(|x| {
            let x = f64::from(x);
            prop::sample::select(vec![x, x.next_up(), x.next_down()])
        });
        prop_oneof![special, beside, any::<f64>()].prop_filter("thresholds are numbers", |x| !x.is_nan())
    }

    fn any_cell(threshold: f64) -> impl Strategy<Value = f32> {
        let near = threshold as f32;
        let near = vec![near, near.next_up(), near.next_down(), f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, f32::NAN];
        // NaN of either sign and any payload.
        prop_oneof![prop::sample::select(near), any::<u32>().prop_map(f32::from_bits)]
    }

    proptest! {
        #[test]
        fn a_step_goes_where_the_threshold_says(
            (threshold, cell) in any_threshold().prop_flat_map(|t| (Just(t), any_cell(t))),
            missing_left in any::<bool>(),
            feature in 0..1u32 << Narrow::FEATURE_BITS,
            pair in 1..(1u32 << Narrow::SLOT_BITS) / 2,
        ) {
            let test = Test { feature, threshold, missing_left, right: 0 };
            let (wide_cell, next) = (f64::from(cell), pair * 2);
            let left = if cell.is_nan() { missing_left } else { wide_cell <= threshold };
            let expected = (next + u32::from(!left)) as usize;
            let (narrow, wide) = (Narrow::inner(&test, next), <Wide as CompactNode<f64>>::inner(&test, next));
            prop_assert_eq!(narrow.step::<true>(cell), expected);
            prop_assert_eq!(wide.step::<true>(cell), expected);
            prop_assert_eq!(wide.step::<true>(wide_cell), expected);
            if !cell.is_nan() {
                prop_assert_eq!(narrow.step::<false>(cell), expected);
                prop_assert_eq!(wide.step::<false>(cell), expected);
                prop_assert_eq!(wide.step::<false>(wide_cell), expected);
            }
            prop_assert_eq!((narrow.feature(), CompactNode::<f64>::feature(&wide)), (feature as usize, feature as usize));
        }

        #[test]
        fn a_leaf_keeps_every_row(cell in any::<u64>().prop_map(f64::from_bits), slot in 1..1u32 << Narrow::SLOT_BITS) {
            let id = slot / 3;
            let (narrow, wide) = (Narrow::leaf(slot, id), <Wide as CompactNode<f64>>::leaf(slot, id));
            for cell in [cell, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let own = slot as usize;
                prop_assert_eq!((narrow.step::<true>(cell as f32), wide.step::<true>(cell)), (own, own));
                prop_assert_eq!((narrow.step::<false>(cell as f32), wide.step::<false>(cell)), (own, own));
            }
            prop_assert_eq!((narrow.feature(), narrow.id()), (0, id));
            prop_assert_eq!((CompactNode::<f64>::feature(&wide), CompactNode::<f64>::id(&wide)), (0, id));
        }
    }

    #[test]
    fn nodes_are_small_and_the_largest_ids_fit() {
        assert_eq!((size_of::<Narrow>(), size_of::<Wide>()), (8, 16));
        let most = (1 << Narrow::SLOT_BITS) - 1;
        assert!(Narrow::fits(1 << Narrow::FEATURE_BITS, most as usize));
        assert!(!Narrow::fits((1 << Narrow::FEATURE_BITS) + 1, 1));
        assert!(!Narrow::fits(1, most as usize + 1));
        assert_eq!(Narrow::leaf(most, most - 1).id(), most - 1);
        assert_eq!(<Wide as CompactNode<f64>>::id(&<Wide as CompactNode<f64>>::leaf(u32::MAX, u32::MAX)), u32::MAX);
    }
}

//! HOT: the kernels that take a block of rows to their leaves.
//!
//! ```text
//! slot = ROOT
//! loop: slot = nodes[slot].step(row[nodes[slot].feature])      until the slot does not change
//! ```
//!
//! Each step waits for two loads, the node and the cell. The kernels depart from this loop as
//! follows:
//!
//! 1. Many rows are in flight, so that the loads of different rows overlap. In a small tree, 8 rows
//!    step together in registers until all have arrived. In a large tree, whose nodes are far away
//!    in memory, up to 256 rows do: each pass takes every row that has not arrived one step down
//!    and prefetches its next node, which arrives while the other rows take their steps.
//! 2. A step from a leaf leads to the leaf itself, so that arrival is tested only every few steps.
//! 3. The first attempt ignores missing cells. It adds up the cells that it meets; if the sum is
//!    NaN, a cell was missing (or infinities cancelled), and the block is walked again with a test
//!    of each cell. Testing each cell always would take 30 to 50 % longer.
//!
//! `every_kernel_agrees_with_the_arena` compares all kernels with the walk down the arena.

use super::layout::{CompactNode, Layout, ROOT};
use crate::data::{Cell, Matrix, Row};
use crate::memory::prefetch;

/// Rows of a block.
pub(crate) const BLOCK: usize = 256;
/// Rows that step together in registers.
const GROUP: usize = 8;
/// Steps between two tests of whether all rows of a group have arrived.
const BURST: usize = 4;
/// Trees of more bytes than this do not stay in a core's own cache.
const LARGE_BYTES: usize = 1 << 18;
/// Top levels of a large tree that stay in cache and are walked in registers.
const NEAR_LEVELS: usize = 10;
/// How many rows ahead cells are prefetched.
const ROWS_AHEAD: usize = 64;
/// A walk reads too small a part of longer rows to prefetch them whole.
const PREFETCHED_ROW_BYTES: usize = 512;

/// Writes the ids of the leaves of rows `first`, `first + 1`, … of `x`, as many as `leaves` has
/// entries.
pub(super) fn walk<X: Cell, N: CompactNode<X>>(
    layout: Layout<'_, N>,
    x: &Matrix<'_, X>,
    first: usize,
    leaves: &mut [u32],
) {
    assert!(leaves.len() <= BLOCK && first + leaves.len() <= x.n_rows() && layout.n_features == x.n_columns());
    let block = Block { layout, x, first };
    // With adjacent cells, a step needs no multiplication. Missing cells are ignored at first.
    let found = if x.has_adjacent_columns() {
        block.walk::<true, false>(leaves).or_else(|_| block.walk::<true, true>(leaves))
    } else {
        block.walk::<false, false>(leaves).or_else(|_| block.walk::<false, true>(leaves))
    };
    debug_assert_eq!(found, Ok(()), "a walk that tests for missing cells does not fail");
    for slot in leaves {
        *slot = layout.nodes[*slot as usize].id();
    }
}

/// A walk that ignores missing cells met one, or met infinities whose sum is NaN.
#[derive(Debug, PartialEq)]
struct MetMissing;

/// The rows from `first` on, of a matrix with the columns that the nodes test.
struct Block<'a, X, N> {
    layout: Layout<'a, N>,
    x: &'a Matrix<'a, X>,
    first: usize,
}

impl<X: Cell, N: CompactNode<X>> Block<'_, X, N> {
    /// Writes the slots of all rows' leaves. `ADJACENT`: the columns of the matrix are adjacent.
    /// `MISSING`: test for missing cells.
    fn walk<const ADJACENT: bool, const MISSING: bool>(&self, slots: &mut [u32]) -> Result<(), MetMissing> {
        if size_of_val(self.layout.nodes) <= LARGE_BYTES {
            self.walk_near::<ADJACENT, MISSING>(slots)
        } else {
            self.walk_far::<ADJACENT, MISSING>(NEAR_LEVELS, slots)
        }
    }

    /// The kernel for small trees.
    fn walk_near<const ADJACENT: bool, const MISSING: bool>(&self, slots: &mut [u32]) -> Result<(), MetMissing> {
        self.descend::<ADJACENT, MISSING>(self.layout.depth, slots)
    }

    /// The kernel for large trees, of which the top `near` levels stay in cache.
    fn walk_far<const ADJACENT: bool, const MISSING: bool>(
        &self,
        near: usize,
        slots: &mut [u32],
    ) -> Result<(), MetMissing> {
        self.descend::<ADJACENT, MISSING>(near, slots)?;
        self.finish::<ADJACENT, MISSING>(slots)
    }

    /// The slot that a row reaches from this one, and the cell that decided.
    ///
    /// # Safety
    /// `slot` must be the root's or the result of a step.
    #[inline(always)]
    unsafe fn step<const ADJACENT: bool, const MISSING: bool>(&self, slot: usize, row: &Row<'_, X>) -> (usize, X) {
        // SAFETY: every step ends at a slot of the layout, and its features are columns of x (see
        // `Layout`; `walk` asserts the number of columns).
        unsafe {
            let node = self.layout.nodes.get_unchecked(slot);
            let cell = row.get_unchecked::<ADJACENT>(node.feature());
            (node.step::<MISSING>(cell), cell)
        }
    }

    /// Takes all rows from the root this many levels down, or to their leaves.
    fn descend<const ADJACENT: bool, const MISSING: bool>(
        &self,
        levels: usize,
        slots: &mut [u32],
    ) -> Result<(), MetMissing> {
        let (groups, rest) = slots.as_chunks_mut::<GROUP>();
        for (i, group) in groups.iter_mut().enumerate() {
            if ADJACENT {
                self.prefetch_group(i * GROUP);
            }
            *group = self.descend_group::<GROUP, ADJACENT, MISSING>(i * GROUP, levels)?;
        }
        let first = groups.len() * GROUP;
        for (i, slot) in rest.iter_mut().enumerate() {
            [*slot] = self.descend_group::<1, ADJACENT, MISSING>(first + i, levels)?;
        }
        Ok(())
    }

    /// Prefetches the cells of the group of rows that comes `ROWS_AHEAD` rows later.
    #[inline(always)]
    fn prefetch_group(&self, first: usize) {
        let first = self.first + first + ROWS_AHEAD;
        if first + GROUP <= self.x.n_rows() && self.x.n_columns() * size_of::<X>() <= PREFETCHED_ROW_BYTES {
            self.x.cache_lines(first..first + GROUP).for_each(prefetch);
        }
    }

    /// `descend` for `ROWS` rows from `first` on, in registers.
    #[inline(always)]
    fn descend_group<const ROWS: usize, const ADJACENT: bool, const MISSING: bool>(
        &self,
        first: usize,
        levels: usize,
    ) -> Result<[u32; ROWS], MetMissing> {
        let rows: [Row<'_, X>; ROWS] = std::array::from_fn(|i| self.x.row(self.first + first + i));
        let mut slots = [ROOT as usize; ROWS];
        // A sum is NaN if one of its terms is.
        let mut sums = [X::default(); ROWS];
        let mut levels = levels;
        while levels > 0 {
            let burst = levels.min(BURST);
            for _ in 1..burst {
                (slots, sums, _) = self.step_all::<ROWS, ADJACENT, MISSING>(&rows, slots, sums);
            }
            let moved;
            (slots, sums, moved) = self.step_all::<ROWS, ADJACENT, MISSING>(&rows, slots, sums);
            if !moved {
                break;
            }
            levels -= burst;
        }
        let missing = !MISSING && sums.into_iter().reduce(|a, b| a + b).is_some_and(X::is_missing);
        if missing { Err(MetMissing) } else { Ok(slots.map(|slot| slot as u32)) }
    }

    /// Takes each row one step down; the last result is whether a row moved. Arrays are passed by
    /// value, so that they stay in registers.
    #[inline(always)]
    fn step_all<const ROWS: usize, const ADJACENT: bool, const MISSING: bool>(
        &self,
        rows: &[Row<'_, X>; ROWS],
        mut slots: [usize; ROWS],
        mut sums: [X; ROWS],
    ) -> ([usize; ROWS], [X; ROWS], bool) {
        let mut moved = 0;
        for i in 0..ROWS {
            // SAFETY: slots start at the root and come from steps.
            let (next, cell) = unsafe { self.step::<ADJACENT, MISSING>(slots[i], &rows[i]) };
            sums[i] = sums[i] + cell;
            moved |= next ^ slots[i];
            slots[i] = next;
        }
        (slots, sums, moved != 0)
    }

    /// Takes all rows from their slots to their leaves.
    fn finish<const ADJACENT: bool, const MISSING: bool>(&self, slots: &mut [u32]) -> Result<(), MetMissing> {
        // Slot and row of each row that has not arrived; these are `walkers[..under_way]`.
        let mut walkers = [(0u32, 0u32); BLOCK];
        for (row, (walker, &mut slot)) in walkers.iter_mut().zip(slots.iter_mut()).enumerate() {
            *walker = (slot, row as u32);
        }
        let mut under_way = slots.len();
        while under_way > 0 {
            let mut kept = 0;
            let mut sum = X::default();
            for place in 0..under_way {
                // SAFETY: places and rows are below the length of the block, and slots come from
                // steps.
                unsafe {
                    let (slot, row) = *walkers.get_unchecked(place);
                    let (next, cell) =
                        self.step::<ADJACENT, MISSING>(slot as usize, &self.x.row(self.first + row as usize));
                    sum = sum + cell;
                    prefetch(self.layout.nodes.as_ptr().wrapping_add(next));
                    *walkers.get_unchecked_mut(kept) = (next as u32, row);
                    *slots.get_unchecked_mut(row as usize) = next as u32;
                    kept += usize::from(next as u32 != slot);
                }
            }
            if !MISSING && sum.is_missing() {
                return Err(MetMissing);
            }
            under_way = kept;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::layout::{CompactTrees, Narrow, Wide};
    use crate::predict::tests::{Drawn, leaves};
    use crate::threads::Team;
    use crate::tree::Tree;
    use proptest::prelude::*;
    use proptest::test_runner::TestCaseResult;

    /// Runs every kernel on every block. Those that ignore missing cells may fail where a cell is
    /// missing or sums are infinite.
    fn check<X: Cell, N: CompactNode<X>, const ADJACENT: bool>(tree: &Tree, x: &Matrix<'_, X>) -> TestCaseResult {
        let compact = CompactTrees::<N>::new::<X>(&[tree], &Team::of_caller()).unwrap();
        let layout = compact.layout(0);
        for (i, expected) in leaves(tree, x).chunks(BLOCK).enumerate() {
            let block = Block { layout, x, first: i * BLOCK };
            let rows = block.first..block.first + expected.len();
            let mut cells = rows.flat_map(|row| (0..x.n_columns()).map(move |column| x.get(row, column).to_f64()));
            let tame = cells.all(|cell| cell.abs() < 1e30);
            let verify = |kernel: &dyn Fn(&mut [u32]) -> Result<(), MetMissing>, may_fail: bool| {
                let mut slots = vec![u32::MAX; expected.len()];
                if kernel(&mut slots).is_err() {
                    prop_assert!(may_fail);
                    return Ok(());
                }
                let found: Vec<i64> = slots.iter().map(|&slot| layout.nodes[slot as usize].id().into()).collect();
                prop_assert_eq!(found, expected);
                Ok(())
            };
            verify(&|slots| block.walk_near::<ADJACENT, true>(slots), false)?;
            verify(&|slots| block.walk_near::<ADJACENT, false>(slots), !tame)?;
            for near in [0, 1, NEAR_LEVELS] {
                verify(&|slots| block.walk_far::<ADJACENT, true>(near, slots), false)?;
                verify(&|slots| block.walk_far::<ADJACENT, false>(near, slots), !tame)?;
            }
        }
        Ok(())
    }

    fn check_orders<X: Cell, N: CompactNode<X>>(tree: &Tree, x: &Matrix<'_, X>) -> TestCaseResult {
        if x.has_adjacent_columns() {
            check::<X, N, true>(tree, x)?;
        }
        check::<X, N, false>(tree, x)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn every_kernel_agrees_with_the_arena(drawn in Drawn::any(1..600)) {
            let tree = drawn.tree();
            check_orders::<f32, Narrow>(&tree, &drawn.matrix(&drawn.cells::<f32>(&tree)))?;
            check_orders::<f32, Wide>(&tree, &drawn.matrix(&drawn.cells::<f32>(&tree)))?;
            check_orders::<f64, Wide>(&tree, &drawn.matrix(&drawn.cells::<f64>(&tree)))?;
        }
    }
}

//! The kernels: a block of rows walks to its leaves.
//!
//! A step down waits for two loads, of the node and of the cell, so many rows are kept in flight. In a small tree 8 rows
//! step together in registers until all have arrived. In a large one, whose nodes are far away in memory, up to 64 rows do: after
//! a few levels at the top, each pass takes every row that is still under way one step down and asks for its next node
//! ahead of time, which arrives while the others take theirs.

use super::layout::{Layout, Node, ROOT};
use crate::data::{Cell, Matrix, Row};
use crate::memory::prefetch;

/// Rows of a block.
pub(super) const BLOCK: usize = 64;
/// Rows that step together in registers.
const GROUP: usize = 8;
/// Steps between two looks at whether all rows of a group have arrived.
const BURST: usize = 4;
/// Trees of more bytes than this don't stay in the cache that belongs to one core.
const LARGE_BYTES: usize = 1 << 18;
/// Levels of a large tree that are near enough to be walked in registers.
const NEAR_LEVELS: usize = 10;
/// Of longer rows a walk needs too small a part to ask for all of it.
const PREFETCHED_ROW_BYTES: usize = 512;

/// The numbers in the arena of the leaves of rows `first`, `first + 1`, … of `x`, one for each of `leaves`.
pub(super) fn walk<X: Cell, N: Node<X>>(layout: &Layout<N>, x: &Matrix<'_, X>, first: usize, leaves: &mut [u32]) {
    assert!(leaves.len() <= BLOCK && first + leaves.len() <= x.n_rows() && layout.n_features == x.n_columns());
    let block = Block { layout, x, first };
    // Where a row's cells are next to each other, a step need not multiply. Where no cell is missing, it need not look.
    let found = if x.has_adjacent_columns() {
        block.walk::<true, false>(leaves).or_else(|_| block.walk::<true, true>(leaves))
    } else {
        block.walk::<false, false>(leaves).or_else(|_| block.walk::<false, true>(leaves))
    };
    debug_assert_eq!(found, Ok(()), "who looks at missing cells does not give up");
    for slot in leaves {
        *slot = layout.nodes[*slot as usize].id();
    }
}

/// A cell was missing (or a sum of infinities looked like it), so a walk that does not look at missing cells gave up.
#[derive(Debug, PartialEq)]
struct MetMissing;

/// The rows from `first` on of a matrix that has the columns that the nodes ask for.
struct Block<'a, X, N> {
    layout: &'a Layout<N>,
    x: &'a Matrix<'a, X>,
    first: usize,
}

impl<X: Cell, N: Node<X>> Block<'_, X, N> {
    /// Finds the slots of all rows' leaves. `ADJACENT`: of a matrix with adjacent columns. `MISSING`: look at missing cells.
    fn walk<const ADJACENT: bool, const MISSING: bool>(&self, slots: &mut [u32]) -> Result<(), MetMissing> {
        if size_of_val(&self.layout.nodes[..]) <= LARGE_BYTES {
            self.walk_near::<ADJACENT, MISSING>(slots)
        } else {
            self.walk_far::<ADJACENT, MISSING>(NEAR_LEVELS, slots)
        }
    }

    /// The kernel for small trees.
    fn walk_near<const ADJACENT: bool, const MISSING: bool>(&self, slots: &mut [u32]) -> Result<(), MetMissing> {
        self.descend::<ADJACENT, MISSING>(self.layout.depth, slots)
    }

    /// The kernel for large trees, of which so many levels are near.
    fn walk_far<const ADJACENT: bool, const MISSING: bool>(
        &self,
        near: usize,
        slots: &mut [u32],
    ) -> Result<(), MetMissing> {
        self.descend::<ADJACENT, MISSING>(near, slots)?;
        self.finish::<ADJACENT, MISSING>(slots)
    }

    /// The slot that a row reaches from this one, and the cell that led there.
    ///
    /// # Safety
    /// The slot must be the root's or come from a step.
    #[inline(always)]
    unsafe fn step<const ADJACENT: bool, const MISSING: bool>(&self, slot: usize, row: &Row<'_, X>) -> (usize, X) {
        // SAFETY: the layout's slots lead to its slots, and its features are columns of x.
        unsafe {
            let node = self.layout.nodes.get_unchecked(slot);
            let cell = row.get_unchecked::<ADJACENT>(node.feature());
            (node.step::<MISSING>(cell), cell)
        }
    }

    /// Takes all rows from the root so many levels down, or to their leaves.
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

    /// Asks for the cells of the group of rows that comes a block later.
    #[inline(always)]
    fn prefetch_group(&self, first: usize) {
        let first = self.first + first + BLOCK;
        if first + GROUP <= self.x.n_rows() && self.x.n_columns() * size_of::<X>() <= PREFETCHED_ROW_BYTES {
            self.x.cache_lines(first..first + GROUP).for_each(prefetch);
        }
    }

    /// The same for some rows from `first` on, in registers.
    #[inline(always)]
    fn descend_group<const ROWS: usize, const ADJACENT: bool, const MISSING: bool>(
        &self,
        first: usize,
        levels: usize,
    ) -> Result<[u32; ROWS], MetMissing> {
        let rows: [Row<'_, X>; ROWS] = std::array::from_fn(|i| self.x.row(self.first + first + i));
        let mut slots = [ROOT as usize; ROWS];
        // A sum is missing if one of its terms is.
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

    /// Takes each row a step down, and says whether one of them moved. By value, so that everything stays in registers.
    #[inline(always)]
    fn step_all<const ROWS: usize, const ADJACENT: bool, const MISSING: bool>(
        &self,
        rows: &[Row<'_, X>; ROWS],
        mut slots: [usize; ROWS],
        mut sums: [X; ROWS],
    ) -> ([usize; ROWS], [X; ROWS], bool) {
        let mut moved = 0;
        for i in 0..ROWS {
            // SAFETY: slots start at the root.
            let (next, cell) = unsafe { self.step::<ADJACENT, MISSING>(slots[i], &rows[i]) };
            sums[i] = sums[i] + cell;
            moved |= next ^ slots[i];
            slots[i] = next;
        }
        (slots, sums, moved != 0)
    }

    /// Takes all rows from their slots to their leaves.
    fn finish<const ADJACENT: bool, const MISSING: bool>(&self, slots: &mut [u32]) -> Result<(), MetMissing> {
        // The rows that are under way, each with its slot, are at the front.
        let mut walkers = [(0u32, 0u32); BLOCK];
        for (row, (walker, &mut slot)) in walkers.iter_mut().zip(slots.iter_mut()).enumerate() {
            *walker = (slot, row as u32);
        }
        let mut under_way = slots.len();
        while under_way > 0 {
            let mut kept = 0;
            let mut sum = X::default();
            for place in 0..under_way {
                // SAFETY: places and rows are of this block, and slots come from steps.
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
    use crate::predict::layout::{Narrow, Wide};
    use crate::predict::tests::{Drawn, leaves};
    use crate::tree::Tree;
    use proptest::prelude::*;
    use proptest::test_runner::TestCaseResult;

    /// Every kernel on every block. Those that don't look at missing cells may give up where one is, or an infinite sum.
    fn check<X: Cell, N: Node<X>, const ADJACENT: bool>(tree: &Tree, x: &Matrix<'_, X>) -> TestCaseResult {
        let layout = Layout::<N>::new(&tree.nodes, tree.max_depth(), tree.n_features());
        for (i, expected) in leaves(tree, x).chunks(BLOCK).enumerate() {
            let block = Block { layout: &layout, x, first: i * BLOCK };
            let rows = block.first..block.first + expected.len();
            let mut cells = rows.flat_map(|row| (0..x.n_columns()).map(move |column| x.get(row, column).to_f64()));
            let tame = cells.all(|cell| cell.abs() < 1e30);
            let verify = |kernel: &dyn Fn(&mut [u32]) -> Result<(), MetMissing>, may_give_up: bool| {
                let mut slots = vec![u32::MAX; expected.len()];
                if kernel(&mut slots).is_err() {
                    prop_assert!(may_give_up);
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

    fn check_orders<X: Cell, N: Node<X>>(tree: &Tree, x: &Matrix<'_, X>) -> TestCaseResult {
        if x.has_adjacent_columns() {
            check::<X, N, true>(tree, x)?;
        }
        check::<X, N, false>(tree, x)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn every_kernel_agrees_with_the_arena(drawn in Drawn::any(1..200)) {
            let tree = drawn.tree();
            check_orders::<f32, Narrow>(&tree, &drawn.matrix(&drawn.cells::<f32>(&tree)))?;
            check_orders::<f32, Wide>(&tree, &drawn.matrix(&drawn.cells::<f32>(&tree)))?;
            check_orders::<f64, Wide>(&tree, &drawn.matrix(&drawn.cells::<f64>(&tree)))?;
        }
    }
}

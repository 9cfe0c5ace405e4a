//! HOT: the groups of a coded column in large nodes, and the search for its best cut.
//!
//! ```text
//! parent      5 ▮▮▮▮▮   3 ▮▮▮   4 ▮▮▮▮        a group per value: its rows, and a sum
//! smaller     1 ▮       2 ▮▮    0             from its rows
//! larger      4 ▮▮▮▮    1 ▮     4 ▮▮▮▮        parent − smaller: no row is read
//! ```
//!
//! The sums are whole numbers on one grid for the whole fit (`criterion/groups.rs`), so the larger
//! child's are exact. A coded column is neither sorted nor partitioned: all of them share one list
//! of each node's rows. Where a node needs an order after all, because a coded column wins or a
//! subtree begins, a counting sort makes it (`columns/coded.rs`).
//!
//! Cost: per level, at most half of the rows read, with a random access to a code and a group each;
//! per node, a pass over its groups.

use super::top::{OpenNode, PendingPartition};
use crate::columns::{CodedColumn, ColumnSlice, SortedColumn};
use crate::criterion::{Criterion, Group, GroupOf, GroupSums};

/// The groups of one feature in the open nodes of a level.
pub(crate) struct Histograms<C: Criterion> {
    /// Start of the node's range, and its groups by code.
    nodes: Vec<(usize, Vec<GroupOf<C>>)>,
}

impl<C: Criterion> Histograms<C> {
    pub fn new() -> Self {
        Self { nodes: Vec::new() }
    }

    /// By open node: its groups by code, some of which may be empty.
    pub fn nodes(&self) -> impl Iterator<Item = &[GroupOf<C>]> {
        self.nodes.iter().map(|(_, groups)| &groups[..])
    }

    /// Replaces the groups of the last level by those of the open nodes. `rows` has each node's
    /// rows; `partitions` are the splits of the last level, none at the root.
    pub fn next_level(
        &mut self,
        criterion: &C,
        column: &CodedColumn,
        rows: &SortedColumn<C::Item>,
        partitions: &[PendingPartition],
        open: &[OpenNode<C>],
    ) {
        let mut parents = std::mem::take(&mut self.nodes).into_iter();
        let mut open = open.iter().peekable();
        if partitions.is_empty()
            && let Some(root) = open.next()
        {
            self.nodes.push((root.start, count::<C>(column, rows.slice(root.range(criterion)))));
        }
        for pending in partitions {
            let children = pending.ranges();
            let is_open = children.each_ref().map(|range| open.next_if(|node| range.contains(&node.start)).is_some());
            if is_open == [false; 2] {
                continue;
            }
            let (_, parent) =
                parents.find(|&(start, _)| start == pending.start).expect("a node that was split was open");
            let smaller = usize::from(children[1].len() < children[0].len());
            let groups = count::<C>(column, rows.slice(children[smaller].clone()));
            let larger = is_open[1 - smaller].then(|| without::<C>(parent, &groups));
            let mut of_children = [Some(groups).filter(|_| is_open[smaller]), larger];
            of_children.rotate_right(smaller);
            let starts = children.map(|range| range.start);
            self.nodes.extend(starts.into_iter().zip(of_children).filter_map(|(start, groups)| Some((start, groups?))));
        }
    }
}

/// The groups of these rows.
fn count<C: Criterion>(column: &CodedColumn, node: ColumnSlice<'_, C::Item>) -> Vec<GroupOf<C>> {
    let mut groups = vec![Group::default(); column.n_codes()];
    for (&row, &item) in node.rows.iter().zip(node.items) {
        let group: &mut GroupOf<C> = &mut groups[column.code(row)];
        group.rows += 1;
        C::Groups::add(&mut group.sum, item);
    }
    groups
}

/// The groups of the rows that are in the parent and not in this child.
fn without<C: Criterion>(mut parent: Vec<GroupOf<C>>, child: &[GroupOf<C>]) -> Vec<GroupOf<C>> {
    for (group, child) in parent.iter_mut().zip(child) {
        group.rows -= child.rows;
        C::Groups::subtract(&mut group.sum, child.sum);
    }
    parent
}

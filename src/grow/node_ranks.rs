//! The rank of each row among its node's targets, for criteria that rank them.
//!
//! Columns carry a row's global rank, its rank among all targets of the fit, which never changes.
//! The rank within the node is looked up here, so that the tables which a sweep reads at random are
//! as small as the node. Memory: 4 bytes per row and a class tag.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::contribution::TagCell;
use crate::criterion::{Criterion, GainBounds, TagCellOf, TargetRanking};

/// By global rank: the row's rank among its node's targets, and its class tag. Threads write the
/// entries of different nodes at the same time, so they are atomic. A relaxed store costs the same
/// as a plain one.
pub(crate) struct NodeRanks<C: Criterion> {
    ranks: Vec<AtomicU32>,
    tags: Vec<TagCellOf<C>>,
}

impl<C: Criterion> NodeRanks<C> {
    pub fn new(n_rows: usize) -> Self {
        Self {
            ranks: (0..n_rows).map(|_| AtomicU32::new(0)).collect(),
            tags: (0..n_rows).map(|_| TagCellOf::<C>::default()).collect(),
        }
    }

    /// Ranks a node's rows, which come in the order of their targets.
    pub fn rank_rows(&self, table: &C::Table, items: &[C::Item]) {
        if C::Ranking::RANKED {
            for (rank, &item) in (0..).zip(items) {
                self.ranks[C::Ranking::global_rank(item)].store(rank, Ordering::Relaxed);
            }
            for (&item, &tag) in items.iter().zip(C::Bounds::class_tags(table)) {
                self.tags[C::Ranking::global_rank(item)].set(tag);
            }
        }
    }

    #[inline(always)]
    pub fn rank(&self, item: C::Item) -> usize {
        self.ranks[C::Ranking::global_rank(item)].load(Ordering::Relaxed) as usize
    }

    #[inline(always)]
    pub fn tag(&self, item: C::Item) -> <TagCellOf<C> as TagCell>::Tag {
        self.tags[C::Ranking::global_rank(item)].get()
    }
}

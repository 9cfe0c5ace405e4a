//! The rank of each row among its node's targets, for criteria that rank them.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::contribution::TagCell;
use crate::criterion::{Criterion, GainBounds, TargetRanking};

type Cell<C> = <<C as Criterion>::Bounds as GainBounds<C>>::TagCell;

/// By global rank: the row's rank among its node's targets, and its class tag. Rows of different nodes lie
/// side by side and are written by different threads; relaxed stores cost the same as plain ones.
pub(super) struct NodeRanks<C: Criterion> {
    ranks: Vec<AtomicU32>,
    tags: Vec<Cell<C>>,
}

impl<C: Criterion> NodeRanks<C> {
    pub fn new(n_rows: usize) -> Self {
        Self {
            ranks: (0..n_rows).map(|_| AtomicU32::new(0)).collect(),
            tags: (0..n_rows).map(|_| Cell::<C>::default()).collect(),
        }
    }

    /// Numbers a node's rows, which are in the order of their targets.
    pub fn number(&self, table: &C::Table, items: &[C::Item]) {
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
    pub fn tag(&self, item: C::Item) -> <Cell<C> as TagCell>::Tag {
        self.tags[C::Ranking::global_rank(item)].get()
    }
}

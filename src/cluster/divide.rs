//! Divides nodes by features of this worker, as `grow/top.rs` does within one process.

use super::column_worker::Shared;
use super::messages::{Decision, Divided};
use crate::columns::Columns;
use crate::criterion::{Criterion, TargetRanking};
use crate::data::Cell;
use crate::error::Result;
use crate::grow::node_ranks::NodeRanks;
use crate::grow::sides::Sides;
use crate::grow::top::{OpenNode, Worker, node_feature, search_again};
use crate::split::{Aim, Division, Split};
use crate::wire::{Wire, refuse};

/// What all threads read while nodes are divided.
pub(super) struct Divider<'a, X, C: Criterion> {
    pub shared: &'a Shared<X, C>,
    pub columns: &'a Columns<C::Item>,
    pub open: &'a [OpenNode<C>],
    pub sides: &'a Sides,
    pub ranks: &'a NodeRanks<C>,
    /// Depth of the nodes.
    pub depth: u32,
}

impl<X: Cell, C: Criterion<NodeStats: Wire>> Divider<'_, X, C> {
    /// Divides a node; `None` if the split is not worthwhile. Notes the side of each row.
    pub fn divide(&self, decision: &Decision, worker: &mut Worker<C>) -> Result<Option<(Division, Divided)>> {
        let Self { shared, columns, ranks, .. } = *self;
        let choice = &decision.choice;
        let (Some(open), Ok(own)) = (self.open.get(decision.node), shared.own.features.binary_search(&choice.feature))
        else {
            return refuse("decides a node that is not open, or by a feature of another worker");
        };
        let (x, column, has_missing) = (shared.matrix(), &columns.features[own], columns.has_missing[own]);
        let fit = shared.fit(&x);
        let again = || {
            let part = node_feature(&fit, open, own, column, has_missing, ranks);
            search_again(&fit, open, &part, Aim::FirstFrom(choice.least), worker).map(|found| found.cut)
        };
        let Some(cut) = choice.cut.or_else(again) else { return Ok(None) };
        let (range, split) = (open.range(&shared.criterion), Split { feature: own, gain: choice.gain, cut });
        if !(1..range.len()).contains(&cut.n_left) {
            return refuse("has a cut that leaves one side empty");
        }
        if !fit.is_worthwhile(&open.node, &split) {
            return Ok(None);
        }
        let rows = &column.rows[range.clone()];
        let value = |place: usize| x.get(rows[place] as usize, own).to_f64();
        let division = Division::new(&split, range.len(), has_missing, value);
        for (parts, is_left) in division.sides(rows).into_iter().zip([true, false]) {
            parts.into_iter().flatten().for_each(|&row| self.sides.set(row, is_left));
        }
        let children = [true, false].map(|is_left| self.describe_child(open, &division, is_left));
        let test = fit.test(&Division { feature: choice.feature, ..division.clone() }, &children[0], &children[1]);
        let children = children.map(|node| (node.to_bytes(), shared.report(&node, self.depth + 1)));
        let n_left = division.n_left();
        Ok(Some((division, Divided { test, n_left, children })))
    }

    /// Describes a child as a local fit does: in the order of the winner's column, or of the
    /// targets if they are ranked.
    fn describe_child(&self, open: &OpenNode<C>, division: &Division, is_left: bool) -> C::NodeStats {
        let (range, columns, mut buffer) = (open.range(&self.shared.criterion), &self.columns, Vec::new());
        let items = if C::Ranking::RANKED {
            let targets = columns.targets.slice(range);
            let own = targets.rows.iter().zip(targets.items).filter(|&(&row, _)| self.sides.get(row) == is_left);
            buffer.extend(own.map(|(_, &item)| item));
            &buffer
        } else {
            let items = columns.features[division.feature].slice(range).items;
            if is_left { division.left_items(items, &mut buffer) } else { &items[division.right()] }
        };
        self.shared.criterion.describe(items)
    }
}

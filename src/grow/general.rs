//! Any tree, node by node: features and thresholds drawn at random, predictions that must be monotonic, columns of categories, sparse
//! columns, several outputs.
//!
//! A node owns its part of every column, so two nodes can be worked on side by side. Large nodes share their features out among the
//! threads, small ones are handed out whole. What a node does follows from its rows and its seed, which follows from its
//! path: the tree is the same for every number of threads.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::Fit;
use super::assemble::{NodeOutcome, TreeTop};
use super::category::Categories;
use super::monotonic::{Bounds, Filter};
use super::random::Seed;
use super::tree_piece::TreePiece;
use crate::contribution::{Carried, MissingFirst, TagCell};
use crate::criterion::{ContributionsOf, Criterion, Cuts, GainBounds, TargetRanking};
use crate::data::Values;
use crate::error::{Error, Result};
use crate::params::{Choices, Splitter};
use crate::partition::partition_in_place;
use crate::scan::{Feature, gain_bound, scan};
use crate::search::{Incumbent, decide};
use crate::split::{Contest, Division, Found, Split, Tournament, partition_point};
use crate::tree::{CategorySets, Test, Tree};

/// Nodes from this many cells on are worked on by all threads.
const LARGE_CELLS: usize = 1 << 16;

/// The rows of a fit in every order that its nodes need.
pub(crate) struct RowOrders {
    /// Ascending.
    pub rows: Vec<u32>,
    /// By feature, in ascending order of its values, NaN last. Of sparse columns only the rows whose value is not 0.
    pub columns: Vec<Vec<u32>>,
    /// In ascending order of the targets, for criteria where that counts. Else empty.
    pub targets: Vec<u32>,
}

/// A node's part of the orders.
struct NodeRows<'a> {
    rows: &'a mut [u32],
    columns: Vec<&'a mut [u32]>,
    targets: &'a mut [u32],
}

impl<'a> NodeRows<'a> {
    fn new(orders: &'a mut RowOrders) -> Self {
        let RowOrders { rows, columns, targets } = orders;
        Self { rows, columns: columns.iter_mut().map(Vec::as_mut_slice).collect(), targets }
    }

    fn cells(&self) -> usize {
        self.columns.iter().map(|column| column.len()).sum()
    }
}

/// A node still to be grown.
struct OpenNode<'a, N> {
    rows: NodeRows<'a>,
    node: N,
    depth: u32,
    seed: Seed,
    bounds: Bounds,
}

/// Buffers of one worker.
struct Worker<C: Criterion> {
    contest: Tournament,
    sweep: C::Scratch,
    filter: Filter,
    order: Vec<u32>,
    spare: Vec<u32>,
    items: Vec<C::Item>,
    categories: Categories,
    /// By row: whether it has an entry in the column that is looked at. All false in between.
    has_entry: Vec<bool>,
}

impl<C: Criterion> Worker<C> {
    fn new() -> Self {
        Self {
            contest: Tournament::new(),
            sweep: C::Scratch::default(),
            filter: Filter::default(),
            order: Vec::new(),
            spare: Vec::new(),
            items: Vec::new(),
            categories: Categories::default(),
            has_entry: Vec::new(),
        }
    }
}

/// A threshold that was drawn: how many rows go left by it, the missing ones last.
struct Drawn {
    threshold: f64,
    /// Rows with values up to the threshold.
    n_up_to: usize,
    n_missing: usize,
    missing_left: bool,
}

/// What a node and its children are made with.
struct Grower<'a, C: Criterion> {
    fit: &'a Fit<'a, dyn Values + 'a, C>,
    choices: &'a Choices,
    /// By row of X.
    items: &'a [C::Item],
    /// By row of X: its side, written and read by whoever works on its node.
    sides: Vec<AtomicBool>,
    /// By row of X: its rank among its node's targets, where order counts.
    ranks: Vec<AtomicU32>,
}

/// Grows a tree; `items` has the target of each row of X.
pub(crate) fn grow<C: Criterion>(
    fit: &Fit<'_, dyn Values + '_, C>,
    choices: &Choices,
    mut orders: RowOrders,
    items: &[C::Item],
) -> Result<Tree> {
    let n_rows = fit.x.n_rows();
    let grower = Grower {
        fit,
        choices,
        items,
        sides: (0..n_rows).map(|_| AtomicBool::new(false)).collect(),
        ranks: (0..if C::Ranking::RANKED { n_rows } else { 0 }).map(|_| AtomicU32::new(0)).collect(),
    };
    let mut workers: Vec<Worker<C>> = (0..fit.team.threads()).map(|_| Worker::new()).collect();
    let rows = NodeRows::new(&mut orders);
    let node = grower.describe(&rows, &mut workers[0].items);
    let root = OpenNode { rows, node, depth: 0, seed: Seed::new(choices.seed), bounds: Bounds::default() };
    let (top, sets) = grower.grow(root, &mut workers);
    if fit.team.cancelled() {
        return Err(Error::Interrupted);
    }
    let tree = top.assemble(fit, fit.x.n_columns());
    Ok(match &choices.categories {
        Some(counts) => tree.with_categories(counts.clone(), &sets),
        None => tree,
    })
}

impl<C: Criterion> Grower<'_, C> {
    /// Grows the large nodes with all threads for each, then the small ones with a thread for each.
    fn grow(&self, root: OpenNode<'_, C::NodeStats>, workers: &mut [Worker<C>]) -> (TreeTop, CategorySets) {
        let (mut top, mut sets) = (TreeTop::default(), CategorySets::default());
        let push = |top: &mut TreeTop, open: &OpenNode<'_, C::NodeStats>| {
            let id = top.push(self.fit.criterion, &open.node);
            open.bounds.keep(top.value_mut(id, self.fit.criterion.n_values()));
            id
        };
        let (mut pending, mut small) = (vec![(push(&mut top, &root), root)], Vec::new());
        while let Some((id, open)) = pending.pop() {
            if self.is_leaf(&open) {
                continue;
            }
            if open.rows.cells() < LARGE_CELLS || workers.len() == 1 {
                small.push((id, Some(open), None));
                continue;
            }
            if let Some((test, children)) = self.split(open, workers, &mut sets) {
                let children = children.map(|child| (push(&mut top, &child), child));
                top.settle(id, NodeOutcome::Inner(test, [children[0].0, children[1].0]));
                pending.extend(children);
            }
        }
        self.fit.team.each(&mut small, workers, |worker, (_, open, grown)| {
            let open = open.take().expect("each is grown once");
            *grown = Some(self.grow_small(open, std::slice::from_mut(worker)));
        });
        for (id, _, grown) in small {
            let (mut piece, own_sets) = grown.expect("each has been grown");
            piece.shift_sets(sets.append(own_sets));
            piece.finish(self.fit.units);
            top.settle(id, NodeOutcome::Subtree(piece));
        }
        (top, sets)
    }

    /// Grows a node and all that is below it with one thread.
    fn grow_small(&self, root: OpenNode<'_, C::NodeStats>, worker: &mut [Worker<C>]) -> (TreePiece, CategorySets) {
        let (mut piece, mut sets) = (TreePiece::default(), CategorySets::default());
        let n_values = self.fit.criterion.n_values();
        // Each with the inner node that it is the right child of; a left child simply comes next.
        let mut pending = vec![(root, None)];
        while let Some((open, right_of)) = pending.pop() {
            let id = piece.push(self.fit.criterion, &open.node);
            open.bounds.keep(piece.value_mut(id, n_values));
            if let Some(parent) = right_of {
                piece.set_right(parent, id);
            }
            if self.is_leaf(&open) {
                continue;
            }
            let depth = open.depth;
            if let Some((test, [left, right])) = self.split(open, worker, &mut sets) {
                piece.split(id, depth, test);
                pending.extend([(right, Some(id)), (left, None)]);
            }
        }
        (piece, sets)
    }

    /// Whether the rules make a node a leaf, or there is no time to split it.
    fn is_leaf(&self, open: &OpenNode<'_, C::NodeStats>) -> bool {
        let is_leaf = self.fit.is_leaf(&open.node, open.depth) || self.fit.team.cancelled();
        self.fit.team.add_finished(if is_leaf { open.rows.rows.len() } else { 0 });
        is_leaf
    }

    /// Finds the split of a node and carries it out; `None` if it stays a leaf.
    fn split<'a>(
        &self,
        open: OpenNode<'a, C::NodeStats>,
        workers: &mut [Worker<C>],
        sets: &mut CategorySets,
    ) -> Option<(Test, [OpenNode<'a, C::NodeStats>; 2])> {
        let table = self.tabulate(&open, &mut workers[0].items);
        let Some(split) = self.search(&open, &table, workers) else {
            self.fit.team.add_finished(open.rows.rows.len());
            return None;
        };
        let (division, threshold) = self.note_sides(&open, &split, &mut workers[0]);
        let OpenNode { rows, depth, seed, bounds, .. } = open;
        let parts = self.partition(rows, workers);
        let [left, right] = parts.each_ref().map(|rows| self.describe(rows, &mut workers[0].items));
        let mut test = Test { threshold, ..self.fit.test(&division, &left, &right) };
        if let Some(n_categories) = self.n_categories(split.feature) {
            // The winner's order still stands.
            let codes = division.sides(&workers[0].order).map(|[rows, _]| {
                rows.iter()
                    .map(|&row| self.value(row, split.feature))
                    .filter(|code| !code.is_nan())
                    .map(|code| code as u32)
            });
            test.threshold = sets.push(n_categories, codes, test.missing_left);
        }
        let [low, high] = self.child_bounds(bounds, split.feature, [&left, &right]);
        let [left_rows, right_rows] = parts;
        let depth = depth + 1;
        Some((
            test,
            [
                OpenNode { rows: left_rows, node: left, depth, seed: seed.child(0), bounds: low },
                OpenNode { rows: right_rows, node: right, depth, seed: seed.child(1), bounds: high },
            ],
        ))
    }

    fn describe(&self, rows: &NodeRows<'_>, items: &mut Vec<C::Item>) -> C::NodeStats {
        self.gather(rows, items);
        self.fit.criterion.describe(items)
    }

    /// The targets of a node, in ascending order where that counts.
    fn gather(&self, rows: &NodeRows<'_>, items: &mut Vec<C::Item>) {
        let rows: &[u32] = if C::Ranking::RANKED { rows.targets } else { rows.rows };
        items.clear();
        items.extend(rows.iter().map(|&row| self.items[row as usize]));
    }

    /// The table of a node; its rows are numbered by rank where order counts.
    fn tabulate(&self, open: &OpenNode<'_, C::NodeStats>, items: &mut Vec<C::Item>) -> C::Table {
        self.gather(&open.rows, items);
        let mut table = C::Table::default();
        self.fit.criterion.tabulate(&open.node, items, &mut table);
        if C::Ranking::RANKED {
            for (rank, &row) in (0..).zip(open.rows.targets.iter()) {
                self.ranks[row as usize].store(rank, Ordering::Relaxed);
            }
        }
        table
    }

    fn value(&self, row: u32, feature: usize) -> f64 {
        self.fit.x.value(row as usize, feature)
    }

    /// Number of categories of a feature that has them.
    fn n_categories(&self, feature: usize) -> Option<u32> {
        self.choices.categories.as_ref().map(|counts| counts[feature]).filter(|&count| count > 0)
    }

    /// Searches the features of a node and decides.
    fn search(&self, open: &OpenNode<'_, C::NodeStats>, table: &C::Table, workers: &mut [Worker<C>]) -> Option<Split> {
        let noise = self.fit.criterion.noise(&open.node);
        let incumbent = Incumbent::default();
        let mut work: Vec<(usize, Option<Found>)> =
            self.draw_features(open).into_iter().map(|feature| (feature, None)).collect();
        let search = |worker: &mut Worker<C>, (feature, found): &mut (usize, Option<Found>)| {
            if !self.fit.team.cancelled() {
                worker.contest.restart(noise, incumbent.gain());
                self.scan(open, table, *feature, worker);
                *found = worker.contest.found();
                incumbent.raise(found.map_or(0.0, |found| found.top));
            }
        };
        self.fit.team.each(&mut work, workers, search);
        let found = work.iter().filter_map(|&(feature, found)| Some((feature, found?)));
        let split = decide(found, noise, |feature, least| {
            let worker = &mut workers[0];
            worker.contest.restart_from(least);
            self.scan(open, table, feature, worker);
            worker.contest.found().map(|found| found.cut)
        })?;
        self.fit.is_worthwhile(&open.node, &split).then_some(split)
    }

    /// The features that are looked at, in ascending order: as many as there are to be, and more as long as all are constant.
    fn draw_features(&self, open: &OpenNode<'_, C::NodeStats>) -> Vec<usize> {
        let all = self.fit.x.n_columns();
        if self.choices.n_features >= all {
            return (0..all).collect();
        }
        let mut urn: Vec<u32> = (0..all as u32).collect();
        let mut stream = open.seed.stream();
        let (mut drawn, mut n_drawn) = (Vec::new(), 0);
        while n_drawn < all && (n_drawn < self.choices.n_features || drawn.is_empty()) {
            urn.swap(n_drawn, n_drawn + stream.below(all - n_drawn));
            let feature = urn[n_drawn] as usize;
            if !self.is_constant(&open.rows, feature) {
                drawn.push(feature);
            }
            n_drawn += 1;
        }
        drawn.sort_unstable();
        drawn
    }

    fn is_constant(&self, rows: &NodeRows<'_>, feature: usize) -> bool {
        let column = &rows.columns[feature];
        match (column.first(), column.last()) {
            // Rows without an entry have the value 0, and entries others.
            (Some(&first), Some(&last)) => {
                let (first, last) = (self.value(first, feature), self.value(last, feature));
                column.len() == rows.rows.len() && (first == last || first.is_nan() && last.is_nan())
            }
            _ => true,
        }
    }

    /// Puts the rows of a node into the order in which the feature's cuts are looked for.
    fn put_in_order(&self, open: &OpenNode<'_, C::NodeStats>, feature: usize, worker: &mut Worker<C>) {
        let Worker { order, has_entry, categories, .. } = worker;
        let column = &*open.rows.columns[feature];
        order.clear();
        if column.len() == open.rows.rows.len() {
            order.extend_from_slice(column);
        } else {
            let n_below = partition_point(0, column.len(), |place| self.value(column[place], feature) < 0.0);
            has_entry.resize(self.fit.x.n_rows(), false);
            set_all(has_entry, column, true);
            order.extend_from_slice(&column[..n_below]);
            order.extend(open.rows.rows.iter().filter(|&&row| !has_entry[row as usize]));
            order.extend_from_slice(&column[n_below..]);
            set_all(has_entry, column, false);
        }
        if self.n_categories(feature).is_some() {
            let scalar = self.fit.criterion.scalar().expect("targets of categories are single numbers");
            let sample = |row: u32| scalar.sample(self.items[row as usize]);
            categories.order_by_mean(order, |row| self.value(row, feature), sample);
        }
    }

    /// Offers the cuts of one feature to the worker's contest.
    fn scan(&self, open: &OpenNode<'_, C::NodeStats>, table: &C::Table, feature: usize, worker: &mut Worker<C>) {
        self.put_in_order(open, feature, worker);
        let Worker { contest, sweep, filter, order, .. } = worker;
        let criterion = self.fit.criterion;
        let rank = |row: u32| self.ranks[row as usize].load(Ordering::Relaxed) as usize;
        let tags = C::Bounds::class_tags(table);
        let contributions = Carried {
            items: order,
            contribution: |row: u32| criterion.contribution(&open.node, self.items[row as usize], || rank(row)),
            tag: |place: usize| <C::Bounds as GainBounds<C>>::TagCell::from_u32(|| tags[rank(order[place])]),
        };
        let value = |place: usize| self.value(order[place], feature);
        match &self.choices.monotonic {
            None => self.offer(open, table, feature, &contributions, value, contest, sweep),
            Some(signs) => {
                let scalar = criterion.scalar().expect("constrained targets are single numbers");
                let sample = |place: usize| scalar.sample(self.items[order[place] as usize]);
                let n_missing = order.len() - partition_point(0, order.len(), |place| !value(place).is_nan());
                filter.prepare(scalar.location(), open.bounds, signs[feature], order.len(), n_missing, sample);
                let mut contest = filter.contest(contest);
                self.offer(open, table, feature, &contributions, value, &mut contest, sweep);
            }
        }
    }

    /// Offers all cuts, or the one that was drawn.
    #[allow(clippy::too_many_arguments)] // The parts of a feature and of a contest.
    fn offer<P: ContributionsOf<C>>(
        &self,
        open: &OpenNode<'_, C::NodeStats>,
        table: &C::Table,
        feature: usize,
        contributions: &P,
        value: impl Fn(usize) -> f64,
        mut contest: &mut dyn Contest,
        sweep: &mut C::Scratch,
    ) {
        let contest = &mut contest;
        let Fit { criterion, rules, .. } = *self.fit;
        if self.choices.splitter == Splitter::Best {
            let feature = Feature { contributions, value, has_missing: true };
            if gain_bound(criterion, table, &feature, rules).is_none_or(|bound| bound >= contest.bar()) {
                scan(criterion, &open.node, table, &feature, rules, contest, sweep);
            }
            return;
        }
        let Some(drawn) = Drawn::new(open.seed, feature, contributions.len(), value) else { return };
        let n_left = drawn.n_left();
        if n_left < rules.min_rows_leaf || contributions.len() - n_left < rules.min_rows_leaf {
            return;
        }
        let cuts = Cuts {
            same: |_, _| false,
            first: n_left,
            last: n_left,
            min_weight: rules.min_weight_leaf,
            missing_left: drawn.missing_left,
        };
        let n_missing = if drawn.missing_left { drawn.n_missing } else { 0 };
        criterion.sweep(&open.node, table, &MissingFirst { contributions, n_missing }, &cuts, contest, sweep);
    }

    /// Notes the side of each row of the node; returns the division of the winner's order, and the threshold.
    fn note_sides(&self, open: &OpenNode<'_, C::NodeStats>, split: &Split, worker: &mut Worker<C>) -> (Division, f64) {
        self.put_in_order(open, split.feature, worker);
        let order = &worker.order;
        let value = |place: usize| self.value(order[place], split.feature);
        // Categories are in an order of their own.
        let is_ordered = self.n_categories(split.feature).is_none();
        let rising = |place: usize| if is_ordered || value(place).is_nan() { value(place) } else { place as f64 };
        let division = Division::new(split, order.len(), true, rising);
        for (parts, is_left) in division.sides(order).into_iter().zip([true, false]) {
            parts.into_iter().flatten().for_each(|&row| self.sides[row as usize].store(is_left, Ordering::Relaxed));
        }
        let drawn = match self.choices.splitter {
            Splitter::Best => None,
            Splitter::Random => Drawn::new(open.seed, split.feature, order.len(), value),
        };
        let threshold = drawn.map_or(division.threshold, |drawn| drawn.threshold);
        (division, threshold)
    }

    /// Partitions a node's rows and columns by the sides that were noted.
    fn partition<'a>(&self, rows: NodeRows<'a>, workers: &mut [Worker<C>]) -> [NodeRows<'a>; 2] {
        let NodeRows { rows, columns, targets } = rows;
        let part = |spare: &mut Vec<u32>, rows: &mut [u32]| {
            partition_in_place(rows, |row| self.sides[row as usize].load(Ordering::Relaxed), spare)
        };
        let [rows, targets] = [rows, targets].map(|rows| {
            let n_left = part(&mut workers[0].spare, rows);
            rows.split_at_mut(n_left)
        });
        let mut columns: Vec<_> = columns.into_iter().map(|column| (column, 0)).collect();
        self.fit.team.each(&mut columns, workers, |worker, (column, n_left)| *n_left = part(&mut worker.spare, column));
        let (left, right) = columns.into_iter().map(|(column, n_left)| column.split_at_mut(n_left)).unzip();
        [
            NodeRows { rows: rows.0, columns: left, targets: targets.0 },
            NodeRows { rows: rows.1, columns: right, targets: targets.1 },
        ]
    }

    fn child_bounds(&self, bounds: Bounds, feature: usize, children: [&C::NodeStats; 2]) -> [Bounds; 2] {
        let Some(signs) = &self.choices.monotonic else { return [bounds; 2] };
        let value = |node: &C::NodeStats| {
            let mut values = Vec::new();
            self.fit.criterion.write_value(node, &mut values);
            values[values.len() - 1]
        };
        bounds.of_children(signs[feature], children.map(value))
    }
}

impl Drawn {
    /// Draws a threshold between the values of a node, NaN last; `None` if they are all the same.
    fn new(seed: Seed, feature: usize, len: usize, value: impl Fn(usize) -> f64) -> Option<Self> {
        let n_values = partition_point(0, len, |place| !value(place).is_nan());
        let n_missing = len - n_values;
        if n_values == 0 {
            return None;
        }
        let mut stream = seed.of_feature(feature).stream();
        let (least, greatest) = (value(0), value(n_values - 1));
        if least == greatest {
            // Nothing to draw from, but missing values can be told from the others.
            let all = Self { threshold: f64::INFINITY, n_up_to: n_values, n_missing, missing_left: false };
            return (n_missing > 0).then_some(all);
        }
        let threshold = stream.between(least, greatest);
        Some(Self {
            threshold,
            n_up_to: partition_point(0, n_values, |place| value(place) <= threshold),
            n_missing,
            missing_left: n_missing > 0 && stream.below(2) == 0,
        })
    }

    fn n_left(&self) -> usize {
        self.n_up_to + if self.missing_left { self.n_missing } else { 0 }
    }
}

fn set_all(flags: &mut [bool], rows: &[u32], flag: bool) {
    for &row in rows {
        flags[row as usize] = flag;
    }
}

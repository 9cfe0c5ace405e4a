//! The general engine: grows any tree, node by node.
//!
//! It serves fits with categorical features, of sparse X, too. Like the other engines, it can draw
//! features and thresholds and apply monotonic constraints, and tests compare them with it.
//! Criteria, sweeps and tie rule are the same, so it would grow the same trees, with values that
//! are equal up to rounding (`no_choice_at_all` in `tests/choices.rs`). X is read through a trait
//! object, so the engine is compiled once per criterion.
//!
//! A node owns its slice of every column and is partitioned in place, so two nodes can be grown at
//! the same time. All threads share the features of a large node; small nodes are distributed
//! whole, one thread each. What happens at a node depends on its rows and its seed alone, and the
//! seed on its path: the tree is the same for every number of threads.
//!
//! Cost per node: a copy of its slice for each feature that is evaluated, a sweep, and a partition
//! of all columns. Memory: 4 bytes per cell, without targets; of sparse columns only the entries.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::Fit;
use super::assemble::{NodeOutcome, TreeTop};
use super::category::{CategoryOrder, MISSING};
use super::category_sets::{MAX_LABELS, chains};
use super::inherited::{Inherited, constrained_value};
use super::random::{FeatureDrawer, RandomCut};
use super::tree_piece::TreePiece;
use crate::contribution::{Carried, MissingFirst, TagCell};
use crate::criterion::{ContributionsOf, Criterion, Cuts, GainBounds, LabelOrder, TagCellOf, TargetRanking};
use crate::data::Values;
use crate::error::{Error, Result};
use crate::params::{Choices, Rules, Splitter};
use crate::partition::partition_in_place;
use crate::scan::{Feature, gain_bound, scan};
use crate::search::{Incumbent, decide};
use crate::split::{Contest, Discounted, Division, Found, Split, Tournament, near, partition_point};
use crate::tree::{CategorySets, Test, Tree};

/// All threads share the features of a node with at least this many cells.
const LARGE_CELLS: usize = 1 << 16;

/// The rows of a fit in every order that its nodes need.
pub(crate) struct RowOrders {
    /// In ascending order of the row ids.
    pub rows: Vec<u32>,
    /// By feature: in ascending order of its values, NaN last. Sparse columns have only the rows
    /// whose value is not 0; categorical features have none.
    pub columns: Vec<Vec<u32>>,
    /// In ascending order of the targets, if the criterion ranks them. Otherwise empty.
    pub targets: Vec<u32>,
}

/// A node's slices of the row orders.
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
}

/// A node that is still to be grown.
struct OpenNode<'a, N> {
    rows: NodeRows<'a>,
    node: N,
    depth: u32,
    inherited: Inherited,
}

type Children<'a, N> = [OpenNode<'a, N>; 2];

/// Buffers of one worker.
struct Worker<C: Criterion> {
    contest: Tournament,
    scratch: C::Scratch,
    /// The node's rows in the order of the feature that is being evaluated.
    order: Vec<u32>,
    /// The right part of a partition.
    spare: Vec<u32>,
    items: Vec<C::Item>,
    categories: CategoryOrder,
    /// Of a categorical feature: the place of each row's label in that order, NaN if it is missing.
    values: Vec<f64>,
    /// The factor of the gains of the feature that is being evaluated.
    discount: f64,
    /// By row: whether the current sparse column has an entry. All false between uses.
    has_entry: Vec<bool>,
}

impl<C: Criterion> Worker<C> {
    fn new() -> Self {
        Self {
            contest: Tournament::new(),
            scratch: C::Scratch::default(),
            order: Vec::new(),
            spare: Vec::new(),
            items: Vec::new(),
            categories: CategoryOrder::default(),
            values: Vec::new(),
            discount: 1.0,
            has_entry: Vec::new(),
        }
    }
}

/// What all nodes share. A row belongs to one open node at a time, and only the workers of that
/// node read and write its side and its rank.
struct Grower<'a, C: Criterion> {
    fit: &'a Fit<'a, dyn Values + 'a, C>,
    choices: &'a Choices,
    /// By feature and row of X: the code of its label. Empty for numeric features.
    codes: Vec<Vec<u32>>,
    /// By row of X.
    items: &'a [C::Item],
    /// By row of X: whether it goes left at its node.
    sides: Vec<AtomicBool>,
    /// By row of X: its rank among its node's targets. Empty if the criterion doesn't rank them.
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
    let codes = codes_of(fit.x, choices);
    for (column, codes) in orders.columns.iter_mut().zip(&codes) {
        if !codes.is_empty() {
            *column = Vec::new();
        }
    }
    let grower = Grower {
        fit,
        choices,
        codes,
        items,
        sides: (0..n_rows).map(|_| AtomicBool::new(false)).collect(),
        ranks: (0..if C::Ranking::RANKED { n_rows } else { 0 }).map(|_| AtomicU32::new(0)).collect(),
    };
    let mut workers: Vec<Worker<C>> = (0..fit.team.threads()).map(|_| Worker::new()).collect();
    let rows = NodeRows::new(&mut orders);
    let node = grower.describe(&rows, &mut workers[0].items);
    let root = OpenNode { rows, node, depth: 0, inherited: Inherited::of_root(Some(choices)) };
    let (top, sets) = grower.grow(root, &mut workers);
    if fit.team.cancelled() {
        return Err(Error::Interrupted);
    }
    let tree = top.assemble(fit, fit.x.n_columns());
    Ok(match &choices.categories {
        Some(counts) => tree.with_categories(counts.clone(), sets),
        None => tree,
    })
}

/// By feature: the code of each row's label; empty for numeric features.
fn codes_of(x: &dyn Values, choices: &Choices) -> Vec<Vec<u32>> {
    let n_categories = |feature: usize| choices.categories.as_ref().map_or(0, |counts| counts[feature]);
    // Another thread may have changed X since the codes were checked.
    let code = |row, feature| {
        let code = x.value(row, feature);
        if code < f64::from(n_categories(feature)) { code as u32 } else { MISSING }
    };
    let n_rows = |feature| if n_categories(feature) > 0 { x.n_rows() } else { 0 };
    (0..x.n_columns()).map(|feature| (0..n_rows(feature)).map(|row| code(row, feature)).collect()).collect()
}

impl<C: Criterion> Grower<'_, C> {
    /// Grows the large nodes, all threads at one node, then the small nodes, one thread per node.
    fn grow(&self, root: OpenNode<'_, C::NodeStats>, workers: &mut [Worker<C>]) -> (TreeTop, CategorySets) {
        let (mut top, mut sets) = (TreeTop::default(), CategorySets::default());
        let mut pending = vec![(self.push_top(&mut top, &root), root)];
        let mut small = Vec::new();
        while let Some((id, open)) = pending.pop() {
            if self.finish_leaf(&open) {
                continue;
            }
            if self.cells(&open.rows) < LARGE_CELLS || workers.len() == 1 {
                small.push((id, open));
                continue;
            }
            if let Some((test, children)) = self.split(open, workers, &mut sets) {
                let children = children.map(|child| (self.push_top(&mut top, &child), child));
                top.set_outcome(id, NodeOutcome::Inner(test, [children[0].0, children[1].0]));
                pending.extend(children);
            }
        }
        self.grow_all_small(small, workers, &mut top, &mut sets);
        (top, sets)
    }

    fn cells(&self, rows: &NodeRows<'_>) -> usize {
        let columns = rows.columns.iter().zip(&self.codes);
        columns.map(|(column, codes)| if codes.is_empty() { column.len() } else { rows.rows.len() }).sum()
    }

    /// Appends a node to the top of the tree and returns its number.
    fn push_top(&self, top: &mut TreeTop, open: &OpenNode<'_, C::NodeStats>) -> usize {
        let id = top.push(self.fit.criterion, &open.node);
        open.inherited.clamp(top.value_mut(id, self.fit.criterion.n_values()));
        id
    }

    fn grow_all_small(
        &self,
        small: Vec<(usize, OpenNode<'_, C::NodeStats>)>,
        workers: &mut [Worker<C>],
        top: &mut TreeTop,
        sets: &mut CategorySets,
    ) {
        let mut work: Vec<_> = small.into_iter().map(|(id, open)| (id, Some(open), None)).collect();
        self.fit.team.each(&mut work, workers, |worker, (_, open, grown)| {
            let open = open.take().expect("each node is grown once");
            *grown = Some(self.grow_small(open, std::slice::from_mut(worker)));
        });
        for (id, _, grown) in work {
            let (mut piece, own_sets) = grown.expect("each node has been grown");
            piece.shift_sets(sets.append(own_sets));
            piece.finish(self.fit.units);
            top.set_outcome(id, NodeOutcome::Subtree(piece));
        }
    }

    /// Grows a node and its descendants, depth-first, with one thread.
    fn grow_small(&self, root: OpenNode<'_, C::NodeStats>, worker: &mut [Worker<C>]) -> (TreePiece, CategorySets) {
        let (mut piece, mut sets) = (TreePiece::default(), CategorySets::default());
        let n_values = self.fit.criterion.n_values();
        // Each with the inner node whose right child it is; `None` for a left child, which follows
        // its parent.
        let mut pending = vec![(root, None)];
        while let Some((open, right_of)) = pending.pop() {
            let id = piece.push(self.fit.criterion, &open.node);
            open.inherited.clamp(piece.value_mut(id, n_values));
            if let Some(parent) = right_of {
                piece.set_right(parent, id);
            }
            if self.finish_leaf(&open) {
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

    /// Whether the rules make a node a leaf, or the fit was cancelled. Counts the rows of a leaf as
    /// finished.
    fn finish_leaf(&self, open: &OpenNode<'_, C::NodeStats>) -> bool {
        let is_leaf = self.fit.is_leaf(&open.node, open.depth) || self.fit.team.cancelled();
        self.fit.team.add_finished(if is_leaf { open.rows.rows.len() } else { 0 });
        is_leaf
    }

    /// Finds the split of a node and carries it out; `None` if the node stays a leaf.
    fn split<'a>(
        &self,
        open: OpenNode<'a, C::NodeStats>,
        workers: &mut [Worker<C>],
        sets: &mut CategorySets,
    ) -> Option<(Test, Children<'a, C::NodeStats>)> {
        let table = self.tabulate(&open, &mut workers[0].items);
        let search = NodeSearch { grower: self, open: &open, table: &table };
        let Some(split) = search.run(workers) else {
            self.fit.team.add_finished(open.rows.rows.len());
            return None;
        };
        let (division, threshold) = self.divide(&open, &table, &split, &mut workers[0]);
        let OpenNode { rows, depth, inherited, .. } = open;
        let parts = self.partition(rows, workers);
        let [left, right] = parts.each_ref().map(|rows| self.describe(rows, &mut workers[0].items));
        let mut test = Test { threshold, ..self.fit.test(&division, &left, &right) };
        if let Some(n_categories) = self.n_categories(split.feature) {
            test.threshold = self.push_set(n_categories, &division, &workers[0].order, test.missing_left, sets);
        }
        let values = || [&left, &right].map(|node| constrained_value(self.fit.criterion, node));
        let [of_left, of_right] = inherited.of_children(Some(self.choices), split.feature, values);
        let [left_rows, right_rows] = parts;
        let depth = depth + 1;
        Some((
            test,
            [
                OpenNode { rows: left_rows, node: left, depth, inherited: of_left },
                OpenNode { rows: right_rows, node: right, depth, inherited: of_right },
            ],
        ))
    }

    fn describe(&self, rows: &NodeRows<'_>, items: &mut Vec<C::Item>) -> C::NodeStats {
        self.gather(rows, items);
        self.fit.criterion.describe(items)
    }

    /// Copies the targets of a node, in ascending order if the criterion ranks them.
    fn gather(&self, rows: &NodeRows<'_>, items: &mut Vec<C::Item>) {
        let rows: &[u32] = if C::Ranking::RANKED { rows.targets } else { rows.rows };
        items.clear();
        items.extend(rows.iter().map(|&row| self.items[row as usize]));
    }

    /// Makes the table of a node, and ranks its rows if the criterion needs that.
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
        match self.codes[feature].get(row as usize) {
            None => self.fit.x.value(row as usize, feature),
            Some(&MISSING) => f64::NAN,
            Some(&code) => f64::from(code),
        }
    }

    fn rank(&self, row: u32) -> usize {
        self.ranks[row as usize].load(Ordering::Relaxed) as usize
    }

    fn goes_left(&self, row: u32) -> bool {
        self.sides[row as usize].load(Ordering::Relaxed)
    }

    /// Number of categories of a feature; `None` if it is numeric.
    fn n_categories(&self, feature: usize) -> Option<u32> {
        self.choices.categories.as_ref().map(|counts| counts[feature]).filter(|&count| count > 0)
    }

    /// The features that are evaluated at a node, in ascending order.
    fn draw_features(&self, open: &OpenNode<'_, C::NodeStats>) -> Vec<usize> {
        let (n, all) = (self.choices.n_features, self.fit.x.n_columns());
        if n >= all {
            return (0..all).collect();
        }
        let mut drawer = FeatureDrawer::default();
        let drawn = drawer.draw(open.inherited.seed, n, all, &mut |feature| self.is_constant(&open.rows, feature));
        drawn.iter().map(|&feature| feature as usize).collect()
    }

    fn is_constant(&self, rows: &NodeRows<'_>, feature: usize) -> bool {
        if let Some((first, rest)) = rows.rows.split_first().filter(|_| !self.codes[feature].is_empty()) {
            let codes = &self.codes[feature];
            return rest.iter().all(|&row| codes[row as usize] == codes[*first as usize]);
        }
        let column = &rows.columns[feature];
        match (column.first(), column.last()) {
            // Rows without an entry have the value 0, which differs from every entry.
            (Some(&first), Some(&last)) => {
                let (first, last) = (self.value(first, feature), self.value(last, feature));
                column.len() == rows.rows.len() && (first == last || first.is_nan() && last.is_nan())
            }
            _ => true,
        }
    }

    /// Writes the node's rows to `worker.order` in the order of the feature, missing values last.
    ///
    /// ```text
    /// sparse column   −2 −1 │ 3 ? ?            entries only
    /// order           −2 −1 │ 0 0 0 │ 3 ? ?    rows without an entry stand where 0 belongs
    /// ```
    fn order_rows(&self, rows: &NodeRows<'_>, feature: usize, worker: &mut Worker<C>) {
        let Worker { order, has_entry, discount, .. } = worker;
        *discount = 1.0;
        let column = &*rows.columns[feature];
        order.clear();
        if column.len() == rows.rows.len() {
            order.extend_from_slice(column);
        } else {
            let n_below = partition_point(0, column.len(), |place| self.value(column[place], feature) < 0.0);
            has_entry.resize(self.fit.x.n_rows(), false);
            set_all(has_entry, column, true);
            order.extend_from_slice(&column[..n_below]);
            order.extend(rows.rows.iter().filter(|&&row| !has_entry[row as usize]));
            order.extend_from_slice(&column[n_below..]);
            set_all(has_entry, column, false);
        }
    }

    /// Notes the side of each row of the node. Returns the division of the winner's order, which
    /// stays in `worker.order`, and the threshold.
    fn divide(
        &self,
        open: &OpenNode<'_, C::NodeStats>,
        table: &C::Table,
        split: &Split,
        worker: &mut Worker<C>,
    ) -> (Division, f64) {
        NodeSearch { grower: self, open, table }.order_rows(split.feature, worker);
        let order = &worker.order;
        let value = |place: usize| self.value(order[place], split.feature);
        // The codes of ordered categories don't ascend; their places do.
        let is_numeric = self.n_categories(split.feature).is_none();
        let ascending = |place: usize| if is_numeric || value(place).is_nan() { value(place) } else { place as f64 };
        let division = Division::new(split, order.len(), true, ascending);
        for (parts, is_left) in division.sides(order).into_iter().zip([true, false]) {
            parts.into_iter().flatten().for_each(|&row| self.sides[row as usize].store(is_left, Ordering::Relaxed));
        }
        let drawn = match self.choices.splitter {
            Splitter::Best => None,
            Splitter::Random => RandomCut::draw_sorted(open.inherited.seed, split.feature, order.len(), value),
        };
        let threshold = drawn.map_or(division.threshold, |drawn| drawn.threshold);
        (division, threshold)
    }

    /// Appends the set of categories that go left, read off the winner's order. Returns the
    /// threshold that stands for the set.
    fn push_set(
        &self,
        n_categories: u32,
        division: &Division,
        order: &[u32],
        missing_left: bool,
        sets: &mut CategorySets,
    ) -> f64 {
        let codes = division.sides(order).map(|[rows, _]| {
            rows.iter()
                .map(|&row| self.value(row, division.feature))
                .filter(|code| !code.is_nan())
                .map(|code| code as u32)
        });
        sets.push(n_categories, codes, missing_left)
    }

    /// Partitions a node's slices by the sides that were noted.
    fn partition<'a>(&self, rows: NodeRows<'a>, workers: &mut [Worker<C>]) -> [NodeRows<'a>; 2] {
        let NodeRows { rows, columns, targets } = rows;
        let [rows, targets] = [rows, targets].map(|rows| {
            let n_left = partition_in_place(rows, |row| self.goes_left(row), &mut workers[0].spare);
            rows.split_at_mut(n_left)
        });
        let mut columns: Vec<_> = columns.into_iter().map(|column| (column, 0)).collect();
        self.fit.team.each(&mut columns, workers, |worker, (column, n_left)| {
            *n_left = partition_in_place(column, |row| self.goes_left(row), &mut worker.spare);
        });
        let (left, right) = columns.into_iter().map(|(column, n_left)| column.split_at_mut(n_left)).unzip();
        [
            NodeRows { rows: rows.0, columns: left, targets: targets.0 },
            NodeRows { rows: rows.1, columns: right, targets: targets.1 },
        ]
    }
}

/// The search for the split of one node.
struct NodeSearch<'a, 'r, C: Criterion> {
    grower: &'a Grower<'a, C>,
    open: &'a OpenNode<'r, C::NodeStats>,
    table: &'a C::Table,
}

impl<C: Criterion> NodeSearch<'_, '_, C> {
    /// Evaluates the drawn features and decides; `None` if no split is allowed or gains enough.
    fn run(&self, workers: &mut [Worker<C>]) -> Option<Split> {
        let (fit, node) = (self.grower.fit, &self.open.node);
        let noise = fit.criterion.noise(node);
        let incumbent = Incumbent::default();
        let mut work: Vec<(usize, Option<Found>)> =
            self.grower.draw_features(self.open).into_iter().map(|feature| (feature, None)).collect();
        fit.team.each(&mut work, workers, |worker, (feature, found)| {
            if !fit.team.cancelled() {
                worker.contest.restart(noise, incumbent.gain());
                *found = self.scan(*feature, worker);
                incumbent.raise(found.map_or(0.0, |found| found.top));
            }
        });
        let split = decide(work.iter().copied(), noise, fit.criterion.nothing(node), |feature, aim| {
            workers[0].contest.restart_for(aim);
            self.scan(feature, &mut workers[0])
        })?;
        fit.is_worthwhile(node, &split).then_some(split)
    }

    /// Offers the cuts of one feature to the worker's contest and returns the winner.
    fn scan(&self, feature: usize, worker: &mut Worker<C>) -> Option<Found> {
        self.order_rows(feature, worker);
        let Worker { contest, scratch, order, values, discount, .. } = worker;
        let mut discounted = Discounted { contest, factor: *discount };
        self.offer_order(feature, (order, values), self.grower.fit.rules, &mut discounted, scratch);
        contest.found()
    }

    /// Writes the node's rows to `worker.order` in the order of the feature: by value, or label
    /// after label.
    fn order_rows(&self, feature: usize, worker: &mut Worker<C>) {
        let Self { grower, open, .. } = *self;
        let codes = &grower.codes[feature];
        if codes.is_empty() {
            return grower.order_rows(&open.rows, feature, worker);
        }
        let targets = (grower.fit.criterion, &open.node, grower.items);
        let Worker { categories, order, values, discount, .. } = worker;
        let smoothing = grower.choices.category_smoothing;
        *discount = categories.arrange(open.rows.rows, codes, targets, smoothing, order, values);
        if self.needs_all_sets(feature, worker) {
            self.try_all_sets(feature, worker);
        }
    }

    /// Whether the best allowed set of labels may be no cut of their order, and all sets can be
    /// tried.
    fn needs_all_sets(&self, feature: usize, worker: &mut Worker<C>) -> bool {
        let Fit { criterion, rules, .. } = *self.grower.fit;
        let Worker { categories, order, values, scratch, .. } = worker;
        let labels = categories.labels();
        if !(3..=MAX_LABELS).contains(&labels.len()) {
            return false;
        }
        if criterion.label_order(&self.open.node) != LabelOrder::Mean {
            return true;
        }
        let n_known: usize = labels.iter().map(|label| label.len()).sum();
        let n_missing = order.len() - n_known;
        if C::FORBIDS_SIDES && (categories.has_zero_label() || n_missing > 0) {
            return true;
        }
        // In the order of means, one of these is a part of every side.
        let smallest_sides = [labels[0].len(), labels[labels.len() - 1].len(), n_missing];
        let has_few_rows = |n_rows: usize| (1..rules.min_rows_leaf).contains(&n_rows);
        if rules.min_weight_leaf == 0.0 && !smallest_sides.into_iter().any(has_few_rows) {
            return false;
        }
        let free = Rules { min_rows_leaf: 1, min_weight_leaf: 0.0, ..*rules };
        let [of_all, allowed] =
            [&free, rules].map(|rules| self.best_gain(feature, (order, values), rules, 0.0, scratch));
        allowed.is_none_or(|allowed| of_all.is_some_and(|of_all| allowed < near(of_all, 0.0)))
    }

    /// Tries all sets of labels, and arranges them so that the best allowed set is a cut.
    fn try_all_sets(&self, feature: usize, worker: &mut Worker<C>) {
        let Fit { criterion, rules, .. } = *self.grower.fit;
        let Worker { categories, order, values, scratch, .. } = worker;
        let noise = criterion.noise(&self.open.node);
        let mut best = (0.0, None);
        for places in chains(categories.labels().len()) {
            categories.write(places.iter().copied(), order, values);
            let Some(gain) = self.best_gain(feature, (order, values), rules, best.0, scratch) else { continue };
            if best.1.is_none() || near(gain, noise) > best.0 {
                best = (gain, Some(places));
            }
        }
        let n_labels = categories.labels().len();
        let places = best.1.unwrap_or_else(|| (0..n_labels).collect());
        categories.write(places.into_iter(), order, values);
    }

    /// The highest gain of an order's cuts; `None` if none is allowed or reaches the incumbent.
    fn best_gain(
        &self,
        feature: usize,
        order: (&[u32], &[f64]),
        rules: &Rules,
        incumbent: f64,
        scratch: &mut C::Scratch,
    ) -> Option<f64> {
        let mut contest = Tournament::new();
        contest.restart(self.grower.fit.criterion.noise(&self.open.node), incumbent);
        self.offer_order(feature, order, rules, &mut contest, scratch);
        contest.found().map(|found| found.top)
    }

    /// Offers the cuts of the node's rows in this order; `labels` are read of categorical features.
    fn offer_order(
        &self,
        feature: usize,
        (order, labels): (&[u32], &[f64]),
        rules: &Rules,
        contest: &mut dyn Contest,
        scratch: &mut C::Scratch,
    ) {
        let Self { grower, open, table } = *self;
        let criterion = grower.fit.criterion;
        let is_numeric = grower.codes[feature].is_empty();
        let tags = C::Bounds::class_tags(table);
        let part = Feature {
            contributions: Carried {
                items: order,
                contribution: |row: u32| {
                    criterion.contribution(&open.node, grower.items[row as usize], || grower.rank(row))
                },
                tag: |place: usize| TagCellOf::<C>::from_u32(|| tags[grower.rank(order[place])]),
            },
            value: |place: usize| if is_numeric { grower.value(order[place], feature) } else { labels[place] },
            has_missing: true,
            value_order: open.inherited.value_order(Some(grower.choices), feature),
        };
        self.offer(feature, &part, rules, contest, scratch);
    }

    /// Offers all cuts of the feature, or the one that is drawn.
    fn offer<P: ContributionsOf<C>>(
        &self,
        feature: usize,
        part: &Feature<P, impl Fn(usize) -> f64>,
        rules: &Rules,
        mut contest: &mut dyn Contest,
        scratch: &mut C::Scratch,
    ) {
        let contest = &mut contest;
        let criterion = self.grower.fit.criterion;
        if self.grower.choices.splitter == Splitter::Random {
            return self.offer_drawn(feature, part, contest, scratch);
        }
        if gain_bound(criterion, self.table, part, rules).is_none_or(|bound| bound >= contest.bar()) {
            scan(criterion, &self.open.node, self.table, part, rules, contest, scratch);
        }
    }

    /// Draws a cut of the feature and offers it.
    fn offer_drawn<P: ContributionsOf<C>>(
        &self,
        feature: usize,
        part: &Feature<P, impl Fn(usize) -> f64>,
        contest: &mut impl Contest,
        scratch: &mut C::Scratch,
    ) {
        let Fit { criterion, rules, .. } = *self.grower.fit;
        let contributions = &part.contributions;
        let len = contributions.len();
        let Some(drawn) = RandomCut::draw_sorted(self.open.inherited.seed, feature, len, &part.value) else { return };
        let n_left = drawn.n_left();
        if n_left < rules.min_rows_leaf || len - n_left < rules.min_rows_leaf {
            return;
        }
        let cuts = Cuts {
            same: |_, _| false,
            first: n_left,
            last: n_left,
            min_weight: rules.min_weight_leaf,
            missing_left: drawn.missing_left,
            value_order: part.value_order,
        };
        let n_missing = if drawn.missing_left { drawn.n_missing } else { 0 };
        let contributions = MissingFirst { contributions, n_missing };
        criterion.sweep(&self.open.node, self.table, &contributions, &cuts, contest, scratch);
    }
}

fn set_all(flags: &mut [bool], rows: &[u32], flag: bool) {
    for &row in rows {
        flags[row as usize] = flag;
    }
}

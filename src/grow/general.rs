//! Any tree, node by node: features and thresholds drawn at random, predictions that must be monotonic, columns of categories, sparse
//! columns, several outputs.
//!
//! A node owns its part of every column, so two nodes can be worked on side by side. Large nodes share their features out among the
//! threads, small ones are handed out whole. What a node does follows from its rows and its seed, which follows from its
//! path: the tree is the same for every number of threads.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::Fit;
use super::category::Categories;
use super::crown::{Crown, Fate};
use super::dice::Seed;
use super::monotonic::{Bounds, Filter};
use super::sprout::Sprout;
use crate::criterion::{Criterion, Cuts};
use crate::data::Values;
use crate::error::{Error, Result};
use crate::params::{Choices, Splitter};
use crate::scan::{Feature, promise, scan};
use crate::search::{Incumbent, decide};
use crate::split::{Contest, Division, Found, Split, Tournament, partition_point};
use crate::steps::{Carried, Marked, Steps, Turned};
use crate::tree::{CategorySets, Test, Tree};

/// Nodes from this many cells on are worked on by all threads.
const LARGE_CELLS: usize = 1 << 16;

/// The rows of a fit in every order that its nodes need.
pub(crate) struct Orders {
    /// Ascending.
    pub rows: Vec<u32>,
    /// By feature, in ascending order of its values, NaN last. Of sparse columns only the rows whose value is not 0.
    pub columns: Vec<Vec<u32>>,
    /// In ascending order of the targets, for criteria where that counts. Else empty.
    pub targets: Vec<u32>,
}

/// A node's part of the orders.
struct Field<'a> {
    rows: &'a mut [u32],
    columns: Vec<&'a mut [u32]>,
    targets: &'a mut [u32],
}

impl<'a> Field<'a> {
    fn new(orders: &'a mut Orders) -> Self {
        let Orders { rows, columns, targets } = orders;
        Self { rows, columns: columns.iter_mut().map(Vec::as_mut_slice).collect(), targets }
    }

    fn cells(&self) -> usize {
        self.columns.iter().map(|column| column.len()).sum()
    }
}

/// A node still to be grown.
struct Open<'a, N> {
    field: Field<'a>,
    node: N,
    depth: u32,
    seed: Seed,
    bounds: Bounds,
}

/// Buffers of one worker.
struct Hand<C: Criterion> {
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

impl<C: Criterion> Hand<C> {
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
    mut orders: Orders,
    items: &[C::Item],
) -> Result<Tree> {
    let n_rows = fit.x.n_rows();
    let grower = Grower {
        fit,
        choices,
        items,
        sides: (0..n_rows).map(|_| AtomicBool::new(false)).collect(),
        ranks: (0..if C::ORDERED { n_rows } else { 0 }).map(|_| AtomicU32::new(0)).collect(),
    };
    let mut hands: Vec<Hand<C>> = (0..fit.team.threads()).map(|_| Hand::new()).collect();
    let field = Field::new(&mut orders);
    let node = grower.describe(&field, &mut hands[0].items);
    let root = Open { field, node, depth: 0, seed: Seed::new(choices.seed), bounds: Bounds::default() };
    let (crown, sets) = grower.grow(root, &mut hands);
    if fit.team.cancelled() {
        return Err(Error::Interrupted);
    }
    let tree = crown.assemble(fit, fit.x.n_columns());
    Ok(match &choices.categories {
        Some(counts) => tree.with_categories(counts.clone(), &sets),
        None => tree,
    })
}

impl<C: Criterion> Grower<'_, C> {
    /// Grows the large nodes with all threads for each, then the small ones with a thread for each.
    fn grow(&self, root: Open<'_, C::Node>, hands: &mut [Hand<C>]) -> (Crown, CategorySets) {
        let (mut crown, mut sets) = (Crown::default(), CategorySets::default());
        let push = |crown: &mut Crown, open: &Open<'_, C::Node>| {
            let id = crown.push(self.fit.criterion, &open.node);
            open.bounds.keep(crown.value_mut(id, self.fit.criterion.n_values()));
            id
        };
        let (mut pending, mut small) = (vec![(push(&mut crown, &root), root)], Vec::new());
        while let Some((id, open)) = pending.pop() {
            if self.is_leaf(&open) {
                continue;
            }
            if open.field.cells() < LARGE_CELLS || hands.len() == 1 {
                small.push((id, Some(open), None));
                continue;
            }
            if let Some((test, children)) = self.split(open, hands, &mut sets) {
                let children = children.map(|child| (push(&mut crown, &child), child));
                crown.settle(id, Fate::Inner(test, [children[0].0, children[1].0]));
                pending.extend(children);
            }
        }
        self.fit.team.each(&mut small, hands, |hand, (_, open, grown)| {
            let open = open.take().expect("each is grown once");
            *grown = Some(self.grow_small(open, std::slice::from_mut(hand)));
        });
        for (id, _, grown) in small {
            let (mut sprout, own_sets) = grown.expect("each has been grown");
            sprout.shift_sets(sets.append(own_sets));
            sprout.finish(self.fit.units);
            crown.settle(id, Fate::Subtree(sprout));
        }
        (crown, sets)
    }

    /// Grows a node and all that is below it with one thread.
    fn grow_small(&self, root: Open<'_, C::Node>, hand: &mut [Hand<C>]) -> (Sprout, CategorySets) {
        let (mut sprout, mut sets) = (Sprout::default(), CategorySets::default());
        let n_values = self.fit.criterion.n_values();
        // Each with the inner node that it is the right child of; a left child simply comes next.
        let mut pending = vec![(root, None)];
        while let Some((open, right_of)) = pending.pop() {
            let id = sprout.push(self.fit.criterion, &open.node);
            open.bounds.keep(sprout.value_mut(id, n_values));
            if let Some(parent) = right_of {
                sprout.set_right(parent, id);
            }
            if self.is_leaf(&open) {
                continue;
            }
            let depth = open.depth;
            if let Some((test, [left, right])) = self.split(open, hand, &mut sets) {
                sprout.split(id, depth, test);
                pending.extend([(right, Some(id)), (left, None)]);
            }
        }
        (sprout, sets)
    }

    /// Whether the rules make a node a leaf, or there is no time to split it.
    fn is_leaf(&self, open: &Open<'_, C::Node>) -> bool {
        let is_leaf = self.fit.is_leaf(&open.node, open.depth) || self.fit.team.cancelled();
        self.fit.team.settle(if is_leaf { open.field.rows.len() } else { 0 });
        is_leaf
    }

    /// Finds the split of a node and carries it out; `None` if it stays a leaf.
    fn split<'a>(
        &self,
        open: Open<'a, C::Node>,
        hands: &mut [Hand<C>],
        sets: &mut CategorySets,
    ) -> Option<(Test, [Open<'a, C::Node>; 2])> {
        let table = self.tabulate(&open, &mut hands[0].items);
        let Some(split) = self.search(&open, &table, hands) else {
            self.fit.team.settle(open.field.rows.len());
            return None;
        };
        let (division, threshold) = self.mark_sides(&open, &split, &mut hands[0]);
        let Open { field, depth, seed, bounds, .. } = open;
        let fields = self.part(field, hands);
        let [left, right] = fields.each_ref().map(|field| self.describe(field, &mut hands[0].items));
        let mut test = Test { threshold, ..self.fit.test(&division, &left, &right) };
        if let Some(n_categories) = self.n_categories(split.feature) {
            // The winner's order still stands.
            let codes = division.sides(&hands[0].order).map(|[rows, _]| {
                rows.iter()
                    .map(|&row| self.value(row, split.feature))
                    .filter(|code| !code.is_nan())
                    .map(|code| code as u32)
            });
            test.threshold = sets.push(n_categories, codes, test.missing_left);
        }
        let [low, high] = self.child_bounds(bounds, split.feature, [&left, &right]);
        let [left_field, right_field] = fields;
        let depth = depth + 1;
        Some((
            test,
            [
                Open { field: left_field, node: left, depth, seed: seed.child(0), bounds: low },
                Open { field: right_field, node: right, depth, seed: seed.child(1), bounds: high },
            ],
        ))
    }

    fn describe(&self, field: &Field<'_>, items: &mut Vec<C::Item>) -> C::Node {
        self.gather(field, items);
        self.fit.criterion.describe(items)
    }

    /// The targets of a node, in ascending order where that counts.
    fn gather(&self, field: &Field<'_>, items: &mut Vec<C::Item>) {
        let rows: &[u32] = if C::ORDERED { field.targets } else { field.rows };
        items.clear();
        items.extend(rows.iter().map(|&row| self.items[row as usize]));
    }

    /// The table of a node; its rows are numbered by rank where order counts.
    fn tabulate(&self, open: &Open<'_, C::Node>, items: &mut Vec<C::Item>) -> C::Table {
        self.gather(&open.field, items);
        let mut table = C::Table::default();
        self.fit.criterion.tabulate(&open.node, items, &mut table);
        if C::ORDERED {
            for (rank, &row) in (0..).zip(open.field.targets.iter()) {
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
    fn search(&self, open: &Open<'_, C::Node>, table: &C::Table, hands: &mut [Hand<C>]) -> Option<Split> {
        let noise = self.fit.criterion.noise(&open.node);
        let incumbent = Incumbent::default();
        let mut work: Vec<(usize, Option<Found>)> =
            self.draw_features(open).into_iter().map(|feature| (feature, None)).collect();
        let look = |hand: &mut Hand<C>, (feature, found): &mut (usize, Option<Found>)| {
            if !self.fit.team.cancelled() {
                hand.contest.restart(noise, incumbent.gain());
                self.scan(open, table, *feature, hand);
                *found = hand.contest.found();
                incumbent.raise(found.map_or(0.0, |found| found.top));
            }
        };
        self.fit.team.each(&mut work, hands, look);
        let found = work.iter().filter_map(|&(feature, found)| Some((feature, found?)));
        let split = decide(found, noise, |feature, least| {
            let hand = &mut hands[0];
            hand.contest.restart_from(least);
            self.scan(open, table, feature, hand);
            hand.contest.found().map(|found| found.cut)
        })?;
        self.fit.is_worthwhile(&open.node, &split).then_some(split)
    }

    /// The features that are looked at, in ascending order: as many as there are to be, and more as long as all are constant.
    fn draw_features(&self, open: &Open<'_, C::Node>) -> Vec<usize> {
        let all = self.fit.x.n_columns();
        if self.choices.n_features >= all {
            return (0..all).collect();
        }
        let mut urn: Vec<u32> = (0..all as u32).collect();
        let mut dice = open.seed.dice();
        let (mut drawn, mut n_drawn) = (Vec::new(), 0);
        while n_drawn < all && (n_drawn < self.choices.n_features || drawn.is_empty()) {
            urn.swap(n_drawn, n_drawn + dice.below(all - n_drawn));
            let feature = urn[n_drawn] as usize;
            if !self.is_constant(&open.field, feature) {
                drawn.push(feature);
            }
            n_drawn += 1;
        }
        drawn.sort_unstable();
        drawn
    }

    fn is_constant(&self, field: &Field<'_>, feature: usize) -> bool {
        let column = &field.columns[feature];
        match (column.first(), column.last()) {
            // Rows without an entry have the value 0, and entries others.
            (Some(&first), Some(&last)) => {
                let (first, last) = (self.value(first, feature), self.value(last, feature));
                column.len() == field.rows.len() && (first == last || first.is_nan() && last.is_nan())
            }
            _ => true,
        }
    }

    /// Puts the rows of a node into the order in which the feature's cuts are looked for.
    fn put_in_order(&self, open: &Open<'_, C::Node>, feature: usize, hand: &mut Hand<C>) {
        let Hand { order, has_entry, categories, .. } = hand;
        let column = &*open.field.columns[feature];
        order.clear();
        if column.len() == open.field.rows.len() {
            order.extend_from_slice(column);
        } else {
            let n_below = partition_point(0, column.len(), |place| self.value(column[place], feature) < 0.0);
            has_entry.resize(self.fit.x.n_rows(), false);
            mark(has_entry, column, true);
            order.extend_from_slice(&column[..n_below]);
            order.extend(open.field.rows.iter().filter(|&&row| !has_entry[row as usize]));
            order.extend_from_slice(&column[n_below..]);
            mark(has_entry, column, false);
        }
        if self.n_categories(feature).is_some() {
            let sample = |row: u32| self.fit.criterion.sample(self.items[row as usize]);
            categories.order_by_mean(order, |row| self.value(row, feature), sample);
        }
    }

    /// Offers the cuts of one feature to the hand's contest.
    fn scan(&self, open: &Open<'_, C::Node>, table: &C::Table, feature: usize, hand: &mut Hand<C>) {
        self.put_in_order(open, feature, hand);
        let Hand { contest, sweep, filter, order, .. } = hand;
        let criterion = self.fit.criterion;
        let rank = |row: u32| self.ranks[row as usize].load(Ordering::Relaxed) as usize;
        let step = |row: u32| criterion.step(&open.node, self.items[row as usize], || rank(row));
        let marks = C::marks(table);
        let mark = |place: usize| marks[rank(order[place])];
        let steps = Marked { steps: Carried { items: order, step }, mark };
        let value = |place: usize| self.value(order[place], feature);
        match &self.choices.monotonic {
            None => self.offer(open, table, feature, &steps, value, contest, sweep),
            Some(signs) => {
                let sample = |place: usize| criterion.sample(self.items[order[place] as usize]);
                let n_missing = order.len() - partition_point(0, order.len(), |place| !value(place).is_nan());
                filter.prepare(criterion.location(), open.bounds, signs[feature], order.len(), n_missing, sample);
                let mut contest = filter.contest(contest);
                self.offer(open, table, feature, &steps, value, &mut contest, sweep);
            }
        }
    }

    /// Offers all cuts, or the one that was drawn.
    #[allow(clippy::too_many_arguments)] // The parts of a feature and of a contest.
    fn offer<P: Steps<Step = C::Step>>(
        &self,
        open: &Open<'_, C::Node>,
        table: &C::Table,
        feature: usize,
        steps: &P,
        value: impl Fn(usize) -> f64,
        mut contest: &mut dyn Contest,
        sweep: &mut C::Scratch,
    ) {
        let contest = &mut contest;
        let Fit { criterion, rules, .. } = *self.fit;
        if self.choices.splitter == Splitter::Best {
            let feature = Feature { steps, value, has_missing: true };
            if promise(criterion, table, &feature, rules).is_none_or(|most| most >= contest.bar()) {
                scan(criterion, &open.node, table, &feature, rules, contest, sweep);
            }
            return;
        }
        let Some(drawn) = Drawn::new(open.seed, feature, steps.len(), value) else { return };
        let n_left = drawn.n_left();
        if n_left < rules.min_rows_leaf || steps.len() - n_left < rules.min_rows_leaf {
            return;
        }
        let cuts = Cuts {
            same: |_, _| false,
            first: n_left,
            last: n_left,
            min_weight: rules.min_weight_leaf,
            missing_left: drawn.missing_left,
        };
        let n_last = if drawn.missing_left { drawn.n_missing } else { 0 };
        criterion.sweep(&open.node, table, &Turned { steps, n_last }, &cuts, contest, sweep);
    }

    /// Notes on which side each row of the node is; returns the division of the winner's order, and the threshold.
    fn mark_sides(&self, open: &Open<'_, C::Node>, split: &Split, hand: &mut Hand<C>) -> (Division, f64) {
        self.put_in_order(open, split.feature, hand);
        let order = &hand.order;
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

    /// Parts a node's field as the sides of its rows say.
    fn part<'a>(&self, field: Field<'a>, hands: &mut [Hand<C>]) -> [Field<'a>; 2] {
        let Field { rows, columns, targets } = field;
        let part = |spare: &mut Vec<u32>, rows: &mut [u32]| {
            partition_in_place(rows, |row| self.sides[row as usize].load(Ordering::Relaxed), spare)
        };
        let [rows, targets] = [rows, targets].map(|rows| {
            let n_left = part(&mut hands[0].spare, rows);
            rows.split_at_mut(n_left)
        });
        let mut columns: Vec<_> = columns.into_iter().map(|column| (column, 0)).collect();
        self.fit.team.each(&mut columns, hands, |hand, (column, n_left)| *n_left = part(&mut hand.spare, column));
        let (left, right) = columns.into_iter().map(|(column, n_left)| column.split_at_mut(n_left)).unzip();
        [
            Field { rows: rows.0, columns: left, targets: targets.0 },
            Field { rows: rows.1, columns: right, targets: targets.1 },
        ]
    }

    fn child_bounds(&self, bounds: Bounds, feature: usize, children: [&C::Node; 2]) -> [Bounds; 2] {
        let Some(signs) = &self.choices.monotonic else { return [bounds; 2] };
        let value = |node: &C::Node| {
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
        let mut dice = seed.of_feature(feature).dice();
        let (least, greatest) = (value(0), value(n_values - 1));
        if least == greatest {
            // Nothing to draw from, but missing values can be told from the others.
            let all = Self { threshold: f64::INFINITY, n_up_to: n_values, n_missing, missing_left: false };
            return (n_missing > 0).then_some(all);
        }
        let threshold = dice.between(least, greatest);
        Some(Self {
            threshold,
            n_up_to: partition_point(0, n_values, |place| value(place) <= threshold),
            n_missing,
            missing_left: n_missing > 0 && dice.below(2) == 0,
        })
    }

    fn n_left(&self) -> usize {
        self.n_up_to + if self.missing_left { self.n_missing } else { 0 }
    }
}

fn mark(marks: &mut [bool], rows: &[u32], is_marked: bool) {
    for &row in rows {
        marks[row as usize] = is_marked;
    }
}

/// Moves the rows that go left to the front, both sides in their old order; returns how many they are.
fn partition_in_place(rows: &mut [u32], goes_left: impl Fn(u32) -> bool, spare: &mut Vec<u32>) -> usize {
    spare.resize(spare.len().max(rows.len()), 0);
    let (mut left, mut right) = (0, 0);
    for place in 0..rows.len() {
        let row = rows[place];
        let is_left = usize::from(goes_left(row));
        rows[left] = row;
        spare[right] = row;
        left += is_left;
        right += 1 - is_left;
    }
    rows[left..].copy_from_slice(&spare[..right]);
    left
}

//! Large nodes, breadth-first: all of a level at once, threads over features.
//!
//! For each feature, a level first carries out the divisions of the level before (a stable partition of the parents' ranges from
//! the column to a spare one, which then take each other's place), then scans the level's nodes. A column is thus read and
//! written once a level, by one thread. Nodes that have become small wait, and their ranges move along, until there are enough of them
//! to keep all threads busy with `subtree.rs`.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};

use super::Fit;
use super::crown::{Crown, Fate};
use super::subtree::{self, Workspace};
use crate::columns::{Column, Columns};
use crate::criterion::Criterion;
use crate::data::{Cell, Matrix};
use crate::error::{Error, Result};
use crate::partition::partition;
use crate::scan::{Feature, promise, scan};
use crate::search::{Incumbent, decide};
use crate::split::{Contest, Division, Found, Tournament};
use crate::steps::{Carried, Mark, Marked, Steps};
use crate::tree::Tree;

/// As many subtrees a thread as leave nobody without work for long while the last ones are grown.
const BATCH: usize = 16;

/// A node whose features are still to be looked at.
struct Open<C: Criterion> {
    id: usize,
    start: usize,
    /// Which child it is, and what is noted of its rows.
    is_left: bool,
    node: C::Node,
    table: C::Table,
}

/// Of each row, by its ticket: its rank among its node's targets, and its mark. Rows of different nodes lie side by side and are
/// written by different threads; relaxed stores cost what plain ones do.
struct Ranks<M> {
    ranks: Vec<AtomicU32>,
    marks: Vec<M>,
}

impl<M: Mark> Ranks<M> {
    fn new(n_rows: usize) -> Self {
        Self {
            ranks: (0..n_rows).map(|_| AtomicU32::new(0)).collect(),
            marks: (0..n_rows).map(|_| M::default()).collect(),
        }
    }

    /// Numbers a node's rows, which are in the order of their targets.
    fn number<C: Criterion>(&self, table: &C::Table, items: &[C::Item]) {
        if C::ORDERED {
            (0..).zip(items).for_each(|(rank, &item)| self.ranks[C::ticket(item)].store(rank, Ordering::Relaxed));
            for (&item, &mark) in items.iter().zip(C::marks(table)) {
                self.marks[C::ticket(item)].set(mark);
            }
        }
    }

    fn of<C: Criterion>(&self, item: C::Item) -> usize {
        self.ranks[C::ticket(item)].load(Ordering::Relaxed) as usize
    }

    fn mark<C: Criterion>(&self, item: C::Item) -> u32 {
        self.marks[C::ticket(item)].get()
    }
}

impl<C: Criterion> Open<C> {
    fn range(&self, criterion: &C) -> Range<usize> {
        self.start..self.start + criterion.rows(&self.node)
    }

    /// The node's part of a column.
    fn feature<'a, X: Cell>(
        &'a self,
        fit: &'a Fit<'_, Matrix<'_, X>, C>,
        feature: usize,
        column: &'a Column<C::Item>,
        has_missing: bool,
        ranks: &'a Ranks<C::Mark>,
    ) -> Feature<impl Steps<Step = C::Step> + 'a, impl Fn(usize) -> X + 'a> {
        let stretch = column.range(self.range(fit.criterion));
        Feature {
            steps: Marked {
                steps: Carried {
                    items: stretch.items,
                    step: |item| fit.criterion.step(&self.node, item, || ranks.of::<C>(item)),
                },
                mark: move |place: usize| ranks.mark::<C>(stretch.items[place]),
            },
            value: move |place| fit.x.get(stretch.rows[place] as usize, feature),
            has_missing,
        }
    }

    /// Offers the cuts of one feature to the hand's contest.
    fn scan<X: Cell>(
        &self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        feature: &Feature<impl Steps<Step = C::Step>, impl Fn(usize) -> X>,
        hand: &mut Hand<C>,
    ) {
        scan(fit.criterion, &self.node, &self.table, feature, fit.rules, &mut hand.contest, &mut hand.sweep);
    }
}

/// A node that is to be grown as a subtree.
struct Seedling<C: Criterion> {
    id: usize,
    range: Range<usize>,
    node: C::Node,
    depth: u32,
}

impl<C: Criterion> Seedling<C> {
    fn new(criterion: &C, open: Open<C>, depth: u32) -> Self {
        Self { id: open.id, range: open.range(criterion), node: open.node, depth }
    }
}

fn ranges<C: Criterion>(seedlings: &[Seedling<C>]) -> Vec<Range<usize>> {
    seedlings.iter().map(|seedling| seedling.range.clone()).collect()
}

/// What is to be done to a column.
struct Moves<'a> {
    partings: &'a [Parting],
    sides: &'a Sides,
    /// Ranges that stay as they are, of nodes that wait.
    waiting: Vec<Range<usize>>,
}

/// A node that has been split, until the columns have followed.
struct Parting {
    id: usize,
    start: usize,
    /// What is noted of its rows until those of one child are marked.
    was_left: bool,
    division: Division,
}

impl Parting {
    /// Notes on which side the rows of a child are. Those that stay on their parent's side are noted already.
    fn mark(&self, sides: &Sides, rows: [&[u32]; 2], is_left: bool) {
        if is_left != self.was_left {
            rows.into_iter().flatten().for_each(|&row| sides.set(row, is_left));
        }
    }
}

/// Which side of its parent's division each row is on.
struct Sides {
    /// A byte a row, for writing: the rows of different nodes lie side by side and are written by different threads.
    /// Relaxed stores cost what plain ones do.
    bytes: Vec<AtomicBool>,
    /// The same, a bit a row, for reading at random: of a million rows they stay in the second-level cache.
    bits: Vec<u64>,
}

impl Sides {
    fn new(n_rows: usize) -> Self {
        // Whole words, so that the last one needs no care.
        let n_words = n_rows.div_ceil(64);
        Self { bytes: (0..n_words * 64).map(|_| AtomicBool::new(false)).collect(), bits: vec![0; n_words] }
    }

    fn set(&self, row: u32, is_left: bool) {
        self.bytes[row as usize].store(is_left, Ordering::Relaxed);
    }

    /// What was just set by the same thread.
    fn get(&self, row: u32) -> bool {
        self.bytes[row as usize].load(Ordering::Relaxed)
    }

    /// Makes what was set since the last time readable.
    fn publish(&mut self) {
        for (word, bytes) in self.bits.iter_mut().zip(self.bytes.as_chunks_mut::<64>().0) {
            let (eights, _) = bytes.as_chunks_mut::<8>();
            *word = eights.iter_mut().enumerate().fold(0, |word, (i, eight)| word | pack(eight) << (8 * i));
        }
    }

    #[inline]
    fn is_left(&self, row: u32) -> bool {
        self.bits[row as usize / 64] >> (row % 64) & 1 != 0
    }
}

/// Eight bits, the first one lowest. The factor moves the lowest bit of each byte into the uppermost byte.
fn pack(bytes: &mut [AtomicBool; 8]) -> u64 {
    let bytes = u64::from_le_bytes(bytes.each_mut().map(|byte| u8::from(*byte.get_mut())));
    bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Buffers of one worker.
struct Hand<C: Criterion> {
    spare: Column<C::Item>,
    contest: Tournament,
    sweep: C::Scratch,
}

pub(super) fn grow<X: Cell, C: Criterion>(
    fit: &Fit<'_, Matrix<'_, X>, C>,
    mut columns: Columns<C::Item>,
    root: C::Node,
) -> Result<Tree> {
    let n_rows = columns.columns[0].rows.len();
    let small = subtree::max_rows(fit.x.n_columns());
    let mut crown = Crown::default();
    let mut sides = Sides::new(if n_rows > small { fit.x.n_rows() } else { 0 });
    let local_ids: Vec<AtomicU16> = (0..fit.x.n_rows()).map(|_| AtomicU16::new(0)).collect();
    let hand = |_| Hand { spare: Column::with_len(0), contest: Tournament::new(), sweep: C::Scratch::default() };
    let mut hands: Vec<Hand<C>> = (0..fit.team.threads()).map(hand).collect();
    let mut workspaces: Vec<Workspace<X, C>> = (0..fit.team.threads()).map(|_| Workspace::new(fit.rules)).collect();

    let ranks = Ranks::new(columns.targets.rows.len());
    let mut spare_targets = Column::with_len(columns.targets.rows.len());

    let mut table = C::Table::default();
    fit.criterion.tabulate(&root, &columns.targets.items, &mut table);
    ranks.number::<C>(&table, &columns.targets.items);
    let mut level = vec![Open { id: crown.push(fit.criterion, &root), start: 0, is_left: false, node: root, table }];
    let mut partings: Vec<Parting> = Vec::new();
    let mut waiting: Vec<Seedling<C>> = Vec::new();
    let batch = if fit.team.threads() == 1 { 0 } else { BATCH * fit.team.threads() };
    for depth in 0.. {
        level.retain(|open| {
            let is_leaf = fit.is_leaf(&open.node, depth);
            fit.team.settle(if is_leaf { fit.criterion.rows(&open.node) } else { 0 });
            !is_leaf
        });
        if (level.is_empty() && waiting.is_empty()) || fit.team.cancelled() {
            break;
        }
        let (open, seedlings): (Vec<_>, Vec<_>) =
            level.into_iter().partition(|open| fit.criterion.rows(&open.node) > small);
        let moves = Moves { partings: &partings, sides: &sides, waiting: ranges(&waiting) };
        let prospects = search_level(fit, &mut columns, &moves, &ranks, &open, &mut hands);
        waiting.extend(seedlings.into_iter().map(|open| Seedling::new(fit.criterion, open, depth)));
        if open.is_empty() || waiting.len() >= batch {
            grow_subtrees(fit, &columns, std::mem::take(&mut waiting), &local_ids, &mut workspaces, &mut crown);
        }
        partings = decide_level(fit, &columns, &open, &prospects, &ranks, &mut hands[0]);
        if C::ORDERED {
            let moves = Moves { partings: &partings, sides: &sides, waiting: ranges(&waiting) };
            part_targets(fit, &mut columns, &mut spare_targets, &moves);
        }
        let is_open = |node: &C::Node| fit.criterion.rows(node) > small && !fit.is_leaf(node, depth + 1);
        level = divide(fit, &columns, &partings, &sides, &ranks, is_open, &mut crown);
        sides.publish();
    }
    drop((columns, spare_targets, ranks, hands, workspaces, sides, local_ids));
    if fit.team.cancelled() {
        return Err(Error::Interrupted);
    }
    Ok(crown.assemble(fit, fit.x.n_columns()))
}

/// A feature of an open node: what it found, or what it promises until it is scanned.
struct Prospect {
    /// The place of the node among the open ones.
    node: usize,
    feature: usize,
    promise: Option<f64>,
    found: Option<Found>,
}

/// Carries out the moves in every column and scans the open nodes; returns what each feature found for each of them.
///
/// Where features can promise, none is scanned before the one of its node that promises most.
fn search_level<X: Cell, C: Criterion>(
    fit: &Fit<'_, Matrix<'_, X>, C>,
    columns: &mut Columns<C::Item>,
    moves: &Moves<'_>,
    ranks: &Ranks<C::Mark>,
    open: &[Open<C>],
    hands: &mut [Hand<C>],
) -> Vec<Vec<Prospect>> {
    let incumbents: Vec<Incumbent> = open.iter().map(|_| Incumbent::default()).collect();
    let Columns { columns, has_missing, .. } = columns;
    let look = |hand: &mut Hand<C>, column: &Column<C::Item>, prospect: &mut Prospect| {
        let &mut Prospect { node, feature, promise, .. } = prospect;
        let (open, incumbent) = (&open[node], &incumbents[node]);
        hand.contest.restart(fit.criterion.noise(&open.node), incumbent.gain());
        if !fit.team.cancelled() && promise.is_none_or(|promise| promise >= hand.contest.bar()) {
            open.scan(fit, &open.feature(fit, feature, column, has_missing[feature], ranks), hand);
            prospect.found = hand.contest.found();
            incumbent.raise(prospect.found.map_or(0.0, |found| found.top));
        }
    };
    let mut prospects: Vec<Vec<Prospect>> = columns.iter().map(|_| Vec::with_capacity(open.len())).collect();
    let mut work: Vec<_> = columns.iter_mut().zip(&mut prospects).enumerate().collect();
    fit.team.each(&mut work, hands, |hand, (feature, (column, prospects))| {
        let feature = *feature;
        let mut open = open.iter().enumerate().peekable();
        let mut look_until = |hand: &mut Hand<C>, column: &Column<C::Item>, end: usize| {
            while let Some((node, open)) = open.next_if(|(_, open)| open.start < end && !fit.team.cancelled()) {
                let part = open.feature(fit, feature, column, has_missing[feature], ranks);
                let promise = promise(fit.criterion, &open.table, &part, fit.rules);
                let mut prospect = Prospect { node, feature, promise, found: None };
                if promise.is_none() {
                    look(hand, column, &mut prospect);
                }
                prospects.push(prospect);
            }
        };
        if moves.partings.is_empty() {
            return look_until(hand, column, column.rows.len());
        }
        // Children are looked at as soon as they stand: they may still be in the cache.
        let mut spare = std::mem::take(&mut hand.spare);
        spare.reserve(column.rows.len());
        for range in &moves.waiting {
            spare.copy(range.clone(), column);
        }
        for parting in moves.partings {
            carry_out(parting, feature, column, &mut spare, moves.sides);
            look_until(hand, &spare, parting.start + parting.division.len);
        }
        hand.spare = std::mem::replace(*column, spare);
    });
    let mut waiting: Vec<&mut Prospect> =
        prospects.iter_mut().flatten().filter(|prospect| prospect.promise.is_some()).collect();
    let promised = |prospect: &Prospect| prospect.promise.unwrap_or(0.0).max(f64::MIN_POSITIVE);
    let mut most = vec![f64::MIN_POSITIVE; open.len()];
    for prospect in &waiting {
        most[prospect.node] = most[prospect.node].max(promised(prospect));
    }
    let share = |prospect: &Prospect| promised(prospect) / most[prospect.node];
    waiting.sort_by(|a, b| share(b).total_cmp(&share(a)));
    fit.team.each(&mut waiting, hands, |hand, prospect| look(hand, &columns[prospect.feature], prospect));
    prospects
}

/// Partitions a parent's range of one column into the spare column.
fn carry_out<T: Copy + Default>(
    parting: &Parting,
    feature: usize,
    from: &Column<T>,
    to: &mut Column<T>,
    sides: &Sides,
) {
    let Parting { start, division, .. } = parting;
    let range = *start..start + division.len;
    let stretch = from.range(range.clone());
    let (rows, items) = (&mut to.rows[range.clone()], &mut to.items[range]);
    if feature == division.feature && division.back == 0 {
        // The winner's own column is in place already.
        rows.copy_from_slice(stretch.rows);
        items.copy_from_slice(stretch.items);
    } else {
        partition(stretch, |row| sides.is_left(row), division.n_left(), rows, items);
    }
}

fn grow_subtrees<X: Cell, C: Criterion>(
    fit: &Fit<'_, Matrix<'_, X>, C>,
    columns: &Columns<C::Item>,
    mut seedlings: Vec<Seedling<C>>,
    local_ids: &[AtomicU16],
    workspaces: &mut [Workspace<X, C>],
    crown: &mut Crown,
) {
    // Long ones first, so that nobody is left waiting for the last one.
    seedlings.sort_by_key(|seedling| std::cmp::Reverse(seedling.range.len()));
    let mut work: Vec<_> = seedlings.into_iter().map(|seedling| (seedling.id, Some(seedling), None)).collect();
    fit.team.each(&mut work, workspaces, |workspace, (_, seedling, sprout)| {
        let Seedling { range, node, depth, .. } = seedling.take().expect("each subtree is grown once");
        let n_rows = range.len();
        let mut grown = workspace.grow(fit, columns, range.start, node, depth, local_ids);
        grown.finish(fit.units);
        fit.team.settle(n_rows);
        *sprout = Some(grown);
    });
    for (id, _, sprout) in work {
        crown.settle(id, Fate::Subtree(sprout.expect("each subtree has been grown")));
    }
}

/// Decides the split of each open node.
fn decide_level<X: Cell, C: Criterion>(
    fit: &Fit<'_, Matrix<'_, X>, C>,
    columns: &Columns<C::Item>,
    open: &[Open<C>],
    prospects: &[Vec<Prospect>],
    ranks: &Ranks<C::Mark>,
    hand: &mut Hand<C>,
) -> Vec<Parting> {
    let mut partings = Vec::new();
    for (k, open) in open.iter().enumerate() {
        let found =
            prospects.iter().enumerate().filter_map(|(feature, prospects)| Some((feature, prospects.get(k)?.found?)));
        let split = decide(found, fit.criterion.noise(&open.node), |feature, least| {
            hand.contest.restart_from(least);
            let (column, has_missing) = (&columns.columns[feature], columns.has_missing[feature]);
            open.scan(fit, &open.feature(fit, feature, column, has_missing, ranks), hand);
            hand.contest.found().map(|found| found.cut)
        });
        let &Open { id, start, is_left: was_left, ref node, .. } = open;
        if let Some(split) = split
            && fit.is_worthwhile(node, &split)
        {
            let len = fit.criterion.rows(node);
            let rows = &columns.columns[split.feature].rows[start..start + len];
            let value = |place: usize| fit.x.get(rows[place] as usize, split.feature).to_f64();
            let division = Division::new(&split, len, columns.has_missing[split.feature], value);
            partings.push(Parting { id, start, was_left, division });
        } else {
            fit.team.settle(fit.criterion.rows(node));
        }
    }
    partings
}

/// Carries the partings out in the column of targets at once: the children are described from it.
fn part_targets<X: Cell, C: Criterion>(
    fit: &Fit<'_, Matrix<'_, X>, C>,
    columns: &mut Columns<C::Item>,
    spare: &mut Column<C::Item>,
    moves: &Moves<'_>,
) {
    let Columns { columns, targets, .. } = columns;
    let &Moves { partings, sides, ref waiting } = moves;
    if partings.is_empty() {
        return;
    }
    for range in waiting {
        spare.copy(range.clone(), targets);
    }
    // The partings' ranges ascend, so the spare column falls into their parts.
    let (mut rows, mut items, mut end) = (&mut spare.rows[..], &mut spare.items[..], 0);
    let mut work = Vec::with_capacity(partings.len());
    for parting in partings {
        let (skip, len) = (parting.start - end, parting.division.len);
        end = parting.start + len;
        let mine = rows.split_at_mut(skip).1.split_at_mut(len);
        let mine_items = items.split_at_mut(skip).1.split_at_mut(len);
        (rows, items) = (mine.1, mine_items.1);
        work.push((parting, mine.0, mine_items.0));
    }
    fit.team.each(&mut work, &mut vec![(); fit.team.threads()], |(), (parting, rows, items)| {
        let Parting { start, division, .. } = parting;
        let range = *start..start + division.len;
        let winner = &columns[division.feature].rows[range.clone()];
        for (rows, is_left) in division.sides(winner).into_iter().zip([true, false]) {
            parting.mark(sides, rows, is_left);
        }
        partition(targets.range(range), |row| sides.get(row), division.n_left(), rows, items);
    });
    std::mem::swap(targets, spare);
}

/// Describes the children of each parting and notes on which side each row is. Those that will be searched as open nodes get a table.
fn divide<X: Cell, C: Criterion>(
    fit: &Fit<'_, Matrix<'_, X>, C>,
    columns: &Columns<C::Item>,
    partings: &[Parting],
    sides: &Sides,
    ranks: &Ranks<C::Mark>,
    is_open: impl Fn(&C::Node) -> bool + Sync,
    crown: &mut Crown,
) -> Vec<Open<C>> {
    // Two tasks a parting, the left child and the right one.
    let mut children: Vec<_> =
        (0..2 * partings.len()).map(|k| (k / 2, k % 2 == 0, None, C::Table::default())).collect();
    fit.team.each(
        &mut children,
        &mut vec![Vec::new(); fit.team.threads()],
        |buffer, (parting, is_left, node, table)| {
            let parting = &partings[*parting];
            let Parting { start, division, .. } = parting;
            if C::ORDERED {
                let (from, to) = if *is_left { (0, division.n_left()) } else { (division.n_left(), division.len) };
                let items = &columns.targets.items[start + from..start + to];
                let described = fit.criterion.describe(items);
                if is_open(&described) {
                    fit.criterion.tabulate(&described, items, table);
                    ranks.number::<C>(table, items);
                }
                *node = Some(described);
                return;
            }
            let stretch = columns.columns[division.feature].range(*start..start + division.len);
            let [left, right] = division.sides(stretch.rows);
            let (items, rows) = if *is_left {
                (division.left_items(stretch.items, buffer), left)
            } else {
                (&stretch.items[division.right()], right)
            };
            parting.mark(sides, rows, *is_left);
            *node = Some(fit.criterion.describe(items));
        },
    );

    let mut level = Vec::with_capacity(children.len());
    let mut children =
        children.into_iter().map(|(.., node, table)| (node.expect("each child has been described"), table));
    for Parting { id, start, division, .. } in partings {
        let (left, left_table) = children.next().expect("a left child");
        let (right, right_table) = children.next().expect("a right child");
        let test = fit.test(division, &left, &right);
        let ids = [crown.push(fit.criterion, &left), crown.push(fit.criterion, &right)];
        crown.settle(*id, Fate::Inner(test, ids));
        level.push(Open { id: ids[0], start: *start, is_left: true, node: left, table: left_table });
        let middle = start + division.n_left();
        level.push(Open { id: ids[1], start: middle, is_left: false, node: right, table: right_table });
    }
    level
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sides_are_read_as_they_were_set(first in prop::collection::vec(any::<bool>(), 1..300), change in 0..300usize) {
            let mut sides = Sides::new(first.len());
            let mut expected = first;
            for _ in 0..2 {
                for (row, &is_left) in expected.iter().enumerate() {
                    sides.set(row as u32, is_left);
                }
                sides.publish();
                for (row, &is_left) in expected.iter().enumerate() {
                    prop_assert_eq!(sides.is_left(row as u32), is_left, "row {}", row);
                }
                let row = change % expected.len();
                expected[row] = !expected[row];
            }
        }
    }
}

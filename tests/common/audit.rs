//! The audit of a fitted tree: each node is recomputed from the rows that reach it, each split is
//! compared with all possible splits.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use splitwood::{Params, Size, Tree};

use super::definition::{Definition, Row, least_seen, lowest, range, total_weight};
use super::table::Table;

/// Relative rounding error of sums.
const RELATIVE: f64 = 1e-9;

/// The stopping rules as numbers of rows and weights.
struct Rules {
    max_depth: usize,
    min_split: usize,
    min_leaf: usize,
    min_weight: f64,
    min_gain: f64,
}

impl Rules {
    fn new(table: &Table, params: &Params) -> Self {
        let rows = |size: Size| match size {
            Size::Rows(rows) => rows as usize,
            Size::Fraction(share) => (share * table.n_rows() as f64).ceil() as usize,
        };
        let weight: f64 = (0..table.n_rows()).map(|row| table.row(row).1).sum();
        let min_leaf = rows(params.min_samples_leaf).max(1);
        Self {
            max_depth: params.max_depth.map_or(usize::MAX, |depth| depth as usize),
            min_split: rows(params.min_samples_split).max(2 * min_leaf),
            min_leaf,
            min_weight: params.min_weight_fraction_leaf * weight,
            min_gain: params.min_impurity_decrease * weight,
        }
    }
}

/// A possible split.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    feature: usize,
    missing_left: bool,
    /// Last value on the left, first value on the right.
    edge: (f64, f64),
    /// Sum of the children's losses.
    loss: f64,
    /// Rows of the smaller side, weight of the lighter side.
    fewer: usize,
    lighter: f64,
    /// Equal for candidates that separate the same sets of rows, whichever side is left.
    partition: u64,
}

impl Candidate {
    fn allowed(&self, rules: &Rules, slack: f64) -> bool {
        let enough = self.fewer >= rules.min_leaf && self.lighter >= rules.min_weight * (1.0 + slack);
        // The deviance of targets that are all 0 is infinite.
        enough && self.loss.is_finite()
    }
}

/// Which other splits a split is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rivals {
    /// All possible splits.
    All,
    /// Splits of the same feature: the other features may not have been drawn.
    SameFeature,
    /// None: the split was drawn at random.
    None,
}

/// Checks the whole tree. Splits are compared with all others at the nodes for which `compare` is
/// true.
pub fn audit(table: &Table, params: &Params, tree: &Tree, compare: impl Fn(usize) -> bool) -> TestCaseResult {
    audit_among(Rivals::All, table, params, tree, compare)
}

/// Like `audit`, but compares splits with the given rivals only.
pub fn audit_among(
    rivals: Rivals,
    table: &Table,
    params: &Params,
    tree: &Tree,
    compare: impl Fn(usize) -> bool,
) -> TestCaseResult {
    let rules = Rules::new(table, params);
    let auditor = Auditor { table, tree, rules, rivals };
    let mut pending = vec![(0, table.taking_part(), 0)];
    let (mut n_nodes, mut deepest) = (0, 0);
    while let Some((id, rows, depth)) = pending.pop() {
        prop_assert_eq!(id, n_nodes, "nodes are numbered depth-first");
        (n_nodes, deepest) = (n_nodes + 1, deepest.max(depth));
        auditor.check_statistics(id, &rows)?;
        let mut candidates = if compare(id) { auditor.candidates(&rows) } else { Vec::new() };
        candidates.retain(|candidate| match rivals {
            Rivals::All => true,
            Rivals::SameFeature => tree.feature(id) == Some(candidate.feature),
            Rivals::None => false,
        });
        if let Some((left, right)) = tree.children(id) {
            let [left_rows, right_rows] = auditor.route(id, &rows);
            auditor.check_test(id, &left_rows, &right_rows)?;
            if compare(id) {
                auditor.check_split(id, depth, [&left_rows, &right_rows], &candidates)?;
            }
            pending.push((right, right_rows, depth + 1));
            pending.push((left, left_rows, depth + 1));
        } else if compare(id) {
            auditor.check_leaf(depth, &rows, &candidates)?;
        }
    }
    prop_assert_eq!((n_nodes, deepest), (tree.node_count(), tree.max_depth()));
    prop_assert_eq!(tree.n_leaves(), (0..n_nodes).filter(|&id| tree.feature(id).is_none()).count());
    Ok(())
}

struct Auditor<'a> {
    table: &'a Table,
    tree: &'a Tree,
    rules: Rules,
    rivals: Rivals,
}

impl Auditor<'_> {
    fn rows(&self, ids: &[usize]) -> Vec<Row> {
        ids.iter().map(|&id| self.table.row(id)).collect()
    }

    /// The rows that go left, and those that go right.
    fn route(&self, node: usize, ids: &[usize]) -> [Vec<usize>; 2] {
        let column = &self.table.columns[self.tree.feature(node).expect("an inner node")];
        let (threshold, missing_left) = (self.tree.threshold(node), self.tree.missing_go_to_left(node));
        let goes_left = |&id: &usize| match column[id] {
            x if x.is_nan() => missing_left == Some(true),
            x => Some(x) <= threshold,
        };
        let (left, right) = ids.iter().copied().partition(goes_left);
        [left, right]
    }

    fn check_statistics(&self, node: usize, ids: &[usize]) -> TestCaseResult {
        let (rows, definition, tree) = (self.rows(ids), self.table.definition(), self.tree);
        let weight = total_weight(&rows);
        prop_assert_eq!(tree.n_rows(node), rows.len());
        prop_assert!((tree.weight(node) - weight).abs() <= 1e-12 * weight, "{} for {weight}", tree.weight(node));
        let value = definition.value(&rows, self.table.n_classes);
        prop_assert_eq!(tree.value(node).len(), value.len());
        let impurity = tree.impurity(node);
        if range(&rows) == 0.0 {
            prop_assert_eq!((tree.value(node), impurity), (&value[..], 0.0), "nothing to round");
            return Ok(());
        }
        let scale = range(&rows) + lowest(&rows).abs();
        for (value, expected) in tree.value(node).iter().zip(value) {
            prop_assert!((value - expected).abs() <= 1e-12 * scale, "node {node}: value {value} for {expected}");
        }
        let expected = definition.loss(&rows) / weight;
        let slack = RELATIVE * expected + definition.blur(&rows) / weight + definition.rounding(&rows);
        prop_assert!((impurity - expected).abs() <= slack, "node {node}: impurity {impurity} for {expected}");
        Ok(())
    }

    /// Checks that the threshold separates the children, halfway where possible, and that missing
    /// values go to the learned side, or to the heavier child where the node has none.
    fn check_test(&self, node: usize, left: &[usize], right: &[usize]) -> TestCaseResult {
        let column = &self.table.columns[self.tree.feature(node).expect("an inner node")];
        let threshold = self.tree.threshold(node).expect("an inner node");
        let numbers = |ids: &[usize]| ids.iter().map(|&id| column[id]).filter(|x| !x.is_nan()).collect::<Vec<f64>>();
        let (lefts, rights) = (numbers(left), numbers(right));
        prop_assert!(!lefts.is_empty(), "node {node} has numbers on the left");
        let (a, b) = (highest(&lefts), rights.iter().copied().reduce(f64::min));
        if self.rivals == Rivals::None {
            prop_assert!(a <= threshold && b.is_none_or(|b| threshold < b), "{a} <= {threshold} < {b:?}");
        } else {
            check_threshold(threshold, a, b)?;
        }
        if lefts.len() + rights.len() == left.len() + right.len() {
            let [left, right] =
                self.tree.children(node).map(|(l, r)| [l, r].map(|id| self.tree.weight(id))).expect("two");
            prop_assert_eq!(self.tree.missing_go_to_left(node), Some(left > right), "weights {} and {}", left, right);
        }
        Ok(())
    }

    /// All possible splits of these rows, in the order that decides ties.
    fn candidates(&self, ids: &[usize]) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for (feature, column) in self.table.columns.iter().enumerate() {
            let (mut order, missing): (Vec<usize>, Vec<usize>) = ids.iter().partition(|&&id| !column[id].is_nan());
            order.sort_by(|&a, &b| column[a].partial_cmp(&column[b]).expect("numbers"));
            let turned = [&missing[..], &order].concat();
            order.extend(&missing);
            candidates.extend(self.candidates_in_order(feature, &order, false));
            if !missing.is_empty() {
                // Missing values alone on the left would be the mirror image of a split in the
                // list.
                let parts = self.candidates_in_order(feature, &turned, true);
                candidates.extend(parts.into_iter().filter(|candidate| !candidate.edge.0.is_nan()));
            }
        }
        candidates
    }

    fn candidates_in_order(&self, feature: usize, order: &[usize], missing_left: bool) -> Vec<Candidate> {
        let lowest = lowest(&self.rows(order));
        let shift = if self.table.definition() == Definition::SquaredError { lowest } else { 0.0 };
        let row = |&id: &usize| (self.table.row(id).0 - shift, self.table.row(id).1);
        let losses = |order: &mut dyn Iterator<Item = &usize>| self.table.definition().running_losses(order.map(row));
        let (before, mut after) = (losses(&mut order.iter()), losses(&mut order.iter().rev()));
        after.reverse();
        // A difference from the total would lose the light side when weights differ vastly.
        let mut rights = running_weights(order.iter().rev().map(|id| row(id).1));
        rights.reverse();
        let lefts = running_weights(order.iter().map(|id| row(id).1));
        let all = order.iter().fold(0, |key, &id| key ^ fingerprint(id));
        let mut key = 0;
        let value = |place: usize| self.table.columns[feature][order[place]];
        let candidate = |n_left: usize| {
            key ^= fingerprint(order[n_left - 1]);
            let edge = (value(n_left - 1), value(n_left));
            (edge.0 != edge.1 && !(edge.0.is_nan() && edge.1.is_nan())).then(|| Candidate {
                feature,
                missing_left,
                edge,
                loss: before[n_left - 1] + after[n_left],
                fewer: n_left.min(order.len() - n_left),
                lighter: lefts[n_left - 1].min(rights[n_left]),
                partition: key.min(key ^ all),
            })
        };
        (1..order.len()).filter_map(candidate).collect()
    }

    fn check_leaf(&self, depth: usize, ids: &[usize], candidates: &[Candidate]) -> TestCaseResult {
        let (rows, rules, definition) = (self.rows(ids), &self.rules, self.table.definition());
        if depth >= rules.max_depth || rows.len() < rules.min_split || range(&rows) == 0.0 {
            return Ok(());
        }
        let clear = || candidates.iter().filter(|candidate| candidate.allowed(rules, RELATIVE));
        let least = clear().map(|candidate| candidate.loss).fold(f64::INFINITY, f64::min);
        let (gain, blur) = (definition.loss(&rows) - least, definition.blur(&rows));
        let hidden = rows.iter().any(|row| row.1 <= least_seen(&rows)) && gain <= blur;
        let too_little = rules.min_gain > 0.0 && gain <= rules.min_gain * (1.0 + RELATIVE) + blur;
        prop_assert!(clear().next().is_none() || hidden || too_little, "a leaf for no reason: {gain} to gain");
        Ok(())
    }

    fn check_split(&self, id: usize, depth: usize, sides: [&[usize]; 2], candidates: &[Candidate]) -> TestCaseResult {
        let (rules, definition) = (&self.rules, self.table.definition());
        let [left, right] = sides.map(|ids| self.rows(ids));
        let rows = [&left[..], &right].concat();
        prop_assert!(depth < rules.max_depth && rows.len() >= rules.min_split && range(&rows) > 0.0);
        prop_assert!(left.len().min(right.len()) >= rules.min_leaf);
        let lighter = total_weight(&left).min(total_weight(&right));
        prop_assert!(lighter >= rules.min_weight * (1.0 - RELATIVE), "{lighter} below {}", rules.min_weight);

        let (loss, blur) = (definition.loss(&rows), definition.blur(&rows));
        let gain = loss - definition.loss(&left) - definition.loss(&right);
        prop_assert!(gain >= rules.min_gain * (1.0 - RELATIVE) - blur, "{gain} below {}", rules.min_gain);
        let clear = || candidates.iter().filter(|candidate| candidate.allowed(rules, RELATIVE));
        let best = loss - clear().map(|candidate| candidate.loss).fold(f64::INFINITY, f64::min);
        prop_assert!(gain >= best - (RELATIVE * best.abs() + blur), "node {id} gains {gain}, could gain {best}");

        // Where no cut gains anything, medians and quantiles have another rule.
        if best <= blur && matches!(definition, Definition::AbsoluteError | Definition::Quantile { .. }) {
            return Ok(());
        }
        // Of candidates that separate the same sets of rows, the first is taken.
        let fingerprints = sides.map(|ids| ids.iter().fold(0, |key, &id| key ^ fingerprint(id)));
        let partition = fingerprints[0].min(fingerprints[1]);
        if let Some(first) = clear().find(|candidate| candidate.partition == partition) {
            prop_assert_eq!(self.tree.feature(id), Some(first.feature), "node {} could be {:?}", id, first);
            let threshold = self.tree.threshold(id).expect("an inner node");
            let (a, b) = first.edge;
            prop_assert!(a <= threshold && (threshold < b || b.is_nan()), "node {id} could be {first:?}");
            if sides.iter().copied().flatten().any(|&id| self.table.columns[first.feature][id].is_nan()) {
                prop_assert_eq!(self.tree.missing_go_to_left(id), Some(first.missing_left));
            }
        }
        Ok(())
    }
}

fn running_weights(weights: impl Iterator<Item = f64>) -> Vec<f64> {
    let so_far = |total: &mut f64, weight: f64| {
        *total += weight;
        Some(*total)
    };
    weights.scan(0.0, so_far).collect()
}

fn highest(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Checks the threshold between `a` and `b`. Without `b`, it separates numbers from missing values.
fn check_threshold(threshold: f64, a: f64, b: Option<f64>) -> TestCaseResult {
    let Some(b) = b else {
        prop_assert_eq!(threshold, f64::INFINITY, "all numbers go left, also those to come");
        return Ok(());
    };
    prop_assert!(a <= threshold && threshold < b, "{a} <= {threshold} < {b}");
    let middle = 0.5 * a + 0.5 * b;
    if middle.is_finite() && a <= middle && middle < b {
        prop_assert_eq!(threshold, middle);
    } else if a.is_finite() {
        prop_assert_eq!(threshold, a);
    } else {
        prop_assert!(threshold.is_finite() || b == f64::MIN);
    }
    Ok(())
}

/// A hash per row; the exclusive or over a set of rows identifies the set.
fn fingerprint(row: usize) -> u64 {
    let z = (row as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

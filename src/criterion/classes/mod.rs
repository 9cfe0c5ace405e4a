//! Gini impurity and entropy for any number of classes.
//!
//! The weights of the classes are integers on the node's grid, so sums don't depend on the order of
//! the rows. A row that moves to the left changes one class, so the impurities of both sides are
//! updated in O(1). This running value, with room for its rounding, only screens: cuts that pass
//! get their gain from the sums, in O(classes).
//!
//! Gini impurity of two classes is the squared error of a 0/1 target, which `squared/` computes
//! faster. Cost: O(rows) per feature, and O(classes) per cut that passes the screen.

mod groups;
mod running;
mod sweep;

use self::groups::ClassGroups;
use super::{
    ContributionsOf, Criterion, Cuts, Grid, LabelOrder, NoBounds, NoTinyKernel, OneCut, Sample, Unranked, Weighted,
};
use crate::params::Impurity;
use crate::split::Contest;
use crate::wire::wire_struct;

/// Gini impurity or entropy of class codes with (`Weighted<u32>`) or without (`u32`) weights.
pub(crate) struct Classes<T> {
    n_values: usize,
    impurity: Impurity,
    /// x · ln x for x = 0, 1, …, so that the screen needs no logarithm for the entropy of
    /// unweighted rows.
    x_ln_x: Vec<f64>,
    sample: std::marker::PhantomData<T>,
}

/// A row's class and its weight on the node's grid.
pub(crate) trait ClassContribution: Copy + Default + Send + Sync {
    fn new(class: u32, weight: i64) -> Self;
    fn class(self) -> usize;
    fn units(self) -> i64;
}

/// A row of weight one: its class alone.
impl ClassContribution for u32 {
    #[inline(always)]
    fn new(class: u32, _: i64) -> Self {
        class
    }
    #[inline(always)]
    fn class(self) -> usize {
        self as usize
    }
    #[inline(always)]
    fn units(self) -> i64 {
        1
    }
}

impl ClassContribution for (u32, i64) {
    #[inline(always)]
    fn new(class: u32, weight: i64) -> Self {
        (class, weight)
    }
    #[inline(always)]
    fn class(self) -> usize {
        self.0 as usize
    }
    #[inline(always)]
    fn units(self) -> i64 {
        self.1
    }
}

/// A class code with or without a weight, and the contribution that goes with it.
pub(crate) trait ClassSample: Sample<u32> {
    type Contribution: ClassContribution;
}

impl ClassSample for u32 {
    type Contribution = u32;
}

impl ClassSample for Weighted<u32> {
    type Contribution = (u32, i64);
}

/// The classes of a node's rows; weights are on the node's grid.
pub(crate) struct ClassNode {
    rows: usize,
    /// By class.
    counts: Box<[i64]>,
    total: i64,
    grid: Grid,
}

wire_struct!(ClassNode { rows, counts, total, grid });

impl ClassNode {
    fn shares(&self) -> impl Iterator<Item = f64> {
        self.counts.iter().map(|&count| count as f64 / self.total as f64)
    }

    fn weight(&self) -> f64 {
        self.total as f64 * self.grid.unit
    }

    /// The share of the second class on both sides, which monotonic constraints apply to.
    fn second_shares(&self, left: &[i64], weight: i64) -> [f64; 2] {
        let share = |count: i64, weight: i64| count as f64 / weight as f64;
        [share(left[1], weight), share(self.counts[1] - left[1], self.total - weight)]
    }
}

/// Buffers of a sweep, by class.
#[derive(Default)]
pub(crate) struct ClassScratch {
    /// Weight on the left.
    left: Vec<i64>,
    /// One divided by the weight in the node.
    reciprocals: Vec<f64>,
}

impl<T: ClassSample> Classes<T> {
    pub fn new(impurity: Impurity, n_classes: usize, n_rows: usize) -> Self {
        let n_entries = if impurity == Impurity::Entropy && !T::WEIGHTED { n_rows + 1 } else { 0 };
        let x_ln_x = (0..n_entries).map(|x| x_ln_x(x as f64)).collect();
        Self { n_values: n_classes, impurity, x_ln_x, sample: std::marker::PhantomData }
    }

    /// The gain of a cut with these weights of the classes on the left; `None` if a rule forbids
    /// it.
    fn gain_of_counts(&self, node: &ClassNode, left: &[i64], weight: i64, cut: &OneCut<'_>) -> Option<f64> {
        let heavy_enough = |weight: i64| weight as f64 * node.grid.unit >= cut.min_weight;
        let is_heavy = heavy_enough(weight) && heavy_enough(node.total - weight);
        let is_allowed = is_heavy && cut.cuts().allow_values(|| node.second_shares(left, weight));
        is_allowed.then(|| self.gain(node, left, weight))
    }
}

/// x · ln x, and its limit 0 at 0. It does not use `f64::ln`, whose last bit differs between
/// platforms.
fn x_ln_x(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x * libm::log(x) }
}

impl<T: ClassSample> Criterion for Classes<T> {
    type Item = T;
    type Contribution = T::Contribution;
    type NodeStats = ClassNode;
    type Table = ();
    type Scratch = ClassScratch;
    type Ranking = Unranked;
    type Bounds = NoBounds;
    type TinyKernel = NoTinyKernel;
    type Groups = ClassGroups;
    const WEIGHTED: bool = T::WEIGHTED;

    fn describe(&self, items: &[T]) -> ClassNode {
        let grid = if T::WEIGHTED {
            let (heaviest, sum) =
                items.iter().fold((0.0, 0.0), |(most, sum), item| (item.weight().max(most), sum + item.weight()));
            Grid::new(heaviest, sum)
        } else {
            Grid::ONE
        };
        let mut counts = vec![0; self.n_values].into_boxed_slice();
        for item in items {
            counts[item.y() as usize] += grid.put(item.weight());
        }
        ClassNode { rows: items.len(), total: counts.iter().sum(), counts, grid }
    }

    fn tabulate(&self, _: &ClassNode, _: &[T], (): &mut ()) {}

    fn is_pure(&self, node: &ClassNode) -> bool {
        node.counts.iter().filter(|&&count| count > 0).count() <= 1
    }

    fn forbids_every_cut(&self, _: &ClassNode) -> bool {
        false
    }

    fn rows(&self, node: &ClassNode) -> usize {
        node.rows
    }

    fn weight(&self, node: &ClassNode) -> f64 {
        node.weight()
    }

    fn impurity(&self, node: &ClassNode) -> f64 {
        let impurity: f64 = match self.impurity {
            Impurity::Gini => node.shares().map(|share| share * (1.0 - share)).sum(),
            // scikit-learn reports bits.
            Impurity::Entropy => -node.shares().map(x_ln_x).sum::<f64>() / std::f64::consts::LN_2,
        };
        impurity.max(0.0)
    }

    fn n_values(&self) -> usize {
        self.n_values
    }

    fn write_value(&self, node: &ClassNode, values: &mut Vec<f64>) {
        values.extend(node.shares());
    }

    fn contribution(&self, node: &ClassNode, item: T, _: impl FnOnce() -> usize) -> T::Contribution {
        T::Contribution::new(item.y(), node.grid.put(item.weight()))
    }

    fn sweep<P: ContributionsOf<Self>, F: Fn(usize, usize) -> bool, O: Contest>(
        &self,
        node: &ClassNode,
        (): &(),
        contributions: &P,
        cuts: &Cuts<F>,
        contest: &mut O,
        scratch: &mut ClassScratch,
    ) {
        if T::WEIGHTED && self.impurity == Impurity::Entropy {
            self.walk_weighted_entropy(node, contributions, cuts, contest, scratch);
        } else {
            self.walk(node, contributions, cuts, contest, &mut scratch.left);
        }
    }

    fn gain_of_cut(
        &self,
        node: &ClassNode,
        (): &(),
        contributions: &[T::Contribution],
        cut: &OneCut<'_>,
        ClassScratch { left, .. }: &mut ClassScratch,
    ) -> Option<f64> {
        left.clear();
        left.resize(self.n_values, 0);
        for (row, &goes_left) in contributions.iter().zip(cut.goes_left) {
            // A mask instead of a branch, which could not be predicted.
            left[row.class()] += row.units() & -i64::from(goes_left);
        }
        self.gain_of_counts(node, left, left.iter().sum(), cut)
    }

    /// Gains are sums of positive terms, good to a few roundings.
    fn noise(&self, _: &ClassNode) -> f64 {
        0.0
    }

    fn loss_decrease(&self, node: &ClassNode, gain: f64) -> f64 {
        let bits = if self.impurity == Impurity::Entropy { std::f64::consts::LN_2 } else { 1.0 };
        gain * node.grid.unit / bits
    }

    fn label_order(&self, _: &ClassNode) -> LabelOrder {
        if self.n_values > 2 { LabelOrder::Component } else { LabelOrder::Mean }
    }

    /// Two classes are told by the share of the second.
    fn n_label_numbers(&self) -> usize {
        if self.n_values > 2 { self.n_values } else { 1 }
    }

    fn label_numbers(&self, item: T, numbers: &mut Vec<f64>) -> f64 {
        let first = u32::from(self.n_values <= 2);
        let classes = first..first + self.n_label_numbers() as u32;
        numbers.extend(classes.map(|class| f64::from(u8::from(item.y() == class))));
        item.weight()
    }
}

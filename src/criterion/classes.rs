//! Gini impurity and entropy for any number of classes.
//!
//! Class weights are integers on the node's grid, so counts don't depend on the order of the rows. A row that moves to the left
//! changes one class, so the two impurities are updated in O(1); that running value, with room for its rounding, only
//! screens. The positions that pass get their gain from the counts, in O(classes).
//!
//! Two classes and Gini are the squared error of a 0/1 target: `squared.rs` does that faster.

use std::sync::atomic::AtomicU8;

use super::fixed_point::Grid;
use super::{Criterion, Cuts, Sample, Weighted};
use crate::split::Contest;
use crate::steps::Steps;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Impurity {
    Gini,
    Entropy,
}

/// Class trees over codes with (`Weighted<u32>`) or without (`u32`) weights.
pub(crate) struct Classes<T> {
    n_values: usize,
    impurity: Impurity,
    /// x · ln x for x = 0, 1, …: entropy of unweighted rows needs no logarithm while it screens.
    x_ln_x: Vec<f64>,
    sample: std::marker::PhantomData<T>,
}

/// A row's class and its weight on the node's grid.
pub(crate) trait ClassStep: Copy + Default + Send + Sync {
    fn new(class: u32, weight: i64) -> Self;
    fn class(self) -> usize;
    fn units(self) -> i64;
}

/// Of weight one.
impl ClassStep for u32 {
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

impl ClassStep for (u32, i64) {
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

/// A class code with or without a weight, and the step that goes with it.
pub(crate) trait ClassSample: Sample<u32> {
    type Step: ClassStep;
}

impl ClassSample for u32 {
    type Step = u32;
}

impl ClassSample for Weighted<u32> {
    type Step = (u32, i64);
}

/// Weight of each class on the node's grid.
pub(crate) struct Node {
    rows: usize,
    counts: Box<[i64]>,
    total: i64,
    grid: Grid,
}

impl Node {
    fn shares(&self) -> impl Iterator<Item = f64> {
        self.counts.iter().map(|&count| count as f64 / self.total as f64)
    }

    fn weight(&self) -> f64 {
        self.total as f64 * self.grid.unit
    }
}

impl<T: ClassSample> Classes<T> {
    pub fn new(impurity: Impurity, n_classes: usize, n_rows: usize) -> Self {
        let n_entries = if impurity == Impurity::Entropy && !T::WEIGHTED { n_rows + 1 } else { 0 };
        let x_ln_x = (0..n_entries).map(|x| x_ln_x(x as f64)).collect();
        Self { n_values: n_classes, impurity, x_ln_x, sample: std::marker::PhantomData }
    }

    /// The convex function whose sum over the classes of a child, less its value for the whole child in the case of the
    /// entropy, is what the split is to make large.
    #[inline]
    fn convex(&self, weight: i64) -> f64 {
        match self.impurity {
            Impurity::Gini => weight as f64 * weight as f64,
            Impurity::Entropy if T::WEIGHTED => x_ln_x(weight as f64),
            Impurity::Entropy => self.x_ln_x[weight as usize],
        }
    }

    /// What a child of this weight and sum of convex parts adds to the gain.
    #[inline]
    fn part(&self, convex_sum: f64, weight: i64) -> f64 {
        match self.impurity {
            Impurity::Gini => convex_sum / weight as f64,
            Impurity::Entropy => convex_sum - self.convex(weight),
        }
    }

    /// The gain from the counts alone, the same if left and right change places.
    fn gain(&self, node: &Node, left: &[i64], weight: i64) -> f64 {
        let rest = node.total - weight;
        if weight == 0 || rest == 0 {
            // Rows too light for the grid.
            return 0.0;
        }
        let classes = || left.iter().zip(&*node.counts).filter(|&(_, &all)| all > 0);
        match self.impurity {
            Impurity::Gini => {
                let squares: f64 = classes()
                    .map(|(&l, &all)| {
                        let d = i128::from(node.total) * i128::from(l) - i128::from(weight) * i128::from(all);
                        d as f64 * d as f64
                    })
                    .sum();
                squares / (weight as f64 * rest as f64) / node.total as f64
            }
            Impurity::Entropy => {
                let share = |part: i64, all: i64| {
                    if part == 0 { 0.0 } else { part as f64 * libm::log(part as f64 / all as f64) }
                };
                let kept: f64 = classes().map(|(&l, &all)| share(l, all) + share(all - l, all)).sum();
                (kept - (share(weight, node.total) + share(rest, node.total))).max(0.0)
            }
        }
    }
}

/// x · ln x, and its limit 0 at 0. Not `f64::ln`: that is the platform's, and its last bit differs between machines.
fn x_ln_x(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x * libm::log(x) }
}

impl<T: ClassSample> Criterion for Classes<T> {
    type Item = T;
    type Step = T::Step;
    type Node = Node;
    type Table = ();
    /// Weight of each class on the left.
    type Scratch = Vec<i64>;
    type Mark = AtomicU8;
    const WEIGHTED: bool = T::WEIGHTED;

    fn describe(&self, items: &[T]) -> Node {
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
        Node { rows: items.len(), total: counts.iter().sum(), counts, grid }
    }

    fn is_pure(&self, node: &Node) -> bool {
        node.counts.iter().filter(|&&count| count > 0).count() <= 1
    }

    fn rows(&self, node: &Node) -> usize {
        node.rows
    }

    fn weight(&self, node: &Node) -> f64 {
        node.weight()
    }

    fn impurity(&self, node: &Node) -> f64 {
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

    fn write_value(&self, node: &Node, values: &mut Vec<f64>) {
        values.extend(node.shares());
    }

    fn step(&self, node: &Node, item: T, _: impl FnOnce() -> usize) -> T::Step {
        T::Step::new(item.y(), node.grid.put(item.weight()))
    }

    fn sweep<P: Steps<Step = T::Step>, F: Fn(usize, usize) -> bool, O: Contest>(
        &self,
        node: &Node,
        (): &(),
        steps: &P,
        cuts: &Cuts<F>,
        contest: &mut O,
        left: &mut Vec<i64>,
    ) {
        left.clear();
        left.resize(self.n_values, 0);
        let heavy_enough = |weight: i64| weight as f64 * node.grid.unit >= cuts.min_weight;
        let all: f64 = node.counts.iter().map(|&count| self.convex(count)).sum();
        let whole = self.part(all, node.total);
        // Each step rounds both running sums a few times, unless they are of whole numbers.
        let is_exact = self.impurity == Impurity::Gini && !T::WEIGHTED && steps.len() < 1 << 26;
        let rounding = if is_exact { 0.0 } else { (steps.len() + 16) as f64 * f64::EPSILON };
        let error = (all + self.convex(node.total)) * rounding;
        let (mut weight, mut left_sum, mut right_sum) = (0, 0.0, all);
        for place in 0..cuts.last {
            let step = steps.at(place);
            let (class, step) = (step.class(), step.units());
            let (l, r) = (left[class], node.counts[class] - left[class]);
            left_sum += self.convex(l + step) - self.convex(l);
            right_sum += self.convex(r - step) - self.convex(r);
            left[class] = l + step;
            weight += step;
            let parts = self.part(left_sum + error, weight) + self.part(right_sum + error, node.total - weight);
            // The last roundings are of the parts themselves.
            if parts * (1.0 + 1e-14) - whole >= contest.bar() && cuts.allow(place + 1) {
                let gain = self.gain(node, left, weight);
                if heavy_enough(weight) && heavy_enough(node.total - weight) {
                    contest.offer(gain, cuts.cut(place + 1));
                }
            }
        }
    }

    fn sample(&self, item: T) -> (f64, f64) {
        (f64::from(u8::from(item.y() == 1)), item.weight())
    }

    fn noise(&self, node: &Node) -> f64 {
        match self.impurity {
            Impurity::Gini => 0.0,
            // Logarithms round: differences below this say nothing.
            Impurity::Entropy => node.total as f64 * 1e-13,
        }
    }

    fn loss_decrease(&self, node: &Node, gain: f64) -> f64 {
        let bits = if self.impurity == Impurity::Entropy { std::f64::consts::LN_2 } else { 1.0 };
        gain * node.grid.unit / bits
    }
}

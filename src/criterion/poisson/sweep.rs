//! HOT: the sweep over a node's rows in a feature's order, and the screen that most cuts fail.

use super::{PoissonNode, Sums, h_bound};
use crate::contribution::Contributions;
use crate::criterion::Cuts;
use crate::split::Contest;

/// The screens compute in f64, with relative errors of a few 2^-53.
const SCREEN_SLACK: f64 = 1e-12;

/// The tests that most cuts fail. They compute in f64 and are never too strict.
pub(super) struct Screen {
    /// S / W, for the sums of w·(y − lowest).
    mean: f64,
    weight: f64,
    /// W / Σwy: turns a child's deviation, divided by its weight, into a share of the node's mean.
    share: f64,
    /// Bound on the error of s − w · S / W.
    slack: f64,
    /// Σwy / W².
    scale: f64,
    /// The contest's bar.
    pub bar: f64,
}

impl Screen {
    pub fn new(node: &PoissonNode, bar: f64) -> Self {
        let (sum, weight) = (node.total.value as f64, node.total.weight as f64);
        Self {
            mean: sum / weight,
            weight,
            share: weight / node.sum,
            slack: sum * f64::EPSILON * 4.0,
            scale: node.sum / (weight * weight) * (1.0 - SCREEN_SLACK),
            bar,
        }
    }

    /// Whether the gain can reach the bar: first by h(x) <= x², then by closer bounds.
    #[inline(always)]
    pub fn passes(&self, left: Sums) -> bool {
        let (value, w) = (left.value as f64, left.weight as f64);
        let rest = self.weight - w;
        let deviation = value - w * self.mean;
        let size = deviation.abs() + self.slack;
        let children = if deviation > 0.0 { [w, rest] } else { [rest, w] };
        size * size >= self.bar * self.scale * (w * rest) && self.bound(children, size) >= self.bar
    }

    /// An upper bound of the gain. `above` is the weight of the child whose mean is above the
    /// node's.
    fn bound(&self, [above, below]: [f64; 2], deviation: f64) -> f64 {
        // No mean is below 0, but the deviation is rounded up.
        let (up, down) = (deviation / above * self.share, (deviation / below * self.share).min(1.0));
        (above * h_bound(up) + below * h_bound(-down)) * (1.0 + SCREEN_SLACK) / self.share
    }
}

/// Offers every cut that could win.
pub(super) fn sweep<P: Contributions<Contribution = Sums>, F: Fn(usize, usize) -> bool, O: Contest>(
    node: &PoissonNode,
    contributions: &P,
    cuts: &Cuts<F>,
    contest: &mut O,
) {
    let mut screen = Screen::new(node, contest.bar());
    let heavy_enough = |weight: i64| weight as f64 * node.weights.unit >= cuts.min_weight;
    let mut left = Sums::default();
    for n_left in 1..=cuts.last {
        left = left.plus(contributions.at(n_left - 1));
        if screen.passes(left)
            && cuts.allow(n_left)
            && node.is_positive(left)
            && heavy_enough(left.weight)
            && heavy_enough(node.total.weight - left.weight)
            && cuts.allow_values(|| node.means(left))
        {
            let gain = node.gain(n_left, left);
            if gain >= contest.bar() {
                contest.offer(gain, cuts.cut(n_left));
                screen.bar = contest.bar();
            }
        }
    }
}

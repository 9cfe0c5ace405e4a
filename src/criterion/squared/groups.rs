//! Sums over groups of unweighted rows whose targets are whole multiples of one small unit, as
//! counts, prices in cents and classes are.
//!
//! Targets were divided by a power of two, so none is 2 or more. If all are multiples of 2^-30,
//! their differences have at most 32 bits and their sums at most 58. The unit of a node's grid is
//! never larger than that, so all targets, and the node's lowest one, are whole numbers of units:
//!
//! ```text
//! sum on the node's grid = (sum − rows · lowest) · 2^-30 / unit        the quotient is a power of two
//! ```

use super::sweep::Screen;
use super::{SquaredError, SquaredNode, Sums};
use crate::criterion::groups::{Group, GroupSums};
use crate::criterion::{Cuts, Grid};
use crate::split::Contest;

/// The unit of the sums.
const UNIT: f64 = 1.0 / (1 << 30) as f64;

/// Fits of more rows have nodes whose unit is larger than [`UNIT`].
const MAX_ROWS: usize = 1 << 26;

pub(crate) struct SquaredGroups;

#[inline(always)]
fn put(y: f64) -> i64 {
    Grid::of_multiples(UNIT).put(y)
}

impl GroupSums<SquaredError<f64>> for SquaredGroups {
    type Sum = i64;

    fn are_exact(items: &[f64]) -> bool {
        items.len() <= MAX_ROWS && items.iter().all(|&y| y.abs() <= 2.0 && put(y) as f64 * UNIT == y)
    }

    #[inline(always)]
    fn add(sum: &mut i64, item: f64) {
        *sum += put(item);
    }

    #[inline(always)]
    fn subtract(sum: &mut i64, other: i64) {
        *sum -= other;
    }

    fn sweep<O: Contest>(
        _: &SquaredError<f64>,
        node: &SquaredNode,
        groups: impl Iterator<Item = Group<i64>>,
        cuts: &Cuts<impl Fn(usize, usize) -> bool>,
        contest: &mut O,
    ) {
        let shift = Grid::of_multiples(UNIT).bits_to(node.values).expect("a node's unit is not larger");
        let lowest = put(node.lowest);
        let screen = Screen::new(node.total);
        let mut passing = screen.with_bar(contest.bar());
        let (mut rows, mut sum) = (0, 0);
        for group in groups {
            rows += i64::from(group.rows);
            sum += group.sum;
            let n_left = rows as usize;
            if n_left > cuts.last {
                break;
            }
            let left = Sums { value: (sum - rows * lowest) << shift, weight: rows };
            if n_left >= cuts.first
                && passing.passes(left.into())
                && let Some(gain) = SquaredError::<f64>::gain_of_sums(node, left, &cuts.one(n_left))
                && gain >= contest.bar()
            {
                contest.offer(gain, cuts.cut(n_left));
                passing = screen.with_bar(contest.bar());
            }
        }
    }
}

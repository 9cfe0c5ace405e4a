//! The cuts between groups of rows with equal values, without weights.

use super::sweep::Screen;
use super::{Poisson, PoissonNode, Sums};
use crate::criterion::groups::{Group, GroupSums, ToNode, are_whole, whole};
use crate::criterion::{Cuts, Sample};
use crate::split::Contest;

pub(crate) struct PoissonGroups;

impl<T: Sample<f64>> GroupSums<Poisson<T>> for PoissonGroups {
    type Sum = i64;

    fn are_exact(_: &Poisson<T>, items: &[T]) -> bool {
        !T::WEIGHTED && are_whole(items.iter().map(|item| item.y()))
    }

    #[inline(always)]
    fn add(sum: &mut i64, item: T) {
        *sum += whole(item.y());
    }

    #[inline(always)]
    fn subtract(sum: &mut i64, other: i64) {
        *sum -= other;
    }

    fn sweep<O: Contest>(
        _: &Poisson<T>,
        node: &PoissonNode,
        groups: impl Iterator<Item = Group<i64>>,
        cuts: &Cuts<impl Fn(usize, usize) -> bool>,
        contest: &mut O,
    ) {
        let to_node = ToNode::new(node.lowest, node.values);
        let mut screen = Screen::new(node, contest.bar());
        let (mut rows, mut sum) = (0, 0);
        for group in groups {
            rows += i64::from(group.rows);
            sum += group.sum;
            let n_left = rows as usize;
            if n_left > cuts.last {
                break;
            }
            let left = Sums { value: to_node.sum(rows, sum), weight: rows };
            if n_left >= cuts.first
                && screen.passes(left)
                && let Some(gain) = node.gain_of_sums(left, &cuts.one(n_left))
                && gain >= contest.bar()
            {
                contest.offer(gain, cuts.cut(n_left));
                screen.bar = contest.bar();
            }
        }
    }
}

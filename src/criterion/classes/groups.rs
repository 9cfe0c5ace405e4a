//! The cuts between groups of rows with equal values, without weights: a group counts the rows of
//! each class.

use super::{ClassNode, ClassSample, Classes};
use crate::criterion::Cuts;
use crate::criterion::groups::{Group, GroupSums};
use crate::split::Contest;

/// More classes than this are not counted: a group has room for all of them.
const MAX_CLASSES: usize = 16;

/// By class: its rows.
type Counts = [u32; MAX_CLASSES];

pub(crate) struct ClassGroups;

impl<T: ClassSample> GroupSums<Classes<T>> for ClassGroups {
    type Sum = Counts;

    fn are_exact(criterion: &Classes<T>, _: &[T]) -> bool {
        !T::WEIGHTED && criterion.n_values <= MAX_CLASSES
    }

    #[inline(always)]
    fn add(counts: &mut Counts, item: T) {
        counts[item.y() as usize % MAX_CLASSES] += 1;
    }

    #[inline(always)]
    fn subtract(counts: &mut Counts, other: Counts) {
        counts.iter_mut().zip(other).for_each(|(count, other)| *count -= other);
    }

    fn sweep<O: Contest>(
        criterion: &Classes<T>,
        node: &ClassNode,
        groups: impl Iterator<Item = Group<Counts>>,
        cuts: &Cuts<impl Fn(usize, usize) -> bool>,
        contest: &mut O,
    ) {
        let convex = |counts: &mut dyn Iterator<Item = i64>| counts.map(|count| criterion.convex(count)).sum::<f64>();
        let all = convex(&mut node.counts.iter().copied());
        let whole = criterion.part(all, node.total);
        let error = (all + criterion.convex(node.total)) * criterion.rounding(node.rows);
        let (mut rows, mut left) = (0, [0; MAX_CLASSES]);
        let left = &mut left[..node.counts.len()];
        for group in groups {
            rows += i64::from(group.rows);
            left.iter_mut().zip(group.sum).for_each(|(left, count)| *left += i64::from(count));
            let n_left = rows as usize;
            if n_left > cuts.last {
                break;
            }
            // The screen of a sweep over the rows.
            let left_sum = convex(&mut left.iter().copied());
            let right_sum = convex(&mut left.iter().zip(&*node.counts).map(|(left, all)| all - left));
            let parts = criterion.part(left_sum + error, rows) + criterion.part(right_sum + error, node.total - rows);
            if n_left >= cuts.first
                && parts * (1.0 + 1e-14) - whole >= contest.bar()
                && let Some(gain) = criterion.gain_of_counts(node, left, rows, &cuts.one(n_left))
            {
                contest.offer(gain, cuts.cut(n_left));
            }
        }
    }
}

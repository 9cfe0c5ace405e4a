//! Orders of labels whose cuts are all sets of them.
//!
//! The best of all sets need not be a cut of the order that `category.rs` makes: for three classes
//! and more, quantiles and several outputs that order is a heuristic, and a least number of rows or
//! weight per leaf, or a Poisson side without events, may forbid the best cut:
//!
//! ```text
//! label            a      b      c          at least 3 rows per leaf: a | b c and a b | c are
//! targets          0 0    4 4 4  9 9        forbidden, a c | b is allowed
//! ```
//!
//! So in nodes of up to [`MAX_LABELS`] labels all sets are tried. One sweep tries the sets of a
//! chain, each with one label more; ten labels need 126 sweeps for their 511 sets. With more
//! labels, the best allowed cut of the order is taken, which is a heuristic.
//!
//! ```text
//! labels 0 1 2 3     0 │ 1 │ 2 │ 3     {0}, {0,1}, {0,1,2}
//!                    0 │ 2 │ 3 │ 1     {0,2}, {0,2,3} and, once more, {0}
//!                    0 │ 3 │ 1 │ 2     {0,3}, {0,3,1}
//! ```

/// The largest number of labels in a node whose sets are all tried.
pub(super) const MAX_LABELS: usize = 10;

/// Orders of labels of which every set that contains label 0 is the beginning of one. The first is
/// ascending. Exchanging the sides changes no gain, so the sets without label 0 are not needed.
///
/// The sets of the other labels are divided into symmetric chains (Greene and Kleitman 1976): read
/// a set as parentheses, a label that is missing opens and a label of the set closes. A chain
/// begins with a set whose labels all close something, and adds the unmatched labels one by one.
pub(super) fn chains(n_labels: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..1u32 << (n_labels - 1)).filter_map(move |set| {
        let (mut open, mut closed, mut first) = (Vec::new(), Vec::new(), vec![0]);
        for label in 1..n_labels {
            if set >> (label - 1) & 1 == 0 {
                open.push(label);
            } else {
                closed.push(open.pop()?);
                first.push(label);
            }
        }
        first.extend(open);
        first.extend(closed);
        Some(first)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_set_is_the_beginning_of_an_order() {
        for n_labels in 2..=MAX_LABELS {
            let orders: Vec<_> = chains(n_labels).collect();
            assert!(orders[0].is_sorted());
            let mut sets = BTreeSet::new();
            for order in &orders {
                assert_eq!(order.iter().copied().collect::<BTreeSet<_>>().len(), n_labels);
                sets.extend((1..n_labels).map(|n| order[..n].iter().fold(0u32, |set, label| set | 1 << label)));
            }
            assert_eq!(sets.len(), (1 << (n_labels - 1)) - 1, "{n_labels} labels");
        }
        assert_eq!(chains(10).count(), 126);
    }
}

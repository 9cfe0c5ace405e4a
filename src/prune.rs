//! Minimal cost-complexity pruning.
//!
//! If each leaf costs `alpha`, a branch is worth keeping while the loss that its splits remove,
//! divided by their number, is above `alpha`. So the weakest link of a tree is the inner node whose
//! branch has the lowest *mean gain*; the gain of a split is the loss of its node less the losses
//! of its children, as shares of the total weight. The pruning path cuts the weakest link, then the
//! weakest link of the rest, and so on.
//!
//! Cut by cut, all nodes above each cut change, which takes quadratic time in deep trees. But the
//! splits that are cut together can be found bottom-up, as in isotonic regression. Every split
//! starts as a [`Link`] of its own. A link that is at least as strong as a link above it can't be
//! cut first. So the upper link absorbs such links, the strongest first, until all links below it
//! are weaker:
//!
//! ```text
//! gains   1       links   A       A: absorbs 3, which is above 1, then 2, which equals the mean
//!        / \             / \         of 1 and 3. Its mean gain is 2: cut at 2, after B
//!       3   1           A   B     B: mean gain 1, cut at 1
//!      /               /
//!     2               A
//! ```
//!
//! The links below each link are in a leftist heap, strongest first; when a link absorbs another,
//! their heaps are joined. Cost: O(nodes · log nodes) for every shape of tree, without recursion.
//! `the_path_is_that_of_cutting_one_weakest_link_after_the_other` compares it with cutting link by
//! link.

use crate::error::Result;
use crate::params::check_ccp_alpha;
use crate::tree::{ArenaNode, Statistics, Test, Tree};

/// Mean gains that differ by less than this share are equal: rounding must not decide whether
/// splits are one link or two.
const TIE: f64 = 1e-12;

/// No link: the end of a heap.
const NONE: u32 = u32::MAX;

/// Splits that are cut together. A link has the id of its topmost node.
#[derive(Clone, Copy)]
struct Link {
    /// The sum of its splits' gains.
    gain: f64,
    n_splits: u32,
    /// The strongest of the links directly below: the top of their heap.
    below: u32,
    /// Its children in the heap of the link above.
    children: [u32; 2],
    /// Length of the shortest path down to a missing child in that heap.
    rank: u32,
    /// Whether another link has absorbed it.
    absorbed: bool,
}

impl Link {
    fn new(gain: f64, below: u32) -> Self {
        Self { gain, n_splits: 1, below, children: [NONE; 2], rank: 1, absorbed: false }
    }

    /// The price of a leaf from which on the splits are cut.
    fn alpha(&self) -> f64 {
        self.gain / f64::from(self.n_splits)
    }
}

/// By node: its link. The links of leaves are unused.
struct Links(Vec<Link>);

impl Links {
    fn new(tree: &Tree, losses: &[f64]) -> Self {
        let mut links = Self(vec![Link::new(0.0, NONE); tree.node_count()]);
        // Children come after their parents.
        for id in (0..tree.node_count()).rev() {
            if let Some((left, right)) = tree.children(id) {
                // No split increases the loss, except by rounding.
                let gain = (losses[id] - (losses[left] + losses[right])).max(0.0);
                let inner = |child: usize| if tree.children(child).is_some() { child as u32 } else { NONE };
                let below = links.join(inner(left), inner(right));
                links.0[id] = Link::new(gain, below);
                links.absorb_stronger(id);
            }
        }
        links
    }

    fn at(&mut self, id: u32) -> &mut Link {
        &mut self.0[id as usize]
    }

    /// Lets a link absorb those below it that are not weaker.
    fn absorb_stronger(&mut self, id: usize) {
        let mut link = self.0[id];
        while link.below != NONE {
            let strongest = self.0[link.below as usize];
            if strongest.alpha() < link.alpha() * (1.0 - TIE) {
                break;
            }
            self.at(link.below).absorbed = true;
            let [a, b] = strongest.children;
            let others = self.join(a, b);
            link.gain += strongest.gain;
            link.n_splits += strongest.n_splits;
            link.below = self.join(others, strongest.below);
        }
        self.0[id] = link;
    }

    /// Joins two heaps. Their right edges, which are short, are merged from the top; then ranks are
    /// updated from the bottom.
    fn join(&mut self, mut a: u32, mut b: u32) -> u32 {
        let mut path = Vec::new();
        while a != NONE && b != NONE {
            if self.at(a).alpha() < self.at(b).alpha() {
                (a, b) = (b, a);
            }
            path.push(a);
            a = self.at(a).children[1];
        }
        let mut joined = if a == NONE { b } else { a };
        let rank = |links: &Self, id: u32| if id == NONE { 0 } else { links.0[id as usize].rank };
        for &id in path.iter().rev() {
            let left = self.at(id).children[0];
            let [longer, shorter] = if rank(self, left) < rank(self, joined) { [joined, left] } else { [left, joined] };
            let shorter_rank = rank(self, shorter);
            let link = self.at(id);
            link.children = [longer, shorter];
            link.rank = shorter_rank + 1;
            joined = id;
        }
        joined
    }

    /// Topmost nodes of the links in the order of the cuts; of equal links the lowest node first.
    fn order(&self, tree: &Tree) -> Vec<usize> {
        let is_link = |&id: &usize| tree.children(id).is_some() && !self.0[id].absorbed;
        let mut order: Vec<usize> = (0..tree.node_count()).filter(is_link).collect();
        order.sort_by(|&a, &b| self.0[a].alpha().total_cmp(&self.0[b].alpha()));
        order
    }
}

/// The trees that pruning makes of one: the whole tree, then one per weakest link that is cut.
#[derive(Clone, Debug, PartialEq)]
pub struct PruningPath {
    /// The least `ccp_alpha` that leads to this tree or a smaller one; ascending, 0 for the whole
    /// tree.
    pub ccp_alphas: Vec<f64>,
    /// Loss of this tree's leaves, averaged over the training weight.
    pub impurities: Vec<f64>,
}

impl Tree {
    /// The tree that costs least if each leaf costs `ccp_alpha`. Splits that remove less of the
    /// loss, averaged over the training weight, than they cost in leaves are cut. As in
    /// scikit-learn, 0 returns the whole tree, including splits without any gain.
    ///
    /// # Errors
    /// If `ccp_alpha` is negative or not a number.
    ///
    /// ```
    /// use splitwood::{Loss, Matrix, Params, Target, fit};
    ///
    /// let x = Matrix::from_rows(&[0.0, 1.0, 2.0, 3.0], 4, 1)?;
    /// let y = Target::Values(&[1.0, 1.0, 5.0, 7.0]);
    /// let tree = fit(&x, y, None, Loss::SquaredError, &Params::default())?;
    /// assert_eq!(tree.pruned(0.5)?.predict(&x, None)?, [1.0, 1.0, 6.0, 6.0]);
    /// # Ok::<(), splitwood::Error>(())
    /// ```
    pub fn pruned(&self, ccp_alpha: f64) -> Result<Self> {
        check_ccp_alpha(ccp_alpha)?;
        if ccp_alpha == 0.0 {
            return Ok(self.clone());
        }
        let links = Links::new(self, &losses(self));
        self.cut(|id| !links.0[id].absorbed && links.0[id].alpha() <= ccp_alpha)
    }

    /// Every tree that [`Tree::pruned`] can return, from the whole tree to the root alone.
    #[must_use]
    pub fn pruning_path(&self) -> PruningPath {
        let losses = losses(self);
        let links = Links::new(self, &losses);
        let mut impurity = (0..self.node_count()).filter(|&id| self.children(id).is_none()).map(|id| losses[id]).sum();
        let mut path = PruningPath { ccp_alphas: vec![0.0], impurities: vec![impurity] };
        for id in links.order(self) {
            impurity += links.0[id].gain;
            path.ccp_alphas.push(links.0[id].alpha());
            path.impurities.push(impurity);
        }
        path
    }

    /// A copy in which the inner nodes that `becomes_leaf` selects are leaves.
    pub(crate) fn cut(&self, becomes_leaf: impl Fn(usize) -> bool) -> Result<Self> {
        let mut nodes: Vec<ArenaNode> = Vec::new();
        let mut statistics =
            Statistics { weight: self.statistics.weight.as_ref().map(|_| Vec::new()), ..Statistics::default() };
        // Inner nodes whose right child is still to come: the id of the node in the copy, and the
        // id of that child in this tree.
        let mut pending: Vec<(usize, u32)> = Vec::new();
        let mut id = 0;
        loop {
            statistics.push_from(&self.statistics, id, self.n_values());
            match self.nodes[id].test() {
                Some(test) if !becomes_leaf(id) => {
                    pending.push((nodes.len(), test.right));
                    nodes.push(ArenaNode::inner(test));
                    id += 1;
                }
                _ => {
                    nodes.push(ArenaNode::leaf());
                    let Some((parent, right)) = pending.pop() else { break };
                    let test = nodes[parent].test().expect("only inner nodes are pending");
                    nodes[parent] = ArenaNode::inner(Test { right: nodes.len() as u32, ..test });
                    id = right as usize;
                }
            }
        }
        let tree =
            Self::new(nodes, statistics, self.n_features(), self.n_values(), self.categories.as_deref().cloned())?;
        let tree = tree.with_outputs(self.n_outputs())?;
        Ok(match &self.categories {
            Some(categories) => tree.with_categories(categories.counts.clone(), categories.sets.clone()),
            None => tree,
        })
    }
}

/// Loss of each node, averaged over the weight of all rows.
fn losses(tree: &Tree) -> Vec<f64> {
    (0..tree.node_count()).map(|id| tree.loss(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive;
    use crate::naive::draw::Dice;
    use proptest::prelude::*;

    /// A tree with these gains in depth-first order, `None` for a leaf. All numbers are whole, so
    /// that nothing is rounded: each node has weight 1, and each leaf has the loss `rest`. The
    /// threshold of a node is its id.
    fn tree(gains: &[Option<u32>], rest: f64) -> Tree {
        let n = gains.len();
        let (mut nodes, mut impurity) = (vec![ArenaNode::leaf(); n], vec![rest; n]);
        // Roots of the branches to the right of the node, the nearest one last.
        let mut roots: Vec<usize> = Vec::new();
        for id in (0..n).rev() {
            if let Some(gain) = gains[id] {
                let (left, right) = (roots.pop().unwrap(), roots.pop().unwrap());
                let test = Test { feature: 0, threshold: id as f64, missing_left: false, right: right as u32 };
                nodes[id] = ArenaNode::inner(test);
                impurity[id] = impurity[left] + impurity[right] + f64::from(gain);
            }
            roots.push(id);
        }
        let statistics = Statistics {
            values: (0..n).map(|id| id as f64).collect(),
            impurity,
            rows: (1..=n as u32).collect(),
            weight: Some(vec![1.0; n]),
        };
        Tree::new(nodes, statistics, 1, 1, None).unwrap()
    }

    /// A random tree with this many splits. `lean` is the share of the splits that have all splits
    /// below them on the left: the larger it is, the deeper the tree.
    fn random_tree(n_splits: usize, n_gains: usize, lean: f64, seed: u64) -> Tree {
        let mut dice = Dice::new(seed);
        let mut gains = Vec::new();
        // The number of splits of each branch that is still to come.
        let mut pending = vec![n_splits];
        while let Some(n) = pending.pop() {
            gains.push((n > 0).then(|| dice.below(n_gains) as u32));
            if n > 0 {
                let left = if dice.chance(lean) { n - 1 } else { dice.below(n) };
                pending.extend([n - 1 - left, left]);
            }
        }
        tree(&gains, 1.0)
    }

    /// The ids of the inner nodes in the unpruned tree.
    fn inner(tree: &Tree) -> Vec<usize> {
        (0..tree.node_count()).filter_map(|id| tree.threshold(id)).map(|threshold| threshold as usize).collect()
    }

    /// A chain whose n-th split from the top has the n-th gain.
    fn chain(gains: impl Iterator<Item = u32>) -> Tree {
        let mut gains: Vec<Option<u32>> = gains.map(Some).collect();
        gains.extend(vec![None; gains.len() + 1]);
        tree(&gains, 0.0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn the_path_is_that_of_cutting_one_weakest_link_after_the_other(
            n_splits in 0..30usize, n_gains in 1..12usize, lean in 0.0..1.0f64, seed in any::<u64>(),
        ) {
            let tree = random_tree(n_splits, n_gains, lean, seed);
            let expected = naive::pruning_path(&tree);
            let path = tree.pruning_path();
            prop_assert_eq!(&path.ccp_alphas, &expected.iter().map(|step| step.alpha).collect::<Vec<f64>>());
            prop_assert_eq!(&path.impurities, &expected.iter().map(|step| step.impurity).collect::<Vec<f64>>());
            for (step, next) in expected.iter().zip(expected.iter().skip(1)) {
                // Between two prices, and just below the next one.
                if step.alpha < next.alpha && next.alpha > 0.0 {
                    let between = 0.5 * (step.alpha + next.alpha);
                    prop_assert_eq!(&inner(&tree.pruned(between)?), &step.inner);
                    prop_assert_eq!(&inner(&tree.pruned(next.alpha.next_down())?), &step.inner);
                }
                if step.alpha > 0.0 && step.alpha < next.alpha {
                    prop_assert_eq!(&inner(&tree.pruned(step.alpha)?), &step.inner);
                }
            }
            prop_assert_eq!(tree.pruned(f64::INFINITY)?.node_count(), 1);
            prop_assert_eq!(tree.pruned(0.0)?, tree);
        }

        #[test]
        fn what_is_left_keeps_its_statistics(n_splits in 0..30usize, seed in any::<u64>(), alpha in 0.0..12.0f64) {
            let tree = random_tree(n_splits, 12, 0.3, seed);
            let pruned = tree.pruned(alpha)?;
            for id in 0..pruned.node_count() {
                let old = pruned.value(id)[0] as usize;
                prop_assert_eq!((pruned.impurity(id), pruned.n_rows(id)), (tree.impurity(old), tree.n_rows(old)));
                if let Some((left, right)) = pruned.children(id) {
                    let children = [left, right].map(|child| pruned.value(child)[0] as usize);
                    prop_assert_eq!(tree.children(old), Some((children[0], children[1])));
                }
            }
        }
    }

    #[test]
    fn deep_chains() {
        const SPLITS: u32 = 1_000_000;
        // Cut one by one from the bottom, or all at once, or in pairs.
        let rising = chain((0..SPLITS).rev()).pruning_path();
        assert_eq!(rising.ccp_alphas[1..], (0..SPLITS).map(f64::from).collect::<Vec<f64>>());
        let falling = chain(0..SPLITS).pruning_path();
        assert_eq!(falling.ccp_alphas, [0.0, f64::from(SPLITS - 1) / 2.0]);
        let pairs = chain((0..SPLITS).rev().map(|i| i ^ 1)).pruned(1000.0).unwrap();
        assert_eq!(pairs.max_depth(), SPLITS as usize - 1000);
    }

    #[test]
    fn splits_without_gain_go_first() {
        let tree = tree(&[Some(0), Some(2), None, None, Some(0), None, None], 0.0);
        assert_eq!(
            tree.pruning_path(),
            PruningPath { ccp_alphas: vec![0.0, 0.0, 1.0], impurities: vec![0.0, 0.0, 2.0] }
        );
        assert_eq!(tree.pruned(f64::MIN_POSITIVE).unwrap().node_count(), 5);
    }

    #[test]
    fn prices_that_make_no_sense_are_refused() {
        let tree = tree(&[None], 0.0);
        for alpha in [-1.0, -f64::MIN_POSITIVE, f64::NAN, f64::NEG_INFINITY] {
            assert!(tree.pruned(alpha).is_err(), "{alpha}");
        }
        assert!(tree.pruned(-0.0).is_ok());
    }
}

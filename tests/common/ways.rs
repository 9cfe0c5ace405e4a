//! Three obvious ways to find the leaves of rows: row by row, and a partition of all rows at each
//! node, by recursion or with a stack.

use splitwood::{Cell, Matrix, Tree};

/// A function that finds the leaf of each row.
pub type Way<X> = fn(&Tree, &Matrix<'_, X>) -> Vec<i64>;

/// Walks each row from the root to its leaf.
pub fn row_by_row<X: Cell>(tree: &Tree, x: &Matrix<'_, X>) -> Vec<i64> {
    let leaf = |row| {
        let mut node = 0;
        while let Some((left, right)) = tree.children(node) {
            node = if goes_left(tree, node, x, row) { left } else { right };
        }
        node as i64
    };
    (0..x.n_rows()).map(leaf).collect()
}

/// Partitions the list of rows at each node and recurses into the children, as deep as the tree.
pub fn recursive_partition<X: Cell>(tree: &Tree, x: &Matrix<'_, X>) -> Vec<i64> {
    fn part<X: Cell>(tree: &Tree, x: &Matrix<'_, X>, node: usize, rows: Vec<usize>, leaves: &mut [i64]) {
        let Some((left, right)) = tree.children(node) else {
            for row in rows {
                leaves[row] = node as i64;
            }
            return;
        };
        let (to_left, to_right) = rows.into_iter().partition(|&row| goes_left(tree, node, x, row));
        part(tree, x, left, to_left, leaves);
        part(tree, x, right, to_right, leaves);
    }
    let mut leaves = vec![0; x.n_rows()];
    part(tree, x, 0, (0..x.n_rows()).collect(), &mut leaves);
    leaves
}

/// Like `recursive_partition`, with the pending lists on an explicit stack.
pub fn explicit_stack<X: Cell>(tree: &Tree, x: &Matrix<'_, X>) -> Vec<i64> {
    let mut leaves = vec![0; x.n_rows()];
    let mut pending: Vec<(usize, Vec<usize>)> = vec![(0, (0..x.n_rows()).collect())];
    while let Some((node, rows)) = pending.pop() {
        if let Some((left, right)) = tree.children(node) {
            let (to_left, to_right) = rows.into_iter().partition(|&row| goes_left(tree, node, x, row));
            pending.extend([(left, to_left), (right, to_right)]);
        } else {
            for row in rows {
                leaves[row] = node as i64;
            }
        }
    }
    leaves
}

fn goes_left<X: Cell>(tree: &Tree, node: usize, x: &Matrix<'_, X>, row: usize) -> bool {
    let cell = x.get(row, tree.feature(node).expect("an inner node")).to_f64();
    if cell.is_nan() {
        return tree.missing_go_to_left(node) == Some(true);
    }
    Some(cell) <= tree.threshold(node)
}

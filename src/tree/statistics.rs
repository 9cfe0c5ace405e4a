//! Statistics of the training rows in each node. They stand apart from the arena, because
//! prediction reads only the values of leaves.

use crate::wire::wire_struct;

/// By node of the arena: what is known of its training rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Statistics {
    /// `n_values` numbers per node.
    pub values: Vec<f64>,
    pub impurity: Vec<f64>,
    pub rows: Vec<u32>,
    /// `None`: every row has the weight one, so that a node's weight is its number of rows.
    pub weight: Option<Vec<f64>>,
}

wire_struct!(Statistics { values, impurity, rows, weight });

impl Statistics {
    /// Appends the statistics of one node of another tree.
    pub fn push_from(&mut self, other: &Self, id: usize, n_values: usize) {
        self.values.extend_from_slice(&other.values[id * n_values..][..n_values]);
        self.impurity.push(other.impurity[id]);
        self.rows.push(other.rows[id]);
        if let Some(weight) = &other.weight {
            self.weight.get_or_insert_default().push(weight[id]);
        }
    }

    /// Memory in bytes.
    pub fn n_bytes(&self) -> usize {
        let weight = self.weight.as_deref().unwrap_or_default();
        size_of_val(&self.values[..])
            + size_of_val(&self.impurity[..])
            + size_of_val(&self.rows[..])
            + size_of_val(weight)
    }
}

//! The sides of the rows of divided nodes, as the winner's owner sends them to the other workers.
//!
//! A node has a bit per row, in ascending order of its rows, and begins at a new byte. So a level
//! takes one bit per row of a divided node, and all workers read it in one pass over the rows.
//! Copies of a row (`fit/repeats.rs`) are where the row is and need no bit:
//!
//! ```text
//! row     0 1 2 3 4 5 6 7        nodes a and b, divided; · is in neither
//! node    a b a · b a a b
//! bytes   a: sides of 0 2 5 6    b: sides of 1 4 7
//! ```

use crate::error::Result;
use crate::grow::sides::Sides;
use crate::wire::refuse;

/// Stands for a row whose node is not open.
pub(super) const NO_NODE: u32 = u32::MAX;

/// Where the bits of each node begin, given its number of rows. `None`: it has none.
pub(super) struct Cursors {
    next: Vec<Option<usize>>,
    n_bytes: usize,
}

impl Cursors {
    pub fn new(rows_of_nodes: impl Iterator<Item = Option<usize>>) -> Self {
        let mut n_bytes = 0;
        let mut place = |rows: usize| {
            let start = 8 * n_bytes;
            n_bytes += rows.div_ceil(8);
            start
        };
        let next = rows_of_nodes.map(|rows| rows.map(&mut place)).collect();
        Self { next, n_bytes }
    }

    /// The place of the next bit of this node.
    #[inline]
    fn advance(&mut self, node: u32) -> Option<usize> {
        let next = self.next[node as usize].as_mut()?;
        *next += 1;
        Some(*next - 1)
    }

    /// Collects the sides of the rows of all nodes that have bits, without copies.
    pub fn pack(mut self, node_of_row: &[u32], is_copy: impl Fn(usize) -> bool, sides: &Sides) -> Vec<u8> {
        let mut bytes = vec![0; self.n_bytes];
        for (row, &node) in (0..).zip(node_of_row).filter(|&(row, &node)| node != NO_NODE && !is_copy(row as usize)) {
            if let Some(place) = self.advance(node) {
                bytes[place / 8] |= u8::from(sides.get(row)) << (place % 8);
            }
        }
        bytes
    }

    /// The sides of this node's rows, if it has bits.
    fn bytes_of<'a>(&self, node: usize, rows: usize, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let start = self.next[node]? / 8;
        bytes.get(start..start + rows.div_ceil(8))
    }
}

/// The bits of one worker's nodes.
pub(super) struct SideBits<'a> {
    cursors: Cursors,
    bytes: &'a [u8],
}

impl<'a> SideBits<'a> {
    /// For each node the number of its rows, without copies, and how many of them go left; `None`:
    /// it has no bits.
    pub fn new(nodes: &[Option<(usize, usize)>], bytes: &'a [u8]) -> Result<Self> {
        let cursors = Cursors::new(nodes.iter().map(|node| node.map(|(rows, _)| rows)));
        if bytes.len() != cursors.n_bytes {
            return refuse(format!("has {} bytes of sides instead of {}", bytes.len(), cursors.n_bytes));
        }
        for (node, counts) in nodes.iter().enumerate() {
            if let &Some((rows, n_left)) = counts {
                let own = cursors.bytes_of(node, rows, bytes).unwrap_or(&[]);
                let found: usize = own.iter().map(|byte| byte.count_ones() as usize).sum();
                if found != n_left {
                    return refuse(format!("sends {found} rows of a node left instead of {n_left}"));
                }
            }
        }
        Ok(Self { cursors, bytes })
    }

    /// Whether the next row of this node goes left; `None` if the node has no bits.
    #[inline]
    pub fn next(&mut self, node: u32) -> Option<bool> {
        let place = self.cursors.advance(node)?;
        Some(self.bytes[place / 8] >> (place % 8) & 1 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sides_arrive_as_they_were_noted(rows in prop::collection::vec((0..5u32, any::<bool>()), 0..300)) {
            // Node 3 has no bits, and 4 stands for no node.
            let node_of_row: Vec<u32> = rows.iter().map(|&(node, _)| if node == 4 { NO_NODE } else { node }).collect();
            let sides = Sides::new(rows.len());
            for (row, &(_, is_left)) in (0..).zip(&rows) {
                sides.set(row, is_left);
            }
            let counts: Vec<_> = (0..4)
                .map(|node| {
                    let own = || rows.iter().filter(move |row| row.0 == node);
                    (node != 3).then(|| (own().count(), own().filter(|row| row.1).count()))
                })
                .collect();
            let bytes = Cursors::new(counts.iter().map(|node| node.map(|(rows, _)| rows))).pack(&node_of_row, |_| false, &sides);
            let n_bits: usize = counts.iter().flatten().map(|counts| counts.0).sum();
            prop_assert!(bytes.len() <= n_bits / 8 + 3);
            let mut received = SideBits::new(&counts, &bytes).unwrap();
            for &(node, is_left) in rows.iter().filter(|row| row.0 != 4) {
                prop_assert_eq!(received.next(node), (node != 3).then_some(is_left));
            }
            prop_assert!(SideBits::new(&counts, &[&bytes[..], &[0]].concat()).is_err());
            if let Some(first) = bytes.first() {
                let damaged = [&[first ^ 1], &bytes[1..]].concat();
                prop_assert!(SideBits::new(&counts, &damaged).is_err());
            }
        }
    }
}

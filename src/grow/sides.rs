//! HOT: the side of each row in the division of its node.
//!
//! Partitions read the sides at random, once per cell and level. As bits, the sides of a million
//! rows take 125 kB and stay in the second-level cache; as bytes they would take 1 MB.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sides are written as bytes and read as bits.
pub(crate) struct Sides {
    /// A byte per row, for writing: threads write the rows of different nodes at the same time. A
    /// relaxed store costs the same as a plain one.
    bytes: Vec<AtomicBool>,
    /// A bit per row, for reading. Equal to the bytes after `publish`.
    bits: Vec<u64>,
}

impl Sides {
    pub fn new(n_rows: usize) -> Self {
        // Whole words, so that the last word is not a special case.
        let n_words = n_rows.div_ceil(64);
        Self { bytes: (0..n_words * 64).map(|_| AtomicBool::new(false)).collect(), bits: vec![0; n_words] }
    }

    pub fn set(&self, row: u32, is_left: bool) {
        self.bytes[row as usize].store(is_left, Ordering::Relaxed);
    }

    /// The side that this thread has just set, before it is published.
    pub fn get(&self, row: u32) -> bool {
        self.bytes[row as usize].load(Ordering::Relaxed)
    }

    /// Copies the bytes to the bits.
    pub fn publish(&mut self) {
        for (word, bytes) in self.bits.iter_mut().zip(self.bytes.as_chunks_mut::<64>().0) {
            let (eights, _) = bytes.as_chunks_mut::<8>();
            *word = eights.iter_mut().enumerate().fold(0, |word, (i, eight)| word | pack(eight) << (8 * i));
        }
    }

    /// The published side.
    #[inline]
    pub fn is_left(&self, row: u32) -> bool {
        self.bits[row as usize / 64] >> (row % 64) & 1 != 0
    }
}

/// Packs eight bytes into eight bits, the first byte lowest. The factor moves the lowest bit of
/// each byte into the top byte.
fn pack(bytes: &mut [AtomicBool; 8]) -> u64 {
    let bytes = u64::from_le_bytes(bytes.each_mut().map(|byte| u8::from(*byte.get_mut())));
    bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sides_are_read_as_they_were_set(first in prop::collection::vec(any::<bool>(), 1..300), change in 0..300usize) {
            let mut sides = Sides::new(first.len());
            let mut expected = first;
            for _ in 0..2 {
                for (row, &is_left) in expected.iter().enumerate() {
                    sides.set(row as u32, is_left);
                }
                sides.publish();
                for (row, &is_left) in expected.iter().enumerate() {
                    prop_assert_eq!(sides.is_left(row as u32), is_left, "row {}", row);
                }
                let row = change % expected.len();
                expected[row] = !expected[row];
            }
        }
    }
}

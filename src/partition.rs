//! HOT: stable two-way partitions of a node's range, one per layout of rows.
//!
//! ```text
//! rows   5 2 7 1 9 4          sides of the rows: 5→L 2→R 7→R 1→L 9→L 4→R
//!        L R R L L R
//! after  5 1 9 | 2 7 4        both sides keep their order, so both stay sorted
//!        ^       ^
//!        0       n_left
//! ```
//!
//! A branch on the side of a row would be mispredicted for up to half of the rows. So no loop here
//! has one: it selects the place to write to, or writes the row to both sides and advances only the
//! side that the row belongs to. Cost: one read and one or two writes per row. Tests:
//! `agrees_with_two_filters`, `tiny_orders_agree_with_two_filters`.

use crate::columns::ColumnSlice;
use crate::columns::local::{LOCAL_ROWS, MAX_TINY_ROWS, TinyOrder};

/// Writes the rows that go left to the front of `rows` and the rest from `n_left` on, both in their
/// old order; `items` follow.
///
/// # Panics
/// If `goes_left` is not true for exactly `n_left` rows.
pub(crate) fn partition<T: Copy>(
    from: ColumnSlice<'_, T>,
    goes_left: impl Fn(u32) -> bool,
    n_left: usize,
    rows: &mut [u32],
    items: &mut [T],
) {
    let len = from.rows.len();
    assert!(from.items.len() == len && rows.len() == len && items.len() == len && n_left <= len);
    let (mut left, mut right) = (0, n_left);
    for (&row, &item) in from.rows.iter().zip(from.items) {
        let is_left = goes_left(row);
        let place = std::hint::select_unpredictable(is_left, left, right);
        rows[place] = row;
        items[place] = item;
        left += usize::from(is_left);
        right += usize::from(!is_left);
    }
    assert!(left == n_left, "the partition must agree with the split");
}

/// Partitions local row numbers. `buffer` receives the right part and is at least as long as
/// `from`.
pub(crate) fn partition_rows(from: &[u16], goes_left: &[bool; LOCAL_ROWS], to: &mut [u16], buffer: &mut [u16]) {
    let len = from.len();
    let (to, buffer) = (&mut to[..len], &mut buffer[..len]);
    let (mut left, mut right) = (0, 0);
    for &row in from {
        let is_left = usize::from(goes_left[row as usize]);
        to[left] = row;
        buffer[right] = row;
        left += is_left;
        right += 1 - is_left;
    }
    to[left..].copy_from_slice(&buffer[..right]);
}

/// Writes only the rows of one side. `to` has exactly their length.
pub(crate) fn keep_rows<const LEFT: bool>(from: &[u16], goes_left: &[bool; LOCAL_ROWS], to: &mut [u16]) {
    let mut kept = 0;
    for &row in from {
        // After the last kept row, `to` is full; the rows that follow are not kept.
        if let Some(place) = to.get_mut(kept) {
            *place = row;
        }
        kept += usize::from(goes_left[row as usize] == LEFT);
    }
}

/// Moves the rows that go left to the front, both sides in their old order. Returns how many go
/// left.
pub(crate) fn partition_in_place<T: Copy + Default>(
    rows: &mut [T],
    goes_left: impl Fn(T) -> bool,
    spare: &mut Vec<T>,
) -> usize {
    let mut both = (std::mem::take(spare), Vec::new());
    let n_left = partition_with_items(rows, &mut vec![(); rows.len()], goes_left, &mut both);
    *spare = both.0;
    n_left
}

/// [`partition_in_place`] of rows, followed by their items.
pub(crate) fn partition_with_items<R: Copy + Default, T: Copy + Default>(
    rows: &mut [R],
    items: &mut [T],
    goes_left: impl Fn(R) -> bool,
    spare: &mut (Vec<R>, Vec<T>),
) -> usize {
    if let [a, b] = *rows {
        // In a fully grown tree, a third of the nodes that are split have two rows.
        let [is_left, other] = [a, b].map(&goes_left);
        if other && !is_left {
            rows.swap(0, 1);
            items.swap(0, 1);
        }
        return usize::from(is_left) + usize::from(other);
    }
    let len = rows.len();
    spare.0.resize(spare.0.len().max(len), R::default());
    spare.1.resize(spare.1.len().max(len), T::default());
    let (items, spare) = (&mut items[..len], (&mut spare.0[..len], &mut spare.1[..len]));
    let (mut left, mut right) = (0, 0);
    for place in 0..len {
        let (row, item) = (rows[place], items[place]);
        let is_left = usize::from(goes_left(row));
        (rows[left], items[left]) = (row, item);
        (spare.0[right], spare.1[right]) = (row, item);
        left += is_left;
        right += 1 - is_left;
    }
    rows[left..].copy_from_slice(&spare.0[..right]);
    items[left..].copy_from_slice(&spare.1[..right]);
    left
}

/// Partitions the first `N` rows of a tiny node's order: the left side into `left`, the right side
/// to the front of `order` itself. `goes_left` has a bit per row.
#[inline(always)]
pub(crate) fn partition_tiny<const N: usize>(order: &mut TinyOrder, goes_left: u32, left: &mut TinyOrder) {
    let (mut to_left, mut to_right) = (0, 0);
    for place in 0..N {
        let row = order[place];
        left[to_left % MAX_TINY_ROWS] = row;
        order[to_right % MAX_TINY_ROWS] = row;
        let is_left = (goes_left >> row & 1) as usize;
        to_left += is_left;
        to_right += 1 - is_left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_two_filters(sides in prop::collection::vec(any::<bool>(), 0..300), seed in any::<u64>()) {
            let len = sides.len() as u64;
            let mut rows: Vec<u32> = (0..len as u32).collect();
            rows.sort_by_key(|&row| (u64::from(row) + 1).wrapping_mul(seed | 1));
            let items: Vec<f64> = rows.iter().map(|&row| f64::from(row) * 0.5).collect();
            let (mut to_rows, mut to_items) = (vec![0; rows.len()], vec![0.0; rows.len()]);
            let n_left = sides.iter().filter(|&&left| left).count();
            let from = ColumnSlice { rows: &rows, items: &items };
            partition(from, |row| sides[row as usize], n_left, &mut to_rows, &mut to_items);
            prop_assert_eq!(&to_rows, &naive::partition(&rows, |row| sides[row as usize]));
            let carried: Vec<f64> = to_rows.iter().map(|&row| f64::from(row) * 0.5).collect();
            prop_assert_eq!(to_items, carried);

            let mut table = vec![false; LOCAL_ROWS];
            table[..sides.len()].copy_from_slice(&sides);
            let table: Box<[bool; LOCAL_ROWS]> = table.into_boxed_slice().try_into().unwrap();
            let narrow: Vec<u16> = rows.iter().map(|&row| row as u16).collect();
            let (mut to, mut buffer) = (vec![0; rows.len()], vec![0; rows.len()]);
            partition_rows(&narrow, &table, &mut to, &mut buffer);
            prop_assert!(to.iter().map(|&row| u32::from(row)).eq(to_rows.iter().copied()));
            let (mut left, mut right) = (vec![0; n_left], vec![0; rows.len() - n_left]);
            keep_rows::<true>(&narrow, &table, &mut left);
            keep_rows::<false>(&narrow, &table, &mut right);
            prop_assert_eq!([left, right].concat(), to);

            let mut in_place = rows.clone();
            prop_assert_eq!(partition_in_place(&mut in_place, |row| sides[row as usize], &mut Vec::new()), n_left);
            prop_assert_eq!(in_place, to_rows);
        }

        #[test]
        fn tiny_orders_agree_with_two_filters(sides in any::<u16>(), seed in any::<u64>()) {
            let mut order: TinyOrder = std::array::from_fn(|row| row as u8);
            order.sort_by_key(|&row| (u64::from(row) + 1).wrapping_mul(seed | 1));
            let rows = order.map(u32::from);
            let mut left = [0; MAX_TINY_ROWS];
            partition_tiny::<MAX_TINY_ROWS>(&mut order, u32::from(sides), &mut left);
            let n_left = sides.count_ones() as usize;
            let both: Vec<u32> =
                left[..n_left].iter().chain(&order[..MAX_TINY_ROWS - n_left]).map(|&row| u32::from(row)).collect();
            prop_assert_eq!(both, naive::partition(&rows, |row| sides >> row & 1 == 1));
        }
    }
}

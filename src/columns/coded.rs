//! A column of few distinct values: a code per row instead of an order.
//!
//! ```text
//! values   0.5   7   ?   0.5   −1        codes of −1, 0.5, 7, ?:  0, 1, 2, 3
//! codes      1   2   3     1    0        NaN is a value of its own, the last
//! ```
//!
//! Codes ascend with the values, so a node's rows are put in the order of the column by a counting
//! sort. Its result is the range of the sorted column, bit for bit, if the node's rows ascend.

use std::ops::Range;

use super::{ColumnSlice, SortedColumn};

/// A column gives up being coded when it has more than this many distinct values, and more than
/// half of the rows that were seen are distinct: continuous columns are known after 512 rows.
const SURELY_FEW: usize = 256;

/// The codes of one feature.
pub(crate) struct CodedColumn {
    /// By row of X; 0 for rows that take no part in the fit.
    codes: Vec<u16>,
    n_codes: usize,
}

impl CodedColumn {
    /// The codes of these keys, which are in the order of the values, by row. `None` if more than
    /// `max_codes` of them are distinct.
    pub fn new(n_rows: usize, keys: impl Iterator<Item = (u32, u64)>, max_codes: usize) -> Option<Self> {
        let mut found = DistinctKeys::new(max_codes.min(usize::from(u16::MAX)));
        let mut codes = vec![0; n_rows];
        for (seen, (row, key)) in keys.enumerate() {
            codes[row as usize] = found.number(key, SURELY_FEW + seen / 2)?;
        }
        let code_of_number = found.codes();
        for code in &mut codes {
            *code = code_of_number[*code as usize];
        }
        Some(Self { codes, n_codes: code_of_number.len() })
    }

    pub fn n_codes(&self) -> usize {
        self.n_codes
    }

    #[inline(always)]
    pub fn code(&self, row: u32) -> usize {
        self.codes[row as usize] as usize
    }

    /// Writes a node's rows, which ascend, in the order of the column. `places` is a buffer.
    fn order<T: Copy>(&self, node: ColumnSlice<'_, T>, rows: &mut [u32], items: &mut [T], places: &mut Vec<u32>) {
        places.clear();
        places.resize(self.n_codes, 0);
        for &row in node.rows {
            places[self.code(row)] += 1;
        }
        let mut start = 0;
        for place in places.iter_mut() {
            start += std::mem::replace(place, start);
        }
        for (&row, &item) in node.rows.iter().zip(node.items) {
            let place = &mut places[self.code(row)];
            (rows[*place as usize], items[*place as usize]) = (row, item);
            *place += 1;
        }
    }
}

/// The distinct keys of a column, numbered as they are found: a hash table with open addressing.
struct DistinctKeys {
    max: usize,
    keys: Vec<u64>,
    /// By slot: the number of its key, or `FREE`.
    slots: Vec<u16>,
    shift: u32,
}

const FREE: u16 = u16::MAX;

impl DistinctKeys {
    fn new(max: usize) -> Self {
        let n_slots = (4 * max).next_power_of_two().max(2);
        Self { max, keys: Vec::new(), slots: vec![FREE; n_slots], shift: 64 - n_slots.trailing_zeros() }
    }

    /// The number of a key; `None` if it is new, and there are already `max` or more than `most`.
    #[inline]
    fn number(&mut self, key: u64, most: usize) -> Option<u16> {
        // Fibonacci hashing: the upper bits of the product depend on all bits of the key.
        let mut slot = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize;
        loop {
            match self.slots[slot] {
                FREE if self.keys.len() >= self.max.min(most) => return None,
                FREE => {
                    self.slots[slot] = self.keys.len() as u16;
                    self.keys.push(key);
                    return Some(self.slots[slot]);
                }
                number if self.keys[number as usize] == key => return Some(number),
                _ => slot = (slot + 1) % self.slots.len(),
            }
        }
    }

    /// By number: how many keys are lower.
    fn codes(&self) -> Vec<u16> {
        let mut ascending: Vec<u16> = (0..self.keys.len() as u16).collect();
        ascending.sort_unstable_by_key(|&number| self.keys[number as usize]);
        let mut codes = vec![0; ascending.len()];
        for (code, number) in (0..).zip(ascending) {
            codes[number as usize] = code;
        }
        codes
    }
}

/// The coded columns of a fit, and the rows that go with them.
pub(crate) struct CodedColumns<T> {
    /// By feature, `None` if it is sorted; empty if all are.
    columns: Vec<Option<CodedColumn>>,
    /// The rows of each node in ascending order, with their items. Empty without coded columns.
    pub rows: SortedColumn<T>,
    /// Within the range of a node: its rows in the order of the coded column that `put_in_order`
    /// was called with.
    ordered: SortedColumn<T>,
    places: Vec<u32>,
}

impl<T: Copy + Default> CodedColumns<T> {
    pub fn none() -> Self {
        let empty = || SortedColumn::with_len(0);
        Self { columns: Vec::new(), rows: empty(), ordered: empty(), places: Vec::new() }
    }

    /// `rows` has the rows of the fit in ascending order; it is not called without coded columns.
    pub fn new(columns: Vec<Option<CodedColumn>>, rows: impl FnOnce() -> SortedColumn<T>) -> Self {
        if columns.iter().all(Option::is_none) {
            return Self::none();
        }
        let rows = rows();
        Self { columns, ordered: SortedColumn::with_len(rows.rows.len()), rows, places: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The codes of a feature; `None` if it is sorted.
    pub fn get(&self, feature: usize) -> Option<&CodedColumn> {
        self.columns.get(feature)?.as_ref()
    }

    /// Puts a node's rows in the order of a feature, if it is coded.
    pub fn put_in_order(&mut self, feature: usize, range: Range<usize>) {
        let Self { columns, rows, ordered, places } = self;
        if let Some(Some(column)) = columns.get(feature) {
            let SortedColumn { rows: to, items } = ordered;
            column.order(rows.slice(range.clone()), &mut to[range.clone()], &mut items[range], places);
        }
    }

    /// The column of a feature, given its sorted one. If it is coded, only those ranges are
    /// valid that were put in the order of this feature.
    pub fn column<'a>(&'a self, feature: usize, sorted: &'a [SortedColumn<T>]) -> &'a SortedColumn<T> {
        if self.get(feature).is_some() { &self.ordered } else { &sorted[feature] }
    }
}

/// Room for a node's rows in the order of any feature.
pub(crate) struct OrderBuffer<T> {
    column: SortedColumn<T>,
    places: Vec<u32>,
}

impl<T: Copy + Default> OrderBuffer<T> {
    pub fn new() -> Self {
        Self { column: SortedColumn::with_len(0), places: Vec::new() }
    }

    /// A node's range of a sorted or coded column.
    pub fn slice<'a>(
        &'a mut self,
        feature: usize,
        sorted: &'a [SortedColumn<T>],
        coded: &CodedColumns<T>,
        range: Range<usize>,
    ) -> ColumnSlice<'a, T> {
        let Some(column) = coded.get(feature) else { return sorted[feature].slice(range) };
        let len = range.len();
        self.column.reserve(len);
        let SortedColumn { rows, items } = &mut self.column;
        column.order(coded.rows.slice(range), &mut rows[..len], &mut items[..len], &mut self.places);
        self.column.slice(0..len)
    }

    /// The rows of a node's range, for columns that may have no items.
    pub fn rows<'a>(
        &'a mut self,
        feature: usize,
        sorted: &'a [SortedColumn<T>],
        coded: &CodedColumns<T>,
        range: Range<usize>,
    ) -> &'a [u32] {
        if coded.get(feature).is_some() {
            self.slice(feature, sorted, coded, range).rows
        } else {
            &sorted[feature].rows[range]
        }
    }
}

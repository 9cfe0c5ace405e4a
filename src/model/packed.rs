//! A forest in few bytes, for pickles, with 11 to 19 bytes per node instead of 44 (friedman1).
//!
//! Nodes are written from the last to the first, so that the children of a node come before it.
//! Most numbers follow from those of the children, exactly or up to rounding: a node's rows and
//! weight are sums, its value is their weighted mean, and its impurity follows from the values.
//! What is written is the exclusive or of a number and its prediction, without the zero bytes at
//! either end. The right child is not written: it follows from the order.
//!
//! ```text
//! magic │ trees, features, outputs, values, has categories │ categories │ tree after tree │ CRC-32
//! tree    nodes, words of sets, is weighted │ words │ nodes in reverse order
//! node    test, threshold if it is inner │ rows │ weight │ values │ impurity
//! ```
//!
//! Predictions are sums, products and quotients in a fixed order, which IEEE 754 defines to the
//! last bit, so every machine unpacks the same numbers. Nothing is trusted: memory is allocated
//! only for nodes whose bytes are there, and `Tree::new` checks the tree.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::forest::Forest;
use crate::tree::{ArenaNode, Categories, CategorySets, Statistics, Test, Tree};

pub(super) const MAGIC: [u8; 8] = *b"\x89SPWpack";

/// Bytes that are written one after another.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    /// A number in groups of seven bits, the lowest first; bit 7 says that more follow.
    fn number(&mut self, mut number: u64) {
        while number > 127 {
            self.0.push(number as u8 | 128);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// Eight bytes without the zeros at either end, after a byte with the numbers of zeros before
    /// them and of bytes.
    fn bits(&mut self, bits: u64) {
        let before = bits.leading_zeros() / 8;
        let len = if bits == 0 { 0 } else { 8 - before - bits.trailing_zeros() / 8 };
        self.0.push((before << 4 | len) as u8);
        self.0.extend_from_slice(&bits.to_be_bytes()[before as usize..][..len as usize]);
    }

    fn float(&mut self, number: f64, predicted: f64) {
        self.bits(number.to_bits() ^ predicted.to_bits());
    }
}

/// Bytes that are still to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or_else(|| Error::model("a packed forest ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(number);
            }
        }
        Err(Error::model("a number of a packed forest is too long"))
    }

    /// A number that counts things of at least this many bytes each, which must be there.
    fn count(&mut self, bytes: usize) -> Result<usize> {
        let number = self.number()?;
        match usize::try_from(number).ok().and_then(|n| n.checked_mul(bytes)) {
            Some(needed) if needed <= self.0.len() => Ok(number as usize),
            _ => Err(Error::model(format!("a packed forest has no room for {number} entries"))),
        }
    }

    fn bits(&mut self) -> Result<u64> {
        let [head] = *self.take(1)? else { return Err(Error::model("a packed forest ends too early")) };
        let (before, len) = (usize::from(head >> 4), usize::from(head & 15));
        if before + len > 8 {
            return Err(Error::model("a number of a packed forest is too long"));
        }
        let mut bytes = [0; 8];
        bytes[before..before + len].copy_from_slice(self.take(len)?);
        Ok(u64::from_be_bytes(bytes))
    }

    fn float(&mut self, predicted: f64) -> Result<f64> {
        Ok(f64::from_bits(self.bits()? ^ predicted.to_bits()))
    }
}

/// What is known of a node from its children.
struct Prediction {
    rows: u32,
    weight: f64,
    values: Vec<f64>,
}

/// The arrays of a tree, of which the entries of later nodes are known.
struct Known<'a> {
    statistics: &'a Statistics,
    n_values: usize,
}

impl Known<'_> {
    fn values(&self, node: usize) -> &[f64] {
        &self.statistics.values[node * self.n_values..][..self.n_values]
    }

    fn weight(&self, node: usize) -> f64 {
        self.statistics.weight.as_ref().map_or_else(|| self.statistics.rows[node].into(), |weight| weight[node])
    }

    fn predict(&self, children: Option<(usize, usize)>) -> Prediction {
        let Some((left, right)) = children else {
            return Prediction { rows: 1, weight: 1.0, values: vec![0.0; self.n_values] };
        };
        let (on_left, on_right) = (self.weight(left), self.weight(right));
        let mean = |(a, b): (&f64, &f64)| number_or_zero((on_left * a + on_right * b) / (on_left + on_right));
        Prediction {
            rows: self.statistics.rows[left].wrapping_add(self.statistics.rows[right]),
            weight: number_or_zero(on_left + on_right),
            values: self.values(left).iter().zip(self.values(right)).map(mean).collect(),
        }
    }

    /// The impurity of a node whose values are known: of one value the variance, else Gini's.
    fn predict_impurity(&self, node: usize, children: Option<(usize, usize)>) -> f64 {
        let values = self.values(node);
        if values.len() > 1 {
            return number_or_zero(1.0 - values.iter().map(|share| share * share).sum::<f64>());
        }
        let Some((left, right)) = children else { return 0.0 };
        let part = |child: usize| {
            let deviation = self.values(child)[0] - values[0];
            self.weight(child) * (self.statistics.impurity[child] + deviation * deviation)
        };
        number_or_zero((part(left) + part(right)) / (self.weight(left) + self.weight(right)))
    }
}

/// A prediction that is the same on every machine: the bits of a NaN may differ.
fn number_or_zero(number: f64) -> f64 {
    if number.is_nan() { 0.0 } else { number }
}

/// The bytes of a forest.
pub(super) fn pack(forest: &Forest) -> Vec<u8> {
    let mut out = Writer(MAGIC.to_vec());
    let counts = forest.trees()[0].categories.as_deref().map(|categories| &categories.counts);
    for number in [forest.n_trees(), forest.n_features(), forest.n_outputs(), forest.n_values()] {
        out.number(number as u64);
    }
    out.number(counts.is_some().into());
    counts.into_iter().flatten().for_each(|&count| out.number(count.into()));
    for tree in forest.trees() {
        pack_tree(tree, &mut out);
    }
    let checksum = crc32fast::hash(&out.0);
    out.0.extend(checksum.to_le_bytes());
    out.0
}

fn pack_tree(tree: &Tree, out: &mut Writer) {
    let words = tree.categories.as_deref().map_or(&[][..], |categories| &categories.sets.words);
    let is_weighted = tree.statistics.weight.is_some();
    for number in [tree.node_count() as u64, words.len() as u64, is_weighted.into()] {
        out.number(number);
    }
    for &word in words {
        out.bits(word);
    }
    let known = Known { statistics: &tree.statistics, n_values: tree.n_values() };
    for node in (0..tree.node_count()).rev() {
        let test = tree.nodes[node].test();
        out.number(test.map_or(0, |test| 1 + 2 * u64::from(test.feature) + u64::from(test.missing_left)));
        if let Some(test) = test {
            out.bits(test.threshold.to_bits());
        }
        let children = tree.children(node);
        let predicted = known.predict(children);
        out.number((tree.statistics.rows[node] ^ predicted.rows).into());
        if is_weighted {
            out.float(known.weight(node), predicted.weight);
        }
        known.values(node).iter().zip(predicted.values).for_each(|(&value, predicted)| out.float(value, predicted));
        out.float(tree.statistics.impurity[node], known.predict_impurity(node, children));
    }
}

/// The forest with these bytes.
pub(super) fn unpack(bytes: &[u8]) -> Result<Forest> {
    let (contents, checksum) = bytes.split_last_chunk().ok_or_else(|| Error::model("a packed forest is too short"))?;
    if crc32fast::hash(contents) != u32::from_le_bytes(*checksum) {
        return Err(Error::model("a packed forest is damaged: the checksum does not match"));
    }
    let mut source = Reader(&contents[MAGIC.len()..]);
    let n_trees = source.count(1)?;
    let n_features = source.number()?;
    if n_features == 0 || n_features > crate::data::MAX_ROWS as u64 {
        return Err(Error::model(format!("a tree can't have {n_features} features")));
    }
    let shape = [n_features as usize, source.count(0)?, source.count(1)?];
    let counts = match source.number()? {
        0 => None,
        1 if shape[0] <= source.0.len() => {
            let count =
                |_| u32::try_from(source.number()?).map_err(|_| Error::model("a feature has too many categories"));
            Some((0..shape[0]).map(count).collect::<Result<Vec<_>>>()?)
        }
        _ => return Err(Error::model("a packed forest has unknown flags, or no room for its categories")),
    };
    let trees = (0..n_trees).map(|_| unpack_tree(&mut source, shape, counts.as_ref()).map(Arc::new));
    let forest = Forest::new(trees.collect::<Result<_>>()?).map_err(|error| Error::model(error.to_string()))?;
    if source.0.is_empty() { Ok(forest) } else { Err(Error::model("a packed forest is longer than its trees")) }
}

fn unpack_tree(source: &mut Reader<'_>, shape: [usize; 3], counts: Option<&Vec<u32>>) -> Result<Tree> {
    let [n_features, n_outputs, n_values] = shape;
    // A node has a byte for its test, its rows, its impurity and each value, at least.
    let n_nodes = source.count(n_values + 3)?;
    let n_words = source.count(1)?;
    let is_weighted = match source.number()? {
        flag @ 0..=1 => flag == 1,
        _ => return Err(Error::model("a packed tree has unknown flags")),
    };
    let words = (0..n_words).map(|_| source.bits()).collect::<Result<Vec<_>>>()?;
    let mut nodes = vec![ArenaNode::leaf(); n_nodes];
    let mut statistics = Statistics {
        values: vec![0.0; n_nodes * n_values],
        impurity: vec![0.0; n_nodes],
        rows: vec![0; n_nodes],
        weight: is_weighted.then(|| vec![0.0; n_nodes]),
    };
    // The roots of the subtrees that have no parent yet, the next left child last.
    let mut roots: Vec<u32> = Vec::new();
    for node in (0..n_nodes).rev() {
        let mut children = None;
        if let Some(packed) = source.number()?.checked_sub(1) {
            let threshold = f64::from_bits(source.bits()?);
            let orphan = || Error::model("a packed tree has an inner node without two children");
            let (left, right) = (roots.pop().ok_or_else(orphan)?, roots.pop().ok_or_else(orphan)?);
            if packed / 2 >= n_features as u64 {
                return Err(Error::model("a packed tree tests a feature that does not exist"));
            }
            let test = Test { feature: (packed / 2) as u32, threshold, missing_left: packed % 2 == 1, right };
            nodes[node] = ArenaNode::from_bytes(ArenaNode::inner(test).to_bytes())
                .ok_or_else(|| Error::model("a packed tree has a threshold that is not a number"))?;
            children = Some((left as usize, right as usize));
        }
        roots.push(node as u32);
        unpack_statistics(source, &mut statistics, n_values, node, children)?;
    }
    let categories = counts.map(|counts| Categories { counts: counts.clone(), sets: CategorySets { words } });
    Tree::new(nodes, statistics, n_features, n_values, categories)
        .and_then(|tree| tree.with_outputs(n_outputs))
        .map_err(|error| Error::model(error.to_string()))
}

fn unpack_statistics(
    source: &mut Reader<'_>,
    statistics: &mut Statistics,
    n_values: usize,
    node: usize,
    children: Option<(usize, usize)>,
) -> Result<()> {
    let predicted = Known { statistics, n_values }.predict(children);
    let rows = u32::try_from(source.number()?).map_err(|_| Error::model("a packed node has too many rows"))?;
    statistics.rows[node] = rows ^ predicted.rows;
    if let Some(weight) = &mut statistics.weight {
        weight[node] = source.float(predicted.weight)?;
    }
    for (value, predicted) in statistics.values[node * n_values..].iter_mut().zip(predicted.values) {
        *value = source.float(predicted)?;
    }
    let impurity = Known { statistics, n_values }.predict_impurity(node, children);
    statistics.impurity[node] = source.float(impurity)?;
    Ok(())
}

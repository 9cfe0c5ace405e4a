//! The sections of a file → a model. Nothing in the file is trusted.
//!
//! The order of the checks: the header; the table, with its checksum and every length against the
//! file's; the shape, and every length against the shape; then each section with its checksum, into
//! memory whose size is by now known to be in the file; last the meaning of the numbers
//! (`Tree::new`). The source is read once, from its first byte to its last.

use std::io::{self, Read};

use super::Task;
use super::codec::{Bounded, read_error};
use super::labels::Labels;
use super::layout::{self, Entry, HEADER_LENGTH, Header, Name};
use super::shape::{Shape, TreeShape};
use crate::error::{Error, Result};
use crate::forest::LeafRows;
use crate::tree::{ArenaNode, Categories, CategorySets, Statistics, Tree};

/// The parts of a file. The trees are valid; whether the other parts match them is checked by
/// `ModelOf`.
pub(super) struct Stored {
    /// At least one.
    pub trees: Vec<Tree>,
    pub is_forest: bool,
    /// They belong to the trees only if `ModelOf` says so.
    pub leaf_rows: Option<LeafRows>,
    /// `None`: trees alone.
    pub task: Option<Task>,
    pub feature_names: Option<Vec<String>>,
    pub parameters: Option<String>,
}

/// Reads a file of this many bytes.
pub(super) fn read(mut source: impl Read, length: u64) -> Result<Stored> {
    if length < HEADER_LENGTH {
        return Err(Error::model(format!("this is no splitwood model: {length} bytes are too few for one")));
    }
    let mut header_bytes = [0; HEADER_LENGTH as usize];
    source.read_exact(&mut header_bytes).map_err(|error| read_error(&error))?;
    let header = Header::decode(&header_bytes, length)?;
    let mut table = vec![0; header.table_length()];
    source.read_exact(&mut table).map_err(|error| read_error(&error))?;
    let entries = header.entries(&header_bytes, &table, length)?;
    let is_shape = |entry: &Entry| entry.name == Name::SHAPE && entry.length == Shape::LENGTH;
    let Some((first, others)) = entries.split_first().filter(|(first, _)| is_shape(first)) else {
        return Err(Error::model("its first section is not 'shape', or has a wrong length"));
    };
    if let Some(unknown) = others.iter().find(|entry| entry.required && !is_known(entry.name)) {
        return Err(Error::model(format!(
            "it is written in format {} and needs section {}, which this version of splitwood does not know; \
             use the version that wrote it, or a newer one",
            header.version(),
            unknown.name
        )));
    }
    let mut end = HEADER_LENGTH + table.len() as u64;
    let shape = Section::read(&mut source, first, &mut end, Shape::read)?;
    let Some((forest, arrays)) = others.split_first().filter(|(second, _)| second.name == Name::TREES) else {
        let tree = TreeShape::of_single(&shape, others);
        shape.check(others, &[tree])?;
        return read_sections(&mut source, shape, &[tree], others, end)
            .map(|stored| Stored { is_forest: false, ..stored });
    };
    let trees = Section::read(&mut source, forest, &mut end, |section| {
        (0..forest.length / TreeShape::LENGTH).map(|_| TreeShape::read(section)).collect::<Result<Vec<_>>>()
    })?;
    if trees.is_empty() {
        return Err(Error::model("a forest needs at least one tree"));
    }
    shape.check(arrays, &trees)?;
    read_sections(&mut source, shape, &trees, arrays, end)
}

fn is_known(name: Name) -> bool {
    is_of_trees(name)
        || [Name::TREES, Name::CATEGORY_COUNTS, Name::CATEGORY_LISTS].contains(&name)
        || [Name::LEAF_SIZES, Name::LEAF_ROWS, Name::TARGETS].contains(&name)
        || [Name::CLASSES, Name::FEATURES, Name::PARAMS].contains(&name)
}

/// Whether the section has a part for each tree.
fn is_of_trees(name: Name) -> bool {
    [Name::NODES, Name::VALUES, Name::IMPURITY, Name::ROWS, Name::WEIGHT, Name::CATEGORY_SETS].contains(&name)
}

/// Reads the sections after the shape; their lengths are known to fit. `end` is the offset at which
/// the shape ended.
fn read_sections(
    source: &mut impl Read,
    shape: Shape,
    trees: &[TreeShape],
    entries: &[Entry],
    mut end: u64,
) -> Result<Stored> {
    let mut parts: Vec<(TreeShape, TreeParts)> = trees.iter().map(|&tree| (tree, TreeParts::default())).collect();
    let mut counts = None;
    let (mut classes, mut feature_names, mut parameters) = (None, None, None);
    let (mut sizes, mut rows, mut targets) = (None, Vec::new(), Vec::new());
    for entry in entries {
        Section::read(source, entry, &mut end, |section| {
            match entry.name {
                Name::CATEGORY_COUNTS => counts = Some(section.numbers(shape.n_features)?),
                Name::LEAF_SIZES => sizes = Some(section.numbers(entry.length / 4)?),
                Name::LEAF_ROWS => rows = section.numbers(entry.length / 4)?,
                Name::TARGETS => targets = section.numbers(entry.length / 8)?,
                Name::CLASSES => {
                    let labels = (0..shape.n_outputs).map(|_| Labels::read(section)).collect::<Result<_>>()?;
                    classes = Some(Task::Classification(labels));
                }
                Name::FEATURES => feature_names = Some(section.strings(shape.n_features)?),
                Name::PARAMS => parameters = Some(section.text(entry.length)?),
                Name::CATEGORY_LISTS => {
                    if section.number::<u64>()? != 1 {
                        return Err(Error::model("its only number must be 1"));
                    }
                }
                name if is_of_trees(name) => {
                    for (tree, parts) in &mut parts {
                        parts.read(name, section, *tree, shape.n_values)?;
                    }
                }
                // Not required, which `read` has checked.
                _ => section.skip()?,
            }
            Ok(())
        })?;
    }
    let trees = parts.into_iter().map(|(_, parts)| parts.into_tree(shape, counts.as_ref())).collect::<Result<_>>()?;
    let task = if shape.task == Shape::REGRESSION { Some(Task::Regression) } else { classes };
    let leaf_rows = sizes.map(|sizes| LeafRows::new(sizes, rows, targets));
    Ok(Stored { trees, is_forest: true, leaf_rows, task, feature_names, parameters })
}

/// The arrays of one tree while they are read.
#[derive(Default)]
struct TreeParts {
    nodes: Vec<ArenaNode>,
    statistics: Statistics,
    sets: CategorySets,
}

impl TreeParts {
    /// Reads the tree's part of a section.
    fn read(&mut self, name: Name, section: &mut impl Bounded, tree: TreeShape, n_values: u64) -> Result<()> {
        let (n, statistics) = (tree.n_nodes, &mut self.statistics);
        match name {
            Name::NODES => self.nodes = section.numbers(n)?,
            // The product fits: `Shape::check` has multiplied a larger number.
            Name::VALUES => statistics.values = section.numbers(n * n_values)?,
            Name::IMPURITY => statistics.impurity = section.numbers(n)?,
            Name::ROWS => statistics.rows = section.numbers(n)?,
            Name::WEIGHT if tree.is_weighted => statistics.weight = Some(section.numbers(n)?),
            Name::CATEGORY_SETS => self.sets.words = section.numbers(tree.n_set_words)?,
            _ => {}
        }
        Ok(())
    }

    fn into_tree(self, shape: Shape, counts: Option<&Vec<u32>>) -> Result<Tree> {
        let Self { nodes, statistics, sets } = self;
        let categories = counts.map(|counts| Categories { counts: counts.clone(), sets });
        Tree::new(nodes, statistics, shape.n_features as usize, shape.n_values as usize, categories)
            .and_then(|tree| tree.with_outputs(shape.n_outputs as usize))
            .map_err(|error| Error::model(error.to_string()))
    }
}

/// A section while it is read: at most its length, with a running checksum.
struct Section<'a, R> {
    source: &'a mut R,
    left: u64,
    hasher: crc32fast::Hasher,
}

impl<'a, R: Read> Section<'a, R> {
    /// Reads the section that follows offset `end`, and moves `end` to the section's end.
    fn read<T>(
        source: &'a mut R,
        entry: &Entry,
        end: &mut u64,
        decode: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let mut zeros = [0; 64];
        let zeros = &mut zeros[..layout::padding(*end) as usize];
        source.read_exact(zeros).map_err(|error| read_error(&error))?;
        let mut section = Self { source, left: entry.length, hasher: crc32fast::Hasher::new() };
        let decoded = decode(&mut section);
        let unread = section.left;
        section.skip()?;
        *end += zeros.len() as u64 + entry.length;
        // The checksum comes first: an error from decoding damaged bytes would mislead.
        if section.hasher.finalize() != entry.checksum || zeros.iter().any(|&byte| byte != 0) {
            return Err(Error::model(format!("section {} is damaged: the checksum does not match", entry.name)));
        }
        match decoded {
            Ok(_) if unread > 0 => Err(Error::model(format!("section {} is longer than its contents", entry.name))),
            Err(Error::Model { problem }) => Err(Error::model(format!("section {}: {problem}", entry.name))),
            decoded => decoded,
        }
    }

    /// Reads the rest of the section, for the checksum.
    fn skip(&mut self) -> Result<()> {
        io::copy(self, &mut io::sink()).map_err(|error| read_error(&error))?;
        if self.left > 0 { Err(Error::model("it ended while it was being read")) } else { Ok(()) }
    }
}

impl<R: Read> Read for Section<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        let n = self.source.read(&mut bytes[..most])?;
        self.hasher.update(&bytes[..n]);
        self.left -= n as u64;
        Ok(n)
    }
}

impl<R: Read> Bounded for Section<'_, R> {
    fn left(&self) -> u64 {
        self.left
    }
}

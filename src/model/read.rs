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
use super::shape::Shape;
use crate::error::{Error, Result};
use crate::tree::{Categories, CategorySets, Statistics, Tree};

/// The parts of a file. The tree is valid; whether the other parts match it is checked by `Model`.
pub(super) struct Stored {
    pub tree: Tree,
    /// `None`: a tree alone.
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
    shape.check(others)?;
    read_sections(&mut source, shape, others, end)
}

fn is_known(name: Name) -> bool {
    use Name as N;
    let tree = [N::NODES, N::VALUES, N::IMPURITY, N::ROWS, N::WEIGHT, N::CATEGORY_COUNTS, N::CATEGORY_SETS];
    tree.contains(&name) || [N::CATEGORY_LISTS, N::CLASSES, N::FEATURES, N::PARAMS].contains(&name)
}

/// Reads the sections after the shape; their lengths are known to fit. `end` is the offset at which
/// the shape ended.
fn read_sections(source: &mut impl Read, shape: Shape, entries: &[Entry], mut end: u64) -> Result<Stored> {
    let n = shape.n_nodes;
    let (mut nodes, mut statistics) = (Vec::new(), Statistics::default());
    let (mut counts, mut words) = (None, None);
    let (mut classes, mut feature_names, mut parameters) = (None, None, None);
    for entry in entries {
        Section::read(source, entry, &mut end, |section| {
            match entry.name {
                Name::NODES => nodes = section.numbers(n)?,
                Name::VALUES => statistics.values = section.numbers(n * shape.n_values)?,
                Name::IMPURITY => statistics.impurity = section.numbers(n)?,
                Name::ROWS => statistics.rows = section.numbers(n)?,
                Name::WEIGHT => statistics.weight = Some(section.numbers(n)?),
                Name::CATEGORY_COUNTS => counts = Some(section.numbers(shape.n_features)?),
                Name::CATEGORY_SETS => words = Some(section.numbers(entry.length / 8)?),
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
                // Not required, which `read` has checked.
                _ => section.skip()?,
            }
            Ok(())
        })?;
    }
    let categories = counts.zip(words).map(|(counts, words)| Categories { counts, sets: CategorySets { words } });
    let tree = Tree::new(nodes, statistics, shape.n_features as usize, shape.n_values as usize, categories)
        .and_then(|tree| tree.with_outputs(shape.n_outputs as usize))
        .map_err(|error| Error::model(error.to_string()))?;
    let task = if shape.task == Shape::REGRESSION { Some(Task::Regression) } else { classes };
    Ok(Stored { tree, task, feature_names, parameters })
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

//! A model → the sections of its file.

use std::io::{self, Write};

use super::codec::{write_all, write_strings};
use super::layout::{self, Entry, Name};
use super::shape::{Shape, TreeShape};
use super::{Contents, Task};
use crate::tree::{Categories, Tree};

/// Writes a section's bytes. It is called twice: to compute length and checksum, then to write. So
/// no section is held in memory as bytes.
type WriteSection<'a> = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + 'a>;

/// The sections in the order of the file. To add one, see "Adding a section" in
/// `docs/model-format.md`.
fn sections<'a>(contents: &'a Contents<'a>) -> Vec<(Name, bool, WriteSection<'a>)> {
    let Contents { trees, is_forest, leaf_rows, task, feature_names, parameters } = contents;
    let shape = Shape::of(contents);
    let mut sections: Vec<(Name, bool, WriteSection<'a>)> =
        vec![(Name::SHAPE, true, Box::new(move |out| shape.write(out)))];
    if *is_forest {
        sections.push((
            Name::TREES,
            true,
            Box::new(|out| trees.iter().try_for_each(|tree| TreeShape::of(tree).write(out))),
        ));
    }
    sections.push((Name::NODES, true, of_each(trees, |tree, out| write_all(out, &tree.nodes))));
    sections.push((Name::VALUES, true, of_each(trees, |tree, out| write_all(out, &tree.statistics.values))));
    sections.push((Name::IMPURITY, true, of_each(trees, |tree, out| write_all(out, &tree.statistics.impurity))));
    sections.push((Name::ROWS, true, of_each(trees, |tree, out| write_all(out, &tree.statistics.rows))));
    if trees.iter().any(|tree| tree.statistics.weight.is_some()) {
        let weights =
            |tree: &Tree, out: &mut dyn Write| write_all(out, tree.statistics.weight.as_deref().unwrap_or(&[]));
        sections.push((Name::WEIGHT, true, of_each(trees, weights)));
    }
    if let Some(categories) = &trees[0].categories {
        let words = |tree: &Tree, out: &mut dyn Write| match &tree.categories {
            Some(categories) => write_all(out, &categories.sets.words),
            None => Ok(()),
        };
        sections.push((Name::CATEGORY_COUNTS, true, Box::new(|out| write_all(out, &categories.counts))));
        sections.push((Name::CATEGORY_SETS, true, of_each(trees, words)));
        // It only tells earlier versions, which know no lists, to refuse the file.
        if trees.iter().any(|tree| Categories::has_lists(&tree.nodes)) {
            sections.push((Name::CATEGORY_LISTS, true, Box::new(|out| write_all(out, &[1u64]))));
        }
    }
    if let Some(leaves) = leaf_rows {
        sections.push((Name::LEAF_SIZES, true, Box::new(|out| write_all(out, leaves.sizes()))));
        sections.push((Name::LEAF_ROWS, true, Box::new(|out| write_all(out, leaves.rows()))));
        sections.push((Name::TARGETS, true, Box::new(|out| write_all(out, leaves.all_targets()))));
    }
    if let Some(Task::Classification(classes)) = task {
        sections.push((Name::CLASSES, true, Box::new(|out| classes.iter().try_for_each(|labels| labels.write(out)))));
    }
    if let Some(names) = feature_names {
        sections.push((Name::FEATURES, true, Box::new(|out| write_strings(out, names))));
    }
    if let Some(json) = parameters {
        sections.push((Name::PARAMS, false, Box::new(|out| out.write_all(json.as_bytes()))));
    }
    sections
}

/// A section with something of each tree, tree after tree.
fn of_each<'a>(
    trees: &'a [&'a Tree],
    write: impl Fn(&Tree, &mut dyn Write) -> io::Result<()> + 'a,
) -> WriteSection<'a> {
    Box::new(move |out| trees.iter().try_for_each(|tree| write(tree, out)))
}

/// Writes a model from the first byte to the last.
pub(super) fn write(out: &mut dyn Write, contents: &Contents<'_>) -> io::Result<()> {
    let sections = sections(contents);
    let mut entries = Vec::with_capacity(sections.len());
    for (name, required, write) in &sections {
        let mut measure = Measure::default();
        write(&mut measure)?;
        entries.push(Entry {
            name: *name,
            length: measure.length,
            checksum: measure.hasher.finalize(),
            required: *required,
        });
    }
    let front = layout::encode(&entries);
    out.write_all(&front)?;
    let mut end = front.len() as u64;
    for (entry, (_, _, write)) in entries.iter().zip(&sections) {
        out.write_all(&[0; 64][..layout::padding(end) as usize])?;
        write(out)?;
        end += layout::padding(end) + entry.length;
    }
    Ok(())
}

/// Computes length and checksum of the bytes, and drops them.
#[derive(Default)]
struct Measure {
    length: u64,
    hasher: crc32fast::Hasher,
}

impl Write for Measure {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.length += bytes.len() as u64;
        self.hasher.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

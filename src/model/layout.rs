//! The frame of a model file: its header and its table of sections. `docs/model-format.md` draws
//! both.
//!
//! The offset of a section follows from the lengths before it: each starts at the first multiple of
//! 64 after the previous one, and the file ends with the last. So a table that is accepted has no
//! overlaps, no gaps and no lengths beyond the file, and a file can be read from start to end
//! without seeking.

use crate::error::{Error, Result};

/// Like PNG's signature: a byte above 127, line ends and an end-of-file character, which show a
/// transfer as text.
pub(super) const MAGIC: [u8; 8] = *b"\x89SPW\r\n\x1a\n";
pub(super) const MAJOR: u16 = 1;
/// The latest minor version. A file is written as the first version that has all of its sections.
pub(super) const MINOR: u16 = 2;

pub(super) const HEADER_LENGTH: u64 = 64;
const ENTRY_LENGTH: u64 = 32;
/// Offset of the header's checksum, which covers the bytes before it and the table.
const CHECKSUM_AT: usize = 60;
/// Sections start at multiples of a cache line, which is more than any number needs.
const ALIGNMENT: u64 = 64;
pub(super) const MAX_SECTIONS: u32 = 256;

/// Flag of a section: a reader that does not know the section must refuse the file.
const REQUIRED: u32 = 1;

/// The name of a section: ASCII, filled up with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(pub [u8; 8]);

impl Name {
    pub const SHAPE: Self = Self(*b"shape\0\0\0");
    pub const TREES: Self = Self(*b"trees\0\0\0");
    pub const NODES: Self = Self(*b"nodes\0\0\0");
    pub const VALUES: Self = Self(*b"values\0\0");
    pub const IMPURITY: Self = Self(*b"impurity");
    pub const ROWS: Self = Self(*b"rows\0\0\0\0");
    pub const WEIGHT: Self = Self(*b"weight\0\0");
    pub const CATEGORY_COUNTS: Self = Self(*b"catcount");
    pub const CATEGORY_SETS: Self = Self(*b"catsets\0");
    pub const CATEGORY_LISTS: Self = Self(*b"catlists");
    pub const LEAF_SIZES: Self = Self(*b"leafsize");
    pub const LEAF_ROWS: Self = Self(*b"leafrows");
    pub const TARGETS: Self = Self(*b"targets\0");
    pub const CLASSES: Self = Self(*b"classes\0");
    pub const FEATURES: Self = Self(*b"features");
    pub const PARAMS: Self = Self(*b"params\0\0");
}

impl Name {
    /// The first minor version that has the section.
    fn minor_version(self) -> u16 {
        match self {
            Self::LEAF_SIZES | Self::LEAF_ROWS | Self::TARGETS => MINOR,
            Self::TREES | Self::CATEGORY_LISTS => 1,
            _ => 0,
        }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "'{}'", self.0.escape_ascii().to_string().trim_end_matches("\\x00"))
    }
}

/// An entry of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub name: Name,
    pub length: u64,
    pub checksum: u32,
    pub required: bool,
}

/// Offset of the first section, if there are `n_sections`.
fn first_offset(n_sections: u32) -> u64 {
    (HEADER_LENGTH + u64::from(n_sections) * ENTRY_LENGTH).next_multiple_of(ALIGNMENT)
}

/// Number of zeros between a section that ends here and the next.
pub(super) fn padding(end: u64) -> u64 {
    end.wrapping_neg() % ALIGNMENT
}

/// Header and table, up to the first section.
pub(super) fn encode(entries: &[Entry]) -> Vec<u8> {
    let mut table = Vec::new();
    let mut offset = first_offset(entries.len() as u32);
    let mut end = offset;
    for entry in entries {
        table.extend(entry.name.0);
        table.extend(offset.to_le_bytes());
        table.extend(entry.length.to_le_bytes());
        table.extend(entry.checksum.to_le_bytes());
        table.extend(u32::from(entry.required).to_le_bytes());
        end = offset + entry.length;
        offset = end + padding(end);
    }
    let mut bytes = MAGIC.to_vec();
    bytes.extend(MAJOR.to_le_bytes());
    let minor = entries.iter().map(|entry| entry.name.minor_version()).max().unwrap_or(0);
    bytes.extend(minor.to_le_bytes());
    bytes.extend((entries.len() as u32).to_le_bytes());
    bytes.extend(end.to_le_bytes());
    bytes.resize(CHECKSUM_AT, 0);
    bytes.extend(checksum(&bytes, &table).to_le_bytes());
    bytes.extend(table);
    bytes.resize(first_offset(entries.len() as u32) as usize, 0);
    bytes
}

/// The checksum of header and table.
pub(super) fn checksum(header: &[u8], table: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header[..CHECKSUM_AT]);
    hasher.update(table);
    hasher.finalize()
}

/// The fields of the header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    minor: u16,
    n_sections: u32,
    checksum: u32,
}

impl Header {
    /// Checks the header of a file of this length.
    pub fn decode(bytes: &[u8; HEADER_LENGTH as usize], file_length: u64) -> Result<Self> {
        let mut fields = Fields(bytes);
        if fields.take() != MAGIC {
            return Err(Error::model("this is no splitwood model: it does not start with the signature of one"));
        }
        let (major, minor) = (u16::from_le_bytes(fields.take()), u16::from_le_bytes(fields.take()));
        if major != MAJOR {
            return Err(Error::model(format!(
                "it is written in format {major}.{minor}, and this version of splitwood reads {MAJOR}.x; \
                 use the version that wrote it, or a newer one"
            )));
        }
        let n_sections = u32::from_le_bytes(fields.take());
        let length = u64::from_le_bytes(fields.take());
        if length != file_length {
            let what = if length > file_length { "truncated" } else { "longer than it should be" };
            return Err(Error::model(format!("it is {what}: {file_length} bytes instead of {length}")));
        }
        let zeros: [u8; 36] = fields.take();
        if n_sections > MAX_SECTIONS || first_offset(n_sections) > file_length || zeros != [0; 36] {
            return Err(Error::model(format!("its header is damaged ({n_sections} sections in {file_length} bytes)")));
        }
        Ok(Self { minor, n_sections, checksum: u32::from_le_bytes(fields.take()) })
    }

    /// Bytes from the header to the first section.
    pub fn table_length(&self) -> usize {
        (first_offset(self.n_sections) - HEADER_LENGTH) as usize
    }

    /// The table's entries. Offsets must be as computed from the lengths, and the last section must
    /// end with the file.
    pub fn entries(&self, header: &[u8], table: &[u8], file_length: u64) -> Result<Vec<Entry>> {
        let (entries, zeros) = table.split_at(self.n_sections as usize * ENTRY_LENGTH as usize);
        if checksum(header, entries) != self.checksum || zeros.iter().any(|&byte| byte != 0) {
            return Err(Error::model("its header is damaged: the checksum does not match"));
        }
        let mut expected = first_offset(self.n_sections);
        let mut end = expected;
        let mut decoded: Vec<Entry> = Vec::with_capacity(self.n_sections as usize);
        for entry in entries.chunks_exact(ENTRY_LENGTH as usize) {
            let mut fields = Fields(entry);
            let name = Name(fields.take());
            let (offset, length) = (u64::from_le_bytes(fields.take()), u64::from_le_bytes(fields.take()));
            let (checksum, flags) = (u32::from_le_bytes(fields.take()), u32::from_le_bytes(fields.take()));
            if offset != expected || offset > file_length || length > file_length - offset {
                return Err(Error::model(format!("section {name} has a wrong offset, or ends beyond the file")));
            }
            if flags & !REQUIRED != 0 || decoded.iter().any(|entry| entry.name == name) {
                return Err(Error::model(format!("section {name} occurs twice, or has unknown flags")));
            }
            // Neither sum is beyond the length of the file, except for the padding.
            end = offset + length;
            expected = end.saturating_add(padding(end));
            decoded.push(Entry { name, length, checksum, required: flags & REQUIRED != 0 });
        }
        if end != file_length {
            return Err(Error::model(format!("its sections end at byte {end} of {file_length}")));
        }
        Ok(decoded)
    }

    /// The version of the file's format.
    pub fn version(&self) -> String {
        format!("{MAJOR}.{}", self.minor)
    }
}

/// Reads fields of fixed lengths, one after another.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) =
            self.0.split_first_chunk().expect("the fields of a header or an entry add up to its length");
        self.0 = rest;
        *field
    }
}

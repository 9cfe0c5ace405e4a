//! Numbers and strings as bytes, little-endian on every machine. They are converted in pieces of 64
//! KiB, so that large arrays need no second copy.

use std::io::{Read, Write};

use crate::error::{Error, Result};
use crate::tree::ArenaNode;

/// Bytes that are converted at a time.
const PIECE: usize = 1 << 16;

/// A value of a fixed number of bytes.
pub(super) trait Fixed: Sized + Copy {
    type Bytes: AsRef<[u8]> + for<'a> TryFrom<&'a [u8]>;
    const LENGTH: usize;
    fn encode(self) -> Self::Bytes;
    /// `None` if no value has these bytes.
    fn decode(bytes: Self::Bytes) -> Option<Self>;
}

macro_rules! fixed {
    ($($number:ty),*) => { $(
        impl Fixed for $number {
            type Bytes = [u8; size_of::<$number>()];
            const LENGTH: usize = size_of::<$number>();

            fn encode(self) -> Self::Bytes {
                self.to_le_bytes()
            }

            fn decode(bytes: Self::Bytes) -> Option<Self> {
                Some(Self::from_le_bytes(bytes))
            }
        }
    )* };
}
fixed!(u8, u32, u64, i64, f64);

impl Fixed for bool {
    type Bytes = [u8; 1];
    const LENGTH: usize = 1;

    fn encode(self) -> Self::Bytes {
        [u8::from(self)]
    }

    fn decode([byte]: Self::Bytes) -> Option<Self> {
        (byte <= 1).then_some(byte == 1)
    }
}

impl Fixed for ArenaNode {
    type Bytes = [u8; 16];
    const LENGTH: usize = 16;

    fn encode(self) -> Self::Bytes {
        self.to_bytes()
    }

    fn decode(bytes: Self::Bytes) -> Option<Self> {
        Self::from_bytes(bytes)
    }
}

pub(super) fn write_all<T: Fixed>(out: &mut dyn Write, entries: &[T]) -> std::io::Result<()> {
    let mut piece = Vec::with_capacity(PIECE.min(entries.len() * T::LENGTH));
    for part in entries.chunks(PIECE / T::LENGTH) {
        piece.clear();
        for entry in part {
            piece.extend_from_slice(entry.encode().as_ref());
        }
        out.write_all(&piece)?;
    }
    Ok(())
}

/// Writes the end offset of each string, then the text of all of them.
pub(super) fn write_strings(out: &mut dyn Write, strings: &[String]) -> std::io::Result<()> {
    let mut end = 0;
    for string in strings {
        end += string.len() as u64;
        out.write_all(&end.to_le_bytes())?;
    }
    strings.iter().try_for_each(|string| out.write_all(string.as_bytes()))
}

/// Writes zeros up to the next multiple of 8 after `after` bytes.
pub(super) fn write_zeros(out: &mut dyn Write, after: u64) -> std::io::Result<()> {
    out.write_all(&[0; 8][..(after.wrapping_neg() % 8) as usize])
}

/// A part of the file with a known number of bytes.
pub(super) trait Bounded: Read {
    /// Bytes that are still to be read.
    fn left(&self) -> u64;

    /// The next `n` entries. Memory is allocated only if they are in the file.
    fn numbers<T: Fixed>(&mut self, n: u64) -> Result<Vec<T>> {
        let (mut entries, mut left) = self.reserve(n, T::LENGTH)?;
        let mut piece = vec![0; PIECE.min(left * T::LENGTH)];
        while left > 0 {
            let part = left.min(PIECE / T::LENGTH);
            let bytes = &mut piece[..part * T::LENGTH];
            self.read_exact(bytes).map_err(|error| read_error(&error))?;
            for bytes in bytes.chunks_exact(T::LENGTH) {
                let decoded = T::Bytes::try_from(bytes).ok().and_then(T::decode);
                entries.push(decoded.ok_or_else(|| Error::model("an entry is not a valid value"))?);
            }
            left -= part;
        }
        Ok(entries)
    }

    /// The next number.
    fn number<T: Fixed>(&mut self) -> Result<T> {
        Ok(self.numbers(1)?[0])
    }

    /// The next `length` bytes as text.
    fn text(&mut self, length: u64) -> Result<String> {
        let (mut bytes, length) = self.reserve(length, 1)?;
        bytes.resize(length, 0);
        self.read_exact(&mut bytes).map_err(|error| read_error(&error))?;
        String::from_utf8(bytes).map_err(|_| Error::model("a text is not UTF-8"))
    }

    /// Reads the zeros up to the next multiple of 8 after `after` bytes.
    fn zeros(&mut self, after: u64) -> Result<()> {
        let zeros: Vec<u8> = self.numbers(after.wrapping_neg() % 8)?;
        if zeros.iter().any(|&byte| byte != 0) {
            Err(Error::model("the padding between two lists is not zero"))
        } else {
            Ok(())
        }
    }

    /// The next `n` strings.
    fn strings(&mut self, n: u64) -> Result<Vec<String>> {
        let ends: Vec<u64> = self.numbers(n)?;
        let text = self.text(ends.last().copied().unwrap_or(0))?;
        let mut start = 0;
        let mut strings = Vec::new();
        for end in ends {
            // `get` is `None` for ends that go back, exceed the text or cut a character.
            let string = text.get(start..end as usize).ok_or_else(|| Error::model("a string has an invalid end"))?;
            strings.push(string.to_owned());
            start = end as usize;
        }
        Ok(strings)
    }

    /// Memory for the next `n` entries of `length` bytes each, if they are in the file.
    fn reserve<T>(&self, n: u64, length: usize) -> Result<(Vec<T>, usize)> {
        if n.checked_mul(length as u64).is_none_or(|bytes| bytes > self.left()) {
            let left = self.left();
            return Err(Error::model(format!("{n} entries don't fit in the last {left} bytes of a section")));
        }
        let no_memory = || Error::model(format!("no memory for {n} entries"));
        let n = usize::try_from(n).map_err(|_| no_memory())?;
        let mut entries = Vec::new();
        entries.try_reserve_exact(n).map_err(|_| no_memory())?;
        Ok((entries, n))
    }
}

/// The error of a source that ended early or can't be read.
pub(super) fn read_error(error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::model("it ended while it was being read"),
        _ => Error::file(std::path::Path::new(""), error),
    }
}

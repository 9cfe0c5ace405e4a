//! The labels of classes, in the types that Python's estimators have.

use std::fmt;
use std::io::Write;

use super::codec::{self, Bounded};
use crate::error::{Error, Result};

/// The labels of an output's classes, in the order of their codes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Labels {
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Finite numbers.
    Floats(Vec<f64>),
    /// False, true or both.
    Bools(Vec<bool>),
    /// Names.
    Strings(Vec<String>),
}

/// The label of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Label<'a> {
    /// A whole number.
    Integer(i64),
    /// A finite number.
    Float(f64),
    /// False or true.
    Bool(bool),
    /// A name.
    String(&'a str),
}

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(label) => label.fmt(f),
            Self::Float(label) => label.fmt(f),
            Self::Bool(label) => label.fmt(f),
            Self::String(label) => label.fmt(f),
        }
    }
}

impl Labels {
    /// Number of classes.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(labels) => labels.len(),
            Self::Floats(labels) => labels.len(),
            Self::Bools(labels) => labels.len(),
            Self::Strings(labels) => labels.len(),
        }
    }

    /// Whether there are no classes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The label of the class with this code; `None` if there is no such class.
    #[must_use]
    pub fn get(&self, code: usize) -> Option<Label<'_>> {
        match self {
            Self::Integers(labels) => labels.get(code).map(|&label| Label::Integer(label)),
            Self::Floats(labels) => labels.get(code).map(|&label| Label::Float(label)),
            Self::Bools(labels) => labels.get(code).map(|&label| Label::Bool(label)),
            Self::Strings(labels) => labels.get(code).map(|label| Label::String(label)),
        }
    }

    /// Refuses labels that no fit can produce.
    pub(super) fn check(&self) -> Result<()> {
        match self {
            _ if self.is_empty() => Err(Error::argument("classes", "needs at least one label")),
            Self::Floats(labels) if labels.iter().any(|label| !label.is_finite()) => {
                Err(Error::argument("classes", "labels must be finite"))
            }
            _ => Ok(()),
        }
    }

    const INTEGERS: u32 = 1;
    const FLOATS: u32 = 2;
    const BOOLS: u32 = 3;
    const STRINGS: u32 = 4;

    /// Writes the list, padded to a multiple of 8 bytes.
    pub(super) fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let kind = match self {
            Self::Integers(_) => Self::INTEGERS,
            Self::Floats(_) => Self::FLOATS,
            Self::Bools(_) => Self::BOOLS,
            Self::Strings(_) => Self::STRINGS,
        };
        codec::write_all(out, &[kind, 0])?;
        codec::write_all(out, &[self.len() as u64])?;
        match self {
            Self::Integers(labels) => codec::write_all(out, labels),
            Self::Floats(labels) => codec::write_all(out, labels),
            Self::Bools(labels) => codec::write_all(out, labels),
            Self::Strings(labels) => codec::write_strings(out, labels),
        }?;
        codec::write_zeros(out, self.unpadded_length())
    }

    /// The number of bytes of the part whose length need not be a multiple of 8.
    fn unpadded_length(&self) -> u64 {
        match self {
            Self::Integers(_) | Self::Floats(_) => 0,
            Self::Bools(labels) => labels.len() as u64,
            Self::Strings(labels) => labels.iter().map(|label| label.len() as u64).sum(),
        }
    }

    pub(super) fn read(source: &mut impl Bounded) -> Result<Self> {
        let [kind, reserved] = [source.number::<u32>()?, source.number()?];
        let n = source.number()?;
        let labels = match (kind, reserved) {
            (Self::INTEGERS, 0) => source.numbers(n).map(Self::Integers),
            (Self::FLOATS, 0) => source.numbers(n).map(Self::Floats),
            (Self::BOOLS, 0) => source.numbers(n).map(Self::Bools),
            (Self::STRINGS, 0) => source.strings(n).map(Self::Strings),
            _ => Err(Error::model(format!("classes: labels of the unknown kind {kind}"))),
        }?;
        source.zeros(labels.unpadded_length())?;
        Ok(labels)
    }
}

//! Everything the core can refuse.

use std::fmt;

/// Why a fit or a prediction was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An argument is out of its domain: which one, and what is wrong with it.
    Argument {
        /// Name of the argument, as the caller spelled it.
        name: &'static str,
        /// What was wrong and what would be right.
        problem: String,
    },
    /// The caller asked the work to stop.
    Interrupted,
    /// The work needs more memory than there is.
    Memory {
        /// About how much it needs.
        bytes: usize,
    },
}

impl Error {
    pub(crate) fn argument(name: &'static str, problem: impl Into<String>) -> Self {
        Self::Argument { name, problem: problem.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument { name, problem } => write!(f, "{name}: {problem}"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Memory { bytes } => write!(f, "cannot allocate the {bytes} bytes that this needs"),
        }
    }
}

impl std::error::Error for Error {}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

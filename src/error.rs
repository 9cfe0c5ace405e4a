//! All errors of the core.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a fit, a prediction or a file was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An argument is invalid.
    Argument {
        /// Name of the argument, as the caller spells it.
        name: &'static str,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// The bytes are no model, are damaged, or need a newer version.
    Model {
        /// What was found.
        problem: String,
    },
    /// The operating system could not read or write a file.
    File {
        /// The file.
        path: PathBuf,
        /// The system's error code, if it has one.
        code: Option<i32>,
        /// The system's message.
        problem: String,
    },
    /// The caller interrupted the work.
    Interrupted,
    /// The work needs more memory than is available.
    Memory {
        /// Approximate number of bytes that it needs.
        bytes: usize,
    },
}

impl Error {
    pub(crate) fn argument(name: &'static str, problem: impl Into<String>) -> Self {
        Self::Argument { name, problem: problem.into() }
    }

    pub(crate) fn model(problem: impl Into<String>) -> Self {
        Self::Model { problem: problem.into() }
    }

    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        let (code, mut problem) = (error.raw_os_error(), error.to_string());
        if let Some(end) = problem.find(" (os error ") {
            problem.truncate(end);
        }
        Self::File { path: path.to_owned(), code, problem }
    }

    /// Adds the path of the file to the error.
    pub(crate) fn in_file(self, path: &Path) -> Self {
        match self {
            Self::Model { problem } => Self::model(format!("{}: {problem}", path.display())),
            Self::File { code, problem, .. } => Self::File { path: path.to_owned(), code, problem },
            other => other,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument { name, problem } => write!(f, "{name}: {problem}"),
            Self::Model { problem } => write!(f, "model: {problem}"),
            Self::File { path, problem, .. } => write!(f, "{}: {problem}", path.display()),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Memory { bytes } => write!(f, "cannot allocate the {bytes} bytes that this needs"),
        }
    }
}

impl std::error::Error for Error {}

/// Result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

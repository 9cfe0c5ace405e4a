//! Errors and panics of the core → Python exceptions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::threads::Team;

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        match error {
            Error::Argument { .. } | Error::Model { .. } => PyValueError::new_err(error.to_string()),
            // Python chooses the subclass, such as FileNotFoundError, by the code.
            Error::File { path, code: Some(code), problem } => {
                PyOSError::new_err((code, problem, path.into_os_string()))
            }
            Error::File { .. } => PyOSError::new_err(error.to_string()),
            Error::Interrupted => PyKeyboardInterrupt::new_err(()),
            Error::Memory { .. } => PyMemoryError::new_err(error.to_string()),
        }
    }
}

/// Runs core work without the interpreter. The work gets a function that returns false once it
/// should stop; that function also checks for Ctrl-C. A panic becomes an exception that `except
/// Exception` catches.
pub(super) fn without_interpreter<R: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<R> + Send,
) -> PyResult<R> {
    let mut signal = None;
    let outcome = py.detach(|| {
        let mut go_on = || {
            // The method's lifetime is not general enough.
            #[allow(clippy::redundant_closure_for_method_calls)]
            let checked = Python::attach(|py| py.check_signals());
            signal = checked.err();
            signal.is_none()
        };
        catch_unwind(AssertUnwindSafe(|| work(&mut go_on)))
    });
    match (signal, outcome) {
        (Some(signal), _) => Err(signal),
        (None, Ok(result)) => Ok(result?),
        (None, Err(panic)) => {
            let message = panic.downcast_ref::<&str>().map(ToString::to_string);
            let message = message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            Err(PyRuntimeError::new_err(format!("splitwood failed, which is a bug; please report it: {message}")))
        }
    }
}

/// Panic in a thread of the core, to test what users see of a bug.
#[pyfunction]
pub(super) fn _panic(py: Python<'_>) -> PyResult<()> {
    without_interpreter(py, |go_on| {
        let team = Team::new(None, 1, usize::MAX)?;
        team.supervise(|| panic!("on purpose"), |_| go_on());
        Ok(())
    })
}

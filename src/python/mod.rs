//! The Python module `splitwood._core`. This file only registers its functions and classes;
//! `python/splitwood/_core.pyi` has their types.

mod arrays;
mod cluster;
mod error;
mod fit;
mod forest;
mod median;
mod model;
mod settings;
mod tree;

use pyo3::prelude::*;

// Every class is `Sync`, or is borrowed by one thread at a time: no global lock is needed.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::cluster::{PyColumnWorker, PyDriver};
    #[pymodule_export]
    use super::error::_panic;
    #[pymodule_export]
    use super::fit::{available_threads, fit_classifier, fit_regressor, set_values_of_leaves};
    #[pymodule_export]
    use super::forest::{
        PyForest, PyForestOrder, PyLeafTargets, bag_counts, fit_forest_classifier, fit_forest_regressor,
    };
    #[pymodule_export]
    use super::median::{PyRunningMedian, grouped_quantiles, running_median};
    #[pymodule_export]
    use super::model::{check_leaf_rows, read_model, write_model};
    #[pymodule_export]
    use super::tree::PyTree;

    #[allow(non_upper_case_globals)] // The name that Python uses.
    #[pymodule_export]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

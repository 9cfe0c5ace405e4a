//! Exact decision trees and forests: presorted, parallel, and right where floating point makes
//! others wrong.
//!
//! Features are sorted once per fit (`presort`). For each node, every feature offers its best cut
//! (`scan`, `criterion`), the best of them splits the node (`search`, `split`), and the columns are
//! partitioned in their order (`partition`). Large nodes are grown breadth-first, and the subtrees
//! below them depth-first (`grow`). The result is an arena of nodes (`tree`), which predicts, is
//! pruned and is saved. ARCHITECTURE.md in the repository has the map.
//!
//! # Example
//!
//! ```
//! use splitwood::{Loss, Matrix, Params, Target, fit};
//!
//! let x = [0.0, 1.0, 2.0, 3.0];
//! let y = [1.0, 1.0, 5.0, 7.0];
//! let x = Matrix::from_rows(&x, 4, 1)?;
//! let params = Params { max_depth: Some(1), ..Params::default() };
//! let tree = fit(&x, Target::Values(&y), None, Loss::SquaredError, &params)?;
//! assert_eq!(tree.threshold(0), Some(1.5));
//! assert_eq!(tree.predict(&x, None)?, [1.0, 1.0, 6.0, 6.0]);
//! # Ok::<(), splitwood::Error>(())
//! ```

// Unit tests share definitions with the integration tests, which name the crate.
#[cfg(test)]
extern crate self as splitwood;

mod best_first;
mod cluster;
mod columns;
mod contribution;
mod criterion;
mod data;
mod error;
mod fit;
mod forest;
mod grow;
mod leaf_value;
mod median;
mod memory;
mod model;
#[cfg(test)]
mod naive;
mod params;
mod partition;
mod predict;
mod presort;
mod prune;
#[cfg(feature = "python")]
mod python;
mod scan;
mod search;
mod shared_order;
mod simd;
mod split;
mod threads;
mod tree;
mod wire;

pub use cluster::{Cells, ColumnWorker, Driver};
pub use data::{Cell, Matrix, SparseColumns, Target};
pub use error::{Error, Result};
pub use fit::{fit, fit_sparse, fit_sparse_while, fit_while};
pub use forest::{
    Bags, FittedForest, Forest, ForestOrder, ForestParams, ForestProgress, Interpolation, LeafRows, LeafTargets,
    OutOfBag, draw_bag, fit_forest, fit_forest_while, fit_sparse_forest, fit_sparse_forest_while, sort_forest_while,
};
pub use leaf_value::LeafValue;
pub use median::{RunningMedian, RunningMedians, running_median};
pub use model::{ForestModel, Label, Labels, Model, ModelOf, Predictor, Task};
pub use params::{ColumnOrders, ColumnStorage, Loss, MaxFeatures, MedianMethod, Params, Size, Splitter, WholeWeights};
pub use prune::PruningPath;
pub use threads::available_threads;
pub use tree::Tree;

/// The kernels of medians and quantiles, for `benches/median.rs`.
#[doc(hidden)]
pub mod quantile_kernels {
    pub use crate::criterion::quantile::{
        heap_sweep, median_sweep, pinball_sweep, rank_bitmap, screen, screened_order, weighted_sweep,
    };
    pub use crate::median::Level;
}

/// The examples of README.md, as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of docs/rust.md.
#[cfg(doctest)]
#[doc = include_str!("../docs/rust.md")]
struct RustGuide;

//! The integration tests in one binary, so that the generic kernels are compiled for them once.
//!
//! `cargo test --test all medians::` runs those of `medians.rs`. The tests of `memory.rs` are a
//! binary of their own: they count the allocations of the whole process.

mod common;

mod brute_force;
mod choices;
mod cluster;
mod extremes;
mod forest_example;
mod fuzz;
mod invariance;
mod medians;
mod model;
mod outputs;
mod prediction;
mod refusals;
mod serve;

//! Medians and quantiles of sets that grow and shrink.
//!
//! For trees: what every cut of a node gains, from the rows' ranks among the node's targets. [`sweep`](sweep::sweep) without weights,
//! [`quantile`] for other levels than the median, [`weighted`] for both with weights; [`Center`] is what a leaf predicts.

mod center;
mod level;
pub mod quantile;
mod ranks;
mod sum;
pub mod sweep;
#[cfg(test)]
mod tests;
pub mod weighted;

pub use center::Center;
pub use level::Level;
pub use ranks::Bitmap;

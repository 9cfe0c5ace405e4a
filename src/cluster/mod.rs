//! A fit on several machines: the same tree as [`fit`](crate::fit), byte for byte.
//!
//! Columns are distributed: a [`ColumnWorker`] has all rows of some features, presorted, and all
//! targets. A [`Driver`] decides the splits and assembles the tree; it has neither rows nor
//! targets. Whoever runs a fit passes messages between them: threads in the tests, the actors of a
//! cluster in Python. Messages are bytes (`messages.rs`).
//!
//! ```text
//! each worker   root                  describe the root
//! driver        begin
//! until the driver is done
//!     each worker   search            partition the columns, search the open nodes
//!     driver        decide            the best cut of all features (`search.rs`)
//!     while the driver has a hand-over
//!         each worker   extract       cells and orders of the small nodes, a parcel per worker
//!         each worker   finish        grow its small nodes by `grow/subtree.rs`, from all parcels
//!         driver        finished
//!     winners       divide            describe the children, note the side of each row: n bits
//!     driver        divided
//!     each worker   apply             the sides that the winners noted
//! driver        tree
//! ```
//!
//! Each level takes three rounds of messages. Per level, each worker receives one bit per row of a
//! divided node, and in the course of the fit the cells of its small nodes once, with 2 bytes per
//! cell for their order. Candidates and children are a few hundred bytes per node.
//!
//! A local fit has the same search and the same small nodes, but not these steps: it divides nodes
//! in all columns at once, without messages, sides of other workers and a node number per row.
//!
//! Why the bytes are the same: sums that decide are integers, and reported ones are added up in the
//! order of the winner's column, by its owner; the driver decides over all features by the rule of
//! `search.rs`; units, rules and missing values are those of the whole table; and small nodes,
//! which are those of the local fit, are grown by its code. `tests/cluster.rs` compares.

mod column_worker;
mod divide;
mod driver;
mod handover;
mod level;
mod messages;
mod side_bits;

pub use self::column_worker::{Cells, ColumnWorker};
pub use self::driver::Driver;

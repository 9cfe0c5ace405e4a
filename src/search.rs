//! One node, all features → its split.
//!
//! Features are scanned in any order, by any number of threads, and share the highest gain found so far so that hopeless
//! scans end early. What comes out depends on none of that: see `split.rs`.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::criterion::Criterion;
use crate::split::{Cut, Found, Split, Tournament};

/// The highest gain that any thread has found for a node.
#[derive(Default)]
pub(crate) struct Incumbent(AtomicU64);

impl Incumbent {
    pub fn gain(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    pub fn raise(&self, gain: f64) {
        // Floats that are not negative order like their bits.
        self.0.fetch_max(gain.max(0.0).to_bits(), Ordering::Relaxed);
    }
}

/// Picks the node's split from what its features found.
pub(crate) struct Judge {
    contest: Tournament<(usize, Cut)>,
}

impl Judge {
    pub fn new() -> Self {
        Self { contest: Tournament::new() }
    }

    /// The split among the findings, which come in ascending order of their features.
    pub fn decide<C: Criterion>(
        &mut self,
        criterion: &C,
        node: &C::Node,
        findings: impl Iterator<Item = (usize, Found)>,
    ) -> Option<Split> {
        self.contest.restart(criterion.noise(node), 0.0);
        for (feature, found) in findings {
            self.contest.enter(found.top, (feature, found.cut));
        }
        let (gain, (feature, cut)) = self.contest.winner()?;
        Some(Split { feature, gain, cut })
    }
}

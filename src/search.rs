//! One node, all features → its split.
//!
//! Features are scanned in any order, by any number of threads, and share the highest gain found so far so that hopeless
//! scans end early. What comes out depends on none of that: see `split.rs`.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::split::{Cut, Found, Split, near};

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

/// The split among what the features have found, in ascending order of the features: the first cut whose gain ties with the
/// highest one.
///
/// A feature names the first cut that ties with its own highest gain. In a chain of gains, each near the next, that cut may
/// be too far below the highest gain of all; then the feature is searched again, for the first cut that gains `least`.
pub(crate) fn decide(
    findings: impl Iterator<Item = (usize, Found)> + Clone,
    noise: f64,
    search_again: impl FnOnce(usize, f64) -> Option<Cut>,
) -> Option<Split> {
    let gain = findings.clone().map(|(_, found)| found.top).reduce(f64::max)?;
    let least = near(gain, noise);
    let (feature, found) = findings.into_iter().find(|(_, found)| found.top >= least)?;
    let cut = if found.gain >= least { found.cut } else { search_again(feature, least)? };
    Some(Split { feature, gain, cut })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(top: f64, gain: f64) -> Found {
        Found { top, gain, cut: Cut { n_left: 1, missing_left: false } }
    }

    #[test]
    fn the_first_feature_that_ties_wins() {
        let findings = [found(1.0, 1.0), found(2.0, 2.0), found(2.0 + 1e-12, 2.0)];
        let split = decide(findings.into_iter().enumerate(), 0.0, |_, _| None).unwrap();
        assert_eq!((split.feature, split.gain, split.cut.n_left), (1, 2.0 + 1e-12, 1));
        assert!(decide(std::iter::empty(), 0.0, |_, _| None).is_none());
    }

    #[test]
    fn in_a_chain_the_cut_is_looked_for_again() {
        let step = 6e-12;
        let findings = [found(1.0 + step, 1.0), found(1.0 + 2.0 * step, 1.0 + step)];
        let again = |feature, least: f64| {
            assert!(feature == 0 && least > 1.0 && least <= 1.0 + step);
            Some(Cut { n_left: 7, missing_left: false })
        };
        let split = decide(findings.into_iter().enumerate(), 0.0, again).unwrap();
        assert_eq!((split.feature, split.cut.n_left), (0, 7));
    }
}

//! The split of a node from the best cuts of its features.
//!
//! Features are scanned in any order, by any number of threads. Scans share the highest gain found
//! so far, the incumbent, and skip cuts that can't tie with it. The decision depends on neither:
//!
//! ```text
//! feature   0      1      2              3
//! highest   1.0    3.0    3.0 + 1e-12    (skipped: below the incumbent)
//!                  └ wins: the lowest feature that ties with the highest gain of all
//! ```
//!
//! The tie rule is in `split.rs`.

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
        // Floats that are not negative have the same order as their bits.
        self.0.fetch_max(gain.max(0.0).to_bits(), Ordering::Relaxed);
    }
}

/// Chooses among the features' best cuts, which come in ascending order of the features: the first
/// cut whose gain ties with the highest gain of all.
///
/// A feature reports the first cut that ties with its own highest gain. If that cut doesn't tie
/// with the highest gain of all, `search_again` finds the feature's first cut with at least the
/// gain that does.
pub(crate) fn decide(
    findings: impl Iterator<Item = (usize, Found)> + Clone,
    noise: f64,
    search_again: impl FnOnce(usize, f64) -> Option<Cut>,
) -> Option<Split> {
    let Choice { feature, gain, least, cut } = choose(findings, noise)?;
    let cut = cut.or_else(|| search_again(feature, least))?;
    Some(Split { feature, gain, cut })
}

/// The feature that wins, before its cut is certain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Choice {
    pub feature: usize,
    /// The highest gain of all features.
    pub gain: f64,
    /// The least gain that ties with it.
    pub least: f64,
    /// `None`: the cut is the feature's first one with at least the gain `least`, which must be
    /// searched for again.
    pub cut: Option<Cut>,
}

/// The first half of [`decide`], for callers that can't search again here and now.
pub(crate) fn choose(findings: impl Iterator<Item = (usize, Found)> + Clone, noise: f64) -> Option<Choice> {
    let gain = findings.clone().map(|(_, found)| found.top).reduce(f64::max)?;
    let least = near(gain, noise);
    let (feature, found) = findings.into_iter().find(|(_, found)| found.top >= least)?;
    Some(Choice { feature, gain, least, cut: (found.gain >= least).then_some(found.cut) })
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

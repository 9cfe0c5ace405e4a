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

use crate::split::{Aim, Cut, Found, Split, near};

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

/// Chooses among the best cuts of the evaluated features, which come in ascending order: the first
/// cut whose gain ties with the highest gain of all. A feature that was skipped, or has no allowed
/// cut, has none.
///
/// A feature reports the first cut that ties with its own highest gain. If that cut doesn't tie
/// with the highest gain of all, `search_again` finds the feature's first cut with at least the
/// gain that does. If no cut of the node gains more than `nothing`, the feature with the most cuts
/// wins, with the cut in the middle of them. All features take part then, because it depends on the
/// threads which of them were skipped.
pub(crate) fn decide(
    findings: impl Iterator<Item = (usize, Option<Found>)> + Clone,
    noise: f64,
    nothing: Option<f64>,
    mut search_again: impl FnMut(usize, Aim) -> Option<Found>,
) -> Option<Split> {
    let found = findings.clone().filter_map(|(feature, found)| Some((feature, found?)));
    if let Some(gain) = gains_nothing(found.clone(), nothing) {
        let middles = findings.filter_map(|(feature, _)| Some((feature, search_again(feature, Aim::Middle)?)));
        return most_cuts(middles).map(|(feature, cut)| Split { feature, gain, cut });
    }
    let Choice { feature, gain, least, cut } = choose(found, noise)?;
    let again = || search_again(feature, Aim::FirstFrom(least)).map(|found| found.cut);
    Some(Split { feature, gain, cut: cut.or_else(again)? })
}

/// The highest gain of all features, if that is nothing.
pub(crate) fn gains_nothing(found: impl Iterator<Item = (usize, Found)>, nothing: Option<f64>) -> Option<f64> {
    let gain = found.map(|(_, found)| found.top).reduce(f64::max)?;
    (near(gain, nothing?) <= 0.0).then_some(gain)
}

/// The first feature with the most cuts, and its cut. `middles` have the cut in the middle of each
/// feature, and the number of its cuts as their gain.
pub(crate) fn most_cuts(middles: impl Iterator<Item = (usize, Found)>) -> Option<(usize, Cut)> {
    let most = middles.reduce(|best, next| if next.1.top > best.1.top { next } else { best });
    most.map(|(feature, middle)| (feature, middle.cut))
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
        let split = decide(findings.into_iter().map(Some).enumerate(), 0.0, None, |_, _| None).unwrap();
        assert_eq!((split.feature, split.gain, split.cut.n_left), (1, 2.0 + 1e-12, 1));
        assert!(decide(std::iter::empty(), 0.0, None, |_, _| None).is_none());
    }

    #[test]
    fn in_a_chain_the_cut_is_looked_for_again() {
        let step = 6e-12;
        let findings = [found(1.0 + step, 1.0), found(1.0 + 2.0 * step, 1.0 + step)];
        let again = |feature, aim| {
            let Aim::FirstFrom(least) = aim else { panic!("{aim:?}") };
            assert!(feature == 0 && least > 1.0 && least <= 1.0 + step);
            Some(Found { cut: Cut { n_left: 7, missing_left: false }, ..found(1.0, 1.0) })
        };
        let split = decide(findings.into_iter().map(Some).enumerate(), 0.0, None, again).unwrap();
        assert_eq!((split.feature, split.cut.n_left), (0, 7));
    }

    #[test]
    fn without_any_gain_the_feature_with_the_most_cuts_wins() {
        let findings = [found(0.0, 0.0), found(1.0, 0.0), found(0.0, 0.0), found(0.0, 0.0)].map(Some);
        let again = |feature: usize, aim| {
            assert_eq!(aim, Aim::Middle);
            let n_cuts = [3.0, 6.0, 5.0, 6.0][feature];
            Some(Found { cut: Cut { n_left: 4, missing_left: false }, ..found(n_cuts, n_cuts) })
        };
        // With this noise, a gain of 1 is none.
        let split = decide(findings.into_iter().enumerate(), 2.0, Some(2.0), again).unwrap();
        assert_eq!((split.feature, split.gain, split.cut.n_left), (1, 1.0, 4));
        // Features that were skipped take part.
        let skipped = [findings[0], findings[1], None, None];
        let split = decide(skipped.into_iter().enumerate(), 2.0, Some(2.0), again).unwrap();
        assert_eq!((split.feature, split.gain, split.cut.n_left), (1, 1.0, 4));
        let first = decide(findings.into_iter().enumerate(), 2.0, None, again).unwrap();
        assert_eq!((first.feature, first.cut.n_left), (0, 1));
    }
}

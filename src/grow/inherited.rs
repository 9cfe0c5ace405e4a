//! What a node inherits from its ancestors: the seed of its random choices, and the range that
//! monotonic constraints leave for its values. Plain fits carry both along and use neither.

use super::monotonic::ValueRange;
use super::random::Seed;
use crate::criterion::{Criterion, ValueOrder};
use crate::params::Choices;

#[derive(Clone, Copy)]
pub(crate) struct Inherited {
    pub(super) seed: Seed,
    value_range: ValueRange,
}

impl Inherited {
    pub fn of_root(choices: Option<&Choices>) -> Self {
        Self { seed: Seed::new(choices.map_or(0, |choices| choices.seed)), value_range: ValueRange::default() }
    }

    /// What the children of a split on this feature inherit. `values` are their values before they
    /// are clamped.
    pub fn of_children(
        self,
        choices: Option<&Choices>,
        feature: usize,
        values: impl FnOnce() -> [f64; 2],
    ) -> [Self; 2] {
        let Some(choices) = choices else { return [self; 2] };
        let ranges = match choices.sign(feature) {
            0 => [self.value_range; 2],
            sign => self.value_range.of_children(sign, values()),
        };
        [0, 1].map(|side| Self { seed: self.seed.child(side), value_range: ranges[side as usize] })
    }

    /// What cuts on this feature must keep.
    pub fn value_order(self, choices: Option<&Choices>, feature: usize) -> Option<ValueOrder> {
        self.value_range.value_order(choices?.sign(feature))
    }

    /// Clamps what a node predicts to its range.
    pub fn clamp(self, values: &mut [f64]) {
        self.value_range.clamp(values);
    }
}

/// The value that monotonic constraints apply to: the number, or the share of the second of two
/// classes.
pub(super) fn constrained_value<C: Criterion>(criterion: &C, node: &C::NodeStats) -> f64 {
    let mut values = Vec::new();
    criterion.write_value(node, &mut values);
    values[values.len() - 1]
}

//! The order of a tree's features. Ties between features go to the first one. In a forest each tree
//! has its own order of features, so that no feature is favoured by all of them.

use crate::grow::random::Seed;
use crate::params::Params;

/// Changes a tree's seed for its order of features.
const ORDER: u64 = 0x6F72_6465_726F_7264;

/// The features in a random order.
pub(super) fn shuffled_features(seed: u64, n_features: usize) -> Vec<u32> {
    let mut stream = Seed::new(seed ^ ORDER).stream();
    let mut features: Vec<u32> = (0..n_features as u32).collect();
    for place in 1..n_features {
        features.swap(place, stream.below(place + 1));
    }
    features
}

/// The settings of a tree whose column `k` is feature `features[k]` of the forest.
pub(super) fn tree_params(params: &Params, seed: u64, features: &[u32]) -> Params {
    Params {
        seed,
        monotonic_cst: params.monotonic_cst.as_deref().map(|signs| reordered(signs, features)),
        categories: params.categories.as_deref().map(|counts| reordered(counts, features)),
        ..params.clone()
    }
}

fn reordered<T: Copy>(by_feature: &[T], features: &[u32]) -> Vec<T> {
    features.iter().map(|&feature| by_feature[feature as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_features_is_as_likely() {
        let mut counts = std::collections::HashMap::new();
        for seed in 0..6_000 {
            *counts.entry(shuffled_features(seed, 3)).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (880..1_120).contains(count)), "{counts:?}");
    }
}

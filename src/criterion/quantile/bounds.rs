//! HOT: gain bounds of medians and quantiles: by slopes in large nodes, by gains in small ones.
//!
//! The highest gain of each feature is the best possible bound. In small nodes it costs little more
//! than a slope bound, and it decides most nodes without a sweep: the verdict names the winning
//! cut. `README.md` has the table of kernels.

use super::screened_order::CutRange;
use super::sweep::QuantileScratch;
use super::{Quantile, QuantileNode, RankTable, RankedSample, median_sweep};
use crate::criterion::{BoundVerdict, ContributionsOf, Criterion, Cuts, GainBounds, SmallNode};
use crate::median::Level;
use crate::params::MedianMethod;
use crate::split::near;

pub(crate) struct QuantileBounds;

impl<T: RankedSample> GainBounds<Quantile<T>> for QuantileBounds {
    type TagCell = T::TagCell;

    fn class_tags(table: &RankTable) -> &[u32] {
        if table.is_screened { table.screen.tags() } else { &[] }
    }

    fn of_feature<P: ContributionsOf<Quantile<T>>, F: Fn(usize, usize) -> bool>(
        _: &Quantile<T>,
        table: &RankTable,
        ranks: &P,
        cuts: &Cuts<F>,
    ) -> Option<f64> {
        let bound =
            || table.screen.gain_bound(&Quantile::<T>::order(table, ranks, cuts)) + table.unit + table.grid_error;
        table.is_screened.then(bound)
    }

    fn of_small_node(
        criterion: &Quantile<T>,
        node: &QuantileNode,
        table: &RankTable,
        rows: &SmallNode<'_, Quantile<T>>,
        scratch: &mut QuantileScratch,
        bounds: &mut Vec<f64>,
    ) -> BoundVerdict {
        if table.is_screened || criterion.method == MedianMethod::TwoHeaps {
            return BoundVerdict::Unknown;
        }
        if T::WEIGHTED {
            return decide_by_floats(table, rows, scratch, bounds);
        }
        criterion.write_highest(table, rows, scratch);
        bounds.clear();
        bounds.extend(scratch.highest.iter().map(|&most| most.max(0) as f64 * table.unit + table.grid_error));
        criterion.find_clear_cut(node, table, rows, scratch, bounds)
    }
}

impl<T: RankedSample> Quantile<T> {
    /// Writes the highest gain of each feature of a small node. One pass over all features costs
    /// less than a full sweep of each.
    fn write_highest(&self, table: &RankTable, rows: &SmallNode<'_, Self>, scratch: &mut QuantileScratch) {
        let rank = |feature: usize| ranks(rows, feature);
        let [all] = all_cuts(table, rows);
        let allowed = all.first..=all.last;
        let higher = |most: i64, n_left: usize, gain: i64| {
            if (gain > most) & allowed.contains(&n_left) { gain } else { most }
        };
        let QuantileScratch { kernels, highest, .. } = scratch;
        highest.clear();
        if self.level == Level::HALF {
            // Two features together take little longer than one.
            for feature in (1..rows.features.len()).step_by(2) {
                let mut most = [i64::MIN; 2];
                let pair = [rank(feature - 1), rank(feature)];
                median_sweep::sweep_two(&table.sorted, pair, all.last, |n_left, [a, b]| {
                    most = [higher(most[0], n_left, a), higher(most[1], n_left, b)];
                });
                highest.extend(most);
            }
        }
        for feature in highest.len()..rows.features.len() {
            let mut most = i64::MIN;
            self.each_gain(table, rank(feature), &[all], kernels, |n_left, gain| most = higher(most, n_left, gain));
            highest.push(most);
        }
    }

    /// The first cut that ties with the highest gain wins, if its own gain is the highest. Nothing
    /// is clear where no cut gains anything: a rule of its own decides then (`split.rs`).
    fn find_clear_cut(
        &self,
        node: &QuantileNode,
        table: &RankTable,
        rows: &SmallNode<'_, Self>,
        scratch: &mut QuantileScratch,
        bounds: &[f64],
    ) -> BoundVerdict {
        let all = all_cuts(table, rows);
        let top = scratch.highest.iter().fold(i64::MIN, |top, &most| top.max(most));
        if table.is_in_doubt(top as f64 * table.unit) {
            return BoundVerdict::Bounded;
        }
        let bar = near(top as f64 * table.unit, self.noise(node));
        let first = bounds.iter().position(|&bound| bound >= bar);
        let Some(feature) = first.filter(|&feature| bar > 0.0 && scratch.highest[feature] == top) else {
            return BoundVerdict::Bounded;
        };
        scratch.ranks.clear();
        scratch.ranks.extend((0..node.rows).map(|place| ranks(rows, feature)(place) as u32));
        self.write_gains(table, &all, scratch);
        let ties = |&n_left: &usize| scratch.gains[n_left] as f64 * table.unit >= bar;
        match (all[0].first..=all[0].last).find(ties) {
            Some(n_left) if scratch.gains[n_left] == top => BoundVerdict::Clear { place: feature, n_left },
            _ => BoundVerdict::Bounded,
        }
    }
}

/// In a small node with weights: the first of the cuts that gain most, if all of them part the rows
/// in the same way. Their gains are then the same to the last bit, and no other cut's gain is near.
fn decide_by_floats<T: RankedSample>(
    table: &RankTable,
    rows: &SmallNode<'_, Quantile<T>>,
    scratch: &mut QuantileScratch,
    bounds: &mut Vec<f64>,
) -> BoundVerdict {
    let n_rows = table.sorted.len();
    let rank = |feature: usize| ranks(rows, feature);
    let [CutRange { first, last, .. }] = all_cuts(table, rows);
    let gains = &mut scratch.floats;
    gains.clear();
    bounds.clear();
    let mut top = 0.0;
    for feature in 0..rows.features.len() {
        table.few_rows.gains(last, rank(feature), gains);
        let of_feature = &gains[feature * last + first - 1..];
        let most = of_feature.iter().fold(0.0, |most, &gain| if gain > most { gain } else { most });
        top = if most > top { most } else { top };
        let most = f64::from(most + table.few_rows.slack()) * table.few_rows.unit();
        bounds.push(most + table.unit + table.grid_error);
    }
    let bar = top - 2.0 * table.few_rows.slack();
    let mut winner: Option<(usize, usize, u32)> = None;
    for (feature, gains) in gains.chunks_exact(last).enumerate() {
        for n_left in (first..=last).filter(|&n_left| gains[n_left - 1] >= bar) {
            let left = (0..n_left).fold(0u32, |left, place| left | 1 << rank(feature)(place));
            // A partition is identified by the side that has rank 0.
            let parted = if left & 1 == 1 { left } else { left ^ ((1 << n_rows) - 1) };
            match winner {
                Some((.., first)) if first != parted => return BoundVerdict::Bounded,
                Some(_) => {}
                None => winner = Some((feature, n_left, parted)),
            }
        }
    }
    winner.map_or(BoundVerdict::Bounded, |(feature, n_left, _)| BoundVerdict::Clear { place: feature, n_left })
}

/// All cuts of a small node that leave enough rows on both sides.
fn all_cuts<T: RankedSample>(table: &RankTable, rows: &SmallNode<'_, Quantile<T>>) -> [CutRange; 1] {
    [CutRange::new(rows.min_rows, table.sorted.len() - rows.min_rows)]
}

/// The ranks of a small node's rows in the order of the feature at this place of its list.
#[inline(always)]
fn ranks<'a, T: RankedSample>(rows: &'a SmallNode<'_, Quantile<T>>, place: usize) -> impl Fn(usize) -> usize + 'a {
    let order = rows.orders.of(rows.features[place] as usize);
    move |place| rows.contributions[order[place] as usize] as usize
}

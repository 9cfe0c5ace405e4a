//! Compares the kernels with the definitions, for many kinds of orders, ties, weights and levels.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::few_rows::{FEW_ROWS, FewRows};
use super::int256::Int256;
use super::rank_bitmap::Bitmap;
use super::screen::SlopeScreen;
use super::screened_order::{CutRange, ScreenedOrder, Weights};
use super::weighted_sweep::{self, BitmapWithSums, TargetsWithSums, WeightedBitmap, WeightedTargets};
use super::{heap_sweep, median_sweep, pinball_sweep};
use crate::median::Level;
use crate::median::tests::loss;
use crate::naive::draw::Dice;

/// The order of the ranks in a feature.
#[derive(Clone, Copy, Debug)]
enum Order {
    Random,
    Ascending,
    Descending,
    /// From both ends to the middle: the medians' neighbours are as far away as can be.
    Inwards,
    /// From the middle to both ends.
    Outwards,
    /// The lower half, shuffled, and the upper half, in turns.
    Shuttle,
}

impl Order {
    fn any() -> impl Strategy<Value = Self> {
        use Order::{Ascending, Descending, Inwards, Outwards, Random, Shuttle};
        prop_oneof![
            3 => Just(Random),
            1 => Just(Ascending),
            1 => Just(Descending),
            1 => Just(Inwards),
            1 => Just(Outwards),
            1 => Just(Shuttle)
        ]
    }

    fn ranks(self, dice: &mut Dice, n: usize) -> Vec<usize> {
        let inwards = |i: usize| if i.is_multiple_of(2) { i / 2 } else { n - 1 - i / 2 };
        match self {
            Self::Random => dice.shuffle(n),
            Self::Ascending => (0..n).collect(),
            Self::Descending => (0..n).rev().collect(),
            Self::Inwards => (0..n).map(inwards).collect(),
            Self::Outwards => (0..n).rev().map(inwards).collect(),
            Self::Shuttle => {
                let (lower, upper): (Vec<usize>, Vec<usize>) = dice.shuffle(n).iter().partition(|&&r| r < n / 2);
                let mut ranks: Vec<usize> = lower.iter().zip(&upper).flat_map(|(&l, &u)| [l, u]).collect();
                ranks.extend(&upper[lower.len()..]);
                ranks
            }
        }
    }
}

/// Kinds of integer weights.
#[derive(Clone, Copy, Debug)]
enum Weighing {
    Ones,
    Small,
    /// Of 40 bits.
    Reals,
    /// Some are zero.
    Zeros,
    /// Powers of two, up to 2^52.
    Geometric,
    /// Heavy ones at the ends of the ranks, light ones between.
    HeavyEnds,
}

impl Weighing {
    fn any() -> impl Strategy<Value = Self> {
        use Weighing::{Geometric, HeavyEnds, Ones, Reals, Small, Zeros};
        prop::sample::select(vec![Ones, Small, Reals, Zeros, Geometric, HeavyEnds])
    }

    fn weights(self, dice: &mut Dice, n: usize, level: Level) -> Vec<i64> {
        // Bits of the sum, less those that adding up n rows takes.
        let bits = weighted_sweep::weight_bits(level) - (n.ilog2() + 1);
        let weight = |rank: usize| match self {
            Self::Small => 1 + dice.below(4) as i64,
            Self::Reals => 1 + dice.below(1 << bits.min(40)) as i64,
            Self::Zeros => dice.below(3) as i64,
            Self::Geometric => 1 << dice.below(bits.min(52) as usize),
            Self::HeavyEnds if rank < n / 4 || rank >= n - n / 4 => 1 << bits.min(40),
            Self::Ones | Self::HeavyEnds => 1,
        };
        (0..n).map(weight).collect()
    }
}

#[derive(Clone, Debug)]
struct Recipe {
    n: usize,
    order: Order,
    weighing: Weighing,
    level: f64,
    /// Targets are multiples of this below 2^51: the larger it is, the more of them are equal.
    step: i64,
    offset: i64,
    seed: u64,
}

struct Case {
    sorted: Vec<i64>,
    ranks: Vec<usize>,
    weights: Vec<i64>,
    level: Level,
}

impl Recipe {
    fn any(n: impl Strategy<Value = usize>) -> impl Strategy<Value = Self> {
        let level = prop_oneof![Just(0.5), Just(0.05), Just(0.95), Just(0.25), Just(0.7), 0.05..0.95];
        let step = prop::sample::select(vec![1 << 20, 1 << 40, 1 << 45, 1 << 48, 1 << 50]);
        (n, Order::any(), Weighing::any(), level, step, prop_oneof![Just(0), Just(-(1i64 << 50))], any::<u64>())
            .prop_map(|(n, order, weighing, level, step, offset, seed)| Self {
                n,
                order,
                weighing,
                level,
                step,
                offset,
                seed,
            })
    }

    fn case(&self) -> Case {
        let (mut dice, level) = (Dice::new(self.seed), Level::new(self.level).unwrap());
        let most = (1i64 << 51) / self.step;
        // With this many rows, sums of their distances must stay below 2^62.
        let unit = self.step >> self.n.ilog2().saturating_sub(10);
        let mut sorted: Vec<i64> =
            (0..self.n).map(|_| dice.below(most as usize) as i64 * unit + self.offset / self.n as i64).collect();
        sorted.sort_unstable();
        Case {
            sorted,
            ranks: self.order.ranks(&mut dice, self.n),
            weights: self.weighing.weights(&mut dice, self.n, level),
            level,
        }
    }
}

impl Case {
    fn rows(&self, weights: &[i64]) -> Vec<(i64, i64)> {
        self.ranks.iter().map(|&rank| (self.sorted[rank], weights[rank])).collect()
    }

    /// q · gain of each of these cuts.
    fn naive_gains(&self, level: Level, weights: &[i64], cuts: &[usize]) -> Vec<i128> {
        let rows = self.rows(weights);
        let node = loss(level, &rows);
        cuts.iter().map(|&k| node - loss(level, &rows[..k]) - loss(level, &rows[k..])).collect()
    }

    /// The cuts that are compared: all of a small node; the first, the last and some others of a
    /// large one.
    fn cuts(&self) -> Vec<usize> {
        let n = self.sorted.len();
        (1..n).filter(|k| n <= 300 || *k < 3 || *k + 3 > n || k % 311 == 0).collect()
    }

    fn check(&self, cuts: &[usize], gains: &[(usize, i64)], expected: &[i128], shift: u32) -> TestCaseResult {
        let all: Vec<usize> = gains.iter().map(|gain| gain.0).collect();
        prop_assert_eq!(all, (1..self.sorted.len()).collect::<Vec<usize>>());
        for (&k, &expected) in cuts.iter().zip(expected) {
            prop_assert_eq!(gains[k - 1], (k, (expected >> shift) as i64));
        }
        Ok(())
    }

    fn check_median(&self, bitmap: &mut Bitmap) -> TestCaseResult {
        let (cuts, mut gains) = (self.cuts(), Vec::new());
        median_sweep::sweep(
            &self.sorted,
            |place| self.ranks[place],
            usize::MAX,
            bitmap,
            |k, gain| gains.push((k, gain)),
        );
        let n = self.sorted.len();
        self.check(&cuts, &gains, &self.naive_gains(Level::HALF, &vec![1; n], &cuts), 0)?;
        if (2..=64).contains(&n) {
            // Together with the reversed order, where n − k rows are on the left instead of k.
            let mut both = Vec::new();
            let ranks =
                [false, true].map(|turned| move |place: usize| self.ranks[if turned { n - 1 - place } else { place }]);
            median_sweep::sweep_two(&self.sorted, ranks, n - 1, |k, gains| both.push((k, gains)));
            for (k, [gain, turned]) in both.into_iter().filter(|(k, _)| *k < n) {
                prop_assert_eq!((gain, turned), (gains[k - 1].1, gains[n - k - 1].1));
            }
        }
        Ok(())
    }

    fn check_quantile(&self, bitmap: &mut Bitmap) -> TestCaseResult {
        let (cuts, mut gains) = (self.cuts(), Vec::new());
        pinball_sweep::sweep(
            self.level,
            &self.sorted,
            |place| self.ranks[place],
            usize::MAX,
            bitmap,
            |k, gain| gains.push((k, gain)),
        );
        let ones = vec![1; self.sorted.len()];
        self.check(&cuts, &gains, &self.naive_gains(self.level, &ones, &cuts), self.level.denominator_bits())
    }

    /// The gains of all cuts. A sweep of some ranges must return the same gains.
    fn check_parts(
        n: usize,
        mut sweep: impl FnMut(&[CutRange], &mut Vec<(usize, i64)>),
    ) -> Result<Vec<(usize, i64)>, TestCaseError> {
        let (mut gains, mut some) = (Vec::new(), Vec::new());
        sweep(&[CutRange::new(1, n - 1)], &mut gains);
        let parts = [(n / 4, n / 3), (n / 2, n / 2), (2 * n / 3, 3 * n / 4)];
        let parts = if n < 12 { vec![] } else { parts.map(|(first, last)| CutRange::new(first, last)).to_vec() };
        sweep(&parts, &mut some);
        let in_parts = |k: usize| parts.iter().any(|part| part.first <= k && k <= part.last);
        prop_assert_eq!(some, gains.iter().copied().filter(|&(k, _)| in_parts(k)).collect::<Vec<_>>());
        Ok(gains)
    }

    /// The sweep of ranges.
    fn check_some(&self, bitmap: &mut Bitmap) -> TestCaseResult {
        let (cuts, bits) = (self.cuts(), self.level.denominator_bits());
        let rank = |place: usize| self.ranks[place];
        let gains = Self::check_parts(self.sorted.len(), |ranges, gains| {
            let visit = |k, gain| gains.push((k, gain));
            pinball_sweep::sweep_ranges(self.level, bits, &self.sorted, rank, ranges, bitmap, visit);
        })?;
        let ones = vec![1; self.sorted.len()];
        self.check(&cuts, &gains, &self.naive_gains(self.level, &ones, &cuts), bits)
    }

    fn check_weighted(&self, scratch: &mut WeightedBitmap) -> TestCaseResult {
        let cuts = self.cuts();
        let rows = weighted_rows(self.level, &self.sorted, &self.weights);
        let rank = |place: usize| self.ranks[place];
        let n = self.sorted.len();
        let gains = Self::check_parts(n, |ranges, gains| {
            rows.sweep(rank, ranges, scratch, |k, gain| gains.push((k, gain)));
        })?;
        let shift = (rows.unit() * self.level.denominator() as f64).log2() as u32;
        let loss = loss(self.level, &self.rows(&self.weights));
        prop_assert!(loss >> shift < 1 << 62 && (shift == 0 || loss >> shift >= 1 << 61));
        self.check(&cuts, &gains, &self.naive_gains(self.level, &self.weights, &cuts), shift)?;
        self.check_wide(&rows, &gains)
    }

    /// In 256 bits, on finer grids, the gains are the same.
    fn check_wide(&self, narrow: &WeightedTargets, gains: &[(usize, i64)]) -> TestCaseResult {
        let wider = |x: &i64| i128::from(*x) << 45;
        let mut rows = TargetsWithSums::<Int256>::default();
        rows.describe_rows(self.level, self.sorted.iter().map(wider).zip(self.weights.iter().map(wider)));
        let (finer, mut found) = (2f64.powi(90), Vec::new());
        let all = [CutRange::new(1, self.sorted.len() - 1)];
        rows.sweep(|place| self.ranks[place], &all, &mut BitmapWithSums::default(), |_, gain| found.push(gain));
        for &(k, gain) in gains {
            let wide = found[k - 1] as f64 * (rows.unit() / finer);
            // One unit of the gains is rounded off.
            prop_assert!((wide - gain as f64 * narrow.unit()).abs() <= narrow.unit(), "{} {} {}", k, wide, gain);
        }
        Ok(())
    }
}

fn weighted_rows(level: Level, sorted: &[i64], weights: &[i64]) -> WeightedTargets {
    let mut rows = WeightedTargets::default();
    // The state of an earlier node must not matter.
    rows.describe(Level::HALF, &(0..300).collect::<Vec<_>>(), &[1; 300]);
    rows.describe(level, sorted, weights);
    rows
}

impl Case {
    /// No cut gains more than the bound, and the ranges contain every cut that gains enough.
    fn check_screen(
        &self,
        screen: &mut SlopeScreen,
        weights: impl Weights,
        values: &[usize],
        dice: &mut Dice,
    ) -> TestCaseResult {
        let n = self.sorted.len();
        if n < 2 {
            return Ok(());
        }
        screen.describe(self.level, &self.sorted, weights);
        let screen = &*screen;
        let tags = screen.tags();
        let first = 1 + dice.below(n.div_ceil(2).min(n - 1));
        let last = first + dice.below(n - first);
        let order = ScreenedOrder {
            cuts: (first, last),
            same: |a: usize, b: usize| values[a] == values[b],
            tag: |place: usize| tags[self.ranks[place]],
            weights,
        };
        let is_allowed = |k: &usize| (first..=last).contains(k) && values[k - 1] != values[*k];
        let cuts: Vec<usize> = self.cuts().into_iter().filter(is_allowed).collect();
        let has_all = |ranges: &[CutRange], cuts: &mut dyn Iterator<Item = usize>| {
            let mut cuts = cuts.filter(|k| !ranges.iter().any(|s| s.first <= *k && *k <= s.last));
            prop_assert_eq!(cuts.next(), None);
            prop_assert!(ranges.iter().all(|s| first <= s.first && s.last <= last));
            prop_assert!(ranges.is_sorted_by(|a, b| a.last < b.first));
            Ok(())
        };
        let mut ranges = Vec::new();
        for min_run in [1, 1_000] {
            order.write_ranges(n, min_run, &mut ranges);
            has_all(&ranges, &mut cuts.iter().copied())?;
        }
        let whole = self.level.denominator() as f64;
        let ranked: Vec<i64> = (0..n).map(|rank| weights.of(rank) as i64).collect();
        let gains: Vec<f64> =
            self.naive_gains(self.level, &ranked, &cuts).iter().map(|&gain| gain as f64 / whole).collect();
        let most = screen.gain_bound(&order);
        for &least in &gains {
            prop_assert!(least <= most * (1.0 + 1e-12), "{} > {}", least, most);
            ranges.clear();
            screen.ranges_that_could_gain(least * (1.0 - 1e-12), &order, &mut ranges);
            let enough = cuts.iter().zip(&gains).filter(|(_, gain)| **gain >= least).map(|(k, _)| *k);
            has_all(&ranges, &mut enough.into_iter())?;
        }
        Ok(())
    }

    fn check_heaps(&self) -> TestCaseResult {
        let cuts: Vec<usize> = (1..self.sorted.len()).collect();
        let (mut gains, rank, weight) =
            (Vec::new(), |place: usize| self.ranks[place], |rank: usize| self.weights[rank]);
        heap_sweep::sweep(self.level, &self.sorted, weight, rank, |_, gain| gains.push(gain));
        prop_assert_eq!(gains, self.naive_gains(self.level, &self.weights, &cuts));
        Ok(())
    }
}

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 1..40usize, 2 => 60..70usize, 2 => 120..135usize, 2 => 1..300usize]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn gains_are_those_of_the_definition(recipe in Recipe::any(sizes())) {
        let case = recipe.case();
        case.check_median(&mut Bitmap::default())?;
        case.check_quantile(&mut Bitmap::default())?;
        case.check_weighted(&mut WeightedBitmap::default())?;
        case.check_some(&mut Bitmap::default())?;
        case.check_heaps()?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_cut_gains_more_than_the_screen_says(
        recipe in Recipe::any(prop_oneof![8 => sizes(), 1 => 500..600usize, 1 => 4_000..4_200usize]),
    ) {
        let (case, mut screen, mut dice) = (recipe.case(), SlopeScreen::default(), Dice::new(recipe.seed ^ 2));
        // All values differ; pairs of equal values; runs of nine.
        for values in [recipe.n, recipe.n.div_ceil(2), recipe.n.div_ceil(9)] {
            let values: Vec<usize> = (0..recipe.n).map(|place| place * values / recipe.n).collect();
            case.check_screen(&mut screen, (), &values, &mut dice)?;
            case.check_screen(&mut screen, &case.weights[..], &values, &mut dice)?;
        }
    }

    /// The gains differ from the definition by rounding only.
    #[test]
    fn gains_of_few_rows(recipe in Recipe::any(2..=FEW_ROWS)) {
        let (case, mut few, mut gains) = (recipe.case(), FewRows::default(), Vec::new());
        few.describe(case.level, &case.sorted, &case.weights);
        few.gains(recipe.n - 1, |place| case.ranks[place], &mut gains);
        let cuts: Vec<usize> = (1..recipe.n).collect();
        prop_assert_eq!(gains.len(), cuts.len());
        for (gain, exact) in gains.into_iter().zip(case.naive_gains(case.level, &case.weights, &cuts)) {
            let exact = exact as f64 / (case.level.denominator() as f64 * few.unit());
            let off = (f64::from(gain) - exact).abs();
            // A quarter of the slack: rounding stays far below it, a wrong gap or sign does not.
            prop_assert!(off <= f64::from(few.slack()) / 4.0, "{} for {}, with {}", gain, exact, few.slack());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn gains_of_large_nodes_are_those_of_the_definition(
        recipe in Recipe::any(prop_oneof![4_000..4_200usize, Just(5_000), Just(9_000)]),
        small in Recipe::any(70..200usize),
    ) {
        let (mut bitmap, mut scratch) = (Bitmap::default(), WeightedBitmap::default());
        // Both cases use the same buffers.
        for case in [recipe.case(), small.case()] {
            case.check_median(&mut bitmap)?;
            case.check_quantile(&mut bitmap)?;
            case.check_some(&mut bitmap)?;
            case.check_weighted(&mut scratch)?;
        }
    }

    #[test]
    fn gains_do_not_depend_on_the_order_of_rows_on_a_side(recipe in Recipe::any(2..300usize), cut in any::<prop::sample::Index>()) {
        let mut case = recipe.case();
        let k = 1 + cut.index(recipe.n - 1);
        let mut dice = Dice::new(recipe.seed ^ 1);
        let mut gains = Vec::new();
        for _ in 0..3 {
            let mut at_cut = [0; 3];
            let rank = |place: usize| case.ranks[place];
            median_sweep::sweep(&case.sorted, rank, usize::MAX, &mut Bitmap::default(), |n, gain| if n == k { at_cut[0] = gain });
            pinball_sweep::sweep(case.level, &case.sorted, rank, usize::MAX, &mut Bitmap::default(), |n, gain| if n == k { at_cut[1] = gain });
            weighted_rows(case.level, &case.sorted, &case.weights)
                .sweep(rank, &[CutRange::new(1, case.sorted.len() - 1)], &mut WeightedBitmap::default(), |n, gain| if n == k { at_cut[2] = gain });
            gains.push(at_cut);
            let shuffled: Vec<usize> = dice.shuffle(k).into_iter().map(|i| case.ranks[i]).collect();
            case.ranks[..k].copy_from_slice(&shuffled);
            case.ranks[k..].reverse();
        }
        prop_assert!(gains.iter().all(|gain| *gain == gains[0]), "{:?}", gains);
    }
}

#[test]
fn pointers_pass_three_levels_of_groups() {
    for (weighing, order) in [(Weighing::HeavyEnds, Order::Shuttle), (Weighing::Geometric, Order::Random)] {
        let recipe = Recipe { n: 300_000, order, weighing, level: 0.5, step: 1 << 30, offset: 0, seed: 7 };
        let case = recipe.case();
        let cuts = [1, 2, 74_999, 150_000, 225_001, 299_999];
        let rows = weighted_rows(case.level, &case.sorted, &case.weights);
        let shift = (rows.unit() * case.level.denominator() as f64).log2() as u32;
        let mut gains = Vec::new();
        let rank = |place: usize| case.ranks[place];
        let all = [CutRange::new(1, case.sorted.len() - 1)];
        rows.sweep(rank, &all, &mut WeightedBitmap::default(), |_, gain| {
            gains.push(gain);
        });
        let expected = case.naive_gains(case.level, &case.weights, &cuts);
        assert_eq!(
            cuts.map(|k| gains[k - 1]).to_vec(),
            expected.iter().map(|gain| (gain >> shift) as i64).collect::<Vec<_>>()
        );
    }
}

#[test]
fn the_weights_grid_leaves_room_for_the_level() {
    // The largest sums that are allowed, at fine levels and at the median.
    for level in [0.5, 0.123_456_789, 1e-9] {
        let level = Level::new(level).unwrap();
        let n = 100;
        let sorted: Vec<i64> = (0..n).map(|rank| if rank < n / 2 { -(1 << 51) } else { 1 << 51 }).collect();
        let weights = vec![(1i64 << weighted_sweep::weight_bits(level)) / n; n as usize];
        let mut least = i64::MAX;
        let rows = weighted_rows(level, &sorted, &weights);
        let shuttle = |place: usize| if place.is_multiple_of(2) { place / 2 } else { 99 - place / 2 };
        let all = [CutRange::new(1, sorted.len() - 1)];
        rows.sweep(shuttle, &all, &mut WeightedBitmap::default(), |_, gain| {
            least = least.min(gain);
        });
        assert!(least >= 0);
    }
}

#[test]
fn sums_of_few_bits_are_exact() {
    let is_exact = |weights: &[f64]| super::has_exact_sums(weights.iter().copied());
    assert!(is_exact(&[1.0, 0.0, 3.0, 1e15]) && is_exact(&[0.5, 0.25, 1e-300 * 0.0]));
    assert!(is_exact(&[2f64.powi(-60), 3.0 * 2f64.powi(-60)]));
    assert!(!is_exact(&[0.1, 0.2]) && !is_exact(&[1.0, 1e-20]) && !is_exact(&[5e-324, 1.0]));
    assert!(!is_exact(&[1.0, 2f64.powi(52)]) && !is_exact(&[f64::MAX, f64::MAX]));
}

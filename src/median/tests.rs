//! The kernels against the definitions, on orders, ties, weights and levels of all kinds.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::few::{FEW_ROWS, Few};
use super::screen::{self, Screen, Stretch};
use super::{Bitmap, Center, Level, RunningMedian, heap_sweep, quantile, running_median, sweep, weighted};
use crate::naive::draw::Dice;

/// Orders in which the ranks come.
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
        // What the sum may have, less what as many rows add.
        let bits = weighted::weight_bits(level) - (n.ilog2() + 1);
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
    /// Targets are multiples of this below 2^51: the larger, the more of them are equal.
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

/// q · pinball loss by its definition: around the first target with at most its share of the weight above.
fn loss(level: Level, rows: &[(i64, i64)]) -> i128 {
    let (p, q) = (i128::from(level.below()), i128::from(level.whole()));
    let mut rows: Vec<(i128, i128)> = rows.iter().map(|row| (row.0.into(), row.1.into())).collect();
    rows.sort_unstable();
    let total: i128 = rows.iter().map(|row| row.1).sum();
    let mut upto = 0;
    let at = rows.iter().position(|row| {
        upto += row.1;
        q * upto >= p * total
    });
    let m = rows[at.expect("the last one at least")].0;
    let cost = |y: i128| if y > m { p * (y - m) } else { (q - p) * (m - y) };
    rows.iter().map(|&(y, weight)| weight * cost(y)).sum()
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

    /// Cuts to look at: all of a small node, the first, the last and some others of a large one.
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
        sweep::sweep(&self.sorted, |place| self.ranks[place], usize::MAX, bitmap, |k, gain| gains.push((k, gain)));
        let n = self.sorted.len();
        self.check(&cuts, &gains, &self.naive_gains(Level::HALF, &vec![1; n], &cuts), 0)?;
        if (2..=64).contains(&n) {
            // Side by side with the same order from behind, in which n − k rows are left where k were.
            let mut both = Vec::new();
            let ranks =
                [false, true].map(|turned| move |place: usize| self.ranks[if turned { n - 1 - place } else { place }]);
            sweep::sweep_two(&self.sorted, ranks, n - 1, |k, gains| both.push((k, gains)));
            for (k, [gain, turned]) in both.into_iter().filter(|(k, _)| *k < n) {
                prop_assert_eq!((gain, turned), (gains[k - 1].1, gains[n - k - 1].1));
            }
        }
        Ok(())
    }

    fn check_quantile(&self, bitmap: &mut Bitmap) -> TestCaseResult {
        let (cuts, mut gains) = (self.cuts(), Vec::new());
        quantile::sweep(
            self.level,
            &self.sorted,
            |place| self.ranks[place],
            usize::MAX,
            bitmap,
            |k, gain| gains.push((k, gain)),
        );
        let ones = vec![1; self.sorted.len()];
        self.check(&cuts, &gains, &self.naive_gains(self.level, &ones, &cuts), self.level.bits())
    }

    /// Gains of all cuts, which are the same where rows in between are passed over.
    fn check_parts(
        n: usize,
        mut sweep: impl FnMut(&[Stretch], &mut Vec<(usize, i64)>),
    ) -> Result<Vec<(usize, i64)>, TestCaseError> {
        let (mut gains, mut some) = (Vec::new(), Vec::new());
        sweep(&[Stretch::new(1, n - 1)], &mut gains);
        let parts = [(n / 4, n / 3), (n / 2, n / 2), (2 * n / 3, 3 * n / 4)];
        let parts = if n < 12 { vec![] } else { parts.map(|(first, last)| Stretch::new(first, last)).to_vec() };
        sweep(&parts, &mut some);
        let in_parts = |k: usize| parts.iter().any(|part| part.first <= k && k <= part.last);
        prop_assert_eq!(some, gains.iter().copied().filter(|&(k, _)| in_parts(k)).collect::<Vec<_>>());
        Ok(gains)
    }

    /// Where rows in between are passed over.
    fn check_some(&self, bitmap: &mut Bitmap) -> TestCaseResult {
        let (cuts, bits) = (self.cuts(), self.level.bits());
        let rank = |place: usize| self.ranks[place];
        let gains = Self::check_parts(self.sorted.len(), |stretches, gains| {
            let visit = |k, gain| gains.push((k, gain));
            quantile::sweep_some(self.level, bits, &self.sorted, rank, stretches, bitmap, visit);
        })?;
        let ones = vec![1; self.sorted.len()];
        self.check(&cuts, &gains, &self.naive_gains(self.level, &ones, &cuts), bits)
    }

    fn check_weighted(&self, scratch: &mut weighted::Scratch) -> TestCaseResult {
        let cuts = self.cuts();
        let rows = weighted_rows(self.level, &self.sorted, &self.weights);
        let rank = |place: usize| self.ranks[place];
        let n = self.sorted.len();
        let gains = Self::check_parts(n, |stretches, gains| {
            rows.sweep(rank, stretches, scratch, |k, gain| gains.push((k, gain)));
        })?;
        let shift = (rows.unit() * self.level.whole() as f64).log2() as u32;
        let loss = loss(self.level, &self.rows(&self.weights));
        prop_assert!(loss >> shift < 1 << 62 && (shift == 0 || loss >> shift >= 1 << 61));
        self.check(&cuts, &gains, &self.naive_gains(self.level, &self.weights, &cuts), shift)
    }
}

fn weighted_rows(level: Level, sorted: &[i64], weights: &[i64]) -> weighted::Rows {
    let mut rows = weighted::Rows::default();
    // What an earlier node left behind must not matter.
    rows.describe(Level::HALF, &(0..300).collect::<Vec<_>>(), &[1; 300]);
    rows.describe(level, sorted, weights);
    rows
}

impl Case {
    /// No cut gains more than the screen says, and all that gain enough are in the stretches that it names.
    fn check_screen(
        &self,
        screen: &mut Screen,
        weights: impl screen::Weights,
        values: &[usize],
        dice: &mut Dice,
    ) -> TestCaseResult {
        let n = self.sorted.len();
        if n < 2 {
            return Ok(());
        }
        screen.describe(self.level, &self.sorted, weights);
        let screen = &*screen;
        let marks = screen.marks();
        let first = 1 + dice.below(n.div_ceil(2).min(n - 1));
        let last = first + dice.below(n - first);
        let order = screen::Order {
            cuts: (first, last),
            same: |a: usize, b: usize| values[a] == values[b],
            mark: |place: usize| marks[self.ranks[place]],
            weights,
        };
        let is_allowed = |k: &usize| (first..=last).contains(k) && values[k - 1] != values[*k];
        let cuts: Vec<usize> = self.cuts().into_iter().filter(is_allowed).collect();
        let has_all = |stretches: &[Stretch], cuts: &mut dyn Iterator<Item = usize>| {
            let mut cuts = cuts.filter(|k| !stretches.iter().any(|s| s.first <= *k && *k <= s.last));
            prop_assert_eq!(cuts.next(), None);
            prop_assert!(stretches.iter().all(|s| first <= s.first && s.last <= last));
            prop_assert!(stretches.is_sorted_by(|a, b| a.last < b.first));
            Ok(())
        };
        let mut stretches = Vec::new();
        for long in [1, 1_000] {
            order.all(n, long, &mut stretches);
            has_all(&stretches, &mut cuts.iter().copied())?;
        }
        let whole = self.level.whole() as f64;
        let ranked: Vec<i64> = (0..n).map(|rank| weights.of(rank) as i64).collect();
        let gains: Vec<f64> =
            self.naive_gains(self.level, &ranked, &cuts).iter().map(|&gain| gain as f64 / whole).collect();
        let most = screen.most(&order);
        for &least in &gains {
            prop_assert!(least <= most * (1.0 + 1e-12), "{} > {}", least, most);
            stretches.clear();
            screen.live(least * (1.0 - 1e-12), &order, &mut stretches);
            let enough = cuts.iter().zip(&gains).filter(|(_, gain)| **gain >= least).map(|(k, _)| *k);
            has_all(&stretches, &mut enough.into_iter())?;
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
        case.check_weighted(&mut weighted::Scratch::default())?;
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
        let (case, mut screen, mut dice) = (recipe.case(), Screen::default(), Dice::new(recipe.seed ^ 2));
        // No value twice, some, or hardly any that is not.
        for values in [recipe.n, recipe.n.div_ceil(2), recipe.n.div_ceil(9)] {
            let values: Vec<usize> = (0..recipe.n).map(|place| place * values / recipe.n).collect();
            case.check_screen(&mut screen, (), &values, &mut dice)?;
            case.check_screen(&mut screen, &case.weights[..], &values, &mut dice)?;
        }
    }

    /// Nothing is left open but rounding.
    #[test]
    fn gains_of_few_rows(recipe in Recipe::any(2..=FEW_ROWS)) {
        let (case, mut few, mut gains) = (recipe.case(), Few::default(), Vec::new());
        few.describe(case.level, &case.sorted, &case.weights);
        few.gains(recipe.n - 1, |place| case.ranks[place], &mut gains);
        let cuts: Vec<usize> = (1..recipe.n).collect();
        prop_assert_eq!(gains.len(), cuts.len());
        for (gain, exact) in gains.into_iter().zip(case.naive_gains(case.level, &case.weights, &cuts)) {
            let exact = exact as f64 / (case.level.whole() as f64 * few.unit());
            let off = (f64::from(gain) - exact).abs();
            // Far below what is promised: a wrong gap or sign is not a matter of rounding.
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
        let (mut bitmap, mut scratch) = (Bitmap::default(), weighted::Scratch::default());
        // One after the other with the same buffers.
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
            sweep::sweep(&case.sorted, rank, usize::MAX, &mut Bitmap::default(), |n, gain| if n == k { at_cut[0] = gain });
            quantile::sweep(case.level, &case.sorted, rank, usize::MAX, &mut Bitmap::default(), |n, gain| if n == k { at_cut[1] = gain });
            weighted_rows(case.level, &case.sorted, &case.weights)
                .sweep(rank, &[Stretch::new(1, case.sorted.len() - 1)], &mut weighted::Scratch::default(), |n, gain| if n == k { at_cut[2] = gain });
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
        let shift = (rows.unit() * case.level.whole() as f64).log2() as u32;
        let mut gains = Vec::new();
        let rank = |place: usize| case.ranks[place];
        let all = [Stretch::new(1, case.sorted.len() - 1)];
        rows.sweep(rank, &all, &mut weighted::Scratch::default(), |_, gain| {
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
    // The largest sums that the contract allows, at the finest level and at the median.
    for level in [0.5, 0.123_456_789, 1e-9] {
        let level = Level::new(level).unwrap();
        let n = 100;
        let sorted: Vec<i64> = (0..n).map(|rank| if rank < n / 2 { -(1 << 51) } else { 1 << 51 }).collect();
        let weights = vec![(1i64 << weighted::weight_bits(level)) / n; n as usize];
        let mut least = i64::MAX;
        let rows = weighted_rows(level, &sorted, &weights);
        let shuttle = |place: usize| if place.is_multiple_of(2) { place / 2 } else { 99 - place / 2 };
        let all = [Stretch::new(1, sorted.len() - 1)];
        rows.sweep(shuttle, &all, &mut weighted::Scratch::default(), |_, gain| {
            least = least.min(gain);
        });
        assert!(least >= 0);
    }
}

mod leaves {
    use super::*;

    fn weighted(level: f64, rows: &[(f64, f64)]) -> Center {
        Center::of_weighted(Level::new(level).unwrap(), rows.iter().copied())
    }

    #[test]
    fn the_worked_example() {
        let median = |values: &[f64]| Center::of_values(Level::HALF, values).value;
        assert_eq!([median(&[3.0]), median(&[1.0, 3.0]), median(&[1.0, 3.0, 6.0])], [3.0, 2.0, 3.0]);
        assert_eq!([median(&[1.0, 6.0, 9.0]), median(&[6.0, 9.0]), median(&[9.0])], [6.0, 7.5, 9.0]);
    }

    #[test]
    fn tenths_are_like_integers() {
        for scale in [1.0, 0.1, 1e-3, 7.3, 1e200, 1e-200] {
            let rows =
                |weights: [f64; 3]| weights.map(|w| w * scale).into_iter().zip([1.0, 2.0, 4.0]).map(|(w, y)| (y, w));
            let value = |weights| Center::of_weighted(Level::HALF, rows(weights)).value;
            assert_eq!(value([1.0, 2.0, 3.0]), 3.0, "times {scale}");
            assert_eq!(value([3.0, 1.0, 2.0]), 1.5, "times {scale}");
            assert_eq!(value([1.0, 3.0, 1.0]), 2.0, "times {scale}");
        }
        assert_eq!(weighted(0.5, &[(1.0, 0.1), (2.0, 0.2), (4.0, 0.3)]).value, 3.0);
    }

    #[test]
    fn rows_too_light_to_matter_do_not_break_a_tie() {
        assert_eq!(weighted(0.5, &[(0.0, 1.0), (1.0, 1e-20), (4.0, 1.0)]).value, 2.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn quantiles_have_the_least_loss(
            rows in prop::collection::vec((-20..20i32, 1..6i32), 1..60),
            level in prop_oneof![Just(0.5), Just(0.05), Just(0.7), Just(0.95), 0.05..0.95],
            scale in prop_oneof![Just(1.0), Just(0.1), Just(1.0 / 3.0), 1e-9..1e9],
            offset in prop_oneof![Just(0.0), Just(1e9)],
        ) {
            let exact = Level::new(level).unwrap();
            let mut sorted: Vec<(f64, f64)> = rows.iter().map(|&(y, w)| (f64::from(y) + offset, f64::from(w))).collect();
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            let integers: Vec<(i64, i64)> = rows.iter().map(|&(y, w)| (y.into(), w.into())).collect();
            let expected = loss(exact, &integers) as f64 / exact.whole() as f64;
            let scaled = sorted.iter().map(|&(y, w)| (y, w * scale));
            let center = Center::of_weighted(exact, scaled);
            prop_assert!((center.pinball_loss(exact) - expected * scale).abs() <= 1e-9 * expected * scale);

            let repeated: Vec<f64> = sorted.iter().flat_map(|&(y, w)| vec![y; w as usize]).collect();
            let same = Center::of_values(exact, &repeated);
            prop_assert_eq!(center.value, same.value, "integer weights are repeated rows");
            prop_assert!((same.pinball_loss(exact) - expected).abs() <= 1e-9 * expected);
            prop_assert!((same.absolute_error() - same.above - same.below).abs() == 0.0);

            // At most the share strictly below, at most the rest strictly above, and the midpoint of all such values.
            let weight = |side: &dyn Fn(f64) -> bool| repeated.iter().filter(|&&y| side(y)).count() as i64;
            let is_quantile = |m: f64| exact.whole() * weight(&|y| y < m) <= exact.below() * repeated.len() as i64
                && exact.whole() * weight(&|y| y > m) <= (exact.whole() - exact.below()) * repeated.len() as i64;
            let ends: Vec<f64> = repeated.iter().copied().filter(|&y| is_quantile(y)).collect();
            prop_assert_eq!(same.value, f64::midpoint(ends[0], ends[ends.len() - 1]));
        }
    }
}

mod running {
    use super::*;

    /// The definition: sort, and look.
    fn naive(level: f64, rows: &[(f64, f64)]) -> Center {
        let mut sorted: Vec<(f64, f64)> = rows.iter().copied().filter(|row| row.1 > 0.0).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        Center::of_weighted(Level::new(level).unwrap(), sorted.into_iter())
    }

    fn naive_loss(level: f64, center: Center) -> f64 {
        if level == 0.5 { center.absolute_error() } else { center.pinball_loss(Level::new(level).unwrap()) }
    }

    /// Equal up to the rounding of the twin's own sum, and of sums of twice the precision: offsets do not count.
    fn close(loss: f64, expected: f64, rows: &[(f64, f64)]) -> bool {
        let size: f64 = rows.iter().map(|row| row.1 * row.0.abs()).sum();
        (loss - expected).abs() <= 1e-12 * expected + 2e-24 * size
    }

    fn levels() -> impl Strategy<Value = f64> {
        prop_oneof![3 => Just(0.5), 1 => Just(0.05), 1 => Just(0.7), 1 => Just(0.95), 1 => 0.05..0.95]
    }

    fn rows() -> impl Strategy<Value = Vec<(f64, f64)>> {
        let value =
            prop_oneof![(-3..4i32).prop_map(f64::from), -1.0..1.0f64, (0..9i32).prop_map(|v| 1e9 + f64::from(v) / 8.0)];
        let weight = prop_oneof![
            3 => Just(1.0),
            3 => (1..5i32).prop_map(f64::from),
            3 => (1..30i32).prop_map(|w| f64::from(w) * 0.1),
            1 => Just(0.0),
            1 => (-20..20i32).prop_map(|w| 2f64.powi(w)),
        ];
        prop::collection::vec((value, weight), 1..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn every_prefix_has_its_median(rows in rows(), level in levels(), one_by_one in any::<bool>()) {
            let (y, weights): (Vec<f64>, Vec<f64>) = rows.iter().copied().unzip();
            let running = running_median(&y, Some(&weights), level).unwrap();
            let mut heaps = RunningMedian::with_quantile(level).unwrap();
            for (k, &(value, weight)) in rows.iter().enumerate() {
                heaps.push(value, weight).unwrap();
                let prefix = &rows[..=k];
                if prefix.iter().all(|row| row.1 == 0.0) {
                    prop_assert!(running.medians[k].is_nan() && running.losses[k] == 0.0 && heaps.median().is_none());
                    continue;
                }
                let expected = naive(level, prefix);
                prop_assert_eq!(running.medians[k], expected.value);
                prop_assert_eq!(heaps.median(), Some(expected.value));
                prop_assert!(close(running.losses[k], naive_loss(level, expected), prefix));
                prop_assert!(close(heaps.absolute_error(), naive_loss(level, expected), prefix));
            }
            if one_by_one {
                let ones = running_median(&y, None, level).unwrap();
                let same = running_median(&y, Some(&vec![1.0; y.len()]), level).unwrap();
                prop_assert_eq!(&ones.medians, &same.medians);
                prop_assert!((0..y.len()).all(|k| (ones.losses[k] - same.losses[k]).abs() <= 1e-12 * same.losses[k] + 1e-15));
            }
        }

        #[test]
        fn values_come_and_go(rows in rows(), level in levels(), seed in any::<u64>(), n_steps in 1..400usize) {
            let (mut dice, mut heaps) = (Dice::new(seed), RunningMedian::with_quantile(level).unwrap());
            let mut there: Vec<(f64, f64)> = Vec::new();
            let mut grows = true;
            for _ in 0..n_steps {
                // Up and down, so that heaps fill up with removed rows and run empty.
                grows = if dice.chance(0.05) { !grows } else { grows };
                if there.is_empty() || dice.chance(if grows { 0.8 } else { 0.2 }) {
                    let row = rows[dice.below(rows.len())];
                    heaps.push(row.0, row.1).unwrap();
                    there.extend((row.1 > 0.0).then_some(row));
                } else {
                    let row = there.swap_remove(dice.below(there.len()));
                    heaps.remove(row.0, row.1).unwrap();
                }
                prop_assert_eq!((heaps.len(), heaps.is_empty()), (there.len(), there.is_empty()));
                if there.is_empty() {
                    prop_assert_eq!((heaps.median(), heaps.absolute_error()), (None, 0.0));
                    continue;
                }
                let expected = naive(level, &there);
                prop_assert_eq!(heaps.median(), Some(expected.value));
                let (small, large) = (heaps.small_median().unwrap(), heaps.large_median().unwrap());
                prop_assert!(small <= expected.value && expected.value <= large);
                prop_assert!(there.iter().any(|row| row.0 == small) && there.iter().any(|row| row.0 == large));
                prop_assert!(close(heaps.absolute_error(), naive_loss(level, expected), &there), "{:?} {:?} {:?}", heaps.absolute_error(), naive_loss(level, expected), there);
            }
        }
    }

    #[test]
    fn the_worked_example() {
        // X = [1, 3, 8, 7] and Y = [3, 1, 6, 9]: in the order of X, Y is 3, 1, 9, 6.
        let y = [3.0, 1.0, 9.0, 6.0];
        let left = running_median(&y, None, 0.5).unwrap();
        assert_eq!(left.medians, [3.0, 2.0, 3.0, 4.5]);
        let reversed: Vec<f64> = y.iter().rev().copied().collect();
        let right = running_median(&reversed, None, 0.5).unwrap();
        assert_eq!(right.medians, [6.0, 7.5, 6.0, 4.5]);
        // As the document prints it, unsorted: 3, 1, 6, 9.
        assert_eq!(running_median(&[3.0, 1.0, 6.0, 9.0], None, 0.5).unwrap().medians, [3.0, 2.0, 3.0, 4.5]);
        assert_eq!(running_median(&[9.0, 6.0, 1.0], None, 0.5).unwrap().medians, [9.0, 7.5, 6.0]);
    }

    #[test]
    fn what_was_removed_leaves_nothing_behind() {
        for (giant, weight) in [(1e300, 1.0), (-1e300, 1.0), (1e25, 1.0), (1.0, 1e300), (1e150, 1e150), (1e200, 1e200)]
        {
            let mut heaps = RunningMedian::new();
            for value in [0.1, 0.2, 0.4, 0.8] {
                heaps.push(value, 1.0).unwrap();
            }
            let before = heaps.absolute_error();
            heaps.push(giant, weight).unwrap();
            heaps.remove(giant, weight).unwrap();
            assert_eq!((heaps.len(), heaps.small_median(), heaps.large_median()), (4, Some(0.2), Some(0.4)));
            assert!((heaps.absolute_error() - before).abs() <= 1e-15, "{giant} of weight {weight}");
        }
    }

    #[test]
    fn sums_beyond_floats_are_infinite_and_never_nan() {
        let running = running_median(&[1e308, -1e308, 1e308, -1e308], None, 0.5).unwrap();
        assert_eq!(running.medians, [1e308, 0.0, 1e308, 0.0]);
        assert!(running.losses.iter().all(|loss| *loss >= 0.0), "{:?}", running.losses);
    }

    /// Light rows in the middle, and heavy ones that come left and right in turns: each sends the median across all the light ones.
    fn shuttle(n: usize) -> (Vec<f64>, Vec<f64>) {
        let row = |i: usize| match i {
            _ if i < n / 2 => (i as f64 / n as f64, 1e-9),
            _ if i.is_multiple_of(4) || i % 4 == 3 => (-1.0, 1.0),
            _ => (2.0, 1.0),
        };
        (0..n).map(row).unzip()
    }

    #[test]
    fn hostile_weights_take_no_longer_than_others() {
        let (y, weights) = shuttle(2_000);
        let running = running_median(&y, Some(&weights), 0.5).unwrap();
        let rows: Vec<(f64, f64)> = y.iter().copied().zip(weights).collect();
        for k in (1_000..2_000).step_by(37) {
            assert_eq!(running.medians[k], naive(0.5, &rows[..=k]).value);
        }
        // With heaps alone, this many would move 10^10 rows.
        let (y, weights) = shuttle(300_000);
        assert_eq!(running_median(&y, Some(&weights), 0.5).unwrap().medians.len(), 300_000);
    }

    #[test]
    fn refusals_name_the_argument() {
        let mut heaps = RunningMedian::new();
        let problems = [
            (heaps.push(f64::NAN, 1.0), "value: must be finite, got NaN"),
            (heaps.push(1.0, -1.0), "weight: must be finite and not negative, got -1"),
            (heaps.push(1.0, f64::INFINITY), "weight: must be finite and not negative, got inf"),
            (heaps.remove(1.0, 1.0), "value: 1 with weight 1 is not there to be removed"),
            (running_median(&[1.0, f64::NAN], None, 0.5).map(drop), "y: must be finite, got NaN at index 1"),
            (
                running_median(&[1.0], Some(&[1.0, 2.0]), 0.5).map(drop),
                "sample_weight: must have one weight a value: 2 for 1",
            ),
            (
                running_median(&[1.0], Some(&[-1.0]), 0.5).map(drop),
                "sample_weight: must be finite and not negative, got -1 at index 0",
            ),
            (running_median(&[1.0], None, 1.0).map(drop), "quantile: must be strictly between 0 and 1, got 1"),
            (
                running_median(&[1.0; 2], Some(&[1e308; 2]), 0.5).map(drop),
                "sample_weight: its sum is infinite; scale it down",
            ),
        ];
        for (outcome, message) in problems {
            assert_eq!(outcome.unwrap_err().to_string(), message);
        }
        heaps.push(1.0, 2.0).unwrap();
        assert!(heaps.remove(1.0, 1.0).is_err(), "another weight is another row");
        heaps.remove(1.0, 2.0).unwrap();
        assert!(heaps.remove(1.0, 2.0).is_err());
        assert!(heaps.is_empty());
    }
}

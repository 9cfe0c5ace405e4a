//! Quantiles of sets and running quantiles, compared with their definitions.

use proptest::prelude::*;

use super::{Center, Level, RunningMedian, running_median};
use crate::naive::draw::Dice;

/// q · pinball loss at the level p/q, by its definition: around the first target up to which the
/// weight reaches the share.
pub(crate) fn loss(level: Level, rows: &[(i64, i64)]) -> i128 {
    let (p, q) = (i128::from(level.numerator()), i128::from(level.denominator()));
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
            let expected = loss(exact, &integers) as f64 / exact.denominator() as f64;
            let scaled = sorted.iter().map(|&(y, w)| (y, w * scale));
            let center = Center::of_weighted(exact, scaled);
            prop_assert!((center.pinball_loss(exact) - expected * scale).abs() <= 1e-9 * expected * scale);
            let counts = || sorted.iter().copied();
            prop_assert_eq!(Center::of_exact_weights(exact, counts()), Center::of_weighted(exact, counts()));

            let repeated: Vec<f64> = sorted.iter().flat_map(|&(y, w)| vec![y; w as usize]).collect();
            let same = Center::of_values(exact, &repeated);
            prop_assert_eq!(center.value, same.value, "integer weights are repeated rows");
            prop_assert!((same.pinball_loss(exact) - expected).abs() <= 1e-9 * expected);
            prop_assert!((same.absolute_error() - same.above - same.below).abs() == 0.0);

            // The midpoint of all values with at most the share strictly below and at most the rest
            // strictly above.
            let weight = |side: &dyn Fn(f64) -> bool| repeated.iter().filter(|&&y| side(y)).count() as i64;
            let is_quantile = |m: f64| exact.denominator() * weight(&|y| y < m) <= exact.numerator() * repeated.len() as i64
                && exact.denominator() * weight(&|y| y > m) <= (exact.denominator() - exact.numerator()) * repeated.len() as i64;
            let ends: Vec<f64> = repeated.iter().copied().filter(|&y| is_quantile(y)).collect();
            prop_assert_eq!(same.value, f64::midpoint(ends[0], ends[ends.len() - 1]));
        }
    }
}

mod running {
    use super::*;

    /// The definition: sorts the rows anew.
    fn naive(level: f64, rows: &[(f64, f64)]) -> Center {
        let mut sorted: Vec<(f64, f64)> = rows.iter().copied().filter(|row| row.1 > 0.0).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        Center::of_weighted(Level::new(level).unwrap(), sorted.into_iter())
    }

    fn naive_loss(level: f64, center: Center) -> f64 {
        if level == 0.5 { center.absolute_error() } else { center.pinball_loss(Level::new(level).unwrap()) }
    }

    /// Equal up to the rounding of the naive sum and of double-double sums: an offset costs no
    /// digits.
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
                // The set grows and shrinks, so that heaps fill up with removed rows and become
                // empty.
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
        // In the order in which Y is given.
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

    /// Light rows in the middle, and heavy rows that are added below and above them in turns: each
    /// moves the median across all light rows.
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
        // Two heaps would move 10^10 rows here.
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

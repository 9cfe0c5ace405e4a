//! Every criterion against its naive twin, which computes the loss of all allowed cuts from the
//! definition.

mod range;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use self::range::{Offer, Range, Recipe, Twin, recipes};
use super::classes::Classes;
use super::poisson::Poisson;
use super::squared::{SquaredError, SquaredReport};
use super::{ValueOrder, Weighted};
use crate::naive::ExactGain;
use crate::naive::definition::{self, Definition, Row, lowest, total_weight};
use crate::naive::draw::{Dice, Values, Weights, draw_classes, draw_counts};
use crate::params::Impurity;
use crate::split::{Cut, Found};

/// Tolerance for a gain that is not small beside its node's loss.
const RELATIVE: f64 = 1e-9;

fn check<C: Twin>(criterion: &C, definition: Definition, range: &Range) -> TestCaseResult {
    let node = range.describe(criterion);
    let offers = range.offers(definition);
    check_summary(criterion, &node, definition, range)?;
    let found = range.find(criterion, &node, 0.0);
    let Some(found) = found else {
        let missed = offers
            .iter()
            .find(|offer| range.allows(offer, RELATIVE) && offer.lighter > definition::least_seen(&range.rows));
        prop_assert!(missed.is_none(), "no cut found, but {:?}", missed.map(|offer| offer.cut));
        return Ok(());
    };
    check_gain(criterion, &node, range, found, &offers, definition.blur(&range.rows))?;
    check_twins(range, &offers, found.cut)?;
    check_rivals(criterion, &node, range, found)?;
    check_bounds(criterion, &node, range, found)
}

/// No feature gains more than its bound, which does not cover missing values.
fn check_bounds<C: Twin>(criterion: &C, node: &C::NodeStats, range: &Range, found: Found) -> TestCaseResult {
    if !range.has_missing() && 2 * range.rules.min_rows_leaf <= range.rows.len() {
        for bound in range.bounds(criterion, node) {
            prop_assert!(bound >= found.top, "{found:?}, but the bound is {bound}");
        }
    }
    Ok(())
}

fn check_summary<C: Twin>(criterion: &C, node: &C::NodeStats, definition: Definition, range: &Range) -> TestCaseResult {
    let rows = &range.rows;
    let (weight, impurity) = (total_weight(rows), definition.loss(rows) / total_weight(rows));
    prop_assert_eq!(criterion.rows(node), rows.len());
    let found = criterion.weight(node);
    prop_assert!((found - weight).abs() <= weight * 1e-12, "weight {found} for {weight}");
    // The reported mean has 53 bits, so deviations from it are off by its rounding.
    let rounding = (lowest(rows).abs() * f64::EPSILON).powi(2);
    let blur = definition.blur(rows) / weight + rounding;
    let found = criterion.impurity(node);
    prop_assert!((found - impurity).abs() <= RELATIVE * impurity + blur, "impurity {found} for {impurity}");
    let mut values = Vec::new();
    criterion.write_value(node, &mut values);
    prop_assert_eq!(values.len(), criterion.n_values());
    let scale = definition::range(rows) + lowest(rows).abs();
    for (value, expected) in values.iter().zip(definition.value(rows, values.len())) {
        prop_assert!((value - expected).abs() <= 1e-12 * scale, "value {value} for {expected}");
    }
    Ok(())
}

/// The found cut is allowed and the best one, and the criterion reports its true gain.
fn check_gain<C: Twin>(
    criterion: &C,
    node: &C::NodeStats,
    range: &Range,
    found: Found,
    offers: &[Offer],
    blur: f64,
) -> TestCaseResult {
    let chosen = offers.iter().find(|offer| offer.cut == found.cut && range.allows(offer, -RELATIVE));
    prop_assert!(chosen.is_some(), "{:?} is not allowed", found.cut);
    let gain = chosen.map_or(f64::NAN, |offer| offer.gain);
    let clear = offers.iter().filter(|offer| range.allows(offer, RELATIVE));
    let best = clear.map(|offer| offer.gain).fold(0.0, f64::max);
    prop_assert!(gain >= best - (RELATIVE * best + blur), "{found:?} gains {gain}, the best {best}");
    let claimed = criterion.loss_decrease(node, found.top);
    prop_assert!((claimed - gain).abs() <= RELATIVE * gain + blur, "{found:?} claims {claimed}, gains {gain}");
    Ok(())
}

/// No earlier cut has the same rows on its two sides: the gains of both cuts would be equal, and
/// ties go to the first.
fn check_twins(range: &Range, offers: &[Offer], chosen: Cut) -> TestCaseResult {
    let sorted_sides = |cut: Cut| {
        let mut sides = range.sides(cut);
        for side in &mut sides {
            side.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        }
        sides.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        sides
    };
    let twin = sorted_sides(chosen);
    let sizes = [chosen.n_left, range.rows.len() - chosen.n_left];
    let first = offers.iter().find(|offer| {
        sizes.contains(&offer.cut.n_left) && range.allows(offer, RELATIVE) && sorted_sides(offer.cut) == twin
    });
    prop_assert!(first.is_none_or(|first| first.cut == chosen), "{chosen:?} ties with an earlier cut");
    Ok(())
}

/// Gains of other features change nothing unless they are larger.
fn check_rivals<C: Twin>(criterion: &C, node: &C::NodeStats, range: &Range, found: Found) -> TestCaseResult {
    for share in [0.3, 0.999, 1.0 - 1e-12, 1.0] {
        let again = range.find(criterion, node, found.top * share);
        prop_assert_eq!(again.map(|again| (again.top, again.cut)), Some((found.top, found.cut)));
    }
    Ok(())
}

/// For integers the gains are exact fractions, so that ties are certain: the first of the best cuts
/// wins.
fn check_exactly<C: Twin>(criterion: &C, definition: Definition, range: &Range) -> TestCaseResult {
    let n_classes = 1 + range.rows.iter().map(|row| row.0.max(0.0) as usize).max().unwrap_or(0);
    let parts = |rows: &[(i128, i128)]| match definition {
        Definition::SquaredError => vec![rows.iter().map(|(y, weight)| y * weight).sum()],
        _ => (0..n_classes as i128)
            .map(|class| rows.iter().filter(|row| row.0 == class).map(|row| row.1).sum())
            .collect(),
    };
    let gain = |cut: Cut| {
        let [left, right] =
            range.sides(cut).map(|side| side.iter().map(|row| (row.0 as i128, row.1 as i128)).collect());
        let (left, right): (Vec<_>, Vec<_>) = (left, right);
        ExactGain::new(&left, &right, parts)
    };
    let offers = range.offers(definition);
    let allowed = offers.iter().filter(|offer| range.allows(offer, 0.0));
    let gains: Vec<(Cut, ExactGain)> = allowed.map(|offer| (offer.cut, gain(offer.cut))).collect();
    let best = gains.iter().map(|entry| entry.1).reduce(|a, b| if b > a { b } else { a });
    let node = range.describe(criterion);
    let found = range.find(criterion, &node, 0.0);
    let Some(best) = best else {
        prop_assert!(found.is_none());
        return Ok(());
    };
    // Gains within 1e-11 of each other are ties by definition; cases where such gains differ are
    // skipped.
    prop_assume!(gains.iter().all(|entry| entry.1 == best || entry.1.to_f64() < best.to_f64() * (1.0 - 1e-10)));
    let first = gains.iter().find(|entry| entry.1 == best).map(|entry| entry.0);
    prop_assert_eq!(found.map(|found| found.cut), first);
    Ok(())
}

/// A sweep finds the cut that is found cut by cut, without a monotonic constraint and with one of
/// either sign.
fn check_order<C: Twin>(criterion: &C, range: &Range) -> TestCaseResult {
    let node = range.describe(criterion);
    for sign in [0.0, 1.0, -1.0] {
        let free = ValueOrder { sign, low: f64::NEG_INFINITY, high: f64::INFINITY };
        let order = (sign != 0.0).then_some(free);
        let [found, expected] =
            [range.find_in_order(criterion, &node, 0.0, order), range.find_one_by_one(criterion, &node, order)]
                .map(|found| found.map(|found| (found.top.to_bits(), found.gain.to_bits(), found.cut)));
        prop_assert_eq!(found, expected, "sign {}", sign);
    }
    Ok(())
}

fn differ(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.0 != rows[0].0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn squared_error(recipe in recipes(), kind in Values::any()) {
        let range = recipe.range(false, |dice, x| kind.draw(dice, x));
        prop_assume!(differ(&range.rows));
        check(&SquaredError::<f64>::new(SquaredReport::Mean), Definition::SquaredError, &range)?;
    }

    #[test]
    fn weighted_squared_error(recipe in recipes(), kind in Values::any()) {
        let range = recipe.range(true, |dice, x| kind.draw(dice, x));
        prop_assume!(differ(&range.rows));
        check(&SquaredError::<Weighted<f64>>::new(SquaredReport::Mean), Definition::SquaredError, &range)?;
    }

    #[test]
    fn poisson(recipe in recipes(), kind in Values::any()) {
        let range = recipe.range(false, |dice, x| draw_counts(kind, dice, x));
        prop_assume!(differ(&range.rows));
        check(&Poisson::<f64>::new(), Definition::Poisson, &range)?;
    }

    #[test]
    fn weighted_poisson(recipe in recipes(), kind in Values::any()) {
        let range = recipe.range(true, |dice, x| draw_counts(kind, dice, x));
        prop_assume!(differ(&range.rows));
        check(&Poisson::<Weighted<f64>>::new(), Definition::Poisson, &range)?;
    }

    #[test]
    fn cuts_in_order(recipe in recipes(), kind in Values::any(), is_alternating in any::<bool>()) {
        let numbers = |dice: &mut Dice, x: &[f64]| {
            if is_alternating { (0..x.len()).map(|row| (row % 2) as f64).collect() } else { kind.draw(dice, x) }
        };
        let plain = recipe.range(false, numbers);
        let weighted = recipe.range(true, numbers);
        prop_assume!(differ(&plain.rows));
        check_order(&SquaredError::<f64>::new(SquaredReport::Mean), &plain)?;
        check_order(&SquaredError::<Weighted<f64>>::new(SquaredReport::Mean), &weighted)?;
        let counts = |dice: &mut Dice, x: &[f64]| draw_counts(kind, dice, x);
        let [plain, weighted] = [false, true].map(|is_weighted| recipe.range(is_weighted, counts));
        if differ(&plain.rows) {
            check_order(&Poisson::<f64>::new(), &plain)?;
            check_order(&Poisson::<Weighted<f64>>::new(), &weighted)?;
        }
        let codes = |dice: &mut Dice, x: &[f64]| draw_classes(dice, x, 2);
        let [plain, weighted] = [false, true].map(|is_weighted| recipe.range(is_weighted, codes));
        for impurity in [Impurity::Gini, Impurity::Entropy] {
            check_order(&Classes::<u32>::new(impurity, 2, plain.rows.len()), &plain)?;
            check_order(&Classes::<Weighted<u32>>::new(impurity, 2, plain.rows.len()), &weighted)?;
        }
    }

    #[test]
    fn two_classes_as_squared_error(recipe in recipes()) {
        for weighted in [false, true] {
            let range = recipe.range(weighted, |dice, x| draw_classes(dice, x, 2));
            prop_assume!(differ(&range.rows));
            if weighted {
                check(&SquaredError::<Weighted<f64>>::new(SquaredReport::TwoClasses), Definition::Gini, &range)?;
            } else {
                check(&SquaredError::<f64>::new(SquaredReport::TwoClasses), Definition::Gini, &range)?;
            }
        }
    }

    #[test]
    fn classes(recipe in recipes(), n_classes in 2..6usize) {
        let range = recipe.range(false, |dice, x| draw_classes(dice, x, n_classes));
        prop_assume!(differ(&range.rows));
        for (impurity, definition) in IMPURITIES {
            check(&Classes::<u32>::new(impurity, n_classes, recipe.n), definition, &range)?;
        }
    }

    #[test]
    fn weighted_classes(recipe in recipes(), n_classes in 2..6usize) {
        let range = recipe.range(true, |dice, x| draw_classes(dice, x, n_classes));
        prop_assume!(differ(&range.rows));
        for (impurity, definition) in IMPURITIES {
            check(&Classes::<Weighted<u32>>::new(impurity, n_classes, recipe.n), definition, &range)?;
        }
    }

    #[test]
    fn ties_of_integers_go_to_the_first_cut(recipe in recipes(), n_classes in 2..6usize) {
        let recipe = Recipe { weights: Weights::Integers, ..recipe };
        for weighted in [false, true] {
            let range = recipe.range(weighted, |dice, x| Values::Integers.draw(dice, x));
            prop_assume!(differ(&range.rows));
            check_exactly(&SquaredError::<Weighted<f64>>::new(SquaredReport::Mean), Definition::SquaredError, &range)?;
            if !weighted {
                check_exactly(&SquaredError::<f64>::new(SquaredReport::Mean), Definition::SquaredError, &range)?;
            }
            let range = recipe.range(weighted, |dice, x| draw_classes(dice, x, n_classes));
            prop_assume!(differ(&range.rows));
            let classes = Classes::<Weighted<u32>>::new(Impurity::Gini, n_classes, recipe.n);
            check_exactly(&classes, Definition::Gini, &range)?;
        }
    }

    #[test]
    fn running_losses_are_losses(recipe in recipes(), kind in Values::any(), n_classes in 2..6usize) {
        let values = recipe.range(true, |dice, x| kind.draw(dice, x)).rows;
        let classes = recipe.range(true, |dice, x| draw_classes(dice, x, n_classes)).rows;
        let counts = recipe.range(true, |dice, x| draw_counts(kind, dice, x)).rows;
        let shifted: Vec<Row> = values.iter().map(|row| (row.0 - lowest(&values), row.1)).collect();
        for (definition, rows) in
            [
                (Definition::SquaredError, shifted), (Definition::Gini, classes.clone()),
                (Definition::Entropy, classes), (Definition::Poisson, counts),
            ]
        {
            let running = definition.running_losses(rows.iter().copied());
            for (i, &loss) in running.iter().enumerate().step_by(7) {
                let expected = definition.loss(&rows[..=i]);
                let power = if definition == Definition::Poisson { 1 } else { 2 };
                let rounding = 1e-13 * total_weight(&rows[..=i]) * definition::range(&rows).powi(power);
                let same = loss == expected; // For infinite losses.
                prop_assert!(same || (loss - expected).abs() <= rounding, "{loss} for {expected}");
            }
        }
    }
}

const IMPURITIES: [(Impurity, Definition); 2] =
    [(Impurity::Gini, Definition::Gini), (Impurity::Entropy, Definition::Entropy)];

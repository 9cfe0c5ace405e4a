//! `examples/forest.rs` on generated rows.

#[path = "../examples/forest.rs"]
mod example;

use std::fmt::Write as _;

use self::example::{Table, fit, intervals};
use splitwood::ForestModel;

/// Rows of a feature that matters and one that does not; the spread grows with the first.
fn rows() -> String {
    let mut text = String::new();
    for i in 0..600u32 {
        let (x, noise) = (f64::from(i * 37 % 600) / 600.0, f64::from(i * 7919 % 601) / 601.0);
        let cell = if i % 50 == 0 { String::new() } else { noise.to_string() };
        writeln!(text, "{x}, {cell}, {}", 10.0 * x + x * (noise - 0.5)).unwrap();
    }
    text
}

#[test]
fn the_forest_is_good_and_its_file_gives_the_same_intervals() {
    let table = Table::parse(&rows()).unwrap();
    let (model, score) = fit(&table).unwrap();
    assert!((0.95..1.0).contains(&score), "{score}");
    let x = table.rows().unwrap();
    let found = intervals(&model, &x).unwrap();
    assert_eq!(intervals(&ForestModel::from_bytes(&model.to_bytes()).unwrap(), &x).unwrap(), found);
    let inside = found.iter().zip(&table.targets).filter(|([low, _, high], y)| (low..=high).contains(y)).count();
    assert!(inside > 480, "{inside} of 600");
    let no_quantiles = ForestModel::regressor(model.into_predictor()).unwrap();
    assert!(intervals(&no_quantiles, &x).is_err());
}

#[test]
fn lines_without_numbers_are_named() {
    for (text, line) in [("1,2\n1\n", "line 2"), ("1,x\n", "line 1"), ("1\n", "line 1")] {
        let error = Table::parse(text).err().unwrap().to_string();
        assert!(error.starts_with(line), "{error}");
    }
    assert!(fit(&Table::parse("").unwrap()).is_err());
    assert!(fit(&Table::parse("1,\n2,3\n").unwrap()).is_err(), "a target is missing");
}

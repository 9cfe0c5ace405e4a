//! Everything that is refused, with the name of the argument that is wrong.

use splitwood::{Error, Loss, Matrix, Params, Result, Size, Target, Tree, fit, fit_while};

const CELLS: [f64; 4] = [0.0, 1.0, 2.0, 3.0];
const Y: [f64; 4] = [0.0, 0.0, 1.0, 1.0];

fn x() -> Matrix<'static, f64> {
    Matrix::from_rows(&CELLS, 4, 1).unwrap()
}

/// Asserts that the error names this argument and that its message contains these words.
#[track_caller]
fn assert_refused<T: std::fmt::Debug>(outcome: Result<T>, argument: &str, words: &str) {
    let error = outcome.expect_err("it is to be refused");
    assert!(matches!(&error, Error::Argument { name, .. } if *name == argument), "{argument}: {error}");
    assert!(error.to_string().starts_with(&format!("{argument}: ")), "{error}");
    assert!(error.to_string().contains(words), "no “{words}” in “{error}”");
}

fn fit_values(y: &[f64]) -> Result<Tree> {
    fit(&x(), Target::Values(y), None, Loss::SquaredError, &Params::default())
}

fn fit_weights(weights: &[f64]) -> Result<Tree> {
    fit(&x(), Target::Values(&Y), Some(weights), Loss::SquaredError, &Params::default())
}

fn fit_classes(codes: &[u32], n_classes: usize, loss: Loss) -> Result<Tree> {
    fit(&x(), Target::Classes { codes, n_classes }, None, loss, &Params::default())
}

fn fit_params(params: &Params) -> Result<Tree> {
    fit(&x(), Target::Values(&Y), None, Loss::SquaredError, params)
}

#[test]
fn matrices() {
    assert_refused(Matrix::from_rows(&CELLS, 3, 2), "X", "got 4");
    assert_refused(Matrix::from_rows(&CELLS, usize::MAX, 2), "X", "got 4");
    assert_refused(Matrix::from_rows(&CELLS[..0], 0, 1), "X", "(0, 1)");
    assert_refused(Matrix::from_rows(&CELLS[..0], 1, 0), "X", "(1, 0)");
    assert_refused(Matrix::with_strides(&CELLS, 0, 1 << 31, 1, 0, 0), "X", "rows");
    for (first, rows, row_stride, column_stride) in
        [(0, 5, 1, 0), (1, 4, 1, 0), (0, 2, -1, 0), (3, 2, -2, -2), (0, 2, isize::MAX, 0), (4, 1, 0, 0)]
    {
        assert_refused(Matrix::with_strides(&CELLS, first, rows, 2, row_stride, column_stride), "X", "strides");
    }
}

#[test]
fn targets() {
    assert_refused(fit_values(&Y[..3]), "y", "3");
    assert_refused(fit_values(&[0.0, f64::NAN, 1.0, 1.0]), "y", "row 1");
    assert_refused(fit_values(&[0.0, 0.0, 0.0, f64::NEG_INFINITY]), "y", "-inf");
    assert_refused(fit_values(&[0.0, 0.0, 1e160, 1.0]), "y", "1e160");
    assert_refused(fit_classes(&[0, 1, 2, 0], 2, Loss::Gini), "y", "row 2");
    assert_refused(fit_classes(&[0, 1], 2, Loss::Gini), "y", "2");
    assert_refused(fit_classes(&[0; 4], 0, Loss::Entropy), "y", "n_classes = 0");
}

#[test]
fn more_classes_than_memory() {
    assert_refused(fit_classes(&[0, 0, 1, 1], usize::MAX, Loss::Gini), "y", "n_classes");
}

#[test]
fn weights() {
    assert_refused(fit_weights(&[1.0; 5]), "sample_weight", "5");
    assert_refused(fit_weights(&[1.0, f64::NAN, 1.0, 1.0]), "sample_weight", "NaN");
    assert_refused(fit_weights(&[1.0, f64::INFINITY, 1.0, 1.0]), "sample_weight", "inf");
    assert_refused(fit_weights(&[1.0, 1.0, 1.0, -0.5]), "sample_weight", "-0.5 in row 3");
    assert_refused(fit_weights(&[0.0; 4]), "sample_weight", "zero");
    assert_refused(fit_weights(&[-0.0; 4]), "sample_weight", "zero");
    assert_refused(fit_weights(&[1e308; 4]), "sample_weight", "overflows");
}

#[test]
fn losses_that_do_not_go_with_the_target() {
    let values = |loss| fit(&x(), Target::Values(&Y), None, loss, &Params::default());
    assert_refused(values(Loss::Gini), "criterion", "classes");
    assert_refused(values(Loss::Entropy), "criterion", "classes");
    assert_refused(fit_classes(&[0, 0, 1, 1], 2, Loss::SquaredError), "criterion", "values");
    assert_refused(fit_classes(&[0, 0, 1, 1], 2, Loss::Poisson), "criterion", "values");
    assert_refused(fit_classes(&[0, 0, 1, 1], 2, Loss::AbsoluteError), "criterion", "values");
    assert_refused(fit_classes(&[0, 0, 1, 1], 2, Loss::Quantile(0.5)), "criterion", "values");
}

#[test]
fn levels_of_quantiles() {
    let at = |level| fit(&x(), Target::Values(&Y), None, Loss::Quantile(level), &Params::default());
    for level in [0.0, -0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_refused(at(level), "quantile", &format!("strictly between 0 and 1, got {level}"));
    }
}

#[test]
fn targets_without_a_deviance() {
    let counts =
        |y: &[f64], weights: &[f64]| fit(&x(), Target::Values(y), Some(weights), Loss::Poisson, &Params::default());
    assert_refused(counts(&[0.0, 1.0, -0.5, 2.0], &[1.0; 4]), "y", "-0.5 in row 2");
    assert_refused(counts(&[0.0, -0.0, 0.0, 0.0], &[1.0; 4]), "y", "Sum of y is not positive");
    assert_refused(counts(&[3.0, 0.0, 0.0, 0.0], &[0.0, 1.0, 1.0, 1.0]), "y", "Sum of y is not positive");
    assert!(counts(&[0.0, 0.0, 0.0, 1e-300], &[1.0; 4]).is_ok());
}

#[test]
fn settings() {
    let ok = Params::default();
    for depth in [0, -1, i64::MIN] {
        assert_refused(fit_params(&Params { max_depth: Some(depth), ..ok.clone() }), "max_depth", &depth.to_string());
    }
    for (size, words) in [
        (Size::Rows(0), "0"),
        (Size::Rows(-3), "-3"),
        (Size::Fraction(0.0), "0.0"),
        (Size::Fraction(1.0), "1.0"),
        (Size::Fraction(f64::NAN), "NaN"),
    ] {
        assert_refused(fit_params(&Params { min_samples_leaf: size, ..ok.clone() }), "min_samples_leaf", words);
    }
    for (size, words) in [(Size::Rows(1), "1"), (Size::Fraction(-0.1), "-0.1"), (Size::Fraction(1.1), "1.1")] {
        assert_refused(fit_params(&Params { min_samples_split: size, ..ok.clone() }), "min_samples_split", words);
    }
    for share in [-0.1, 0.51, f64::NAN, f64::INFINITY] {
        let params = Params { min_weight_fraction_leaf: share, ..ok.clone() };
        assert_refused(fit_params(&params), "min_weight_fraction_leaf", &share.to_string());
    }
    for decrease in [-1e-9, f64::NAN, f64::NEG_INFINITY] {
        let params = Params { min_impurity_decrease: decrease, ..ok.clone() };
        assert_refused(fit_params(&params), "min_impurity_decrease", &decrease.to_string());
    }
    for alpha in [-1e-9, f64::NAN, f64::NEG_INFINITY] {
        assert_refused(fit_params(&Params { ccp_alpha: alpha, ..ok.clone() }), "ccp_alpha", &alpha.to_string());
        assert_refused(fit_values(&Y).unwrap().pruned(alpha), "ccp_alpha", &alpha.to_string());
    }
}

#[test]
fn numbers_of_jobs() {
    assert_refused(fit_params(&Params { n_jobs: Some(0), ..Params::default() }), "n_jobs", "0");
    let tree = fit_values(&Y).unwrap();
    assert_refused(tree.predict(&x(), Some(0)), "n_jobs", "0");
    assert_refused(tree.apply(&x(), Some(0)), "n_jobs", "0");
}

#[test]
fn limits_of_settings_are_allowed() {
    for params in [
        Params { max_depth: Some(i64::MAX), ..Params::default() },
        Params { min_samples_leaf: Size::Rows(i64::MAX), ..Params::default() },
        Params { min_samples_split: Size::Rows(i64::MAX), ..Params::default() },
        Params { min_samples_split: Size::Fraction(1.0), ..Params::default() },
        Params { min_samples_leaf: Size::Fraction(1e-300), ..Params::default() },
        Params { min_weight_fraction_leaf: 0.5, ..Params::default() },
        Params { min_impurity_decrease: f64::INFINITY, ..Params::default() },
        Params { ccp_alpha: f64::INFINITY, ..Params::default() },
        Params { n_jobs: Some(i64::MIN), ..Params::default() },
        Params { n_jobs: Some(i64::MAX), ..Params::default() },
    ] {
        assert!(fit_params(&params).is_ok(), "{params:?}");
    }
}

#[test]
fn a_caller_who_does_not_go_on() {
    let cells: Vec<f64> = (0..600_000u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64).collect();
    let y: Vec<f64> = cells.iter().take(200_000).map(|cell| cell.sin()).collect();
    let x = Matrix::from_rows(&cells, 200_000, 3).unwrap();
    let outcome = fit_while(|_| false, &x, Target::Values(&y), None, Loss::SquaredError, &Params::default());
    assert_eq!(outcome, Err(Error::Interrupted));
}

#[test]
fn values_of_leaves() {
    let ok = |_: &[f64], _: &[f64]| Ok::<f64, Error>(1.0);
    let tree = fit_values(&Y).unwrap();
    assert_refused(tree.clone().with_leaf_values(&x(), &Y[..3], None, None, ok), "y", "3");
    assert_refused(tree.clone().with_leaf_values(&x(), &Y, Some(&[1.0; 3]), None, ok), "sample_weight", "3");
    let nan = |_: &[f64], _: &[f64]| Ok::<f64, Error>(f64::NAN);
    assert_refused(tree.clone().with_leaf_values(&x(), &Y, None, None, nan), "leaf_value", "NaN for node 1");
    let classes = fit_classes(&[0, 0, 1, 1], 2, Loss::Gini).unwrap();
    assert_refused(classes.with_leaf_values(&x(), &Y, None, None, ok), "leaf_value", "regression");
    let refuse = |_: &[f64], _: &[f64]| Err(Error::Interrupted);
    assert_eq!(tree.with_leaf_values(&x(), &Y, None, None, refuse), Err(Error::Interrupted));
}

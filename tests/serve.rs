//! `examples/serve.rs` on the golden models, which Python trained and saved: the predictions are
//! Python's.

#[path = "../examples/serve.rs"]
mod example;

use std::fs;
use std::path::{Path, PathBuf};

use self::example::serve;
use splitwood::{ForestModel, Interpolation, Labels, Matrix, Model};

/// The golden models of all versions, without file extensions; version 1.2 added forests.
fn golden() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let entries =
        |folder: &Path| -> Vec<PathBuf> { fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect() };
    let files = entries(&folder).into_iter().filter(|path| path.is_dir()).flat_map(|version| entries(&version));
    files.filter(|path| path.extension().is_some_and(|end| end == "splitwood")).map(|p| p.with_extension("")).collect()
}

fn is_forest(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with("1.2"))
}

/// The rows of the golden models in this file's folder.
fn rows(path: &Path) -> Vec<f64> {
    let text = fs::read_to_string(path.with_file_name("rows.csv")).unwrap();
    let cell = |cell: &str| if cell.is_empty() { f64::NAN } else { cell.parse().unwrap() };
    text.lines().flat_map(|line| line.split(',').map(cell)).collect()
}

fn same(answer: &str, expected: &str, labels: Option<&Labels>) -> bool {
    match labels {
        // Python writes True and False.
        Some(Labels::Bools(_)) => answer == expected.to_lowercase(),
        Some(Labels::Integers(_) | Labels::Strings(_)) => answer == expected,
        _ => answer.parse::<f64>().unwrap().to_bits() == expected.parse::<f64>().unwrap().to_bits(),
    }
}

#[test]
fn golden_models_answer_as_python_did() {
    let golden = golden();
    assert!(golden.len() >= 8, "{golden:?}");
    for path in golden.into_iter().filter(|path| !is_forest(path)) {
        let model = Model::load(path.with_extension("splitwood")).unwrap();
        let rows = fs::read_to_string(path.with_file_name("rows.csv")).unwrap();
        let expected = fs::read_to_string(path.with_extension("expected.csv")).unwrap();
        let mut answers = Vec::new();
        serve(&model, rows.as_bytes(), &mut answers).unwrap();
        let answers = String::from_utf8(answers).unwrap();
        assert_eq!(answers.lines().count(), expected.lines().count());
        for ((answer, expected), row) in answers.lines().zip(expected.lines()).zip(rows.lines()) {
            let expected: Vec<&str> = expected.split(',').collect();
            let answers: Vec<&str> = answer.split(',').collect();
            assert_eq!(answers.len(), model.tree().n_outputs());
            let (first, expected) = expected.split_at(answers.len());
            for (j, (answer, first)) in answers.iter().zip(first).enumerate() {
                assert!(same(answer, first, model.classes().get(j)), "{path:?}: {answer} for {first}");
            }
            let cell = |cell: &str| if cell.is_empty() { f64::NAN } else { cell.parse().unwrap() };
            let cells: Vec<f64> = row.split(',').map(cell).collect();
            let shares = model.tree().predict(&Matrix::from_rows(&cells, 1, 3).unwrap(), Some(1)).unwrap();
            for (share, expected) in shares.iter().zip(expected) {
                assert_eq!(share.to_bits(), expected.parse::<f64>().unwrap().to_bits(), "{path:?}");
            }
        }
    }
}

#[test]
fn lines_that_are_no_rows_are_named() {
    let model = Model::load(golden()[0].with_extension("splitwood")).unwrap();
    for (rows, problem) in [
        ("1,2,3\n1,2\n", "line 2: X: has 2 columns"),
        ("1,2,x\n", "line 1: \"x\" is no number"),
        ("1,2,3\n\n", "line 2: X: has 1 columns"),
    ] {
        let mut answers = Vec::new();
        let error = serve(&model, rows.as_bytes(), &mut answers).unwrap_err().to_string();
        assert!(error.starts_with(problem), "{error}");
        assert_eq!(String::from_utf8(answers).unwrap().lines().count(), rows.lines().count() - 1);
    }
}

#[test]
fn golden_forests_answer_as_python_did() {
    let golden: Vec<PathBuf> = golden().into_iter().filter(|path| is_forest(path)).collect();
    assert_eq!(golden.len(), 3);
    for path in golden {
        let model = ForestModel::load(path.with_extension("splitwood")).unwrap();
        let cells = rows(&path);
        let x = Matrix::from_rows(&cells, cells.len() / 3, 3).unwrap();
        let forest = model.forest();
        let found: Vec<Vec<f64>> = if let Some(leaves) = model.leaf_rows() {
            let quantiles = |output| {
                let targets = leaves.targets(forest, output).unwrap();
                targets.quantiles(forest, &x, &[0.7], Interpolation::Linear, None).unwrap()
            };
            quantiles(0).into_iter().zip(quantiles(1)).map(|(first, second)| vec![first, second]).collect()
        } else {
            forest.predict(&x, None).unwrap().chunks(forest.n_values()).map(<[f64]>::to_vec).collect()
        };
        let expected = fs::read_to_string(path.with_extension("expected.csv")).unwrap();
        assert_eq!(found.len(), expected.lines().count());
        for (found, line) in found.iter().zip(expected.lines()) {
            // A label comes before the shares of the classes.
            let numbers: Vec<&str> = line.split(',').skip(model.classes().len()).collect();
            assert_eq!(found.len(), numbers.len(), "{path:?}");
            for (found, expected) in found.iter().zip(numbers) {
                assert_eq!(found.to_bits(), expected.parse::<f64>().unwrap().to_bits(), "{path:?}");
            }
        }
    }
}

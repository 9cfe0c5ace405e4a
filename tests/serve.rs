//! `examples/serve.rs` on the golden models, which Python trained and saved: the predictions are
//! Python's.

#[path = "../examples/serve.rs"]
mod example;

use std::fs;
use std::path::{Path, PathBuf};

use self::example::serve;
use splitwood::{Labels, Matrix, Model};

/// The golden models of all versions, without file extensions.
fn golden() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let entries =
        |folder: &Path| -> Vec<PathBuf> { fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect() };
    let files = entries(&folder).into_iter().filter(|path| path.is_dir()).flat_map(|version| entries(&version));
    files.filter(|path| path.extension().is_some_and(|end| end == "splitwood")).map(|p| p.with_extension("")).collect()
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
    for path in golden {
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

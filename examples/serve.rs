//! Serves a model that was trained in Python, without Python: reads rows as lines of CSV and writes
//! predictions.
//!
//! ```sh
//! python -c 'import splitwood, sklearn.datasets as d; X, y = d.load_iris(return_X_y=True)
//! splitwood.DecisionTreeClassifier(max_depth=3).fit(X, y).save("iris.splitwood")'
//! echo '5.1,3.5,1.4,0.2' | cargo run --release --example serve iris.splitwood
//! ```
//!
//! An empty cell is a missing value. The model is loaded once. Each line is answered immediately,
//! with one cell per output.

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use splitwood::{Labels, Matrix, Model, Task};

/// Answers each line of `input` with a line of `output`.
///
/// # Errors
/// At the first line that is not a row of the model. All lines before it are answered.
pub fn serve(model: &Model, input: impl BufRead, mut output: impl Write) -> Result<(), Box<dyn Error>> {
    for (number, line) in (1..).zip(input.lines()) {
        let answer = answer(model, &line?).map_err(|error| format!("line {number}: {error}"))?;
        writeln!(output, "{answer}")?;
    }
    Ok(())
}

fn answer(model: &Model, line: &str) -> Result<String, Box<dyn Error>> {
    let cells: Vec<f64> = line.split(',').map(parse).collect::<Result<_, _>>()?;
    let row = Matrix::from_rows(&cells, 1, cells.len())?;
    let values = model.tree().predict(&row, Some(1))?;
    let answers: Vec<String> = match model.task() {
        Task::Classification(classes) => {
            // Every output has as many values as the output with the most classes.
            let places = values.chunks(values.len() / classes.len());
            classes.iter().zip(places).map(|(labels, shares)| likeliest(labels, shares)).collect()
        }
        _ => values.iter().map(ToString::to_string).collect(),
    };
    Ok(answers.join(","))
}

/// The label with the largest share; among equal shares, the first one.
fn likeliest(labels: &Labels, shares: &[f64]) -> String {
    let code = (1..labels.len()).fold(0, |best, code| if shares[code] > shares[best] { code } else { best });
    labels.get(code).map(|label| label.to_string()).unwrap_or_default()
}

fn parse(cell: &str) -> Result<f64, String> {
    match cell.trim() {
        "" => Ok(f64::NAN),
        cell => cell.parse().map_err(|_| format!("{cell:?} is no number")),
    }
}

#[allow(dead_code, reason = "tests/serve.rs takes the functions above")]
fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: serve MODEL < rows.csv");
        return ExitCode::FAILURE;
    };
    let served = Model::load(path).map_err(Into::into);
    match served.and_then(|model| serve(&model, io::stdin().lock(), io::stdout().lock())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

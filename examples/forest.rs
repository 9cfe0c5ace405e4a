//! Fits a forest that predicts numbers and their quantiles, without Python: reads rows of CSV whose
//! last cell is the target, prints how good the forest is, and saves it for Rust and Python.
//!
//! ```sh
//! python -c 'import sklearn.datasets as d, numpy as n
//! n.savetxt("rows.csv", n.column_stack(d.load_diabetes(return_X_y=True)), delimiter=",")'
//! cargo run --release --example forest rows.csv forest.splitwood
//! python -c 'import splitwood; print(splitwood.load("forest.splitwood"))'
//! ```
//!
//! An empty cell is a missing value. No rows are held out: each row is predicted by the trees that
//! have not seen it.

use std::error::Error;
use std::process::ExitCode;

use splitwood::{
    Bags, FittedForest, ForestModel, ForestParams, Interpolation, LeafTargets, Loss, Matrix, Params, Size, Target,
    draw_bag, fit_forest,
};

const N_TREES: usize = 200;
const SEED: u64 = 0;

/// Rows and their targets.
pub struct Table {
    /// Row after row.
    pub cells: Vec<f64>,
    /// One per row.
    pub targets: Vec<f64>,
}

impl Table {
    /// Reads rows of CSV.
    ///
    /// # Errors
    /// At the first line that has no numbers, or another number of cells than the first line.
    pub fn parse(text: &str) -> Result<Self, Box<dyn Error>> {
        let mut table = Self { cells: Vec::new(), targets: Vec::new() };
        let width = text.lines().next().map_or(0, |line| line.split(',').count());
        for (number, line) in (1..).zip(text.lines()) {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            let number_of = |cell: &str| if cell.is_empty() { Ok(f64::NAN) } else { cell.parse() };
            let numbers: Result<Vec<f64>, _> = cells.iter().map(|cell| number_of(cell)).collect();
            match numbers {
                Ok(numbers) if numbers.len() == width && width > 1 => {
                    table.cells.extend(&numbers[..width - 1]);
                    table.targets.push(numbers[width - 1]);
                }
                _ => return Err(format!("line {number}: needs {} numbers and a target", width.max(2) - 1).into()),
            }
        }
        Ok(table)
    }

    /// The rows as the library reads them.
    ///
    /// # Errors
    /// If there are none.
    pub fn rows(&self) -> Result<Matrix<'_, f64>, splitwood::Error> {
        let n_rows = self.targets.len();
        Matrix::from_rows(&self.cells, n_rows, self.cells.len() / n_rows.max(1))
    }
}

/// Fits a forest, and keeps the targets in its leaves, from which quantiles follow.
///
/// # Errors
/// If there are no rows, or a target is missing.
pub fn fit(table: &Table) -> Result<(ForestModel, f64), Box<dyn Error>> {
    let (x, y) = (table.rows()?, &table.targets);
    let params = ForestParams {
        tree: Params { min_samples_leaf: Size::Rows(5), ..Params::default() },
        bags: Bags::Bootstrap(y.len()),
        out_of_bag: true,
        ..ForestParams::new(N_TREES, SEED)
    };
    let FittedForest { forest, out_of_bag } = fit_forest(&x, Target::Values(y), None, Loss::SquaredError, &params)?;
    let out_of_bag = out_of_bag.ok_or("the forest has no out-of-bag sums")?;
    let predicted: Vec<f64> =
        out_of_bag.sums.iter().zip(&out_of_bag.n_trees).map(|(sum, &n)| sum / f64::from(n.max(1))).collect();
    // A bag follows from the seed of its tree.
    let bag = |tree: usize| Some(draw_bag(params.seeds[tree], y.len(), y.len(), None));
    let leaves = LeafTargets::new(&forest, &x, y, bag, None)?.to_rows();
    Ok((ForestModel::regressor(forest)?.with_leaf_rows(leaves)?, r_squared(y, &predicted)))
}

fn r_squared(y: &[f64], predicted: &[f64]) -> f64 {
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    let squares = |pairs: &mut dyn Iterator<Item = (f64, f64)>| pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let error = squares(&mut y.iter().copied().zip(predicted.iter().copied()));
    1.0 - error / squares(&mut y.iter().map(|&y| (y, mean)))
}

/// The median of each row's leaves, between the quantiles 0.05 and 0.95.
///
/// # Errors
/// If the model has no targets in its leaves, or the rows have another number of columns.
pub fn intervals(model: &ForestModel, x: &Matrix<'_, f64>) -> Result<Vec<[f64; 3]>, Box<dyn Error>> {
    let leaves = model.leaf_rows().ok_or("this is no quantile forest")?.targets(model.forest(), 0)?;
    let found = leaves.quantiles(model.forest(), x, &[0.05, 0.5, 0.95], Interpolation::Linear, None)?;
    Ok(found.chunks_exact(3).map(|row| [row[0], row[1], row[2]]).collect())
}

fn run(rows: &str, path: &str) -> Result<(), Box<dyn Error>> {
    let table = Table::parse(&std::fs::read_to_string(rows)?)?;
    let (model, score) = fit(&table)?;
    println!("{} trees, R² out of bag {score:.3}", model.forest().n_trees());
    model.save(path)?;
    let loaded = ForestModel::load(path)?;
    for (target, [low, median, high]) in table.targets.iter().zip(intervals(&loaded, &table.rows()?)?).take(5) {
        println!("target {target}: median {median:.1}, 9 of 10 from {low:.1} to {high:.1}");
    }
    Ok(())
}

#[allow(dead_code, reason = "tests/forest_example.rs takes the functions above")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rows, path] = &arguments[..] else {
        eprintln!("usage: forest ROWS.csv MODEL");
        return ExitCode::FAILURE;
    };
    match run(rows, path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

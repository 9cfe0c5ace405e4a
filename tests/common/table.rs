//! A random data set, and the settings that it is fitted with.

use proptest::prelude::*;
use splitwood::{Cell, Loss, Matrix, Params, Result, Size, Target, Tree, fit};

use super::definition::{Definition, Row};
use super::draw::{Cells, Dice, Values, Weights, draw_classes, draw_counts};

/// X by columns, targets (class codes as numbers), weights, and the loss.
#[derive(Clone, Debug)]
pub struct Table {
    pub columns: Vec<Vec<f64>>,
    pub y: Vec<f64>,
    /// 0 for regression.
    pub n_classes: usize,
    pub weights: Option<Vec<f64>>,
    pub loss: Loss,
}

impl Table {
    /// A table for the squared error.
    pub fn of_values(columns: Vec<Vec<f64>>, y: Vec<f64>, weights: Option<Vec<f64>>) -> Self {
        Self { columns, y, n_classes: 0, weights, loss: Loss::SquaredError }
    }

    pub fn n_rows(&self) -> usize {
        self.y.len()
    }

    /// The cells in row order.
    pub fn cells(&self) -> Vec<f64> {
        (0..self.n_rows()).flat_map(|row| self.columns.iter().map(move |column| column[row])).collect()
    }

    /// The same table with cells rounded to `f32`.
    pub fn single(mut self) -> Self {
        self.columns.iter_mut().flatten().for_each(|cell| *cell = f64::from(*cell as f32));
        self
    }

    /// These rows of the table, in this order.
    pub fn select(&self, rows: &[usize]) -> Self {
        let pick = |from: &[f64]| rows.iter().map(|&row| from[row]).collect::<Vec<f64>>();
        Self {
            columns: self.columns.iter().map(|column| pick(column)).collect(),
            y: pick(&self.y),
            weights: self.weights.as_deref().map(pick),
            ..*self
        }
    }

    pub fn row(&self, row: usize) -> Row {
        (self.y[row], self.weights.as_ref().map_or(1.0, |weights| weights[row]))
    }

    /// Rows that have weight.
    pub fn taking_part(&self) -> Vec<usize> {
        (0..self.n_rows()).filter(|&row| self.row(row).1 > 0.0).collect()
    }

    pub fn definition(&self) -> Definition {
        match self.loss {
            Loss::SquaredError => Definition::SquaredError,
            Loss::AbsoluteError => Definition::AbsoluteError,
            Loss::Quantile(level) => Definition::Quantile { below: (level * 20.0).round() as u32, whole: 20 },
            Loss::Poisson => Definition::Poisson,
            Loss::Gini => Definition::Gini,
            Loss::Entropy => Definition::Entropy,
        }
    }

    pub fn fit(&self, params: &Params) -> Tree {
        let cells = self.cells();
        let x = Matrix::from_rows(&cells, self.n_rows(), self.columns.len()).expect("a sound matrix");
        self.fit_to(&x, params).expect("a sound fit")
    }

    pub fn fit_single(&self, params: &Params) -> Tree {
        let cells: Vec<f32> = self.cells().iter().map(|&cell| cell as f32).collect();
        let x = Matrix::from_rows(&cells, self.n_rows(), self.columns.len()).expect("a sound matrix");
        self.fit_to(&x, params).expect("a sound fit")
    }

    /// Fits a tree to a view of the cells.
    pub fn fit_to<X: Cell>(&self, x: &Matrix<'_, X>, params: &Params) -> Result<Tree> {
        let weights = self.weights.as_deref();
        if self.n_classes == 0 {
            return fit(x, Target::Values(&self.y), weights, self.loss, params);
        }
        let codes: Vec<u32> = self.y.iter().map(|&y| y as u32).collect();
        fit(x, Target::Classes { codes: &codes, n_classes: self.n_classes }, weights, self.loss, params)
    }
}

/// The kind of a table's targets.
#[derive(Clone, Copy, Debug)]
pub enum Aim {
    Values(Values),
    /// Values, for losses that depend on their order.
    Ranks(Values, Loss),
    /// Counts that are made of such values.
    Counts(Values),
    Classes {
        n_classes: usize,
        loss: Loss,
    },
}

impl Aim {
    pub fn any() -> impl Strategy<Value = Self> {
        let n_classes = prop_oneof![1 => Just(1), 9 => 2..5usize];
        let classes = (n_classes, any::<bool>()).prop_map(|(n_classes, entropy)| Self::Classes {
            n_classes,
            loss: if entropy { Loss::Entropy } else { Loss::Gini },
        });
        prop_oneof![
            2 => Values::any().prop_map(Self::Values),
            2 => Self::ranks(Values::any()),
            1 => Values::any().prop_map(Self::Counts),
            2 => classes,
        ]
    }

    /// Medians, and quantiles at multiples of 1/20.
    pub fn ranks(values: impl Strategy<Value = Values>) -> impl Strategy<Value = Self> {
        // 0 stands for the absolute error.
        (values, 0..20u32).prop_map(|(values, below)| match below {
            0 => Self::Ranks(values, Loss::AbsoluteError),
            _ => Self::Ranks(values, Loss::Quantile(f64::from(below) / 20.0)),
        })
    }
}

/// The parameters that a table is drawn with.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub n_rows: usize,
    /// Kinds of columns, and the share of missing cells.
    pub columns: Vec<(Cells, f64)>,
    pub aim: Aim,
    /// The kind, and the share of weights that are zero.
    pub weights: Option<(Weights, f64)>,
    pub seed: u64,
}

impl Recipe {
    pub fn any(n_rows: std::ops::Range<usize>, n_columns: std::ops::Range<usize>) -> impl Strategy<Value = Self> {
        let missing = || prop_oneof![3 => Just(0.0), 1 => Just(0.1), 1 => Just(0.5)];
        let columns = prop::collection::vec((Cells::any(), missing()), n_columns);
        let weights = prop::option::of((Weights::any(), prop_oneof![Just(0.0), Just(0.3)]));
        (n_rows, columns, Aim::any(), weights, any::<u64>()).prop_map(|(n_rows, columns, aim, weights, seed)| Self {
            n_rows,
            columns,
            aim,
            weights,
            seed,
        })
    }

    /// Has enough columns that nodes of more than 256 rows are grown breadth-first.
    pub fn wide() -> impl Strategy<Value = Self> {
        Self::any(300..700, 3..6).prop_map(|recipe| {
            let columns = recipe.columns.iter().copied().cycle().take(300).collect();
            Self { columns, ..recipe }
        })
    }

    /// Has enough rows that the top is grown breadth-first, with subtrees of thousands of rows
    /// below.
    pub fn long() -> impl Strategy<Value = Self> {
        Self::any(9_000..20_000, 8..9)
    }

    pub fn table(&self) -> Table {
        let mut dice = Dice::new(self.seed);
        let columns: Vec<Vec<f64>> =
            self.columns.iter().map(|&(cells, missing)| cells.draw(&mut dice, self.n_rows, missing)).collect();
        let (y, n_classes, loss) = match self.aim {
            Aim::Values(values) => (values.draw(&mut dice, &columns[0]), 0, Loss::SquaredError),
            Aim::Ranks(values, loss) => (values.draw(&mut dice, &columns[0]), 0, loss),
            Aim::Counts(values) => (draw_counts(values, &mut dice, &columns[0]), 0, Loss::Poisson),
            Aim::Classes { n_classes, loss } => (draw_classes(&mut dice, &columns[0], n_classes), n_classes, loss),
        };
        let weights = self.weights.map(|(kind, zeros)| {
            let mut weights = kind.draw(&mut dice, self.n_rows);
            // The one weight that is always kept belongs to the target that may be the only one
            // above 0.
            let kept = (0..y.len()).find(|&row| y[row] > 0.0).unwrap_or(0);
            let zeroed = weights.iter_mut().enumerate().filter(|&(row, _)| row != kept);
            zeroed.for_each(|(_, weight)| *weight *= if dice.chance(zeros) { 0.0 } else { 1.0 });
            weights
        });
        Table { columns, y, n_classes, weights, loss }
    }
}

/// Stopping rules, each absent more often than not.
#[derive(Clone, Debug)]
pub struct Settings {
    params: Params,
    /// Minimum decrease of the impurity, as a share of the root's impurity.
    decrease: f64,
}

impl Settings {
    pub fn any() -> impl Strategy<Value = Self> {
        let depth = prop_oneof![4 => Just(None), 1 => (1..6i64).prop_map(Some)];
        let split = prop_oneof![
            10 => Just(Size::Rows(2)),
            1 => (2..40i64).prop_map(Size::Rows),
            1 => (0.01..=1.0).prop_map(Size::Fraction),
        ];
        let leaf = prop_oneof![
            10 => Just(Size::Rows(1)),
            1 => (1..20i64).prop_map(Size::Rows),
            1 => (0.01..0.4).prop_map(Size::Fraction),
        ];
        let weight = prop_oneof![8 => Just(0.0), 1 => 0.0..=0.5];
        let decrease = prop_oneof![24 => Just(0.0), 4 => 0.0..0.1, 1 => Just(f64::INFINITY)];
        (depth, split, leaf, weight, decrease).prop_map(|(max_depth, split, leaf, weight, decrease)| Self {
            params: Params {
                max_depth,
                min_samples_split: split,
                min_samples_leaf: leaf,
                min_weight_fraction_leaf: weight,
                ..Params::default()
            },
            decrease,
        })
    }

    /// The settings for this table.
    pub fn params(&self, table: &Table) -> Params {
        let rows: Vec<Row> = table.taking_part().iter().map(|&row| table.row(row)).collect();
        let impurity = table.definition().loss(&rows) / super::definition::total_weight(&rows);
        let decrease = if self.decrease == 0.0 { 0.0 } else { self.decrease * impurity.max(f64::MIN_POSITIVE) };
        Params { min_impurity_decrease: decrease, ..self.params.clone() }
    }
}

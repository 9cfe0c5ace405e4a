//! Extreme numbers: the smallest examples of bugs that were found and repaired.

use splitwood::{Loss, Matrix, Params, Tree};

use crate::common::draw::{Cells, Dice, Weights};
use crate::common::table::Table;

fn predictions(tree: &Tree, table: &Table) -> Vec<f64> {
    let cells = table.cells();
    let x = Matrix::from_rows(&cells, table.n_rows(), table.columns.len()).unwrap();
    tree.predict(&x, None).unwrap()
}

fn stump(table: &Table) -> Tree {
    table.fit(&Params { max_depth: Some(1), ..Params::default() })
}

/// A table with one column: 0, 1, 2 and so on.
fn counted(y: &[f64], weights: Option<&[f64]>) -> Table {
    let column = (0..y.len()).map(|row| row as f64).collect();
    Table::of_values(vec![column], y.to_vec(), weights.map(<[f64]>::to_vec))
}

fn gini_of_three(table: Table) -> Table {
    Table { n_classes: 3, loss: Loss::Gini, ..table }
}

#[test]
fn one_outlier_does_not_flatten_the_rest() {
    let x = Cells::Distinct.draw(&mut Dice::new(1), 500, 0.0);
    let mut y: Vec<f64> = x.iter().map(|&x| if x > 0.0 { 1.0 } else { 0.0 }).collect();
    y[3] = 1e15;
    let table = Table::of_values(vec![x], y, None);
    assert_eq!(predictions(&table.fit(&Params::default()), &table), table.y);
}

#[test]
fn light_rows_are_rows() {
    let weights: Vec<f64> = (0..100).map(|row| if row % 2 == 0 { 1e-6 } else { 1e6 }).collect();
    let y: Vec<f64> = (0..100).map(|row| f64::from(row).sin()).collect();
    let table = counted(&y, Some(&weights));
    assert_eq!(predictions(&table.fit(&Params::default()), &table), y);
}

#[test]
fn the_smallest_and_the_largest_targets_make_the_same_split() {
    for scale in [1e-290, 1e-150, 1e-12, 1.0, 1e9, 1e150] {
        let tree = stump(&counted(&[0.0, 0.0, scale, scale], None));
        assert_eq!((tree.threshold(0), tree.value(2)), (Some(1.5), &[scale][..]), "{scale:e}");
    }
}

#[test]
fn time_stamps_keep_their_microseconds() {
    let stamps: Vec<f64> = (0..100).map(|row| 1.7e9 + f64::from(row) * 1e-6).collect();
    let y: Vec<f64> = (0..100).map(|row| f64::from(row).cos()).collect();
    let table = Table::of_values(vec![stamps], y, None);
    assert_eq!(predictions(&table.fit(&Params::default()), &table), table.y);
}

#[test]
fn subnormal_targets() {
    assert_eq!(stump(&counted(&[0.0, 0.0, 1e-310, 1e-310], None)).threshold(0), Some(1.5));
    let light = counted(&[0.0, 0.0, 1e-250, 1e-250], Some(&[1e-70; 4]));
    assert_eq!(stump(&light).threshold(0), Some(1.5));
}

#[test]
fn weighted_squares_that_overflow() {
    for weight in [1e10, 1e160, 1e300] {
        let tree = stump(&counted(&[0.0, 0.0, 1e150, 1e150], Some(&[weight; 4])));
        assert_eq!(tree.threshold(0), Some(1.5));
        assert!((tree.impurity(0) / 2.5e299 - 1.0).abs() < 1e-12, "{:e}", tree.impurity(0));
    }
}

#[test]
fn subnormal_weights() {
    let tree = stump(&counted(&[0.0, 0.0, 1.0, 1.0], Some(&[1e-320; 4])));
    assert_eq!(tree.threshold(0), Some(1.5));
}

/// Has enough columns that even 300 rows are grown breadth-first.
#[test]
fn a_row_too_light_to_count_does_not_hide_the_others() {
    let mut y = [[0.0; 150], [1.0; 150]].concat();
    y[299] = 2.0;
    for seed in 0..20 {
        let mut weights = Weights::Reals.draw(&mut Dice::new(seed), 300);
        weights[299] = 1e-17;
        let one = gini_of_three(counted(&y, Some(&weights)));
        let table = Table { columns: vec![one.columns[0].clone(); 300], ..one };
        assert_eq!(stump(&table).threshold(0), Some(149.5), "seed {seed}");
    }
}

#[test]
fn the_screen_lets_light_sides_pass() {
    let weights = [
        1_116_250.025_089_667_2,
        1_429_545.950_685_095_3,
        1_680_793.795_911_060_2,
        0.108_574_686_263_683_43,
        0.003_235_725_261_825_067_3,
        0.001_766_209_289_540_702,
    ];
    let columns = vec![vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0], vec![3.0, 4.0, 1.0, 15.0, 10.0, 12.0]];
    let table = Table::of_values(columns, vec![0.0, 0.0, 0.0, 2.0, 1.0, 1.0], Some(weights.to_vec()));
    let tree = stump(&gini_of_three(table));
    assert_eq!((tree.feature(0), tree.threshold(0)), (Some(1), Some(7.0)), "it parts class 0 from all the others");
}

#[test]
fn half_the_weight_is_enough() {
    let table = counted(&[0.0, 1.0], Some(&[0.1, 0.1]));
    let tree = table.fit(&Params { min_weight_fraction_leaf: 0.5, ..Params::default() });
    assert_eq!(tree.node_count(), 3);
}

#[test]
fn impurity_far_from_zero() {
    let step = 2f64.powi(-20);
    let table = Table::of_values(vec![vec![0.0; 3]], vec![1e9, 1e9 + step, 1e9], None);
    let impurity = table.fit(&Params::default()).impurity(0);
    let expected = 2.0 / 9.0 * step * step;
    assert!((impurity - expected).abs() <= 1e-9 * expected, "{impurity:e} for {expected:e}");
}

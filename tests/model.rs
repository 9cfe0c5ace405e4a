//! Model files of random trees.

use proptest::prelude::*;
use splitwood::{Labels, Model, Tree};

use crate::common::table::{Recipe, Settings};

proptest! {
    #[test]
    fn trees_come_back_to_the_last_bit(recipe in Recipe::any(1..300, 1..5), settings in Settings::any()) {
        let table = recipe.table();
        let tree = table.fit(&settings.params(&table));
        let model = match table.n_classes {
            0 => Model::regressor(tree),
            n => Model::classifier(tree, vec![Labels::Integers((0..n as i64).collect())]),
        }
        .unwrap();
        let bytes = model.to_bytes();
        let read = Model::from_bytes(&bytes).unwrap();
        prop_assert_eq!(&read, &model);
        prop_assert_eq!(read.to_bytes(), bytes);
        prop_assert_eq!(Tree::from_bytes(&model.tree().to_bytes()).unwrap().to_bytes(), read.tree().to_bytes());
    }
}

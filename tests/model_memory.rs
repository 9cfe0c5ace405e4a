//! Reading a model file allocates the model, and never what a forged length claims.

use splitwood::{Labels, Loss, Matrix, Model, Params, Target, fit};

use crate::checksums::repair;
use crate::{alone, peak_of};

/// Room for the piece in which numbers are converted, and for small allocations, in bytes.
const ALLOWED: usize = 200_000;

#[test]
fn reading_allocates_the_model_and_no_lie() {
    let _alone = alone();
    let cells: Vec<f64> = (0..40_000u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64).collect();
    let x = Matrix::from_rows(&cells, 20_000, 2).unwrap();
    let codes: Vec<u32> = (0..20_000).map(|row| row % 2).collect();
    let tree = fit(&x, Target::Classes { codes: &codes, n_classes: 2 }, None, Loss::Gini, &Params::default()).unwrap();
    let labels = Labels::Strings(vec!["no".to_owned(), "yes".to_owned()]);
    let model = Model::classifier(tree, vec![labels]).unwrap();
    let bytes = model.to_bytes();
    let (read, peak) = peak_of(|| Model::from_bytes(&bytes).unwrap());
    assert_eq!(read, model);
    assert!(bytes.len() > 1_000_000 && peak <= bytes.len() + ALLOWED, "{peak} for {}", bytes.len());

    // In a small model, each word in turn becomes a large number.
    let tree = model.into_tree().pruned(0.01).unwrap();
    let labels = Labels::Strings(vec!["no".to_owned(), "yes".to_owned()]);
    let model = Model::classifier(tree, vec![labels]).unwrap();
    let model = model.with_feature_names(vec!["a".to_owned(), "b".to_owned()]).unwrap();
    let bytes = model.to_bytes();
    assert!(bytes.len() < 2_000);
    for at in 8..bytes.len() - 8 {
        for lie in [1 << 24, 1 << 31, 1 << 40, 1 << 60, u64::MAX] {
            let mut bytes = bytes.clone();
            bytes[at..at + 8].copy_from_slice(&u64::to_le_bytes(lie));
            repair(&mut bytes);
            let (_, peak) = peak_of(|| Model::from_bytes(&bytes));
            assert!(peak <= ALLOWED, "{peak} bytes for {lie} at byte {at}");
        }
    }
}

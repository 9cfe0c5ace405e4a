//! What the reading of a model file allocates, counted by the allocator: the model, and never what a lie asks for.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use common::checksums::repair;
use splitwood::{Labels, Loss, Matrix, Model, Params, Target, fit};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work; the counts are beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller's promises are handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promises are handed on.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The result, and the most that was allocated at a time on the way to it.
fn peak_of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    (result, PEAK.load(Relaxed) - before)
}

/// For the piece in which numbers are turned, and small change.
const ALLOWED: usize = 200_000;

/// One test: others beside it would be counted too.
#[test]
fn reading_allocates_the_model_and_no_lie() {
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

    // From here on a small model, whose every word becomes a large number.
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

//! Hostile files: every truncation, every flipped bit, and crafted contents with right checksums.

#[path = "../../tests/common/checksums.rs"]
mod checksums;

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use proptest::prelude::*;
use proptest::sample::Index;

use self::checksums::repair;
use super::layout::{self, Entry, Name};
use super::*;
use crate::data::{Matrix, Target};
use crate::fit::fit;
use crate::forest::{Bags, ForestParams, LeafRows, LeafTargets, fit_forest};
use crate::params::{Loss, Params};
use crate::tree::{ArenaNode, Statistics, Test};

const N_FEATURES: usize = 3;

/// Rows with ties, missing values and infinities.
fn cells() -> Vec<f64> {
    let cell = |i: usize| match i * 7 % 11 {
        0 => f64::NAN,
        1 => f64::NEG_INFINITY,
        2 => -0.0,
        n => n as f64 * 0.1,
    };
    (0..30 * N_FEATURES).map(cell).collect()
}

fn rows(cells: &[f64]) -> Matrix<'_, f64> {
    Matrix::from_rows(cells, cells.len() / N_FEATURES, N_FEATURES).unwrap()
}

fn tree(n_classes: usize, weighted: bool) -> Tree {
    let cells = cells();
    let codes: Vec<u32> = (0..30u32).map(|row| row * row % n_classes.max(1) as u32).collect();
    let y: Vec<f64> = (0..30u32).map(|row| f64::from(row * row % 7) - 0.3).collect();
    let weights: Vec<f64> = (0..30u32).map(|row| f64::from(row % 4) * 0.7).collect();
    let params = Params { max_depth: Some(3), ..Params::default() };
    let (target, loss) = match n_classes {
        0 => (Target::Values(&y), Loss::SquaredError),
        _ => (Target::Classes { codes: &codes, n_classes }, Loss::Gini),
    };
    fit(&rows(&cells), target, weighted.then_some(&weights[..]), loss, &params).unwrap()
}

/// A tree whose first feature has so many categories that a set takes two words.
fn with_categories() -> Tree {
    let codes: Vec<f64> = (0..200).flat_map(|row| [f64::from(row * 7 % 70), f64::from(row % 3), f64::NAN]).collect();
    let y: Vec<f64> = (0..200).map(|row| f64::from(row * 7 % 70 % 5 + row % 3)).collect();
    let categories = Some(vec![70, 0, 0]);
    let params = Params { max_depth: Some(3), categories, ..Params::default() };
    let tree = fit(&rows(&codes), Target::Values(&y), None, Loss::SquaredError, &params).unwrap();
    assert!(tree.threshold(0).unwrap().is_nan(), "categories decide");
    tree
}

/// A tree whose splits send one of 150 categories right: its sets are lists.
fn with_lists() -> Tree {
    let codes: Vec<f64> = (0..150).flat_map(|row| [f64::from(row), f64::from(row % 3), f64::NAN]).collect();
    let y: Vec<f64> = (0..150).map(|row| if row % 87 == 3 { f64::from(row) } else { f64::from(row % 2) }).collect();
    let params = Params { max_depth: Some(2), categories: Some(vec![150, 0, 0]), ..Params::default() };
    let tree = fit(&rows(&codes), Target::Values(&y), None, Loss::SquaredError, &params).unwrap();
    assert!(crate::tree::Categories::has_lists(&tree.nodes));
    tree
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// One model of each kind, small enough to flip every bit.
fn models() -> Vec<Model> {
    let classifier = |weighted, labels: Labels| Model::classifier(tree(labels.len(), weighted), vec![labels]).unwrap();
    vec![
        Model::regressor(tree(0, false)).unwrap(),
        Model::regressor(tree(0, true))
            .unwrap()
            .with_feature_names(texts(&["größe", "", "a b"]))
            .unwrap()
            .with_parameters(r#"{"max_depth": 3}"#.to_owned()),
        classifier(false, Labels::Integers(vec![i64::MIN, 0, i64::MAX])),
        classifier(true, Labels::Floats(vec![-0.5, 1e300])),
        classifier(false, Labels::Bools(vec![false, true])),
        classifier(true, Labels::Strings(texts(&["nein", "ja", "日本語", ""]))),
        Model::regressor(with_categories()).unwrap(),
        Model::regressor(with_lists()).unwrap(),
        Model::regressor(tree(3, false).with_outputs(3).unwrap()).unwrap(),
        // The second output has fewer classes than there are places.
        Model::classifier(
            tree(4, false).with_outputs(2).unwrap(),
            vec![Labels::Strings(texts(&["a", "bcd"])), Labels::Integers(vec![5])],
        )
        .unwrap(),
    ]
}

/// The model with the most sections.
fn rich() -> Model {
    let names = texts(&["a", "b", "größe"]);
    let model = Model::classifier(tree(2, true), vec![Labels::Strings(texts(&["no", "yes"]))]).unwrap();
    model.with_feature_names(names).unwrap().with_parameters("{}".to_owned())
}

fn problem(bytes: &[u8]) -> String {
    match Model::from_bytes(bytes) {
        Err(Error::Model { problem }) => problem,
        other => panic!("{other:?}"),
    }
}

/// Offset of a section.
fn offset(bytes: &[u8], name: Name) -> usize {
    let entry = (64..).step_by(32).find(|&at| bytes[at..at + 8] == name.0).unwrap();
    u64::from_le_bytes(bytes[entry + 8..entry + 16].try_into().unwrap()) as usize
}

/// The file with these bytes at a place of a section, and with matching checksums.
fn crafted(bytes: &[u8], name: Name, at: usize, new: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let start = offset(&bytes, name) + at;
    bytes[start..start + new.len()].copy_from_slice(new);
    repair(&mut bytes);
    bytes
}

/// The file with one more section, as a later version would write it.
fn with_section(bytes: &[u8], name: [u8; 8], required: bool, payload: &[u8]) -> Vec<u8> {
    let n_sections = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let mut entries = Vec::new();
    let mut payloads = Vec::new();
    for entry in bytes[64..64 + 32 * n_sections].chunks_exact(32) {
        let field = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().unwrap()) as usize;
        let payload = &bytes[field(8)..field(8) + field(16)];
        let name = Name(entry[..8].try_into().unwrap());
        entries.push(Entry {
            name,
            length: field(16) as u64,
            checksum: crc32fast::hash(payload),
            required: entry[28] == 1,
        });
        payloads.push(payload);
    }
    entries.push(Entry {
        name: Name(name),
        length: payload.len() as u64,
        checksum: crc32fast::hash(payload),
        required,
    });
    payloads.push(payload);
    let mut longer = layout::encode(&entries);
    for payload in payloads {
        longer.resize(longer.len() + layout::padding(longer.len() as u64) as usize, 0);
        longer.extend_from_slice(payload);
    }
    longer
}

fn temporary(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("splitwood-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    folder
}

#[test]
fn what_was_written_is_read() {
    for model in models() {
        let bytes = model.to_bytes();
        let read = Model::from_bytes(&bytes).unwrap();
        assert_eq!(read, model);
        assert_eq!(read.to_bytes(), bytes, "to the last bit");
        assert_eq!(Tree::from_bytes(&bytes).unwrap(), *model.tree());
        let tree = model.into_tree();
        assert_eq!(Tree::from_bytes(&tree.to_bytes()).unwrap(), tree);
    }
}

/// Forests of each kind: without and with weights, both, and with categories.
fn forests() -> Vec<ForestModel> {
    let forest = |trees: Vec<Tree>| Forest::new(trees.into_iter().map(Arc::new).collect()).unwrap();
    let labels = Labels::Strings(texts(&["no", "yes"]));
    vec![
        ForestModel::regressor(forest(vec![tree(0, false), tree(0, false)])).unwrap(),
        ForestModel::regressor(forest(vec![tree(0, true), tree(0, false), tree(0, true)])).unwrap(),
        ForestModel::classifier(forest(vec![tree(2, true)]), vec![labels])
            .unwrap()
            .with_feature_names(texts(&["a", "b", "größe"]))
            .unwrap()
            .with_parameters("{}".to_owned()),
        ForestModel::regressor(forest(vec![with_categories(), with_categories()])).unwrap(),
        quantile_forest(),
    ]
}

/// Two trees, two outputs, and the rows in their leaves, one of them twice.
fn quantile_forest() -> ForestModel {
    let trees = [tree(2, false), tree(2, true)].map(|tree| tree.with_outputs(2).unwrap());
    let sizes = trees.iter().flat_map(|tree| {
        (0..tree.node_count()).map(|node| if tree.children(node).is_none() { 1 + node as u32 % 3 } else { 0 })
    });
    let sizes: Vec<u32> = sizes.collect();
    let rows = (0..sizes.iter().sum()).map(|row| row * 7 % 30).collect();
    let targets = (0..60).map(|number| f64::from(number * number % 13)).collect();
    let forest = Forest::new(trees.into_iter().map(Arc::new).collect()).unwrap();
    ForestModel::regressor(forest).unwrap().with_leaf_rows(LeafRows::new(sizes, rows, targets)).unwrap()
}

#[test]
fn forests_are_read_as_they_were_written() {
    for model in forests() {
        let bytes = model.to_bytes();
        let read = ForestModel::from_bytes(&bytes).unwrap();
        assert_eq!(read, model);
        assert_eq!(read.to_bytes(), bytes, "to the last bit");
        let minor = if model.leaf_rows().is_some() { 2 } else { 1 };
        assert_eq!(bytes[10], minor, "a reader of an earlier format shows a newer version");
        let alone = model.forest().to_bytes();
        assert_eq!(Forest::from_bytes(&alone).unwrap(), *model.forest());
        assert_eq!(Forest::from_bytes(&bytes).unwrap(), *model.forest());
        assert!(problem(&bytes).contains("forest") && Tree::from_bytes(&alone).is_err());
    }
    let tree = ForestModel::from_bytes(&rich().to_bytes()).unwrap_err().to_string();
    assert!(tree.contains("holds a tree"), "{tree}");
    assert_eq!(rich().to_bytes()[10], 0, "a tree is written as format 1.0");
}

#[test]
fn packed_forests_are_small_and_exact() {
    for model in forests() {
        let packed = model.forest().to_packed();
        let read = Forest::from_bytes(&packed).unwrap();
        assert_eq!(read, *model.forest());
        assert_eq!(read.to_bytes(), model.forest().to_bytes(), "to the last bit");
        for length in 0..packed.len() {
            assert!(Forest::from_bytes(&packed[..length]).is_err());
            let mut shorter = packed[..length].to_vec();
            if let Some(at) = length.checked_sub(4).filter(|&at| at >= 8) {
                let checksum = crc32fast::hash(&shorter[..at]);
                shorter[at..].copy_from_slice(&checksum.to_le_bytes());
                assert!(Forest::from_bytes(&shorter).is_err(), "{length} bytes");
            }
        }
    }
    // Without numbers that follow from others, of unlimited trees.
    let x: Vec<f64> = (0..3 * 2000).map(|i| f64::from((f64::from(i * i).sin() * 1000.0) as f32)).collect();
    let y: Vec<f64> = x.iter().step_by(3).map(|x| x.cos() + x).collect();
    let params = ForestParams { bags: Bags::Bootstrap(2000), ..ForestParams::new(3, 0) };
    let fitted = fit_forest(&rows(&x), Target::Values(&y), None, Loss::SquaredError, &params).unwrap().forest;
    let n_nodes: usize = fitted.trees().iter().map(|tree| tree.node_count()).sum();
    assert_eq!(Forest::from_bytes(&fitted.to_packed()).unwrap(), fitted);
    assert!(fitted.to_packed().len() < 18 * n_nodes, "{} bytes, {n_nodes} nodes", fitted.to_packed().len());
}

#[test]
fn damaged_forests_are_refused() {
    for model in forests() {
        let bytes = model.to_bytes();
        for length in 0..bytes.len() {
            let mut shorter = bytes[..length].to_vec();
            assert!(Forest::from_bytes(&shorter).is_err());
            if length >= 64 {
                shorter[16..24].copy_from_slice(&(length as u64).to_le_bytes());
                repair(&mut shorter);
                assert!(Forest::from_bytes(&shorter).is_err());
            }
        }
        let mut flipped = bytes.clone();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                flipped[at] ^= 1 << bit;
                assert!(Forest::from_bytes(&flipped).is_err(), "byte {at}, bit {bit}");
                flipped[at] ^= 1 << bit;
            }
        }
    }
}

#[test]
fn crafted_tables_of_trees_are_refused() {
    let model = &forests()[1];
    let bytes = model.to_bytes();
    let n = model.forest().trees()[0].node_count() as u64;
    for (at, number) in [
        (0, 0),
        (0, n - 1),
        (0, n + 1),
        (0, u64::MAX),
        (0, u64::MAX - 2 * n + 1),
        (8, 1),
        (8, u64::MAX),
        (16, 0),
        (16, 2),
        (40, 1),
    ] {
        let crafted = crafted(&bytes, Name::TREES, at, &number.to_le_bytes());
        assert!(Forest::from_bytes(&crafted).is_err(), "{number} at {at}");
    }
    // Nodes of one tree are counted to the next: neither is a tree.
    let moved = crafted(&bytes, Name::TREES, 0, &(n + 2).to_le_bytes());
    let moved = crafted(&moved, Name::TREES, 24, &(model.forest().trees()[1].node_count() as u64 - 2).to_le_bytes());
    assert!(Forest::from_bytes(&moved).is_err());
}

#[test]
fn leaf_rows_are_those_of_the_targets_in_leaves() {
    let x = cells();
    let y: Vec<f64> = (0..30u32).map(|row| f64::from(row * row % 7) - 0.3).collect();
    let params = ForestParams { bags: Bags::Bootstrap(30), ..ForestParams::new(4, 0) };
    let forest = fit_forest(&rows(&x), Target::Values(&y), None, Loss::SquaredError, &params).unwrap().forest;
    let targets = LeafTargets::new(&forest, &rows(&x), &y, |_| None, None).unwrap();
    let model = ForestModel::regressor(forest).unwrap().with_leaf_rows(targets.to_rows()).unwrap();
    let loaded = ForestModel::from_bytes(&model.to_bytes()).unwrap();
    assert_eq!(loaded.leaf_rows().unwrap().targets(loaded.forest(), 0).unwrap(), targets);
    assert!(loaded.leaf_rows().unwrap().targets(loaded.forest(), 1).is_err());
}

#[test]
fn leaf_rows_of_other_trees_are_refused() {
    let model = quantile_forest();
    let leaves = model.leaf_rows().unwrap();
    let (sizes, rows, targets) = (leaves.sizes(), leaves.rows(), leaves.all_targets());
    let refused = |sizes: &[u32], rows: &[u32], targets: &[f64]| {
        let leaves = LeafRows::new(sizes.to_vec(), rows.to_vec(), targets.to_vec());
        leaves.targets(model.forest(), 0).is_err() && model.clone().with_leaf_rows(leaves).is_err()
    };
    assert!(!refused(sizes, rows, targets));
    assert!(refused(&sizes[1..], rows, targets) && refused(&[sizes, &[0]].concat(), rows, targets));
    assert!(refused(sizes, &rows[1..], targets) && refused(sizes, &[rows, &[0]].concat(), targets));
    assert!(refused(sizes, rows, &targets[1..]) && refused(sizes, rows, &[]));
    let moved = |at: usize, by: u32| {
        let mut moved = sizes.to_vec();
        moved[at] = moved[at].wrapping_add(by);
        moved
    };
    assert!(refused(&moved(0, 1), &[rows, &[0]].concat(), targets), "an inner node has no rows");
    let leaf = sizes.iter().position(|&size| size > 0).unwrap();
    assert!(refused(&moved(leaf, u32::MAX - 5), rows, targets));
    let mut others = rows.to_vec();
    others[3] = 30;
    assert!(refused(sizes, &others, targets));
    for odd in [f64::NAN, f64::INFINITY] {
        let mut others = targets.to_vec();
        others[7] = odd;
        assert!(refused(sizes, rows, &others));
    }
    // Rows in leaves are for forests of numbers.
    assert!(Model::regressor(tree(0, false)).unwrap().with_leaf_rows(leaves.clone()).is_err());
    assert!(forests()[2].clone().with_leaf_rows(leaves.clone()).is_err());
    let bytes = model.to_bytes();
    for name in [Name::LEAF_SIZES, Name::LEAF_ROWS, Name::TARGETS] {
        let renamed = |to: &[u8; 8]| {
            let mut bytes = bytes.clone();
            let entry = (64..).step_by(32).find(|&at| bytes[at..at + 8] == name.0).unwrap();
            bytes[entry..entry + 8].copy_from_slice(to);
            bytes[entry + 28] = 0;
            repair(&mut bytes);
            bytes
        };
        assert!(ForestModel::from_bytes(&renamed(b"later\0\0\0")).is_err(), "{name} is missing");
    }
    let no_target = crafted(&bytes, Name::LEAF_ROWS, 0, &30u32.to_le_bytes());
    assert!(ForestModel::from_bytes(&no_target).unwrap_err().to_string().contains("row without a target"));
    let classes = crafted(&bytes, Name::SHAPE, 0, &2u32.to_le_bytes());
    assert!(ForestModel::from_bytes(&classes).is_err());
}

#[test]
fn sections_are_where_a_memory_map_wants_them() {
    for model in models() {
        let bytes = model.to_bytes();
        for name in [Name::SHAPE, Name::NODES, Name::VALUES, Name::IMPURITY, Name::ROWS] {
            assert_eq!(offset(&bytes, name) % 64, 0);
        }
        let nodes = &bytes[offset(&bytes, Name::NODES)..];
        assert_eq!(nodes[..8], model.tree().threshold(0).unwrap().to_le_bytes());
    }
}

#[test]
fn every_truncation_is_refused() {
    let mut n_truncated = 0;
    for model in models() {
        let bytes = model.to_bytes();
        n_truncated += 2 * bytes.len() - 64;
        for length in 0..bytes.len() {
            problem(&bytes[..length]);
            // With a matching header, it still ends in the middle of a section.
            let mut shorter = bytes[..length].to_vec();
            if length >= 64 {
                shorter[16..24].copy_from_slice(&(length as u64).to_le_bytes());
                repair(&mut shorter);
                problem(&shorter);
            }
        }
        problem(&[&bytes[..], &[0]].concat());
        problem(&[&bytes[..], &bytes[..]].concat());
    }
    println!("{n_truncated} truncated files refused");
}

#[test]
fn every_flipped_bit_is_noticed() {
    let mut n_damaged = 0;
    for model in models() {
        let mut bytes = model.to_bytes();
        n_damaged += 8 * bytes.len();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                assert!(
                    Model::from_bytes(&bytes).is_err() && Tree::from_bytes(&bytes).is_err(),
                    "byte {at}, bit {bit}"
                );
                bytes[at] ^= 1 << bit;
            }
        }
        assert!(Model::from_bytes(&bytes).is_ok());
    }
    println!("{n_damaged} files with a flipped bit refused");
}

#[test]
fn crafted_trees_are_refused() {
    let bytes = rich().to_bytes();
    let node = |id: usize, at: usize, new: &[u8]| problem(&crafted(&bytes, Name::NODES, 16 * id + at, new));
    let n = rich().tree().node_count() as u32;
    for right in [0, 1, n, n + 1, u32::MAX] {
        assert!(node(0, 12, &right.to_le_bytes()).contains("child"), "a cycle, or a child that is not there: {right}");
    }
    for feature in [3, 1 << 30, (1 << 31) - 1, u32::MAX - 1, 3 | 1 << 31] {
        assert!(node(0, 8, &u32::to_le_bytes(feature)).contains("feature"), "{feature}");
    }
    assert!(node(0, 8, &[0xFF; 4]).contains("entry"), "a leaf with a threshold");
    assert!(node(0, 0, &f64::NAN.to_le_bytes()).contains("threshold"));
    assert!(node(0, 0, &(-f64::NAN).to_le_bytes()).contains("entry"));
    for number in [f64::NAN, f64::INFINITY] {
        assert!(problem(&crafted(&bytes, Name::VALUES, 8, &number.to_le_bytes())).contains("finite"));
    }
    assert!(problem(&crafted(&bytes, Name::IMPURITY, 0, &f64::NAN.to_le_bytes())).contains("NaN"));
    assert!(problem(&crafted(&bytes, Name::WEIGHT, 0, &f64::NAN.to_le_bytes())).contains("NaN"));
}

/// Every length and count, replaced by wrong numbers.
#[test]
fn giant_lengths_are_refused() {
    let bytes = rich().to_bytes();
    let section = |name| offset(&bytes, name);
    let n_sections = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let table = (0..n_sections).flat_map(|entry| [64 + 32 * entry + 8, 64 + 32 * entry + 16]);
    let shape = [8, 16, 24].map(|at| section(Name::SHAPE) + at);
    let classes = [8, 16, 24].map(|at| section(Name::CLASSES) + at);
    let features = [0, 8, 16].map(|at| section(Name::FEATURES) + at);
    let wrong_numbers =
        [0, 1, 63, 64, bytes.len() as u64 + 1, 1 << 31, 1 << 32, 1 << 61, 1 << 63, u64::MAX - 63, u64::MAX];
    for at in table.chain([16]).chain(shape).chain(classes).chain(features) {
        for wrong in wrong_numbers {
            let mut bytes = bytes.clone();
            let truth: [u8; 8] = bytes[at..at + 8].try_into().unwrap();
            bytes[at..at + 8].copy_from_slice(&wrong.to_le_bytes());
            repair(&mut bytes);
            // A string may end earlier, and the next start there: a different but valid file.
            let sound = wrong == u64::from_le_bytes(truth)
                || (at == features[0] || at == classes[1]) && wrong <= 1
                || at == features[1] && wrong == 1;
            assert_eq!(Model::from_bytes(&bytes).is_ok(), sound, "{wrong} at byte {at}");
        }
    }
    for n_sections in [0, 1, 255, 256, 257, u32::MAX] {
        let mut bytes = bytes.clone();
        bytes[12..16].copy_from_slice(&u32::to_le_bytes(n_sections));
        repair(&mut bytes);
        problem(&bytes);
    }
}

#[test]
fn what_can_not_be_is_refused() {
    let bytes = rich().to_bytes();
    let shape = |at: usize, new: u32| problem(&crafted(&bytes, Name::SHAPE, at, &new.to_le_bytes()));
    assert!(shape(0, 3).contains("task 3"));
    assert!(shape(0, 1).contains("classes"), "a regression with labels");
    assert!(shape(4, 0).contains("0 outputs"));
    assert!(shape(4, 3).contains("3 outputs"));
    assert!(shape(4, 2).contains("section 'classes'"), "one list of labels for two outputs");
    assert!(shape(8, 0).contains("0 features"));
    let classes = |at: usize, new: &[u8]| problem(&crafted(&bytes, Name::CLASSES, at, new));
    assert!(classes(0, &[9]).contains("unknown kind"));
    assert!(classes(4, &[1]).contains("unknown kind"));
    // The head has 16 bytes; two ends, "noyes" and three zeros follow.
    assert!(classes(32, &[0xFF]).contains("UTF-8"));
    assert!(classes(37, &[1]).contains("between"));
    assert!(problem(&crafted(&bytes, Name::FEATURES, 3 * 8 + 4, &[0xFF])).contains("UTF-8"));
    assert!(problem(&crafted(&bytes, Name::FEATURES, 2 * 8, &4u64.to_le_bytes())).contains("longer than"));
    assert!(problem(&crafted(&bytes, Name::FEATURES, 8, &5u64.to_le_bytes())).contains("invalid end"));
    assert!(problem(&crafted(&bytes, Name::PARAMS, 0, &[0xC0, 0x80])).contains("UTF-8"));
    let floats = models()[3].to_bytes();
    assert!(problem(&crafted(&floats, Name::CLASSES, 16, &f64::NAN.to_le_bytes())).contains("finite"));
    let bools = models()[4].to_bytes();
    assert!(problem(&crafted(&bools, Name::CLASSES, 17, &[2])).contains("entry"));
}

#[test]
fn crafted_categories_are_refused() {
    let model = Model::regressor(with_categories()).unwrap();
    let bytes = model.to_bytes();
    let set = |place: u32| (0x7FF8_0000_0000_0000 | u64::from(place)).to_le_bytes();
    let n_words = model.tree().categories.as_ref().unwrap().sets.words.len() as u32;
    assert!(Model::from_bytes(&crafted(&bytes, Name::NODES, 0, &set(n_words - 2))).is_ok(), "another set of two words");
    for place in [n_words - 1, n_words, u32::MAX] {
        assert!(problem(&crafted(&bytes, Name::NODES, 0, &set(place))).contains("no threshold"), "{place}");
    }
    // The length of a set follows from the number of categories.
    for count in [0, 64 * n_words + 1, u32::MAX] {
        let said = problem(&crafted(&bytes, Name::CATEGORY_COUNTS, 0, &count.to_le_bytes()));
        assert!(said.contains("no threshold"), "{count}: {said}");
    }
    for alone in [*b"catcount", *b"catsets\0"] {
        let said = problem(&with_section(&rich().to_bytes(), alone, true, &[0; 12]));
        assert!(said.contains("together") || said.contains("length does not match"), "{said}");
    }
}

#[test]
fn other_files_and_other_versions_say_so() {
    let bytes = rich().to_bytes();
    assert!(problem(b"").contains("no splitwood model"));
    assert!(problem(&[0; 4096]).contains("no splitwood model"));
    assert!(problem(&[b"\x80\x04\x95", &bytes[3..]].concat()).contains("no splitwood model"), "a pickle");
    let version = |at: usize, new: u16| {
        let mut bytes = bytes.clone();
        bytes[at..at + 2].copy_from_slice(&new.to_le_bytes());
        repair(&mut bytes);
        bytes
    };
    for major in [0, 2, u16::MAX] {
        let said = problem(&version(8, major));
        assert!(said.contains(&format!("format {major}.0")) && said.contains("reads 1.x"), "{said}");
    }
    assert_eq!(Model::from_bytes(&version(10, 7)).unwrap(), rich(), "a minor version only adds sections");
    assert!(problem(&Tree::to_bytes(rich().tree())).contains("tree alone"));
}

#[test]
fn sections_of_later_versions_are_skipped_or_refused() {
    let model = rich();
    let bytes = model.to_bytes();
    for payload in [&b""[..], b"?", &[7; 200]] {
        let skipped = with_section(&bytes, *b"novelty\0", false, payload);
        assert_eq!(Model::from_bytes(&skipped).unwrap(), model);
        for at in offset(&skipped, Name(*b"novelty\0"))..skipped.len() {
            let mut flipped = skipped.clone();
            flipped[at] ^= 1;
            assert!(problem(&flipped).contains("damaged"), "skipped, but not unread");
        }
        let refused = problem(&with_section(&bytes, *b"category", true, payload));
        assert!(refused.contains("'category'") && refused.contains("newer"), "{refused}");
    }
    let tree = &model.tree().to_bytes();
    assert!(problem(&with_section(tree, *b"classes\0", true, b"")).contains("classes"), "what a tree alone can't have");
    assert!(problem(&with_section(&bytes, *b"nodes\0\0\0", true, b"")).contains("twice"));
}

#[test]
fn sections_that_are_missing_are_missed() {
    let bytes = rich().to_bytes();
    let n_sections = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    for entry in 0..n_sections {
        let mut other = bytes.clone();
        let at = 64 + 32 * entry;
        let name = Name(other[at..at + 8].try_into().unwrap());
        other[at..at + 8].copy_from_slice(b"novelty\0");
        other[at + 28] = 0;
        repair(&mut other);
        let optional = [Name::WEIGHT, Name::FEATURES, Name::PARAMS].contains(&name);
        assert_eq!(Model::from_bytes(&other).is_ok(), optional, "{name}");
    }
}

#[test]
fn a_chain_a_million_deep_is_written_and_read() {
    const DEPTH: u32 = 1_000_000;
    let n = 2 * DEPTH + 1;
    let inner = |right| ArenaNode::inner(Test { feature: 0, threshold: 0.5, missing_left: false, right });
    // Left children down to the end, then the right children from the bottom up.
    let left = (0..DEPTH).map(|id| inner(n - 1 - id)).chain(std::iter::repeat_n(ArenaNode::leaf(), DEPTH as usize + 1));
    // Every left child is a leaf.
    let right = (0..n).map(|id| if id % 2 == 0 && id + 1 < n { inner(id + 2) } else { ArenaNode::leaf() });
    for nodes in [left.collect::<Vec<ArenaNode>>(), right.collect()] {
        let n = n as usize;
        let statistics = Statistics { values: vec![1.0; n], impurity: vec![0.0; n], rows: vec![1; n], weight: None };
        let tree = Tree::new(nodes, statistics, 1, 1, None).unwrap();
        let read = Tree::from_bytes(&tree.to_bytes()).unwrap();
        assert_eq!(read.max_depth(), DEPTH as usize);
        assert!(read == tree);
    }
}

#[test]
fn files_are_there_as_a_whole_or_not_at_all() {
    let folder = temporary("whole");
    let path = folder.join("model.splitwood");
    for model in models() {
        model.save(&path).unwrap();
        assert_eq!(Model::load(&path).unwrap(), model);
        assert_eq!(fs::read(&path).unwrap(), model.to_bytes());
        assert_eq!(&Tree::load(&path).unwrap(), model.tree());
    }
    let tree = tree(0, false);
    tree.save(&path).unwrap();
    assert_eq!(Tree::load(&path).unwrap(), tree);
    fs::create_dir(folder.join("taken")).unwrap();
    for path in ["taken", "nowhere/model", "..", ""] {
        assert!(matches!(tree.save(folder.join(path)), Err(Error::File { .. })), "{path}");
    }
    let mut left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["model.splitwood", "taken"], "no drafts");
    fs::remove_dir_all(folder).unwrap();
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = temporary("links");
    let (file, link) = (folder.join("x".repeat(255)), folder.join("link"));
    fs::write(&file, b"before").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&file, &link).unwrap();
    rich().save(&link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(Model::load(&file).unwrap(), rich());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = temporary("none");
    let error = Model::load(folder.join("missing")).unwrap_err();
    assert!(matches!(&error, Error::File { code: Some(_), .. }) && error.to_string().contains("missing"), "{error}");
    assert!(matches!(Model::load(&folder), Err(Error::File { .. })));
    let short = folder.join("short");
    fs::write(&short, &rich().to_bytes()[..100]).unwrap();
    let error = Model::load(&short).unwrap_err().to_string();
    assert!(error.contains("short") && error.contains("truncated: 100 bytes"), "{error}");
    #[cfg(unix)]
    {
        assert!(matches!(Model::load("/dev/zero"), Err(Error::Model { .. })));
        assert!(matches!(rich().save("/dev/null"), Err(Error::Model { .. })));
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
    fs::remove_dir_all(folder).unwrap();
}

/// Files to mutate: those of the tests above, and the golden files.
fn corpus() -> &'static [Vec<u8>] {
    static CORPUS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let golden = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/1.0")).unwrap();
        let mut golden: Vec<PathBuf> = golden.map(|entry| entry.unwrap().path()).collect();
        golden.retain(|path| path.extension().is_some_and(|extension| extension == "splitwood"));
        golden.sort();
        assert!(golden.len() > 5);
        let forests = forests();
        let forests = forests.iter().map(ForestModel::to_bytes);
        let golden = golden.iter().map(|path| fs::read(path).unwrap());
        models().iter().map(Model::to_bytes).chain(forests).chain(golden).collect()
    })
}

/// A change of a file, at places relative to its length.
#[derive(Clone, Debug)]
enum Mutation {
    Byte(Index, u8),
    /// An integer of eight bytes, like lengths, counts and offsets.
    Number(Index, u64),
    /// A piece of another file, with this number of bytes.
    Piece(Index, Index, Index, usize),
    Truncation(Index),
}

impl Mutation {
    fn any() -> impl Strategy<Value = Self> {
        let byte = prop_oneof![any::<u8>(), Just(0), Just(0xFF)];
        let number = prop_oneof![0..100u64, Just(u64::MAX), Just(1 << 63), (0..64u32).prop_map(|bits| 1 << bits)];
        prop_oneof![
            8 => (any::<Index>(), byte).prop_map(|(at, byte)| Self::Byte(at, byte)),
            3 => (any::<Index>(), number).prop_map(|(at, number)| Self::Number(at, number)),
            2 => (any::<Index>(), any::<Index>(), any::<Index>(), 1..200usize)
                .prop_map(|(other, from, to, len)| Self::Piece(other, from, to, len)),
            1 => any::<Index>().prop_map(Self::Truncation),
        ]
    }

    fn apply(&self, bytes: &mut Vec<u8>) {
        fn write(bytes: &mut [u8], at: usize, new: &[u8]) {
            let len = new.len().min(bytes.len() - at);
            bytes[at..at + len].copy_from_slice(&new[..len]);
        }
        if bytes.is_empty() {
            return;
        }
        let size = bytes.len();
        match *self {
            Self::Byte(at, byte) => write(bytes, at.index(size), &[byte]),
            Self::Number(at, number) => write(bytes, at.index(size) / 8 * 8, &number.to_le_bytes()),
            Self::Piece(other, from, to, len) => {
                let other = other.get(corpus());
                let from = from.index(other.len());
                write(bytes, to.index(size), &other[from..(from + len).min(other.len())]);
            }
            Self::Truncation(at) => bytes.truncate(at.index(size)),
        }
    }
}

fn n_cases(usual: u32) -> u32 {
    let times = std::env::var("FUZZ_TIMES").ok().and_then(|times| times.parse().ok());
    usual.saturating_mul(times.unwrap_or(1))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(n_cases(3_000)))]

    /// With a repaired checksum, every packed forest that is accepted is valid.
    #[test]
    fn mutations_of_packed_forests_are_refused_or_sound(
        which in any::<Index>(),
        mutations in prop::collection::vec(Mutation::any(), 1..6),
    ) {
        let forests = forests();
        let mut bytes = which.get(&forests).forest().to_packed();
        for mutation in &mutations {
            mutation.apply(&mut bytes);
        }
        if let Some(at) = bytes.len().checked_sub(4) {
            let checksum = crc32fast::hash(&bytes[..at]);
            bytes[at..].copy_from_slice(&checksum.to_le_bytes());
        }
        match Forest::from_bytes(&bytes) {
            Err(error) => prop_assert!(matches!(error, Error::Model { .. }), "{error}"),
            Ok(forest) => {
                let again = Forest::from_bytes(&forest.to_packed()).unwrap();
                prop_assert_eq!(again.to_bytes(), forest.to_bytes());
                if forest.n_features() == N_FEATURES {
                    prop_assert!(forest.predict(&rows(&cells()), Some(1)).is_ok());
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(n_cases(6_000)))]

    /// With repaired checksums, every file that is accepted is valid: it can be written, read again
    /// and used for predictions.
    #[test]
    fn mutations_are_refused_or_sound(which in any::<Index>(), mutations in prop::collection::vec(Mutation::any(), 1..6)) {
        let mut bytes = which.get(corpus()).clone();
        for mutation in &mutations {
            mutation.apply(&mut bytes);
        }
        repair(&mut bytes);
        match ForestModel::from_bytes(&bytes) {
            Err(error) => prop_assert!(matches!(error, Error::Model { .. }), "{error}"),
            Ok(model) => {
                let again = ForestModel::from_bytes(&model.to_bytes()).unwrap();
                prop_assert_eq!(&again.to_bytes(), &model.to_bytes());
                if model.forest().n_features() == N_FEATURES {
                    prop_assert!(model.forest().predict(&rows(&cells()), Some(1)).is_ok());
                }
            }
        }
        match Model::from_bytes(&bytes) {
            Err(error) => prop_assert!(matches!(error, Error::Model { .. }), "{error}"),
            Ok(model) => {
                let again = Model::from_bytes(&model.to_bytes()).unwrap();
                prop_assert_eq!(&again.to_bytes(), &model.to_bytes());
                if model.tree().n_features() == N_FEATURES {
                    let cells = cells();
                    let leaves = model.tree().apply(&rows(&cells), Some(1)).unwrap();
                    prop_assert!(leaves.iter().all(|&leaf| model.tree().children(leaf as usize).is_none()));
                }
            }
        }
    }
}

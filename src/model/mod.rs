//! The model file: a tree or a forest and the meaning of its values, with checksums.
//!
//! ```text
//!  Model ──► write ──► layout      sections, then header and table
//!            shape, labels, codec
//!  Model ◄── read  ◄── layout      header, table, shape, sections: each is checked before the next
//! ```
//!
//! `docs/model-format.md` describes the format byte by byte. Files may come from untrusted sources:
//! memory is allocated only for bytes that are in the file, and nothing in a file is executed. A
//! file is read once, and each number goes straight to its place, so that loading needs the memory
//! of the model alone.

mod codec;
mod file;
mod labels;
mod layout;
mod packed;
mod read;
mod shape;
#[cfg(test)]
mod tests;
mod write;

use std::path::Path;
use std::sync::Arc;

pub use self::labels::{Label, Labels};
use self::read::Stored;
use crate::error::{Error, Result};
use crate::forest::{Forest, LeafRows};
use crate::tree::Tree;

/// What a model predicts with: a [`Tree`] or a [`Forest`].
pub trait Predictor: Sized {
    #[doc(hidden)]
    fn trees(&self) -> Vec<&Tree>;

    #[doc(hidden)]
    fn is_forest(&self) -> bool;

    /// The predictor of a file, whose trees are valid.
    #[doc(hidden)]
    fn from_trees(trees: Vec<Tree>, is_forest: bool) -> Result<Self>;
}

impl Predictor for Tree {
    fn is_forest(&self) -> bool {
        false
    }

    fn trees(&self) -> Vec<&Tree> {
        vec![self]
    }

    fn from_trees(mut trees: Vec<Tree>, is_forest: bool) -> Result<Self> {
        match trees.pop() {
            Some(tree) if !is_forest => Ok(tree),
            _ => Err(Error::model("it holds a forest, which `ForestModel::load` reads in Rust")),
        }
    }
}

impl Predictor for Forest {
    fn is_forest(&self) -> bool {
        true
    }

    fn trees(&self) -> Vec<&Tree> {
        self.trees().iter().map(|tree| &**tree).collect()
    }

    fn from_trees(trees: Vec<Tree>, is_forest: bool) -> Result<Self> {
        if !is_forest {
            return Err(Error::model("it holds a tree, which `Model::load` reads in Rust"));
        }
        Self::new(trees.into_iter().map(Arc::new).collect()).map_err(|error| Error::model(error.to_string()))
    }
}

/// The meaning of the numbers in a tree's leaves.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Task {
    /// They are the predictions.
    Regression,
    /// They are the shares of the classes with these labels; one list of labels per output.
    Classification(Vec<Labels>),
}

/// A tree and everything that is needed to serve it. The same file is a fitted estimator in Python.
///
/// ```
/// use splitwood::{Labels, Loss, Matrix, Model, Params, Target, fit};
///
/// let x = Matrix::from_rows(&[0.0, 1.0, 2.0, 3.0], 4, 1)?;
/// let y = Target::Classes { codes: &[0, 0, 1, 1], n_classes: 2 };
/// let tree = fit(&x, y, None, Loss::Gini, &Params::default())?;
/// let labels = Labels::Strings(vec!["no".to_owned(), "yes".to_owned()]);
/// let model = Model::classifier(tree, vec![labels])?.with_feature_names(vec!["size".to_owned()])?;
///
/// let path = std::env::temp_dir().join(format!("answers-{}.splitwood", std::process::id()));
/// model.save(&path)?;
/// let loaded = Model::load(&path)?;
/// # std::fs::remove_file(&path).unwrap();
/// assert_eq!(loaded, model);
/// let code = loaded.tree().predict_class(&x, None)?[3];
/// assert_eq!(loaded.classes()[0].get(code as usize).unwrap().to_string(), "yes");
/// # Ok::<(), splitwood::Error>(())
/// ```
pub type Model = ModelOf<Tree>;

/// A forest and everything that is needed to serve it.
///
/// ```
/// use splitwood::{Bags, ForestModel, ForestParams, Loss, Matrix, Target, fit_forest};
///
/// let x = Matrix::from_rows(&[0.0, 1.0, 2.0, 3.0], 4, 1)?;
/// let params = ForestParams { bags: Bags::Bootstrap(4), ..ForestParams::new(10, 0) };
/// let y = Target::Values(&[1.0, 1.0, 5.0, 7.0]);
/// let forest = fit_forest(&x, y, None, Loss::SquaredError, &params)?.forest;
/// let model = ForestModel::regressor(forest)?;
/// assert_eq!(ForestModel::from_bytes(&model.to_bytes())?, model);
/// # Ok::<(), splitwood::Error>(())
/// ```
pub type ForestModel = ModelOf<Forest>;

/// A [`Model`] or a [`ForestModel`].
#[derive(Clone, Debug, PartialEq)]
pub struct ModelOf<P> {
    predictor: P,
    task: Task,
    leaf_rows: Option<LeafRows>,
    feature_names: Option<Vec<String>>,
    parameters: Option<String>,
}

/// A share of a class is at most 1, up to rounding.
const LARGEST_SHARE: f64 = 1.0 + 1e-9;

/// Returns an error if a node has a number that is no share of a class; a node has `n_values`
/// numbers.
fn check_shares(tree: &Tree, n_values: usize) -> Result<()> {
    let values = &tree.statistics.values;
    match values.iter().position(|share| !(0.0..=LARGEST_SHARE).contains(share)) {
        None => Ok(()),
        Some(i) => {
            let (share, node) = (values[i], i / n_values);
            Err(Error::argument("tree", format!("node {node} has {share} as the share of a class")))
        }
    }
}

/// The parts of a model that is to be written.
struct Contents<'a> {
    /// At least one.
    trees: Vec<&'a Tree>,
    is_forest: bool,
    leaf_rows: Option<&'a LeafRows>,
    /// `None`: trees alone.
    task: Option<&'a Task>,
    feature_names: Option<&'a [String]>,
    parameters: Option<&'a str>,
}

impl<'a> Contents<'a> {
    /// A predictor alone.
    fn of_trees<P: Predictor>(predictor: &'a P) -> Self {
        let (trees, is_forest) = (predictor.trees(), predictor.is_forest());
        Self { trees, is_forest, leaf_rows: None, task: None, feature_names: None, parameters: None }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        write::write(&mut bytes, self).expect("writing to memory can't fail");
        bytes
    }

    fn save(self, path: &Path) -> Result<()> {
        // Finds invalid trees before they are written: a file that can't be read would be noticed
        // too late.
        self.trees.iter().try_for_each(|tree| tree.check_all().map(|_| ()))?;
        file::replace(path, |out| write::write(out, &self))
    }
}

impl Stored {
    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        read::read(bytes, bytes.len() as u64)
    }

    fn load(path: &Path) -> Result<Self> {
        let (file, length) = file::open(path)?;
        read::read(file, length).map_err(|error| error.in_file(path))
    }
}

impl<P: Predictor> ModelOf<P> {
    /// A model that predicts the numbers in the leaves.
    ///
    /// # Errors
    /// If the leaves have more than one number per output.
    pub fn regressor(predictor: P) -> Result<Self> {
        Self::new(predictor, Task::Regression)
    }

    /// A model that predicts these labels; one list of labels per output.
    ///
    /// # Errors
    /// If the leaves don't have one number per label, a number is not a share, or a label is not
    /// finite.
    pub fn classifier(predictor: P, classes: Vec<Labels>) -> Result<Self> {
        Self::new(predictor, Task::Classification(classes))
    }

    fn new(predictor: P, task: Task) -> Result<Self> {
        // The trees of a forest agree in their outputs and values.
        let tree = predictor.trees()[0];
        let (n_outputs, n_values) = (tree.n_outputs(), tree.n_values());
        let needed = match &task {
            Task::Regression => n_outputs,
            Task::Classification(classes) => {
                classes.iter().try_for_each(Labels::check)?;
                if classes.len() != n_outputs {
                    let problem =
                        format!("must have {n_outputs} lists of labels, one per output, got {}", classes.len());
                    return Err(Error::argument("classes", problem));
                }
                // Every output has as many numbers as the one with the most classes.
                n_outputs * classes.iter().map(Labels::len).max().unwrap_or(0)
            }
        };
        if n_values != needed {
            let problem = format!("needs {needed} values per leaf, got {n_values}");
            return Err(Error::argument("tree", problem));
        }
        if let Task::Classification(_) = task {
            predictor.trees().into_iter().try_for_each(|tree| check_shares(tree, needed))?;
        }
        Ok(Self { predictor, task, leaf_rows: None, feature_names: None, parameters: None })
    }

    /// This model with the training rows in its leaves, as a quantile forest has them.
    ///
    /// # Errors
    /// If this is no forest for numbers, or the rows are not those of its leaves.
    pub fn with_leaf_rows(self, leaf_rows: LeafRows) -> Result<Self> {
        if !self.predictor.is_forest() || self.task != Task::Regression {
            return Err(Error::argument("leaf_rows", "only a forest for numbers keeps them"));
        }
        leaf_rows.check(&self.predictor.trees())?;
        Ok(Self { leaf_rows: Some(leaf_rows), ..self })
    }

    /// The training rows in the leaves, if the model is a quantile forest.
    #[must_use]
    pub fn leaf_rows(&self) -> Option<&LeafRows> {
        self.leaf_rows.as_ref()
    }

    /// This model with one name per feature.
    ///
    /// # Errors
    /// If the number of names is not the number of features.
    pub fn with_feature_names(self, names: Vec<String>) -> Result<Self> {
        let n_features = self.predictor.trees()[0].n_features();
        if names.len() != n_features {
            let problem = format!("must have {n_features} names, one per feature, got {}", names.len());
            return Err(Error::argument("feature_names", problem));
        }
        Ok(Self { feature_names: Some(names), ..self })
    }

    /// This model with the parameters of the Python estimator, as JSON. Rust stores the text
    /// unread.
    #[must_use]
    pub fn with_parameters(self, json: String) -> Self {
        Self { parameters: Some(json), ..self }
    }

    /// The tree or forest, without the rest of the model.
    #[must_use]
    pub fn into_predictor(self) -> P {
        self.predictor
    }

    /// Number of outputs.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.predictor.trees()[0].n_outputs()
    }

    /// The meaning of the numbers in the leaves.
    #[must_use]
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The labels of the classes, one list per output; empty for a regressor.
    #[must_use]
    pub fn classes(&self) -> &[Labels] {
        match &self.task {
            Task::Regression => &[],
            Task::Classification(classes) => classes,
        }
    }

    /// The names of the features, if the training data had names.
    #[must_use]
    pub fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    /// The parameters of the Python estimator, as JSON.
    #[must_use]
    pub fn parameters(&self) -> Option<&str> {
        self.parameters.as_deref()
    }

    /// Writes the model to a file. The file is replaced as a whole or not at all.
    ///
    /// # Errors
    /// If the file can't be written. An earlier file then stays as it was.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.contents().save(path.as_ref())
    }

    /// Reads a model from a file. This is safe for files from untrusted sources: everything is
    /// checked, and nothing is executed.
    ///
    /// # Errors
    /// If the file can't be read, is damaged, is no model, or needs a newer version.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_stored(Stored::load(path)?).map_err(|error| error.in_file(path))
    }

    /// The bytes of the file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.contents().to_bytes()
    }

    /// A model from the bytes of its file, as [`Model::load`] reads them.
    ///
    /// # Errors
    /// If the bytes are damaged, are no model, or need a newer version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::from_stored(Stored::from_bytes(bytes)?)
    }

    fn contents(&self) -> Contents<'_> {
        Contents {
            trees: self.predictor.trees(),
            is_forest: self.predictor.is_forest(),
            leaf_rows: self.leaf_rows.as_ref(),
            task: Some(&self.task),
            feature_names: self.feature_names.as_deref(),
            parameters: self.parameters.as_deref(),
        }
    }

    fn from_stored(stored: Stored) -> Result<Self> {
        let Stored { trees, is_forest, leaf_rows, task, feature_names, parameters } = stored;
        let predictor = P::from_trees(trees, is_forest)?;
        let task = task.ok_or_else(|| Error::model("it holds a tree alone, which `Tree::load` reads in Rust"))?;
        let refused = |error: Error| Error::model(error.to_string());
        let mut model = Self::new(predictor, task).map_err(refused)?;
        if let Some(names) = feature_names {
            model = model.with_feature_names(names).map_err(refused)?;
        }
        if let Some(leaf_rows) = leaf_rows {
            model = model.with_leaf_rows(leaf_rows).map_err(refused)?;
        }
        Ok(Self { parameters, ..model })
    }
}

impl Model {
    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.predictor
    }

    /// The tree, without the rest of the model.
    #[must_use]
    pub fn into_tree(self) -> Tree {
        self.predictor
    }
}

impl ForestModel {
    /// The forest.
    #[must_use]
    pub fn forest(&self) -> &Forest {
        &self.predictor
    }
}

impl Tree {
    /// Writes the tree to a file, in the format of [`Model::save`] but without the meaning of its
    /// values.
    ///
    /// # Errors
    /// If the file can't be written. An earlier file then stays as it was.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.contents().save(path.as_ref())
    }

    /// Reads the tree of a file that [`Tree::save`], [`Model::save`] or Python has written.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let stored = Stored::load(path)?;
        Self::from_trees(stored.trees, stored.is_forest).map_err(|error| error.in_file(path))
    }

    /// The bytes of the file that [`Tree::save`] writes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.contents().to_bytes()
    }

    /// The tree from the bytes of a file, as [`Tree::load`] reads them.
    ///
    /// # Errors
    /// As [`Model::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let stored = Stored::from_bytes(bytes)?;
        Self::from_trees(stored.trees, stored.is_forest)
    }

    fn contents(&self) -> Contents<'_> {
        Contents::of_trees(self)
    }
}

impl Forest {
    /// The bytes of a file with the forest alone, as [`Tree::to_bytes`].
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        Contents::of_trees(self).to_bytes()
    }

    /// The forest in fewer bytes than its file has, for pickles and messages.
    #[must_use]
    pub fn to_packed(&self) -> Vec<u8> {
        packed::pack(self)
    }

    /// The forest from the bytes of a file that [`Forest::to_bytes`], [`ForestModel::save`] or
    /// Python has written, or from those of [`Forest::to_packed`].
    ///
    /// # Errors
    /// As [`Model::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if bytes.starts_with(&packed::MAGIC) {
            return packed::unpack(bytes);
        }
        let stored = Stored::from_bytes(bytes)?;
        Self::from_trees(stored.trees, stored.is_forest)
    }
}

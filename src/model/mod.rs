//! The model file: a tree and the meaning of its values, with checksums.
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
mod read;
mod shape;
#[cfg(test)]
mod tests;
mod write;

use std::path::Path;

pub use self::labels::{Label, Labels};
use self::read::Stored;
use crate::error::{Error, Result};
use crate::tree::Tree;

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
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    tree: Tree,
    task: Task,
    feature_names: Option<Vec<String>>,
    parameters: Option<String>,
}

/// A share of a class is at most 1, up to rounding.
const LARGEST_SHARE: f64 = 1.0 + 1e-9;

/// The parts of a model that is to be written.
#[derive(Clone, Copy)]
struct Contents<'a> {
    tree: &'a Tree,
    /// `None`: a tree alone.
    task: Option<&'a Task>,
    feature_names: Option<&'a [String]>,
    parameters: Option<&'a str>,
}

impl Contents<'_> {
    fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        write::write(&mut bytes, &self).expect("writing to memory can't fail");
        bytes
    }

    fn save(self, path: &Path) -> Result<()> {
        // Finds invalid trees before they are written: a file that can't be read would be noticed
        // too late.
        self.tree.check_all()?;
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

impl Model {
    /// A model that predicts the numbers in the leaves.
    ///
    /// # Errors
    /// If the leaves have more than one number per output.
    pub fn regressor(tree: Tree) -> Result<Self> {
        Self::new(tree, Task::Regression)
    }

    /// A model that predicts these labels; one list of labels per output.
    ///
    /// # Errors
    /// If the leaves don't have one number per label, a number is not a share, or a label is not
    /// finite.
    pub fn classifier(tree: Tree, classes: Vec<Labels>) -> Result<Self> {
        Self::new(tree, Task::Classification(classes))
    }

    fn new(tree: Tree, task: Task) -> Result<Self> {
        let n_outputs = tree.n_outputs();
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
        if tree.n_values() != needed {
            let problem = format!("needs {needed} values per leaf, got {}", tree.n_values());
            return Err(Error::argument("tree", problem));
        }
        if let Task::Classification(_) = task
            && let Some(i) = tree.statistics.values.iter().position(|share| !(0.0..=LARGEST_SHARE).contains(share))
        {
            let (share, node) = (tree.statistics.values[i], i / needed);
            return Err(Error::argument("tree", format!("node {node} has {share} as the share of a class")));
        }
        Ok(Self { tree, task, feature_names: None, parameters: None })
    }

    /// This model with one name per feature.
    ///
    /// # Errors
    /// If the number of names is not the number of features.
    pub fn with_feature_names(self, names: Vec<String>) -> Result<Self> {
        if names.len() != self.tree.n_features() {
            let problem = format!("must have {} names, one per feature, got {}", self.tree.n_features(), names.len());
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

    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The tree, without the rest of the model.
    #[must_use]
    pub fn into_tree(self) -> Tree {
        self.tree
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
            tree: &self.tree,
            task: Some(&self.task),
            feature_names: self.feature_names.as_deref(),
            parameters: self.parameters.as_deref(),
        }
    }

    fn from_stored(stored: Stored) -> Result<Self> {
        let Stored { tree, task, feature_names, parameters } = stored;
        let task = task.ok_or_else(|| Error::model("it holds a tree alone, which `Tree::load` reads in Rust"))?;
        let refused = |error: Error| Error::model(error.to_string());
        let mut model = Self::new(tree, task).map_err(refused)?;
        if let Some(names) = feature_names {
            model = model.with_feature_names(names).map_err(refused)?;
        }
        Ok(Self { parameters, ..model })
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
        Ok(Stored::load(path.as_ref())?.tree)
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
        Ok(Stored::from_bytes(bytes)?.tree)
    }

    fn contents(&self) -> Contents<'_> {
        Contents { tree: self, task: None, feature_names: None, parameters: None }
    }
}

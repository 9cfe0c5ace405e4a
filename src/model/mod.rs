//! The model file: a tree with what its answers mean, checksummed, and checked from end to end before it is believed.
//!
//! ```text
//!  Model ──► write ──► layout      sections, then header and table
//!            shape, labels, codec
//!  Model ◄── read  ◄── layout      header, table, shape, sections; each checked before the next is looked at
//! ```
//!
//! `docs/model-format.md` has the format byte by byte. Nothing that is read decides how much memory is asked for but bytes that are
//! there, and nothing in a file is run. The file is read once; each number goes straight to its place.

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

/// What the numbers in a tree's leaves mean.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Task {
    /// They are the answer.
    Regression,
    /// They are shares of classes, whose labels these are; a list for each output.
    Classification(Vec<Labels>),
}

/// A tree and what it takes to serve it: the same in Rust and, as a fitted estimator, in Python.
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

/// What is to be written.
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
        write::write(&mut bytes, &self).expect("memory takes all that is written to it");
        bytes
    }

    fn save(self, path: &Path) -> Result<()> {
        // A file that could not be read would be noticed when it is too late.
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
    /// A model whose answers are the numbers in the leaves.
    ///
    /// # Errors
    /// If the leaves have more numbers than there are outputs.
    pub fn regressor(tree: Tree) -> Result<Self> {
        Self::new(tree, Task::Regression)
    }

    /// A model whose answers are these labels: a list of them for each output.
    ///
    /// # Errors
    /// If the leaves do not have a number for each label, or a label is no finite number.
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
                    let problem = format!("{} lists of labels for {n_outputs} outputs", classes.len());
                    return Err(Error::argument("classes", problem));
                }
                // Leaves have the same number of places for each output.
                n_outputs * classes.iter().map(Labels::len).max().unwrap_or(0)
            }
        };
        if tree.n_values() != needed {
            let problem = format!("needs {needed} values a leaf, got {}", tree.n_values());
            return Err(Error::argument("tree", problem));
        }
        Ok(Self { tree, task, feature_names: None, parameters: None })
    }

    /// The same model with a name for each feature.
    ///
    /// # Errors
    /// If there are more or fewer names than features.
    pub fn with_feature_names(self, names: Vec<String>) -> Result<Self> {
        if names.len() != self.tree.n_features() {
            let problem = format!("{} names for {} features", names.len(), self.tree.n_features());
            return Err(Error::argument("feature_names", problem));
        }
        Ok(Self { feature_names: Some(names), ..self })
    }

    /// The same model with what Python knows of the estimator, as JSON; this side keeps it as it is.
    #[must_use]
    pub fn with_parameters(self, json: String) -> Self {
        Self { parameters: Some(json), ..self }
    }

    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The tree alone.
    #[must_use]
    pub fn into_tree(self) -> Tree {
        self.tree
    }

    /// What the numbers in the leaves mean.
    #[must_use]
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The labels of the classes, a list for each output; none for a regressor.
    #[must_use]
    pub fn classes(&self) -> &[Labels] {
        match &self.task {
            Task::Regression => &[],
            Task::Classification(classes) => classes,
        }
    }

    /// A name for each feature, if the training rows had names.
    #[must_use]
    pub fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    /// What Python knows of the estimator, as JSON.
    #[must_use]
    pub fn parameters(&self) -> Option<&str> {
        self.parameters.as_deref()
    }

    /// Writes the model to a file, which is there as a whole or not at all.
    ///
    /// # Errors
    /// If the file can't be written; what was there before is still there.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.contents().save(path.as_ref())
    }

    /// Reads a model from a file. Safe for files from strangers: everything is checked, nothing is run.
    ///
    /// # Errors
    /// If the file can't be read, is damaged, is no model, or is of a version that this one can't read.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_stored(Stored::load(path)?).map_err(|error| error.in_file(path))
    }

    /// The bytes of the file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.contents().to_bytes()
    }

    /// A model from the bytes of its file, as [`Model::load`].
    ///
    /// # Errors
    /// If they are damaged, no model, or of a version that this one can't read.
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
    /// Writes the tree alone to a file, in the format of [`Model::save`].
    ///
    /// # Errors
    /// If the file can't be written; what was there before is still there.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.contents().save(path.as_ref())
    }

    /// Reads the tree from a file that [`Tree::save`], [`Model::save`] or Python has written.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Stored::load(path.as_ref())?.tree)
    }

    /// The bytes of [`Tree::save`].
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.contents().to_bytes()
    }

    /// The tree from bytes of a file, as [`Tree::load`].
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

//! Importances of features, as the mean over the trees.

use super::Forest;
use crate::error::Result;
use crate::threads::Team;

impl Forest {
    /// The share of the loss that the splits on each feature remove: the mean over all trees that
    /// have splits, scaled to a sum of one. All zeros if no tree has any.
    ///
    /// # Errors
    /// If `n_jobs` is 0.
    pub fn feature_importances(&self, n_jobs: Option<i64>) -> Result<Vec<f64>> {
        let n_nodes: usize = self.trees.iter().map(|tree| tree.node_count()).sum();
        let team = Team::new(n_jobs, 1, n_nodes)?;
        let trees = self.trees.iter().filter(|tree| tree.node_count() > 1);
        let mut importances: Vec<_> = trees.map(|tree| (tree, Vec::new())).collect();
        team.each(&mut importances, &mut vec![(); team.threads()], |(), (tree, of_tree)| {
            *of_tree = tree.feature_importances(true);
        });
        let mut mean = vec![0.0; self.n_features()];
        for (_, of_tree) in &importances {
            mean.iter_mut().zip(of_tree).for_each(|(sum, importance)| *sum += importance / importances.len() as f64);
        }
        let total: f64 = mean.iter().sum();
        if total > 0.0 {
            for importance in &mut mean {
                *importance /= total;
            }
        }
        Ok(mean)
    }
}

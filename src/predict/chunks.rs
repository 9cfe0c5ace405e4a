//! Predictions in chunks of rows, which the threads of a team share.

use std::mem::MaybeUninit;

use crate::error::{Error, Result};
use crate::threads::Team;

/// The rows of a prediction, cut into chunks, and the threads that take them.
pub(crate) struct Chunks<'a> {
    pub team: &'a Team,
    pub n_rows: usize,
    /// Rows of each chunk but the last one.
    pub chunk_rows: usize,
}

impl Chunks<'_> {
    /// Calls `write` for each chunk with its first row and its places of `out`. `prepare` makes
    /// what all threads read, on a thread of the team. Each thread has a scratch of its own.
    ///
    /// # Errors
    /// If the team is cancelled, which it is once `go_on` returns false.
    pub fn write<O: Send, P: Sync, S: Default + Send>(
        &self,
        out: &mut [MaybeUninit<O>],
        mut go_on: impl FnMut() -> bool,
        prepare: impl FnOnce() -> P + Send,
        write: impl Fn(&P, &mut S, usize, &mut [MaybeUninit<O>]) + Sync,
    ) -> Result<()> {
        let width = out.len() / self.n_rows;
        assert_eq!(out.len(), self.n_rows * width);
        let mut chunks: Vec<_> = out.chunks_mut(self.chunk_rows * width).enumerate().collect();
        let mut scratches: Vec<S> = (0..self.team.threads()).map(|_| S::default()).collect();
        let work = || {
            let prepared = prepare();
            self.team.each(&mut chunks, &mut scratches, |scratch, (chunk, out)| {
                if !self.team.cancelled() {
                    write(&prepared, scratch, *chunk * self.chunk_rows, out);
                }
            });
        };
        self.team.supervise(work, |_| go_on());
        if self.team.cancelled() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

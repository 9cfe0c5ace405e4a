//! Thread pools, the cancel flag, and [`Team::each`], by which all parallel work is distributed.
//!
//! rayon's global pool does not survive `fork()`: the child would wait for ever for threads that
//! exist only in its parent. So splitwood has pools of its own, in a registry that stores its
//! process id. A child that finds its parent's registry leaks it (dropping it would join threads
//! that don't exist) and starts a registry of its own.
//!
//! Cost: a pool is started once per process and number of threads. `each` takes a lock once per
//! item, so items are nodes, columns or blocks of rows, never single rows.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use rayon::ThreadPool;

use crate::error::{Error, Result};

/// Below this many cells, a fit or a prediction takes less time than waking a pool.
const CELLS_WORTH_A_POOL: usize = 1 << 15;

/// How often the waiting caller calls `go_on`: Ctrl-C must work within a second.
const POLL: Duration = Duration::from_millis(50);

/// Number of CPUs this process may use: affinity mask and container quota, then `RAYON_NUM_THREADS`
/// and `OMP_NUM_THREADS` (which joblib sets in its workers), whichever is least.
#[must_use]
pub fn available_threads() -> usize {
    #[cfg(test)]
    if let Some(cpus) = tests::CPUS.get() {
        return cpus;
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    ["RAYON_NUM_THREADS", "OMP_NUM_THREADS"]
        .into_iter()
        // OMP_NUM_THREADS may be a list with an entry for each level of nesting. The first is the
        // outermost.
        .filter_map(|name| std::env::var(name).ok()?.split(',').next()?.trim().parse().ok())
        .filter(|&limit: &usize| limit > 0)
        .fold(cpus, usize::min)
}

/// Number of threads for a user's `n_jobs`, with joblib's meaning of negative numbers.
fn resolve_jobs(n_jobs: Option<i64>) -> usize {
    let available = available_threads();
    match n_jobs {
        None => available,
        Some(jobs) if jobs > 0 => usize::try_from(jobs).unwrap_or(usize::MAX).min(available),
        Some(jobs) => (available as i64).saturating_add(jobs).saturating_add(1).max(1) as usize,
    }
}

/// The pools of one process by number of threads. Never dropped.
struct Registry {
    process: u32,
    pools: Mutex<HashMap<usize, Arc<ThreadPool>>>,
}

static REGISTRY: AtomicPtr<Registry> = AtomicPtr::new(std::ptr::null_mut());

impl Registry {
    fn of_this_process() -> &'static Self {
        let process = std::process::id();
        let found = REGISTRY.load(Ordering::Acquire);
        // SAFETY: the pointer is null or came from `Box::leak` below, and is never freed.
        if let Some(registry) = unsafe { found.as_ref() }
            && registry.process == process
        {
            return registry;
        }
        let new: &'static mut Self = Box::leak(Box::new(Self { process, pools: Mutex::default() }));
        let new: *mut Self = new;
        match REGISTRY.compare_exchange(found, new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: leaked just now.
            Ok(_) => unsafe { &*new },
            // Another thread of this process was faster; its registry is used.
            // SAFETY: whatever replaced `found` was leaked by a thread of this process.
            Err(theirs) => unsafe { &*theirs },
        }
    }

    fn pool(&self, threads: usize) -> Result<Arc<ThreadPool>> {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pools.get(&threads) {
            return Ok(Arc::clone(pool));
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("splitwood-{i}"))
            .build()
            .map_err(|e| Error::argument("n_jobs", format!("cannot start {threads} threads: {e}")))?;
        Ok(Arc::clone(pools.entry(threads).or_insert(Arc::new(pool))))
    }
}

/// The threads of one fit or prediction: the calling thread alone, or a pool.
pub(crate) struct Team {
    pool: Option<Arc<ThreadPool>>,
    /// Shared with the teams of the trees of a forest.
    cancelled: Arc<AtomicBool>,
    /// Rows that have reached their leaf, of `n_rows`; of a forest, trees that are finished.
    finished_rows: AtomicUsize,
    n_rows: usize,
}

impl Team {
    /// A team for the user's `n_jobs`. The task has this many rows and reads this many cells.
    pub fn new(n_jobs: Option<i64>, n_rows: usize, cells: usize) -> Result<Self> {
        if n_jobs == Some(0) {
            return Err(Error::argument("n_jobs", "must not be 0; use 1 for one thread, None for all CPUs"));
        }
        // Counting the CPUs reads files, which would dominate a small task.
        let pool = if cells < CELLS_WORTH_A_POOL {
            None
        } else {
            Some(Registry::of_this_process().pool(resolve_jobs(n_jobs))?)
        };
        Ok(Self { pool, cancelled: Arc::default(), finished_rows: AtomicUsize::new(0), n_rows })
    }

    /// The calling thread alone, which nothing cancels.
    pub fn of_caller() -> Self {
        Self { pool: None, cancelled: Arc::default(), finished_rows: AtomicUsize::new(0), n_rows: 1 }
    }

    /// The team of one tree of a forest: this team, or one thread of it. It is cancelled together
    /// with this team, but counts rows of its own.
    pub fn of_tree(&self, n_threads: usize) -> Self {
        let pool = self.pool.clone().filter(|_| n_threads > 1);
        Self { pool, cancelled: Arc::clone(&self.cancelled), finished_rows: AtomicUsize::new(0), n_rows: 1 }
    }

    pub fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// Whether the task is to stop. Workers check this once per node, not once per row.
    pub fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Adds rows that have reached their leaf. Workers call this at most once per node.
    pub fn add_finished(&self, rows: usize) {
        self.finished_rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Calls `work` for each item. There is one worker per scratch; it takes the next item when it
    /// has finished one.
    ///
    /// Which worker gets which item is random, so results must not depend on what a scratch holds.
    pub fn each<T: Send, S: Send>(&self, items: &mut [T], scratches: &mut [S], work: impl Fn(&mut S, &mut T) + Sync) {
        let Some(pool) = self.pool.as_ref().filter(|_| items.len() > 1 && scratches.len() > 1) else {
            let scratch = &mut scratches[0];
            return items.iter_mut().for_each(|item| work(scratch, item));
        };
        let workers = scratches.len().min(items.len());
        let queue = Mutex::new(items.iter_mut());
        let (queue, work) = (&queue, &work);
        let jobs = scratches[..workers].iter_mut().map(|scratch| -> Job<'_> {
            Box::new(move || {
                // The lock is released before the work begins.
                while let Some(item) = { queue.lock().unwrap_or_else(PoisonError::into_inner).next() } {
                    work(scratch, item);
                }
            })
        });
        run_all(pool, jobs.collect());
    }

    /// Runs `work` on the pool while the calling thread waits and calls `go_on`, every `POLL`, with
    /// the share of finished rows. When it returns false, the task is cancelled.
    pub fn supervise<R: Send>(&self, work: impl FnOnce() -> R + Send, mut go_on: impl FnMut(f64) -> bool) -> R {
        let Some(pool) = &self.pool else { return work() };
        let mut result = None;
        self.watch(pool, Box::new(|| result = Some(work())), &mut go_on);
        result.expect("the worker has ended")
    }

    /// [`Team::supervise`] for a job of any kind.
    fn watch(&self, pool: &ThreadPool, job: Job<'_>, go_on: &mut dyn FnMut(f64) -> bool) {
        let outcome = Mutex::new(None);
        let done = Condvar::new();
        pool.in_place_scope(|scope| {
            scope.spawn(|_| {
                // A panic is passed on to the caller, which would otherwise wait for ever.
                let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
                *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                done.notify_one();
            });
            let mut ended = outcome.lock().unwrap_or_else(PoisonError::into_inner);
            while ended.is_none() {
                ended = done.wait_timeout(ended, POLL).unwrap_or_else(PoisonError::into_inner).0;
                if ended.is_none() && !self.cancelled() {
                    drop(ended);
                    if !go_on(self.finished_rows.load(Ordering::Relaxed) as f64 / self.n_rows as f64) {
                        self.cancelled.store(true, Ordering::Relaxed);
                    }
                    ended = outcome.lock().unwrap_or_else(PoisonError::into_inner);
                }
            }
        });
        if let Some(Err(panic)) = outcome.into_inner().unwrap_or_else(PoisonError::into_inner) {
            std::panic::resume_unwind(panic);
        }
    }
}

/// Work for one thread. It is boxed so that rayon's machinery is compiled once, and not for each
/// kind of work: that would be a sixth of the whole crate.
type Job<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Runs all jobs on the pool and waits for them.
fn run_all(pool: &ThreadPool, jobs: Vec<Job<'_>>) {
    pool.scope(|scope| {
        for job in jobs {
            scope.spawn(|_| job());
        }
    });
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// Number of CPUs for the tests of this thread, instead of the machine's.
        pub static CPUS: Cell<Option<usize>> = const { Cell::new(None) };
    }

    #[test]
    fn jobs_follow_joblib() {
        let all = available_threads();
        assert_eq!(resolve_jobs(None), all);
        assert_eq!(resolve_jobs(Some(-1)), all);
        assert_eq!(resolve_jobs(Some(i64::MAX)), all);
        assert_eq!(resolve_jobs(Some(i64::MIN)), 1);
        assert!(Team::new(Some(0), 1, 1).is_err());
    }

    #[test]
    fn every_item_is_worked_on_once() {
        let team = Team::new(None, 1, usize::MAX).unwrap();
        let mut items = vec![0; 1000];
        let mut scratches = vec![0; team.threads()];
        team.each(&mut items, &mut scratches, |done, item| {
            *item += 1;
            *done += 1;
        });
        assert!(items.iter().all(|&item| item == 1));
        assert_eq!(scratches.iter().sum::<i32>(), 1000);
    }

    #[test]
    fn case_37_a_panic_reaches_the_caller_and_the_pool_goes_on() {
        let team = Team::new(None, 1, usize::MAX).unwrap();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            team.supervise(|| panic!("on purpose"), |_| true);
        }));
        assert!(panicked.is_err());
        assert_eq!(team.supervise(|| 7, |_| true), 7);
    }

    #[test]
    fn case_37_a_panic_of_one_worker_reaches_the_caller_and_the_pool_goes_on() {
        CPUS.set(Some(3));
        let team = Team::new(None, 1, usize::MAX).unwrap();
        let share_out = |bad: usize| {
            let mut items: Vec<usize> = (0..100).collect();
            team.supervise(
                || team.each(&mut items, &mut [(); 3], |(), item| assert!(*item != bad, "on purpose")),
                |_| true,
            );
        };
        for bad in [0, 50, 99] {
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| share_out(bad))).is_err());
            share_out(usize::MAX);
        }
    }

    #[test]
    fn a_refusal_to_go_on_cancels_the_work() {
        let team = Team::new(None, 1, usize::MAX).unwrap();
        team.supervise(
            || {
                while !team.cancelled() {
                    std::thread::yield_now();
                }
            },
            |_| false,
        );
    }
}

//! Time of each quantile kernel for the gains, or the bound, of one feature, in ns per row. Rows
//! are in random order.
//!
//! `cargo bench --bench median` prints the best of several rounds, in which all kernels take turns.
//! `cargo bench --bench median -- 1000` measures only nodes of 1,000 rows.

use std::hint::black_box;
use std::time::Instant;

use splitwood::quantile_kernels::rank_bitmap::Bitmap;
use splitwood::quantile_kernels::screen::SlopeScreen;
use splitwood::quantile_kernels::screened_order::{CutRange, ScreenedOrder, Weights};
use splitwood::quantile_kernels::weighted_sweep::{WeightedBitmap, WeightedTargets};
use splitwood::quantile_kernels::{Level, heap_sweep, median_sweep, pinball_sweep};

const SIZES: [usize; 6] = [16, 64, 1_000, 10_000, 100_000, 1_000_000];
/// Rows per kernel and round, in nodes of the given size.
const ROWS: usize = 1_000_000;
const ROUNDS: usize = 15;

/// Nodes of one size: too many for a branch predictor to learn their orders.
struct Nodes {
    size: usize,
    sorted: Vec<i64>,
    weights: Vec<i64>,
    /// Ranks in the feature's order, node after node.
    ranks: Vec<u32>,
}

impl Nodes {
    fn new(size: usize) -> Self {
        let mut state = 42u64;
        let mut next = || {
            // SplitMix64.
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ (z >> 31)
        };
        let mut sorted: Vec<i64> = (0..size).map(|_| (next() >> 22) as i64).collect();
        sorted.sort_unstable();
        let weights = (0..size).map(|_| (next() >> 24) as i64).collect();
        let mut ranks = Vec::new();
        while ranks.len() < ROWS {
            let mut order: Vec<u32> = (0..size as u32).collect();
            (1..size).rev().for_each(|i| order.swap(i, (next() % (i as u64 + 1)) as usize));
            ranks.extend(order);
        }
        Self { size, sorted, weights, ranks }
    }

    /// Time for all nodes, in ns per row. `gains` returns the best gain of a node.
    #[inline(never)]
    fn time(&self, mut gains: impl FnMut(&[u32]) -> i64) -> f64 {
        let start = Instant::now();
        for ranks in self.ranks.chunks(self.size) {
            black_box(gains(black_box(ranks)));
        }
        start.elapsed().as_secs_f64() * 1e9 / self.ranks.len() as f64
    }
}

/// The best cut so far.
#[derive(Default)]
struct Best {
    gain: i64,
    cut: usize,
}

impl Best {
    fn find(sweep: impl FnOnce(&mut Self)) -> i64 {
        let mut best = Self::default();
        sweep(&mut best);
        best.gain ^ best.cut as i64
    }

    #[inline(always)]
    fn offer(&mut self, cut: usize, gain: i64) {
        if gain > self.gain {
            (self.gain, self.cut) = (gain, cut);
        }
    }
}

const KERNELS: [&str; 8] =
    ["median: heaps", "bitmap", "bound", "0.9: heaps", "bitmap", "weighted: heaps", "bitmap", "bound"];

/// Time of the screen's bound on all gains.
fn time_bound(nodes: &Nodes, weights: impl Weights) -> f64 {
    let mut screen = SlopeScreen::default();
    screen.describe(Level::HALF, &nodes.sorted, weights);
    let cuts = (1, nodes.sorted.len() - 1);
    let tags = screen.tags();
    nodes.time(|ranks| {
        let tag = |place: usize| tags[ranks[place] as usize];
        screen.gain_bound(&ScreenedOrder { cuts, same: |a, b| a == b, tag, weights }) as i64
    })
}

fn round(nodes: &Nodes, bitmap: &mut Bitmap, scratch: &mut WeightedBitmap) -> [f64; KERNELS.len()] {
    let (sorted, weights) = (&nodes.sorted[..], &nodes.weights[..]);
    let (half, level) = (Level::HALF, Level::new(0.9).unwrap());
    let mut rows = WeightedTargets::default();
    rows.describe(half, sorted, weights);
    let all = [CutRange::new(1, sorted.len() - 1)];
    let heaps = |level: Level, weight: fn(&[i64], usize) -> i64| {
        nodes.time(|ranks| {
            let (weight, rank) = (|rank: usize| weight(weights, rank), |place: usize| ranks[place] as usize);
            Best::find(|best| heap_sweep::sweep(level, sorted, weight, rank, |k, gain| best.offer(k, gain as i64)))
        })
    };
    [
        heaps(half, |_, _| 1),
        nodes.time(|ranks| {
            Best::find(|best| {
                median_sweep::sweep(sorted, |i| ranks[i] as usize, usize::MAX, bitmap, |k, g| best.offer(k, g));
            })
        }),
        time_bound(nodes, ()),
        heaps(level, |_, _| 1),
        nodes.time(|ranks| {
            Best::find(|best| {
                pinball_sweep::sweep(level, sorted, |i| ranks[i] as usize, usize::MAX, bitmap, |k, g| best.offer(k, g));
            })
        }),
        heaps(half, |weights, rank| weights[rank]),
        nodes.time(|ranks| {
            Best::find(|best| {
                rows.sweep(|i| ranks[i] as usize, &all, scratch, |k, g| best.offer(k, g));
            })
        }),
        time_bound(nodes, weights),
    ]
}

fn main() {
    let requested: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    print!("{:>9}", "rows");
    for name in KERNELS {
        print!("{name:>17}");
    }
    println!("     (ns per row)");
    let (mut bitmap, mut scratch) = (Bitmap::default(), WeightedBitmap::default());
    for size in if requested.is_empty() { SIZES.to_vec() } else { requested } {
        let nodes = Nodes::new(size);
        let mut least = [f64::INFINITY; KERNELS.len()];
        for _ in 0..ROUNDS {
            let times = round(&nodes, &mut bitmap, &mut scratch);
            least.iter_mut().zip(times).for_each(|(least, time)| *least = least.min(time));
        }
        print!("{size:>9}");
        for time in least {
            print!("{time:>17.1}");
        }
        println!();
    }
}

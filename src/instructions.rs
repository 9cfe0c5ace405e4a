//! Wide vectors, detected at run time.
//!
//! The package is compiled for plain x86-64. Hot loops are written so that the compiler can use vectors, and compiled once more
//! for each level of instructions below; which copy runs is decided when the kernel is called. No loop computes anything else
//! with wider vectors: sums are of integers or have a fixed number of lanes, and nothing is fused. So the
//! trees are the same, bit for bit.
//!
//! `SPLITWOOD_INSTRUCTIONS=baseline` (or `avx2`, `avx512`) sets an upper limit, for measuring and for tests.

use std::sync::OnceLock;

/// Levels of vector instructions, each including those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Baseline,
    Avx2,
    Avx512,
}

/// A hot loop with its arguments. `run` must be `#[inline(always)]`, and so must be all that is hot in it: only what is inlined is
/// compiled for the level that runs it.
pub(crate) trait Kernel {
    type Output;
    fn run(self) -> Self::Output;
}

/// The highest level of this machine, unless the environment sets a lower one.
pub(crate) fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let limit = match std::env::var("SPLITWOOD_INSTRUCTIONS").as_deref() {
            Ok("baseline") => Level::Baseline,
            Ok("avx2") => Level::Avx2,
            _ => Level::Avx512,
        };
        detect().min(limit)
    })
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Kernel, Level};

    pub(super) fn detect() -> Level {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512bw");
        match (avx2, avx512) {
            (true, true) => Level::Avx512,
            (true, false) => Level::Avx2,
            (false, _) => Level::Baseline,
        }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn avx2<K: Kernel>(kernel: K) -> K::Output {
        kernel.run()
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512dq,avx512vl,avx512bw")]
    pub(super) fn avx512<K: Kernel>(kernel: K) -> K::Output {
        kernel.run()
    }
}

#[cfg(target_arch = "x86_64")]
use x86::detect;
#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Baseline
}

/// Runs the kernel's copy for the highest level of this machine.
#[inline]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    dispatch_at(level(), kernel)
}

/// Runs the kernel's copy for this level, which the machine must have.
#[inline]
fn dispatch_at<K: Kernel>(level: Level, kernel: K) -> K::Output {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `level` is never above what `detect` found on this machine.
        Level::Avx512 => unsafe { x86::avx512(kernel) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::avx2(kernel) },
        _ => kernel.run(),
    }
}

//! Memory ahead of its use: a check that an allocation will succeed, and prefetching into the
//! cache.

use crate::error::{Error, Result};

/// Returns an error if this many bytes can't be allocated. Rust aborts the process when an ordinary
/// allocation fails, so large tasks are refused before they begin.
///
/// The bytes are reserved and freed at once, untouched, which takes a few microseconds.
pub(crate) fn check_room(bytes: usize) -> Result<()> {
    let mut room = Vec::<u8>::new();
    let outcome = room.try_reserve_exact(bytes);
    // Without this, the compiler may remove the unused allocation, and then it can't fail.
    std::hint::black_box(&mut room);
    outcome.map_err(|_| Error::Memory { bytes })
}

/// Prefetches the cache line at an address. An invalid address has no effect.
#[inline(always)]
pub(crate) fn prefetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint. It changes nothing but caches and faults at no address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_32_what_no_machine_has_is_refused() {
        check_room(0).unwrap();
        check_room(1 << 20).unwrap();
        for bytes in [1 << 60, usize::MAX] {
            assert_eq!(check_room(bytes), Err(Error::Memory { bytes }));
        }
    }
}

//! Memory, asked for before it is needed: whether there is enough, and into the cache.

use crate::error::{Error, Result};

/// Refuses if so many bytes can't be had: an allocation that fails halfway ends the process, and Rust has no other way out of it.
///
/// They are asked for and given back at once, untouched: a few microseconds.
pub(crate) fn check_room(bytes: usize) -> Result<()> {
    let mut room = Vec::<u8>::new();
    let outcome = room.try_reserve_exact(bytes);
    // An allocation that nobody looks at may be left out, and then it can't fail.
    std::hint::black_box(&mut room);
    outcome.map_err(|_| Error::Memory { bytes })
}

/// Asks for the memory at an address ahead of its use; at one that is none, does nothing.
#[inline(always)]
pub(crate) fn prefetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which changes nothing but caches, whatever the address.
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

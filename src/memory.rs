//! Memory ahead of its use: a check that an allocation will succeed, large pages, and prefetching
//! into the cache.

use std::mem::MaybeUninit;
use std::ops::{Deref, Range};

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

/// Size of a large page. Where the system has none, it is just an alignment.
const LARGE_PAGE: usize = 1 << 21;

/// A slice that is read at random. From half a large page on, it begins with a large page and is
/// kept in large pages if the system has them, because the processor remembers the addresses of
/// only some thousands of pages.
#[derive(Debug)]
pub(crate) struct Pages<T> {
    /// Memory for the slice and its alignment; the vector itself stays empty.
    room: Vec<T>,
    /// Invariant: these places of `room` are within its capacity and written.
    used: Range<usize>,
}

impl<T: Copy> Pages<T> {
    /// A slice that `write` fills: it must write every place. `None` if there is not enough memory.
    pub fn filled(len: usize, write: impl FnOnce(&mut [MaybeUninit<T>])) -> Option<Self> {
        let bytes = len.checked_mul(size_of::<T>())?;
        let is_large = bytes >= LARGE_PAGE / 2;
        // Whole large pages, and one to move the start to the next one. What is never touched takes
        // no memory.
        let whole = if is_large { bytes.checked_next_multiple_of(LARGE_PAGE)? } else { bytes };
        let reserved = if is_large { whole.checked_add(LARGE_PAGE)? } else { bytes };
        let mut room: Vec<T> = Vec::new();
        room.try_reserve_exact(reserved.div_ceil(size_of::<T>())).ok()?;
        let places = room.spare_capacity_mut();
        // The largest number, if no place is aligned.
        let aligned = places.as_ptr().align_offset(LARGE_PAGE);
        let first = if is_large && aligned < LARGE_PAGE { aligned } else { 0 };
        let used = first..first + len;
        if is_large {
            ask_for_large_pages(&mut places[first..][..whole / size_of::<T>()]);
        }
        write(&mut places[used.clone()]);
        Some(Self { room, used })
    }
}

impl<T: Copy> Deref for Pages<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: see `used`; `write` has written every place, as documented at its callers, and no
        // code changes them later.
        unsafe { std::slice::from_raw_parts(self.room.as_ptr().add(self.used.start), self.used.len()) }
    }
}

/// Asks the system for large pages when these places are touched. It may ignore that.
fn ask_for_large_pages<T>(places: &mut [MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    {
        use std::ffi::{c_int, c_void};
        const MADV_HUGEPAGE: c_int = 14;
        unsafe extern "C" {
            fn madvise(start: *mut c_void, bytes: usize, advice: c_int) -> c_int;
        }
        // SAFETY: the places belong to the caller, and this advice changes no byte of them.
        unsafe { madvise(places.as_mut_ptr().cast(), size_of_val(places), MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = places;
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
    fn slices_hold_what_was_written() {
        // Below and from half a large page on, and beyond a whole one; sizes that don't divide it.
        for len in [0, 1, 5, (1 << 16) - 1, 1 << 16, (1 << 17) + 1, 1 << 18] {
            let value = |i: usize| [i as u64, !(i as u64)];
            let pages = Pages::filled(len, |places| {
                places.iter_mut().enumerate().for_each(|(i, place)| _ = place.write(value(i)));
            })
            .unwrap();
            assert!(pages.len() == len && (0..len).all(|i| pages[i] == value(i)));
            assert!(len < 1 << 16 || pages.as_ptr().addr().is_multiple_of(LARGE_PAGE));
        }
        assert!(Pages::<u64>::filled(1 << 58, |_| unreachable!()).is_none());
        assert!(Pages::<u64>::filled(usize::MAX, |_| unreachable!()).is_none());
    }

    #[test]
    fn case_32_what_no_machine_has_is_refused() {
        check_room(0).unwrap();
        check_room(1 << 20).unwrap();
        for bytes in [1 << 60, usize::MAX] {
            assert_eq!(check_room(bytes), Err(Error::Memory { bytes }));
        }
    }
}

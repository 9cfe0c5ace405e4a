//! Memory, asked for before the work. An allocation that fails halfway ends the process: Rust has no other way out of it.

use crate::error::{Error, Result};

/// Refuses if so many bytes can't be had. They are asked for and given back at once, untouched: a few microseconds.
pub(crate) fn check_room(bytes: usize) -> Result<()> {
    let mut room = Vec::<u8>::new();
    let outcome = room.try_reserve_exact(bytes);
    // An allocation that nobody looks at may be left out, and then it can't fail.
    std::hint::black_box(&mut room);
    outcome.map_err(|_| Error::Memory { bytes })
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

//! Values as bytes, for the messages between the processes of a fit on a cluster.
//!
//! Numbers are little-endian, sequences begin with their length. A float keeps all its bits, so a
//! node that was described on one machine is the same node on every other one. The bytes are not
//! stored: all processes of a fit must run the same version.

use crate::error::{Error, Result};

/// A value that can be sent to another process.
pub(crate) trait Wire: Sized {
    fn write(&self, to: &mut Vec<u8>);

    /// Reads the value from the front of `from`, and moves `from` past it.
    fn read(from: &mut &[u8]) -> Result<Self>;

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes
    }

    /// Reads a value that takes up all the bytes.
    fn from_bytes(mut bytes: &[u8]) -> Result<Self> {
        let value = Self::read(&mut bytes)?;
        if bytes.is_empty() { Ok(value) } else { refuse("has bytes left over") }
    }
}

/// The error of a message that is damaged or out of turn.
pub(crate) fn refuse<T>(problem: impl Into<String>) -> Result<T> {
    Err(Error::argument("message", problem))
}

/// The next `n` bytes.
fn take<'a>(from: &mut &'a [u8], n: usize) -> Result<&'a [u8]> {
    match from.split_at_checked(n) {
        Some((bytes, rest)) => {
            *from = rest;
            Ok(bytes)
        }
        None => refuse(format!("ends early: {n} bytes are needed, {} are left", from.len())),
    }
}

macro_rules! wire_numbers {
    ($($number:ty),*) => { $(
        impl Wire for $number {
            fn write(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }

            fn read(from: &mut &[u8]) -> Result<Self> {
                let bytes = take(from, size_of::<Self>())?;
                Ok(Self::from_le_bytes(bytes.try_into().expect("as many bytes as were taken")))
            }
        }
    )* };
}
wire_numbers!(u8, u16, u32, u64, i64, f32, f64);

impl Wire for usize {
    fn write(&self, to: &mut Vec<u8>) {
        (*self as u64).write(to);
    }

    fn read(from: &mut &[u8]) -> Result<Self> {
        Self::try_from(u64::read(from)?).or_else(|_| refuse("has a number that is too large"))
    }
}

impl Wire for bool {
    fn write(&self, to: &mut Vec<u8>) {
        u8::from(*self).write(to);
    }

    fn read(from: &mut &[u8]) -> Result<Self> {
        match u8::read(from)? {
            0 => Ok(false),
            1 => Ok(true),
            byte => refuse(format!("has {byte} where 0 or 1 is expected")),
        }
    }
}

impl<T: Wire> Wire for Option<T> {
    fn write(&self, to: &mut Vec<u8>) {
        self.is_some().write(to);
        if let Some(value) = self {
            value.write(to);
        }
    }

    fn read(from: &mut &[u8]) -> Result<Self> {
        Ok(if bool::read(from)? { Some(T::read(from)?) } else { None })
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn write(&self, to: &mut Vec<u8>) {
        self.len().write(to);
        to.reserve(size_of::<T>() * self.len());
        for value in self {
            value.write(to);
        }
    }

    fn read(from: &mut &[u8]) -> Result<Self> {
        let n = usize::read(from)?;
        // Each value has at least one byte, so that a damaged length allocates no more than the
        // message itself.
        let mut values = Self::with_capacity(n.min(from.len()));
        for _ in 0..n {
            values.push(T::read(from)?);
        }
        Ok(values)
    }
}

impl<T: Wire> Wire for Box<[T]> {
    fn write(&self, to: &mut Vec<u8>) {
        self.len().write(to);
        for value in self {
            value.write(to);
        }
    }

    fn read(from: &mut &[u8]) -> Result<Self> {
        Ok(Vec::read(from)?.into())
    }
}

impl<T: Wire> Wire for [T; 2] {
    fn write(&self, to: &mut Vec<u8>) {
        for value in self {
            value.write(to);
        }
    }

    fn read(from: &mut &[u8]) -> Result<Self> {
        Ok([T::read(from)?, T::read(from)?])
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn write(&self, to: &mut Vec<u8>) {
        self.0.write(to);
        self.1.write(to);
    }

    fn read(from: &mut &[u8]) -> Result<Self> {
        Ok((A::read(from)?, B::read(from)?))
    }
}

/// Implements [`Wire`] for a struct: its fields in the given order, which must be all of them.
macro_rules! wire_struct {
    ($type:ty { $($field:ident),* $(,)? }) => {
        impl $crate::wire::Wire for $type {
            fn write(&self, to: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                $($crate::wire::Wire::write($field, to);)*
            }

            fn read(from: &mut &[u8]) -> $crate::error::Result<Self> {
                $(let $field = $crate::wire::Wire::read(from)?;)*
                Ok(Self { $($field),* })
            }
        }
    };
}
pub(crate) use wire_struct;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Letter {
        page: usize,
        lines: Vec<(u32, i64)>,
        mark: Option<bool>,
        both: [u16; 2],
    }
    wire_struct!(Letter { page, lines, mark, both });

    fn letters() -> impl Strategy<Value = Letter> {
        let lines = prop::collection::vec(any::<(u32, i64)>(), 0..20);
        (any::<u32>(), lines, any::<Option<bool>>(), any::<[u16; 2]>()).prop_map(|(page, lines, mark, both)| Letter {
            page: page as usize,
            lines,
            mark,
            both,
        })
    }

    proptest! {
        #[test]
        fn values_arrive_as_they_were_sent(letter in letters(), bits in any::<u64>()) {
            prop_assert_eq!(&Letter::from_bytes(&letter.to_bytes()).unwrap(), &letter);
            let float = f64::from_bits(bits);
            prop_assert_eq!(f64::from_bytes(&float.to_bytes()).unwrap().to_bits(), bits);
        }

        #[test]
        fn damaged_messages_are_refused_or_read(letter in letters(), cut in 0..1_000usize, flip in any::<(u16, u8)>()) {
            let bytes = letter.to_bytes();
            prop_assert!(Letter::from_bytes(&bytes[..cut % bytes.len()]).is_err());
            prop_assert!(Letter::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
            let mut damaged = bytes.clone();
            damaged[flip.0 as usize % bytes.len()] ^= flip.1;
            // No panic, and no allocation beyond the length of the message.
            let _ = Letter::from_bytes(&damaged);
        }
    }
}

//! Integers of different widths, short texts as numbers, and enums that list their variants.

pub(crate) use zten_num::{Assured, impossible, len_u32, u64_from_usize, usize_from_u32};

/// Whether there is to be no code that is there for speed alone.
pub(crate) const SMALL: bool = cfg!(feature = "small");

/// A text of at most 7 bytes as one number, to be compared in one go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u64);

impl Word {
    /// The word of a text.
    pub(crate) const fn new(text: &str) -> Self {
        let mut bytes = [0; 8];
        let [length, ..] = text.len().to_le_bytes();
        if let Some((first, rest)) = bytes.split_first_mut()
            && let Some((content, _)) = rest.split_at_mut_checked(text.len())
        {
            *first = length;
            content.copy_from_slice(text.as_bytes());
        }
        Self::spelled(u64::from_le_bytes(bytes), length)
    }

    /// The word of a text of `length` bytes, at most 7, from its length and its bytes, in order
    /// from the low byte up; what follows them is left out.
    #[inline(always)]
    pub(crate) const fn spelled(bytes: u64, length: u8) -> Self {
        Self(bytes << (56_u8.wrapping_sub(length.wrapping_mul(8)) & 63))
    }
}

/// Declares an enum and the list of its variants, from which none can be missing.
macro_rules! listed {
    ($(#[$outer:meta])* $vis:vis enum $name:ident { $( $(#[$inner:meta])* $variant:ident, )+ }) => {
        $(#[$outer])*
        $vis enum $name {
            $( $(#[$inner])* $variant, )+
        }

        impl $name {
            pub(crate) const COUNT: usize = [$( stringify!($variant) ),+].len();
            pub(crate) const LIST: [Self; Self::COUNT] = [$( Self::$variant ),+];

            /// Its place in the list.
            #[inline(always)]
            #[expect(clippy::as_conversions, reason = "a variant's number is its place")]
            pub(crate) const fn ordinal(self) -> u8 {
                const { assert!(Self::COUNT <= 256) };
                self as u8
            }
        }
    };
}

pub(crate) use listed;

/// What a short text stands for, by a list of names.
macro_rules! named {
    ($word:expr; $($name:literal => $value:expr,)+) => {{
        let word = $word;
        $(
            if word == const { $crate::num::Word::new($name) } {
                Some($value)
            } else
        )+ {
            None
        }
    }};
}

pub(crate) use named;

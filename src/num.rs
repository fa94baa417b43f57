//! Conversions between integer widths that cannot lose anything on any supported target.

const _: () = assert!(usize::BITS >= 32 && usize::BITS <= 64, "zten needs a 32- or 64-bit target");

/// Whether there is to be no code that is there for speed alone.
pub(crate) const SMALL: bool = cfg!(feature = "small");

/// A `usize` as `u64`.
#[inline(always)]
#[expect(clippy::as_conversions, reason = "usize has at most 64 bits, asserted above")]
pub(crate) const fn wide(n: usize) -> u64 {
    n as u64
}

/// A `u32` as `usize`.
#[inline(always)]
#[expect(clippy::as_conversions, reason = "usize has at least 32 bits, asserted above")]
pub(crate) const fn index(n: u32) -> usize {
    n as usize
}

/// The length of something that is known to be shorter than 4 GiB, such as a manifest.
///
/// A longer one loses its high bits: no code relies on that, for manifests end at 1 GiB.
#[inline(always)]
pub(crate) fn short(n: usize) -> u32 {
    u32::try_from(n & index(u32::MAX)).assured()
}

/// What is there, as what has been checked before shows. Where it is not after all, builds with
/// debug assertions panic, those of tests and fuzz targets among them; others go on with a default
/// and have no code for it.
pub(crate) trait Assured<T>: Sized {
    fn assured_or(self, other: T) -> T;

    #[inline(always)]
    #[track_caller]
    fn assured(self) -> T
    where
        T: Default,
    {
        self.assured_or(T::default())
    }
}

impl<T> Assured<T> for Option<T> {
    #[inline(always)]
    #[track_caller]
    fn assured_or(self, other: T) -> T {
        debug_assert!(self.is_some(), "what was assured is not there");
        self.unwrap_or(other)
    }
}

impl<T, E> Assured<T> for Result<T, E> {
    #[inline(always)]
    #[track_caller]
    fn assured_or(self, other: T) -> T {
        self.ok().assured_or(other)
    }
}

/// Marks what is never come to, as [`Assured`] marks what is there.
#[inline(always)]
#[track_caller]
pub(crate) fn impossible() {
    debug_assert!(false, "what cannot be has happened");
}

/// A text of at most 7 bytes as one number, to be compared in one go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u64);

impl Word {
    /// The word of a text.
    pub(crate) const fn of(text: &str) -> Self {
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
            if word == const { $crate::num::Word::of($name) } {
                Some($value)
            } else
        )+ {
            None
        }
    }};
}

pub(crate) use named;

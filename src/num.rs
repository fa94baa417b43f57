//! Conversions of integers that never fail on the targets of this crate, which have 32 or 64 bits, and helpers for numbers,
//! sorting and enums inside the crate.

use core::cmp::Ordering;

const _: () = assert!(usize::BITS >= 32 && usize::BITS <= 64, "a 32- or 64-bit target is needed");

/// Returns `n` as `u64`, which has room for every `usize`.
#[inline]
#[expect(clippy::as_conversions, reason = "usize has at most 64 bits, asserted above")]
pub const fn u64_from_usize(n: usize) -> u64 {
    n as u64
}

/// Returns `n` as `usize`, which has at least 32 bits on all targets of this crate.
#[inline]
#[expect(clippy::as_conversions, reason = "usize has at least 32 bits, asserted above")]
pub(crate) const fn usize_from_u32(n: u32) -> usize {
    n as usize
}

/// Returns `n` as `u32`. `n` is known to be below 4 GiB, such as a length within a manifest or a block.
///
/// For a larger `n` the high bits are lost. No code relies on that.
#[inline]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "it says so")]
pub(crate) fn len_u32(n: usize) -> u32 {
    n as u32
}

/// Returns the wrapped product of `a` and `b`, and whether it overflows. On 32-bit machines, where a 64-bit overflow check
/// is a function call, small factors are multiplied without the check.
#[inline]
pub(crate) fn product(a: u64, b: u64) -> (u64, bool) {
    if cfg!(target_pointer_width = "64") || (a | b) >> 32 != 0 {
        return a.overflowing_mul(b);
    }
    (a.wrapping_mul(b), false)
}

/// Returns the high and the low half of `number`.
#[inline]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "each is a half")]
pub(crate) const fn halves(number: u64) -> [u32; 2] {
    [(number >> 32) as u32, number as u32]
}

/// Returns the quotient, or `None` if the division leaves a remainder or `divisor` is 0.
#[inline]
pub(crate) fn divide_exactly(dividend: u64, divisor: u64) -> Option<u64> {
    let remainder = dividend.checked_rem(divisor)?;
    dividend.checked_div(divisor).filter(|_| remainder == 0)
}

/// Returns whether `one` comes before `other` in the order of their bytes. On 32-bit machines, for which no fast `memcmp` is
/// linked, 8 bytes are compared at a time, because a loop over single bytes is slower.
#[inline]
pub(crate) fn is_before(one: &[u8], other: &[u8]) -> bool {
    if cfg!(target_pointer_width = "64") { one < other } else { is_before_by_words(one, other) }
}

#[inline]
fn is_before_by_words(one: &[u8], other: &[u8]) -> bool {
    let (words, others) = (one.as_chunks::<8>().0, other.as_chunks::<8>().0);
    for (word, other) in words.iter().zip(others) {
        let (word, other) = (u64::from_le_bytes(*word), u64::from_le_bytes(*other));
        if word != other {
            // The words are little-endian, so the first byte that differs is the lowest.
            let alike = (word ^ other).trailing_zeros() & 0x38;
            return word >> alike & 0xff < other >> alike & 0xff;
        }
    }
    let alike = words.len().min(others.len()).wrapping_mul(8);
    one.get(alike..) < other.get(alike..)
}

/// Sorts `items`. Equal items come in any order. With `--cfg zten_terse` a heap sort is used, which is slower, but for each
/// type takes a tenth of the code of the standard library's sort.
#[inline]
pub(crate) fn sort_by<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    if cfg!(zten_terse) {
        sort_by_heap(items, &mut |one, other| compare(one, other).is_lt());
    } else {
        items.sort_unstable_by(compare);
    }
}

fn sort_by_heap<T>(items: &mut [T], is_less: &mut dyn FnMut(&T, &T) -> bool) {
    for root in (0..items.len() / 2).rev() {
        sift(items, root, is_less);
    }
    for end in (1..items.len()).rev() {
        items.swap(0, end);
        sift(items.get_mut(..end).unwrap_or_default(), 0, is_less);
    }
}

/// Moves the item at `root` down until the items from `root` on form a heap. All items below `root` form heaps already.
fn sift<T>(heap: &mut [T], mut root: usize, is_less: &mut dyn FnMut(&T, &T) -> bool) {
    loop {
        let left = root.saturating_mul(2).saturating_add(1);
        let right = left.saturating_add(1);
        let (Some(parent), Some(child)) = (heap.get(root), heap.get(left)) else { return };
        let (child, at) = match heap.get(right) {
            Some(other) if is_less(child, other) => (other, right),
            _ => (child, left),
        };
        if !is_less(parent, child) {
            return;
        }
        heap.swap(root, at);
        root = at;
    }
}

/// A text of at most 7 bytes as an integer, so that two texts are compared in one operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u64);

impl Word {
    /// Creates the word of `text`.
    pub(crate) const fn new(text: &str) -> Self {
        let mut bytes = [0; 8];
        let [length, ..] = text.len().to_le_bytes();
        if let Some((first, rest)) = bytes.split_first_mut()
            && let Some((content, _)) = rest.split_at_mut_checked(text.len())
        {
            *first = length;
            content.copy_from_slice(text.as_bytes());
        }
        Self::from_content(u64::from_le_bytes(bytes), length)
    }

    /// Creates the word of the text whose first `length` bytes, at most 7, are the low bytes of `bytes`. Higher bytes are
    /// ignored.
    #[inline]
    pub(crate) const fn from_content(bytes: u64, length: u8) -> Self {
        Self(bytes << (56_u8.wrapping_sub(length.wrapping_mul(8)) & 63))
    }
}

/// Declares an enum, the list of its variants, and optionally a function with a value for each variant. As all come from
/// one list, no variant can be missing.
macro_rules! enum_all {
    (
        $(#[$outer:meta])* $vis:vis enum $name:ident with
        $(#[$about:meta])* $row_vis:vis fn $row:ident -> $type:ty
        { $( $(#[$inner:meta])* $variant:ident = $value:expr, )+ }
    ) => {
        $crate::num::enum_all! {
            $(#[$outer])* $vis enum $name { $( $(#[$inner])* $variant, )+ }
        }

        impl $name {
            $(#[$about])*
            #[inline]
            $row_vis const fn $row(self) -> $type {
                match self {
                    $( Self::$variant => $value, )+
                }
            }
        }
    };
    ($(#[$outer:meta])* $vis:vis enum $name:ident { $( $(#[$inner:meta])* $variant:ident, )+ }) => {
        $(#[$outer])*
        $vis enum $name {
            $( $(#[$inner])* $variant, )+
        }

        impl $name {
            pub(crate) const COUNT: usize = [$( stringify!($variant) ),+].len();
            #[allow(dead_code, clippy::allow_attributes, reason = "not all are listed")]
            pub(crate) const LIST: [Self; Self::COUNT] = [$( Self::$variant ),+];

            /// Returns the position of the variant in the list.
            #[inline]
            #[allow(dead_code, clippy::allow_attributes, reason = "not all are numbered")]
            #[expect(clippy::as_conversions, reason = "a variant's number is its place")]
            pub(crate) const fn ordinal(self) -> u8 {
                const { assert!(Self::COUNT <= 256) };
                self as u8
            }
        }
    };
}

pub(crate) use enum_all;

/// Implements `Display` for types that have a method `name`.
macro_rules! impl_display {
    ($($type:ty: $name:ident;)+) => { $(
        impl core::fmt::Display for $type {
            #[doc = concat!("Writes [`", stringify!($name), "`](Self::", stringify!($name), ").")]
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.$name())
            }
        }
    )+ };
}

pub(crate) use impl_display;

/// Returns `Some` of the value that the list gives for `$word`, a text of at most 7 bytes as a `Word`, or `None` if the list does
/// not have it.
macro_rules! match_name {
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

pub(crate) use match_name;

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{divide_exactly, is_before_by_words, product, sort_by, sort_by_heap};

    #[test]
    fn texts_by_words_are_in_the_order_of_their_bytes() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut text = || -> Vec<u8> { (0..rng.usize(..20)).map(|_| rng.u8(..3)).collect() };
        for _ in 0..20_000 {
            let (one, other) = (text(), text());
            assert_eq!(is_before_by_words(&one, &other), one < other, "{one:?} {other:?}");
            let longer = [&*one, &*other].concat();
            assert_eq!(is_before_by_words(&one, &longer), !other.is_empty(), "{one:?} {longer:?}");
            assert!(!is_before_by_words(&longer, &one));
        }
    }

    #[test]
    fn both_ways_of_sorting_agree() {
        let mut rng = fastrand::Rng::with_seed(1);
        for length in 0..200 {
            let mut items: Vec<u8> = (0..length).map(|_| rng.u8(..50)).collect();
            let mut others = items.clone();
            sort_by(&mut items, Ord::cmp);
            sort_by_heap(&mut others, &mut |one, other| one < other);
            assert!(items.is_sorted() && items == others, "{others:?}");
        }
    }

    #[test]
    fn a_division_leaves_nothing() {
        assert_eq!(divide_exactly(12, 4), Some(3));
        assert_eq!(divide_exactly(13, 4), None);
        assert_eq!(divide_exactly(13, 0), None);
    }

    #[test]
    fn products_overflow_or_not() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..20_000 {
            let [a, b] = [(); 2].map(|()| rng.u64(..) >> rng.u32(..64));
            assert_eq!(product(a, b), a.overflowing_mul(b));
        }
    }
}

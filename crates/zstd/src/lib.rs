#![doc = include_str!("../README.md")]
#![no_std]
// These lints come in addition to those of the workspace: a library that reads untrusted bytes must not contain code that
// can panic.
#![deny(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::expect_used,
    clippy::get_unwrap,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unreachable,
    clippy::unwrap_used
)]

extern crate alloc;

#[cfg(feature = "decode")]
pub mod decode;
#[cfg(feature = "encode")]
pub mod encode;
#[cfg(any(feature = "decode", feature = "encode"))]
mod format;
#[cfg(any(feature = "decode", feature = "encode"))]
mod num;
#[cfg(any(feature = "decode", feature = "encode"))]
mod xxh64;

/// The reason why a function that calls a function of the caller, such as a source of bytes, ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackFailure<C, E> {
    /// The callback failed.
    Callback(C),
    /// Decoding or encoding failed.
    Codec(E),
}

impl<F> CallbackFailure<F, F> {
    /// Returns the error of the callback, of decoding or of encoding.
    pub fn either(self) -> F {
        match self {
            Self::Callback(error) | Self::Codec(error) => error,
        }
    }
}

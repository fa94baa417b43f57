//! The promises of `zten` that hold for any input whatever.
//!
//! Each oracle is a function that panics where a promise does not hold. Fuzz targets call it with
//! what the fuzzer makes, and ordinary tests with the corpus and with numbers that look like
//! chance. What it returns says how far the input came, so that a test can tell whether it tested
//! anything.
//!
//! | oracle | input | what must hold |
//! | --- | --- | --- |
//! | [`open`] | a file | heap while opening; everything can be read, and agrees with everything else, whichever way it is read
//! |
//! | [`steps`] | a file | the source of the bytes, and the pieces they come in, do not matter, nor whether an archive or a bare
//! manifest is read from: the same file, or the same error |
//! | [`canonical`] | a file | one content has one file |
//! | [`append`] | a file | appended to, it opens as before, with every limit at its edge |
//! | [`lies`] | a file | from a source that lies: nothing that was not there is verified, and of a verified shard nothing else
//! is read |
//! | [`cbor`] | an item | what we accept two other decoders accept, with the same meaning |
//! | [`model`] | what to write | what the writer accepts the reader gives back; and damaged, the first two |
//! | [`file_format`] | a file of another format, or what one is made of | memory follows its length; it is valid twice or
//! rejected twice, by a rule; what tensors take lies in it; a safetensors file holds what the `safetensors` crate finds, and an
//! index what its files hold |
//! | [`front`] | what a front end says of a file | what opens is what was told, and within the file; after an error nothing
//! opens; memory follows what was told |
//! | [`digests`] | a list of digests | memory follows its length; written and parsed again it is the same, and what differs
//! from it is found |
//! | [`grammar`] | what to write | files of 2 that a grammar makes are valid; and damaged, the first two |

/// Calls a macro with every type that elements are read as.
macro_rules! every_element {
    ($run:ident) => {
        $run!(f64, f32, half::f16, half::bf16, i64, i32, i16, i8, u64, u32, u16, u8, bool);
        $run!(zten::element::Complex<f32>, zten::element::Complex<f64>);
        $run!(zten::element::F8E4M3Fn, zten::element::F8E5M2);
        $run!(zten::element::F8E4M3Fnuz, zten::element::F8E5M2Fnuz, zten::element::F8E8M0);
    };
}

mod append;
mod canonical;
mod cbor;
mod components;
mod damage;
mod digests;
mod facts;
mod file;
mod file_formats;
mod formats;
mod front;
mod grammar;
mod heap;
mod liar;
mod lies;
mod meaning;
mod model;
mod open;
mod pieces;
mod shard_lies;
mod slices;
mod steps;
mod strict;
mod tree;

pub use append::{Appended, append};
pub use canonical::{Form, canonical};
pub use cbor::cbor;
pub use digests::digests;
pub use facts::said;
pub use file::file;
pub use file_formats::file_format;
pub use front::{Filled, Front, front};
pub use grammar::{Grown, grammar};
pub use heap::{Meter, measure_heap_by};
pub use liar::{Lie, Plan};
pub use lies::{Lied, lies};
pub use model::{Model, Outcome, model, written};
pub use open::open;
pub use steps::{steps, steps_on_disk};

pub use zten_formats::Format;

use zten::{Archive, Limits, OpenOptions, Tolerance};

/// An open file whose bytes are in memory.
type InMemory<'d> = Archive<zten::InMemory<&'d [u8]>>;

/// Bytes that a compressed component, and a window, may have here: more than one block, and few
/// enough that bombs do not slow a fuzzer down.
const DECODED: u64 = 256 << 10;

/// Bytes that all compressed components of a file may have together.
const DECODED_TOTAL: u64 = 4 * DECODED;

/// Elements or entries that are looked at one by one.
const FEW: usize = 1024;

/// Limits that keep the work small.
fn limits() -> Limits {
    let limit =
        |limits: Limits, name, value| limits.with_named(name, value).expect("a known limit");
    let limits = limit(Limits::default(), "decoded", DECODED);
    limit(limit(limits, "window", DECODED), "decoded-total", DECODED_TOTAL)
}

/// The default options within those limits.
fn options() -> OpenOptions {
    OpenOptions::default().limits(limits())
}

/// Returns those options with every tolerance.
fn tolerant(options: OpenOptions) -> OpenOptions {
    Tolerance::ALL.iter().fold(options, |options, more| options.tolerate(*more))
}

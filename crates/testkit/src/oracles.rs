//! Oracles for the promises of `zten` that hold for any input.
//!
//! Each oracle is a function that panics if a promise is broken. Fuzz targets call an oracle with inputs of the fuzzer, and
//! ordinary tests with the corpus and with pseudorandom bytes. The result of an oracle says how far the input came, so that a
//! test can check that its inputs are not all rejected early.
//!
//! | oracle | input | what must hold |
//! | --- | --- | --- |
//! | [`open`] | a file | opening stays within the heap bound; all content can be read, and all ways of reading agree |
//! | [`steps`] | a file | all sources, all pieces of the bytes, and reading through an archive or a bare manifest have the same result or the same error |
//! | [`canonical`] | a file | equal contents have one canonical file |
//! | [`append`] | a file | after appending, the file opens with the same options, also with each limit at the smallest value that suffices |
//! | [`lies`] | a file | if reads of the same bytes differ, verified content is content of the file, and a verified shard is not read again |
//! | [`cbor`] | an item | two other decoders accept each item that zten accepts, with the same meaning |
//! | [`model`] | a model of a file | the reader returns the content that the writer accepted; a damaged file keeps the promises of the first two oracles |
//! | [`file_format`] | a file of another format, or its parts | memory is proportional to the length; all ways of opening agree, and an error has a rule; tensors lie within the file; the `safetensors` crate finds the same tensors, and an index has the tensors of its files |
//! | [`builder`] | the calls of a format's parser | the archive has exactly the pushed tensors, and lies within the file; after an error no archive opens; memory is proportional to the pushed bytes |
//! | [`conventions`] | choices of a convention, and the sizes and content of its tensors | the quantized tensor has as many values as its shape says; reading from memory and reading at offsets give the same values; memory is proportional to the file |
//! | [`recognize`] | a file | a source that lends bytes and one that does not lend them give the same format; memory is proportional to the length |
//! | [`digests`] | a list of digests | memory is proportional to the length; a written list parses to the same list, and each difference is found |
//! | [`patch_roundtrip`] | two files | the patch between them, applied to the first, gives the content of the second, and it does not fit the second |
//! | [`patch_apply`] | a patch, or what its streams hold | an error has a rule; memory does not follow what the patch claims |
//! | [`grammar`] | choices of a grammar | generated files of generation 2 are valid; a damaged file keeps the promises of the first two oracles |

/// Calls the macro `$run` several times with lists of Rust types: together, all types whose elements can be read from a tensor.
macro_rules! every_element {
    ($run:ident) => {
        $run!(f64, f32, half::f16, half::bf16, i64, i32, i16, i8, u64, u32, u16, u8, bool);
        $run!(zten::element::Complex<f32>, zten::element::Complex<f64>);
        $run!(zten::element::F8E4M3Fn, zten::element::F8E5M2);
        $run!(zten::element::F8E4M3Fnuz, zten::element::F8E5M2Fnuz, zten::element::F8E8M0);
    };
}

mod append;
mod builder;
mod canonical;
mod cbor;
mod components;
mod conventions;
mod damage;
mod digests;
mod facts;
mod file;
mod file_formats;
mod formats;
mod grammar;
mod heap;
mod liar;
mod lies;
mod meaning;
mod model;
mod open;
mod patches;
mod pieces;
mod recognize;
mod shard_lies;
mod slices;
mod steps;
mod strict;
mod tree;

pub use append::{Appended, append};
pub use builder::{Calls, Filled, builder};
pub use canonical::{CanonicalRelation, canonical};
pub use cbor::cbor;
pub use conventions::conventions;
pub use digests::digests;
pub use facts::said;
pub use file::file;
pub use file_formats::file_format;
pub use grammar::{Grown, grammar};
pub use heap::{Meter, measure_heap_by};
pub use liar::{Lie, Plan};
pub use lies::{Lied, lies};
pub use model::{Model, Outcome, model, written};
pub use open::open;
pub use patches::{HandChange, HandPatch, patch_apply, patch_roundtrip};
pub use recognize::recognize;
pub use steps::{steps, steps_on_disk};

pub use zten::formats::Format;

use zten::{Archive, Limits, OpenOptions, Tolerance};

/// An archive whose bytes are in memory.
type InMemory<'d> = Archive<zten::InMemory<&'d [u8]>>;

/// The limit in bytes for one decoded component, and for the window of a zstd frame: more than one block, and small
/// enough that decompression bombs do not slow down a fuzzer.
const DECODED: u64 = 256 << 10;

/// The limit for all decoded components of a file together, in bytes.
const DECODED_TOTAL: u64 = 4 * DECODED;

/// The largest number of elements or entries of a tensor that an oracle compares one by one.
const FEW: usize = 1024;

/// Returns the limits with which oracles open files. They keep the work for one input small.
fn limits() -> Limits {
    let limit =
        |limits: Limits, name, value| limits.with_named(name, value).expect("a known limit");
    let limits = limit(Limits::default(), "decoded", DECODED);
    limit(limit(limits, "window", DECODED), "decoded-total", DECODED_TOTAL)
}

/// Returns the default options with the [`limits`] of the oracles.
fn options() -> OpenOptions {
    OpenOptions::default().limits(limits())
}

/// Returns `options` with all tolerances turned on, which accept files of known faulty writers.
fn tolerant(options: OpenOptions) -> OpenOptions {
    Tolerance::ALL.iter().fold(options, |options, more| options.tolerate(*more))
}

//! Lists the calls of panics that remain in an image, with the reasons why they are never reached.

use crate::proof::panics::Site;

/// A call of a panicking function that is allowed in an image.
pub struct Allowed {
    /// The prefix of the name of the function that calls.
    pub caller: &'static str,
    /// The prefixes of the names of the functions that panic.
    pub callees: &'static [&'static str],
    /// The reason why the call never panics.
    pub reason: &'static str,
}

impl Allowed {
    /// Returns whether a site matches these prefixes.
    pub fn is(&self, site: &Site) -> bool {
        let panics = |start: &&str| site.callee.starts_with(*start);
        site.caller.starts_with(self.caller) && self.callees.iter().any(panics)
    }
}

/// The prefixes of the functions by which `copy_from_slice` and `copy_within` panic.
const COPIES: &[&str] = &[
    "core::slice::copy_from_slice_impl::",
    "core::slice::index::slice_",
    "core::panicking::panic_fmt",
];

/// The calls of panicking functions that are allowed in an image, each with its reason.
pub const SITES: &[Allowed] = &[
    Allowed {
        caller: "zten",
        callees: &["alloc::raw_vec::"],
        reason: "Vectors grow here only within what `try_reserve` has had before. \
                 `tests/out_of_memory.rs` fails each allocation, of which none is by this way.",
    },
    Allowed {
        caller: "<zten_zstd::decode::",
        callees: &[
            "alloc::raw_vec::",
            "core::slice::copy_from_slice_impl::",
            "core::slice::index::slice_",
            "core::panicking::panic_fmt",
        ],
        reason: "The above and the next, in a method of a trait: `BlockDecoder::block`.",
    },
    Allowed {
        caller: "zten_zstd::decode::",
        callees: COPIES,
        reason: "`copy_from_slice` and `copy_within`, between ranges that `Output::room` has made: \
                 both lengths are one number, and a distance is at most what was decoded.",
    },
    Allowed {
        caller: "zten::digest::hasher::",
        callees: &["core::panicking::panic_bounds_check"],
        reason: "Code of `crc` and `sha2` that was inlined: each indexes tables and blocks of its \
                 own by numbers that it keeps below their lengths.",
    },
    Allowed {
        caller: "zten_zstd::encode::",
        callees: &["core::"],
        reason: "`copy_from_slice` between slices that were cut to one length; logarithms of \
                 counts and distances, which are at least 1.",
    },
    Allowed {
        caller: "core::slice::sort::",
        callees: &["core::slice::sort::shared::smallsort::panic_on_ord_violation"],
        reason: "Only an order that contradicts itself is told so. Ours compare integers, lengths \
                 or bytes, which stay the same unless another process changes them.",
    },
    Allowed {
        caller: "core::slice::sort::unstable::quicksort::",
        callees: &["core::panicking::panic_bounds_check", "core::slice::index::slice_"],
        reason: "The sort of `core` cuts a slice where its partition has counted the smaller items, \
                 which are at most as many as the slice has.",
    },
    Allowed {
        caller: "<core::str::pattern::CharSearcher as core::str::pattern::Searcher>::next_match",
        callees: &["core::slice::index::slice_"],
        reason: "`split_once` of a digest: the searcher keeps its place within the text.",
    },
    Allowed {
        caller: "twox_hash::xxhash3_64::",
        callees: &["core::panicking::panic_fmt"],
        reason: "It splits the manifest and secrets of its own by lengths that it has compared before.",
    },
    Allowed {
        caller: "core::fmt::",
        callees: &["core::slice::index::slice_"],
        reason: "Writing numbers into a buffer of serde's error; called by `serde_core` only.",
    },
    Allowed {
        caller: "<serde_core::format::Buf as core::fmt::Write>::write_str",
        callees: &["core::slice::index::slice_"],
        reason: "The same buffer, which holds what is written to it: an integer and its name.",
    },
    Allowed {
        caller: "serde_core::de::Visitor::",
        callees: &["core::"],
        reason: "The same. It is reached by `Attributes::get` and `Item::get` only.",
    },
    Allowed {
        caller: "serde_cbor_2::",
        callees: &["core::panicking::panic"],
        reason: "An `unreachable!` for initial bytes, all of which have an arm before it. Reached by \
                 `Attributes::get` and `Item::get` only.",
    },
    Allowed {
        caller: "<linked_list_allocator::",
        callees: &["core::"],
        reason: "The allocator of the program that is looked at, which is not the library's.",
    },
];

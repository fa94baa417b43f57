//! Finds the sites of an image at which a panic begins.

use std::collections::BTreeSet;

use crate::proof::image::Calls;

/// The name of the panic handler of the image, in which every panic ends.
const HANDLER: &str = "rust_begin_unwind";

/// Prefixes of the names of functions that only panic, or that allocate and panic without memory:
/// they are the machinery of panics, not their causes.
const MACHINERY: &[&str] = &[
    "core::panicking::",
    "core::option::unwrap_failed",
    "core::option::expect_failed",
    "core::result::unwrap_failed",
    "core::slice::index::slice_",
    "core::slice::copy_from_slice_impl::len_mismatch_fail",
    "core::str::slice_error_fail",
    "core::cell::panic_",
    "core::num::int_log10::panic_",
    "core::slice::sort::shared::smallsort::panic_on_ord_violation",
    "alloc::raw_vec::",
    "<alloc::raw_vec::",
    "alloc::alloc::handle_alloc_error",
    "__rustc::__rust_alloc_error_handler",
    "__rust_alloc_error_handler",
    "__rustc::__rdl_alloc_error_handler",
    "__rdl_alloc_error_handler",
    "__rdl_oom",
    "__rustc::__rdl_oom",
];

/// A function that can panic by itself, and the function that it calls to panic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The name of the function that can panic.
    pub caller: String,
    /// The name of the function that it calls to panic.
    pub callee: String,
}

fn is_machinery(name: &str) -> bool {
    MACHINERY.iter().any(|start| name.starts_with(start))
}

/// Returns all sites of an image. No site is missed because of its name: each caller of the handler, or of one of its callers, is a
/// site unless it is known to be machinery.
pub fn sites(calls: &Calls) -> BTreeSet<Site> {
    let mut panicking: BTreeSet<&str> =
        calls.keys().map(String::as_str).filter(|name| name.contains(HANDLER)).collect();
    loop {
        let before = panicking.len();
        for (caller, callees) in calls {
            if callees.iter().all(|callee| !panicking.contains(callee.as_str())) {
                continue;
            }
            if is_machinery(caller) {
                panicking.insert(caller);
            }
        }
        if panicking.len() == before {
            break;
        }
    }
    calls
        .iter()
        .filter(|(caller, _)| !panicking.contains(caller.as_str()))
        .flat_map(|(caller, callees)| callees.iter().map(move |callee| (caller, callee)))
        .filter(|(_, callee)| panicking.contains(callee.as_str()))
        .map(|(caller, callee)| Site { caller: caller.clone(), callee: callee.clone() })
        .collect()
}

//! Makes the patch between the files of two generated models, and applies it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zten_testkit::oracles::{Model, patch_roundtrip, written};

fuzz_target!(init: zten_fuzz::measure_heap(), |models: (Model, Model)| {
    let (old, new) = models;
    patch_roundtrip(&written(&old), &written(&new));
});

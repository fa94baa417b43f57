//! Checks that a linked image has no panic except for those for which `lab/results/no-panic.md` gives a reason, and that each
//! reason is for a panic that an image has.
//!
//! `cargo test --release --test panics -- --nocapture` lists them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use zten_lab::proof::image::{Calls, calls};
use zten_lab::proof::panics::{Site, sites};
use zten_lab::proof::{allowed, guest};
use zten_testkit::process::Build;

/// The targets, and the options for their linkers.
const TARGETS: [(&str, &str, &str); 2] = [
    ("thumbv7em-none-eabihf", "-Clink-arg=--emit-relocs", "zten-walk"),
    ("wasm32-unknown-unknown", "", "zten-walk.wasm"),
];
const FEATURES: [&str; 2] = ["", "zstd,write"];

/// All images are written to the same path, so each is read before the next one is built.
static BUILD: Mutex<()> = Mutex::new(());

fn image(target: (&str, &str, &str), features: &str) -> Calls {
    let _building = BUILD.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (target, flags, file) = target;
    let (target, flags, features) = (Some(target), Some(flags), &format!("image,{features}"));
    let arguments = &["--no-default-features", "--bin", "zten-walk"];
    let walk = Build { target, features, flags, arguments, ..guest::image() };
    let built = walk.run(&folder.join("zten-walk")).expect("the program");
    let image = std::fs::read(built.join(file)).expect("the image");
    calls(&image).expect("an image")
}

#[test]
fn panics_have_reasons() {
    let mut used = BTreeSet::new();
    let mut others: Vec<(String, Site)> = Vec::new();
    for target in TARGETS {
        for features in FEATURES {
            let calls = image(target, features);
            // If the library was missing in the image, no panic of it would be found.
            let ours = calls.keys().filter(|name| name.contains("zten::")).count();
            assert!(ours > 30, "only {ours} functions of ours");
            let sites = sites(&calls);
            println!("{} [{features}]: {} functions, {} sites", target.0, calls.len(), sites.len());
            for site in sites {
                match allowed::SITES.iter().position(|allowed| allowed.is(&site)) {
                    Some(allowed) => {
                        used.insert(allowed);
                    }
                    None => others.push((format!("{} [{features}]", target.0), site)),
                }
            }
        }
    }
    for (image, Site { caller, callee }) in &others {
        println!("{image}: {caller} -> {callee}");
    }
    assert!(others.is_empty(), "{} sites without a reason", others.len());
    let gone = allowed::SITES.iter().enumerate().filter(|(row, _)| !used.contains(row));
    let gone: Vec<_> = gone.map(|(_, allowed)| (allowed.caller, allowed.callees)).collect();
    assert!(gone.is_empty(), "reasons for what is not there any more: {gone:?}");
}

/// Checks that the search finds the panic in an image that has one.
#[test]
fn a_panic_is_found() {
    for target in TARGETS {
        let found = sites(&image(target, "control"));
        assert!(found.iter().any(|site| site.callee.ends_with("panic_bounds_check")), "{found:?}");
    }
}

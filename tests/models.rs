//! Models, which are files of objects of every kind: made 2 and 1.2 again, they hold what they held.
#![allow(
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    reason = "a test that panics has failed, and its numbers are small"
)]

use std::collections::BTreeMap;

use zten::write::{Copier, CopyError, Level, Settings};
use zten::{Archive, Error, Generation, Limits, Options};
use zten_oracles::{Model, written};
use zten_testkit::check;

/// Models; under Miri a few.
const MODELS: u64 = if cfg!(miri) { 5 } else { 6000 };

type Copied = Result<Vec<u8>, CopyError<Error, Error>>;

fn copy(file: &[u8], settings: &Settings, level: Option<Level>) -> Copied {
    let archive = Archive::open(file).unwrap();
    let copier = Copier::new(file.len() as u64, &Limits::default());
    let copier = match level {
        Some(level) => copier.compressed(level),
        None => copier,
    };
    copier.file(archive.manifest(), file, Vec::new(), settings)
}

/// Bytes that look like chance.
fn chance(seed: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| rng.u8(..)).take(1500).collect()
}

#[test]
fn generations_become_each_other() {
    let (one, two) = (Settings::default(), Settings::default().generation(Generation::V2));
    let form = one.canonical();
    let (mut copied, mut compared) = (0, 0);
    let mut refused = BTreeMap::<String, u32>::new();
    for seed in 0..MODELS {
        let file = written(&Model::from_bytes(&chance(seed)));
        let level = (seed % 2 == 0).then(Level::default);
        match copy(&file, &two, level) {
            Ok(second) => {
                assert_eq!(Archive::open(&*second).unwrap().generation(), Some(Generation::V2));
                let verdict = check(&second, &Options::default()).map_err(|error| error.id());
                let unknown = [Some("unsupported-format"), Some("unsupported-type")];
                assert!(verdict.is_ok() || unknown.contains(&verdict.unwrap_err()), "{seed}");
                let back =
                    copy(&second, &one, level).unwrap_or_else(|error| panic!("{seed}: {error}"));
                if let Ok(wanted) = copy(&file, &form, None) {
                    assert!(copy(&back, &form, None) == Ok(wanted), "{seed}");
                    compared += 1;
                }
                copied += 1;
            }
            Err(CopyError::Inexpressible(why)) => {
                *refused.entry(why.error().id().unwrap_or("").to_owned()).or_default() += 1;
            }
            Err(other) => panic!("{seed}: {other}"),
        }
    }
    println!("{copied} of {MODELS} copied, {compared} compared; {refused:#?}");
    assert!(cfg!(miri) || copied > 100 && compared > 100, "{copied} {compared} {refused:#?}");
}

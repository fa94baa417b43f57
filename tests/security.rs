//! What docs/limits.md says of limits, and docs/promises.md of the corpus, is so.

use zten::Limits;
use zten_testkit::{accepted, corpus, whole_reject_index};

fn document(name: &str) -> String {
    std::fs::read_to_string(corpus().join("../docs").join(name)).unwrap()
}

/// A number as it is written there: 1,234.
fn written(number: usize) -> String {
    if number < 1000 {
        return number.to_string();
    }
    format!("{},{:03}", number / 1000, number % 1000)
}

#[test]
fn every_limit_is_there_with_its_default() {
    let (text, limits) = (document("limits.md"), Limits::default());
    let (mib, gib) = (1 << 20, 1 << 30);
    let total = limits.decoded_total(0);
    assert_eq!(limits.decoded_total(1) - total, 64);
    for (name, value) in [
        ("manifest", format!("{} GiB", limits.manifest() / gib)),
        ("depth", format!("{} levels", limits.depth())),
        ("rank", format!("{} dimensions", limits.rank())),
        ("keys", written(usize::try_from(limits.keys()).unwrap())),
        ("shards", written(usize::try_from(limits.shards()).unwrap())),
        ("window", format!("{} MiB", limits.window() / mib)),
        ("decoded", format!("{} GiB", limits.decoded() / gib)),
        ("decoded-total", format!("{} GiB + 64 × the file", total / gib)),
    ] {
        assert!(Limits::NAMES.contains(&name));
        assert!(text.contains(&format!("| `{name}` | {value}")), "{name}: {value}");
    }
    assert_eq!(Limits::NAMES.len(), 8);
}

#[test]
fn the_corpus_has_as_many_files() {
    let text = document("promises.md");
    let (reject, accept) = (written(whole_reject_index().count()), accepted().count());
    assert!(text.contains(&format!("| {reject} files in `corpus/reject`")), "{reject}");
    assert!(text.contains(&format!("; {accept} in `corpus/accept`")), "{accept}");
}

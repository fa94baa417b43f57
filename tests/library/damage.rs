//! Damaged files: cut anywhere, or with any one byte changed. Each ends in `Ok` or `Err`, never
//! in a panic; a cut file never in `Ok`.

use zten::{Limits, OpenOptions, verify::Verifier};
use zten_testkit::sample::{least, stride};
use zten_testkit::{accepted, reject_index};

/// Opens a file and touches everything in it.
fn walk(file: &[u8]) -> bool {
    let limits = Limits::default().with_decoded(1 << 20);
    let Ok(archive) = OpenOptions::default().limits(limits).from_bytes(file) else {
        return false;
    };
    let mut verifier = Verifier::new(archive.manifest());
    for object in archive.tensors() {
        let _ = (object.name(), object.shape().to_vec(), object.layout_name());
        let _ = format!("{:?}", object.attributes().collect::<Vec<_>>());
        assert_eq!(archive.get(object.name()).unwrap().ordinal(), object.ordinal());
        for component in object.components() {
            assert!(component.extent().end() <= archive.manifest().extent().start);
            let _ = (component.digest(), component.element_type(), component.view());
        }
        let _ = verifier.object(&object, |_, _| ());
    }
    true
}

#[test]
fn no_prefix_of_an_accepted_file_opens() {
    for file in accepted() {
        // All of them, but of the few files of 100 KB.
        let step = stride(1 + file.bytes.len() / 20_000);
        for length in (0..file.bytes.len()).step_by(step) {
            assert!(!walk(&file.bytes[..length]), "{} cut to {length}", file.name);
        }
    }
}

#[test]
fn prefixes_of_reject_files_do_not_panic() {
    for row in reject_index() {
        let file = row.read();
        for length in (0..file.len()).step_by(stride(1 + file.len() / 5_000)) {
            walk(&file[..length]);
        }
    }
}

#[test]
fn no_changed_byte_panics() {
    let small = accepted().filter(|file| file.bytes.len() <= 700);
    let mut opened = 0;
    for file in small {
        let mut bytes = file.bytes.clone();
        // Every other value in the smallest, some in the others.
        let changes =
            if bytes.len() <= 180 { (1..=255).collect() } else { vec![1, 0x20, 0x80, 0xff] };
        for at in (0..bytes.len()).step_by(stride(1)) {
            let original = bytes[at];
            for change in changes.clone() {
                bytes[at] = original ^ change;
                opened += usize::from(walk(&bytes));
            }
            bytes[at] = original;
        }
    }
    assert!(opened >= least(1001), "only {opened} damaged files opened");
}

//! Tests of damaged files: cut at any length, or with any single byte changed. Opening and reading them returns `Ok` or `Err` and
//! never panics. A cut file never gives `Ok`.

use zten::{Limits, OpenOptions, verify::Verifier};
use zten_testkit::sample::{least, stride};
use zten_testkit::{accepted, reject_index};

/// Opens `file` and reads everything in it. Returns whether the file opens; errors in its content are ignored.
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
        // Small files are cut at every length, and the few files of 100 KB at some lengths.
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
        // Bytes of the smallest files are changed to every other value, and bytes of other files to some values.
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

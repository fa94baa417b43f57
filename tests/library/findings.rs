//! Tests that findings have the same texts as the errors of the library.

use std::io;

use zten::finding::{Finding, Verdict, ZTENSOR};
use zten::write::{WriteOptions, Writer};
use zten::{Error, OpenOptions};

/// Returns a file with one tensor.
fn file() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &WriteOptions::default()).unwrap();
    writer.add("w", &[2], &[1.0_f32, 2.0]).unwrap();
    writer.finish().unwrap()
}

#[test]
fn errors_of_the_system_are_not_findings_about_the_file() {
    for (kind, message) in [
        (io::ErrorKind::UnexpectedEof, "the file became shorter while it was read"),
        (io::ErrorKind::PermissionDenied, "permission denied"),
    ] {
        let archive = zten::Archive::from_bytes(file()).unwrap();
        for error in [Error::from(io::Error::from(kind)), Error::from_write(kind.into())] {
            for finding in
                [Finding::from_error(&error), Finding::reading(archive.manifest(), &error)]
            {
                assert_eq!(finding.to_string(), message);
                assert_eq!(
                    (finding.verdict, finding.row, finding.format),
                    (Verdict::Error, None, None)
                );
            }
        }
    }
}

#[test]
fn findings_about_rejected_manifests_have_names() {
    let mut bytes = file();
    let at = bytes.windows(5).rposition(|word| word == b"dense").unwrap();
    bytes[at] = 0xff;
    let error = OpenOptions::default().from_bytes(&bytes).unwrap_err();
    let finding = Finding::from_error(&error);
    assert_eq!((finding.verdict, finding.format), (Verdict::Invalid, Some(ZTENSOR)));
    assert_eq!((finding.row.unwrap().id(), finding.object.as_deref()), ("cbor-utf8", Some("w")));
    let (offset, within) = (finding.offset.unwrap(), finding.manifest_offset.unwrap());
    let place = format!(" in \"w\" at byte {offset:#x}, manifest byte {within:#x}");
    assert!(offset > within && finding.to_string().ends_with(&place), "{finding}");
}

#[test]
fn a_missing_tensor_has_no_location() {
    let archive = zten::Archive::from_bytes(file()).unwrap();
    let error = archive.tensor("v").unwrap_err();
    assert_eq!(Finding::from_error(&error).to_string(), error.to_string());
}

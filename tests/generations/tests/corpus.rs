//! Each generation by itself reads its part of the corpus as all of them together do, and refuses
//! the rest for what it is.

use zten::{Archive, Options};
use zten_generations::is_read;
use zten_testkit::{Expected, accepted, check, reject_index};

#[test]
fn files_of_this_generation_are_accepted_and_others_named() {
    let (mut read, mut left_out) = (0, 0);
    for file in accepted() {
        if is_read(&file.bytes) {
            read += 1;
            Archive::open(&file.bytes).unwrap_or_else(|error| panic!("{}: {error}", file.name));
            let checked = check(&file.bytes, &Options::default());
            let unsupported = checked.err().map(|error| error.id().unwrap_or("misuse").to_owned());
            assert_eq!(unsupported, file.opens_only, "{}", file.name);
        } else {
            left_out += 1;
            let refused = Archive::open(&file.bytes).expect_err(&file.name);
            assert_eq!(refused.id(), Some("unsupported-feature"), "{}", file.name);
        }
    }
    assert!(read > 100, "{read} files were read");
    assert_eq!(left_out > 0, cfg!(not(all(feature = "v0", feature = "v1"))));
}

#[test]
fn files_of_this_generation_end_in_their_rules() {
    let mut refused = 0;
    for row in reject_index() {
        let file = row.read();
        let found = check(&file, &row.options).map_err(|error| Expected::from_error(&error));
        if is_read(&file) {
            refused += 1;
            assert_eq!(found, Err(row.expected), "{}", row.file);
        } else {
            assert!(found.is_err(), "{}", row.file);
        }
    }
    assert!(refused > 100, "{refused} files were refused");
}

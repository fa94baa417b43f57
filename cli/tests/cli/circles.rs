//! The modules of the command lie on each other, and none uses one that uses it.
//!
//! A module is a file, and a use leads to the file that defines the item: `zten_testkit::layout`
//! says it in full. So a folder is entered from its parent, and what its files share lies in a file
//! below them and not in the parent.

use std::path::Path;

use zten_testkit::layout::{ROOT, circles, siblings, uses};

#[test]
fn no_modules_use_each_other() {
    let uses = uses(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/main.rs"));
    assert!(uses.len() > 50 && uses["check::fleet"].len() > 8, "{uses:#?}");
    assert_eq!(circles(&uses), []);
    // Whole folders, too.
    for parent in uses.keys().map(String::as_str).chain([ROOT]) {
        assert_eq!(circles(&siblings(&uses, parent)), [], "below {parent}");
    }
}

//! This library.

use std::fs;
use std::path::Path;

use zten::{Archive, Error, verify::Verifier};
use zten_subject::Report;

/// Everything that `zten check` looks at.
pub(super) fn read(path: &Path, options: &str, report: &mut Report) {
    let file = fs::read(path).unwrap_or_default();
    let options = zten_testkit::options(options);
    let opened = Archive::open_with(&file, &options);
    let Some(archive) = report.opened(opened.map_err(rule)) else { return };
    let mut verifier = Verifier::new(file.len() as u64, options.limit());
    for object in archive.objects() {
        let validated = verifier.object(&object, &file[..], |_, _| ());
        if report.read(validated.map_err(|error| rule(Error::from(error)))).is_none() {
            continue;
        }
        for component in object.components() {
            let content = component.read_to_vec(&file[..], options.limit());
            if let Some(bytes) = report.read(content.map_err(|error| rule(Error::from(error)))) {
                report.content(object.name(), component.role(), &bytes);
            }
        }
    }
    if options == options.canonical() {
        let validated = verifier.padding(archive.manifest(), &file[..]);
        report.read(validated.map_err(|error| rule(Error::from(error))));
    }
}

/// The rule that an error names; the corpus says it too.
fn rule(error: Error) -> String {
    error.id().unwrap_or("misuse").to_owned()
}

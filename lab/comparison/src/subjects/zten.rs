//! This library.

use std::fs;
use std::path::Path;

use zten::shards::{Candidate, Files, Find, Locate as _, Shard};
use zten::{Archive, Error, verify::Verifier};
use zten_readers::subject::Report;

/// Everything that `zten check` looks at.
pub(super) fn read(path: &Path, options: &str, report: &mut Report) {
    let file = fs::read(path).unwrap_or_default();
    let options = zten_testkit::options(options);
    let opened = Archive::open_with(&file, &options);
    let Some(archive) = report.opened(opened.map_err(rule)) else { return };
    let shards = archive.bind_shards(&Beside(path), options.limit());
    let Some(mut shards) = report.read(shards.map_err(rule)) else { return };
    let mut verifier = Verifier::new(file.len() as u64, options.limit());
    let whole = verifier.file_in(archive.manifest(), &file[..], &mut shards);
    report.read(whole.map_err(rule));
    let files = Files { root: &file[..], shards: &shards };
    let mut verifier = Verifier::new(file.len() as u64, options.limit());
    for object in archive.objects() {
        let validated = verifier.object(&object, files, |_, _| ());
        if report.read(validated.map_err(rule)).is_none() {
            continue;
        }
        for component in object.components() {
            let located = report.read(files.locate(&component).map_err(rule));
            let Some((component, source)) = located else { continue };
            let content = component.read_to_vec(source, options.limit());
            let content = content.map_err(zten::ReadError::flatten);
            if let Some(bytes) = report.read(content.map_err(rule)) {
                report.content(object.name(), component.role(), &bytes);
            }
        }
    }
    if options == options.canonical() {
        let validated = verifier.padding(archive.manifest(), &file[..]);
        report.read(validated.map_err(rule));
    }
}

/// Finds the shards of a file as `STEM-NAME.zt` beside it.
struct Beside<'p>(&'p Path);

impl Find for Beside<'_> {
    type Source = Vec<u8>;

    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<Vec<u8>>>, Error> {
        let stem = self.0.file_stem().unwrap_or_default().display();
        let path = self.0.with_file_name(format!("{stem}-{}.zt", shard.name()));
        let found = fs::read(path).ok();
        Ok(found.map(|source| Candidate { length: source.len() as u64, source }))
    }
}

/// The rule that an error names; the corpus says it too.
fn rule(error: impl Into<Error>) -> String {
    error.into().id().unwrap_or("misuse").to_owned()
}

//! The reader `zten`.

use std::fs;
use std::path::Path;

use zten::shards::{Candidate, Find, Shard};
use zten::{Error, InMemory, verify::Verifier};
use zten_lab::readers::subject::Report;

/// Reads everything that `zten check` reads.
pub(super) fn read(path: &Path, options: &str, report: &mut Report) {
    if path.extension().is_none_or(|suffix| suffix != "zt") {
        return other(path, report);
    }
    let file = fs::read(path).unwrap_or_default();
    let options = zten_testkit::options(options);
    let Some(archive) = report.opened(rule(options.from_bytes(file))) else { return };
    let Some(archive) = report.read(rule(archive.find_shards(&Sibling(path)))) else { return };
    report.read(rule(archive.verify()));
    let mut verifier = Verifier::new(archive.manifest());
    for tensor in &archive {
        if report.read(rule(verifier.object(&tensor, |_, _| ()))).is_none() {
            continue;
        }
        for component in tensor.components() {
            if let Some(bytes) = report.read(rule(component.read())) {
                report.content(tensor.name(), component.role(), &bytes);
            }
        }
    }
    if options == options.canonical() {
        report.read(rule(verifier.padding(archive.manifest(), archive.source())));
    }
}

/// Reads everything that `zten check` reads in a file of another format than zTensor, and in the files that it names.
fn other(path: &Path, report: &mut Report) {
    let Some(archive) = report.opened(rule(zten::open(path))) else { return };
    report.read(rule(archive.verify()));
    for tensor in archive.tensors() {
        for component in tensor.components() {
            if let Some(bytes) = report.read(rule(component.read())) {
                report.content(tensor.name(), component.role(), &bytes);
            }
        }
    }
}

/// A finder of the shards of a file, which are `STEM-NAME.zt` in the same folder.
struct Sibling<'p>(&'p Path);

impl Find for Sibling<'_> {
    type Source = InMemory<Vec<u8>>;

    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<Self::Source>>, Error> {
        let stem = self.0.file_stem().unwrap_or_default().display();
        let path = self.0.with_file_name(format!("{stem}-{}.zt", shard.name()));
        let found = fs::read(path).ok();
        Ok(found.map(|bytes| Candidate { length: bytes.len() as u64, source: InMemory(bytes) }))
    }
}

/// Returns the result, with the rule of an error in place of the error, because the corpus gives the rule.
fn rule<T>(result: Result<T, Error>) -> Result<T, String> {
    result.map_err(|error| error.rule().unwrap_or("misuse").to_owned())
}

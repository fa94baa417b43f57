//! Whether one file is valid.

use std::path::Path;

use zten::rules::Limit;
use zten::{Error, ErrorKind, OpenOptions, Tensor, verify::Verifier};
use zten_report::finding::{Scope, format_name, summary};

use crate::args::Check;
use crate::file::{FileWithShards, Opened, stored};
use crate::kind::{Outcome, Valid};
use crate::objects::Work;
use crate::progress::Progress;
use crate::report::{More, Problem};
use crate::sources::Sources;

/// Validates a file.
pub(super) fn validate(path: &Path, file: Opened, args: &Check) -> Outcome {
    validate_content(path, &file.archive(&options(args))?, args)
}

fn options(args: &Check) -> OpenOptions {
    let options = args.strictness.options();
    if args.canonical { options.canonical() } else { options }
}

/// Validates the content of a file whose manifest is valid.
fn validate_content(path: &Path, archive: &FileWithShards, args: &Check) -> Outcome {
    let format = format_name(archive.manifest());
    let scope = args.scope();
    if scope == Scope::All && !archive.manifest().is_data_shard() {
        read(path, archive, args.canonical)?;
    }
    let (verdict, summary) = summary(archive.manifest(), scope, args.canonical, archive.file_len());
    Ok(Valid { verdict, summary, format })
}

/// Reads all content. What is wrong with an object does not keep the others from being validated: the
/// first that breaks a rule is reported, and the others are counted; what is not supported says less about
/// the file. Padding comes last, where it is asked for.
fn read(path: &Path, archive: &FileWithShards, canonical: bool) -> Result<(), Box<Problem>> {
    let progress = Progress::new(stored(archive.manifest()));
    let failed = |failure: &Error| Box::new(Problem::reading(path, archive, failure));
    let mut files = Sources::bind(archive, &progress).map_err(|error| failed(&error))?;
    let whole = match files.verify() {
        Err(error) if error.rule().is_some() => Some(error),
        other => other.map(|()| None).map_err(|error| failed(&error))?,
    };
    let validate = |verifier: &mut Verifier, object: &Tensor<'_>| verifier.check(object);
    let results = Work { files: &files, passes, validate }.run();
    let failures: Vec<(usize, &Error)> = results
        .iter()
        .zip(0..)
        .filter_map(|(result, ordinal)| Some((ordinal, result.as_ref().err()?)))
        .collect();
    let blamed = failures.iter().position(|(_, failure)| !failure.is_unsupported());
    if let Some(failure) = whole
        && blamed.is_none()
        && (failures.is_empty() || !failure.is_unsupported())
    {
        return Err(failed(&failure));
    }
    let others = |blamed: usize| {
        let mut more = More::default();
        for (place, (ordinal, failure)) in failures.iter().enumerate() {
            let object = archive.tensors().nth(*ordinal).filter(|_| place != blamed);
            if let Some(object) = object {
                more.add(object.name(), !failure.is_unsupported());
            }
        }
        more
    };
    let blamed = blamed.unwrap_or_default();
    match failures.get(blamed) {
        Some((_, failure)) => Err(Box::new(failed(failure).and_more(others(blamed)))),
        None if canonical => {
            let padding = archive.verifier().padding(archive.manifest(), &files.root);
            padding.map_err(|failure| failed(&failure))
        }
        None => Ok(()),
    }
}

/// Returns whether other objects are worth a look: the file can be read, and may be decoded further.
fn passes(failure: &Error) -> bool {
    !matches!(failure.kind(), ErrorKind::Read | ErrorKind::Limit(Limit::DecodedTotal))
}

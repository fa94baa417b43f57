//! The validation of one file.

use std::collections::HashSet;
use std::path::Path;

use zten::finding::{Finding, Verdict, format_name};
use zten::formats::{EMPTY, Executable, Recognized, recognize};
use zten::rules::{Class, Limit, Row, Scope, Source, Texts};
use zten::{Component, Error, ErrorKind, OpenOptions, Tensor, verify::Verifier};
use zten_report::check::{Scope as Part, summary, with_notes};

use super::entries::is_of_weights;
use super::policy::Policy;
use crate::args::Check;
use crate::file::{FileWithShards, Opened, Origin, stored};
use crate::kind::{Outcome, Valid};
use crate::objects::Work;
use crate::progress::Progress;
use crate::report::{Flaw, More, Problem};
use crate::sources::Sources;

/// Validates a file, and applies the policy to the outcome.
pub(super) fn validate(path: &Path, file: Opened, args: &Check) -> Outcome {
    let policy = args.policy.as_deref();
    let outcome = validate_any(path, file, args);
    match policy {
        Some(policy) => policy.apply(path, outcome),
        None => outcome,
    }
}

/// Validates a file of any kind. The first bytes decide the kind; a name that contradicts them is a finding.
fn validate_any(path: &Path, file: Opened, args: &Check) -> Outcome {
    let (length, policy) = (file.length, args.policy.as_deref());
    let failed = |error: &Error, format| Box::new(Problem::format_error(path, error, format));
    let recognized = recognize(&file.file, length, path).map_err(|error| failed(&error, None))?;
    let kind = recognized.kind();
    let names = [path.to_owned()].into_iter().chain(file.other_names.iter().cloned());
    let misnamed = names.into_iter().find_map(|name| recognized.check_name(&name).err());
    let misnamed = misnamed.map(|error| failed(&error, recognized.format()));
    let origin = file.origin;
    if args.takes_any_kind()
        && misnamed.is_none()
        && let Some((kind, what, note)) = of_other_kind(kind, path, origin)
    {
        policy.map_or(Ok(()), |policy| policy.check_other(path, kind, length))?;
        let notes: Vec<_> = note.into_iter().collect();
        let summary = with_notes(format!("{what}, which holds no tensors"), notes.len());
        return Ok(Valid { verdict: Verdict::Other, summary, format: kind, notes });
    }
    match file.archive_of(recognized, &options(args)) {
        Ok(archive) => match misnamed {
            Some(misnamed) => Err(misnamed),
            None => validate_content(path, &archive, (origin, args)),
        },
        Err(problem) => {
            // A broken rule or limit tells more about the file than a wrong name, so the name replaces only "unsupported".
            if let (Verdict::Unsupported, Some(misnamed)) = (problem.finding().verdict, misnamed) {
                return Err(misnamed);
            }
            Err(match policy {
                Some(policy) => policy.check_unread(problem, length),
                None => problem,
            })
        }
    }
}

/// Returns the kind of a file that holds no tensors, its description, and the note on it. Returns `None` if the file may hold
/// tensors.
fn of_other_kind(
    kind: Recognized,
    path: &Path,
    origin: Origin,
) -> Option<(&'static str, &'static str, Option<Finding>)> {
    match kind {
        Recognized::Other(kind) => Some((kind.name(), kind.description(), None)),
        // Python packages have empty files, but an empty file that is named like weights is an error.
        Recognized::Empty if !path.file_name().is_some_and(is_of_weights) => {
            Some((EMPTY, "an empty file", None))
        }
        Recognized::Executable(kind) => {
            // Python source is normal in a repository of code, and noted only in a folder with weights.
            let is_noted = kind != Executable::Python
                || matches!(origin, Origin::Folder { has_weights: true, .. });
            let note = || {
                let sentence = format!("this is {}", kind.description());
                let mut note = Finding::new(Verdict::Valid, sentence);
                (note.row, note.format) = (Some(&PROGRAM), Some(kind.name()));
                note
            };
            Some((kind.name(), kind.description(), is_noted.then(note)))
        }
        _ => None,
    }
}

/// The rule of the note on programs.
pub(crate) static PROGRAM: Row = Row::new(
    "program-file",
    Class::Note,
    &Texts {
        holds: "No file in a folder is a program, and none beside weights is Python source.",
        broken: "the file is a program",
        source: Source::Policy("weights are data: a program beside them may be loaded with them"),
        scope: Scope::Other("all, found in folders"),
        advice: "Read it before you load the model with code that the repository brings (`trust_remote_code`).",
    },
);

fn options(args: &Check) -> OpenOptions {
    let options = args.strictness.options();
    if args.canonical { options.canonical() } else { options }
}

/// Validates the content of a file whose manifest is valid.
fn validate_content(
    path: &Path,
    archive: &FileWithShards,
    (origin, args): (Origin, &Check),
) -> Outcome {
    let manifest = archive.manifest();
    let (scope, policy) = (args.scope(), args.policy.as_deref());
    let mut findings = Finding::of_open(manifest);
    // Findings that the policy tolerates come last, so that they do not hide others.
    let flaw = |finding: &Finding| Flaw::of(finding.verdict, finding.row, policy);
    findings.sort_by_key(flaw);
    let (error, notes) = Finding::split(findings);
    policy.map_or(Ok(()), |policy| policy.check(path, archive))?;
    let read = if scope == Part::All && !manifest.is_data_shard() {
        read(path, archive, (origin, args))
    } else {
        Ok(())
    };
    let problem = match (read, error) {
        (Ok(()), None) => {
            let (verdict, summary) = summary(manifest, scope, args.canonical, archive.file_len());
            let summary = with_notes(summary, notes.len());
            return Ok(Valid { verdict, summary, format: format_name(manifest), notes });
        }
        (Err(problem), Some(error))
            if problem.finding().verdict == Verdict::Error
                || flaw(problem.finding()) <= flaw(&error) =>
        {
            problem
        }
        (Err(problem), None) => problem,
        (_, Some(error)) => Box::new(Problem::found(path, error)),
    };
    Err(Box::new(problem.with_notes(notes)))
}

/// Reads and validates all content. An error in one object does not stop the validation of the others: the first error of the
/// most important kind (invalid, then unsupported, then tolerated) is reported, and the other objects with errors are counted.
/// Padding is checked last, if the command line asks for it.
///
/// The files that an index names are checked themselves if all files of the folder are. The content of these files is then not
/// read a second time for the index.
fn read(
    path: &Path,
    archive: &FileWithShards,
    (origin, args): (Origin, &Check),
) -> Result<(), Box<Problem>> {
    let are_siblings_checked = matches!(origin, Origin::Folder { is_whole: true, .. });
    let progress = Progress::new(stored(archive.manifest()));
    let failed = |failure: &Error| Box::new(Problem::reading(path, archive, failure));
    let mut files = Sources::bind(archive, &progress).map_err(|error| failed(&error))?;
    let whole = match files.verify() {
        Err(error) if error.rule().is_some() => Some(error),
        other => other.map(|()| None).map_err(|error| failed(&error))?,
    };
    let siblings = archive.manifest().shards().filter(|shard| shard.digest().is_none());
    let siblings: HashSet<_> = siblings.map(|shard| shard.name()).collect();
    let is_checked = |component: Component<'_>| {
        are_siblings_checked && component.shard().is_some_and(|name| siblings.contains(name))
    };
    let validate = |verifier: &mut Verifier, object: &Tensor<'_>| {
        if object.components().all(is_checked) { Ok(()) } else { verifier.check(object) }
    };
    let results = Work { files: &files, passes, validate }.run();
    let flaw = |failure: &Error| {
        let verdict =
            if failure.is_unsupported() { Verdict::Unsupported } else { Verdict::Invalid };
        Flaw::of(verdict, failure.kind().row(), args.policy.as_deref())
    };
    let failures = || {
        results
            .iter()
            .zip(archive.tensors())
            .filter_map(|(result, object)| result.as_ref().err().map(|failure| (object, failure)))
    };
    let of_objects = failures().enumerate().min_by_key(|(_, (_, failure))| flaw(failure));
    let least = of_objects.map(|(_, (_, failure))| flaw(failure));
    let whole = whole.filter(|failure| least.is_none_or(|least| flaw(failure) < least));
    let worst = whole.as_ref().map(flaw).or(least);
    if args.canonical && worst.is_none_or(|worst| worst == Flaw::Tolerated) {
        let padding = archive.verifier().padding(archive.manifest(), &files.root);
        padding.map_err(|failure| failed(&failure))?;
    }
    if let Some(failure) = whole {
        return Err(failed(&failure));
    }
    let Some((blamed, (_, failure))) = of_objects else { return Ok(()) };
    let mut more = More::default();
    for (place, (object, failure)) in failures().enumerate() {
        if place != blamed {
            more.add(object.name(), flaw(failure));
        }
    }
    Err(Box::new(failed(failure).and_more(more)))
}

impl Flaw {
    /// Returns the kind of problem for a finding with `verdict` of the rule `row`.
    fn of(verdict: Verdict, row: Option<&Row>, policy: Option<&Policy>) -> Self {
        match verdict {
            _ if policy.is_some_and(|policy| policy.tolerates(row)) => Self::Tolerated,
            Verdict::Unsupported => Self::Unsupported,
            _ => Self::Invalid,
        }
    }
}

/// Returns whether validation continues with other objects after `failure`: not if the file cannot be read, or the limit on
/// decoded bytes of the file is reached.
fn passes(failure: &Error) -> bool {
    failure.kind() != ErrorKind::Read && failure.kind() != Limit::DecodedTotal
}

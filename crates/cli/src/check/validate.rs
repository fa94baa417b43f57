//! The validation of one file.

use std::path::Path;

use zten::rules::{Limit, Row, Scope, Source};
use zten::{Error, ErrorKind, OpenOptions, Tensor, verify::Verifier};
use zten_formats::{Executable, FormatError, Recognized, recognize};
use zten_report::finding::{Finding, Scope as Part, Verdict, format_name, summary, with_notes};

use super::entries::is_of_weights;
use super::policy::Policy;
use crate::args::Check;
use crate::file::{FileWithShards, Opened, stored};
use crate::kind::{Outcome, Valid};
use crate::objects::Work;
use crate::progress::Progress;
use crate::report::{Flaw, More, Problem};
use crate::sources::Sources;

/// Validates a file.
pub(super) fn validate(path: &Path, file: Opened, args: &Check) -> Outcome {
    let policy = args.policy.as_deref();
    let outcome = validate_any(path, file, args);
    match policy {
        Some(policy) => policy.apply(path, outcome),
        None => outcome,
    }
}

/// Validates a file of any kind. What it is follows from its bytes; its names may contradict them.
fn validate_any(path: &Path, file: Opened, args: &Check) -> Outcome {
    let (length, policy) = (file.length, args.policy.as_deref());
    let failed = |error: &FormatError, format| Box::new(Problem::format_error(path, error, format));
    let recognized = recognize(&file.file, length, path).map_err(|error| failed(&error, None))?;
    let kind = recognized.kind();
    let names = [path.to_owned()].into_iter().chain(file.other_names.iter().cloned());
    let misnamed = names.into_iter().find_map(|name| recognized.check_name(&name).err());
    let misnamed = misnamed.map(|error| failed(&error, recognized.format()));
    let beside_weights = file.beside_weights;
    if args.takes_any_kind()
        && misnamed.is_none()
        && let Some((kind, what, note)) = of_other_kind(kind, path, beside_weights)
    {
        policy.map_or(Ok(()), |policy| policy.check_other(path, kind, length))?;
        let notes: Vec<_> = note.into_iter().collect();
        let summary = with_notes(format!("{what}, which holds no tensors"), notes.len());
        return Ok(Valid { verdict: Verdict::Other, summary, format: kind, notes });
    }
    match file.archive(&options(args)) {
        Ok(archive) => match misnamed {
            Some(misnamed) => Err(misnamed),
            None => validate_content(path, &archive, args),
        },
        Err(problem) => {
            // What the file breaks by itself says more than its name.
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

/// The kind of a file that holds no tensors, in a word and in a sentence, and the note on it; `None` of a file that may hold
/// some.
fn of_other_kind(
    kind: Recognized,
    path: &Path,
    beside_weights: bool,
) -> Option<(&'static str, &'static str, Option<Finding>)> {
    match kind {
        Recognized::Other(kind) => Some((kind.name(), kind.description(), None)),
        // A package of Python has empty files; a file of weights is never empty.
        Recognized::Empty if !path.file_name().is_some_and(is_of_weights) => {
            Some(("empty", "an empty file", None))
        }
        Recognized::Executable(kind) => {
            // A repository of source code is no folder of weights.
            let is_noted = kind != Executable::Python || beside_weights;
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

/// The note on programs.
pub(crate) static PROGRAM: Row = Row {
    id: "program-file",
    holds: "No file in a folder is a program, and none beside weights is Python source.",
    broken: "the file is a program",
    source: Source::Policy("weights are data: a program beside them may be loaded with them"),
    scope: Scope::Other("all, found in folders"),
    advice: "Read it before you load the model with code that the repository brings (`trust_remote_code`).",
};

fn options(args: &Check) -> OpenOptions {
    let options = args.strictness.options();
    if args.canonical { options.canonical() } else { options }
}

/// Validates the content of a file whose manifest is valid.
fn validate_content(path: &Path, archive: &FileWithShards, args: &Check) -> Outcome {
    let manifest = archive.manifest();
    let (scope, policy) = (args.scope(), args.policy.as_deref());
    let mut findings = Finding::of_open(manifest);
    // What the policy tolerates hides nothing that it does not.
    let flaw = |finding: &Finding| Flaw::of(finding.verdict, finding.row, policy);
    findings.sort_by_key(flaw);
    let (error, notes) = Finding::split(findings);
    policy.map_or(Ok(()), |policy| policy.check(path, archive))?;
    let read = if scope == Part::All && !manifest.is_data_shard() {
        read(path, archive, args)
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

/// Reads all content. What is wrong with an object does not keep the others from being validated: the
/// first that breaks a rule is reported, and the others are counted; what is not supported says less about
/// the file, and what the policy tolerates least. Padding comes last, where it is asked for.
fn read(path: &Path, archive: &FileWithShards, args: &Check) -> Result<(), Box<Problem>> {
    let progress = Progress::new(stored(archive.manifest()));
    let failed = |failure: &Error| Box::new(Problem::reading(path, archive, failure));
    let mut files = Sources::bind(archive, &progress).map_err(|error| failed(&error))?;
    let whole = match files.verify() {
        Err(error) if error.rule().is_some() => Some(error),
        other => other.map(|()| None).map_err(|error| failed(&error))?,
    };
    let validate = |verifier: &mut Verifier, object: &Tensor<'_>| verifier.check(object);
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
    /// The flaw of an object or a file with a finding by that rule.
    fn of(verdict: Verdict, row: Option<&Row>, policy: Option<&Policy>) -> Self {
        match verdict {
            _ if policy.is_some_and(|policy| policy.tolerates(row)) => Self::Tolerated,
            Verdict::Unsupported => Self::Unsupported,
            _ => Self::Invalid,
        }
    }
}

/// Returns whether other objects are worth a look: the file can be read, and may be decoded further.
fn passes(failure: &Error) -> bool {
    !matches!(failure.kind(), ErrorKind::Read | ErrorKind::Limit(Limit::DecodedTotal))
}

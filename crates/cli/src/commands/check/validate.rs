//! The validation of one file.

use std::collections::HashSet;
use std::path::Path;

use zten::finding::{Finding, Verdict, format_name};
use zten::formats::{EMPTY, Executable, Recognized, recognize};
use zten::verify::{Observer, Rank, Report, Subject, check, check_in_order, check_on};
use zten::{Error, ErrorKind, OpenOptions, Tensor, Tolerance};
use zten_report::catalog::PROGRAM;
use zten_report::check::{Scope as Part, summary, with_notes};
use zten_report::policy::{GLOBAL, Policy};
use zten_report::stores::{Role, unfinished};

use super::entries::is_of_weights;
use super::{policy, store};
use crate::args::Check;
use crate::input::file::{FileWithShards, Opened, stored};
use crate::input::objects::threads_for;
use crate::input::sources::Sources;
use crate::link::origin::Origin;
use crate::output::kind::{Outcome, Valid};
use crate::output::progress::Progress;
use crate::output::report::{Flaw, More, Problem};

/// Validates a file, and applies the policy to the outcome. A blob of a store is also compared with the digest in its name, unless
/// only manifests are checked. A manifest of Ollama is compared with the blobs that it lists, unless only tensor files are
/// accepted.
pub(super) fn validate(path: &Path, file: Opened, args: &Check) -> Outcome {
    let role = match file.role {
        // The digest in the name of a blob covers all bytes of the file, and `--manifest-only` reads only some of them.
        Role::Blob(_) if args.scope() != Part::All => Role::Outside,
        // A manifest holds no tensors, so it is a file like other JSON if only tensor files are accepted.
        Role::Manifest if !args.takes_any_kind() => Role::Outside,
        role => role,
    };
    let outcome = match role {
        Role::Blob(expected) => store::validate_blob(path, (file, expected), args),
        Role::Manifest => store::validate_manifest(path, &file),
        Role::Unfinished => Err(Box::new(Problem::found(path, unfinished()))),
        Role::Outside | Role::Record => validate_any(path, file, args),
    };
    match args.policy.as_deref() {
        Some(policy) => {
            policy::check_store(policy, (path, &role), policy::apply(policy, path, outcome))
        }
        None => outcome,
    }
}

/// Validates a file of any kind. The content decides the kind; a name that contradicts the content is a finding.
pub(super) fn validate_any(path: &Path, file: Opened, args: &Check) -> Outcome {
    let (length, policy) = (file.length, args.policy.as_deref());
    let failed = |error: &Error, format| Box::new(Problem::format_error(path, error, format));
    let recognized = recognize(&file.file, length, path).map_err(|error| failed(&error, None))?;
    let kind = recognized.kind();
    let names = [path.to_owned()].into_iter().chain(file.other_names.iter().cloned());
    let misnamed = names.into_iter().find_map(|name| recognized.check_name(&name).err());
    let misnamed = misnamed.map(|error| failed(&error, recognized.format()));
    let (origin, role) = (file.origin, file.role);
    if args.takes_any_kind()
        && misnamed.is_none()
        && let Some((kind, what, note)) = of_other_kind(kind, path, (origin, role))
    {
        if let Some(finding) = policy.and_then(|policy| policy.check_other(kind, length)) {
            return Err(Box::new(Problem::found(path, finding)));
        }
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
                Some(policy) => policy::check_unread(policy, problem, length),
                None => problem,
            })
        }
    }
}

/// Returns the kind of a file that holds no tensors, its description, and the note on it. Returns `None` if the file may hold
/// tensors, or is empty and has a name of weights.
fn of_other_kind(
    kind: Recognized,
    path: &Path,
    (origin, role): (Origin, Role),
) -> Option<(&'static str, &'static str, Option<Finding>)> {
    match kind {
        Recognized::Other(kind) => Some((kind.name(), kind.description(), None)),
        // Python packages have empty files, but an empty file that is named like weights is an error. In some folders of
        // a hub's cache, such a file only says that the hub has no file of this name.
        Recognized::Empty
            if role == Role::Record || !path.file_name().is_some_and(is_of_weights) =>
        {
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

fn options(args: &Check) -> OpenOptions {
    let mut options = args.strictness.options();
    // If the policy lists imports, a file with unknown imports is opened, and its imports are compared with the list later.
    if args.policy.as_ref().is_some_and(|policy| policy.allows_globals()) {
        options = options.tolerate(Tolerance::TorchGlobal);
    }
    if args.canonical { options.canonical() } else { options }
}

/// Checks a file whose manifest is valid: first against the requirements of the policy, then its content, unless only
/// manifests are checked or the file is a data shard.
fn validate_content(
    path: &Path,
    archive: &FileWithShards,
    (origin, args): (Origin, &Check),
) -> Outcome {
    let manifest = archive.manifest();
    let (scope, policy) = (args.scope(), args.policy.as_deref());
    policy.map_or(Ok(()), |policy| policy::check(policy, path, archive))?;
    let mut criteria = Criteria::new(archive, (origin, args));
    let notes = if scope == Part::All && !manifest.is_data_shard() {
        check_content(path, archive, &mut criteria)
    } else {
        to_outcome(path, archive, (&Report::of_opening(manifest, &criteria), &criteria))
    }?;
    let (verdict, summary) = summary(manifest, scope, args.canonical, archive.file_len());
    let summary = with_notes(summary, notes.len());
    Ok(Valid { verdict, summary, format: format_name(manifest), notes })
}

/// The options of the command line and of the policy that decide how a file is checked.
struct Criteria<'a> {
    policy: Option<&'a Policy>,
    /// The names of the files without a digest to which the checked file, such as an `*.index.json` file, refers, if the command
    /// checks all files of its folder; otherwise empty. These files are checked themselves, so their content is not read a second
    /// time for the file that refers to them.
    checked_files: HashSet<&'a str>,
    /// Whether the policy allows every global that the pickles of the file import and zten does not know.
    allows_globals: bool,
}

impl<'a> Criteria<'a> {
    fn new(archive: &'a FileWithShards, (origin, args): (Origin, &'a Check)) -> Self {
        let are_siblings_checked = matches!(origin, Origin::Folder { is_whole: true, .. });
        let siblings = archive.manifest().shards().filter(|shard| shard.digest().is_none());
        let siblings = siblings.filter(|_| are_siblings_checked).map(|shard| shard.name());
        let policy = args.policy.as_deref();
        let findings = archive.manifest().findings();
        let allows_globals = policy.is_some_and(|policy| policy.allows_all_globals(findings));
        Self { policy, checked_files: siblings.collect(), allows_globals }
    }
}

impl Observer for Criteria<'_> {
    fn includes(&self, object: &Tensor<'_>) -> bool {
        let is_checked = |name| self.checked_files.contains(name);
        self.checked_files.is_empty()
            || !object.components().all(|component| component.shard().is_some_and(is_checked))
    }

    /// Returns the rank of errors of this `kind`. Errors that the policy tolerates come last, so that they do not hide others.
    fn rank(&self, kind: ErrorKind) -> Rank {
        match self.policy {
            Some(policy) if policy.tolerates(kind.row()) => Rank::Tolerated,
            _ if self.allows_globals && kind.row().is_some_and(|row| row.id() == GLOBAL) => {
                Rank::Tolerated
            }
            _ => kind.into(),
        }
    }

    /// Returns true: the check goes on after the first error, because the message to the user counts all objects with errors.
    fn lists_all(&self) -> bool {
        true
    }
}

/// Verifies all content: in the order of the file if its digest is computed in the same pass, otherwise on several threads if the
/// file is large and local. Returns the notes.
fn check_content(
    path: &Path,
    archive: &FileWithShards,
    criteria: &mut Criteria<'_>,
) -> Result<Vec<Finding>, Box<Problem>> {
    let progress = Progress::new(stored(archive.manifest()));
    let failed = |failure: &Error| {
        let (_, notes) = Finding::split(Finding::of_open(archive.manifest()));
        Box::new(Problem::reading(path, archive, failure).with_notes(notes))
    };
    let mut files = Sources::bind(archive, &progress).map_err(|error| failed(&error))?;
    match files.verify() {
        // An error with a rule is in the report. An error without a rule says why a shard could not be verified.
        Err(error) if error.rule().is_none() => return Err(failed(&error)),
        _ => {}
    }
    let files = files.all();
    let subject = Subject::with_shards(archive.manifest(), &files);
    let report = match (archive.source().hashed(), threads_for(archive)) {
        (Some(hashed), _) => {
            hashed.in_order();
            check_in_order(subject, criteria)
        }
        (None, Some(threads)) => check_on(threads, subject, criteria),
        (None, None) => check(subject, criteria),
    };
    to_outcome(path, archive, (&report, criteria))
}

/// Returns the notes of `report` if the file is valid. Otherwise returns the problem that decides the verdict, with the notes,
/// and with the names of the other objects that have errors if the problem is in the content of an object.
fn to_outcome(
    path: &Path,
    archive: &FileWithShards,
    (report, criteria): (&Report<'_>, &Criteria<'_>),
) -> Result<Vec<Finding>, Box<Problem>> {
    let notes = report.all_notes(archive.manifest());
    match fault(path, archive, (report, criteria)) {
        Some(problem) => Err(Box::new(problem.with_notes(notes))),
        None => Ok(notes),
    }
}

/// Returns the problem that decides the verdict of `report`, with the names of the other objects that have errors, or
/// `None` if the file is valid.
fn fault(
    path: &Path,
    archive: &FileWithShards,
    (report, criteria): (&Report<'_>, &Criteria<'_>),
) -> Option<Problem> {
    let fault = report.fault()?;
    if fault.is_of_opening() {
        let problem = Problem::found(path, fault.finding(archive.manifest()));
        let is_tolerated = fault.verdict() == Verdict::Tolerated;
        return Some(if is_tolerated { problem.tolerated() } else { problem });
    }
    let problem = Problem::reading(path, archive, fault.error());
    let Some(blamed) = fault.object() else { return Some(problem) };
    let mut more = More::default();
    for (ordinal, error) in report.objects().filter(|(ordinal, _)| *ordinal != blamed) {
        let object = archive.manifest().tensor_at(ordinal);
        let name = object.map_or("", |object| object.name());
        more.add(name, criteria.rank(error.kind()).into());
    }
    Some(problem.and_more(more))
}

impl From<Rank> for Flaw {
    fn from(rank: Rank) -> Self {
        match rank {
            Rank::Decisive | Rank::Limit => Self::Invalid,
            Rank::Unsupported => Self::Unsupported,
            Rank::Tolerated | Rank::Note => Self::Tolerated,
        }
    }
}

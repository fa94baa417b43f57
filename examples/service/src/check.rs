//! The function that workers run: checks one file as `zten check` does, as if the file were alone in its folder.

use zten::finding::{Finding, Verdict, format_name};
use zten::verify::{self, Observer, Rank, Report};
use zten::{Archive, ErrorKind, OpenOptions};
use zten_report::check::{self, Scope};
use zten_report::policy::{Policy, to_error};
use zten_worker::{Function, Work, WorkFile};

use crate::answer::{self, Answer};

/// The function that checks the file of a job in a worker. The argument is the policy, serialized by `postcard`, or empty.
pub static CHECK: Function = Function::new("check", run).checked_by(answer::check);

fn run(work: Work) -> Result<Vec<u8>, String> {
    let policy: Option<Policy> = match &*work.argument {
        [] => None,
        policy => Some(postcard::from_bytes(policy).map_err(|error| error.to_string())?),
    };
    let file = work.files.into_iter().next().ok_or("the job has no file")?;
    let answer = match apply(policy.as_ref(), check_file(file, policy.as_ref())) {
        Ok(Valid { format, summary, notes }) => Answer::Valid {
            format: format.to_owned(),
            summary,
            notes: notes.into_iter().map(Into::into).collect(),
        },
        Err(rejected) => {
            let Rejected { found, more, notes } = *rejected;
            let notes = notes.into_iter().map(Into::into).collect();
            Answer::Rejected { found: Box::new(found.into()), more, notes }
        }
    };
    serde_json::to_vec(&answer).map_err(|error| error.to_string())
}

/// The fields of the answer about a valid file.
struct Valid {
    format: &'static str,
    summary: String,
    notes: Vec<Finding>,
}

/// The fields of the answer about a file that is not valid.
struct Rejected {
    found: Finding,
    /// The number of other objects with an error, or `None` if the other objects were not checked.
    more: Option<u64>,
    notes: Vec<Finding>,
}

type Outcome = Result<Valid, Box<Rejected>>;

/// Returns the outcome for a file that has only one finding.
fn rejected(found: Finding) -> Box<Rejected> {
    Box::new(Rejected { found, more: None, notes: Vec::new() })
}

/// Checks the file. Its bytes decide the format, or its name if they do not. A name with the suffix of another format is an error,
/// unless the file cannot be opened for another reason than that it is unsupported, such as a broken rule, which tells more about
/// the file.
fn check_file(file: WorkFile, policy: Option<&Policy>) -> Outcome {
    let WorkFile { file, name, length } = file;
    let options = OpenOptions::default();
    let recognized = zten::formats::recognize(&file, length, &name);
    let recognized = recognized.map_err(|error| rejected(Finding::from_error(&error)))?;
    let misnamed = recognized.misnamed(&name);
    let detected = recognized.detected(&name);
    let opened = options.begin_recognized(file, recognized, &name);
    match (opened.and_then(|begun| begun.require_unsharded(&options)), misnamed) {
        (Ok(archive), None) => check_archive(&archive, length, policy),
        (Ok(_), Some(misnamed)) => Err(rejected(misnamed)),
        (Err(error), misnamed) => {
            let mut found = Finding::from_error(&error);
            if let Some(detected) = detected {
                found.format = detected.name();
            }
            if let (Verdict::Unsupported, Some(misnamed)) = (found.verdict, misnamed) {
                return Err(rejected(misnamed));
            }
            let violation = policy.and_then(|policy| policy.check_unread(&found, length));
            Err(rejected(violation.unwrap_or(found)))
        }
    }
}

/// Checks the file against `policy`, and then the content of the file, whose header is valid, against the rules of its format. The
/// content of a data shard is not checked, because the file that describes it is missing.
fn check_archive(archive: &Archive, length: u64, policy: Option<&Policy>) -> Outcome {
    let manifest = archive.manifest();
    if let Some(Err(violations)) = policy.map(|policy| policy.check(manifest, length)) {
        let more = violations.others.map(|others| zten::num::u64_from_usize(others.len()));
        let found = violations.finding;
        return Err(Box::new(Rejected { found, more, notes: Vec::new() }));
    }
    let mut criteria = Criteria { policy };
    let report = if manifest.is_data_shard() {
        Report::of_opening(manifest, &criteria)
    } else {
        verify::check(archive, &mut criteria)
    };
    let notes = report.all_notes(manifest);
    if let Some(fault) = report.fault() {
        let blamed = fault.object().filter(|_| !fault.is_of_opening());
        let others = |blamed| report.objects().filter(|(ordinal, _)| *ordinal != blamed).count();
        let more = blamed.map(|blamed| zten::num::u64_from_usize(others(blamed)));
        return Err(Box::new(Rejected { found: fault.finding(manifest), more, notes }));
    }
    let (_, summary) = check::summary(manifest, Scope::All, false, length);
    let summary = check::with_notes(summary, notes.len());
    Ok(Valid { format: format_name(manifest), summary, notes })
}

/// Ranks errors: those that the policy tolerates come last, so that they do not hide others.
struct Criteria<'a> {
    policy: Option<&'a Policy>,
}

impl Observer for Criteria<'_> {
    fn rank(&self, kind: ErrorKind) -> Rank {
        match self.policy {
            Some(policy) if policy.tolerates(kind.row()) => Rank::Tolerated,
            _ => kind.into(),
        }
    }

    /// Returns true: the check goes on after the first error, to count the objects with errors.
    fn lists_all(&self) -> bool {
        true
    }
}

/// Makes a note that the policy denies an error, which also replaces an error that the policy tolerates. The process of the service
/// gives tolerated findings their verdict.
fn apply(policy: Option<&Policy>, outcome: Outcome) -> Outcome {
    let Some(policy) = policy else { return outcome };
    match outcome {
        Ok(mut valid) => match policy.denied(&valid.notes) {
            None => Ok(valid),
            Some(denied) => {
                let found = to_error(valid.notes.remove(denied));
                Err(Box::new(Rejected { found, more: None, notes: valid.notes }))
            }
        },
        Err(mut own) if policy.tolerates(own.found.row) => match policy.denied(&own.notes) {
            None => Err(own),
            Some(denied) => Err(rejected(to_error(own.notes.swap_remove(denied)))),
        },
        Err(own) => Err(own),
    }
}

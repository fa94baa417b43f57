//! The check of a whole archive: all objects, its shards, the padding of a canonical file, and the findings from opening.

use alloc::vec::Vec;
use core::ops::ControlFlow;
#[cfg(feature = "std")]
use std::sync::OnceLock;

#[cfg(not(feature = "dequantize"))]
use super::ungated::{Gate, Notes};
use super::{Order, Subject, Summary, Verifier};
#[cfg(feature = "dequantize")]
use crate::conventions::find::{Gate, Notes};
use crate::error::{BareError, Error, ErrorKind, OutOfMemory, Rank};
use crate::finding::{self, Verdict};
use crate::manifest::{Component, Finding, Manifest, ManifestRef, Tensor};
use crate::rules::{Limit, Unsupported};

/// The options and callbacks of a caller of [`check`]. Every method has a default, and `()` uses all defaults.
pub trait Observer {
    /// Returns whether `object` is checked. The default is true.
    fn includes(&self, object: &Tensor<'_>) -> bool {
        let _ = object;
        true
    }

    /// Returns whether [`chunk`](Self::chunk) is called. The default is false, which saves the memory for column-major
    /// elements: see [`Verifier::check`].
    fn takes_content(&self) -> bool {
        false
    }

    /// Receives the next decoded, little-endian bytes of `component`, if
    /// [`takes_content`](Self::takes_content) is true. Each byte comes once, and the components of an object come in the order of
    /// the file. The bytes are trustworthy only when [`checked`](Self::checked) is called without an error.
    fn chunk(&mut self, component: &Component<'_>, chunk: &[u8]) {
        let _ = (component, chunk);
    }

    /// Receives the result of `object`: `error` is `None` if its content is valid. Objects come in the order of the file, except in
    /// `check_in_order` and where the caller [chooses](Check::object) the order. Objects that are not
    /// [included](Self::includes), or that come after the end of the check, have no result.
    ///
    /// # Errors
    /// The observer may return any error. It ends the check, and is reported as an error of the file.
    fn checked(&mut self, object: &Tensor<'_>, error: Option<&Error>) -> Result<(), Error> {
        let _ = (object, error);
        Ok(())
    }

    /// Returns the importance of errors of this `kind`. A caller that tolerates a rule returns [`Rank::Tolerated`].
    fn rank(&self, kind: ErrorKind) -> Rank {
        kind.into()
    }

    /// Returns whether the report lists the errors of all objects. The default is false: the check ends at the first
    /// decisive error, which decides the verdict, and the report lists only errors that outrank those before them.
    fn lists_all(&self) -> bool {
        false
    }
}

impl Observer for () {}

/// Checks a whole file: verifies the content of all objects in the order of the file, verifies that its
/// shards were found and match their digests, and validates the padding if the file was opened as canonical. The report
/// also has the findings from opening. `subject` is an [`Archive`](crate::Archive), or a manifest with its files.
///
/// ```
/// use zten::verify::check;
///
/// let archive = zten::open("corpus/accept/1.2.3/csr_raw.zt")?;
/// let report = check(&archive, &mut ());
/// assert_eq!(report.verdict(), zten::finding::Verdict::Valid);
/// assert_eq!(report.summary().components(), 18);
/// # Ok::<(), zten::Error>(())
/// ```
///
/// An object with an error does not keep the others from being checked, because a broken rule further on says more
/// about the file than a limit or an unsupported feature. These errors end the check: an error of a source; more
/// decoded bytes than the limit on a whole file; an error that the observer [returns](Observer::checked); a lack of memory for
/// the list of errors; and, unless the observer [lists all](Observer::lists_all), any [decisive](Rank::Decisive) error, such as a
/// broken rule. If the shards cannot be verified for a reason that is no rule, such as a failed read, no object is checked.
pub fn check<'a>(subject: impl Into<Subject<'a>>, observer: &mut dyn Observer) -> Report<'a> {
    Check::new(subject, observer).all(observer)
}

/// Checks a whole file as [`check`] does and with the same report, but several objects at once, on `threads`. An
/// observer that [takes content](Observer::takes_content) is served on the calling thread, one object after another.
#[cfg(feature = "std")]
pub fn check_on<'a>(
    threads: &dyn super::Threads,
    subject: impl Into<Subject<'a>>,
    observer: &mut (dyn Observer + Sync),
) -> Report<'a> {
    let mut check = Check::new(subject, observer);
    if !check.has_ended && !observer.takes_content() {
        let shared = &*observer;
        let gate = &check.gate;
        let validate = |verifier: &mut Verifier, object: &Tensor<'_>| {
            if !shared.includes(object) {
                return Ok(None);
            }
            gate.read(verifier, (object, Order::Stored), |_, _| ()).map(Some)
        };
        let ends = |error: &Error| is_last(shared, error);
        let subject = check.subject;
        if let Some(results) = subject.in_parallel(threads, &validate, &ends) {
            let results = results.into_iter().filter_map(OnceLock::into_inner);
            for (object, result) in subject.manifest.tensors().zip(results) {
                let Some(result) = result.transpose() else { continue };
                if check.note(&object, result, observer).is_break() {
                    break;
                }
            }
            return check.finish(observer);
        }
    }
    check.all(observer)
}

/// Checks a whole file as [`check`] does, but reads the objects in the order in which the file stores them, so that a source can
/// hash the file as it is read from its start to its end. A checkpoint of PyTorch, for example, sorts the numbers of its tensors as
/// text, so 10 comes before 2. If an observer [lists all](Observer::lists_all) errors and no error ends the check early, the report has
/// the same errors as that of [`check`]. Otherwise, the two functions may report different errors of the same rank. Of several notes
/// by the same rule, each function keeps the note that it finds first.
#[cfg(feature = "std")]
pub fn check_in_order<'a>(
    subject: impl Into<Subject<'a>>,
    observer: &mut dyn Observer,
) -> Report<'a> {
    let mut check = Check::new(subject, observer);
    let manifest = check.subject.manifest;
    let mut order = Vec::new();
    // If there is no memory for the sorted list, objects are checked in the order of the manifest. The result is the same,
    // but a source that hashes the file may have to read bytes twice.
    if order.try_reserve_exact(manifest.tensors().len()).is_err() {
        return check.all(observer);
    }
    order.extend(manifest.tensors().map(|object| {
        let start = object.components().map(|component| component.extent().offset()).min();
        (start, object.ordinal())
    }));
    order.sort_unstable();
    for (_, ordinal) in order {
        if check.object(ordinal, observer).is_break() {
            break;
        }
    }
    check.finish(observer)
}

/// A check that the caller drives step by step, for hosts that have to fetch the bytes of an object before it is checked.
/// [`check`] does all steps.
pub struct Check<'a> {
    subject: Subject<'a>,
    verifier: Verifier,
    /// The error that was found in verifying the shards, if there is one. Errors of objects are reported before it.
    shards: Option<Error>,
    report: Report<'a>,
    has_ended: bool,
    gate: GateOf<'a>,
    /// Whether tensors that are in two files of an index have been compared.
    has_compared: bool,
}

impl<'a> Check<'a> {
    /// Begins to check `subject`: verifies its shards, unless they have been verified.
    pub fn new(subject: impl Into<Subject<'a>>, observer: &dyn Observer) -> Self {
        let subject = subject.into();
        let shards = match subject.source.verify_shards() {
            Some(verified) => verified.err(),
            None => find_shard(subject.manifest).err().map(Error::from),
        };
        // Any error without a rule, such as a lack of memory, leaves shards unverified, so their components could not
        // be read.
        let has_ended = shards.as_ref().is_some_and(|error| error.rule().is_none());
        let mut report = Report::new(subject.manifest.findings(), observer);
        let gate = Gate::new(subject.manifest, &mut report.notes).unwrap_or_else(|error| {
            report.add(None, error, observer);
            Gate::default()
        });
        Self {
            gate: GateOf { gate, manifest: subject.manifest },
            subject,
            verifier: subject.verifier(),
            shards,
            report,
            has_ended,
            has_compared: false,
        }
    }

    /// Verifies the content of object `ordinal`. Returns `Break` if the check has ended, as [`check`] describes. Does nothing if
    /// the check ended before, the file has no such object, or the observer does not [include](Observer::includes) it.
    pub fn object(&mut self, ordinal: u32, observer: &mut dyn Observer) -> ControlFlow<()> {
        if self.has_ended {
            return ControlFlow::Break(());
        }
        let Some(object) = self.subject.manifest.object(ordinal) else {
            return ControlFlow::Continue(());
        };
        if !observer.includes(&object) {
            return ControlFlow::Continue(());
        }
        let takes_content = observer.takes_content();
        let order = if takes_content { Order::Rows } else { Order::Stored };
        let result = self.gate.read(&mut self.verifier, (&object, order), |component, chunk| {
            if takes_content {
                observer.chunk(component, chunk);
            }
        });
        self.note(&object, result, observer)
    }

    /// Adds the error of the shards, compares tensors that are in two files of an index, validates the padding if the file was
    /// opened as canonical, and returns the report. The comparison and the padding are left out if the check has ended or if their
    /// result cannot change the verdict. Objects that were not checked are not in the report.
    pub fn finish(mut self, observer: &dyn Observer) -> Report<'a> {
        // The caller may have checked the objects in any order, and the report has the order of the file.
        self.report.errors.sort_unstable_by_key(|error| error.object.unwrap_or(u32::MAX));
        if let Some(error) = self.shards.take() {
            self.report.add(None, error, observer);
        }
        if let Err(error) = self.compare_copies(observer) {
            self.report.add(None, error, observer);
        }
        // The padding is not read if its result cannot change the report: after a broken rule, or after a failed read.
        #[cfg(feature = "digest")]
        if !self.has_ended
            && !self.report.is_decided()
            && self.subject.manifest.options().is_canonical()
            && let Err(error) = super::canonical::validate(self.subject.manifest, self.subject.root)
        {
            let object = error.location().object();
            let object = object.and_then(|ordinal| self.subject.manifest.object(ordinal));
            let error = match object {
                Some(object) => object.named(error),
                None => error,
            };
            self.report.add(None, error, observer);
        }
        self.report
    }

    /// Compares tensors that are in two files of an index, unless that was done, the check has ended, or the report has a decisive
    /// error. [`finish`](Self::finish) does so as well. A host that has to fetch bytes first can call this function again after an
    /// error, which is not added to the report.
    ///
    /// # Errors
    /// An error of the source; out of memory.
    pub fn compare_copies(&mut self, observer: &dyn Observer) -> Result<(), Error> {
        let is_over = self.has_compared || self.has_ended || self.report.is_decided();
        // Two files can have a tensor of the same name only if an index names both files, and only builds with the feature `parts`
        // read an index. In other builds the compiler removes the comparison below, which keeps the wasm modules small.
        if !cfg!(feature = "parts") || is_over {
            return Ok(());
        }
        let found = super::copies::compare(self.subject.manifest, self.subject.source)?;
        let rank = |found: &Finding| observer.rank(found.error().kind());
        self.report.copies = found.map(|found| (rank(&found), found));
        self.has_compared = true;
        Ok(())
    }

    /// Checks all objects in the order of the file, and finishes.
    fn all(mut self, observer: &mut dyn Observer) -> Report<'a> {
        for ordinal in 0..self.subject.manifest.len() {
            if self.object(ordinal, observer).is_break() {
                break;
            }
        }
        self.finish(observer)
    }

    /// Tells `observer` the `result` of checking `object`, and adds the result to the report: `Ok(Some(_))` is a note on the
    /// object, and `Err` is an error. Returns `Break` if the check has ended.
    fn note(
        &mut self,
        object: &Tensor<'_>,
        result: Result<Option<Error>, Error>,
        observer: &mut dyn Observer,
    ) -> ControlFlow<()> {
        let heard = observer.checked(object, result.as_ref().err());
        match result {
            Ok(note) => {
                self.report.summary.count(object);
                if let Some(note) = note {
                    self.report.add_note(note, observer);
                }
            }
            Err(error) => {
                self.has_ended |= is_last(observer, &error);
                self.report.add(Some(object.ordinal()), error, observer);
            }
        }
        if let Err(error) = heard {
            self.has_ended = true;
            self.report.add(None, error, observer);
        }
        self.has_ended |= self.report.unlisted.is_some();
        if self.has_ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The tensors that a check examines because they are in groups that follow a convention of quantization, and the manifest of their
/// file.
struct GateOf<'a> {
    gate: Gate,
    manifest: ManifestRef<'a>,
}

impl GateOf<'_> {
    /// Reads and validates `object` in the given order, passes its chunks to `tap`, and examines the chunks if `gate` has a probe
    /// of the object. Returns the note on the object, if there is one.
    fn read(
        &self,
        verifier: &mut Verifier,
        (object, order): (&Tensor<'_>, Order),
        mut tap: impl FnMut(&Component<'_>, &[u8]),
    ) -> Result<Option<Error>, Error> {
        let Some(mut looks) = self.gate.look(object.ordinal())? else {
            return verifier.read(object, order, tap).map(|()| None);
        };
        let mut looked = Ok(());
        verifier.read(object, order, |component, chunk| {
            tap(component, chunk);
            if looked.is_ok() {
                looked = looks.chunk(component, chunk);
            }
        })?;
        looked?;
        looks.finish(object, self.manifest)
    }
}

/// Returns whether the check ends with `error` of an object.
fn is_last(observer: &(impl Observer + ?Sized), error: &Error) -> bool {
    let kind = error.kind();
    kind == ErrorKind::Read
        || kind == Limit::DecodedTotal
        || (!observer.lists_all() && observer.rank(kind) == Rank::Decisive)
}

/// Returns the error `unsupported-shard` for the first shard that the file lists. The caller has found that nobody has looked for
/// shards. A shard without components counts, too, because it is another file that has not been read: v2 §7.1.
fn find_shard(manifest: ManifestRef<'_>) -> Result<(), BareError> {
    let first = manifest.shards().next();
    first.map_or(Ok(()), |shard| Err(shard.error(Unsupported::Shard)))
}

/// The report on a checked file: its errors, and what was read.
#[derive(Debug)]
pub struct Report<'a> {
    /// The errors of objects in the order of the file, then those of the file as a whole.
    errors: Vec<Ranked>,
    /// The `OutOfMemory` error of adding an error to `errors`.
    unlisted: Option<Ranked>,
    /// The most important finding from opening the file, with its rank. Notes do not count.
    opening: Option<(Rank, &'a Finding)>,
    /// The finding that a tensor differs between two files of an index, with its rank.
    copies: Option<(Rank, Finding)>,
    /// The notes on the content, and on tensors that contradict each other.
    notes: Notes,
    summary: Summary,
}

/// An error of the content of an object, or of the file as a whole, with the rank that decides which error is reported.
#[derive(Debug)]
struct Ranked {
    rank: Rank,
    /// The ordinal of the object with the error; `None` for an error of the file as a whole.
    object: Option<u32>,
    error: Error,
}

/// The error that decides the verdict on a file.
#[derive(Clone, Copy, Debug)]
pub struct Fault<'r> {
    rank: Rank,
    origin: Origin<'r>,
}

/// How an error was found.
#[derive(Clone, Copy, Debug)]
enum Origin<'r> {
    /// By reading content.
    Content(&'r Ranked),
    /// By opening the file, or by comparing tensors that are in two files of an index.
    Opening(&'r Finding),
}

/// Returns the first of `faults` whose rank is the most important: it decides the verdict on a file.
fn decisive<T>(faults: impl Iterator<Item = T>, rank: impl Fn(&T) -> Rank) -> Option<T> {
    faults.min_by_key(rank)
}

impl<'a> Report<'a> {
    fn new(opening: &'a [Finding], observer: &dyn Observer) -> Self {
        let found = opening.iter().filter_map(|found| {
            let kind = found.error().kind();
            (!matches!(kind, ErrorKind::Note(_))).then(|| (observer.rank(kind), found))
        });
        let opening = decisive(found, |(rank, _)| *rank);
        let (copies, summary) = Default::default();
        Self {
            errors: Vec::new(),
            unlisted: None,
            opening,
            copies,
            notes: Notes::default(),
            summary,
        }
    }

    /// Creates the report on a file with `manifest` whose content is not read: only the findings from opening.
    pub fn of_opening(manifest: &'a Manifest<impl AsRef<[u8]>>, observer: &dyn Observer) -> Self {
        Self::new(manifest.findings(), observer)
    }

    /// Adds a note on the content of an object.
    fn add_note(&mut self, note: Error, observer: &dyn Observer) {
        if let Err(error) = self.notes.add(note) {
            self.add(None, error.into(), observer);
        }
    }

    /// Returns all notes on the file, whose manifest is `manifest`: those from opening it, and those of the check.
    pub fn all_notes(&self, manifest: &Manifest<impl AsRef<[u8]>>) -> Vec<finding::Finding> {
        let found = finding::Finding::of_open(manifest);
        let (_, mut notes) = finding::Finding::split(found);
        notes.extend(self.notes().iter().map(|found| finding::Finding::opening(manifest, found)));
        notes
    }

    /// Returns the notes that the check has made, one for each rule: on scales that are not finite, and on tensors that contradict
    /// each other. The notes from opening the file are those of its manifest.
    pub fn notes(&self) -> &[Finding] {
        self.notes.all()
    }

    /// Adds `error` of the object with the ordinal `object`, or of the file as a whole. Unless the observer lists all errors, an
    /// error that does not outrank all errors before it is dropped.
    fn add(&mut self, object: Option<u32>, error: Error, observer: &dyn Observer) {
        let rank = observer.rank(error.kind());
        // A file may have millions of unsupported objects. Errors that can never be reported take no memory.
        if !observer.lists_all() && self.errors.iter().any(|other| other.rank <= rank) {
            return;
        }
        if self.errors.try_reserve(1).is_err() {
            let rank = Rank::Decisive;
            self.unlisted = Some(Ranked { rank, object: None, error: OutOfMemory.into() });
            return;
        }
        self.errors.push(Ranked { rank, object, error });
    }

    /// Returns whether no further error of the content can change the verdict.
    fn is_decided(&self) -> bool {
        self.unlisted.is_some() || self.errors.iter().any(|error| error.rank == Rank::Decisive)
    }

    /// Returns the error that decides the verdict, or `None` if the file is valid: the first of the most
    /// important [`Rank`]. A broken rule and an error of reading come before an exceeded limit, and an exceeded limit before
    /// an unsupported feature. Within a rank, errors of objects come before those of shards and padding, and errors of the content
    /// before findings from opening. The finding that a tensor differs between two files of an index comes last in its rank.
    pub fn fault(&self) -> Option<Fault<'_>> {
        let content = self.errors.iter().chain(&self.unlisted);
        let content =
            content.map(|error| Fault { rank: error.rank, origin: Origin::Content(error) });
        let copies = self.copies.as_ref().map(|(rank, found)| (*rank, found));
        let opening = self.opening.into_iter().chain(copies);
        let opening = opening.map(|(rank, found)| Fault { rank, origin: Origin::Opening(found) });
        decisive(content.chain(opening), |fault| fault.rank)
    }

    /// Returns the verdict on the file.
    pub fn verdict(&self) -> Verdict {
        self.fault().map_or(Verdict::Valid, |fault| fault.verdict())
    }

    /// Returns the errors of objects with the ordinals of the objects, in the order of the file. The list is
    /// complete only if the observer [lists all](Observer::lists_all).
    pub fn objects(&self) -> impl Iterator<Item = (u32, &Error)> {
        self.errors.iter().filter_map(|error| Some((error.object?, &error.error)))
    }

    /// Returns the number of components and digests of the objects that were checked and have no error.
    pub fn summary(&self) -> Summary {
        self.summary
    }

    /// Returns the summary, or the error that decides the verdict on the content. Findings from opening are ignored, and so is the
    /// finding that a tensor differs between two files of an index.
    ///
    /// # Errors
    /// The errors of [`Archive::verify`](crate::Archive::verify).
    pub fn into_result(self) -> Result<Summary, Error> {
        let errors = self.errors.into_iter().chain(self.unlisted);
        match decisive(errors, |error| error.rank) {
            Some(Ranked { error, .. }) => Err(error),
            None => Ok(self.summary),
        }
    }
}

impl<'r> Fault<'r> {
    /// Returns the error.
    pub fn error(&self) -> &'r Error {
        match self.origin {
            Origin::Content(content) => &content.error,
            Origin::Opening(found) => found.error(),
        }
    }

    /// Returns the ordinal of the object whose content has the error. `None` is for an error of the file as a whole, or
    /// of opening.
    pub fn object(&self) -> Option<u32> {
        match self.origin {
            Origin::Content(content) => content.object,
            Origin::Opening(_) => None,
        }
    }

    /// Returns whether the content may be valid all the same: opening has found the error, or a tensor differs between two
    /// files of an index.
    pub fn is_of_opening(&self) -> bool {
        matches!(self.origin, Origin::Opening(_))
    }

    /// Returns the verdict on the file.
    pub fn verdict(&self) -> Verdict {
        match self.rank {
            Rank::Tolerated => Verdict::Tolerated,
            _ => self.error().kind().into(),
        }
    }

    /// Converts the error to a finding about the file, whose manifest is `manifest`.
    pub fn finding(&self, manifest: &Manifest<impl AsRef<[u8]>>) -> finding::Finding {
        match self.origin {
            Origin::Content(content) => finding::Finding::reading(manifest, &content.error),
            Origin::Opening(found) => finding::Finding::opening(manifest, found),
        }
    }
}

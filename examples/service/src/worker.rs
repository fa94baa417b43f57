//! The worker process: confines itself, checks the file, and answers.

mod content;

use std::error::Error;
use std::fs::File;
use std::io::{self, IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use zten::finding::{Finding, Verdict, format_name};
use zten::verify::{self, Observer};
use zten::{Archive, Generation, OpenOptions, State, Tensor};
use zten_report::blocks;
use zten_report::check::{self, Scope};
use zten_sandbox::{Budget, Role, confine};

use crate::answer::{self, Answer, Component, Facts, UNCONFINED, Want};
use content::Content;

/// The request of the service, parsed from the arguments of the worker.
struct Order {
    budget: Budget,
    want: Want,
    /// The name of the file; empty if it is unknown.
    name: PathBuf,
    /// The memory file for decoded components, if the service asked for content.
    content: Option<Content>,
}

/// Runs the worker for its arguments, and returns its exit status.
pub fn work(arguments: impl Iterator<Item = String>) -> ExitCode {
    zten_sandbox::without_backtraces();
    zten_sandbox::end_with_parent();
    let ready = order(arguments).and_then(|order| Ok((order, input()?)));
    let Ok((mut order, (file, length))) = ready else { return ExitCode::from(2) };
    // The file is untrusted: no byte may be read before the worker is confined.
    if confine(Role::Sends, &order.budget, || ()).complete().is_err() {
        return ExitCode::from(UNCONFINED);
    }
    let answer = match check(file, length, &mut order) {
        Ok(facts) => Answer::Valid(facts),
        Err(finding) => Answer::Rejected((*finding).into()),
    };
    let content = order.content.as_ref().filter(|_| matches!(answer, Answer::Valid(_)));
    match send(&answer, content.map(Content::file)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn order(arguments: impl Iterator<Item = String>) -> Result<Order, Box<dyn Error>> {
    let arguments: Vec<String> = arguments.collect();
    let [memory, seconds, most, want, name] = arguments.as_slice() else {
        return Err("MEMORY SECONDS CONTENT verdict|facts|content NAME".into());
    };
    let (memory, seconds, most) = (memory.parse()?, seconds.parse()?, most.parse()?);
    let want = Want::named(want).ok_or("verdict|facts|content")?;
    let flags = MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC;
    let content = match want {
        Want::Content => Some(Content::new(memfd_create("content", flags)?.into(), most)),
        Want::Verdict | Want::Facts => None,
    };
    let budget = Budget {
        memory: Some(memory),
        seconds: Some(seconds),
        file: Some(most),
        ..Budget::default()
    };
    Ok(Order { budget, want, name: name.into(), content })
}

/// Returns the file, which is the standard input, and its length.
fn input() -> Result<(File, u64), Box<dyn Error>> {
    let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err("not a regular file".into());
    }
    Ok((file, metadata.len()))
}

/// Reads and validates all of `file`, and appends its decoded components to the memory file of `order`, if there is one.
fn check(file: File, length: u64, order: &mut Order) -> Result<Facts, Box<Finding>> {
    let archive = open(file, length, &order.name)?;
    let manifest = archive.manifest();
    let mut collector = Collector {
        want: order.want,
        content: order.content.as_mut(),
        current: None,
        objects: Vec::new(),
    };
    let report = verify::check(&archive, &mut collector);
    if let Some(fault) = report.fault() {
        return Err(Box::new(fault.finding(manifest)));
    }
    let objects = collector.objects;
    if let Some(content) = &mut order.content {
        content.seal().map_err(|error| Box::new(Finding::io(&error)))?;
    }
    let (_, notes) = Finding::split(Finding::of_open(manifest));
    let (_, summary) = check::summary(manifest, Scope::All, false, length);
    let summary = check::with_notes(summary, notes.len());
    Ok(Facts {
        format: format_name(manifest).to_owned(),
        generation: archive.generation().map_or("", Generation::as_str).to_owned(),
        summary,
        notes: notes.into_iter().map(Into::into).collect(),
        objects,
    })
}

/// Collects the facts about objects and their content while a file is checked.
struct Collector<'c> {
    want: Want,
    /// The memory file for decoded components, if the service asked for content.
    content: Option<&'c mut Content>,
    /// The facts about the object that is being read; `None` until its first content has arrived.
    current: Option<answer::Object>,
    /// The facts about the objects that have been checked.
    objects: Vec<answer::Object>,
}

impl Collector<'_> {
    /// Returns the facts about `tensor`. If there is a memory file, each component begins with an empty range of it.
    fn facts(&self, tensor: &Tensor<'_>) -> answer::Object {
        facts(tensor, self.content.is_some().then_some((0, 0)))
    }
}

impl Observer for Collector<'_> {
    fn takes_content(&self) -> bool {
        self.content.is_some()
    }

    fn chunk(&mut self, component: &zten::Component<'_>, chunk: &[u8]) {
        let mut facts = self.current.take().unwrap_or_else(|| self.facts(&component.tensor()));
        let at = component.location().component().and_then(|at| usize::try_from(at).ok());
        let fact = at.and_then(|at| facts.components.get_mut(at));
        let place = fact.and_then(|fact| fact.place.as_mut());
        if let Some((content, place)) = self.content.as_mut().zip(place) {
            content.append(place, chunk);
        }
        self.current = Some(facts);
    }

    fn checked(&mut self, tensor: &Tensor<'_>, _: Option<&zten::Error>) -> Result<(), zten::Error> {
        if self.want != Want::Verdict {
            let facts = self.current.take().unwrap_or_else(|| self.facts(tensor));
            self.objects.push(facts);
        }
        Ok(())
    }
}

/// Opens the `file` of `length` bytes as the command `zten` does. Its bytes decide the format, or its `name` if they do not. A
/// name with the suffix of another format is an error, unless the bytes break a rule, which is the better report.
fn open(file: File, length: u64, name: &Path) -> Result<Archive, Box<Finding>> {
    let options = OpenOptions::default();
    let rejected = |error: zten::Error| Box::new(Finding::from_error(&error));
    let recognized = zten::formats::recognize(&file, length, name).map_err(rejected)?;
    let misnamed = recognized.misnamed(name).map(Box::new);
    let found = recognized.detected(name);
    let opened = options.begin_recognized(file, recognized, name);
    let opened = opened.and_then(|begun| begun.require_unsharded(&options)).map_err(rejected);
    let named = |finding: Box<Finding>| match found {
        Some(found) => Box::new(Finding { format: found.name(), ..*finding }),
        None => finding,
    };
    match (opened, misnamed) {
        (Err(finding), Some(misnamed)) if finding.verdict == Verdict::Unsupported => Err(misnamed),
        (Err(finding), _) => Err(named(finding)),
        (Ok(_), Some(misnamed)) => Err(misnamed),
        (Ok(archive), None) => Ok(archive),
    }
}

/// Returns the facts that the manifest states about `tensor`. `place` is the offset and length in the memory file that every
/// component begins with.
fn facts(tensor: &Tensor<'_>, place: Option<(u64, u64)>) -> answer::Object {
    let component = |component: zten::Component<'_>| Component {
        role: component.role().to_owned(),
        dtype: component.type_name().to_owned(),
        stored: component.extent().length(),
        place,
    };
    let state = match blocks::state(tensor) {
        State::Readable => answer::State::Readable,
        _ => answer::State::Opaque,
    };
    answer::Object {
        name: tensor.name().to_owned(),
        format: tensor.layout_name().to_owned(),
        state,
        shape: tensor.shape().to_vec(),
        components: tensor.components().map(component).collect(),
    }
}

/// Sends the answer, and the descriptor of the memory file with its first bytes. The socket has to be standard output: the
/// system call filter allows sending on that descriptor number only.
fn send(answer: &Answer, content: Option<BorrowedFd<'_>>) -> Result<(), Box<dyn Error>> {
    let text = serde_json::to_vec(answer)?;
    let head = u64::try_from(text.len())?.to_le_bytes();
    let mut out = io::stdout().lock();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let files: Vec<_> = content.into_iter().collect();
    if !files.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&files));
    }
    let sent = sendmsg(&out, &[IoSlice::new(&head)], &mut control, SendFlags::empty())?;
    if sent < head.len() {
        return Err("the socket took a part only".into());
    }
    out.write_all(&text)?;
    Ok(out.flush()?)
}

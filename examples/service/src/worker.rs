//! The worker's side: confines itself, reads the file, answers.

mod content;

use std::error::Error;
use std::fs::File;
use std::io::{self, IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::ExitCode;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use zten::source::FileArchive;
use zten::{Object, Options, ReadError, verify::Verifier};
use zten_sandbox::{Budget, Role, confine};

use crate::answer::{self, Answer, Component, Facts, Refusal};
use content::Content;

/// Status of a worker that cannot be confined, and so reads nothing.
const UNCONFINED: u8 = 3;

/// What a worker does, from its arguments to its end.
pub fn work() -> ExitCode {
    zten_sandbox::without_backtraces();
    zten_sandbox::end_with_parent();
    let ready = order().and_then(|order| Ok((order, input()?)));
    let Ok(((budget, mut content), (file, length))) = ready else { return ExitCode::from(2) };
    // Nothing of the file is read before this.
    if confine(Role::Sends, &budget, || ()).complete().is_err() {
        return ExitCode::from(UNCONFINED);
    }
    let answer = match check(file, length, content.as_mut()) {
        Ok(facts) => Answer::Valid(facts),
        Err(refusal) => Answer::Refused(refusal),
    };
    let content = content.as_ref().filter(|_| matches!(answer, Answer::Valid(_)));
    match send(&answer, content.map(Content::file)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// What the service asks for: limits, and the memory file if there is to be one.
fn order() -> Result<(Budget, Option<Content>), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [memory, seconds, most, want] = args.as_slice() else {
        return Err("MEMORY SECONDS CONTENT facts|content".into());
    };
    let (memory, seconds, most) = (memory.parse()?, seconds.parse()?, most.parse()?);
    let flags = MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC;
    let content = match want.as_str() {
        "content" => Some(Content::new(memfd_create("content", flags)?.into(), most)),
        _ => None,
    };
    let budget = Budget {
        memory: Some(memory),
        seconds: Some(seconds),
        file: Some(most),
        ..Budget::default()
    };
    Ok((budget, content))
}

/// The file, and its length.
fn input() -> Result<(File, u64), Box<dyn Error>> {
    let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err("not a regular file".into());
    }
    Ok((file, metadata.len()))
}

/// Reads and validates all of the file, and keeps what it decodes to if that is wanted.
fn check(file: File, length: u64, mut content: Option<&mut Content>) -> Result<Facts, Refusal> {
    let options = Options::default();
    let archive =
        FileArchive::with_length(file, length, &options).map_err(|error| refusal(error.into()))?;
    let mut verifier = Verifier::new(length, options.limit());
    let mut objects = Vec::new();
    for object in archive.objects() {
        let mut facts = facts(&object);
        if let Some(content) = &mut content {
            facts.components.iter_mut().for_each(|component| component.place = Some((0, 0)));
            let keep = |component: &zten::Component<'_>, chunk: &[u8]| {
                let at = component.place().component().and_then(|at| usize::try_from(at).ok());
                let fact = at.and_then(|at| facts.components.get_mut(at));
                if let Some(place) = fact.and_then(|fact| fact.place.as_mut()) {
                    content.append(place, chunk);
                }
            };
            verifier.object(&object, &archive, keep).map_err(refusal)?;
        } else {
            verifier.object(&object, &archive, |_, _| ()).map_err(refusal)?;
        }
        objects.push(facts);
    }
    verifier.alone(&archive).map_err(|error| refusal(error.into()))?;
    if let Some(content) = content {
        content.seal().map_err(|error| failure(&error))?;
    }
    Ok(Facts { generation: archive.generation().as_str().to_owned(), objects })
}

fn facts(object: &Object<'_>) -> answer::Object {
    let component = |component: zten::Component<'_>| Component {
        role: component.role().to_owned(),
        dtype: component.element_type().name().to_owned(),
        stored: component.extent().length(),
        place: None,
    };
    answer::Object {
        name: object.name().to_owned(),
        format: object.format_name().to_owned(),
        shape: object.shape().collect(),
        components: object.components().map(component).collect(),
    }
}

fn refusal(error: ReadError<io::Error>) -> Refusal {
    match error {
        ReadError::Source(error) => failure(&error),
        ReadError::Refused(error) => Refusal {
            rule: error.id().map(str::to_owned),
            offset: error.offset(),
            message: error.to_string(),
        },
    }
}

fn failure(error: &io::Error) -> Refusal {
    Refusal { rule: None, offset: None, message: error.to_string() }
}

/// The answer, and the memory file with its first bytes. The filter knows the socket by its
/// number, which is that of standard output.
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

//! The command confines itself: files are opened first, and looked at when nothing else can be
//! reached any more.

mod budget;
#[cfg(target_os = "linux")]
mod trials;
#[cfg(not(target_os = "linux"))]
#[path = "sandbox/elsewhere.rs"]
mod trials;

use std::io;
use std::path::Path;

use zten_formats::BesideNames;
#[cfg(target_os = "linux")]
use zten_sandbox::{Budget, Report};
use zten_sandbox::{Role, confine};

use crate::app::App;
use crate::file::Opened;
use crate::mode::Mode;
use crate::objects::WORTH_IT;
use crate::report::Problem;
use crate::strictness::Strictness;
use crate::{progress, shards, threads};
pub(crate) use budget::{Later, Lengths, Task};
pub(crate) use trials::run;

/// Files, in the order in which they were asked for.
pub(crate) type Files<'a> = Box<dyn Iterator<Item = Result<Opened, Box<Problem>>> + 'a>;

/// What files are opened for, and how.
#[derive(Clone, Copy)]
pub(crate) struct Access<'s> {
    pub(crate) mode: Mode,
    pub(crate) task: Task,
    pub(crate) strictness: &'s Strictness,
}

/// Opens all files, then confines the process. None, and all is said, where that cannot be.
///
/// Where nothing is confined, each file is opened when its turn comes.
pub(crate) fn files<'a>(
    app: &mut App,
    paths: impl IntoIterator<Item = &'a Path> + 'a,
    access: Access<'_>,
) -> io::Result<Option<Files<'a>>> {
    let Access { mode, task, strictness } = access;
    let problem = |path: &Path, error| Box::new(Problem::io(path, &error));
    let most_beside = strictness.most_beside();
    if !mode.confines() {
        let files = paths.into_iter();
        let looks = task.reads_content() && strictness.looks_for_shards();
        let options = strictness.options();
        let open = move |path| {
            let mut opened =
                Opened::open(path, most_beside).map_err(|error| problem(path, error))?;
            beside(&mut opened, most_beside).map_err(|error| problem(path, error))?;
            if looks {
                shards::find_in_process(&mut opened, &options)
                    .map_err(|error| problem(path, error))?;
            }
            Ok(opened)
        };
        return Ok(Some(Box::new(files.map(open))));
    }
    let most = zten_sandbox::allow_many_files();
    // Confining takes a descriptor, which the files must not take away.
    let spare = io::pipe();
    let mut files = Vec::new();
    let mut lengths = Lengths { known: Vec::new(), later: Later::Nothing };
    for path in paths {
        let opened = Opened::open(path, most_beside).and_then(|mut opened| {
            beside(&mut opened, most_beside)?;
            // The headers of all of them are held at a time.
            let headers = opened.beside.iter().map(|file| file.length);
            lengths.known.extend(headers.reduce(u64::saturating_add));
            lengths.later = lengths.later.max(later(&opened, task, strictness));
            Ok(opened)
        });
        match &opened {
            Ok(opened) => lengths.known.push(opened.length),
            Err(error) if error.raw_os_error() == Some(TOO_MANY) => {
                let most = most.map_or_else(String::new, |most| format!(" ({most} descriptors)"));
                app.usage(format_args!(
                    "more files than the process may have open{most}: all are opened before the \
                     first is read. Name fewer, or --no-sandbox"
                ))?;
                return Ok(None);
            }
            Err(_) => {}
        }
        files.push(opened.map_err(|error| problem(path, error)));
    }
    // Listing a folder takes one, too.
    drop(spare);
    #[cfg(target_os = "linux")]
    if task.reads_content() && strictness.looks_for_shards() {
        match find_shards(app, &mut files, access)? {
            Some(found) => lengths.known.extend(found),
            None => return Ok(None),
        }
    }
    let spare = io::pipe();
    let worth_it = task.takes_threads() && lengths.known.iter().any(|length| *length >= WORTH_IT);
    let number = if worth_it { threads::wanted() } else { 1 };
    progress::ask();
    let budget = budget::for_task(task, &lengths, strictness, number);
    drop(spare);
    let report = confine(Role::Reads, &budget, || match number {
        0 | 1 => threads::none(),
        number => threads::start(number),
    });
    let files: Files<'a> = Box::new(files.into_iter());
    Ok(mode.accepts(app, &report)?.then_some(files))
}

/// Opens the files beside one that it may name, as its own name says; at most so many, and none if none are asked for.
fn beside(opened: &mut Opened, most: u32) -> io::Result<()> {
    if most > 0 { shards::open_beside(opened, most) } else { Ok(()) }
}

/// The files that will be found which one names, where that is read over the network.
pub(crate) fn later(opened: &Opened, task: Task, strictness: &Strictness) -> Later {
    if opened.file.is_local() || !strictness.looks_for_shards() {
        return Later::Nothing;
    }
    match BesideNames::of(&opened.path) {
        Some(_) => Later::Headers,
        None if task == Task::Look => Later::Nothing,
        None => Later::Shards,
    }
}

/// The same for one file. None where it cannot be opened, either; all is said then.
pub(crate) fn file(app: &mut App, path: &Path, access: Access<'_>) -> io::Result<Option<Opened>> {
    let file = files(app, [path], access)?;
    match file.and_then(|mut file| file.next()).transpose() {
        Ok(file) => Ok(file),
        Err(problem) => app.problem(&problem).map(|()| None),
    }
}

/// Looks for the shards of files that are open, and says how long they are. None where that cannot be;
/// all is said then.
#[cfg(target_os = "linux")]
pub(crate) fn find_shards(
    app: &mut App,
    files: &mut [Result<Opened, Box<Problem>>],
    access: Access<'_>,
) -> io::Result<Option<Vec<u64>>> {
    match shards::find(files, &access.strictness.options()) {
        Ok(found) => Ok(Some(found)),
        // Where no process can be started none is found, which is reported for each file.
        Err(error) if access.mode == Mode::Try && error.raw_os_error() != Some(TOO_MANY) => {
            Ok(Some(Vec::new()))
        }
        Err(error) => {
            app.usage(format_args!("looking for shards: {error}; --no-shards looks for none"))?;
            Ok(None)
        }
    }
}

/// Confines the process that converts, whose files are open. Whether it may begin; if not, all is
/// said.
#[cfg(target_os = "linux")]
pub(crate) fn converts(
    app: &mut App,
    mode: Mode,
    lengths: &Lengths,
    strictness: &Strictness,
) -> io::Result<bool> {
    progress::ask();
    let budget = budget::for_task(Task::Convert, lengths, strictness, 1);
    let report = confine(Role::Converts, &budget, threads::none);
    mode.accepts(app, &report)
}

/// What a process is for that checks the files that it is sent.
#[cfg(target_os = "linux")]
pub(crate) struct Share {
    pub(crate) task: Task,
    /// Bytes of the longest file.
    pub(crate) longest: u64,
    /// What these may name.
    pub(crate) later: Later,
    /// How many files it is sent, shards not counted.
    pub(crate) files: usize,
    /// How many threads work on a large one.
    pub(crate) threads: usize,
    /// How many files it has open at a time.
    pub(crate) descriptors: u64,
}

/// Confines a process that checks the files that it is sent: it may take as much as if it had opened
/// as many files of that length, and writes no file.
#[cfg(target_os = "linux")]
pub(crate) fn receives(share: &Share, strictness: &Strictness) -> Report {
    progress::ask();
    let lengths = Lengths { known: vec![share.longest; share.files], later: share.later };
    let budget = budget::for_task(share.task, &lengths, strictness, share.threads);
    let budget = Budget { file: Some(0), descriptors: share.descriptors, ..budget };
    confine(Role::Receives, &budget, || match share.threads {
        0 | 1 => threads::none(),
        number => threads::start(number),
    })
}

/// `EMFILE`.
const TOO_MANY: i32 = 24;

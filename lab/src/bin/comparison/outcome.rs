//! The outcome of one file with one reader.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Output;

use anyhow::{Context as _, Result, bail};
use zten_lab::readers::subject::{OVERRUN, PANIC};

/// The number on Linux of the signal with which a process aborts itself.
const SIGABRT: i32 = 6;
/// The number on Linux of the signal that ends a process which exceeds its limit of processor time.
const SIGXCPU: i32 = 24;

/// The beginning of the message of a Rust program that aborts because memory ran out.
const NO_MEMORY: &str = "memory allocation of ";
/// The exit status of a process that reports that memory ran out, as `read.py` does.
pub(crate) const OUT_OF_MEMORY: i32 = 99;

/// The kind of an outcome. If several calls had different outcomes, the worst one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    RejectedAtOpening,
    RejectedOnReading,
    /// Every call of the reader returned without an error.
    Accepted,
    /// A call returned content that the file does not have.
    Wrong,
    Panicked,
    Aborted,
    /// A byte beyond the end of an allocation was written.
    Overrun,
    OutOfMemory,
    OutOfTime,
}

impl Kind {
    /// The headings of the columns, from the best outcome to the worst.
    pub(crate) const COLUMNS: [&'static str; 6] =
        ["rejected", "accepted", "wrong bytes", "crashed", "out of memory", "timed out"];

    /// Returns the name for one file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RejectedAtOpening => "rejected at opening",
            Self::RejectedOnReading => "rejected on reading",
            Self::Panicked => "panicked",
            Self::Aborted => "aborted",
            Self::Overrun => "wrote past memory",
            other => other.column(),
        }
    }

    /// Returns the heading of the column in which the outcome is counted.
    pub(crate) fn column(self) -> &'static str {
        let [rejected, accepted, wrong, crashed, out_of_memory, timed_out] = Self::COLUMNS;
        match self {
            Self::RejectedAtOpening | Self::RejectedOnReading => rejected,
            Self::Accepted => accepted,
            Self::Wrong => wrong,
            Self::Panicked | Self::Aborted | Self::Overrun => crashed,
            Self::OutOfMemory => out_of_memory,
            Self::OutOfTime => timed_out,
        }
    }

    /// Returns whether the outcome is an error that the caller can handle.
    pub(crate) fn is_rejection(self) -> bool {
        matches!(self, Self::RejectedAtOpening | Self::RejectedOnReading)
    }
}

/// The outcome of one file with one reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) kind: Kind,
    /// The wrong bytes: the kind (`invented`, `outside`, `bool`, `content`), and a description.
    pub(crate) wrong: Vec<(String, String)>,
    /// The message of an error, a panic or an abort, on one line.
    pub(crate) message: String,
    /// The sum of each returned component, if the process ended normally.
    pub(crate) content: Option<String>,
}

impl Outcome {
    /// Determines the outcome from the output and the exit status of a process. Fails if the status or the output is not that of a
    /// reader.
    pub(crate) fn from_output(output: &Output) -> Result<Self> {
        let said = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        let words = error.lines().find(|line| !line.is_empty()).unwrap_or_default();
        let ended = |kind, message: &str| {
            let (wrong, content) = (Vec::new(), None);
            Ok(Self { kind, wrong, message: message.to_owned(), content })
        };
        match (output.status.code(), output.status.signal()) {
            (Some(0), _) => Self::reported(&said),
            (Some(101), _) => {
                let line = error.lines().find_map(|line| line.strip_prefix(PANIC));
                ended(Kind::Panicked, &line.context("a panic without a line")?.replace('\t', ": "))
            }
            (_, Some(SIGABRT)) if error.contains(OVERRUN) => ended(Kind::Overrun, OVERRUN),
            (Some(OUT_OF_MEMORY), _) => ended(Kind::OutOfMemory, words),
            (_, Some(SIGABRT)) if error.contains(NO_MEMORY) => ended(Kind::OutOfMemory, words),
            (_, Some(SIGXCPU)) => ended(Kind::OutOfTime, ""),
            (_, Some(SIGABRT)) => ended(Kind::Aborted, words),
            (_, Some(signal)) => ended(Kind::Aborted, &format!("signal {signal} {words}")),
            (code, _) => bail!("ended with {code:?}: {words}"),
        }
    }

    /// Returns a description of the wrong content, or the message if no content is wrong.
    pub(crate) fn description(&self) -> String {
        if self.wrong.is_empty() {
            return self.message.clone();
        }
        let wrong: Vec<String> =
            self.wrong.iter().map(|(kind, how)| format!("{kind}: {how}")).collect();
        wrong.join("; ")
    }

    fn reported(lines: &str) -> Result<Self> {
        let mut kind = Kind::Accepted;
        let mut outcome = Self { kind, wrong: Vec::new(), message: String::new(), content: None };
        for line in lines.lines() {
            let (key, value) = line.split_once('\t').context("a line without a key")?;
            match key {
                "opened" if value == "yes" => {}
                "opened" => (kind, outcome.message) = (Kind::RejectedAtOpening, value.to_owned()),
                "rejected" => (kind, outcome.message) = (Kind::RejectedOnReading, value.to_owned()),
                "content" => outcome.content = Some(value.to_owned()),
                wrong => outcome.wrong.push((wrong.to_owned(), value.to_owned())),
            }
        }
        outcome.kind = if outcome.wrong.is_empty() { kind } else { Kind::Wrong };
        outcome.content.is_some().then_some(outcome).context("a report without an end")
    }
}

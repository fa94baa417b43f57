//! What came of one file and one reader.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Output;

use anyhow::{Context as _, Result, bail};
use zten_readers::subject::{OVERRUN, PANIC};

/// The signals that are told apart, as Linux numbers them.
const SIGABRT: i32 = 6;
const SIGXCPU: i32 = 24;

/// What came of it: the worst, where several calls gave several things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    RefusedAtOpening,
    RefusedOnReading,
    /// Every call returned.
    Accepted,
    /// A call returned what the component does not hold.
    Wrong,
    Panicked,
    Aborted,
    OutOfTime,
    /// Memory past an allocation was written.
    Overrun,
}

impl Kind {
    /// All of them, from the best to the worst.
    pub(crate) const ALL: [Self; 8] = [
        Self::RefusedAtOpening,
        Self::RefusedOnReading,
        Self::Accepted,
        Self::Wrong,
        Self::Panicked,
        Self::Aborted,
        Self::OutOfTime,
        Self::Overrun,
    ];

    /// The head of a column.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RefusedAtOpening => "refused at opening",
            Self::RefusedOnReading => "refused on reading",
            Self::Accepted => "accepted",
            Self::Wrong => "wrong data",
            Self::Panicked => "panicked",
            Self::Aborted => "aborted",
            Self::OutOfTime => "out of time",
            Self::Overrun => "wrote past memory",
        }
    }

    /// Whether it is an error that the caller can handle.
    pub(crate) fn is_refusal(self) -> bool {
        matches!(self, Self::RefusedAtOpening | Self::RefusedOnReading)
    }
}

/// What came of one file and one reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) kind: Kind,
    /// What was wrong: `invented`, `outside`, `bool`, and how.
    pub(crate) wrong: Vec<(String, String)>,
    /// The words of an error, a panic or an abort, in one line.
    pub(crate) message: String,
    /// One sum over all that was returned, where the process ended well.
    pub(crate) content: Option<String>,
}

impl Outcome {
    /// What the end of a process says.
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
            (_, Some(SIGXCPU)) => ended(Kind::OutOfTime, ""),
            (_, Some(SIGABRT)) => ended(Kind::Aborted, words),
            (_, Some(signal)) => ended(Kind::Aborted, &format!("signal {signal} {words}")),
            (code, _) => bail!("ended with {code:?}: {words}"),
        }
    }

    /// What was wrong, or else the message.
    pub(crate) fn words(&self) -> String {
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
                "opened" => (kind, outcome.message) = (Kind::RefusedAtOpening, value.to_owned()),
                "refused" => (kind, outcome.message) = (Kind::RefusedOnReading, value.to_owned()),
                "content" => outcome.content = Some(value.to_owned()),
                wrong => outcome.wrong.push((wrong.to_owned(), value.to_owned())),
            }
        }
        outcome.kind = if outcome.wrong.is_empty() { kind } else { Kind::Wrong };
        outcome.content.is_some().then_some(outcome).context("a report without an end")
    }
}

//! The readers that are compared, and what each does in a process of its own.

mod demo;
mod zten;

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use zten_readers::subject::run;
use zten_readers::{safetensors, ztensor, ztensor_2};

/// A reader, in one of the ways in which it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    Zten,
    Ztensor123Stream,
    Ztensor123Mapped,
    Ztensor111Stream,
    Ztensor111Mapped,
    Ztensor211Stream,
    Ztensor211Mapped,
    Safetensors,
    /// Does what its options say, so that tests see every outcome.
    Demo,
}

impl Subject {
    /// Those that read generations 0.1 and 1.x, ours last.
    pub(crate) const UP_TO_1: [Self; 5] = [
        Self::Ztensor123Stream,
        Self::Ztensor123Mapped,
        Self::Ztensor111Stream,
        Self::Ztensor111Mapped,
        Self::Zten,
    ];

    /// Those that read generation 2, ours last.
    pub(crate) const OF_2: [Self; 3] = [Self::Ztensor211Stream, Self::Ztensor211Mapped, Self::Zten];

    /// What it is called.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Zten => "zten",
            Self::Ztensor123Stream => "ztensor 1.2.3",
            Self::Ztensor123Mapped => "ztensor 1.2.3, mapped",
            Self::Ztensor111Stream => "ztensor 1.1.1",
            Self::Ztensor111Mapped => "ztensor 1.1.1, mapped",
            Self::Ztensor211Stream => "ztensor 2.1.1",
            Self::Ztensor211Mapped => "ztensor 2.1.1, mapped",
            Self::Safetensors => "safetensors 0.8.0",
            Self::Demo => "demo",
        }
    }

    /// What it is called on the command line.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Zten => "zten",
            Self::Ztensor123Stream => "ztensor-1.2.3",
            Self::Ztensor123Mapped => "ztensor-1.2.3-mapped",
            Self::Ztensor111Stream => "ztensor-1.1.1",
            Self::Ztensor111Mapped => "ztensor-1.1.1-mapped",
            Self::Ztensor211Stream => "ztensor-2.1.1",
            Self::Ztensor211Mapped => "ztensor-2.1.1-mapped",
            Self::Safetensors => "safetensors",
            Self::Demo => "demo",
        }
    }

    /// The one that is called so.
    pub(crate) fn find(key: &str) -> Result<Self> {
        let zten = Self::UP_TO_1.into_iter().chain(Self::OF_2);
        let mut all = zten.chain([Self::Safetensors, Self::Demo]);
        all.find(|one| one.key() == key).with_context(|| format!("no reader {key:?}"))
    }

    /// Whether it is of 1.1, and knows nothing of what came later.
    pub(crate) fn is_1_1(self) -> bool {
        matches!(self, Self::Ztensor111Stream | Self::Ztensor111Mapped)
    }

    /// Whether it is of 2.1, and leaves the layouts to the caller that it does not know.
    pub(crate) fn is_2_1(self) -> bool {
        matches!(self, Self::Ztensor211Stream | Self::Ztensor211Mapped)
    }
}

/// Reads one file by one reader, and prints what came of it. `options` are those of the corpus, and
/// for `zten` alone.
pub(crate) fn work(subject: &str, file: &Path, options: &str) -> Result<()> {
    match Subject::find(subject)? {
        Subject::Zten => run(file, |file, report| zten::read(file, options, report)),
        Subject::Ztensor123Stream => run(file, ztensor::stream),
        Subject::Ztensor123Mapped => run(file, ztensor::mapped),
        Subject::Ztensor211Stream => run(file, ztensor_2::stream),
        Subject::Ztensor211Mapped => run(file, ztensor_2::mapped),
        Subject::Safetensors => run(file, safetensors::read),
        Subject::Demo => run(file, |_, report| demo::read(options, report)),
        Subject::Ztensor111Stream | Subject::Ztensor111Mapped => {
            bail!("it has a program of its own")
        }
    }
    Ok(())
}

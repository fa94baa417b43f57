//! What is wrong with a file, for people and for programs.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use zten::source::OpenError;
use zten::{Component, Error, Manifest, ReadError, error::Place};
use zten_present::finding::Finding;

use crate::escape;
use crate::json::Json;
use crate::status::Status;

pub(crate) use zten_present::finding::Verdict;

/// What is wrong with a file, where, and what to do.
#[derive(Debug)]
pub(crate) struct Problem {
    file: PathBuf,
    finding: Finding,
    more: u64,
}

impl Problem {
    /// The system would not let the file be read.
    pub(crate) fn io(file: &Path, error: &io::Error) -> Self {
        Self::found(file, Finding::io(error))
    }

    /// The process that read the file has ended in no way that it is meant to.
    #[cfg(target_os = "linux")]
    pub(crate) fn ended(file: &Path, how: &str) -> Self {
        let sentence = format!("the confined process that read it has ended: {how}");
        Self::new(file, Verdict::Error, sentence)
    }

    fn new(file: &Path, verdict: Verdict, sentence: String) -> Self {
        Self::found(file, Finding::new(verdict, sentence))
    }

    fn found(file: &Path, finding: Finding) -> Self {
        Self { file: file.to_owned(), finding, more: 0 }
    }

    /// A file that was not opened.
    pub(crate) fn opening(path: &Path, error: &OpenError) -> Self {
        match error {
            OpenError::Source(error) => Self::io(path, error),
            OpenError::Refused(error) => Self::found(path, Finding::unnamed(error, None)),
            OpenError::Manifest(refused) => Self::found(path, Finding::opening(refused)),
        }
    }

    /// A file that was opened, and whose content is not valid.
    pub(crate) fn reading(
        file: &Path,
        manifest: &Manifest<impl AsRef<[u8]>>,
        error: &ReadError<io::Error>,
    ) -> Self {
        match error {
            ReadError::Source(error) => Self::io(file, error),
            ReadError::Refused(error) => Self::found(file, Finding::reading(manifest, error)),
        }
    }

    /// A file of another format that cannot be converted.
    pub(crate) fn foreign(file: &Path, verdict: Verdict, sentence: &impl fmt::Display) -> Self {
        Self::new(file, verdict, sentence.to_string())
    }

    /// A file of another format that holds what cannot be written, in that tensor.
    pub(crate) fn unwritable(file: &Path, tensor: Option<&str>, error: &Error) -> Self {
        let mut finding = Finding::unnamed(error, None);
        finding.place = Place::default();
        finding.object = tensor.map(str::to_owned);
        Self::found(file, finding)
    }

    /// A file that can be read, and holds what the file to write has no place for: neither breaks
    /// a rule.
    pub(crate) fn inexpressible(file: &Path, sentence: &impl fmt::Display) -> Self {
        Self::new(file, Verdict::Error, sentence.to_string())
    }

    /// The same, in an object that is known by its name alone.
    pub(crate) fn in_object(mut self, name: Option<String>) -> Self {
        self.finding.object = name;
        self
    }

    /// A component that uses a feature of the catalogue which this reader does not support, as the
    /// command itself finds.
    pub(crate) fn unsupported(
        file: &Path,
        manifest: &Manifest<impl AsRef<[u8]>>,
        component: &Component<'_>,
        id: &str,
    ) -> Self {
        let row = zten::rules::find(id);
        let sentence = row.map_or(id, |row| row.broken).to_owned();
        let mut finding = Finding::new(Verdict::Unsupported, sentence);
        finding.row = row;
        finding.offset = Some(component.extent().offset());
        Self::found(file, finding.named(manifest, component.place()))
    }

    /// The same, in that place.
    pub(crate) fn named(mut self, manifest: &Manifest<impl AsRef<[u8]>>, place: Place) -> Self {
        self.finding = self.finding.named(manifest, place);
        self
    }

    /// Says that as many others are not supported either.
    pub(crate) fn and_more(&mut self, more: u64) {
        self.more = more;
    }

    /// What has been found.
    pub(crate) fn finding(&self) -> &Finding {
        &self.finding
    }

    /// The same without the names in the file, which may be of any length; the numbers stay.
    #[cfg(target_os = "linux")]
    pub(crate) fn without_names(mut self) -> Self {
        self.finding.object = None;
        self.finding.component = None;
        self
    }

    /// What it makes of the exit status.
    pub(crate) fn status(&self) -> Status {
        status(self.finding.verdict)
    }

    /// One line of JSON.
    pub(crate) fn json(&self, out: &mut impl Write) -> io::Result<()> {
        let finding = &self.finding;
        let mut json = Json::document(out)?;
        json.key("file")?;
        json.string(&self.file.to_string_lossy())?;
        json.key("verdict")?;
        json.string(finding.verdict.as_str())?;
        json.key("rule")?;
        json.string_or_null(finding.row.map(|row| row.id))?;
        json.key("clause")?;
        json.string_or_null(finding.clause().as_deref())?;
        json.key("offset")?;
        json.integer_or_null(finding.offset)?;
        json.key("object")?;
        json.string_or_null(finding.object.as_deref())?;
        json.key("component")?;
        json.string_or_null(finding.component.as_deref())?;
        json.key("shard")?;
        json.string_or_null(finding.shard.as_deref())?;
        json.key("message")?;
        json.display(finding)?;
        json.close('}')?;
        json.line()
    }
}

/// What a verdict makes of the exit status.
pub(crate) fn status(verdict: Verdict) -> Status {
    match verdict {
        Verdict::Valid | Verdict::ManifestValid => Status::Success,
        Verdict::Refused | Verdict::Unsupported | Verdict::Limit => Status::Refused,
        Verdict::Error => Status::Trouble,
    }
}

/// The line of JSON for a file that nothing is wrong with.
pub(crate) fn valid_json(
    out: &mut impl Write,
    file: &Path,
    verdict: Verdict,
    message: &str,
) -> io::Result<()> {
    let mut json = Json::document(out)?;
    json.key("file")?;
    json.string(&file.to_string_lossy())?;
    json.key("verdict")?;
    json.string(verdict.as_str())?;
    for absent in ["rule", "clause", "offset", "object", "component", "shard"] {
        json.key(absent)?;
        json.null()?;
    }
    json.key("message")?;
    json.string(message)?;
    json.close('}')?;
    json.line()
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", escape::path(&self.file), self.finding)?;
        if let Some(row) = self.finding.row {
            write!(f, "\n  {}", row.advice)?;
        }
        match self.more {
            0 => Ok(()),
            1 => write!(f, "\n  1 more object is not supported."),
            more => write!(f, "\n  {more} more objects are not supported."),
        }
    }
}

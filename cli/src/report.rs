//! What is wrong with a file, for people and for programs.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use zten::rules::Row;
use zten::source::OpenError;
use zten::{Component, Error, ErrorKind, Generation, Manifest, ReadError, error::Place};

use crate::clause::clause_of;
use crate::escape;
use crate::json::Json;
use crate::status::Status;

/// What has been found of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It keeps every rule.
    Valid,
    /// Its manifest keeps every rule; its data was not looked at.
    ManifestValid,
    /// It breaks a rule.
    Refused,
    /// It may be valid, and cannot be read.
    Unsupported,
    /// It goes beyond a limit.
    Limit,
    /// It could not be validated.
    Error,
}

impl Verdict {
    /// As JSON gives it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::ManifestValid => "manifest-valid",
            Self::Refused => "refused",
            Self::Unsupported => "unsupported",
            Self::Limit => "limit",
            Self::Error => "error",
        }
    }
}

/// What is wrong with a file, where, and what to do.
#[derive(Debug)]
pub(crate) struct Problem {
    file: PathBuf,
    verdict: Verdict,
    sentence: String,
    row: Option<&'static Row>,
    generation: Option<Generation>,
    place: Place,
    object: Option<String>,
    component: Option<String>,
    shard: Option<String>,
    offset: Option<u64>,
    manifest_offset: Option<u64>,
    more: u64,
}

impl Problem {
    /// The system would not let the file be read.
    pub(crate) fn io(file: &Path, error: &io::Error) -> Self {
        let sentence = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the file became shorter while it was read".to_owned(),
            _ => error.to_string(),
        };
        Self::new(file, Verdict::Error, sentence)
    }

    /// The process that read the file has ended in no way that it is meant to.
    #[cfg(target_os = "linux")]
    pub(crate) fn ended(file: &Path, how: &str) -> Self {
        let sentence = format!("the confined process that read it has ended: {how}");
        Self::new(file, Verdict::Error, sentence)
    }

    fn new(file: &Path, verdict: Verdict, sentence: String) -> Self {
        Self {
            file: file.to_owned(),
            verdict,
            sentence,
            row: None,
            generation: None,
            place: Place::default(),
            object: None,
            component: None,
            shard: None,
            offset: None,
            manifest_offset: None,
            more: 0,
        }
    }

    /// A file that was not opened.
    pub(crate) fn opening(path: &Path, error: &OpenError) -> Self {
        match error {
            OpenError::Source(error) => Self::io(path, error),
            OpenError::Refused(error) => Self::refused(path, error, None),
            OpenError::Manifest(refused) => {
                let named = refused.named();
                let mut problem = Self::refused(path, &refused.error(), Some(&refused.extent()));
                problem.generation = named.generation;
                problem.object = named.object.map(str::to_owned);
                problem.component = named.component.map(str::to_owned);
                problem
            }
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
            ReadError::Refused(error) => {
                let problem = Self::refused(file, error, Some(&manifest.extent()));
                problem.named(manifest, error.place())
            }
        }
    }

    /// A file of another format that cannot be converted.
    pub(crate) fn foreign(file: &Path, verdict: Verdict, sentence: &impl fmt::Display) -> Self {
        Self::new(file, verdict, sentence.to_string())
    }

    /// A file of another format that holds what cannot be written, in that tensor.
    pub(crate) fn unwritable(file: &Path, tensor: Option<&str>, error: &Error) -> Self {
        let mut problem = Self::refused(file, error, None);
        problem.place = Place::default();
        problem.object = tensor.map(str::to_owned);
        problem
    }

    /// A file that can be read, and holds what the file to write has no place for: neither breaks
    /// a rule.
    pub(crate) fn inexpressible(file: &Path, sentence: &impl fmt::Display) -> Self {
        Self::new(file, Verdict::Error, sentence.to_string())
    }

    /// The same, in an object that is known by its name alone.
    pub(crate) fn in_object(mut self, name: Option<String>) -> Self {
        self.object = name;
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
        let mut problem = Self::new(file, Verdict::Unsupported, sentence);
        problem.row = row;
        problem.offset = Some(component.extent().offset());
        problem.named(manifest, component.place())
    }

    fn refused(file: &Path, error: &Error, manifest: Option<&Range<u64>>) -> Self {
        let verdict = match error.kind() {
            ErrorKind::Malformed(_) => Verdict::Refused,
            ErrorKind::Unsupported(_) => Verdict::Unsupported,
            ErrorKind::Limit(_) => Verdict::Limit,
            _ => Verdict::Error,
        };
        let mut problem = Self::new(file, verdict, error.sentence().to_string());
        problem.row = error.kind().row();
        problem.place = error.place();
        problem.offset = error.offset();
        problem.manifest_offset = error.offset().zip(manifest).and_then(|(offset, manifest)| {
            // The end of the manifest is where an item that is cut off would go on.
            let within = manifest.contains(&offset) || manifest.end == offset;
            within.then(|| offset.saturating_sub(manifest.start))
        });
        problem
    }

    /// The same, in that place.
    pub(crate) fn named(mut self, manifest: &Manifest<impl AsRef<[u8]>>, place: Place) -> Self {
        let object = place.object().and_then(|ordinal| manifest.object(ordinal));
        self.generation = Some(manifest.generation());
        self.place = place;
        let component = object
            .zip(place.component())
            .and_then(|(object, ordinal)| object.components().nth(usize::try_from(ordinal).ok()?));
        self.component = component.map(|component| component.role().to_owned());
        match component {
            Some(component) => {
                self.shard = component.shard().map(str::to_owned);
                if self.shard.is_some() {
                    // What is at that byte is in the shard.
                    self.manifest_offset = None;
                }
            }
            None => self.shard = shard_at(manifest, self.offset),
        }
        self.object = object.map(|object| object.name().to_owned());
        self
    }

    /// Says that as many others are not supported either.
    pub(crate) fn and_more(&mut self, more: u64) {
        self.more = more;
    }

    /// What it makes of the exit status.
    pub(crate) fn status(&self) -> Status {
        match self.verdict {
            Verdict::Valid | Verdict::ManifestValid => Status::Success,
            Verdict::Refused | Verdict::Unsupported | Verdict::Limit => Status::Refused,
            Verdict::Error => Status::Trouble,
        }
    }

    /// The clause, for the file's generation where that is known.
    fn clause(&self) -> Option<String> {
        let clause = self.row?.source.clause();
        Some(self.generation.map_or_else(|| clause.to_owned(), |own| clause_of(clause, own)))
    }

    /// Where it is, with a space before it; nothing where it is the whole file.
    fn place(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.object, self.place.object()) {
            (Some(name), _) => write!(f, " in {}", escape::quoted(name))?,
            (None, Some(ordinal)) => write!(f, " in object {ordinal}")?,
            (None, None) => {}
        }
        if let Some(ordinal) = self.place.component() {
            match &self.component {
                Some(role) => write!(f, "/{}", escape::role(role))?,
                None => write!(f, ", component {ordinal}")?,
            }
        }
        if let Some(shard) = &self.shard {
            write!(f, " in the shard {}", escape::quoted(shard))?;
        }
        if let Some(offset) = self.offset {
            write!(f, " at byte {offset:#x}")?;
        }
        if let Some(offset) = self.manifest_offset {
            write!(f, ", manifest byte {offset:#x}")?;
        }
        Ok(())
    }

    /// One line of JSON.
    pub(crate) fn json(&self, out: &mut impl Write) -> io::Result<()> {
        let mut json = Json::document(out)?;
        json.key("file")?;
        json.string(&self.file.to_string_lossy())?;
        json.key("verdict")?;
        json.string(self.verdict.as_str())?;
        json.key("rule")?;
        json.string_or_null(self.row.map(|row| row.id))?;
        json.key("clause")?;
        json.string_or_null(self.clause().as_deref())?;
        json.key("offset")?;
        json.integer_or_null(self.offset)?;
        json.key("object")?;
        json.string_or_null(self.object.as_deref())?;
        json.key("component")?;
        json.string_or_null(self.component.as_deref())?;
        json.key("shard")?;
        json.string_or_null(self.shard.as_deref())?;
        json.key("message")?;
        json.display(&Message(self))?;
        json.close('}')?;
        json.line()
    }
}

/// The name of the shard that an error is about as a whole, which is where its name stands.
fn shard_at(manifest: &Manifest<impl AsRef<[u8]>>, offset: Option<u64>) -> Option<String> {
    let shard = manifest.shards().find(|shard| Some(shard.offset()) == offset)?;
    Some(shard.name().to_owned())
}

/// The line of JSON for a file that nothing is wrong with.
pub(crate) fn good_json(
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

/// The message without the file.
struct Message<'p>(&'p Problem);

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.sentence)?;
        if let Some((row, clause)) = self.0.row.zip(self.0.clause()) {
            write!(f, " (rule {}, {clause})", row.id)?;
        }
        self.0.place(f)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", escape::path(&self.file), Message(self))?;
        if let Some(row) = self.row {
            write!(f, "\n  {}", row.advice)?;
        }
        match self.more {
            0 => Ok(()),
            1 => write!(f, "\n  1 more object is not supported."),
            more => write!(f, "\n  {more} more objects are not supported."),
        }
    }
}

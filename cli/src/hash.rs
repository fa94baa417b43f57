//! `zten hash`: what the components of a file hold, whatever the byte order or encoding.

use std::io::{self, Write as _};
use std::path::Path;

use zten::verify::{DigestAlgorithm, NoContentDigest};
use zten::{Object, error::Place};

use crate::app::App;
use crate::args::{ContentAlgorithm, Hash};
use crate::escape::Name;
use crate::file::TensorFile;
use crate::json::Json;
use crate::mode::Mode;
use crate::report::Problem;
use crate::sandbox::{self, Access, Task};
use crate::sums::{Of, Sums, sorted, sums};

/// Hashes all components, and prints nothing before all have been verified.
pub(crate) fn run(app: &mut App, args: &Hash, mode: Mode) -> io::Result<()> {
    let options = args.strictness.options();
    let access = Access { mode, task: Task::Decode, strictness: &args.strictness };
    let Some(file) = sandbox::file(app, &args.file, access)? else {
        return Ok(());
    };
    let archive = match file.archive(&options) {
        Ok(archive) => archive,
        Err(problem) => return app.problem(&problem),
    };
    let sums = match sums(&args.file, &archive, options.limit(), Of::Bytes) {
        Ok(sums) => sums,
        Err(problem) => return app.problem(&problem),
    };
    let order = sorted(&archive);
    let content = match args.content.map(|algorithm| content(&archive, algorithm)).transpose() {
        Ok(content) => content,
        Err(problem) => return app.problem(&problem.into_problem(&args.file, &archive)),
    };
    if args.json {
        document(app, &order, &sums, content.as_deref())?;
    } else if let Some(content) = &content {
        writeln!(app.out, "{content}")?;
    } else {
        lines(app, &order, &sums)?;
    }
    match &sums.unread {
        Some(problem) => app.problem(problem),
        None => Ok(()),
    }
}

/// Why there is no content digest.
struct NoContent {
    sentence: String,
    place: Place,
}

impl NoContent {
    fn into_problem(self, file: &Path, archive: &TensorFile) -> Problem {
        Problem::inexpressible(file, &self.sentence).named(archive, self.place)
    }
}

/// The content digest of a file, all of which has been verified.
fn content(archive: &TensorFile, algorithm: ContentAlgorithm) -> Result<String, NoContent> {
    let algorithm = match algorithm {
        ContentAlgorithm::Xxh3 => DigestAlgorithm::Xxh3,
        ContentAlgorithm::Sha256 => DigestAlgorithm::Sha256,
    };
    let digest = archive.content_digest(algorithm).map_err(|error| NoContent {
        sentence: error.to_string(),
        place: match error {
            NoContentDigest::Undigested(place) => place,
            _ => Place::default(),
        },
    })?;
    Ok(digest.to_string())
}

fn hex(sum: [u8; 32]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or_default();
    sum.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// One line a component: sum, bytes, name and role.
fn lines(app: &mut App, order: &[Object<'_>], sums: &Sums) -> io::Result<()> {
    for object in order {
        for (component, sum) in sums.components(object) {
            let unknown = || "-".to_owned();
            let hash = sum.sha256.map_or_else(unknown, hex);
            let bytes = sum.bytes.map_or_else(unknown, |bytes| bytes.to_string());
            // No slash is in either but between quotes.
            let (name, role) = (Name(object.name()), Name(component.role()));
            writeln!(app.out, "{hash}  {bytes}  {name}/{role}")?;
        }
    }
    Ok(())
}

/// One JSON document.
fn document(
    app: &mut App,
    order: &[Object<'_>],
    sums: &Sums,
    content: Option<&str>,
) -> io::Result<()> {
    let mut json = Json::document(&mut app.out)?;
    json.key("content")?;
    json.string_or_null(content)?;
    json.key("objects")?;
    json.open('[')?;
    for object in order {
        json.open('{')?;
        json.key("name")?;
        json.string(object.name())?;
        json.key("components")?;
        json.open('[')?;
        for (component, sum) in sums.components(object) {
            json.open('{')?;
            json.key("role")?;
            json.string(component.role())?;
            json.key("bytes")?;
            json.integer_or_null(sum.bytes)?;
            json.key("sha256")?;
            json.string_or_null(sum.sha256.map(hex).as_deref())?;
            json.close('}')?;
        }
        json.close(']')?;
        json.close('}')?;
    }
    json.close(']')?;
    json.close('}')?;
    json.line()
}

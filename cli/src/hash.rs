//! `zten hash`: what the components of a file hold, whatever the byte order or encoding.

use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;
use zten::Tensor;
use zten::tools::{DigestAlgorithm, NoContentDigest};

use crate::app::App;
use crate::args::{ContentAlgorithm, Hash};
use crate::escape::Name;
use crate::file::{Opened, TensorFile};
use crate::json::{self, Integer, List, Schema};
use crate::report::Problem;
use crate::sums::{Of, Sums, sorted, sums};

/// Hashes all components, and prints nothing before all have been verified.
pub(crate) fn run(
    app: &mut App,
    args: &Hash,
    file: Result<Opened, Box<Problem>>,
) -> io::Result<()> {
    let opened = file.and_then(|file| {
        let path = file.path.clone();
        Ok((path, file.archive(&args.strictness.options())?))
    });
    let (path, archive) = match opened {
        Ok(opened) => opened,
        Err(problem) => return app.problem(&problem),
    };
    let sums = match sums(&path, &archive, Of::Bytes) {
        Ok(sums) => sums,
        Err(problem) => return app.problem(&problem),
    };
    let order = sorted(&archive);
    let content = match (args.content, &sums.unread) {
        (None, _) => None,
        // Its digest covers all parts, and some were not verified.
        (Some(_), Some(problem)) => return app.problem(problem),
        (Some(algorithm), None) => match content(&archive, algorithm) {
            Ok(content) => Some(content),
            Err(error) => return app.problem(&no_content(&path, &archive, &error)),
        },
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

/// Describes why there is no content digest, and what to do about a part that keeps it from being.
fn no_content(file: &Path, archive: &TensorFile, error: &NoContentDigest) -> Problem {
    let advice = match error {
        NoContentDigest::Undigested(_) | NoContentDigest::WeakPart(_) => {
            "; `zten convert --to 2 --digest sha256` writes a file that has one"
        }
        _ => "",
    };
    Problem::inexpressible(file, &format!("{error}{advice}")).named(archive, error.place())
}

/// Computes the content digest of a file, all of which has been verified.
fn content(archive: &TensorFile, algorithm: ContentAlgorithm) -> Result<String, NoContentDigest> {
    let algorithm = match algorithm {
        ContentAlgorithm::Xxh3 => DigestAlgorithm::Xxh3,
        ContentAlgorithm::Sha256 => DigestAlgorithm::Sha256,
    };
    Ok(archive.manifest().content_digest(algorithm)?.to_string())
}

fn hex(sum: [u8; 32]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or_default();
    sum.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// One line a component: sum, bytes, name and role.
fn lines(app: &mut App, order: &[Tensor<'_>], sums: &Sums) -> io::Result<()> {
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
    order: &[Tensor<'_>],
    sums: &Sums,
    content: Option<&str>,
) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a, L: Serialize> {
        schema: Schema,
        content: Option<&'a str>,
        objects: L,
    }
    #[derive(Serialize)]
    struct Object<'a, L: Serialize> {
        name: &'a str,
        components: L,
    }
    #[derive(Serialize)]
    struct Component<'a> {
        role: &'a str,
        bytes: Option<Integer>,
        sha256: Option<String>,
    }
    let objects = List(|| {
        order.iter().map(|object| Object {
            name: object.name(),
            components: List(|| {
                sums.components(object).into_iter().map(|(component, sum)| Component {
                    role: component.role(),
                    bytes: sum.bytes.map(Integer),
                    sha256: sum.sha256.map(hex),
                })
            }),
        })
    });
    json::to_line(&mut app.out, &Document { schema: Schema, content, objects })
}

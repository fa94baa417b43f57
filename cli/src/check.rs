//! `zten check`: whether files are good.

use std::io::{self, Write as _};
use std::path::Path;

use zten::source::FileArchive;
use zten::{ErrorKind, ReadError, Verifier};

use crate::app::App;
use crate::args::Check;
use crate::escape;
use crate::file::{counted, open, stored};
use crate::progress::Watched;
use crate::report::{Problem, Verdict, good_json};

/// Checks all the files.
pub(crate) fn run(app: &mut App, args: &Check) -> io::Result<()> {
    for path in &args.files {
        match judge(path, args) {
            Ok((verdict, summary)) if args.json => {
                good_json(&mut app.out, path, verdict, &summary)?;
            }
            Ok((_, summary)) => writeln!(app.out, "{}: {summary}", escape::path(path))?,
            Err(problem) if args.json => {
                app.worsen(problem.status());
                problem.json(&mut app.out)?;
            }
            Err(problem) => app.problem(&problem)?,
        }
        // What is known of one file is not held back by the work on the next.
        app.out.flush()?;
    }
    Ok(())
}

/// What is good about a file, or what is wrong with it.
fn judge(path: &Path, args: &Check) -> Result<(Verdict, String), Box<Problem>> {
    let options = args.strictness.options();
    let archive = open(path, &options)?;
    let components = archive.objects().fold(0_u64, |sum, object| {
        sum.saturating_add(u64::try_from(object.components().len()).unwrap_or(u64::MAX))
    });
    let contents = format!(
        "{}, {}, {}",
        archive.generation().as_str(),
        counted(archive.len().into(), "object"),
        counted(components, "component"),
    );
    if args.manifest_only {
        return Ok((Verdict::ManifestGood, format!("manifest good ({contents})")));
    }
    let bytes = stored(&archive);
    let mut verifier = Verifier::new(archive.file_len(), options.limit());
    read(path, &archive, &mut verifier)?;
    Ok((Verdict::Good, format!("good ({contents}, {} of data)", counted(bytes, "byte"))))
}

/// Reads all content. What is not supported does not keep the rest from being judged: a broken
/// rule further on says more about the file.
fn read(path: &Path, archive: &FileArchive, verifier: &mut Verifier) -> Result<(), Box<Problem>> {
    let source = Watched::new(archive, stored(archive));
    let mut unsupported: Option<Box<Problem>> = None;
    let mut more = 0_u64;
    for object in archive.objects() {
        let Err(error) = verifier.object(&object, &source, |_, _| ()) else {
            continue;
        };
        let problem = || Box::new(Problem::reading(path, archive, &error));
        match &error {
            ReadError::Refused(refused) if matches!(refused.kind(), ErrorKind::Unsupported(_)) => {
                if unsupported.is_some() {
                    more = more.saturating_add(1);
                } else {
                    unsupported = Some(problem());
                }
            }
            _ => return Err(problem()),
        }
    }
    match unsupported {
        Some(mut problem) => {
            problem.and_more(more);
            Err(problem)
        }
        None => Ok(()),
    }
}

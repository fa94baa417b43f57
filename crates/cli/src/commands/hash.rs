//! `zten hash`: prints a list with the digest of each decoded component of a file, compares files with a list that was printed
//! before (`--check`), or prints the identity of a file's tensors (`--id`) or its content digest (`--content`).

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::Serialize;
use zten::verify::{DigestAlgorithm, NoContentDigest};
use zten::{ReadAt as _, Tensor};
use zten_report::digests::{self, Difference, DigestLine, DigestLists, Digests};
use zten_report::glob::Glob;
use zten_report::sums::{entries, identity};

use crate::args::{ContentAlgorithm, Hash};
use crate::escape::{self, Name};
use crate::input::file::{FileWithShards, Opened, TensorFile};
use crate::input::selection::{Selection, is_selected};
use crate::input::sums::{Of, Sums, sorted, sums};
use crate::json::{Integer, List, Schema, to_line};
use crate::link::status::Status;
use crate::output::app::App;
use crate::output::report::Problem;
use crate::source::remote;

/// Hashes all components of a file, or with `--only` those of the selected tensors, and prints the list when all have been
/// verified, or what `--id` or `--content` asks for. If there is a `second` file, `first` is a list of digests, and the second file
/// is compared with the list.
pub(crate) fn run(
    app: &mut App,
    args: &Hash,
    first: Result<Opened, Box<Problem>>,
    second: Option<Result<Opened, Box<Problem>>>,
) -> io::Result<()> {
    let options = args.strictness.options();
    let opened = || -> Result<_, Box<Problem>> {
        let (list, file) = match second {
            Some(file) => {
                let file = file?;
                let list = read_list(&first?, &file.path, options.limit().manifest())?;
                (Some(list), file)
            }
            None => (None, first?),
        };
        Ok((list, file.archive(&options)?))
    };
    let (list, archive) = match opened() {
        Ok(opened) => opened,
        Err(problem) => return app.problem(&problem),
    };
    // A pattern that matches nothing is an error.
    if let Err(message) = Selection::new(&archive, &args.only, None) {
        return app.usage(message);
    }
    let globs: Vec<_> = args.only.iter().map(|pattern| Glob::new(pattern)).collect();
    let sums = match sums(&archive, Of::Bytes, &|object| is_selected(&globs, object)) {
        Ok(sums) => sums,
        Err(problem) => return app.problem(&problem),
    };
    let mut order = sorted(&archive);
    order.retain(|object| is_selected(&globs, object));
    let hashed = Hashed { archive: &archive, sums: &sums, order };
    match &list {
        Some(list) => hashed.check(app, args, list),
        None => hashed.print(app, args),
    }
}

/// The list of digests of this run of the command, which is the same for all files. It is read and divided into its parts once,
/// for the first file: dividing it again for each file would take time that grows with the square of the number of files.
static LIST: OnceLock<DigestLists> = OnceLock::new();

/// Returns the expected digests of the file at the path `of`. The first call reads the list of digests from `file`; later calls
/// use the same list.
///
/// # Errors
/// The list has more than `most` bytes, cannot be read, or has no digests for the path.
fn read_list(file: &Opened, of: &Path, most: u64) -> Result<Digests, Box<Problem>> {
    let unusable = |sentence: String| Box::new(Problem::inexpressible(&file.path, &sentence));
    let lists = if let Some(lists) = LIST.get() {
        lists
    } else {
        if file.length > most {
            let length = file.length;
            return Err(unusable(format!(
                "the list of digests of {length} bytes exceeds the limit manifest of {most} bytes"
            )));
        }
        let mut text = Vec::new();
        let read = file.file.append_range(0..file.length, &mut text);
        read.map_err(|error| Box::new(Problem::opening(&file.path, &error)))?;
        LIST.get_or_init(|| DigestLists::new(text))
    };
    let shown = escape::path(&remote::shown(of));
    // A file is named as on the command line with which the list was made, with or without `./`, or from the folder of the list.
    let bare = of.strip_prefix(".").unwrap_or(of);
    let from_list = file.path.parent().and_then(|folder| of.strip_prefix(folder).ok());
    let spellings = [bare, &Path::new(".").join(bare), from_list.unwrap_or(of)].map(escape::path);
    let other = spellings.into_iter().find(|path| lists.has(path));
    lists.of(&other.filter(|_| !lists.has(&shown)).unwrap_or(shown)).map_err(unusable)
}

/// Returns the files that the list of `zten hash --check LIST` names, in the folder of the list. Only the lines with the paths are
/// looked at here: the list is parsed in the confined process.
///
/// # Errors
/// The list cannot be read, is longer than the limit `manifest`, names no file, or names a remote file or standard input.
/// The path of a file in the list is missing or not Unicode text.
pub(crate) fn listed_files(args: &Hash, list: &Path) -> Result<Vec<PathBuf>, String> {
    let shown = escape::path(&remote::shown(list));
    if list.as_os_str() == "-" || remote::is_remote(list) {
        return Err(format!(
            "{shown}: the list is not a local file, beside which its files could be found: give the files to compare with the list"
        ));
    }
    let most = args.strictness.options().limit().manifest();
    let failed = |error: &io::Error| format!("{shown}: {error}");
    let (file, length) = zten::source::open_regular(list).map_err(|error| failed(&error))?;
    if length > most {
        return Err(format!(
            "{shown}: the list of digests of {length} bytes exceeds the limit manifest of {most} bytes"
        ));
    }
    let mut text = Vec::new();
    file.take(most).read_to_end(&mut text).map_err(|error| failed(&error))?;
    let paths = DigestLists::new(text).paths();
    let paths =
        paths.map_err(|why| format!("{shown}: {why}: give the files to compare with the list"))?;
    if paths.is_empty() {
        return Err(format!(
            "{shown}: the list names no file: give the file to compare with the list"
        ));
    }
    // A list may come from anyone, so it does not choose which servers get requests.
    let is_elsewhere = |path: &&String| *path == "-" || remote::is_remote(path.as_ref());
    if let Some(path) = paths.iter().find(is_elsewhere) {
        let path = escape::path(&remote::shown(path.as_ref()));
        return Err(format!(
            "{shown}: {path} is not a file on this machine: give the files to compare with the list"
        ));
    }
    let folder = list.parent().unwrap_or(Path::new(""));
    Ok(paths.iter().map(|path| folder.join(path)).collect())
}

/// A verified file, with the digests of its components. `order` has the tensors to print, sorted by the bytes of their
/// names.
struct Hashed<'a> {
    archive: &'a FileWithShards,
    sums: &'a Sums,
    order: Vec<Tensor<'a>>,
}

/// A component in the JSON document.
#[derive(Serialize)]
struct Component {
    role: String,
    r#type: String,
    bytes: Option<Integer>,
    sha256: Option<String>,
}

/// An object in the JSON document.
#[derive(Serialize)]
struct HashedObject<'a, T> {
    name: &'a str,
    components: T,
}

/// The fields of the JSON document for a list of digests.
#[derive(Serialize)]
struct Listed<T> {
    identity: Option<String>,
    content: Option<String>,
    objects: T,
}

/// A component that differs, in the JSON document.
#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
    role: &'a str,
}

/// The fields of the JSON document for a comparison with a list.
#[derive(Serialize)]
struct Checked<'a> {
    equal: bool,
    changed: Vec<Named<'a>>,
    missing: Vec<Named<'a>>,
    added: Vec<Named<'a>>,
}

/// The JSON document of a file, for a list or a comparison.
#[derive(Serialize)]
struct Document<'a, T> {
    schema: Schema,
    file: &'a str,
    #[serde(flatten)]
    rest: T,
}

impl<'a> Hashed<'a> {
    /// Returns the lines of the digest list for the components of `object`.
    fn entries(&self, object: &Tensor<'a>) -> impl Iterator<Item = DigestLine<'a>> {
        entries(object, self.sums.of(object))
    }

    fn document(&self, app: &mut App, rest: impl Serialize) -> io::Result<()> {
        let shown = remote::shown(&self.archive.path);
        to_line(&mut app.out, &Document { schema: Schema, file: &shown.to_string_lossy(), rest })
    }

    /// Prints what the options ask for: a list of the components' digests, the identity, or the content digest of the file.
    fn print(&self, app: &mut App, args: &Hash) -> io::Result<()> {
        let unread = self.sums.unread.as_deref();
        let content = match (args.content, unread) {
            (None, _) => None,
            // The content digest covers all components, and some of them were not verified.
            (Some(_), Some(problem)) => return app.problem(problem),
            (Some(algorithm), None) => match content(self.archive, algorithm) {
                Ok(content) => Some(content),
                Err(error) => {
                    return app.problem(&no_content(&self.archive.path, self.archive, &error));
                }
            },
        };
        // A component that was not read has no digest, so its file has no identity.
        let identity = if args.id || args.json {
            identity(self.order.iter().flat_map(|object| self.entries(object)))
        } else {
            None
        };
        let identity = identity.map(|sum| digests::hex(&sum));
        if let (true, Some(problem)) = (args.id, unread) {
            return app.problem(problem);
        }
        if args.json {
            let component = |entry: DigestLine<'_>| Component {
                role: entry.role.into_owned(),
                r#type: entry.kind.into_owned(),
                bytes: entry.bytes.map(Integer),
                sha256: entry.sha256.map(|sum| digests::hex(&sum)),
            };
            let objects = List(|| {
                self.order.iter().map(|object| HashedObject {
                    name: object.name(),
                    components: List(|| self.entries(object).map(component)),
                })
            });
            self.document(app, Listed { identity, content, objects })?;
            return unread.map_or(Ok(()), |problem| app.problem(problem));
        }
        let named = args.files.len() > 1;
        if let Some(digest) = identity.or(content) {
            write!(app.out, "{digest}")?;
            if named {
                write!(app.out, "  {}", escape::path(&remote::shown(&self.archive.path)))?;
            }
            writeln!(app.out)?;
        } else {
            writeln!(app.out, "{}", digests::HEADER)?;
            if named {
                writeln!(app.out, "# {}", escape::path(&remote::shown(&self.archive.path)))?;
            }
            for entry in self.order.iter().flat_map(|object| self.entries(object)) {
                writeln!(app.out, "{entry}")?;
            }
        }
        unread.map_or(Ok(()), |problem| app.problem(problem))
    }

    /// Compares the file with `list`, and prints each component that differs, and the number of those that match, unless the user
    /// asked to print nothing. If a component was not read, prints only that problem.
    fn check(&self, app: &mut App, args: &Hash, list: &Digests) -> io::Result<()> {
        if let Some(problem) = &self.sums.unread {
            return app.problem(problem);
        }
        let found = self.order.iter().flat_map(|object| self.entries(object));
        let differences = list.differences(found);
        if !differences.is_empty() {
            app.set_exit_status(Status::Invalid);
        }
        let of = |what| differences.iter().filter(move |(found, ..)| *found == what);
        if args.json {
            let names = |what| of(what).map(|(_, name, role)| Named { name, role }).collect();
            let [changed, missing, added] = Difference::ALL.map(names);
            let equal = differences.is_empty();
            self.document(app, Checked { equal, changed, missing, added })
        } else if args.quiet {
            Ok(())
        } else {
            for (what, name, role) in &differences {
                writeln!(app.out, "{:7}  {}/{}", what.as_str(), Name(name), Name(role))?;
            }
            let [changed, missing, added] = Difference::ALL.map(|what| of(what).count());
            let entries = list.entries().len();
            let same = entries.saturating_sub(changed).saturating_sub(missing);
            let path = escape::path(&remote::shown(&self.archive.path));
            let (noun, verb) =
                if entries == 1 { ("component", "matches") } else { ("components", "match") };
            write!(app.out, "{path}: {same} of {entries} {noun} {verb}")?;
            if differences.is_empty() {
                return writeln!(app.out);
            }
            writeln!(app.out, ": {changed} changed, {missing} missing, {added} added")
        }
    }
}

/// Returns the problem of a file that has no content digest, with advice if a weak or missing digest is the reason.
fn no_content(file: &Path, archive: &TensorFile, error: &NoContentDigest) -> Problem {
    let advice = match error {
        NoContentDigest::Undigested(_) | NoContentDigest::WeakPart(_) => {
            Some("`zten convert --to 2 --digest sha256` writes a file that has a content digest.")
        }
        _ => None,
    };
    let problem = Problem::inexpressible(file, error).named(archive, error.location());
    problem.advising(advice)
}

/// Returns the content digest of a verified file.
fn content(archive: &TensorFile, algorithm: ContentAlgorithm) -> Result<String, NoContentDigest> {
    let algorithm = match algorithm {
        ContentAlgorithm::Xxh3 => DigestAlgorithm::Xxh3,
        ContentAlgorithm::Sha256 => DigestAlgorithm::Sha256,
    };
    Ok(archive.manifest().content_digest(algorithm)?.to_string())
}

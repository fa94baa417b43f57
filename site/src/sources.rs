//! Writes what mdBook builds: its configuration, the pages that `docs/SUMMARY.md` lists with the files that they link to, and the
//! pages about rules. Each page has the same path as in the repository, so that a relative link leads to the same file in both.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use zten_report::catalog::rows;

use crate::Result;
use crate::examples::Examples;
use crate::markdown::{self, Piece, pieces, rewritten};
use crate::rules;

/// The page that lists all others, in the repository.
const SUMMARY: &str = "docs/SUMMARY.md";

/// The line of [`SUMMARY`] that stands for the pages about rules.
const RULES: &str = "<!-- rules -->\n";

/// The pages that name a rule in a code span, for each rule.
pub(crate) struct Mentions(BTreeMap<String, Vec<(String, String)>>);

impl Mentions {
    /// Finds the rules that `pages` name. The key of a page is its path.
    fn new(pages: &BTreeMap<String, String>) -> Self {
        let ids: BTreeSet<_> = rows().map(zten::rules::Row::id).collect();
        let mut mentions: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (path, text) in pages {
            let title = markdown::title(text).unwrap_or(path).to_owned();
            let spans = pieces(text).into_iter().filter_map(|piece| match piece {
                Piece::Span(span) => Some(span.trim_matches('`')),
                _ => None,
            });
            for id in spans.filter(|span| ids.contains(span)).collect::<BTreeSet<_>>() {
                let place = (built(path), title.clone());
                mentions.entry(id.to_owned()).or_default().push(place);
            }
        }
        Self(mentions)
    }

    /// Returns the path in the book and the title of each page that names the rule `id`.
    pub(crate) fn of(&self, id: &str) -> &[(String, String)] {
        self.0.get(id).map_or(&[], Vec::as_slice)
    }
}

/// Writes the sources for mdBook to the folder `out`, in place of what is there. `root` is the repository, and `command` the path
/// of `zten`. Returns a sentence that says how many pages were written.
///
/// # Errors
/// Fails if a page links to a page that the summary does not list, if the summary does not list the pages about rules, if the
/// command does not print what the corpus says, or if a file cannot be read or written. `.ci/links` checks that the summary lists
/// every page of `docs`.
pub(crate) fn write(root: &Path, command: &Path, out: &Path) -> Result<String> {
    let examples = Examples::new(root, command)?;
    let summary = fs::read_to_string(root.join(SUMMARY))?;
    let listed = targets(&summary)?;
    let mut pages = BTreeMap::new();
    for target in &listed {
        let path = resolved(SUMMARY, target);
        let text = fs::read_to_string(root.join(&path));
        pages.insert(path.clone(), text.map_err(|error| format!("{SUMMARY}: {path}: {error}"))?);
    }
    let made = rules::pages(&examples, &Mentions::new(&pages))?;
    if out.exists() {
        fs::remove_dir_all(out)?;
    }
    let sources = out.join("src");
    let mut files: BTreeSet<String> = made.files.into_iter().collect();
    for (path, text) in &pages {
        let text = rewritten(
            text,
            |target| moved(root, path, target, (&pages, &mut files)),
            |id| {
                let row = rows().find(|row| row.id() == id)?;
                Some(format!("{}rules/{}/index.md", to_root(path), row.id()))
            },
        );
        let text = text.map_err(|error| format!("{path}: {error}"))?;
        put(&sources.join(built(path)), text.as_bytes())?;
    }
    for (path, text) in &made.all {
        put(&sources.join(format!("rules/{path}.md")), text.as_bytes())?;
    }
    for file in &files {
        put(&sources.join(file), &fs::read(root.join(file))?)?;
    }
    let none = |_: &str| None;
    let contents = rewritten(&summary, |target| Ok(built(&resolved(SUMMARY, target))), none)?;
    if !contents.contains(RULES) {
        return Err(format!("{SUMMARY} has no line {RULES}").into());
    }
    let contents = contents.replace(RULES, &made.summary);
    put(&sources.join("SUMMARY.md"), contents.as_bytes())?;
    for file in ["book.toml", "site.css"] {
        put(&out.join(file), &fs::read(root.join("site").join(file))?)?;
    }
    Ok(format!("wrote {} pages, and {} pages about rules", pages.len(), made.all.len()))
}

/// Returns the targets of all links of `page`.
fn targets(page: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let keep = |target: &str| {
        found.push(target.to_owned());
        Ok(String::new())
    };
    rewritten(page, keep, |_| None)?;
    Ok(found)
}

/// Returns the target in the book for `target`, the target of a link in the page `from`. Adds the file that the link leads to, if
/// it is not a page, to `files`. A link to a folder leads to its README. Fails if `pages` does not have the page that the link
/// leads to.
fn moved(
    root: &Path,
    from: &str,
    target: &str,
    (pages, files): (&BTreeMap<String, String>, &mut BTreeSet<String>),
) -> Result<String> {
    let (path, anchor) = target.split_at(target.find('#').unwrap_or(target.len()));
    if path.is_empty() || path.contains(':') {
        return Ok(target.to_owned());
    }
    let mut there = resolved(from, path);
    if root.join(&there).is_dir() {
        there.push_str("/README.md");
    }
    if !is_page(&there) {
        files.insert(there);
        return Ok(target.to_owned());
    }
    if !pages.contains_key(&there) {
        return Err(format!("{SUMMARY} does not list {there}, to which a link leads").into());
    }
    Ok(format!("{}{}{anchor}", to_root(from), built(&there)))
}

/// Returns whether the file at `path` is a page.
fn is_page(path: &str) -> bool {
    path.strip_suffix(".md").is_some()
}

/// Returns the path in the book of the page at `path`: a README is the page of its folder.
fn built(path: &str) -> String {
    match path.strip_suffix("README.md") {
        Some(folder) => format!("{folder}index.md"),
        None => path.to_owned(),
    }
}

/// Returns the relative path from the folder of the page `path` to the root: `../` for each folder in `path`.
fn to_root(path: &str) -> String {
    "../".repeat(path.matches('/').count())
}

/// Returns the path that `target` leads to from the file `from`, both relative to one root. A path that ends with a slash keeps it.
/// A path that leads out of the root begins with `../`.
pub(crate) fn resolved(from: &str, target: &str) -> String {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut steps: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    for step in target.split('/') {
        match step {
            "." | "" => {}
            ".." if steps.last().is_none_or(|step| *step == "..") => steps.push(".."),
            ".." => {
                steps.pop();
            }
            name => steps.push(name),
        }
    }
    let end = if target.ends_with('/') && !steps.is_empty() { "/" } else { "" };
    steps.join("/") + end
}

/// Writes a file and the folders that it needs.
fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_and_moved() {
        for (from, target, there) in [
            ("docs/a.md", "b.md", "docs/b.md"),
            ("docs/a.md", "../b.md", "b.md"),
            ("docs/x/a.md", "../../lab/./b.md", "lab/b.md"),
            ("a.html", "b/", "b/"),
            ("a/b.html", "..", ""),
            ("a.html", "../../b", "../../b"),
            ("x/a.html", "../../b", "../b"),
        ] {
            assert_eq!(resolved(from, target), there, "{from} {target}");
        }
        let pages = ["README.md", "docs/a.md", "site/README.md"];
        let pages: BTreeMap<_, _> =
            pages.iter().map(|path| ((*path).to_owned(), String::new())).collect();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut files = BTreeSet::new();
        for (from, target, moved_to) in [
            ("docs/a.md", "../README.md#rust", Some("../index.md#rust")),
            ("README.md", "docs/a.md", Some("docs/a.md")),
            ("docs/a.md", "#b", Some("#b")),
            ("docs/a.md", "https://example.com/a.md", Some("https://example.com/a.md")),
            ("docs/a.md", "../Cargo.toml", Some("../Cargo.toml")),
            ("docs/a.md", "../site", Some("../site/index.md")),
            ("docs/a.md", "b.md", None),
        ] {
            let found = moved(&root, from, target, (&pages, &mut files)).ok();
            assert_eq!(found.as_deref(), moved_to, "{from} {target}");
        }
        assert_eq!(files.into_iter().collect::<Vec<_>>(), ["Cargo.toml"]);
    }
}

//! Checks the links of the built site.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::sources::resolved;

/// A page of the site: the targets of its links, and the ids that links can lead to.
struct Page {
    targets: Vec<String>,
    ids: BTreeSet<String>,
}

/// Checks that each link in a page of the folder `book` leads to a file of the folder, and to an id in that file. Links to other
/// hosts are not followed, and the links of the page `404.html` are not checked. Returns a sentence with the numbers of pages and
/// links.
///
/// # Errors
/// Lists the broken links. Fails if no page of the folder has a link that leads to the site, or a file cannot be read.
pub(crate) fn check(book: &Path) -> Result<String> {
    let mut files = BTreeSet::new();
    list(book, Path::new(""), &mut files)?;
    let mut pages = BTreeMap::new();
    for file in files.iter().filter(|file| file.strip_suffix(".html").is_some()) {
        let text = fs::read_to_string(book.join(file))?;
        let targets = ["href", "src"].iter().flat_map(|name| values(&text, name)).collect();
        let ids = values(&text, "id").into_iter().collect();
        pages.insert(file.as_str(), Page { targets, ids });
    }
    let mut broken = Vec::new();
    let mut links = 0;
    for (file, page) in &pages {
        // A page for addresses that do not exist is served under any path, so its relative links cannot be checked.
        let is_lost = *file == "404.html";
        for target in page.targets.iter().filter(|_| !is_lost) {
            let Some(there) = local(file, target) else { continue };
            links += 1;
            let (path, id) = there;
            let found = ["", "index.html", "/index.html"]
                .iter()
                .map(|end| format!("{path}{end}"))
                .find(|path| files.contains(path));
            let is_there = found.is_some_and(|path| {
                let page = pages.get(path.as_str());
                id.is_empty() || page.is_none_or(|page| page.ids.contains(&id))
            });
            if !is_there {
                broken.push(format!("{file}: the link {target} is broken"));
            }
        }
    }
    if !broken.is_empty() {
        return Err(broken.join("\n").into());
    }
    if links == 0 {
        return Err(format!("{}: no page has a link", book.display()).into());
    }
    Ok(format!("{} pages, {links} links, none is broken", pages.len()))
}

/// Adds the paths of all files below `folder` in `book` to `files`, with slashes.
fn list(book: &Path, folder: &Path, files: &mut BTreeSet<String>) -> Result<()> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(book.join(&folder))? {
            let entry = entry?;
            let path: PathBuf = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    Ok(())
}

/// Returns the values of all attributes `name` in `html`.
fn values(html: &str, name: &str) -> Vec<String> {
    let start = format!(" {name}=\"");
    let parts = html.split(&*start).skip(1);
    parts.filter_map(|part| Some(unescaped(part.split_once('"')?.0))).collect()
}

/// Returns the text of the value of an attribute. Other characters than these need no escape in an address.
fn unescaped(value: &str) -> String {
    value.replace("&amp;", "&").replace("&quot;", "\"").replace("&#39;", "'").replace("&#x27;", "'")
}

/// Returns the path and the id that `target`, a link of the page `file`, leads to; `None` if it leads out of the site.
fn local(file: &str, target: &str) -> Option<(String, String)> {
    let scheme = target.find(|c: char| !c.is_ascii_alphanumeric() && c != '+' && c != '-');
    if scheme.is_some_and(|end| target[end..].starts_with(':')) || target.starts_with("//") {
        return None;
    }
    let (path, id) = target.split_once('#').unwrap_or((target, ""));
    let path = path.split('?').next().unwrap_or_default();
    if path.is_empty() {
        return Some((file.to_owned(), id.to_owned()));
    }
    Some((resolved(file, path), id.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a site with these files.
    fn checked(files: &[(&str, &str)]) -> std::result::Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        check(folder.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn links_lead_to_files_and_ids() {
        let other = r#"<h1 id="x&amp;y">"#;
        for (link, is_good) in [
            ("b/c.html", true),
            ("./b/../b/c.html#x&amp;y", true),
            ("b/c.html#z", false),
            ("b/d.html", false),
            ("b", true),
            ("b/", true),
            ("d", false),
            ("#here", true),
            ("#there", false),
            ("data.json?v=1", true),
            ("data.json#anything", true),
            ("../a.html", false),
            ("", true),
        ] {
            let page = format!(r#"<p id="here"><a class="x" href="{link}">"#);
            let files = [
                ("a.html", &*page),
                ("b/c.html", other),
                ("b/index.html", "<p>"),
                ("data.json", "{}"),
                ("404.html", r#"<a href="nothing">"#),
            ];
            let found = checked(&files);
            assert_eq!(found.is_ok(), is_good, "{link}: {found:?}");
            if !is_good {
                assert_eq!(
                    found.unwrap_err(),
                    format!("a.html: the link {} is broken", unescaped(link))
                );
            }
        }
    }

    #[test]
    fn links_to_other_hosts_are_not_followed() {
        for link in
            ["https://example.com/x", "mailto:a@b", "//example.com/x", "data:image/png;base64,"]
        {
            let page = format!(r#"<a href="{link}"><img src="a.html">"#);
            assert_eq!(checked(&[("a.html", &page)]).unwrap(), "1 pages, 1 links, none is broken");
        }
        assert!(checked(&[("a.html", "<p>")]).is_err());
        assert!(checked(&[]).is_err());
    }
}

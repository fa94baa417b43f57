//! Names of files in repositories of the Hugging Face hub.

use std::fmt;

use crate::name::{NameError, encoded, is_dots};

/// The largest length of the organization or the name of a repository in bytes.
const LONGEST_PART: usize = 96;
/// The largest length in bytes of a revision, without percent-encoding.
const LONGEST_REVISION: usize = 255;
/// The length of a commit hash in hexadecimal digits.
const COMMIT: usize = 40;

/// The kinds of repositories on the hub. For each kind, the prefix of a repository in names after `hf://`, and its prefix in the
/// paths of the hub's URLs, which is empty for models.
const KINDS: [(&str, &str); 3] =
    [("models/", ""), ("datasets/", "datasets/"), ("spaces/", "spaces/")];

/// The name of a file in a repository of the hub, which `hf://[models/]ORG/MODEL[@REVISION]/PATH` gives, or
/// `hf://datasets/ORG/NAME…`, or `hf://spaces/ORG/NAME…`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct HubName {
    /// The kind of the repository with a slash, as the hub's URLs begin with it: `datasets/` or `spaces/`, and empty for
    /// models.
    kind: &'static str,
    organization: String,
    repository: String,
    /// The branch, tag, reference or commit, without percent-encoding. `None` for the branch `main`.
    revision: Option<String>,
    /// The path of the file in the repository. No part of it is empty, `.` or `..`.
    path: String,
}

impl HubName {
    /// Parses `text`, the part of the name after `hf://`.
    pub(crate) fn parse(text: &str) -> Result<Self, NameError> {
        let of_kind = |(name, kind): &(&str, &'static str)| Some((*kind, text.strip_prefix(name)?));
        let (kind, rest) = KINDS.iter().find_map(of_kind).unwrap_or(("", text));
        let (organization, rest) = rest.split_once('/').ok_or(NameError::Repository)?;
        let (repository, mut path) = rest.split_once('/').ok_or(NameError::Repository)?;
        let (repository, revision) = match repository.split_once('@') {
            Some((repository, revision)) => (repository, Some(revision)),
            None => (repository, None),
        };
        if ![organization, repository].into_iter().all(is_repository) {
            return Err(NameError::Repository);
        }
        let mut revision = revision.map(|revision| decoded(revision).ok_or(NameError::Revision));
        // The hub's own programs accept the references of pull requests (`refs/pr/1`) and of conversions without
        // percent-encoding, so their slashes belong to the revision here, too.
        if revision.as_ref().is_some_and(|revision| revision.as_deref() == Ok("refs"))
            && let Some((reference @ ("pr" | "convert"), rest)) = path.split_once('/')
            && let Some((number, rest)) = rest.split_once('/')
        {
            revision = Some(Ok(format!("refs/{reference}/{number}")));
            path = rest;
        }
        // Names with and without `@main` mean the same revision, so they must compare equal: files of both are read at one
        // commit.
        let revision = revision.transpose()?.filter(|revision| revision != "main");
        if !revision.as_deref().is_none_or(is_revision) {
            return Err(NameError::Revision);
        }
        // URL parsers resolve the parts `.` and `..`, so the URL would name another file than this name.
        if path.split('/').any(|part| part.is_empty() || is_dots(part)) {
            return Err(NameError::Path);
        }
        let [organization, repository, path] = [organization, repository, path].map(str::to_owned);
        Ok(Self { kind, organization, repository, revision, path })
    }

    /// Returns the path of the file from the root of its repository, without a leading slash.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the revision if it is a commit (40 hexadecimal digits in lower case), and `None` if it is a branch, a tag or
    /// a reference.
    pub(crate) fn commit(&self) -> Option<&str> {
        self.revision.as_deref().filter(|revision| is_commit(revision))
    }

    /// Returns the path of the file's URL on the hub, without a leading slash: `ORG/MODEL/resolve/REVISION/PATH`, after `datasets/`
    /// or `spaces/` for these kinds. `commit` replaces the revision if it is known.
    pub(crate) fn url_path(&self, commit: Option<&str>) -> String {
        let Self { kind, organization, repository, revision, path } = self;
        let revision = encoded(commit.or(revision.as_deref()).unwrap_or("main"));
        let steps: Vec<_> = path.split('/').map(encoded).collect();
        format!("{kind}{organization}/{repository}/resolve/{revision}/{}", steps.join("/"))
    }

    /// Returns the name of the repository at its revision as a text: `hf://ORG/MODEL@REVISION`, or `hf://ORG/MODEL` for the branch
    /// `main`.
    pub(crate) fn repository(&self) -> String {
        let mut text = self.beside("");
        text.pop();
        text
    }

    /// Returns the name of the same file at `commit`. Returns `None` if `commit` is not 40 hexadecimal digits in lower
    /// case.
    pub(crate) fn at_commit(&self, commit: &str) -> Option<Self> {
        is_commit(commit).then(|| Self { revision: Some(commit.to_owned()), ..self.clone() })
    }

    /// Returns the name, as a text that begins with `hf://`, of the file at `path` in the same repository and revision. `path`
    /// begins at the root of the repository.
    pub(crate) fn beside(&self, path: &str) -> String {
        Self { path: path.to_owned(), ..self.clone() }.to_string()
    }
}

/// Returns whether `text` is a commit: 40 hexadecimal digits in lower case.
pub(crate) fn is_commit(text: &str) -> bool {
    text.len() == COMMIT && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns whether `part` can be the organization or the name of a repository: 1 to 96 ASCII letters, digits and `-._`, of which
/// the first is no dot.
fn is_repository(part: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    (1..=LONGEST_PART).contains(&part.len()) && !part.starts_with('.') && part.bytes().all(fits)
}

fn is_revision(revision: &str) -> bool {
    revision.len() <= LONGEST_REVISION
        && !revision.contains(char::is_control)
        && !revision.split('/').any(|part| part.is_empty() || is_dots(part))
}

/// Decodes the percent-encoded `text`. Returns `None` if two hexadecimal digits do not follow each `%`, or if the result is
/// not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            u8::try_from(digit()?.checked_mul(16)?.checked_add(digit()?)?).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(bytes).ok()
}

impl fmt::Display for HubName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, organization, repository, revision, path } = self;
        write!(f, "hf://{kind}{organization}/{repository}")?;
        if let Some(revision) = revision {
            write!(f, "@{}", encoded(revision))?;
        }
        write!(f, "/{path}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<HubName, NameError> {
        HubName::parse(text.strip_prefix("hf://").unwrap())
    }

    #[test]
    fn names_lead_to_urls() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        for (name, url) in [
            ("hf://o/m/a.zt", "o/m/resolve/main/a.zt"),
            ("hf://models/o/m/a.zt", "o/m/resolve/main/a.zt"),
            ("hf://datasets/o/m/b/a.zt", "datasets/o/m/resolve/main/b/a.zt"),
            ("hf://spaces/o/m@v1/a.zt", "spaces/o/m/resolve/v1/a.zt"),
            ("hf://o-1/M_2.x@v1.0/a.zt", "o-1/M_2.x/resolve/v1.0/a.zt"),
            ("hf://o/m@refs%2Fpr%2f3/a.zt", "o/m/resolve/refs%2Fpr%2F3/a.zt"),
            ("hf://o/m@refs/pr/3/b/a.zt", "o/m/resolve/refs%2Fpr%2F3/b/a.zt"),
            ("hf://o/m@refs/convert/parquet/a.zt", "o/m/resolve/refs%2Fconvert%2Fparquet/a.zt"),
            ("hf://o/m@refs/heads/a.zt", "o/m/resolve/refs/heads/a.zt"),
            // Characters that are special in URLs belong to the path.
            (
                "hf://o/m/a@b?c#%2e+\u{e4}\\ .zt",
                "o/m/resolve/main/a%40b%3Fc%23%252e%2B%C3%A4%5C%20.zt",
            ),
            ("hf://o/m@a?b#c/a", "o/m/resolve/a%3Fb%23c/a"),
        ] {
            let found = parsed(name).unwrap();
            assert_eq!(found.url_path(None), url, "{name}");
            assert_eq!(found.url_path(Some(commit)).matches(commit).count(), 1);
            assert!(parsed(&found.to_string()).unwrap() == found, "{name}");
            assert_eq!(found.commit(), None);
        }
        let pinned = parsed(&format!("hf://o/m@{commit}/a.zt")).unwrap();
        assert_eq!(pinned.commit(), Some(commit));
        for other in [&commit[1..], &commit.to_uppercase(), &format!("{commit}0")] {
            assert_eq!(parsed(&format!("hf://o/m@{other}/a")).unwrap().commit(), None, "{other}");
        }
        let beside = pinned.beside("c/d.zt");
        assert_eq!(beside, format!("hf://o/m@{commit}/c/d.zt"));
        let named = parsed("hf://datasets/o/m@a%2Fb/c/d.zt").unwrap();
        assert_eq!(named.repository(), "hf://datasets/o/m@a%2Fb");
        let pinned = named.at_commit(commit).unwrap();
        assert_eq!(pinned.to_string(), format!("hf://datasets/o/m@{commit}/c/d.zt"));
        assert!(named.at_commit("main").is_none());
        let spellings = ["hf://o/m/a.zt", "hf://models/o/m@main/a.zt", "hf://o/m@%6dain/a.zt"];
        assert!(spellings.iter().all(|name| parsed(name).unwrap().repository() == "hf://o/m"));
    }

    #[test]
    fn invalid_names_are_rejected() {
        let long = "a".repeat(LONGEST_PART + 1);
        for name in [
            "hf://",
            "hf://a.zt",
            "hf://gpt2/a.zt",
            "hf://datasets/o/a.zt",
            "hf://o/m",
            "hf://o/m@v1",
            "hf:///m/a.zt",
            "hf://o//a.zt",
            "hf://o@v1/m/a.zt",
            "hf://user:secret@o/m/a.zt",
            "hf://../m/a.zt",
            "hf://o/../a.zt",
            "hf://o/.m/a.zt",
            "hf://o/m?a/a.zt",
            "hf://o/m%2e/a.zt",
            &format!("hf://{long}/m/a.zt"),
            &format!("hf://o/{long}/a.zt"),
        ] {
            assert_eq!(parsed(name).err(), Some(NameError::Repository), "{name}");
        }
        let long = "a".repeat(LONGEST_REVISION + 1);
        for revision in [
            "",
            "%",
            "%2",
            "%zz",
            "%+1",
            "%ff",
            "..",
            ".",
            "a%2F..%2Fb",
            "%2Fa",
            "a%2F",
            "%0a",
            &long,
        ] {
            let name = format!("hf://o/m@{revision}/a.zt");
            assert_eq!(parsed(&name).err(), Some(NameError::Revision), "{name}");
        }
        for path in ["", "a/", "/a", "a//b", ".", "..", "a/../b", "a/."] {
            let name = format!("hf://o/m/{path}");
            assert_eq!(parsed(&name).err(), Some(NameError::Path), "{name}");
        }
    }
}

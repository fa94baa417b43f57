//! The names of files that are read over the network.

#[cfg(feature = "std")]
use alloc::borrow::{Cow, ToOwned as _};
#[cfg(feature = "std")]
use alloc::format;
#[cfg(feature = "std")]
use std::path::Path;

/// Returns whether `name` names an object in S3 or a file on the Hugging Face hub. Such a name is never signed, and `?`, `#`
/// and `@` in it are parts of the name.
fn is_object(name: &str) -> bool {
    ["s3://", "hf://"].iter().any(|scheme| name.starts_with(scheme))
}

/// Returns whether `name` is an HTTP URL, which may have a query.
fn is_http(name: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| name.starts_with(scheme))
}

/// Returns a URL without its query and fragment, so that the URL ends in the name of the file. Returns any other name
/// unchanged, including the name of an object in S3 or of a file on the hub, which may contain `?` and `#`.
pub(crate) fn without_query(name: &str) -> &str {
    match name.split_once(['?', '#']) {
        Some((before, _)) if is_http(name) => before,
        _ => name,
    }
}

/// Returns whether `path` is the name of a file that is read over the network: it begins with `http://`, `https://`,
/// `s3://` or `hf://`.
#[cfg(feature = "std")]
pub fn is_remote(path: &Path) -> bool {
    path.to_str().is_some_and(|name| is_http(name) || is_object(name))
}

/// Returns whether `path` is an HTTP URL with a query. A query may be a signature for this file only, so the URLs of its shards
/// cannot be derived.
#[cfg(feature = "std")]
pub fn has_query(path: &Path) -> bool {
    let text = path.to_str().filter(|text| is_http(text));
    text.is_some_and(|text| text.contains('?'))
}

/// Returns the name of the file at `path` for display. An HTTP URL is returned without its user, password, query and fragment,
/// which may be secrets; `?...` replaces the query or fragment.
#[cfg(feature = "std")]
pub fn shown(path: &Path) -> Cow<'_, Path> {
    let Some(text) = path.to_str().filter(|text| is_http(text)) else { return path.into() };
    let Some((scheme, rest)) = text.split_once("://") else { return path.into() };
    let (before, after) = match rest.split_once(['?', '#']) {
        Some((before, _)) => (before, "?..."),
        None => (rest, ""),
    };
    let (authority, path) = before.split_at(before.find('/').unwrap_or(before.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    Path::new(&format!("{scheme}://{host}{path}{after}")).to_owned().into()
}

/// Returns the name of the file at `path` for a JSON document: the text that [`shown`] returns, with U+FFFD in place of bytes
/// that are not Unicode.
#[cfg(feature = "std")]
pub fn file_name(path: &Path) -> Cow<'_, str> {
    match shown(path) {
        Cow::Borrowed(path) => path.to_string_lossy(),
        Cow::Owned(path) => path.to_string_lossy().into_owned().into(),
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn names_that_may_be_signed() {
        for name in ["https://h/a?X-Sig=secret", "http://h/a?"] {
            assert!(has_query(name.as_ref()), "{name}");
        }
        for name in ["https://h/a", "s3://bucket/a?b", "hf://o/m@v1/a?b", "folder/a?b"] {
            assert!(!has_query(name.as_ref()), "{name}");
        }
    }

    #[test]
    fn a_url_ends_in_the_name_of_the_file() {
        for (name, expected) in [
            ("https://h/a.npy?X-Sig=b.pt", "https://h/a.npy"),
            ("http://h/a.zt#b", "http://h/a.zt"),
            ("http://h/a.zt", "http://h/a.zt"),
            ("s3://bucket/a?b.zt", "s3://bucket/a?b.zt"),
            ("hf://o/m@v1/a?b.zt", "hf://o/m@v1/a?b.zt"),
            ("folder/a?b.zt", "folder/a?b.zt"),
        ] {
            assert_eq!(without_query(name), expected);
        }
    }

    #[test]
    fn names_are_shown_without_secrets() {
        for (name, expected) in [
            ("https://h/a?X-Sig=secret", "https://h/a?..."),
            ("http://user:secret@h:1/a@b", "http://h:1/a@b"),
            ("http://h/a#secret", "http://h/a?..."),
            ("http://a@b@h", "http://h"),
            ("s3://bucket/a?b", "s3://bucket/a?b"),
            ("hf://o/m@v1/a?b", "hf://o/m@v1/a?b"),
            ("folder/http://u@h?x", "folder/http://u@h?x"),
        ] {
            assert_eq!(shown(name.as_ref()), Path::new(expected));
        }
    }
}

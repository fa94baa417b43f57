//! The name of a file, from which the format and the names of sibling files can be derived.

#[cfg(feature = "std")]
use std::path::{Path, PathBuf};

use crate::network::without_query;

/// The name of a file: the last component of its path or URL, without the query of the URL. The name is empty if a file
/// has none, such as bytes in memory.
///
/// Functions of [`formats`](crate::formats) take anything that converts into this type: a text, and with `std` also a path.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileName<'n> {
    /// The bytes of the name. A component of a path need not be UTF-8.
    bytes: &'n [u8],
    /// Whether the name comes from a URL with a query or fragment.
    has_query: bool,
}

impl<'n> FileName<'n> {
    /// Creates the name again from its parts, which [`bytes`](Self::bytes) and [`has_query`](Self::has_query) returned.
    pub(crate) fn from_parts(bytes: &'n [u8], has_query: bool) -> Self {
        Self { bytes, has_query }
    }

    /// Returns whether the file has no name.
    pub(crate) fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the bytes of the name.
    pub(crate) fn bytes(self) -> &'n [u8] {
        self.bytes
    }

    /// Returns whether the name comes from a URL with a query or fragment.
    pub(crate) fn has_query(self) -> bool {
        self.has_query
    }

    /// Returns the name, or `None` if it is not UTF-8.
    pub(crate) fn text(self) -> Option<&'n str> {
        str::from_utf8(self.bytes).ok()
    }

    /// Returns the name if the names of sibling files can be derived from it. A query of a URL may be a signature for this file
    /// only, so no sibling can be fetched.
    pub(crate) fn text_for_siblings(self) -> Option<&'n str> {
        self.text().filter(|_| !self.has_query)
    }

    /// Splits the name at its last dot, unless the name begins with that dot.
    fn split(self) -> (&'n [u8], Option<&'n [u8]>) {
        let dot = self.bytes.iter().rposition(|byte| *byte == b'.').filter(|dot| *dot > 0);
        match dot.and_then(|dot| self.bytes.split_at_checked(dot)) {
            Some((stem, suffix)) => (stem, suffix.get(1..)),
            None => (self.bytes, None),
        }
    }

    /// Returns the name before its suffix, or `None` if the stem is not UTF-8.
    pub(crate) fn stem(self) -> Option<&'n str> {
        str::from_utf8(self.split().0).ok()
    }

    /// Returns the suffix without its dot, or `None` if the name has no suffix or one that is not UTF-8.
    pub(crate) fn suffix(self) -> Option<&'n str> {
        str::from_utf8(self.split().1?).ok()
    }
}

/// Takes the last component of a path or URL. The separator is a slash and, on Windows, also a backslash.
impl<'n> From<&'n str> for FileName<'n> {
    fn from(name: &'n str) -> Self {
        let path = without_query(name);
        let has_query = path.len() != name.len();
        let is_separator = |c| c == '/' || cfg!(windows) && c == '\\';
        let mut rest = path;
        // `a/` and `a/.` are the folder `a`, as in `Path::file_name`.
        while let Some(before) = rest
            .strip_suffix(is_separator)
            .or_else(|| rest.strip_suffix('.').filter(|before| before.ends_with(is_separator)))
        {
            rest = before;
        }
        let name = rest.rsplit(is_separator).next().unwrap_or_default();
        let name = if matches!(name, "." | "..") { "" } else { name };
        Self { bytes: name.as_bytes(), has_query }
    }
}

impl<'n> From<&'n alloc::string::String> for FileName<'n> {
    fn from(name: &'n alloc::string::String) -> Self {
        name.as_str().into()
    }
}

#[cfg(feature = "std")]
impl<'n> From<&'n Path> for FileName<'n> {
    fn from(path: &'n Path) -> Self {
        match path.to_str() {
            Some(name) if crate::network::is_remote(path) => name.into(),
            _ => {
                let name = path.file_name().unwrap_or_default();
                Self { bytes: name.as_encoded_bytes(), has_query: false }
            }
        }
    }
}

#[cfg(feature = "std")]
impl<'n> From<&'n PathBuf> for FileName<'n> {
    fn from(path: &'n PathBuf) -> Self {
        path.as_path().into()
    }
}

#[cfg(test)]
mod tests {
    use super::FileName;

    #[test]
    fn names_end_paths_and_urls() {
        for (path, name, stem, suffix) in [
            ("", "", "", None),
            ("a", "a", "a", None),
            ("b/a.npy", "a.npy", "a", Some("npy")),
            ("/b/a.tar.gz", "a.tar.gz", "a.tar", Some("gz")),
            ("b/.zt", ".zt", ".zt", None),
            ("b/a.", "a.", "a", Some("")),
            ("b/..", "", "", None),
            (".", "", "", None),
            ("b/a.zt/./", "a.zt", "a", Some("zt")),
            ("/", "", "", None),
            ("a?b.zt", "a?b.zt", "a?b", Some("zt")),
            ("s3://b/a?b.zt", "a?b.zt", "a?b", Some("zt")),
            ("hf://o/m@v1.0/a?b.zt", "a?b.zt", "a?b", Some("zt")),
            ("https://h/a.npy", "a.npy", "a", Some("npy")),
        ] {
            let found = FileName::from(path);
            assert_eq!(found.text(), Some(name), "{path}");
            assert_eq!((found.stem(), found.suffix()), (Some(stem), suffix), "{path}");
            assert_eq!(found.text_for_siblings(), Some(name), "{path}");
        }
        let signed = FileName::from("https://h/b/a.npy?X-Sig=/c.pt");
        assert_eq!((signed.text(), signed.text_for_siblings()), (Some("a.npy"), None));
    }

    #[cfg(feature = "std")]
    #[test]
    fn a_text_has_the_name_of_the_path() {
        use std::path::Path;

        for text in ["", "a", "b/a.npy", "/b/.zt", "a/", "a/.", "a/..", "..", ".", "/", "a./b..c"] {
            let path = Path::new(text);
            let [own, of_path] = [FileName::from(text), FileName::from(path)];
            assert_eq!(own.bytes(), of_path.bytes(), "{text}");
            assert_eq!(own.suffix(), path.extension().and_then(|suffix| suffix.to_str()), "{text}");
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            assert_eq!(own.stem(), Some(stem), "{text}");
        }
        let url = Path::new("https://h/a.zt?b");
        assert_eq!(FileName::from(url).text(), Some("a.zt"));
    }

    #[cfg(all(unix, feature = "std"))]
    #[test]
    fn names_need_not_be_unicode() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;
        use std::path::Path;

        let name = FileName::from(Path::new(OsStr::from_bytes(b"b/\xff.npy")));
        assert_eq!((name.text(), name.stem(), name.suffix()), (None, None, Some("npy")));
    }
}

//! Names of remote files: URLs, and names that begin with `s3://` or `hf://`. Names are checked before any request is sent.

use std::fmt::{self, Write as _};

use url::Url;

use crate::hub_name::HubName;

/// The largest length of the name of a remote file in bytes.
const LONGEST: usize = 8 << 10;
/// The largest length of an S3 key in bytes.
const LONGEST_KEY: usize = 1024;

/// The name of a remote file: an `http://` or `https://` URL, `s3://BUCKET/KEY`, or `hf://ORG/MODEL[@REVISION]/PATH`, which is a
/// file on the Hugging Face hub. A name with a user or password is rejected. The query of a URL is sent to the server but never
/// displayed, because it may be a signature.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteName(pub(crate) Location);

/// The parsed form of a [`RemoteName`], which says how the file is requested.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Location {
    Http(Url),
    S3 { bucket: String, key: String },
    Hub(HubName),
}

/// The reason why a text is not the name of a remote file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// The name does not begin with `http://`, `https://`, `s3://` or `hf://`.
    Scheme,
    /// The name is longer than 8,192 bytes.
    Long,
    /// The name has a control character, or it is a URL with a backslash or with a space at one of its ends. URL parsers silently
    /// drop control characters and spaces at the ends, and turn backslashes into slashes, so they would request another file than
    /// the name shows.
    Character,
    /// The name is not a URL with a host.
    Url,
    /// The URL has a user or a password.
    Credentials,
    /// The URL has a fragment, which begins with `#` and which no server sees.
    Fragment,
    /// The name of the bucket does not consist of 3 to 63 lower-case letters, digits, hyphens, underscores, and single dots
    /// between them.
    Bucket,
    /// The key is empty, longer than 1,024 bytes, begins with a slash, or has a part `.` or `..`.
    Key,
    /// The name does not have the form `hf://[models/]ORG/MODEL[@REVISION]/PATH`, `hf://datasets/ORG/NAME…` or
    /// `hf://spaces/ORG/NAME…`.
    Repository,
    /// The revision is empty, longer than 255 bytes, has a control character or a part that is empty, `.` or `..`, or is not
    /// percent-encoded text.
    Revision,
    /// The path in a repository is empty, or has a part that is empty, `.` or `..`.
    Path,
    /// The URL begins with `https://`, which needs TLS, but this package was built without the feature `tls`.
    NoTls,
}

impl RemoteName {
    /// Returns whether `text` begins with the scheme of a remote file.
    pub fn is_remote(text: &str) -> bool {
        ["http://", "https://", "s3://", "hf://"].iter().any(|scheme| text.starts_with(scheme))
    }

    /// Parses `text`, the name of a remote file. Sends no request.
    ///
    /// # Errors
    /// The reason why `text` is not the name of a remote file.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if !Self::is_remote(text) {
            return Err(NameError::Scheme);
        }
        if text.len() > LONGEST {
            return Err(NameError::Long);
        }
        if text.contains(char::is_control) {
            return Err(NameError::Character);
        }
        if let Some(rest) = text.strip_prefix("s3://") {
            let (bucket, key) = rest.split_once('/').ok_or(NameError::Key)?;
            if !is_bucket(bucket) {
                return Err(NameError::Bucket);
            }
            // URL parsers resolve the parts `.` and `..`, and a leading slash would merge with the slash before the path.
            // In both cases the URL would name another key.
            if key.is_empty()
                || key.starts_with('/')
                || key.len() > LONGEST_KEY
                || key.split('/').any(is_dots)
            {
                return Err(NameError::Key);
            }
            return Ok(Self(Location::S3 { bucket: bucket.to_owned(), key: key.to_owned() }));
        }
        if let Some(rest) = text.strip_prefix("hf://") {
            return Ok(Self(Location::Hub(HubName::parse(rest)?)));
        }
        if is_read_otherwise(text) {
            return Err(NameError::Character);
        }
        let url = Url::parse(text).map_err(|_| NameError::Url)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(NameError::Credentials);
        }
        if url.fragment().is_some() {
            return Err(NameError::Fragment);
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(NameError::Url);
        }
        has_tls(&url)?;
        Ok(Self(Location::Http(url)))
    }

    /// Returns the repository and the revision of a file on the hub, with which its name begins: `hf://ORG/MODEL@REVISION`, or
    /// `hf://ORG/MODEL` for the branch `main`. Returns `None` for other files.
    pub fn repository(&self) -> Option<String> {
        match &self.0 {
            Location::Hub(name) => Some(name.repository()),
            Location::Http(_) | Location::S3 { .. } => None,
        }
    }

    /// Returns the name of the same file at `commit`, in place of the revision. Returns `None` if the file is not on the hub, or
    /// `commit` is not 40 hexadecimal digits in lower case.
    pub fn at_commit(&self, commit: &str) -> Option<Self> {
        match &self.0 {
            Location::Hub(name) => name.at_commit(commit).map(|name| Self(Location::Hub(name))),
            Location::Http(_) | Location::S3 { .. } => None,
        }
    }
}

/// Checks that this package can request `url`. Returns an error if the URL needs TLS and the feature `tls` is off.
pub(crate) fn has_tls(url: &Url) -> Result<(), NameError> {
    if url.scheme() == "https" && !cfg!(feature = "tls") { Err(NameError::NoTls) } else { Ok(()) }
}

/// Returns whether a URL parser would silently change the text `url`: drop control characters or spaces at the ends, or
/// replace backslashes by slashes.
pub(crate) fn is_read_otherwise(url: &str) -> bool {
    url.contains(char::is_control) || url.contains('\\') || url.trim_matches(' ') != url
}

/// Returns `name` percent-encoded as one segment of the path of a URL: all bytes except ASCII letters, digits and `-._~` are
/// encoded.
pub(crate) fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

fn is_bucket(name: &str) -> bool {
    let fits =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte);
    (3..=63).contains(&name.len()) && name.bytes().all(fits) && !name.split('.').any(str::is_empty)
}

/// Returns whether `part`, a part of a path between slashes, is `.` or `..`.
pub(crate) fn is_dots(part: &str) -> bool {
    part == "." || part == ".."
}

impl fmt::Display for RemoteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Location::S3 { bucket, key } => write!(f, "s3://{bucket}/{key}"),
            Location::Hub(name) => name.fmt(f),
            Location::Http(url) => {
                write!(f, "{}://{}", url.scheme(), url.host_str().unwrap_or_default())?;
                if let Some(port) = url.port() {
                    write!(f, ":{port}")?;
                }
                f.write_str(url.path())?;
                if url.query().is_some() { f.write_str("?...") } else { Ok(()) }
            }
        }
    }
}

/// Formats the name as `Display` does, without the query of a URL, which may be a secret.
impl fmt::Debug for RemoteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteName({self})")
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "unknown scheme: expected http://, https://, s3:// or hf://",
            Self::Long => "the name of the remote file exceeds the maximum of 8,192 bytes",
            Self::Character => {
                "the name has a control character, or the URL has a backslash, or a space at its end"
            }
            Self::Url => "the name is not a valid URL with a host",
            Self::Credentials => {
                "the URL holds a user or a password, which belong in the environment or a profile"
            }
            Self::Fragment => "the URL has a fragment (#), which no server sees",
            Self::Bucket => {
                "the bucket must have 3 to 63 lower-case letters, digits, hyphens, underscores, and single dots between them"
            }
            Self::Key => {
                "the key is empty, longer than 1,024 bytes, begins with a slash, or has a part that is . or .."
            }
            Self::Repository => {
                "the name is not hf://ORG/MODEL[@REVISION]/PATH: a repository without ORG, such as gpt2, has another name with one"
            }
            Self::Revision => {
                "the revision is empty, longer than 255 bytes, not percent-encoded text, or has a part that is empty, . or .."
            }
            Self::Path => {
                "the path in the repository is empty, or has a part that is empty, . or .."
            }
            Self::NoTls => "https needs TLS, but this program was built without the feature tls",
        })
    }
}

impl std::error::Error for NameError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Result<String, NameError> {
        RemoteName::parse(text).map(|name| name.to_string())
    }

    #[test]
    fn names_are_shown_without_secrets() {
        assert_eq!(shown("http://h:80/a?X-Sig=secret"), Ok("http://h/a?...".to_owned()));
        assert_eq!(shown("http://h:81/%41 b"), Ok("http://h:81/%41%20b".to_owned()));
        assert_eq!(shown("s3://bucket/a//b?c"), Ok("s3://bucket/a//b?c".to_owned()));
        assert_eq!(shown("hf://models/o/m@a%2Fb/c?d"), Ok("hf://o/m@a%2Fb/c?d".to_owned()));
        let debug = format!("{:?}", RemoteName::parse("http://h/a?secret").unwrap());
        assert!(!debug.contains("secret"), "{debug}");
    }

    #[test]
    fn invalid_names_are_rejected() {
        for (text, error) in [
            ("ftp://h/a", NameError::Scheme),
            ("model.zt", NameError::Scheme),
            ("http://user@h/a", NameError::Credentials),
            ("http://:password@h/a", NameError::Credentials),
            ("http://h/a#b", NameError::Fragment),
            ("http://", NameError::Url),
            ("http://[::1/a", NameError::Url),
            ("s3://bucket", NameError::Key),
            ("s3://bucket/", NameError::Key),
            ("s3://bucket/a/../b", NameError::Key),
            ("s3://bucket//a", NameError::Key),
            ("s3://bucket//h/a", NameError::Key),
            ("s3://Bucket/a", NameError::Bucket),
            ("s3://key:secret@bucket/a", NameError::Bucket),
            ("s3://a..b/a", NameError::Bucket),
            ("hf://gpt2/a", NameError::Repository),
            ("hf://o/m@%/a", NameError::Revision),
            ("hf://o/m/../a", NameError::Path),
        ] {
            assert_eq!(RemoteName::parse(text), Err(error), "{text}");
        }
        // A URL parser would change each of these names.
        for text in
            ["http://h/a\tb", "http://h/a?b\n", "http://h\r/a", "http://h/a\0", "http://h/a\u{85}"]
        {
            assert_eq!(RemoteName::parse(text), Err(NameError::Character), "{text:?}");
        }
        for text in
            ["http://h/a\\b", "http://h/a ", "http:\\\\h/a", "s3://bucket/a\tb", "hf://o/m/a\tb"]
        {
            let error = RemoteName::parse(text).unwrap_err();
            assert!(matches!(error, NameError::Character | NameError::Scheme), "{text:?}");
        }
        let long = format!("http://h/{}", "a".repeat(LONGEST));
        assert_eq!(RemoteName::parse(&long), Err(NameError::Long));
    }
}

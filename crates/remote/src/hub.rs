//! Access to the Hugging Face hub: the endpoint, the token, and what its answers say.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::OnceLock;

use http::header::{HeaderMap, HeaderValue};
use http::{Response, StatusCode};
use url::{Host, Url};

use crate::credentials::read;
use crate::error::RemoteError;
use crate::hub_name::{HubName, is_commit};
use crate::name::{NameError, has_tls, is_read_otherwise};
use crate::response::{number, single};

/// The URL of the public Hugging Face hub. The environment variable `HF_ENDPOINT` replaces this URL by that of another hub.
const HUB: &str = "https://huggingface.co";

/// The endpoint of the hub, and the token that requests to it carry. The token is sent to the scheme, host and port of the
/// endpoint alone, and only over https or to this machine.
#[derive(Clone, Default)]
pub struct HubAccess {
    /// The URL of the hub to which requests are sent; `None` stands for [`HUB`].
    endpoint: Option<Url>,
    /// The value of the header `Authorization` for requests to the hub; `None` without a token.
    authorization: Option<HeaderValue>,
}

/// Formats whether requests carry a token, but not the token itself, which is a secret.
impl fmt::Debug for HubAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubAccess")
            .field("has_token", &self.authorization.is_some())
            .finish_non_exhaustive()
    }
}

impl HubAccess {
    /// Creates the access to the hub at the URL `endpoint` with the access `token`. The token is dropped, and requests carry none,
    /// if the URL is neither https nor at `localhost` or a loopback address, because others could read the token on its way.
    ///
    /// # Errors
    /// [`RemoteError::Setting`] with `HF_ENDPOINT` if the URL is invalid, or `HF_TOKEN` if a token that is not dropped is empty or
    /// has characters other than visible ASCII.
    pub fn new(endpoint: &str, token: Option<&str>) -> Result<Self, RemoteError> {
        let endpoint = endpoint_url(endpoint)?;
        let token = token.filter(|_| keeps_secrets(&endpoint));
        Ok(Self { authorization: token.map(authorization).transpose()?, endpoint: Some(endpoint) })
    }

    /// Reads the endpoint from the environment variable `HF_ENDPOINT`, and the token from `HF_TOKEN`. Without `HF_TOKEN`, the token
    /// is read from one file, the first of these whose setting exists: `HF_TOKEN_PATH`, `token` in the folder `HF_HOME`,
    /// `huggingface/token` in the folder `XDG_CACHE_HOME`, or `.cache/huggingface/token` in the folder `HOME` or `USERPROFILE`. If
    /// this file does not exist or is blank, there is no token. No file is read if the endpoint is one to which no token is sent.
    /// An empty variable counts as missing.
    ///
    /// # Errors
    /// [`RemoteError::Setting`] if a setting is invalid, or the file of the token cannot be read or is longer than 1 MiB.
    pub fn from_environment() -> Result<Self, RemoteError> {
        Self::from_variables(&|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn from_variables(variable: &impl Fn(&str) -> Option<String>) -> Result<Self, RemoteError> {
        let endpoint = variable("HF_ENDPOINT").unwrap_or_else(|| HUB.to_owned());
        if !keeps_secrets(&endpoint_url(&endpoint)?) {
            return Self::new(&endpoint, None);
        }
        let token = match variable("HF_TOKEN") {
            Some(token) => Some(token),
            None => token_file(variable).map_err(|_| RemoteError::Setting("HF_TOKEN_PATH"))?,
        };
        let token = token.as_deref().map(str::trim).filter(|token| !token.is_empty());
        Self::new(&endpoint, token)
    }

    /// Returns the URL of the file `name` on the hub. The URL has the commit `pinned` in place of the revision of `name`, if the
    /// commit is known. Fails if the URL parser would read a part of the name as something else, and for https in a build without
    /// TLS.
    pub(crate) fn url(&self, name: &HubName, pinned: Option<&str>) -> Result<Url, RemoteError> {
        let mut url = match &self.endpoint {
            Some(endpoint) => endpoint.clone(),
            None => endpoint_url(HUB)?,
        };
        has_tls(&url)?;
        let path = format!("{}/{}", url.path().trim_end_matches('/'), name.url_path(pinned));
        url.set_path(&path);
        // If the URL parser changed the path, a part of the path had a special meaning, and the URL would name another
        // file.
        if url.path() == path { Ok(url) } else { Err(RemoteError::Name(NameError::Path)) }
    }

    /// Returns the value of the header `Authorization` for requests to the endpoint, or `None` without a token.
    pub(crate) fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }

    /// Checks the status of `response`, an answer of the hub itself and not of a storage server. Returns an error for statuses that
    /// have a meaning of the hub's own (gated, unknown repository or revision, bad token); statuses that mean the same at every
    /// server are left to the caller.
    pub(crate) fn check<B>(&self, response: &Response<B>) -> Result<(), RemoteError> {
        let code = single(response.headers(), "X-Error-Code")?.map(HeaderValue::as_bytes);
        Err(match (response.status(), code) {
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, Some(b"GatedRepo")) => {
                RemoteError::Gated
            }
            (StatusCode::NOT_FOUND, Some(b"RevisionNotFound")) => RemoteError::NoRevision,
            (StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND, Some(b"RepoNotFound")) => {
                RemoteError::NoRepository
            }
            // The hub answers a request without a token in this way if the repository is private or does not exist, and a
            // request with an unknown token in any case.
            (StatusCode::UNAUTHORIZED, _) if self.authorization.is_some() => RemoteError::Token,
            (StatusCode::UNAUTHORIZED, _) => RemoteError::NoRepository,
            _ => return Ok(()),
        })
    }
}

/// The commit of a repository to which all requests for a file and its sibling files are pinned, so that all of them see the same
/// state of the repository. The commit is the one in the name of the file, or else the one that the hub's first answer names.
#[derive(Debug, Default)]
pub(crate) struct CommitPin(OnceLock<String>);

impl CommitPin {
    /// Creates the pin for the file `name`. If the revision in the name is a commit, the pin is set to this commit at once.
    pub(crate) fn of(name: &HubName) -> Self {
        Self(name.commit().map(|commit| OnceLock::from(commit.to_owned())).unwrap_or_default())
    }

    /// Returns the pinned commit, or `None` before the hub's first answer if the name of the file has no commit.
    pub(crate) fn commit(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    /// Compares the commit in the header `X-Repo-Commit` of an answer of the hub, whose headers are `headers`, with the pinned
    /// commit. If no commit is pinned yet, pins this commit.
    ///
    /// # Errors
    /// [`RemoteError::OtherCommit`] if the answer is of another commit, and [`RemoteError::NoCommit`] if the header is not a
    /// commit. Several such headers with different values are an error, too. An answer without the header passes.
    pub(crate) fn compare(&self, headers: &HeaderMap) -> Result<(), RemoteError> {
        let Some(value) = single(headers, "X-Repo-Commit")? else { return Ok(()) };
        let commit = value.to_str().ok().filter(|commit| is_commit(commit));
        let commit = commit.ok_or(RemoteError::NoCommit)?;
        let pinned = self.0.get_or_init(|| commit.to_owned());
        if pinned == commit { Ok(()) } else { Err(RemoteError::OtherCommit) }
    }

    /// Checks that an answer of the hub or the file's name has set the pin. Called before the first byte of a file is accepted.
    pub(crate) fn check(&self) -> Result<(), RemoteError> {
        self.commit().map(|_| ()).ok_or(RemoteError::NoCommit)
    }
}

/// Returns the length of the file in bytes that the hub declares in `X-Linked-Size` when it redirects to a storage server. Returns
/// `None` if the hub does not declare it, or declares 0 or something else than a number. Fails if the header occurs more than once
/// with different values.
pub(crate) fn linked_length(headers: &HeaderMap) -> Result<Option<u64>, RemoteError> {
    let length = single(headers, "X-Linked-Size")?.and_then(|value| value.to_str().ok());
    Ok(length.and_then(number).filter(|length| *length > 0))
}

/// Parses `text`, the URL of a hub. The URL may have a path. It is an error if its scheme is neither http nor https, or if it has a
/// user, password, query or fragment.
fn endpoint_url(text: &str) -> Result<Url, RemoteError> {
    let invalid = RemoteError::Setting("HF_ENDPOINT");
    let Some(url) = Url::parse(text).ok().filter(|_| !is_read_otherwise(text)) else {
        return Err(invalid);
    };
    let is_plain = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if is_plain && ["http", "https"].contains(&url.scheme()) { Ok(url) } else { Err(invalid) }
}

/// Returns whether a token may be sent to `url`, because nobody on the network can read it: the scheme is https, or the host is
/// `localhost` or a loopback address.
fn keeps_secrets(url: &Url) -> bool {
    let is_loopback = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    url.scheme() == "https" || is_loopback
}

/// Returns the value of the header `Authorization` for requests that carry `token`. `Debug` of the value does not show the token.
/// Fails if the token is empty or has other characters than visible ASCII.
fn authorization(token: &str) -> Result<HeaderValue, RemoteError> {
    let invalid = RemoteError::Setting("HF_TOKEN");
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(invalid);
    }
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| invalid)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Reads the file with the user's access token for the hub. The environment variables that `variable` returns decide the path of
/// the file. Returns `None` if none of these variables is set, or the file does not exist.
fn token_file(variable: &impl Fn(&str) -> Option<String>) -> io::Result<Option<String>> {
    let within = |folder: &str, path: &str| Some(PathBuf::from(variable(folder)?).join(path));
    let path = variable("HF_TOKEN_PATH")
        .map(PathBuf::from)
        .or_else(|| within("HF_HOME", "token"))
        .or_else(|| within("XDG_CACHE_HOME", "huggingface/token"))
        .or_else(|| within("HOME", ".cache/huggingface/token"))
        .or_else(|| within("USERPROFILE", ".cache/huggingface/token"));
    path.map_or(Ok(None), |path| read(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(variables: &[(&str, &str)]) -> Result<HubAccess, RemoteError> {
        HubAccess::from_variables(&|name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    /// Returns the token that requests carry if the environment has `variables`.
    fn token(variables: &[(&str, &str)]) -> Option<String> {
        let access = access(variables).unwrap();
        assert!(!format!("{access:?}").contains("secret"));
        let value = access.authorization()?;
        assert!(!format!("{value:?}").contains("secret"));
        Some(value.to_str().unwrap().strip_prefix("Bearer ").unwrap().to_owned())
    }

    #[test]
    fn a_long_file_is_no_file_of_a_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token").to_str().unwrap().to_owned();
        for (length, is_accepted) in
            [((1 << 20) - 1, true), (1 << 20, true), ((1 << 20) + 1, false)]
        {
            // White space around a token is dropped, so the beginning of a file of any length would be a valid token.
            std::fs::write(&path, format!("secret{}", " ".repeat(length - 6))).unwrap();
            match access(&[("HF_TOKEN_PATH", &path)]) {
                Ok(_) => assert!(is_accepted, "{length}"),
                Err(error) => {
                    let text = error.to_string();
                    assert!(!is_accepted && text.contains("HF_TOKEN_PATH"), "{text}");
                }
            }
        }
    }

    #[test]
    fn the_first_named_token_counts() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        for (path, secret) in [
            ("given", "secret-1\n"),
            ("home/token", " secret-2 "),
            ("cache/huggingface/token", "secret-3"),
            ("user/.cache/huggingface/token", "secret-4"),
            ("empty", "\n"),
        ] {
            std::fs::create_dir_all(folder.path().join(path).parent().unwrap()).unwrap();
            std::fs::write(at(path), secret).unwrap();
        }
        let (given, home, cache, user) = (at("given"), at("home"), at("cache"), at("user"));
        let all = [
            ("HF_TOKEN", "secret-0"),
            ("HF_TOKEN_PATH", &*given),
            ("HF_HOME", &*home),
            ("XDG_CACHE_HOME", &*cache),
            ("HOME", &*user),
        ];
        for number in 0..all.len() {
            assert_eq!(token(&all[number..]), Some(format!("secret-{number}")));
        }
        assert_eq!(token(&[("USERPROFILE", &*user)]).as_deref(), Some("secret-4"));
        assert_eq!(token(&[]), None);
        // A file that does not exist, and one without a token. No other file is read in its place.
        for path in [at("none"), at("empty")] {
            assert_eq!(token(&[("HF_TOKEN_PATH", &path), ("HF_HOME", &home)]), None);
        }
    }

    #[test]
    fn a_token_is_sent_only_where_nobody_can_read_it() {
        for (endpoint, is_sent) in [
            ("https://hub.example", true),
            ("https://hub.example:8443/a", true),
            ("http://127.0.0.1:1", true),
            ("http://127.9.9.9", true),
            ("http://[::1]:1", true),
            ("http://localhost:1", true),
            ("http://hub.example", false),
            ("http://localhost.example", false),
            ("http://10.0.0.1", false),
            ("http://[::ffff:10.0.0.1]", false),
        ] {
            let variables = [("HF_ENDPOINT", endpoint), ("HF_TOKEN", "secret")];
            assert_eq!(token(&variables).is_some(), is_sent, "{endpoint}");
            let access = HubAccess::new(endpoint, Some("secret")).unwrap();
            assert_eq!(access.authorization().is_some(), is_sent, "{endpoint}");
        }
        // Where no token is sent, the file is not read.
        let folder = tempfile::tempdir().unwrap();
        let unreadable = ("HF_TOKEN_PATH", folder.path().to_str().unwrap());
        assert_eq!(token(&[("HF_ENDPOINT", "http://hub.example"), unreadable]), None);
    }

    #[test]
    fn invalid_settings_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let unreadable = folder.path().to_str().unwrap();
        for (variable, value, setting) in [
            ("HF_ENDPOINT", "hub.example", "HF_ENDPOINT"),
            ("HF_ENDPOINT", "ftp://hub.example", "HF_ENDPOINT"),
            ("HF_ENDPOINT", "https://user@hub.example", "HF_ENDPOINT"),
            ("HF_ENDPOINT", "https://:password@hub.example", "HF_ENDPOINT"),
            ("HF_ENDPOINT", "https://hub.example?a", "HF_ENDPOINT"),
            ("HF_ENDPOINT", "https://hub.example#a", "HF_ENDPOINT"),
            ("HF_ENDPOINT", "https://hub.example\\a", "HF_ENDPOINT"),
            ("HF_TOKEN", "two words", "HF_TOKEN"),
            ("HF_TOKEN", "two\r\nlines: secret", "HF_TOKEN"),
            ("HF_TOKEN", "\u{e4}", "HF_TOKEN"),
            ("HF_TOKEN_PATH", unreadable, "HF_TOKEN_PATH"),
        ] {
            let error = access(&[(variable, value)]).unwrap_err();
            assert!(matches!(error, RemoteError::Setting(name) if name == setting), "{value:?}");
        }
    }

    #[test]
    fn files_are_below_the_endpoint() {
        let name = HubName::parse("o/m/a b.zt").unwrap();
        for (endpoint, url) in [
            ("http://h:81", "http://h:81/o/m/resolve/main/a%20b.zt"),
            ("http://h/", "http://h/o/m/resolve/main/a%20b.zt"),
            ("http://h/mirror//", "http://h/mirror/o/m/resolve/main/a%20b.zt"),
        ] {
            let access = HubAccess::new(endpoint, None).unwrap();
            assert_eq!(access.url(&name, None).unwrap().as_str(), url);
        }
        let usual = HubAccess::default().url(&name, None);
        if cfg!(feature = "tls") {
            let url = usual.unwrap();
            assert_eq!(url.as_str(), "https://huggingface.co/o/m/resolve/main/a%20b.zt");
        } else {
            assert!(matches!(usual, Err(RemoteError::Name(NameError::NoTls))));
        }
    }
}

//! Files that are read over the network, where that was built in: the feature `remote`.
//!
//! The process that talks to a server looks at no byte of the file, and the process that looks at them talks
//! to no server: it is confined, and asks for ranges over a socket that it was started with.

#[cfg(not(feature = "remote"))]
mod absent;
#[cfg(all(feature = "remote", not(target_os = "linux")))]
mod direct;
#[cfg(all(feature = "remote", target_os = "linux"))]
mod fetcher;
#[cfg(all(feature = "remote", target_os = "linux"))]
mod piped;
#[cfg(feature = "remote")]
mod settings;
#[cfg(all(feature = "remote", target_os = "linux"))]
mod wire;

use std::borrow::Cow;
use std::path::Path;

#[cfg(not(feature = "remote"))]
pub(crate) use absent::Remote;
#[cfg(all(feature = "remote", not(target_os = "linux")))]
pub(crate) use direct::Remote;
#[cfg(all(feature = "remote", target_os = "linux"))]
pub(crate) use fetcher::run;
#[cfg(all(feature = "remote", target_os = "linux"))]
pub(crate) use piped::Remote;
#[cfg(feature = "remote")]
pub(crate) use settings::{Settings, decide};

/// Whether a name is one of a file that is read over the network.
pub(crate) fn is_remote(path: &Path) -> bool {
    let schemes = ["http://", "https://", "s3://"];
    path.to_str().is_some_and(|text| schemes.iter().any(|scheme| text.starts_with(scheme)))
}

/// A name as it is shown: of a URL without user, password and query, which may be secrets.
pub(crate) fn shown(path: &Path) -> Cow<'_, Path> {
    let Some(text) = path.to_str().filter(|_| is_remote(path)) else { return path.into() };
    let Some((scheme, rest)) = text.split_once("://").filter(|(scheme, _)| *scheme != "s3") else {
        return path.into();
    };
    let (before, after) = match rest.split_once(['?', '#']) {
        Some((before, _)) => (before, "?..."),
        None => (rest, ""),
    };
    let (authority, path) = before.split_at(before.find('/').unwrap_or(before.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    Path::new(&format!("{scheme}://{host}{path}{after}")).to_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_without_secrets() {
        for (name, expected) in [
            ("https://h/a?X-Sig=secret", "https://h/a?..."),
            ("http://user:secret@h:1/a@b", "http://h:1/a@b"),
            ("http://h/a#secret", "http://h/a?..."),
            ("http://a@b@h", "http://h"),
            ("s3://bucket/a?b", "s3://bucket/a?b"),
            ("folder/http://u@h?x", "folder/http://u@h?x"),
        ] {
            assert_eq!(shown(name.as_ref()), Path::new(expected));
        }
    }
}

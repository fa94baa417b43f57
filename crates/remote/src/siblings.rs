//! Sibling files of a remote file: its shards, or the files of an index. They are in the folder of the file, or in folders
//! below.

use url::Url;
use zten::shards::{ShardPath, Want, stem};

use crate::error::RemoteError;
use crate::name::{Location, RemoteName, encoded};
use crate::object::RemoteObject;

impl RemoteName {
    /// Returns whether names of sibling files can be derived from this name. Returns false for a URL with a query, which may be a
    /// signature that is valid for this file only.
    fn has_neighbors(&self) -> bool {
        match &self.0 {
            Location::S3 { .. } | Location::Hub(_) => true,
            Location::Http(url) => url.query().is_none(),
        }
    }

    /// Returns the name of the sibling file at `place`, with the scheme and the server, bucket, or repository and
    /// revision of this name. Returns `None` if the name has no siblings, or `place` would lead out of the folder.
    pub(crate) fn at(&self, place: &ShardPath<'_>) -> Option<Self> {
        let text = match &self.0 {
            Location::S3 { bucket, key } => {
                beside(key, place).map(|key| format!("s3://{bucket}/{key}"))
            }
            Location::Hub(name) => beside(name.path(), place).map(|path| name.beside(&path)),
            Location::Http(url) if self.has_neighbors() => http(url, place).map(String::from),
            Location::Http(_) => None,
        };
        Self::parse(&text?).ok()
    }
}

/// Returns the path of a sibling file of the file `path`: `place` says where the sibling file is, relative to the folder and the
/// name of that file. Neither path is percent-encoded. Returns `None` if `path` ends in a slash, so that it has no file name.
fn beside(path: &str, place: &ShardPath<'_>) -> Option<String> {
    let (folder, own) = folder(path);
    let below = match place {
        ShardPath::Sibling(end) => format!("{}{end}", stem(own)),
        ShardPath::Below(steps) => steps.join("/"),
    };
    (!own.is_empty()).then(|| format!("{folder}{below}"))
}

/// Returns the URL of the sibling file whose place relative to the file at `url` is `place`. Returns `None` if `url` ends in a
/// slash, or if a part of the place has a special meaning in URLs, such as `..`.
fn http(url: &Url, place: &ShardPath<'_>) -> Option<Url> {
    let (folder, own) = folder(url.path());
    if own.is_empty() {
        return None;
    }
    let below = match place {
        ShardPath::Sibling(end) => {
            // A server decodes `%2E` to a dot, so it must count as a dot where the stem of the file name ends.
            let own = own.replace("%2E", ".").replace("%2e", ".");
            format!("{}{}", stem(&own), encoded(end))
        }
        ShardPath::Below(steps) => {
            steps.iter().map(|step| encoded(step)).collect::<Vec<_>>().join("/")
        }
    };
    let path = format!("{folder}{below}");
    let mut found = url.clone();
    found.set_path(&path);
    // If the URL parser changed the path, a part of it had a special meaning, such as `..`.
    (found.path() == path).then_some(found)
}

/// Splits a path after its last slash into the folder, with this slash, and the file name.
fn folder(path: &str) -> (&str, &str) {
    path.split_at(path.rfind('/').map_or(0, |slash| slash.saturating_add(1)))
}

impl RemoteObject {
    /// Opens the sibling file `want`, and fetches its last 64 KiB. Returns `None` if the server has no such file at any of
    /// the places where it may lie. The total time limit of this file applies.
    ///
    /// # Errors
    /// A request fails. If the server denies access at one place and the file is missing at the others, the error is
    /// [`RemoteError::Denied`], because some servers (S3) deny access to missing files.
    pub async fn find(&self, want: &Want) -> Result<Option<Self>, RemoteError> {
        let shared = &self.0;
        let mut denied = None;
        for place in want.paths() {
            let Some(name) = shared.transport.name().at(&place) else { continue };
            match Self::find_with(shared.transport.to(name), shared.times).await {
                Ok(found) => return Ok(Some(found)),
                Err(RemoteError::NotFound) => {}
                Err(error @ RemoteError::Denied(_)) => denied = denied.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        denied.map_or(Ok(None), Err)
    }
}

#[cfg(test)]
mod tests {
    use zten::shards::{Sibling, Wanted};

    use super::*;

    /// Returns the names at which the sibling file `want` of `root` is looked for.
    fn looked_for(root: &str, want: &Want) -> Vec<String> {
        let root = RemoteName::parse(root).unwrap();
        want.paths()
            .iter()
            .filter_map(|place| root.at(place))
            .map(|name| name.to_string())
            .collect()
    }

    #[test]
    fn shards_are_in_the_folder_of_the_file() {
        let shard = Want::Shard(Wanted::read("s.1 xxh3 00ff").unwrap());
        for (root, sibling, blobs) in [
            ("http://h:81/a/m.zt", "http://h:81/a/m-s.1.zt", "http://h:81/a/blobs/xxh3/00ff"),
            ("http://h/m.zt", "http://h/m-s.1.zt", "http://h/blobs/xxh3/00ff"),
            // The percent-encoding of the name is kept.
            (
                "http://h/a%2fb%20c/m%41%2Fm.zt",
                "http://h/a%2fb%20c/m%41%2Fm-s.1.zt",
                "http://h/a%2fb%20c/blobs/xxh3/00ff",
            ),
            ("http://h/a/m%2ezt", "http://h/a/m-s.1.zt", "http://h/a/blobs/xxh3/00ff"),
            ("http://h/%FF.zt", "http://h/%FF-s.1.zt", "http://h/blobs/xxh3/00ff"),
            ("http://h/a/../b/./m", "http://h/b/m-s.1.zt", "http://h/b/blobs/xxh3/00ff"),
            ("http://h/.zt", "http://h/.zt-s.1.zt", "http://h/blobs/xxh3/00ff"),
            ("s3://bucket/m.zt", "s3://bucket/m-s.1.zt", "s3://bucket/blobs/xxh3/00ff"),
            (
                "s3://bucket/a//b?#%2e/m.zt",
                "s3://bucket/a//b?#%2e/m-s.1.zt",
                "s3://bucket/a//b?#%2e/blobs/xxh3/00ff",
            ),
            ("hf://o/m/m.zt", "hf://o/m/m-s.1.zt", "hf://o/m/blobs/xxh3/00ff"),
            (
                "hf://datasets/o/m@a%2Fb/a @?#%2e/m.zt",
                "hf://datasets/o/m@a%2Fb/a @?#%2e/m-s.1.zt",
                "hf://datasets/o/m@a%2Fb/a @?#%2e/blobs/xxh3/00ff",
            ),
        ] {
            assert_eq!(looked_for(root, &shard), [sibling, blobs], "{root}");
        }
        // URLs without a file name, and URLs with a query, which may be a signature.
        for root in
            ["http://h/a/", "http://h", "s3://bucket/a/", "http://h/m.zt?", "http://h/m.zt?a=b"]
        {
            assert_eq!(looked_for(root, &shard), [""; 0], "{root}");
        }
    }

    #[test]
    fn names_in_an_index_are_encoded() {
        let sibling = |name: &str| Want::Sibling(Sibling::new(name).unwrap());
        for (name, path) in [
            ("m-1.safetensors", "m-1.safetensors"),
            ("a b?c#d%2e.safetensors", "a%20b%3Fc%23d%252e.safetensors"),
            ("%2e%2e.safetensors", "%252e%252e.safetensors"),
            ("a+b&(c);\u{e4}~_.safetensors", "a%2Bb%26%28c%29%3B%C3%A4~_.safetensors"),
        ] {
            let found = looked_for("http://h/a/m.safetensors.index.json", &sibling(name));
            assert_eq!(found, [format!("http://h/a/{path}")]);
            for folder in ["s3://bucket/a", "hf://o/m@v1/a"] {
                let index = format!("{folder}/m.safetensors.index.json");
                assert_eq!(looked_for(&index, &sibling(name)), [format!("{folder}/{name}")]);
            }
        }
    }

    #[test]
    fn no_place_is_outside_of_the_folder() {
        let root = |text| RemoteName::parse(text).unwrap();
        for steps in
            [&[".."][..], &["."], &["", ""], &["a/b"], &["..", "a"], &["%2e%2e"], &["\t.."]]
        {
            for root in
                [root("http://h/a/b/m.zt"), root("s3://bucket/a/b/m.zt"), root("hf://o/m/a/b/m.zt")]
            {
                let at = root.at(&ShardPath::Below(steps.to_vec())).map(|name| name.to_string());
                let is_below = |at: &String| at.contains("/a/b/") && !at.contains("/../");
                assert!(at.as_ref().is_none_or(is_below), "{steps:?}: {at:?}");
            }
        }
        for end in ["/../x", "?a", "#a", "/x", "\t/x", "\\x"] {
            let at = root("http://h/a/m.zt").at(&ShardPath::Sibling(end.to_owned()));
            let is_beside = |text: String| {
                text.strip_prefix("http://h/a/")
                    .is_some_and(|own| !own.contains(['/', '\\', '?', '#']))
            };
            assert!(at.is_none_or(|name| is_beside(name.to_string())), "{end}");
        }
    }
}

//! Serialization of paths in messages as bytes, because a path need not be UTF-8.

use std::path::{Path, PathBuf};

use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serde_bytes::Bytes::new(path.as_os_str().as_encoded_bytes()).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    let bytes = serde_bytes::ByteBuf::deserialize(deserializer)?.into_vec();
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt as _;
        Ok(std::ffi::OsString::from_vec(bytes).into())
    }
    #[cfg(not(unix))]
    String::from_utf8(bytes).map(PathBuf::from).map_err(serde::de::Error::custom)
}

/// Serialization of lists of paths as bytes, for `#[serde(with)]`, because a path need not be UTF-8.
pub(crate) mod list {
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize)]
    struct Shared<'a>(#[serde(with = "super")] &'a Path);

    #[derive(Deserialize)]
    struct Owned(#[serde(with = "super")] PathBuf);

    pub(crate) fn serialize<S: Serializer>(
        paths: &[PathBuf],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| Shared(path)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let paths = Vec::<Owned>::deserialize(deserializer)?;
        Ok(paths.into_iter().map(|Owned(path)| path).collect())
    }
}

/// Serialization of an optional path as a list of at most one path, for `#[serde(with)]`.
pub(crate) mod option {
    use std::path::PathBuf;

    use serde::{Deserializer, Serializer};

    use super::list;

    #[expect(clippy::ref_option, reason = "the form that serde calls")]
    pub(crate) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        list::serialize(path.as_slice(), serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Ok(list::deserialize(deserializer)?.pop())
    }
}

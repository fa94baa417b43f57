#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::expect_used,
        clippy::get_unwrap,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

mod error;
mod pieces;
mod request;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use zten::open::{Opening, Step, Wanted};
use zten::shards::{
    BoundShard, Candidate, Files, Find, Shard, ShardPath, Shards, Sibling, Want, stem, wanted,
};
use zten::{Archive, Component, Manifest, OpenOptions, Tensor};

pub use error::Error;
use pieces::Pieces;
use request::ObjectVersion;

/// The largest number of requests to the store that wait for an answer at the same time: for sibling files, or for ranges of an
/// object.
const PARALLEL: usize = 8;

/// The largest number of rounds in which a call of [`TensorObject::fetch`] reads the headers of shards, and fetches the bytes that
/// turned out to be missing. Reading the header of a valid shard takes two rounds, so more rounds than this are a defect.
const PASSES: usize = 8;

/// An open tensor file in an object store. Its header has been fetched and validated, and its tensors are fetched when they are
/// read.
#[derive(Debug)]
pub struct TensorObject {
    store: Arc<dyn ObjectStore>,
    object: ObjectVersion,
    /// The validated header of the file. This archive has no bytes of tensors, because each request fetches the bytes that it
    /// needs.
    archive: Archive<zten::InMemory<[u8; 0]>>,
    /// The sibling files that hold tensors of this file, each by the name that the header of this file gives it.
    siblings: HashMap<String, ObjectVersion>,
    /// The shards to which the store denies access, which some stores also do if an object does not exist: the first location of
    /// each shard at which access was denied, by its name in the header.
    denied: HashMap<String, String>,
}

impl TensorObject {
    /// Opens the file at `location` in `store`, which may have any format that zten reads. Fetches the header of the file and, if
    /// the file is an index (`*.index.json`) or the first file of a split GGUF model, the headers of the other files of the model.
    ///
    /// # Errors
    /// [`Error::Store`] if the store fails; [`Error::File`] if the header breaks a rule, is not supported or exceeds a limit;
    /// [`Error::Denied`] if the store denies access to a file that an index or a split model names. Access to a shard is needed
    /// only when its tensors are fetched. Or [`Error::Answer`] or [`Error::OutOfMemory`].
    pub async fn open(store: Arc<dyn ObjectStore>, location: Path) -> Result<Self, Error> {
        Self::open_with(store, location, &OpenOptions::default()).await
    }

    /// Opens a file as [`open`](Self::open) does, with the limits and tolerances of `options`.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub async fn open_with(
        store: Arc<dyn ObjectStore>,
        location: Path,
        options: &OpenOptions,
    ) -> Result<Self, Error> {
        let object = ObjectVersion::of_meta(store.head(&location).await?);
        let name = location.filename().unwrap_or_default().to_owned();
        let mut opening = Opening::new(name.as_str(), object.length(), options);
        let mut siblings = HashMap::new();
        let archive = loop {
            match opening.step()? {
                Step::Read(wanted) => {
                    let fetch = |wanted: Wanted| fetch_wanted(&store, &object, &siblings, wanted);
                    let requests: Vec<_> = wanted.into_iter().map(fetch).collect();
                    let mut answers = stream::iter(requests).buffered(PARALLEL);
                    while let Some((wanted, bytes)) = answers.try_next().await? {
                        opening.supply(&wanted, bytes)?;
                    }
                }
                Step::Open(names) => {
                    let look = |name: String| async {
                        // A name that leads out of the folder is no sibling file.
                        let found = match Sibling::new(&name).map(Want::Sibling) {
                            Some(want) => find(&store, &location, &want).await?,
                            None => None,
                        };
                        Ok::<_, Error>((name, found))
                    };
                    let requests: Vec<_> = names.into_iter().map(look).collect();
                    let found: Vec<_> =
                        stream::iter(requests).buffered(PARALLEL).try_collect().await?;
                    for (name, found) in found {
                        opening.opened(name.clone(), found.as_ref().map(ObjectVersion::length));
                        siblings.extend(found.map(|object| (name, object)));
                    }
                }
                Step::Done(archive) => break *archive,
            }
        };
        let beside = (&store, &location);
        let look = |want: Want| async move {
            let found = match find(beside.0, beside.1, &want).await {
                Ok(found) => Ok(found),
                // The file may be read without this shard, as without a shard that is missing.
                Err(Error::Denied { location }) => Err(location),
                Err(error) => return Err(error),
            };
            Ok::<_, Error>((want.name().to_owned(), found))
        };
        let wants = wanted(archive.manifest()).into_iter().map(Want::Shard);
        let requests: Vec<_> = wants.map(look).collect();
        let found: Vec<_> = stream::iter(requests).buffered(PARALLEL).try_collect().await?;
        let mut denied = HashMap::new();
        for (name, found) in found {
            match found {
                Ok(found) => siblings.extend(found.map(|object| (name, object))),
                Err(location) => {
                    denied.insert(name, location);
                }
            }
        }
        Ok(Self { store, object, archive, siblings, denied })
    }

    /// Returns the validated header: the names, shapes, dtypes and attributes of all tensors. Their content is not in it.
    pub fn manifest(&self) -> &Manifest<impl AsRef<[u8]>> {
        self.archive.manifest()
    }

    /// Returns the name of the file's format, such as `safetensors`, as in the JSON output of the command `zten`.
    pub fn format(&self) -> &'static str {
        self.archive.format()
    }

    /// Fetches the tensor `name`, calls `read` with the tensor, and returns the result: `|tensor| tensor.to_f32()` returns the
    /// elements.
    ///
    /// # Errors
    /// The errors of [`fetch`](Self::fetch) and of `read`.
    pub async fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(Tensor<'_>) -> Result<T, zten::Error>,
    ) -> Result<T, Error> {
        Ok(self.fetch([name]).await?.read(name, read)?)
    }

    /// Fetches the stored bytes of the tensors `names` in few requests: ranges that are close to each other are fetched by one
    /// request. A shard that has a digest is fetched as a whole if a component of one of these tensors lies in it and has no digest
    /// of its own, so that only the digest of the shard covers the component.
    ///
    /// # Errors
    /// [`Error::File`] if the file has no tensor of one of these names, or a shard is missing or differs from its digest;
    /// [`Error::TooLarge`] if a tensor, or a shard that is fetched as a whole, is stored in more bytes than the limit `decoded`
    /// allows; [`Error::Denied`] if the store denies access to a shard; [`Error::Store`] if the store fails; [`Error::Answer`];
    /// [`Error::OutOfMemory`].
    pub async fn fetch(
        &self,
        names: impl IntoIterator<Item: AsRef<str>>,
    ) -> Result<Fetched<'_>, Error> {
        let mut components = Vec::new();
        let most = self.archive.limits().decoded();
        for name in names {
            let tensor = self.archive.tensor(name.as_ref())?;
            let ranges = tensor.components().map(|component| component.read_range());
            let stored = ranges.map(|range| range.end.saturating_sub(range.start));
            let stored = stored.fold(0, u64::saturating_add);
            if stored > most {
                return Err(Error::TooLarge { name: tensor.name().to_owned(), stored, most });
            }
            components.extend(tensor.components());
        }
        let mut wanted: HashMap<Option<&str>, Vec<Range<u64>>> =
            HashMap::from([(None, Vec::new())]);
        // The names of the shards that have a digest. A component without its own digest is covered by the digest of such
        // a shard, so the whole shard is fetched to verify the component.
        let verified = self.manifest().shards().filter(|shard| shard.digest().is_some());
        let verified: HashSet<_> = verified.map(|shard| shard.name()).collect();
        for component in &components {
            let ranges = wanted.entry(component.shard()).or_default();
            ranges.push(component.read_range());
            let whole = component.shard().filter(|name| verified.contains(name));
            let whole = whole.filter(|_| component.digest().is_none());
            let Some((name, object)) = whole.and_then(|name| self.siblings.get_key_value(name))
            else {
                continue;
            };
            let stored = object.length();
            if stored > most {
                return Err(Error::TooLarge { name: name.clone(), stored, most });
            }
            ranges.push(0..stored);
        }
        let fetch = |(name, ranges): (Option<_>, Vec<Range<u64>>)| async move {
            let object = name.map_or(Some(&self.object), |name: &str| self.siblings.get(name));
            let pieces = match (object, name.and_then(|name| self.denied.get(name))) {
                (Some(object), _) => Some(object.pieces(&*self.store, ranges).await?),
                (None, Some(location)) => {
                    return Err(Error::Denied { location: location.clone() });
                }
                // The error about a missing shard comes from reading the tensor.
                (None, None) => None,
            };
            Ok::<_, Error>((name, pieces))
        };
        let requests: Vec<_> = wanted.into_iter().map(fetch).collect();
        let found: Vec<_> = stream::iter(requests).buffered(PARALLEL).try_collect().await?;
        let mut found: HashMap<_, _> =
            found.into_iter().filter_map(|(name, pieces)| Some((name, pieces?))).collect();
        let root = found.remove(&None).unwrap_or_default();
        let shards =
            found.into_iter().filter_map(|(name, pieces)| Some((name?.to_owned(), pieces)));
        let mut shards: HashMap<String, Pieces> = shards.collect();
        for _ in 0..PASSES {
            let bound = self.bind(&shards, &components);
            let mut is_complete = true;
            for (name, pieces) in &mut shards {
                let missing = pieces.take_missing();
                let Some(object) = self.siblings.get(name).filter(|_| !missing.is_empty()) else {
                    continue;
                };
                is_complete = false;
                pieces.add(object.pieces(&*self.store, missing).await?);
            }
            if is_complete {
                return Ok(Fetched { file: self, root, shards: bound? });
            }
        }
        Err(Error::Unread)
    }

    /// Opens the shards of which bytes are in `found`, by the names of the shards. If one of `components` has no digest of its own,
    /// verifies the digest of the whole shard that holds this component.
    fn bind(
        &self,
        found: &HashMap<String, Pieces>,
        components: &[Component<'_>],
    ) -> Result<Shards<'_, Pieces>, zten::Error> {
        if found.is_empty() {
            return Ok(Shards::default());
        }
        let mut shards = self.manifest().bind_shards(&FetchedShards { file: self, found })?;
        shards.verify_for(components.iter().copied())?;
        Ok(shards)
    }
}

/// Fetches the bytes of `wanted`, a range of the main file `object` or of one of its `siblings`, and returns them together with
/// `wanted`.
async fn fetch_wanted(
    store: &Arc<dyn ObjectStore>,
    object: &ObjectVersion,
    siblings: &HashMap<String, ObjectVersion>,
    wanted: Wanted,
) -> Result<(Wanted, Vec<u8>), Error> {
    let own = wanted.file.as_ref().map_or(Some(object), |name| siblings.get(name));
    let bytes = own.ok_or(Error::Unread)?.fetch(&**store, wanted.range.clone()).await?;
    Ok((wanted, bytes.into()))
}

/// Looks for the sibling file or shard `want` of the file at `location`, at each place where it may be. Returns the version of the
/// object that was found, or `None` if no such object exists.
///
/// # Errors
/// [`Error::Denied`] if the store denies access at one place and the object is at none of the others; [`Error::Store`].
async fn find(
    store: &Arc<dyn ObjectStore>,
    location: &Path,
    want: &Want,
) -> Result<Option<ObjectVersion>, Error> {
    let folder = location.parent().unwrap_or_default();
    let mut denied = None;
    for place in want.paths() {
        let path = match place {
            ShardPath::Sibling(end) => {
                let stem = stem(location.filename().unwrap_or_default());
                folder.clone().join(format!("{stem}{end}"))
            }
            ShardPath::Below(steps) => steps.into_iter().fold(folder.clone(), Path::join),
        };
        match store.head(&path).await {
            Ok(meta) => return Ok(Some(ObjectVersion::of_meta(meta))),
            Err(object_store::Error::NotFound { .. }) => {}
            // If the user may not list the bucket, S3 also denies access to objects that do not exist. So the object may
            // still be at the next place.
            Err(
                object_store::Error::PermissionDenied { .. }
                | object_store::Error::Unauthenticated { .. },
            ) => denied = denied.or_else(|| Some(path.to_string())),
            Err(error) => return Err(error.into()),
        }
    }
    match denied {
        Some(location) => Err(Error::Denied { location }),
        None => Ok(None),
    }
}

/// The shards of a file of which bytes were fetched, as the library asks for them by name.
struct FetchedShards<'a> {
    file: &'a TensorObject,
    /// The fetched bytes of each shard, by the name of the shard.
    found: &'a HashMap<String, Pieces>,
}

impl Find for FetchedShards<'_> {
    type Source = Pieces;

    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<Pieces>>, zten::Error> {
        let both = self.found.get(shard.name()).zip(self.file.siblings.get(shard.name()));
        Ok(both
            .map(|(pieces, object)| Candidate { source: pieces.clone(), length: object.length() }))
    }
}

/// The stored bytes of tensors that [`TensorObject::fetch`] has fetched, from which these tensors can be read.
#[derive(Debug)]
pub struct Fetched<'a> {
    file: &'a TensorObject,
    root: Pieces,
    shards: Shards<'a, Pieces>,
}

impl Fetched<'_> {
    /// Calls `read` with the tensor `name`, whose bytes are in memory, and returns the result. The methods of the tensor that
    /// `read` calls decode and verify it, as they do for a file on disk.
    ///
    /// # Errors
    /// The errors of `read`; the file has no tensor of this name; or the tensor was not fetched.
    pub fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(Tensor<'_>) -> Result<T, zten::Error>,
    ) -> Result<T, zten::Error> {
        let files = Files { root: &self.root, shards: &self.shards };
        read(self.file.archive.tensor(name)?.read_from(&files))
    }

    /// Returns the number of bytes that were fetched from the file itself and from its shards, including the bytes between two
    /// ranges that were fetched by one request.
    pub fn bytes(&self) -> u64 {
        let shards = self.shards.bound().iter().map(BoundShard::source);
        let all = std::iter::once(&self.root).chain(shards);
        all.map(Pieces::bytes).fold(0, u64::saturating_add)
    }
}

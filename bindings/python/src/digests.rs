//! Lists of digests that the content of a file has to have.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use sha2::{Digest as _, Sha256};
use zten::num::u64_from_usize;
use zten::{Component, Error, Manifest, Tensor};
use zten_report::digests::{self, Difference, Digests, Entry, Mismatch};

use crate::error::Failure;
use crate::interrupt::Cancel;

/// Bytes that are hashed between two looks at whether the work is to end.
const PIECE: usize = 1 << 20;

/// A list, as Python gives it: its text, digests by name, or the path of a file.
#[derive(FromPyObject)]
pub(crate) enum GivenList {
    Text(PyBackedBytes),
    Names(HashMap<String, GivenSums>),
    Path(PathBuf),
}

/// The digest of a tensor that has one component, or digests by role.
#[derive(FromPyObject)]
pub(crate) enum GivenSums {
    One(String),
    Roles(HashMap<String, String>),
}

/// The list that the content of a file is compared with.
pub(crate) struct Enforced {
    list: Digests,
    /// The tensors that have been found to have their digests, of which parts may be read.
    verified: Mutex<HashSet<u32>>,
}

impl Enforced {
    /// Reads the list for a file, of at most as many bytes as a manifest may have.
    pub(crate) fn new(
        py: Python<'_>,
        given: GivenList,
        manifest: &Manifest<impl AsRef<[u8]>>,
    ) -> PyResult<Self> {
        let most = manifest.limits().manifest();
        let parse = |text: &[u8]| {
            if u64_from_usize(text.len()) > most {
                let length = text.len();
                return Err(PyValueError::new_err(format!(
                    "list of digests of {length} bytes or more exceeds the limit manifest of {most} bytes"
                )));
            }
            Digests::parse(text).map_err(PyValueError::new_err)
        };
        let list = match given {
            GivenList::Text(text) => parse(&text)?,
            GivenList::Path(path) => {
                let read = || -> io::Result<Vec<u8>> {
                    let mut text = Vec::new();
                    let (file, _) = zten::source::open_regular(&path)?;
                    file.take(most.saturating_add(1)).read_to_end(&mut text)?;
                    Ok(text)
                };
                parse(&py.detach(read).map_err(|error| Failure::from(error).at(py, Some(&path)))?)?
            }
            GivenList::Names(names) => {
                let mut entries = Vec::new();
                for (name, sums) in names {
                    sums.add_to(&mut entries, name, manifest)?;
                }
                Digests::new(entries).map_err(PyValueError::new_err)?
            }
        };
        Ok(Self { list, verified: Mutex::default() })
    }

    /// Finds a component that is listed and not in the file, all of whose components are listed.
    pub(crate) fn compare_names(&self, manifest: &Manifest<impl AsRef<[u8]>>) -> Result<(), Error> {
        let components = manifest.tensors().flat_map(|tensor| {
            tensor.components().map(move |component| (tensor.name(), component.role()))
        });
        let names: HashSet<_> = components.collect();
        let missing = self.list.entries().iter().find(|entry| !names.contains(&entry.key()));
        mismatch(missing.map(|entry| (Difference::Missing, entry)))
    }

    /// Compares one component, all of whose decoded bytes these are.
    pub(crate) fn compare(
        &self,
        component: &Component<'_>,
        bytes: &[u8],
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let mut sum = Sha256::new();
        for piece in bytes.chunks(PIECE) {
            cancel.check()?;
            sum.update(piece);
        }
        self.compare_entry(&entry(component, u64_from_usize(bytes.len()), sum))
    }

    fn compare_entry(&self, entry: &Entry<'_>) -> Result<(), Error> {
        mismatch(self.list.compare(entry).map(|difference| (difference, entry)))
    }

    /// Returns whether a tensor has been compared.
    pub(crate) fn has_verified(&self, ordinal: u32) -> bool {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner).contains(&ordinal)
    }

    fn note_verified(&self, ordinal: u32) {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner).insert(ordinal);
    }
}

fn mismatch(found: Option<(Difference, &Entry<'_>)>) -> Result<(), Error> {
    match found {
        Some((difference, entry)) => Err(Mismatch::new(difference, entry).into()),
        None => Ok(()),
    }
}

impl GivenSums {
    /// Adds the entries of a tensor: of one digest, with the role of its only component.
    fn add_to(
        self,
        entries: &mut Vec<Entry<'static>>,
        name: String,
        manifest: &Manifest<impl AsRef<[u8]>>,
    ) -> PyResult<()> {
        let sums = match self {
            Self::Roles(sums) => sums,
            Self::One(sum) => {
                let tensor = manifest.get(&name);
                let mut roles = tensor.iter().flat_map(Tensor::components);
                let role = roles.next().map_or("data", |component| component.role());
                if roles.next().is_some() {
                    return Err(PyValueError::new_err(format!(
                        "{name:?} has several components, expected a mapping of roles to digests"
                    )));
                }
                HashMap::from([(role.to_owned(), sum)])
            }
        };
        for (role, sum) in sums {
            let sha256 = digests::parse_sha256(&sum).ok_or_else(|| {
                PyValueError::new_err(format!(
                    "invalid SHA-256 {sum:?} of {name:?}: expected 64 digits in lower case"
                ))
            })?;
            let (name, role) = (name.clone().into(), role.into());
            let (kind, bytes, sha256) = ("".into(), None, Some(sha256));
            entries.push(Entry { name, role, kind, bytes, sha256 });
        }
        Ok(())
    }
}

fn entry<'a>(component: &Component<'a>, bytes: u64, sum: Sha256) -> Entry<'a> {
    let tensor = component.tensor();
    Entry {
        name: tensor.name().into(),
        role: component.role().into(),
        kind: digests::kind(&tensor, component).into(),
        bytes: Some(bytes),
        sha256: Some(sum.finalize().into()),
    }
}

/// The sums of the components of one tensor, as they are read.
pub(crate) struct Sums<'a> {
    components: Vec<(Component<'a>, u64, Sha256)>,
}

impl<'a> Sums<'a> {
    /// Returns the sums of a tensor of which nothing is read.
    pub(crate) fn new(tensor: &Tensor<'a>) -> Self {
        let components = tensor.components().map(|component| (component, 0, Sha256::new()));
        Self { components: components.collect() }
    }

    /// Adds a chunk of a component.
    pub(crate) fn update(&mut self, component: &Component<'_>, chunk: &[u8]) {
        let place = component.location().component().and_then(|place| usize::try_from(place).ok());
        if let Some((_, bytes, sum)) = place.and_then(|place| self.components.get_mut(place)) {
            *bytes = bytes.saturating_add(u64_from_usize(chunk.len()));
            sum.update(chunk);
        }
    }

    /// Compares the whole tensor, all of which has been read.
    pub(crate) fn compare(self, list: &Enforced) -> Result<(), Error> {
        let Some((first, ..)) = self.components.first() else { return Ok(()) };
        let ordinal = first.tensor().ordinal();
        let mut entries = self
            .components
            .into_iter()
            .map(|(component, bytes, sum)| entry(&component, bytes, sum));
        entries.try_for_each(|entry| list.compare_entry(&entry))?;
        list.note_verified(ordinal);
        Ok(())
    }
}

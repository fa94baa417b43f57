//! Compares the content of a file with a list of digests that the caller gave.

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
use zten_report::digests::{self, Difference, DigestLine, Digests, Mismatch};

use crate::error::CallFailure;
use crate::interrupt::Cancel;

/// The number of bytes that are hashed before it is checked again whether the call was cancelled.
const PIECE: usize = 1 << 20;

/// A list of digests, as Python passes it: its text, digests by the names of tensors, or the path of a file.
#[derive(FromPyObject)]
pub(crate) enum GivenList {
    Text(PyBackedBytes),
    Names(HashMap<String, GivenSums>),
    Path(PathBuf),
}

/// The digests that Python passes for a tensor: one for a tensor with one component, or one for each component, by role.
#[derive(FromPyObject)]
pub(crate) enum GivenSums {
    One(String),
    Roles(HashMap<String, String>),
}

/// The list of digests that the caller requires, with which the content of a file is compared when it is read.
pub(crate) struct Enforced {
    list: Digests,
    /// The ordinals of the tensors whose digests have been compared. A part of such a tensor is read without reading the whole
    /// tensor again.
    verified: Mutex<HashSet<u32>>,
}

impl Enforced {
    /// Reads and parses the list of digests `given`, with which the file of `manifest` will be compared.
    ///
    /// # Errors
    /// A `ValueError` if the list is invalid, or longer than the limit `manifest` that the file was opened with; an `OSError` if
    /// the list is a path that cannot be read.
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
                    "the list of digests of {length} bytes or more exceeds the limit manifest of {most} bytes"
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
                parse(
                    &py.detach(read)
                        .map_err(|error| CallFailure::from(error).at(py, Some(&path)))?,
                )?
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

    /// Checks that the file of `manifest` has each component that the list of digests names. A component of the file that the
    /// list does not name is found by [`compare`](Self::compare) instead. Fails with [`Mismatch`] for the first component in
    /// the list that the file lacks.
    pub(crate) fn compare_names(&self, manifest: &Manifest<impl AsRef<[u8]>>) -> Result<(), Error> {
        let components = manifest.tensors().flat_map(|tensor| {
            tensor.components().map(move |component| (tensor.name(), component.role()))
        });
        let names: HashSet<_> = components.collect();
        let missing = self.list.entries().iter().find(|entry| !names.contains(&entry.key()));
        mismatch(missing.map(|entry| (Difference::Missing, entry)))
    }

    /// Computes the digest of `bytes`, all decoded bytes of `component`, and compares it with the digest in the list.
    ///
    /// # Errors
    /// [`Mismatch`] if the digests differ, or the list does not name the component; [`io::ErrorKind::Interrupted`] if `cancel` is
    /// set.
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

    /// Compares `entry`, whose digest was computed from the content of a component, with the entry of this component in the list.
    ///
    /// # Errors
    /// [`Mismatch`] if the entries differ, or the list does not name the component.
    fn compare_entry(&self, entry: &DigestLine<'_>) -> Result<(), Error> {
        mismatch(self.list.compare(entry).map(|difference| (difference, entry)))
    }

    /// Returns whether all components of tensor `ordinal` have been compared with the list, and agreed with it.
    pub(crate) fn has_verified(&self, ordinal: u32) -> bool {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner).contains(&ordinal)
    }

    /// Records that all components of tensor `ordinal` agree with the list, so that they are not compared again.
    fn note_verified(&self, ordinal: u32) {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner).insert(ordinal);
    }
}

/// Fails with a [`Mismatch`] if `found` has a difference between a component and the list; `None` means that they agree.
fn mismatch(found: Option<(Difference, &DigestLine<'_>)>) -> Result<(), Error> {
    match found {
        Some((difference, entry)) => Err(Mismatch::new(difference, entry).into()),
        None => Ok(()),
    }
}

impl GivenSums {
    /// Appends an entry for each of these digests, which are those of the tensor `name`, to `entries`. A digest without a role is
    /// that of the tensor's only component, whose role is looked up in `manifest`.
    ///
    /// # Errors
    /// A `ValueError` for a digest without a role if the tensor has several components, and for text that is not a SHA-256.
    fn add_to(
        self,
        entries: &mut Vec<DigestLine<'static>>,
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
                        "the tensor {name:?} has several components, expected a mapping of roles to digests"
                    )));
                }
                HashMap::from([(role.to_owned(), sum)])
            }
        };
        for (role, sum) in sums {
            let sha256 = digests::parse_sha256(&sum).ok_or_else(|| {
                PyValueError::new_err(format!(
                    "invalid SHA-256 {sum:?} of the tensor {name:?}: expected 64 hexadecimal digits in lower case"
                ))
            })?;
            let (name, role) = (name.clone().into(), role.into());
            let (kind, bytes, sha256) = ("".into(), None, Some(sha256));
            entries.push(DigestLine { name, role, kind, bytes, sha256 });
        }
        Ok(())
    }
}

/// Makes the entry of `component` in a list of digests. `bytes` is the number of its decoded bytes, and `sum` the running hash of
/// all of them.
fn entry<'a>(component: &Component<'a>, bytes: u64, sum: Sha256) -> DigestLine<'a> {
    let tensor = component.tensor();
    DigestLine {
        name: tensor.name().into(),
        role: component.role().into(),
        kind: digests::kind(&tensor, component).into(),
        bytes: Some(bytes),
        sha256: Some(sum.finalize().into()),
    }
}

/// The running hashes of the components of one tensor.
pub(crate) struct Sums<'a> {
    /// Each component with the number of its decoded bytes that have been hashed, and their running hash.
    components: Vec<(Component<'a>, u64, Sha256)>,
}

impl<'a> Sums<'a> {
    /// Creates an empty running hash for each component of `tensor`.
    pub(crate) fn new(tensor: &Tensor<'a>) -> Self {
        let components = tensor.components().map(|component| (component, 0, Sha256::new()));
        Self { components: components.collect() }
    }

    /// Adds `chunk`, the next decoded bytes of `component`, to the running hash of this component.
    pub(crate) fn update(&mut self, component: &Component<'_>, chunk: &[u8]) {
        let place = component.location().component().and_then(|place| usize::try_from(place).ok());
        if let Some((_, bytes, sum)) = place.and_then(|place| self.components.get_mut(place)) {
            *bytes = bytes.saturating_add(u64_from_usize(chunk.len()));
            sum.update(chunk);
        }
    }

    /// Compares the digests of all components of the tensor with `list`, after all bytes of the tensor were passed to
    /// [`update`](Self::update). If they agree, `list` records that the tensor has been verified.
    ///
    /// # Errors
    /// [`Mismatch`] for the first component whose digest differs, or which the list does not name.
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

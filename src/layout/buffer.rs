//! Decoded components in memory: raw, compressed and big-endian data all become the same.

use alloc::vec::Vec;
use core::ops::Deref;

use zerocopy::{FromBytes, FromZeros as _, Immutable, IntoBytes, KnownLayout};

use super::view::{Kind, View};
use crate::codec::{Verified, grow};
use crate::debug_summary::Bytes;
use crate::error::{BareError, Location, OutOfMemory};

/// All of a component, decoded and verified: little-endian elements in memory of its own,
/// aligned to 64 bytes. It derefs to its bytes.
///
/// Having one shows that compression, decoded size and bools are valid, and that the digest, if
/// [`verified`](Self::verified) says so, is the one that the manifest gives.
///
/// ```
/// # #[cfg(feature = "zstd")] {
/// let archive = zten::open("corpus/accept/1.2.3/zstd.zt")?;
/// # let object = archive.tensors().find(|object| {
/// #     object.component("data").unwrap().element_type().name() == "f32"
/// # }).unwrap();
/// let decoded = object.dense()?.read()?;
/// if cfg!(target_endian = "little") {
///     let weights: &[f32] = decoded.view().as_slice()?;
///     assert_eq!(weights.len() * 4, decoded.len());
/// }
/// # }
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Debug)]
pub struct Decoded {
    lines: Lines,
    kind: Kind,
    verified: Verified,
}

impl Decoded {
    pub(super) fn new(lines: Lines, kind: Kind, verified: Verified) -> Self {
        Self { lines, kind, verified }
    }

    /// The elements.
    pub fn view(&self) -> View<'_> {
        View::new(self, self.kind, Some(self.verified))
    }

    /// The result for its digest of reading the component.
    pub fn verified(&self) -> Verified {
        self.verified
    }
}

impl Deref for Decoded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.lines.bytes()
    }
}

/// The content of a component: borrowed where it lies, or decoded. It derefs to its bytes.
#[derive(Debug)]
pub enum Data<'a> {
    /// The bytes where they lie raw in memory. They have not been read, and their digest not been compared.
    Borrowed(View<'a>),
    /// A copy in memory of its own.
    Decoded(Decoded),
}

impl Data<'_> {
    /// The elements.
    pub fn view(&self) -> View<'_> {
        match self {
            Self::Borrowed(view) => *view,
            Self::Decoded(decoded) => decoded.view(),
        }
    }
}

impl Deref for Data<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(view) => view.as_bytes(),
            Self::Decoded(decoded) => decoded,
        }
    }
}

/// The bytes of one alignment.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

/// The alignment of blobs in a file: v1.1 I.2, v1.2 §4. Wide enough for every vector unit.
const LINE: usize = 64;

/// Bytes in whole lines, the last of which is filled with zeros.
#[derive(Default)]
pub(super) struct Lines {
    lines: Vec<Line>,
    length: usize,
}

impl core::fmt::Debug for Lines {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        Bytes(self.bytes()).fmt(f)
    }
}

impl Lines {
    /// The bytes, of which there are no more than in the lines.
    fn bytes(&self) -> &[u8] {
        let lines = self.lines.as_slice().as_bytes();
        lines.get(..self.length).unwrap_or(lines)
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Returns `length` zeros, which the system makes when they are first touched.
    pub(super) fn zeros(length: usize) -> Result<Self, OutOfMemory> {
        let lines = Line::new_vec_zeroed(length.div_ceil(LINE)).map_err(|_| OutOfMemory)?;
        Ok(Self { lines, length })
    }

    /// The bytes, to be written.
    pub(super) fn as_mut(&mut self) -> &mut [u8] {
        let bytes = self.lines.as_mut_slice().as_mut_bytes();
        let length = self.length.min(bytes.len());
        bytes.split_at_mut(length).0
    }

    /// Makes room for so many bytes in all.
    pub(super) fn reserve(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        grow(&mut self.lines, bytes.div_ceil(LINE), usize::MAX)
    }

    /// Room for `more` bytes behind what is there, which is not part of it until it is [added](Self::add). Memory
    /// doubles as bytes come, and stops at `most` in all.
    pub(super) fn room(&mut self, more: usize, most: usize) -> Result<&mut [u8], OutOfMemory> {
        let end = self.length.checked_add(more).ok_or(OutOfMemory)?;
        let needed = end.div_ceil(LINE);
        grow(&mut self.lines, needed, most.div_ceil(LINE))?;
        self.lines.resize(needed, Line([0; LINE]));
        self.lines.as_mut_slice().as_mut_bytes().get_mut(self.length..end).ok_or(OutOfMemory)
    }

    /// Makes so many bytes of the room part of it.
    pub(super) fn add(&mut self, bytes: usize) {
        self.length = self.length.saturating_add(bytes);
    }
}

/// An empty list with room for so many items of what is at `place`.
pub(super) fn with_room<T>(count: usize, location: Location) -> Result<Vec<T>, BareError> {
    let mut items = Vec::new();
    let reserved = items.try_reserve_exact(count);
    reserved.map_err(|_| BareError::from(OutOfMemory).at(location))?;
    Ok(items)
}

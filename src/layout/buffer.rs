//! Decoded components in memory, which look alike whether they were raw, compressed or big-endian.

use alloc::vec::Vec;
use core::ops::Deref;

use zerocopy::{FromBytes, FromZeros as _, Immutable, IntoBytes, KnownLayout};

use super::view::{View, ViewType};
use crate::codec::grow;
use crate::debug_summary::Bytes;
use crate::digest::Verified;
use crate::error::{BareError, Location, OutOfMemory};

/// All of a component, decoded and verified: little-endian elements in owned memory, aligned to 64 bytes. Dereferences
/// to the bytes.
///
/// A `Decoded` proves that compression, decoded size and bools are valid, and, if [`verified`](Self::verified) says so,
/// that the digest matches the manifest.
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
    kind: ViewType,
    verified: Verified,
}

impl Decoded {
    pub(super) fn new(lines: Lines, kind: ViewType, verified: Verified) -> Self {
        Self { lines, kind, verified }
    }

    /// Returns the elements.
    pub fn view(&self) -> View<'_> {
        View::new(self, self.kind, Some(self.verified))
    }

    /// Returns the outcome of verifying the digest of the component: it is right, the file gives none, or zten cannot verify it. A
    /// digest that differs is an error of reading the component.
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

/// The content of a component: borrowed from memory, or decoded. Dereferences to the bytes.
#[derive(Debug)]
pub(super) enum Data<'a> {
    /// Raw bytes in memory, which have not been read, and whose digest has not been compared.
    Borrowed(View<'a>),
    /// A decoded and verified copy.
    Decoded(Decoded),
}

impl Data<'_> {
    /// Returns the elements.
    pub(super) fn view(&self) -> View<'_> {
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

/// A block of 64 bytes, aligned to 64 bytes.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

/// The size of a [`Line`] and its alignment in memory, in bytes: that of blobs in files of 1.x (v1.1 I.2, v1.2 §4), which is wide
/// enough for every vector unit.
const LINE: usize = 64;

/// Bytes in aligned lines. The rest of the last line is zero.
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
    /// Returns the bytes. `length` is at most the size of all lines.
    fn bytes(&self) -> &[u8] {
        let lines = self.lines.as_slice().as_bytes();
        lines.get(..self.length).unwrap_or(lines)
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Creates `length` zero bytes. The system provides the memory only when it is first touched.
    pub(super) fn zeros(length: usize) -> Result<Self, OutOfMemory> {
        let lines = Line::new_vec_zeroed(length.div_ceil(LINE)).map_err(|_| OutOfMemory)?;
        Ok(Self { lines, length })
    }

    /// Returns the bytes for writing.
    pub(super) fn as_mut(&mut self) -> &mut [u8] {
        let bytes = self.lines.as_mut_slice().as_mut_bytes();
        let length = self.length.min(bytes.len());
        bytes.split_at_mut(length).0
    }

    /// Reserves room for `bytes` bytes in all.
    pub(super) fn reserve(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        grow(&mut self.lines, bytes.div_ceil(LINE), usize::MAX)
    }

    /// Returns room for `more` bytes after the current bytes. The room is not part of the bytes until it is
    /// [added](Self::add). Capacity doubles as bytes come, up to `most` bytes in all.
    pub(super) fn room(&mut self, more: usize, most: usize) -> Result<&mut [u8], OutOfMemory> {
        let end = self.length.checked_add(more).ok_or(OutOfMemory)?;
        let needed = end.div_ceil(LINE);
        grow(&mut self.lines, needed, most.div_ceil(LINE))?;
        self.lines.resize(needed, Line([0; LINE]));
        self.lines.as_mut_slice().as_mut_bytes().get_mut(self.length..end).ok_or(OutOfMemory)
    }

    /// Adds the first `bytes` bytes of the room to the bytes.
    pub(super) fn add(&mut self, bytes: usize) {
        self.length = self.length.saturating_add(bytes);
    }
}

/// Creates an empty list with room for `count` items. The error is at `location`.
pub(super) fn with_room<T>(count: usize, location: Location) -> Result<Vec<T>, BareError> {
    let mut items = Vec::new();
    let reserved = items.try_reserve_exact(count);
    reserved.map_err(|_| BareError::from(OutOfMemory).at(location))?;
    Ok(items)
}

//! Decoded components in memory: raw, compressed and big-endian data all become the same.

use alloc::vec::Vec;
use core::ops::Deref;

#[cfg(all(feature = "zstd", feature = "std"))]
use zerocopy::FromZeros as _;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::View;
use super::view::Kind;
use crate::brief::Bytes;
#[cfg(feature = "std")]
use crate::codec::Idle;
use crate::codec::{Content, ReadAt, ReadError, Verified};
use crate::element::ByteOrder;
use crate::error::{Error, Misuse, OutOfMemory};
use crate::format::Encoding;
use crate::limits::Limits;
use crate::manifest::Component;
use crate::num::u64_from_usize;

/// All of a component, decoded and verified: little-endian elements in memory of its own,
/// aligned to 64 bytes. It derefs to its bytes.
///
/// Having one shows that compression, decoded size and bools are valid, and that the digest, if
/// [`verified`](Self::verified) says so, is the one that the manifest gives.
///
/// ```
/// # let file = std::fs::read("corpus/accept/1.2.3/zstd.zt").unwrap();
/// let archive = zten::Archive::open(&file)?;
/// # let object = archive.objects().find(|object| {
/// #     object.component("data").unwrap().element_type().name() == "f32"
/// # }).unwrap();
/// let component = object.dense()?.component();
/// let decoded = component.decode(archive.data(), &zten::Limits::default())?;
/// if cfg!(target_endian = "little") {
///     let weights: &[f32] = decoded.view().as_slice()?;
///     assert_eq!(weights.len() * 4, decoded.len());
/// }
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Debug)]
pub struct Decoded {
    lines: Lines,
    kind: Kind,
    verified: Verified,
}

impl Decoded {
    /// The elements.
    pub fn view(&self) -> View<'_> {
        View::new(self, self.kind, self.verified)
    }

    /// What reading the component has shown of its digest.
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

impl Component<'_> {
    /// All of the content, decoded, little-endian and verified, in memory of its own. Memory
    /// grows as bytes come and never by what is claimed; where the manifest gives the decoded
    /// size, it is at most that, rounded up to 64 bytes.
    ///
    /// # Errors
    /// As [`content`](Self::content) and [`Content::next_chunk`]; [`OutOfMemory`].
    pub fn decode<R: ReadAt>(
        &self,
        source: R,
        limits: &Limits,
    ) -> Result<Decoded, ReadError<R::Error>> {
        let kind = self.decoded_kind()?;
        self.collect(kind, self.content(source, limits)?)
    }

    /// As [`decode`](Self::decode), with threads that have nothing else to do.
    #[cfg(feature = "std")]
    pub(crate) fn decode_on<S>(
        &self,
        source: &S,
        limits: &Limits,
        idle: &Idle,
    ) -> Result<Decoded, ReadError<S::Error>>
    where
        S: ReadAt + Sync + ?Sized,
    {
        let kind = self.decoded_kind()?;
        let content = self.content(source, limits)?;
        #[cfg(feature = "zstd")]
        if let Some(pieces) = content.pieces() {
            let length = pieces.decoded();
            let mut lines = Lines::zeros(length).map_err(|error| error.at(self.place()))?;
            let room = lines.lines.as_mut_slice().as_mut_bytes().get_mut(..length);
            let room = room.ok_or(Error::internal().at(self.place()))?;
            if let Some(verified) = content.read_together(pieces, room, limits, idle) {
                return Ok(Decoded { lines, kind, verified });
            }
            return self.decode(source, limits);
        }
        #[cfg(not(feature = "zstd"))]
        let _ = idle;
        self.collect(kind, content)
    }

    /// All of a content of which nothing has been read.
    fn collect<R: ReadAt>(
        &self,
        kind: Kind,
        mut content: Content<'_, R>,
    ) -> Result<Decoded, ReadError<R::Error>> {
        let declared = self.decoded_length();
        let mut lines = Lines::default();
        if self.encoding() == Encoding::Raw {
            // All of it lies in the file.
            let length = usize::try_from(self.extent().length().div_ceil(64));
            grow(&mut lines.lines, length.unwrap_or(usize::MAX), usize::MAX)
                .map_err(|error| Error::from(error).at(self.place()))?;
        }
        loop {
            // A byte more than is declared would take a line more.
            let most =
                declared.map_or(u64::MAX, |all| all.saturating_sub(u64_from_usize(lines.length)));
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            let room = lines.room(content.wanted().min(most), declared);
            let length = content.read_chunk(room.map_err(|error| error.at(self.place()))?)?;
            if length == 0 {
                break;
            }
            lines.length = lines.length.saturating_add(length);
        }
        Ok(Decoded { lines, kind, verified: outcome(&content)? })
    }

    /// As [`decode`](Self::decode), into memory of the caller's: `buffer` must be exactly as
    /// long as the decoded content, [`decoded_length`](Self::decoded_length) where that is
    /// known. Bytes go from the source, or from the decoder, straight into `buffer`, and are
    /// hashed there; nothing is allocated but what decoding zstd needs. The elements can be
    /// borrowed as native ones if `buffer` is aligned for them.
    ///
    /// When it fails, `buffer` holds whatever had been read by then.
    ///
    /// # Errors
    /// As [`decode`](Self::decode); [`Misuse::Buffer`] where `buffer` has another length.
    pub fn read_into<'b, R: ReadAt>(
        &self,
        source: R,
        limits: &Limits,
        buffer: &'b mut [u8],
    ) -> Result<View<'b>, ReadError<R::Error>> {
        let kind = self.kind_in(buffer)?;
        self.fill(kind, self.content(source, limits)?, buffer)
    }

    /// As [`read_into`](Self::read_into), with threads that have nothing else to do.
    #[cfg(feature = "std")]
    pub(crate) fn read_into_on<'b, S>(
        &self,
        source: &S,
        limits: &Limits,
        buffer: &'b mut [u8],
        idle: &Idle,
    ) -> Result<View<'b>, ReadError<S::Error>>
    where
        S: ReadAt + Sync + ?Sized,
    {
        let kind = self.kind_in(buffer)?;
        let content = self.content(source, limits)?;
        #[cfg(feature = "zstd")]
        if let Some(pieces) = content.pieces() {
            return match content.read_together(pieces, buffer, limits, idle) {
                Some(verified) => Ok(View::new(buffer, kind, verified)),
                None => self.read_into(source, limits, buffer),
            };
        }
        #[cfg(not(feature = "zstd"))]
        let _ = idle;
        self.fill(kind, content, buffer)
    }

    /// What its bytes will be in `buffer`, which has to be as long as they are, where that is known.
    fn kind_in(&self, buffer: &[u8]) -> Result<Kind, Error> {
        let kind = self.decoded_kind()?;
        if self.decoded_length().is_some_and(|length| length != u64_from_usize(buffer.len())) {
            return Err(Error::misuse(Misuse::Buffer).at(self.place()));
        }
        Ok(kind)
    }

    /// Reads all of a content, of which nothing has been read, into `buffer`.
    fn fill<'b, R: ReadAt>(
        &self,
        kind: Kind,
        mut content: Content<'_, R>,
        buffer: &'b mut [u8],
    ) -> Result<View<'b>, ReadError<R::Error>> {
        let mut rest = &mut *buffer;
        loop {
            let length = content.read_chunk(rest)?;
            if length == 0 {
                break;
            }
            rest = rest.get_mut(length..).ok_or(Error::internal().at(self.place()))?;
        }
        if !rest.is_empty() {
            return Err(Error::misuse(Misuse::Buffer).at(self.place()).into());
        }
        Ok(View::new(buffer, kind, outcome(&content)?))
    }

    /// What its bytes are once decoded.
    fn decoded_kind(&self) -> Result<Kind, Error> {
        Ok(Kind { order: ByteOrder::Little, ..self.kind()? })
    }
}

/// What a content that has been read to its end has shown.
fn outcome<R: ReadAt>(content: &Content<'_, R>) -> Result<Verified, Error> {
    content.verified().ok_or(Error::internal())
}

/// What is aligned.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

/// The alignment of blobs in a file: v1.1 I.2, v1.2 §4. Wide enough for every vector unit.
const LINE: usize = 64;

/// Bytes in whole lines, the last of which is filled with zeros.
#[derive(Default)]
struct Lines {
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

    /// So many zeros, which the system makes when they are first touched.
    #[cfg(all(feature = "zstd", feature = "std"))]
    fn zeros(length: usize) -> Result<Self, Error> {
        let lines = Line::new_vec_zeroed(length.div_ceil(LINE));
        Ok(Self { lines: lines.map_err(|_| Error::from(OutOfMemory))?, length })
    }

    /// Room for `more` bytes behind what is there, which is not part of it yet. Memory doubles as
    /// bytes come, and stops at what is declared.
    fn room(&mut self, more: usize, declared: Option<u64>) -> Result<&mut [u8], Error> {
        let memory = Error::from(OutOfMemory);
        let end = self.length.checked_add(more).ok_or(memory)?;
        let needed = end.div_ceil(LINE);
        let most = declared.and_then(|bytes| usize::try_from(bytes.div_ceil(64)).ok());
        grow(&mut self.lines, needed, most.unwrap_or(usize::MAX))?;
        self.lines.resize(needed, Line([0; LINE]));
        self.lines.as_mut_slice().as_mut_bytes().get_mut(self.length..end).ok_or(memory)
    }
}

/// Makes room for `needed` items in all. Memory doubles as they come, and stops at `most`.
pub(crate) fn grow<T>(items: &mut Vec<T>, needed: usize, most: usize) -> Result<(), OutOfMemory> {
    if needed <= items.capacity() {
        return Ok(());
    }
    let target = items.capacity().saturating_mul(2).min(most).max(needed);
    items.try_reserve_exact(target.saturating_sub(items.len())).map_err(|_| OutOfMemory)
}

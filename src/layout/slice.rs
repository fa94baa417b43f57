//! Slices of dense arrays: finding the bytes of a slice, and reading only those bytes.

use alloc::vec::Vec;
use core::num::NonZeroU64;
use core::ops::{
    Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive,
};

use super::View;
use super::buffer::with_room;
use crate::codec::{grow, validate_bools};
use crate::digest::Verified;
use crate::element::{ByteOrder, Element, StorageType, reverse};
use crate::error::{BareError, Error, Misuse};
use crate::manifest::{Component, Tensor};
use crate::num::{u64_from_usize, usize_from_u32};
use crate::read_at::ReadAt as _;

/// A part of a dense array: a range of each dimension.
///
/// [`Tensor::slice`] creates a slice. A slice knows its range of the decoded bytes and, if the array is not compressed,
/// of the file, and reads little more than it needs, if the elements are stored in row-major order: see [`parts`](Self::parts).
/// Its elements are in row-major order, as those of the array are: v1.1 III.1, v1.2 §3. Memory for the slice itself does not depend
/// on the size of the data.
///
/// | what | when |
/// | --- | --- |
/// | [`view`](Self::view) | where it lies in the file, in one piece |
/// | [`to_vec`](Self::to_vec), [`read`](Self::read), [`parts`](Self::parts) | always: decoded, into memory or piece by piece |
///
/// Reading a slice verifies no digest, and no checksum of a whole component or of a storage that several tensors share, unless all
/// of the component has to be decoded anyway: see [`parts`](Self::parts).
///
/// ```
/// let archive = zten::open("corpus/accept/1.2.3/dense_all.zt")?;
/// let column = archive.tensor("t_f32")?.slice((0..2, 1..2))?; // of 2 × 3
/// assert_eq!((column.elements(), column.byte_len()), (2, 8));
/// let column = column.to_vec::<f32>()?;
/// # assert_eq!(column, [-0.75, 0.75]);
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Debug)]
pub struct Slice<'a> {
    component: Component<'a>,
    storage: StorageType,
    elements: u64,
    /// The offset in the decoded bytes at which the first run begins.
    start: u64,
    /// The size of each run in bytes: a whole number of elements.
    run: u64,
    /// The number of runs in the slice. A run is a contiguous range of bytes.
    runs: u64,
    /// The size of all runs together in bytes.
    bytes: u64,
    /// The dimensions along which runs repeat, innermost first.
    axes: Vec<Axis>,
}

/// A dimension along which runs repeat.
#[derive(Clone, Copy, Debug)]
struct Axis {
    /// The number of runs along the dimension: 2 or more.
    count: NonZeroU64,
    /// The distance in bytes from one run to the next.
    stride: u64,
}

impl<'a> Tensor<'a> {
    /// Returns the part of the array at the indices `ranges`, outermost dimension first. Dimensions without a range are
    /// taken whole. To take a single index, pass a range of one.
    ///
    /// A slice of `f4_e2m1` counts elements in the order of [`View::nibbles`], although two elements share a byte. Such
    /// a slice can be [cut](Slice::cut) out of nibbles, but cannot be read.
    ///
    /// A slice takes a few words of memory for each dimension, and time that does not depend on the sizes.
    ///
    /// # Errors
    /// [`Misuse::Slice`] if there are more ranges than dimensions, or a range ends before its start or beyond its
    /// dimension; [`Misuse::Type`] if the size of an element is not known; [`OutOfMemory`](crate::error::OutOfMemory);
    /// the errors of [`dense`](Self::dense) and [`Component::readable`].
    #[expect(clippy::needless_pass_by_value, reason = "ranges are written where they are given")]
    pub fn slice(&self, ranges: impl Ranges) -> Result<Slice<'a>, Error> {
        let component = self.dense()?;
        let misuse = |misuse| self.named(BareError::misuse(misuse).at(component.location()));
        let storage = component.readable()?;
        let rank = self.shape().len();
        let size = element_size(self, &component).ok_or_else(|| misuse(Misuse::Type))?;
        let mut dimensions = with_room(rank, component.location())?;
        let axes = with_room(rank, component.location())?;
        // Each item: the size of the dimension, the first index that is taken, the number of indices that are taken.
        for (at, &dimension) in self.shape().iter().enumerate() {
            let (start, end) = ranges.range(at, dimension);
            let count = end.checked_sub(start).filter(|_| end <= dimension);
            let count = count.ok_or_else(|| misuse(Misuse::Slice))?;
            dimensions.push((dimension, start, count));
        }
        if ranges.count() > rank {
            return Err(misuse(Misuse::Slice));
        }
        let (elements, start, run, runs, bytes) = (0, 0, 0, 0, 0);
        let mut slice = Slice { component, storage, elements, start, run, runs, bytes, axes };
        if dimensions.iter().all(|(.., count)| *count > 0) {
            // Opening the file has checked that all elements lie within one blob, so the products fit in 64 bits.
            slice.lay_out(&dimensions, size).ok_or_else(|| misuse(Misuse::Slice))?;
        }
        Ok(slice)
    }
}

/// Returns the size in bytes of a logical element of a dense object. An element that shares its byte with another
/// counts as one byte. For an unknown logical type the size is that of the dtype, if the component has one element of
/// the dtype for each element of the array, and `None` otherwise.
fn element_size(object: &Tensor<'_>, data: &Component<'_>) -> Option<u64> {
    if data.logical().is_packed() {
        return Some(1);
    }
    data.element_size().or_else(|| {
        let unit = data.unit()?;
        let bytes = object.element_count()?.checked_mul(unit)?;
        (Some(bytes) == data.decoded_length()).then_some(unit)
    })
}

/// The indices of a slice: one range for the first dimension, a tuple of ranges, or a list of [`Range`]s. Dimensions
/// without a range are taken whole. Sealed.
///
/// ```
/// let archive = zten::open("corpus/accept/1.2.3/dense_all.zt")?;
/// let tensor = archive.tensor("t_f32")?; // 2 × 3
/// assert_eq!(tensor.slice(1..)?.elements(), 3);
/// assert_eq!(tensor.slice((.., 1..=1))?.elements(), 2);
/// assert_eq!(tensor.slice(&[0..2, 0..1][..])?.elements(), 2);
/// # Ok::<(), zten::Error>(())
/// ```
pub trait Ranges: sealed::Sealed {
    /// Returns the number of ranges.
    #[doc(hidden)]
    fn count(&self) -> usize;

    /// Returns the start and the end of the range for the dimension at index `place`, whose size is `dimension`.
    #[doc(hidden)]
    fn range(&self, place: usize, dimension: u64) -> (u64, u64);
}

mod sealed {
    /// Keeps other crates from implementing [`Ranges`](super::Ranges).
    pub trait Sealed {}
}

/// Returns the start and the end of `range`, whose open end is `dimension`. Bounds that overflow saturate: the range is
/// then empty or ends beyond the dimension.
fn bounds(range: &impl RangeBounds<u64>, dimension: u64) -> (u64, u64) {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(start) => start.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(end) => end.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => dimension,
    };
    (start, end)
}

macro_rules! single_ranges {
    ($($range:ty),+) => { $(
        impl sealed::Sealed for $range {}

        impl Ranges for $range {
            fn count(&self) -> usize {
                1
            }

            fn range(&self, place: usize, dimension: u64) -> (u64, u64) {
                if place == 0 { bounds(self, dimension) } else { (0, dimension) }
            }
        }
    )+ };
}

single_ranges! {
    Range<u64>, RangeFrom<u64>, RangeFull, RangeInclusive<u64>, RangeTo<u64>, RangeToInclusive<u64>
}

macro_rules! tuples_of_ranges {
    ($($count:literal: $($name:ident $place:tt),+;)+) => { $(
        impl<$($name: RangeBounds<u64>),+> sealed::Sealed for ($($name,)+) {}

        impl<$($name: RangeBounds<u64>),+> Ranges for ($($name,)+) {
            fn count(&self) -> usize {
                $count
            }

            fn range(&self, place: usize, dimension: u64) -> (u64, u64) {
                match place {
                    $( $place => bounds(&self.$place, dimension), )+
                    _ => (0, dimension),
                }
            }
        }
    )+ };
}

tuples_of_ranges! {
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
    5: A 0, B 1, C 2, D 3, E 4;
    6: A 0, B 1, C 2, D 3, E 4, F 5;
}

impl sealed::Sealed for &[Range<u64>] {}

impl Ranges for &[Range<u64>] {
    fn count(&self) -> usize {
        self.len()
    }

    fn range(&self, place: usize, dimension: u64) -> (u64, u64) {
        self.get(place).map_or((0, dimension), |range| (range.start, range.end))
    }
}

impl<'a> Slice<'a> {
    /// Computes the runs from `dimensions` (size, first index, number of indices), none of which takes 0 indices, and
    /// the `size` of an element in bytes. Returns `None` on overflow.
    fn lay_out(&mut self, dimensions: &[(u64, u64, u64)], size: u64) -> Option<()> {
        (self.elements, self.run, self.runs) = (1, size, 1);
        // The distance in bytes from one index of the dimension to the next.
        let mut stride = size;
        for (dimension, first, count) in dimensions.iter().rev() {
            self.elements = self.elements.checked_mul(*count)?;
            self.start = self.start.checked_add(first.checked_mul(stride)?)?;
            if self.run == stride {
                // All inner dimensions are taken whole, so neighboring runs touch and are joined.
                self.run = count.checked_mul(stride)?;
            } else if *count > 1 {
                self.axes.push(Axis { count: NonZeroU64::new(*count)?, stride });
                self.runs = self.runs.checked_mul(*count)?;
            }
            stride = dimension.checked_mul(stride)?;
        }
        self.bytes = self.run.checked_mul(self.runs)?;
        if self.bytes == 0 {
            // Elements without bytes, such as text of length 0, make no run that could be read.
            self.runs = 0;
        }
        Some(())
    }

    /// Returns the number of logical elements in the slice.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Returns the size of the decoded slice in bytes, which is the length of the buffer for [`read`](Self::read). A slice of
    /// `f4_e2m1`, which cannot be read, counts one byte for each element.
    pub fn byte_len(&self) -> u64 {
        self.bytes
    }

    /// Returns whether the slice is empty or a single run of bytes.
    pub fn is_contiguous(&self) -> bool {
        self.runs <= 1
    }

    /// Returns the ranges of the decoded component that make up the slice: runs in ascending order, none empty, none
    /// touching the next.
    pub fn ranges(&self) -> SliceRanges<'_> {
        SliceRanges { slice: self, base: 0, left: 0..self.runs }
    }

    /// Returns the ranges of the file that make up the slice, in the order of [`ranges`](Self::ranges).
    ///
    /// # Errors
    /// [`Misuse::Compressed`] if the component is not raw; [`Misuse::Type`] if two elements share a byte.
    pub fn file_ranges(&self) -> Result<SliceRanges<'_>, Error> {
        self.require_whole_bytes()?;
        if !self.component.is_raw() {
            return Err(self.misuse(Misuse::Compressed));
        }
        Ok(SliceRanges { base: self.component.extent().offset(), ..self.ranges() })
    }

    /// Borrows the elements from the file, if they are one run of bytes. Returns `None` if they are several runs, which
    /// have to be [read](Self::read). The tensor must come from an [`Archive`](crate::Archive), which holds the file.
    ///
    /// # Errors
    /// The errors of [`Component::view`]; [`Misuse::Type`] if each byte holds two elements, as in `f4_e2m1`.
    pub fn view(&self) -> Result<Option<View<'a>>, Error> {
        self.require_whole_bytes()?;
        let view = self.component.view()?;
        if !self.is_contiguous() {
            return Ok(None);
        }
        let element = |bytes: u64| {
            let element = bytes.checked_div(self.storage.width().into())?;
            usize::try_from(element).ok()
        };
        let end = self.start.checked_add(self.bytes).and_then(element);
        let part = element(self.start).zip(end).and_then(|(start, end)| view.part(start..end));
        part.map(Some).ok_or_else(|| self.misuse(Misuse::Size))
    }

    /// Returns an error if two elements share a byte, as those of `f4_e2m1` do: a slice may begin or end within a byte.
    fn require_whole_bytes(&self) -> Result<(), Error> {
        if self.component.logical().is_packed() {
            return Err(self.misuse(Misuse::Type));
        }
        Ok(())
    }

    /// Returns the error of a wrong call, with the names of this tensor and its component.
    #[cold]
    fn misuse(&self, misuse: Misuse) -> Error {
        let location = self.component.location();
        self.component.tensor().named(BareError::misuse(misuse).at(location))
    }

    /// Calls `take` with the bytes of the slice, piece by piece: in order, decoded and little-endian.
    ///
    /// Of a raw component at most a chunk around each run is read. Of a component in frames (`zt.zstd-seekable/1`) the
    /// seek table and each frame with bytes of the slice are read; a frame is read to its end, so that its checksum and
    /// size are verified. zstd of 1.x, deflated content and fields of records are decoded from their beginning to their end. If
    /// elements are not stored in row-major order, all of the blob is read into memory first.
    ///
    /// The digest covers all of a component. The outcome of verifying the digest is returned only for content that has to be
    /// decoded from the beginning to the end, such as zstd of 1.x. For raw components, components in frames and elements that are
    /// not stored in row-major order, `None` is returned.
    ///
    /// # Errors
    /// The errors of [`Component::reader`] and [`Reader::next_chunk`](crate::Reader::next_chunk); [`Misuse::Type`] if
    /// two elements share a byte; any error of `take`.
    pub fn parts<E: From<Error>>(
        &self,
        take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Option<Verified>, E> {
        self.require_whole_bytes()?;
        self.byte_parts(usize_from_u32(self.component.limits().chunk()), take)
    }

    /// Calls `take` with the bytes of the slice as [`parts`](Self::parts) does. At most `most` bytes are read at once.
    fn byte_parts<E: From<Error>>(
        &self,
        most: usize,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Option<Verified>, E> {
        let mut content = self.component.part_reader()?;
        let seeks = content.seeks();
        let mut cut = self.cut();
        while let Some(run) = cut.run.clone() {
            if seeks {
                content.seek(&run, most)?;
                cut.position = cut.position.max(run.start);
            }
            let internal = || Error::from(BareError::internal().at(self.component.location()));
            let chunk = content.next_chunk()?.ok_or_else(internal)?;
            cut.parts(chunk).try_for_each(&mut take)?;
        }
        if seeks {
            content.settle(most)?;
            return Ok(None);
        }
        while content.next_chunk()?.is_some() {}
        Ok(content.verified())
    }

    /// Fills `buffer` with the slice: decoded little-endian elements in row-major order. Of a raw component only the
    /// runs are read, one after another, and small [gaps](crate::ReadAt::gap) between them. Of other components as much
    /// is read as [`parts`](Self::parts) says. Returns what [`parts`](Self::parts) returns. After an error the content
    /// of `buffer` is unspecified.
    ///
    /// ```
    /// # #[cfg(feature = "zstd")] {
    /// let archive = zten::open("corpus/v2/accept/frames.zt")?;
    /// let mut bytes = [0; 2];
    /// let verified = archive.tensor("w")?.slice(1..3)?.read(&mut bytes)?;
    /// assert_eq!(verified, None);
    /// # }
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`parts`](Self::parts); [`Misuse::Buffer`] if the length of `buffer` is not
    /// [`byte_len`](Self::byte_len).
    pub fn read(&self, buffer: &mut [u8]) -> Result<Option<Verified>, Error> {
        if u64_from_usize(buffer.len()) != self.bytes {
            return Err(self.misuse(Misuse::Buffer));
        }
        if self.component.is_raw() {
            self.require_whole_bytes()?;
            let read = self.read_runs(buffer).map(|()| None);
            return read.map_err(|error| self.component.tensor().named(error));
        }
        let mut rest = buffer;
        self.parts(|part| {
            let room = core::mem::take(&mut rest).split_at_mut_checked(part.len());
            let (room, behind) = room.ok_or_else(|| self.misuse(Misuse::Buffer))?;
            room.copy_from_slice(part);
            rest = behind;
            Ok(())
        })
    }

    fn read_runs(&self, buffer: &mut [u8]) -> Result<(), Error> {
        let (location, source) = (self.component.location(), self.component.located()?);
        // A run is no longer than the buffer. An empty slice has runs of 0 bytes, but `chunks_exact_mut` needs at least
        // 1.
        let run = usize::try_from(self.run).map_err(|_| self.misuse(Misuse::Buffer))?;
        let (gap, most) = (source.gap(), u64::from(self.component.limits().chunk()));
        let (mut ranges, mut pieces) = (self.file_ranges()?, buffer.chunks_exact_mut(run.max(1)));
        let mut several = Vec::new();
        while let Some((cover, count)) = ranges.cover(gap, most) {
            if count > 1 {
                // Joined runs and their gaps are at most one chunk, so the size follows the limit and not the file.
                let length = usize::try_from(cover.end.saturating_sub(cover.start));
                let length = length.map_err(|_| BareError::internal())?;
                grow(&mut several, length, length).map_err(BareError::from)?;
                several.resize(length, 0);
                source.read_at(cover.start, &mut several)?;
            }
            for (range, bytes) in ranges.by_ref().take(count).zip(&mut pieces) {
                if count > 1 {
                    let own = part_of(&mut several, cover.start, &range);
                    bytes.copy_from_slice(own.ok_or(BareError::internal())?);
                } else {
                    source.read_at(range.start, bytes)?;
                }
                let checked = validate_bools(bytes, Some(range.start), self.component.bool_rule());
                checked.map_err(|error| error.at(location))?;
                self.little_endian(bytes);
            }
        }
        Ok(())
    }

    /// Returns a copy of the elements, decoded, in this machine's byte order.
    ///
    /// # Errors
    /// [`Misuse::Type`] if the elements are not of type `T`; the errors of [`parts`](Self::parts);
    /// [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        let named = |error: BareError| self.component.tensor().named(error);
        let kind = self.component.decoded_kind()?;
        kind.is_of::<T>().map_err(named)?;
        let mut elements = Vec::new();
        let mut push = |piece: &[u8]| {
            let pieces = piece.chunks_exact(size_of::<T>());
            let needed = elements.len().saturating_add(pieces.len());
            grow(&mut elements, needed, usize::MAX).map_err(|error| named(error.into()))?;
            elements.extend(pieces.filter_map(|piece| T::read(piece, ByteOrder::Little)));
            Ok::<(), Error>(())
        };
        if !self.component.is_raw() {
            self.parts(push)?;
            return Ok(elements);
        }
        // Memory is taken for one read at a time: a single run, which the file was found to have, or a few neighboring
        // runs.
        let (mut several, location) = (Vec::new(), self.component.location());
        self.require_whole_bytes()?;
        let source = self.component.located()?;
        let (gap, most) = (source.gap(), u64::from(self.component.limits().chunk()));
        let mut ranges = self.file_ranges()?;
        while let Some((cover, count)) = ranges.cover(gap, most) {
            several.clear();
            source
                .append_range(cover.clone(), &mut several)
                .map_err(|error| self.component.tensor().named(error))?;
            for range in ranges.by_ref().take(count) {
                let run = part_of(&mut several, cover.start, &range);
                let run = run.ok_or_else(|| named(BareError::internal().at(location)))?;
                let checked = validate_bools(run, Some(range.start), self.component.bool_rule());
                checked.map_err(|error| named(error.at(location)))?;
                self.little_endian(run);
                push(run)?;
            }
        }
        Ok(elements)
    }

    /// Turns stored elements into little-endian elements, in place.
    fn little_endian(&self, bytes: &mut [u8]) {
        if self.component.byte_order() == ByteOrder::Big {
            let width = usize::from(self.storage.width()).max(1);
            bytes.chunks_exact_mut(width).for_each(reverse);
        }
    }

    /// Creates a [`Cut`], which selects the bytes of the slice from chunks of the content. The first chunk must begin
    /// with the first byte of the content.
    ///
    /// ```
    /// let archive = zten::open("corpus/accept/1.2.3/dense_all.zt")?;
    /// let tensor = archive.tensor("t_f32")?;
    /// let slice = tensor.slice(0..1)?;
    /// let (mut cut, mut row) = (slice.cut(), Vec::new());
    /// let mut reader = tensor.reader()?;
    /// while let Some(chunk) = reader.next_chunk()? {
    ///     cut.parts(chunk).for_each(|part| row.extend_from_slice(part));
    /// }
    /// assert_eq!(row.len() as u64, slice.byte_len());
    /// # Ok::<(), zten::Error>(())
    /// ```
    pub fn cut(&self) -> Cut<'_> {
        let mut ranges = self.ranges();
        let run = ranges.next();
        Cut { ranges, run, position: 0 }
    }

    /// Returns the range of run `ordinal`, which must exist. The digits of `ordinal`, with the counts of the axes as
    /// bases, are the run's position along each axis.
    fn run(&self, ordinal: u64) -> Range<u64> {
        let (mut start, mut ordinal) = (self.start, ordinal);
        for Axis { count, stride } in &self.axes {
            // `lay_out` has checked that the end of the array fits in 64 bits.
            start = start.wrapping_add((ordinal % *count).wrapping_mul(*stride));
            ordinal /= *count;
        }
        start..start.wrapping_add(self.run)
    }
}

/// Returns the part of `bytes` that holds `range`, a range of offsets in the file. The first byte of `bytes` is at offset `start`
/// of the file. Returns `None` if the range does not lie within `bytes`.
fn part_of<'b>(bytes: &'b mut [u8], start: u64, range: &Range<u64>) -> Option<&'b mut [u8]> {
    let within = |at: u64| usize::try_from(at.checked_sub(start)?).ok();
    bytes.get_mut(within(range.start)?..within(range.end)?)
}

/// A [`Slice`] that is being cut out of content, chunk by chunk.
#[derive(Clone, Debug)]
pub struct Cut<'s> {
    /// The runs after the current one.
    ranges: SliceRanges<'s>,
    /// The rest of the current run, as a range of offsets in the content.
    run: Option<Range<u64>>,
    /// The number of bytes of the content that have been passed to `parts`.
    position: u64,
}

impl Cut<'_> {
    /// Returns the parts of `chunk`, the next chunk of the content, that are in the slice. The caller must take all of
    /// them before the next chunk.
    pub fn parts<'c>(&mut self, chunk: &'c [u8]) -> impl Iterator<Item = &'c [u8]> {
        let start = self.position;
        // A run ends within 64 bits, so a saturated end cuts no run off.
        let end = start.saturating_add(u64_from_usize(chunk.len()));
        self.position = end;
        core::iter::from_fn(move || {
            let run = self.run.take_if(|run| run.start < end)?;
            // Either the run continues in the next chunk, or the next run may begin in this chunk.
            self.run = if run.end > end { Some(end..run.end) } else { self.ranges.next() };
            let within = |at: u64| usize::try_from(at.checked_sub(start)?).ok();
            chunk.get(within(run.start)?..within(run.end.min(end))?)
        })
    }
}

/// An iterator over the byte ranges of a [`Slice`]. Each step takes O(rank) time and no memory.
#[derive(Clone, Debug)]
pub struct SliceRanges<'s> {
    slice: &'s Slice<'s>,
    /// The offset that is added to each range: 0, or the start of the component in its file.
    base: u64,
    /// The ordinals of the runs that are left.
    left: Range<u64>,
}

impl SliceRanges<'_> {
    /// Returns the number of ranges that are left.
    pub fn len(&self) -> u64 {
        self.left.end.saturating_sub(self.left.start)
    }

    /// Returns whether no ranges are left.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Joins the next range with the ranges after it that lie at most `gap` bytes apart, as long as all of them
    /// together span at most `most` bytes. If `gap` is 0, no ranges are joined. Returns the joined range, which is longer than
    /// `most` only if it is a single range, and the number of ranges in it; `None` if no ranges are left.
    fn cover(&self, gap: u64, most: u64) -> Option<(Range<u64>, usize)> {
        let mut ahead = self.clone();
        let (mut cover, mut count) = (ahead.next()?, 1_usize);
        if gap > 0 {
            let is_near = |cover: &Range<u64>, next: &Range<u64>| {
                next.start.saturating_sub(cover.end) <= gap
                    && next.end.saturating_sub(cover.start) <= most
            };
            for next in ahead {
                if !is_near(&cover, &next) {
                    break;
                }
                cover.end = next.end;
                count = count.saturating_add(1);
            }
        }
        Some((cover, count))
    }

    fn range(&self, ordinal: u64) -> Range<u64> {
        let Range { start, end } = self.slice.run(ordinal);
        // The component ends within the file, so the sums fit in 64 bits.
        self.base.wrapping_add(start)..self.base.wrapping_add(end)
    }
}

impl Iterator for SliceRanges<'_> {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        self.left.next().map(|ordinal| self.range(ordinal))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }

    fn nth(&mut self, n: usize) -> Option<Range<u64>> {
        self.left.nth(n).map(|ordinal| self.range(ordinal))
    }
}

impl DoubleEndedIterator for SliceRanges<'_> {
    fn next_back(&mut self) -> Option<Range<u64>> {
        self.left.next_back().map(|ordinal| self.range(ordinal))
    }
}

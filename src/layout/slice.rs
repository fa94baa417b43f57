//! Slices of dense arrays: which bytes they are, and reading those alone.

use alloc::vec::Vec;
use core::num::NonZeroU64;
use core::ops::{
    Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive,
};

use super::View;
use super::buffer::with_room;
use crate::codec::{ReadAt as _, Verified, grow, validate_bools};
use crate::element::{ByteOrder, Element, StorageType};
use crate::error::{BareError, Error, Misuse};
use crate::manifest::{Component, Tensor};
use crate::num::{u64_from_usize, usize_from_u32};

/// A part of a dense array: a range of each dimension.
///
/// It is made by [`Tensor::slice`], knows which of the decoded bytes it is, and where the
/// array is not compressed which bytes of the file; it reads no more than those need. Its elements are in
/// row-major order, as the array's are: v1.1 III.1, v1.2 §3. Nothing is allocated in proportion to the data.
///
/// | what | when |
/// | --- | --- |
/// | [`view`](Self::view) | where it lies in the file, in one piece |
/// | [`to_vec`](Self::to_vec), [`read`](Self::read), [`parts`](Self::parts) | always: decoded, into memory or piece by piece |
///
/// Digests, and the checksums of other formats, are over all of a component or of a storage that several tensors share,
/// so reading a part of it verifies none.
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
    /// Bytes of each run: a whole number of elements.
    run: u64,
    /// The number of runs.
    runs: u64,
    /// Bytes of all of them.
    bytes: u64,
    /// The dimensions along which runs repeat, innermost first.
    axes: Vec<Axis>,
}

/// A dimension along which runs repeat.
#[derive(Clone, Copy, Debug)]
struct Axis {
    /// The number of times: 2 or more.
    count: NonZeroU64,
    /// Bytes from one to the next.
    stride: u64,
}

impl<'a> Tensor<'a> {
    /// The part of the array with the indices `ranges`, outermost first. Dimensions for which
    /// there is no range are taken whole. To take a single index, give a range of one.
    ///
    /// A slice of `f4_e2m1`, of which two elements share a byte, counts elements in the order of [`View::nibbles`], one a byte:
    /// it can be [cut](Slice::cut) out of those, and not be read.
    ///
    /// Memory is a few words a dimension, and time does not depend on sizes.
    ///
    /// # Errors
    /// [`Misuse::Slice`] where there are more ranges than dimensions, or one ends before it
    /// starts or beyond its dimension; [`Misuse::Type`] where the size of an element is not known;
    /// [`OutOfMemory`](crate::error::OutOfMemory);
    /// `unsupported-dtype`, `unsupported-encoding` in 0.1.
    #[expect(clippy::needless_pass_by_value, reason = "ranges are written where they are given")]
    pub fn slice(&self, ranges: impl Ranges) -> Result<Slice<'a>, Error> {
        let component = self.dense()?;
        let misuse = |misuse| self.named(BareError::misuse(misuse).at(component.location()));
        let storage = component.readable()?;
        let rank = self.shape().len();
        let size = element_size(self, &component).ok_or_else(|| misuse(Misuse::Type))?;
        let mut dimensions = with_room(rank, component.location())?;
        let axes = with_room(rank, component.location())?;
        // Each dimension, the first index taken, and how many are.
        for (at, dimension) in self.shape().iter().enumerate() {
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
            // Admission has shown that nothing overflows, for all is within one blob.
            slice.lay_out(&dimensions, size).ok_or_else(|| misuse(Misuse::Slice))?;
        }
        Ok(slice)
    }
}

/// Bytes of one logical element of a dense object, where two share one, as if none did. Of a logical type that is not known, the
/// element of the dtype, if there is one for each place of the array.
fn element_size(object: &Tensor<'_>, data: &Component<'_>) -> Option<u64> {
    if data.logical().is_packed() {
        return Some(1);
    }
    data.element_size().or_else(|| {
        let unit = data.unit()?;
        let bytes = object.shape().elements()?.checked_mul(unit)?;
        (Some(bytes) == data.decoded_length()).then_some(unit)
    })
}

/// The indices of a slice: one range for all of the first dimension, a tuple of ranges, or a list of [`Range`]s.
/// Dimensions for which there is none are taken whole. Sealed.
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
    /// The number of ranges.
    #[doc(hidden)]
    fn count(&self) -> usize;

    /// The start and the end of the range of the dimension at that place.
    #[doc(hidden)]
    fn range(&self, place: usize, dimension: u64) -> (u64, u64);
}

mod sealed {
    /// Kept from being implemented elsewhere.
    pub trait Sealed {}
}

/// The start and the end of a range of a dimension. A range that begins or ends behind the last number is empty or too
/// long, and rejected as such.
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
    /// Finds the runs, of dimensions none of which is taken empty.
    fn lay_out(&mut self, dimensions: &[(u64, u64, u64)], size: u64) -> Option<()> {
        (self.elements, self.run, self.runs) = (1, size, 1);
        // Bytes from one index of the dimension to the next.
        let mut stride = size;
        for (dimension, first, count) in dimensions.iter().rev() {
            self.elements = self.elements.checked_mul(*count)?;
            self.start = self.start.checked_add(first.checked_mul(stride)?)?;
            if self.run == stride {
                // Everything within is taken whole: runs touch, and become one.
                self.run = count.checked_mul(stride)?;
            } else if *count > 1 {
                self.axes.push(Axis { count: NonZeroU64::new(*count)?, stride });
                self.runs = self.runs.checked_mul(*count)?;
            }
            stride = dimension.checked_mul(stride)?;
        }
        self.bytes = self.run.checked_mul(self.runs)?;
        Some(())
    }

    /// The number of logical elements.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// The number of bytes: what [`read`](Self::read) fills.
    pub fn byte_len(&self) -> u64 {
        self.bytes
    }

    /// Returns whether it is one run of bytes, or none.
    pub fn is_contiguous(&self) -> bool {
        self.runs <= 1
    }

    /// The decoded bytes that it is: runs in ascending order, none of them empty, none touching the
    /// next.
    #[doc(hidden)]
    pub fn ranges(&self) -> SliceRanges<'_> {
        SliceRanges { slice: self, base: 0, left: 0..self.runs }
    }

    /// The bytes of the file that it is, as [`ranges`](Self::ranges).
    ///
    /// # Errors
    /// [`Misuse::Compressed`] where the component is not raw; [`Misuse::Type`] where two elements share a byte.
    #[doc(hidden)]
    pub fn file_ranges(&self) -> Result<SliceRanges<'_>, Error> {
        self.require_whole_bytes()?;
        if !self.component.is_raw() {
            return Err(self.misuse(Misuse::Compressed));
        }
        Ok(SliceRanges { base: self.component.extent().offset(), ..self.ranges() })
    }

    /// The elements where they lie in the file, if it is one run of bytes. None if it is not, and
    /// has to be [read](Self::read). For objects of an [`Archive`](crate::Archive), which holds
    /// that file.
    ///
    /// # Errors
    /// The same as [`Component::view`]; [`Misuse::Type`] where two elements share a byte.
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

    /// Two elements of `f4_e2m1` share a byte, and a part may begin or end within one.
    fn require_whole_bytes(&self) -> Result<(), Error> {
        if self.component.logical().is_packed() {
            return Err(self.misuse(Misuse::Type));
        }
        Ok(())
    }

    /// A call that is wrong, of this array.
    #[cold]
    fn misuse(&self, misuse: Misuse) -> Error {
        let place = self.component.location();
        self.component.tensor().named(BareError::misuse(misuse).at(place))
    }

    /// Hands its bytes to `take`, in order: decoded and little-endian.
    ///
    /// No more of raw components is read than a chunk around each run. Of those in frames
    /// (`zt.zstd-seekable/1`) the seek table is, and each frame that is needed: all of it, so that
    /// its checksum and its size are verified. zstd of 1.x is decoded from its beginning to its
    /// end.
    ///
    /// The digest is over all of a component. Where all is decoded, what has been shown of it is
    /// returned; none where parts were passed over, and it has not been verified.
    ///
    /// # Errors
    /// The errors of [`Component::reader`] and [`Reader::next_chunk`](crate::Reader::next_chunk); [`Misuse::Type`] where two elements share a byte;
    /// whatever `take` fails with.
    pub fn parts<E: From<Error>>(
        &self,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Option<Verified>, E> {
        self.require_whole_bytes()?;
        let mut content = self.component.part_reader()?;
        let most = usize_from_u32(self.component.limits().chunk());
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

    /// Fills `buffer` with its bytes, decoded: little-endian elements in row-major order. Of raw components
    /// its bytes are read, one run after the other, and no others but small [gaps](crate::ReadAt::gap) between runs; of others
    /// as much as [`parts`](Self::parts) says,
    /// and what it returns. When it fails, `buffer` holds whatever had been read by then.
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
    /// The same as [`parts`](Self::parts); [`Misuse::Buffer`] where `buffer` is not
    /// [`byte_len`](Self::byte_len) long.
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
        let (place, source) = (self.component.location(), self.component.located()?);
        // A run is no longer than the buffer; without runs, there is nothing to cut.
        let run = usize::try_from(self.run).map_err(|_| self.misuse(Misuse::Buffer))?;
        let (gap, most) = (source.gap(), u64::from(self.component.limits().chunk()));
        let (mut ranges, mut pieces) = (self.file_ranges()?, buffer.chunks_exact_mut(run.max(1)));
        let mut several = Vec::new();
        while let Some((cover, count)) = ranges.cover(gap, most) {
            if count > 1 {
                // Several runs and what lies between them are at most a chunk.
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
                checked.map_err(|error| error.at(place))?;
                self.little_endian(bytes);
            }
        }
        Ok(())
    }

    /// Returns its elements, decoded, in this machine's byte order, in memory of their own.
    ///
    /// # Errors
    /// [`Misuse::Type`] where the elements are not of type `T`; the errors of [`parts`](Self::parts);
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
        // One run is read at a time, or a few that lie close together, whose bytes are there: the file was found to have
        // them.
        let (mut several, place) = (Vec::new(), self.component.location());
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
                let run = run.ok_or_else(|| named(BareError::internal().at(place)))?;
                let checked = validate_bools(run, Some(range.start), self.component.bool_rule());
                checked.map_err(|error| named(error.at(place)))?;
                self.little_endian(run);
                push(run)?;
            }
        }
        Ok(elements)
    }

    /// Turns elements as they lie into little-endian ones.
    fn little_endian(&self, bytes: &mut [u8]) {
        if self.component.byte_order() == ByteOrder::Big {
            let width = usize::from(self.storage.width()).max(1);
            bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        }
    }

    /// Begins to cut it out of the content, from its first byte on.
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
    #[doc(hidden)]
    pub fn cut(&self) -> Cut<'_> {
        let mut ranges = self.ranges();
        let run = ranges.next();
        Cut { ranges, run, position: 0 }
    }

    /// The run of that ordinal, which there is: the ordinal's digits, with the counts of the axes
    /// as bases, are its place along each.
    fn run(&self, ordinal: u64) -> Range<u64> {
        let (mut start, mut ordinal) = (self.start, ordinal);
        for Axis { count, stride } in &self.axes {
            // Within the array, whose end laying out has found to be a `u64`.
            start = start.wrapping_add((ordinal % *count).wrapping_mul(*stride));
            ordinal /= *count;
        }
        start..start.wrapping_add(self.run)
    }
}

/// The part of `bytes`, which begin at the offset `start` of a file, that is at `range` of the file.
fn part_of<'b>(bytes: &'b mut [u8], start: u64, range: &Range<u64>) -> Option<&'b mut [u8]> {
    let within = |at: u64| usize::try_from(at.checked_sub(start)?).ok();
    bytes.get_mut(within(range.start)?..within(range.end)?)
}

/// A [`Slice`] that is being cut out of content, chunk by chunk.
#[derive(Clone, Debug)]
pub struct Cut<'s> {
    /// The runs after the current one.
    ranges: SliceRanges<'s>,
    /// The rest of the current run.
    run: Option<Range<u64>>,
    /// Bytes of content that have come.
    position: u64,
}

impl Cut<'_> {
    /// The parts of the next chunk that are in the slice, in order. All are to be taken.
    pub fn parts<'c>(&mut self, chunk: &'c [u8]) -> impl Iterator<Item = &'c [u8]> {
        let start = self.position;
        // No run ends behind the last byte that a `u64` counts.
        let end = start.saturating_add(u64_from_usize(chunk.len()));
        self.position = end;
        core::iter::from_fn(move || {
            let run = self.run.take_if(|run| run.start < end)?;
            // It goes on in the next chunk, or the next one follows in this.
            self.run = if run.end > end { Some(end..run.end) } else { self.ranges.next() };
            let within = |at: u64| usize::try_from(at.checked_sub(start)?).ok();
            chunk.get(within(run.start)?..within(run.end.min(end))?)
        })
    }
}

/// The byte ranges of a [`Slice`]. Each takes O(rank) time, and
/// none takes memory.
#[derive(Clone, Debug)]
pub struct SliceRanges<'s> {
    slice: &'s Slice<'s>,
    /// The offset from which their places are counted.
    base: u64,
    /// The ordinals of the runs to come.
    left: Range<u64>,
}

impl SliceRanges<'_> {
    /// The number of ranges that are left.
    pub fn len(&self) -> u64 {
        self.left.end.saturating_sub(self.left.start)
    }

    /// Returns whether none are left.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Returns the range that the next read covers, and the number of ranges in it: the next one, and those behind it that
    /// lie at most `gap` bytes apart, as long as all of them are within `most` bytes.
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
        // Within the component, whose end in the file is a `u64`.
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

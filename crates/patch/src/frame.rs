//! Encoding and decoding of frames. A frame has the changes of 65,536 elements of a component. The last frame of a component has
//! the changes of the elements that are left.

use zten::Error;
use zten::num::u64_from_usize;
use zten_report::catalog::PATCH_FRAME;

use crate::elements::{Elements, number, write_number};
use crate::failure::{broken, no_memory};
use crate::streams::{Positions, STREAMS, Stream, StreamReader, StreamWriter};

/// The number of elements of a component that form a frame, the unit of encoding changes. The last frame may have fewer.
pub(crate) const FRAME: usize = 1 << 16;

/// The form byte of a frame without changes. A form byte from 1 to 8 is that of a frame that is stored as changes: the width of the
/// differences in bytes.
const UNCHANGED: u8 = 0;
/// The form byte of a frame that is stored whole, as the new values of all elements.
const WHOLE: u8 = 255;
/// A byte of a gap that adds 255 unchanged elements to the gap, and says that the gap continues in the next byte.
const MORE: u8 = 255;
/// The number of bytes [`MORE`] in a gap after which the rest of the gap follows as a little-endian number of two bytes.
const MOST: u8 = 3;
/// The divisor for frames with few changes. A frame in which at most a quarter of the elements changed is stored as changes,
/// without an estimate of which form is shorter: whole elements would take more bytes, unless they are nearly constant.
const FEW: usize = 4;

/// An encoder of frames. Its buffers are used again for each frame.
#[derive(Default)]
pub(crate) struct Encoder {
    gaps: Vec<u8>,
    differences: Vec<u64>,
}

impl Encoder {
    /// Appends the frame that changes the elements with the bytes `old` into those with the bytes `new` to the streams `out`. `old`
    /// and `new` differ and have the same length, at most [`FRAME`] elements. Returns the number of changed elements, or 0 if the
    /// frame is stored whole.
    pub(crate) fn frame(
        &mut self,
        elements: Elements,
        [old, new]: [&[u8]; 2],
        out: &mut StreamWriter,
    ) -> Result<usize, Error> {
        self.gaps.clear();
        self.differences.clear();
        let count = old.len().checked_div(elements.width.into()).unwrap_or(0);
        // A gap takes at most five bytes, and a gap of several bytes covers hundreds of elements, so twice the number of elements
        // is enough.
        self.gaps
            .try_reserve(count.saturating_mul(2).saturating_add(8))
            .map_err(|_| no_memory())?;
        self.differences.try_reserve(count).map_err(|_| no_memory())?;
        match elements.width {
            1 => self.compare::<1>(elements, old, new),
            2 => self.compare::<2>(elements, old, new),
            4 => self.compare::<4>(elements, old, new),
            _ => self.compare::<8>(elements, old, new),
        }
        let changed = self.differences.len();
        let largest = self.differences.iter().fold(0, |all, difference| all | difference);
        let planes = bytes_of(largest);
        let is_dense = changed.saturating_mul(FEW) > count;
        if is_dense && self.sparse_cost(planes) > whole_cost(elements, new) {
            out.room(Stream::Frames, 1)?.push(WHOLE);
            for byte in 0..elements.width {
                let plane = new.iter().skip(byte.into()).step_by(elements.width.into());
                out.room(Stream::Values(byte), count)?.extend(plane);
            }
            return Ok(0);
        }
        let [low, high, ..] = changed.saturating_sub(1).to_le_bytes();
        out.room(Stream::Frames, 3)?.extend([planes, low, high]);
        out.room(Stream::Gaps, self.gaps.len())?.extend_from_slice(&self.gaps);
        for byte in 0..planes {
            let plane = self.differences.iter().map(|own| byte_of(*own, byte));
            out.room(Stream::Differences(byte), changed)?.extend(plane);
        }
        Ok(changed)
    }

    /// Appends the gap before each changed element to `gaps`, and the difference of the element to `differences`.
    fn compare<const W: usize>(&mut self, elements: Elements, old: &[u8], new: &[u8]) {
        /// The number of bytes that are compared at once, to skip unchanged elements quickly.
        const BLOCK: usize = 64;
        let mut gap = 0_usize;
        for (old, new) in old.chunks(BLOCK).zip(new.chunks(BLOCK)) {
            if old == new {
                gap = gap.saturating_add(old.as_chunks::<W>().0.len());
                continue;
            }
            let ((old, _), (new, _)) = (old.as_chunks::<W>(), new.as_chunks::<W>());
            for (old, new) in old.iter().zip(new) {
                if old == new {
                    gap = gap.saturating_add(1);
                    continue;
                }
                push_gap(gap, &mut self.gaps);
                self.differences.push(elements.difference(number(*old), number(*new)));
                gap = 0;
            }
        }
    }

    /// Estimates the length in bits of the gaps and of the differences, each in `planes` bytes, after compression.
    fn sparse_cost(&self, planes: u8) -> f64 {
        let differences =
            (0..planes).map(|byte| entropy(self.differences.iter().map(|own| byte_of(*own, byte))));
        entropy(self.gaps.iter().copied()) + differences.sum::<f64>()
    }
}

/// Estimates the length in bits of all elements of a frame, whose new bytes are `new`, after compression.
fn whole_cost(elements: Elements, new: &[u8]) -> f64 {
    let width = elements.width.into();
    let plane = |byte: u8| entropy(new.iter().skip(byte.into()).step_by(width).copied());
    (0..elements.width).map(plane).sum()
}

/// Estimates the length of `bytes` after entropy coding, in bits: each byte takes as many bits as its frequency allows.
fn entropy(bytes: impl Iterator<Item = u8>) -> f64 {
    let mut counts = [0_u32; 256];
    let mut total = 0_u32;
    for byte in bytes {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count = count.wrapping_add(1);
        }
        total = total.wrapping_add(1);
    }
    let bits = |count: u32| f64::from(count) * (f64::from(total) / f64::from(count)).log2();
    counts.into_iter().filter(|count| *count > 0).map(bits).sum()
}

/// Returns one byte of `number`. `byte` is the index of this byte, and the least significant byte has the index 0.
fn byte_of(number: u64, byte: u8) -> u8 {
    number.to_le_bytes().get(usize::from(byte)).copied().unwrap_or(0)
}

/// Returns the smallest number of bytes in which the number `largest` can be written: 1 to 8.
fn bytes_of(largest: u64) -> u8 {
    let bits = 64_u32.saturating_sub(largest.leading_zeros()).max(1);
    u8::try_from(bits.div_ceil(8)).unwrap_or(8)
}

/// Appends a gap of `gap` elements. A gap below 255 is one byte. A longer gap has one byte 255 for each 255 elements, and then a
/// byte with the rest; after three bytes 255, the rest is two bytes. For elements that change at random, no form takes fewer bits,
/// since each step of 255 is as likely as the last.
fn push_gap(mut gap: usize, gaps: &mut Vec<u8>) {
    for _ in 0..MOST {
        match u8::try_from(gap) {
            Ok(own) if own < MORE => return gaps.push(own),
            _ => gaps.push(MORE),
        }
        gap = gap.saturating_sub(MORE.into());
    }
    let [low, high, ..] = gap.to_le_bytes();
    gaps.extend([low, high]);
}

/// The positions in the streams of the next byte to read, and the positions where the bytes of the component end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    pub(crate) next: Positions,
    pub(crate) end: Positions,
}

impl Cursor {
    /// Creates a cursor for a component. `next` has the position in each stream at which the bytes of the component begin, and
    /// `lengths` has the number of these bytes.
    pub(crate) fn new(next: Positions, lengths: Positions) -> Self {
        let mut end = next;
        for (end, length) in end.iter_mut().zip(lengths) {
            *end = end.saturating_add(length);
        }
        Self { next, end }
    }

    /// Checks that all bytes of the component in all streams were read. Called after the last frame of the component.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        if self.next == self.end {
            return Ok(());
        }
        Err(broken(&PATCH_FRAME, "bytes of a stream are left after the last frame of a component"))
    }
}

/// A decoder of frames. Its buffers are used again for each frame.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    gaps: Vec<u8>,
    plane: Vec<u8>,
    differences: Vec<u64>,
}

impl Decoder {
    /// Reads the frame at `cursor` from `streams`, and changes the elements in `bytes` as the frame says. Moves `cursor` to the
    /// next frame. Returns whether the frame changes elements, or stores them whole. After an error, the elements in `bytes` may
    /// have any value.
    pub(crate) fn frame(
        &mut self,
        elements: Elements,
        streams: &mut StreamReader<'_, '_>,
        cursor: &mut Cursor,
        bytes: &mut [u8],
    ) -> Result<bool, Error> {
        let count = bytes.len().checked_div(elements.width.into()).unwrap_or(0);
        let mut form = [0];
        read(streams, cursor, Stream::Frames, &mut form)?;
        match form {
            [UNCHANGED] => Ok(false),
            [WHOLE] => {
                for byte in 0..elements.width {
                    self.plane(streams, cursor, Stream::Values(byte), count)?;
                    let places = bytes.iter_mut().skip(byte.into()).step_by(elements.width.into());
                    for (to, from) in places.zip(&self.plane) {
                        *to = *from;
                    }
                }
                Ok(true)
            }
            [planes] if planes <= elements.width => {
                let mut changed = [0; 2];
                read(streams, cursor, Stream::Frames, &mut changed)?;
                let changed = usize::from(u16::from_le_bytes(changed)).saturating_add(1);
                if changed > count {
                    return Err(broken(
                        &PATCH_FRAME,
                        "a frame declares more changed elements than it has elements",
                    ));
                }
                self.sparse(planes, streams, cursor, changed)?;
                match elements.width {
                    1 => self.change::<1>(elements, bytes),
                    2 => self.change::<2>(elements, bytes),
                    4 => self.change::<4>(elements, bytes),
                    _ => self.change::<8>(elements, bytes),
                }
                .map(|()| true)
            }
            [planes] => Err(broken(
                &PATCH_FRAME,
                format!(
                    "a frame of elements of {0} bytes has the form byte {planes}, expected 0 to {0}, or 255",
                    elements.width
                ),
            )),
        }
    }

    /// Reads `length` bytes of `stream` at `cursor` into `self.plane`, and moves `cursor` behind them.
    fn plane(
        &mut self,
        streams: &mut StreamReader<'_, '_>,
        cursor: &mut Cursor,
        stream: Stream,
        length: usize,
    ) -> Result<(), Error> {
        resize(&mut self.plane, length)?;
        read(streams, cursor, stream, &mut self.plane)
    }

    /// Reads the differences and gaps of a frame into `self`. `changed` is the number of changed elements of the frame, and
    /// `planes` is the number of bytes of each difference.
    fn sparse(
        &mut self,
        planes: u8,
        streams: &mut StreamReader<'_, '_>,
        cursor: &mut Cursor,
        changed: usize,
    ) -> Result<(), Error> {
        self.differences.clear();
        self.differences.try_reserve(changed).map_err(|_| no_memory())?;
        self.differences.resize(changed, 0);
        for byte in 0..planes {
            self.plane(streams, cursor, Stream::Differences(byte), changed)?;
            let shift = u32::from(byte).saturating_mul(8);
            for (difference, byte) in self.differences.iter_mut().zip(&self.plane) {
                *difference |= u64::from(*byte).wrapping_shl(shift);
            }
        }
        read_gaps(streams, cursor, changed, &mut self.gaps)
    }

    /// Changes the elements in `bytes`: each gap is the number of elements that stay before the next changed one, and the
    /// difference with the same index says how that element changes.
    fn change<const W: usize>(&self, elements: Elements, bytes: &mut [u8]) -> Result<(), Error> {
        let (all, _) = bytes.as_chunks_mut::<W>();
        let mut rest = all.iter_mut();
        let mut gaps = self.gaps.iter();
        for difference in &self.differences {
            let gap = pop_gap(&mut gaps).ok_or_else(|| {
                broken(&PATCH_FRAME, "the gaps of a frame end in the middle of a gap")
            })?;
            let Some(element) = rest.nth(gap) else {
                return Err(broken(&PATCH_FRAME, "a gap leads beyond the end of its frame"));
            };
            let Some(new) = elements.apply(number(*element), *difference) else {
                return Err(broken(
                    &PATCH_FRAME,
                    "a difference in a frame is too large for the width of the elements",
                ));
            };
            write_number(new, element);
        }
        Ok(())
    }
}

/// Decodes the next gap of a frame from the bytes `gaps`, and returns it: the number of unchanged elements before the next changed
/// one. Returns `None` if the bytes end within the gap.
fn pop_gap<'g>(gaps: &mut impl Iterator<Item = &'g u8>) -> Option<usize> {
    let mut gap = 0_usize;
    for _ in 0..MOST {
        let own = *gaps.next()?;
        gap = gap.saturating_add(own.into());
        if own < MORE {
            return Some(gap);
        }
    }
    let rest = u16::from_le_bytes([*gaps.next()?, *gaps.next()?]);
    Some(gap.saturating_add(rest.into()))
}

/// Reads the bytes of the next `count` gaps at `cursor` into `gaps`. The number of bytes is not stored, so the function counts the
/// gaps while it reads: each byte tells whether its gap continues.
fn read_gaps(
    streams: &mut StreamReader<'_, '_>,
    cursor: &mut Cursor,
    count: usize,
    gaps: &mut Vec<u8>,
) -> Result<(), Error> {
    gaps.clear();
    let (mut left, mut run) = (count, 0_u8);
    while left > 0 {
        let bytes = next_bytes(streams, cursor, Stream::Gaps)?;
        let mut taken = 0_usize;
        for byte in bytes {
            if left == 0 {
                break;
            }
            taken = taken.saturating_add(1);
            // `run` counts the bytes of value 255 at the start of the gap, and after three of them the two bytes that end the gap.
            run = match run {
                MOST.. => run.saturating_add(1),
                _ if *byte == MORE => run.saturating_add(1),
                _ => MOST.saturating_add(2),
            };
            if run == MOST.saturating_add(2) {
                (left, run) = (left.saturating_sub(1), 0);
            }
        }
        let (taken, _) = bytes.split_at(taken.min(bytes.len()));
        gaps.try_reserve(taken.len()).map_err(|_| no_memory())?;
        gaps.extend_from_slice(taken);
        advance(cursor, Stream::Gaps, taken.len());
    }
    Ok(())
}

/// Fills `out` with the bytes of `stream` at `cursor`, and moves `cursor` behind them. Fails if the component has fewer bytes left.
fn read(
    streams: &mut StreamReader<'_, '_>,
    cursor: &mut Cursor,
    stream: Stream,
    mut out: &mut [u8],
) -> Result<(), Error> {
    while !out.is_empty() {
        let bytes = next_bytes(streams, cursor, stream)?;
        let length = bytes.len().min(out.len());
        let (now, rest) = out.split_at_mut(length);
        let (bytes, _) = bytes.split_at(length);
        now.copy_from_slice(bytes);
        advance(cursor, stream, length);
        out = rest;
    }
    Ok(())
}

/// Returns bytes of `stream` from `cursor` on: at least one byte, and no bytes that belong to the next component. Does not move
/// `cursor`. Fails if the component has no bytes left in this stream.
fn next_bytes<'s>(
    streams: &'s mut StreamReader<'_, '_>,
    cursor: &Cursor,
    stream: Stream,
) -> Result<&'s [u8], Error> {
    let at = |positions: &Positions| positions.get(stream.ordinal()).copied().unwrap_or(0);
    let (next, end) = (at(&cursor.next), at(&cursor.end));
    if next >= end {
        return Err(broken(
            &PATCH_FRAME,
            "a frame needs more bytes than its component has in a stream",
        ));
    }
    let left = usize::try_from(end.saturating_sub(next)).unwrap_or(usize::MAX);
    let bytes = streams.bytes(stream, next)?;
    let (own, _) = bytes.split_at(bytes.len().min(left));
    Ok(own)
}

/// Moves the position of `cursor` in `stream` forward by `length` bytes.
fn advance(cursor: &mut Cursor, stream: Stream, length: usize) {
    if let Some(next) = cursor.next.get_mut(stream.ordinal()) {
        *next = next.saturating_add(u64_from_usize(length));
    }
}

/// Sets the length of `buffer` to `length` bytes. The bytes have any values, because the caller overwrites them.
pub(crate) fn resize(buffer: &mut Vec<u8>, length: usize) -> Result<(), Error> {
    let more = length.saturating_sub(buffer.len());
    buffer.try_reserve(more).map_err(|_| no_memory())?;
    buffer.resize(length, 0);
    Ok(())
}

const _: () = assert!(
    STREAMS == 18,
    "`STREAMS` must count one stream of frames, one of gaps, and one for each of the 8 bytes of differences and of values"
);

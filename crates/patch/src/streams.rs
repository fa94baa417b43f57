//! The streams of a patch, which encode its changes, and the chunks in which a patch file stores the streams.

use zten::num::u64_from_usize;
use zten::verify::Verifier;
use zten::write::{Level, NewObject, Sink, Writer};
use zten::{Component, DType, Error, Layout, Tensor};
use zten_report::catalog::{PATCH_FRAME, PATCH_STREAM};

use crate::failure::{broken, internal, no_memory};

/// The number of streams of a patch: one of frames, one of gaps, and one for each of the 8 bytes of differences and of values.
pub(crate) const STREAMS: usize = 18;

/// The number of decoded bytes of each chunk of a stream except the last chunk, which may have fewer. A chunk is a tensor of the
/// patch file, and the bytes of a tensor begin at a multiple of 4096. Smaller chunks would add more padding, and larger ones would
/// take more memory.
pub(crate) const CHUNK: usize = 1 << CHUNK_BITS;
const CHUNK_BITS: u32 = 20;

/// A number of bytes for each stream, by the ordinal of the stream: either a length, or a position in the stream.
pub(crate) type Positions = [u64; STREAMS];

/// A stream of a patch. Each stream holds bytes of one kind, so that zstd can fit its codes to the frequencies of these bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// For each frame, its form byte, and the number of its changed elements if the frame is stored as changes.
    Frames,
    /// The gaps: for each changed element, the number of unchanged elements before it, in one to five bytes.
    Gaps,
    /// The byte with this index of each difference. The least significant byte has the index 0.
    Differences(u8),
    /// The byte with this index of each element of the frames that are stored whole. The least significant byte has the index 0.
    Values(u8),
}

impl Stream {
    /// Returns the index of the stream in [`NAMES`] and in [`Positions`].
    pub(crate) fn ordinal(self) -> usize {
        match self {
            Self::Frames => 0,
            Self::Gaps => 1,
            Self::Differences(byte) => usize::from(byte).saturating_add(2),
            Self::Values(byte) => usize::from(byte).saturating_add(10),
        }
    }
}

/// The names of the streams, by their ordinals. The name of a chunk is the name of its stream, a slash and the number of the chunk.
pub(crate) const NAMES: [&str; STREAMS] = [
    "frames",
    "gaps",
    "differences.0",
    "differences.1",
    "differences.2",
    "differences.3",
    "differences.4",
    "differences.5",
    "differences.6",
    "differences.7",
    "values.0",
    "values.1",
    "values.2",
    "values.3",
    "values.4",
    "values.5",
    "values.6",
    "values.7",
];

/// The prefix that marks, in the name of a tensor of a patch file, a tensor that is stored whole. The name that the tensor has in
/// the result follows the prefix.
pub(crate) const WHOLE: &str = "tensor/";

/// The streams of a patch that is being made. Bytes are collected in memory until a chunk is complete.
pub(crate) struct StreamWriter {
    pending: [Vec<u8>; STREAMS],
    /// The number of chunks of each stream that have been written.
    chunks: [u64; STREAMS],
    level: Level,
}

impl StreamWriter {
    pub(crate) fn new(level: Level) -> Self {
        Self { pending: Default::default(), chunks: [0; STREAMS], level }
    }

    /// Returns the number of bytes that were appended to each stream so far.
    pub(crate) fn lengths(&self) -> Positions {
        let mut all = Positions::default();
        for ((length, chunks), pending) in all.iter_mut().zip(self.chunks).zip(&self.pending) {
            let written = chunks.saturating_mul(u64_from_usize(CHUNK));
            *length = written.saturating_add(u64_from_usize(pending.len()));
        }
        all
    }

    /// Returns the buffer of the bytes of `stream` that are not written to the patch file yet. It has room for `more` further
    /// bytes, which the caller appends.
    pub(crate) fn room(&mut self, stream: Stream, more: usize) -> Result<&mut Vec<u8>, Error> {
        let ordinal = stream.ordinal();
        let pending = self.pending.get_mut(ordinal).ok_or_else(internal)?;
        pending.try_reserve(more).map_err(|_| no_memory())?;
        Ok(pending)
    }

    /// Appends `count` frames without changes, each of which is a single zero byte in the stream of frames.
    pub(crate) fn unchanged(&mut self, count: usize) -> Result<(), Error> {
        let frames = self.room(Stream::Frames, count)?;
        frames.resize(frames.len().saturating_add(count), 0);
        Ok(())
    }

    /// Writes all complete chunks to the patch file by `writer`. If `ends` is true, also writes the last, incomplete chunk of each
    /// stream.
    pub(crate) fn flush<S: Sink>(
        &mut self,
        writer: &mut Writer<S>,
        ends: bool,
    ) -> Result<(), Error> {
        for ((pending, chunks), name) in self.pending.iter_mut().zip(&mut self.chunks).zip(NAMES) {
            while pending.len() >= CHUNK || ends && !pending.is_empty() {
                let length = pending.len().min(CHUNK);
                let (chunk, _) = pending.split_at(length);
                let shape = [u64_from_usize(length)];
                let chunk_name = format!("{name}/{chunks}");
                let object = NewObject::dense(&chunk_name, &shape, DType::U8);
                writer.add_object(&object.compressed(self.level), &[("data", chunk)])?;
                pending.drain(..length);
                *chunks = chunks.saturating_add(1);
            }
        }
        Ok(())
    }
}

/// The streams of an open patch: where their chunks are, and how long they are. No chunk is decoded.
#[derive(Clone, Debug)]
pub(crate) struct Streams<'a> {
    /// The chunks of each stream, in the order of their numbers.
    chunks: [Vec<Component<'a>>; STREAMS],
    lengths: Positions,
}

/// What a tensor of a patch file is, according to its name.
pub(crate) enum PatchTensor<'a> {
    /// The chunk with this number of the stream with this ordinal.
    Chunk { ordinal: usize, number: u64 },
    /// A tensor of the result that is stored whole. The field is its name in the result.
    Whole(&'a str),
}

/// Parses `name`, the name of a tensor of a patch file, and returns whether the tensor is a chunk of a stream or a whole tensor.
/// Returns `None` if no tensor of a patch can have this name.
pub(crate) fn part(name: &str) -> Option<PatchTensor<'_>> {
    if let Some(name) = name.strip_prefix(WHOLE) {
        return Some(PatchTensor::Whole(name));
    }
    let (stream, number) = name.split_once('/')?;
    let ordinal = NAMES.iter().position(|name| *name == stream)?;
    let parsed: u64 = number.parse().ok()?;
    // Each number has one spelling, so no chunk has two names.
    (parsed.to_string() == number).then_some(PatchTensor::Chunk { ordinal, number: parsed })
}

impl<'a> Streams<'a> {
    pub(crate) fn new() -> Self {
        Self { chunks: Default::default(), lengths: [0; STREAMS] }
    }

    /// Returns the number of decoded bytes of each stream, according to the shapes of its chunks.
    pub(crate) fn lengths(&self) -> Positions {
        self.lengths
    }

    /// Adds `tensor`, which is chunk `number` of the stream with this `ordinal`, and checks its type and length. The chunks of a
    /// stream must be added in the order of their numbers, beginning with 0.
    pub(crate) fn add(
        &mut self,
        tensor: &Tensor<'a>,
        ordinal: usize,
        number: u64,
    ) -> Result<(), Error> {
        let wrong = |why: &str| {
            Err(broken(
                &PATCH_STREAM,
                format!("the chunk {} {why}", zten::escape::quoted(tensor.name())),
            ))
        };
        let (Some(chunks), Some(total)) =
            (self.chunks.get_mut(ordinal), self.lengths.get_mut(ordinal))
        else {
            return wrong("has no stream");
        };
        let full = u64_from_usize(CHUNK);
        let is_dense = tensor.layout() == Layout::Dense
            && tensor.dtype() == DType::U8
            && !tensor.has_attributes();
        let (&[length], true, Some(data)) = (tensor.shape(), is_dense, tensor.component("data"))
        else {
            return wrong("is not a dense array of u8 with one dimension and without attributes");
        };
        if number != u64_from_usize(chunks.len()) || *total != number.saturating_mul(full) {
            return wrong("does not follow a full chunk");
        }
        if length == 0 || length > full {
            return wrong("is empty or too long");
        }
        chunks.try_reserve(1).map_err(|_| no_memory())?;
        chunks.push(data);
        *total = total.saturating_add(length);
        Ok(())
    }
}

/// A reader of the streams of one patch. It holds one decoded chunk of each stream.
#[derive(Debug)]
pub(crate) struct StreamReader<'p, 'a> {
    streams: &'p Streams<'a>,
    /// The verifier that limits the decoded bytes of all chunks that are read. Components are read in the order of the result. If a
    /// patch lists their changes in another order, a chunk may be decoded again for each component, and without a limit a small
    /// patch could cause the work of its number of components times 1 MiB.
    verifier: Verifier,
    held: [DecodedChunk; STREAMS],
}

/// The buffer for the decoded chunk of one stream.
#[derive(Debug, Default)]
struct DecodedChunk {
    /// The number of the chunk whose bytes are in the buffer. `None` before a chunk was read, and after an error.
    number: Option<u64>,
    bytes: Vec<u8>,
}

impl<'p, 'a> StreamReader<'p, 'a> {
    /// Creates a reader of `streams`. The bytes to which chunks are decoded count against the limit `decoded-total` of `verifier`.
    pub(crate) fn new(streams: &'p Streams<'a>, verifier: Verifier) -> Self {
        Self { streams, verifier, held: Default::default() }
    }

    /// Returns the bytes of `stream` from `position` to the end of the chunk that holds this position: at least one byte. Fails if
    /// the stream ends before.
    pub(crate) fn bytes(&mut self, stream: Stream, position: u64) -> Result<&[u8], Error> {
        let ordinal = stream.ordinal();
        let beyond = || broken(&PATCH_FRAME, "a stream ends before the last byte of a frame");
        let full = u64_from_usize(CHUNK);
        let (number, within) = (position >> CHUNK_BITS, position & full.saturating_sub(1));
        let held = self.held.get_mut(ordinal).ok_or_else(beyond)?;
        if held.number != Some(number) {
            let at = usize::try_from(number).ok();
            let chunks = self.streams.chunks.get(ordinal);
            let chunk =
                chunks.zip(at).and_then(|(chunks, at)| chunks.get(at)).ok_or_else(beyond)?;
            held.number = None;
            held.read(chunk, &mut self.verifier)?;
            held.number = Some(number);
        }
        let within = usize::try_from(within).unwrap_or(usize::MAX);
        held.bytes.get(within..).filter(|rest| !rest.is_empty()).ok_or_else(beyond)
    }
}

impl DecodedChunk {
    /// Decodes and verifies `chunk` into the buffer. Its bytes count against the limit of `verifier`.
    fn read(&mut self, chunk: &Component<'_>, verifier: &mut Verifier) -> Result<(), Error> {
        let mut reader = chunk.reader()?;
        self.bytes.clear();
        while let Some(bytes) = reader.next_chunk()? {
            if self.bytes.len().saturating_add(bytes.len()) > CHUNK {
                return Err(broken(&PATCH_STREAM, "a chunk is longer than its shape says"));
            }
            verifier.count_bytes(chunk, u64_from_usize(bytes.len()))?;
            self.bytes.try_reserve(bytes.len()).map_err(|_| no_memory())?;
            self.bytes.extend_from_slice(bytes);
        }
        Ok(())
    }
}

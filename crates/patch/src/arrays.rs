//! A zTensor file whose tensors are arrays in memory, so that arrays can be the old or the new model of a patch.

use std::cell::Cell;

use zten::formats::write::{Array, DeclaredArrays};
use zten::num::u64_from_usize;
use zten::write::{Checksum, Sink, WriteOptions, Writer};
use zten::{Archive, Error, Generation, OpenOptions, ReadAt, error::Misuse};

use crate::failure::no_memory;

/// A source of the bytes of arrays: memory of the caller, or arrays on a device that are fetched when their turn comes. [`make`]
/// reads the arrays one after another.
///
/// [`make`]: crate::make
pub trait ReadArray: Sync {
    /// Fills `buffer` with bytes of the array whose index in the list of arrays is `number`. The bytes are the little-endian
    /// elements of the array, from the byte `offset` on.
    ///
    /// # Errors
    /// Any error that keeps the source from filling all of `buffer`.
    fn read_array(&self, number: usize, offset: u64, buffer: &mut [u8]) -> Result<(), Error>;
}

impl ReadArray for [&[u8]] {
    fn read_array(&self, number: usize, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.get(number).copied().ok_or(Misuse::NoTensor)?.read_at(offset, buffer)
    }
}

impl<R: ReadArray + ?Sized> ReadArray for &R {
    fn read_array(&self, number: usize, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        (**self).read_array(number, offset, buffer)
    }
}

/// The bytes of a zTensor file of generation 2 that holds arrays in memory. The header is in memory, and the elements are read from
/// the arrays, so nothing is copied when the file is made.
#[derive(Debug)]
pub struct ArrayFile<R> {
    arrays: R,
    pieces: Vec<Piece>,
}

/// A range of the bytes of an [`ArrayFile`]. All bytes of the range come from one source.
#[derive(Debug)]
struct Piece {
    /// The offset in the file of the first byte of the range.
    start: u64,
    /// The offset in the file of the byte after the last byte of the range.
    end: u64,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// The magic, the padding and the manifest.
    Bytes(Vec<u8>),
    /// All bytes of the array with this index in the list of arrays.
    Array(usize),
}

impl<R: ReadArray> ArrayFile<R> {
    /// Opens the file of the arrays in `list`, which has their names, types and shapes. The elements are read from `arrays`, where
    /// the arrays have the numbers of their places in the list. Takes memory for the header of the file, and at most 4 KiB of
    /// padding for each array.
    ///
    /// ```
    /// use zten::formats::write::{Array, DeclaredArrays};
    /// use zten_patch::{ArrayFile, Model};
    ///
    /// let bytes: &[&[u8]] = &[&[1, 2, 3]];
    /// let arrays = vec![("w".to_owned(), Array::named("u8", vec![3])?)];
    /// let list = DeclaredArrays { arrays, attributes: None };
    /// let file = ArrayFile::open(&list, bytes)?;
    /// let model = Model::of_arrays(&list, &file)?;
    /// assert_eq!(file.tensor("w")?.to_vec::<u8>()?, [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Generation 2 of zTensor cannot hold one of the arrays, such as two of one name; [`OutOfMemory`](zten::error::OutOfMemory).
    pub fn open(list: &DeclaredArrays, arrays: R) -> Result<Archive<Self>, Error> {
        let left = Cell::new((0, 0));
        // The digests of the patch cover the elements, which are read only when the patch is made.
        let options = WriteOptions::default().generation(Generation::V2).checksum(Checksum::None);
        let mut writer = Writer::new(Outline { left: &left, pieces: Vec::new() }, &options)?;
        if let Some(attributes) = &list.attributes {
            writer.attributes_encoded(attributes)?;
        }
        for (number, (name, array)) in list.arrays.iter().enumerate() {
            let Array { shape, dtype, .. } = array;
            let bytes = array.bytes();
            let mut out = writer.begin(name, shape, *dtype)?;
            left.set((number, bytes));
            let mut rest = bytes;
            while rest > 0 {
                let piece = usize::try_from(rest).unwrap_or(usize::MAX).min(ZEROS.len());
                out.write_part("data", ZEROS.get(..piece).ok_or(Misuse::Length)?)?;
                rest = rest.saturating_sub(u64_from_usize(piece));
            }
            out.finish()?;
        }
        let pieces = writer.finish()?;
        let length = pieces.last().map_or(0, |piece| piece.end);
        OpenOptions::default().open_source(Self { arrays, pieces }, length)
    }
}

/// Elements that take the place of those of an array while the header is made. Zero is a valid element of every dtype.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// A sink that records the layout of the file that is written to it. It keeps the header and the padding. Of the elements of an
/// array, it notes only where they are in the file.
struct Outline<'l> {
    /// The index of the array that is being written, and the number of its bytes that have not been written yet.
    left: &'l Cell<(usize, u64)>,
    pieces: Vec<Piece>,
}

impl Sink for Outline<'_> {
    type Output = Vec<Piece>;

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let start = self.pieces.last().map_or(0, |piece| piece.end);
        let end = start.saturating_add(u64_from_usize(bytes.len()));
        let (number, left) = self.left.get();
        self.pieces.try_reserve(1).map_err(|_| no_memory())?;
        if left > 0 {
            self.left.set((number, left.saturating_sub(end.saturating_sub(start))));
            match self.pieces.last_mut() {
                Some(Piece { end: last, content: Content::Array(own), .. }) if *own == number => {
                    *last = end;
                }
                _ => self.pieces.push(Piece { start, end, content: Content::Array(number) }),
            }
            return Ok(());
        }
        if let Some(Piece { end: last, content: Content::Bytes(own), .. }) = self.pieces.last_mut()
        {
            own.try_reserve(bytes.len()).map_err(|_| no_memory())?;
            own.extend_from_slice(bytes);
            *last = end;
            return Ok(());
        }
        let mut own = Vec::new();
        own.try_reserve_exact(bytes.len()).map_err(|_| no_memory())?;
        own.extend_from_slice(bytes);
        self.pieces.push(Piece { start, end, content: Content::Bytes(own) });
        Ok(())
    }

    fn finish(self) -> Result<Vec<Piece>, Error> {
        Ok(self.pieces)
    }
}

impl<R: ReadArray> ReadAt for ArrayFile<R> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let first = self.pieces.partition_point(|piece| piece.end <= offset);
        let (mut at, mut rest) = (offset, buffer);
        for piece in self.pieces.iter().skip(first) {
            if rest.is_empty() {
                return Ok(());
            }
            let left = usize::try_from(piece.end.saturating_sub(at)).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at_mut(left.min(rest.len()));
            let within = at.saturating_sub(piece.start);
            match &piece.content {
                Content::Bytes(own) => own.read_at(within, now)?,
                Content::Array(number) => self.arrays.read_array(*number, within, now)?,
            }
            at = at.saturating_add(u64_from_usize(now.len()));
            rest = later;
        }
        if rest.is_empty() { Ok(()) } else { Err(Misuse::Size.into()) }
    }
}

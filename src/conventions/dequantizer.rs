//! Values of quantized tensors, computed while their components are read.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use super::pieces::{Digests, Pieces};
use super::plan::Plan;
use super::rows::Rows;
use crate::digest::Verified;
use crate::error::{BareError, Error, Misuse, OutOfMemory};
use crate::formats::{Block, BlockDequantizer};
use crate::index::Layout;
use crate::layout::{CodeConverter, CodeStart, MxConverter, QuantGroup};
use crate::manifest::{Component, Tensor};
use crate::num::u64_from_usize;
use crate::rules::Limit;
use crate::verify::{Verifier, required};

/// A reader of the values of a quantized tensor as `f32`, in row-major order. Created by [`Tensor::dequantizer`].
///
/// Its memory holds a few rows of values, one row of scales, and the chunks that have been read. It holds all scales of a GPTQ
/// tensor with `g_idx`, of a `zt.mx/1` and of a `zt.quant_group/1`.
#[derive(Debug)]
pub struct Dequantizer<'a>(Computation<'a>);

/// The way in which a [`Dequantizer`] computes the values of a tensor.
#[derive(Debug)]
enum Computation<'a> {
    /// Row by row, from codes, scales and zero points.
    Rows(Box<Rows<'a>>),
    /// Chunk by chunk of one component.
    Chunks(Box<Chunks<'a>>),
}

/// A component whose chunks are converted to values.
#[derive(Debug)]
struct Chunks<'a> {
    data: Pieces<'a>,
    converter: Converter,
    values: Vec<f32>,
    /// What is known of the components that were read whole before the first chunk of `data`: the outcome of comparing their
    /// digests, and the number of bytes to which they have decoded.
    others: Others<'a>,
}

/// The outcome of reading the components that are read whole before the first value is computed, such as scales.
#[derive(Debug, Default)]
struct Others<'a> {
    digests: Digests<'a>,
    /// The total number of bytes to which those components that are compressed have decoded.
    decoded: u64,
}

/// A converter of the decoded bytes of a component.
#[derive(Debug)]
enum Converter {
    /// Blocks of GGUF.
    Blocks(Box<BlockDequantizer>),
    /// The elements of a `zt.mx/1`.
    Mx(MxConverter<Vec<u8>>),
    /// The codes of a `zt.quant_group/1`.
    Codes(CodeConverter<Vec<u8>>),
}

impl<'a> Tensor<'a> {
    /// Returns whether [`dequantizer`](Self::dequantizer) computes the values of this tensor, as far as its layout and attributes
    /// tell.
    pub fn is_quantized(&self) -> bool {
        match self.layout() {
            Layout::Mx | Layout::QuantGroup => true,
            Layout::QuantizedGroup => self.quantization().is_ok(),
            _ => Block::of_layout(self).is_some() || super::Convention::of(self).is_some(),
        }
    }

    /// Returns a reader of the values of a quantized tensor, which verifies its components: of blocks of GGUF, of a
    /// `quantized_group` (1.1, 1.2), a `zt.mx/1` or `zt.quant_group/1` (2), or of a group of tensors that
    /// [`Archive::with_conventions`](crate::Archive::with_conventions) has found.
    ///
    /// ```
    /// let archive = zten::open("corpus/v2/accept/mx.zt")?;
    /// let mut values = archive.tensor("w")?.dequantizer()?;
    /// let mut sum = 0.0;
    /// while let Some(chunk) = values.next_chunk()? {
    ///     sum += chunk.iter().sum::<f32>();
    /// }
    /// # assert_eq!(sum, 26.0);
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Misuse::Layout`] for other tensors; [`Misuse::Quantization`] if the components of a `quantized_group` do not fit its
    /// shape; the errors of [`Component::reader`].
    pub fn dequantizer(&self) -> Result<Dequantizer<'a>, Error> {
        self.values_of(None).map(|(values, _)| values)
    }

    /// Returns a reader of the values `range`, or of all values if `range` is `None`, and the number of values that the reader
    /// returns before the first value of `range`. Of components that are not compressed, only the bytes that these values need are
    /// read.
    pub(crate) fn values_of(
        &self,
        range: Option<&Range<u64>>,
    ) -> Result<(Dequantizer<'a>, u64), Error> {
        let chunks = match self.layout() {
            Layout::Mx => self.mx_chunks(range)?,
            Layout::QuantGroup => code_chunks(&self.quant_group()?, range)?,
            _ => match Block::of_layout(self) {
                Some(block) => self.block_chunks(block, range)?,
                None => return self.rows_of(range),
            },
        };
        let (chunks, first) = chunks;
        let skip = range.map_or(0, |range| range.start.saturating_sub(first));
        Ok((Dequantizer(Computation::Chunks(Box::new(chunks))), skip))
    }

    /// Returns a reader that computes the values `range` row by row, and the number of values that the reader returns before the
    /// first value of `range`.
    fn rows_of(&self, range: Option<&Range<u64>>) -> Result<(Dequantizer<'a>, u64), Error> {
        let plan = match self.layout() {
            Layout::QuantizedGroup => Some(Plan::of_matrix(self)?),
            _ => Plan::of(self)?,
        };
        let plan = plan.ok_or_else(|| BareError::misuse(Misuse::Layout).at(self.location()))?;
        let (rows, skip) = match range {
            None => (Rows::whole(plan)?, 0),
            Some(range) => Rows::part(plan, range)?,
        };
        Ok((Dequantizer(Computation::Rows(Box::new(rows))), skip))
    }

    /// Returns a reader of the blocks that hold the values `range`, and the index of the first value in these blocks.
    fn block_chunks(
        &self,
        block: &'static Block,
        range: Option<&Range<u64>>,
    ) -> Result<(Chunks<'a>, u64), Error> {
        let data = self.component("data").ok_or(Misuse::Layout)?;
        let converter = Converter::Blocks(Box::new(block.dequantizer()));
        let Some(range) = range else {
            return Ok((Chunks::new(Pieces::whole(&data)?, converter, Others::default()), 0));
        };
        let first = range.start.checked_div(block.elements).unwrap_or_default();
        let end = range.end.div_ceil(block.elements.max(1));
        let bytes = |blocks: u64| blocks.checked_mul(block.bytes).ok_or(Misuse::Slice);
        let needed = bytes(first)?..if range.is_empty() { bytes(first)? } else { bytes(end)? };
        let chunks = Chunks::new(Pieces::part(&data, needed)?, converter, Others::default());
        Ok((chunks, first.saturating_mul(block.elements)))
    }

    /// Returns a reader of the elements `range` of a `zt.mx/1`, and the index of the first element that the reader returns.
    fn mx_chunks(&self, range: Option<&Range<u64>>) -> Result<(Chunks<'a>, u64), Error> {
        let blocks = self.mx_blocks()?;
        let component = |role| self.component(role).ok_or_else(BareError::internal);
        let (data, scales) = (component("data")?, component("scales")?);
        let kind = data.decoded_kind()?;
        // Many small ranges of a tensor are read one after the other. Reading all scales each time would be quadratic.
        let part = range.map(|range| blocks.part(self, range)).transpose()?;
        let Some(part) = part else {
            let mut others = Others::default();
            let bytes = others.read(&scales)?;
            if u64_from_usize(bytes.len()) != blocks.scales() {
                return Err(self.named(BareError::misuse(Misuse::Size).at(scales.location())));
            }
            let converter = Converter::Mx(MxConverter::new(blocks, kind, bytes, (0, 0)));
            return Ok((Chunks::new(Pieces::whole(&data)?, converter, others), 0));
        };
        let start = (part.first, part.scales.start);
        let bytes = Pieces::part(&scales, part.scales)?.collect()?;
        let converter = Converter::Mx(MxConverter::new(blocks, kind, bytes, start));
        Ok((Chunks::new(Pieces::part(&data, part.data)?, converter, Others::default()), part.first))
    }
}

/// Returns a reader of the weights `range` of a `zt.quant_group/1`, and the index of the first weight that the reader returns.
fn code_chunks<'a>(
    group: &QuantGroup<'a>,
    range: Option<&Range<u64>>,
) -> Result<(Chunks<'a>, u64), Error> {
    let part = range.map(|range| group.part(range)).transpose()?.flatten();
    if let Some(part) = part {
        let scales = Pieces::part(&group.scales, part.scales)?.collect()?;
        let zeros = group.zeros.map(|zeros| Pieces::part(&zeros, part.zeros)?.collect());
        let converter = group.converter(scales, zeros.transpose()?, &part.start)?;
        let data = Pieces::part(&group.data, part.data)?;
        return Ok((
            Chunks::new(data, Converter::Codes(converter), Others::default()),
            part.start.first,
        ));
    }
    let mut others = Others::default();
    let scales = others.read(&group.scales)?;
    let zeros = group.zeros.map(|zeros| others.read(&zeros));
    let converter = group.converter(scales, zeros.transpose()?, &CodeStart::default())?;
    let data = match range {
        // An empty range needs no codes. For another range, there is no part if the file does not give the number of scales: then
        // all codes are read.
        Some(range) if range.is_empty() => Pieces::part(&group.data, 0..0)?,
        _ => Pieces::whole(&group.data)?,
    };
    Ok((Chunks::new(data, Converter::Codes(converter), others), 0))
}

impl<'a> Others<'a> {
    /// Returns the bytes of `component`, decoded and verified.
    fn read(&mut self, component: &Component<'a>) -> Result<Vec<u8>, Error> {
        let most = component.limits().decoded();
        let (mut reader, mut bytes) = (component.reader()?, Vec::new());
        while let Some(chunk) = reader.next_chunk()? {
            let length = u64_from_usize(bytes.len()).saturating_add(u64_from_usize(chunk.len()));
            // A compressed component may be larger than its tensor needs.
            if length > most {
                let over = BareError::new(Limit::Decoded, component.extent().offset());
                return Err(over.found(length).at(component.location()).into());
            }
            bytes.try_reserve(chunk.len()).map_err(|_| OutOfMemory)?;
            bytes.extend_from_slice(chunk);
        }
        self.digests.note(component, reader.verified());
        if component.encoding().is_compressed() {
            self.decoded = self.decoded.saturating_add(u64_from_usize(bytes.len()));
        }
        Ok(bytes)
    }
}

impl<'a> Chunks<'a> {
    fn new(data: Pieces<'a>, converter: Converter, others: Others<'a>) -> Self {
        Self { data, converter, values: Vec::new(), others }
    }

    fn next(&mut self) -> Result<Option<&[f32]>, Error> {
        let Self { data, converter, values, .. } = self;
        values.clear();
        while values.is_empty() {
            let Some(chunk) = data.chunk()? else {
                data.finish()?;
                if matches!(converter, Converter::Mx(elements) if data.is_whole() && elements.left() > 0)
                {
                    return Err(Misuse::Size.into());
                }
                return Ok(None);
            };
            converter.chunk(chunk, values)?;
        }
        Ok(Some(values))
    }
}

impl Converter {
    /// Appends the values of the elements that are complete with `chunk` to `values`.
    fn chunk(&mut self, chunk: &[u8], values: &mut Vec<f32>) -> Result<(), Error> {
        let append = |piece: &[f32]| {
            values.try_reserve(piece.len()).map_err(|_| OutOfMemory)?;
            values.extend_from_slice(piece);
            Ok::<(), Error>(())
        };
        match self {
            Self::Blocks(blocks) => blocks.chunk(chunk, append),
            Self::Mx(elements) => elements.chunk(chunk, append),
            Self::Codes(codes) => codes.chunk(chunk, values),
        }
    }
}

impl<'a> Dequantizer<'a> {
    /// Returns the next values: some rows of them, or those of a chunk. Returns `None` at the end, when all components have been
    /// read and verified.
    ///
    /// # Errors
    /// The errors of [`Reader::next_chunk`](crate::Reader::next_chunk); `limit-decoded` if a row does not fit in the limit;
    /// [`Misuse::Quantization`] or [`Misuse::Size`] if a component has more or fewer bytes than the shape needs; out of memory.
    pub fn next_chunk(&mut self) -> Result<Option<&[f32]>, Error> {
        match &mut self.0 {
            Computation::Rows(rows) => rows.next(),
            Computation::Chunks(chunks) => chunks.next(),
        }
    }

    /// Returns whether digests were verified, once all values have been read: [`Verified::Digest`] if each component with codes,
    /// scales, zero points or an index of rows has a digest that matches. Returns `None` before any of them has been read.
    pub fn verified(&self) -> Option<Verified> {
        self.digests().verified
    }

    /// Returns a component with a digest that zten cannot compare, once all values have been read. Returns `None` if there is none.
    pub fn unverifiable(&self) -> Option<Component<'a>> {
        self.digests().unverifiable
    }

    fn digests(&self) -> Digests<'a> {
        match &self.0 {
            Computation::Rows(rows) => rows.digests(),
            Computation::Chunks(chunks) => {
                let mut digests = chunks.others.digests;
                chunks.data.note(&mut digests);
                digests
            }
        }
    }

    /// Returns the number of bytes to which compressed components have decoded so far.
    fn decoded(&self) -> u64 {
        match &self.0 {
            Computation::Rows(rows) => rows.decoded(),
            Computation::Chunks(chunks) => {
                chunks.others.decoded.saturating_add(chunks.data.decoded())
            }
        }
    }
}

impl Verifier {
    /// Reads and verifies all components of a quantized tensor, and calls `take` with its values in row-major order, piece by
    /// piece. Unlike [`object`](Self::object), this function does not fail if the digest of a component that holds no codes, scales
    /// or zero points cannot be compared.
    ///
    /// # Errors
    /// The errors of [`Tensor::dequantizer`] and [`Dequantizer::next_chunk`]; `limit-decoded-total`; `unsupported-digest`.
    pub fn values(
        &mut self,
        tensor: &Tensor<'_>,
        mut take: impl FnMut(&[f32]),
    ) -> Result<(), Error> {
        let mut read = || -> Result<(), Error> {
            let (mut values, mut charged) = (tensor.dequantizer()?, 0);
            let component = tensor.components().next().ok_or(Misuse::Layout)?;
            loop {
                let is_over = match values.next_chunk()? {
                    Some(chunk) => {
                        take(chunk);
                        false
                    }
                    None => true,
                };
                let decoded = values.decoded();
                self.charge(&component, decoded.saturating_sub(charged))?;
                charged = decoded;
                if is_over {
                    break;
                }
            }
            if let Some(component) = values.unverifiable() {
                required(&component, Some(Verified::Unverifiable))?;
            }
            Ok(())
        };
        read().map_err(|error| tensor.named(error))
    }
}

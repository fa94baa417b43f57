//! Conversion of the elements of every layout to numbers, as their bytes arrive.

use std::io;

use zten::element::StorageType;
use zten::formats::{Block, BlockDequantizer};
use zten::number::{Fp8, Kind};
use zten::view::MxDequantizer;
use zten::view::{Decoded, MxBlocks, Quantization};
use zten::{Component, DType, Error, Layout, Tensor};

use crate::blocks::is_dequantized;
use crate::unpacked::{self, Unpacking};

/// The number of elements that are converted at a time.
const PIECE: usize = 1 << 10;

/// The scales of an object, which are read before its elements.
#[derive(Debug)]
pub enum Factors {
    /// The elements have no scales.
    None,
    /// The blocks of a `zt.mx/1`, and its scales.
    Mx(MxBlocks, Decoded),
    /// The scales and zero points of a `quantized_group`.
    Group(Group),
}

/// The scales and zero points of a matrix of packed codes.
#[derive(Clone, Debug)]
pub struct Group {
    quantization: Quantization,
    outputs: usize,
    scales: Vec<f32>,
    /// The zero points, or `None` if every zero point is the middle of the range of codes.
    zeros: Option<Vec<f32>>,
}

/// Returns whether the elements of `object` are computed from codes and scales in a way that zten supports.
pub fn is_quantized(object: &Tensor<'_>) -> bool {
    let is_group = matches!(object.layout(), Layout::Mx | Layout::QuantizedGroup);
    is_group && (object.layout() == Layout::Mx || object.quantization().is_ok())
        || is_dequantized(object)
}

/// Reads the scales and zero points of `object`.
pub fn factors(object: &Tensor<'_>) -> Result<Factors, Error> {
    let floats = |component: Component<'_>| {
        let (read, mut numbers) = (component.read()?, Vec::new());
        let Some(kind) = Kind::of_component(&component) else { return Ok(numbers) };
        let mut wide = Vec::new();
        for piece in read.chunks(kind.width().saturating_mul(PIECE)) {
            wide.clear();
            kind.values(piece, &mut wide);
            numbers.extend(wide.iter().map(|number| narrow(*number)));
        }
        Ok::<_, Error>(numbers)
    };
    Ok(match (object.layout(), object.component("scales")) {
        (Layout::Mx, Some(scales)) => Factors::Mx(object.mx_blocks()?, scales.read()?),
        (Layout::QuantizedGroup, Some(scales)) => {
            let Ok(quantization) = object.quantization() else { return Ok(Factors::None) };
            let outputs = object.shape().last().and_then(|last| usize::try_from(*last).ok());
            Factors::Group(Group {
                quantization,
                outputs: outputs.unwrap_or_default(),
                scales: floats(scales)?,
                zeros: object.component("zeros").map(floats).transpose()?,
            })
        }
        _ => Factors::None,
    })
}

#[expect(clippy::cast_possible_truncation, clippy::as_conversions, reason = "it was no wider")]
fn narrow(number: f64) -> f32 {
    number as f32
}

/// A converter of the bytes of an object to numbers, in the middle of the object.
#[derive(Debug)]
pub struct Values<'a> {
    /// The role of the component that holds the elements.
    role: &'static str,
    form: Form<'a>,
    /// The bytes so far of an incomplete element.
    begun: Vec<u8>,
    numbers: Vec<f64>,
}

#[derive(Debug)]
enum Form<'a> {
    Plain(Kind),
    Packed(Unpacking),
    Blocks(Box<BlockDequantizer>),
    Mx(MxDequantizer<'a>),
    Words { group: &'a Group, word: usize },
}

impl<'a> Values<'a> {
    /// Creates a converter for the elements of `object`, or returns the reason why they have no values, as in "the elements are
    /// {reason}".
    pub fn of(
        object: &Tensor<'_>,
        factors: &'a Factors,
    ) -> Result<Result<Self, &'static str>, Error> {
        let role = match object.layout() {
            Layout::SparseCsr | Layout::SparseCoo => "values",
            Layout::QuantizedGroup => "packed_weight",
            _ => "data",
        };
        let Some(component) = object.component(role) else { return Ok(Err("without elements")) };
        let form = match (object.layout(), factors, Block::of_layout(object)) {
            (_, _, Some(block)) => Form::Blocks(block.dequantizer().into()),
            (_, Factors::Mx(blocks, scales), _) => {
                Form::Mx(blocks.dequantizer(&component, scales.view())?)
            }
            (_, Factors::Group(group), _) => Form::Words { group, word: 0 },
            (Layout::Dense | Layout::SparseCsr | Layout::SparseCoo, ..) => {
                match (unpacked::count(&component), Kind::of_component(&component)) {
                    (Some(count), _) => Form::Packed(Unpacking::new(count)),
                    (None, Some(Kind::Complex(_))) => return Ok(Err("complex")),
                    (None, Some(kind)) if component.dtype() != DType::Unknown => Form::Plain(kind),
                    _ => return Ok(Err("of an unknown type")),
                }
            }
            (Layout::QuantizedGroup | Layout::QuantGroup, ..) => {
                return Ok(Err("of an unsupported quantization"));
            }
            _ => return Ok(Err("of an unknown layout")),
        };
        Ok(Ok(Self { role, form, begun: Vec::new(), numbers: Vec::new() }))
    }

    /// Returns the role of the component that holds the elements.
    pub fn role(&self) -> &'static str {
        self.role
    }

    /// Returns the type whose shortest digits are printed for an element.
    pub fn kind(&self) -> Kind {
        match self.form {
            Form::Plain(kind) => kind,
            Form::Packed(_) => Kind::Fp8(Fp8::E2M1),
            Form::Blocks(_) | Form::Mx(_) | Form::Words { .. } => Kind::Plain(StorageType::F32),
        }
    }

    /// Returns the number of rows and columns of the parts that are stored by columns, or `None` if the elements are stored by
    /// rows.
    pub fn columns(&self) -> Option<(usize, usize)> {
        match &self.form {
            Form::Words { group, .. } => {
                Some((group.quantization.packing().codes().into(), group.outputs))
            }
            _ => None,
        }
    }

    /// Converts the elements in the next bytes, and passes the numbers to `take`. `chunk` may end within an element.
    pub fn chunk(&mut self, chunk: &[u8], take: &mut dyn FnMut(&[f64])) {
        let Self { form, begun, numbers, .. } = self;
        let mut floats = |floats: &[f32]| {
            numbers.clear();
            numbers.extend(floats.iter().copied().map(f64::from));
            take(numbers);
            Ok::<(), Error>(())
        };
        match form {
            Form::Plain(kind) => split_elements(chunk, begun, kind.width(), &mut |bytes| {
                numbers.clear();
                kind.values(bytes, numbers);
                take(numbers);
            }),
            Form::Packed(unpacking) => {
                let _ = unpacking.chunk(chunk, &mut |codes| {
                    numbers.clear();
                    Kind::Fp8(Fp8::E2M1).values(codes, numbers);
                    take(numbers);
                    Ok::<(), io::Error>(())
                });
            }
            // These fail only if `floats` fails, and `floats` never does.
            Form::Blocks(blocks) => drop(blocks.chunk(chunk, floats)),
            Form::Mx(blocks) => drop(blocks.chunk(chunk, floats)),
            Form::Words { group, word } => {
                let width = usize::from(group.quantization.packing().word().width());
                let mut values = Vec::new();
                split_elements(chunk, begun, width, &mut |bytes| {
                    values.clear();
                    group.values(bytes, word, &mut values);
                    drop(floats(&values));
                });
            }
        }
    }
}

/// Passes the complete elements of `width` bytes in `chunk` to `take`, and keeps the bytes of an incomplete element in `begun`.
fn split_elements(chunk: &[u8], begun: &mut Vec<u8>, width: usize, take: &mut dyn FnMut(&[u8])) {
    let missing = if begun.is_empty() { 0 } else { width.saturating_sub(begun.len()) };
    let (first, rest) = chunk.split_at(missing.min(chunk.len()));
    begun.extend_from_slice(first);
    if begun.len() == width {
        take(begun);
        begun.clear();
    }
    for piece in rest.chunks(width.saturating_mul(PIECE)) {
        let left = piece.len().checked_rem(width).unwrap_or_default();
        let (elements, left) = piece.split_at(piece.len().saturating_sub(left));
        take(elements);
        begun.extend_from_slice(left);
    }
}

impl Group {
    /// Appends the values of the codes in `words`, whole words in stored order, to `out`. `word` is the index of the first
    /// word in the matrix, and is advanced.
    fn values(&self, words: &[u8], word: &mut usize, out: &mut Vec<f32>) {
        let packing = self.quantization.packing();
        let size = usize::try_from(self.quantization.group_size()).unwrap_or(usize::MAX);
        let (bits, codes) = (u32::from(packing.bits()), usize::from(packing.codes()));
        let middle = if bits == 4 { 8.0 } else { 128.0 };
        for bytes in words.chunks_exact(usize::from(packing.word().width()).max(1)) {
            let row = word.checked_div(self.outputs).unwrap_or_default();
            let column = word.checked_rem(self.outputs).unwrap_or_default();
            *word = word.saturating_add(1);
            let mut wide = [0; 8];
            wide.iter_mut().zip(bytes).for_each(|(wide, byte)| *wide = *byte);
            let mut rest = u64::from_le_bytes(wide);
            for place in 0..codes {
                let input = row.saturating_mul(codes).saturating_add(place);
                let group = input.checked_div(size).unwrap_or_default();
                let at = group.saturating_mul(self.outputs).saturating_add(column);
                let code =
                    u8::try_from(rest & if bits == 4 { 15 } else { 255 }).unwrap_or_default();
                rest = rest.wrapping_shr(bits);
                let zero = match &self.zeros {
                    Some(zeros) => zeros.get(at).copied(),
                    None => Some(middle),
                };
                // A missing scale gives NaN.
                let both = self.scales.get(at).zip(zero);
                out.push(both.map_or(f32::NAN, |(scale, zero)| scale * (f32::from(code) - zero)));
            }
        }
    }
}

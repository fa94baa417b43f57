//! Conversion of the elements of dense and sparse tensors to numbers, as their bytes arrive.

use std::io;

use zten::number::{Fp8, NumberKind};
use zten::{DType, Layout, Tensor};

use crate::unpacked::{self, Unpacking};

/// The number of elements that are converted at a time.
const PIECE: usize = 1 << 10;

/// A converter of the elements of one dense or sparse tensor to `f64` numbers. The bytes of the elements arrive in chunks, which
/// may end within an element: the converter keeps its first bytes until the next chunk.
#[derive(Debug)]
pub struct Values {
    /// The role of the component that holds the elements.
    role: &'static str,
    form: ValueForm,
    /// The first bytes of an element whose other bytes have not arrived yet.
    begun: Vec<u8>,
    numbers: Vec<f64>,
}

#[derive(Debug)]
enum ValueForm {
    Plain(NumberKind),
    Packed(Unpacking),
}

impl Values {
    /// Creates a converter for the elements of the dense or sparse tensor `object`.
    ///
    /// # Errors
    /// The elements cannot be converted: `object` is quantized or has an unknown layout, or its elements are complex or of an
    /// unknown type. The error is an adjective or a clause about the object. The numbers of a quantized tensor come
    /// from its [dequantizer](Tensor::dequantizer) instead.
    pub fn of(object: &Tensor<'_>) -> Result<Self, &'static str> {
        let role = match object.layout() {
            Layout::SparseCsr | Layout::SparseCoo => "values",
            _ => "data",
        };
        if object.layout() == Layout::QuantizedGroup {
            return Err("its quantization is not supported");
        }
        if !matches!(object.layout(), Layout::Dense | Layout::SparseCsr | Layout::SparseCoo) {
            return Err("its layout is unknown");
        }
        let component = object.component(role).ok_or("it has no elements")?;
        let form = match (unpacked::count(&component), NumberKind::of_component(&component)) {
            (Some(count), _) => ValueForm::Packed(Unpacking::new(count)),
            (None, Some(NumberKind::Complex(_))) => return Err("complex"),
            (None, Some(kind)) if component.dtype() != DType::Unknown => ValueForm::Plain(kind),
            _ => return Err("its type is unknown"),
        };
        Ok(Self { role, form, begun: Vec::new(), numbers: Vec::new() })
    }

    /// Returns the role of the component that holds the elements.
    pub fn role(&self) -> &'static str {
        self.role
    }

    /// Returns the type of the elements. It decides in how many digits an element is printed: the fewest that identify it in this
    /// type.
    pub fn kind(&self) -> NumberKind {
        match self.form {
            ValueForm::Plain(kind) => kind,
            ValueForm::Packed(_) => NumberKind::Fp8(Fp8::E2M1),
        }
    }

    /// Converts the elements in `chunk`, the next bytes of the component that holds the elements, and passes the numbers to `take`
    /// in pieces. `chunk` may end within an element.
    pub fn chunk(&mut self, chunk: &[u8], take: &mut dyn FnMut(&[f64])) {
        let Self { form, begun, numbers, .. } = self;
        match form {
            ValueForm::Plain(kind) => split_elements(chunk, begun, kind.width(), &mut |bytes| {
                numbers.clear();
                kind.values(bytes, numbers);
                take(numbers);
            }),
            ValueForm::Packed(unpacking) => {
                let _ = unpacking.chunk(chunk, &mut |codes| {
                    numbers.clear();
                    NumberKind::Fp8(Fp8::E2M1).values(codes, numbers);
                    take(numbers);
                    Ok::<(), io::Error>(())
                });
            }
        }
    }
}

/// Passes the complete elements in `chunk`, each of `width` bytes, to `take` in pieces. `begun` holds the first bytes of an element
/// that the chunk before left incomplete, and afterwards those that this chunk leaves.
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

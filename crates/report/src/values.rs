//! Conversion of the elements of dense and sparse tensors to numbers, as their bytes arrive.

use std::io;

use zten::number::{Fp8, NumberKind};
use zten::{DType, Layout, Tensor};

use crate::unpacked::{self, Unpacking};

/// The number of elements that are converted at a time.
const PIECE: usize = 1 << 10;

/// A converter of the bytes of an object to numbers as they arrive. It remembers how far the object has been converted.
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
    /// Creates a converter for the elements of `object`, or returns the reason why they have no values, as in "the elements are
    /// {reason}". The values of a quantized tensor come from its [dequantizer](Tensor::dequantizer).
    pub fn of(object: &Tensor<'_>) -> Result<Self, &'static str> {
        let role = match object.layout() {
            Layout::SparseCsr | Layout::SparseCoo => "values",
            _ => "data",
        };
        if object.layout() == Layout::QuantizedGroup {
            return Err("of an unsupported quantization");
        }
        let component = object.component(role).ok_or("without elements")?;
        if !matches!(object.layout(), Layout::Dense | Layout::SparseCsr | Layout::SparseCoo) {
            return Err("of an unknown layout");
        }
        let form = match (unpacked::count(&component), NumberKind::of_component(&component)) {
            (Some(count), _) => ValueForm::Packed(Unpacking::new(count)),
            (None, Some(NumberKind::Complex(_))) => return Err("complex"),
            (None, Some(kind)) if component.dtype() != DType::Unknown => ValueForm::Plain(kind),
            _ => return Err("of an unknown type"),
        };
        Ok(Self { role, form, begun: Vec::new(), numbers: Vec::new() })
    }

    /// Returns the role of the component that holds the elements.
    pub fn role(&self) -> &'static str {
        self.role
    }

    /// Returns the type of the elements. An element is printed in the shortest digits that identify it in this type.
    pub fn kind(&self) -> NumberKind {
        match self.form {
            ValueForm::Plain(kind) => kind,
            ValueForm::Packed(_) => NumberKind::Fp8(Fp8::E2M1),
        }
    }

    /// Converts the elements in the next bytes, and passes the numbers to `take`. `chunk` may end within an element.
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

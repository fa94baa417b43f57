//! `quantized_group`: packed codes, and a scale and a zero point for each group of them.
//! v1.1 III.4, v1.2 §3.

mod attributes;
mod codes;

pub use attributes::{Packing, Quantization};
pub use codes::{DecodedQuantized, Quantized};

use crate::codec::{ReadAt, ReadError};
use crate::error::{Error, Place};
use crate::format::Format;
use crate::limits::Limits;
use crate::manifest::{Component, Object, Shape};

/// A `quantized_group` object: its shape, its components, and how to read them.
///
/// The specifications give an example and leave the rest to GPTQ, so this is what is read here:
///
/// | what | shape, row-major |
/// | --- | --- |
/// | the weights | `[inputs, outputs]`, the object's shape |
/// | `packed_weight`: `i32` or `u8` words of `n` codes | `[inputs / n, outputs]` |
/// | `scales`: `f32`, `f16` or `bf16` | `[ceil(inputs / group_size), outputs]` |
/// | `zeros`: `f32`, `f16` or `bf16` | as `scales` |
///
/// Word `[r, c]` holds the codes of the weights `[r × n, c]` to `[r × n + n − 1, c]`, the first
/// one in its lowest bits; codes are unsigned. Weight `[i, c]` is
/// `scales[g, c] × (code − zeros[g, c])`, where `g` is `i / group_size` rounded down.
///
/// An object without `zeros`, where that is [tolerated](crate::Tolerance::MissingZeros), is
/// symmetric: all its zero points are 2^(bits − 1), as in GPTQ.
///
/// What is packed in another way can be read through its components.
///
/// ```
/// # let file = std::fs::read("corpus/accept/1.2.3/quantized_group.zt").unwrap();
/// let archive = zten::Archive::open(file)?;
/// let group = archive.get("q_proj").unwrap().quantized_group()?;
/// assert_eq!((group.quantization()?.bits(), group.quantization()?.group_size()), (4, 8));
/// let quantized = group.view()?;
/// let mut weights = [0_f32; 8 * 8];
/// quantized.dequantize(&mut weights)?;
/// # assert_eq!(weights[0], -1.25 * (13.0 + 1.25));
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct QuantizedGroup<'a> {
    object: Object<'a>,
    packed_weight: Component<'a>,
    scales: Component<'a>,
    zeros: Option<Component<'a>>,
}

impl<'a> Object<'a> {
    /// The object as quantized groups.
    ///
    /// # Errors
    /// [`Misuse::Format`](crate::error::Misuse::Format) where it is of another format;
    /// `unsupported-layout` where a 0.1 layout is not known.
    pub fn quantized_group(&self) -> Result<QuantizedGroup<'a>, Error> {
        let read = || {
            Some(QuantizedGroup {
                object: *self,
                packed_weight: self.component("packed_weight")?,
                scales: self.component("scales")?,
                zeros: self.component("zeros"),
            })
        };
        let group = if self.format() == Format::QuantizedGroup { read() } else { None };
        group.ok_or_else(|| self.other_format())
    }
}

impl<'a> QuantizedGroup<'a> {
    /// The dimensions of the weights, outermost first.
    pub fn shape(&self) -> Shape<'a> {
        self.object.shape()
    }

    /// The component `packed_weight`: words of codes.
    pub fn packed_weight(&self) -> Component<'a> {
        self.packed_weight
    }

    /// The component `scales`: one for each group.
    pub fn scales(&self) -> Component<'a> {
        self.scales
    }

    /// The component `zeros`: one for each group. Only files opened with
    /// [`MissingZeros`](crate::Tolerance::MissingZeros) have objects without it.
    pub fn zeros(&self) -> Option<Component<'a>> {
        self.zeros
    }

    /// The attributes `bits`, `group_size` and `packing`: v1.2 §3. They are no part of what
    /// opening validates, and may be missing.
    ///
    /// # Errors
    /// [`Misuse::Quantization`](crate::error::Misuse::Quantization) at the object, where one is missing
    /// or of another type, `bits` is not from 1 to 32, `group_size` is 0, `packing` is not known,
    /// or a word is not just filled by as many codes of as many bits.
    pub fn quantization(&self) -> Result<Quantization, Error> {
        Quantization::read(self.object.attributes(), self.place())
    }

    /// The weights where they lie in the file, whose components are checked to fit together.
    /// Neither memory nor time depends on their size. For objects of an
    /// [`Archive`](crate::Archive), which holds that file.
    ///
    /// # Errors
    /// As [`Component::view`] and [`bind`](Self::bind).
    pub fn view(&self) -> Result<Quantized<'a>, Error> {
        self.bind(self.packed_weight.file()?)
    }

    /// Binds the weights to the file they are in, all of whose bytes are in `file`, and checks
    /// that the components fit together. Neither memory nor time depends on their size.
    ///
    /// # Errors
    /// As [`quantization`](Self::quantization) and [`Component::bind`];
    /// [`Misuse::Quantization`](crate::error::Misuse::Quantization) at the object where its rank is not
    /// 2, and at the component that has not the type or the number of elements that shape and
    /// attributes ask for.
    pub fn bind<'d>(&self, file: &'d [u8]) -> Result<Quantized<'d>, Error> {
        let quantization = self.quantization()?;
        let packed = self.packed_weight.bind(file)?;
        let scales = self.scales.bind(file)?;
        let zeros = self.zeros.map(|zeros| zeros.bind(file)).transpose()?;
        Quantized::validate(self.matrix()?, quantization, packed, scales, zeros)
    }

    /// Decodes the components, whatever their encoding, into memory of their own, and checks
    /// that they fit together. The weights stay packed.
    ///
    /// # Errors
    /// As [`Component::decode`] and [`bind`](Self::bind).
    pub fn decode<R: ReadAt + ?Sized>(
        &self,
        source: &R,
        limits: &Limits,
    ) -> Result<DecodedQuantized, ReadError<R::Error>> {
        let (quantization, shape) = (self.quantization()?, self.matrix()?);
        let packed = self.packed_weight.decode(source, limits)?;
        let scales = self.scales.decode(source, limits)?;
        let zeros = self.zeros.map(|zeros| zeros.decode(source, limits)).transpose()?;
        Ok(DecodedQuantized::validate(shape, quantization, packed, scales, zeros)?)
    }

    /// Inputs and outputs.
    fn matrix(&self) -> Result<[u64; 2], Error> {
        let mut shape = self.shape().iter();
        match (shape.next(), shape.next(), shape.next()) {
            (Some(inputs), Some(outputs), None) => Ok([inputs, outputs]),
            _ => Err(attributes::misfit(self.place())),
        }
    }

    fn place(&self) -> Place {
        Place::new(Some(self.object.ordinal()), None)
    }
}

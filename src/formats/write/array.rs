//! The descriptions of arrays that are written to a file, the traits of a source of arrays, and the errors of writing.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use std::fmt;
use std::io;

use crate::cbor::Attributes;
use crate::element::DType;
use crate::escape;
use crate::index::Layout;
use crate::manifest::{ElementType, Tensor};

/// The number of columns to which the name of a layout or type is cut in a message.
const NAME: usize = 60;

/// The type and shape of a dense array in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// The dimensions, outermost first.
    pub shape: Vec<u64>,
    /// The type of the elements. It is [`DType::Unknown`] only for [opaque](ArrayList::opaque) elements.
    pub dtype: DType,
}

/// A type of NumPy whose elements zten does not interpret: text, dates, records and others. The type comes from a NumPy file that
/// was read, and only NumPy files can hold its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpaqueType<'a> {
    /// The name of the type, as [`Component::type_name`](crate::Component::type_name) returns it.
    pub name: &'a str,
    /// The size in bytes of one element of this type.
    pub size: u64,
}

impl<'a> OpaqueType<'a> {
    /// Returns the opaque type of the elements of `tensor`; `None` if `tensor` is not a dense tensor with opaque elements.
    pub fn of(tensor: &Tensor<'a>) -> Option<Self> {
        let data = tensor.component("data").filter(|_| tensor.layout() == Layout::Dense)?;
        match data.element_type() {
            ElementType::Opaque(name, size) => Some(Self { name, size }),
            _ => None,
        }
    }
}

impl Array {
    /// Creates the description of an array whose dtype has the name `dtype`.
    ///
    /// # Errors
    /// A sentence for a message, if no dtype of a known width has the name.
    pub fn named(dtype: &str, shape: Vec<u64>) -> Result<Self, String> {
        let known = DType::ALL.into_iter().filter(|known| known.bits().is_some());
        let found = known.into_iter().find(|known| known.name() == dtype);
        let dtype = found.ok_or_else(|| format!("unknown dtype {}", escape::quoted(dtype)))?;
        Ok(Self { shape, dtype })
    }

    /// Returns the type and shape of `tensor`, which must be a dense tensor of a known type without attributes and with a
    /// single component.
    ///
    /// # Errors
    /// A sentence for a message about a tensor of any other form, with "it" for the tensor.
    pub fn of(tensor: &Tensor<'_>) -> Result<Self, String> {
        if tensor.layout() != Layout::Dense {
            let format = escape::quoted(&escape::cut(tensor.layout_name(), NAME));
            return Err(format!("its layout is {format}, expected dense"));
        }
        if tensor.has_attributes() {
            return Err(
                "it has attributes, but only attributes of the file can be written".to_owned()
            );
        }
        let mut components = tensor.components();
        let (Some(component), None) = (components.next(), components.next()) else {
            return Err("it has components other than its data".to_owned());
        };
        let dtype = component.dtype();
        if dtype == DType::Unknown {
            let name = escape::quoted(&escape::cut(component.type_name(), NAME));
            return Err(format!("its type {name} is unknown"));
        }
        Ok(Self { shape: tensor.shape().to_vec(), dtype })
    }

    /// Returns the length of all elements together in bytes, rounded up to whole bytes; [`u64::MAX`] if the length exceeds 64
    /// bits, or if the dtype is unknown and no dimension is 0.
    pub fn bytes(&self) -> u64 {
        // The bits are counted in 128 bits: a count that saturated at 64 bits would, divided by 8, look like an exact length.
        let bits = self.dtype.bits().map_or(u128::MAX, u128::from);
        let product = |bits: u128, side: &u64| bits.saturating_mul(u128::from(*side));
        let bits = self.shape.iter().fold(bits, product);
        u64::try_from(bits.div_ceil(8)).unwrap_or(u64::MAX)
    }
}

/// A function that takes the next bytes of an array. The elements are little-endian, and a chunk may end within an element.
pub type ChunkFn<'t> = dyn FnMut(&[u8]) -> io::Result<()> + 't;

/// A list of arrays, which are numbered from 0, and the attributes of their file. The names of the arrays are unique.
pub trait ArrayList {
    /// Returns the number of arrays in this list.
    fn count(&self) -> usize;

    /// Returns the name of array number `at`.
    fn name(&self, at: usize) -> &str;

    /// Returns the type and shape of array number `at`.
    ///
    /// # Errors
    /// A sentence with the reason why item `at` of the list is not a dense array.
    fn array(&self, at: usize) -> Result<Array, String>;

    /// Returns the type of the elements of array number `at` if they are opaque; `None` if the dtype of the array is their
    /// type. The default implementation returns `None`.
    fn opaque(&self, at: usize) -> Option<OpaqueType<'_>> {
        let _ = at;
        None
    }

    /// Returns the attributes that the file with these arrays has.
    fn attributes(&self) -> Attributes<'_>;
}

/// A list of arrays whose elements can also be read, so that the arrays can be written to a file.
pub trait ArraySource: ArrayList {
    /// The type of the errors that reading an array returns.
    type Error;

    /// Passes the bytes of array number `at` to `take`, chunk by chunk. If this method succeeds, all bytes have been
    /// validated.
    ///
    /// # Errors
    /// The array cannot be read or is invalid, or `take` fails.
    fn read(&mut self, at: usize, take: &mut ChunkFn<'_>) -> Result<(), WriteFailure<Self::Error>>;
}

/// The reason why a file could not be written.
#[derive(Debug)]
pub enum WriteFailure<E> {
    /// The source of the arrays could not be read, or is invalid.
    Source(E),
    /// The new file could not be written.
    Output(io::Error),
    /// The source is valid, but the format of the file cannot hold one of its tensors or attributes.
    Inexpressible(Inexpressible),
}

/// The error for a tensor or attribute that a format cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inexpressible {
    /// The tensor, attribute or file that the format cannot hold.
    pub subject: Subject,
    /// The sentence that says what the format cannot hold. Its subject may be "it", for the tensor or the file.
    pub sentence: String,
}

/// The tensor, attribute or file that a format cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The format cannot hold the tensors and attributes together in one file.
    File,
    /// The format cannot hold the tensor with this name.
    Tensor(String),
    /// The format cannot hold the attribute of the file with this key.
    Attribute(String),
}

impl Inexpressible {
    /// Creates the error for arrays and attributes that a file of the format cannot hold together.
    pub fn file(sentence: impl Into<String>) -> Self {
        Self { subject: Subject::File, sentence: sentence.into() }
    }

    /// Creates the error for the tensor `name`, which the format cannot hold.
    pub fn tensor(name: &str, sentence: impl Into<String>) -> Self {
        Self { subject: Subject::Tensor(name.to_owned()), sentence: sentence.into() }
    }

    /// Creates the error for the attribute `key`, which the format cannot hold. `sentence` begins with a verb.
    pub(in crate::formats) fn attribute(key: &str, sentence: impl fmt::Display) -> Self {
        let quoted = escape::quoted(key);
        let sentence = format!("the attribute {quoted} {sentence}");
        Self { subject: Subject::Attribute(key.to_owned()), sentence }
    }
}

/// Displays the sentence, after the name of the tensor if the error is about a tensor.
impl fmt::Display for Inexpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Subject::Tensor(name) = &self.subject {
            write!(f, "tensor {}: ", escape::quoted(name))?;
        }
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Inexpressible {}

impl<E: fmt::Display> fmt::Display for WriteFailure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::Output(error) => error.fmt(f),
            Self::Inexpressible(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for WriteFailure<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Source(error) => Some(error),
            Self::Output(error) => Some(error),
            Self::Inexpressible(error) => Some(error),
        }
    }
}

impl<E> From<io::Error> for WriteFailure<E> {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl<E> From<Inexpressible> for WriteFailure<E> {
    fn from(error: Inexpressible) -> Self {
        Self::Inexpressible(error)
    }
}

/// Returns the type and shape of array number `at` of `list`. An item that is not a dense array is an [`Inexpressible`]
/// error.
pub(super) fn array<L: ArrayList + ?Sized>(list: &L, at: usize) -> Result<Array, Inexpressible> {
    list.array(at).map_err(|sentence| Inexpressible::tensor(list.name(at), sentence))
}

/// Returns an empty vector with the capacity for one item per array of `list`.
pub(super) fn with_room<T, L: ArrayList + ?Sized>(list: &L) -> io::Result<Vec<T>> {
    let mut room = Vec::new();
    room.try_reserve_exact(list.count()).map_err(|_| io::ErrorKind::OutOfMemory)?;
    Ok(room)
}

/// Converts `at`, the number of an array in a list, to 32 bits, which take less memory in long lists. A larger number is an
/// error.
pub(super) fn ordinal(at: usize) -> io::Result<u32> {
    u32::try_from(at).map_err(|_| io::ErrorKind::OutOfMemory.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn lengths_saturate() {
        let bytes = |shape: &[u64]| Array { shape: shape.to_vec(), dtype: DType::F32 }.bytes();
        assert_eq!(bytes(&[2, 3]), 24);
        assert_eq!(bytes(&[1 << 61]), 1 << 63);
        assert_eq!(bytes(&[1 << 62]), u64::MAX);
        assert_eq!(bytes(&[1 << 63, 1 << 63]), u64::MAX);
        assert_eq!(bytes(&[1 << 63, 1 << 63, 1 << 63, 0]), 0);
        assert_eq!(Array { shape: vec![3], dtype: DType::F4E2M1 }.bytes(), 2);
    }
}

//! Writing of safetensors files: the length of the header, the header in JSON, and the data.
//!
//! Files look as if the crate `safetensors` had written them: tensors are sorted by their types, widest first, so that all
//! data is aligned to its elements, and then by their names; the header is padded to a multiple of 8 bytes.
//!
//! With [`Settings::align`] the header is padded so that the data begins at a multiple of `align`. The format forbids gaps
//! between tensors, so only their order can align them. Tensors whose length is a multiple of `align` come first, so that
//! each of them begins at a multiple of `align`. Then come tensors whose lengths are divisible by ever smaller powers of
//! two. So each tensor begins at a multiple of the largest power of two that divides its length, up to `align`, and is
//! therefore aligned to its elements.

use alloc::format;
use alloc::vec::Vec;
use std::cmp::Reverse;
use std::io::{self, Write};
use std::ops::Range;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::cbor::Attributes;
use crate::json;
use crate::num::{u64_from_usize, usize_from_u32};

use super::Settings;
use super::array::{self, Array, ArrayList, Inexpressible, WriteFailure, ordinal, with_room};
use super::metadata::Metadata;

pub use super::element::Dtype;

/// The length in bytes of the longest header that the format allows.
const HEADER: u64 = 100_000_000;
/// The length of a header is a multiple of this number of bytes.
const UNIT: u64 = 8;
/// The width in bytes of the length field before the header.
const LENGTH: u64 = 8;
/// The key of the header entry that holds the metadata, which is the only entry that does not describe a tensor.
const METADATA: &str = "__metadata__";

/// Writes the header of a file with the arrays of `list` to `out`. Returns the number in the list and the length in bytes of
/// each array, in the order in which their data must follow.
pub(super) fn begin<L: ArrayList + ?Sized, E>(
    list: &L,
    out: &mut impl Write,
    settings: Settings,
) -> Result<Vec<(u32, u64)>, WriteFailure<E>> {
    check_attributes(&list.attributes())?;
    let order = order(list, settings)?;
    let padding = Padding::Aligned(settings.align.map_or(1, u64::from));
    write_header(&list.attributes(), tensors(list, &order), padding, out)?;
    Ok(order)
}

/// Checks that `attributes` can be the metadata of a safetensors file: each value is a text, or can be written as JSON text.
pub(super) fn check_attributes(attributes: &Attributes<'_>) -> Result<(), Inexpressible> {
    Metadata::new(attributes.clone()).map(drop)
}

/// Checks that a safetensors file can hold `array` under the name `name`.
pub(super) fn check(name: &str, array: &Array) -> Result<(), Inexpressible> {
    check_name(name)?;
    entry(name, array).map(drop)
}

/// Returns the descriptions of tensors for the header. `order` has the number in `list` and the length in bytes of each
/// array, in the order of the data.
fn tensors<'a, L: ArrayList + ?Sized>(
    list: &'a L,
    order: &'a [(u32, u64)],
) -> impl Iterator<Item = Result<Tensor<'a>, Inexpressible>> + Clone {
    order.iter().scan(0_u64, |begin, (at, bytes)| {
        let tensor = begin.checked_add(*bytes).ok_or_else(|| Inexpressible::file(TOO_LARGE));
        Some(tensor.and_then(|end| {
            let (data, at) = (*begin..end, usize_from_u32(*at));
            *begin = end;
            let (name, array) = (list.name(at), array::array(list, at)?);
            let (dtype, _) = entry(name, &array)?;
            Ok(Tensor { name, dtype, shape: array.shape, data })
        }))
    })
}

/// Returns the number in `list` and the length in bytes of each array, in the order of the data, which `settings` influence.
fn order<L: ArrayList + ?Sized, E>(
    list: &L,
    settings: Settings,
) -> Result<Vec<(u32, u64)>, WriteFailure<E>> {
    let mut entries = with_room(list)?;
    let align = settings.align.unwrap_or(1);
    for at in 0..list.count() {
        let (name, array) = (list.name(at), array::array(list, at)?);
        check_name(name)?;
        let (dtype, bytes) = entry(name, &array)?;
        // A tensor without data sorts as fully aligned: the length 0 has 64 trailing zeros. It comes before tensors with less
        // alignment, and moves none of them.
        let aligned = bytes.trailing_zeros().min(align.trailing_zeros());
        entries.push(((Reverse(aligned), Reverse(dtype.rank())), (ordinal(at)?, bytes)));
    }
    let name = |at: u32| list.name(usize_from_u32(at));
    entries.sort_unstable_by(|(key, (at, _)), (other, (another, _))| {
        key.cmp(other).then_with(|| name(*at).cmp(name(*another)))
    });
    let mut order = with_room(list)?;
    order.extend(entries.into_iter().map(|(_, array)| array));
    Ok(order)
}

/// Checks that a tensor of a safetensors file may have the name `name`.
///
/// # Errors
/// `name` is the key of the metadata.
pub fn check_name(name: &str) -> Result<(), Inexpressible> {
    if name != METADATA {
        return Ok(());
    }
    let sentence =
        "a .safetensors file cannot hold a tensor of that name: it is the key of the metadata";
    Err(Inexpressible::tensor(name, sentence))
}

/// Returns the safetensors type of `array`, and the length of its elements in bytes. Readers multiply all dimensions first and
/// then the bits of an element, so this product must not overflow even if a dimension is 0.
fn entry(name: &str, array: &Array) -> Result<(Dtype, u64), Inexpressible> {
    let rejected = |sentence: &str| Inexpressible::tensor(name, sentence);
    let dtype = Dtype::of(array.dtype).ok_or_else(|| {
        let dtype = array.dtype;
        rejected(&format!("a .safetensors file cannot hold the type {dtype}"))
    })?;
    let elements = array.shape.iter().try_fold(1_u64, |product, side| product.checked_mul(*side));
    let bits = elements.and_then(|elements| elements.checked_mul(dtype.bits()));
    let bits = bits.ok_or_else(|| {
        rejected(
            "the product of its dimensions and the bits of an element exceeds 64 bits, \
         which readers of .safetensors files reject even if a later dimension is 0",
        )
    })?;
    if bits.checked_rem(8) == Some(0) {
        Ok((dtype, bits / 8))
    } else {
        Err(rejected("its last element is half a byte; a .safetensors file holds whole bytes"))
    }
}

/// The description of a tensor in the header of a safetensors file.
#[derive(Debug)]
pub struct Tensor<'a> {
    /// The name of the tensor.
    pub name: &'a str,
    /// The type of the elements.
    pub dtype: Dtype,
    /// The dimensions, outermost first.
    pub shape: Vec<u64>,
    /// The range of the data in bytes, counted from the end of the header.
    pub data: Range<u64>,
}

/// How many spaces are added at the end of a header.
#[derive(Clone, Copy, Debug)]
pub enum Padding {
    /// The header is padded to a multiple of 8 bytes, and further if that is less than this number of bytes.
    Least(u64),
    /// The data begins at a multiple of this power of two, and of 8.
    Aligned(u64),
}

impl Padding {
    /// Returns the length in bytes, with padding, of a header that is `length` bytes long without padding.
    fn padded(self, length: u64) -> u64 {
        let multiple = |unit: u64| length.checked_next_multiple_of(unit).unwrap_or(u64::MAX);
        match self {
            Self::Least(least) => multiple(UNIT).max(least),
            Self::Aligned(align) => {
                let data = length.saturating_add(LENGTH);
                let unit = UNIT.max(align);
                let begin = data.checked_next_multiple_of(unit).unwrap_or(u64::MAX);
                begin.saturating_sub(LENGTH)
            }
        }
    }
}

/// Writes the length field and the header of a file with `tensors` and `attributes` to `out`.
///
/// # Errors
/// The format cannot hold an attribute, the header is too long, an item of `tensors` is an error, or `out` fails.
pub fn write_header<'a, E>(
    attributes: &Attributes<'_>,
    tensors: impl Iterator<Item = Result<Tensor<'a>, Inexpressible>> + Clone,
    padding: Padding,
    out: &mut impl Write,
) -> Result<(), WriteFailure<E>> {
    let metadata = Metadata::new(attributes.clone())?;
    let mut length = Length(0);
    header(&metadata, tensors.clone(), &mut length)?;
    let Length(length) = length;
    let padded = padding.padded(length);
    if padded > HEADER {
        return Err(Inexpressible::file(format!(
            "its header of {padded} bytes exceeds the maximum of {HEADER} bytes"
        ))
        .into());
    }
    out.write_all(&padded.to_le_bytes())?;
    header(&metadata, tensors, out)?;
    io::copy(&mut io::Read::take(io::repeat(b' '), padded.saturating_sub(length)), out)?;
    Ok(())
}

/// Writes the JSON text of a header to `out`, without the length field and without padding.
fn header<'a, E>(
    metadata: &Metadata<'_>,
    tensors: impl Iterator<Item = Result<Tensor<'a>, Inexpressible>>,
    out: &mut impl Write,
) -> Result<(), WriteFailure<E>> {
    #[derive(Serialize)]
    struct Fields {
        dtype: &'static str,
        shape: Vec<u64>,
        data_offsets: [u64; 2],
    }
    let failed = |error: serde_json::Error| io::Error::from(error);
    let mut serializer = json::serializer(out);
    let mut header = serializer.serialize_map(None).map_err(failed)?;
    if !metadata.is_empty() {
        header.serialize_entry(METADATA, metadata).map_err(failed)?;
    }
    for tensor in tensors {
        let Tensor { name, dtype, shape, data } = tensor?;
        let fields = Fields { dtype: dtype.name(), shape, data_offsets: [data.start, data.end] };
        header.serialize_entry(name, &fields).map_err(failed)?;
    }
    Ok(header.end().map_err(failed)?)
}

const TOO_LARGE: &str = "its data takes more bytes than a file can have";

/// A writer that discards bytes, and holds the number of bytes so far.
struct Length(u64);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(u64_from_usize(bytes.len()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

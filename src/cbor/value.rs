//! Reading uninterpreted values, such as attributes and unknown fields, as a borrowed tree.
//!
//! The bytes were checked when the manifest was opened, so reading cannot fail. A tree is never built in memory: each step
//! reads one head.

use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use serde_cbor_2::de::from_slice_with_scratch;

use super::{Entries, Head, Input, UNLIMITED, content, entries, head, major, pass, span};
use crate::debug_summary::{Bytes, Start};
use crate::error::{BareError, Error, ErrorKind, Misuse, OutOfMemory};

/// The bytes of one CBOR item that has been checked, such as the value of an attribute in a manifest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Item<'m>(pub(super) &'m [u8]);

/// The value of a CBOR item: RFC 8949 §3.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'m> {
    /// The value of an unsigned integer.
    Uint(u64),
    /// The number n, for the negative integer −1 − n.
    Negative(u64),
    /// The bytes of a byte string.
    Bytes(Chunks<'m>),
    /// The UTF-8 text of a text string.
    Text(Chunks<'m>),
    /// The items of an array.
    Array(Array<'m>),
    /// A map. Its keys may be of any type, and in files before generation 2 a key may occur twice.
    Map(Map<'m>),
    /// The number of a tag, and the item that is its content.
    Tag(u64, Item<'m>),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
    /// The simple value `undefined`.
    Undefined,
    /// The value of a half-, single- or double-precision float, as a double.
    Float(f64),
    /// The number of any simple value other than those above.
    Simple(u8),
    /// The bytes are not an item, although they have been checked: a defect of this library, as for
    /// [`ErrorKind::Internal`](crate::ErrorKind::Internal).
    Invalid,
}

impl<'m> Item<'m> {
    /// Creates an item of `bytes`, which must be one complete item that an [`Encoder`](super::Encoder) has written.
    #[cfg(feature = "detect")]
    pub(crate) fn of_encoder(bytes: &'m [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the CBOR encoding of the item as it is in the manifest.
    pub fn as_bytes(&self) -> &'m [u8] {
        self.0
    }

    /// Decodes the item. Only its head is read; the items of a map or array are read by iterating over the value.
    pub fn value(&self) -> Value<'m> {
        self.read().unwrap_or(Value::Invalid)
    }

    fn read(&self) -> Option<Value<'m>> {
        let (rest, head) = head(self.0).ok()?;
        Some(match head.major {
            major::UINT => Value::Uint(head.argument),
            major::NEGATIVE => Value::Negative(head.argument),
            major::BYTES => Value::Bytes(Chunks::new(self.0, rest, head)),
            major::TEXT => Value::Text(Chunks::new(self.0, rest, head)),
            major::ARRAY | major::MAP => {
                let (rest, entries) = entries((self.0, head), UNLIMITED, rest).ok()?;
                let items = Array { rest, entries };
                if head.major == major::MAP { Value::Map(Map(items)) } else { Value::Array(items) }
            }
            major::TAG => Value::Tag(head.argument, Self(rest)),
            _ => simple(head),
        })
    }

    /// Deserializes the value into any type of serde. The memory that `T` itself allocates is not limited, and the texts of
    /// its errors are not escaped.
    ///
    /// # Errors
    /// [`Misuse::Type`] if the value is not a `T`; [`OutOfMemory`].
    pub fn get<T: Deserialize<'m>>(&self) -> Result<T, Error> {
        let mut scratch = Vec::new();
        let mut read = from_slice_with_scratch(self.0, &mut scratch);
        // The chunks of a string have to be joined in memory. The joined string is shorter than the item, so the item's
        // length is enough.
        if read.as_ref().is_err_and(serde_cbor_2::Error::is_scratch_too_small) {
            let reserved = scratch.try_reserve_exact(self.0.len());
            reserved.map_err(|_| BareError::from(OutOfMemory))?;
            scratch.resize(self.0.len(), 0);
            read = from_slice_with_scratch(self.0, &mut scratch);
        }
        read.map_err(|_| Misuse::Type.into())
    }
}

/// Interprets a head of major type 7 as a float or simple value: RFC 8949 §3.3.
pub(super) fn simple<'m>(head: Head) -> Value<'m> {
    // The argument holds the bits of a float. `info` tells its width.
    let [.., a, b, c, d] = head.argument.to_be_bytes();
    match head.info {
        20 => Value::Bool(false),
        21 => Value::Bool(true),
        22 => Value::Null,
        23 => Value::Undefined,
        25 => Value::Float(half::f16::from_be_bytes([c, d]).to_f64()),
        26 => Value::Float(f32::from_be_bytes([a, b, c, d]).into()),
        27 => Value::Float(f64::from_bits(head.argument)),
        _ => Value::Simple(d),
    }
}

/// The NaN that stands for all NaNs in deterministic CBOR.
pub(super) const NAN: f64 = f64::from_bits(0x7ff8 << 48);

/// Returns the additional information and the argument of the shortest float that is equal to `value`. A NaN is shortened
/// only if the bits that are dropped are zeros.
pub(super) fn shortest_float(value: f64) -> (u8, u64) {
    let bits = value.to_bits();
    if value.is_nan() {
        let (sign, fraction) = (bits >> 63, bits & ((1 << 52) - 1));
        return match fraction.trailing_zeros() {
            42.. => (25, sign << 15 | 0x1f << 10 | fraction >> 42),
            29.. => (26, sign << 31 | 0xff << 23 | fraction >> 29),
            _ => (27, bits),
        };
    }
    let half = half::f16::from_f64(value);
    if half.to_f64().to_bits() == bits {
        return (25, half.to_bits().into());
    }
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "held against it below"
    )]
    let single = value as f32;
    if f64::from(single).to_bits() == bits { (26, single.to_bits().into()) } else { (27, bits) }
}

impl fmt::Debug for Item<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(f)
    }
}

/// The chunks of a string: one for a string of definite length, any number for a string of indefinite length.
///
/// Each chunk of a text is UTF-8 by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Chunks<'m> {
    rest: &'m [u8],
    chunked: bool,
    text: bool,
}

impl<'m> Chunks<'m> {
    fn new(at: Input<'m>, rest: Input<'m>, head: Head) -> Self {
        let text = head.major == major::TEXT;
        match content((at, head), rest) {
            Ok((_, bytes)) => Self { rest: bytes, chunked: false, text },
            Err(_) => Self { rest, chunked: true, text },
        }
    }

    /// Returns the whole string, or `None` if it has an indefinite length, even if it consists of a single chunk.
    pub fn as_bytes(&self) -> Option<&'m [u8]> {
        (!self.chunked).then_some(self.rest)
    }

    /// Returns the whole text, or `None` if it has an indefinite length or is a byte string.
    pub fn as_str(&self) -> Option<&'m str> {
        self.as_bytes().filter(|_| self.text).and_then(|bytes| core::str::from_utf8(bytes).ok())
    }

    /// Returns an iterator over the bytes of the chunks, in order.
    pub fn pieces(&self) -> impl Iterator<Item = &'m [u8]> + use<'m> {
        let whole = self.as_bytes().into_iter();
        let (mut rest, mut entries) = (self.rest, Entries::CHUNKS);
        if !self.chunked {
            entries = Entries::NONE;
        }
        whole.chain(core::iter::from_fn(move || {
            let at = rest;
            let (after, head) = head(at).ok().filter(|_| entries.next(at))?;
            let (after, bytes) = content((at, head), after).ok()?;
            rest = after;
            Some(bytes)
        }))
    }
}

impl fmt::Debug for Chunks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_str() {
            Some(text) => Start(text).fmt(f),
            // Of a string of indefinite length the encoded bytes are shown: the heads and contents of the chunks, and the bytes
            // that follow in the manifest. Of a byte string of definite length, its bytes are shown.
            None => Bytes(self.rest).fmt(f),
        }
    }
}

/// An array of a checked manifest, as an iterator over its items. The items are read from the CBOR one by one. `Debug` shows
/// the number of items that are left, if the array has a definite length.
#[derive(Clone)]
pub struct Array<'m> {
    rest: &'m [u8],
    entries: Entries,
}

impl fmt::Debug for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array").field("items", &self.entries.claimed()).finish_non_exhaustive()
    }
}

impl PartialEq for Array<'_> {
    fn eq(&self, other: &Self) -> bool {
        Iterator::eq(self.clone(), other.clone())
    }
}

impl<'m> Array<'m> {
    /// Reads the next item and moves past it, without counting it: the value of a map entry is counted with its key. The CBOR
    /// has been checked.
    fn split(&mut self) -> Option<Item<'m>> {
        let rest = pass(self.rest)?;
        let item = span(self.rest, rest).ok()?;
        self.rest = rest;
        Some(Item(item))
    }
}

impl<'m> Iterator for Array<'m> {
    type Item = Item<'m>;

    fn next(&mut self) -> Option<Item<'m>> {
        self.entries.next(self.rest).then(|| self.split())?
    }
}

/// A map of a checked manifest, as an iterator over its entries: pairs of a key and a value, in the order of the manifest.
#[derive(Clone)]
pub struct Map<'m>(Array<'m>);

impl fmt::Debug for Map<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map").field("entries", &self.0.entries.claimed()).finish_non_exhaustive()
    }
}

impl PartialEq for Map<'_> {
    fn eq(&self, other: &Self) -> bool {
        Iterator::eq(self.clone(), other.clone())
    }
}

impl<'m> Iterator for Map<'m> {
    type Item = (Item<'m>, Item<'m>);

    fn next(&mut self) -> Option<Self::Item> {
        Some((self.0.next()?, self.0.split()?))
    }
}

/// An iterator over attributes: the entries of a map whose keys are distinct texts. v1.1 II.1, v1.2 §1.
///
/// ```
/// # fn f(attributes: zten::attributes::Attributes<'_>) -> Result<(), zten::Error> {
/// let bits: Option<u32> = attributes.get("bits")?;
/// for (key, item) in attributes {
///     println!("{key}: {:?}", item.value());
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Attributes<'m> {
    /// The entries that the iterator has not returned.
    left: Map<'m>,
    /// The map with all entries, followed by the rest of the manifest.
    map: Input<'m>,
}

/// Returns empty attributes.
impl Default for Attributes<'_> {
    fn default() -> Self {
        Self { left: Map(Array { rest: &[], entries: Entries::NONE }), map: &[0xa0] }
    }
}

impl fmt::Debug for Attributes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Attributes").field(&self.left).finish()
    }
}

impl PartialEq for Attributes<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.left == other.left
    }
}

impl<'m> Attributes<'m> {
    /// Creates the attributes whose map begins at `input`, which has been checked. Returns `None` if the item at `input` is
    /// not a map.
    pub(crate) fn read(input: Input<'m>) -> Option<Self> {
        match Item(input).value() {
            Value::Map(left) => Some(Self { left, map: input }),
            _ => None,
        }
    }

    /// Deserializes the value of the attribute `key` into any type of serde. Returns `None` if there is no such attribute among
    /// those that the iterator has not returned.
    ///
    /// # Errors
    /// [`Misuse::Type`] if the value is not a `T`; [`OutOfMemory`].
    pub fn get<T: Deserialize<'m>>(&self, key: &str) -> Result<Option<T>, Error> {
        self.item(key).map(|item| item.get()).transpose()
    }

    /// Deserializes all attributes into a struct or map of serde. The memory that `T` itself allocates is not limited, and
    /// the texts of its errors are not escaped.
    ///
    /// ```
    /// #[derive(serde::Deserialize)]
    /// struct Meta {
    ///     version: u32,
    /// }
    ///
    /// # #[cfg(feature = "write")] {
    /// # let mut file = zten::write::Writer::new(Vec::new(), &Default::default())?;
    /// # file.attributes(&std::collections::BTreeMap::from([("version", 3)]))?;
    /// # let file = file.finish()?;
    /// let archive = zten::Archive::from_bytes(&file)?;
    /// let meta: Meta = archive.attributes().deserialize()?;
    /// assert_eq!(meta.version, 3);
    /// # }
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Misuse::Attributes`] if the attributes are not a `T`; [`OutOfMemory`].
    pub fn deserialize<T: Deserialize<'m>>(&self) -> Result<T, Error> {
        let map = super::item(self.map).ok_or(BareError::internal())?;
        Item(map).get().map_err(|error| match error.kind() {
            ErrorKind::Misuse(_) => Misuse::Attributes.into(),
            _ => error,
        })
    }

    /// Returns the value of the attribute `key`; `None` if there is no such attribute among those that the iterator has not
    /// returned.
    pub fn item(&self, key: &str) -> Option<Item<'m>> {
        self.clone().find(|(name, _)| *name == key).map(|(_, item)| item)
    }
}

impl<'m> Iterator for Attributes<'m> {
    type Item = (&'m str, Item<'m>);

    fn next(&mut self) -> Option<Self::Item> {
        // Maps within attributes of generation 2 may have keys that are not texts. Such entries are not attributes, and are
        // skipped.
        self.left.find_map(|(key, item)| match key.value() {
            Value::Text(text) => text.as_str().map(|text| (text, item)),
            _ => None,
        })
    }
}

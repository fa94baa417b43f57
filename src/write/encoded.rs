//! Attributes that will be written.

use alloc::vec::Vec;

use serde::Serialize;
use serde_cbor_2::Serializer;

use super::entry::{FieldValue, record};
use crate::cbor::{Attributes, Encoder};
use crate::debug_summary::Bytes;
use crate::error::{BareError, Error, Misuse, OutOfMemory};
use crate::formats::ztensor::v2::{GgufKey, MxKey};

/// Attributes of a file or an object, as CBOR: a map whose keys are text. v1.2 §1.
///
/// ```
/// let attributes = zten::write::Encoded::from_value(&std::collections::BTreeMap::from([("bits", 4)]))?;
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Encoded(Vec<u8>);

impl core::fmt::Debug for Encoded {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        Bytes(&self.0).fmt(f)
    }
}

impl Encoded {
    /// Serializes any value of serde, such as a struct or a map, as CBOR. Whether it can be attributes is checked when it
    /// is used.
    ///
    /// # Errors
    /// [`Misuse::Attributes`] if the value cannot be written as CBOR; [`OutOfMemory`].
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, Error> {
        let mut taken = Taken(Encoder::default());
        let outcome = value.serialize(&mut Serializer::new(&mut taken));
        outcome.map_err(|error| -> BareError {
            let no_memory = error.is_scratch_too_small();
            if no_memory { OutOfMemory.into() } else { BareError::misuse(Misuse::Attributes) }
        })?;
        Ok(Self(taken.0.into_bytes()))
    }

    /// Creates the attributes for [`NewObject::mx`](super::NewObject::mx): the number of elements of a block, and the axis
    /// along which blocks lie, which is the last without `axis`. v2 §5.2.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn mx(block_size: u64, axis: Option<u64>) -> Result<Self, Error> {
        Self::of_record(MxKey::TABLE_ORDER, MxKey::write, |key| match key {
            MxKey::axis => axis.map(FieldValue::Uint),
            MxKey::block_size => Some(FieldValue::Uint(block_size)),
            MxKey::scale_form => Some(FieldValue::Text("e8m0_exponent")),
        })
    }

    /// Creates the attributes for [`NewObject::gguf`](super::NewObject::gguf): the number of elements and of bytes of a
    /// block. v2 §5.2.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn gguf(elems_per_block: u64, block_bytes: u64) -> Result<Self, Error> {
        Self::of_record(GgufKey::TABLE_ORDER, GgufKey::write, |key| match key {
            GgufKey::block_bytes => Some(FieldValue::Uint(block_bytes)),
            GgufKey::elems_per_block => Some(FieldValue::Uint(elems_per_block)),
        })
    }

    fn of_record<'a, K: Copy>(
        keys: &[K],
        write: impl Fn(K, &mut Encoder) -> Result<(), OutOfMemory>,
        value: impl Fn(K) -> Option<FieldValue<'a>>,
    ) -> Result<Self, Error> {
        Ok(Self(Encoder::with(|out| record(out, keys, write, value))?.into_bytes()))
    }

    /// Copies the CBOR `attributes` of a manifest.
    pub(super) fn copied(attributes: &[u8]) -> Result<Self, BareError> {
        Ok(Self(Encoder::with(|out| out.raw(attributes))?.into_bytes()))
    }

    /// Takes `bytes` as the CBOR of attributes. They are validated when they are used.
    pub fn from_cbor(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Returns the attributes as a reader returns them; empty if the bytes are not a map.
    pub fn entries(&self) -> Attributes<'_> {
        Attributes::read(&self.0).unwrap_or_default()
    }

    /// Returns the CBOR.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// An output for the CBOR serializer that reports a failed allocation as an error. A plain `Vec` would abort.
struct Taken(Encoder);

impl serde_cbor_2::ser::Write for Taken {
    type Error = serde_cbor_2::Error;

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        // The serializer has no error for a lack of memory. `scratch_too_small` stands for it, because no value causes this
        // error.
        self.0.raw(bytes).map_err(|_| Self::Error::scratch_too_small(0))
    }
}

//! What a manifest may say: one file of tables a generation, and the facts in which they differ.
//!
//! A table is a list of fields: key, slot, type, presence, and the rule that a value of another
//! type breaks. It is what a person reads to learn the format and what runs: reading a record,
//! looking one of its fields up again and writing one all follow from the rows. Everything else
//! asks a [`Dialect`] for what it has to know of a generation; no field is named outside this
//! module.

use crate::cbor::{Checked, Input, Parsed};
use crate::num::listed;
use frame::Container;

mod context;
mod dialect;
mod extent;
pub(crate) mod frame;
mod named;
#[cfg(feature = "v2")]
mod profile;
mod record;
mod shape;
mod slots;
mod table;
#[cfg(feature = "v0")]
pub(crate) mod v0_1;
#[cfg(feature = "v1")]
pub(crate) mod v1;
#[cfg(feature = "v2")]
pub(crate) mod v2;

pub(crate) use context::{Header, ParseContext, push, reserve};
#[cfg(feature = "write")]
pub(crate) use dialect::Writing;
pub(crate) use dialect::{Dialect, Facts, Field, IndexTypes, Nesting};
pub use extent::Extent;
pub use named::Named;
pub(crate) use named::named;
#[cfg(feature = "v2")]
pub(crate) use profile::{Factors, Profile, QuantGroup, ScaleForm, Zeros};
pub(crate) use record::{ComponentRecord, Logical, RawObject};
#[cfg(feature = "write")]
pub(crate) use record::{Dtype, RawComponent};
#[cfg(feature = "write")]
pub(crate) use shape::Uint;
pub use shape::{Dimensions, Shape};
pub(crate) use shape::{Product, ShapeSpan, Shapes, Text};
#[cfg(any(feature = "std", feature = "write"))]
pub(crate) use slots::pass_attributes;
#[cfg(feature = "v2")]
pub(crate) use v2::{ShardRecord, content};

/// The objects of a manifest, parsed one at a time. Their components and shapes go into the context.
pub(crate) enum Objects<'m> {
    #[cfg(feature = "v0")]
    V0(v0_1::Objects<'m>),
    #[cfg(feature = "v1")]
    V1(v1::Objects<'m>),
    #[cfg(feature = "v2")]
    V2(v2::Objects<'m>),
}

impl<'m> Objects<'m> {
    /// Begins to parse the manifest of a file with that container.
    pub(crate) fn open(
        container: Container,
        cx: &mut ParseContext<'_>,
        manifest: Input<'m>,
    ) -> Checked<Self> {
        Ok(match container {
            #[cfg(feature = "v0")]
            Container::V0 => Self::V0(v0_1::Objects::open(cx, manifest)?),
            #[cfg(feature = "v1")]
            Container::V1 => Self::V1(v1::Objects::open(cx, manifest)?),
            #[cfg(feature = "v2")]
            Container::V2 => Self::V2(v2::Objects::open(cx, manifest)?),
        })
    }

    /// Parses the next object into `raw`, which spares moving it. Returns false at the end of the manifest.
    #[inline(always)]
    pub(crate) fn next(
        &mut self,
        cx: &mut ParseContext<'_>,
        raw: &mut RawObject<'m>,
    ) -> Checked<bool> {
        match self {
            #[cfg(feature = "v0")]
            Self::V0(objects) => objects.next(cx, raw),
            #[cfg(feature = "v1")]
            Self::V1(objects) => objects.next(cx, raw),
            #[cfg(feature = "v2")]
            Self::V2(objects) => objects.next(cx, raw),
        }
    }

    /// The fields beside the objects, once there are no more objects, and the bytes behind the manifest.
    pub(crate) fn finish(self) -> Parsed<'m, Header> {
        match self {
            #[cfg(feature = "v0")]
            Self::V0(objects) => objects.finish(),
            #[cfg(feature = "v1")]
            Self::V1(objects) => objects.finish(),
            #[cfg(feature = "v2")]
            Self::V2(objects) => objects.finish(),
        }
    }
}

/// Validates the form of a manifest as a whole, where its container asks for one form.
#[cfg(feature = "v2")]
#[cold]
pub(crate) fn check_form(
    container: Container,
    cx: &mut ParseContext<'_>,
    manifest: Input<'_>,
) -> Checked<()> {
    match container {
        Container::V2 => v2::check_form(cx, manifest),
        #[cfg(any(feature = "v0", feature = "v1"))]
        _ => Ok(()),
    }
}

/// Which rules a file follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Generation {
    /// `ZTEN0001`.
    V0_1,
    /// `ZTEN1000`, minor version 0 or 1.
    V1_1,
    /// `ZTEN1000`, minor version 2 or more.
    V1_2,
    /// zTensor 2 (Draft 4): the container with the magic `89 5A 54 32 0D 0A 1A 0A`.
    V2,
}

/// How files of that generation are written, if they are.
#[cfg(feature = "write")]
pub(crate) fn written(generation: Generation) -> Option<&'static Writing> {
    match generation {
        Generation::V1_2 => v1::V1_2.writing,
        #[cfg(feature = "v2")]
        Generation::V2 => v2::V2.writing,
        _ => None,
    }
}

impl Generation {
    /// `0.1`, `1.1`, `1.2` or `2`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V0_1 => "0.1",
            Self::V1_1 => "1.1",
            Self::V1_2 => "1.2",
            Self::V2 => "2",
        }
    }
}

impl core::fmt::Display for Generation {
    /// As [`as_str`](Self::as_str).
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.as_str())
    }
}

/// How a component's bytes are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// As they are.
    Raw,
    /// Compressed: RFC 8878.
    Zstd,
    /// Compressed in frames of one size, with a table of them: `zt.zstd-seekable/1` of 2.
    ZstdSeekable,
    /// In a way that is not known (0.1 and 2 only): v0.1 §8, v2 §3.4.
    Unknown,
}

/// How an object's components make up a tensor: v1.1 III, v1.2 §3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A contiguous array in row-major order.
    Dense,
    /// Compressed sparse rows.
    SparseCsr,
    /// A list of coordinates.
    SparseCoo,
    /// Packed weights with scales and zero-points.
    QuantizedGroup,
    /// Blocks of elements, with a scale for each: `zt.mx/1` of 2.
    Mx,
    /// Codes in words, with scales and zero points: `zt.quant_group/1` of 2. They can be listed, and
    /// read part by part.
    QuantGroup,
    /// Blocks of a type of GGUF: `gguf.NAME/1` of 2. They are bytes.
    GgufBlocks,
    /// A format that is not known, or a layout of 0.1 or 2 that is not.
    Unknown,
}

impl Encoding {
    /// Its name: `raw`, `zstd`, `zt.zstd-seekable/1`; `unknown` where it is not known, whose name
    /// [`Component::encoding_name`](crate::Component::encoding_name) has.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Zstd => "zstd",
            Self::ZstdSeekable => "zt.zstd-seekable/1",
            Self::Unknown => "unknown",
        }
    }
}

impl core::fmt::Display for Encoding {
    /// Its [name](Self::name).
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

impl Format {
    /// Its name in 1.x: `sparse_csr`; `unknown` where it is not known, whose name
    /// [`Object::format_name`](crate::Object::format_name) has.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::SparseCsr => "sparse_csr",
            Self::SparseCoo => "sparse_coo",
            Self::QuantizedGroup => "quantized_group",
            Self::Mx => "zt.mx/1",
            Self::QuantGroup => "zt.quant_group/1",
            Self::GgufBlocks => "gguf",
            Self::Unknown => "unknown",
        }
    }
}

impl core::fmt::Display for Format {
    /// Its [name](Self::name).
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

listed! {
/// A role that some format gives a meaning to: v1.1 III, v1.2 §3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Data,
    Values,
    Indices,
    Indptr,
    Coords,
    PackedWeight,
    Scales,
    Zeros,
}
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Values => "values",
            Self::Indices => "indices",
            Self::Indptr => "indptr",
            Self::Coords => "coords",
            Self::PackedWeight => "packed_weight",
            Self::Scales => "scales",
            Self::Zeros => "zeros",
        }
    }

    pub(crate) fn from_name(name: &[u8]) -> Option<Self> {
        Self::LIST.into_iter().find(|role| role.name().as_bytes() == name)
    }
}

/// `version` of a 1.x manifest: v1.1 II.1, v1.2 §1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// 1.
    pub major: u32,
    /// 0 and 1 follow the rules of 1.1, others those of 1.2.
    pub minor: u32,
    /// The third number, where there is one.
    pub patch: Option<u32>,
}

impl core::fmt::Display for Version {
    /// As a manifest spells it: `1.2.0`.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

//! The differences between formats and generations that code needs after a header has been parsed.

use super::{Layout, PickleRules, QuantizedRules};
use crate::digest::Digest;
use crate::element::StorageType;
use crate::error::ErrorKind;
use crate::limits::format::ALIGNMENT;
use crate::rules::{Generation, StreamRules, Unsupported};

/// The facts about a file format, or about a generation of zTensor.
#[derive(Debug)]
pub(crate) struct FormatFacts {
    /// The name of the file format.
    pub(crate) format: &'static str,
    /// The generation, if the format is zTensor.
    pub(crate) generation: Option<Generation>,
    /// The rule that two objects with the same name break.
    pub(crate) duplicate_name: ErrorKind,
    /// The rule that bools other than 0 and 1 break; `None` if a bool may be any byte, and every byte but 0 is true.
    pub(crate) bool_value: Option<ErrorKind>,
    /// The rules on deflated content and on checksums; `None` in zTensor, whose components have digests.
    pub(crate) stream: Option<&'static StreamRules>,
    /// The check of unread components that are pickles; `None` if the format has no pickles or the program cannot check them.
    pub(crate) pickles: Option<&'static PickleRules>,
    /// The rules on groups of tensors that are one quantized tensor; `None` in zTensor, which has layouts for them.
    pub(crate) quantized: Option<&'static QuantizedRules>,
    /// Returns the name of a layout, for layouts that have the same name in every file of the format.
    pub(crate) layout_names: fn(Layout) -> &'static str,
    /// Reads a digest, or returns `None` if the digest is malformed.
    pub(crate) read_digest: for<'m> fn(&'m str) -> Option<Digest<'m>>,
    /// Whether a digest covers the decoded bytes of a component, rather than the stored bytes.
    pub(crate) digests_decoded: bool,
    /// The types that indices may have.
    pub(crate) index_types: IndexTypes,
    /// The error that verification reports for an object of an unknown layout. `None` if verification only requires
    /// that the object's components can be read.
    pub(crate) unknown_format: Option<Unsupported>,
    /// The error for reading the elements of a component of an unknown type. `None` if the storage elements may be
    /// read.
    pub(crate) unknown_type: Option<Unsupported>,
    /// Whether the cells of a sparse object must be distinct, and the indices of each row must ascend.
    pub(crate) single_cells: bool,
    pub(crate) container: Facts,
}

impl FormatFacts {
    /// Returns the name of `layout`, or `None` if the name is known only from the file: unknown layouts and GGUF
    /// blocks.
    pub(crate) fn layout_name(&self, layout: Layout) -> Option<&'static str> {
        match layout {
            Layout::Unknown | Layout::GgufBlocks => None,
            known => Some((self.layout_names)(known)),
        }
    }
}

/// Facts about all files of a container. The parser of a container passes its facts on as a constant, so that the
/// compiler removes the checks for features of generation 2 from the parsers of other containers.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself, and no state")]
pub(crate) struct Facts {
    /// The alignment of blobs in bytes.
    pub(crate) alignment: u64,
    /// True if several blobs may have the same range, and a blob may have the range of the manifest.
    pub(crate) shares_blobs: bool,
    /// True if names are sorted by length first, and names of equal length by their bytes. The parser has validated
    /// this order.
    pub(crate) sorted_by_length: bool,
    /// True if objects of a known layout have no components other than those of the layout.
    pub(crate) exact_roles: bool,
    /// True if components of objects of every layout must hold a whole number of elements.
    pub(crate) whole_elements: bool,
    /// True if files begin with a magic, so that no blob lies at offset 0.
    pub(crate) has_magic: bool,
}

impl Facts {
    /// The facts about the containers before generation 2.
    pub(crate) const BEFORE_2: Self = Self {
        alignment: ALIGNMENT,
        shares_blobs: false,
        sorted_by_length: false,
        exact_roles: false,
        whole_elements: true,
        has_magic: true,
    };
}

/// The types that indices may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexTypes {
    U64,
    Integers,
    /// `u32` or `u64`. All indices of an object have the same type.
    Unsigned,
}

impl IndexTypes {
    pub(crate) fn allow(self, storage: StorageType) -> bool {
        match self {
            Self::U64 => storage == StorageType::U64,
            Self::Integers => storage.is_integer(),
            Self::Unsigned => matches!(storage, StorageType::U32 | StorageType::U64),
        }
    }
}

//! File formats other than zTensor, and tensors as their headers claim them.

use super::{Blobs, Encoding, Facts, FormatFacts, IndexTypes, Layout};
use crate::element::{ByteOrder, LogicalType, Negation, StorageType};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::rules::{Row, StreamRules};

/// A file format: its name, the rules for its blobs, and the rules of the format that the library checks.
#[derive(Debug)]
pub struct FileFormat {
    pub(super) facts: FormatFacts,
    pub(super) blobs: Blobs,
}

/// Rules of a format that the library checks while it builds the index and reads content.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The rule that names of tensors are unique.
    pub duplicate_name: &'static Row,
    /// The rule that a bool is 0 or 1; `None` if the format allows any byte.
    pub bool_value: Option<&'static Row>,
    /// The rules for deflated content and for checksums; `None` if the format has neither.
    pub stream: Option<&'static StreamRules>,
    /// The check of unread components that are pickles; `None` if the format has no pickles or the program cannot check them.
    pub pickles: Option<&'static PickleRules>,
    /// The rules on groups of tensors that are one quantized tensor; `None` to look for no such groups.
    pub quantized: Option<&'static QuantizedRules>,
}

/// The rules on groups of tensors that programs read as one quantized tensor. A field holds the row of the catalog for one rule.
#[derive(Debug)]
pub struct QuantizedRules {
    /// The note on tensors of a group that contradict each other.
    pub parts: &'static Row,
    /// The note on scales that are not finite.
    pub scale: &'static Row,
    /// The rule that every entry of an index of rows (such as `g_idx` of GPTQ) refers to a row of scales.
    pub index: &'static Row,
    /// The rule that `quant_state`, the tensor in which bitsandbytes describes a group, holds a JSON object.
    pub state: &'static Row,
}

/// The check of components that are not read because they are pickles. Validating the content of a file checks them all the
/// same, since another reader might unpickle them.
#[derive(Debug)]
pub struct PickleRules {
    /// The rule that says why a component that is a pickle is not read.
    pub unread: &'static Row,
    /// The size in bytes of the longest pickle that is checked, after decompression.
    pub longest: u64,
    /// The largest expansion factor of a compressed pickle that is checked: its decoded size may be this number times its stored
    /// size, plus [`slack`](Self::slack).
    pub expansion: u64,
    /// The number of bytes by which the decoded size of a pickle that is checked may exceed its stored size times
    /// [`expansion`](Self::expansion).
    pub slack: u64,
    /// The function that checks the bytes of a pickle, whose first byte has the given offset in the file.
    pub check: fn(&[u8], u64, &Limits) -> Result<(), Error>,
}

impl FileFormat {
    /// Creates the description of the file format called `format`. `blobs` says how blobs of its files may overlap, and
    /// `rules` are the rules of the format that the library checks.
    pub const fn new(format: &'static str, blobs: Blobs, rules: Rules) -> Self {
        let bool_value = match rules.bool_value {
            Some(row) => Some(ErrorKind::Invalid(row)),
            None => None,
        };
        let facts = FormatFacts {
            format,
            generation: None,
            duplicate_name: ErrorKind::Invalid(rules.duplicate_name),
            bool_value,
            stream: rules.stream,
            pickles: rules.pickles,
            quantized: rules.quantized,
            layout_names: Layout::name,
            read_digest: |_| None,
            digests_decoded: false,
            index_types: IndexTypes::Integers,
            unknown_format: None,
            unknown_type: None,
            single_cells: false,
            container: Facts {
                alignment: 1,
                exact_roles: true,
                has_magic: false,
                ..Facts::BEFORE_2
            },
        };
        Self { facts, blobs }
    }
}

/// One tensor, as a header claims it.
#[derive(Clone, Copy, Debug)]
pub struct RawObject<'a> {
    /// The name of the tensor.
    pub name: &'a str,
    /// The sizes of the dimensions, outermost first.
    pub shape: &'a [u64],
    /// The layout: dense, sparse, or unknown. Components of a tensor with an unknown layout can be read.
    pub layout: Layout,
    /// The name of an unknown layout.
    pub layout_name: Option<&'a str>,
    /// The attributes: a CBOR map whose keys are text.
    pub attributes: Option<&'a [u8]>,
    /// The components, their roles in ascending order.
    pub components: &'a [RawComponent<'a>],
    /// The offset of the tensor's description, which errors report. It counts from the start of the header, or from the
    /// offset that was passed to [`Builder::descriptions_at`](super::Builder::descriptions_at). For a tensor whose first
    /// component is in another [file](RawComponent::file), it counts from the start of the header of that file.
    ///
    /// 32 bits are enough, because the limit called `manifest` keeps a header within 1 GiB. A parser without this limit passes
    /// `u32::MAX` for an offset that does not fit.
    pub source_offset: u32,
}

/// What zten knows of the elements of a component.
#[derive(Clone, Copy, Debug)]
pub enum RawElements<'a> {
    /// The elements have the storage type and the logical type of the component.
    Known,
    /// Each element takes `size` bytes, whose meaning zten does not interpret. The bytes are handed out as stored. The
    /// storage type of the component must be `u8`, without a logical type.
    Opaque {
        /// The name of the type, as messages and listings show it.
        type_name: &'a str,
        /// The size of an element in bytes.
        size: u64,
    },
    /// The bytes are not handed out.
    Unread {
        /// The name of the type, as messages and listings show it.
        type_name: &'a str,
        /// The rule that says why the bytes are not handed out.
        reason: &'static Row,
    },
}

/// A field of records that holds the elements of a component. Every record has the field, which holds one element or a row-major
/// array of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordField {
    /// The size of a record in bytes.
    pub record: u64,
    /// The offset of the field in each record, in bytes.
    pub offset: u64,
    /// The size of the field in bytes.
    pub size: u64,
}

/// One component, as a header claims it.
#[derive(Clone, Copy, Debug)]
pub struct RawComponent<'a> {
    /// The role of the component in its tensor: `data` in a dense tensor.
    pub role: &'a str,
    /// The ordinal of the [file](super::Builder::file) that holds the blob; `None` for the file of the header.
    pub file: Option<u32>,
    /// The offset of the blob in its file, in bytes.
    pub offset: u64,
    /// The size of the blob in bytes.
    pub stored_length: u64,
    /// The number of bytes in front of the elements that the checksum also covers, such as the header of a member. If
    /// the component is deflated, these bytes are deflated with the elements, and otherwise they lie in front of the
    /// blob.
    pub prefix: u64,
    /// The size of the decoded elements in bytes, or of the decoded records if the elements are a
    /// [field](Self::field); `None` if it is the size of the blob.
    pub decoded_length: Option<u64>,
    /// The storage type of the elements.
    pub storage: StorageType,
    /// The logical type of the elements, whose storage type must be `storage`; `None` if the storage type says all.
    pub logical: Option<LogicalType>,
    /// What zten knows of the elements.
    pub elements: RawElements<'a>,
    /// The field that holds the elements, if the blob holds records; `None` if the blob holds nothing but elements. Only
    /// for dense tensors whose elements take whole bytes and are no bools. Another component must hold the whole records,
    /// because the checks of overlaps ignore the blobs of fields.
    pub field: Option<RecordField>,
    /// The byte order of the elements. It matters for elements of several bytes. It also matters for raw `u8` in a tensor of an
    /// unknown layout, if the name of the layout is that of GGUF blocks with known fields, such as `gguf.q4_k`.
    pub byte_order: ByteOrder,
    /// Whether the elements are stored in column-major order. Only for dense tensors whose elements take whole bytes.
    pub column_major: bool,
    /// The stride of each dimension in elements, outermost first; `None` for row-major and column-major order. The blob
    /// must begin with the first element and end with the last. Only for dense tensors whose elements take whole bytes,
    /// in formats with [`StreamRules`].
    pub strides: Option<&'a [u64]>,
    /// The encoding of the blob: raw or zstd or, in formats with [`StreamRules`], deflate or Latin-1. [`Encoding::Negated`] is not
    /// among them: `negation` says it.
    pub encoding: Encoding,
    /// The parts of the elements whose sign is the opposite of the stored one. Only for raw floats and complex numbers in dense
    /// tensors, in formats with [`StreamRules`].
    pub negation: Negation,
    /// The CRC-32 of the [`prefix`](Self::prefix) and the decoded elements or, if there is a
    /// [`checksum_range`](Self::checksum_range), of the bytes of the file in that range. `None` if the component has no checksum.
    pub checksum: Option<u32>,
    /// The start and the end of the file range that the checksum covers, if that is more than the prefix and the
    /// elements: a storage with this blob and perhaps the blobs of other components, which have the same range and
    /// checksum. Reading a whole component verifies the range first, once for each open file. Slices and borrowed views
    /// do not verify it.
    pub checksum_range: Option<[u64; 2]>,
}

impl RawComponent<'_> {
    /// Creates a component of `length` raw bytes at `offset` in the file of the header: little-endian elements in
    /// row-major order, without a checksum.
    pub const fn raw(storage: StorageType, offset: u64, length: u64) -> Self {
        Self {
            role: "data",
            file: None,
            offset,
            stored_length: length,
            prefix: 0,
            decoded_length: None,
            storage,
            logical: None,
            elements: RawElements::Known,
            field: None,
            byte_order: ByteOrder::Little,
            column_major: false,
            strides: None,
            encoding: Encoding::Raw,
            negation: Negation { real: false, imaginary: false },
            checksum: None,
            checksum_range: None,
        }
    }
}

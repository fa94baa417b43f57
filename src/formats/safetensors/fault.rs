//! Errors of the parser of safetensors headers, with their positions in the header.

use nom::IResult;

/// The bytes of the header that have not been parsed.
pub(super) type Input<'h> = &'h [u8];

/// The result of parsing an item of the header: the bytes after the item, and the item.
pub(super) type Parsed<'h, O> = IResult<Input<'h>, O, Fault>;

/// An error of the parser, at a position in the header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    pub(super) why: Why,
    /// The position of the error, as the number of bytes from there to the end of the header.
    pub(super) left: u32,
}

/// What is wrong at the position of a [`Fault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The header ends where the parser expects more bytes.
    End,
    /// The header has another token than the parser expected.
    Expected(Expected),
    /// A JSON string contains a control character that is not escaped.
    Control,
    /// A backslash does not begin a valid escape.
    Escape,
    /// An escape such as `\ud800` is one half of a surrogate pair, and the other half does not follow or precede it.
    Surrogate,
    /// A JSON string contains bytes that are not UTF-8.
    Utf8,
    /// The entry of a tensor has a field other than `dtype`, `shape` and `data_offsets`.
    UnknownField,
    /// The entry of a tensor has a field twice.
    DuplicateField,
    /// The entry of a tensor lacks this field.
    MissingField(Field),
    /// The dtype of a tensor is not one that zten supports.
    Dtype,
    /// The shape of a tensor has more dimensions than the limit `rank` allows.
    Rank,
    /// The map `__metadata__` has more keys than the limit `keys` allows.
    Keys,
    /// The header has the key `__metadata__` twice.
    DuplicateMetadata,
    /// There is not enough memory to decode a string, or to store a dimension or the metadata.
    Memory,
}

/// A field that each tensor's entry in the header must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Dtype,
    Shape,
    DataOffsets,
}

/// A token or value that the parser expected, for the message about another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Colon,
    Comma,
    /// A comma, or this byte, a bracket or brace that ends the array or map.
    CommaOr(u8),
    Text,
    Number,
    Entry,
    Metadata,
    Shape,
    Offsets,
    /// The closing bracket after the second of the two numbers in `data_offsets`.
    OffsetsEnd,
    /// No token: only white space may follow, up to the end of the header.
    Nothing,
}

impl Fault {
    #[cold]
    #[inline(never)]
    pub(super) fn new(why: Why, left: usize) -> Self {
        let why = if left == 0 { Why::End } else { why };
        // A header has at most 100,000,000 bytes, so the position fits in 32 bits.
        Self { why, left: u32::try_from(left).unwrap_or(u32::MAX) }
    }
}

impl From<Fault> for nom::Err<Fault> {
    fn from(fault: Fault) -> Self {
        Self::Failure(fault)
    }
}

/// Returns an error for the reason `why`, at the start of `at`.
pub(super) fn fail<O>(why: Why, at: Input<'_>) -> Parsed<'_, O> {
    Err(Fault::new(why, at.len()).into())
}

impl Field {
    /// Returns the key of the field in a tensor's entry, such as `shape`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Dtype => "dtype",
            Self::Shape => "shape",
            Self::DataOffsets => "data_offsets",
        }
    }

    /// Returns the field whose key is `name`; `None` if the format does not define this key.
    pub(super) fn of(name: &str) -> Option<Self> {
        [Self::Dtype, Self::Shape, Self::DataOffsets].into_iter().find(|field| field.name() == name)
    }
}

impl Expected {
    /// Returns words for the expected token, for the message "expected …".
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Colon => "a colon",
            Self::Comma => "a comma",
            Self::CommaOr(b']') => "a comma or the end of the array",
            Self::CommaOr(_) => "a comma or the end of the map",
            Self::Text => "a string",
            Self::Number => "an unsigned integer of at most 64 bits",
            Self::Entry => "a map of `dtype`, `shape` and `data_offsets`",
            Self::Metadata => "a map of strings",
            Self::Shape => "an array of dimensions",
            Self::Offsets => "an array of two offsets",
            Self::OffsetsEnd => "the end of the array of two offsets",
            Self::Nothing => "the end of the header",
        }
    }
}

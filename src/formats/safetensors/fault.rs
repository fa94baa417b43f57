//! Errors of the header parser, with their positions.

use nom::IResult;

/// The bytes that are left of the header.
pub(super) type Input<'h> = &'h [u8];

/// The result of a parser: the bytes that are left after the item, and the item.
pub(super) type Parsed<'h, O> = IResult<Input<'h>, O, Fault>;

/// An error at a position in the header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    pub(super) why: Why,
    /// The position, as the number of bytes from there to the end of the header.
    pub(super) left: u32,
}

/// The reason of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The header ends, but more is expected.
    End,
    /// The header has another token than the expected one.
    Expected(Expected),
    /// A string contains a control character.
    Control,
    /// A backslash does not begin a valid escape.
    Escape,
    /// An escaped surrogate lacks its other half.
    Surrogate,
    /// A string is not UTF-8.
    Utf8,
    /// An entry has an unknown field.
    UnknownField,
    /// An entry has a field twice.
    DuplicateField,
    /// An entry lacks this field.
    MissingField(Field),
    /// The dtype of an entry is not supported.
    Dtype,
    /// An entry has more dimensions than the limits allow.
    Rank,
    /// The metadata have more keys than the limits allow.
    Keys,
    /// The header has two entries for the metadata.
    DuplicateMetadata,
    /// There is not enough memory to decode a string or store a dimension.
    Memory,
}

/// A field of a tensor's entry in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Dtype,
    Shape,
    DataOffsets,
}

/// The token that the parser expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Colon,
    Comma,
    /// A comma, or this bracket or brace, which ends the array or map.
    CommaOr(u8),
    Text,
    Number,
    Entry,
    Metadata,
    Shape,
    Offsets,
    /// The closing bracket after the second of two offsets.
    OffsetsEnd,
    /// Only white space up to the end of the header.
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

/// Fails for the reason `why` at the start of `at`.
pub(super) fn fail<O>(why: Why, at: Input<'_>) -> Parsed<'_, O> {
    Err(Fault::new(why, at.len()).into())
}

impl Field {
    /// Returns the name of the field in a header.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Dtype => "dtype",
            Self::Shape => "shape",
            Self::DataOffsets => "data_offsets",
        }
    }

    /// Returns the field called `name`, or `None` if there is no such field.
    pub(super) fn of(name: &str) -> Option<Self> {
        [Self::Dtype, Self::Shape, Self::DataOffsets].into_iter().find(|field| field.name() == name)
    }
}

impl Expected {
    /// Returns a description of the token for a message.
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

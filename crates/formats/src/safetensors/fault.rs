//! Errors at places of a header.

use nom::IResult;

/// The bytes that are left of the header.
pub(super) type Input<'h> = &'h [u8];

/// The result of a parser: the bytes that are left after the item, and the item.
pub(super) type Parsed<'h, O> = IResult<Input<'h>, O, Fault>;

/// An error at a place in the header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    pub(super) why: Why,
    /// The place, as the number of bytes from there to the end.
    pub(super) left: u32,
}

/// The reason of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The header ends where more is expected.
    End,
    /// Something else stands there.
    Expected(Expected),
    /// A string contains a control character.
    Control,
    /// A backslash begins no escape.
    Escape,
    /// A surrogate has no other half.
    Surrogate,
    /// A string is not UTF-8.
    Utf8,
    /// An entry has a field of another name.
    UnknownField,
    /// An entry has a field twice.
    DuplicateField,
    /// An entry ends without this field.
    MissingField(Field),
    /// The dtype of an entry is not supported.
    Dtype,
    /// An entry has more dimensions than the limits allow.
    Rank,
    /// The metadata have more keys than the limits allow.
    Keys,
    /// The metadata stand there twice.
    DuplicateMetadata,
    /// Memory is short for what has to be decoded.
    Memory,
}

/// The field of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Dtype,
    Shape,
    DataOffsets,
}

/// The token that should stand somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Colon,
    Comma,
    /// A comma, or the bracket or brace that ends what is being read.
    CommaOr(u8),
    Text,
    Number,
    Entry,
    Metadata,
    Shape,
    Offsets,
    /// The bracket behind the second of two offsets.
    OffsetsEnd,
    /// White space alone.
    Nothing,
}

impl Fault {
    #[cold]
    #[inline(never)]
    pub(super) fn new(why: Why, left: usize) -> Self {
        let why = if left == 0 { Why::End } else { why };
        // A header has at most 100,000,000 bytes.
        Self { why, left: u32::try_from(left).unwrap_or(u32::MAX) }
    }
}

impl From<Fault> for nom::Err<Fault> {
    fn from(fault: Fault) -> Self {
        Self::Failure(fault)
    }
}

/// Fails for what stands at `at`.
pub(super) fn fail<O>(why: Why, at: Input<'_>) -> Parsed<'_, O> {
    Err(Fault::new(why, at.len()).into())
}

impl Field {
    /// The name in the file.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Dtype => "dtype",
            Self::Shape => "shape",
            Self::DataOffsets => "data_offsets",
        }
    }

    /// The field of that name.
    pub(super) fn of(name: &str) -> Option<Self> {
        [Self::Dtype, Self::Shape, Self::DataOffsets].into_iter().find(|field| field.name() == name)
    }
}

impl Expected {
    /// The token in a message.
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

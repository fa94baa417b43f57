//! Storage types, logical types, and the Rust types of elements.

mod block_fields;
mod dtype;
mod floats;

pub(crate) use block_fields::{BlockFields, FIELD, OPAQUE_BLOCKS};
pub use dtype::DType;
pub(crate) use floats::name_of_not_finite;
pub use floats::{Complex, F4E2M1, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0};

use core::num::{NonZeroU8, NonZeroU64};

use half::{bf16, f16};
use zerocopy::TryFromBytes as _;

use crate::num::{Word, enum_all, impl_display, match_name};

/// Reverses `bytes`, the bytes of one element. Unlike [`slice::reverse`], this function compiles to code without a call to panic.
pub(crate) fn reverse(bytes: &mut [u8]) {
    let mut rest = bytes.iter_mut();
    while let (Some(first), Some(last)) = (rest.next(), rest.next_back()) {
        core::mem::swap(first, last);
    }
}

/// Which signs of the elements are the opposite of the stored signs. PyTorch stores a negated or conjugated view without changing
/// the bytes: a negated view has the opposite sign in every element, and a conjugated view in every imaginary part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Negation {
    /// Whether real elements, and the real parts of complex elements, have the opposite of the stored sign.
    pub real: bool,
    /// Whether the imaginary parts of complex elements have the opposite of the stored sign.
    pub imaginary: bool,
}

impl Negation {
    /// Returns whether all elements have the stored signs.
    #[inline]
    pub(crate) fn is_none(self) -> bool {
        self == Self::default()
    }

    /// Inverts the signs of the little-endian floats in `bytes`, of `width` bytes each. `position` is the offset of `bytes` in
    /// the content, a multiple of `width`. If `is_complex`, every second float of the content is an imaginary part.
    pub(crate) fn apply(
        self,
        (position, width): (u64, NonZeroU8),
        is_complex: bool,
        bytes: &mut [u8],
    ) {
        let mut is_imaginary = is_complex && (position / NonZeroU64::from(width)) % 2 == 1;
        for float in bytes.chunks_exact_mut(usize::from(width.get())) {
            let is_negated = if is_imaginary { self.imaginary } else { self.real };
            if let (true, Some(last)) = (is_negated, float.last_mut()) {
                *last ^= 0x80;
            }
            is_imaginary = is_complex && !is_imaginary;
        }
    }
}

enum_all! {
/// The type that elements are stored as: v1.2 §2, v1.1 II.4, v0.1 §5.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StorageType with
    /// Returns the name of the storage type in zTensor 1.x, such as `f32`, and its name in 0.1, such as `float32`.
    fn names -> (&'static str, &'static str)
{
    /// IEEE 754 double precision, 8 bytes.
    F64 = ("f64", "float64"),
    /// IEEE 754 single precision, 4 bytes.
    F32 = ("f32", "float32"),
    /// IEEE 754 half precision, 2 bytes.
    F16 = ("f16", "float16"),
    /// The upper half of an `f32`, 2 bytes.
    Bf16 = ("bf16", "bfloat16"),
    /// Two's complement, 8 bytes.
    I64 = ("i64", "int64"),
    /// Two's complement, 4 bytes.
    I32 = ("i32", "int32"),
    /// Two's complement, 2 bytes.
    I16 = ("i16", "int16"),
    /// Two's complement, 1 byte.
    I8 = ("i8", "int8"),
    /// Unsigned, 8 bytes.
    U64 = ("u64", "uint64"),
    /// Unsigned, 4 bytes: `uint32` in files of 0.1.
    U32 = ("u32", "uint32"),
    /// Unsigned, 2 bytes.
    U16 = ("u16", "uint16"),
    /// Unsigned, 1 byte.
    U8 = ("u8", "uint8"),
    /// One byte: 0 or 1 in 1.x, any byte that is not 0 is true in 0.1.
    Bool = ("bool", "bool"),
}
}

impl StorageType {
    /// Every storage type.
    pub const ALL: [Self; Self::COUNT] = Self::LIST;

    /// Returns the storage type whose name in zTensor 1.x is `name`, or `None` if no type has that name.
    pub(crate) fn from_v1(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|storage| storage.names().0.as_bytes() == name)
    }

    /// Returns the storage type whose short name is packed into the integer `name`, which compares faster than a text: the
    /// type of [`from_v2`](Self::from_v2) if `V2`, and of [`from_v1`](Self::from_v1) otherwise.
    #[inline]
    pub(crate) fn from_word<const V2: bool>(name: Word) -> Option<Self> {
        match_name! { name;
            "bf16" => Self::Bf16,
            "f32" => Self::F32,
            "f16" => Self::F16,
            "u8" => Self::U8,
            "f64" => Self::F64,
            "i64" => Self::I64,
            "i32" => Self::I32,
            "i16" => Self::I16,
            "i8" => Self::I8,
            "u64" => Self::U64,
            "u32" => Self::U32,
            "u16" => Self::U16,
            "bool" => if V2 { return None } else { Self::Bool },
        }
    }

    /// Returns the storage type called `name` in zTensor 2, or `None` if no type has that name. Generation 2 has no storage type
    /// `bool`: v2 §4.1.
    pub(crate) fn from_v2(name: &[u8]) -> Option<Self> {
        Self::from_v1(name).filter(|storage| *storage != Self::Bool)
    }

    /// Returns the storage type whose name in zTensor 0.1 is `name`, such as `float32`, or `None` if no type has that name.
    pub(crate) fn from_v0(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|storage| storage.names().1.as_bytes() == name)
    }

    /// Returns the name of the storage type in zTensor 1.x, such as `f32`.
    pub fn name(self) -> &'static str {
        self.names().0
    }

    /// Returns the size of an element in bytes: 1, 2, 4 or 8.
    #[inline]
    pub fn width(self) -> u8 {
        self.divisor().get()
    }

    /// Returns [`width`](Self::width) as a non-zero number, by which division cannot fail.
    #[inline]
    pub(crate) fn divisor(self) -> NonZeroU8 {
        const ONE: NonZeroU8 = NonZeroU8::MIN;
        match self {
            Self::F64 | Self::I64 | Self::U64 => const { ONE.saturating_add(7) },
            Self::F32 | Self::I32 | Self::U32 => const { ONE.saturating_add(3) },
            Self::F16 | Self::Bf16 | Self::I16 | Self::U16 => const { ONE.saturating_add(1) },
            Self::I8 | Self::U8 | Self::Bool => ONE,
        }
    }

    /// Returns whether the type is an integer type. `bool` is not.
    pub fn is_integer(self) -> bool {
        use StorageType as T;
        matches!(self, T::I64 | T::I32 | T::I16 | T::I8 | T::U64 | T::U32 | T::U16 | T::U8)
    }
}

enum_all! {
/// The meaning of stored elements, if it is more than their storage type: v1.2 §2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogicalType with
    /// Returns the name of the logical type in 1.2 and 2, the name of the dtype of 1.1 that stands for it (empty if 1.1 has no such
    /// dtype), and the storage type of its elements.
    fn row -> (&'static str, &'static str, StorageType)
{
    /// The 8-bit float E4M3 of OCP and NVIDIA, which has no infinities, stored as `u8`. In 1.1 it is the dtype `f8_e4m3`.
    F8E4M3Fn = ("f8_e4m3fn", "f8_e4m3", StorageType::U8),
    /// The 8-bit float E5M2 of OCP, stored as `u8`. In 1.1 it is a dtype of the same name.
    F8E5M2 = ("f8_e5m2", "f8_e5m2", StorageType::U8),
    /// The 8-bit float E4M3 of AMD, which has no infinities and no negative zero, stored as `u8`.
    F8E4M3Fnuz = ("f8_e4m3fnuz", "", StorageType::U8),
    /// The 8-bit float E5M2 of AMD, which has no infinities and no negative zero, stored as `u8`.
    F8E5M2Fnuz = ("f8_e5m2fnuz", "", StorageType::U8),
    /// A complex number: its real part and then its imaginary part, each stored as `f32`. In 1.1 it is a dtype of the same name.
    Complex64 = ("complex64", "complex64", StorageType::F32),
    /// A complex number: its real part and then its imaginary part, each stored as `f64`. In 1.1 it is a dtype of the same name.
    Complex128 = ("complex128", "complex128", StorageType::F64),
    /// A power of two, stored as `u8`: the type of the scales in OCP's microscaling formats. Only generation 2 has this type.
    F8E8M0 = ("f8_e8m0", "", StorageType::U8),
    /// The 4-bit float E2M1 of OCP. Two elements share one stored `u8`. Only generation 2 has this type.
    F4E2M1 = ("f4_e2m1", "", StorageType::U8),
}
}

impl_display! { StorageType: name; LogicalType: name; }

impl LogicalType {
    /// Every logical type that zten knows: the types of zTensor 1.2, and the two types that only generation 2 has.
    pub const ALL: [Self; Self::COUNT] = Self::LIST;
    /// The logical types that zTensor 1.2 defines. Generation 2 has these types as well.
    pub const V1_2: [Self; 6] = {
        let [a, b, c, d, e, f, ..] = Self::LIST;
        [a, b, c, d, e, f]
    };

    /// Returns the logical type called `name` in the field `type` of a 1.x component, or `None` if 1.x defines no such type.
    pub(crate) fn from_name(name: &[u8]) -> Option<Self> {
        Self::from_v2(name).filter(|logical| Self::V1_2.contains(logical))
    }

    /// Returns the logical type called `name` in the field `type` of a component of generation 2, or `None` if generation 2 defines
    /// no such type.
    pub(crate) fn from_v2(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|logical| logical.name().as_bytes() == name)
    }

    /// Returns the logical type that the 1.1 dtype called `name` stands for, or `None` if the dtype stands for no logical type.
    pub(crate) fn from_dtype_v1_1(name: &[u8]) -> Option<Self> {
        let named = |logical: &Self| logical.row().1.as_bytes() == name && !name.is_empty();
        Self::ALL.into_iter().find(named)
    }

    /// Returns the name of the logical type in the field `type` of 1.2 and 2, such as `f8_e4m3fn`.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the storage type of the elements.
    pub fn storage(self) -> StorageType {
        self.row().2
    }

    /// Returns the number of storage elements for each logical element: 2 for complex types, and otherwise 1. For
    /// `f4_e2m1` a storage element holds two logical elements.
    #[inline]
    pub fn ratio(self) -> u8 {
        if matches!(self, Self::Complex64 | Self::Complex128) { 2 } else { 1 }
    }
}

/// The order of the bytes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first: all files of 1.x and 2, and files of 0.1 by default.
    Little,
    /// Most significant byte first: files of 0.1 with `data_endianness: big`, and some files of other formats.
    Big,
}

impl ByteOrder {
    /// The byte order of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };
}

mod sealed {
    use zerocopy::{Immutable, KnownLayout, TryFromBytes};

    /// Keeps other crates from implementing [`Element`](super::Element).
    pub trait Sealed: TryFromBytes + Immutable + KnownLayout {}
}

/// A Rust type of elements: numbers, `bool`, and the types of [`half`] and of this module. Elements can also be read as
/// their storage type: FP8 elements as `u8`, complex elements as floats. Sealed.
pub trait Element: Copy + PartialEq + sealed::Sealed + 'static {
    /// The storage type of a component whose elements can be read as this type.
    #[doc(hidden)]
    const DTYPE: StorageType;

    /// The logical type that a component must have for its elements to be read as this type. If `None`, the storage
    /// type alone must match.
    #[doc(hidden)]
    const LOGICAL: Option<LogicalType> = None;

    /// The value of the elements that a sparse tensor does not store.
    #[doc(hidden)]
    const ZERO: Self;

    /// Borrows `bytes` as native elements. Returns `None` if the bytes are not aligned, not a whole number of elements,
    /// or not valid.
    #[doc(hidden)]
    #[inline]
    fn native(bytes: &[u8]) -> Option<&[Self]> {
        <[Self]>::try_ref_from_bytes(bytes).ok()
    }

    /// Reads an element from the front of `bytes`, or returns `None` if `bytes` are shorter than an element.
    #[doc(hidden)]
    fn read(bytes: &[u8], order: ByteOrder) -> Option<Self>;

    /// Returns the little-endian bytes of the element, followed by zeros up to a length of 16 bytes.
    #[doc(hidden)]
    fn to_le(self) -> [u8; 16];

    /// Borrows the little-endian bytes of `elements`, or returns `None` if they are stored in memory in another form, as on a
    /// big-endian machine. Returns `None`, the default, for complex numbers.
    #[doc(hidden)]
    fn as_bytes(elements: &[Self]) -> Option<&[u8]> {
        let _ = elements;
        None
    }

    /// Borrows the little-endian bytes of `elements` for writing, if any bytes are valid elements and elements are little-endian in
    /// memory. Otherwise returns `None`, the default.
    #[doc(hidden)]
    fn as_mut_bytes(elements: &mut [Self]) -> Option<&mut [u8]> {
        let _ = elements;
        None
    }
}

/// Returns `bytes`, at most 16 of them, followed by zeros up to a length of 16 bytes.
pub(crate) fn padded<const N: usize>(bytes: [u8; N]) -> [u8; 16] {
    let mut all = [0; 16];
    all.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    all
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident;)+) => { $(
        impl sealed::Sealed for $rust {}

        impl Element for $rust {
            const DTYPE: StorageType = StorageType::$dtype;
            const ZERO: Self = Self::from_le_bytes([0; size_of::<Self>()]);

            #[inline]
            fn read(bytes: &[u8], order: ByteOrder) -> Option<Self> {
                bytes.first_chunk().map(|bytes| match order {
                    ByteOrder::Little => Self::from_le_bytes(*bytes),
                    ByteOrder::Big => Self::from_be_bytes(*bytes),
                })
            }

            fn to_le(self) -> [u8; 16] {
                padded(self.to_le_bytes())
            }

            fn as_bytes(elements: &[Self]) -> Option<&[u8]> {
                cfg!(target_endian = "little").then(|| zerocopy::IntoBytes::as_bytes(elements))
            }

            fn as_mut_bytes(elements: &mut [Self]) -> Option<&mut [u8]> {
                let is_little = cfg!(target_endian = "little");
                is_little.then(|| zerocopy::IntoBytes::as_mut_bytes(elements))
            }
        }
    )+ };
}

elements! {
    f64 => F64; f32 => F32; f16 => F16; bf16 => Bf16;
    i64 => I64; i32 => I32; i16 => I16; i8 => I8;
    u64 => U64; u32 => U32; u16 => U16; u8 => U8;
}

impl sealed::Sealed for bool {}

impl Element for bool {
    const DTYPE: StorageType = StorageType::Bool;
    const ZERO: Self = false;

    #[inline]
    fn read(bytes: &[u8], _: ByteOrder) -> Option<Self> {
        bytes.first().map(|byte| *byte != 0)
    }

    fn to_le(self) -> [u8; 16] {
        padded([u8::from(self)])
    }

    fn as_bytes(elements: &[Self]) -> Option<&[u8]> {
        Some(zerocopy::IntoBytes::as_bytes(elements))
    }
}

//! Arrays, dtypes and scalars of NumPy in a pickle.

use crate::element::StorageType;
use crate::formats::error::FormatError;
use crate::formats::npy::types::{Number, Type};
use crate::formats::rules::Rule;
use crate::num::u64_from_usize;

use super::calls::ARGUMENTS;
use super::globals::{Global, Known};
use super::machine::Machine;
use super::pickle::{Fact, LONGEST_NAME, Pickle, Pickled};

/// The value of a NumPy scalar that is a bool or a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ScalarValue {
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
}

/// The largest number of dimensions of a NumPy array.
const MOST_DIMENSIONS: u32 = 64;
/// The number of bytes of the longest scalar that becomes an attribute.
const LONGEST_SCALAR: usize = 8;

impl Machine<'_> {
    /// Returns the value that `class`, a class or function of NumPy, makes from the items of the tuple `args`.
    pub(super) fn make_array(&mut self, class: Known, args: u32) -> Result<Pickled, FormatError> {
        let count = self.pickle.length(args);
        let items: [Pickled; ARGUMENTS] = self.pickle.first(args);
        match (class, count, items) {
            // The arguments make an empty array, which a state then fills.
            (
                Known::Reconstruct,
                3,
                [Pickled::Global(Global::Known(Known::Array)), Pickled::Tuple(shape), code, ..],
            ) if self.is_zero(shape) && self.is_byte_b(code) => {
                Ok(Pickled::Array(self.pickle.container(self.now)?))
            }
            (
                Known::FromBuffer,
                4,
                [
                    bytes,
                    Pickled::NumpyDtype(dtype),
                    Pickled::Tuple(shape),
                    Pickled::Text(order),
                    ..,
                ],
            ) => {
                let is_column_major = match self.pickle.short(order, LONGEST_NAME) {
                    Some(b"C") => false,
                    Some(b"F") => true,
                    _ => return Err(self.wrong_arguments(class)),
                };
                let node = self.pickle.container(self.now)?;
                self.fill(node, shape, dtype, (Pickled::Bool(is_column_major), bytes))?;
                Ok(Pickled::Array(node))
            }
            (Known::Scalar, 2, [Pickled::NumpyDtype(dtype), bytes, ..]) => {
                let size = size_of_element(self.pickle.numpy_type(dtype));
                // Python 3 decodes the byte strings of Python 2 to texts.
                let bytes = match bytes {
                    Pickled::Text(at) => self.latin_1(at, class)?,
                    bytes => bytes,
                };
                // NumPy writes no scalars of Python objects. The bytes of any other scalar are as long as an element of
                // its dtype.
                if size.is_none() || self.pickle.byte_length(bytes)? != size {
                    return Err(self.wrong_arguments(class));
                }
                let node = self.pickle.container(self.now)?;
                self.pickle.extend(node, &[Pickled::NumpyDtype(dtype), bytes])?;
                Ok(Pickled::Scalar(node))
            }
            (
                Known::NumpyDtype,
                3,
                [
                    name @ (Pickled::Text(_) | Pickled::Global(Global::Known(Known::Record))),
                    is_aligned,
                    is_copied,
                    ..,
                ],
                // With `copy=False`, `numpy.dtype` returns its shared dtype, which does not take the byte order that the
                // pickle sets later.
            ) if self.is_flag(is_aligned, false) && self.is_flag(is_copied, true) => {
                let node = self.pickle.container(self.now)?;
                self.pickle.extend(node, &[name])?;
                Ok(Pickled::NumpyDtype(node))
            }
            (Known::DtypeClass, 0, _) => {
                self.object(Pickled::Global(Global::Known(class)), Pickled::Tuple(args))
            }
            _ => Err(self.wrong_arguments(class)),
        }
    }

    /// Returns whether `value` is the flag `wanted`, or the number that old versions of NumPy wrote for the flag.
    fn is_flag(&self, value: Pickled, wanted: bool) -> bool {
        value == Pickled::Bool(wanted) || self.pickle.count(value) == Some(wanted.into())
    }

    /// Returns whether the tuple `shape` is `(0,)`, the shape with which NumPy's `_reconstruct` is called.
    fn is_zero(&self, shape: u32) -> bool {
        let [only] = self.pickle.first(shape);
        self.pickle.length(shape) == 1 && self.pickle.count(only) == Some(0)
    }

    /// Returns whether `code` is the byte `b`, the type code with which NumPy's `_reconstruct` is called. Python 2 writes
    /// it as a text.
    fn is_byte_b(&self, code: Pickled) -> bool {
        match code {
            Pickled::Bytes(at) | Pickled::Latin1(at) | Pickled::Text(at) => {
                self.pickle.short(at, LONGEST_NAME) == Some(b"b")
            }
            _ => false,
        }
    }

    /// Executes BUILD for the NumPy array `node`: sets its shape, dtype, order and content from the items of the tuple
    /// `state`. They are the version 1, the shape, the dtype, whether the order is column-major, and the bytes or a list of
    /// objects.
    pub(super) fn fill_array(&mut self, node: u32, state: u32) -> Result<(), FormatError> {
        let items: [Pickled; 5] = self.pickle.first(state);
        let (version, Pickled::Tuple(shape), Pickled::NumpyDtype(dtype), order, content) =
            items.into()
        else {
            return Err(self.wrong_arguments(Known::Array));
        };
        if self.pickle.count(version) != Some(1)
            || self.pickle.length(state) != 5
            || self.pickle.length(node) != 0
        {
            return Err(self.wrong_arguments(Known::Array));
        }
        self.fill(node, shape, dtype, (order, content))
    }

    /// Sets the shape, the dtype, the order (`True` for column-major) and the content of the NumPy array `node`. The content
    /// must have the number of bytes or objects that the shape and the dtype need, unless zten does not know the size of the
    /// dtype.
    fn fill(
        &mut self,
        node: u32,
        shape: u32,
        dtype: u32,
        (order, content): (Pickled, Pickled),
    ) -> Result<(), FormatError> {
        let wrong = |machine: &Self| machine.wrong_arguments(Known::Array);
        // The number of dimensions is checked before the dimensions are read. A pickle can refer to one long tuple many
        // times, in a few bytes each, and every read would visit all items. NumPy has no arrays with more dimensions.
        let has_shape = !self.pickle.has(shape, Fact::HasOtherThanInts)
            && self.pickle.length(shape) <= MOST_DIMENSIONS;
        if !has_shape || !matches!(order, Pickled::Bool(_)) {
            return Err(wrong(self));
        }
        let mut elements = Some(1_u64);
        for dimension in self.pickle.items(shape) {
            let dimension = self.pickle.count(dimension);
            elements = elements.zip(dimension).and_then(|(count, next)| count.checked_mul(next));
        }
        let Some(elements) = elements else { return Err(wrong(self)) };
        let kind = self.pickle.numpy_type(dtype);
        let content = match content {
            // Python 3 decodes the byte strings of Python 2 to texts, and NumPy encodes the texts in Latin-1.
            Pickled::Text(at) => self.latin_1(at, Known::Array)?,
            content => content,
        };
        let fits = match (kind, content) {
            (Type::Objects, Pickled::List(list)) => u64::from(self.pickle.length(list)) == elements,
            (Type::Objects, _) => false,
            // NumPy knows more names of dtypes than zten does. The array is not read.
            (Type::Unknown, _) => self.pickle.byte_length(content)?.is_some(),
            (kind, content) => {
                let size = size_of_element(kind).and_then(|size| size.checked_mul(elements));
                size.is_some() && self.pickle.byte_length(content)? == size
            }
        };
        if !fits {
            return Err(wrong(self));
        }
        let values = [Pickled::Tuple(shape), Pickled::NumpyDtype(dtype), order, content];
        self.pickle.extend(node, &values)
    }

    /// Executes BUILD for the NumPy dtype `node`, with the items of the tuple `state`: the version, the byte order, the
    /// dtype and shape if each element is an array, the names of fields, the fields, the size, the alignment and flags.
    /// Dates also have their unit.
    pub(super) fn set_dtype(&mut self, node: u32, state: u32) -> Result<(), FormatError> {
        if self.pickle.length(node) != 1 {
            return Err(self.wrong_arguments(Known::NumpyDtype));
        }
        let kind = self.pickle.numpy_type(node);
        let Some(has_objects) = self.pickle.objects_of_dtype(node, state, kind) else {
            return Err(self.wrong_arguments(Known::NumpyDtype));
        };
        self.pickle.extend(node, &[Pickled::Tuple(state)])?;
        if has_objects {
            self.pickle.note(node, Fact::HasObjects);
        }
        let [_, _, _, _, fields] = self.pickle.first(state);
        match fields {
            Pickled::Dict(fields) => self.pickle.add_fields(node, fields),
            _ => Ok(()),
        }
    }
}

/// Returns the size in bytes of an element of the type `kind`; `None` for Python objects and unknown types.
fn size_of_element(kind: Type) -> Option<u64> {
    match kind {
        Type::Known(number) => Some(number.width()),
        Type::Opaque(size) => Some(size),
        Type::Objects | Type::Unknown => None,
    }
}

/// The flags (a bit set) in the pickled state of a NumPy dtype whose elements are Python objects.
const OBJECTS: u64 = 63;
/// The flags (a bit set) in the pickled state of a NumPy dtype of text: only the bit for elements that need to be
/// initialized is set.
const TEXT: u64 = 8;
/// The possible flags (a bit set) in the pickled state of a NumPy dtype of records: 0 as old versions of NumPy write them,
/// 16 as new versions do, and 27 for records with Python objects. [`ALIGNED`] may be added to each.
const RECORDS: [u64; 3] = [0, 16, 27];
/// The flag in the pickled state of a NumPy dtype of records whose fields are aligned as in a C struct.
const ALIGNED: u64 = 128;

impl<'p> Pickle<'p> {
    /// Returns whether the elements of the dtype `node` are Python objects, according to the `state` that the dtype gets.
    /// Returns `None` if the state is not one that NumPy writes for a dtype of this name, which is `kind`. NumPy takes the
    /// sizes and flags from the state, and with wrong flags it would take the bytes of numbers for pointers to objects.
    fn objects_of_dtype(&self, node: u32, state: u32, kind: Type) -> Option<bool> {
        let items: [Pickled; 8] = self.first(state);
        let [version, order, array, names, fields, size, alignment, flags] = items;
        let number = |value: Pickled| match value {
            Pickled::Int(at) => self.int(at),
            _ => None,
        };
        let is_order = matches!(order, Pickled::Text(at)
            if matches!(self.short(at, LONGEST_NAME), Some(b"<" | b">" | b"|" | b"=")));
        let letter = self.numpy_name(node).bytes().next();
        let is_date = matches!(letter, Some(b'M' | b'm'));
        // The state of a dtype of dates has a ninth item, the unit.
        let form = if is_date { (Some(4), 9) } else { (Some(3), 8) };
        let (Some(flags), true) =
            (self.count(flags), is_order && form == (self.count(version), self.length(state)))
        else {
            return None;
        };
        if let (Pickled::Dict(_), Pickled::Tuple(_), Pickled::None) = (fields, names, array) {
            let flags = flags & !ALIGNED;
            let is_record = kind == Type::Unknown || letter == Some(b'V');
            return Some(flags == 27).filter(|_| is_record && RECORDS.contains(&flags));
        }
        if (names, fields) != (Pickled::None, Pickled::None) {
            return None;
        }
        if let Pickled::Tuple(array) = array {
            let [inner] = self.first(array);
            let Pickled::NumpyDtype(inner) = inner else { return None };
            let is_plain = letter == Some(b'V') && !self.is_of_objects(inner);
            return Some(false).filter(|_| is_plain && flags & OBJECTS & !TEXT & !16 == 0);
        }
        if array != Pickled::None {
            return None;
        }
        let sizes = (number(size), number(alignment).is_some_and(|alignment| alignment > 0));
        let size_in_name = size_of_element(kind).and_then(|size| i64::try_from(size).ok());
        let (is_sized, wanted) = match letter {
            Some(b'U') => (sizes == (size_in_name, true), TEXT),
            Some(b'S' | b'a' | b'V') => (sizes == (size_in_name, true), 0),
            Some(b'O') => (sizes == (Some(-1), false), OBJECTS),
            _ => (sizes == (Some(-1), false), 0),
        };
        Some(kind == Type::Objects).filter(|_| is_sized && flags == wanted)
    }

    /// Checks the dictionary `fields` of the record dtype `dtype` after the last instruction, because later instructions may add
    /// fields: each field has a dtype, and a field has Python objects only if the record has the flags of objects.
    pub(super) fn check_fields(&self, dtype: u32, fields: u32) -> Result<(), FormatError> {
        let wrong = || {
            let sentence = "the fields of a NumPy dtype of records are invalid";
            FormatError::violation_at(Rule::TorchCall, sentence, self.node_at(dtype))
        };
        let mut items = self.items(fields);
        while let (Some(_), Some(field)) = (items.next(), items.next()) {
            let Pickled::Tuple(field) = field else { return Err(wrong()) };
            let [Pickled::NumpyDtype(inner), Pickled::Int(_)] = self.first(field) else {
                return Err(wrong());
            };
            if self.is_of_objects(inner) && !self.has(dtype, Fact::HasObjects) {
                return Err(wrong());
            }
        }
        Ok(())
    }

    /// Returns whether the elements of the dtype `node` are Python objects, or records with such a field.
    fn is_of_objects(&self, node: u32) -> bool {
        self.has(node, Fact::HasObjects) || self.numpy_type(node) == Type::Objects
    }

    /// Returns the type of elements of the dtype `node`.
    pub(super) fn numpy_type(&self, node: u32) -> Type {
        if self.has(node, Fact::HasObjects) {
            return Type::Objects;
        }
        let [name, state] = self.first(node);
        let [_, order, array, _, _, size] = match state {
            Pickled::Tuple(state) => self.first(state),
            _ => [Pickled::None; 6],
        };
        let text = |value: Pickled| match value {
            Pickled::Text(at) => {
                self.short(at, LONGEST_NAME).and_then(|text| str::from_utf8(text).ok())
            }
            _ => None,
        };
        let Some(name) = text(name) else {
            // The dtype of records is named by a class, which does not give the size of a record, so the size is taken
            // from the state.
            return self.count(size).map_or(Type::Unknown, Type::Opaque);
        };
        // A dtype whose elements are arrays of another dtype has the name `V` with the size of an element. If a dtype of
        // arrays has another name, its type is unknown.
        if array != Pickled::None && !name.starts_with('V') {
            return Type::Unknown;
        }
        let order = text(order).filter(|order| *order != "=").unwrap_or_default();
        // The name is short enough for the stack. An allocation on the heap could fail, and since this function returns no
        // error, a known dtype would then be taken for an unknown one.
        let mut spelled = [0; 1 + LONGEST_NAME];
        for (place, byte) in spelled.iter_mut().zip(order.bytes().chain(name.bytes())) {
            *place = byte;
        }
        let spelled = spelled.get(..order.len().saturating_add(name.len())).unwrap_or_default();
        Type::parse(str::from_utf8(spelled).unwrap_or_default())
    }

    /// Returns the name of the dtype `node`, for listings.
    pub(super) fn numpy_name(&self, node: u32) -> &'p str {
        let [name] = self.first(node);
        match name {
            Pickled::Text(at) => {
                let name = self.short(at, LONGEST_NAME).unwrap_or_default();
                str::from_utf8(name).unwrap_or_default()
            }
            _ => "record",
        }
    }

    /// Returns the number of bytes that `value` holds; `None` if `value` is not bytes.
    pub(super) fn byte_length(&mut self, value: Pickled) -> Result<Option<u64>, FormatError> {
        let value = match value {
            Pickled::ByteArray(node) if self.length(node) == 0 => return Ok(Some(0)),
            Pickled::ByteArray(node) => self.first::<1>(node)[0],
            value => value,
        };
        Ok(match value {
            Pickled::Bytes(at) => Some(self.operand_length(at)),
            Pickled::Latin1(at) => self.latin_1_length(at)?,
            _ => None,
        })
    }

    /// Returns the number of bytes that the text at position `at` spells in Latin-1; `None` if the text has a character that
    /// Latin-1 does not have. The bytes of the text are charged to the memory of the pickle, because a pickle can refer to one
    /// long text many times, in a few bytes each.
    pub(super) fn latin_1_length(&mut self, at: u32) -> Result<Option<u64>, FormatError> {
        let text = self.text(at)?;
        self.charge(text.len())?;
        let mut length = 0_u64;
        for character in text.chars() {
            if u32::from(character) > 0xff {
                return Ok(None);
            }
            length = length.saturating_add(1);
        }
        Ok(Some(length))
    }

    /// Returns the value of the NumPy scalar `node`, or `None` if the scalar is neither a bool nor a real number of at most 64
    /// bits.
    pub(super) fn number(&self, node: u32) -> Option<ScalarValue> {
        let [Pickled::NumpyDtype(dtype), content] = self.first(node) else { return None };
        let Type::Known(Number { storage, logical: None, is_big }) = self.numpy_type(dtype) else {
            return None;
        };
        let content = match content {
            Pickled::ByteArray(node) => self.first::<1>(node)[0],
            content => content,
        };
        let (mut bytes, mut length) = ([0_u8; LONGEST_SCALAR], 0_usize);
        let mut add = |byte: u8| {
            if let Some(place) = bytes.get_mut(length) {
                *place = byte;
            }
            length = length.saturating_add(1);
        };
        match content {
            Pickled::Bytes(at) => {
                self.short(at, LONGEST_SCALAR)?.iter().copied().for_each(&mut add);
            }
            // The pickle stores the bytes of the NumPy scalar as a text in UTF-8, with one character from 0 to 255 for each byte.
            // Characters above 127 take two bytes in UTF-8, so the text is at most twice as long as the scalar.
            Pickled::Latin1(at) => {
                let text =
                    str::from_utf8(self.short(at, LONGEST_SCALAR.saturating_mul(2))?).ok()?;
                text.chars().filter_map(|one| u8::try_from(u32::from(one)).ok()).for_each(&mut add);
            }
            _ => return None,
        }
        if u64_from_usize(length) != u64::from(storage.width()) {
            return None;
        }
        if is_big {
            bytes.get_mut(..length)?.reverse();
        }
        Some(decoded(storage, bytes))
    }
}

/// Returns the little-endian number of type `storage` at the start of `bytes`.
fn decoded(storage: StorageType, bytes: [u8; LONGEST_SCALAR]) -> ScalarValue {
    let [b0, b1, b2, b3, ..] = bytes;
    match storage {
        StorageType::Bool => ScalarValue::Bool(b0 != 0),
        StorageType::I8 => ScalarValue::Int(i8::from_le_bytes([b0]).into()),
        StorageType::I16 => ScalarValue::Int(i16::from_le_bytes([b0, b1]).into()),
        StorageType::I32 => ScalarValue::Int(i32::from_le_bytes([b0, b1, b2, b3]).into()),
        StorageType::I64 => ScalarValue::Int(i64::from_le_bytes(bytes)),
        StorageType::F16 => ScalarValue::Float(half::f16::from_le_bytes([b0, b1]).into()),
        StorageType::Bf16 => ScalarValue::Float(half::bf16::from_le_bytes([b0, b1]).into()),
        StorageType::F32 => ScalarValue::Float(f32::from_le_bytes([b0, b1, b2, b3]).into()),
        StorageType::F64 => ScalarValue::Float(f64::from_le_bytes(bytes)),
        // The other types are unsigned integers of at most eight bytes. The bytes beyond the width of the type are zero.
        _ => ScalarValue::Unsigned(u64::from_le_bytes(bytes)),
    }
}

//! The values of a pickle, in an arena: each container is a node with a linked list of cells for its items. Scalars stay in the
//! bytes of the pickle, and a value has the position of its instruction. So no function recurses, an object with several
//! references is stored once, and memory follows from the number of instructions.
//!
//! The module `machine` fills the arena.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::cell::Cell as Counter;

use crate::formats::error::FormatError;
use crate::formats::limits::check_rank;
use crate::formats::rules::Rule;
use crate::limits::Limits;
use crate::num::{len_u32, u64_from_usize, usize_from_u32};
use crate::rules::Limit;

use super::globals::{BYTES, Dtype, Global, Known};
use super::opcodes::{self, Operand};
use super::storages::LazyView;

/// A value that a pickle makes. The number in a scalar is the position of its instruction in the pickle, in bytes. The number in a
/// container is the index of its node in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pickled {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer.
    Int(u32),
    /// A floating-point number of 64 bits.
    Float(u32),
    /// A text.
    Text(u32),
    /// Bytes, or a `bytearray` that the opcode BYTEARRAY8 makes, which is mutable.
    Bytes(u32),
    /// Bytes that a text spells in Latin-1, as Python 3 writes bytes in pickles of protocol 2. The number is the position of the
    /// text.
    Latin1(u32),
    /// A `bytearray` that a call makes, or empty `bytes` that a call makes, which has [`Fact::IsFrozen`]. The item of its node
    /// is the value of its bytes; a node without items has no bytes.
    ByteArray(u32),
    /// A global that zten knows: a class, function or constant of a Python module.
    Global(Global),
    /// A global that zten does not know, in a pickle whose unknown globals are tolerated. The items of its node are the texts of
    /// the module and the name; a node without items belongs to the instruction GLOBAL, which holds both.
    Foreign(u32),
    /// A tuple.
    Tuple(u32),
    /// A list.
    List(u32),
    /// A set or a `frozenset`.
    Set(u32),
    /// A dictionary.
    Dict(u32),
    /// An ordered dictionary.
    Ordered(u32),
    /// An object that has attributes and nothing else. The items of its node are names and values.
    Namespace(u32),
    /// A storage. The items of its node are the class, the key, the number of elements and the device.
    Storage(u32),
    /// A tensor. The items of its node are the storage, the offset, the shape, the strides, the dtype, and the metadata. The
    /// dtype is [`Pickled::None`] if the tensor has the dtype of its storage. The metadata, a dictionary or [`Pickled::None`], says
    /// whether the elements are conjugated or negated.
    Tensor(u32),
    /// A device. The items of its node are the kind and the number.
    Device(u32),
    /// The layout of a sparse tensor.
    Layout(TensorLayout),
    /// A sparse tensor. The items of its node are the layout, the tensors of indices, the tensor of values, and the shape.
    Sparse(u32),
    /// A tensor of a kind that zten does not read. The items of its node are the function that makes the tensor and the shape,
    /// which is [`Pickled::None`] if the pickle does not give the shape.
    UnreadTensor(u32),
    /// An array of NumPy. The items of its node are the shape, the dtype, whether the order is column-major, and the bytes or the
    /// list of objects. A node without items is an array that no state has filled.
    Array(u32),
    /// A dtype of NumPy. The items of its node are the name, and the state if the dtype has one.
    NumpyDtype(u32),
    /// A scalar of NumPy. The items of its node are the dtype and the bytes.
    Scalar(u32),
    /// An object of another class. The items of its node are the class, a tuple of arguments, lists and dictionaries of the items
    /// that instructions added to the object, and its state.
    Object(u32),
    /// A mark: the start of the items of a container. It occurs only on the stack.
    Mark,
}

/// The layout of a sparse tensor, as PyTorch names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TensorLayout {
    /// Coordinates and values.
    Coo,
    /// Compressed rows.
    Csr,
    /// Compressed columns, blocks of compressed rows or columns, or another layout.
    Other,
}

/// A container, such as a list, a tensor or an object, whose items are a linked list of [`Cell`]s.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// The index in the arena of the first cell; [`END`] if the container is empty.
    first: u32,
    /// The index in the arena of the last cell; [`END`] if the container is empty.
    last: u32,
    /// The number of cells in the linked list. Each cell holds one item.
    length: u32,
    /// The position in the pickle of the instruction that makes the container.
    at: u32,
    /// The bits of the [`Fact`]s that are true of the container.
    facts: u16,
}

/// A fact about a container. Facts about the items are updated as items are added: if each instruction that refers to a
/// container visited its items instead, the work would be quadratic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    /// The container has an item that is not a 64-bit integer. A bool is not an integer here.
    HasOtherThanInts,
    /// The container has an item that is not a scalar.
    HasOtherThanScalars,
    /// The container has keys and values: a dictionary, an ordered dictionary or a namespace.
    IsMap,
    /// The container is a tensor.
    IsTensor,
    /// The container is a storage.
    IsStorage,
    /// The container is the state of a parameter, which is checked and dropped.
    IsState,
    /// The container is, or lies within, the versions of modules, which are checked and dropped.
    IsMetadata,
    /// The container holds hooks of a tensor, functions that PyTorch calls for gradients. They are left out.
    IsHooks,
    /// The container holds a mutable value. Python cannot hash a tuple with such an item.
    HasMutable,
    /// The container is a `frozenset`, which Python can hash.
    IsFrozen,
    /// The container holds the items that instructions added to an object, as to a list or a dictionary.
    IsItems,
    /// The container is a global that zten does not know.
    IsForeign,
    /// The container is the metadata of a tensor, a dictionary: its flags `conj` and `neg` say whether a reader has to conjugate or
    /// negate the elements.
    IsTensorMetadata,
    /// The container is a NumPy dtype whose elements are Python objects.
    HasObjects,
}

impl Node {
    /// Returns whether `fact` is true of this container.
    fn has(&self, fact: Fact) -> bool {
        self.facts & fact.bit() != 0
    }
}

impl Fact {
    /// Returns the bit of this fact in [`Node::facts`].
    const fn bit(self) -> u16 {
        match self {
            Self::HasOtherThanInts => 1,
            Self::HasOtherThanScalars => 2,
            Self::IsMap => 4,
            Self::IsTensor => 8,
            Self::IsStorage => 16,
            Self::IsState => 32,
            Self::IsMetadata => 64,
            Self::IsHooks => 128,
            Self::HasMutable => 256,
            Self::IsFrozen => 512,
            Self::IsItems => 1024,
            Self::IsForeign => 2048,
            Self::IsTensorMetadata => 4096,
            Self::HasObjects => 8192,
        }
    }
}

/// An item of a container, and the index in the arena of the next cell of the same container.
#[derive(Clone, Copy, Debug)]
struct Cell {
    value: Pickled,
    next: u32,
}

/// The value of [`Cell::next`] in the last cell of a container, and of [`Node::first`] and [`Node::last`] in an empty container.
const END: u32 = u32::MAX;

/// The length in bytes of the longest line that is parsed as a number.
const LONGEST_NUMBER: usize = 64;
/// The largest number of decimal digits of an integer. Python does not read an integer with more digits by default, because the
/// time of the conversion is quadratic.
const LONGEST_DECIMAL: usize = 4300;
/// The length in bytes of the longest text that is compared with known names.
pub(super) const LONGEST_NAME: usize = 64;
/// The largest number of bytes of memory that the arena may take for each byte of the pickle. The names and attributes that
/// are derived from the arena may take the same number again. Pickles of tensors need a quarter of this number.
const FACTOR: u64 = 32;
/// The number of bytes that the arena of every pickle may take beyond [`FACTOR`], so that a short pickle is not rejected.
const SLACK: u64 = 16 << 10;

/// Returns the number of bytes of memory that the arena of a pickle of `bytes` bytes may take, at most the limit `manifest`.
pub(super) fn allowance(bytes: usize, limits: &Limits) -> u64 {
    let most = u64_from_usize(bytes).saturating_mul(FACTOR).saturating_add(SLACK);
    most.min(limits.manifest())
}

/// The numbers of hooks, states and attributes in a pickle that zten drops, because it cannot represent them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dropped {
    /// The number of tensors and parameters whose hooks are dropped: functions that run when gradients are computed.
    pub(super) hooks: u64,
    /// The number of states of tensors and parameters that are dropped: attributes that a program has set.
    pub(super) states: u64,
    /// The number of dictionaries whose attributes are dropped, and of keys and values in the versions of modules that are dropped.
    pub(super) attributes: u64,
}

impl Dropped {
    /// Adds one to the number of tensors whose hooks are dropped.
    pub(super) fn add_hooks(&mut self) {
        self.hooks = self.hooks.saturating_add(1);
    }

    /// Adds one to the number of states that are dropped.
    pub(super) fn add_state(&mut self) {
        self.states = self.states.saturating_add(1);
    }

    /// Adds one to [`attributes`](Self::attributes).
    pub(super) fn add_attributes(&mut self) {
        self.attributes = self.attributes.saturating_add(1);
    }
}

/// A construct of a pickle that PyTorch does not know when it loads with `weights_only=True`, but zten reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct BeyondTorch {
    /// The offset in the file of the instruction that contains or makes the construct.
    pub(super) at: u64,
    pub(super) what: Unknown,
}

/// The kind of a construct that PyTorch does not know when it loads with `weights_only=True`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unknown {
    /// An instruction of the pickle. The field is its name.
    Instruction(&'static str),
    /// A class or function that the pickle imports.
    Import(Known),
    /// A storage without a type in a stream. PyTorch writes such streams for dtypes without a storage class, such as `uint16`, and
    /// does not read them.
    UntypedStorage,
    /// A device that PyTorch knows only with an extension package.
    Device,
}

/// A pickle and the values that it makes. The containers are kept in an arena: `nodes`, and `cells` for their items.
#[derive(Debug)]
pub(super) struct Pickle<'p> {
    pub(super) bytes: &'p [u8],
    /// The offset of the pickle in the file.
    base: u64,
    nodes: Vec<Node>,
    cells: Vec<Cell>,
    /// The number of bytes that the arena may still take.
    pub(super) room: u64,
    /// The nodes of deques with a maximum length, each with the largest number of items that it may have after the last
    /// instruction.
    pub(super) bounds: Vec<(u32, u64)>,
    /// The nodes of NumPy dtypes of records, each with the node of the dictionary of its fields.
    pub(super) records: Vec<(u32, u32)>,
    /// The numbers of hooks, states and attributes that were dropped, because zten cannot represent them.
    pub(super) dropped: Dropped,
    /// The first instruction or import that PyTorch does not know when it loads with `weights_only=True`.
    pub(super) beyond_torch: Option<BeyondTorch>,
    /// The amount of work: the number of instructions, items and bytes of operands that were visited.
    steps: &'p Counter<u64>,
}

impl<'p> Pickle<'p> {
    /// Creates an empty arena for the pickle `bytes`, which begins at offset `base` of the file. The arena may take `room` bytes.
    /// `steps` counts the instructions, items of containers and bytes of operands that are visited.
    pub(super) fn new(bytes: &'p [u8], base: u64, room: u64, steps: &'p Counter<u64>) -> Self {
        let (nodes, cells) = (Vec::new(), Vec::new());
        let (dropped, beyond_torch) = (Dropped::default(), None);
        let (bounds, records) = (Vec::new(), Vec::new());
        Self { bytes, base, nodes, cells, room, bounds, records, dropped, beyond_torch, steps }
    }

    /// Returns the module and the name of the global `node` that zten does not know.
    pub(super) fn foreign_name(&self, node: u32) -> (&'p [u8], &'p [u8]) {
        if let [Pickled::Text(module), Pickled::Text(name)] = self.first(node) {
            return (self.operand(module), self.operand(name));
        }
        let mut lines = self.operand(self.position(node)).split(|byte| *byte == b'\n');
        (lines.next().unwrap_or_default(), lines.next().unwrap_or_default())
    }

    /// Returns the value of the last cell of the container `node`, or `None` if the container is empty.
    pub(super) fn last(&self, node: u32) -> Option<Pickled> {
        let last = self.node(node)?.last;
        self.cells.get(usize_from_u32(last)).map(|cell| cell.value)
    }

    /// Returns the items of the container `node`.
    pub(super) fn items(&self, node: u32) -> Items<'_> {
        self.resume(self.node(node).map_or(END, |node| node.first))
    }

    /// Adds `count` to the amount of work: instructions, items or bytes that are visited.
    pub(super) fn count_steps(&self, count: usize) {
        self.steps.set(self.steps.get().saturating_add(u64_from_usize(count)));
    }

    /// Returns whether `fact` is true of the container `node`.
    pub(super) fn has(&self, node: u32, fact: Fact) -> bool {
        self.node(node).is_some_and(|node| node.has(fact))
    }

    /// Makes `fact` true of the container `node`.
    pub(super) fn note(&mut self, node: u32, fact: Fact) {
        if let Some(node) = self.nodes.get_mut(usize_from_u32(node)) {
            node.facts |= fact.bit();
        }
    }

    /// Returns whether every item of the container `node` is a scalar.
    pub(super) fn is_flat(&self, node: u32) -> bool {
        !self.has(node, Fact::HasOtherThanScalars)
    }

    /// Returns the nodes of all containers that have the fact `fact`, in the order in which the pickle makes them.
    pub(super) fn nodes_with(&self, fact: Fact) -> impl Iterator<Item = u32> {
        let all = self.nodes.iter().zip(0..);
        all.filter(move |(node, _)| node.has(fact)).map(|(_, ordinal)| ordinal)
    }

    /// Returns the nodes of all tensors that the pickle makes, even of tensors to which no dictionary refers.
    pub(super) fn tensors(&self) -> impl Iterator<Item = u32> {
        self.nodes_with(Fact::IsTensor)
    }

    /// Returns the nodes of all references to storages.
    pub(super) fn storages(&self) -> impl Iterator<Item = u32> {
        self.nodes_with(Fact::IsStorage)
    }

    /// Returns the nodes of all dictionaries that the pickle makes.
    pub(super) fn maps(&self) -> impl Iterator<Item = u32> {
        self.nodes_with(Fact::IsMap)
    }

    /// Returns the number of items of the container `node`.
    pub(super) fn length(&self, node: u32) -> u32 {
        self.node(node).map_or(0, |node| node.length)
    }

    /// Returns the first `N` items of the container `node`, with [`Pickled::None`] in place of missing items.
    pub(super) fn first<const N: usize>(&self, node: u32) -> [Pickled; N] {
        let mut items = self.items(node);
        [Pickled::None; N].map(|none| items.next().unwrap_or(none))
    }

    /// Returns the offset in the file of the instruction that makes the container `node`.
    pub(super) fn node_at(&self, node: u32) -> u64 {
        self.byte(self.position(node))
    }

    /// Returns the offset, counted from the start of the pickle, of the instruction that makes the node number `node`.
    pub(super) fn position(&self, node: u32) -> u32 {
        self.node(node).map_or(0, |node| node.at)
    }

    fn node(&self, node: u32) -> Option<&Node> {
        self.nodes.get(usize_from_u32(node))
    }

    /// Returns the number of bytes that the names and attributes of this pickle may take.
    pub(super) fn allowance(&self, limits: &Limits) -> u64 {
        allowance(self.bytes.len(), limits)
    }

    /// Returns the offset in the file of the instruction at position `at`.
    pub(super) fn byte(&self, at: u32) -> u64 {
        self.base.saturating_add(at.into())
    }

    /// Returns the operand of the instruction at position `at`.
    fn operand(&self, at: u32) -> &'p [u8] {
        let rest = self.bytes.get(usize_from_u32(at)..).and_then(<[u8]>::split_first);
        let operand = rest.and_then(|(byte, rest)| {
            opcodes::find(*byte).and_then(|row| row.operand.split(rest)).map(|(operand, _)| operand)
        });
        operand.unwrap_or_default()
    }

    /// Returns the bytes of the text in the instruction at offset `at` of the pickle, and charges them to the memory that the
    /// pickle may take, because a pickle can refer to one long text many times, in a few bytes each. Fails if the pickle may not
    /// take that much more memory.
    pub(super) fn charged(&mut self, at: u32) -> Result<&'p [u8], FormatError> {
        let bytes = self.bytes(at);
        self.charge(bytes.len())?;
        Ok(bytes)
    }

    /// Returns the number of bytes of the text or bytes object at position `at`.
    pub(super) fn operand_length(&self, at: u32) -> u64 {
        u64_from_usize(self.operand(at).len())
    }

    /// Returns the offset in the file and the length in bytes of the text or bytes object that the instruction at position
    /// `at` holds.
    pub(super) fn extent(&self, at: u32) -> (u64, u64) {
        let rest = self.bytes.get(usize_from_u32(at)..).and_then(<[u8]>::split_first);
        let row = rest.and_then(|(byte, rest)| Some((opcodes::find(*byte)?, rest)));
        let split = row.and_then(|(row, rest)| row.operand.split(rest));
        let (operand, after) = split.unwrap_or_default();
        let end = self.bytes.len().saturating_sub(after.len());
        let start = u64_from_usize(end.saturating_sub(operand.len()));
        (self.base.saturating_add(start), u64_from_usize(operand.len()))
    }

    /// Returns the number of bytes that the text at position `at` spells in Latin-1. The machine has checked that Latin-1 has all
    /// characters of the text.
    pub(super) fn latin_1_size(&self, at: u32) -> u64 {
        // Each character of two bytes has one byte that continues it.
        let is_start = |byte: &&u8| **byte & 0xc0 != 0x80;
        u64_from_usize(self.bytes(at).iter().filter(is_start).count())
    }

    /// Returns the items of the tuple `shape` as dimensions or strides. Errors give the offset `at`, at which the
    /// description of the tensor begins in the file.
    pub(super) fn dimensions(
        &self,
        shape: u32,
        (limits, at): (&Limits, u64),
    ) -> Result<Vec<u64>, FormatError> {
        let rank = usize_from_u32(self.length(shape));
        check_rank(rank, limits, "the shape").map_err(|error| error.or_at(at))?;
        let mut dimensions = Vec::new();
        dimensions.try_reserve_exact(rank).map_err(|_| FormatError::memory())?;
        for value in self.items(shape).take(rank) {
            let wrong = || {
                let sentence =
                    "a dimension or stride of the tensor is negative, or needs more than 64 bits";
                FormatError::violation_at(Rule::TorchTensor, sentence, at)
            };
            dimensions.push(self.count(value).ok_or_else(wrong)?);
        }
        Ok(dimensions)
    }

    /// Returns whether hooks, states or attributes were dropped, because zten cannot represent them.
    pub(super) fn has_dropped(&self) -> bool {
        self.dropped != Dropped::default()
    }

    /// Returns the dtype of the elements of the tensor `node`.
    pub(super) fn tensor_dtype(&self, node: u32) -> Result<Dtype, FormatError> {
        let [storage, _, _, _, dtype] = self.first(node);
        match (dtype, storage) {
            (Pickled::Global(Global::Dtype(dtype)), _) => Ok(dtype),
            (_, Pickled::Storage(storage)) => Ok(self.storage_dtype(storage)),
            _ => Err(FormatError::internal("the node of a tensor does not refer to a storage")),
        }
    }

    /// Returns how PyTorch changes the stored elements of a tensor with the given `metadata` when it reads them: whether it
    /// conjugates and whether it negates them. Returns `None` if it does neither.
    pub(super) fn view(&self, metadata: Pickled) -> Option<LazyView> {
        let Pickled::Dict(node) = metadata else { return None };
        let mut view = LazyView { is_conjugated: false, is_negated: false };
        let mut items = self.items(node);
        while let (Some(key), Some(_)) = (items.next(), items.next()) {
            let Pickled::Text(at) = key else { continue };
            // PyTorch asks whether a key is there, and not what its value is.
            match self.short(at, LONGEST_NAME) {
                Some(b"conj") => view.is_conjugated = true,
                Some(b"neg") => view.is_negated = true,
                _ => {}
            }
        }
        (view.is_conjugated || view.is_negated).then_some(view)
    }

    /// Returns the bytes of the text or bytes object at position `at`, and counts the bytes as work.
    pub(super) fn bytes(&self, at: u32) -> &'p [u8] {
        let bytes = self.operand(at);
        self.count_steps(bytes.len());
        bytes
    }

    /// Returns the bytes of the text at position `at`, or `None` if the text is longer than `most` bytes. A long text is not
    /// visited, so many references to it cost no time.
    pub(super) fn short(&self, at: u32, most: usize) -> Option<&'p [u8]> {
        let bytes = self.operand(at);
        (bytes.len() <= most).then_some(bytes)
    }

    /// Returns the text at position `at`.
    ///
    /// # Errors
    /// The text is not UTF-8.
    pub(super) fn text(&self, at: u32) -> Result<&'p str, FormatError> {
        str::from_utf8(self.bytes(at)).map_err(|_| {
            FormatError::violation_at(Rule::TorchPickle, "a text is not UTF-8", self.byte(at))
        })
    }

    /// Returns the integer at position `at`, or `None` if the integer does not fit into 64 bits.
    pub(super) fn int(&self, at: u32) -> Option<i64> {
        if let Some(line) = self.integer_line(at) {
            // An integer that begins with a longer line has more than 64 bits, because the machine accepts no leading zeros. So no
            // more bytes are read.
            let start = line.get(..LONGEST_NUMBER.min(line.len())).unwrap_or_default();
            let end = start.iter().position(|byte| b"L\n".contains(byte))?;
            return decimal(start.get(..end)?)?.value();
        }
        let (operand, is_negative) = self.binary_integer(at);
        let mut bytes = if is_negative { [0xff; 8] } else { [0; 8] };
        bytes.get_mut(..operand.len())?.copy_from_slice(operand);
        let number = i64::from_le_bytes(bytes);
        (number.is_negative() == is_negative).then_some(number)
    }

    /// Returns the bytes of the pickle after the opcode at position `at` if the opcode is INT or LONG, whose operand is a line of
    /// decimal digits. Returns `None` for an opcode with a binary operand.
    fn integer_line(&self, at: u32) -> Option<&'p [u8]> {
        let (op, rest) = self.bytes.get(usize_from_u32(at)..)?.split_first()?;
        b"IL".contains(op).then_some(rest)
    }

    /// Returns the binary operand of the integer at position `at` in little-endian two's complement, without bytes at its end that
    /// only repeat the sign, and whether the integer is negative. Python reads an operand with repeated signs as the same integer.
    fn binary_integer(&self, at: u32) -> (&'p [u8], bool) {
        let op = self.bytes.get(usize_from_u32(at)).copied().unwrap_or_default();
        let operand = self.operand(at);
        let is_signed = b"J\x8a\x8b".contains(&op);
        let is_negative = is_signed && operand.last().is_some_and(|last| *last >= 0x80);
        let sign = if is_negative { 0xff } else { 0 };
        let length =
            operand.iter().rposition(|byte| *byte != sign).map_or(0, |last| last.saturating_add(1));
        (operand.get(..length).unwrap_or_default(), is_negative)
    }

    /// Returns the integer at position `at`, which does not fit into 64 bits, in a form in which equal integers are equal.
    pub(super) fn large_integer(&self, at: u32) -> Result<LargeInteger<'p>, FormatError> {
        if self.integer_line(at).is_none() {
            let (bytes, is_negative) = self.binary_integer(at);
            self.count_steps(bytes.len());
            return Ok(LargeInteger { is_negative, bytes: Cow::Borrowed(bytes) });
        }
        let line = self.operand(at).split(|byte| b"L\n".contains(byte)).next();
        let digits = line.and_then(decimal);
        let digits =
            digits.ok_or_else(|| FormatError::internal("an integer of a pickle is invalid"))?;
        self.count_steps(decimal_work(digits.digits.len()));
        LargeInteger::of_decimal(digits)
    }

    /// Charges the work on the integer, text or bytes object at position `at` to the memory of the pickle if its operand is longer
    /// than [`LONGEST_NUMBER`] bytes, because a pickle can refer to one long value many times, in a few bytes each. The work is the
    /// length in bytes, and for a line of decimal digits the work of converting it.
    fn charge_long(&mut self, at: u32) -> Result<(), FormatError> {
        match self.operand(at).len() {
            ..=LONGEST_NUMBER => Ok(()),
            length if self.integer_line(at).is_some() => self.charge(decimal_work(length)),
            length => self.charge(length),
        }
    }

    /// Returns `value` as an unsigned integer, or `None` if `value` is negative, too large, or not an integer.
    pub(super) fn count(&self, value: Pickled) -> Option<u64> {
        match value {
            Pickled::Int(at) => u64::try_from(self.int(at)?).ok(),
            _ => None,
        }
    }

    /// Returns whether `value` is a scalar that can be an attribute.
    pub(super) fn is_scalar(&self, value: Pickled) -> bool {
        match value {
            Pickled::Int(at) => self.int(at).is_some(),
            Pickled::None
            | Pickled::Bool(_)
            | Pickled::Float(_)
            | Pickled::Text(_)
            | Pickled::Bytes(_)
            | Pickled::Latin1(_)
            | Pickled::ByteArray(_) => true,
            Pickled::Scalar(node) => self.number(node).is_some(),
            value => {
                matches!(value, Pickled::Device(_) | Pickled::Global(Global::Dtype(_)))
            }
        }
    }

    /// Returns the floating-point number at position `at`, in the operand of the opcode BINFLOAT.
    pub(super) fn float(&self, at: u32) -> f64 {
        f64::from_be_bytes(self.operand(at).first_chunk().copied().unwrap_or_default())
    }

    /// Records that the container `node` must have at most `most` items after the last instruction.
    /// [`check_dropped`](Self::check_dropped) checks this.
    pub(super) fn bound(&mut self, node: u32, most: u64) -> Result<(), FormatError> {
        Self::push(&mut self.room, &mut self.bounds, (node, most)).map(drop)
    }

    /// Records that the NumPy dtype `dtype` has the dictionary of fields `fields`. [`check_dropped`](Self::check_dropped)
    /// checks the fields after the last instruction.
    pub(super) fn add_fields(&mut self, dtype: u32, fields: u32) -> Result<(), FormatError> {
        Self::push(&mut self.room, &mut self.records, (dtype, fields)).map(drop)
    }

    /// Charges `bytes` bytes to the memory that the pickle may take. Callers charge the work on a long value each time that an
    /// instruction refers to the value. Without the charge, a short pickle could repeat the work without limit.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), FormatError> {
        self.room = self.room.checked_sub(u64_from_usize(bytes)).ok_or_else(too_large)?;
        Ok(())
    }

    /// Appends `item` to `list`, subtracts the size of `item` from `room`, and returns its position in `list`.
    pub(super) fn push<T>(room: &mut u64, list: &mut Vec<T>, item: T) -> Result<u32, FormatError> {
        *room = room.checked_sub(u64_from_usize(size_of::<T>())).ok_or_else(too_large)?;
        let place = len_u32(list.len());
        list.try_reserve(1).map_err(|_| FormatError::memory())?;
        list.push(item);
        Ok(place)
    }

    /// Creates an empty container, and returns its node. The instruction at position `at` makes the container.
    pub(super) fn container(&mut self, at: u32) -> Result<u32, FormatError> {
        let node = Node { first: END, last: END, length: 0, at, facts: 0 };
        Self::push(&mut self.room, &mut self.nodes, node)
    }

    /// Creates an empty container that has the fact `fact`, and returns its node. The instruction at position `at` makes the
    /// container.
    pub(super) fn container_of(&mut self, at: u32, fact: Fact) -> Result<u32, FormatError> {
        let node = Node { first: END, last: END, length: 0, at, facts: fact.bit() };
        Self::push(&mut self.room, &mut self.nodes, node)
    }

    /// Returns the bits of the facts that a container gets when `item` is added to it.
    fn facts_of(&self, item: Pickled) -> u16 {
        let mutable = if self.is_mutable(item) { Fact::HasMutable.bit() } else { 0 };
        match item {
            // `torch.Size` converts bools to integers, and this machine does not. A bool counts as another item, so that
            // `torch.Size` rejects it.
            Pickled::Bool(_) => Fact::HasOtherThanInts.bit(),
            Pickled::Int(at) if self.int(at).is_some() => 0,
            item if self.is_scalar(item) => Fact::HasOtherThanInts.bit() | mutable,
            _ => Fact::HasOtherThanInts.bit() | Fact::HasOtherThanScalars.bit() | mutable,
        }
    }

    /// Returns whether Python cannot hash `value`: a mutable value, or a tuple with a mutable value in it.
    pub(super) fn is_mutable(&self, value: Pickled) -> bool {
        match value {
            Pickled::List(_)
            | Pickled::Dict(_)
            | Pickled::Ordered(_)
            | Pickled::Namespace(_)
            | Pickled::Array(_) => true,
            Pickled::Set(node) | Pickled::ByteArray(node) => !self.has(node, Fact::IsFrozen),
            Pickled::Bytes(at) => self.is_bytearray(at),
            Pickled::Tuple(node) => self.has(node, Fact::HasMutable),
            _ => false,
        }
    }

    /// Appends `values` to the items of the container `node`.
    pub(super) fn extend(&mut self, node: u32, values: &[Pickled]) -> Result<(), FormatError> {
        for value in values {
            let is_key = self
                .node(node)
                .is_some_and(|node| node.has(Fact::IsMap) && node.length.is_multiple_of(2));
            match *value {
                Pickled::Int(at) => self.charge_long(at)?,
                Pickled::Text(at) | Pickled::Bytes(at) | Pickled::Latin1(at) if is_key => {
                    self.charge_long(at)?;
                }
                _ => {}
            }
            let cell = Cell { value: *value, next: END };
            let place = Self::push(&mut self.room, &mut self.cells, cell)?;
            let facts = self.facts_of(*value);
            self.count_steps(1);
            let missing = || FormatError::internal("a container of a pickle has no node");
            let node = self.nodes.get_mut(usize_from_u32(node)).ok_or_else(missing)?;
            match self.cells.get_mut(usize_from_u32(node.last)) {
                Some(last) => last.next = place,
                None => node.first = place,
            }
            node.last = place;
            node.facts |= facts;
            node.length = node.length.saturating_add(1);
        }
        Ok(())
    }
}

/// Returns the error for a pickle whose values take too much memory.
fn too_large() -> FormatError {
    let sentence = "the values of the pickle take more memory than the limit allows";
    FormatError::violation(Limit::Manifest, sentence)
}

/// An iterator over the items of a container.
#[derive(Clone, Debug)]
pub(super) struct Items<'c> {
    cells: &'c [Cell],
    next: u32,
    steps: &'c Counter<u64>,
}

impl Items<'_> {
    /// Returns the position of the next cell, for [`Pickle::resume`].
    pub(super) fn place(&self) -> u32 {
        self.next
    }
}

impl Pickle<'_> {
    /// Returns an iterator over the items from the cell `next` on. This lets a caller change the arena between two items.
    pub(super) fn resume(&self, next: u32) -> Items<'_> {
        Items { cells: &self.cells, next, steps: self.steps }
    }
}

impl Iterator for Items<'_> {
    type Item = Pickled;

    fn next(&mut self) -> Option<Pickled> {
        let cell = self.cells.get(usize_from_u32(self.next))?;
        self.steps.set(self.steps.get().saturating_add(1));
        self.next = cell.next;
        Some(cell.value)
    }
}

/// A storage, as a persistent id describes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Storage<'p> {
    pub(super) dtype: Dtype,
    /// Whether the class of the storage has a dtype. Any tensor may use the bytes of an untyped storage.
    pub(super) is_typed: bool,
    /// The key of the storage. In an archive, the member `data/KEY` holds its bytes; in a stream, the last pickle lists the keys.
    pub(super) key: &'p str,
    /// The name of the device on which the storage was.
    pub(super) device: &'p [u8],
    /// The number of elements; `None` if the number is negative or exceeds 64 bits.
    pub(super) length: Option<u64>,
    /// The part of the storage to which the persistent id refers, in a stream of PyTorch before 1.6; `None` for the whole
    /// storage.
    pub(super) part: Option<StoragePart<'p>>,
}

/// A part of a storage, which has a key of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StoragePart<'p> {
    pub(super) key: &'p str,
    /// The offset of the part in elements; `None` if the number is negative or exceeds 64 bits.
    pub(super) offset: Option<u64>,
    /// The number of elements of the part; `None` if the number is negative or exceeds 64 bits.
    pub(super) length: Option<u64>,
}

impl<'p> Pickle<'p> {
    /// Returns the storage that `node` describes.
    pub(super) fn storage(&self, node: u32) -> Result<Storage<'p>, FormatError> {
        let [class, key, length, device, part] = self.first(node);
        let (Pickled::Text(key), Pickled::Text(device)) = (key, device) else {
            return Err(FormatError::internal("the node of a storage lacks its key or device"));
        };
        let part = match part {
            Pickled::Tuple(part) => {
                let [key, offset, length] = self.first(part);
                let Pickled::Text(key) = key else {
                    return Err(FormatError::internal(
                        "the node of a part of a storage lacks its key",
                    ));
                };
                let (offset, length) = (self.count(offset), self.count(length));
                Some(StoragePart { key: self.text(key)?, offset, length })
            }
            _ => None,
        };
        Ok(Storage {
            dtype: self.storage_dtype(node),
            is_typed: matches!(class, Pickled::Global(Global::Storage(_))),
            key: self.text(key)?,
            device: self.bytes(device),
            length: self.count(length),
            part,
        })
    }

    /// Returns the dtype of the elements of the storage `node`: that of its class, or `uint8` if the class has no dtype.
    pub(super) fn storage_dtype(&self, node: u32) -> Dtype {
        match self.first(node) {
            [Pickled::Global(Global::Storage(dtype))] => dtype,
            _ => BYTES,
        }
    }

    /// Returns whether the bytes at position `at` are a `bytearray`, which is mutable.
    pub(super) fn is_bytearray(&self, at: u32) -> bool {
        self.bytes.get(usize_from_u32(at)) == Some(&BYTEARRAY)
    }
}

/// The opcode BYTEARRAY8.
const BYTEARRAY: u8 = 0x96;

/// An integer that does not fit into 64 bits. Two such integers are equal if Python considers them equal.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LargeInteger<'p> {
    is_negative: bool,
    /// The little-endian two's complement without bytes at the end that only repeat the sign.
    bytes: Cow<'p, [u8]>,
}

impl LargeInteger<'_> {
    /// Converts `decimal`, in time proportional to [`decimal_work`].
    fn of_decimal(decimal: Decimal<'_>) -> Result<Self, FormatError> {
        let Decimal { is_negative, digits } = decimal;
        // The absolute value of the integer, in little-endian words.
        let mut words: Vec<u64> = Vec::new();
        let count = digits.len().div_ceil(DIGITS);
        words.try_reserve_exact(count).map_err(|_| FormatError::memory())?;
        for group in digits.chunks(DIGITS) {
            // Multiplies the words by the power of ten that makes room for the group, and adds the group.
            let (mut power, mut carry) = (1_u64, 0_u64);
            for digit in group {
                power = power.saturating_mul(10);
                carry = carry.saturating_mul(10).saturating_add(digit.saturating_sub(b'0').into());
            }
            for word in &mut words {
                // The product of two words and the sum with a third one fit into 128 bits.
                let sum =
                    u128::from(*word).saturating_mul(power.into()).saturating_add(carry.into());
                *word = u64::try_from(sum & u128::from(u64::MAX)).unwrap_or_default();
                carry = u64::try_from(sum >> 64).unwrap_or_default();
            }
            if carry > 0 {
                words.push(carry);
            }
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(count.saturating_mul(8)).map_err(|_| FormatError::memory())?;
        bytes.extend(words.into_iter().flat_map(u64::to_le_bytes));
        Ok(Self::of_magnitude(is_negative, bytes))
    }

    /// Returns the integer `number`, which is at least 2^63.
    pub(super) fn of_u64(number: u64) -> Result<Self, FormatError> {
        let mut bytes = Vec::new();
        bytes.try_reserve(8).map_err(|_| FormatError::memory())?;
        bytes.extend_from_slice(&number.to_le_bytes());
        Ok(Self::of_magnitude(false, bytes))
    }

    /// Returns the integer whose absolute value has the little-endian bytes `bytes`.
    pub(super) fn of_magnitude(is_negative: bool, mut bytes: Vec<u8>) -> Self {
        if is_negative {
            // The two's complement inverts all bits and adds 1.
            let mut carries = true;
            for byte in &mut bytes {
                (*byte, carries) = (!*byte).overflowing_add(carries.into());
            }
        }
        let sign = if is_negative { 0xff } else { 0 };
        while bytes.last() == Some(&sign) {
            bytes.pop();
        }
        Self { is_negative, bytes: Cow::Owned(bytes) }
    }
}

/// A decimal integer of any size.
#[derive(Clone, Copy)]
pub(super) struct Decimal<'p> {
    is_negative: bool,
    /// The digits of the absolute value. The first digit is 0 only if it is the only one.
    digits: &'p [u8],
}

impl Decimal<'_> {
    /// Returns whether the integer has more than [`LONGEST_DECIMAL`] digits.
    pub(super) fn is_too_long(&self) -> bool {
        self.digits.len() > LONGEST_DECIMAL
    }

    /// Returns the value, or `None` if it does not fit into 64 bits.
    pub(super) fn value(&self) -> Option<i64> {
        let mut value = 0_i64;
        for digit in self.digits {
            let digit = i64::from(digit.saturating_sub(b'0'));
            let digit = if self.is_negative { 0_i64.checked_sub(digit)? } else { digit };
            value = value.checked_mul(10)?.checked_add(digit)?;
        }
        Some(value)
    }
}

/// Parses `line`, which has no newline, as a decimal integer. Returns `None` unless Python writes the integer so: with leading
/// zeros, white space, `+` or `_`, readers differ on the value and on whether there is one.
pub(super) fn decimal(line: &[u8]) -> Option<Decimal<'_>> {
    let (is_negative, digits) = match line {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let is_written = match digits {
        [b'0'] => !is_negative,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    is_written.then_some(Decimal { is_negative, digits })
}

/// The number of decimal digits that always fit into 64 bits.
const DIGITS: usize = 19;

/// Returns the work of converting `length` decimal digits to binary: reading each, and multiplying each word once for each
/// [`DIGITS`] digits that follow.
fn decimal_work(length: usize) -> usize {
    length.saturating_add(length.saturating_mul(length) / (DIGITS * DIGITS))
}

/// Returns the number of bytes of the pickle at the start of `bytes`, up to its instruction STOP; `None` if the pickle has
/// an unknown instruction or does not end. The instructions are not executed.
pub(super) fn end_of_pickle(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    loop {
        let (byte, operands) = rest.split_first()?;
        let (_, after) = opcodes::find(*byte)?.operand.split(operands)?;
        rest = after;
        if *byte == b'.' {
            return bytes.len().checked_sub(rest.len());
        }
    }
}

/// Decodes `operand`, which has at most 8 bytes, as an unsigned little-endian number.
pub(super) fn unsigned(operand: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    if let Some(start) = bytes.get_mut(..operand.len()) {
        start.copy_from_slice(operand);
    }
    u64::from_le_bytes(bytes)
}

impl Operand {
    /// Splits `rest`, the bytes after an opcode, into the operand without its length field and the bytes that follow. Returns
    /// `None` if `rest` ends within the operand.
    pub(super) fn split(self, rest: &[u8]) -> Option<(&[u8], &[u8])> {
        match self {
            Self::Fixed(length) => rest.split_at_checked(length.into()),
            Self::Counted(width) => {
                let (length, rest) = rest.split_at_checked(width.into())?;
                rest.split_at_checked(usize::try_from(unsigned(length)).ok()?)
            }
            Self::Lines(count) => {
                let mut ends = rest.iter().zip(1..).filter(|(byte, _)| **byte == b'\n');
                let (_, end) = ends.nth(usize::from(count).saturating_sub(1))?;
                rest.split_at_checked(end)
            }
        }
    }
}

//! A machine that reads the pickles of checkpoints without calling any function.
//!
//! The stream is read once, from its first byte to its last, into an arena: each container is a node with a linked list of
//! cells for its items. Scalars stay in the stream, and a value has the position of its instruction. So no function recurses,
//! an object with several references is stored once, and memory follows from the number of instructions. No number in the
//! stream decides how much memory is allocated.

use alloc::vec::Vec;
use core::cell::Cell as Counter;

use crate::escape::Short;
use crate::formats::error::{FormatError, follow};
use crate::formats::rules::Rule;
use crate::limits::Limits;
use crate::num::{len_u32, u64_from_usize, usize_from_u32};
use crate::rules::Limit;

use super::globals::{self, BYTES, Dtype, Global};
use super::opcodes::{self, Op, Operand};

/// A value. The number of a scalar is the position of its instruction in the stream. The number of a container is its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
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
    /// Bytes.
    Bytes(u32),
    /// A global.
    Global(Global),
    /// A tuple.
    Tuple(u32),
    /// A list.
    List(u32),
    /// A set.
    Set(u32),
    /// A dictionary.
    Dict(u32),
    /// An ordered dictionary.
    Ordered(u32),
    /// A storage. The items of its node are the class, the key, the number of elements and the device.
    Storage(u32),
    /// A tensor. The items of its node are the storage, the offset, the shape, the strides, and the dtype, which is
    /// [`Value::None`] if the tensor has the dtype of its storage.
    Tensor(u32),
    /// A device. The items of its node are the kind and the number.
    Device(u32),
    /// The result of a global that zten does not interpret. The number is the position of the instruction.
    Unread(u32),
    /// The start of the items of a container. It occurs on the stack alone.
    Mark,
}

/// A container.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// The first cell; [`END`] if the container is empty.
    first: u32,
    /// The last cell; [`END`] if the container is empty.
    last: u32,
    /// The number of cells.
    length: u32,
    /// The position in the stream of the instruction that makes the container.
    at: u32,
    /// The bits of the [`Fact`]s that are true.
    facts: u8,
}

/// A fact about a container. Facts about the items are updated as items are added: if each instruction that refers to a
/// container visited its items instead, the work would be quadratic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    /// The container has an item that is no integer of 64 bits.
    HasOtherThanInts,
    /// The container has an item that is no scalar.
    HasOtherThanScalars,
    /// The container is a dictionary.
    IsMap,
    /// The container is a tensor.
    IsTensor,
    /// The container is a storage.
    IsStorage,
    /// The container is the state of a parameter, which is checked and dropped.
    IsState,
    /// The container is, or lies within, the versions of modules, which are checked and dropped.
    IsMetadata,
    /// The container holds hooks, and must be empty in the end.
    IsHooks,
}

impl Node {
    /// Returns whether `fact` is true of this container.
    fn has(&self, fact: Fact) -> bool {
        self.facts & fact.bit() != 0
    }
}

impl Fact {
    /// Returns the bit of this fact in [`Node::facts`].
    const fn bit(self) -> u8 {
        match self {
            Self::HasOtherThanInts => 1,
            Self::HasOtherThanScalars => 2,
            Self::IsMap => 4,
            Self::IsTensor => 8,
            Self::IsStorage => 16,
            Self::IsState => 32,
            Self::IsMetadata => 64,
            Self::IsHooks => 128,
        }
    }
}

/// An item of a container, and the position of the next cell.
#[derive(Clone, Copy, Debug)]
struct Cell {
    value: Value,
    next: u32,
}

/// The value of [`Cell::next`] in the last cell of a node.
const END: u32 = u32::MAX;

/// The context of a pickle, which decides the opcodes that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// A pickle in an archive.
    Archived,
    /// A file that is a pickle, or a stream of several pickles.
    Alone,
    /// The pickle of a NumPy array of Python objects.
    Objects,
}

/// The length in bytes of the longest line that is parsed as a number.
const LONGEST_NUMBER: usize = 64;
/// The length in bytes of the longest text that is compared with known names.
pub(super) const LONGEST_NAME: usize = 64;
/// The largest number of arguments of an allowed function.
const ARGUMENTS: usize = 8;

/// The largest number of bytes of the arena for each byte of the stream. The same limit holds for the names and attributes
/// that are derived from the arena. Streams of tensors need a quarter of this number.
const FACTOR: u64 = 32;
/// The number of bytes of the arena that every stream may take in addition.
const SLACK: u64 = 16 << 10;

/// Returns the number of bytes of memory that a stream of `bytes` bytes may take.
pub(super) fn allowance(bytes: usize, limits: &Limits) -> u64 {
    let most = u64_from_usize(bytes).saturating_mul(FACTOR).saturating_add(SLACK);
    most.min(limits.manifest())
}

/// A pickle in the arena.
#[derive(Debug)]
pub(super) struct Pickle<'p> {
    bytes: &'p [u8],
    /// The offset of the pickle in the file.
    base: u64,
    nodes: Vec<Node>,
    cells: Vec<Cell>,
    /// The number of bytes that the arena may still take.
    room: u64,
    /// The error for the first unsupported value. It is reported only if the pickle is otherwise valid.
    unsupported: Option<FormatError>,
    /// The amount of work: the number of instructions, items and bytes of operands that were visited.
    steps: &'p Counter<u64>,
}

/// The state of the machine.
struct Machine<'p> {
    pickle: Pickle<'p>,
    context: Context,
    /// The position of the next instruction.
    at: usize,
    /// The position of the current instruction.
    now: u32,
    /// The end of the last frame that began.
    frame: Option<usize>,
    stack: Vec<Value>,
    /// The largest height of the stack so far, for which the arena has been charged.
    highest: usize,
    /// The memo: values and their keys, which ascend.
    memo: Vec<(u32, Value)>,
}

impl<'p> Pickle<'p> {
    /// Reads the pickle of an archive, which begins at offset `base` of the file, and returns the pickle and its value. `steps`
    /// counts the instructions, items of containers and bytes of operands that are visited.
    pub(super) fn read(
        bytes: &'p [u8],
        base: u64,
        (limits, steps): (&Limits, &'p Counter<u64>),
    ) -> Result<(Self, Value), FormatError> {
        let mut machine = Machine::new(bytes, base, (Context::Archived, limits), steps);
        let value = machine.run()?;
        machine.check_end()?;
        Ok((machine.pickle, value))
    }

    /// Checks the pickle of an array of Python objects, which begins at offset `base` of the file. The pickle may import the
    /// globals of checkpoints, NumPy's own functions for arrays, and classes of plain values. Bytes after the pickle are
    /// ignored, as NumPy ignores them.
    pub(super) fn check_objects(
        bytes: &'p [u8],
        base: u64,
        (limits, steps): (&Limits, &'p Counter<u64>),
    ) -> Result<(), FormatError> {
        let mut machine = Machine::new(bytes, base, (Context::Objects, limits), steps);
        machine.run().map(drop)
    }

    /// Returns the items of the container `node`.
    pub(super) fn items(&self, node: u32) -> Items<'_> {
        self.resume(self.node(node).map_or(END, |node| node.first))
    }

    /// Adds `count` to the amount of work.
    fn count_steps(&self, count: usize) {
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

    /// Returns the containers of which `fact` is true, in the order in which the pickle makes them.
    pub(super) fn nodes_with(&self, fact: Fact) -> impl Iterator<Item = u32> {
        let all = self.nodes.iter().zip(0..);
        all.filter(move |(node, _)| node.has(fact)).map(|(_, ordinal)| ordinal)
    }

    /// Returns all tensors that the pickle makes, even if no dictionary refers to them.
    pub(super) fn tensors(&self) -> impl Iterator<Item = u32> {
        self.nodes_with(Fact::IsTensor)
    }

    /// Returns all references to storages.
    pub(super) fn storages(&self) -> impl Iterator<Item = u32> {
        self.nodes_with(Fact::IsStorage)
    }

    /// Returns all dictionaries that the pickle makes.
    pub(super) fn maps(&self) -> impl Iterator<Item = u32> {
        self.nodes_with(Fact::IsMap)
    }

    /// Returns the number of items of the container `node`.
    pub(super) fn length(&self, node: u32) -> u32 {
        self.node(node).map_or(0, |node| node.length)
    }

    /// Returns the first `N` items of the container `node`, with [`Value::None`] in place of missing items.
    pub(super) fn first<const N: usize>(&self, node: u32) -> [Value; N] {
        let mut items = self.items(node);
        [Value::None; N].map(|none| items.next().unwrap_or(none))
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
        let rest = self.bytes.get(usize_from_u32(at)..).unwrap_or_default();
        let op = rest.first().copied().unwrap_or_default();
        if b"IL".contains(&op) {
            // A longer line is a number beyond 64 bits, or has leading zeros, which no program writes.
            let start = rest.get(1..LONGEST_NUMBER.min(rest.len())).unwrap_or_default();
            let end = start.iter().position(|byte| *byte == b'\n')?;
            return decimal(start.get(..end)?);
        }
        let operand = self.operand(at);
        let is_signed = b"J\x8a\x8b".contains(&op);
        let is_negative = is_signed && operand.last().is_some_and(|last| *last >= 0x80);
        let mut bytes = if is_negative { [0xff; 8] } else { [0; 8] };
        bytes.get_mut(..operand.len())?.copy_from_slice(operand);
        Some(i64::from_le_bytes(bytes))
    }

    /// Returns `value` as an unsigned integer, or `None` if `value` is negative, too large, or no integer.
    pub(super) fn count(&self, value: Value) -> Option<u64> {
        match value {
            Value::Int(at) => u64::try_from(self.int(at)?).ok(),
            _ => None,
        }
    }

    /// Returns whether `value` is a scalar that can be an attribute.
    pub(super) fn is_scalar(&self, value: Value) -> bool {
        match value {
            Value::Int(at) => self.int(at).is_some(),
            Value::None | Value::Bool(_) | Value::Float(_) | Value::Text(_) | Value::Bytes(_) => {
                true
            }
            value => matches!(value, Value::Device(_) | Value::Global(Global::Dtype(_))),
        }
    }

    /// Returns the floating-point number at position `at`.
    pub(super) fn float(&self, at: u32) -> f64 {
        f64::from_be_bytes(self.operand(at).first_chunk().copied().unwrap_or_default())
    }

    /// Records an unsupported value unless one has been recorded already. `sentence` describes the value, and `at` is its
    /// offset in the file.
    pub(super) fn is_unsupported(&mut self, sentence: &str, at: u64) {
        if self.unsupported.is_none() {
            self.unsupported = Some(FormatError::violation_at(Rule::TorchValue, sentence, at));
        }
    }

    /// Fails with the error for the first unsupported value, if there is such a value.
    pub(super) fn check_supported(&mut self) -> Result<(), FormatError> {
        self.unsupported.take().map_or(Ok(()), Err)
    }

    /// Appends `item` to `list`, charges its size to `room`, and returns its position.
    fn push<T>(room: &mut u64, list: &mut Vec<T>, item: T) -> Result<u32, FormatError> {
        let Some(rest) = room.checked_sub(u64_from_usize(size_of::<T>())) else {
            let sentence = "the values of the pickle take more memory than the limit allows";
            return Err(FormatError::violation(Limit::Manifest, sentence));
        };
        *room = rest;
        let place = len_u32(list.len());
        list.try_reserve(1).map_err(|_| FormatError::memory())?;
        list.push(item);
        Ok(place)
    }

    /// Creates an empty container for the instruction at position `at`, and returns its node.
    fn container(&mut self, at: u32) -> Result<u32, FormatError> {
        let node = Node { first: END, last: END, length: 0, at, facts: 0 };
        Self::push(&mut self.room, &mut self.nodes, node)
    }

    /// Creates an empty container of which `fact` is true for the instruction at position `at`, and returns its node.
    fn container_of(&mut self, at: u32, fact: Fact) -> Result<u32, FormatError> {
        let node = Node { first: END, last: END, length: 0, at, facts: fact.bit() };
        Self::push(&mut self.room, &mut self.nodes, node)
    }

    /// Returns the bits of the facts that `item` makes true of its container.
    fn facts_of(&self, item: Value) -> u8 {
        match item {
            Value::Bool(_) => 0,
            Value::Int(at) if self.int(at).is_some() => 0,
            item if self.is_scalar(item) => Fact::HasOtherThanInts.bit(),
            _ => Fact::HasOtherThanInts.bit() | Fact::HasOtherThanScalars.bit(),
        }
    }

    /// Appends `values` to the items of the container `node`.
    fn extend(&mut self, node: u32, values: &[Value]) -> Result<(), FormatError> {
        for value in values {
            let cell = Cell { value: *value, next: END };
            let place = Self::push(&mut self.room, &mut self.cells, cell)?;
            let facts = self.facts_of(*value);
            self.count_steps(1);
            let missing = || FormatError::internal("a container is not there");
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
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let cell = self.cells.get(usize_from_u32(self.next))?;
        self.steps.set(self.steps.get().saturating_add(1));
        self.next = cell.next;
        Some(cell.value)
    }
}

impl Pickle<'_> {
    /// Checks a pickle that is not in an archive and begins at offset `base` of the file, and returns its length. `is_followed`
    /// says that other bytes may follow the pickle.
    pub(super) fn check(
        bytes: &[u8],
        base: u64,
        (limits, is_followed): (&Limits, bool),
    ) -> Result<usize, FormatError> {
        let steps = Counter::new(0);
        let mut machine = Machine::new(bytes, base, (Context::Alone, limits), &steps);
        machine.run()?;
        if !is_followed {
            machine.check_end()?;
        }
        Ok(machine.at)
    }
}

impl<'p> Machine<'p> {
    fn new(
        bytes: &'p [u8],
        base: u64,
        (context, limits): (Context, &Limits),
        steps: &'p Counter<u64>,
    ) -> Self {
        let (nodes, cells, room) = (Vec::new(), Vec::new(), allowance(bytes.len(), limits));
        let pickle = Pickle { bytes, base, nodes, cells, room, unsupported: None, steps };
        let (stack, memo) = (Vec::new(), Vec::new());
        Self { pickle, context, at: 0, now: 0, frame: None, stack, highest: 0, memo }
    }

    /// Returns an error of `rule` at the current instruction.
    fn violation(&self, rule: Rule, sentence: impl core::fmt::Display) -> FormatError {
        FormatError::violation_at(rule, sentence, self.pickle.byte(self.now))
    }

    /// Executes all instructions up to STOP, and returns the value that STOP finds on the stack.
    fn run(&mut self) -> Result<Value, FormatError> {
        // Pickles of protocols 0 and 1 do not begin with the opcode PROTO.
        let protocol = match (self.pickle.bytes, self.context) {
            ([0x80, protocol @ 2..=5, ..], _) => *protocol,
            ([0x80, ..], _) | (_, Context::Archived) => {
                let sentence = "the pickle does not begin with a protocol from 2 to 5";
                return Err(self.violation(Rule::TorchPickle, sentence));
            }
            (_, Context::Alone | Context::Objects) => 1,
        };
        loop {
            self.now = len_u32(self.at);
            let rest = self.pickle.bytes.get(self.at..).unwrap_or_default();
            let Some((byte, rest)) = rest.split_first() else {
                return Err(self.violation(Rule::TorchPickle, "the pickle ends without STOP"));
            };
            let Some(row) = opcodes::find(*byte) else {
                let sentence = format_args!("the byte {byte:#04x} is no instruction of a pickle");
                return Err(self.violation(Rule::TorchOpcode, sentence));
            };
            let allowed = row.op.filter(|_| self.context != Context::Archived || !row.is_alone);
            let Some(op) = allowed else {
                let name = row.name;
                let sentence = format_args!("the instruction {name} ({byte:#04x}) is not allowed");
                return Err(self.violation(Rule::TorchOpcode, sentence));
            };
            if row.protocol() > protocol {
                let (name, first) = (row.name, row.protocol());
                let sentence = format_args!(
                    "the instruction {name} is of protocol {first}, and the pickle of {protocol}"
                );
                return Err(self.violation(Rule::TorchOpcode, sentence));
            }
            let Some((operand, rest)) = row.operand.split(rest) else {
                let name = row.name;
                let sentence = format_args!("the pickle ends within the instruction {name}");
                return Err(self.violation(Rule::TorchPickle, sentence));
            };
            let from = self.at;
            self.at = self.pickle.bytes.len().saturating_sub(rest.len());
            self.pickle.count_steps(self.at.saturating_sub(from));
            // Unpicklers read a frame as a whole, and some of them fail on an instruction that crosses its end while others do
            // not.
            if self.frame.is_some_and(|end| from < end && end < self.at) {
                let sentence = "a frame ends within an instruction";
                return Err(self.violation(Rule::TorchPickle, sentence));
            }
            if matches!(op, Op::Stop) {
                return self.stop();
            }
            self.step(op, operand)?;
        }
    }

    /// Checks that the stream ends with the last instruction, STOP.
    fn check_end(&self) -> Result<(), FormatError> {
        let count = self.pickle.bytes.len().saturating_sub(self.at);
        if count == 0 {
            return Ok(());
        }
        let sentence = follow(u64_from_usize(count), "STOP: another pickle, or data");
        Err(self.violation(Rule::TorchTrailing, sentence))
    }

    /// Executes STOP: returns the only value on the stack.
    fn stop(&self) -> Result<Value, FormatError> {
        if self.frame.is_some_and(|end| self.at < end) {
            return Err(self.violation(Rule::TorchPickle, "a frame extends beyond STOP"));
        }
        match *self.stack {
            [value] if value != Value::Mark => Ok(value),
            _ => Err(self.violation(Rule::TorchPickle, "STOP does not find exactly one value")),
        }
    }

    /// Executes the instruction `op` with its `operand`.
    fn step(&mut self, op: Op, operand: &[u8]) -> Result<(), FormatError> {
        let now = self.now;
        match op {
            Op::Push(value) => self.push(value),
            Op::Scalar(value) => {
                let value = value(now);
                if let Value::Text(at) = value {
                    self.pickle.text(at)?;
                }
                self.push(value)
            }
            // PyTorch decodes the strings of Python 2 as UTF-8 texts.
            Op::String if str::from_utf8(operand).is_ok() => self.push(Value::Text(now)),
            Op::String if self.context == Context::Archived => self.pickle.text(now).map(drop),
            Op::String => self.push(Value::Bytes(now)),
            Op::Empty(value) => {
                let node = self.empty(value)?;
                self.push(value(node))
            }
            Op::Int => match (operand.trim_ascii_end(), decimal(operand)) {
                (b"00", _) => self.push(Value::Bool(false)),
                (b"01", _) => self.push(Value::Bool(true)),
                (line, None) if !is_long(line) => {
                    Err(self.violation(Rule::TorchPickle, NOT_A_NUMBER))
                }
                _ => self.push(Value::Int(now)),
            },
            Op::Tuple(count) => {
                let start = self.from(count.into())?;
                let node = self.gather(start)?;
                self.push(Value::Tuple(node))
            }
            Op::Gather(value) => {
                let start = self.mark()?;
                let node = self.gather(start)?;
                if matches!(value(node), Value::Dict(_)) {
                    self.pickle.note(node, Fact::IsMap);
                    if self.pickle.length(node) & 1 == 1 {
                        return Err(self.violation(Rule::TorchPickle, ODD));
                    }
                }
                self.push(value(node))
            }
            Op::Pop(false) if self.stack.last() != Some(&Value::Mark) => self.pop().map(drop),
            Op::Pop(_) => {
                let start = self.mark()?;
                self.stack.truncate(start);
                Ok(())
            }
            Op::Add(target, many) => self.add(target, many),
            Op::Global => self.global(operand),
            Op::StackGlobal => self.stack_global(),
            Op::Reduce => self.reduce(),
            Op::Build => self.build(),
            Op::New => self.new_object(),
            Op::Persistent => self.persistent(),
            Op::Put => {
                let index = self.index(operand)?;
                self.put(index)
            }
            Op::Memoize => self.put(u64_from_usize(self.memo.len())),
            Op::Get => {
                let index = self.index(operand)?;
                let place = self.memo.binary_search_by(|(key, _)| u64::from(*key).cmp(&index));
                let entry = place.ok().and_then(|place| self.memo.get(place));
                let (_, value) = *entry.ok_or_else(|| {
                    let sentence = format_args!("the memo has no value with the number {index}");
                    self.violation(Rule::TorchMemo, sentence)
                })?;
                self.push(value)
            }
            Op::Protocol if now == 0 => Ok(()),
            Op::Protocol => {
                Err(self
                    .violation(Rule::TorchOpcode, "PROTO is only allowed as the first instruction"))
            }
            Op::Frame => self.begin_frame(number(operand)),
            Op::Stop => Err(FormatError::internal("nothing stops the machine")),
        }
    }

    /// Begins a frame of `length` bytes after the current instruction.
    fn begin_frame(&mut self, length: u64) -> Result<(), FormatError> {
        if self.frame.is_some_and(|end| self.at < end) {
            let sentence = "a frame begins within another frame";
            return Err(self.violation(Rule::TorchPickle, sentence));
        }
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length));
        self.frame = end.filter(|end| *end <= self.pickle.bytes.len());
        if self.frame.is_some() {
            return Ok(());
        }
        Err(self.violation(Rule::TorchPickle, "a frame extends beyond the pickle"))
    }

    /// Creates an empty container of the kind that `value` makes, and returns its node.
    fn empty(&mut self, value: fn(u32) -> Value) -> Result<u32, FormatError> {
        match value(0) {
            Value::Dict(_) | Value::Ordered(_) => self.pickle.container_of(self.now, Fact::IsMap),
            _ => self.pickle.container(self.now),
        }
    }

    /// Returns the memo's key in the operand of a GET or PUT instruction of any width.
    fn index(&self, operand: &[u8]) -> Result<u64, FormatError> {
        if !self.pickle.bytes.get(usize_from_u32(self.now)).is_some_and(|op| b"gp".contains(op)) {
            return Ok(number(operand));
        }
        let index = decimal(operand).and_then(|index| u64::try_from(index).ok());
        index.ok_or_else(|| self.violation(Rule::TorchPickle, NOT_A_NUMBER))
    }

    /// Pushes `value` on the stack.
    fn push(&mut self, value: Value) -> Result<(), FormatError> {
        if self.stack.len() < self.highest {
            self.stack.push(value);
            return Ok(());
        }
        self.highest = self.highest.saturating_add(1);
        Pickle::push(&mut self.pickle.room, &mut self.stack, value).map(drop)
    }

    /// Returns the position on the stack of the first of the top `count` values. Fails if there are fewer values above the last
    /// mark.
    fn from(&self, count: usize) -> Result<usize, FormatError> {
        let start = self.stack.len().checked_sub(count);
        let values = start.and_then(|start| Some((start, self.stack.get(start..)?)));
        match values {
            Some((start, values)) if !values.contains(&Value::Mark) => Ok(start),
            _ => {
                let sentence = "an instruction finds fewer values than it takes";
                Err(self.violation(Rule::TorchPickle, sentence))
            }
        }
    }

    /// Pops the value on top of the stack. Fails on a mark.
    fn pop(&mut self) -> Result<Value, FormatError> {
        self.from(1)?;
        self.stack.pop().ok_or_else(|| FormatError::internal("a value is gone"))
    }

    /// Returns the value on top of the stack. Fails on a mark.
    fn top(&self) -> Result<Value, FormatError> {
        let place = self.from(1)?;
        self.stack.get(place).copied().ok_or_else(|| FormatError::internal("a value is gone"))
    }

    /// Removes the last mark from the stack, and returns the position of the first value that was above the mark.
    fn mark(&mut self) -> Result<usize, FormatError> {
        let Some(place) = self.stack.iter().rposition(|value| *value == Value::Mark) else {
            return Err(self.violation(Rule::TorchPickle, "an instruction finds no mark"));
        };
        self.stack.remove(place);
        Ok(place)
    }

    /// Pops the values from position `start` on, and returns the node of a new container of them.
    fn gather(&mut self, start: usize) -> Result<u32, FormatError> {
        let node = self.pickle.container(self.now)?;
        self.pickle.extend(node, self.stack.get(start..).unwrap_or_default())?;
        self.stack.truncate(start);
        Ok(node)
    }

    /// Pops items and adds them to the list (`target` is `l`), set (`s`) or dictionary (`d`) below: all values above the last
    /// mark if `many`, and one item otherwise.
    fn add(&mut self, target: u8, many: bool) -> Result<(), FormatError> {
        let is_dict = target == b'd';
        let start = if many { self.mark()? } else { self.from(if is_dict { 2 } else { 1 })? };
        let place = start.checked_sub(1).and_then(|place| self.stack.get(place)).copied();
        if matches!(place, Some(Value::Unread(_))) && self.context == Context::Objects {
            // A container of another class, such as `deque`, takes the items. They are not kept: each was checked when it was
            // pushed.
            self.stack.truncate(start);
            return Ok(());
        }
        let ((b'l', Some(Value::List(node)))
        | (b's', Some(Value::Set(node)))
        | (b'd', Some(Value::Dict(node) | Value::Ordered(node)))) = (target, place)
        else {
            let sentence = "items are added to a value that is no list, set or dictionary";
            return Err(self.violation(Rule::TorchPickle, sentence));
        };
        let values = self.stack.get(start..).unwrap_or_default();
        if is_dict && values.len().checked_rem(2) != Some(0) {
            return Err(self.violation(Rule::TorchPickle, ODD));
        }
        if target != b'l' {
            let step = if is_dict { 2 } else { 1 };
            values.iter().step_by(step).try_for_each(|key| self.check_hashable(*key))?;
        }
        self.pickle.extend(node, values)?;
        self.stack.truncate(start);
        Ok(())
    }

    /// Checks that `key` can be a key of a dictionary or an item of a set: Python cannot hash a mutable value, and fails.
    fn check_hashable(&self, key: Value) -> Result<(), FormatError> {
        let is_mutable = match key {
            Value::List(_) | Value::Dict(_) | Value::Ordered(_) => true,
            // The opcode FROZENSET, which makes an immutable set, is allowed only outside of archives.
            Value::Set(_) => self.context == Context::Archived,
            Value::Bytes(at) => self.pickle.is_bytearray(at),
            _ => false,
        };
        if !is_mutable {
            return Ok(());
        }
        let sentence = "a key of a dictionary or an item of a set is a mutable value";
        Err(self.violation(Rule::TorchPickle, sentence))
    }

    /// Stores the value on top of the stack in the memo under the key `index`.
    fn put(&mut self, index: u64) -> Result<(), FormatError> {
        let value = self.top()?;
        let last = self.memo.last().map(|(last, _)| *last);
        let key = u32::try_from(index).ok().filter(|index| last.is_none_or(|last| last < *index));
        let Some(key) = key else {
            let sentence =
                format_args!("a value is put into the memo with the number {index}, out of order");
            return Err(self.violation(Rule::TorchMemo, sentence));
        };
        Pickle::push(&mut self.pickle.room, &mut self.memo, (key, value)).map(drop)
    }

    /// Pushes the global `name` of `module`, if a pickle may import it.
    fn named(&mut self, module: &[u8], name: &[u8]) -> Result<(), FormatError> {
        let of_objects = || match self.context {
            Context::Objects => globals::of_objects(module, name),
            Context::Archived | Context::Alone => None,
        };
        if let Some(global) = globals::find(module, name).or_else(of_objects) {
            return self.push(Value::Global(global));
        }
        let text = |bytes| str::from_utf8(bytes).unwrap_or("\u{fffd}");
        let (module, name) = (Short(text(module)), Short(text(name)));
        let sentence = format_args!("the global {name} of the module {module} is not allowed");
        Err(self.violation(Rule::TorchGlobal, sentence))
    }

    /// Executes GLOBAL: imports the global that two lines name.
    fn global(&mut self, operand: &[u8]) -> Result<(), FormatError> {
        let mut lines = operand.split(|byte| *byte == b'\n');
        let (module, name) = (lines.next(), lines.next());
        self.named(module.unwrap_or_default(), name.unwrap_or_default())
    }

    /// Executes `STACK_GLOBAL`: imports the global that two texts on the stack name.
    fn stack_global(&mut self) -> Result<(), FormatError> {
        let (name, module) = (self.pop()?, self.pop()?);
        let (Value::Text(module), Value::Text(name)) = (module, name) else {
            let sentence = "the module and the name of a global are not texts";
            return Err(self.violation(Rule::TorchGlobal, sentence));
        };
        let (module, name) = (self.pickle.bytes(module), self.pickle.bytes(name));
        self.named(module, name)
    }

    /// Returns the error for a call with wrong arguments at the current instruction.
    fn wrong_call(&self) -> FormatError {
        self.violation(Rule::TorchCall, Rule::TorchCall.row().broken())
    }

    /// Records that the current instruction makes an unsupported value, which `sentence` describes, and returns this value.
    fn unread(&mut self, sentence: &str) -> Value {
        let at = self.pickle.byte(self.now);
        self.pickle.is_unsupported(sentence, at);
        Value::Unread(self.now)
    }

    /// Executes REDUCE: pushes the result of an allowed function for its arguments.
    fn reduce(&mut self) -> Result<(), FormatError> {
        let (args, function) = (self.pop()?, self.pop()?);
        let (Value::Global(function), Value::Tuple(node)) = (function, args) else {
            return Err(self.wrong_call());
        };
        let count = self.pickle.length(node);
        let args: [Value; ARGUMENTS] = self.pickle.first(node);
        let value = match (function, count, args) {
            (Global::OrderedDict, 0, _) => Value::Ordered(self.empty(Value::Ordered)?),
            (Global::OrderedDict, 1, [Value::List(list), ..]) => self.ordered(list)?,
            (Global::Size, 1, [shape @ Value::Tuple(node), ..])
                if !self.pickle.has(node, Fact::HasOtherThanInts) =>
            {
                shape
            }
            (Global::Device, 1, [name @ Value::Text(at), ..]) => {
                let text = self.pickle.short(at, LONGEST_NAME).unwrap_or_default();
                let (kind, number) = globals::device(text).ok_or_else(|| self.wrong_call())?;
                if number.is_some_and(|number| number > globals::LAST_DEVICE) {
                    return Err(self.wrong_call());
                }
                if globals::is_kind(kind) { name } else { self.unread(DEVICE) }
            }
            (Global::Device, 2, [kind @ Value::Text(at), number @ Value::Int(_), ..]) => {
                let text = self.pickle.short(at, LONGEST_NAME).unwrap_or_default();
                let device = globals::device(text).filter(|(_, number)| number.is_none());
                let is_number = self
                    .pickle
                    .count(number)
                    .is_some_and(|number| number <= u64::from(globals::LAST_DEVICE));
                let (name, _) = device.filter(|_| is_number).ok_or_else(|| self.wrong_call())?;
                if globals::is_kind(name) {
                    let node = self.pickle.container(self.now)?;
                    self.pickle.extend(node, &[kind, number])?;
                    Value::Device(node)
                } else {
                    self.unread(DEVICE)
                }
            }
            (Global::Set, 1, [Value::List(list), ..]) => self.set(list)?,
            (Global::Tensor(least, most, _), ..)
                if (u32::from(least)..=most.into()).contains(&count) =>
            {
                self.tensor(function, args)?
            }
            (Global::Parameter(expected), ..) if count == u32::from(expected) => match args {
                [
                    tensor @ (Value::Tensor(_) | Value::Unread(_)),
                    grad @ Value::Bool(_),
                    hooks,
                    state,
                    ..,
                ] => {
                    if let Value::Tensor(node) = tensor {
                        self.check_gradients(node, grad)?;
                    }
                    self.check_empty(hooks, "a parameter with hooks is not read");
                    self.check_attributes(state)?;
                    tensor
                }
                _ => return Err(self.wrong_call()),
            },
            (Global::Unread, ..) => self.unread("a value of this kind is not read"),
            _ => return Err(self.wrong_call()),
        };
        self.push(value)
    }

    /// Returns an ordered dictionary of the pairs in `list`, the form in which Python 2 wrote ordered dictionaries.
    fn ordered(&mut self, list: u32) -> Result<Value, FormatError> {
        let node = self.empty(Value::Ordered)?;
        let mut next = self.pickle.items(list).place();
        loop {
            let mut items = self.pickle.resume(next);
            let Some(pair) = items.next() else { return Ok(Value::Ordered(node)) };
            next = items.place();
            let (Value::List(pair) | Value::Tuple(pair)) = pair else {
                return Err(self.wrong_call());
            };
            if self.pickle.length(pair) != 2 {
                return Err(self.wrong_call());
            }
            let [key, value] = self.pickle.first(pair);
            self.check_hashable(key)?;
            self.pickle.extend(node, &[key, value])?;
        }
    }

    /// Returns a set of the items of `list`. The items are copied, since the list may grow later.
    fn set(&mut self, list: u32) -> Result<Value, FormatError> {
        let node = self.pickle.container(self.now)?;
        let mut next = self.pickle.items(list).place();
        loop {
            let mut items = self.pickle.resume(next);
            let Some(item) = items.next() else { return Ok(Value::Set(node)) };
            next = items.place();
            self.check_hashable(item)?;
            self.pickle.extend(node, &[item])?;
        }
    }

    /// Records an unsupported value, which `sentence` describes, unless `value` is `None` or an empty dictionary. The
    /// dictionary is marked, since it must be empty after the last instruction, too.
    fn check_empty(&mut self, value: Value, sentence: &str) {
        match value {
            Value::None => {}
            Value::Dict(node) | Value::Ordered(node) if self.pickle.length(node) == 0 => {
                self.pickle.note(node, Fact::IsHooks);
            }
            _ => drop(self.unread(sentence)),
        }
    }

    /// Marks the `state` of a parameter, which is checked after the last instruction and then dropped.
    fn check_attributes(&mut self, state: Value) -> Result<(), FormatError> {
        match state {
            Value::None => {}
            Value::Dict(node) => self.pickle.note(node, Fact::IsState),
            Value::Tuple(_) | Value::Ordered(_) => {
                self.unread("a parameter with this state is not read");
            }
            _ => return Err(self.wrong_call()),
        }
        Ok(())
    }

    /// Checks that the dtype of the node `tensor` allows gradients if `grad` is `True`: PyTorch fails on other tensors.
    fn check_gradients(&self, tensor: u32, grad: Value) -> Result<(), FormatError> {
        let [storage, _, _, _, dtype] = self.pickle.first(tensor);
        let dtype = match (dtype, storage) {
            (Value::Global(Global::Dtype(dtype)), _) => dtype,
            (_, Value::Storage(storage)) => self.pickle.storage_dtype(storage),
            _ => return Err(FormatError::internal("a tensor has no storage")),
        };
        if grad == Value::Bool(true) && !dtype.has_gradients() {
            return Err(self.violation(Rule::TorchTensor, Rule::TorchTensor.row().broken()));
        }
        Ok(())
    }

    /// Returns the tensor that `function`, a [`Global::Tensor`], makes from `args`.
    fn tensor(&mut self, function: Global, args: [Value; ARGUMENTS]) -> Result<Value, FormatError> {
        let Global::Tensor(least, _, dtype_at) = function else { return Err(self.wrong_call()) };
        let [storage, offset, shape, strides, grad, hooks, seventh, eighth] = args;
        let (dtype, extra) = match dtype_at {
            Some(_) => (seventh, eighth),
            None => (Value::None, seventh),
        };
        let is_dtype = match dtype_at {
            Some(_) => matches!(dtype, Value::Global(Global::Dtype(_))),
            None => true,
        };
        let is_grad = least < 6 || matches!(grad, Value::Bool(_));
        let (Value::Storage(_), Value::Int(_), Value::Tuple(_), Value::Tuple(_), true) =
            (storage, offset, shape, strides, is_dtype && is_grad)
        else {
            return Err(self.wrong_call());
        };
        self.check_empty(hooks, "a tensor with hooks is not read");
        // The metadata says that elements are conjugated or negated, which zten does not support.
        self.check_empty(extra, "a tensor with metadata is not read");
        let node = self.pickle.container_of(self.now, Fact::IsTensor)?;
        self.pickle.extend(node, &[storage, offset, shape, strides, dtype])?;
        // PyTorch changes a tensor that it rebuilds with a dtype in place, which fails if the tensor requires gradients.
        if dtype_at.is_some() && grad == Value::Bool(true) {
            let sentence = "a tensor that is rebuilt with a dtype cannot require gradients";
            return Err(self.violation(Rule::TorchTensor, sentence));
        }
        self.check_gradients(node, grad)?;
        Ok(Value::Tensor(node))
    }

    /// Executes BUILD: gives a state to the object on top of the stack.
    fn build(&mut self) -> Result<(), FormatError> {
        let state = self.pop()?;
        match (self.top()?, state) {
            (Value::Ordered(_), Value::Dict(state)) => {
                // A `state_dict` has the versions of modules as an attribute. The versions do not affect tensors.
                let [key, value] = self.pickle.first(state);
                let is_named = matches!(key, Value::Text(at)
                    if self.pickle.short(at, LONGEST_NAME) == Some(b"_metadata"));
                match value {
                    Value::Ordered(node) if is_named && self.pickle.length(state) == 2 => {
                        self.pickle.note(node, Fact::IsMetadata);
                    }
                    _ if self.pickle.length(state) == 0 => {}
                    _ => drop(self.unread("a dictionary with attributes is not read")),
                }
            }
            (Value::Tensor(_), _) => drop(self.unread("a tensor with a state is not read")),
            (Value::Unread(_), _) => {}
            _ => {
                let sentence = "a state is given to a value that takes no state";
                return Err(self.violation(Rule::TorchCall, sentence));
            }
        }
        Ok(())
    }

    /// Executes NEWOBJ: makes an object of a class that zten does not interpret.
    fn new_object(&mut self) -> Result<(), FormatError> {
        let (args, class) = (self.pop()?, self.pop()?);
        let (Value::Global(Global::Unread), Value::Tuple(_)) = (class, args) else {
            return Err(self.wrong_call());
        };
        let value = self.unread("an object of this class is not read");
        self.push(value)
    }

    /// Executes BINPERSID: makes a storage from a persistent id.
    fn persistent(&mut self) -> Result<(), FormatError> {
        let id = self.pop()?;
        let (count, [kind, class, key, device, length, view]): (_, [Value; 6]) = match id {
            Value::Tuple(node) => (self.pickle.length(node), self.pickle.first(node)),
            _ => (0, [Value::None; 6]),
        };
        let is_alone = self.context != Context::Archived;
        let text = |value: Value| match value {
            Value::Text(at) => self.pickle.short(at, LONGEST_NAME),
            // Pickles of protocols 0 and 1 store texts as lines, which this machine takes for bytes.
            Value::Bytes(at) if is_alone => self.pickle.short(at, LONGEST_NAME),
            _ => None,
        };
        let place = text(device).and_then(globals::device);
        if place.is_some_and(|(kind, _)| kind == b"meta") {
            let sentence = "a storage is on the device meta, which stores nothing";
            return Err(self.violation(Rule::TorchPersistentId, sentence));
        }
        // In a stream of PyTorch before 1.6, a storage may be a view of another storage.
        let is_whole =
            count == 5 || is_alone && count == 6 && matches!(view, Value::None | Value::Tuple(_));
        let is_storage = is_whole
            && text(kind) == Some(b"storage")
            && place.is_some()
            && text(key).is_some()
            && matches!(class, Value::Global(Global::Storage(_) | Global::Untyped))
            && matches!(length, Value::Int(_));
        if !is_storage {
            let sentence = "a persistent id is not that of a storage";
            return Err(self.violation(Rule::TorchPersistentId, sentence));
        }
        let node = self.pickle.container_of(self.now, Fact::IsStorage)?;
        self.pickle.extend(node, &[class, key, length, device])?;
        self.push(Value::Storage(node))
    }
}

/// A storage, as a persistent id describes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Storage<'p> {
    pub(super) dtype: Dtype,
    /// Whether the class of the storage has a dtype. Any tensor may use the bytes of an untyped storage.
    pub(super) is_typed: bool,
    pub(super) key: &'p str,
    pub(super) device: &'p [u8],
    /// The number of elements; `None` if the number is negative or exceeds 64 bits.
    pub(super) length: Option<u64>,
}

impl<'p> Pickle<'p> {
    /// Returns the storage that `node` describes.
    pub(super) fn storage(&self, node: u32) -> Result<Storage<'p>, FormatError> {
        let [class, key, length, device] = self.first(node);
        let (Value::Text(key), Value::Text(device)) = (key, device) else {
            return Err(FormatError::internal("a storage has no key"));
        };
        Ok(Storage {
            dtype: self.storage_dtype(node),
            is_typed: matches!(class, Value::Global(Global::Storage(_))),
            key: self.text(key)?,
            device: self.bytes(device),
            length: self.count(length),
        })
    }

    /// Returns the dtype of the elements of the storage `node`.
    fn storage_dtype(&self, node: u32) -> Dtype {
        match self.first(node) {
            [Value::Global(Global::Storage(dtype))] => dtype,
            _ => BYTES,
        }
    }

    /// Returns whether the bytes at position `at` are a `bytearray`, which is mutable.
    fn is_bytearray(&self, at: u32) -> bool {
        self.bytes.get(usize_from_u32(at)) == Some(&BYTEARRAY)
    }
}

/// The sentence about a device that PyTorch only knows with an extension package.
const DEVICE: &str = "a device of this kind is not read";
/// The opcode BYTEARRAY8.
const BYTEARRAY: u8 = 0x96;

/// The sentence for a dictionary of an odd number of items.
const ODD: &str = "a key of a dictionary has no value";
/// The sentence for a line that should contain a number.
const NOT_A_NUMBER: &str = "a line is not a number";

/// Parses a line of decimal digits, perhaps with the suffix `L`. Returns `None` if the line is no number of 64 bits.
fn decimal(line: &[u8]) -> Option<i64> {
    let line = line.trim_ascii_end();
    let digits = line.strip_suffix(b"L").unwrap_or(line);
    str::from_utf8(digits).ok()?.parse().ok()
}

/// Returns whether a line is an integer with any number of decimal digits.
fn is_long(line: &[u8]) -> bool {
    let digits = line.strip_suffix(b"L").unwrap_or(line);
    let digits = digits.strip_prefix(b"-").unwrap_or(digits);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Decodes `operand`, which has at most 8 bytes, as an unsigned little-endian number.
fn number(operand: &[u8]) -> u64 {
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
                rest.split_at_checked(usize::try_from(number(length)).ok()?)
            }
            Self::Lines(count) => {
                let mut ends = rest.iter().zip(1..).filter(|(byte, _)| **byte == b'\n');
                let (_, end) = ends.nth(usize::from(count).saturating_sub(1))?;
                rest.split_at_checked(end)
            }
        }
    }
}

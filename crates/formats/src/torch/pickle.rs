//! A machine for pickles of checkpoints, which executes nothing.
//!
//! The stream is read once, from its first byte to its last, into an arena: containers are nodes, and what they hold
//! are cells that are linked. Scalars stay in the stream, and a value has their place there. So nothing recurses, what
//! is referred to twice is there once, and memory follows from the number of instructions. A number in the stream is
//! never taken for an amount of memory.

use std::cell::Cell as Counter;

use zten::Limits;
use zten::num::{len_u32, u64_from_usize, usize_from_u32};
use zten::rules::Limit;
use zten_report::escape::Short;

use super::globals::{self, BYTES, Dtype, Global};
use super::opcodes::{self, Op, Operand};
use crate::error::FormatError;
use crate::rules::Rule;

/// A value. The number of a scalar is the place of its instruction in the stream, and that of a container its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer.
    Int(u32),
    /// A number of 64 bits.
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
    /// A storage: its class, its key, the number of its elements and its device.
    Storage(u32),
    /// A tensor: its storage, offset, shape, strides, and its dtype, or none if it is that of the storage.
    Tensor(u32),
    /// A device of a kind and a number.
    Device(u32),
    /// The result of a global that is not interpreted.
    Unread(u32),
    /// The start of the items of a container. It occurs on the stack alone.
    Mark,
}

/// A container: its first cell and its last, the number of cells, and the place of its instruction.
#[derive(Clone, Copy, Debug)]
struct Node {
    first: u32,
    last: u32,
    length: u32,
    at: u32,
    facts: u8,
}

/// A fact about a container. Facts about its items are kept as items are added, so that a container which many
/// instructions refer to is not gone through by each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    /// It has an item that is no integer of 64 bits.
    HasOtherThanInts,
    /// It has an item that is no scalar.
    HasOtherThanScalars,
    /// It is a dictionary.
    IsMap,
    /// It is a tensor.
    IsTensor,
    /// It is a storage.
    IsStorage,
    /// It is the state of a parameter, which is not kept.
    IsState,
    /// It is the versions of modules, or in them, and is not kept.
    IsMetadata,
    /// It must be empty: hooks.
    IsHooks,
}

impl Node {
    fn has(&self, fact: Fact) -> bool {
        self.facts & fact.bit() != 0
    }
}

impl Fact {
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

/// An item of a container, and the next one.
#[derive(Clone, Copy, Debug)]
struct Cell {
    value: Value,
    next: u32,
}

/// The end of the cells of a node.
const END: u32 = u32::MAX;
/// The place of a pickle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A pickle in an archive.
    Archived,
    /// A pickle by itself, or one of several that follow each other.
    Alone,
}
/// Bytes of the longest line that is read as a number, and of the longest text that is compared with known names.
const LONGEST_NUMBER: usize = 64;
pub(super) const LONGEST_NAME: usize = 64;
/// Arguments that anything here takes, at most.
const ARGUMENTS: usize = 8;

/// Bytes that the arena takes for each byte of the stream, at most, and so the names and values that are made of it.
/// Tensors need a quarter of it.
const FACTOR: u64 = 32;
/// Bytes of any stream.
const SLACK: u64 = 16 << 10;

/// The memory that may be taken for a stream of so many bytes.
pub(super) fn allowance(bytes: usize, limits: &Limits) -> u64 {
    let most = u64_from_usize(bytes).saturating_mul(FACTOR).saturating_add(SLACK);
    most.min(limits.manifest())
}

/// A pickle that has been read.
#[derive(Debug)]
pub(super) struct Pickle<'p> {
    bytes: &'p [u8],
    /// The byte of the file at which it begins.
    base: u64,
    nodes: Vec<Node>,
    cells: Vec<Cell>,
    /// The bytes that the arena may still take.
    room: u64,
    /// The first unsupported value, which is reported if nothing is invalid.
    unsupported: Option<FormatError>,
    /// Instructions, items and bytes of operands that have been looked at: the measure of work.
    steps: &'p Counter<u64>,
}

/// The state of the machine.
struct Machine<'p> {
    pickle: Pickle<'p>,
    found: Found,
    at: usize,
    /// The place of the instruction that is being carried out.
    now: u32,
    /// The end of the frame that was begun last.
    frame: Option<usize>,
    stack: Vec<Value>,
    /// The number of values on the stack for which memory has been taken.
    highest: usize,
    /// Values that are referred to later, by ascending numbers.
    memo: Vec<(u32, Value)>,
}

impl<'p> Pickle<'p> {
    /// Reads the pickle of an archive, which begins at that byte of the file, and returns its value. What is looked at is
    /// counted: instructions, items of containers, and bytes of operands.
    pub(super) fn read(
        bytes: &'p [u8],
        base: u64,
        (limits, steps): (&Limits, &'p Counter<u64>),
    ) -> Result<(Self, Value), FormatError> {
        let mut machine = Machine::new(bytes, base, (Found::Archived, limits), steps);
        let value = machine.run()?;
        machine.check_end()?;
        Ok((machine.pickle, value))
    }

    /// The items of a container.
    pub(super) fn items(&self, node: u32) -> Items<'_> {
        self.resume(self.node(node).map_or(END, |node| node.first))
    }

    fn count_steps(&self, count: usize) {
        self.steps.set(self.steps.get().saturating_add(u64_from_usize(count)));
    }

    pub(super) fn has(&self, node: u32, fact: Fact) -> bool {
        self.node(node).is_some_and(|node| node.has(fact))
    }

    pub(super) fn note(&mut self, node: u32, fact: Fact) {
        if let Some(node) = self.nodes.get_mut(usize_from_u32(node)) {
            node.facts |= fact.bit();
        }
    }

    /// Returns whether every item of a container is a scalar.
    pub(super) fn is_flat(&self, node: u32) -> bool {
        !self.has(node, Fact::HasOtherThanScalars)
    }

    /// The containers of a kind, in the order in which they were made.
    pub(super) fn nodes_with(&self, fact: Fact) -> impl Iterator<Item = u32> {
        let all = self.nodes.iter().zip(0..);
        all.filter(move |(node, _)| node.has(fact)).map(|(_, ordinal)| ordinal)
    }

    /// All tensors, also those that are in no dictionary.
    pub(super) fn tensors(&self) -> impl Iterator<Item = u32> {
        self.nodes_with(Fact::IsTensor)
    }

    /// All references to storages.
    pub(super) fn storages(&self) -> impl Iterator<Item = u32> {
        self.nodes_with(Fact::IsStorage)
    }

    /// All dictionaries.
    pub(super) fn maps(&self) -> impl Iterator<Item = u32> {
        self.nodes_with(Fact::IsMap)
    }

    /// The number of items of a container.
    pub(super) fn length(&self, node: u32) -> u32 {
        self.node(node).map_or(0, |node| node.length)
    }

    /// The first items of a container: none where there are fewer.
    pub(super) fn first<const N: usize>(&self, node: u32) -> [Value; N] {
        let mut items = self.items(node);
        [Value::None; N].map(|none| items.next().unwrap_or(none))
    }

    /// The byte of the file at which a container was made.
    pub(super) fn node_at(&self, node: u32) -> u64 {
        self.byte(self.node(node).map_or(0, |node| node.at))
    }

    fn node(&self, node: u32) -> Option<&Node> {
        self.nodes.get(usize_from_u32(node))
    }

    /// The bytes that its names and values may take.
    pub(super) fn allowance(&self, limits: &Limits) -> u64 {
        allowance(self.bytes.len(), limits)
    }

    /// The byte of the file at which an instruction stands.
    pub(super) fn byte(&self, at: u32) -> u64 {
        self.base.saturating_add(at.into())
    }

    /// The operand of the instruction at a place.
    fn operand(&self, at: u32) -> &'p [u8] {
        let rest = self.bytes.get(usize_from_u32(at)..).and_then(<[u8]>::split_first);
        let operand = rest.and_then(|(byte, rest)| {
            opcodes::find(*byte).and_then(|row| row.operand.split(rest)).map(|(operand, _)| operand)
        });
        operand.unwrap_or_default()
    }

    /// The bytes of a text, or bytes.
    pub(super) fn bytes(&self, at: u32) -> &'p [u8] {
        let bytes = self.operand(at);
        self.count_steps(bytes.len());
        bytes
    }

    /// The bytes of a text that is at most `most` bytes long; none if it is longer. A long text costs nothing, however
    /// many instructions refer to it.
    pub(super) fn short(&self, at: u32, most: usize) -> Option<&'p [u8]> {
        let bytes = self.operand(at);
        (bytes.len() <= most).then_some(bytes)
    }

    /// A text.
    pub(super) fn text(&self, at: u32) -> Result<&'p str, FormatError> {
        str::from_utf8(self.bytes(at)).map_err(|_| {
            FormatError::violation_at(Rule::TorchPickle, "a text is not UTF-8", self.byte(at))
        })
    }

    /// An integer; none if it takes more than 64 bits.
    pub(super) fn int(&self, at: u32) -> Option<i64> {
        let rest = self.bytes.get(usize_from_u32(at)..).unwrap_or_default();
        let op = rest.first().copied().unwrap_or_default();
        if b"IL".contains(&op) {
            // A longer line has more digits than 64 bits, or zeros in front that nothing writes.
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

    /// A number that is not negative; none if it is none of 64 bits.
    pub(super) fn count(&self, value: Value) -> Option<u64> {
        match value {
            Value::Int(at) => u64::try_from(self.int(at)?).ok(),
            _ => None,
        }
    }

    /// Returns whether a value is a scalar that can be an attribute.
    pub(super) fn is_scalar(&self, value: Value) -> bool {
        match value {
            Value::Int(at) => self.int(at).is_some(),
            Value::None | Value::Bool(_) | Value::Float(_) | Value::Text(_) | Value::Bytes(_) => {
                true
            }
            value => matches!(value, Value::Device(_) | Value::Global(Global::Dtype(_))),
        }
    }

    /// A number of 64 bits.
    pub(super) fn float(&self, at: u32) -> f64 {
        f64::from_be_bytes(self.operand(at).first_chunk().copied().unwrap_or_default())
    }

    /// Keeps what is not read, if nothing is kept yet.
    pub(super) fn is_unsupported(&mut self, what: &str, at: u64) {
        if self.unsupported.is_none() {
            self.unsupported = Some(FormatError::violation_at(Rule::TorchValue, what, at));
        }
    }

    /// Fails if something of it is not read.
    pub(super) fn check_supported(&mut self) -> Result<(), FormatError> {
        self.unsupported.take().map_or(Ok(()), Err)
    }

    /// Takes memory of the arena.
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

    /// An empty container.
    fn container(&mut self, at: u32) -> Result<u32, FormatError> {
        let node = Node { first: END, last: END, length: 0, at, facts: 0 };
        Self::push(&mut self.room, &mut self.nodes, node)
    }

    /// An empty container of a kind.
    fn container_of(&mut self, at: u32, fact: Fact) -> Result<u32, FormatError> {
        let node = Node { first: END, last: END, length: 0, at, facts: fact.bit() };
        Self::push(&mut self.room, &mut self.nodes, node)
    }

    /// The facts that an item makes true of its container.
    fn facts_of(&self, item: Value) -> u8 {
        match item {
            Value::Bool(_) => 0,
            Value::Int(at) if self.int(at).is_some() => 0,
            item if self.is_scalar(item) => Fact::HasOtherThanInts.bit(),
            _ => Fact::HasOtherThanInts.bit() | Fact::HasOtherThanScalars.bit(),
        }
    }

    /// Adds items to a container.
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

/// The items of a container.
#[derive(Clone, Debug)]
pub(super) struct Items<'c> {
    cells: &'c [Cell],
    next: u32,
    steps: &'c Counter<u64>,
}

impl Items<'_> {
    /// The cell that comes next, at which [`Pickle::resume`] goes on.
    pub(super) fn place(&self) -> u32 {
        self.next
    }
}

impl Pickle<'_> {
    /// The items of a container from a cell on.
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
    /// Checks a pickle that is by itself, and begins at that byte of the file, and returns its length. Others may follow only
    /// where that is said.
    pub(super) fn check(
        bytes: &[u8],
        base: u64,
        (limits, is_followed): (&Limits, bool),
    ) -> Result<usize, FormatError> {
        let steps = Counter::new(0);
        let mut machine = Machine::new(bytes, base, (Found::Alone, limits), &steps);
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
        (found, limits): (Found, &Limits),
        steps: &'p Counter<u64>,
    ) -> Self {
        let (nodes, cells, room) = (Vec::new(), Vec::new(), allowance(bytes.len(), limits));
        let pickle = Pickle { bytes, base, nodes, cells, room, unsupported: None, steps };
        let (stack, memo) = (Vec::new(), Vec::new());
        Self { pickle, found, at: 0, now: 0, frame: None, stack, highest: 0, memo }
    }

    fn violation(&self, rule: Rule, sentence: impl std::fmt::Display) -> FormatError {
        FormatError::violation_at(rule, sentence, self.pickle.byte(self.now))
    }

    /// Carries out all instructions, and returns what the last one leaves.
    fn run(&mut self) -> Result<Value, FormatError> {
        // Protocols 0 and 1 have no number.
        let protocol = match (self.pickle.bytes, self.found) {
            ([0x80, protocol @ 2..=5, ..], _) => *protocol,
            ([0x80, ..], _) | (_, Found::Archived) => {
                let sentence = "the pickle does not begin with a protocol from 2 to 5";
                return Err(self.violation(Rule::TorchPickle, sentence));
            }
            (_, Found::Alone) => 1,
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
            let allowed = row.op.filter(|_| self.found == Found::Alone || !row.is_alone);
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
            // The bytes of a frame are read at once, and some readers look for the rest of an instruction in it alone.
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

    /// Checks that nothing stands behind the instruction that was the last.
    fn check_end(&self) -> Result<(), FormatError> {
        let count = self.pickle.bytes.len().saturating_sub(self.at);
        if count == 0 {
            return Ok(());
        }
        let sentence = format_args!("{count} bytes stand behind STOP: another pickle, or data");
        Err(self.violation(Rule::TorchTrailing, sentence))
    }

    fn stop(&self) -> Result<Value, FormatError> {
        if self.frame.is_some_and(|end| self.at < end) {
            return Err(self.violation(Rule::TorchPickle, "a frame goes on behind STOP"));
        }
        match *self.stack {
            [value] if value != Value::Mark => Ok(value),
            _ => Err(self.violation(Rule::TorchPickle, "STOP does not find exactly one value")),
        }
    }

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
            // A text to PyTorch, as to everyone who reads what Python 2 wrote.
            Op::String if str::from_utf8(operand).is_ok() => self.push(Value::Text(now)),
            Op::String if self.found == Found::Archived => self.pickle.text(now).map(drop),
            Op::String => self.push(Value::Bytes(now)),
            Op::Empty(value) => {
                let node = self.empty(value)?;
                self.push(value(node))
            }
            Op::Int => match (operand.trim_ascii_end(), decimal(operand)) {
                (b"00", _) => self.push(Value::Bool(false)),
                (b"01", _) => self.push(Value::Bool(true)),
                (line, None) if !is_long(line) => {
                    Err(self.violation(Rule::TorchPickle, "a line is no number"))
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
                let found = self.memo.binary_search_by(|(kept, _)| u64::from(*kept).cmp(&index));
                let found = found.ok().and_then(|place| self.memo.get(place));
                let (_, value) = *found.ok_or_else(|| {
                    let sentence = format_args!("nothing is kept under the number {index}");
                    self.violation(Rule::TorchMemo, sentence)
                })?;
                self.push(value)
            }
            Op::Protocol if now == 0 => Ok(()),
            Op::Protocol => Err(self.violation(Rule::TorchOpcode, "another protocol begins")),
            Op::Frame => self.begin_frame(number(operand)),
            Op::Stop => Err(FormatError::internal("nothing stops the machine")),
        }
    }

    fn begin_frame(&mut self, length: u64) -> Result<(), FormatError> {
        if self.frame.is_some_and(|end| self.at < end) {
            let sentence = "a frame begins before the one in front of it ends";
            return Err(self.violation(Rule::TorchPickle, sentence));
        }
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length));
        self.frame = end.filter(|end| *end <= self.pickle.bytes.len());
        if self.frame.is_some() {
            return Ok(());
        }
        Err(self.violation(Rule::TorchPickle, "a frame goes on behind the pickle"))
    }

    /// An empty container of that kind.
    fn empty(&mut self, value: fn(u32) -> Value) -> Result<u32, FormatError> {
        match value(0) {
            Value::Dict(_) | Value::Ordered(_) => self.pickle.container_of(self.now, Fact::IsMap),
            _ => self.pickle.container(self.now),
        }
    }

    /// The number under which a value is kept.
    fn index(&self, operand: &[u8]) -> Result<u64, FormatError> {
        if !self.pickle.bytes.get(usize_from_u32(self.now)).is_some_and(|op| b"gp".contains(op)) {
            return Ok(number(operand));
        }
        let index = decimal(operand).and_then(|index| u64::try_from(index).ok());
        index.ok_or_else(|| self.violation(Rule::TorchPickle, "a line is no number"))
    }

    fn push(&mut self, value: Value) -> Result<(), FormatError> {
        if self.stack.len() < self.highest {
            self.stack.push(value);
            return Ok(());
        }
        self.highest = self.highest.saturating_add(1);
        Pickle::push(&mut self.pickle.room, &mut self.stack, value).map(drop)
    }

    /// The place on the stack at which the last `count` values begin, none of them a mark.
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

    fn pop(&mut self) -> Result<Value, FormatError> {
        self.from(1)?;
        self.stack.pop().ok_or_else(|| FormatError::internal("a value is gone"))
    }

    fn top(&self) -> Result<Value, FormatError> {
        let place = self.from(1)?;
        self.stack.get(place).copied().ok_or_else(|| FormatError::internal("a value is gone"))
    }

    /// Takes the last mark, and returns the place of the values behind it.
    fn mark(&mut self) -> Result<usize, FormatError> {
        let Some(place) = self.stack.iter().rposition(|value| *value == Value::Mark) else {
            return Err(self.violation(Rule::TorchPickle, "an instruction finds no mark"));
        };
        self.stack.remove(place);
        Ok(place)
    }

    /// Makes a container of the values from a place on.
    fn gather(&mut self, start: usize) -> Result<u32, FormatError> {
        let node = self.pickle.container(self.now)?;
        self.pickle.extend(node, self.stack.get(start..).unwrap_or_default())?;
        self.stack.truncate(start);
        Ok(node)
    }

    /// Adds values to a list, a set or a dictionary.
    fn add(&mut self, target: u8, many: bool) -> Result<(), FormatError> {
        let is_dict = target == b'd';
        let start = if many { self.mark()? } else { self.from(if is_dict { 2 } else { 1 })? };
        let place = start.checked_sub(1).and_then(|place| self.stack.get(place)).copied();
        let ((b'l', Some(Value::List(node)))
        | (b's', Some(Value::Set(node)))
        | (b'd', Some(Value::Dict(node) | Value::Ordered(node)))) = (target, place)
        else {
            let sentence = "items are added to what is no list, set or dictionary";
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

    /// Checks that a value can be a key of a dictionary or an item of a set, for which Python must hash it.
    fn check_hashable(&self, key: Value) -> Result<(), FormatError> {
        let is_changing = match key {
            Value::List(_) | Value::Dict(_) | Value::Ordered(_) => true,
            // Old pickles by themselves have sets that do not change.
            Value::Set(_) => self.found == Found::Archived,
            Value::Bytes(at) => self.pickle.is_bytearray(at),
            _ => false,
        };
        if !is_changing {
            return Ok(());
        }
        let sentence = "a key of a dictionary or an item of a set is a value that can change";
        Err(self.violation(Rule::TorchPickle, sentence))
    }

    fn put(&mut self, index: u64) -> Result<(), FormatError> {
        let value = self.top()?;
        let last = self.memo.last().map(|(last, _)| *last);
        let kept = u32::try_from(index).ok().filter(|index| last.is_none_or(|last| last < *index));
        let Some(index) = kept else {
            let sentence = format_args!("a value is kept under the number {index}, out of order");
            return Err(self.violation(Rule::TorchMemo, sentence));
        };
        Pickle::push(&mut self.pickle.room, &mut self.memo, (index, value)).map(drop)
    }

    /// Names a global by its module and its name.
    fn named(&mut self, module: &[u8], name: &[u8]) -> Result<(), FormatError> {
        if let Some(global) = globals::find(module, name) {
            return self.push(Value::Global(global));
        }
        let text = |bytes| str::from_utf8(bytes).unwrap_or("\u{fffd}");
        let (module, name) = (Short(text(module)), Short(text(name)));
        let sentence = format_args!("the global {name} of the module {module} is not allowed");
        Err(self.violation(Rule::TorchGlobal, sentence))
    }

    fn global(&mut self, operand: &[u8]) -> Result<(), FormatError> {
        let mut lines = operand.split(|byte| *byte == b'\n');
        let (module, name) = (lines.next(), lines.next());
        self.named(module.unwrap_or_default(), name.unwrap_or_default())
    }

    fn stack_global(&mut self) -> Result<(), FormatError> {
        let (name, module) = (self.pop()?, self.pop()?);
        let (Value::Text(module), Value::Text(name)) = (module, name) else {
            return Err(self.violation(Rule::TorchGlobal, "a global has names that are no text"));
        };
        let (module, name) = (self.pickle.bytes(module), self.pickle.bytes(name));
        self.named(module, name)
    }

    fn wrong_call(&self) -> FormatError {
        let sentence = "a function does not get the arguments that it needs";
        self.violation(Rule::TorchCall, sentence)
    }

    /// The value of what is not read.
    fn unread(&mut self, what: &str) -> Value {
        let at = self.pickle.byte(self.now);
        self.pickle.is_unsupported(what, at);
        Value::Unread(self.now)
    }

    /// Returns what a function makes of its arguments.
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
            (Global::Parameter(wanted), ..) if count == u32::from(wanted) => match args {
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

    /// An ordered dictionary of the pairs of a list, which is how Python 2 wrote them.
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

    /// A set of the items of a list, which may get others later.
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

    /// Notes that something is not read, unless it is empty, and remains so.
    fn check_empty(&mut self, value: Value, what: &str) {
        match value {
            Value::None => {}
            Value::Dict(node) | Value::Ordered(node) if self.pickle.length(node) == 0 => {
                self.pickle.note(node, Fact::IsHooks);
            }
            _ => drop(self.unread(what)),
        }
    }

    /// Notes that the state of a parameter is dropped, and checked when all of it is there.
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

    /// Checks that a tensor has elements that may require gradients, if it does: PyTorch fails with others.
    fn check_gradients(&self, tensor: u32, grad: Value) -> Result<(), FormatError> {
        let [storage, _, _, _, dtype] = self.pickle.first(tensor);
        let dtype = match (dtype, storage) {
            (Value::Global(Global::Dtype(dtype)), _) => dtype,
            (_, Value::Storage(storage)) => self.pickle.storage_dtype(storage),
            _ => return Err(FormatError::internal("a tensor has no storage")),
        };
        if grad == Value::Bool(true) && !dtype.has_gradients() {
            return Err(self.violation(Rule::TorchTensor, Rule::TorchTensor.row().broken));
        }
        Ok(())
    }

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
        // Bits that say that elements are conjugated or negated.
        self.check_empty(extra, "a tensor with metadata is not read");
        let node = self.pickle.container_of(self.now, Fact::IsTensor)?;
        self.pickle.extend(node, &[storage, offset, shape, strides, dtype])?;
        self.check_gradients(node, grad)?;
        Ok(Value::Tensor(node))
    }

    /// Gives a state to what has been made.
    fn build(&mut self) -> Result<(), FormatError> {
        let state = self.pop()?;
        match (self.top()?, state) {
            (Value::Ordered(_), Value::Dict(state)) => {
                // The versions of modules: they say nothing of tensors.
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
                let sentence = "a state is given to what takes none";
                return Err(self.violation(Rule::TorchCall, sentence));
            }
        }
        Ok(())
    }

    fn new_object(&mut self) -> Result<(), FormatError> {
        let (args, class) = (self.pop()?, self.pop()?);
        let (Value::Global(Global::Unread), Value::Tuple(_)) = (class, args) else {
            return Err(self.wrong_call());
        };
        let value = self.unread("an object of this class is not read");
        self.push(value)
    }

    fn persistent(&mut self) -> Result<(), FormatError> {
        let id = self.pop()?;
        let (count, [kind, class, key, device, length, view]): (_, [Value; 6]) = match id {
            Value::Tuple(node) => (self.pickle.length(node), self.pickle.first(node)),
            _ => (0, [Value::None; 6]),
        };
        let is_alone = self.found == Found::Alone;
        let text = |value: Value| match value {
            Value::Text(at) => self.pickle.short(at, LONGEST_NAME),
            // Old pickles by themselves have lines for texts.
            Value::Bytes(at) if is_alone => self.pickle.short(at, LONGEST_NAME),
            _ => None,
        };
        let place = text(device).and_then(globals::device);
        if place.is_some_and(|(kind, _)| kind == b"meta") {
            let sentence = "a storage is on the device meta, which stores nothing";
            return Err(self.violation(Rule::TorchPersistentId, sentence));
        }
        // A storage of a stream may be a part of another.
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

/// A storage, as a persistent id has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Storage<'p> {
    pub(super) dtype: Dtype,
    /// False if it is one of bytes, whatever tensors make of them.
    pub(super) is_typed: bool,
    pub(super) key: &'p str,
    pub(super) device: &'p [u8],
    /// The number of elements; none if it is negative or larger than 64 bits.
    pub(super) length: Option<u64>,
}

impl<'p> Pickle<'p> {
    /// Returns the storage of a node.
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

    /// The type of the elements of a storage.
    fn storage_dtype(&self, node: u32) -> Dtype {
        match self.first(node) {
            [Value::Global(Global::Storage(dtype))] => dtype,
            _ => BYTES,
        }
    }

    /// Returns whether bytes are a value that can change.
    fn is_bytearray(&self, at: u32) -> bool {
        self.bytes.get(usize_from_u32(at)) == Some(&BYTEARRAY)
    }
}

/// A device that PyTorch knows with a package beside it.
const DEVICE: &str = "a device of this kind is not read";
/// The instruction for bytes that can change.
const BYTEARRAY: u8 = 0x96;

/// The sentence for a dictionary of an odd number of items.
const ODD: &str = "a key of a dictionary has no value";

/// A number in decimal digits, as lines have it; none if it is none of 64 bits.
fn decimal(line: &[u8]) -> Option<i64> {
    let line = line.trim_ascii_end();
    let digits = line.strip_suffix(b"L").unwrap_or(line);
    str::from_utf8(digits).ok()?.parse().ok()
}

/// Returns whether a line is a number, of however many digits.
fn is_long(line: &[u8]) -> bool {
    let digits = line.strip_suffix(b"L").unwrap_or(line);
    let digits = digits.strip_prefix(b"-").unwrap_or(digits);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// A little-endian number without a sign.
fn number(operand: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    if let Some(start) = bytes.get_mut(..operand.len()) {
        start.copy_from_slice(operand);
    }
    u64::from_le_bytes(bytes)
}

impl Operand {
    /// Splits the operand off the bytes behind an instruction, without its length; none if they end before it does.
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

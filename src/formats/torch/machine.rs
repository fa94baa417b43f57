//! The machine that reads a pickle without calling any function. It executes the instructions once, from the first to the
//! last, and never recurses. No number in the pickle decides how much memory is allocated.
//!
//! The module `calls` has the effects of functions and classes.

use alloc::vec::Vec;
use core::cell::Cell as Counter;

use crate::escape::Short;
use crate::formats::error::{FormatError, follow};
use crate::formats::rules::{CHECKPOINT, Rule};
use crate::limits::Limits;
use crate::num::{len_u32, u64_from_usize, usize_from_u32};

use super::globals::{self, Global, Known};
use super::opcodes::{self, Op};
use super::pickle::{BeyondTorch, Fact, Pickle, Pickled, Unknown, allowance, decimal, unsigned};

/// The kind of file and the place in the file from which a pickle comes. It decides which opcodes and globals are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// A pickle in a zip archive, which is not a TorchScript program.
    Archived,
    /// The data of a TorchScript program. The program defines the classes of the values.
    Script,
    /// The pickle of the value in the stream that PyTorch wrote before 1.6.
    Stream,
    /// One of the other four pickles that such a stream consists of: a magic number, a version, properties of the machine that wrote
    /// the file, and the keys of all storages. These pickles contain no tensors and no references to storages.
    StreamHeader,
    /// A file that is only a pickle, without storages.
    Alone,
    /// The pickle of a NumPy array of Python objects.
    Objects,
}

impl Context {
    /// Returns whether a pickle from this place may have opcodes that no program writes for a checkpoint.
    pub(super) fn allows_any_opcode(self) -> bool {
        matches!(self, Self::Alone | Self::Objects)
    }
}

/// The settings with which the machine reads a pickle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'l> {
    /// Where the pickle comes from.
    pub(super) context: Context,
    /// The limits of the caller.
    pub(super) limits: &'l Limits,
    /// Whether a pickle may import globals that zten does not know. Their objects become opaque values.
    pub(super) tolerates_globals: bool,
}

/// The message for a dictionary whose keys and values are an odd number of items.
const ODD: &str = "a key of a dictionary has no value";
/// The message for a line that should contain a number and does not.
const NOT_A_NUMBER: &str =
    "the operand of an instruction is not a decimal integer, or has leading zeros";
/// The message for a key of a dictionary or an item of a set that Python cannot hash, because it is mutable.
const MUTABLE: &str = "a key of a dictionary or an item of a set is a mutable value";

/// The machine that executes the instructions of a pickle and builds its value, without running any Python code.
pub(super) struct Machine<'p> {
    /// The pickle, with the values that its instructions have made so far.
    pub(super) pickle: Pickle<'p>,
    /// Where the pickle comes from.
    pub(super) context: Context,
    /// Whether the pickle may import globals that zten does not know. Their objects become opaque values.
    pub(super) tolerates_globals: bool,
    /// The position of the next instruction, in bytes from the start of the pickle.
    at: usize,
    /// The position of the current instruction, in bytes from the start of the pickle.
    pub(super) now: u32,
    /// The position in the pickle at which the last frame ends that an instruction FRAME has begun; `None` before the
    /// first frame.
    frame: Option<usize>,
    /// The stack of values and marks on which the instructions work.
    stack: Vec<Pickled>,
    /// The largest number of values on the stack so far. Memory for this number has been charged to the arena.
    highest: usize,
    /// The memo: keys with their values, in ascending order of the keys.
    memo: Vec<(u32, Pickled)>,
    /// The protocol of the pickle.
    protocol: u8,
}

impl<'p> Pickle<'p> {
    /// Reads the pickle `bytes`, which begins at offset `base` of the file, and returns the pickle and its value. Bytes after
    /// the pickle are an error. `steps` counts the instructions, items of containers and bytes of operands that are visited.
    pub(super) fn read(
        bytes: &'p [u8],
        base: u64,
        setting: Setting<'_>,
        steps: &'p Counter<u64>,
    ) -> Result<(Self, Pickled), FormatError> {
        let mut machine = Machine::new(bytes, base, setting, steps);
        let value = machine.run()?;
        machine.check_end()?;
        Ok((machine.pickle, value))
    }

    /// Checks the pickle of an array of Python objects, which begins at offset `base` of the file. Bytes after the pickle are
    /// ignored, as NumPy ignores them.
    pub(super) fn check_objects(
        bytes: &'p [u8],
        base: u64,
        (limits, steps): (&Limits, &'p Counter<u64>),
    ) -> Result<(), FormatError> {
        let setting = Setting { context: Context::Objects, limits, tolerates_globals: false };
        Machine::new(bytes, base, setting, steps).run().map(drop)
    }
}

impl<'p> Machine<'p> {
    fn new(bytes: &'p [u8], base: u64, setting: Setting<'_>, steps: &'p Counter<u64>) -> Self {
        let Setting { context, limits, tolerates_globals } = setting;
        let pickle = Pickle::new(bytes, base, allowance(bytes.len(), limits), steps);
        let (stack, memo) = (Vec::new(), Vec::new());
        Self {
            pickle,
            context,
            tolerates_globals,
            at: 0,
            now: 0,
            frame: None,
            stack,
            highest: 0,
            memo,
            protocol: 0,
        }
    }

    /// Returns the error for a violation of `rule` at the current instruction.
    pub(super) fn violation(&self, rule: Rule, sentence: impl core::fmt::Display) -> FormatError {
        FormatError::violation_at(rule, sentence, self.pickle.byte(self.now))
    }

    /// Executes all instructions up to STOP, and returns the value that STOP finds on the stack.
    fn run(&mut self) -> Result<Pickled, FormatError> {
        // Pickles of protocols 0 and 1 do not begin with the opcode PROTO.
        self.protocol = match (self.pickle.bytes, self.context) {
            ([0x80, protocol @ 2..=5, ..], _) => *protocol,
            ([0x80, ..], _) | (_, Context::Archived | Context::Script) => {
                let sentence = "the pickle does not begin with a protocol from 2 to 5";
                return Err(self.violation(Rule::TorchPickle, sentence));
            }
            (_, Context::Stream | Context::StreamHeader | Context::Alone | Context::Objects) => 1,
        };
        loop {
            self.now = len_u32(self.at);
            let rest = self.pickle.bytes.get(self.at..).unwrap_or_default();
            let Some((byte, rest)) = rest.split_first() else {
                return Err(self.violation(Rule::TorchPickle, "the pickle ends without STOP"));
            };
            let Some(row) = opcodes::find(*byte) else {
                let sentence =
                    format_args!("the byte {byte:#04x} is not an instruction of a pickle");
                return Err(self.violation(Rule::TorchOpcode, sentence));
            };
            let allowed = row.op.filter(|_| self.context.allows_any_opcode() || !row.is_alone);
            let Some(op) = allowed else {
                let name = row.name;
                let sentence = format_args!("the instruction {name} ({byte:#04x}) is not allowed");
                return Err(self.violation(Rule::TorchOpcode, sentence));
            };
            let protocol = self.protocol;
            if row.protocol() > protocol {
                let (name, first) = (row.name, row.protocol());
                let sentence = format_args!(
                    "the instruction {name} belongs to protocol {first}, but the pickle has protocol {protocol}"
                );
                return Err(self.violation(Rule::TorchOpcode, sentence));
            }
            if !row.is_of_torch {
                self.is_beyond_torch(Unknown::Instruction(row.name));
            }
            let Some((operand, rest)) = row.operand.split(rest) else {
                let name = row.name;
                let sentence = format_args!("the pickle ends within the instruction {name}");
                return Err(self.violation(Rule::TorchPickle, sentence));
            };
            let from = self.at;
            self.at = self.pickle.bytes.len().saturating_sub(rest.len());
            self.pickle.count_steps(self.at.saturating_sub(from));
            // Unpicklers read a frame as a whole. Some fail on an instruction that crosses the end of a frame, and others do not.
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

    /// Checks that no bytes follow STOP, the last instruction of the pickle.
    fn check_end(&self) -> Result<(), FormatError> {
        let count = self.pickle.bytes.len().saturating_sub(self.at);
        if count == 0 {
            return Ok(());
        }
        let sentence = follow(u64_from_usize(count), "STOP: another pickle, or data");
        Err(self.violation(Rule::TorchTrailing, sentence))
    }

    /// Executes STOP: returns the only value on the stack. Fails if the stack has no or several values, or a frame extends
    /// beyond STOP.
    fn stop(&self) -> Result<Pickled, FormatError> {
        if self.frame.is_some_and(|end| self.at < end) {
            return Err(self.violation(Rule::TorchPickle, "a frame extends beyond STOP"));
        }
        match *self.stack {
            [value] if value != Pickled::Mark => Ok(value),
            _ => Err(self.violation(
                Rule::TorchPickle,
                "the stack does not have exactly one value at the instruction STOP",
            )),
        }
    }

    /// Executes the instruction `op` with its `operand`.
    fn step(&mut self, op: Op, operand: &[u8]) -> Result<(), FormatError> {
        let now = self.now;
        match op {
            Op::Push(value) => self.push(value),
            Op::Scalar(value) => {
                let value = value(now);
                if let Pickled::Text(at) = value {
                    self.pickle.text(at)?;
                }
                self.push(value)
            }
            // PyTorch decodes the strings of Python 2 as UTF-8 texts.
            Op::String if str::from_utf8(operand).is_ok() => self.push(Pickled::Text(now)),
            Op::String if self.context.allows_any_opcode() => self.push(Pickled::Bytes(now)),
            Op::String => self.pickle.text(now).map(drop),
            Op::Empty(value) => {
                let node = self.empty(value)?;
                self.push(value(node))
            }
            Op::Int => match operand {
                b"00\n" => self.push(Pickled::Bool(false)),
                b"01\n" => self.push(Pickled::Bool(true)),
                operand => self.decimal(operand.strip_suffix(b"\n").unwrap_or(operand)),
            },
            Op::Long => {
                let line = operand.strip_suffix(b"\n").unwrap_or(operand);
                self.decimal(line.strip_suffix(b"L").unwrap_or(line))
            }
            Op::Tuple(count) => {
                let start = self.from(count.into())?;
                let node = self.gather(start)?;
                self.push(Pickled::Tuple(node))
            }
            Op::Gather(value) => {
                let start = self.mark()?;
                let node = self.gather(start)?;
                match value(node) {
                    Pickled::Dict(_) => {
                        self.pickle.note(node, Fact::IsMap);
                        if self.pickle.length(node) & 1 == 1 {
                            return Err(self.violation(Rule::TorchPickle, ODD));
                        }
                    }
                    // FROZENSET is the only opcode that gathers its items into a set, so this set is a `frozenset`.
                    Pickled::Set(_) => {
                        self.pickle.note(node, Fact::IsFrozen);
                        if self.pickle.has(node, Fact::HasMutable) {
                            return Err(self.violation(Rule::TorchPickle, MUTABLE));
                        }
                    }
                    _ => {}
                }
                self.push(value(node))
            }
            Op::Pop(false) if self.stack.last() != Some(&Pickled::Mark) => self.pop().map(drop),
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
                    .violation(Rule::TorchOpcode, "PROTO is allowed only as the first instruction"))
            }
            Op::Frame => self.begin_frame(unsigned(operand)),
            Op::Stop => Err(FormatError::internal(
                "the machine continues after STOP, which must end the pickle",
            )),
        }
    }

    /// Executes FRAME: begins a frame, a group of instructions of `length` bytes, after the current instruction.
    fn begin_frame(&mut self, length: u64) -> Result<(), FormatError> {
        if self.frame.is_some_and(|end| self.at < end) {
            let sentence = "a frame of the pickle begins within another frame";
            return Err(self.violation(Rule::TorchPickle, sentence));
        }
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length));
        self.frame = end.filter(|end| *end <= self.pickle.bytes.len());
        if self.frame.is_some() {
            return Ok(());
        }
        Err(self.violation(Rule::TorchPickle, "a frame extends beyond the pickle"))
    }

    /// Creates an empty container, and returns its node. `value` makes the [`Pickled`] for the node, and so gives the type.
    pub(super) fn empty(&mut self, value: fn(u32) -> Pickled) -> Result<u32, FormatError> {
        match value(0) {
            Pickled::Dict(_) | Pickled::Ordered(_) | Pickled::Namespace(_) => {
                self.pickle.container_of(self.now, Fact::IsMap)
            }
            _ => self.pickle.container(self.now),
        }
    }

    /// Returns the key of the memo in `operand`, the operand of the current instruction GET or PUT: a line of decimal
    /// digits, or a binary number.
    fn index(&self, operand: &[u8]) -> Result<u64, FormatError> {
        if !self.pickle.bytes.get(usize_from_u32(self.now)).is_some_and(|op| b"gp".contains(op)) {
            return Ok(unsigned(operand));
        }
        let digits = operand.strip_suffix(b"\n").and_then(decimal);
        let index = digits.and_then(|digits| digits.value()?.try_into().ok());
        index.ok_or_else(|| self.unusual_integer(NOT_A_NUMBER))
    }

    /// Pushes the integer in `line`, which is the operand of the current instruction without the newline and the suffix `L`.
    fn decimal(&mut self, line: &[u8]) -> Result<(), FormatError> {
        let Some(digits) = decimal(line) else {
            return Err(self.unusual_integer(NOT_A_NUMBER));
        };
        if digits.is_too_long() {
            let sentence = "an integer has more than 4300 decimal digits, which Python does not read by default";
            return Err(self.unusual_integer(sentence));
        }
        self.push(Pickled::Int(self.now))
    }

    /// Returns the error about an integer in a line of text that no program writes, such as one with leading zeros. The advice is
    /// to save the tensors again: the file is not damaged.
    fn unusual_integer(&self, sentence: &'static str) -> FormatError {
        self.violation(Rule::TorchPickle, sentence).advising(CHECKPOINT)
    }

    /// Pushes `value` on the stack.
    pub(super) fn push(&mut self, value: Pickled) -> Result<(), FormatError> {
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
            Some((start, values)) if !values.contains(&Pickled::Mark) => Ok(start),
            _ => {
                let sentence = "an instruction finds fewer values than it takes";
                Err(self.violation(Rule::TorchPickle, sentence))
            }
        }
    }

    /// Pops the value on top of the stack. Fails on a mark.
    pub(super) fn pop(&mut self) -> Result<Pickled, FormatError> {
        self.from(1)?;
        self.stack.pop().ok_or_else(|| {
            FormatError::internal("the stack of a pickle lacks a value that was on it")
        })
    }

    /// Returns the value on top of the stack. Fails on a mark.
    pub(super) fn top(&self) -> Result<Pickled, FormatError> {
        let place = self.from(1)?;
        self.stack.get(place).copied().ok_or_else(|| {
            FormatError::internal("the stack of a pickle lacks a value that was on it")
        })
    }

    /// Removes the last mark from the stack, and returns the position of the first value that was above the mark.
    fn mark(&mut self) -> Result<usize, FormatError> {
        let Some(place) = self.stack.iter().rposition(|value| *value == Pickled::Mark) else {
            return Err(self.violation(
                Rule::TorchPickle,
                "an instruction takes all values above a mark, but the stack has no mark",
            ));
        };
        self.stack.remove(place);
        Ok(place)
    }

    /// Pops the values of the stack from index `start` up to the top, and returns the node of a new container of them.
    fn gather(&mut self, start: usize) -> Result<u32, FormatError> {
        let node = self.pickle.container(self.now)?;
        self.pickle.extend(node, self.stack.get(start..).unwrap_or_default())?;
        self.stack.truncate(start);
        Ok(node)
    }

    /// Pops items and adds them to the list (`target` is `l`), set (`s`) or dictionary (`d`) below: all values above the last
    /// mark if `many`, and otherwise one item, which is a key and a value for a dictionary. An object of a class that zten does
    /// not know takes any items.
    fn add(&mut self, target: u8, many: bool) -> Result<(), FormatError> {
        let is_dict = target == b'd';
        let start = if many { self.mark()? } else { self.from(if is_dict { 2 } else { 1 })? };
        let place = start.checked_sub(1).and_then(|place| self.stack.get(place)).copied();
        if let Some(Pickled::Object(node)) = place
            && self.is_foreign(node)
        {
            return self.add_to_object(node, start, is_dict);
        }
        let ((b'l', Some(Pickled::List(node)))
        | (b's', Some(Pickled::Set(node)))
        | (b'd', Some(Pickled::Dict(node) | Pickled::Ordered(node)))) = (target, place)
        else {
            let sentence = "items are added to a value that is not a list, set or dictionary";
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
    pub(super) fn check_hashable(&self, key: Pickled) -> Result<(), FormatError> {
        if self.pickle.is_mutable(key) {
            return Err(self.violation(Rule::TorchPickle, MUTABLE));
        }
        Ok(())
    }

    /// Pops the values from position `start` of the stack on, and adds them to the items of the object `node`, whose class zten
    /// does not know: keys and values if `is_dict`, and values otherwise. The object keeps all batches of items in one container.
    fn add_to_object(&mut self, node: u32, start: usize, is_dict: bool) -> Result<(), FormatError> {
        let values = self.stack.get(start..).unwrap_or_default();
        if is_dict && values.len().checked_rem(2) != Some(0) {
            return Err(self.violation(Rule::TorchPickle, ODD));
        }
        let last = match (self.pickle.last(node), is_dict) {
            (Some(Pickled::Dict(last)), true) | (Some(Pickled::List(last)), false) => Some(last),
            _ => None,
        };
        let known = last.filter(|last| self.pickle.has(*last, Fact::IsItems));
        let items = if let Some(items) = known {
            items
        } else {
            let value = if is_dict { Pickled::Dict } else { Pickled::List };
            let items = self.empty(value)?;
            self.pickle.note(items, Fact::IsItems);
            self.pickle.extend(node, &[value(items)])?;
            items
        };
        let values = self.stack.get(start..).unwrap_or_default();
        self.pickle.extend(items, values)?;
        self.stack.truncate(start);
        Ok(())
    }

    /// Returns whether the class of the object `node` is one that zten does not know.
    pub(super) fn is_foreign(&self, node: u32) -> bool {
        let [class] = self.pickle.first(node);
        matches!(class, Pickled::Foreign(_) | Pickled::Object(_))
    }

    /// Stores the value on top of the stack in the memo under the key `index`, which must be larger than all earlier keys.
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

    /// Pushes the global `name` of `module`, or returns an error if the pickle may not import it. If the instruction takes
    /// both names from the stack, `texts` are these two values, so that a global that zten does not know can refer to them.
    /// If the names are in the instruction itself, `texts` is empty.
    fn named(&mut self, module: &[u8], name: &[u8], texts: &[Pickled]) -> Result<(), FormatError> {
        // Up to protocol 2, Python maps `__builtin__`, a module of Python 2, to `builtins`. In later protocols Python imports a
        // module of the name `__builtin__`, which could be any file in the folder of the program.
        let is_of_python_2 = module == b"__builtin__" && self.protocol > 2;
        if let Some(found) = globals::find(module, name)
            && self.may_import(found.global)
            && !is_of_python_2
        {
            if let (false, Global::Known(known)) = (found.is_of_torch, found.global) {
                self.is_beyond_torch(Unknown::Import(known));
            }
            return self.push(Pickled::Global(found.global));
        }
        // The name must not have a dot, because a dotted name reaches any function through a harmless module: `os.system` in the
        // module `pathlib` is the function of `os`.
        let is_of_script = self.context == Context::Script && globals::is_of_script(module);
        let may_be_unknown = self.tolerates_globals || is_of_script;
        if may_be_unknown && globals::is_path(module) && globals::is_word(name) {
            // A pickle can refer to one long name many times, in a few bytes each, so the bytes of the name are charged
            // each time.
            self.pickle.charge(module.len().saturating_add(name.len()))?;
            let node = self.pickle.container(self.now)?;
            self.pickle.extend(node, texts)?;
            if !is_of_script {
                self.pickle.note(node, Fact::IsForeign);
            }
            return self.push(Pickled::Foreign(node));
        }
        let text = |bytes| str::from_utf8(bytes).unwrap_or("\u{fffd}");
        let (module, name) = (Short(text(module)), Short(text(name)));
        let sentence = format_args!("the global {name} of the module {module} is not allowed");
        Err(self.violation(Rule::TorchGlobal, sentence))
    }

    /// Returns whether a pickle of this context may import `global`. Only the data of a TorchScript program may import the
    /// functions that make typed lists.
    fn may_import(&self, global: Global) -> bool {
        let is_of_script = matches!(global, Global::Known(Known::ScriptList | Known::ScriptType));
        !is_of_script || self.context == Context::Script
    }

    /// Records that PyTorch does not know `what` when it loads with `weights_only=True`, so that a note can say why PyTorch
    /// rejects the file. Only the first record is kept.
    pub(super) fn is_beyond_torch(&mut self, what: Unknown) {
        let at = self.pickle.byte(self.now);
        self.pickle.beyond_torch.get_or_insert(BeyondTorch { at, what });
    }

    /// Executes GLOBAL: imports the global that two lines name.
    fn global(&mut self, operand: &[u8]) -> Result<(), FormatError> {
        let mut lines = operand.split(|byte| *byte == b'\n');
        let (module, name) = (lines.next(), lines.next());
        self.named(module.unwrap_or_default(), name.unwrap_or_default(), &[])
    }

    /// Executes `STACK_GLOBAL`: imports the global that two texts on the stack name.
    fn stack_global(&mut self) -> Result<(), FormatError> {
        let (name, module) = (self.pop()?, self.pop()?);
        let texts = [module, name];
        let [Pickled::Text(module), Pickled::Text(name)] = texts else {
            let sentence = "the module and the name of a global are not text";
            return Err(self.violation(Rule::TorchGlobal, sentence));
        };
        let (module, name) = (self.pickle.bytes(module), self.pickle.bytes(name));
        self.named(module, name, &texts)
    }
}

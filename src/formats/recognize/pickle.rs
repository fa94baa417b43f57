//! Detecting whether a file is a pickle, without executing it.
//!
//! Python's unpickler executes each instruction as soon as it is read. A file is dangerous from the first instruction that
//! calls a function, even if the rest of the file is cut or damaged. The scanner therefore follows the unpickler from the
//! first byte, and stops where the unpickler would call a function or fail. The scanner has no list of allowed functions and
//! no policy; [`crate::formats::torch`] has both.
//!
//! A real pickle that passes for another file is more dangerous than a false alarm. If the behavior of the unpickler depends
//! on something that the scanner does not track, the scanner assumes that the unpickler continues. The scanner distinguishes
//! values only if the unpickler fails on some of them.
//!
//! Time is linear in the bytes that are read, and operands are skipped. Memory is bounded: a run of equal values on the stack
//! takes one entry, and both the stack and the memo have a limit.

use alloc::vec::Vec;

use crate::formats::error::FormatError;
use crate::formats::ordered_map::OrderedMap;
use crate::num::u64_from_usize;

use super::input::Input;

/// The reason why a file is taken for a pickle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// An instruction calls a function, or changes an imported object.
    Call,
    /// An instruction imports a module, in a file that is no text.
    Import,
    /// The pickle ends with the opcode STOP and calls no function. A text that calls only objects with odd names counts as such
    /// a pickle.
    Stop,
    /// The file, which is no text, has the opcode PROTO and at least one more instruction, and ends before the end of the
    /// pickle without a call.
    Cut,
    /// The stack of the pickle exceeds the limit of the scanner.
    Limit,
}

/// Scans `input` from its first byte. Returns `None` if Python's unpickler fails before it calls or returns anything, or if the
/// input ends too early to tell: before the end of the pickle, in a text or without the opcode PROTO.
///
/// `is_text` says that the first bytes of the file are text. Text may begin like a pickle by chance, so an import in a text is
/// not enough evidence, and neither is a pickle that is cut.
///
/// # Errors
/// The input cannot be read, or memory is out.
pub(crate) fn scan(
    input: &mut impl Input,
    is_text: bool,
    persistent_ids: PersistentIds,
) -> Result<Option<Evidence>, FormatError> {
    let mut scanner = Scanner {
        input,
        is_text,
        persistent_ids,
        stack: Stack::default(),
        memo: Memo::default(),
        count: 0,
        has_protocol: false,
        keeps_values: false,
        calls_oddly: false,
    };
    loop {
        match scanner.step() {
            Ok(()) => {}
            Err(Halt::Malformed) => return Ok(None),
            Err(Halt::Cut) => {
                let is_pickle = scanner.has_protocol && !is_text && scanner.count > 1;
                return Ok(is_pickle.then_some(Evidence::Cut));
            }
            Err(Halt::Found(evidence)) => return Ok(Some(evidence)),
            Err(Halt::Failed(error)) => return Err(error),
        }
    }
}

/// What the program that unpickles a file does with persistent ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PersistentIds {
    /// The program resolves persistent ids to objects that may be callable, as PyTorch does for its checkpoints.
    Resolved,
    /// The program has no function for persistent ids, so unpickling fails at the first one. `pickle.load` unpickles every file in
    /// this way. PyTorch does so if the first bytes of the file are also those of a zip archive or a safetensors file.
    Failing,
}

/// The reason why a scan ended.
enum Halt {
    /// The unpickler would fail at this instruction.
    Malformed,
    /// The input ends within or before this instruction.
    Cut,
    /// The file is a pickle.
    Found(Evidence),
    /// The input cannot be read.
    Failed(FormatError),
}

impl From<FormatError> for Halt {
    fn from(error: FormatError) -> Self {
        Self::Failed(error)
    }
}

type Step<T = ()> = Result<T, Halt>;

/// The kind of a value on the stack. Two kinds differ only if some instruction fails on one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StackKind {
    Mark,
    /// A number, bytes, a tuple or the like, which cannot be called and to which no item can be added.
    Plain,
    Text,
    /// A list or a bytearray.
    List,
    Dict,
    Set,
    /// An imported object, or the result of a loader's callback for persistent ids: the object may be callable.
    Object,
    /// An object that is imported by a name with characters that no Python name has. Such an object is unlikely to exist, and
    /// the file is likely text.
    OddObject,
}

/// A scan that executes the instructions of a file as a pickle, without calling anything, to decide whether the file is a
/// pickle.
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent")]
struct Scanner<'i, I> {
    input: &'i mut I,
    is_text: bool,
    persistent_ids: PersistentIds,
    stack: Stack,
    memo: Memo,
    /// The number of instructions of the current pickle that have been read.
    count: u64,
    /// Whether the current pickle has an instruction PROTO.
    has_protocol: bool,
    /// Whether the current pickle has put values into the memo. Text rarely does so by chance.
    keeps_values: bool,
    /// Whether a text has called an [`OddObject`](StackKind::OddObject).
    calls_oddly: bool,
}

impl<I: Input> Scanner<'_, I> {
    /// Reads one instruction and updates the stack and the memo.
    #[expect(clippy::too_many_lines, reason = "one arm for each instruction, as in a table")]
    fn step(&mut self) -> Step {
        let op = self.input.byte()?.ok_or(Halt::Cut)?;
        self.count = self.count.saturating_add(1);
        match op {
            b'(' => self.stack.push(StackKind::Mark)?,
            b')' | b'N' | 0x88 | 0x89 | 0x97 => self.stack.push(StackKind::Plain)?,
            b']' => self.stack.push(StackKind::List)?,
            b'}' => self.stack.push(StackKind::Dict)?,
            0x8f => self.stack.push(StackKind::Set)?,
            b'K' => self.fixed(1)?,
            b'M' => self.fixed(2)?,
            b'J' => self.fixed(4)?,
            b'G' => self.fixed(8)?,
            b'I' | b'L' => self.integer()?,
            b'F' => self.float()?,
            b'S' => self.quoted()?,
            b'V' => {
                self.line()?;
                self.stack.push(StackKind::Text)?;
            }
            b'U' | 0x8c => self.counted::<1>(StackKind::Text)?,
            b'X' => self.counted::<4>(StackKind::Text)?,
            0x8d => self.counted::<8>(StackKind::Text)?,
            b'T' => self.counted_signed(StackKind::Text)?,
            0x8b => self.counted_signed(StackKind::Plain)?,
            b'C' | 0x8a => self.counted::<1>(StackKind::Plain)?,
            b'B' => self.counted::<4>(StackKind::Plain)?,
            0x8e => self.counted::<8>(StackKind::Plain)?,
            0x96 => self.counted::<8>(StackKind::List)?,
            b'c' => {
                let (object, spelling) = self.names()?;
                self.import(object, spelling)?;
            }
            0x93 => {
                for _ in 0..2 {
                    let name = self.stack.pop()?;
                    if !matches!(name, StackKind::Text | StackKind::Object | StackKind::OddObject) {
                        return Err(Halt::Malformed);
                    }
                }
                self.import(StackKind::Object, Spelling::Path)?;
            }
            // The opcodes EXT1, EXT2 and EXT4 import an object by a number in `copyreg`'s registry.
            0x82 => self.extension::<1>()?,
            0x83 => self.extension::<2>()?,
            0x84 => self.extension::<4>()?,
            b'P' | b'Q' if self.persistent_ids == PersistentIds::Failing => {
                return Err(Halt::Malformed);
            }
            b'P' => {
                self.line()?;
                self.stack.push(StackKind::Object)?;
            }
            b'Q' => {
                self.stack.pop()?;
                self.stack.push(StackKind::Object)?;
            }
            b'R' | 0x81 => {
                self.stack.pop()?;
                let function = self.stack.pop()?;
                self.call(function)?;
            }
            0x92 => {
                self.stack.pop()?;
                self.stack.pop()?;
                let class = self.stack.pop()?;
                self.call(class)?;
            }
            b'i' => {
                let (class, _) = self.names()?;
                self.stack.pop_mark()?;
                self.call(class)?;
            }
            b'o' => {
                let class = self.stack.pop_mark()?.ok_or(Halt::Malformed)?;
                self.call(class)?;
            }
            b'b' => {
                self.stack.pop()?;
                let object = self.stack.top()?;
                if matches!(object, StackKind::Object | StackKind::OddObject) {
                    self.stack.pop()?;
                    self.call(object)?;
                }
            }
            b'a' => self.add(1, |value| value == StackKind::List)?,
            b's' => self.add(2, |value| matches!(value, StackKind::List | StackKind::Dict))?,
            b'e' => self.add_all(|value| value == StackKind::List)?,
            b'u' => self.add_all(|value| matches!(value, StackKind::List | StackKind::Dict))?,
            0x90 => self.add_all(|value| value == StackKind::Set)?,
            b't' | 0x91 => self.gather(StackKind::Plain)?,
            b'l' => self.gather(StackKind::List)?,
            b'd' => self.gather(StackKind::Dict)?,
            0x85..=0x87 => {
                for _ in 0x84..op {
                    self.stack.pop()?;
                }
                self.stack.push(StackKind::Plain)?;
            }
            b'0' => self.stack.pop_any()?,
            b'1' => drop(self.stack.pop_mark()?),
            b'2' => {
                let top = self.stack.top()?;
                self.stack.push(top)?;
            }
            b'p' => {
                let key = self.key()?;
                self.put(key)?;
            }
            b'q' => {
                let key = self.number::<1>()?;
                self.put(key)?;
            }
            b'r' => {
                let key = self.number::<4>()?;
                self.put(key)?;
            }
            0x94 => {
                let key = self.memo.length();
                self.put(key)?;
            }
            b'g' => {
                let key = self.key()?;
                self.get(key)?;
            }
            b'h' => {
                let key = self.number::<1>()?;
                self.get(key)?;
            }
            b'j' => {
                let key = self.number::<4>()?;
                self.get(key)?;
            }
            0x80 => {
                if self.number::<1>()? > 5 {
                    return Err(Halt::Malformed);
                }
                self.has_protocol = true;
            }
            // The length of a frame only tells an unpickler how far to read ahead, so instructions run even if their frame is
            // cut.
            0x95 => drop(self.number::<8>()?),
            0x98 => drop(self.stack.top()?),
            b'.' => self.stop()?,
            _ => return Err(Halt::Malformed),
        }
        Ok(())
    }

    /// Skips the operand of `length` bytes of an instruction that pushes a number.
    fn fixed(&mut self, length: u64) -> Step {
        self.skip(length)?;
        self.stack.push(StackKind::Plain)
    }

    /// Skips `length` bytes of the input.
    fn skip(&mut self, length: u64) -> Step {
        if self.input.skip(length)? { Ok(()) } else { Err(Halt::Cut) }
    }

    /// Reads a little-endian number of `N` bytes.
    fn number<const N: usize>(&mut self) -> Step<u64> {
        let bytes = self.input.array::<N>()?.ok_or(Halt::Cut)?;
        let bytes = bytes.iter().rev();
        Ok(bytes.fold(0, |number, byte| number.wrapping_shl(8) | u64::from(*byte)))
    }

    /// Skips an operand that begins with its length in `N` bytes, and pushes `value`.
    fn counted<const N: usize>(&mut self, value: StackKind) -> Step {
        let length = self.number::<N>()?;
        self.skip(length)?;
        self.stack.push(value)
    }

    /// Skips an operand that begins with its length in 4 bytes, and pushes `value`. The unpickler fails on a length whose sign
    /// bit is set.
    fn counted_signed(&mut self, value: StackKind) -> Step {
        let length = self.number::<4>()?;
        if length > 0x7fff_ffff {
            return Err(Halt::Malformed);
        }
        self.skip(length)?;
        self.stack.push(value)
    }

    /// Reads a line up to and including the next newline. The scan ends if the input has no further newline.
    fn line(&mut self) -> Step<Line> {
        match self.line_or_end()? {
            (line, true) => Ok(line),
            (_, false) => Err(Halt::Cut),
        }
    }

    /// Reads a line up to and including the next newline or, if the input has no further newline, up to the end of the
    /// input. Returns the line without its last byte, and whether this byte is a newline.
    ///
    /// The unpickler that is written in Python drops the last byte of every line, whatever the byte is, so this unpickler
    /// continues after a line that ends with the file. joblib and `torch.load` use this unpickler.
    fn line_or_end(&mut self) -> Step<(Line, bool)> {
        let mut line = Line::new();
        // The last byte that was read. The byte belongs to the line if another byte follows.
        let mut held = None;
        loop {
            let bytes = self.input.fill()?;
            if bytes.is_empty() {
                return if held.is_some() { Ok((line, false)) } else { Err(Halt::Cut) };
            }
            if let Some(byte) = held {
                line.extend(&[byte]);
            }
            if let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
                line.extend(bytes.get(..end).unwrap_or_default());
                self.input.consume(end.saturating_add(1));
                return Ok((line, true));
            }
            let (last, part) = bytes.split_last().unwrap_or((&0, &[]));
            line.extend(part);
            held = Some(*last);
            let length = bytes.len();
            self.input.consume(length);
        }
    }

    fn integer(&mut self) -> Step {
        if self.line()?.is_integer() {
            self.stack.push(StackKind::Plain)
        } else {
            Err(Halt::Malformed)
        }
    }

    fn float(&mut self) -> Step {
        if self.line()?.is_float() {
            self.stack.push(StackKind::Plain)
        } else {
            Err(Halt::Malformed)
        }
    }

    fn quoted(&mut self) -> Step {
        if self.line()?.is_quoted() {
            self.stack.push(StackKind::Text)
        } else {
            Err(Halt::Malformed)
        }
    }

    /// Reads a line that contains the key of a value in the memo.
    fn key(&mut self) -> Step<u64> {
        self.line()?.key().ok_or(Halt::Malformed)
    }

    /// Reads two lines that name a module and an attribute of the module. Returns the kind of the imported object, and the spelling
    /// of the module's name or of the attribute's name, whichever is less plausible.
    fn names(&mut self) -> Step<(StackKind, Spelling)> {
        let module = self.line()?.spelling();
        // The name may end with the file, without a newline.
        let (name, has_newline) = self.line_or_end()?;
        match module.max(name.spelling()) {
            Spelling::Impossible if !has_newline => Err(Halt::Cut),
            Spelling::Impossible => Err(Halt::Malformed),
            spelling @ Spelling::Odd => Ok((StackKind::OddObject, spelling)),
            spelling => Ok((StackKind::Object, spelling)),
        }
    }

    /// Pushes the imported `object`. Importing runs the code of a module, so outside of text a plausible name is evidence. In
    /// text it is not, since any two lines may follow a `c`.
    fn import(&mut self, object: StackKind, spelling: Spelling) -> Step {
        if !self.is_text && spelling == Spelling::Path {
            return Err(Halt::Found(Evidence::Import));
        }
        self.stack.push(object)
    }

    /// Imports an object by its number of `N` bytes in the registry of `copyreg`. The unpickler fails on the number 0.
    fn extension<const N: usize>(&mut self) -> Step {
        if self.number::<N>()? == 0 {
            return Err(Halt::Malformed);
        }
        self.import(StackKind::Object, Spelling::Path)
    }

    /// Ends the scan: with evidence of a pickle if `function` is an object that may be callable, and otherwise because
    /// Python fails. Only in a text, the call of an object with an odd name is no evidence, so its result is pushed and the
    /// scan continues.
    fn call(&mut self, function: StackKind) -> Step {
        match function {
            StackKind::OddObject if self.is_text => {
                self.calls_oddly = true;
                self.stack.push(StackKind::Object)
            }
            StackKind::Object | StackKind::OddObject => Err(Halt::Found(Evidence::Call)),
            _ => Err(Halt::Malformed),
        }
    }

    /// Pops `count` values and adds them to the container below. `takes_values` says which built-in containers the instruction
    /// accepts; on an imported object, it calls a method of the object.
    fn add(&mut self, count: u8, takes_values: fn(StackKind) -> bool) -> Step {
        for _ in 0..count {
            self.stack.pop()?;
        }
        self.add_to_top(takes_values)
    }

    /// Pops all values above the last mark and adds them to the container below, as [`add`](Self::add) does. The unpickler does
    /// not check the container if there are no values.
    fn add_all(&mut self, takes_values: fn(StackKind) -> bool) -> Step {
        match self.stack.pop_mark()? {
            Some(_) => self.add_to_top(takes_values),
            None => self.stack.top().map(drop),
        }
    }

    /// Checks that values can be added to the container on top of the stack. Adding values to an imported object calls a
    /// method of the object, so this counts as a call.
    fn add_to_top(&mut self, takes_values: fn(StackKind) -> bool) -> Step {
        match self.stack.top()? {
            object @ (StackKind::Object | StackKind::OddObject) => {
                self.stack.pop()?;
                self.call(object)
            }
            value if takes_values(value) => Ok(()),
            _ => Err(Halt::Malformed),
        }
    }

    /// Pops all values above the last mark and pushes `value`, the container that holds them.
    fn gather(&mut self, value: StackKind) -> Step {
        self.stack.pop_mark()?;
        self.stack.push(value)
    }

    /// Stores the value on top of the stack in the memo.
    fn put(&mut self, key: u64) -> Step {
        let top = self.stack.top()?;
        self.keeps_values = true;
        self.memo.put(key, top)
    }

    /// Pushes the value that the memo has under `key`.
    fn get(&mut self, key: u64) -> Step {
        let value = self.memo.get(key).ok_or(Halt::Malformed)?;
        self.stack.push(value)
    }

    /// Handles the opcode STOP, which ends a pickle. A few bytes of text or data may be a pickle by chance ("N. B." begins with
    /// the pickle of `None`), but then the bytes that follow are no pickle. So after a short pickle, the scan continues with
    /// the next pickle of the stream.
    fn stop(&mut self) -> Step {
        self.stack.pop()?;
        let is_pickle = Err(Halt::Found(Evidence::Stop));
        let is_long = self.count > 2 && (self.keeps_values || self.has_protocol);
        if self.calls_oddly || is_long || self.count > 5 {
            return is_pickle;
        }
        // A text editor may have added a newline after the pickle.
        let rest = self.input.fill()?;
        if rest.is_empty() || rest.len() <= 2 && rest.iter().all(u8::is_ascii_whitespace) {
            return is_pickle;
        }
        // Python reads each pickle of a stream with an empty stack and memo.
        self.stack = Stack::default();
        self.memo = Memo::default();
        (self.count, self.has_protocol, self.keeps_values) = (0, false, false);
        Ok(())
    }
}

/// The stack of the unpickler, stored as runs of equal values. An instruction fails if it needs more values than lie above the
/// last mark, as in the unpickler.
#[derive(Default)]
struct Stack {
    /// Values and the number of times that each is repeated.
    runs: Vec<(StackKind, u64)>,
}

/// The largest number of runs on the stack: they take 16 MiB.
const RUNS: usize = 1 << 20;

impl Stack {
    fn push(&mut self, value: StackKind) -> Step {
        if let Some((last, count)) = self.runs.last_mut()
            && *last == value
        {
            *count = count.saturating_add(1);
            return Ok(());
        }
        if self.runs.len() >= RUNS {
            return Err(Halt::Found(Evidence::Limit));
        }
        self.runs.try_reserve(1).map_err(|_| FormatError::memory())?;
        self.runs.push((value, 1));
        Ok(())
    }

    /// Returns the value on top of the stack. Fails on a mark.
    fn top(&self) -> Step<StackKind> {
        match self.runs.last() {
            Some((value, _)) if *value != StackKind::Mark => Ok(*value),
            _ => Err(Halt::Malformed),
        }
    }

    fn pop(&mut self) -> Step<StackKind> {
        let top = self.top()?;
        self.pop_any()?;
        Ok(top)
    }

    /// Drops the value or mark on top of the stack.
    fn pop_any(&mut self) -> Step {
        let (_, count) = self.runs.last_mut().ok_or(Halt::Malformed)?;
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.runs.pop();
        }
        Ok(())
    }

    /// Drops all values above the last mark, and the mark. Returns the lowest of these values, or `None` if no value is
    /// above the mark.
    fn pop_mark(&mut self) -> Step<Option<StackKind>> {
        let mut lowest = None;
        loop {
            match self.runs.last() {
                None => return Err(Halt::Malformed),
                Some((StackKind::Mark, _)) => {
                    self.pop_any()?;
                    return Ok(lowest);
                }
                Some((value, _)) => {
                    lowest = Some(*value);
                    self.runs.pop();
                }
            }
        }
    }
}

/// The memo of the unpickler: values by their keys.
#[derive(Default)]
struct Memo {
    /// The values with the consecutive keys from 0.
    dense: Vec<StackKind>,
    /// The values with other keys.
    others: OrderedMap<u64, StackKind>,
    /// Whether values have been dropped, because the memo was full or a key had more than 64 bits. Any key may then have any
    /// value.
    is_full: bool,
}

/// The largest number of values in [`Memo::dense`]. Each takes one byte, so together they take 16 MiB.
const DENSE: usize = 16 << 20;
/// The largest number of values in [`Memo::others`]. Values beyond this number are dropped.
const OTHERS: usize = 1 << 18;

impl Memo {
    /// Returns the number of values, which is the key of the next opcode MEMOIZE.
    fn length(&self) -> u64 {
        u64_from_usize(self.dense.len()).saturating_add(u64_from_usize(self.others.len()))
    }

    /// Stores `value` under `key`. Drops the value if the memo is full, or if `key` is `u64::MAX`: every key of more than 64 bits is
    /// given as this number, so the values of different keys would replace each other.
    fn put(&mut self, key: u64, value: StackKind) -> Step {
        if key == u64::MAX {
            self.is_full = true;
            return Ok(());
        }
        let place = usize::try_from(key).unwrap_or(usize::MAX);
        if let Some(stored) = self.dense.get_mut(place) {
            *stored = value;
        } else if place == self.dense.len() && place < DENSE && self.others.get(&key).is_none() {
            self.dense.try_reserve(1).map_err(|_| FormatError::memory())?;
            self.dense.push(value);
        } else if self.others.len() < OTHERS {
            self.others.insert(key, value)?;
        } else {
            self.is_full = true;
        }
        Ok(())
    }

    /// Returns the value under `key`, or `None` if the memo has no such key. If values have been dropped, every key has an
    /// object that may be callable.
    fn get(&self, key: u64) -> Option<StackKind> {
        if self.is_full {
            return Some(StackKind::Object);
        }
        let place = usize::try_from(key).unwrap_or(usize::MAX);
        self.dense.get(place).or_else(|| self.others.get(&key)).copied()
    }
}

/// The spelling of the name of a module or attribute, from the most to the least plausible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Spelling {
    /// Identifiers separated by dots, as in an import statement.
    Path,
    /// A word that is no identifier, such as `my-module` or `3d`. `importlib` can import a module of this name.
    Unusual,
    /// Any other name that a file can have.
    Odd,
    /// A name that no file can have: it is empty, contains a zero, or is not UTF-8.
    Impossible,
}

/// The number of bytes at the start of a line that are kept in [`Line::head`].
const HEAD: usize = 64;

/// The facts about a line on which the unpickler may fail. The line itself is not kept, since it may be as long as the file.
struct Line {
    /// The first bytes, followed by zeros.
    head: [u8; HEAD],
    /// The length of the line in bytes.
    length: u64,
    /// The last two bytes of the line, in their order. A line of fewer bytes has zeros before them.
    ends: [u8; 2],
    /// The spelling of the line as a name.
    spelling: Spelling,
    /// Whether the next byte begins an identifier: the line is empty so far, or ends with a dot.
    at_dot: bool,
    /// The number of bytes that are missing from the last UTF-8 character.
    pending: u8,
    /// Whether each byte before the first zero byte may occur in a number: letters and digits of integers and floats, their signs,
    /// points and underscores, and white space.
    is_numeric: bool,
    /// The number that the decimal digits before the first zero byte make. A number beyond 64 bits becomes the largest number.
    /// `None` if another byte than a digit, `_`, `+`, `-` and white space comes before the first zero byte.
    decimal: Option<u64>,
    /// Whether the line has a zero byte. Python's C code parses a number up to this byte.
    has_zero: bool,
}

impl Line {
    fn new() -> Self {
        Self {
            head: [0; HEAD],
            length: 0,
            ends: [0; 2],
            spelling: Spelling::Path,
            at_dot: true,
            pending: 0,
            is_numeric: true,
            decimal: Some(0),
            has_zero: false,
        }
    }

    /// Adds `bytes` to the end of the line.
    fn extend(&mut self, bytes: &[u8]) {
        for byte in bytes {
            // A carriage return at the end belongs to a Windows line break, so it counts as part of the name only if another
            // byte follows.
            if self.ends[1] == b'\r' && self.length > 0 {
                self.spell(b'\r');
            }
            let place = usize::try_from(self.length).unwrap_or(usize::MAX);
            if let Some(head_byte) = self.head.get_mut(place) {
                *head_byte = *byte;
            }
            self.length = self.length.saturating_add(1);
            self.ends = [self.ends[1], *byte];
            self.has_zero |= *byte == 0;
            if !self.has_zero {
                self.count_digit(*byte);
            }
            if *byte != b'\r' {
                self.spell(*byte);
            }
        }
    }

    /// Updates what is known about the line as a number with its next byte, which is before any zero byte.
    fn count_digit(&mut self, byte: u8) {
        if byte.is_ascii_digit() {
            let digit = u64::from(byte.saturating_sub(b'0'));
            self.decimal = self.decimal.map(|all| all.saturating_mul(10).saturating_add(digit));
        } else if !is_space(byte) {
            // The letters are those of hexadecimal digits, of prefixes and suffixes such as `0x` and `L`, and of `infinity` and
            // `nan`.
            self.is_numeric &= b"_+-.abcdefABCDEFxXoOlLinftyINFTY".contains(&byte);
            self.decimal = self.decimal.filter(|_| b"_+-".contains(&byte));
        }
    }

    /// Updates the spelling with the next byte of the name.
    fn spell(&mut self, byte: u8) {
        let is_continued = (0x80..0xc0).contains(&byte);
        let spelling = match byte {
            _ if is_continued != (self.pending > 0) => Spelling::Impossible,
            0x80.. => {
                self.pending = match byte {
                    0x80..0xc0 => self.pending.saturating_sub(1),
                    0xc2..0xe0 => 1,
                    0xe0..0xf0 => 2,
                    _ => 3,
                };
                if matches!(byte, 0xc0 | 0xc1 | 0xf5..) {
                    Spelling::Impossible
                } else {
                    Spelling::Path
                }
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => Spelling::Path,
            b'0'..=b'9' | b'.' if !self.at_dot => Spelling::Path,
            0 => Spelling::Impossible,
            b'0'..=b'9' | b'-' | b'+' | b'@' | b'$' | b'~' | b'.' | b'/' => Spelling::Unusual,
            _ => Spelling::Odd,
        };
        self.at_dot = byte == b'.';
        self.spelling = self.spelling.max(spelling);
    }

    /// Returns the spelling of the whole line as a name.
    fn spelling(&self) -> Spelling {
        let is_empty = self.length == 0 || self.length == 1 && self.ends[1] == b'\r';
        if is_empty || self.pending > 0 {
            Spelling::Impossible
        } else if self.at_dot {
            self.spelling.max(Spelling::Unusual)
        } else {
            self.spelling
        }
    }

    /// Returns the text of the line as Python's C code parses it for a number: up to the first zero byte, without white space
    /// around it. Returns `None` if this text is longer than [`HEAD`] bytes.
    fn number(&self) -> Option<&[u8]> {
        let length = usize::try_from(self.length).unwrap_or(usize::MAX);
        let head = self.head.get(..length.min(HEAD)).unwrap_or_default();
        match head.iter().position(|byte| *byte == 0) {
            Some(end) => Some(trimmed(head.get(..end).unwrap_or_default())),
            None => (length <= HEAD).then(|| trimmed(head)),
        }
    }

    /// Returns whether Python may parse the line as an integer. A line longer than [`HEAD`] bytes is taken for an integer if
    /// [`is_numeric`](Self::is_numeric) is true: a pickle that is missed does more harm than a text that is taken for a pickle.
    fn is_integer(&self) -> bool {
        let Some(number) = self.number() else { return self.is_numeric };
        let number = unsigned(number);
        // Python removes the suffix of a LONG before white space.
        let number = number.strip_suffix(b"L").map_or(number, trimmed);
        match number {
            // Python's C code takes an empty number before a zero byte for 0.
            [] => self.has_zero,
            [b'0', b'x' | b'X', digits @ ..] => is_number(digits, u8::is_ascii_hexdigit),
            [b'0', b'o' | b'O' | b'b' | b'B', digits @ ..] | digits => {
                is_number(digits, u8::is_ascii_digit)
            }
        }
    }

    /// Returns whether Python may parse the line as a floating-point number. A line longer than [`HEAD`] bytes is taken for a
    /// number if [`is_numeric`](Self::is_numeric) is true.
    fn is_float(&self) -> bool {
        let Some(number) = self.number() else { return self.is_numeric };
        let number = unsigned(number);
        let words = [&b"inf"[..], b"infinity", b"nan"];
        words.iter().any(|word| number.eq_ignore_ascii_case(word))
            || number.iter().any(u8::is_ascii_digit)
                && number.iter().all(|byte| byte.is_ascii_digit() || b"._eE+-".contains(byte))
    }

    /// Returns whether the line begins and ends with the same quote.
    fn is_quoted(&self) -> bool {
        let carriage_return = u64::from(self.ends[1] == b'\r');
        let last = if carriage_return == 1 { self.ends[0] } else { self.ends[1] };
        self.length.saturating_sub(carriage_return) >= 2
            && last == self.head[0]
            && b"'\"".contains(&last)
    }

    /// Parses the line as the key of a memo. Returns `None` if the line is not a number, or is less than 0. A line longer than
    /// [`HEAD`] bytes is not kept whole, so its key is the number that its digits make: signs and white space in it are ignored.
    fn key(&self) -> Option<u64> {
        let Some(number) = self.number() else { return self.decimal };
        let is_negative = number.starts_with(b"-");
        if !is_number(unsigned(number), u8::is_ascii_digit) {
            return None;
        }
        // Python takes integers of any size as keys, and -0 as the key 0. A number beyond 64 bits becomes the largest key.
        self.decimal.filter(|key| !is_negative || *key == 0)
    }
}

/// Returns whether `byte` is white space to Python's functions that parse numbers. Rust's `is_ascii_whitespace` lacks the vertical
/// tab.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// Returns `number` without the white space around it.
fn trimmed(number: &[u8]) -> &[u8] {
    let start = number.iter().position(|byte| !is_space(*byte)).unwrap_or(number.len());
    let end = number
        .iter()
        .rposition(|byte| !is_space(*byte))
        .map_or(start, |last| last.saturating_add(1));
    number.get(start..end).unwrap_or_default()
}

/// Returns `number` without its sign.
fn unsigned(number: &[u8]) -> &[u8] {
    match number {
        [b'+' | b'-', rest @ ..] | rest => rest,
    }
}

/// Returns whether `digits` contains digits and `_` alone, and is not empty.
fn is_number(digits: &[u8], is_digit: fn(&u8) -> bool) -> bool {
    !digits.is_empty() && digits.iter().all(|byte| is_digit(byte) || *byte == b'_')
}

//! Telling whether a file is a pickle, without carrying it out.
//!
//! Python's unpickler carries out each instruction as it reads it. So a file is dangerous from the first instruction that
//! calls something, whatever follows: the rest may be cut or damaged. The scanner therefore follows the unpickler from the
//! first byte, and stops where the unpickler would call a function or would fail. It knows neither allowed functions nor
//! a policy; those are questions of [`crate::torch`].
//!
//! What would make a real pickle look like another file is more dangerous than a false alarm. So wherever the scanner
//! cannot know what the unpickler does, it goes on: values are only told apart as far as the unpickler fails over them.
//!
//! Time is linear in the bytes that are read, and operands are skipped. Memory is bounded: equal values that follow each
//! other on the stack take one entry, and both stack and memo have a limit.

use std::collections::HashMap;

use zten::num::u64_from_usize;

use super::input::Input;
use crate::error::FormatError;

/// Why a file is a pickle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// An instruction calls something, or changes an object that was imported.
    Call,
    /// An instruction imports something, in a file that is no text.
    Import,
    /// The pickle ends with STOP and calls nothing.
    Stop,
    /// The file ends within the pickle, before anything is called.
    Cut,
    /// More values are kept than the scanner keeps.
    Limit,
}

/// Scans `input` from its first byte. Returns `None` if Python's unpickler fails before it calls or returns anything.
///
/// `is_text` says that the file is text by its first bytes. Text may begin like a pickle by chance, so more is expected
/// of it.
///
/// # Errors
/// The input cannot be read.
pub(crate) fn scan(input: &mut impl Input, is_text: bool) -> Result<Option<Evidence>, FormatError> {
    let mut scanner = Scanner {
        input,
        is_text,
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

/// The end of a scan.
enum Halt {
    /// The unpickler fails here.
    Malformed,
    /// The input ends here.
    Cut,
    Found(Evidence),
    Failed(FormatError),
}

impl From<FormatError> for Halt {
    fn from(error: FormatError) -> Self {
        Self::Failed(error)
    }
}

type Step<T = ()> = Result<T, Halt>;

/// A value on the stack, as far as the unpickler's failures depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Mark,
    /// A number, bytes, a tuple or the like: it cannot be called, and nothing can be added to it.
    Plain,
    Text,
    /// A list or a bytearray.
    List,
    Dict,
    Set,
    /// Anything that was imported, or that a loader's own function returned: it may be callable.
    Object,
    /// The same, by a name that no import statement could spell. It is likely not there, and the file likely text.
    OddObject,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Scanner<'i, I> {
    input: &'i mut I,
    is_text: bool,
    stack: Stack,
    memo: Memo,
    /// Instructions of the present pickle that have been read.
    count: u64,
    has_protocol: bool,
    /// Values have been put into the memo, which text does not do by chance.
    keeps_values: bool,
    /// An [`OddObject`](Value::OddObject) has been called in a text.
    calls_oddly: bool,
}

impl<I: Input> Scanner<'_, I> {
    /// Reads one instruction.
    #[expect(clippy::too_many_lines, reason = "one arm for each instruction, as in a table")]
    fn step(&mut self) -> Step {
        let op = self.input.byte()?.ok_or(Halt::Cut)?;
        self.count = self.count.saturating_add(1);
        match op {
            b'(' => self.stack.push(Value::Mark)?,
            b')' | b'N' | 0x88 | 0x89 | 0x97 => self.stack.push(Value::Plain)?,
            b']' => self.stack.push(Value::List)?,
            b'}' => self.stack.push(Value::Dict)?,
            0x8f => self.stack.push(Value::Set)?,
            b'K' => self.fixed(1)?,
            b'M' => self.fixed(2)?,
            b'J' => self.fixed(4)?,
            b'G' => self.fixed(8)?,
            b'I' | b'L' => self.integer()?,
            b'F' => self.float()?,
            b'S' => self.quoted()?,
            b'V' => {
                self.line()?;
                self.stack.push(Value::Text)?;
            }
            b'U' | 0x8c => self.counted::<1>(Value::Text)?,
            b'X' => self.counted::<4>(Value::Text)?,
            0x8d => self.counted::<8>(Value::Text)?,
            b'T' => self.counted_signed(Value::Text)?,
            0x8b => self.counted_signed(Value::Plain)?,
            b'C' | 0x8a => self.counted::<1>(Value::Plain)?,
            b'B' => self.counted::<4>(Value::Plain)?,
            0x8e => self.counted::<8>(Value::Plain)?,
            0x96 => self.counted::<8>(Value::List)?,
            b'c' => {
                let (object, spelling) = self.names()?;
                self.import(object, spelling)?;
            }
            0x93 => {
                for _ in 0..2 {
                    let name = self.stack.pop()?;
                    if !matches!(name, Value::Text | Value::Object | Value::OddObject) {
                        return Err(Halt::Malformed);
                    }
                }
                self.import(Value::Object, Spelling::Path)?;
            }
            // Objects that a loader has registered by numbers.
            0x82 => self.extension::<1>()?,
            0x83 => self.extension::<2>()?,
            0x84 => self.extension::<4>()?,
            b'P' => {
                self.line()?;
                self.stack.push(Value::Object)?;
            }
            b'Q' => {
                self.stack.pop()?;
                self.stack.push(Value::Object)?;
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
                if matches!(object, Value::Object | Value::OddObject) {
                    self.stack.pop()?;
                    self.call(object)?;
                }
            }
            b'a' => self.add(1, |value| value == Value::List)?,
            b's' => self.add(2, |value| matches!(value, Value::List | Value::Dict))?,
            b'e' => self.add_all(|value| value == Value::List)?,
            b'u' => self.add_all(|value| matches!(value, Value::List | Value::Dict))?,
            0x90 => self.add_all(|value| value == Value::Set)?,
            b't' | 0x91 => self.gather(Value::Plain)?,
            b'l' => self.gather(Value::List)?,
            b'd' => self.gather(Value::Dict)?,
            0x85..=0x87 => {
                for _ in 0x84..op {
                    self.stack.pop()?;
                }
                self.stack.push(Value::Plain)?;
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
            // The length of a frame only helps unpicklers that read ahead, so the instructions of a frame that is cut
            // may be carried out all the same.
            0x95 => drop(self.number::<8>()?),
            0x98 => drop(self.stack.top()?),
            b'.' => self.stop()?,
            _ => return Err(Halt::Malformed),
        }
        Ok(())
    }

    /// Skips the operand of an instruction that pushes a number.
    fn fixed(&mut self, length: u64) -> Step {
        self.skip(length)?;
        self.stack.push(Value::Plain)
    }

    fn skip(&mut self, length: u64) -> Step {
        if self.input.skip(length)? { Ok(()) } else { Err(Halt::Cut) }
    }

    /// Takes a little-endian number of `N` bytes.
    fn number<const N: usize>(&mut self) -> Step<u64> {
        let bytes = self.input.array::<N>()?.ok_or(Halt::Cut)?;
        let bytes = bytes.iter().rev();
        Ok(bytes.fold(0, |number, byte| number.wrapping_shl(8) | u64::from(*byte)))
    }

    /// Skips an operand whose length comes first.
    fn counted<const N: usize>(&mut self, value: Value) -> Step {
        let length = self.number::<N>()?;
        self.skip(length)?;
        self.stack.push(value)
    }

    /// The same where the length is signed.
    fn counted_signed(&mut self, value: Value) -> Step {
        let length = self.number::<4>()?;
        if length > 0x7fff_ffff {
            return Err(Halt::Malformed);
        }
        self.skip(length)?;
        self.stack.push(value)
    }

    /// Reads to the next newline.
    fn line(&mut self) -> Step<Line> {
        let mut line = Line::new();
        loop {
            let held = self.input.fill()?;
            if held.is_empty() {
                return Err(Halt::Cut);
            }
            let end = held.iter().position(|byte| *byte == b'\n');
            let part = held.get(..end.unwrap_or(held.len())).unwrap_or_default();
            line.extend(part);
            let length = part.len();
            match end {
                Some(_) => {
                    self.input.consume(length.saturating_add(1));
                    return Ok(line);
                }
                None => self.input.consume(length),
            }
        }
    }

    fn integer(&mut self) -> Step {
        if self.line()?.is_integer() { self.stack.push(Value::Plain) } else { Err(Halt::Malformed) }
    }

    fn float(&mut self) -> Step {
        if self.line()?.is_float() { self.stack.push(Value::Plain) } else { Err(Halt::Malformed) }
    }

    fn quoted(&mut self) -> Step {
        if self.line()?.is_quoted() { self.stack.push(Value::Text) } else { Err(Halt::Malformed) }
    }

    /// Reads the number of a memo's value from a line.
    fn key(&mut self) -> Step<u64> {
        self.line()?.key().ok_or(Halt::Malformed)
    }

    /// Reads the names of a module and of something in it.
    fn names(&mut self) -> Step<(Value, Spelling)> {
        let (module, name) = (self.line()?.spelling(), self.line()?.spelling());
        match module.max(name) {
            Spelling::Impossible => Err(Halt::Malformed),
            spelling @ Spelling::Odd => Ok((Value::OddObject, spelling)),
            spelling => Ok((Value::Object, spelling)),
        }
    }

    /// Imports `object`, which runs the code of its module. In text this is no evidence: any two lines may follow a `c`.
    fn import(&mut self, object: Value, spelling: Spelling) -> Step {
        if !self.is_text && spelling == Spelling::Path {
            return Err(Halt::Found(Evidence::Import));
        }
        self.stack.push(object)
    }

    /// Imports the object that a loader has registered by a number.
    fn extension<const N: usize>(&mut self) -> Step {
        if self.number::<N>()? == 0 {
            return Err(Halt::Malformed);
        }
        self.import(Value::Object, Spelling::Path)
    }

    /// Calls a function or class, or changes an object.
    fn call(&mut self, function: Value) -> Step {
        match function {
            Value::OddObject if self.is_text => {
                self.calls_oddly = true;
                self.stack.push(Value::Object)
            }
            Value::Object | Value::OddObject => Err(Halt::Found(Evidence::Call)),
            _ => Err(Halt::Malformed),
        }
    }

    /// Adds the `count` values on top to what lies below, which `takes_values`. Any other object's own methods are called.
    fn add(&mut self, count: u8, takes_values: fn(Value) -> bool) -> Step {
        for _ in 0..count {
            self.stack.pop()?;
        }
        self.add_to_top(takes_values)
    }

    /// The same for all values above the mark. Nothing is checked if there are none.
    fn add_all(&mut self, takes_values: fn(Value) -> bool) -> Step {
        match self.stack.pop_mark()? {
            Some(_) => self.add_to_top(takes_values),
            None => self.stack.top().map(drop),
        }
    }

    fn add_to_top(&mut self, takes_values: fn(Value) -> bool) -> Step {
        match self.stack.top()? {
            object @ (Value::Object | Value::OddObject) => {
                self.stack.pop()?;
                self.call(object)
            }
            value if takes_values(value) => Ok(()),
            _ => Err(Halt::Malformed),
        }
    }

    /// Makes one value of all above the mark.
    fn gather(&mut self, value: Value) -> Step {
        self.stack.pop_mark()?;
        self.stack.push(value)
    }

    fn put(&mut self, key: u64) -> Step {
        let top = self.stack.top()?;
        self.keeps_values = true;
        self.memo.put(key, top)
    }

    fn get(&mut self, key: u64) -> Step {
        let value = self.memo.get(key).ok_or(Halt::Malformed)?;
        self.stack.push(value)
    }

    /// Ends a pickle. A few bytes of text or data may be one by chance ("N. B." is `None`), but then something follows, and
    /// is no pickle. Streams of pickles are read to the first one that counts.
    fn stop(&mut self) -> Step {
        self.stack.pop()?;
        let found = Err(Halt::Found(Evidence::Stop));
        let is_long = self.count > 2 && (self.keeps_values || self.has_protocol);
        if self.calls_oddly || is_long || self.count > 5 {
            return found;
        }
        // An editor may end the last line.
        let rest = self.input.fill()?;
        if rest.is_empty() || rest.len() <= 2 && rest.iter().all(u8::is_ascii_whitespace) {
            return found;
        }
        // Each unpickler begins with an empty stack and memo.
        self.stack = Stack::default();
        self.memo = Memo::default();
        (self.count, self.has_protocol, self.keeps_values) = (0, false, false);
        Ok(())
    }
}

/// Values by runs of equal ones. The unpickler keeps values below a mark apart, so that an instruction that finds too few
/// values above the last mark fails.
#[derive(Default)]
struct Stack {
    runs: Vec<(Value, u64)>,
}

/// Runs of the stack, at most: 16 MiB.
const RUNS: usize = 1 << 20;

impl Stack {
    fn push(&mut self, value: Value) -> Step {
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

    /// The value on top, which is no mark.
    fn top(&self) -> Step<Value> {
        match self.runs.last() {
            Some((value, _)) if *value != Value::Mark => Ok(*value),
            _ => Err(Halt::Malformed),
        }
    }

    fn pop(&mut self) -> Step<Value> {
        let top = self.top()?;
        self.pop_any()?;
        Ok(top)
    }

    /// Drops the value or mark on top.
    fn pop_any(&mut self) -> Step {
        let (_, count) = self.runs.last_mut().ok_or(Halt::Malformed)?;
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.runs.pop();
        }
        Ok(())
    }

    /// Drops all values down to the last mark, and the mark. Returns the lowest of the values.
    fn pop_mark(&mut self) -> Step<Option<Value>> {
        let mut lowest = None;
        loop {
            match self.runs.last() {
                None => return Err(Halt::Malformed),
                Some((Value::Mark, _)) => {
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

/// Values by numbers.
#[derive(Default)]
struct Memo {
    /// Values whose numbers follow each other from 0.
    dense: Vec<Value>,
    others: HashMap<u64, Value>,
    /// Values have been dropped, so that any number may stand for anything.
    is_full: bool,
}

/// Values of the memo, at most, with numbers that follow each other: 16 MiB; and with other numbers.
const DENSE: usize = 16 << 20;
const OTHERS: usize = 1 << 18;

impl Memo {
    fn length(&self) -> u64 {
        u64_from_usize(self.dense.len()).saturating_add(u64_from_usize(self.others.len()))
    }

    fn put(&mut self, key: u64, value: Value) -> Step {
        let place = usize::try_from(key).unwrap_or(usize::MAX);
        if let Some(kept) = self.dense.get_mut(place) {
            *kept = value;
        } else if place == self.dense.len() && place < DENSE && !self.others.contains_key(&key) {
            self.dense.try_reserve(1).map_err(|_| FormatError::memory())?;
            self.dense.push(value);
        } else if self.others.len() < OTHERS {
            self.others.try_reserve(1).map_err(|_| FormatError::memory())?;
            self.others.insert(key, value);
        } else {
            self.is_full = true;
        }
        Ok(())
    }

    fn get(&self, key: u64) -> Option<Value> {
        if self.is_full {
            return Some(Value::Object);
        }
        let place = usize::try_from(key).unwrap_or(usize::MAX);
        self.dense.get(place).or_else(|| self.others.get(&key)).copied()
    }
}

/// How the name of a module, or of something in one, is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Spelling {
    /// Identifiers with dots between, as an import statement spells it.
    Path,
    /// One word that is no identifier, like `my-module` or `3d`, which a function can import.
    Unusual,
    /// Anything else that a file can be called.
    Odd,
    /// Nothing is called so.
    Impossible,
}

/// Bytes of a line that are kept, at most.
const HEAD: usize = 64;

/// A line, as far as the unpickler's failures depend on it. A line may be as long as the file, and is not kept.
struct Line {
    head: [u8; HEAD],
    length: u64,
    /// The last two bytes.
    ends: [u8; 2],
    spelling: Spelling,
    /// An identifier begins with the next byte.
    at_dot: bool,
    /// Bytes of a character in UTF-8 that are still to come.
    pending: u8,
    /// All bytes can be in an integer.
    is_digits: bool,
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
            is_digits: true,
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        for byte in bytes {
            // A file whose lines were ended for Windows has this in front of the newline.
            if self.ends[1] == b'\r' && self.length > 0 {
                self.spell(b'\r');
            }
            let place = usize::try_from(self.length).unwrap_or(usize::MAX);
            if let Some(kept) = self.head.get_mut(place) {
                *kept = *byte;
            }
            self.length = self.length.saturating_add(1);
            self.ends = [self.ends[1], *byte];
            self.is_digits &= byte.is_ascii_hexdigit() || b"_xXL\r".contains(byte);
            if *byte != b'\r' {
                self.spell(*byte);
            }
        }
    }

    /// Takes a byte of a name.
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

    /// The bytes that a number is read from: C's functions stop at a zero. `None` if there are more than are kept.
    fn number(&self) -> Option<&[u8]> {
        let length = usize::try_from(self.length).unwrap_or(usize::MAX);
        let kept = self.head.get(..length.min(HEAD)).unwrap_or_default();
        match kept.iter().position(|byte| *byte == 0) {
            Some(end) => Some(kept.get(..end).unwrap_or_default().trim_ascii()),
            None => (length <= HEAD).then(|| kept.trim_ascii()),
        }
    }

    fn is_integer(&self) -> bool {
        let Some(number) = self.number() else { return self.is_digits };
        let number = unsigned(number);
        let number = number.strip_suffix(b"L").unwrap_or(number);
        match number {
            [b'0', b'x' | b'X', digits @ ..] => is_number(digits, u8::is_ascii_hexdigit),
            [b'0', b'o' | b'O' | b'b' | b'B', digits @ ..] | digits => {
                is_number(digits, u8::is_ascii_digit)
            }
        }
    }

    fn is_float(&self) -> bool {
        let Some(number) = self.number() else { return self.is_digits };
        let number = unsigned(number);
        let words = [&b"inf"[..], b"infinity", b"nan"];
        words.iter().any(|word| number.eq_ignore_ascii_case(word))
            || number.iter().any(u8::is_ascii_digit)
                && number.iter().all(|byte| byte.is_ascii_digit() || b"._eE+-".contains(byte))
    }

    fn is_quoted(&self) -> bool {
        let windows = u64::from(self.ends[1] == b'\r');
        let last = if windows == 1 { self.ends[0] } else { self.ends[1] };
        self.length.saturating_sub(windows) >= 2 && last == self.head[0] && b"'\"".contains(&last)
    }

    fn key(&self) -> Option<u64> {
        let number = self.number()?;
        let digits = number.strip_prefix(b"+").unwrap_or(number);
        if !is_number(digits, u8::is_ascii_digit) {
            return None;
        }
        // A number beyond 64 bits is a key as any other.
        let digits = digits.iter().filter(|byte| **byte != b'_');
        let digits = digits.map(|byte| u64::from(byte.saturating_sub(b'0')));
        Some(digits.fold(0, |key: u64, digit| key.saturating_mul(10).saturating_add(digit)))
    }
}

/// Drops the sign of a number.
fn unsigned(number: &[u8]) -> &[u8] {
    match number {
        [b'+' | b'-', rest @ ..] | rest => rest,
    }
}

/// Returns whether bytes are digits, perhaps with `_` between them.
fn is_number(digits: &[u8], is_digit: fn(&u8) -> bool) -> bool {
    !digits.is_empty() && digits.iter().all(|byte| is_digit(byte) || *byte == b'_')
}

//! Values of classes of Python's standard library. A class takes only the forms of arguments that Python writes into pickles of its
//! objects. Every copy of items is charged to the memory that the pickle may take.

use crate::formats::error::FormatError;
use crate::num::usize_from_u32;

use super::calls::ARGUMENTS;
use super::globals::{Global, Known};
use super::machine::Machine;
use super::pickle::{Fact, LONGEST_NAME, Pickled};

impl Machine<'_> {
    /// Returns the value that `class`, a class or function of the standard library, makes from the items of the tuple `args`.
    pub(super) fn make_value(&mut self, class: Known, args: u32) -> Result<Pickled, FormatError> {
        let count = self.pickle.length(args);
        let items: [Pickled; ARGUMENTS] = self.pickle.first(args);
        let is_form = match (class, count, items) {
            (Known::Set, 1, [Pickled::List(list), ..]) => return self.set(list, false),
            (Known::FrozenSet, 1, [Pickled::List(list) | Pickled::Tuple(list), ..]) => {
                return self.set(list, true);
            }
            (Known::Set, 0, _) => return Ok(Pickled::Set(self.empty(Pickled::Set)?)),
            (Known::Counter | Known::DefaultDict, 0, _) => {
                return Ok(Pickled::Dict(self.empty(Pickled::Dict)?));
            }
            (Known::Counter, 1, [Pickled::Dict(counts), ..]) => return self.copy_dict(counts),
            (Known::DefaultDict, 1, [factory, ..]) if is_factory(factory) => {
                return Ok(Pickled::Dict(self.empty(Pickled::Dict)?));
            }
            (Known::Deque, 0, _) => return Ok(Pickled::List(self.empty(Pickled::List)?)),
            (Known::Deque, 1, [Pickled::List(list) | Pickled::Tuple(list), ..])
            | (Known::Deque, 2, [Pickled::List(list) | Pickled::Tuple(list), Pickled::None, ..]) => {
                return self.copy_list(list);
            }
            (
                Known::Deque,
                2,
                [Pickled::List(list) | Pickled::Tuple(list), most @ Pickled::Int(_), ..],
            ) => {
                let most = self.pickle.count(most).ok_or_else(|| self.wrong_arguments(class))?;
                let deque = self.copy_list(list)?;
                if let Pickled::List(node) = deque {
                    self.pickle.bound(node, most)?;
                }
                return Ok(deque);
            }
            (Known::Bytes, 0, _) => {
                let node = self.pickle.container_of(self.now, Fact::IsFrozen)?;
                return Ok(Pickled::ByteArray(node));
            }
            (Known::ByteArray, 0, _) => {
                return Ok(Pickled::ByteArray(self.pickle.container(self.now)?));
            }
            (Known::ByteArray, 1, [bytes @ (Pickled::Bytes(_) | Pickled::Latin1(_)), ..]) => {
                return self.byte_array(bytes);
            }
            (Known::ByteArray, 2, [Pickled::Text(text), Pickled::Text(encoding), ..])
                if self.is_text(encoding, b"latin-1") =>
            {
                let bytes = self.latin_1(text, class)?;
                return self.byte_array(bytes);
            }
            (Known::Encode, 2, [Pickled::Text(text), Pickled::Text(encoding), ..])
                if self.is_text(encoding, b"latin1") =>
            {
                return self.latin_1(text, class);
            }
            (Known::Namespace, 0, _) => {
                return Ok(Pickled::Namespace(self.empty(Pickled::Namespace)?));
            }
            (Known::Slice, 3, [first, second, third, ..]) => [first, second, third]
                .into_iter()
                .all(|bound| matches!(bound, Pickled::None | Pickled::Int(_))),
            (Known::Path, ..) => {
                // A pickle can refer to one long tuple many times, in a few bytes each, so its items are charged each
                // time.
                self.pickle.charge(usize_from_u32(count))?;
                self.pickle.items(args).all(|part| matches!(part, Pickled::Text(_)))
            }
            (Known::Date, 1, [bytes, ..]) => self.has_length(bytes, 4)?,
            (Known::Time, 1 | 2, [bytes, zone, ..]) => {
                self.has_length(bytes, 6)? && self.is_zone(zone)
            }
            (Known::DateTime, 1 | 2, [bytes, zone, ..]) => {
                self.has_length(bytes, 10)? && self.is_zone(zone)
            }
            (Known::TimeDelta, 3, _) => !self.pickle.has(args, Fact::HasOtherThanInts),
            (Known::TimeZone, 1 | 2, [offset, name, ..]) => {
                self.is_object_of(offset, Known::TimeDelta)
                    && matches!(name, Pickled::None | Pickled::Text(_))
            }
            (Known::Decimal, 1, [Pickled::Text(at), ..]) => is_decimal(self.pickle.charged(at)?),
            (Known::Fraction, 1, [Pickled::Text(at), ..]) => is_fraction(self.pickle.charged(at)?),
            (Known::Fraction, 2, [Pickled::Int(_), Pickled::Int(_), ..])
            | (Known::Complex, 2, [Pickled::Float(_), Pickled::Float(_), ..])
            | (Known::Range, 3, [Pickled::Int(_), Pickled::Int(_), Pickled::Int(_), ..]) => true,
            _ => false,
        };
        if !is_form {
            return Err(self.wrong_arguments(class));
        }
        self.object(Pickled::Global(Global::Known(class)), Pickled::Tuple(args))
    }

    /// Returns a set of the items of the container `list`. The items are copied, since the list may grow later.
    fn set(&mut self, list: u32, is_frozen: bool) -> Result<Pickled, FormatError> {
        let node = self.pickle.container(self.now)?;
        let mut next = self.pickle.items(list).place();
        loop {
            let mut items = self.pickle.resume(next);
            let Some(item) = items.next() else { break };
            next = items.place();
            self.check_hashable(item)?;
            self.pickle.extend(node, &[item])?;
        }
        if is_frozen {
            self.pickle.note(node, Fact::IsFrozen);
        }
        Ok(Pickled::Set(node))
    }

    /// Copies the items of the container `list` into a new list, so that either may grow later without the other.
    fn copy_list(&mut self, list: u32) -> Result<Pickled, FormatError> {
        let node = self.pickle.container(self.now)?;
        let mut next = self.pickle.items(list).place();
        loop {
            let mut items = self.pickle.resume(next);
            let Some(item) = items.next() else { return Ok(Pickled::List(node)) };
            next = items.place();
            self.pickle.extend(node, &[item])?;
        }
    }

    /// Copies the items of the dictionary `dict` into a new dictionary, so that either may grow later without the other.
    fn copy_dict(&mut self, dict: u32) -> Result<Pickled, FormatError> {
        let node = self.empty(Pickled::Dict)?;
        let mut next = self.pickle.items(dict).place();
        loop {
            let mut items = self.pickle.resume(next);
            let (Some(key), Some(value)) = (items.next(), items.next()) else {
                return Ok(Pickled::Dict(node));
            };
            next = items.place();
            self.pickle.extend(node, &[key, value])?;
        }
    }

    /// Returns a new `bytearray` that holds `bytes`.
    fn byte_array(&mut self, bytes: Pickled) -> Result<Pickled, FormatError> {
        let node = self.pickle.container(self.now)?;
        self.pickle.extend(node, &[bytes])?;
        Ok(Pickled::ByteArray(node))
    }

    /// Returns the bytes that the text at position `at` spells in Latin-1. If the text has other characters, the arguments
    /// of `class`, of which the text is one, are wrong.
    pub(super) fn latin_1(&mut self, at: u32, class: Known) -> Result<Pickled, FormatError> {
        self.pickle.latin_1_length(at)?.ok_or_else(|| self.wrong_arguments(class))?;
        Ok(Pickled::Latin1(at))
    }

    /// Returns whether the text at position `at` is `expected`.
    fn is_text(&self, at: u32, expected: &[u8]) -> bool {
        self.pickle.short(at, LONGEST_NAME) == Some(expected)
    }

    /// Returns whether `value` is a bytes object of `length` bytes, or a text that spells so many bytes in Latin-1.
    fn has_length(&mut self, value: Pickled, length: u64) -> Result<bool, FormatError> {
        // Python 3 decodes the byte strings of Python 2 to texts.
        let found = match value {
            Pickled::Text(at) => self.pickle.latin_1_length(at)?,
            value => self.pickle.byte_length(value)?,
        };
        Ok(found == Some(length))
    }

    /// Returns whether `value` is a time zone object or Python's `None`.
    fn is_zone(&self, value: Pickled) -> bool {
        value == Pickled::None || self.is_object_of(value, Known::TimeZone)
    }

    /// Returns whether `value` is an object of `class`.
    pub(super) fn is_object_of(&self, value: Pickled, class: Known) -> bool {
        let Pickled::Object(node) = value else { return false };
        let [found] = self.pickle.first(node);
        found == Pickled::Global(Global::Known(class))
    }

    /// Returns whether `node` is an object of `UUID`, and `state` its state: a dictionary with an integer called `int`, perhaps
    /// another integer called `is_safe` after it, and nothing else.
    pub(super) fn is_uuid(&self, node: u32, state: u32) -> bool {
        let [name, number, safe, is_safe] = self.pickle.first(state);
        let has_safe = match self.pickle.length(state) {
            2 => true,
            4 => {
                matches!((safe, is_safe), (Pickled::Text(at), Pickled::Int(_)) if self.is_text(at, b"is_safe"))
            }
            _ => false,
        };
        self.is_object_of(Pickled::Object(node), Known::Uuid)
            && has_safe
            && matches!((name, number), (Pickled::Text(at), Pickled::Int(_)) if self.is_text(at, b"int"))
    }
}

/// Returns whether `value` may be the factory of a `defaultdict`.
fn is_factory(value: Pickled) -> bool {
    matches!(value, Pickled::None | Pickled::Global(Global::Known(Known::Factory | Known::Set)))
}

/// Returns whether `text` is a number as `Decimal` spells it. An exponent has at most four digits, because a number with a
/// larger exponent, such as `1E999999999`, fills memory with digits when a program converts it to an integer.
fn is_decimal(text: &[u8]) -> bool {
    let number = strip_sign(text);
    if [&b"Infinity"[..], b"NaN", b"sNaN"].contains(&number) {
        return true;
    }
    let mut parts = number.splitn(2, |byte| *byte == b'E');
    let (digits, exponent) = (parts.next().unwrap_or_default(), parts.next());
    let exponent = exponent.map(strip_sign);
    let mut halves = digits.splitn(2, |byte| *byte == b'.');
    let (whole, fraction) = (halves.next().unwrap_or_default(), halves.next().unwrap_or(b"0"));
    is_digits(whole)
        && is_digits(fraction)
        && exponent.is_none_or(|exponent| exponent.len() <= 4 && is_digits(exponent))
}

/// Returns whether `text` is a fraction as `Fraction` spells it: an integer, or two integers with a slash between them.
fn is_fraction(text: &[u8]) -> bool {
    let mut parts = strip_sign(text).splitn(2, |byte| *byte == b'/');
    is_digits(parts.next().unwrap_or_default()) && parts.next().is_none_or(is_digits)
}

/// Returns `text` without a sign at its start.
fn strip_sign(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text)
}

/// Returns whether `text` is one or more decimal digits.
fn is_digits(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_texts() {
        for text in ["0", "-1.5", "1E+9999", "1.0E-7", "NaN", "-Infinity", "sNaN"] {
            assert!(is_decimal(text.as_bytes()), "{text}");
        }
        for text in ["", "1E+10000", "1E", "1.", ".5", "1e5", "0x1", "1E1E1", " 1", "inf"] {
            assert!(!is_decimal(text.as_bytes()), "{text}");
        }
        for text in ["1", "-1/3", "22/7"] {
            assert!(is_fraction(text.as_bytes()), "{text}");
        }
        for text in ["", "1/", "/3", "1/-3", "1/2/3", "1e9", "1.5", "1E9999"] {
            assert!(!is_fraction(text.as_bytes()), "{text}");
        }
    }
}

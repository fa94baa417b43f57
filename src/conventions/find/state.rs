//! The JSON that bitsandbytes stores together with a tensor of 4-bit codes.
//!
//! A library for JSON would end the program if there were no memory for a text or a nested value, so this reader allocates
//! nothing but the shape.

use alloc::vec::Vec;

use crate::error::OutOfMemory;

/// The largest depth of nesting of arrays and objects in the JSON of a state. Files that bitsandbytes writes have a depth of 2.
const DEPTH: u32 = 64;

/// How bitsandbytes divides a tensor of 4-bit codes into groups.
#[derive(Debug, Default, PartialEq)]
pub(super) struct QuantState {
    /// The number of codes that share a scale.
    pub(super) blocksize: u64,
    /// The shape of the tensor of dequantized values.
    pub(super) shape: Vec<u64>,
    /// The number of scales that share a scale of their own; 0 if scales are not quantized.
    pub(super) nested_blocksize: u64,
    /// The number that is added to each scale after the scale has been dequantized.
    pub(super) nested_offset: f64,
}

impl QuantState {
    /// Parses the content of the tensor `X.quant_state.bitsandbytes__nf4` or `…__fp4`. Returns `None` if it is no JSON object with
    /// a block size and a shape, has one of the known keys twice or with a value of another type, or is nested too deeply.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Self>, OutOfMemory> {
        let Ok(text) = core::str::from_utf8(bytes) else { return Ok(None) };
        let mut state = Self::default();
        let mut keys = 0_u8;
        let mut failed = None;
        let is_read = Scanner { rest: text.as_bytes() }.object(&mut |key, scanner| {
            let key = match key {
                b"blocksize" => {
                    state.blocksize = scanner.uint()?;
                    1
                }
                b"shape" => {
                    if let Err(error) = scanner.uints(&mut state.shape)? {
                        failed = Some(error);
                        return None;
                    }
                    2
                }
                b"nested_blocksize" => {
                    state.nested_blocksize = scanner.uint()?;
                    4
                }
                b"nested_offset" => {
                    state.nested_offset = scanner.float()?;
                    8
                }
                _ => return scanner.skip(),
            };
            let is_new = keys & key == 0;
            keys |= key;
            is_new.then_some(())
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(is_read.filter(|()| keys & 3 == 3).map(|()| state)),
        }
    }
}

/// Returns whether `bytes` are a JSON object, whose values have at most [`DEPTH`] levels.
pub(super) fn is_object(bytes: &[u8]) -> bool {
    let is_text = core::str::from_utf8(bytes).is_ok();
    is_text && Scanner { rest: bytes }.object(&mut |_, scanner| scanner.skip()).is_some()
}

/// A reader of JSON, from its first byte to its last. A method that reads a JSON value returns `None` if the next bytes are not
/// such a value.
struct Scanner<'a> {
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    /// Skips white space and the byte `wanted`. Returns false, and skips nothing, if the next byte after the white space is
    /// another one.
    fn eat(&mut self, wanted: u8) -> bool {
        match self.rest.trim_ascii_start().split_first() {
            Some((first, rest)) if *first == wanted => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Reads one object and the end of the text. Calls `member` with each key as it is written, to read the value.
    fn object(mut self, member: &mut dyn FnMut(&'a [u8], &mut Self) -> Option<()>) -> Option<()> {
        self.eat(b'{').then_some(())?;
        if !self.eat(b'}') {
            loop {
                let key = self.key()?;
                member(key, &mut self)?;
                if !self.eat(b',') {
                    break;
                }
            }
            self.eat(b'}').then_some(())?;
        }
        self.rest.trim_ascii_start().is_empty().then_some(())
    }

    /// Reads a key and its colon. Returns the bytes between the quotes.
    fn key(&mut self) -> Option<&'a [u8]> {
        let key = self.text()?;
        self.eat(b':').then_some(key)
    }

    /// Reads a JSON string. Returns the bytes between the quotes, in which escapes stay as they are.
    fn text(&mut self) -> Option<&'a [u8]> {
        self.eat(b'"').then_some(())?;
        let whole = self.rest;
        loop {
            let (first, rest) = self.rest.split_first()?;
            self.rest = rest;
            match *first {
                b'"' => {
                    let length = whole.len().checked_sub(rest.len())?.checked_sub(1)?;
                    return whole.get(..length);
                }
                b'\\' => self.escape()?,
                0..=0x1f => return None,
                _ => {}
            }
        }
    }

    /// Skips the rest of an escape in a JSON string, after the backslash. Returns `None` if the escape is invalid.
    fn escape(&mut self) -> Option<()> {
        let (first, mut rest) = self.rest.split_first()?;
        match *first {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
            b'u' => {
                let (digits, behind) = rest.split_at_checked(4)?;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
                rest = behind;
            }
            _ => return None,
        }
        self.rest = rest;
        Some(())
    }

    /// Reads a number, and returns its characters.
    fn number(&mut self) -> Option<&'a str> {
        let text = self.rest.trim_ascii_start();
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = text.iter().position(|byte| !is_part(byte)).unwrap_or(text.len());
        let (number, rest) = text.split_at_checked(length)?;
        self.rest = rest;
        let digits = number.strip_prefix(b"-").unwrap_or(number);
        let is_led = match digits {
            [b'0', next, ..] => !next.is_ascii_digit(),
            [first, ..] => first.is_ascii_digit(),
            [] => false,
        };
        let ends = digits.last().is_some_and(u8::is_ascii_digit);
        // JSON has no number such as 1.e5, which Rust parses.
        let has_empty_fraction = number.windows(2).any(|two| matches!(two, [b'.', b'e' | b'E']));
        let number = core::str::from_utf8(number).ok()?;
        (is_led && ends && !has_empty_fraction && number.parse::<f64>().is_ok()).then_some(number)
    }

    fn uint(&mut self) -> Option<u64> {
        self.number()?.parse().ok()
    }

    /// Reads a finite number. Also returns `None` for a number that JSON allows and `f64` cannot hold, such as `1e999`.
    fn float(&mut self) -> Option<f64> {
        self.number()?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Reads an array of integers.
    fn uints(&mut self, numbers: &mut Vec<u64>) -> Option<Result<(), OutOfMemory>> {
        self.eat(b'[').then_some(())?;
        if self.eat(b']') {
            return Some(Ok(()));
        }
        loop {
            let number = self.uint()?;
            if numbers.try_reserve(1).is_err() {
                return Some(Err(OutOfMemory));
            }
            numbers.push(number);
            if !self.eat(b',') {
                return self.eat(b']').then_some(Ok(()));
            }
        }
    }

    /// Reads any value with everything in it, of at most [`DEPTH`] levels.
    fn skip(&mut self) -> Option<()> {
        // Bit 0 of `objects` says whether the innermost open array or object is an object, bit 1 says this of the array or
        // object around it, and so on.
        let (mut objects, mut depth) = (0_u64, 0_u32);
        loop {
            let is_object = self.eat(b'{');
            if is_object || self.eat(b'[') {
                depth = depth.checked_add(1).filter(|depth| *depth <= DEPTH)?;
                objects = objects.wrapping_shl(1) | u64::from(is_object);
                if !self.eat(closing(objects)) {
                    if is_object {
                        self.key()?;
                    }
                    continue;
                }
                (objects, depth) = (objects.wrapping_shr(1), depth.saturating_sub(1));
            } else {
                self.scalar()?;
            }
            // A value has ended. Closing brackets may follow, each of which ends the array or object around the value.
            loop {
                if depth == 0 {
                    return Some(());
                }
                if self.eat(b',') {
                    if objects & 1 == 1 {
                        self.key()?;
                    }
                    break;
                }
                self.eat(closing(objects)).then_some(())?;
                (objects, depth) = (objects.wrapping_shr(1), depth.saturating_sub(1));
            }
        }
    }

    /// Skips a JSON value that is no array or object: a string, a number, `true`, `false` or `null`.
    fn scalar(&mut self) -> Option<()> {
        let text = self.rest.trim_ascii_start();
        for word in [&b"true"[..], b"false", b"null"] {
            if let Some(rest) = text.strip_prefix(word) {
                self.rest = rest;
                return Some(());
            }
        }
        if text.first() == Some(&b'"') { self.text().map(drop) } else { self.number().map(drop) }
    }
}

/// Returns the bracket that ends the innermost level, which is an object if the lowest bit of `objects` is 1.
fn closing(objects: u64) -> u8 {
    if objects & 1 == 1 { b'}' } else { b']' }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<QuantState> {
        QuantState::read(json.as_bytes()).unwrap()
    }

    #[test]
    fn states_are_read() {
        let json = r#" { "quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [2, 3], "nested_blocksize": 256,
            "nested_dtype": "float32", "nested_offset": -0.125 } "#;
        let wanted = QuantState {
            blocksize: 64,
            shape: [2, 3].into(),
            nested_blocksize: 256,
            nested_offset: -0.125,
        };
        assert_eq!(read(json), Some(wanted));
        let short = read(r#"{"shape":[],"blocksize":1,"x":{"y":[{},[[]],null,"\u00e9\"",1e5]}}"#);
        assert_eq!(short, Some(QuantState { blocksize: 1, ..QuantState::default() }));
    }

    #[test]
    fn other_texts_are_no_states() {
        for json in [
            "",
            "{}",
            "[]",
            r#"{"blocksize":64}"#,
            r#"{"shape":[1]}"#,
            r#"{"blocksize":64,"shape":[1],"blocksize":64}"#,
            r#"{"blocksize":64.0,"shape":[1]}"#,
            r#"{"blocksize":-1,"shape":[1]}"#,
            r#"{"blocksize":64,"shape":[-1]}"#,
            r#"{"blocksize":64,"shape":1}"#,
            r#"{"blocksize":64,"shape":[1],"nested_offset":1e999}"#,
            r#"{"blocksize":64,"shape":[1]} x"#,
        ] {
            assert_eq!(read(json), None, "{json}");
        }
    }

    /// Checks texts with a changed byte: `is_object` accepts those that a library for JSON accepts as an object. Checks that values
    /// may have 64 levels and no more.
    #[test]
    fn objects_are_those_of_a_json_library() {
        let all = [
            r#"{"a":[1,-2.5e+3,{"b":[],"c":{}}],"d":"\\\"\n","e":null,"f":true,"g":false}"#,
            r#"{"blocksize":64,"shape":[2,3],"nested_offset":0.1}"#,
            r#" { "x" : 10 , "y" : [ 0 , -0 , 0.5 ] } "#,
        ];
        let mut valid = 0;
        for json in all {
            for at in 0..json.len() {
                for byte in b"{}[],:\"0-.e \\a\x01" {
                    let mut bytes = json.as_bytes().to_vec();
                    bytes[at] = *byte;
                    let other = serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok();
                    let is_open = bytes.trim_ascii_start().first() == Some(&b'{');
                    let own = is_object(&bytes);
                    assert_eq!(own, other && is_open, "{}", bytes.escape_ascii());
                    valid += u32::from(own);
                }
            }
        }
        assert!(valid > 50);
        let deep = |levels: usize| {
            let (open, close) = ("[".repeat(levels), "]".repeat(levels));
            is_object(alloc::format!("{{\"a\":{open}{close}}}").as_bytes())
        };
        assert!(deep(64) && !deep(65));
    }
}

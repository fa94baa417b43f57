//! Compiling the dtype of records, a Python list of fields, to steps. The library has checked its syntax.

use std::io::Write as _;

use super::{Step, separator};
use crate::commands::cat::opaque::scalar::Scalar;
use crate::escape::Name;
use crate::json;
use crate::number::Style;

/// The largest depth of nested records and arrays. A deeper value is printed as bytes, because readers of JSON limit the depth.
const DEPTH: usize = 64;
/// The largest number of fields of a record that JSON output shows as an object. Attributes have the same limit.
const KEYS: usize = 4096;

/// The type of NumPy records (a structured dtype) whose list of fields is being parsed.
#[derive(Default)]
struct Records {
    /// The fields that have been parsed: the name, and the steps that print the value. Padding has no name.
    fields: Vec<(Option<String>, Vec<Step>)>,
    width: usize,
    /// How deeply records and arrays are nested in the field with the deepest nesting.
    depth: usize,
    /// The name of the field that is being parsed; empty for padding.
    name: String,
}

/// A parsed NumPy type: the steps that print a value, the value's width in bytes, and the depth of nested records and arrays.
struct Compiled {
    steps: Vec<Step>,
    width: usize,
    depth: usize,
}

/// Returns the width of records of the dtype `text`, and the steps that print them. Returns `None` if a field has a type that is
/// not known, records and arrays are nested too deeply, the width overflows, or the text has another form.
pub(super) fn steps(text: &str, style: Style) -> Option<(usize, Vec<Step>)> {
    let mut rest = Text(text);
    let mut open: Vec<Records> = Vec::new();
    let mut records = Records::default();
    rest.accept('[').then_some(())?;
    loop {
        let value = if rest.accept(']') {
            let value = records.compile(style)?;
            let Some(outer) = open.pop() else {
                return rest.is_over().then_some((value.width, value.steps));
            };
            records = outer;
            value
        } else {
            rest.accept('(').then_some(())?;
            records.name = if rest.accept('(') {
                // The field has a title, which is not printed, before its name.
                rest.string()?;
                rest.accept(',').then_some(())?;
                let name = rest.string()?;
                rest.accept(')').then_some(())?;
                name
            } else {
                rest.string()?
            };
            rest.accept(',').then_some(())?;
            if rest.accept('[') {
                if open.len() >= DEPTH {
                    return None;
                }
                open.push(std::mem::take(&mut records));
                continue;
            }
            let scalar = Scalar::parse(&rest.string()?)?;
            Compiled { width: scalar.width(), steps: vec![Step::Value(scalar)], depth: 0 }
        };
        let has_shape = rest.accept(',') && !rest.begins(')');
        let shape = if has_shape { rest.shape()? } else { Vec::new() };
        rest.accept(')').then_some(())?;
        rest.accept(',');
        records.add(value.in_array(&shape)?)?;
    }
}

impl Records {
    /// Adds the field that has just been parsed, which is called `self.name` and has the type `value`. Returns `None` if the width
    /// of the records overflows.
    fn add(&mut self, value: Compiled) -> Option<()> {
        self.width = self.width.checked_add(value.width)?;
        self.depth = self.depth.max(value.depth);
        let name = std::mem::take(&mut self.name);
        self.fields.push(if name.is_empty() {
            (None, vec![Step::Skip(value.width)])
        } else {
            (Some(name), value.steps)
        });
        Some(())
    }

    /// Returns the record type, whose steps print all fields. Returns `None` if records are nested too deeply.
    fn compile(self, style: Style) -> Option<Compiled> {
        let is_map = style == Style::Json && !self.is_object();
        let (open, close) = if is_map { ("{\"$map\":[", "]}") } else { ("{", "}") };
        let mut steps = vec![Step::Text(open.to_owned())];
        let mut is_first = true;
        for (name, value) in self.fields {
            if let Some(name) = name {
                let before = if is_first { "" } else { separator(style) };
                is_first = false;
                let key = match style {
                    Style::Text => format!("{}: ", Name(&name)),
                    Style::Json => {
                        let mut key = Vec::new();
                        json::to_writer(&mut key, &name).ok()?;
                        key.write_all(if is_map { b"," } else { b":" }).ok()?;
                        String::from_utf8(key).ok()?
                    }
                };
                steps.push(Step::Text(format!("{before}{key}")));
            }
            steps.extend(value);
        }
        steps.push(Step::Text(close.to_owned()));
        let depth = self.depth.checked_add(1).filter(|depth| *depth <= DEPTH)?;
        Some(Compiled { steps, width: self.width, depth })
    }

    /// Returns whether JSON output shows the record as an object. The names must be unique, not more than [`KEYS`], and without `$`
    /// at the start, which marks other JSON objects such as `$map`.
    fn is_object(&self) -> bool {
        let mut names: Vec<_> =
            self.fields.iter().filter_map(|(name, _)| name.as_deref()).collect();
        names.sort_unstable();
        names.len() <= KEYS
            && !names.iter().any(|name| name.starts_with('$'))
            && !names.iter().zip(names.iter().skip(1)).any(|(one, other)| one == other)
    }
}

impl Compiled {
    /// Returns the type of an array of `shape` whose items are of this type. Returns `None` if the array is nested too
    /// deeply or its width in bytes overflows.
    fn in_array(self, shape: &[usize]) -> Option<Self> {
        let Self { mut steps, mut width, depth } = self;
        let depth = depth.checked_add(shape.len()).filter(|depth| *depth <= DEPTH)?;
        let items = shape.iter().try_fold(1_usize, |items, size| items.checked_mul(*size))?;
        width = width.checked_mul(items)?;
        if shape.is_empty() {
            return Some(Self { steps, width, depth });
        }
        if width == 0 {
            // A header may claim any number of items without bytes, so they are not printed.
            return Some(Self { steps: vec![Step::Text("[]".to_owned())], width, depth });
        }
        for size in shape.iter().rev() {
            let mut outer = vec![Step::Text("[".to_owned()), Step::Begin(*size)];
            let back = steps.len();
            outer.append(&mut steps);
            outer.extend([Step::Next(back), Step::Text("]".to_owned())]);
            steps = outer;
        }
        Some(Self { steps, width, depth })
    }
}

/// The text of a NumPy dtype, a Python literal such as `[('x', '<f4')]`, that has not been parsed yet.
struct Text<'a>(&'a str);

impl Text<'_> {
    fn skip_blanks(&mut self) {
        self.0 = self.0.trim_ascii_start();
    }

    fn is_over(&mut self) -> bool {
        self.skip_blanks();
        self.0.is_empty()
    }

    fn begins(&mut self, token: char) -> bool {
        self.skip_blanks();
        self.0.starts_with(token)
    }

    /// Removes blanks, and then the character `token` if it comes next. Returns whether it came next.
    fn accept(&mut self, token: char) -> bool {
        self.skip_blanks();
        let rest = self.0.strip_prefix(token);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Removes a string in quotes, and returns it without its escapes. Returns `None` if no string comes next, it does not end, or
    /// an escape is invalid.
    fn string(&mut self) -> Option<String> {
        self.skip_blanks();
        let mut chars = self.0.chars();
        let quote = chars.next().filter(|quote| matches!(quote, '\'' | '"'))?;
        let mut text = String::new();
        loop {
            match chars.next()? {
                end if end == quote => break,
                '\\' => escape(&mut chars, &mut text)?,
                other => text.push(other),
            }
        }
        self.0 = chars.as_str();
        Some(text)
    }

    /// Removes the shape of an array: a number, or a tuple of numbers.
    fn shape(&mut self) -> Option<Vec<usize>> {
        if !self.accept('(') {
            return Some(vec![self.number()?]);
        }
        let mut shape = Vec::new();
        while !self.accept(')') {
            shape.push(self.number()?);
            self.accept(',');
        }
        Some(shape)
    }

    fn number(&mut self) -> Option<usize> {
        self.skip_blanks();
        let end = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at_checked(end)?;
        // Python 2 wrote integers with the suffix `L`.
        self.0 = rest.strip_prefix('L').unwrap_or(rest);
        digits.parse().ok()
    }
}

/// Reads an escape sequence from `chars`, whose next character is the one after the backslash, and appends the character
/// that the sequence stands for to `text`. Appends a sequence that is not handled here unchanged, with its backslash.
/// Returns `None` if the sequence is incomplete or its number is no character.
fn escape(chars: &mut std::str::Chars<'_>, text: &mut String) -> Option<()> {
    let escaped = chars.next()?;
    let digits = match escaped {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => {
            match escaped {
                '\\' | '\'' | '"' => text.push(escaped),
                'n' => text.push('\n'),
                'r' => text.push('\r'),
                't' => text.push('\t'),
                _ => text.extend(['\\', escaped]),
            }
            return Some(());
        }
    };
    let (digits, rest) = chars.as_str().split_at_checked(digits)?;
    text.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
    *chars = rest.chars();
    Some(())
}

//! Printing of opaque elements of NumPy: text, bytes, dates, durations, long doubles, void and records of them.
//!
//! The library hands out the bytes of these elements as they are stored, and the name of their type. [`Opaque::new`] compiles
//! this name to a list of steps once, and each element is printed by going through the steps. Neither compiling nor
//! printing recurses, so the depth of nested records costs no stack.

mod date;
mod extended;
mod records;
mod scalar;

use std::io::{self, Write};

use crate::number::Style;
use scalar::Scalar;

/// The largest size in bytes of an element that is printed as text or JSON: such an element is held in memory.
pub(super) const MOST: u64 = 16 << 20;

/// A printer of elements of one opaque NumPy type, such as text, dates or records.
pub(super) struct Opaque {
    /// The size of an element in bytes.
    width: usize,
    steps: Vec<Step>,
    style: Style,
}

/// A step of printing an element.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// Prints a text that is the same for all elements: brackets, names of fields, separators.
    Text(String),
    /// Prints the next bytes of the element.
    Value(Scalar),
    /// Skips the next bytes, which are padding.
    Skip(usize),
    /// Begins a dimension of an array: the steps up to the matching [`Next`](Self::Next) print one of its items. The number of
    /// items is at least 1.
    Begin(usize),
    /// Ends an item of the innermost array. If the array has more items, prints a separator, and goes back by this number of steps.
    Next(usize),
}

impl Opaque {
    /// Creates the printer of elements whose type is called `name` and takes `width` bytes. Elements of a type that this module
    /// does not know, or whose own width is not `width`, are printed as bytes.
    pub(super) fn new(name: &str, width: usize, style: Style) -> Self {
        let known = if name.trim_ascii_start().starts_with('[') {
            records::steps(name, style)
        } else {
            let scalar = Scalar::parse(name);
            scalar.map(|scalar| (scalar.width(), vec![Step::Value(scalar)]))
        };
        let steps = match known {
            Some((own, steps)) if own == width => steps,
            _ => vec![Step::Value(Scalar::Void(width))],
        };
        Self { width, steps, style }
    }

    /// Returns the size of an element in bytes.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Prints the element in `bytes`, which has the width of an element.
    pub(super) fn write(&self, out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
        let (mut rest, mut at) = (bytes, 0_usize);
        let mut left: Vec<usize> = Vec::new();
        while let Some(step) = self.steps.get(at) {
            at = at.saturating_add(1);
            match step {
                Step::Text(text) => out.write_all(text.as_bytes())?,
                Step::Value(scalar) => {
                    scalar.write(out, take(&mut rest, scalar.width()), self.style)?;
                }
                Step::Skip(width) => drop(take(&mut rest, *width)),
                Step::Begin(items) => left.push(*items),
                Step::Next(back) => {
                    let Some(last) = left.last_mut() else { continue };
                    *last = last.saturating_sub(1);
                    if *last == 0 {
                        left.pop();
                    } else {
                        out.write_all(separator(self.style).as_bytes())?;
                        at = at.saturating_sub(back.saturating_add(1));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Removes the first `width` bytes, or all bytes if there are fewer, from `rest`, and returns them.
fn take<'b>(rest: &mut &'b [u8], width: usize) -> &'b [u8] {
    let (first, others) = rest.split_at(width.min(rest.len()));
    *rest = others;
    first
}

/// Returns the text between two items.
fn separator(style: Style) -> &'static str {
    match style {
        Style::Text => ", ",
        Style::Json => ",",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(name: &str, bytes: &[u8]) -> [String; 2] {
        [Style::Text, Style::Json].map(|style| {
            let mut out = Vec::new();
            Opaque::new(name, bytes.len(), style).write(&mut out, bytes).unwrap();
            String::from_utf8(out).unwrap()
        })
    }

    #[test]
    fn records_in_records() {
        let name = "[('a', '<u2'), ('', '|V1'), ('b', [('c', '|S1'), ('d', '|u1', (2, 2))], (2,)), (('t', 'e'), '?')]";
        let bytes = [1, 0, 9, b'x', 1, 2, 3, 4, b'y', 5, 6, 7, 8, 1];
        let [text, json] = printed(name, &bytes);
        let wanted = "{a: 1, b: [{c: b\"x\", d: [[1, 2], [3, 4]]}, {c: b\"y\", d: [[5, 6], [7, 8]]}], e: true}";
        assert_eq!(text, wanted);
        let wanted =
            r#"{"a":1,"b":[{"c":"x","d":[[1,2],[3,4]]},{"c":"y","d":[[5,6],[7,8]]}],"e":true}"#;
        assert_eq!(json, wanted);
    }

    #[test]
    fn names_of_fields() {
        let [text, json] = printed(r"[('a b', '|u1'), ('\x1b\'\u200b', '|u1')]", &[1, 2]);
        assert_eq!(text, r#"{"a b": 1, "\u{1b}'\u{200b}": 2}"#);
        assert_eq!(json, r#"{"a b":1,"\u001b'\u200b":2}"#);
        // JSON shows a record with a field name that begins with a dollar sign as `$map`: such keys mark values that are no
        // records.
        let [text, json] = printed("[('$int', '|u1'), ('b', '|u1')]", &[1, 2]);
        assert_eq!((&*text, &*json), ("{$int: 1, b: 2}", r#"{"$map":["$int",1,"b",2]}"#));
        let [_, json] = printed("[('s', [('b', '|u1'), ('b', '|u1')])]", &[1, 2]);
        assert_eq!(json, r#"{"s":{"$map":["b",1,"b",2]}}"#);
    }

    #[test]
    fn arrays_without_items_or_bytes() {
        let [text, json] = printed("[('a', '<f4', (2, 0)), ('b', '<U0', (1000000000,))]", &[]);
        assert_eq!((&*text, &*json), ("{a: [], b: []}", r#"{"a":[],"b":[]}"#));
        assert_eq!(printed("[]", &[]), ["{}", "{}"]);
    }

    #[test]
    fn types_that_are_not_known_are_bytes() {
        let deep = format!("{}'|u1'{}", "[('a', ".repeat(100), ")]".repeat(100));
        let long = format!("[('a', '|u1', ({}))]", "1, ".repeat(100));
        for name in ["<x1", "[('a', '<x1')]", "[('a', '<f4')]", "[('a'", "[", &deep, &long] {
            assert_eq!(printed(name, &[7]), ["0x07", r#"{"$bytes":"07"}"#], "{name}");
        }
    }
}

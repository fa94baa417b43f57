//! Printing of elements in nested brackets, as a NumPy file, or as bytes.

use std::io::{self, Write};

use zten::num::u64_from_usize;
use zten::view::Normalization;

use super::opaque::Opaque;
use crate::json::SCHEMA;
use crate::number::{NumberKind, Style};

/// The number of elements that are printed at each end of a dimension of a shortened array, as in NumPy.
const EDGE: u64 = 3;
/// The largest number of elements of an array that is not shortened, as in NumPy.
const ALL: u64 = 1000;

/// A way to write elements.
pub(super) enum Printer {
    /// Little-endian bytes after a header.
    Bytes {
        /// The bytes before the elements: empty, or the header of a NumPy file.
        header: Vec<u8>,
        /// The change that is applied to the bytes of elements.
        normalization: Option<Normalization>,
    },
    /// Text in nested brackets.
    Nested(Nested),
}

impl Printer {
    /// Prints what comes before the first element: the header, or the start of the JSON document. Opening brackets are printed with
    /// the elements.
    pub(super) fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Bytes { header, .. } => out.write_all(header),
            Self::Nested(nested) => nested.begin(out),
        }
    }

    /// Prints the next bytes, which may end within an element.
    pub(super) fn bytes(&mut self, out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Bytes { normalization: Some(normalization), .. } => {
                normalization.chunk(bytes, |bytes| out.write_all(bytes))
            }
            Self::Bytes { normalization: None, .. } => out.write_all(bytes),
            Self::Nested(nested) => nested.bytes(out, bytes),
        }
    }

    /// Prints what comes after the last element: nothing after bytes. Otherwise `[]` if there were no elements, the closing bracket
    /// of a list of unknown length, the end of the JSON document, and a newline.
    pub(super) fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Bytes { .. } => Ok(()),
            Self::Nested(nested) => nested.end(out),
        }
    }
}

/// The type of the elements that are printed.
pub(super) enum Elements {
    Numbers(NumberKind),
    Opaque(Opaque),
}

impl Elements {
    /// Returns the size of an element in bytes.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::Numbers(kind) => kind.width(),
            Self::Opaque(opaque) => opaque.width(),
        }
    }

    fn write(&self, out: &mut dyn Write, bytes: &[u8], style: Style) -> io::Result<()> {
        match self {
            Self::Numbers(kind) => kind.write(out, bytes, style),
            Self::Opaque(opaque) => opaque.write(out, bytes),
        }
    }
}

/// A printer of elements in nested brackets, one pair for each row. As text, each row is a line.
pub(super) struct Nested {
    elements: Elements,
    style: Style,
    /// The sizes of the dimensions, outermost first, or `None` if the number of elements is not known beforehand.
    shape: Option<Vec<u64>>,
    /// The index of the next element in each dimension.
    at: Vec<u64>,
    /// The bytes so far of an incomplete element.
    part: Vec<u8>,
    started: bool,
    /// True if the middle of large dimensions is left out.
    shortened: bool,
    /// The number of the next input bytes to skip, because they belong to elements that are left out.
    skip: u64,
}

impl Nested {
    /// Creates a printer of an array of `shape`, or of a list of any length if `shape` is `None`.
    pub(super) fn new(elements: Elements, style: Style, shape: Option<Vec<u64>>) -> Self {
        let at = vec![0; shape.as_ref().map_or(1, Vec::len)];
        let part = Vec::new();
        Self { elements, style, shape, at, part, started: false, shortened: false, skip: 0 }
    }

    /// Returns the printer with `...` for the middle of each dimension, if there is one between [`EDGE`] indices at each end, if
    /// the array has more than [`ALL`] elements. A list of unknown length is never shortened.
    pub(super) fn shortened(mut self) -> Self {
        self.shortened = self.shape.as_ref().map_or(0, |shape| elements_of(shape)) > ALL;
        self
    }

    fn begin(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.style {
            Style::Text => Ok(()),
            Style::Json => write!(out, "{{\"schema\":{SCHEMA},\"elements\":"),
        }
    }

    fn bytes(&mut self, out: &mut dyn Write, mut bytes: &[u8]) -> io::Result<()> {
        let width = self.elements.width();
        while !bytes.is_empty() {
            if self.skip > 0 {
                let most = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
                bytes = bytes.get(most..).unwrap_or_default();
                self.skip = self.skip.saturating_sub(u64_from_usize(most));
                continue;
            }
            if self.part.is_empty()
                && let Some((element, rest)) = bytes.split_at_checked(width)
            {
                bytes = rest;
                self.element(out, element)?;
                continue;
            }
            let missing = width.saturating_sub(self.part.len()).min(bytes.len());
            let (more, rest) = bytes.split_at(missing);
            self.part.extend_from_slice(more);
            bytes = rest;
            if self.part.len() == width {
                let part = std::mem::take(&mut self.part);
                self.element(out, &part)?;
            }
        }
        Ok(())
    }

    fn element(&mut self, out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
        let depth = self.at.len();
        // The number of rows that begin here is the number of trailing zeros of the index.
        let opened = self.at.iter().rev().take_while(|at| **at == 0).count();
        if self.started {
            self.separate(out, opened)?;
        }
        self.started = true;
        for _ in 0..opened {
            out.write_all(b"[")?;
        }
        self.elements.write(out, bytes, self.style)?;
        for axis in (0..depth).rev() {
            let Some(at) = self.at.get_mut(axis) else {
                break;
            };
            *at = at.saturating_add(1);
            // A list of unknown length is closed in `end`.
            let size = self.shape.as_ref().and_then(|shape| shape.get(axis));
            if size.is_none_or(|size| *at < *size) {
                break;
            }
            *at = 0;
            out.write_all(b"]")?;
        }
        if self.shortened { self.leave_out(out) } else { Ok(()) }
    }

    /// Prints `...` and skips the middle of a dimension, if the next element is the first of the middle.
    fn leave_out(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let within = self.at.iter().rev().take_while(|at| **at == 0).count();
        let axis = self.at.len().checked_sub(within.saturating_add(1));
        let (Some(axis), Some(shape)) = (axis, &self.shape) else { return Ok(()) };
        let (Some(at), Some(size)) = (self.at.get_mut(axis), shape.get(axis)) else {
            return Ok(());
        };
        let middle = size.saturating_sub(EDGE.saturating_mul(2));
        if *at != EDGE || middle == 0 {
            return Ok(());
        }
        *at = at.saturating_add(middle);
        let inner = shape.iter().skip(axis.saturating_add(1));
        let elements = inner.fold(middle, |product, size| product.saturating_mul(*size));
        self.skip = elements.saturating_mul(u64_from_usize(self.elements.width()));
        self.separate(out, within)?;
        out.write_all(b"...")
    }

    /// Prints the separator before the next element, which is the first element of `opened` nested rows.
    fn separate(&self, out: &mut dyn Write, opened: usize) -> io::Result<()> {
        match (self.style, opened) {
            (Style::Json, _) => out.write_all(b","),
            (Style::Text, 0) => out.write_all(b", "),
            (Style::Text, opened) => {
                let indent = self.at.len().saturating_sub(opened);
                write!(out, ",\n{:indent$}", "")
            }
        }
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if !self.started && self.elements.width() == 0 {
            // Elements without bytes, such as text of length 0, never get to `bytes`, so they are printed here. A shape may claim
            // any number of them, so an array of more than `ALL` is printed as `[]`.
            let count = self.shape.as_ref().map_or(0, |shape| elements_of(shape));
            for _ in 0..Some(count).filter(|count| *count <= ALL).unwrap_or_default() {
                self.element(out, &[])?;
            }
        }
        if !self.started {
            // An array without elements is `[]` whatever its shape: `[2^63, 0]` would have 2^63 empty rows.
            out.write_all(b"[]")?;
        } else if self.shape.is_none() {
            out.write_all(b"]")?;
        }
        out.write_all(match self.style {
            Style::Text => b"\n",
            Style::Json => b"}\n",
        })
    }
}

/// Returns the number of elements of an array of `shape`, or [`u64::MAX`] if the number exceeds 64 bits.
fn elements_of(shape: &[u64]) -> u64 {
    shape.iter().fold(1, |product, size| product.saturating_mul(*size))
}

#[cfg(test)]
mod tests {
    use zten::element::StorageType;

    use super::*;

    fn printed(style: Style, shape: Option<&[u64]>, bytes: &[u8], step: usize) -> String {
        let kind = NumberKind::Plain(StorageType::U16);
        let mut printer = Printer::Nested(Nested::new(
            Elements::Numbers(kind),
            style,
            shape.map(<[u64]>::to_vec),
        ));
        let mut out = Vec::new();
        printer.begin(&mut out).unwrap();
        bytes.chunks(step).for_each(|bytes| printer.bytes(&mut out, bytes).unwrap());
        printer.end(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn brackets() {
        let bytes = [1, 0, 2, 0, 3, 0, 4, 0];
        for step in 1..9 {
            let text = |shape| printed(Style::Text, shape, &bytes, step);
            assert_eq!(text(Some(&[4])), "[1, 2, 3, 4]\n");
            assert_eq!(text(None), "[1, 2, 3, 4]\n");
            assert_eq!(text(Some(&[2, 2])), "[[1, 2],\n [3, 4]]\n");
            assert_eq!(text(Some(&[2, 2, 1])), "[[[1],\n  [2]],\n [[3],\n  [4]]]\n");
            let json = |shape| printed(Style::Json, shape, &bytes, step);
            assert_eq!(json(Some(&[2, 1, 2])), "{\"schema\":2,\"elements\":[[[1,2]],[[3,4]]]}\n");
            assert_eq!(json(None), "{\"schema\":2,\"elements\":[1,2,3,4]}\n");
        }
    }

    #[test]
    fn the_middle_is_left_out() {
        let shortened = |shape: &[u64], step: usize| {
            let elements = Elements::Numbers(NumberKind::Plain(StorageType::U16));
            let nested = Nested::new(elements, Style::Text, Some(shape.into()));
            let mut printer = Printer::Nested(nested.shortened());
            let (mut out, count) = (Vec::new(), shape.iter().product::<u64>());
            let bytes: Vec<u8> =
                (0..count).flat_map(|n| u16::try_from(n).unwrap().to_le_bytes()).collect();
            printer.begin(&mut out).unwrap();
            bytes.chunks(step).for_each(|bytes| printer.bytes(&mut out, bytes).unwrap());
            printer.end(&mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        for step in [1, 3, 7, 1 << 20] {
            assert_eq!(shortened(&[1001], step), "[0, 1, 2, ..., 998, 999, 1000]\n");
            assert!(!shortened(&[1000], step).contains("..."));
            let rows =
                "[[0, 1, 2, ..., 997, 998, 999],\n [1000, 1001, 1002, ..., 1997, 1998, 1999]]\n";
            assert_eq!(shortened(&[2, 1000], step), rows);
            let columns = "[[0, 1],\n [2, 3],\n [4, 5],\n ...,\n [2000, 2001],\n [2002, 2003],\n \
                           [2004, 2005]]\n";
            assert_eq!(shortened(&[1003, 2], step), columns);
            let blocks = shortened(&[7, 1, 200], step);
            let first = "[[[0, 1, 2, ..., 197, 198, 199]],\n [[200, ";
            assert!(blocks.starts_with(first), "{blocks}");
            let last = ",\n ...,\n [[800, 801, 802, ..., 997, 998, 999]],\n [[1000, ";
            assert!(blocks.contains(last), "{blocks}");
            assert!(blocks.ends_with("..., 1397, 1398, 1399]]]\n"), "{blocks}");
            // A dimension of 6 has no middle between its two edges of 3.
            assert!(!shortened(&[6, 6, 6, 6], step).contains("..."));
        }
    }

    #[test]
    fn scalars_and_empty_arrays_are_printed() {
        assert_eq!(printed(Style::Text, Some(&[]), &[5, 0], 2), "5\n");
        let nothing = printed(Style::Json, Some(&[u64::MAX, 0]), &[], 1);
        assert_eq!(nothing, "{\"schema\":2,\"elements\":[]}\n");
        assert_eq!(printed(Style::Text, None, &[], 1), "[]\n");
    }
}

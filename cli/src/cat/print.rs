//! What becomes of the bytes of elements: nested brackets, a NumPy file, or the bytes.

use std::io::{self, Write};

use zten::view::Normalization;

use crate::element::{Kind, Style};
use crate::json::SCHEMA;

/// How elements are written.
pub(super) enum Printer {
    /// Little-endian bytes, after what stands before them.
    Bytes {
        /// What stands before them.
        header: Vec<u8>,
        /// What becomes of them before they are written.
        normalization: Option<Normalization>,
    },
    /// Within brackets.
    Nested(Nested),
}

impl Printer {
    /// Before the first element.
    pub(super) fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Bytes { header, .. } => out.write_all(header),
            Self::Nested(nested) => nested.begin(out),
        }
    }

    /// The next bytes; they may end within an element.
    pub(super) fn bytes(&mut self, out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Bytes { normalization: Some(normalization), .. } => {
                normalization.chunk(bytes, |bytes| out.write_all(bytes))
            }
            Self::Bytes { normalization: None, .. } => out.write_all(bytes),
            Self::Nested(nested) => nested.bytes(out, bytes),
        }
    }

    /// After the last element.
    pub(super) fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Bytes { .. } => Ok(()),
            Self::Nested(nested) => nested.end(out),
        }
    }
}

/// Elements within brackets, one pair for each row; a row a line for people.
pub(super) struct Nested {
    kind: Kind,
    style: Style,
    /// Outermost first; none where the number of elements is not known beforehand.
    shape: Option<Vec<u64>>,
    /// Where in the shape the next element is.
    at: Vec<u64>,
    /// Bytes of an element that is not complete.
    part: Vec<u8>,
    started: bool,
}

impl Nested {
    /// Elements of an array of that shape, or of a list of any length.
    pub(super) fn new(kind: Kind, style: Style, shape: Option<Vec<u64>>) -> Self {
        let at = vec![0; shape.as_ref().map_or(1, Vec::len)];
        Self { kind, style, shape, at, part: Vec::new(), started: false }
    }

    fn begin(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.style {
            Style::Text => Ok(()),
            Style::Json => write!(out, "{{\"schema\":{SCHEMA},\"elements\":"),
        }
    }

    fn bytes(&mut self, out: &mut dyn Write, mut bytes: &[u8]) -> io::Result<()> {
        let width = self.kind.width();
        if !self.part.is_empty() {
            let missing = width.saturating_sub(self.part.len()).min(bytes.len());
            let (more, rest) = bytes.split_at(missing);
            self.part.extend_from_slice(more);
            bytes = rest;
            if self.part.len() < width {
                return Ok(());
            }
            let part = std::mem::take(&mut self.part);
            self.element(out, &part)?;
        }
        let elements = bytes.chunks_exact(width);
        self.part.extend_from_slice(elements.remainder());
        for element in elements {
            self.element(out, element)?;
        }
        Ok(())
    }

    fn element(&mut self, out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
        let depth = self.at.len();
        // Rows that begin here: as many as there are zeros at the end.
        let opened = self.at.iter().rev().take_while(|at| **at == 0).count();
        if self.started {
            self.separate(out, opened)?;
        }
        self.started = true;
        for _ in 0..opened {
            out.write_all(b"[")?;
        }
        self.kind.write(out, bytes, self.style)?;
        for axis in (0..depth).rev() {
            let Some(at) = self.at.get_mut(axis) else {
                break;
            };
            *at = at.saturating_add(1);
            // A list of any length is closed at the end.
            let size = self.shape.as_ref().and_then(|shape| shape.get(axis));
            if size.is_none_or(|size| *at < *size) {
                break;
            }
            *at = 0;
            out.write_all(b"]")?;
        }
        Ok(())
    }

    /// Between two elements: within a row, or between two.
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
        if !self.started {
            // Whatever its shape: `[2^63, 0]` has as many empty rows.
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

#[cfg(test)]
mod tests {
    use zten::StorageType;

    use super::*;

    fn printed(style: Style, shape: Option<&[u64]>, bytes: &[u8], step: usize) -> String {
        let kind = Kind::Plain(StorageType::U16);
        let mut printer = Printer::Nested(Nested::new(kind, style, shape.map(<[u64]>::to_vec)));
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
            assert_eq!(json(Some(&[2, 1, 2])), "{\"schema\":1,\"elements\":[[[1,2]],[[3,4]]]}\n");
            assert_eq!(json(None), "{\"schema\":1,\"elements\":[1,2,3,4]}\n");
        }
    }

    #[test]
    fn scalars_and_nothing() {
        assert_eq!(printed(Style::Text, Some(&[]), &[5, 0], 2), "5\n");
        let nothing = printed(Style::Json, Some(&[u64::MAX, 0]), &[], 1);
        assert_eq!(nothing, "{\"schema\":1,\"elements\":[]}\n");
        assert_eq!(printed(Style::Text, None, &[], 1), "[]\n");
    }
}

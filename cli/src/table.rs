//! Tables whose columns line up.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr as _;

use crate::escape::Name;

/// One column: what it is called, and whether it holds numbers.
pub(crate) struct Column {
    header: &'static str,
    right: bool,
}

impl Column {
    /// A column of text.
    pub(crate) const fn text(header: &'static str) -> Self {
        Self { header, right: false }
    }

    /// A column of numbers, which end below each other.
    pub(crate) const fn number(header: &'static str) -> Self {
        Self { header, right: true }
    }
}

/// Columns of the widest name that the others make room for.
const NAME: usize = 60;

/// A row: a name in full, which may be as long as a manifest and is not copied, and short cells.
pub(crate) struct Row<'a, const N: usize> {
    /// Whether it belongs to the row above. No name begins with a blank.
    pub(crate) below: bool,
    pub(crate) name: Name<'a>,
    pub(crate) cells: [String; N],
}

impl<const N: usize> Row<'_, N> {
    fn indent(&self) -> &'static str {
        if self.below { "  " } else { "" }
    }

    fn name_width(&self) -> usize {
        self.indent().len().saturating_add(self.name.columns())
    }
}

/// What stands above the names.
const HEADER: &str = "NAME";

/// A table that does not hold its rows: they go by twice, to be measured and to be written.
pub(crate) struct Table<const N: usize> {
    columns: [Column; N],
    name_width: usize,
    widths: [usize; N],
}

impl<const N: usize> Table<N> {
    /// A table of names and these columns.
    pub(crate) fn new(columns: [Column; N]) -> Self {
        let widths = columns.each_ref().map(|column| column.header.width());
        Self { columns, name_width: HEADER.width(), widths }
    }

    /// Measures a row.
    pub(crate) fn measure(&mut self, row: &Row<'_, N>) {
        let width = row.name_width();
        if width <= NAME {
            self.name_width = width.max(self.name_width);
        }
        for (width, cell) in self.widths.iter_mut().zip(&row.cells) {
            *width = cell.width().max(*width);
        }
    }

    /// Writes the header.
    pub(crate) fn header(&self, out: &mut impl Write) -> io::Result<()> {
        let cells = self.columns.each_ref().map(|column| column.header.to_owned());
        self.row(out, &Row { below: false, name: Name(HEADER), cells })
    }

    /// Writes a row.
    pub(crate) fn row(&self, out: &mut impl Write, row: &Row<'_, N>) -> io::Result<()> {
        write!(out, "{}{}", row.indent(), row.name)?;
        let mut line =
            " ".repeat(self.name_width.saturating_sub(row.name_width()).saturating_add(2));
        for ((column, width), cell) in self.columns.iter().zip(&self.widths).zip(&row.cells) {
            let padding = " ".repeat(width.saturating_sub(cell.width()));
            let (before, after) = if column.right { (&*padding, "") } else { ("", &*padding) };
            line.extend([before, cell, after, "  "]);
        }
        writeln!(out, "{}", line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let row = |below, name, number: &str| Row {
            below,
            name: Name(name),
            cells: ["x".to_owned(), number.to_owned()],
        };
        let long = "a".repeat(61);
        let rows = [row(false, "重重重", "5"), row(true, "", "1000"), row(false, &long, "1")];
        let mut table = Table::new([Column::text("A"), Column::number("N")]);
        for row in &rows {
            table.measure(row);
        }
        let mut out = Vec::new();
        table.header(&mut out).unwrap();
        for row in &rows {
            table.row(&mut out, row).unwrap();
        }
        assert_eq!(
            String::from_utf8(out).unwrap(),
            format!("NAME    A     N\n重重重  x     5\n  \"\"    x  1000\n{long}  x     1\n")
        );
    }
}

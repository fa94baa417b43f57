//! Tables whose columns line up.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr as _;

use crate::escape::{self, Name};

/// A column.
#[derive(Clone, Copy)]
pub(crate) enum Column {
    Text(&'static str),
    /// Numbers, which end below each other.
    Number(&'static str),
    /// Text that is left out where all rows have the same.
    Common(&'static str),
}

impl Column {
    fn header(self) -> &'static str {
        let (Self::Text(header) | Self::Number(header) | Self::Common(header)) = self;
        header
    }
}

/// Columns of the widest name that the others make room for.
const NAME: usize = 60;
/// Columns of a name that is shortened, at least.
const SHORTEST: usize = 16;

/// A row: a name, which may be as long as a manifest and is not copied, and short cells.
pub(crate) struct Row<'a, const N: usize> {
    /// The number of rows that it is below. No name begins with a blank.
    pub(crate) depth: usize,
    pub(crate) name: &'a str,
    pub(crate) cells: [String; N],
}

impl<const N: usize> Row<'_, N> {
    fn indent(&self) -> usize {
        self.depth.saturating_mul(2)
    }
}

/// Takes a row.
pub(crate) type Each<'e, const N: usize> = &'e mut dyn FnMut(&Row<'_, N>) -> io::Result<()>;

/// The cells of a column that have been seen; empty ones do not count.
#[derive(Clone, PartialEq, Eq)]
enum Seen {
    Nothing,
    One(String),
    Several,
}

/// A table that does not hold its rows: they go by twice, to be measured and to be written.
pub(crate) struct Table<const N: usize> {
    columns: [Column; N],
    seen: [Seen; N],
    /// None of a column that is left out.
    widths: [Option<usize>; N],
    name_width: usize,
    /// Columns of a line, if names are shortened to fit.
    line: Option<usize>,
}

impl<const N: usize> Table<N> {
    /// Measures all rows, which `rows` hands out. Names are shortened for lines to have at most so many columns,
    /// if a number is given.
    pub(crate) fn measure(
        columns: [Column; N],
        line: Option<usize>,
        rows: impl FnOnce(Each<'_, N>) -> io::Result<()>,
    ) -> io::Result<Self> {
        let widths = columns.map(|column| Some(column.header().width()));
        let seen = [const { Seen::Nothing }; N];
        let mut table = Self { columns, seen, widths, name_width: 4, line };
        rows(&mut |row| {
            table.add(row);
            Ok(())
        })?;
        for ((column, width), seen) in columns.iter().zip(&mut table.widths).zip(&table.seen) {
            if matches!((column, seen), (Column::Common(_), Seen::One(_) | Seen::Nothing)) {
                *width = None;
            }
        }
        Ok(table)
    }

    fn add(&mut self, row: &Row<'_, N>) {
        let width = row.indent().saturating_add(Name(row.name).columns());
        if width <= NAME {
            self.name_width = width.max(self.name_width);
        }
        for ((width, seen), cell) in self.widths.iter_mut().zip(&mut self.seen).zip(&row.cells) {
            *width = Some(cell.width()).max(*width);
            match seen {
                _ if cell.is_empty() => {}
                Seen::Nothing => *seen = Seen::One(cell.clone()),
                Seen::One(one) if one != cell => *seen = Seen::Several,
                Seen::One(_) | Seen::Several => {}
            }
        }
    }

    /// Leaves out the column of that header.
    pub(crate) fn leave_out(&mut self, header: &str) {
        for (column, width) in self.columns.iter().zip(&mut self.widths) {
            if column.header() == header {
                *width = None;
            }
        }
    }

    /// The cells that all rows have, of the columns that are left out for that.
    pub(crate) fn common(&self) -> impl Iterator<Item = &str> {
        let columns = self.columns.iter().zip(&self.seen);
        columns.filter_map(|(column, seen)| match (column, seen) {
            (Column::Common(_), Seen::One(cell)) => Some(&**cell),
            _ => None,
        })
    }

    /// Writes the header, and the rows that `rows` hands out again.
    pub(crate) fn write(
        &self,
        out: &mut dyn Write,
        rows: impl FnOnce(Each<'_, N>) -> io::Result<()>,
    ) -> io::Result<()> {
        let cells = self.columns.map(|column| column.header().to_owned());
        self.row(out, &Row { depth: 0, name: "NAME", cells })?;
        rows(&mut |row| self.row(out, row))
    }

    fn row(&self, out: &mut dyn Write, row: &Row<'_, N>) -> io::Result<()> {
        let visible = self.widths.iter().flatten();
        let cells =
            visible.fold(0, |sum: usize, width| sum.saturating_add(*width).saturating_add(2));
        let room = self.line.map(|line| line.saturating_sub(cells));
        let widest = room.map_or(self.name_width, |room| self.name_width.min(room.max(SHORTEST)));
        let (indent, columns) = (row.indent(), Name(row.name).columns());
        write!(out, "{:indent$}", "")?;
        let own = match room {
            Some(room) if indent.saturating_add(columns) > room => {
                let name = shortened(row.name, room.saturating_sub(indent).max(SHORTEST));
                write!(out, "{name}")?;
                name.width()
            }
            _ => {
                write!(out, "{}", Name(row.name))?;
                columns
            }
        };
        let missing = widest.saturating_sub(indent.saturating_add(own)).saturating_add(2);
        let mut line = " ".repeat(missing);
        for ((column, width), cell) in self.columns.iter().zip(&self.widths).zip(&row.cells) {
            let Some(width) = width else { continue };
            let padding = " ".repeat(width.saturating_sub(cell.width()));
            let right = matches!(column, Column::Number(_));
            let (before, after) = if right { (&*padding, "") } else { ("", &*padding) };
            line.extend([before, cell, after, "  "]);
        }
        writeln!(out, "{}", line.trim_end())
    }
}

/// A name that takes at most so many columns, its middle left out. Only such a name has an ellipsis and no quotes.
pub(crate) fn shortened(name: &str, columns: usize) -> String {
    if Name(name).columns() <= columns {
        return Name(name).to_string();
    }
    let bare = escape::cut(name, columns);
    let plain = bare.split('…').all(|end| Name(end).to_string() == end) && !name.contains('…');
    // Two pairs of quotes.
    if plain { bare } else { escape::word(name, columns.saturating_sub(4)) }
}

/// Writes words with a comma between two, on lines of at most 80 columns.
pub(crate) fn list(out: &mut dyn Write, words: impl IntoIterator<Item = String>) -> io::Result<()> {
    let (mut words, mut at) = (words.into_iter().peekable(), 0_usize);
    while let Some(word) = words.next() {
        let comma = if words.peek().is_some() { "," } else { "" };
        let columns = word.width().saturating_add(comma.len()).saturating_add(1);
        if at > 0 && at.saturating_add(columns) > 80 {
            write!(out, "\n  ")?;
            at = 2;
        } else if at > 0 {
            write!(out, " ")?;
        }
        at = at.saturating_add(columns);
        write!(out, "{word}{comma}")?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(line: Option<usize>, rows: &[Row<'_, 2>]) -> String {
        let all = |each: Each<'_, 2>| rows.iter().try_for_each(each);
        let columns = [Column::Common("A"), Column::Number("N")];
        let table = Table::measure(columns, line, all).unwrap();
        let mut out = Vec::new();
        table.write(&mut out, all).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn row<'a>(depth: usize, name: &'a str, cells: [&str; 2]) -> Row<'a, 2> {
        Row { depth, name, cells: cells.map(str::to_owned) }
    }

    #[test]
    fn columns_line_up() {
        let long = "a".repeat(61);
        let mut rows =
            [row(0, "重重重", ["x", "5"]), row(1, "", ["", "1000"]), row(0, &long, ["y", "1"])];
        assert_eq!(
            written(None, &rows),
            format!("NAME    A     N\n重重重  x     5\n  \"\"       1000\n{long}  y     1\n")
        );
        rows[2].cells[0] = "x".to_owned();
        assert_eq!(
            written(None, &rows),
            format!("NAME       N\n重重重     5\n  \"\"    1000\n{long}     1\n")
        );
    }

    #[test]
    fn names_are_shortened_to_the_line() {
        let long = "a".repeat(50) + "z";
        let rows = [row(0, &long, ["x", "5"]), row(1, "b c", ["y", "1"]), row(2, &long, ["", ""])];
        let text = written(Some(30), &rows);
        assert!(text.lines().all(|line| line.width() <= 30), "{text}");
        assert!(text.contains("\naaaaaaaaaaaa…aaaaaaaaaaz  x  5\n"), "{text}");
        let odd = format!("{}…{}", "a".repeat(40), "b".repeat(40));
        assert!(shortened(&odd, 20).starts_with("\"aaa"), "{}", shortened(&odd, 20));
        assert!(shortened(&odd, 20).width() <= 20);
        let blanks = "a ".repeat(30);
        assert!(shortened(&blanks, 20).contains("\"…\""), "{}", shortened(&blanks, 20));
    }

    #[test]
    fn lists_wrap() {
        let mut out = Vec::new();
        list(&mut out, (0..40).map(|n| format!("word {n}"))).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.len() <= 80 && line.len() > 20), "{text}");
        assert_eq!(text.replace("\n ", "").matches(", ").count(), 39);
    }
}

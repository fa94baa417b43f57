//! Tables whose columns line up.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write};

use unicode_width::UnicodeWidthStr as _;

use crate::escape::{self, Name};

/// A kind of column of a table, and the header of the column.
#[derive(Clone, Copy)]
pub(crate) enum Column {
    Text(&'static str),
    /// Numbers, aligned to the right.
    Number(&'static str),
    /// Text. The column is left out if all rows have the same text, where empty cells do not count.
    Common(&'static str),
}

impl Column {
    fn header(self) -> &'static str {
        let (Self::Text(header) | Self::Number(header) | Self::Common(header)) = self;
        header
    }
}

/// The largest width of the column of names, if names are not shortened. A longer name gets a line of its own, with its
/// cells on the next line, so that one long name does not pad all other rows.
const NAME: usize = 256;
/// The smallest width, in terminal columns, to which a name is shortened.
const SHORTEST: usize = 16;

/// A row: a name, which is borrowed because it may be as long as a manifest, and short cells.
pub(crate) struct Row<'a, const N: usize> {
    /// The number of levels by which the name is indented in a tree.
    pub(crate) depth: usize,
    pub(crate) name: &'a str,
    pub(crate) cells: [String; N],
}

impl<const N: usize> Row<'_, N> {
    fn indent(&self) -> usize {
        self.depth.saturating_mul(2)
    }
}

/// A function that takes a row.
pub(crate) type Each<'e, const N: usize> = &'e mut dyn FnMut(&Row<'_, N>) -> io::Result<()>;

/// The distinct cells that have been seen in a column. Empty cells do not count.
#[derive(Clone, PartialEq, Eq)]
enum Seen {
    Nothing,
    One(String),
    Several,
}

/// A table that does not hold its rows. The caller produces them twice, to be measured and to be written.
pub(crate) struct Table<const N: usize> {
    /// The header of the column of names.
    header: &'static str,
    columns: [Column; N],
    seen: [Seen; N],
    /// The width of each table column in columns of the terminal, or `None` for a table column that is left out.
    widths: [Option<usize>; N],
    /// The width of the widest indented name of at most [`NAME`] columns, or of the header if that is wider.
    name_width: usize,
    /// The width of the widest indented name, or of the header if that is wider.
    longest: usize,
    /// The width of a line in terminal columns, to which names are shortened. `None` if names are not shortened.
    line: Option<usize>,
}

impl<const N: usize> Table<N> {
    /// Measures all rows, which `rows` passes to its argument. If `line` is given, names are shortened, but to no less than
    /// [`SHORTEST`] columns, so that lines have at most `line` columns.
    pub(crate) fn measure(
        columns: [Column; N],
        line: Option<usize>,
        rows: impl FnOnce(Each<'_, N>) -> io::Result<()>,
    ) -> io::Result<Self> {
        let widths = columns.map(|column| Some(column.header().width()));
        let seen = [const { Seen::Nothing }; N];
        let header = "NAME";
        let mut table = Self { header, columns, seen, widths, name_width: 4, longest: 4, line };
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
        self.longest = width.max(self.longest);
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

    /// Puts `header` above the column of names instead of `NAME`.
    pub(crate) fn with_header(mut self, header: &'static str) -> Self {
        self.name_width = self.name_width.max(header.width());
        self.longest = self.longest.max(header.width());
        self.header = header;
        self
    }

    /// Leaves out the column whose header is `header`.
    pub(crate) fn leave_out(&mut self, header: &str) {
        for (column, width) in self.columns.iter().zip(&mut self.widths) {
            if column.header() == header {
                *width = None;
            }
        }
    }

    /// Returns the texts of the columns that are left out because all rows have the same text. A column whose cells are all empty
    /// has none.
    pub(crate) fn common(&self) -> impl Iterator<Item = &str> {
        let columns = self.columns.iter().zip(&self.seen);
        columns.filter_map(|(column, seen)| match (column, seen) {
            (Column::Common(_), Seen::One(cell)) => Some(&**cell),
            _ => None,
        })
    }

    /// Writes the header and all rows, which `rows` passes to its argument again.
    pub(crate) fn write(
        &self,
        out: &mut dyn Write,
        rows: impl Fn(Each<'_, N>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut alike = Alike::default();
        if self.room().is_some_and(|room| self.longest > room) {
            rows(&mut |row| {
                if let Some(columns) = self.columns_of_shortened(row) {
                    alike.add(row.name, columns);
                }
                Ok(())
            })?;
            alike.keep_repeated();
        }
        let cells = self.columns.map(|column| column.header().to_owned());
        self.row(out, &Row { depth: 0, name: self.header, cells }, (0, &alike))?;
        let mut number = 0_usize;
        rows(&mut |row| {
            number = number.saturating_add(1);
            self.row(out, row, (number, &alike))
        })
    }

    /// Returns the columns of a line that the cells leave for the name, or `None` if names are not shortened.
    fn room(&self) -> Option<usize> {
        let visible = self.widths.iter().flatten();
        let cells =
            visible.fold(0, |sum: usize, width| sum.saturating_add(*width).saturating_add(2));
        self.line.map(|line| line.saturating_sub(cells))
    }

    /// Returns the columns to which the name of `row` is shortened, or `None` if the name is written in full.
    fn columns_of_shortened(&self, row: &Row<'_, N>) -> Option<usize> {
        let (room, indent) = (self.room()?, row.indent());
        let is_long = indent.saturating_add(Name(row.name).columns()) > room;
        is_long.then(|| room.saturating_sub(indent).max(SHORTEST))
    }

    fn row(
        &self,
        out: &mut dyn Write,
        row: &Row<'_, N>,
        (number, alike): (usize, &Alike),
    ) -> io::Result<()> {
        let widest = match self.room() {
            Some(room) => self.longest.min(room.max(SHORTEST)),
            None => self.name_width,
        };
        let indent = row.indent();
        write!(out, "{:indent$}", "")?;
        let own = if let Some(columns) = self.columns_of_shortened(row) {
            let name = alike.shortened(row.name, columns, number);
            write!(out, "{name}")?;
            name.width()
        } else {
            write!(out, "{}", Name(row.name))?;
            Name(row.name).columns()
        };
        let used = indent.saturating_add(own);
        let mut line = if let Some(missing) = widest.checked_sub(used) {
            " ".repeat(missing.saturating_add(2))
        } else {
            writeln!(out)?;
            " ".repeat(widest.saturating_add(2))
        };
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

/// Hashes of the shortened names that are equal for several names. Such names get a number, because two different names must
/// never look the same. A collision of hashes does no harm: it adds a number to a name that did not need one.
#[derive(Debug, Default)]
pub(crate) struct Alike(Vec<u64>);

impl Alike {
    /// Adds `name`, which will be shortened to `columns`.
    pub(crate) fn add(&mut self, name: &str, columns: usize) {
        self.0.push(hash(&shortened(name, columns)));
    }

    /// Keeps only the shortened names that were added more than once.
    pub(crate) fn keep_repeated(&mut self) {
        self.0.sort_unstable();
        let repeated = self.0.windows(2).filter_map(|pair| match pair {
            [one, other] if one == other => Some(*one),
            _ => None,
        });
        let mut repeated: Vec<_> = repeated.collect();
        repeated.dedup();
        self.0 = repeated;
    }

    /// Shortens `name` to `columns`. If another name that was added is shortened to the same text, puts `number`, which must be
    /// unique, in the middle. A name that is short enough stays as it is.
    pub(crate) fn shortened(&self, name: &str, columns: usize, number: usize) -> String {
        let plain = shortened(name, columns);
        if self.0.binary_search(&hash(&plain)).is_err() || plain == Name(name).to_string() {
            return plain;
        }
        let mark = format!("…{number}…");
        let shorter = shortened(name, columns.saturating_sub(mark.width().saturating_sub(1)));
        // Quotes within a name are escaped, so the first ellipsis between quotes is the cut.
        if shorter.contains("\"…\"") {
            shorter.replacen("\"…\"", &format!("\"{mark}\""), 1)
        } else {
            shorter.replacen('…', &mark, 1)
        }
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Shortens `name` to at most `columns` columns by replacing its middle by an ellipsis. If the name contains an ellipsis itself, or
/// one of its ends needs quotes or escapes, both ends are put between quotes, so that an ellipsis without quotes is always a cut.
pub(crate) fn shortened(name: &str, columns: usize) -> String {
    if Name(name).columns() <= columns {
        return Name(name).to_string();
    }
    let bare = escape::cut(name, columns);
    let plain = bare.split('…').all(|end| Name(end).to_string() == end) && !name.contains('…');
    // Each end of a cut name is in quotes, and these four quotes take four columns.
    if plain { bare } else { escape::word(name, columns.saturating_sub(4)) }
}

/// Writes `words`, separated by commas, on lines of at most 80 columns. A longer word is not divided. Lines after the first are
/// indented.
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
        let long = "a".repeat(257);
        let indent = " ".repeat(8);
        let mut rows =
            [row(0, "重重重", ["x", "5"]), row(1, "", ["", "1000"]), row(0, &long, ["y", "1"])];
        assert_eq!(
            written(None, &rows),
            format!(
                "NAME    A     N\n重重重  x     5\n  \"\"       1000\n{long}\n{indent}y     1\n"
            )
        );
        rows[2].cells[0] = "x".to_owned();
        assert_eq!(
            written(None, &rows),
            format!("NAME       N\n重重重     5\n  \"\"    1000\n{long}\n{indent}   1\n")
        );
    }

    #[test]
    fn shortened_names_stay_distinct() {
        let name = |middle: &str| format!("{}{middle}{}", "a".repeat(40), "z".repeat(40));
        let odd = |middle: &str| format!("{} {middle}…{}", "a".repeat(40), "z".repeat(40));
        let names = [name("1"), name("2"), odd("1"), odd("2"), odd("1"), "b".repeat(90)];
        let rows: Vec<_> = names.iter().map(|name| row(0, name, ["x", "5"])).collect();
        let text = written(Some(40), &rows);
        let mut lines: Vec<_> = text.lines().collect();
        assert!(lines.iter().all(|line| line.width() <= 40), "{text}");
        // A shortened name that is unique gets no number.
        assert!(lines.last().unwrap().starts_with("bbb") && !text.contains("…6…"), "{text}");
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), names.len() + 1, "{text}");
        // Columns line up with a name that fits the line, however long it is.
        let (long, short) = ("n".repeat(70), "n".repeat(5));
        let text = written(Some(100), &[row(0, &long, ["x", "5"]), row(0, &short, ["x", "6"])]);
        let ends: Vec<_> = text.lines().map(str::len).collect();
        assert_eq!(ends, [73, 73, 73], "{text}");
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

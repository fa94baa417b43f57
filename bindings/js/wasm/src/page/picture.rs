//! A dense array as a grid of numbers that a screen has room for.

use std::io::{self, Write};

use serde::Serialize;
use zten::element::ByteOrder;
use zten::error::Misuse;
use zten::tools::StorageType;
use zten::{Component, Encoding, Error, ReadAt as _, Tensor};
use zten_report::json::{Integer, to_line};

use super::sparsity;
use crate::problem;
use crate::session::{self, File};
use zten_report::element::Kind;

/// Rows and columns of a grid, at most.
pub(crate) const MOST: u64 = 160;
/// Rows of so many bytes are read whole, to pick from them.
const ROW: u64 = 64 << 10;

/// Numbers in rows, and what they were picked from.
#[derive(Debug)]
pub(crate) struct Grid {
    /// Rows of the array, as a matrix.
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    /// The numbers, as many as the grid has rows, times columns.
    pub(crate) numbers: Vec<f64>,
}

impl Grid {
    /// Rows of the grid.
    pub(crate) fn height(&self) -> u64 {
        self.rows.min(MOST)
    }

    /// Columns of the grid.
    pub(crate) fn width(&self) -> u64 {
        self.columns.min(MOST)
    }
}

/// Returns the index at `place` among those picked of `count` indices, at even distances.
fn picked(place: u64, count: u64) -> u64 {
    let most = count.clamp(1, MOST);
    // Below 2^64: `place` is below `most`.
    u64::try_from(u128::from(place) * u128::from(count) / u128::from(most)).unwrap_or_default()
}

/// Draws an object: a dense one as numbers picked at even distances, a sparse one as how many
/// entries fall into each cell. A document of one line, then the numbers as `f32`, little-endian.
pub fn object(file: &File, ordinal: u32, out: &mut impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Drawn {
        rows: Integer,
        columns: Integer,
        height: Integer,
        width: Integer,
        counted: bool,
    }
    let (grid, counted) = match draw(file, ordinal) {
        Ok(drawn) => drawn,
        Err(error) => return problem::reading(file, &error, out),
    };
    let (rows, columns) = (Integer(grid.rows), Integer(grid.columns));
    let (height, width) = (Integer(grid.height()), Integer(grid.width()));
    to_line(out, &Drawn { rows, columns, height, width, counted })?;
    for number in &grid.numbers {
        out.write_all(&narrow(*number).to_le_bytes())?;
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "a color has fewer bits than an f32")]
fn narrow(number: f64) -> f32 {
    number as f32
}

/// The grid, and whether its numbers are of entries.
fn draw(file: &File, ordinal: u32) -> Result<(Grid, bool), Error> {
    let tensor = session::tensor(file, ordinal)?;
    match sparsity::count(&tensor)? {
        Some(grid) => Ok((grid, true)),
        None => Ok((pick(file, &tensor)?, false)),
    }
}

/// Picks numbers of a dense tensor.
fn pick(file: &File, tensor: &Tensor<'_>) -> Result<Grid, Error> {
    let component = tensor.dense()?;
    let mut reader = component.reader()?;
    let kind = Kind::of_component(&component).ok_or(Misuse::Type)?;
    let elements = tensor.shape().elements().ok_or(Misuse::Type)?;
    let width = u64::try_from(kind.width()).unwrap_or(1);
    if component.decoded_length() != elements.checked_mul(width) {
        // Of a type that is not known: how many storage elements make up one is not either.
        return Err(Misuse::Type.into());
    }
    // All but the last dimension are rows.
    let columns = tensor.shape().last().unwrap_or(1);
    let rows = elements.checked_div(columns).unwrap_or_default();
    let grid = Grid { rows, columns, numbers: Vec::new() };
    let mut cells = Cells { grid, kind, position: 0 };
    if component.encoding() == Encoding::Raw && !component.is_strided() {
        cells.seek(file, &component)?;
    } else {
        while let Some(chunk) = reader.next_chunk()? {
            cells.add(chunk);
        }
    }
    Ok(cells.grid)
}

/// The cells of a grid, being filled in order.
struct Cells {
    grid: Grid,
    kind: Kind,
    /// Bytes that have gone by.
    position: u64,
}

impl Cells {
    fn size(&self) -> u64 {
        u64::try_from(self.kind.width()).unwrap_or(1)
    }

    /// The element that the next cell shows; none when all have been filled.
    fn next(&self) -> Option<u64> {
        let Grid { rows, columns, ref numbers } = self.grid;
        let filled = u64::try_from(numbers.len()).ok()?;
        let width = self.grid.width();
        let (row, column) = (filled.checked_div(width)?, filled.checked_rem(width)?);
        let row = (row < self.grid.height()).then(|| picked(row, rows))?;
        row.checked_mul(columns)?.checked_add(picked(column, columns))
    }

    /// Takes what it needs of the next bytes.
    fn add(&mut self, chunk: &[u8]) {
        let end = self.position.saturating_add(u64::try_from(chunk.len()).unwrap_or_default());
        let size = self.size();
        while let Some(start) = self.next().map(|element| element.saturating_mul(size))
            && start < end
        {
            let at = usize::try_from(start.saturating_sub(self.position)).unwrap_or_default();
            let element = chunk.get(at..).and_then(|from| from.get(..self.kind.width()));
            self.kind.values(element.unwrap_or_default(), &mut self.grid.numbers);
            if element.is_none() {
                break;
            }
        }
        self.position = end;
    }

    /// Reads what it needs of a raw component.
    fn seek(&mut self, file: &File, component: &Component<'_>) -> Result<(), Error> {
        let size = self.size();
        let row = self.grid.columns.saturating_mul(size);
        let span = if row <= ROW { row } else { size };
        let part = usize::from(component.storage_type().map_or(1, StorageType::width));
        let mut buffer = vec![0; usize::try_from(span).unwrap_or_default()];
        while let Some(element) = self.next() {
            let start = element.saturating_mul(size);
            self.position = start - start.checked_rem(span).unwrap_or_default();
            let offset = component.extent().offset().saturating_add(self.position);
            file.source().read_at(offset, &mut buffer)?;
            if component.byte_order() == ByteOrder::Big {
                buffer.chunks_exact_mut(part.max(1)).for_each(<[u8]>::reverse);
            }
            let filled = self.grid.numbers.len();
            self.add(&buffer);
            if self.grid.numbers.len() == filled {
                break;
            }
        }
        Ok(())
    }
}

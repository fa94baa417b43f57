//! Reduces a dense or sparse tensor to a small grid of numbers, which the page draws as a picture.

use std::io::{self, Write};

use serde::Serialize;
use zten::element::ByteOrder;
use zten::element::StorageType;
use zten::error::Misuse;
use zten::json::{Integer, to_line};
use zten::{Component, Encoding, Error, Tensor};

use super::sparsity;
use crate::problem;
use crate::session::{self, File};
use zten::number::NumberKind;

/// The largest number of rows and of columns of a grid.
pub(crate) const MOST: u64 = 160;
/// The largest size in bytes of a row of a matrix that is read as a whole. Of a longer row, only the elements that the grid shows
/// are read.
const ROW: u64 = 64 << 10;

/// A grid of numbers that is drawn as a picture, and the shape of the matrix that it shows.
#[derive(Debug)]
pub(crate) struct Grid {
    /// The number of rows of the matrix, which is not limited as the rows of the grid are.
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    /// The numbers of the grid, row by row.
    pub(crate) numbers: Vec<f64>,
}

impl Grid {
    /// Returns the number of rows of the grid: that of the matrix, but at most [`MOST`].
    pub(crate) fn height(&self) -> u64 {
        self.rows.min(MOST)
    }

    /// Returns the number of columns of the grid: that of the matrix, but at most [`MOST`].
    pub(crate) fn width(&self) -> u64 {
        self.columns.min(MOST)
    }
}

/// Returns the index, below `count`, of the row or column of a matrix that row or column `place` of the grid shows. The grid
/// shows at most [`MOST`] of the `count` rows or columns, at even distances.
fn picked(place: u64, count: u64) -> u64 {
    let most = count.clamp(1, MOST);
    // The quotient is below `count`, so below 2^64, because `place` is below `most`: the default is never used.
    u64::try_from(u128::from(place) * u128::from(count) / u128::from(most)).unwrap_or_default()
}

/// Draws object `ordinal`: a dense object as evenly picked numbers, a sparse object as the number of entries in each cell.
/// Writes one line of JSON, and then the numbers as little-endian `f32`; or only the finding if the object cannot be read or drawn.
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

/// Computes the grid of object `ordinal`. Returns the grid, and whether its numbers are counts of the entries of a sparse object.
fn draw(file: &File, ordinal: u32) -> Result<(Grid, bool), Error> {
    let tensor = session::tensor(file, ordinal)?;
    match sparsity::count(&tensor)? {
        Some(grid) => Ok((grid, true)),
        None => Ok((pick(file, &tensor)?, false)),
    }
}

/// Returns a grid of elements of the dense `tensor` at even distances, as a matrix whose columns are the last dimension. Fails with
/// [`Misuse::Type`] if the elements are not numbers.
fn pick(file: &File, tensor: &Tensor<'_>) -> Result<Grid, Error> {
    let component = tensor.dense()?;
    let mut reader = component.reader()?;
    let kind = NumberKind::of_component(&component).ok_or(Misuse::Type)?;
    let elements = tensor.element_count().ok_or(Misuse::Type)?;
    let width = u64::try_from(kind.width()).unwrap_or(1);
    if component.decoded_length() != elements.checked_mul(width) {
        // The data has another length than elements of `kind` would have, so it is not known how many bytes an element
        // takes.
        return Err(Misuse::Type.into());
    }
    // The tensor is shown as a matrix: its last dimension gives the columns, and all other dimensions together give the rows.
    let columns = tensor.shape().last().copied().unwrap_or(1);
    let rows = elements.checked_div(columns).unwrap_or_default();
    let grid = Grid { rows, columns, numbers: Vec::new() };
    let mut cells = Cells { grid, kind, position: 0 };
    let is_sought = component.encoding() == Encoding::Raw && !component.is_strided();
    if is_sought && session::has_offsets(&component) {
        cells.seek(file, &component)?;
    } else {
        while let Some(chunk) = reader.next_chunk()? {
            cells.add(chunk);
        }
    }
    Ok(cells.grid)
}

/// A grid that is being filled with numbers, row by row.
struct Cells {
    grid: Grid,
    kind: NumberKind,
    /// The offset in the component's decoded bytes of the next byte that [`add`](Cells::add) gets.
    position: u64,
}

impl Cells {
    fn size(&self) -> u64 {
        u64::try_from(self.kind.width()).unwrap_or(1)
    }

    /// Returns the index of the tensor element that the next cell of the picture shows. The elements are picked at even distances.
    /// Returns `None` if all cells are filled.
    fn next(&self) -> Option<u64> {
        let Grid { rows, columns, ref numbers } = self.grid;
        let filled = u64::try_from(numbers.len()).ok()?;
        let width = self.grid.width();
        let (row, column) = (filled.checked_div(width)?, filled.checked_rem(width)?);
        let row = (row < self.grid.height()).then(|| picked(row, rows))?;
        row.checked_mul(columns)?.checked_add(picked(column, columns))
    }

    /// Fills the cells that show elements in `chunk`, the next decoded bytes of the component.
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

    /// Fills all cells by reading only the elements that they show, or whole short rows, from the uncompressed `component` of
    /// `file`.
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
            session::read_at(file, component, offset, &mut buffer)?;
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

//! Counts the entries of a sparse object in each cell of a picture.

use zten::error::{Misuse, OutOfMemory};
use zten::view::{Coo, Csr, Widened};
use zten::{Error, Layout, Tensor};

use super::picture::{Grid, MOST};

/// The largest number of decoded bytes of all components of a sparse or quantized tensor that is shown, because they are held in
/// memory together.
const HELD: u64 = 256 << 20;

/// Counts the entries of the sparse `tensor` that fall into each cell of a grid. Returns `None` if the tensor is not sparse.
/// Errors: those of [`check_held`] and of reading the tensor; [`Misuse::Slice`] if the dimensions of a COO tensor, without the last
/// one, have a product of 2^64 or more.
pub(crate) fn count(tensor: &Tensor<'_>) -> Result<Option<Grid>, Error> {
    let layout = tensor.layout();
    if !matches!(layout, Layout::SparseCsr | Layout::SparseCoo) {
        return Ok(None);
    }
    check_held(tensor)?;
    let grid = if layout == Layout::SparseCsr { csr(&tensor.csr()?) } else { coo(&tensor.coo()?)? };
    Ok(Some(grid))
}

/// Checks that the decoded components of `tensor` are not larger together than [`HELD`]. A component whose decoded length the
/// manifest does not state is decoded to measure it, until the sum exceeds [`HELD`].
///
/// # Errors
/// [`OutOfMemory`] if the components are larger; the errors of decoding a component to measure it.
pub(crate) fn check_held(tensor: &Tensor<'_>) -> Result<(), Error> {
    let mut total = 0_u64;
    for component in tensor.components() {
        if let Some(length) = component.decoded_length() {
            total = total.saturating_add(length);
            continue;
        }
        let mut reader = component.reader()?;
        while total <= HELD
            && let Some(chunk) = reader.next_chunk()?
        {
            total = total.saturating_add(u64::try_from(chunk.len()).unwrap_or(HELD));
        }
    }
    if total > HELD { Err(OutOfMemory.into()) } else { Ok(()) }
}

fn csr(matrix: &Csr<'_>) -> Grid {
    let mut grid = empty(matrix.rows(), matrix.columns());
    let mut pointers = matrix.indptr().widened();
    let mut end = pointers.next().unwrap_or_default();
    let mut columns = matrix.indices().widened();
    for row in 0.. {
        let start = end;
        let Some(next) = pointers.next() else { break };
        end = next;
        for column in (start..end).map_while(|_| columns.next()) {
            count_entry(&mut grid, row, column);
        }
    }
    grid
}

/// Counts the entries of `tensor` in each cell of a grid. The tensor is shown as a matrix: its last dimension gives the columns,
/// and all other dimensions together give the rows.
fn coo(tensor: &Coo<'_>) -> Result<Grid, Error> {
    let shape = tensor.shape().to_vec();
    let (columns, leading) = shape.split_last().unwrap_or((&1, &[]));
    let rows = leading.iter().try_fold(1_u64, |rows, dimension| rows.checked_mul(*dimension));
    let mut grid = empty(rows.ok_or(Misuse::Slice)?, *columns);
    let mut axes: Vec<Widened<'_>> = (0..shape.len())
        .filter_map(|dimension| tensor.axis(dimension))
        .map(|axis| axis.widened())
        .collect();
    let Some((last, outer)) = axes.split_last_mut() else { return Ok(grid) };
    for column in last {
        let row = outer.iter_mut().zip(leading).fold(0_u64, |row, (axis, dimension)| {
            let index = axis.next().unwrap_or_default();
            row.saturating_mul(*dimension).saturating_add(index)
        });
        count_entry(&mut grid, row, column);
    }
    Ok(grid)
}

/// Returns a grid in which all counts are 0, for a matrix of `rows` rows and `columns` columns.
fn empty(rows: u64, columns: u64) -> Grid {
    let mut grid = Grid { rows, columns, numbers: Vec::new() };
    let cells = usize::try_from(grid.height().saturating_mul(grid.width()));
    grid.numbers = vec![0.0; cells.unwrap_or_default()];
    grid
}

fn count_entry(grid: &mut Grid, row: u64, column: u64) {
    let row = cell(row, grid.rows).saturating_mul(grid.width());
    let at = row.saturating_add(cell(column, grid.columns));
    let number = usize::try_from(at).ok().and_then(|at| grid.numbers.get_mut(at));
    if let Some(number) = number {
        *number += 1.0;
    }
}

/// Returns the row of the grid that shows row `index` of a matrix with `count` rows; columns are computed in the same way.
fn cell(index: u64, count: u64) -> u64 {
    let most = u128::from(count.min(MOST));
    let cell = (u128::from(index) * most).checked_div(count.into());
    cell.and_then(|cell| u64::try_from(cell).ok()).unwrap_or_default()
}

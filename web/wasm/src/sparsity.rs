//! Where the entries of a sparse object are.

use zten::{
    Component, Error, Format, Limits, Object, ReadAt, ReadError,
    error::{Misuse, OutOfMemory},
    view::Widened,
};

use crate::picture::{Grid, MOST};
use crate::session::File;

/// Bytes of indices and values that are held to draw them, at most.
const HELD: u64 = 256 << 20;

/// Counts the entries of each cell; none where the object is not sparse.
pub(crate) fn draw<R: ReadAt>(
    file: &File,
    ordinal: u32,
    source: &R,
) -> Option<Result<Grid, ReadError<R::Error>>> {
    let object = file.manifest.object(ordinal)?;
    let sparse = matches!(object.format(), Format::SparseCsr | Format::SparseCoo);
    sparse.then(|| count(&object, source))
}

fn count<R: ReadAt>(object: &Object<'_>, source: &R) -> Result<Grid, ReadError<R::Error>> {
    let held = |component: Component<'_>| component.decoded_length().unwrap_or(HELD);
    if object.components().map(held).fold(0, u64::saturating_add) > HELD {
        return Err(Error::from(OutOfMemory).into());
    }
    let limits = Limits::default();
    if object.format() == Format::SparseCsr {
        let decoded = object.sparse_csr()?.decode(source, &limits)?;
        let matrix = decoded.view();
        let mut count = Count::new(matrix.rows(), matrix.columns());
        let mut pointers = matrix.indptr().widened();
        let mut end = pointers.next().unwrap_or_default();
        let mut columns = matrix.indices().widened();
        for row in 0.. {
            let start = end;
            let Some(next) = pointers.next() else { break };
            end = next;
            for column in (start..end).map_while(|_| columns.next()) {
                count.add(row, column);
            }
        }
        return Ok(count.grid);
    }
    let decoded = object.sparse_coo()?.decode(source, &limits)?;
    let tensor = decoded.view();
    // As a matrix: all but the last dimension are rows.
    let shape = tensor.shape().to_vec();
    let (columns, leading) = shape.split_last().unwrap_or((&1, &[]));
    let rows = leading.iter().try_fold(1_u64, |rows, dimension| rows.checked_mul(*dimension));
    let mut count = Count::new(rows.ok_or(Error::from(Misuse::Slice))?, *columns);
    let mut axes: Vec<Widened<'_>> = (0..shape.len())
        .filter_map(|dimension| tensor.axis(dimension))
        .map(|axis| axis.widened())
        .collect();
    let Some((last, outer)) = axes.split_last_mut() else { return Ok(count.grid) };
    for column in last {
        let row = outer.iter_mut().zip(leading).fold(0_u64, |row, (axis, dimension)| {
            let index = axis.next().unwrap_or_default();
            row.saturating_mul(*dimension).saturating_add(index)
        });
        count.add(row, column);
    }
    Ok(count.grid)
}

/// Cells that are counted into.
struct Count {
    grid: Grid,
}

impl Count {
    fn new(rows: u64, columns: u64) -> Self {
        let mut grid = Grid { rows, columns, numbers: Vec::new() };
        let cells = usize::try_from(grid.height().saturating_mul(grid.width()));
        grid.numbers = vec![0.0; cells.unwrap_or_default()];
        Self { grid }
    }

    fn add(&mut self, row: u64, column: u64) {
        let row = cell(row, self.grid.rows).saturating_mul(self.grid.width());
        let at = row.saturating_add(cell(column, self.grid.columns));
        let number = usize::try_from(at).ok().and_then(|at| self.grid.numbers.get_mut(at));
        if let Some(number) = number {
            *number += 1.0;
        }
    }
}

/// The cell, of as many as there are at most, that an index below `count` falls into.
fn cell(index: u64, count: u64) -> u64 {
    let most = u128::from(count.min(MOST));
    let cell = (u128::from(index) * most).checked_div(count.into());
    cell.and_then(|cell| u64::try_from(cell).ok()).unwrap_or_default()
}

//! Multiplies a sparse matrix by a vector of ones, or lists the entries of a sparse tensor:
//! `cargo run --example sparse -- FILE NAME`.

use zten::Layout;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, name] = arguments.as_slice() else { return Err("FILE NAME".into()) };
    let archive = zten::open(path)?;
    let tensor = archive.tensor(name)?;
    if tensor.layout() == Layout::SparseCoo {
        for (coordinate, value) in tensor.coo()?.entries::<f32>()? {
            println!("{:?} {value}", coordinate.collect::<Vec<u64>>());
        }
        return Ok(());
    }
    // All indices are checked here, so no access below can be out of range.
    let matrix = tensor.csr()?;
    let vector = vec![1.0; usize::try_from(matrix.columns())?];
    for row in matrix.by_row::<f32>()? {
        let mut sum = 0.0;
        for (column, value) in row {
            sum += value * vector[usize::try_from(column)?];
        }
        println!("{sum}");
    }
    Ok(())
}

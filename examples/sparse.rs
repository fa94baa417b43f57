//! Multiplies a sparse matrix by a vector, and lists the entries of a sparse tensor:
//! `cargo run --example sparse -- FILE NAME`.

use std::error::Error;

use zten::{Archive, Format};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, name] = arguments.as_slice() else {
        return Err("FILE NAME".into());
    };
    let archive = Archive::open(std::fs::read(path)?)?;
    match archive.require(name)?.format() {
        Format::SparseCsr => println!("{:?}", row_sums(&archive, name)?),
        _ => println!("{:?}", entries(&archive, name)?),
    }
    Ok(())
}

/// The product of a matrix in compressed sparse rows and a vector of ones, which are the sums of
/// its rows.
fn row_sums(archive: &Archive<Vec<u8>>, name: &str) -> Result<Vec<f32>, Box<dyn Error>> {
    // All indices are checked here, once: nothing below can be out of range. A matrix that is
    // compressed is decoded: `sparse_csr()?.decode(archive, archive.limits())?`, then `.csr()`.
    let matrix = archive.require(name)?.sparse_csr()?.view()?;
    let vector = vec![1.0; usize::try_from(matrix.columns())?];
    let mut product = Vec::new();
    for row in matrix.by_row::<f32>()? {
        let mut sum = 0.0;
        for (column, value) in row {
            sum += value * vector[usize::try_from(column)?];
        }
        product.push(sum);
    }
    Ok(product)
}

/// A place, and the value there.
type Entry = (Vec<u64>, f32);

/// The entries of a tensor that is a list of coordinates, however it is stored.
fn entries(archive: &Archive<Vec<u8>>, name: &str) -> Result<Vec<Entry>, Box<dyn Error>> {
    let tensor = archive.require(name)?.sparse_coo()?.decode(archive, archive.limits())?;
    let entries = tensor.view().entries::<f32>()?;
    Ok(entries.map(|(coordinate, value)| (coordinate.collect(), value)).collect())
}

#[test]
fn sparse_objects_are_read() {
    let open = |name| {
        let path = format!("corpus/accept/1.2.3/{name}.zt");
        Archive::open(std::fs::read(path).unwrap()).unwrap()
    };
    let sums = row_sums(&open("csr_raw"), "csr_f32").unwrap();
    assert_eq!(sums, [-2.0, 0.0, 0.0]);
    let entries = entries(&open("coo_zstd_crc"), "coo3d").unwrap();
    assert!(entries.contains(&(vec![0, 1, 3], -1.25)), "{entries:?}");
}

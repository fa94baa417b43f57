//! Sparse views: what the reference writers wrote, every index type, files that lie, and
//! generated matrices against a naive reading of the same bytes.

#[path = "sparse/generated.rs"]
mod generated;
#[path = "sparse/naive.rs"]
mod naive;
#[path = "sparse/reference.rs"]
mod reference;
#[path = "sparse/refused.rs"]
mod refused;
#[path = "sparse/types.rs"]
mod types;

use zten::{
    Archive, Element, Error, ErrorKind, Limits, Options,
    error::Misuse,
    verify::Verifier,
    view::{Coo, Csr, View},
};
use zten_testkit::{misuse, read_accepted as read};

/// Reads the object as a matrix, bound or decoded as `how` says, and hands it to `with`.
fn csr<O>(file: &[u8], name: &str, how: &str, with: impl FnOnce(Csr<View<'_>>) -> O) -> O {
    let archive = Archive::open(file).unwrap();
    let sparse = archive.get(name).unwrap().sparse_csr().unwrap();
    match how {
        "bind" => with(sparse.view().unwrap()),
        _ => with(sparse.decode(file, &Limits::default()).unwrap().view()),
    }
}

fn coo<O>(file: &[u8], name: &str, how: &str, with: impl FnOnce(Coo<'_, View<'_>>) -> O) -> O {
    let archive = Archive::open(file).unwrap();
    let sparse = archive.get(name).unwrap().sparse_coo().unwrap();
    match how {
        "bind" => with(sparse.view().unwrap()),
        _ => with(sparse.decode(file, &Limits::default()).unwrap().view()),
    }
}

fn dense<T: Element>(csr: &Csr<View<'_>>) -> Vec<T> {
    let length = usize::try_from(csr.rows() * csr.columns()).unwrap();
    let mut dense = vec![T::ZERO; length];
    // What was there before is gone afterwards.
    if let Some(value) = csr.values().elements::<T>().unwrap().next() {
        dense.fill(value);
    }
    csr.to_dense(&mut dense).unwrap();
    dense
}

/// What binding and decoding find wrong, which is the same.
fn validate(file: &[u8], options: &Options) -> Result<(), Error> {
    let archive = Archive::open_with(file, options)?;
    for object in archive.objects() {
        let (bound, decoded) = if let Ok(csr) = object.sparse_csr() {
            (csr.view().map(drop), csr.decode(file, options.limit()).map(drop))
        } else if let Ok(coo) = object.sparse_coo() {
            (coo.view().map(drop), coo.decode(file, options.limit()).map(drop))
        } else {
            continue;
        };
        let decoded = decoded.map_err(Error::from);
        let compressed = ErrorKind::Misuse(Misuse::Compressed);
        if bound.as_ref().map_err(Error::kind) != Err(compressed) {
            assert_eq!(bound, decoded);
        }
        decoded?;
    }
    Ok(())
}

/// What reading all of the file finds wrong.
fn verify(file: &[u8], options: &Options) -> Result<(), Error> {
    let archive = Archive::open_with(file, options)?;
    let mut verifier = Verifier::new(file.len() as u64, options.limit());
    for object in archive.objects() {
        verifier.object(&object, file, |_, _| ())?;
    }
    Ok(())
}

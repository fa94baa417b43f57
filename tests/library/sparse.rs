//! Tests of sparse views: the files of the reference writers, every index type, files with false claims, and generated matrices
//! against a naive reading of the same bytes.

mod generated;
mod invalid;
mod naive;
mod reference;
mod types;

use zten::verify::Verifier;
use zten::view::{Coo, Csr};
use zten::{Archive, Element, Error, Layout, OpenOptions};
use zten_testkit::{Far, misuse, read_accepted as read};

/// Opens `file` from a source that lends no bytes, so that everything is decoded into memory.
fn copied<'f>(file: &'f [u8], options: &OpenOptions) -> Result<Archive<Far<&'f [u8]>>, Error> {
    options.open_source(Far(file), file.len() as u64)
}

/// Reads the object `name` of `file` as a CSR matrix and calls `with` on it. `how` says whether the components are
/// borrowed (`bind`) or decoded (`decode`).
fn csr<O>(file: &[u8], name: &str, how: &str, with: impl FnOnce(Csr<'_>) -> O) -> O {
    if how == "bind" {
        return with(Archive::from_bytes(file).unwrap().tensor(name).unwrap().csr().unwrap());
    }
    let archive = copied(file, &OpenOptions::default()).unwrap();
    with(archive.tensor(name).unwrap().csr().unwrap())
}

fn coo<O>(file: &[u8], name: &str, how: &str, with: impl FnOnce(Coo<'_>) -> O) -> O {
    if how == "bind" {
        return with(Archive::from_bytes(file).unwrap().tensor(name).unwrap().coo().unwrap());
    }
    let archive = copied(file, &OpenOptions::default()).unwrap();
    with(archive.tensor(name).unwrap().coo().unwrap())
}

fn dense<T: Element>(csr: &Csr<'_>) -> Vec<T> {
    let length = usize::try_from(csr.rows() * csr.columns()).unwrap();
    let mut dense = vec![T::ZERO; length];
    // The output begins with other values than zeros, which the call must overwrite.
    if let Some(value) = csr.values().elements::<T>().unwrap().next() {
        dense.fill(value);
    }
    csr.to_dense(&mut dense).unwrap();
    dense
}

/// Reads all sparse objects of `file`, borrowed from memory and decoded, and returns the first error. Both ways must
/// have the same error.
fn validate(file: &[u8], options: &OpenOptions) -> Result<(), Error> {
    let (lent, copied) = (options.from_bytes(file)?, copied(file, options)?);
    for (lent, copied) in lent.tensors().zip(&copied) {
        let (bound, decoded) = match lent.layout() {
            Layout::SparseCsr => (lent.csr().map(drop), copied.csr().map(drop)),
            Layout::SparseCoo => (lent.coo().map(drop), copied.coo().map(drop)),
            _ => continue,
        };
        assert_eq!(bound, decoded);
        let of = |error: &Error| error.component().map(str::to_owned);
        assert_eq!(bound.as_ref().err().map(of), decoded.as_ref().err().map(of));
        decoded?;
    }
    Ok(())
}

/// Verifies all of `file`.
fn verify(file: &[u8], options: &OpenOptions) -> Result<(), Error> {
    let archive = options.from_bytes(file)?;
    let mut verifier = Verifier::new(archive.manifest());
    for tensor in &archive {
        verifier.object(&tensor, |_, _| ())?;
    }
    Ok(())
}

//! Tests that compare generated matrices with a naive reading of the same entries.

use std::collections::BTreeSet;

use zten::{Archive, OpenOptions};

use fastrand::Rng;

use super::generated;
use super::{coo, csr, dense, validate, verify};

#[test]
#[cfg_attr(miri, ignore = "decoding zstd takes minutes there")]
fn generated_matrices_equal_a_naive_reading() {
    let mut random = Rng::with_seed(7);
    for _ in 0..400 {
        let (rows, columns, entries, file) = generated::matrix(&mut random);
        assert_eq!(verify(&file, &OpenOptions::default()), Ok(()));
        csr(&file, "w", "decode", |csr| {
            assert_eq!((csr.rows(), csr.columns(), csr.nnz()), (rows, columns, entries.len()));
            assert_eq!(csr.entries::<i16>().unwrap().collect::<Vec<_>>(), entries);
            let by_row = csr.by_row::<i16>().unwrap();
            let (mut wanted, mut sorted) = (Vec::new(), true);
            for (row, entries_of_row) in by_row.clone().enumerate() {
                let row = row as u64;
                assert!(entries_of_row.eq(by_row.get(row).unwrap()));
                let found: Vec<_> = by_row.get(row).unwrap().collect();
                sorted &= found.is_sorted_by_key(|entry| entry.0);
                wanted.extend(found.into_iter().map(|(column, value)| (row, column, value)));
            }
            assert_eq!(wanted, entries);
            assert_eq!(csr.is_sorted(), sorted);
            let places: BTreeSet<_> = entries.iter().map(|entry| (entry.0, entry.1)).collect();
            assert_eq!(csr.has_duplicates().unwrap(), places.len() < entries.len());
            let mut wanted = vec![0; usize::try_from(rows * columns).unwrap()];
            for (row, column, value) in &entries {
                wanted[usize::try_from(row * columns + column).unwrap()] = *value;
            }
            assert_eq!(dense::<i16>(&csr), wanted);
        });
    }
}

#[test]
#[cfg_attr(miri, ignore = "decoding zstd takes minutes there")]
fn generated_tensors_equal_a_naive_reading() {
    let mut random = Rng::with_seed(8);
    for _ in 0..400 {
        let (shape, entries, file) = generated::tensor(&mut random);
        assert_eq!(verify(&file, &OpenOptions::default()), Ok(()));
        coo(&file, "w", "decode", |coo| {
            assert_eq!((coo.shape().to_vec(), coo.nnz()), (shape.clone(), entries.len()));
            let found = coo.entries::<i16>().unwrap().map(|(at, value)| (at.collect(), value));
            assert_eq!(found.collect::<Vec<(Vec<u64>, i16)>>(), entries);
            for dimension in 0..shape.len() {
                let axis = coo.axis(dimension).unwrap().widened();
                assert!(axis.eq(entries.iter().map(|entry| entry.0[dimension])));
            }
            assert_eq!(coo.is_sorted(), entries.is_sorted_by_key(|entry| &entry.0));
            let places: BTreeSet<_> = entries.iter().map(|entry| &entry.0).collect();
            assert_eq!(coo.has_duplicates().unwrap(), places.len() < entries.len());
            let mut wanted = vec![0; usize::try_from(shape.iter().product::<u64>()).unwrap()];
            for (at, value) in &entries {
                let at = at.iter().zip(&shape).fold(0, |at, (place, size)| at * size + place);
                wanted[usize::try_from(at).unwrap()] = *value;
            }
            let mut dense = vec![-1_i16; wanted.len()];
            coo.to_dense(&mut dense).unwrap();
            assert_eq!(dense, wanted);
        });
    }
}

#[test]
#[cfg_attr(miri, ignore = "decoding zstd takes minutes there")]
fn damaged_matrices_give_the_errors_of_the_verifier() {
    let mut random = Rng::with_seed(9);
    let mut rejected = 0;
    for round in 0..1000 {
        let (entries, mut file) = if round % 2 == 0 {
            let (_, _, entries, file) = generated::matrix(&mut random);
            (entries.len(), file)
        } else {
            let (_, entries, file) = generated::tensor(&mut random);
            (entries.len(), file)
        };
        // One bit of the data changes. Another test changes the manifest.
        let end = Archive::from_bytes(&file).unwrap().manifest().extent().start;
        let at = usize::try_from(64 + random.u64(..end.saturating_sub(64).max(1))).unwrap();
        file[at] ^= 1 << random.u64(..8);
        let options = OpenOptions::default();
        match (validate(&file, &options), verify(&file, &options)) {
            (Ok(()), Ok(())) => {}
            (Err(one), Err(other)) => {
                rejected += 1;
                assert_eq!(one.kind(), other.kind(), "round {round}");
                assert_eq!(one.location(), other.location(), "round {round}");
                assert_eq!(one.offset(), other.offset(), "round {round}");
            }
            other => panic!("round {round}, {entries} entries: {other:?}"),
        }
    }
    assert!(rejected > 150, "only {rejected} were rejected");
}

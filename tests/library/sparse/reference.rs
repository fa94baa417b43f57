//! Tests of the sparse files of the reference writers.

use half::bf16;
#[cfg(feature = "zstd")]
use zten::verify::Verified;
use zten::{Element, element::ByteOrder, error::Misuse};

use super::{coo, csr, dense, misuse, read};
use zten_testkit::{borrows, placed};

/// Returns the matrix that the reference writers store, as a dense matrix. Its four entries have `values`.
pub(super) fn expected<T: Element>(values: [T; 4]) -> Vec<T> {
    let mut dense = vec![T::ZERO; 12];
    for (place, value) in [0, 2, 9, 11].into_iter().zip(values) {
        dense[place] = value;
    }
    dense
}

pub(super) const FLOATS: [f32; 4] = [-1.25, -0.75, -0.25, 0.25];

#[test]
fn csr_matrices_of_the_reference_writers_are_read() {
    let raw = "1.2.3/csr_raw.zt";
    for (file, how) in [(raw, "bind"), (raw, "decode"), ("1.1.1/csr_zstd_sha.zt", "decode")] {
        if file != raw && (cfg!(miri) || !cfg!(feature = "zstd")) {
            continue;
        }
        let file = placed(&read(file), 0);
        csr(&file, "csr_f32", how, |csr| {
            assert_eq!((csr.rows(), csr.columns(), csr.nnz()), (3, 4, 4));
            assert_eq!(dense::<f32>(&csr), expected(FLOATS));
            borrows(csr.indptr().as_slice::<u64>(), ByteOrder::Little, &[0, 2, 2, 4]);
            borrows(csr.indices().as_slice::<u64>(), ByteOrder::Little, &[0, 2, 1, 3]);
            borrows(csr.values().as_slice(), ByteOrder::Little, &FLOATS);
            let entries: Vec<_> = csr.entries::<f32>().unwrap().collect();
            assert_eq!(entries, [(0, 0, -1.25), (0, 2, -0.75), (2, 1, -0.25), (2, 3, 0.25)]);
            let rows: Vec<Vec<_>> = csr.by_row::<f32>().unwrap().map(Iterator::collect).collect();
            assert_eq!(rows, [vec![(0, -1.25), (2, -0.75)], vec![], vec![(1, -0.25), (3, 0.25)]]);
            assert_eq!(csr.row_range(2), Some(2..4));
            assert_eq!(csr.row_range(3), None);
            assert_eq!(csr.row_range(u64::MAX), None);
            assert!(csr.by_row::<f32>().unwrap().get(3).is_none());
            assert!(csr.is_sorted());
            assert!(!csr.has_duplicates().unwrap());
            assert_eq!(misuse(csr.entries::<f64>().err().unwrap()), Misuse::Type);
            for length in [0, 11, 13] {
                let mut short = vec![7_f32; length];
                assert_eq!(misuse(csr.to_dense(&mut short).unwrap_err()), Misuse::Buffer);
                assert!(short.iter().all(|element| element.to_bits() == 7_f32.to_bits()));
            }
        });
        csr(&file, "csr_f64", how, |csr| {
            assert_eq!(dense::<f64>(&csr), expected(FLOATS.map(f64::from)));
        });
        csr(&file, "csr_bf16", how, |csr| {
            assert_eq!(dense::<bf16>(&csr), expected(FLOATS.map(bf16::from_f32)));
        });
        csr(&file, "csr_i8", how, |csr| {
            assert_eq!(dense::<i8>(&csr), expected([-3, 4, 11, 18]));
        });
        csr(&file, "nnz0", how, |csr| {
            assert_eq!(dense::<f32>(&csr), [0.0; 12]);
            assert_eq!(csr.by_row::<f32>().unwrap().count(), 3);
            assert!(csr.is_sorted() && !csr.has_duplicates().unwrap());
        });
        csr(&file, "rows0", how, |csr| {
            assert!(dense::<f32>(&csr).is_empty());
            assert!(csr.by_row::<f32>().unwrap().next().is_none());
            assert!(csr.entries::<f32>().unwrap().next().is_none());
        });
    }
}

#[test]
fn coo_tensors_of_the_reference_writers_are_read() {
    let raw = "1.1.1/coo_raw.zt";
    for (file, how) in [(raw, "bind"), (raw, "decode"), ("1.2.3/coo_zstd_crc.zt", "decode")] {
        if file != raw && (cfg!(miri) || !cfg!(feature = "zstd")) {
            continue;
        }
        let file = placed(&read(file), 0);
        coo(&file, "coo3d", how, |coo| {
            assert_eq!((coo.shape().to_vec(), coo.nnz()), (vec![2, 3, 5], 2));
            let entries: Vec<(Vec<u64>, f32)> =
                coo.entries().unwrap().map(|(at, value)| (at.collect(), value)).collect();
            assert_eq!(entries, [(vec![0, 1, 3], -1.25), (vec![1, 2, 4], -0.75)]);
            let mut dense = [9_f32; 30];
            coo.to_dense(&mut dense).unwrap();
            let mut wanted = [0_f32; 30];
            (wanted[8], wanted[29]) = (-1.25, -0.75);
            assert_eq!(dense.map(f32::to_bits), wanted.map(f32::to_bits));
            borrows(coo.coords().as_slice::<u64>(), ByteOrder::Little, &[0, 1, 1, 2, 3, 4]);
            borrows(coo.axis(1).unwrap().as_slice::<u64>(), ByteOrder::Little, &[1, 2]);
            assert!(coo.axis(3).is_none());
            assert_eq!(coo.coordinate(1).unwrap().collect::<Vec<_>>(), [1, 2, 4]);
            assert!(coo.coordinate(2).is_none());
            assert!(coo.is_sorted() && !coo.has_duplicates().unwrap());
            assert_eq!(misuse(coo.entries::<u32>().err().unwrap()), Misuse::Type);
            assert_eq!(misuse(coo.to_dense(&mut [0_f32; 29]).unwrap_err()), Misuse::Buffer);
        });
        coo(&file, "coo_f32", how, |coo| {
            let mut dense = [9_f32; 12];
            coo.to_dense(&mut dense).unwrap();
            assert_eq!(dense[..], expected(FLOATS));
        });
        coo(&file, "coo_u16", how, |coo| {
            let mut dense = [9_u16; 12];
            coo.to_dense(&mut dense).unwrap();
            assert_eq!(dense[..], expected([65533, 4, 11, 18]));
        });
        coo(&file, "nnz0", how, |coo| {
            let mut dense = [9_f32; 12];
            coo.to_dense(&mut dense).unwrap();
            assert_eq!(dense.map(f32::to_bits), [0; 12]);
            assert!(coo.is_sorted() && !coo.has_duplicates().unwrap());
            assert!(coo.coordinate(0).is_none());
        });
    }
}

#[cfg(feature = "zstd")]
#[test]
#[cfg_attr(miri, ignore = "decoding zstd takes minutes there")]
fn views_report_whether_digests_were_verified() {
    let file = read("1.1.1/csr_zstd_sha.zt");
    let known = if cfg!(feature = "digest") { Verified::Digest } else { Verified::Unverifiable };
    csr(&file, "csr_f32", "decode", |csr| {
        assert_eq!(csr.values().verified(), Some(known));
        assert_eq!(csr.indices().verified(), Some(known));
    });
    let file = read("1.2.3/csr_raw.zt");
    csr(&file, "csr_f32", "bind", |csr| {
        assert_eq!(csr.values().verified(), None);
    });
    csr(&file, "csr_f32", "decode", |csr| {
        assert_eq!(csr.values().verified(), Some(Verified::NoDigest));
    });
}

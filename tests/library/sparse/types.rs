//! Tests of sparse objects with every type of index and value, in any order and at any alignment, and of objects that
//! are not sparse or have an unknown type.

use zten::element::StorageType;
use zten::{Archive, DType, element::ByteOrder, error::Misuse};

use super::reference::{FLOATS, expected};
use super::{coo, csr, dense, misuse, read};
use zten_testkit::{borrows, placed};

#[test]
fn every_index_type_is_widened() {
    let types = ["i8", "i16", "i32", "i64", "u8", "u16", "u32"];
    for dtype in types {
        for role in ["indices", "indptr"] {
            let file = read(&format!("v11-{role}-{dtype}.zt"));
            for how in ["bind", "decode"] {
                csr(&file, "w", how, |csr| {
                    assert_eq!(csr.indices().widened().collect::<Vec<_>>(), [0, 2, 1]);
                    assert_eq!(csr.indptr().widened().collect::<Vec<_>>(), [0, 2, 3]);
                    assert_eq!(csr.indptr().widened().nth(1), Some(2));
                    assert_eq!(csr.indptr().widened().nth(3), None);
                    let places: Vec<_> =
                        csr.entries::<f32>().unwrap().map(|entry| (entry.0, entry.1)).collect();
                    assert_eq!(places, [(0, 0), (0, 2), (1, 1)]);
                    let mut rows = csr.by_row::<f32>().unwrap();
                    let (mut sum, row) = (0, rows.next().unwrap());
                    row.for_each(|(column, _)| sum = 10 * sum + column + 1);
                    csr.indices().widened().for_each(|index| sum = 10 * sum + index + 1);
                    assert_eq!(sum, 13_132);
                    let narrow = if role == "indptr" { csr.indptr() } else { csr.indices() };
                    assert_eq!(misuse(narrow.as_slice::<u64>().unwrap_err()), Misuse::Type);
                    assert_eq!(narrow.dtype().name(), dtype);
                });
            }
        }
        let file = read(&format!("v11-coords-{dtype}.zt"));
        coo(&file, "w", "bind", |coo| {
            assert_eq!(coo.coords().widened().collect::<Vec<_>>(), [0, 1, 2, 1]);
            assert_eq!(misuse(coo.coords().as_slice::<u64>().unwrap_err()), Misuse::Type);
        });
    }
    let file = read("v11-indices-i32.zt");
    csr(&file, "w", "decode", |csr| {
        borrows(csr.indices().as_slice::<i32>(), ByteOrder::Little, &[0, 2, 1]);
    });
}

#[test]
fn order_and_repetition_are_reported() {
    let of = |name: &str| {
        csr(&read(name), "w", "bind", |csr| (csr.is_sorted(), csr.has_duplicates().unwrap()))
    };
    assert_eq!(of("v12-csr-unsorted-columns.zt"), (false, false));
    assert_eq!(of("v12-csr-repeated-column.zt"), (true, true));
    assert_eq!(of("v12-csr-huge-columns.zt"), (true, false));
    assert_eq!(of("v12-csr-no-rows.zt"), (true, false));
    let of = |name: &str| {
        coo(&read(name), "w", "bind", |coo| (coo.is_sorted(), coo.has_duplicates().unwrap()))
    };
    assert_eq!(of("v12-coo-falling.zt"), (false, false));
    assert_eq!(of("v12-coo-repeated.zt"), (true, true));
    assert_eq!(of("v12-coo-rank-1.zt"), (true, false));
    assert_eq!(of("v12-coo-without-values.zt"), (true, false));
}

#[test]
fn shapes_and_entry_counts_are_reported() {
    let file = read("v12-csr.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let bound = archive.tensor("w").unwrap().csr().unwrap();
    assert_eq!((bound.rows(), bound.columns()), (2, 3));
    assert!(!bound.indices().is_empty() && !bound.values().is_empty());
    csr(&read("v12-csr-no-rows.zt"), "w", "bind", |csr| {
        assert!(csr.indices().is_empty() && csr.values().is_empty());
    });
    coo(&read("v12-coo-without-values.zt"), "w", "bind", |coo| {
        assert_eq!(coo.nnz(), 0);
        for dimension in 0..coo.shape().len() {
            assert!(coo.axis(dimension).unwrap().is_empty());
        }
        assert!(coo.axis(coo.shape().len()).is_none());
    });
}

#[test]
fn iterators_know_how_many_are_left() {
    csr(&read("v12-csr.zt"), "w", "bind", |csr| {
        let mut entries = csr.entries::<f32>().unwrap();
        let mut row = csr.by_row::<f32>().unwrap().next().unwrap();
        assert_eq!((entries.size_hint(), row.size_hint()), ((3, Some(3)), (2, Some(2))));
        entries.next();
        row.next();
        assert_eq!((entries.size_hint(), row.size_hint()), ((2, Some(2)), (1, Some(1))));
    });
    coo(&read("v12-coo.zt"), "w", "bind", |coo| {
        let mut coordinate = coo.coordinate(0).unwrap();
        assert_eq!(coordinate.size_hint(), (2, Some(2)));
        coordinate.next();
        assert_eq!(coordinate.size_hint(), (1, Some(1)));
    });
}

#[test]
fn huge_shapes_have_no_dense_form() {
    csr(&read("v12-csr-huge-columns.zt"), "w", "bind", |csr| {
        let entries = csr.entries::<f32>().unwrap().map(|entry| (entry.0, entry.1));
        assert_eq!(entries.collect::<Vec<_>>(), [(0, u64::MAX - 1), (1, 0)]);
        // 2 × (2^64 - 1) wraps to 2^64 - 2.
        assert_eq!(misuse(csr.to_dense::<f32>(&mut []).unwrap_err()), Misuse::Buffer);
    });
    coo(&read("v12-coo-huge-shape.zt"), "w", "bind", |coo| {
        // 2^40 × 2^40 wraps to 0.
        assert_eq!(misuse(coo.to_dense::<f32>(&mut []).unwrap_err()), Misuse::Buffer);
        let last = coo.coordinate(1).unwrap().collect::<Vec<_>>();
        assert_eq!(last, [(1 << 40) - 1, 7]);
    });
}

#[test]
fn values_can_be_of_any_type() {
    csr(&read("v12-csr-of-bool.zt"), "w", "bind", |csr| {
        assert_eq!(dense::<bool>(&csr), [true, false, true, false, true, false]);
    });
    coo(&read("v12-coo-of-f8.zt"), "w", "decode", |coo| {
        assert_eq!(coo.entries::<zten::element::F8E5M2>().unwrap().len(), 2);
        assert_eq!(coo.entries::<u8>().unwrap().len(), 2);
        assert_eq!(misuse(coo.entries::<zten::element::F8E4M3Fn>().err().unwrap()), Misuse::Type);
    });
    coo(&read("v12-coo-of-complex64.zt"), "w", "bind", |coo| {
        assert_eq!(coo.nnz(), 1);
        let parts = coo.values().elements::<f32>().unwrap().collect::<Vec<_>>();
        let (at, value) = coo.entries::<zten::element::Complex<f32>>().unwrap().next().unwrap();
        assert_eq!((at.collect(), value.re, value.im), (vec![1, 2], parts[0], parts[1]));
        // A complex number consists of two storage elements, so the entries cannot be read as `f32`.
        assert_eq!(misuse(coo.entries::<f32>().err().unwrap()), Misuse::Type);
    });
    csr(&read("unsupported-type--v12-csr-values.zt"), "w", "bind", |csr| {
        assert!(csr.nnz() > 0);
        assert_eq!(csr.values().dtype(), DType::Unknown);
        let storage = csr.values().storage_type();
        assert!([StorageType::F32, StorageType::U8].contains(&storage), "{storage:?}");
    });
}

#[test]
fn other_formats_are_rejected() {
    for (name, object) in [("1.2.3/coo_zstd_crc.zt", "coo3d"), ("1.2.3/scalar.zt", "")] {
        let file = read(name);
        let archive = Archive::from_bytes(&file).unwrap();
        let object = archive.get(object).or_else(|| archive.tensors().next()).unwrap();
        assert_eq!(misuse(object.csr().unwrap_err()), Misuse::Layout);
    }
    let file = read("unsupported-format--v12-unknown.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let object = archive.tensors().next().unwrap();
    assert_eq!(misuse(object.csr().unwrap_err()), Misuse::Layout);
    let file = read("unsupported-layout--v01-sparsecsr.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let error = archive.tensors().next().unwrap().csr().unwrap_err();
    assert_eq!(error.rule(), Some("unsupported-layout"));
}

#[cfg(feature = "zstd")]
#[test]
#[cfg_attr(miri, ignore = "decoding zstd takes minutes there")]
fn compressed_components_are_not_bound() {
    let file = read("1.1.1/csr_zstd_sha.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let tensor = archive.tensor("csr_f32").unwrap();
    for part in tensor.components() {
        assert_eq!(misuse(part.view().unwrap_err()), Misuse::Compressed);
    }
    // The components are compressed, so `csr` decodes and verifies them instead of borrowing them.
    let csr = tensor.csr().unwrap();
    assert!(csr.values().verified().is_some() && csr.indptr().verified().is_some());
    let cut = &file[..64];
    // The error names the first component in the order of the layout.
    let error = archive.manifest().tensor("csr_f32").unwrap().read_from(&cut).csr().unwrap_err();
    assert_eq!(error.location(), tensor.component("values").unwrap().location());
    assert_eq!((error.tensor(), error.component()), (Some("csr_f32"), Some("values")));
    assert_eq!(misuse(error), Misuse::Size);
}

#[test]
fn unaligned_files_are_read_without_slices() {
    let file = read("1.2.3/csr_raw.zt");
    let native = ByteOrder::NATIVE == ByteOrder::Little;
    let why = if native { Misuse::Alignment } else { Misuse::ByteOrder };
    // These addresses are not aligned for elements of 8 bytes. Some machines align 8-byte elements to 4 bytes.
    for shift in [1, 2] {
        let placed = placed(&file, shift);
        let odd = &placed[..];
        csr(odd, "csr_f64", "bind", |csr| {
            assert_eq!(misuse(csr.indices().as_slice::<u64>().unwrap_err()), why);
            assert_eq!(misuse(csr.values().as_slice::<f64>().unwrap_err()), why);
            assert_eq!(dense::<f64>(&csr), expected(FLOATS.map(f64::from)));
        });
        // Decoding copies the components to aligned memory.
        csr(odd, "csr_f64", "decode", |csr| {
            borrows(csr.indptr().as_slice::<u64>(), ByteOrder::Little, &[0, 2, 2, 4]);
            let wanted = FLOATS.map(f64::from);
            borrows(csr.values().as_slice(), ByteOrder::Little, &wanted);
            assert_eq!(csr.values().as_bytes().as_ptr().align_offset(64), 0);
        });
    }
}

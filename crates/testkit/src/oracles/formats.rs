//! The oracle for typed views of tensors of each layout, which are borrowed, decoded and iterated.

use core::fmt::Debug;

use half::{bf16, f16};
use zten::element::StorageType;
use zten::{
    Element, Error, ErrorKind, Layout, Tensor,
    error::Misuse,
    view::{Coo, Csr, Quantized},
};

use super::components::{Work, same};
use super::{FEW, slices};

/// Reads `object` as each layout; all but its own must be errors. `other` is the same object of an archive whose source does not
/// lend its bytes. When no work is left, only reading as a dense array is checked.
pub(crate) fn read([object, other]: [&Tensor<'_>; 2], file: &[u8], work: &mut Work) {
    let dense = object.dense();
    assert_eq!(dense.is_ok(), object.layout() == Layout::Dense);
    if dense.is_ok() {
        slices::cut(object, file);
    }
    if work.is_left() {
        sparse(object, other);
        quantized(object, other);
        profiles(object, file);
    }
}

/// Reads an object by the profiles of generation 2, and the values of a COO tensor as 4-bit values. Checks that the attributes of
/// the profiles are in range, and that an MX array has at most two elements for each byte of the file.
fn profiles(object: &Tensor<'_>, file: &[u8]) {
    if let Ok(group) = object.quant_group() {
        assert!([2, 4, 8].contains(&group.bits));
    }
    if let Ok(blocks) = object.gguf_blocks() {
        assert!(blocks.elements_per_block > 0 && blocks.block_bytes > 0);
    }
    if let Ok(coo) = object.coo() {
        let _ = coo.values().nibbles(coo.nnz()).map(Iterator::count);
    }
    if let Ok(array) = object.mx() {
        assert!(array.len() <= 2 * file.len());
        array.dequantize(&mut vec![0.0; array.len()]).expect("a buffer of that length");
    }
}

/// Checks that the sparse object `object`, which was found to be valid, can be read both borrowed and decoded.
/// `other` is the same object of an archive whose source does not lend its bytes. Other layouts are not checked.
pub(crate) fn valid(object: &Tensor<'_>, other: &Tensor<'_>) {
    if object.layout() == Layout::SparseCsr {
        object.csr().expect("indices that were found to be valid");
        other.csr().expect("indices that were found to be valid");
    }
    if object.layout() == Layout::SparseCoo {
        object.coo().expect("coordinates that were found to be valid");
        other.coo().expect("coordinates that were found to be valid");
    }
}

/// Returns the value of `read`, which is the result of reading `object` as `layout`. If the object has another
/// layout, checks that the result is an error, and returns `None`.
fn of_layout<T>(object: &Tensor<'_>, layout: Layout, read: Result<T, Error>) -> Option<T> {
    let misuse = ErrorKind::Misuse(Misuse::Layout);
    let is_other = read.as_ref().is_err_and(|error| {
        error.kind() == misuse || (object.layout() == Layout::Unknown && error.is_unsupported())
    });
    assert_eq!(is_other, object.layout() != layout, "{object:?} as {layout:?}");
    read.ok()
}

/// Checks that the indices of `object`, a sparse object that is borrowed from memory, are equal to those of `other`, the same
/// object of an archive whose source does not lend its bytes, and that the entries of both can be iterated.
fn sparse(object: &Tensor<'_>, other: &Tensor<'_>) {
    let bound = of_layout(object, Layout::SparseCsr, object.csr());
    let decoded = of_layout(object, Layout::SparseCsr, other.csr());
    bound.iter().chain(&decoded).for_each(rows);
    if let (Some(bound), Some(decoded)) = (&bound, &decoded) {
        assert!(bound.indices().widened().eq(decoded.indices().widened()));
        assert!(bound.indptr().widened().eq(decoded.indptr().widened()));
    }
    let bound = of_layout(object, Layout::SparseCoo, object.coo());
    let decoded = of_layout(object, Layout::SparseCoo, other.coo());
    bound.iter().chain(&decoded).for_each(coordinates);
    if let (Some(bound), Some(decoded)) = (&bound, &decoded) {
        assert!(bound.coords().widened().eq(decoded.coords().widened()));
        assert_eq!(bound.shape(), decoded.shape());
    }
}

/// Calls a function on a sparse view, with the type as which its values are stored.
macro_rules! typed {
    ($run:ident, $view:expr) => {
        match $view.values().storage_type() {
            StorageType::F64 => $run::<f64>($view),
            StorageType::F32 => $run::<f32>($view),
            StorageType::F16 => $run::<f16>($view),
            StorageType::Bf16 => $run::<bf16>($view),
            StorageType::I64 => $run::<i64>($view),
            StorageType::I32 => $run::<i32>($view),
            StorageType::I16 => $run::<i16>($view),
            StorageType::I8 => $run::<i8>($view),
            StorageType::U64 => $run::<u64>($view),
            StorageType::U32 => $run::<u32>($view),
            StorageType::U16 => $run::<u16>($view),
            StorageType::U8 => $run::<u8>($view),
            StorageType::Bool => $run::<bool>($view),
        }
    };
}

/// Checks the sizes and the first indices of a CSR matrix, and then its entries, whatever the type of its values.
fn rows(csr: &Csr<'_>) {
    let (rows, nnz) = (csr.rows(), csr.nnz());
    assert_eq!(csr.indptr().len() as u64, rows + 1);
    assert!(csr.indices().widened().take(FEW).all(|column| column < csr.columns()));
    assert_eq!(csr.indptr().widened().next(), Some(0));
    assert!(csr.row_range(rows).is_none());
    let last = rows.checked_sub(1).and_then(|last| csr.row_range(last));
    assert!(last.is_none_or(|range| range.start <= range.end && range.end == nnz));
    if nnz <= FEW {
        let (sorted, twice) = (csr.is_sorted(), csr.has_duplicates().expect("memory"));
        assert!(nnz > 1 || (sorted && !twice));
    }
    typed!(matrix, csr);
}

/// Iterates over a CSR matrix with values of the type `T` by entries and by rows, and checks that the first entries agree. If the
/// matrix is small, converts it to a dense matrix, which must have the last entry.
fn matrix<T: Element + Debug>(csr: &Csr<'_>) {
    let (entries, by_row) = (csr.entries::<T>(), csr.by_row::<T>());
    assert_eq!(entries.is_ok(), by_row.is_ok());
    let (Ok(entries), Ok(by_row)) = (entries, by_row) else { return };
    assert_eq!(entries.len(), csr.nnz());
    let walked = (0..)
        .zip(by_row)
        .flat_map(|(row, entries)| entries.map(move |(column, value)| (row, column, value)));
    for (one, other) in entries.clone().zip(walked).take(FEW) {
        assert!(one.0 < csr.rows() && one.1 < csr.columns());
        assert!((one.0, one.1) == (other.0, other.1) && same(one.2, other.2));
    }
    let Some(length) = small(csr.rows().checked_mul(csr.columns())) else { return };
    let mut dense = vec![T::ZERO; length];
    csr.to_dense(&mut dense).expect("a buffer of that length");
    let kept = entries.last();
    let place = kept.map(|(row, column, value)| (row * csr.columns() + column, value));
    let holds = |(at, value)| same(dense[usize::try_from(at).expect("a place")], value);
    assert!(place.is_none_or(holds), "the last entry of a cell is not the one in the dense matrix");
    assert!(csr.to_dense(&mut vec![T::ZERO; length + 1]).is_err());
}

/// Checks the sizes and the first indices of a COO tensor, and then its entries, whatever the type of its values.
fn coordinates(coo: &Coo<'_>) {
    let (rank, nnz) = (coo.shape().len(), coo.nnz());
    assert_eq!(coo.coords().len(), rank * nnz);
    assert!(coo.axis(rank).is_none() && coo.coordinate(nnz).is_none());
    for (at, &dimension) in coo.shape().iter().enumerate() {
        let axis = coo.axis(at).expect("an axis for each dimension");
        assert_eq!(axis.len(), nnz);
        assert!(axis.widened().take(FEW).all(|place| place < dimension));
    }
    if nnz <= FEW {
        let (sorted, twice) = (coo.is_sorted(), coo.has_duplicates().expect("memory"));
        assert!(nnz > 1 || (sorted && !twice));
    }
    typed!(tensor, coo);
}

/// Iterates over the entries of a COO tensor with values of the type `T`, and checks the coordinates of the first ones. If the
/// tensor is small, converts it to a dense tensor, which must have the last value.
fn tensor<T: Element + Debug>(coo: &Coo<'_>) {
    let Ok(entries) = coo.entries::<T>() else { return };
    assert_eq!(entries.len(), coo.nnz());
    for (at, (place, _)) in entries.clone().take(FEW).enumerate() {
        let again = coo.coordinate(at).expect("a coordinate for each entry");
        assert_eq!(place.len(), coo.shape().len());
        assert!(place.clone().zip(coo.shape()).all(|(place, dimension)| place < *dimension));
        assert!(place.eq(again));
    }
    let product = coo.shape().iter().copied().try_fold(1_u64, u64::checked_mul);
    let Some(length) = small(product) else { return };
    let mut dense = vec![T::ZERO; length];
    coo.to_dense(&mut dense).expect("a buffer of that length");
    let kept = entries.last().map(|(_, value)| value);
    assert!(kept.is_none_or(|kept| dense.iter().any(|value| same(*value, kept))));
}

/// Returns `product`, a number of elements, if a buffer for them is small enough to be allocated in a test.
fn small(product: Option<u64>) -> Option<usize> {
    usize::try_from(product?).ok().filter(|length| *length <= 4 * FEW)
}

fn quantized(object: &Tensor<'_>, other: &Tensor<'_>) {
    let bound = of_layout(object, Layout::QuantizedGroup, object.quantized());
    let decoded = of_layout(object, Layout::QuantizedGroup, other.quantized());
    let one = bound.as_ref().and_then(weights);
    let other = decoded.as_ref().and_then(weights);
    if let (Some(one), Some(other)) = (one, other) {
        assert_eq!(one.0, other.0, "codes differ");
        assert!(one.1.iter().zip(&other.1).all(|(a, b)| same(*a, *b)), "weights differ");
    }
    let readable = object.quantization().is_ok();
    assert!(readable || (bound.is_none() && decoded.is_none()));
}

/// Returns the codes and the dequantized weights of a quantized matrix, if the matrix is small.
fn weights(matrix: &Quantized<'_>) -> Option<(Vec<u8>, Vec<f32>)> {
    let length = small(matrix.inputs().checked_mul(matrix.outputs()))?;
    let (mut codes, mut weights) = (vec![0; length], vec![0.0; length]);
    matrix.unpack(&mut codes).expect("a buffer of that length");
    matrix.dequantize(&mut weights).expect("a buffer of that length");
    let most = u8::MAX >> (8 - matrix.quantization().bits());
    assert!(codes.iter().all(|code| *code <= most));
    assert!(matrix.packed_weight().logical_type().is_none());
    Some((codes, weights))
}

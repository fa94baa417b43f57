//! The oracle for slices of dense arrays: which bytes of the file a slice has, and reading these bytes.

use core::fmt::Debug;
use core::ops::Range;

use zten::{
    Component, Element, Error, ErrorKind, Tensor, element::ByteOrder, error::Misuse, view::Slice,
};

use super::FEW;
use super::components::same;

/// The size in bytes of the largest slice that the oracle reads.
const MOST: u64 = 64 << 10;

/// Takes several slices of a dense array and reads them, and checks the result against the bytes of the file.
pub(crate) fn cut(tensor: &Tensor<'_>, file: &[u8]) {
    let shape: Vec<u64> = tensor.shape().to_vec();
    let whole: Vec<Range<u64>> = shape.iter().map(|dimension| 0..*dimension).collect();
    let middle: Vec<_> = shape.iter().map(|n| n / 3..n - n / 3).collect();
    let last: Vec<_> = shape.iter().map(|n| n.saturating_sub(1)..*n).collect();
    let mixed: Vec<_> = shape.iter().zip(0..).map(|(n, at)| at % 2 * n / 2..*n).collect();
    let none: &[Range<u64>] = &[];
    let first = tensor.slice(none);
    let mut parts = Vec::new();
    for ranges in [whole, middle, last, mixed] {
        match tensor.slice(&ranges[..]) {
            Ok(slice) => {
                let taken = ranges
                    .iter()
                    .try_fold(1_u64, |product, range| product.checked_mul(range.end - range.start));
                let none = ranges.iter().any(Range::is_empty);
                assert_eq!(Some(slice.elements()), if none { Some(0) } else { taken });
                parts.push(slice);
            }
            // An error that is not about the slice, but about the array, must be the same for all slices.
            Err(error) => assert_eq!(first.as_ref().err(), Some(&error)),
        }
    }
    if let (Ok(all), Some(rows)) = (&first, shape.first()) {
        parts.push(tensor.slice(0..*rows).expect("all rows"));
        parts.push(tensor.slice(..).expect("all rows"));
        assert_eq!(all.elements(), tensor.element_count().expect("it was validated"));
        let beyond = rows.checked_add(1).map(|end| tensor.slice(*rows..end));
        assert!(beyond.is_none_or(|beyond| rejected(beyond.map(drop), Misuse::Slice)));
    }
    let component = tensor.dense().expect("an array");
    for slice in &parts {
        part(slice, &component, file);
    }
    parts.retain(is_small);
    macro_rules! all {
        ($($element:ty),+) => { $(elements::<$element>(tensor, &parts);)+ };
    }
    if component.decoded_length().is_some_and(|length| length <= MOST) {
        every_element!(all);
    }
}

/// Checks that the elements of the slices `parts` are those at the same ranges of the whole array, if they have the type `T`.
/// Slices of packed elements must be rejected.
fn elements<T: Element + Debug>(tensor: &Tensor<'_>, parts: &[Slice<'_>]) {
    let Ok(all) = tensor.to_vec::<T>() else { return };
    // Slices of packed elements, several of which share a byte, cannot be read as elements.
    let is_packed = tensor.dense().is_ok_and(|data| data.packed_elements().is_some());
    for slice in parts {
        let read = slice.to_vec::<T>();
        if is_packed {
            assert!(rejected(read.map(drop), Misuse::Type));
            continue;
        }
        let read = read.expect("a part of elements that were read as a whole cannot be read");
        let place =
            |at: u64| usize::try_from(at).expect("an offset that fits in memory") / size_of::<T>();
        let ranges = slice.ranges().map(|range| &all[place(range.start)..place(range.end)]);
        assert_eq!(ranges.clone().map(<[T]>::len).sum::<usize>(), read.len(), "elements");
        let pairs = ranges.flatten().zip(&read);
        assert!(pairs.into_iter().all(|(one, other)| same(*one, *other)), "other elements");
    }
}

/// Returns whether a slice is small enough to be read.
fn is_small(slice: &Slice<'_>) -> bool {
    slice.ranges().len() <= FEW as u64 && slice.byte_len() <= MOST
}

/// Reads a slice in the middle of an array from its source, if the slice is small, and ignores the result. The source
/// must panic if bytes outside of the file are requested.
pub(crate) fn read(tensor: &Tensor<'_>) {
    let middle: Vec<_> = tensor.shape().iter().map(|n| n / 3..*n - n / 3).collect();
    let Ok(slice) = tensor.slice(&middle[..]) else { return };
    if is_small(&slice) {
        let length = usize::try_from(slice.byte_len()).expect("a short part");
        let _ = slice.read(&mut vec![0; length]);
    }
}

fn rejected(outcome: Result<(), Error>, why: Misuse) -> bool {
    outcome.err().map(|error| error.kind()) == Some(ErrorKind::Misuse(why))
}

/// Checks the byte ranges of one slice. If the slice is small, also reads it, and checks that its bytes are those at these ranges
/// in the file, if they are stored raw and little-endian.
fn part(slice: &Slice<'_>, component: &Component<'_>, file: &[u8]) {
    let length = component.packed_elements().or(component.decoded_length()).unwrap_or(u64::MAX);
    let (mut end, mut bytes) = (0, 0);
    for (at, range) in slice.ranges().take(FEW).enumerate() {
        assert!(range.start < range.end, "an empty range");
        assert!(at == 0 || range.start > end, "two ranges touch or are not in order");
        assert!(range.end <= length);
        bytes += range.end - range.start;
        end = range.end;
    }
    let few = slice.ranges().len() <= FEW as u64;
    assert!(!few || bytes == slice.byte_len(), "the ranges do not have all bytes of the slice");
    assert_eq!(slice.ranges().next_back().map(|range| range.end <= length), {
        (slice.byte_len() > 0).then_some(true)
    });
    assert_eq!(slice.is_contiguous(), slice.ranges().len() <= 1);
    let raw = slice.file_ranges();
    let view = slice.view();
    // Elements in a shard cannot be borrowed, because the archive was opened without its shards.
    let is_here = component.shard().is_none();
    assert_eq!(raw.is_ok() && is_here, view.is_ok());
    let view = view.ok().flatten();
    assert!(raw.is_err() || !is_here || view.is_some() == slice.is_contiguous());
    if !is_small(slice) {
        return;
    }
    let length = usize::try_from(slice.byte_len()).expect("a short part");
    let mut buffer = vec![0; length];
    let read = slice.read(&mut buffer);
    assert!(slice.read(&mut vec![0; length + 1]).is_err());
    let little = component.byte_order() == ByteOrder::Little;
    if let (Ok(_), Ok(raw), true) = (read, raw, little) {
        let place = |at| usize::try_from(at).expect("an offset that fits in memory");
        let lying = raw.flat_map(|range| &file[place(range.start)..place(range.end)]);
        assert!(lying.eq(&buffer), "the bytes of the slice differ from those at its ranges");
        assert!(view.is_none_or(|view| view.as_bytes() == buffer));
    }
}

//! Parts of dense arrays: which bytes they are, and reading them.

use core::ops::Range;

use zten::{
    Error, ErrorKind, ReadAt,
    element::ByteOrder,
    error::Misuse,
    view::{Dense, Slice},
};

use crate::{FEW, limits};

/// Bytes of a part that is read.
const MOST: u64 = 64 << 10;

/// Cuts an array in several ways.
pub(crate) fn cut(dense: &Dense<'_>, file: &[u8]) {
    let shape: Vec<u64> = dense.shape().to_vec();
    let whole: Vec<Range<u64>> = shape.iter().map(|dimension| 0..*dimension).collect();
    let middle: Vec<_> = shape.iter().map(|n| n / 3..n - n / 3).collect();
    let last: Vec<_> = shape.iter().map(|n| n.saturating_sub(1)..*n).collect();
    let mixed: Vec<_> = shape.iter().zip(0..).map(|(n, at)| at % 2 * n / 2..*n).collect();
    let first = dense.slice(&[]);
    for ranges in [whole, middle, last, mixed] {
        match dense.slice(&ranges) {
            Ok(slice) => {
                let taken = ranges
                    .iter()
                    .try_fold(1_u64, |product, range| product.checked_mul(range.end - range.start));
                let none = ranges.iter().any(Range::is_empty);
                assert_eq!(Some(slice.elements()), if none { Some(0) } else { taken });
                part(&slice, dense, file);
            }
            // What keeps one part from being read keeps all of them.
            Err(error) => assert_eq!(first.as_ref().err(), Some(&error)),
        }
    }
    if let (Ok(all), Some(rows)) = (&first, shape.first()) {
        part(&dense.rows(0..*rows).expect("all rows"), dense, file);
        assert_eq!(all.elements(), dense.shape().elements().expect("it was validated"));
        let beyond = rows.checked_add(1).map(|end| dense.rows(*rows..end));
        assert!(beyond.is_none_or(|beyond| refused(beyond.map(drop), Misuse::Slice)));
    }
}

/// Reads the middle of an array from any source: as many bytes as it has, of which none lie outside.
pub(crate) fn read<S: ReadAt>(dense: &Dense<'_>, source: &S) {
    let middle: Vec<_> = dense.shape().iter().map(|n| n / 3..n - n / 3).collect();
    let Ok(slice) = dense.slice(&middle) else { return };
    let few = slice.ranges().len() <= FEW as u64 && slice.byte_len() <= MOST;
    if let Some(length) = usize::try_from(slice.byte_len()).ok().filter(|_| few) {
        let _ = slice.read(source, &limits(), &mut vec![0; length]);
    }
}

fn refused(outcome: Result<(), Error>, why: Misuse) -> bool {
    outcome.err().map(|error| error.kind()) == Some(ErrorKind::Misuse(why))
}

/// Reads one part: what is read are the bytes of its ranges.
fn part(slice: &Slice<'_>, dense: &Dense<'_>, file: &[u8]) {
    let component = dense.component();
    let length = component.packed_elements().or(component.decoded_length()).unwrap_or(u64::MAX);
    let (mut end, mut bytes) = (0, 0);
    for (at, range) in slice.ranges().take(FEW).enumerate() {
        assert!(range.start < range.end, "an empty range");
        assert!(at == 0 || range.start > end, "ranges that touch or fall");
        assert!(range.end <= length);
        bytes += range.end - range.start;
        end = range.end;
    }
    let few = slice.ranges().len() <= FEW as u64;
    assert!(!few || bytes == slice.byte_len(), "ranges are all bytes");
    assert_eq!(slice.ranges().next_back().map(|range| range.end <= length), {
        (slice.byte_len() > 0).then_some(true)
    });
    assert_eq!(slice.is_contiguous(), slice.ranges().len() <= 1);
    let raw = slice.file_ranges();
    let view = slice.view();
    assert_eq!(raw.is_ok(), view.is_ok());
    let view = view.unwrap_or_default();
    assert!(raw.is_err() || view.is_some() == slice.is_contiguous());
    if !few || slice.byte_len() > MOST {
        return;
    }
    let length = usize::try_from(slice.byte_len()).expect("a short part");
    let mut buffer = vec![0; length];
    let read = slice.read(file, &limits(), &mut buffer);
    assert!(slice.read(file, &limits(), &mut vec![0; length + 1]).is_err());
    let little = dense.component().byte_order() == ByteOrder::Little;
    if let (Ok(_), Ok(raw), true) = (read, raw, little) {
        let place = |at| usize::try_from(at).expect("a place in memory");
        let lying = raw.flat_map(|range| &file[place(range.start)..place(range.end)]);
        assert!(lying.eq(&buffer), "other bytes than those of the ranges");
        assert!(view.is_none_or(|view| view.as_bytes() == buffer));
    }
}

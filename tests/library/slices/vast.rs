//! Tests of an array that is larger than memory: only the requested bytes are read.

use std::mem::take;
use std::ops::Range;
use std::sync::Mutex;

use zten::{Error, OpenOptions, ReadAt};

use super::made::{KINDS, tail};

/// A file of any size whose blob is computed when it is read. The source records the ranges that are read.
struct Vast {
    tail: Vec<u8>,
    length: u64,
    asked: Mutex<Vec<Range<u64>>>,
}

impl ReadAt for Vast {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.asked.lock().unwrap().push(offset..offset + buffer.len() as u64);
        let tail = self.length - self.tail.len() as u64;
        for (at, byte) in (offset..).zip(buffer) {
            *byte = match at {
                0..8 => b"ZTEN1000"[at as usize],
                _ if at < tail => Self::byte(at),
                _ => self.tail[(at - tail) as usize],
            };
        }
        Ok(())
    }
}

impl Vast {
    fn byte(at: u64) -> u8 {
        (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
    }

    /// Returns the ranges that were read since the last call of this method.
    fn asked(&self) -> Vec<Range<u64>> {
        take(&mut *self.asked.lock().unwrap())
    }
}

#[test]
fn only_requested_bytes_of_a_vast_array_are_read() {
    // 1 TiB.
    let (rows, columns) = (1 << 26, 1 << 12);
    let blob = rows * columns * 4;
    let tail = tail(KINDS[2], &[rows, columns], blob);
    let length = 64 + blob + tail.len() as u64;
    let file = Vast { tail, length, asked: Mutex::default() };
    let archive = OpenOptions::default().open_source(file, length).unwrap();
    let tensor = archive.tensor("t").unwrap();
    let file = archive.source();
    let made = |range: Range<u64>| range.map(Vast::byte).collect::<Vec<u8>>();
    file.asked();

    let first = 0x3ff_fff0;
    let slice = tensor.slice(first..first + 3).unwrap();
    assert_eq!((slice.elements(), slice.byte_len()), (3 * columns, 3 * columns * 4));
    let mut bytes = vec![0; 3 * columns as usize * 4];
    slice.read(&mut bytes).unwrap();
    let start = 64 + first * columns * 4;
    let range = start..start + 3 * columns * 4;
    assert_eq!(file.asked(), std::slice::from_ref(&range));
    assert_eq!(bytes, made(range));

    // This slice has some columns of some rows, so it has one run for each row.
    let slice = tensor.slice((first..first + 3, 5..7)).unwrap();
    let mut bytes = [0; 24];
    slice.read(&mut bytes).unwrap();
    let row = |row: u64| start + row * columns * 4 + 20..start + row * columns * 4 + 28;
    assert_eq!(file.asked(), [row(0), row(1), row(2)]);
    assert_eq!(bytes[..], [made(row(0)), made(row(1)), made(row(2))].concat());
    let elements = slice.to_vec::<f32>().unwrap();
    assert_eq!(file.asked(), [row(0), row(1), row(2)]);
    assert!(elements.iter().flat_map(|element| element.to_le_bytes()).eq(bytes));

    // Reading an empty slice at the end of the array reads no bytes of the file.
    tensor.slice(rows..rows).unwrap().read(&mut []).unwrap();
    assert!(tensor.slice(rows..rows).unwrap().to_vec::<f32>().unwrap().is_empty());
    assert!(file.asked().is_empty());
    // The slice has one column of all rows. The list of its ranges takes no memory, and its last range is found as fast
    // as the first.
    let column = tensor.slice((0..rows, 9..10)).unwrap();
    assert_eq!(column.file_ranges().unwrap().len(), rows);
    let last = 64 + (rows - 1) * columns * 4 + 36;
    assert_eq!(column.file_ranges().unwrap().next_back(), Some(last..last + 4));
    assert_eq!(column.file_ranges().unwrap().nth(rows as usize - 1), Some(last..last + 4));
}

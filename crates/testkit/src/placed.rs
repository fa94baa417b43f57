//! Copies of files at chosen memory addresses, to test which elements can be borrowed without a copy.

use std::fmt::Debug;
use std::ops::{Deref, Range};

use zten::{Error, ErrorKind, element::ByteOrder, error::Misuse};

/// A copy of a file at a chosen memory address.
pub struct Placed {
    buffer: Vec<u8>,
    range: Range<usize>,
}

/// Copies `file` to a memory address that is `remainder` modulo 64.
pub fn placed(file: &[u8], remainder: usize) -> Placed {
    let mut buffer = vec![0; file.len() + 128];
    let start = (64 + remainder - buffer.as_ptr().addr() % 64) % 64;
    let range = start..start + file.len();
    buffer[range.clone()].copy_from_slice(file);
    Placed { buffer, range }
}

impl Deref for Placed {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[self.range.clone()]
    }
}

/// Checks the result of borrowing aligned elements of more than one byte: the elements `wanted` if the byte order
/// `order` is that of the machine, and otherwise an error.
pub fn borrows<T: Debug + PartialEq>(found: Result<&[T], Error>, order: ByteOrder, wanted: &[T]) {
    match found {
        Ok(slice) => assert_eq!((slice, order), (wanted, ByteOrder::NATIVE)),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Misuse(Misuse::ByteOrder));
            assert_ne!(order, ByteOrder::NATIVE);
        }
    }
}

impl AsRef<[u8]> for Placed {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

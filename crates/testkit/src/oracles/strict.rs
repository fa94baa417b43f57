//! A source of bytes that panics if it is asked for bytes outside of the file.

use zten::{Error, ReadAt};

/// A source of the bytes of a file, which copies and never lends them. It panics if bytes outside of the file are
/// requested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strict<'d>(pub(crate) &'d [u8]);

impl Strict<'_> {
    fn part(&self, offset: u64, length: usize) -> &[u8] {
        let Self(file) = self;
        let start = usize::try_from(offset).ok();
        let part = start.and_then(|start| file.get(start..)?.get(..length));
        part.unwrap_or_else(|| panic!("{length} bytes at {offset} of {}", file.len()))
    }
}

impl ReadAt for Strict<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        buffer.copy_from_slice(self.part(offset, buffer.len()));
        Ok(())
    }
}

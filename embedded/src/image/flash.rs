//! A model behind a bus: flash that is read in pieces, through the traits of `embedded-storage`.

use core::cell::RefCell;

use embedded_storage::nor_flash::{ErrorType, NorFlashErrorKind, ReadNorFlash, check_read};
use zten::{Error, ReadAt};

/// Bytes of a transfer, at most.
const PIECE: usize = 256;

/// Any flash, as the library reads it.
pub struct Flash<D>(pub RefCell<D>);

impl<D: ReadNorFlash> ReadAt for Flash<D> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        const { assert!(D::READ_SIZE == 1, "any byte can be read") };
        let mut device = self.0.borrow_mut();
        let mut at = u32::try_from(offset).map_err(|_| Error::reading())?;
        for piece in buffer.chunks_mut(PIECE) {
            device.read(at, piece).map_err(|_| Error::reading())?;
            at = at.saturating_add(u32::try_from(piece.len()).unwrap_or(u32::MAX));
        }
        Ok(())
    }
}

/// A simulated SPI flash: its bytes are only to be had by reading them.
pub struct Simulated {
    bytes: &'static [u8],
    /// The number of reads.
    pub reads: u32,
    /// The number of bytes read.
    pub read: usize,
}

impl Simulated {
    /// A flash that holds a file from its first byte on, and nothing else.
    pub fn new(bytes: &'static [u8]) -> Self {
        Self { bytes, reads: 0, read: 0 }
    }
}

impl ErrorType for Simulated {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Simulated {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, bytes.len())?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let stored = self.bytes.get(start..).and_then(|rest| rest.get(..bytes.len()));
        match stored {
            Some(stored) if bytes.len() <= PIECE => bytes.copy_from_slice(stored),
            _ => return Err(NorFlashErrorKind::Other),
        }
        self.reads += 1;
        self.read += bytes.len();
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

//! Flash memory behind a bus, which is read in pieces through the traits of `embedded-storage`.

use core::cell::RefCell;

use embedded_storage::nor_flash::{ErrorType, NorFlashErrorKind, ReadNorFlash, check_read};
use zten::{Error, ReadAt};

/// The largest number of bytes of one transfer.
const PIECE: usize = 256;

/// A source of bytes for the library that reads them from any flash memory.
pub struct Flash<D>(pub RefCell<D>);

impl<D: ReadNorFlash> ReadAt for Flash<D> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        const { assert!(D::READ_SIZE == 1, "the flash must allow reads at any byte") };
        let mut device = self.0.borrow_mut();
        let mut at = u32::try_from(offset).map_err(|_| Error::reading())?;
        for piece in buffer.chunks_mut(PIECE) {
            device.read(at, piece).map_err(|_| Error::reading())?;
            at = at.saturating_add(u32::try_from(piece.len()).unwrap_or(u32::MAX));
        }
        Ok(())
    }
}

/// A simulated flash memory behind SPI, which counts reads. Its bytes cannot be borrowed.
pub struct Simulated {
    bytes: &'static [u8],
    /// The number of reads from the flash memory so far.
    pub reads: u32,
    /// The number of bytes that were read.
    pub read: usize,
}

impl Simulated {
    /// Returns a flash memory whose content is `bytes`.
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

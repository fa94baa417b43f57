//! Errors of decoding frames or a block.

use core::fmt;

/// The reason why decoding fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// The bytes where a frame must begin are not the magic number of a frame. The number of the error is how many bytes are left.
    Magic,
    /// A frame is cut off by the end of the bytes.
    Truncated,
    /// A frame is a skippable frame, which is not accepted.
    Skippable,
    /// A frame requires a dictionary. The [number](DecodeError::number) of the error is the dictionary's id.
    Dictionary,
    /// A reserved bit or block type is used.
    Reserved,
    /// A block is larger than the window or 128 KiB. The [number](DecodeError::number) of the error is the size in the header of
    /// the block, or the number of its literals if these are too many.
    Block,
    /// A frame does not decode to the content size in its header, which is the [number](DecodeError::number) of the error.
    ContentSize,
    /// The content of a frame does not match the checksum at the end of the frame.
    Checksum,
    /// A block cannot be decoded.
    Corrupt,
    /// The window of a frame exceeds the bound. The [number](DecodeError::number) of the error is the window's size in bytes.
    Window,
    /// The frames decode to more bytes than the bound allows: at least the [number](DecodeError::number) of the error.
    Decoded,
    /// The frames do not decode to the declared number of bytes. The [number](DecodeError::number) of the error is the decoded
    /// size if that is smaller, and otherwise the declared size plus 1.
    Declared,
    /// An allocation failed.
    Memory,
}

/// An error of decoding frames: the reason, the position, and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DecodeError {
    flaw: Flaw,
    at: u64,
    found: u64,
}

impl DecodeError {
    #[cold]
    pub(super) fn new(flaw: Flaw, at: u64) -> Self {
        Self { flaw, at, found: 0 }
    }

    pub(super) fn found(self, found: u64) -> Self {
        Self { found, ..self }
    }

    /// Returns the reason why decoding failed.
    pub fn flaw(&self) -> Flaw {
        self.flaw
    }

    /// Returns the position of the error. This is the first byte of the frame, with these exceptions: the first byte of the block
    /// for `Block`, and for `Truncated` and `Reserved` in a block; the byte after the block (and after the checksum that may follow
    /// it) for `Corrupt`; the first byte of the first frame for `Decoded` and `Declared`; and for `Memory` some position near the
    /// bytes that were to be decoded, or 0.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Returns the number that the reason is about, in bytes or as the id of a dictionary. Returns 0 if there is none.
    pub fn number(&self) -> u64 {
        self.found
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found;
        match self.flaw {
            Flaw::Magic if found == 1 => f.write_str("the last byte is not the start of a frame"),
            Flaw::Magic => write!(f, "the last {found} bytes do not begin with a frame"),
            Flaw::Truncated => f.write_str("a frame runs past the end of the data"),
            Flaw::Skippable => f.write_str("a frame is skippable, which is not accepted"),
            Flaw::Dictionary => write!(f, "a frame requires dictionary {found}"),
            Flaw::Reserved => f.write_str("a reserved bit or block type is used"),
            Flaw::Block => {
                write!(f, "a block of {found} bytes is larger than the window or 128 KiB")
            }
            Flaw::ContentSize => {
                write!(f, "a frame does not hold the {found} bytes that its header gives")
            }
            Flaw::Checksum => f.write_str("a frame does not match its checksum"),
            Flaw::Corrupt => f.write_str("a block cannot be decoded"),
            Flaw::Window => {
                write!(f, "a frame has a window of {found} bytes, which exceeds the bound")
            }
            Flaw::Decoded => {
                write!(f, "the frames decode to {found} bytes or more, which exceeds the bound")
            }
            Flaw::Declared => {
                write!(f, "the frames decode to {found} bytes, which is not the declared size")
            }
            Flaw::Memory => f.write_str("an allocation failed"),
        }?;
        write!(f, " at byte {:#x}", self.at)
    }
}

impl core::error::Error for DecodeError {}

//! The errors of decoding frames, or a block.

use core::fmt;

/// The reason that decoding fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// No frame begins where one should.
    Magic,
    /// A frame runs past the end.
    Truncated,
    /// A frame is a skippable one.
    Skippable,
    /// A frame asks for the dictionary of this number.
    Dictionary,
    /// A reserved bit or block type is used.
    Reserved,
    /// A block of so many bytes is larger than the window or 128 KiB.
    Block,
    /// A frame does not hold the content size that it gives.
    ContentSize,
    /// A frame does not match its checksum.
    Checksum,
    /// A block cannot be decoded.
    Corrupt,
    /// The window of a frame is so many bytes, more than it may be.
    Window,
    /// The frames decode to so many bytes, more than they may.
    Decoded,
    /// The frames decode to so many bytes, more or fewer than were declared.
    Declared,
    /// An allocation failed.
    Memory,
}

/// The reason why frames cannot be decoded.
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

    /// Returns the reason that decoding failed.
    pub fn flaw(&self) -> Flaw {
        self.flaw
    }

    /// Returns the position of the error: the first byte of the frame; for `Block`, and for
    /// `Truncated` and `Reserved` in a block, of the block; for `Corrupt`, one past the block, and
    /// past the checksum that follows it; for `Decoded` and `Declared`, of the first frame.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The number that was found, where there is one: bytes, or a dictionary's number.
    pub fn number(&self) -> u64 {
        self.found
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found;
        match self.flaw {
            Flaw::Magic => write!(f, "{found} bytes are left where a frame should begin"),
            Flaw::Truncated => f.write_str("a frame runs past the end"),
            Flaw::Skippable => f.write_str("a frame is a skippable one"),
            Flaw::Dictionary => write!(f, "a frame requires dictionary {found}"),
            Flaw::Reserved => f.write_str("a reserved bit or block type is used"),
            Flaw::Block => {
                write!(f, "a block of {found} bytes is larger than the window or 128 KiB")
            }
            Flaw::ContentSize => write!(f, "a frame does not hold the {found} bytes that it gives"),
            Flaw::Checksum => f.write_str("a frame does not match its checksum"),
            Flaw::Corrupt => f.write_str("a block cannot be decoded"),
            Flaw::Window => {
                write!(f, "a frame has a window of {found} bytes, which exceeds the bound")
            }
            Flaw::Decoded => {
                write!(f, "the frames decode to {found} bytes or more, which exceeds the bound")
            }
            Flaw::Declared => {
                write!(f, "the frames decode to {found} bytes, not as many as were declared")
            }
            Flaw::Memory => f.write_str("an allocation failed"),
        }?;
        write!(f, " at byte {:#x}", self.at)
    }
}

impl core::error::Error for DecodeError {}

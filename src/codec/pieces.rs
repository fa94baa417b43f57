//! Frames that can be decoded by themselves.

use alloc::vec::Vec;

use crate::manifest::Extent;
use crate::num::u64_from_usize;

/// A frame that can be decoded by itself.
pub(super) struct Piece {
    pub(super) stored: Extent,
    /// Bytes that it decodes to.
    pub(super) decoded: u64,
    /// The last bytes that a seekable one has, where its table says so.
    pub(super) checksum: Option<[u8; 4]>,
}

/// What frames have to be, for threads to be worth their while, and memory to follow what is stored and not what
/// is claimed.
pub(super) struct Wanted {
    /// Frames of the component, at most.
    most: u64,
}

impl Wanted {
    /// Stored bytes of a frame, at least, on average.
    const LEAST: u64 = 16 << 10;
    /// Decoded bytes of one that is stored, at most, in every frame.
    const TIMES: u64 = 64;
    /// Stored bytes of every frame, at most: a thread has those of one in memory.
    const LARGEST: u64 = 64 << 20;

    /// For so many stored bytes.
    pub(super) fn of(stored: u64) -> Self {
        Self { most: stored / Self::LEAST }
    }

    /// Adds a frame to those before it, if it is as wanted.
    pub(super) fn add(&self, pieces: &mut Vec<Piece>, piece: Piece) -> bool {
        let fits = u64_from_usize(pieces.len()) < self.most
            && piece.stored.length() <= Self::LARGEST
            && piece.decoded <= piece.stored.length().saturating_mul(Self::TIMES)
            && pieces.try_reserve(1).is_ok();
        if fits {
            pieces.push(piece);
        }
        fits
    }
}

/// All frames of a component.
pub(crate) struct Pieces {
    pub(super) all: Vec<Piece>,
    decoded: usize,
    /// Whether each has to have a checksum: v2 §8.2.
    pub(super) is_seekable: bool,
}

impl Pieces {
    /// Those of a component that decodes to so many bytes; none where there is one frame only, or they are others.
    pub(super) fn new(pieces: Vec<Piece>, declared: u64, is_seekable: bool) -> Option<Self> {
        let decoded = pieces.iter().try_fold(0_u64, |sum, piece| sum.checked_add(piece.decoded))?;
        let decoded = usize::try_from(decoded).ok().filter(|_| decoded == declared)?;
        (pieces.len() > 1).then_some(Self { all: pieces, decoded, is_seekable })
    }

    /// Bytes that they decode to.
    pub(crate) fn decoded(&self) -> usize {
        self.decoded
    }
}

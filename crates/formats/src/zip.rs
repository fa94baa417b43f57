//! Zip archives, as far as readers of zip agree on them: the directory, the members, and their first bytes.

mod cursor;
mod directory;
mod entry;
mod extra;
mod member;

pub(super) use cursor::Window;
pub(super) use directory::Directory;
pub(super) use entry::Entry;
pub(super) use member::{Content, Member, damage};

use zten::Limits;
use zten::rules::Limit;

use super::error::FormatError;
use super::rules::Rule;

/// The program whose archives are read: what it writes is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// Members are arrays, and extra fields those of any program.
    NumPy,
    /// Members are padded by an extra field, and there are always end records for large archives.
    Torch,
}

/// Counts the decompressed bytes of all members against the limits.
#[derive(Debug, Default)]
pub(super) struct Decoded(u64);

impl Decoded {
    /// Adds a member of a file of `length` bytes.
    pub(super) fn add(
        &mut self,
        entry: &Entry<'_>,
        length: u64,
        limits: &Limits,
    ) -> Result<(), FormatError> {
        let Some(size) = entry.decompressed() else { return Ok(()) };
        self.0 = self.0.saturating_add(size);
        let limit = match size > limits.decoded() {
            true => Limit::Decoded,
            false if self.0 > limits.decoded_total(length) => Limit::DecodedTotal,
            false => return Ok(()),
        };
        let sentence = format_args!("decompresses to {size} bytes, which exceeds the limit");
        Err(FormatError::predicate(limit, sentence))
    }
}

/// The ranges of the file that members take, which must be all of it in front of the directory.
#[derive(Debug)]
pub(super) struct Extents {
    ranges: Vec<(u64, u64)>,
    covered: u64,
    /// The byte at which the directory begins.
    end: u64,
}

impl Extents {
    pub(super) fn new(end: u64) -> Self {
        Self { ranges: Vec::new(), covered: 0, end }
    }

    /// Adds a member.
    pub(super) fn add(&mut self, start: u64, end: u64) -> Result<(), FormatError> {
        self.ranges.try_reserve(1).map_err(|_| FormatError::memory())?;
        self.ranges.push((start, end));
        self.covered = self.covered.saturating_add(end.saturating_sub(start));
        if self.covered > self.end {
            // Some are the same, and all of them together are not worth the work.
            self.check()?;
            return Err(FormatError::internal("members overlap, and lie one after the other"));
        }
        Ok(())
    }

    /// The number of members.
    pub(super) fn count(&self) -> usize {
        self.ranges.len()
    }

    /// Checks that the members lie one after the other, from the first byte to the directory: no bytes belong to
    /// two, and none to no one.
    pub(super) fn check(&mut self) -> Result<(), FormatError> {
        self.ranges.sort_unstable();
        let mut from = 0;
        for (start, after) in self.ranges.iter().copied().chain([(self.end, self.end)]) {
            if start != from {
                let sentence =
                    "a member of the archive does not begin where the one before it ends";
                return Err(FormatError::violation_at(Rule::ZipContiguous, sentence, start));
            }
            from = after;
        }
        Ok(())
    }
}

/// Keeps the error for bytes that are to be read first, and returns none then.
pub(super) fn defer<T>(
    read: Result<T, FormatError>,
    pending: &mut Option<FormatError>,
) -> Result<Option<T>, FormatError> {
    match read {
        Err(error) if error.is_pending() => {
            *pending = Some(error);
            Ok(None)
        }
        read => read.map(Some),
    }
}

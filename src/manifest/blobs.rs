//! Blobs that are not empty are disjoint.

#[cfg(feature = "v2")]
mod shared;

use alloc::vec::Vec;

use super::records::Which;
use crate::error::{ErrorKind, OutOfMemory};
use crate::limits::format::ALIGNMENT_V2;
use crate::num::{Assured as _, SMALL, usize_from_u32};
use crate::rules::{Limit, Rule};
use crate::sort::{heap, numbers};

/// Where a blob lies: all of it before the manifest, and starting at a multiple of 64; in 2, before
/// the footer, and at a multiple of 4096.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    offset: u64,
    length: u64,
}

impl Extent {
    /// For extents that have been validated, or read again from a manifest that has.
    pub(super) fn new(offset: u64, length: u64) -> Self {
        Self { offset, length }
    }

    /// A part of one, which need not begin at a multiple of anything.
    #[cfg(all(feature = "zstd", any(feature = "v2", feature = "std")))]
    pub(crate) fn part(offset: u64, length: u64) -> Self {
        Self { offset, length }
    }

    /// First byte, from the beginning of the file. A multiple of 64; in 2, of 4096.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Stored bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// One past the last byte.
    pub fn end(&self) -> u64 {
        self.offset.checked_add(self.length).assured_or(u64::MAX)
    }

    /// As a range of the file.
    pub fn range(&self) -> core::ops::Range<u64> {
        self.offset..self.end()
    }
}

/// Watches blobs go by. As long as each begins where the one before has ended, or later, no two
/// overlap, and nothing has to be remembered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InOrder {
    /// How many there are that are not empty, and where the last of them in the file ends.
    count: u32,
    end: u64,
    disorder: bool,
}

impl InOrder {
    #[inline(always)]
    pub(super) fn note(&mut self, extent: Extent) {
        if extent.length > 0 {
            self.count = self.count.wrapping_add(1);
            self.disorder |= extent.offset < self.end;
            self.end = extent.end().max(self.end);
        }
    }

    pub(super) fn holds(&self) -> bool {
        !self.disorder
    }
}

/// What blobs may be, beside disjoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sharing {
    /// Any number of components may have the identical extent.
    pub(super) identical: bool,
    /// What offsets are a multiple of: a power of two.
    pub(super) alignment: u64,
    /// How many bytes all of them may have together, where some are shared. These count as often as they
    /// are, because so often they are read.
    pub(super) most: u64,
}

/// What blobs are that may be shared.
struct Laid {
    /// The first extent, in order of offset and then length, that overlaps one before it.
    clash: Option<Extent>,
    /// Whether two may be identical.
    alike: bool,
}

/// Finds out whether blobs overlap.
fn overlap(
    seen: InOrder,
    extents: impl Iterator<Item = Extent> + Clone,
    sharing: Sharing,
) -> Result<Laid, OutOfMemory> {
    let Sharing { identical, alignment, .. } = sharing;
    // Before 2 blobs share bytes only where that is tolerated, so these are looked at exactly.
    let is_v2 = cfg!(feature = "v2") && alignment == ALIGNMENT_V2;
    let (bits, within) = (alignment.trailing_zeros(), alignment.wrapping_sub(1));
    let units = |bytes: u64| (bytes >> bits).wrapping_add(u64::from(bytes & within != 0));

    let blobs = extents.filter(|extent| extent.length > 0);
    let count = usize_from_u32(seen.count);
    // Up to 256 GiB (2: 16 TiB), offset and length in units of the alignment fit in 32 bits each, and
    // half the memory does. Two blobs that are disjoint are so in these units too, because they
    // start at multiples of them; two that are not are looked at exactly.
    if u32::try_from(units(seen.end)).is_ok() {
        let offset = |blob: Extent| blob.offset >> bits << 32;
        let mut packed = reserve(count)?;
        for blob in blobs.clone().take(count) {
            packed.push(offset(blob) | units(blob.length));
        }
        numbers(&mut packed, units(seen.end) << 32);
        let unpack = |packed: &u64| Extent {
            offset: packed >> 32 << bits,
            length: (packed & u64::from(u32::MAX)) << bits,
        };
        let clash = first_overlap(packed.iter().map(unpack), is_v2);
        #[cfg(feature = "v2")]
        if is_v2 {
            // Blobs of one offset and as many units may differ in the last bytes.
            let alike = packed.iter().zip(packed.iter().skip(1)).any(|(a, b)| a == b);
            let differ =
                alike.then(|| shared::differing(&blobs, &mut packed, shared::FREE)).flatten();
            let least = clash.map(|clash| clash.offset).into_iter().chain(differ).min();
            let clash = least.and_then(|offset| shared::first_at(&blobs, offset));
            return Ok(Laid { clash, alike });
        }
        if clash.is_none() {
            return Ok(Laid { clash, alike: false });
        }
    }
    #[cfg(feature = "v2")]
    if is_v2 {
        return Ok(Laid { clash: shared::overlap(&blobs, count)?, alike: true });
    }
    let mut exact = reserve(count)?;
    for blob in blobs.take(count) {
        exact.push((blob.offset, blob.length));
    }
    if SMALL {
        heap(&mut exact);
    } else {
        exact.sort_unstable();
    }
    let extents = exact.iter().map(|(offset, length)| Extent::new(*offset, *length));
    Ok(Laid { clash: first_overlap(extents, identical), alike: identical })
}

/// Which component is at fault, and why.
pub(super) struct Wrong {
    pub(super) which: Which,
    pub(super) kind: ErrorKind,
    pub(super) found: u64,
}

/// What is wrong with the blobs of one file. Where two overlap, the last component whose extent is the first in
/// the file that overlaps one before it; where blobs are shared, the first component beyond the limit.
pub(super) fn wrong(
    seen: InOrder,
    mut extents: impl Iterator<Item = (Which, Extent)> + Clone,
    sharing: Sharing,
) -> Result<Option<Wrong>, OutOfMemory> {
    let Laid { clash, alike } = overlap(seen, extents.clone().map(|(_, extent)| extent), sharing)?;
    if let Some(clash) = clash {
        let last = extents.filter(|(_, extent)| *extent == clash).last();
        let kind = Rule::BlobOverlap.into();
        return Ok(last.map(|(which, extent)| Wrong { which, kind, found: extent.offset() }));
    }
    if !alike {
        return Ok(None);
    }
    let (mut found, kind) = (0_u64, Limit::DecodedTotal.into());
    Ok(extents.find_map(|(which, extent)| {
        found = found.saturating_add(extent.length);
        (found > sharing.most).then_some(Wrong { which, kind, found })
    }))
}

fn reserve<T>(count: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(count).map_err(|_| OutOfMemory)?;
    Ok(vec)
}

/// The first of the sorted extents that begins before one before it ends.
fn first_overlap(mut sorted: impl Iterator<Item = Extent>, shared: bool) -> Option<Extent> {
    let mut last = Extent::new(0, 0);
    sorted.find(|extent| {
        let overlaps = extent.offset < last.end() && !(shared && *extent == last);
        last = *extent;
        overlaps
    })
}

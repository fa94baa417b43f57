//! Blobs that are not empty are disjoint, or identical where a format allows it.

use alloc::vec::Vec;

use crate::error::{ErrorKind, OutOfMemory};
use crate::format::{ComponentRecord, Extent};
use crate::num::usize_from_u32;
use crate::rules::{Limit, Rule};

/// True if blobs have come in order so far: each begins where the one before has ended, or later. Then no two
/// overlap.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InOrder {
    /// The end of the last blob that is not empty.
    end: u64,
    disorder: bool,
}

impl InOrder {
    #[inline(always)]
    pub(super) fn note(&mut self, extent: Extent) {
        if extent.length() > 0 {
            self.disorder |= extent.offset() < self.end;
            self.end = extent.end().max(self.end);
        }
    }

    pub(super) fn holds(&self) -> bool {
        !self.disorder
    }
}

/// The ways in which blobs may overlap. Where some are shared, all of them may have `most` bytes together: these
/// count as often as they are, because so often they are read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BlobRule {
    /// No two share a byte.
    Disjoint,
    /// Two are disjoint or the same.
    Identical { most: u64 },
    /// Any.
    #[cfg_attr(not(feature = "std"), expect(dead_code, reason = "no format of zTensor has them"))]
    Any { most: u64 },
}

/// The component that is at fault, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// The ordinal among all components.
    pub(super) component: u32,
    pub(super) kind: ErrorKind,
    pub(super) found: u64,
}

/// Finds what is wrong with the blobs of one file, which come by the ordinals of their components. Where two
/// overlap, it is the last component with the extent that is the first, in order of offset and length, to overlap one
/// before it; where blobs are shared, the first component beyond the limit.
pub(super) fn wrong(
    components: &[ComponentRecord],
    of_file: impl Iterator<Item = u32> + Clone,
    rule: BlobRule,
) -> Result<Option<Wrong>, OutOfMemory> {
    let extent = |component: u32| -> Option<Extent> {
        Some(components.get(usize_from_u32(component))?.extent)
    };
    let extents = of_file.filter_map(|component| Some((component, extent(component)?)));
    // The lengths stay in the records: few blobs begin at one offset.
    let mut sorted: Vec<(u64, u32)> = Vec::new();
    sorted.try_reserve_exact(extents.clone().count()).map_err(|_| OutOfMemory)?;
    for (component, extent) in extents.clone().filter(|(_, extent)| extent.length() > 0) {
        sorted.push((extent.offset(), component));
    }
    sorted.sort_unstable_by(|one, other| {
        let length = |component| extent(component).map(|extent| extent.length());
        let by_length = || (length(one.1), one.1).cmp(&(length(other.1), other.1));
        one.0.cmp(&other.0).then_with(by_length)
    });
    let identical = !matches!(rule, BlobRule::Disjoint);
    let (mut last, mut alike, mut clash) = (None::<Extent>, false, None);
    for (_, component) in &sorted {
        let Some(extent) = extent(*component) else { continue };
        match clash {
            None if last == Some(extent) => {
                alike = true;
                clash = (!identical).then_some((extent, *component));
            }
            None if last.is_some_and(|last| extent.offset() < last.end()) => {
                if let BlobRule::Any { .. } = rule {
                    alike = true;
                } else {
                    clash = Some((extent, *component));
                }
            }
            Some((clashing, _)) if extent == clashing => clash = Some((extent, *component)),
            Some(_) => break,
            None => {}
        }
        last = Some(extent);
    }
    if let Some((extent, component)) = clash {
        return Ok(Some(Wrong {
            component,
            kind: Rule::BlobOverlap.into(),
            found: extent.offset(),
        }));
    }
    let most = match rule {
        BlobRule::Identical { most } | BlobRule::Any { most } if alike => most,
        _ => return Ok(None),
    };
    let (mut found, kind) = (0_u64, Limit::DecodedTotal.into());
    let mut extents = extents;
    Ok(extents.find_map(|(component, extent)| {
        found = found.saturating_add(extent.length());
        (found > most).then_some(Wrong { component, kind, found })
    }))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{BlobRule, ComponentRecord, Extent, Wrong, wrong};
    use crate::rules::Rule;

    /// Wherever blobs lie, what is found is what comparing each with each finds.
    #[test]
    fn overlaps_are_found_as_by_comparing_all() {
        let mut random = fastrand::Rng::with_seed(11);
        let mut clashes = 0;
        for round in 0..if cfg!(miri) { 200 } else { 20_000 } {
            let record = |offset, length| ComponentRecord::raw(Extent::part(offset, length));
            let records: Vec<_> = (0..random.usize(1..9))
                .map(|_| {
                    record(random.u64(0..12) << 12, [0, 1, 4096, 8192, 8193][random.usize(0..5)])
                })
                .collect();
            let identical = round % 2 == 0;
            let most = u64::MAX;
            let rule = if identical { BlobRule::Identical { most } } else { BlobRule::Disjoint };
            let ordinals = 0..u32::try_from(records.len()).unwrap();
            let found = wrong(&records, ordinals, rule).unwrap();
            let filled = records.iter().enumerate().filter(|(_, it)| it.extent.length() > 0);
            let overlaps = filled.clone().filter(|(at, it)| {
                filled.clone().any(|(other, before)| {
                    let (one, two) = (before.extent, it.extent);
                    let order =
                        (one.offset(), one.length(), other) < (two.offset(), two.length(), *at);
                    order && one.end() > two.offset() && !(identical && one == two)
                })
            });
            let first = overlaps.min_by_key(|(_, it)| (it.extent.offset(), it.extent.length()));
            let wanted = first.map(|(_, first)| {
                let last = records.iter().rposition(|it| it.extent == first.extent);
                Wrong {
                    component: last.unwrap().try_into().unwrap(),
                    kind: Rule::BlobOverlap.into(),
                    found: first.extent.offset(),
                }
            });
            clashes += u32::from(found.is_some());
            assert_eq!(found, wanted, "{records:?}");
        }
        assert!(cfg!(miri) || (2_000..18_000).contains(&clashes), "{clashes}");
    }
}

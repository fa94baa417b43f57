//! Keys of interpreted maps: none stands twice; and finding one again.

use alloc::vec::Vec;

use super::{Entries, Fault, Input, Mark, key, map_head, seek, skip};
use crate::error::Misuse;
use crate::error::ErrorKind;
use crate::limits::format::DEPTH_CAP;
use crate::num::{short, wide};
use crate::rules::{Limit, Rule};

/// Watches the keys of one map go by.
///
/// Keys that rise strictly are unique, and cost one comparison each and no memory. Only a map
/// whose keys do not is walked a second time, when its size is known.
pub(crate) struct Keys<'m> {
    first: Input<'m>,
    count: u32,
    last: Option<&'m [u8]>,
    rising: bool,
}

impl<'m> Keys<'m> {
    /// Watches the map whose head is at `at` and whose entries begin at `first`.
    ///
    /// # Errors
    /// `limit-keys` where the head claims more than `limit`.
    #[inline(always)]
    pub(crate) fn new(
        at: Input<'m>,
        first: Input<'m>,
        entries: Entries,
        limit: u32,
    ) -> Result<Self, Fault> {
        match entries.claimed() {
            Some(count) if count > limit => {
                Err(Fault::with(Limit::Keys, Mark::of(at), count.into()))
            }
            _ => Ok(Self { first, count: 0, last: None, rising: true }),
        }
    }

    /// Counts a key: `limit-keys`, at the map's head, if it is one too many.
    #[inline(always)]
    pub(crate) fn count(&mut self, at: Input<'m>, limit: u32) -> Result<(), Fault> {
        if self.count >= limit {
            return Err(Fault::with(Limit::Keys, Mark::of(at), u64::from(limit).saturating_add(1)));
        }
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Notes a key that may stand there twice.
    #[inline(always)]
    pub(crate) fn note(&mut self, key: &'m [u8]) {
        self.rising &= self.last.is_none_or(|last| last < key);
        self.last = Some(key);
    }

    /// Judges the whole map, which ends before `end`.
    #[inline(always)]
    pub(crate) fn finish(self, end: Input<'m>) -> Result<(), Fault> {
        if self.rising { Ok(()) } else { self.sorted(end) }
    }

    /// Sorts the keys to find the first that stands there twice.
    #[inline(never)]
    fn sorted(self, end: Input<'m>) -> Result<(), Fault> {
        let span = self.first.len().saturating_sub(end.len());
        // Two bytes a key while the map is short, so that the places of its keys never take
        // more memory than the map itself.
        if u16::try_from(span).is_ok() {
            self.duplicate(|left| u16::try_from(left).unwrap_or(u16::MAX), u32::from, span)
        } else {
            self.duplicate(|left| left, |left| left, span)
        }
    }

    fn duplicate<P: Copy + Ord>(
        &self,
        pack: impl Fn(u32) -> P,
        unpack: impl Fn(P) -> u32,
        span: usize,
    ) -> Result<(), Fault> {
        let map = self.first.get(..span).unwrap_or_default();
        let mut places = Vec::new();
        let count = crate::num::index(self.count);
        places.try_reserve_exact(count).map_err(|_| {
            Fault::new(ErrorKind::Misuse(Misuse::Memory), Mark::of(self.first))
        })?;
        let mut input = map;
        for _ in 0..count {
            places.push(pack(short(input.len())));
            let Ok((value, _)) = key(input) else { break };
            let Ok((rest, ())) = skip(value, 0, DEPTH_CAP) else { break };
            input = rest;
        }
        let read = |place: &P| key(seek(map, Mark(unpack(*place)))).map_or(&[][..], |(_, k)| k);
        // Earlier in the map is a larger number of bytes left.
        places.sort_unstable_by(|a, b| read(a).cmp(read(b)).then(b.cmp(a)));
        let twice = places.windows(2).filter_map(|pair| match pair {
            [first, second] if read(first) == read(second) => Some(unpack(*second)),
            _ => None,
        });
        match twice.max() {
            None => Ok(()),
            Some(left) => {
                let after = wide(self.first.len()).saturating_sub(wide(span));
                let left = u64::from(left).saturating_add(after);
                let mark = Mark(u32::try_from(left).unwrap_or(u32::MAX));
                Err(Fault::new(Rule::DuplicateKey, mark))
            }
        }
    }
}

/// The value of `wanted` in the map at `map`, which has been checked.
pub(crate) fn find<'m>(map: Input<'m>, wanted: &str) -> Option<Input<'m>> {
    let (mut input, mut entries) = map_head(map, Rule::ObjectType).ok()?;
    while let Some(at) = entries.next(input) {
        let (value, key) = key(at).ok()?;
        if key == wanted.as_bytes() {
            return Some(value);
        }
        input = skip(value, 0, DEPTH_CAP).ok()?.0;
    }
    None
}

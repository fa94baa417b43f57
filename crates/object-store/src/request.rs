//! Requests for ranges of an object, all of the same version of the object.

use std::ops::Range;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore};
use zten::num::u64_from_usize;

use crate::PARALLEL;
use crate::error::Error;
use crate::pieces::Pieces;

/// The largest gap between two ranges that are fetched by one request: the bytes of the gap take no longer than a second request.
const GAP: u64 = 64 << 10;

/// The version of an object that the store described in its first answer. All later requests ask for this version.
#[derive(Clone, Debug)]
pub(crate) struct ObjectVersion(ObjectMeta);

impl ObjectVersion {
    /// Creates the version that `meta`, the store's answer to a request for the head of the object, describes.
    pub(crate) fn of_meta(meta: ObjectMeta) -> Self {
        Self(meta)
    }

    /// Returns the number of bytes of the object.
    pub(crate) fn length(&self) -> u64 {
        self.0.size
    }

    /// Fetches `ranges`, in any order, and returns their bytes. Ranges that overlap or are close to each other are fetched as one.
    pub(crate) async fn pieces(
        &self,
        store: &dyn ObjectStore,
        ranges: Vec<Range<u64>>,
    ) -> Result<Pieces, Error> {
        let merged = merged(ranges);
        let fetch = |range: Range<u64>| async move {
            let start = range.start;
            Ok::<_, Error>((start, self.fetch(store, range).await?))
        };
        let requests = stream::iter(merged.into_iter().map(fetch)).buffered(PARALLEL);
        Ok(Pieces::new(requests.try_collect().await?))
    }

    /// Fetches the bytes of `range`. An answer with another range, or with more or fewer bytes, is an error, so that a faulty or
    /// hostile store cannot make the request take more memory than the range. The request asks for the version of the object that
    /// is known, if the store gave it a strong tag, or a weak tag and a time. An empty range sends no request.
    pub(crate) async fn fetch(
        &self,
        store: &dyn ObjectStore,
        range: Range<u64>,
    ) -> Result<Bytes, Error> {
        let length = range.end.saturating_sub(range.start);
        if length == 0 {
            return Ok(Bytes::new());
        }
        // A server rejects each request on the condition of a weak tag, because such a tag does not tell bytes apart (RFC 9110,
        // 13.1.1). So the condition for such an object is that it has not changed since the time that the server gave.
        // `object_store` shows a missing time as zero.
        let (weak, strong) = match &self.0.e_tag {
            Some(tag) if tag.starts_with("W/") => (true, None),
            tag => (false, tag.clone()),
        };
        let time = self.0.last_modified;
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: strong,
            if_unmodified_since: (weak && time.timestamp() != 0).then_some(time),
            ..GetOptions::default()
        };
        let answer = store.get_opts(&self.0.location, options).await?;
        if answer.range != range {
            let Range { start, end } = answer.range;
            let what =
                format!("bytes {start} to {end} (expected {} to {})", range.start, range.end);
            return Err(self.wrong(what));
        }
        let mut stream = answer.into_stream();
        let (mut first, mut rest, mut total) = (Bytes::new(), Vec::new(), 0_u64);
        while let Some(chunk) = stream.try_next().await? {
            total = total.saturating_add(u64_from_usize(chunk.len()));
            if total > length {
                return Err(self.wrong(format!("more than the requested {length} bytes")));
            }
            if rest.is_empty() && first.is_empty() {
                // An answer of one chunk, as of a store in memory, is not copied.
                first = chunk;
                continue;
            }
            for part in [std::mem::take(&mut first), chunk] {
                rest.try_reserve(part.len()).map_err(|_| Error::OutOfMemory)?;
                rest.extend_from_slice(&part);
            }
        }
        if total < length {
            return Err(self.wrong(format!("{total} bytes (expected {length})")));
        }
        Ok(if rest.is_empty() { first } else { rest.into() })
    }

    /// Returns the error that an answer of the store about this object is wrong. `what` says what is wrong with the answer.
    fn wrong(&self, what: String) -> Error {
        Error::Answer { location: self.0.location.to_string(), what }
    }
}

/// Sorts `ranges`, leaves out empty ones, and joins ranges that overlap or have a gap of at most [`GAP`] bytes between them.
fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start.saturating_sub(last.end) <= GAP => {
                last.end = last.end.max(range.end);
            }
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "lists of one range")]
    fn close_ranges_are_one_request() {
        assert_eq!(merged(vec![5..9, 0..4, 0..2]), [0..9]);
        assert_eq!(merged(vec![GAP + 5..GAP + 6, 0..4]), [0..4, GAP + 5..GAP + 6]);
        assert_eq!(merged(vec![GAP + 4..GAP + 6, 0..4]), [0..GAP + 6]);
        assert_eq!(merged(vec![3..3]), Vec::<Range<u64>>::new());
        assert_eq!(merged(vec![0..10, 2..3]), [0..10]);
    }
}

//! Sorting in place, in work that an attacker who chooses the input cannot make quadratic: numbers, and
//! places by the texts that stand there.
//!
//! Both distribute by one byte first. Comparing whole texts would cost their length again for
//! each of `log n` comparisons, and read them at random; this looks at each byte of a text a few
//! times at most.

mod numbers;

use alloc::vec::Vec;
use core::ops::Range;

pub(crate) use self::numbers::numbers;
use crate::error::OutOfMemory;
use crate::num::{Assured as _, SMALL, impossible, len_u32, usize_from_u32};

/// Groups of at most so many texts are sorted by comparing: counting 257 classes is too much for each of them.
const FEW: usize = if SMALL { 16 } else { 64 };
/// Texts so far apart are compared, one distance after the other. Any for which this sorts by little more than
/// `n log n` comparisons will do: those of M. Ciura, 2001.
const GAPS: &[usize] = if SMALL { &[1] } else { &[23, 10, 4, 1] };
/// Of more of them, what all begin with is compared once.
const MANY: usize = 8;
/// Of so many of them the beginnings are held as numbers.
const STARTS: usize = if SMALL { 0 } else { FEW };
/// A text ends, or goes on with one of 256 bytes.
const CLASSES: usize = 257;

/// Places whose texts begin with the same `depth` bytes, and are more than a few.
///
/// Groups wait on a stack until they are divided. They are disjoint, so there is at most one for
/// every [`FEW`] places and one more.
struct Group {
    start: u32,
    end: u32,
    depth: usize,
}

/// Sorts `places` bytewise by what `read` finds there, and hands each group of places with
/// equal texts to `equal`, in no particular order.
pub(crate) fn by_text<'t, P: Copy>(
    places: &mut [P],
    read: impl Fn(P) -> &'t [u8],
    equal: impl FnMut(&[P]),
) -> Result<(), OutOfMemory> {
    if places.is_sorted_by(|one, other| read(*one) < read(*other)) {
        return Ok(());
    }
    let mut texts = Standing { places, read, equal };
    // Once for all kinds of places, or once for each.
    if SMALL { sort::<dyn Texts<'t>>(&mut texts) } else { sort(&mut texts) }
}

/// Texts that are to be sorted, each known by the place that it has at the time.
trait Texts<'t>: Swap {
    fn count(&self) -> usize;
    /// The text at a place, from byte `depth` on.
    fn rest(&self, at: usize, depth: usize) -> &'t [u8];
    /// Takes the places of equal texts.
    fn equal(&mut self, places: Range<usize>);
}

/// Items that can change places.
trait Swap {
    fn swap(&mut self, a: usize, b: usize);
}

impl<T> Swap for [T] {
    #[inline]
    fn swap(&mut self, a: usize, b: usize) {
        // The slice's own panics, and moves bytes by a call.
        match self.get_disjoint_mut([a, b]) {
            Ok([a, b]) => core::mem::swap(a, b),
            Err(_) => impossible(),
        }
    }
}

/// Places whose texts are read somewhere else.
struct Standing<'p, P, R, E> {
    places: &'p mut [P],
    read: R,
    equal: E,
}

impl<P, R, E> Swap for Standing<'_, P, R, E> {
    #[inline]
    fn swap(&mut self, a: usize, b: usize) {
        Swap::swap(self.places, a, b);
    }
}

impl<'t, P: Copy, R: Fn(P) -> &'t [u8], E: FnMut(&[P])> Texts<'t> for Standing<'_, P, R, E> {
    fn count(&self) -> usize {
        self.places.len()
    }

    #[inline]
    fn rest(&self, at: usize, depth: usize) -> &'t [u8] {
        let text = self.places.get(at).map(|place| (self.read)(*place));
        text.and_then(|text| text.get(depth..)).assured()
    }

    fn equal(&mut self, places: Range<usize>) {
        (self.equal)(self.places.get(places).assured());
    }
}

fn sort<'t, T: Texts<'t> + ?Sized>(texts: &mut T) -> Result<(), OutOfMemory> {
    let mut groups = Vec::new();
    let count = texts.count();
    if count > FEW {
        push(&mut groups, Group { start: 0, end: len_u32(count), depth: 0 })?;
    } else {
        few(texts, 0..count, 0);
    }
    while let Some(Group { start, end, depth }) = groups.pop() {
        let ends = distribute(texts, start..end, |texts, at| class(texts.rest(at, depth)));
        let mut from = start;
        for (class, to) in ends.iter().enumerate() {
            let (first, last) = (core::mem::replace(&mut from, *to), *to);
            let run = usize_from_u32(first)..usize_from_u32(last);
            match run.len() {
                0 | 1 => {}
                _ if class == ENDED => texts.equal(run),
                2..=FEW => few(texts, run, depth.saturating_add(1)),
                _ => {
                    let mut depth = depth.saturating_add(1);
                    if (first, last) == (start, end) {
                        depth = depth.saturating_add(agreed(texts, run, depth));
                    }
                    push(&mut groups, Group { start: first, end: last, depth })?;
                }
            }
        }
    }
    Ok(())
}

/// Sorts `places` by the lengths of what `read` finds there, and bytewise where those are the same:
/// RFC 8949 §4.2.1.
#[cfg(feature = "write")]
pub(crate) fn by_length<'t, P: Copy>(
    places: &mut [P],
    read: impl Fn(P) -> &'t [u8],
) -> Result<(), OutOfMemory> {
    let length = |place: &P| read(*place).len();
    if places.is_sorted_by_key(|place| (length(place), read(*place))) {
        return Ok(());
    }
    places.sort_unstable_by_key(length);
    runs(places, |a, b| length(a) == length(b)).try_for_each(|run| by_text(run, &read, |_| ()))
}

fn push(groups: &mut Vec<Group>, group: Group) -> Result<(), OutOfMemory> {
    groups.try_reserve(1).map_err(|_| OutOfMemory)?;
    groups.push(group);
    Ok(())
}

/// Sorts a few texts, which begin with the same `depth` bytes, by comparing what follows.
fn few<'t, T: Texts<'t> + ?Sized>(texts: &mut T, places: Range<usize>, depth: usize) {
    // What all have in common is compared once, where it would be so more often.
    let start = |at| beginning(texts.rest(at, depth));
    let alike =
        !SMALL && places.len() > MANY && start(places.start) == start(places.end.wrapping_sub(1));
    let common = if alike { agreed(texts, places.clone(), depth) } else { 0 };
    let depth = depth.saturating_add(common);
    // Most are told apart by what they begin with, which is read once.
    let mut starts = [0; STARTS];
    for (start, at) in starts.iter_mut().zip(places.clone()) {
        *start = beginning(texts.rest(at, depth));
    }
    // By insertion: of those far apart first, so that no order makes it quadratic.
    let mut equal = false;
    for gap in GAPS.iter().copied() {
        for end in gap..places.len() {
            let mut next = end;
            while let Some(at) = next.checked_sub(gap) {
                let [a, b] = [at, next].map(|at| places.start.wrapping_add(at));
                let order = starts.get(at).cmp(&starts.get(next));
                let order = order.then_with(|| texts.rest(a, depth).cmp(texts.rest(b, depth)));
                equal |= order.is_eq();
                if order.is_le() {
                    break;
                }
                if !SMALL {
                    Swap::swap(starts.as_mut_slice(), at, next);
                }
                texts.swap(a, b);
                next = at;
            }
        }
    }
    if !equal {
        return;
    }
    let mut first = places.start;
    for at in places.clone().skip(1).chain([places.end]) {
        if at < places.end && texts.rest(at, depth) == texts.rest(first, depth) {
            continue;
        }
        if at.saturating_sub(first) > 1 {
            texts.equal(first..at);
        }
        first = at;
    }
}

/// The first 8 bytes of a text, with zeros behind it: a number that is in the order of texts, where two differ.
#[inline]
fn beginning(text: &[u8]) -> u64 {
    if let Some(first) = text.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    let number = text.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    number << (64_usize.wrapping_sub(text.len().wrapping_mul(8)) & 63)
}

/// The class of a text that ends.
const ENDED: usize = 0;

/// What a text begins with: its end, or a byte.
#[inline]
fn class(text: &[u8]) -> usize {
    text.first().map_or(ENDED, |byte| usize::from(*byte).saturating_add(1))
}

/// In how many bytes from `depth` on all the texts agree.
fn agreed<'t, T: Texts<'t> + ?Sized>(texts: &T, mut places: Range<usize>, depth: usize) -> usize {
    let first = texts.rest(places.next().assured(), depth);
    places.fold(first.len(), |agreed, at| {
        let pairs = first.iter().zip(texts.rest(at, depth)).take(agreed);
        pairs.take_while(|(a, b)| a == b).count()
    })
}

/// Runs of neighbours that are alike: `chunk_by_mut`, in which the compiler leaves a panic.
pub(crate) fn runs<T>(
    items: &mut [T],
    alike: impl Fn(&T, &T) -> bool,
) -> impl Iterator<Item = &mut [T]> {
    let mut rest = items;
    core::iter::from_fn(move || {
        let pairs = rest.iter().zip(rest.iter().skip(1));
        let more = pairs.take_while(|(a, b)| alike(a, b)).count();
        let split = core::mem::take(&mut rest).split_at_mut_checked(more.saturating_add(1));
        let (run, others) = split?;
        rest = others;
        Some(run)
    })
}

/// Puts the items at `places` in the order of their classes, in place, going round the cycles of
/// places that each item has to leave for the next. Returns where each class ends.
fn distribute<T: Swap + ?Sized>(
    items: &mut T,
    places: Range<u32>,
    class_of: impl Fn(&T, usize) -> usize,
) -> [u32; CLASSES] {
    // Where the next item of each class goes, and where each class ends.
    let mut next = [0_u32; CLASSES];
    for at in places.clone() {
        if let Some(count) = next.get_mut(class_of(items, usize_from_u32(at))) {
            *count = count.saturating_add(1);
        }
    }
    let (mut ends, mut end) = ([0_u32; CLASSES], places.start);
    for (next, class_end) in next.iter_mut().zip(&mut ends) {
        let start = end;
        end = end.saturating_add(*next);
        (*next, *class_end) = (start, end);
    }
    debug_assert_eq!(end, places.end, "every item has a class");
    for (own, end) in ends.iter().enumerate() {
        // The item here changes places with another until one belongs here.
        while let Some(here) = next.get(own).copied().filter(|here| here < end) {
            let class = class_of(items, usize_from_u32(here));
            let place = next.get_mut(class).filter(|place| **place < places.end);
            let Some(place) = place else {
                impossible();
                return ends;
            };
            if class != own {
                items.swap(usize_from_u32(here), usize_from_u32(*place));
            }
            *place = place.saturating_add(1);
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::by_text;

    /// Sorts and returns the places and the groups of equals, each in order.
    fn run(texts: &[Vec<u8>]) -> (Vec<usize>, Vec<Vec<usize>>) {
        let mut places: Vec<usize> = (0..texts.len()).collect();
        let mut groups = Vec::new();
        by_text(
            &mut places,
            |place| texts[place].as_slice(),
            |group| {
                let mut group = group.to_vec();
                group.sort_unstable();
                groups.push(group);
            },
        )
        .unwrap();
        groups.sort();
        (places, groups)
    }

    fn check(texts: &[Vec<u8>]) {
        let (places, groups) = run(texts);
        let sorted: Vec<&Vec<u8>> = places.iter().map(|place| &texts[*place]).collect();
        assert!(sorted.is_sorted(), "{texts:?}");
        let mut seen = places.clone();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..texts.len()), "places are lost");
        let mut wanted: Vec<Vec<usize>> = Vec::new();
        for (place, text) in texts.iter().enumerate() {
            match wanted.iter_mut().find(|group| texts[group[0]] == *text) {
                Some(group) => group.push(place),
                None => wanted.push(alloc::vec![place]),
            }
        }
        wanted.retain(|group| group.len() > 1);
        wanted.sort();
        assert_eq!(groups, wanted, "{texts:?}");
    }

    #[test]
    fn random_texts() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut random = |bound: u64| rng.u64(..bound);
        for round in 0..if cfg!(miri) { 6 } else { 600 } {
            let letters = [1, 2, 3, 256][round % 4];
            let longest = [2, 5, 40][round % 3];
            let count = random([4, 20, 200][round % 3]);
            let shared: Vec<u8> = (0..random(20)).map(|_| 7).collect();
            let texts: Vec<Vec<u8>> = (0..count)
                .map(|_| {
                    let length = random(longest);
                    let text = (0..length).map(|_| random(letters).to_le_bytes()[0]);
                    shared.iter().copied().chain(text).collect()
                })
                .collect();
            check(&texts);
        }
    }

    #[test]
    fn texts_within_texts() {
        let nested: Vec<Vec<u8>> = (0..300).map(|length| alloc::vec![0; length % 150]).collect();
        check(&nested);
        check(&alloc::vec![Vec::new(); 20]);
        check(&[]);
    }

    #[cfg(feature = "write")]
    #[test]
    fn shorter_texts_come_first() {
        let texts: Vec<Vec<u8>> = (0..500_u16)
            .map(|n| alloc::vec![(n * 7 % 5).to_le_bytes()[0]; usize::from(n * 11 % 40)])
            .collect();
        let mut places: Vec<usize> = (0..texts.len()).collect();
        super::by_length(&mut places, |place| texts[place].as_slice()).unwrap();
        assert!(places.is_sorted_by_key(|place| (texts[*place].len(), &texts[*place])));
    }
}

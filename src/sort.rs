//! Sorting in place, in work that whoever chooses the input cannot make quadratic: numbers, and
//! places by the texts that stand there.
//!
//! Both distribute by one byte first. Comparing whole texts would cost their length again for
//! each of `log n` comparisons, and read them at random; this looks at each byte of a text a few
//! times at most.

use alloc::vec::Vec;

use crate::num::{index, short};

/// Memory could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoMemory;

/// Groups of at most so many texts are sorted by comparing.
const FEW: usize = 16;
/// Below so many numbers, dividing them is not worth the while.
const FEW_NUMBERS: usize = 512;
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
    mut equal: impl FnMut(&[P]),
) -> Result<(), NoMemory> {
    let mut groups = Vec::new();
    let whole = Group { start: 0, end: short(places.len()), depth: 0 };
    if places.len() > FEW {
        push(&mut groups, whole)?;
    } else {
        few(places, 0, &read, &mut equal);
    }
    while let Some(Group { start, end, depth }) = groups.pop() {
        let Some(group) = places.get_mut(index(start)..index(end)) else { break };
        let ends = distribute(group, |place| class(read(place), depth));
        let mut from = 0;
        for (class, to) in ends.iter().enumerate() {
            let (first, last) = (core::mem::replace(&mut from, *to), *to);
            let Some(run) = group.get_mut(index(first)..index(last)) else { break };
            match run.len() {
                0 | 1 => {}
                _ if class == ENDED => equal(run),
                2..=FEW => few(run, depth.saturating_add(1), &read, &mut equal),
                length => {
                    let mut depth = depth.saturating_add(1);
                    if length == index(end.saturating_sub(start)) {
                        depth = depth.saturating_add(agreed(run, depth, &read));
                    }
                    let (first, last) = (start.saturating_add(first), start.saturating_add(last));
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
) -> Result<(), NoMemory> {
    let length = |place: &P| read(*place).len();
    places.sort_unstable_by_key(length);
    runs(places, |a, b| length(a) == length(b)).try_for_each(|run| by_text(run, &read, |_| ()))
}

fn push(groups: &mut Vec<Group>, group: Group) -> Result<(), NoMemory> {
    groups.try_reserve(1).map_err(|_| NoMemory)?;
    groups.push(group);
    Ok(())
}

/// Sorts a few places by comparing their texts, which begin with the same `depth` bytes.
fn few<'t, P: Copy>(
    places: &mut [P],
    depth: usize,
    read: &impl Fn(P) -> &'t [u8],
    equal: &mut impl FnMut(&[P]),
) {
    let rest = |place: &P| read(*place).get(depth..).unwrap_or_default();
    places.sort_unstable_by(|a, b| rest(a).cmp(rest(b)));
    let runs = runs(places, |a, b| rest(a) == rest(b));
    runs.filter(|run| run.len() > 1).for_each(|run| equal(run));
}

/// The class of a text that ends.
const ENDED: usize = 0;

/// What a text has at `depth`: its end, or a byte.
#[inline]
fn class(text: &[u8], depth: usize) -> usize {
    text.get(depth).map_or(ENDED, |byte| usize::from(*byte).saturating_add(1))
}

/// In how many bytes from `depth` on all the texts agree.
fn agreed<'t, P: Copy>(places: &[P], depth: usize, read: &impl Fn(P) -> &'t [u8]) -> usize {
    let rest = |place: &P| read(*place).get(depth..).unwrap_or_default();
    let Some((first, others)) = places.split_first() else {
        return 0;
    };
    let first = rest(first);
    others.iter().fold(first.len(), |agreed, place| {
        let pairs = first.iter().zip(rest(place)).take(agreed);
        pairs.take_while(|(a, b)| a == b).count()
    })
}

/// Sorts numbers of which `greatest` is the greatest, or more.
///
/// They are divided by their highest bits, and then sorted by comparison: where they are spread
/// evenly, as hashes and the offsets of a packed file are, that leaves half of the comparisons.
/// Where they are not, it costs two passes and leaves all of them.
pub(crate) fn numbers(items: &mut [u64], greatest: u64) {
    if items.len() < FEW_NUMBERS {
        return items.sort_unstable();
    }
    let shift = u64::BITS.saturating_sub(greatest.leading_zeros().saturating_add(8));
    distribute(items, |item| usize::try_from(item >> shift).unwrap_or(CLASSES));
    runs(items, |a, b| a >> shift == b >> shift).for_each(<[u64]>::sort_unstable);
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

/// Puts items in the order of their classes, in place, going round the cycles of places that
/// each item has to leave for the next. Returns where each class ends.
fn distribute<P: Copy>(items: &mut [P], class_of: impl Fn(P) -> usize) -> [u32; CLASSES] {
    // Where the next item of each class goes, and where each class ends.
    let mut next = [0_u32; CLASSES];
    for item in &*items {
        if let Some(count) = next.get_mut(class_of(*item)) {
            *count = count.saturating_add(1);
        }
    }
    let (mut ends, mut end) = ([0_u32; CLASSES], 0_u32);
    for (next, class_end) in next.iter_mut().zip(&mut ends) {
        let start = end;
        end = end.saturating_add(*next);
        (*next, *class_end) = (start, end);
    }
    debug_assert_eq!(end, short(items.len()), "every item has a class");
    for (own, end) in ends.iter().enumerate() {
        while let Some(start) = next.get(own).copied().filter(|start| start < end) {
            let Some(mut item) = items.get(index(start)).copied() else {
                return ends;
            };
            // The item in hand takes the place of another until one belongs here.
            loop {
                let class = class_of(item);
                if class == own {
                    break;
                }
                let Some(place) = next.get_mut(class) else {
                    return ends;
                };
                let Some(slot) = items.get_mut(index(*place)) else {
                    return ends;
                };
                *place = place.saturating_add(1);
                core::mem::swap(slot, &mut item);
            }
            if let (Some(slot), Some(place)) = (items.get_mut(index(start)), next.get_mut(own)) {
                *slot = item;
                *place = start.saturating_add(1);
            }
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{FEW_NUMBERS, by_text, numbers};

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
        let mut state = 1_u64;
        let mut random = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % bound
        };
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

    /// The same as the standard library's, whatever the numbers are like.
    #[test]
    fn random_numbers() {
        let mut state = 1_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for count in [0, 1, FEW_NUMBERS - 1, FEW_NUMBERS, if cfg!(miri) { 300 } else { 5_000 }] {
            for bits in [0, 1, 7, 8, 9, 20, 63] {
                let mut items: Vec<u64> =
                    (0..count).map(|_| random() & ((1 << bits) - 1)).collect();
                let mut wanted = items.clone();
                wanted.sort_unstable();
                numbers(&mut items, wanted.last().copied().unwrap_or(0));
                assert_eq!(items, wanted);
                numbers(&mut items, u64::MAX);
                assert_eq!(items, wanted);
                items.reverse();
                numbers(&mut items, u64::MAX);
                assert_eq!(items, wanted);
            }
        }
    }
}

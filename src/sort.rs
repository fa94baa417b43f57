//! Sorting places by the texts that stand there, in work bounded by the bytes of those texts.
//!
//! Comparing whole texts costs their length again for each of `log n` comparisons, and reads them
//! at random. This sort looks at each byte of a text a few times at most: it distributes places
//! by one byte, in place, and goes on within each group past what its texts share. Whoever
//! chooses the texts cannot make it quadratic.

use alloc::vec::Vec;

/// Memory could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoMemory;

/// Groups of at most so many are sorted by comparing.
const FEW: usize = 8;
/// A text ends, or goes on with one of 256 bytes.
const CLASSES: usize = 257;

/// Places whose texts begin with the same `depth` bytes and are in order of the next byte;
/// those before `next` are sorted.
///
/// Groups wait on a stack no deeper than they are nested. Texts that nest `d` deep have `d` bytes
/// each, and there are more than `d` of them, so the stack takes far less than they do.
struct Group {
    next: usize,
    end: usize,
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
    if let Some(group) = begin(places, (0, 0), &read, &mut equal) {
        push(&mut groups, group)?;
    }
    while let Some(group) = groups.last_mut() {
        let (start, depth) = (group.next, group.depth);
        let Some(rest) = places.get_mut(start..group.end) else {
            break;
        };
        let Some(first) = rest.first().map(|place| class(read(*place), depth)) else {
            groups.pop();
            continue;
        };
        let same = rest
            .iter()
            .take_while(|place| class(read(**place), depth) == first);
        let length = same.count();
        group.next = start.saturating_add(length);
        if group.next == group.end {
            groups.pop();
        }
        let Some(run) = rest.get_mut(..length).filter(|run| run.len() > 1) else {
            continue;
        };
        if first == ENDED {
            equal(run);
        } else if let Some(group) = begin(run, (start, depth.saturating_add(1)), &read, &mut equal)
        {
            push(&mut groups, group)?;
        }
    }
    Ok(())
}

fn push(groups: &mut Vec<Group>, group: Group) -> Result<(), NoMemory> {
    groups.try_reserve(1).map_err(|_| NoMemory)?;
    groups.push(group);
    Ok(())
}

/// Sorts texts that agree in their first `depth` bytes: all the way if they are few, else by the
/// first byte in which they do not agree, as a group to go on with.
fn begin<'t, P: Copy>(
    places: &mut [P],
    (start, depth): (usize, usize),
    read: &impl Fn(P) -> &'t [u8],
    equal: &mut impl FnMut(&[P]),
) -> Option<Group> {
    if places.len() <= FEW {
        places.sort_unstable_by(|a, b| read(*a).cmp(read(*b)));
        let runs = places.chunk_by(|a, b| read(*a) == read(*b));
        runs.filter(|run| run.len() > 1).for_each(equal);
        return None;
    }
    let depth = depth.saturating_add(agreed(places, depth, read));
    distribute(places, depth, read);
    Some(Group {
        next: start,
        end: start.saturating_add(places.len()),
        depth,
    })
}

/// The class of a text that ends.
const ENDED: usize = 0;

/// What a text has at `depth`: its end, or a byte.
#[inline]
fn class(text: &[u8], depth: usize) -> usize {
    text.get(depth)
        .map_or(ENDED, |byte| usize::from(*byte).saturating_add(1))
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

/// Sorts the places by the class of their texts at `depth`, in place.
fn distribute<'t, P: Copy>(places: &mut [P], depth: usize, read: &impl Fn(P) -> &'t [u8]) {
    let class_of = |place: P| class(read(place), depth);
    let mut ends = [0_usize; CLASSES];
    for place in &*places {
        if let Some(count) = ends.get_mut(class_of(*place)) {
            *count = count.saturating_add(1);
        }
    }
    // Where the next place of each class goes, and where the class ends.
    let mut nexts = [0_usize; CLASSES];
    let mut total = 0_usize;
    for (next, end) in nexts.iter_mut().zip(&mut ends) {
        *next = total;
        total = total.saturating_add(*end);
        *end = total;
    }
    for (own, end) in ends.iter().enumerate() {
        while let Some(at) = nexts.get(own).copied().filter(|at| at < end) {
            let Some(place) = places.get(at).copied() else {
                break;
            };
            let wanted = class_of(place);
            let Some(next) = nexts.get_mut(wanted) else {
                break;
            };
            // A place that is where it belongs is swapped with itself.
            let to = core::mem::replace(next, next.saturating_add(1));
            if to < places.len() {
                places.swap(at, to);
            }
        }
    }
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
        let mut state = 1_u64;
        let mut random = |bound: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % bound
        };
        for round in 0..600 {
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
        let nested: Vec<Vec<u8>> = (0..300)
            .map(|length| alloc::vec![0; length % 150])
            .collect();
        check(&nested);
        check(&alloc::vec![Vec::new(); 20]);
        check(&[]);
    }
}

//! Keys, names and roles: how many, how long, what they have in common, and their order.

use super::{Description, Trait, known, traits};

/// What texts are described by.
pub(super) const TEXTS: &[Trait] = &traits([
    // One less than there are.
    ("count", 4095),
    // Digits that are more than it takes for all to differ.
    ("digits", 12),
    // So much longer than the shortest is the longest.
    ("spread", 30),
    ("prefix", 60),
    ("suffix", 60),
    ("letters", 3),
    ("order", 8),
    // Whether the last stands there once more.
    ("twice", 1),
    // How many bits of the hashes, by the known seeds, are equal; and of how many texts.
    ("crowd", 8),
    ("crowded", 4096),
    // Whether there are two at the end that look alike by the known seeds.
    ("alike", 1),
    ("shuffle", 99),
]);

/// The texts.
pub(super) fn texts(of: &Description) -> Vec<String> {
    let count = of.get("count") + 1;
    let crowded = if of.get("crowd") == 0 { 0 } else { of.get("crowded").min(count) };
    let write = writer(of, count << of.get("crowd"));
    let mut made = Vec::with_capacity(count + 3);
    let tried = crowded << (of.get("crowd") + 2);
    made.extend((0..tried).map(&write).filter(|text| crowds(text, of.get("crowd"))).take(crowded));
    // Others that may be among those would make a key stand there twice.
    let rest = count - made.len();
    let taken: std::collections::HashSet<String> = made.iter().cloned().collect();
    made.extend((0..).map(&write).filter(|text| !taken.contains(text)).take(rest));
    arrange(of, &mut made);
    if of.get("alike") == 1 {
        made.extend(known::alike());
    }
    if of.get("twice") == 1 {
        made.push(made[0].clone());
    }
    made
}

/// Those that any name may have, and others.
const DIGITS: &[u8] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-!#$%&'()*+,:;<=>?@[]^`{|}~";

/// What writes one of so many numbers as a text.
fn writer(of: &Description, count: usize) -> impl Fn(usize) -> String + use<> {
    let base = [2_usize, 10, 64, 89][of.get("letters")];
    let digits = (1..64).find(|digits| base.pow(*digits) >= count.max(2)).expect("a few digits");
    let digits = usize::try_from(digits).expect("a few") + of.get("digits");
    let (spread, shared) = (of.get("spread") + 1, "a".repeat(of.get("prefix")));
    let end = "b".repeat(of.get("suffix"));
    move |n| {
        let digit = |n: usize| char::from(DIGITS[n % base]);
        let digits = (0..digits).rev().map(|at| {
            let power = u32::try_from(at).expect("a few");
            digit(base.checked_pow(power).map_or(0, |power| n / power))
        });
        let (fill, digits) = ("z".repeat(n % spread), digits.collect::<String>());
        // What is longer is so behind the first digit, so that the last ones come late.
        let (first, others) = digits.split_at(1);
        format!("{shared}{first}{fill}{others}{end}")
    }
}

/// Whether so many bits of the hash, the first ones, are 0.
fn crowds(text: &str, bits: usize) -> bool {
    bits == 0 || known::hash(text.as_bytes()) >> (64 - bits) == 0
}

fn arrange(of: &Description, texts: &mut [String]) {
    let mut rng = fastrand::Rng::with_seed(of.get("shuffle") as u64);
    match of.get("order") {
        0 => texts.sort_unstable(),
        1 => {
            texts.sort_unstable();
            texts.reverse();
        }
        2 => rng.shuffle(texts),
        // Nearly sorted, and sorted but for the first and the last.
        3 => {
            texts.sort_unstable();
            for _ in 0..=of.get("shuffle") {
                let [a, b] = [(); 2].map(|()| rng.usize(..texts.len()));
                texts.swap(a, b);
            }
        }
        4 => {
            texts.sort_unstable();
            texts.rotate_left(1);
        }
        5 => texts.sort_unstable_by_key(|text| (text.len(), text.clone())),
        6 => {
            texts.sort_unstable_by_key(|text| (text.len(), text.clone()));
            texts.reverse();
        }
        // In turn from both halves.
        7 => {
            texts.sort_unstable();
            let half = texts.len() / 2;
            (0..half).step_by(2).for_each(|at| texts.swap(at, at + half));
        }
        // By what they end with.
        _ => texts.sort_unstable_by_key(|text| text.bytes().rev().collect::<Vec<_>>()),
    }
}

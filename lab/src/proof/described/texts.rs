//! Keys, names and roles: their number, length, common beginnings and order.

use super::{Description, Trait, known, traits};

/// The traits of a list of texts.
pub(super) const TEXTS: &[Trait] = &traits([
    // The number of texts, minus one.
    ("count", 4095),
    // The number of additional digits beyond those by which all texts differ.
    ("digits", 12),
    // The difference in length between the longest and the shortest text.
    ("spread", 30),
    ("prefix", 60),
    ("suffix", 60),
    ("letters", 3),
    ("order", 8),
    // 1 if the last text occurs twice.
    ("twice", 1),
    // 1 if all texts have the same hash with the known seeds.
    ("colliding", 1),
    ("shuffle", 99),
]);

/// Returns the list of texts that the traits of [`TEXTS`] describe.
pub(super) fn texts(of: &Description) -> Vec<String> {
    let count = of.get("count") + 1;
    let mut made: Vec<String> = if of.get("colliding") == 1 {
        (0..count).map(known::colliding).collect()
    } else {
        (0..count).map(writer(of, count)).collect()
    };
    arrange(of, &mut made);
    if of.get("twice") == 1 {
        made.push(made[0].clone());
    }
    made
}

/// The digits of numbers in bases up to 89; the first 64 are letters, decimal digits, `_` and `-`.
const DIGITS: &[u8] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-!#$%&'()*+,:;<=>?@[]^`{|}~";

/// Returns the last digit of a number.
pub(super) fn digit(n: usize) -> char {
    char::from(DIGITS[n % DIGITS.len()])
}

/// Returns a function that writes a number below `count` as a text.
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
        // Longer texts have their additional digits after the first digit, so that the last digits come late.
        let (first, others) = digits.split_at(1);
        format!("{shared}{first}{fill}{others}{end}")
    }
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
        // The texts are sorted except for a few that change places. In the next order, they are sorted except that
        // the first text is the last one.
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
        // The texts come alternately from both halves of the sorted list.
        7 => {
            texts.sort_unstable();
            let half = texts.len() / 2;
            (0..half).step_by(2).for_each(|at| texts.swap(at, at + half));
        }
        // The texts are sorted by their last characters.
        _ => texts.sort_unstable_by_key(|text| text.bytes().rev().collect::<Vec<_>>()),
    }
}

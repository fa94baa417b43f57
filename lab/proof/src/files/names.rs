//! Objects that differ in their names only.

use zten_corpus::base::{empty_object, v1};

/// In which order names come.
#[derive(Clone, Copy)]
pub(super) enum Order {
    Sorted,
    Reversed,
    Shuffled,
    /// Reversed, and the last is the first once more.
    Twice,
}

/// The smallest objects that can be read, of those names.
fn named(names: &[String]) -> Vec<u8> {
    v1("1.2.0", names.iter().map(|name| (name.as_str(), empty_object())).collect()).build("").bytes
}

/// Bytes of such an object without its name.
const OBJECT: usize = 60;

pub(super) fn objects(size: usize, order: Order) -> Vec<u8> {
    let count = super::count(size, OBJECT + 8);
    let mut names: Vec<String> = (0..count).map(|n| format!("{n:08}")).collect();
    match order {
        Order::Sorted => {}
        Order::Reversed => names.reverse(),
        Order::Shuffled => shuffle(&mut names),
        Order::Twice => {
            names.reverse();
            names.push(names[0].clone());
        }
    }
    named(&names)
}

/// Puts things in an order that looks like chance.
pub(super) fn shuffle<T>(items: &mut [T]) {
    fastrand::Rng::with_seed(1).shuffle(items);
}

/// Few names, each of 60 KB of which only the end differs, descending.
pub(super) fn huge(size: usize) -> Vec<u8> {
    let count = super::count(size, 60_000);
    let prefix = "a".repeat(60_000);
    named(&(0..count).rev().map(|n| format!("{prefix}{n:03}")).collect::<Vec<_>>())
}

/// Names of the same 16 bytes of hash state. A first word that is the state which their length has
/// made is cancelled, and with it the word after it: `src/manifest/names.rs`.
pub(super) fn colliding(size: usize) -> Vec<u8> {
    let (length, word) = (16_u64..1 << 16)
        .map(|length| (length, state(length).to_le_bytes()))
        .find_map(|(length, word)| Some((length, std::str::from_utf8(&word).ok()?.to_owned())))
        .expect("a state that is UTF-8");
    let fill = "a".repeat(usize::try_from(length).expect("a short name") - 16);
    let count = super::count(size, OBJECT + fill.len() + 16);
    named(&(0..count).rev().map(|n| format!("{word}{n:08}{fill}")).collect::<Vec<_>>())
}

/// The state of the hash after the length.
fn state(length: u64) -> u64 {
    const SEEDS: (u64, u64) = (0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03);
    let product = u128::from(length ^ SEEDS.0) * u128::from(SEEDS.1);
    let half = |bits: u128| u64::try_from(bits & u128::from(u64::MAX)).expect("64 bits");
    half(product) ^ half(product >> 64)
}

/// Names each of which begins with the one before, the longest first.
pub(super) fn nested(size: usize) -> Vec<u8> {
    let count = (1..size).find(|n: &usize| n * OBJECT + n * n / 2 > size).expect("a square root");
    named(&(0..count).rev().map(|length| "a".repeat(length)).collect::<Vec<_>>())
}

/// A name of half the bytes, and many small objects after it.
pub(super) fn growing(size: usize) -> Vec<u8> {
    let many = (0..super::count(size / 2, OBJECT + 6)).rev().map(|n| format!("{n:06}"));
    named(&std::iter::once("z".repeat(size / 2)).chain(many).collect::<Vec<_>>())
}

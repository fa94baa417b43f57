//! Objects that differ in their names only.

use zten_corpus::base::{empty_object, v1};
use zten_testkit::generate::shuffled;

use crate::proof::described::known;

/// The order of names in a file.
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
    v1("1.2.0", names.iter().map(|name| (name, empty_object()))).build("").bytes
}

/// Bytes of such an object without its name.
const OBJECT: usize = 60;

pub(super) fn objects(size: usize, order: Order) -> Vec<u8> {
    let count = super::count(size, OBJECT + 8);
    let mut names: Vec<String> = (0..count).map(|n| format!("{n:08}")).collect();
    match order {
        Order::Sorted => {}
        Order::Reversed => names.reverse(),
        Order::Shuffled => names = shuffled(names),
        Order::Twice => {
            names.reverse();
            names.push(names[0].clone());
        }
    }
    named(&names)
}

/// Few names, each of 60 KB of which only the end differs, descending.
pub(super) fn huge(size: usize) -> Vec<u8> {
    let count = super::count(size, 60_000);
    let prefix = "a".repeat(60_000);
    named(&(0..count).rev().map(|n| format!("{prefix}{n:03}")).collect::<Vec<_>>())
}

/// Names in no order whose hashes are equal, by the seeds that are used where a process has none of its own.
pub(super) fn colliding(size: usize) -> Vec<u8> {
    let count = super::count(size, OBJECT + 46);
    named(&shuffled((0..count).map(known::colliding).collect()))
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

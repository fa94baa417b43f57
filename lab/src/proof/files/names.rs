//! Objects that differ only in their names.

use zten_corpus::base::{empty_object, v1};
use zten_testkit::generate::shuffled;

use crate::proof::described::known;

/// The order of names in a file.
#[derive(Clone, Copy)]
pub(super) enum Order {
    Sorted,
    Reversed,
    Shuffled,
    /// Reversed, with the first name again as the last one.
    Twice,
}

/// Returns the smallest readable objects with these names.
fn named(names: &[String]) -> Vec<u8> {
    v1("1.2.0", names.iter().map(|name| (name, empty_object()))).build("").bytes
}

/// The number of bytes that an object of these files takes in the manifest, without its name.
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

/// Returns a few names of 60 KB that differ only at their ends, in descending order.
pub(super) fn huge(size: usize) -> Vec<u8> {
    let count = super::count(size, 60_000);
    let prefix = "a".repeat(60_000);
    named(&(0..count).rev().map(|n| format!("{prefix}{n:03}")).collect::<Vec<_>>())
}

/// Returns unsorted names whose hashes are equal with the seeds that are used if a process has no random seed.
pub(super) fn colliding(size: usize) -> Vec<u8> {
    let count = super::count(size, OBJECT + 46);
    named(&shuffled((0..count).map(known::colliding).collect()))
}

/// Returns names that each begin with the next one, the longest first.
pub(super) fn nested(size: usize) -> Vec<u8> {
    let count = (1..size).find(|n: &usize| n * OBJECT + n * n / 2 > size).expect("a square root");
    named(&(0..count).rev().map(|length| "a".repeat(length)).collect::<Vec<_>>())
}

/// Returns a name of half of the bytes, and many small objects after it.
pub(super) fn growing(size: usize) -> Vec<u8> {
    let many = (0..super::count(size / 2, OBJECT + 6)).rev().map(|n| format!("{n:06}"));
    named(&std::iter::once("z".repeat(size / 2)).chain(many).collect::<Vec<_>>())
}

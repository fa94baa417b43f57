//! Makes names of objects: ordinary, long and odd ones.

use std::collections::HashSet;

use fastrand::Rng;

use super::Taste;

/// A generator of names of objects, which never returns a name twice.
#[derive(Default)]
pub(super) struct Names {
    given: HashSet<String>,
}

/// Names that a program may handle wrongly.
const ODD: [&str; 24] = [
    "",
    " ",
    ".",
    "/",
    "data",
    "objects",
    "version",
    "null",
    "0",
    "-1",
    "\"quoted\"",
    "back\\slash",
    "line\nbreak",
    "tab\tstop",
    "\u{7f}\u{9b}",
    "\u{feff}bom",
    // The letter é as one character, and as two.
    "\u{e9}",
    "e\u{301}",
    "重み",
    "вес",
    "\u{202e}thgir",
    "👩\u{200d}💻",
    "\u{10ffff}",
    "ﬁ",
];

impl Names {
    pub(super) fn next(&mut self, rng: &mut Rng, taste: Taste) -> String {
        loop {
            let name = one(rng, taste);
            if self.given.insert(name.clone()) {
                return name;
            }
        }
    }
}

fn one(rng: &mut Rng, taste: Taste) -> String {
    match rng.u8(..20) {
        0..3 => ODD[rng.usize(..ODD.len())].to_owned(),
        3 => letters(rng, 1..40),
        4 if taste != Taste::OldPython => format!("nul\0{}", rng.u8(..)),
        // These lengths are next to those at which the CBOR head of a text becomes longer. The next arm makes long
        // names.
        5 => "x".repeat([22, 23, 24, 255, 256, 257][rng.usize(..6)]),
        6 if rng.u8(..10) == 0 => letters(rng, 3000..6000),
        _ => {
            let layer = rng.u16(..400);
            let what = ["weight", "bias", "q_proj.weight", "k_proj.weight"][rng.usize(..4)];
            format!("model.layers.{layer}.{what}")
        }
    }
}

fn letters(rng: &mut Rng, length: std::ops::Range<usize>) -> String {
    let any = |rng: &mut Rng| match rng.u8(..3) {
        0 => rng.char('a'..='z'),
        1 => rng.char('\u{80}'..='\u{7ff}'),
        _ => rng.char('\u{800}'..='\u{10ffff}'),
    };
    (0..rng.usize(length)).map(|_| any(rng)).collect()
}

//! Prints the contents of `src/escape/hidden.rs`. To update that file: `cargo run -p zten --example hidden >src/escape/hidden.rs`.

use regex_syntax::hir::{Class, HirKind};
use regex_syntax::parse;

/// The version of Unicode whose tables `regex-syntax` has.
const UNICODE_VERSION: &str = "16.0.0";

/// The set of hidden characters. `Other` contains control, format, surrogate, private-use and unassigned characters. The
/// characters at the end are blank, but have no property that says so: the braille blank, the null notehead, the full and
/// half blanks of hieroglyphs, and the filler of Khitan.
const HIDDEN: &str = r"[\p{Default_Ignorable_Code_Point}\p{Other}\p{Separator}\p{White_Space}\u{2800}\u{1D159}\u{13441}\u{13442}\u{16FE4}--\x20]";

/// The number of Unicode planes (of 65,536 characters each) in the table. All characters of later planes are hidden.
const PLANES: u32 = 4;

fn main() {
    let set = parse(HIDDEN).expect("the set is a regular expression");
    let HirKind::Class(Class::Unicode(class)) = set.kind() else { panic!("it is a class") };
    // The ranges of hidden characters. Surrogates occur in no text; counting them as hidden joins the ranges around them.
    let mut ranges: Vec<(u32, u32)> =
        class.iter().map(|range| (range.start().into(), u32::from(range.end()) + 1)).collect();
    ranges.push((0xd800, 0xe000));
    ranges.sort_unstable();
    let mut turns: Vec<u32> = Vec::new();
    for (start, end) in ranges {
        match turns.last_mut() {
            Some(last) if *last >= start => *last = end.max(*last),
            _ => turns.extend([start, end]),
        }
    }
    println!("//! Written by `examples/hidden.rs`.\n");
    println!("/// The version of Unicode.");
    println!("pub(super) const UNICODE_VERSION: &str = \"{UNICODE_VERSION}\";\n");
    println!(
        "/// For each of the first planes, where hidden characters begin and where they end, by turns."
    );
    println!("/// Beyond these planes all are hidden.");
    println!("#[rustfmt::skip]");
    println!("pub(super) const PLANES: [&[u16]; {PLANES}] = [");
    for plane in 0..PLANES {
        let (first, end) = (plane << 16, (plane + 1) << 16);
        let within: Vec<u32> = turns
            .iter()
            .filter(|turn| (first..end).contains(turn))
            .map(|turn| turn - first)
            .collect();
        // A plane begins with shown characters, unless its first boundary is at 0.
        let hidden = turns.iter().filter(|turn| **turn < first).count() % 2 == 1;
        let mut all: Vec<u32> = hidden.then_some(0).into_iter().chain(within).collect();
        if all.starts_with(&[0, 0]) {
            all.drain(..2);
        }
        println!("    &[");
        for line in all.chunks(16) {
            let line: Vec<_> = line.iter().map(|turn| format!("{turn:#x}")).collect();
            println!("        {},", line.join(", "));
        }
        println!("    ],");
    }
    println!("];");
    let last = PLANES << 16;
    let shown: Vec<_> = turns.iter().filter(|turn| **turn >= last).collect();
    assert!(shown.as_slice() == [&0x11_0000], "more planes have characters that are shown");
}

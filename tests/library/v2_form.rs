//! Tests that manifests of generation 2 must be deterministic CBOR, wherever a violation occurs in them: v2 §3.1.
#![cfg_attr(miri, allow(dead_code, unused_imports))]

use std::collections::BTreeMap;
use std::ops::Range;

use twox_hash::XxHash3_64;
use zten::Archive;
use zten_testkit::accepted_v2;

/// A CBOR item without the items inside it: its offset, the length of its head, and the length of its content, which is 0 unless
/// it is a string.
#[derive(Clone)]
struct Token {
    start: usize,
    head: usize,
    content: usize,
}

impl Token {
    fn read(manifest: &[u8], start: usize) -> Self {
        let (major, info) = (manifest[start] >> 5, manifest[start] & 31);
        let wide = if info < 24 { 0 } else { 1 << (info - 24) };
        let argument = manifest[start + 1..=start + wide].iter();
        let argument = argument.fold(0, |number, byte| number << 8 | usize::from(*byte));
        let argument = if wide == 0 { usize::from(info) } else { argument };
        let content = if matches!(major, 2 | 3) { argument } else { 0 };
        Self { start, head: 1 + wide, content }
    }

    fn end(&self) -> usize {
        self.start + self.head + self.content
    }
}

fn tokens(manifest: &[u8]) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    while let Some(start) =
        Some(tokens.last().map_or(0, Token::end)).filter(|at| *at < manifest.len())
    {
        tokens.push(Token::read(manifest, start));
    }
    tokens
}

/// Returns the number of tokens of the item that begins at token `at`.
fn size(manifest: &[u8], tokens: &[Token], at: usize) -> usize {
    let mut left = 1;
    for (taken, token) in tokens[at..].iter().enumerate() {
        let entries = usize::from(manifest[token.start] & 31);
        left += match manifest[token.start] >> 5 {
            4 => entries,
            5 => 2 * entries,
            _ => 0,
        };
        left -= 1;
        if left == 0 {
            return taken + 1;
        }
    }
    unreachable!("a whole manifest")
}

/// Returns a head with the same argument in the next larger width, or `None` if `head` has the largest width.
fn wider(head: &[u8]) -> Option<Vec<u8>> {
    let (initial, argument) = head.split_first().unwrap();
    let (major, info) = (initial & 0xe0, initial & 31);
    match info {
        0..24 => Some(vec![major + 24, info]),
        24..27 => {
            let zeros = vec![0; argument.len()];
            Some([&[initial + 1], &zeros[..], argument].concat())
        }
        _ => None,
    }
}

/// Returns `file` with `bytes` in place of `range` of its manifest.
fn replaced(file: &[u8], manifest: &[u8], range: Range<usize>, bytes: &[u8]) -> Vec<u8> {
    let start = file.len() - 40 - manifest.len();
    let changed = [&manifest[..range.start], bytes, &manifest[range.end..]].concat();
    let mut footer = file[file.len() - 40..].to_vec();
    footer[8..16].copy_from_slice(&(changed.len() as u64).to_le_bytes());
    footer[16..24].copy_from_slice(&XxHash3_64::oneshot(&changed).to_le_bytes());
    [&file[..start], &changed, &footer].concat()
}

/// In the accepted files with small manifests, every head, every text and the first two entries of every map are made
/// non-deterministic, one at a time, and the file is rejected each time.
#[test]
#[cfg_attr(miri, ignore = "it opens some ten thousand files")]
fn every_item_must_be_deterministic() {
    let mut tried = BTreeMap::new();
    for accepted in accepted_v2() {
        let file = accepted.bytes;
        let archive = Archive::from_bytes(&file).unwrap();
        let manifest = archive.manifest().as_bytes();
        if archive.manifest().extent().end + 40 != file.len() as u64 || manifest.len() > 2_000 {
            continue;
        }
        let mut rejected = |range: Range<usize>, bytes: &[u8], rule: &'static str| {
            let at = range.start;
            let error = Archive::from_bytes(&replaced(&file, manifest, range, bytes)).map(drop);
            let found = error.as_ref().err().and_then(zten::Error::rule);
            assert_eq!(found, Some(rule), "{} at {at}: {error:?}", accepted.name);
            *tried.entry(rule).or_insert(0) += 1;
        };
        let tokens = tokens(manifest);
        for (at, token) in tokens.iter().enumerate() {
            let head = token.start..token.start + token.head;
            let (major, content) = (manifest[token.start] >> 5, head.end..token.end());
            if let Some(wide) = wider(&manifest[head.clone()]).filter(|_| major < 6) {
                rejected(head.clone(), &wide, "cbor-shortest");
            }
            if major == 3 && !content.is_empty() {
                rejected(content.start..content.start + 1, &[0xff], "cbor-utf8");
            }
            if major == 5 && manifest[token.start] & 31 > 1 {
                let entry = |at: usize| {
                    let value = at + size(manifest, &tokens, at);
                    value + size(manifest, &tokens, value)
                };
                let (second, after) = (entry(at + 1), entry(entry(at + 1)));
                let place = |at: usize| tokens.get(at).map_or(manifest.len(), |token| token.start);
                let (first, second, after) = (place(at + 1), place(second), place(after));
                let swapped = [&manifest[second..after], &manifest[first..second]].concat();
                rejected(first..after, &swapped, "key-order");
                let twice = [&manifest[first..second], &manifest[first..second]].concat();
                rejected(first..after, &twice, "duplicate-key");
            }
        }
    }
    for (rule, least) in
        [("cbor-shortest", 1_000), ("cbor-utf8", 500), ("key-order", 100), ("duplicate-key", 100)]
    {
        assert!(tried.get(rule).is_some_and(|tried| *tried > least), "{tried:?}");
    }
}

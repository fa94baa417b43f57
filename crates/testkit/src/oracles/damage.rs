//! Damage that oracles do to zTensor files at sensitive places: the tokens of the manifest, and the footer.

use core::ops::Range;

use arbitrary::{Arbitrary, Result, Unstructured};
use zten::{Archive, Generation};
use zten_corpus::v2::footer;

/// One change to a file. Positions are numbers of tokens or bytes, modulo the number of tokens or bytes that there
/// are.
#[derive(Clone, Debug)]
pub(crate) enum Damage {
    Flip {
        at: u16,
        bit: u8,
    },
    Replace {
        token: u16,
        bytes: Vec<u8>,
    },
    Insert {
        token: u16,
        bytes: Vec<u8>,
    },
    Delete {
        token: u16,
        count: u8,
    },
    Repeat {
        token: u16,
        count: u8,
    },
    /// Exchanges two tokens; if `numbers`, two tokens that are numbers, such as lengths, offsets and dimensions.
    Swap {
        one: u16,
        other: u16,
        numbers: bool,
    },
    Number {
        token: u16,
        value: u64,
    },
    /// Adds a number to the size of the manifest that the footer gives.
    Footer {
        more: u64,
    },
    Data {
        at: u16,
        byte: u8,
    },
}

/// Numbers at which the behavior of a reader changes, such as the largest number of a CBOR head.
const EDGES: [u64; 14] = [
    0,
    1,
    23,
    63,
    64,
    65,
    128,
    0xffff,
    1 << 32,
    (1 << 60) - 1,
    1 << 63,
    u64::MAX - 63,
    u64::MAX - 1,
    u64::MAX,
];

impl<'a> Arbitrary<'a> for Damage {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let (token, kind) = (u.arbitrary()?, u.int_in_range(0..=9)?);
        let bytes = |u: &mut Unstructured<'a>| -> Result<Vec<u8>> {
            let length = u.int_in_range(0..=4)?;
            (0..length).map(|_| u.arbitrary()).collect()
        };
        Ok(match kind {
            0 => Self::Flip { at: token, bit: u.int_in_range(0..=7)? },
            1 => Self::Replace { token, bytes: bytes(u)? },
            2 => Self::Insert { token, bytes: bytes(u)? },
            3 => Self::Delete { token, count: u.int_in_range(1..=4)? },
            4 => Self::Repeat { token, count: u.int_in_range(1..=12)? },
            5 => Self::Swap { one: token, other: u.arbitrary()?, numbers: false },
            6 | 7 => Self::Swap { one: token, other: u.arbitrary()?, numbers: true },
            8 => Self::Number { token, value: *u.choose(&EDGES)? },
            _ if u.arbitrary()? => Self::Footer { more: *u.choose(&EDGES)? },
            _ => Self::Data { at: token, byte: u.arbitrary()? },
        })
    }
}

/// The parts of a zTensor file to which damage is done: the manifest, and the bytes before it. The footer is computed
/// when the damaged file is made.
pub(crate) struct Broken {
    is_v2: bool,
    data: Vec<u8>,
    manifest: Vec<u8>,
    more: u64,
}

impl Broken {
    pub(crate) fn parse(file: &[u8]) -> Self {
        let archive = Archive::from_bytes(file).expect("a file that was written");
        let start = usize::try_from(archive.manifest().extent().start).expect("a small file");
        Self {
            is_v2: archive.generation() == Some(Generation::V2),
            data: file[..start].to_vec(),
            manifest: archive.manifest().as_bytes().to_vec(),
            more: 0,
        }
    }

    /// Returns the damaged file, with a footer that fits the manifest, except for a size that was changed by
    /// [`Damage::Footer`].
    pub(crate) fn file(&self) -> Vec<u8> {
        let size = (self.manifest.len() as u64).wrapping_add(self.more);
        if self.is_v2 {
            // The hash is computed, because a fuzzer would never find it.
            let mut footer = footer(&self.manifest, self.data.len() as u64);
            footer[8..16].copy_from_slice(&size.to_le_bytes());
            return [&self.data, &self.manifest, &footer[..]].concat();
        }
        [&self.data, &self.manifest, &size.to_le_bytes()[..], b"ZTEN1000"].concat()
    }

    pub(crate) fn suffer(&mut self, damage: &Damage) {
        let tokens = tokens(&self.manifest);
        let token = |at: u16| run(&tokens, at, 1);
        let place = |at: u16, length: usize| usize::from(at) % length.max(1);
        match damage {
            Damage::Flip { at, bit } => {
                let at = place(*at, self.manifest.len());
                self.manifest.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << bit);
            }
            Damage::Replace { token: at, bytes } => {
                self.splice(token(*at), bytes);
            }
            Damage::Insert { token: at, bytes } => {
                let start = token(*at).start;
                self.splice(start..start, bytes);
            }
            Damage::Delete { token: at, count } => {
                let range = run(&tokens, *at, *count);
                self.splice(range, &[]);
            }
            Damage::Repeat { token: at, count } => {
                let range = run(&tokens, *at, *count);
                let again = self.manifest[range.clone()].to_vec();
                self.splice(range.end..range.end, &again);
            }
            Damage::Swap { one, other, numbers } => {
                let number = |token: &&Range<usize>| self.manifest[token.start] < 0x20;
                let those: Vec<_> =
                    tokens.iter().filter(|token| !numbers || number(token)).collect();
                let [one, other] = [one, other].map(|at| those.get(place(*at, those.len())));
                if let (Some(&one), Some(&other)) = (one, other)
                    && one != other
                {
                    let (one, other) =
                        if one.start < other.start { (one, other) } else { (other, one) };
                    let (first, second) = (
                        self.manifest[one.clone()].to_vec(),
                        self.manifest[other.clone()].to_vec(),
                    );
                    self.splice(other.clone(), &first);
                    self.splice(one.clone(), &second);
                }
            }
            Damage::Number { token: at, value } => {
                let bytes = [&[0x1b][..], &value.to_be_bytes()].concat();
                self.splice(token(*at), &bytes);
            }
            Damage::Footer { more } => self.more = *more,
            Damage::Data { at, byte } => {
                let at = place(*at, self.data.len());
                self.data.iter_mut().skip(at).take(1).for_each(|there| *there = *byte);
            }
        }
    }

    fn splice(&mut self, range: Range<usize>, bytes: &[u8]) {
        self.manifest.splice(range, bytes.iter().copied());
    }
}

/// Returns the byte range of `count` successive tokens, the first of which is number `at` modulo the number of tokens, or of
/// fewer tokens at the end.
fn run(tokens: &[Range<usize>], at: u16, count: u8) -> Range<usize> {
    let at = usize::from(at) % tokens.len().max(1);
    let mut own = tokens.iter().skip(at).take(count.into());
    let start = own.clone().next().map_or(0, |token| token.start);
    start..own.next_back().map_or(start, |token| token.end)
}

/// Splits a manifest into tokens, and returns their byte ranges: numbers, strings, simple values, and the heads of
/// arrays, maps and tags. Any bytes can be split, whether they are valid CBOR or not.
fn tokens(manifest: &[u8]) -> Vec<Range<usize>> {
    let (mut tokens, mut start) = (Vec::new(), 0);
    while let Some(initial) = manifest.get(start) {
        let width = match initial & 0x1f {
            info @ 24..=27 => 1_usize << (info - 24),
            _ => 0,
        };
        let argument = manifest.get(start + 1..start + 1 + width).unwrap_or_default();
        let argument = argument.iter().fold(0, |number, byte| number << 8 | usize::from(*byte));
        let argument = if width == 0 { usize::from(initial & 0x1f) } else { argument };
        let content =
            if matches!(initial >> 5, 2 | 3) && initial & 0x1f < 28 { argument } else { 0 };
        let end = start.saturating_add(1 + width).saturating_add(content).min(manifest.len());
        tokens.push(start..end);
        start = end;
    }
    tokens
}

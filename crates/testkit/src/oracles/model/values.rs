//! Generates well-formed CBOR in any of its encodings from fuzzer input.

use arbitrary::{Result, Unstructured};
use zten_corpus::cbor::{head_width, push_head_of};

/// The largest number of levels of nesting in a value.
const DEPTH: u8 = 4;

/// Generates a map of attributes with distinct keys and any values.
pub(crate) fn attributes(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let count = u.int_in_range(0..=3)?;
    let mut out = Vec::new();
    let indefinite = opened(u, 5, count, &mut out)?;
    for key in 0..count {
        // A number at the end makes each key distinct.
        let mut text = text(u)?.to_owned();
        text.push(char::from(b'0' + key));
        head(u, 3, text.len() as u64, &mut out)?;
        out.extend(text.as_bytes());
        value(u, DEPTH, &mut out)?;
    }
    if indefinite {
        out.push(0xff);
    }
    Ok(out)
}

/// Returns the attributes of a quantized object that zten can read, as CBOR. A `group_size` below 24 becomes 24.
pub(super) fn quantization(packing: &str, bits: u8, group_size: u8) -> Vec<u8> {
    let mut out = b"\xa3\x64bits".to_vec();
    out.push(bits);
    out.extend(b"\x6agroup_size");
    out.extend([0x18, group_size.max(24)]);
    out.extend(b"\x67packing\x69");
    out.extend(packing.as_bytes());
    out
}

/// Appends one CBOR value of any type to `out`, with at most `depth` levels of nesting.
fn value(u: &mut Unstructured<'_>, depth: u8, out: &mut Vec<u8>) -> Result<()> {
    let most = if depth == 0 { 6 } else { 9 };
    match u.int_in_range(0..=most)? {
        0 | 1 => {
            let shift = u.int_in_range(0..=63)?;
            let (major, number) = (u.int_in_range(0..=1)?, u.arbitrary::<u64>()? >> shift);
            head(u, major, number, out)?;
        }
        2 => {
            let text = text(u)?;
            string(u, 3, text.as_bytes(), out)?;
        }
        3 => {
            let length = u.int_in_range(0..=5)?;
            let bytes: Vec<u8> = (0..length).map(|_| u.arbitrary()).collect::<Result<_>>()?;
            string(u, 2, &bytes, out)?;
        }
        4 => out.push(*u.choose(&[0xf4, 0xf5, 0xf6, 0xf7, 0xe0, 0xf3])?),
        5 => match u.int_in_range(32..=80)? {
            number @ 32..=40 => out.extend([0xf8, number]),
            number => out.push(0xe0 + number % 20),
        },
        6 => match u.int_in_range(0..=2)? {
            0 => out.extend([&[0xf9][..], &u.arbitrary::<u16>()?.to_be_bytes()].concat()),
            1 => out.extend([&[0xfa][..], &u.arbitrary::<u32>()?.to_be_bytes()].concat()),
            _ => out.extend([&[0xfb][..], &u.arbitrary::<u64>()?.to_be_bytes()].concat()),
        },
        7 => {
            head_of_any(u, 6, out)?;
            value(u, depth - 1, out)?;
        }
        kind => {
            let (major, each) = if kind == 8 { (4, 1) } else { (5, 2) };
            let count = u.int_in_range(0..=3)?;
            let indefinite = opened(u, major, count, out)?;
            for _ in 0..count * each {
                value(u, depth - 1, out)?;
            }
            if indefinite {
                out.push(0xff);
            }
        }
    }
    Ok(())
}

/// Appends the CBOR head of an array or map (`major`) of `count` entries to `out`. `u` decides whether the length is definite or
/// indefinite. Returns true for an indefinite length: the caller then has to append a break after the entries.
fn opened(u: &mut Unstructured<'_>, major: u8, count: u8, out: &mut Vec<u8>) -> Result<bool> {
    let indefinite = u.ratio(1, 4)?;
    if indefinite {
        out.push(major << 5 | 31);
    } else {
        head(u, major, count.into(), out)?;
    }
    Ok(indefinite)
}

/// Appends a CBOR string to `out`, sometimes in chunks. `major` says whether it is text or bytes.
fn string(u: &mut Unstructured<'_>, major: u8, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    if u.ratio(1, 4)? {
        out.push(major << 5 | 31);
        // A text may be cut between characters only: either all characters have one byte, or the text is not cut.
        let size = if bytes.is_ascii() || major == 2 { 2 } else { bytes.len() };
        for chunk in bytes.chunks(size.max(1)) {
            head(u, major, chunk.len() as u64, out)?;
            out.extend(chunk);
        }
        out.push(0xff);
    } else {
        head(u, major, bytes.len() as u64, out)?;
        out.extend(bytes);
    }
    Ok(())
}

pub(super) fn text(u: &mut Unstructured<'_>) -> Result<&'static str> {
    Ok(u.choose(&[
        "",
        "a",
        "bits",
        "packing",
        "\0",
        "\u{e9}",
        "\u{202e}",
        "longer than a byte's head",
    ])?)
}

fn head_of_any(u: &mut Unstructured<'_>, major: u8, out: &mut Vec<u8>) -> Result<()> {
    let number = u.arbitrary::<u8>()?;
    head(u, major, number.into(), out)
}

/// Appends a CBOR head to `out`, sometimes a longer one than the number needs.
fn head(u: &mut Unstructured<'_>, major: u8, number: u64, out: &mut Vec<u8>) -> Result<()> {
    let least = head_width(number);
    let width = if u.ratio(1, 4)? { u.int_in_range(least..=4)? } else { least };
    push_head_of(out, width, major, number);
    Ok(())
}

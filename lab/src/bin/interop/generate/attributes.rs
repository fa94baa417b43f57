//! Makes attributes: nested values of every kind in CBOR that the readers of a taste know.

use ciborium::Value;
use fastrand::Rng;

use super::Taste;
use crate::content::{Attributes, same};

pub(super) fn attributes(rng: &mut Rng, taste: Taste, text_only: bool) -> Attributes {
    let one = |rng: &mut Rng| {
        let value = if text_only { Value::Text(text(rng)) } else { value(rng, taste, 0) };
        (text(rng), value)
    };
    (0..rng.usize(..6)).map(|_| one(rng)).collect()
}

/// The maximum nesting depth of values.
const DEPTH: u8 = 5;

fn value(rng: &mut Rng, taste: Taste, depth: u8) -> Value {
    let count = |rng: &mut Rng| rng.usize(..5);
    match rng.u8(..12) {
        0 => Value::Null,
        1 => Value::Bool(rng.bool()),
        2 | 3 => integer(rng),
        4 => Value::Float(float(rng)),
        5 => Value::Bytes((0..rng.usize(..40)).map(|_| rng.u8(..)).collect()),
        6 | 7 if depth < DEPTH => {
            Value::Array((0..count(rng)).map(|_| value(rng, taste, depth + 1)).collect())
        }
        8 | 9 if depth < DEPTH => map(rng, taste, depth),
        10 if taste == Taste::Everything && depth < DEPTH => tagged(rng, taste, depth),
        _ => Value::Text(text(rng)),
    }
}

fn integer(rng: &mut Rng) -> Value {
    let edges = [0, 1, 23, 24, 255, 256, 65535, 65536, u32::MAX.into(), 1 << 32, u64::MAX];
    let number = if rng.bool() { edges[rng.usize(..edges.len())] } else { rng.u64(..) };
    if rng.bool() {
        return Value::Integer(number.into());
    }
    // The smallest number is -2^64, which no integer of 64 bits holds.
    let negative = -1 - i128::from(number);
    negative.try_into().map_or(Value::Null, Value::Integer)
}

fn float(rng: &mut Rng) -> f64 {
    let edges = [
        0.0,
        -0.0,
        1.5,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        65504.0,
        f64::from(f32::MAX),
        f64::MIN_POSITIVE / 4.0,
        5.960_464_477_539_063e-8,
        0.1,
    ];
    if rng.bool() { edges[rng.usize(..edges.len())] } else { f64::from_bits(rng.u64(..)) }
}

fn map(rng: &mut Rng, taste: Taste, depth: u8) -> Value {
    let mut entries: Vec<(Value, Value)> = Vec::new();
    for _ in 0..rng.usize(..5) {
        let key = match rng.u8(..8) {
            0 => integer(rng),
            1 if taste == Taste::Everything => value(rng, taste, DEPTH - 1),
            2 => Value::Bytes(vec![rng.u8(..)]),
            _ => Value::Text(text(rng)),
        };
        // In canonical form keys are unique. In Python no key may equal another.
        if entries.iter().all(|(other, _)| !same(other, &key)) {
            entries.push((key, value(rng, taste, depth + 1)));
        }
    }
    Value::Map(entries)
}

fn tagged(rng: &mut Rng, taste: Taste, depth: u8) -> Value {
    match rng.u8(..4) {
        // The tag of a time, the tag of a URI, and a private tag.
        0 => Value::Tag(1, Box::new(integer(rng))),
        1 => Value::Tag(32, Box::new(Value::Text(text(rng)))),
        2 => Value::Tag(rng.u64(60_000..), Box::new(value(rng, taste, depth + 1))),
        // A bignum that fits in no smaller integer.
        _ => Value::Tag(2, Box::new(Value::Bytes(vec![rng.u8(1..); 20]))),
    }
}

fn text(rng: &mut Rng) -> String {
    let length = if rng.u8(..20) == 0 { rng.usize(..400) } else { rng.usize(..12) };
    let any = |rng: &mut Rng| match rng.u8(..6) {
        0 => rng.char('\u{a0}'..='\u{2fff}'),
        1 => rng.char('\u{10000}'..='\u{10ffff}'),
        _ => rng.char(' '..='~'),
    };
    (0..length).map(|_| any(rng)).collect()
}

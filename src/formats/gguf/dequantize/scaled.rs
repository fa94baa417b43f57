//! Dequantizing the ggml types whose blocks have one scale for all elements, such as `Q4_0` and `Q8_0`.

use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::{BlockBytes, Half, join, scale, unpack};

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Q1_0 {
    scale: Half,
    numbers: [u8; 16],
}

impl BlockBytes<128> for Q1_0 {
    fn dequantize(&self, out: &mut [f32; 128]) {
        let numbers = unpack::<1, _, _>(&self.numbers);
        scale(out, &numbers, &[self.scale.value()], |d, q| if q == 0.0 { -d } else { d });
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Q2_0 {
    scale: Half,
    numbers: [u8; 16],
}

impl BlockBytes<64> for Q2_0 {
    fn dequantize(&self, out: &mut [f32; 64]) {
        let numbers = unpack::<1, _, _>(&self.numbers);
        scale(out, &numbers, &[self.scale.value()], |d, q| d * (q - 1.0));
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Q4_0 {
    scale: Half,
    numbers: [u8; 16],
}

impl BlockBytes<32> for Q4_0 {
    fn dequantize(&self, out: &mut [f32; 32]) {
        let numbers = unpack::<16, _, _>(&self.numbers);
        scale(out, &numbers, &[self.scale.value()], |d, q| d * (q - 8.0));
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Q4_1 {
    scale: Half,
    minimum: Half,
    numbers: [u8; 16],
}

impl BlockBytes<32> for Q4_1 {
    fn dequantize(&self, out: &mut [f32; 32]) {
        let numbers = unpack::<16, _, _>(&self.numbers);
        let minimum = self.minimum.value();
        scale(out, &numbers, &[self.scale.value()], |d, q| d * q + minimum);
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Q5_0 {
    scale: Half,
    high: [u8; 4],
    low: [u8; 16],
}

impl BlockBytes<32> for Q5_0 {
    fn dequantize(&self, out: &mut [f32; 32]) {
        let numbers = join(unpack::<16, _, _>(&self.low), &unpack::<1, _, _>(&self.high), 4);
        scale(out, &numbers, &[self.scale.value()], |d, q| d * (q - 16.0));
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Q5_1 {
    scale: Half,
    minimum: Half,
    high: [u8; 4],
    low: [u8; 16],
}

impl BlockBytes<32> for Q5_1 {
    fn dequantize(&self, out: &mut [f32; 32]) {
        let numbers = join(unpack::<16, _, _>(&self.low), &unpack::<1, _, _>(&self.high), 4);
        let minimum = self.minimum.value();
        scale(out, &numbers, &[self.scale.value()], |d, q| d * q + minimum);
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Q8_0 {
    scale: Half,
    numbers: [i8; 32],
}

impl BlockBytes<32> for Q8_0 {
    fn dequantize(&self, out: &mut [f32; 32]) {
        scale(out, &self.numbers, &[self.scale.value()], |d, q| d * q);
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Tq1_0 {
    first: [u8; 32],
    second: [u8; 16],
    last: [u8; 4],
    scale: Half,
}

impl BlockBytes<256> for Tq1_0 {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let (first, second) = (trits::<32, 160>(&self.first), trits::<16, 80>(&self.second));
        let last = trits::<4, 16>(&self.last);
        let numbers = [first.as_slice(), &second, &last];
        let chunks = numbers.iter().flat_map(|numbers| numbers.as_chunks().0);
        for (out, numbers) in out.as_chunks_mut::<16>().0.iter_mut().zip(chunks) {
            scale(out, numbers, &[self.scale.value()], |d, q| d * (q - 1.0));
        }
    }
}

/// Unpacks digits of base 3. A byte, read as a fraction of 256, holds up to five digits after the point. For each `W`
/// bytes, the first digit of all bytes comes first, then the second digit of all bytes, and so on.
fn trits<const W: usize, const N: usize>(packed: &[u8; W]) -> [u8; N] {
    const {
        assert!(
            N / W * W == N && N / W <= 5,
            "all bytes must hold the same number of digits, at most five"
        );
    };
    let mut out = [0; N];
    for (out, power) in out.as_chunks_mut::<W>().0.iter_mut().zip([1, 3, 9, 27, 81]) {
        for (out, byte) in out.iter_mut().zip(packed) {
            let rest = u16::from(byte.wrapping_mul(power));
            [_, *out] = rest.wrapping_mul(3).to_le_bytes();
        }
    }
    out
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Tq2_0 {
    numbers: [u8; 64],
    scale: Half,
}

impl BlockBytes<256> for Tq2_0 {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let numbers = unpack::<32, _, _>(&self.numbers);
        scale(out, &numbers, &[self.scale.value()], |d, q| d * (q - 1.0));
    }
}

//! Dequantizing the types `Q2_K` to `Q8_K`. Except in `Q8_K`, blocks consist of groups, and each group has a scale of its own:
//! a small number, times the scale of the block.

use zerocopy::little_endian::F32;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::{BlockBytes, Half, join, scale, unpack};

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Q2K {
    /// For each group of 16 elements one byte, with the scale of the group in the low four bits, and the minimum in the high
    /// four bits.
    groups: [u8; 16],
    numbers: [u8; 64],
    scale: Half,
    minimum: Half,
}

impl BlockBytes<256> for Q2K {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let (d, minimum) = (self.scale.value(), self.minimum.value());
        let groups = self.groups.map(|group| {
            let (low, high) = (group & 15, group.wrapping_shr(4));
            (d * f32::from(low), minimum * f32::from(high))
        });
        scale(out, &unpack::<32, _, _>(&self.numbers), &groups, |(d, m), q| d * q - m);
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Q3K {
    high: [u8; 32],
    low: [u8; 64],
    scales_low: [u8; 8],
    scales_high: [u8; 4],
    scale: Half,
}

impl BlockBytes<256> for Q3K {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let d = self.scale.value();
        let high = unpack::<4, _, 16>(&self.scales_high);
        let scales = join(unpack::<8, _, _>(&self.scales_low), &high, 4);
        let scales = scales.map(|scale| d * (f32::from(scale) - 32.0));
        let numbers = join(unpack::<32, _, _>(&self.low), &unpack::<32, _, _>(&self.high), 2);
        scale(out, &numbers, &scales, |d, q| d * (q - 4.0));
    }
}

/// The scales and minima of eight groups of elements, each a number of 6 bits.
#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Groups {
    /// The scales of the first four groups in the low six bits, and the two highest bits of the last four scales above
    /// them.
    scales: [u8; 4],
    /// The minima of all groups, packed as `scales` is.
    minima: [u8; 4],
    /// One byte for each of the last four groups: the low four bits of its scale, and above these the low four bits of its
    /// minimum.
    last: [u8; 4],
}

impl Groups {
    /// Returns the scale and the minimum of each group as floats: the numbers of the group, times `scale` and `minimum`, the
    /// two factors of the block.
    fn values(&self, scale: Half, minimum: Half) -> [(f32, f32); 8] {
        let (scale, minimum) = (scale.value(), minimum.value());
        let packed = self.scales.iter().zip(&self.minima);
        let first = packed.clone().map(|(d, m)| (d & 0x3f, m & 0x3f));
        let last = packed.zip(&self.last).map(|((d, m), low)| {
            let [d, m] = [d, m].map(|high| high.wrapping_shr(2) & 0x30);
            (d | low & 15, m | low.wrapping_shr(4))
        });
        let mut out = [(0.0, 0.0); 8];
        for (out, (d, m)) in out.iter_mut().zip(first.chain(last)) {
            *out = (scale * f32::from(d), minimum * f32::from(m));
        }
        out
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Q4K {
    scale: Half,
    minimum: Half,
    groups: Groups,
    numbers: [u8; 128],
}

impl BlockBytes<256> for Q4K {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let groups = self.groups.values(self.scale, self.minimum);
        scale(out, &unpack::<32, _, _>(&self.numbers), &groups, |(d, m), q| d * q - m);
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Q5K {
    scale: Half,
    minimum: Half,
    groups: Groups,
    high: [u8; 32],
    low: [u8; 128],
}

impl BlockBytes<256> for Q5K {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let groups = self.groups.values(self.scale, self.minimum);
        let numbers = join(unpack::<32, _, _>(&self.low), &unpack::<32, _, _>(&self.high), 4);
        scale(out, &numbers, &groups, |(d, m), q| d * q - m);
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Q6K {
    low: [u8; 128],
    high: [u8; 64],
    scales: [i8; 16],
    scale: Half,
}

impl BlockBytes<256> for Q6K {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let d = self.scale.value();
        let scales = self.scales.map(|scale| d * f32::from(scale));
        let numbers = join(unpack::<64, _, _>(&self.low), &unpack::<32, _, _>(&self.high), 4);
        scale(out, &numbers, &scales, |d, q| d * (q - 32.0));
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Q8K {
    scale: F32,
    numbers: [i8; 256],
    /// The sum of each 16 quantized numbers. ggml uses these sums to multiply matrices; dequantizing does not need them.
    _sums: [u8; 32],
}

impl BlockBytes<256> for Q8K {
    fn dequantize(&self, out: &mut [f32; 256]) {
        scale(out, &self.numbers, &[self.scale.get()], |d, q| d * q);
    }
}

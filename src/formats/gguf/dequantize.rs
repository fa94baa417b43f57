//! Dequantizing ggml blocks to `f32`. Each type is a record with the bytes of one block. The operations and their order are
//! those of the Python package `gguf`, so that rounding is the same and results are bit-identical.

mod codebook;
mod k;
mod scaled;

use half::f16;
use zerocopy::little_endian::U16;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

pub(super) use codebook::{
    Iq1M, Iq1S, Iq2S, Iq2Xs, Iq2Xxs, Iq3S, Iq3Xxs, Iq4Nl, Iq4Xs, Mxfp4, Nvfp4,
};
pub(super) use k::{Q2K, Q3K, Q4K, Q5K, Q6K, Q8K};
pub(super) use scaled::{Q1_0, Q2_0, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Tq1_0, Tq2_0};

/// The bytes of one block of a ggml type, which encodes `N` elements.
pub(crate) trait BlockBytes<const N: usize>:
    FromBytes + Immutable + KnownLayout + Unaligned
{
    /// Computes the values of the elements of this block, and stores them in `out`.
    fn dequantize(&self, out: &mut [f32; N]);
}

/// Computes the values of all elements of the blocks in `bytes`, and stores them in `out`. Returns `None` if `bytes` is not a
/// whole number of blocks, or `out` has another length than the blocks have elements.
pub(crate) fn dequantize<R: BlockBytes<N>, const N: usize>(
    bytes: &[u8],
    out: &mut [f32],
) -> Option<()> {
    let blocks = <[R]>::ref_from_bytes(bytes).ok()?;
    let (out, rest) = out.as_chunks_mut();
    if blocks.len() != out.len() || !rest.is_empty() {
        return None;
    }
    for (block, out) in blocks.iter().zip(out) {
        block.dequantize(out);
    }
    Some(())
}

/// A little-endian half-precision float in the bytes of a block.
#[derive(FromBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Half(U16);

impl Half {
    fn value(self) -> f32 {
        f16::from_bits(self.0.get()).to_f32()
    }
}

/// Unpacks `M` numbers of `8 * N / M` bits each from the `N` bytes of `packed`. Each group of `W` bytes yields the number in
/// the lowest bits of each byte, then the number in the next higher bits of each byte, and so on.
fn unpack<const W: usize, const N: usize, const M: usize>(packed: &[u8; N]) -> [u8; M] {
    const {
        assert!(
            N / W * W == N && N * 8 / (8 / (M / N)) == M,
            "the numbers must fill the packed bytes exactly"
        );
    };
    let bits = const { 8 / (M / N) };
    let mask = const { u8::MAX >> (8 - 8 / (M / N)) };
    let mut out = [0; M];
    let runs = out.chunks_exact_mut(const { M / N * W });
    for (packed, run) in packed.as_chunks::<W>().0.iter().zip(runs) {
        let shifts = (0_u32..8).step_by(bits);
        for (out, shift) in run.as_chunks_mut::<W>().0.iter_mut().zip(shifts) {
            for (out, byte) in out.iter_mut().zip(packed) {
                *out = byte.wrapping_shr(shift) & mask;
            }
        }
    }
    out
}

/// Combines each number of `low`, which holds the lowest `bits` bits of a number, with the number at the same index of
/// `high`, which holds the bits above these.
fn join<const N: usize>(mut low: [u8; N], high: &[u8; N], bits: u32) -> [u8; N] {
    for (low, high) in low.iter_mut().zip(high) {
        *low |= high.wrapping_shl(bits);
    }
    low
}

/// Computes each element of `out` as `value(scale, number)` from the number at the same index of `numbers`. Each scale of
/// `scales` belongs to `N / S` successive numbers.
fn scale<T: Copy + Into<f32>, D: Copy, const N: usize, const S: usize>(
    out: &mut [f32; N],
    numbers: &[T; N],
    scales: &[D; S],
    value: impl Fn(D, f32) -> f32,
) {
    const { assert!(N / S * S == N, "the elements must form one group of equal size for each scale") };
    // One loop for both steps is not vectorized, and takes more than twice as long: `benches/dequantize.rs`.
    for (out, number) in out.iter_mut().zip(numbers) {
        *out = (*number).into();
    }
    for (out, scale) in out.chunks_exact_mut(const { N / S }).zip(scales) {
        for out in out {
            *out = value(*scale, *out);
        }
    }
}

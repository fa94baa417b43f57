//! Dequantizing the types whose numbers are indices into a table of values (a codebook).

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::{BlockBytes, Half, join, scale, unpack};

/// The packed codebooks of the types from `IQ1_S` to `IQ3_S`, one after the other. Each element of a codebook takes two or
/// three bits, from the lowest bits of a byte on. These bits are an index into the list `values` that [`codebook`] gets.
static PACKED: [u8; 8832] = *include_bytes!("codebooks.bin");

static IQ2_XXS: [[i8; 8]; 256] = codebook(0, &[8, 25, 43]);
static IQ2_XS: [[i8; 8]; 512] = codebook(512, &[8, 25, 43]);
static IQ2_S: [[i8; 8]; 1024] = codebook(1536, &[8, 25, 43]);
static IQ1: [[i8; 8]; 2048] = codebook(3584, &[-1, 0, 1]);
static IQ3_XXS: [[i8; 4]; 256] = codebook(7680, &[4, 12, 20, 28, 36, 44, 52, 62]);
static IQ3_S: [[i8; 4]; 512] = codebook(8064, &[1, 3, 5, 7, 9, 11, 13, 15]);

/// The values of the 16 codes of `f4_e2m1`, doubled. The negative zero is replaced by zero, as in ggml.
static E2M1: [f32; 16] =
    [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 0.0, -1.0, -2.0, -3.0, -4.0, -6.0, -8.0, -12.0];

static IQ4: [f32; 16] = [
    -127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0, 1.0, 13.0, 25.0, 38.0, 53.0, 69.0,
    89.0, 113.0,
];

/// The amount that is added to each element of `IQ1_S` and `IQ1_M`, or subtracted from it.
const DELTA: f32 = 0.125;

/// Unpacks the codebook of `N` rows of `W` elements that begins at the byte `start` of [`PACKED`]. `values` are the values
/// that the packed indices select: a list of three values has indices of two bits, and a list of eight values has indices of
/// three bits.
#[expect(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    reason = "it is called by the compiler alone, which would reject it"
)]
const fn codebook<const W: usize, const N: usize>(start: usize, values: &[i8]) -> [[i8; W]; N] {
    let bits = if values.len() == 3 { 2 } else { 3 };
    let mut table = [[0; W]; N];
    let mut at = 0;
    while at < W * N {
        let bit = at * bits;
        let (byte, shift) = (start + bit / 8, bit % 8);
        // An index of three bits may lie across two bytes.
        let next = if byte + 1 < PACKED.len() { PACKED[byte + 1] } else { 0 };
        let pair = u16::from_le_bytes([PACKED[byte], next]);
        table[at / W][at % W] = values[((pair >> shift) & ((1 << bits) - 1)) as usize];
        at += 1;
    }
    table
}

/// Returns the entry of `table` at the index `number`. High bits of `number` that exceed the table are ignored, so no index
/// is out of bounds.
#[expect(clippy::indexing_slicing, reason = "what remains of the number is below the size")]
fn look_up<T: Copy, const N: usize>(table: &[T; N], number: u16) -> T {
    const { assert!(N.is_power_of_two(), "the size of the table must be a power of two") };
    table[usize::from(number) & const { N - 1 }]
}

/// Computes each element of `out`: the entry of `table` at the index that `numbers` holds for the element, times the scale of
/// the element's group. Each scale of `scales` belongs to a group of `N / S` successive elements.
fn scale_values<const N: usize, const S: usize>(
    out: &mut [f32; N],
    table: &[f32; 16],
    numbers: &[u8; N],
    scales: &[f32; S],
) {
    const { assert!(N / S * S == N, "the elements must form one group of equal size for each scale") };
    let size = const { N / S };
    let groups = out.chunks_exact_mut(size).zip(numbers.chunks_exact(size));
    for ((out, numbers), scale) in groups.zip(scales) {
        for (out, number) in out.iter_mut().zip(numbers) {
            *out = scale * look_up(table, u16::from(*number));
        }
    }
}

/// Returns the rows of the codebook `table` that have the indices `numbers`, one after the other.
fn rows<const W: usize, const N: usize>(
    table: &[[i8; W]; N],
    numbers: impl IntoIterator<Item = u16>,
) -> [i8; 256] {
    let mut out = [0; 256];
    for (row, number) in out.as_chunks_mut().0.iter_mut().zip(numbers) {
        *row = look_up(table, number);
    }
    out
}

/// Returns 16-bit numbers. The byte of `low` at an index is the low eight bits of a number, and the byte of `high` at the
/// same index the high eight bits.
fn widen<'b>(low: &'b [u8], high: &'b [u8]) -> impl Iterator<Item = u16> + 'b {
    low.iter().zip(high).map(|(low, high)| u16::from_le_bytes([*low, *high]))
}

/// Returns `elements` with those elements negated whose bit in `signs` is set. Bit `i` of byte `j` belongs to element
/// `8 * j + i`.
fn negate(mut elements: [i8; 256], signs: &[u8; 32]) -> [i8; 256] {
    const BITS: [u8; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
    for (elements, signs) in elements.as_chunks_mut::<8>().0.iter_mut().zip(signs) {
        for (element, bit) in elements.iter_mut().zip(BITS) {
            *element = if signs & bit == 0 { *element } else { element.wrapping_neg() };
        }
    }
    elements
}

/// Returns the seven signs in the low bits of `signs`, and in the highest bit the sign of the eighth element. The eighth sign
/// is not stored, because the number of minus signs among eight elements is always even.
fn add_eighth(signs: u8) -> u8 {
    let seven = signs & 0x7f;
    if seven.count_ones().is_multiple_of(2) { seven } else { seven | 0x80 }
}

/// Unpacks the signs of eight groups of 32 elements. The low 28 bits of a group hold seven signs for each eight elements;
/// [`add_eighth`] computes the eighth.
fn signs_of_groups(groups: [u32; 8]) -> [u8; 32] {
    let mut out = [0; 32];
    for (out, group) in out.as_chunks_mut().0.iter_mut().zip(groups) {
        *out = [0, 7, 14, 21].map(|shift| {
            let [signs, ..] = group.wrapping_shr(shift).to_le_bytes();
            add_eighth(signs)
        });
    }
    out
}

/// Computes the scale of a group of elements: the number in the four highest bits of `signs`, plus 0.5, times `scale`, the
/// scale of the block, and `factor`.
fn scale_above_signs(signs: u32, scale: f32, factor: f32) -> f32 {
    let [.., high] = signs.to_le_bytes();
    scale * (0.5 + f32::from(high.wrapping_shr(4))) * factor
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Iq2Xxs {
    scale: Half,
    groups: [Iq2XxsGroup; 8],
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Iq2XxsGroup {
    numbers: [u8; 4],
    /// Four fields of seven sign bits each, and the scale of the group in the four highest bits.
    signs: U32,
}

impl BlockBytes<256> for Iq2Xxs {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let d = self.scale.value();
        let numbers = self.groups.iter().flat_map(|group| group.numbers.map(u16::from));
        let signs = self.groups.each_ref().map(|group| group.signs.get());
        let scales = signs.map(|signs| scale_above_signs(signs, d, 0.25));
        let elements = negate(rows(&IQ2_XXS, numbers), &signs_of_groups(signs));
        scale(out, &elements, &scales, |d, q| d * q);
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Iq2Xs {
    scale: Half,
    /// Indices of codebook rows in the low nine bits, and seven sign bits in the high bits.
    numbers: [U16; 32],
    scales: [u8; 8],
}

impl BlockBytes<256> for Iq2Xs {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let numbers = self.numbers.map(U16::get);
        let signs = numbers.map(|number| {
            let [_, signs] = number.to_le_bytes();
            add_eighth(signs.wrapping_shr(1))
        });
        let elements = negate(rows(&IQ2_XS, numbers), &signs);
        scale(out, &elements, &scales_of_iq2(self.scale, self.scales), |d, q| d * q);
    }
}

/// Computes the scales of 16 groups. `scale` is the scale of the block, and `scales` holds a factor of four bits for each
/// group.
fn scales_of_iq2(scale: Half, scales: [u8; 8]) -> [f32; 16] {
    let d = scale.value();
    unpack::<1, _, _>(&scales).map(|scale| d * (0.5 + f32::from(scale)) * 0.25)
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Iq2S {
    scale: Half,
    low: [u8; 32],
    signs: [u8; 32],
    high: [u8; 8],
    scales: [u8; 8],
}

impl BlockBytes<256> for Iq2S {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let high = unpack::<1, _, 32>(&self.high);
        let elements = negate(rows(&IQ2_S, widen(&self.low, &high)), &self.signs);
        scale(out, &elements, &scales_of_iq2(self.scale, self.scales), |d, q| d * q);
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Iq3Xxs {
    scale: Half,
    numbers: [u8; 64],
    /// For each group, four fields of seven sign bits each, and the scale of the group in the four highest bits.
    signs: [U32; 8],
}

impl BlockBytes<256> for Iq3Xxs {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let d = self.scale.value();
        let signs = self.signs.map(U32::get);
        let scales = signs.map(|signs| scale_above_signs(signs, d, 0.5));
        let elements = rows(&IQ3_XXS, self.numbers.map(u16::from));
        scale(out, &negate(elements, &signs_of_groups(signs)), &scales, |d, q| d * q);
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Iq3S {
    scale: Half,
    low: [u8; 64],
    high: [u8; 8],
    signs: [u8; 32],
    scales: [u8; 4],
}

impl BlockBytes<256> for Iq3S {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let d = self.scale.value();
        let scales = unpack::<1, _, 8>(&self.scales);
        let scales = scales.map(|scale| d * (1.0 + 2.0 * f32::from(scale)));
        let high = unpack::<1, _, 64>(&self.high);
        let elements = negate(rows(&IQ3_S, widen(&self.low, &high)), &self.signs);
        scale(out, &elements, &scales, |d, q| d * q);
    }
}

/// Unpacks the four numbers of three bits each in the low 12 bits of each of `packed`.
fn threes<const N: usize, const M: usize>(packed: [U16; N]) -> [u8; M] {
    const { assert!(N * 4 == M, "each packed value must yield four numbers") };
    let mut out = [0; M];
    for (out, packed) in out.as_chunks_mut().0.iter_mut().zip(packed) {
        *out = [0, 3, 6, 9].map(|shift| {
            let [low, _] = packed.get().wrapping_shr(shift).to_le_bytes();
            low & 7
        });
    }
    out
}

/// Returns the scale of a group, `scale` (the scale of the block) times `2 * factor + 1`, and the amount to add to each
/// element of the group before scaling: [`DELTA`], or `-DELTA` if `is_negative`.
fn scale_and_delta(scale: f32, factor: u8, is_negative: bool) -> (f32, f32) {
    (scale * (2.0 * f32::from(factor) + 1.0), if is_negative { -DELTA } else { DELTA })
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Iq1S {
    scale: Half,
    low: [u8; 32],
    /// For each 32 elements, from the lowest bit on: the three high bits of each of four codebook indices, three bits of the
    /// scale, and one bit that is set if [`DELTA`] is subtracted.
    groups: [U16; 8],
}

impl BlockBytes<256> for Iq1S {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let d = self.scale.value();
        let scales = self.groups.map(|group| {
            let [_, high] = group.get().to_le_bytes();
            scale_and_delta(d, high.wrapping_shr(4) & 7, high & 0x80 != 0)
        });
        let elements = rows(&IQ1, widen(&self.low, &threes::<8, 32>(self.groups)));
        scale(out, &elements, &scales, |(d, delta), q| d * (q + delta));
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Iq1M {
    low: [u8; 32],
    /// For each codebook index four bits: the three high bits of the index, and a bit that is set if [`DELTA`] is subtracted
    /// from the eight elements of the index.
    high: [u8; 16],
    /// Each of the four numbers holds four factors of three bits, each for 16 elements, and in its four highest bits four of
    /// the 16 bits of the block's scale.
    scales: [U16; 4],
}

impl BlockBytes<256> for Iq1M {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let d = self
            .scales
            .iter()
            .rev()
            .fold(0_u16, |bits, part| bits.wrapping_shl(4) | part.get().wrapping_shr(12));
        let d = Half(d.into()).value();
        let high = unpack::<1, _, 32>(&self.high);
        let mut scales = [(0.0, 0.0); 32];
        let pairs = scales.as_chunks_mut::<2>().0.iter_mut().zip(high.as_chunks().0);
        for ((scales, high), factor) in pairs.zip(threes::<4, 16>(self.scales)) {
            *scales = high.map(|high| scale_and_delta(d, factor, high & 8 != 0));
        }
        let elements = rows(&IQ1, widen(&self.low, &high));
        scale(out, &elements, &scales, |(d, delta), q| d * (q + delta));
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Iq4Nl {
    scale: Half,
    numbers: [u8; 16],
}

impl BlockBytes<32> for Iq4Nl {
    fn dequantize(&self, out: &mut [f32; 32]) {
        scale_values(out, &IQ4, &unpack::<16, _, _>(&self.numbers), &[self.scale.value()]);
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Iq4Xs {
    scale: Half,
    scales_high: [u8; 2],
    scales_low: [u8; 4],
    numbers: [u8; 128],
}

impl BlockBytes<256> for Iq4Xs {
    fn dequantize(&self, out: &mut [f32; 256]) {
        let d = self.scale.value();
        let high = unpack::<1, _, 8>(&self.scales_high);
        let scales = join(unpack::<1, _, _>(&self.scales_low), &high, 4);
        let scales = scales.map(|scale| d * (f32::from(scale) - 32.0));
        scale_values(out, &IQ4, &unpack::<16, _, _>(&self.numbers), &scales);
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Mxfp4 {
    /// A scale as `f8_e8m0`, except that 255 is not NaN: ggml computes with it.
    exponent: u8,
    numbers: [u8; 16],
}

impl BlockBytes<32> for Mxfp4 {
    fn dequantize(&self, out: &mut [f32; 32]) {
        let exponent = u32::from(self.exponent);
        // Half of the scale, since the values of the table are doubled. For the two smallest exponents, half of the scale
        // is a subnormal `f32`.
        let bits = match exponent.checked_sub(1) {
            None => 0x0020_0000,
            Some(0) => 0x0040_0000,
            Some(less) => less.wrapping_shl(23),
        };
        scale_values(out, &E2M1, &unpack::<16, _, _>(&self.numbers), &[f32::from_bits(bits)]);
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Nvfp4 {
    /// A scale for each 16 elements, as `f8_e4m3` whose sign is ignored.
    scales: [u8; 4],
    numbers: [u8; 32],
}

impl BlockBytes<64> for Nvfp4 {
    fn dequantize(&self, out: &mut [f32; 64]) {
        // Half of the scale, since the values of the table are doubled. The bits of the scale are shifted to their place in
        // an `f32`, and the factor corrects the exponent, whose bias differs.
        let factor = f32::from_bits(0x7b00_0000);
        let scales = self.scales.map(|scale| match scale {
            0x7f => 0.0,
            _ => f32::from_bits(u32::from(scale & 0x7f).wrapping_shl(20)) * factor,
        });
        scale_values(out, &E2M1, &unpack::<8, _, _>(&self.numbers), &scales);
    }
}

//! Writes two models that differ in a share of their elements, to measure patches.
//!
//! `changes DTYPE SHARE KIND MIB FOLDER` writes `old.safetensors` and `new.safetensors` of MIB MiB, rounded down to whole tensors
//! of 4,194,304 elements: weights of `bf16` or `f32` with a normal distribution, of which SHARE (such as 0.01) change by one unit
//! in the last place (`ulp`) or by a normal distribution (`gaussian`) with a hundredth of the deviation of the weights. To compare
//! patches with simpler forms, which are compressed afterwards, it also writes `xor`, the exclusive or of the bytes of both models,
//! and `pairs`, the index in its tensor (4 bytes) and the new value of each element that differs. Any DTYPE but `bf16` is written
//! in 4 bytes, and any KIND but `ulp` is taken for `gaussian`.

use std::error::Error;
use std::f64::consts::TAU;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// The standard deviation of the weights.
const DEVIATION: f64 = 0.02;
/// The number of elements of each tensor.
const TENSOR: usize = 4 << 20;

fn normal(random: &mut fastrand::Rng) -> f64 {
    (-2.0 * random.f64().max(f64::MIN_POSITIVE).ln()).sqrt() * (random.f64() * TAU).cos()
}

/// Returns the bits of `value`, rounded to the nearest float of `dtype`, in the low bits of the result.
fn bits(dtype: &str, value: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "weights are small")]
    let value = value as f32;
    if dtype == "bf16" { half::bf16::from_f32(value).to_bits().into() } else { value.to_bits() }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [dtype, share, kind, size, folder] = &arguments[..] else {
        return Err("usage: changes DTYPE SHARE KIND MIB FOLDER".into());
    };
    let (share, mib): (f64, usize) = (share.parse()?, size.parse()?);
    let width = if dtype == "bf16" { 2 } else { 4 };
    let count = (mib << 20) / width / TENSOR;
    let names: Vec<_> = (0..count).map(|at| format!("layers.{at:03}.weight")).collect();
    let entries = names.iter().enumerate().map(|(at, name)| {
        let (begin, end) = (at * TENSOR * width, (at + 1) * TENSOR * width);
        let dtype = dtype.to_uppercase();
        format!(
            r#""{name}":{{"dtype":"{dtype}","shape":[{TENSOR}],"data_offsets":[{begin},{end}]}}"#
        )
    });
    let mut header = format!("{{{}}}", entries.collect::<Vec<_>>().join(","));
    header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
    let create = |name| File::create(Path::new(folder).join(name)).map(BufWriter::new);
    let [mut old, mut new] = [create("old.safetensors")?, create("new.safetensors")?];
    let [mut xor, mut pairs] = [create("xor")?, create("pairs")?];
    for file in [&mut old, &mut new] {
        file.write_all(&u64::try_from(header.len())?.to_le_bytes())?;
        file.write_all(header.as_bytes())?;
    }
    let mut random = fastrand::Rng::with_seed(7);
    for at in 0..count * TENSOR {
        let value = normal(&mut random) * DEVIATION;
        let before = bits(dtype, value);
        let mut after = before;
        if random.f64() < share {
            after = match kind.as_str() {
                "ulp" if random.bool() => before.wrapping_add(1),
                "ulp" => before.wrapping_sub(1),
                _ => bits(dtype, value + normal(&mut random) * DEVIATION / 100.0),
            };
        }
        let [one, other] = [before, after].map(u32::to_le_bytes);
        old.write_all(&one[..width])?;
        new.write_all(&other[..width])?;
        xor.write_all(&(before ^ after).to_le_bytes()[..width])?;
        if before != after {
            pairs.write_all(&u32::try_from(at % TENSOR)?.to_le_bytes())?;
            pairs.write_all(&other[..width])?;
        }
    }
    [old, new, xor, pairs].iter_mut().try_for_each(Write::flush)?;
    Ok(())
}

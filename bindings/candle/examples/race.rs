//! Compares the time that this package and candle's reader of safetensors take to load 1 GiB of tensors: `cargo run --release
//! --example race`.
//!
//! The program first writes the files to a temporary folder, and reads each of them once so that it is in the cache of the
//! operating system. Then the readers take turns.

use std::collections::HashMap;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use candle_core::safetensors::BufferedSafetensors;
use candle_core::{Device, Result, Tensor};
use zten::write::{Checksum, WriteOptions};
use zten::{Generation, OpenOptions};
use zten_candle::Weights;

const TENSORS: usize = 64;
const ELEMENTS: usize = 4 << 20;
const ROUNDS: usize = 7;

fn name(at: usize) -> String {
    format!("layers.{at}.weight")
}

fn zten(path: &Path) -> Result<()> {
    let weights = Weights::open(&[path], &OpenOptions::default())?;
    for at in 0..TENSORS {
        black_box(weights.load(&name(at), &Device::Cpu)?);
    }
    Ok(())
}

fn buffered(path: &Path) -> Result<()> {
    let weights = BufferedSafetensors::new(std::fs::read(path)?)?;
    for at in 0..TENSORS {
        black_box(weights.load(&name(at), &Device::Cpu)?);
    }
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let other = folder.path().join("weights.safetensors");
    let mut tensors = HashMap::new();
    for at in 0..TENSORS {
        let tensor = Tensor::rand(0.0_f32, 1.0, (ELEMENTS,), &Device::Cpu)?;
        tensors.insert(name(at), tensor);
    }
    candle_core::safetensors::save(&tensors, &other)?;
    let (shape, mut files) = ([u64::try_from(ELEMENTS)?], Vec::new());
    for checksum in [Checksum::None, Checksum::Xxh3, Checksum::Sha256] {
        let path = folder.path().join(format!("{checksum:?}.zt"));
        let options = WriteOptions::default().generation(Generation::V2).checksum(checksum);
        let mut writer = options.create(&path)?;
        for at in 0..TENSORS {
            let name = name(at);
            writer.add(&name, &shape, &tensors[&name].to_vec1::<f32>()?)?;
        }
        writer.finish()?;
        files.push((checksum, path));
    }
    drop(tensors);

    let mut times = vec![Vec::new(); files.len() + 1];
    for round in 0..=ROUNDS {
        for (at, times) in times.iter_mut().enumerate() {
            let start = Instant::now();
            match files.get(at) {
                Some((_, path)) => zten(path)?,
                None => buffered(&other)?,
            }
            if round > 0 {
                times.push(start.elapsed().as_secs_f64());
            }
        }
    }
    let medians = times.iter_mut().map(|times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    let medians: Vec<f64> = medians.collect();
    let peer = medians[files.len()];
    println!("buffered safetensors: {:.0} ms", peer * 1e3);
    for ((checksum, _), median) in files.iter().zip(&medians) {
        println!("zten, {checksum:?}: {:.0} ms, {:.2} × safetensors", median * 1e3, median / peer);
    }
    Ok(())
}

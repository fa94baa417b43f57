//! Makes the files that contestants read, from a seed, and keeps them in memory.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use fastrand::Rng;
use zten::write::{Checksum, ComponentData, Level, WriteOptions};
use zten::{Archive, DType, Generation, Writer};
use zten_corpus::base::{entry, v0};
use zten_corpus::cbor::text;
use zten_lab::readers::{safetensors, ztensor_2};
use zten_testkit::generate;

/// The number of bytes of each object in files of many objects.
const SMALL: usize = 64;
const SHAPE: [u64; 2] = [4, 8];

/// The folder of the files of one run.
pub(crate) struct Inputs {
    folder: tempfile::TempDir,
}

/// The order of names in a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Sorted order.
    Sorted,
    /// A random order.
    Shuffled,
}

impl Inputs {
    /// Creates a folder, in memory if the system has a file system in memory.
    pub(crate) fn new() -> Result<Self> {
        let shared = Path::new("/dev/shm");
        let folder =
            if shared.is_dir() { tempfile::tempdir_in(shared)? } else { tempfile::tempdir()? };
        Ok(Self { folder })
    }

    /// Returns the path of a file.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.path(name);
        fs::write(&path, bytes)?;
        Ok(path)
    }

    /// Creates a file of 1.2 with small dense objects, which have the names of a transformer's tensors.
    pub(crate) fn objects(&self, count: usize, order: Order, sum: Checksum) -> Result<PathBuf> {
        let options = WriteOptions::default().checksum(sum);
        let mut writer = Writer::new(Vec::new(), &options)?;
        for name in names(count, order) {
            writer.add(&name, &SHAPE, ComponentData::of_bytes(DType::BF16, &[0; SMALL]))?;
        }
        self.write("objects.zt", &writer.finish()?)
    }

    /// Creates a file with the objects of [`objects`](Self::objects) in generation 2, as the reference implementation
    /// writes it.
    pub(crate) fn objects_v2(&self, count: usize) -> Result<PathBuf> {
        let path = self.path("objects-2.zt");
        ztensor_2::write(&path, &names(count, Order::Sorted), SHAPE)?;
        Ok(path)
    }

    /// Creates a file with the objects of [`objects`](Self::objects) in generation 0.1.
    pub(crate) fn old_objects(&self, count: usize) -> Result<PathBuf> {
        let names = names(count, Order::Sorted);
        let entries = names.iter().zip(1..).map(|(name, place)| {
            let offset = (SMALL * place) as u64;
            entry(name, "bfloat16", &SHAPE, offset, SMALL as u64)
        });
        let start = SMALL * (count + 1);
        let mut file = v0(entries.collect()).start(start);
        for place in 0..count {
            file = file.set(&format!("#{place}/layout"), text("dense"));
        }
        let file = file.build("").bytes;
        Archive::from_bytes(&file)?;
        self.write("old.zt", &file)
    }

    /// Creates a file with the objects of [`objects`](Self::objects) as `safetensors` writes it.
    pub(crate) fn safetensors(&self, count: usize) -> Result<PathBuf> {
        let file = safetensors::zeros(&names(count, Order::Sorted), &[4, 8])?;
        self.write("objects.safetensors", &file)
    }

    /// Creates a file with one dense component of `f32`.
    pub(crate) fn dense(&self, bytes: &[u8], options: &WriteOptions) -> Result<PathBuf> {
        let mut writer = Writer::new(Vec::new(), options)?;
        let shape = [bytes.len() as u64 / 4];
        writer.add("w", &shape, ComponentData::of_bytes(DType::F32, bytes))?;
        self.write("dense.zt", &writer.finish()?)
    }

    /// Creates a file with one compressed component of bytes.
    pub(crate) fn packed(&self, bytes: &[u8]) -> Result<PathBuf> {
        self.compressed(Generation::V1_2, "packed.zt", &[bytes])
    }

    /// Creates two files of 2 with the same bytes in frames of 1 MiB: as one component, and as two components of half the size.
    pub(crate) fn frames(&self, bytes: &[u8]) -> Result<[PathBuf; 2]> {
        let (front, back) = bytes.split_at(bytes.len() / 2);
        Ok([
            self.compressed(Generation::V2, "frames.zt", &[bytes])?,
            self.compressed(Generation::V2, "halves.zt", &[front, back])?,
        ])
    }

    fn compressed(&self, generation: Generation, name: &str, all: &[&[u8]]) -> Result<PathBuf> {
        let options = WriteOptions::default().generation(generation).checksum(Checksum::None);
        let mut writer = Writer::new(Vec::new(), &options.compressed(Level::default()))?;
        for (bytes, name) in all.iter().zip(["v", "w"]) {
            writer.add(name, &[bytes.len() as u64], *bytes)?;
        }
        self.write(name, &writer.finish()?)
    }

    /// Creates a square matrix of `rows` rows with `each` entries in each row.
    pub(crate) fn csr(&self, rows: u64, each: u64) -> Result<PathBuf> {
        let mut random = Rng::with_seed(5);
        let indptr: Vec<u64> = (0..=rows).map(|row| row * each).collect();
        let column = |entry: u64, jump: u64| entry * (rows / each) + jump;
        let indices: Vec<u64> = (0..rows)
            .flat_map(|_| {
                (0..each).map(|entry| column(entry, random.u64(..rows / each))).collect::<Vec<_>>()
            })
            .collect();
        let values = floats(rows * each, &mut random);
        let mut writer = Writer::new(Vec::new(), &WriteOptions::default())?;
        let parts = [
            ("indptr", ComponentData::from(&indptr)),
            ("values", ComponentData::of_bytes(DType::F32, &values)),
            ("indices", ComponentData::from(&indices)),
        ];
        writer.add_csr("m", &[rows, rows], &parts)?;
        self.write("csr.zt", &writer.finish()?)
    }
}

/// Returns the names of a transformer's tensors.
pub(crate) fn names(count: usize, order: Order) -> Vec<String> {
    let names = generate::names(count);
    if order == Order::Shuffled { generate::shuffled(names) } else { names }
}

/// Returns a number with a nearly normal distribution: the sum of twelve uniformly distributed numbers.
fn normal(random: &mut Rng) -> f32 {
    (0..12).map(|_| random.f32()).sum::<f32>() - 6.0
}

/// Returns normally distributed `f32` numbers.
pub(crate) fn floats(count: u64, random: &mut Rng) -> Vec<u8> {
    (0..count).flat_map(|_| normal(random).to_le_bytes()).collect()
}

/// Creates the five kinds of data, of `bytes` bytes each.
pub(crate) fn kinds(bytes: usize) -> Vec<(&'static str, Vec<u8>)> {
    let mut random = Rng::with_seed(4);
    let count = bytes as u64;
    let bf16 = (0..count / 2).flat_map(|_| {
        let [_, _, low, high] = normal(&mut random).to_le_bytes();
        [low, high]
    });
    let bf16: Vec<u8> = bf16.collect();
    let int8: Vec<u8> = (0..count)
        .flat_map(|_| ((normal(&mut random) * 32.0).clamp(-128.0, 127.0) as i8).to_le_bytes())
        .collect();
    let sparse = (0..count / 4).flat_map(|_| {
        let zero = random.u8(..5) > 0;
        (if zero { 0.0 } else { normal(&mut random) }).to_le_bytes()
    });
    let sparse: Vec<u8> = sparse.collect();
    let mut last = 0_u64;
    let sorted = (0..count / 8).flat_map(|_| {
        last += random.u64(..1000);
        last.to_le_bytes()
    });
    let sorted: Vec<u8> = sorted.collect();
    vec![
        ("f32, normal", floats(count / 4, &mut random)),
        ("bf16, normal", bf16),
        ("int8, normal", int8),
        ("f32, 80 % zeros", sparse),
        ("u64, sorted", sorted),
    ]
}

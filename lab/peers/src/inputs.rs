//! What is raced over: files that are made from a seed, whole and in memory.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use safetensors::tensor::{Dtype, TensorView};
use zten::write::{Checksum, Level, NewObject, Settings, Writer};
use zten::{Archive, StorageType};

use crate::generate::{self, Random, head, text};

/// Bytes of each of many objects.
const SMALL: usize = 64;
const SHAPE: [u64; 2] = [4, 8];

/// Where the files of one run are.
pub(crate) struct Inputs {
    folder: tempfile::TempDir,
}

/// In which order names stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// As they sort.
    Sorted,
    /// In none.
    Shuffled,
}

impl Inputs {
    /// A folder that is in memory, where the system has one.
    pub(crate) fn new() -> Result<Self> {
        let shared = Path::new("/dev/shm");
        let folder =
            if shared.is_dir() { tempfile::tempdir_in(shared)? } else { tempfile::tempdir()? };
        Ok(Self { folder })
    }

    /// The place of a file.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.path(name);
        fs::write(&path, bytes)?;
        Ok(path)
    }

    /// So many small dense objects with the names of a transformer's tensors, in 1.2.
    pub(crate) fn objects(&self, count: usize, order: Order, sum: Checksum) -> Result<PathBuf> {
        let settings = Settings::default().checksum(sum);
        let mut writer = Writer::new(Vec::new(), &settings)?;
        for name in names(count, order) {
            let object = NewObject::dense(&name, &SHAPE, StorageType::Bf16);
            writer.add(&object, &[("data", &[0; SMALL])])?;
        }
        self.write("objects.zt", &writer.finish()?)
    }

    /// The same in 0.1.
    pub(crate) fn old_objects(&self, count: usize) -> Result<PathBuf> {
        let mut file = b"ZTEN0001".to_vec();
        file.resize(SMALL * (count + 1), 0);
        let start = file.len();
        head(&mut file, 4, count as u64);
        for (place, name) in names(count, Order::Sorted).iter().enumerate() {
            head(&mut file, 5, 7);
            for (key, value) in [
                ("name", name.as_str()),
                ("dtype", "bfloat16"),
                ("layout", "dense"),
                ("encoding", "raw"),
            ] {
                text(&mut file, key);
                text(&mut file, value);
            }
            for (key, value) in [("offset", SMALL * (place + 1)), ("size", SMALL)] {
                text(&mut file, key);
                head(&mut file, 0, value as u64);
            }
            text(&mut file, "shape");
            head(&mut file, 4, 2);
            for dimension in SHAPE {
                head(&mut file, 0, dimension);
            }
        }
        let size = (file.len() - start) as u64;
        file.extend(size.to_le_bytes());
        Archive::open(&file)?;
        self.write("old.zt", &file)
    }

    /// The same as `safetensors` writes it.
    pub(crate) fn safetensors(&self, count: usize) -> Result<PathBuf> {
        let shape: Vec<usize> = SHAPE.iter().map(|dimension| *dimension as usize).collect();
        let view = || TensorView::new(Dtype::BF16, shape.clone(), &[0; SMALL]);
        let tensors = names(count, Order::Sorted).into_iter().map(|name| Ok((name, view()?)));
        let tensors: Vec<_> = tensors.collect::<Result<_, safetensors::SafeTensorError>>()?;
        self.write("objects.safetensors", &safetensors::serialize(tensors, None)?)
    }

    /// One dense component of `f32`.
    pub(crate) fn dense(&self, bytes: &[u8], settings: &Settings) -> Result<PathBuf> {
        let mut writer = Writer::new(Vec::new(), settings)?;
        let shape = [bytes.len() as u64 / 4];
        writer.add(&NewObject::dense("w", &shape, StorageType::F32), &[("data", bytes)])?;
        self.write("dense.zt", &writer.finish()?)
    }

    /// One component of bytes, compressed.
    pub(crate) fn packed(&self, bytes: &[u8]) -> Result<PathBuf> {
        let settings = Settings::default().checksum(Checksum::None);
        let mut writer = Writer::new(Vec::new(), &settings)?;
        let shape = [bytes.len() as u64];
        let object = NewObject::dense("w", &shape, StorageType::U8);
        writer.add(&object.compressed(Level::default()), &[("data", bytes)])?;
        self.write("packed.zt", &writer.finish()?)
    }

    /// A square matrix with so many entries in each row.
    pub(crate) fn csr(&self, rows: u64, each: u64) -> Result<PathBuf> {
        let mut random = Random(5);
        let indptr: Vec<u8> = (0..=rows).flat_map(|row| (row * each).to_le_bytes()).collect();
        let column = |entry: u64, jump: u64| entry * (rows / each) + jump % (rows / each);
        let indices: Vec<u8> = (0..rows)
            .flat_map(|_| (0..each).map(|entry| column(entry, random.next())).collect::<Vec<_>>())
            .flat_map(u64::to_le_bytes)
            .collect();
        let values = floats(rows * each, &mut random);
        let mut writer = Writer::new(Vec::new(), &Settings::default())?;
        let shape = [rows, rows];
        let object = NewObject::sparse_csr("m", &shape, StorageType::F32, rows * each);
        let parts: [(&str, &[u8]); 3] =
            [("indptr", &indptr), ("values", &values), ("indices", &indices)];
        writer.add(&object, &parts)?;
        self.write("csr.zt", &writer.finish()?)
    }
}

/// The names of a transformer's tensors.
pub(crate) fn names(count: usize, order: Order) -> Vec<String> {
    let mut names = generate::names(count);
    if order == Order::Shuffled {
        Random(1).shuffle(&mut names);
    }
    names
}

/// A number that is normally distributed, nearly: the sum of twelve that are evenly.
fn normal(random: &mut Random) -> f32 {
    let even = |random: &mut Random| (random.next() >> 40) as f32 / (1 << 24) as f32;
    (0..12).map(|_| even(random)).sum::<f32>() - 6.0
}

/// So many `f32`, normally distributed.
pub(crate) fn floats(count: u64, random: &mut Random) -> Vec<u8> {
    (0..count).flat_map(|_| normal(random).to_le_bytes()).collect()
}

/// The five kinds of data, of so many bytes each.
pub(crate) fn kinds(bytes: usize) -> Vec<(&'static str, Vec<u8>)> {
    let mut random = Random(4);
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
        let zero = !random.next().is_multiple_of(5);
        (if zero { 0.0 } else { normal(&mut random) }).to_le_bytes()
    });
    let sparse: Vec<u8> = sparse.collect();
    let mut last = 0_u64;
    let sorted = (0..count / 8).flat_map(|_| {
        last += random.next() % 1000;
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

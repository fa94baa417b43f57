//! The readers that get the suite, and the function that each runs in its own process.

mod demo;
mod zten;

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use zten_lab::readers::subject::run;
use zten_lab::readers::{safetensors, ztensor, ztensor_2};

use crate::suite::Entry;

/// The program in which a reader runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// This program, for the library `zten` and the readers that it links.
    Runner,
    /// The program `lab/others/src/compared.rs`, for ztensor 1.1.1.
    Ztensor1_1,
    /// The program `lab/others/src/candle.rs`, for candle.
    Candle,
    /// The script `lab/python/readers/read.py`, for packages of Python.
    Python,
}

/// A reader in one of its ways of reading.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reader {
    /// The name of the reader on the command line.
    pub(crate) key: &'static str,
    /// The name of the reader in the results.
    pub(crate) name: &'static str,
    /// The functions that the reader calls.
    pub(crate) calls: &'static str,
    pub(crate) program: Program,
    /// The formats that the reader reads. A generation of zTensor is spelled `ztensor`, a space and the generation.
    reads: &'static [&'static str],
}

impl Reader {
    const fn new(
        program: Program,
        [key, name, calls]: [&'static str; 3],
        reads: &'static [&'static str],
    ) -> Self {
        Self { key, name, calls, program, reads }
    }

    /// Finds the reader called `key`.
    pub(crate) fn find(key: &str) -> Result<&'static Self> {
        let mut all = READERS.iter().chain([&ZTEN, &DEMO]);
        all.find(|one| one.key == key).with_context(|| format!("no reader {key:?}"))
    }

    /// Returns whether the reader gets a file. Only `zten` looks for the other files of a split model.
    pub(crate) fn is_given(&self, entry: &Entry) -> bool {
        let is_alone = !entry.file.contains("-of-0") || entry.file.contains("-of-00001");
        self.reads.contains(&&*entry.kind()) && (is_alone || entry.format != "gguf")
    }
}

const UP_TO_1_1: &[&str] = &["ztensor 0.1", "ztensor 1.1"];
const UP_TO_1_2: &[&str] = &["ztensor 0.1", "ztensor 1.1", "ztensor 1.2"];

/// The reader zten, which gets every file.
pub(crate) static ZTEN: Reader =
    Reader::new(Program::Runner, ["zten", "zten", "open, verify and read everything"], &[]);

/// A reader that does what its options say, so that tests can produce every outcome.
static DEMO: Reader = Reader::new(Program::Runner, ["demo", "demo", ""], &[]);

/// All readers except [`ZTEN`] and [`DEMO`], each with its strictest settings.
pub(crate) static READERS: [Reader; 15] = [
    Reader::new(
        Program::Runner,
        ["ztensor-1.2.3", "ztensor 1.2.3", "`Reader::open_any_path`: read, checksums verified"],
        UP_TO_1_2,
    ),
    Reader::new(
        Program::Runner,
        ["ztensor-1.2.3-mapped", "ztensor 1.2.3, mapped", "`Reader::open_mmap_shared_any`"],
        UP_TO_1_2,
    ),
    Reader::new(
        Program::Ztensor1_1,
        ["ztensor-1.1.1", "ztensor 1.1.1", "`ZTensorReader::open`, `LegacyReader::open` for 0.1"],
        UP_TO_1_1,
    ),
    Reader::new(
        Program::Ztensor1_1,
        ["ztensor-1.1.1-mapped", "ztensor 1.1.1, mapped", "`open_mmap` of the two"],
        UP_TO_1_1,
    ),
    Reader::new(
        Program::Runner,
        ["ztensor-2.1.1", "ztensor 2.1.1", "`Source::options().map(false)`, digests verified"],
        &["ztensor 2"],
    ),
    Reader::new(
        Program::Runner,
        ["ztensor-2.1.1-mapped", "ztensor 2.1.1, mapped", "`Source::open`, digests verified"],
        &["ztensor 2"],
    ),
    Reader::new(
        Program::Runner,
        ["safetensors", "safetensors 0.8.0", "`SafeTensors::deserialize`, every tensor"],
        &["safetensors"],
    ),
    Reader::new(
        Program::Python,
        ["safetensors-python", "safetensors 0.8.0, Python", "`safetensors.deserialize`"],
        &["safetensors"],
    ),
    Reader::new(
        Program::Candle,
        [
            "candle",
            "candle-core 0.11.1",
            "`BufferedSafetensors`, `gguf_file::Content`, `Tensor::read_npy`, `NpzTensors`, `PthTensors`, every tensor",
        ],
        &["safetensors", "gguf", "npy", "npz", "torch"],
    ),
    Reader::new(
        Program::Python,
        ["gguf", "gguf 0.19.0, Python", "`GGUFReader`, every tensor"],
        &["gguf"],
    ),
    Reader::new(
        Program::Python,
        ["numpy", "NumPy 2.4.6", "`numpy.load` with `allow_pickle=False`, every array"],
        &["npy", "npz"],
    ),
    Reader::new(
        Program::Python,
        ["torch", "PyTorch 2.15.0", "`torch.load` with `weights_only=True`, every tensor"],
        &["torch"],
    ),
    Reader::new(
        Program::Python,
        ["fickling", "fickling 0.1.12", "`scan_zip_archive`, which reads no tensors"],
        &["torch"],
    ),
    Reader::new(
        Program::Python,
        ["picklescan", "picklescan 1.0.5", "`scan_file_path`, which reads no tensors"],
        &["torch"],
    ),
    Reader::new(
        Program::Python,
        ["modelscan", "modelscan 0.8.8", "`ModelScan.scan`, which reads no tensors"],
        &["torch"],
    ),
];

/// Reads a file with one reader, and prints the outcome. `options` are those of the corpus, which only `zten` uses.
pub(crate) fn work(key: &str, file: &Path, options: &str) -> Result<()> {
    match key {
        "zten" => run(file, |file, report| zten::read(file, options, report)),
        "ztensor-1.2.3" => run(file, ztensor::stream),
        "ztensor-1.2.3-mapped" => run(file, ztensor::mapped),
        "ztensor-2.1.1" => run(file, ztensor_2::stream),
        "ztensor-2.1.1-mapped" => run(file, ztensor_2::mapped),
        "safetensors" => run(file, safetensors::read),
        "demo" => run(file, |_, report| demo::read(options, report)),
        other => bail!("{other} is not in this program"),
    }
    Ok(())
}

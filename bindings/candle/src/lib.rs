//! Loads weights from tensor files into [candle](candle_core). It reads one or several zTensor files of any generation
//! with their shards, safetensors files and indices of them, and GGUF, `.npy` and `.npz` files.
//!
//! ```
//! use candle_core::{DType, Device};
//!
//! # fn main() -> candle_core::Result<()> {
//! # let path = "../../corpus/accept/1.2.3/dense_all.zt";
//! let weights = zten_candle::var_builder(&[path], DType::F32, &Device::Cpu)?;
//! let matrix = weights.get((2, 3), "t_f32")?;
//! # assert_eq!(matrix.to_vec2::<f32>()?[0], [-1.25, -0.75, -0.25]);
//! # Ok(())
//! # }
//! ```
//!
//! Opening validates the manifests and headers. Loading a tensor reads and decodes it, and verifies its digest or checksum
//! if it has one. Its elements are read directly into the memory of the candle tensor. [`Weights::load`] dequantizes
//! quantized tensors, and [`Weights::quantized`] keeps blocks of GGUF quantized. Elements are never cast: types that candle does
//! not support are an error. These are booleans, complex numbers, `u16`, `u64`, `i8`, and FP8 types other than E4M3.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
    )
)]

mod elements;
mod gguf;
mod quantized;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, available_parallelism};

use candle_core::{DType, Device, Error, Result, Shape, Tensor};
use candle_nn::var_builder::SimpleBackend;
use candle_nn::{Init, VarBuilder};
use zten::{Archive, OpenOptions};

pub use crate::gguf::Gguf;
use crate::quantized::Blocks;

/// The tensors of one or more files, found by their names.
///
/// `Weights` implements [`SimpleBackend`], so a box with weights can be passed to [`VarBuilder::from_backend`].
#[derive(Debug)]
pub struct Weights {
    files: Vec<WeightFile>,
    /// For each tensor name, the index in `files` of the file that contains the tensor.
    names: HashMap<String, usize>,
}

/// An open file with its shards, and its path.
#[derive(Debug)]
struct WeightFile {
    path: PathBuf,
    archive: Archive,
}

impl WeightFile {
    /// Returns `error` with the path of this file and the name `name` of the object in its message.
    fn place(&self, error: Error, name: &str) -> Error {
        error.context(name.to_owned()).with_path(&self.path)
    }
}

/// Opens the files `paths` with [`Weights::open`], and returns a `VarBuilder`, from which candle's models take their tensors.
/// Tensors are converted to `dtype` and moved to `device`, as candle does with tensors from safetensors.
///
/// # Errors
/// The errors of [`Weights::open`].
pub fn var_builder<'a, P: AsRef<Path>>(
    paths: &[P],
    dtype: DType,
    device: &Device,
) -> Result<VarBuilder<'a>> {
    let weights = Weights::open(paths, &OpenOptions::default())?;
    Ok(VarBuilder::from_backend(Box::new(weights), dtype, device.clone()))
}

impl Weights {
    /// Opens the files `paths`, of any format that [`zten::formats`] reads, with their shards, which are in the same folder or in
    /// its subfolder `blobs` (v2 §7.1), and with the files that an index of safetensors files names. No tensors are read, except
    /// small tensors that hold the shapes of some quantized tensors.
    ///
    /// Tensors that a program has quantized and stored as several tensors, such as `X_blocks` and `X_scales`, are one tensor `X`,
    /// which [`load`](Self::load) dequantizes. A model that reads the codes itself opens the file with
    /// [`open_plain`](Self::open_plain).
    ///
    /// # Errors
    /// A file cannot be read, its manifest or header violates a rule of its format, or two files contain objects with the
    /// same name.
    pub fn open<P: AsRef<Path>>(paths: &[P], options: &OpenOptions) -> Result<Self> {
        Self::open_as(paths, options, Archive::with_conventions)
    }

    /// Opens files as [`open`](Self::open) does, but with the tensors that the files store: codes and scales are tensors of their
    /// own.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_plain<P: AsRef<Path>>(paths: &[P], options: &OpenOptions) -> Result<Self> {
        Self::open_as(paths, options, Ok)
    }

    fn open_as<P: AsRef<Path>>(
        paths: &[P],
        options: &OpenOptions,
        view: impl Fn(Archive) -> zten::Result<Archive>,
    ) -> Result<Self> {
        let (mut files, mut names) = (Vec::new(), HashMap::new());
        for path in paths {
            let path = path.as_ref();
            let archive = options.open(path).and_then(&view);
            let archive = archive.map_err(|error| Error::wrap(error).with_path(path))?;
            for name in archive.names() {
                if let Some(other) = names.insert(name.to_owned(), files.len()) {
                    let other = files.get(other).map_or(path, |file: &WeightFile| &file.path);
                    let twice = format!("the tensor {name:?} is also in {}", other.display());
                    return Err(Error::msg(twice).with_path(path));
                }
            }
            files.push(WeightFile { path: path.to_owned(), archive });
        }
        Ok(Self { files, names })
    }

    /// Returns the names of all objects, in no particular order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// Reads, decodes and verifies the tensor `name`, and returns it on `device`, with its own type and shape. A quantized tensor
    /// is dequantized to `f32`.
    ///
    /// # Errors
    /// - [`Error::CannotFindTensor`] if no file contains `name`.
    /// - The object is neither dense nor quantized.
    /// - Candle does not support the type of the elements.
    /// - The bytes do not match their digest, or break another rule on content.
    /// - A shard is missing.
    pub fn load(&self, name: &str, device: &Device) -> Result<Tensor> {
        let (file, tensor) = self.find(name)?;
        let read = || {
            // Only the error of this call is needed: it says that the attributes give a block of GGUF another size than
            // its type has.
            Blocks::of(&tensor)?;
            if tensor.is_quantized() {
                quantized::dequantize(&tensor, device, file.archive.limits().decoded())
            } else {
                elements::tensor(&tensor, device)
            }
        };
        read().map_err(|error| file.place(error, name))
    }

    /// Loads all tensors as [`load`](Self::load) does, on as many threads as there are processors, and returns them by their names.
    /// [`VarBuilder::from_tensors`] accepts the result.
    ///
    /// # Errors
    /// The errors of [`load`](Self::load) for any of the tensors.
    pub fn load_all(&self, device: &Device) -> Result<HashMap<String, Tensor>> {
        let names: Vec<&str> = self.names().collect();
        let next = AtomicUsize::new(0);
        let read = || -> Result<Vec<(String, Tensor)>> {
            let name = || names.get(next.fetch_add(1, Ordering::Relaxed));
            let mut own = Vec::new();
            while let Some(name) = name() {
                let tensor = self.load(name, device).inspect_err(|_| {
                    // After an error, the other threads find no tensor left to load, so they end.
                    next.store(names.len(), Ordering::Relaxed);
                })?;
                own.push(((*name).to_owned(), tensor));
            }
            Ok(own)
        };
        let threads = available_parallelism().map_or(1, usize::from).min(names.len());
        thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(read)).collect();
            let read = threads.into_iter().map(|thread| {
                let read = thread.join();
                read.unwrap_or_else(|_| Err(Error::msg("internal error: a thread panicked")))
            });
            let all: Vec<_> = read.collect::<Result<_>>()?;
            Ok(all.into_iter().flatten().collect())
        })
    }

    /// Returns the object with this name, whose shape, type, layout and attributes can be inspected. Does not read its
    /// data.
    ///
    /// # Errors
    /// [`Error::CannotFindTensor`] if no file contains `name`.
    pub fn tensor(&self, name: &str) -> Result<zten::Tensor<'_>> {
        self.find(name).map(|(_, tensor)| tensor)
    }

    /// Returns the files in the order in which they were given: the path of each, and its attributes, format and shards.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &Archive)> {
        self.files.iter().map(|file| (file.path.as_path(), &file.archive))
    }

    fn find(&self, name: &str) -> Result<(&WeightFile, zten::Tensor<'_>)> {
        let file = self.names.get(name).and_then(|file| self.files.get(*file));
        let found = file.and_then(|file| Some((file, file.archive.get(name)?)));
        found.ok_or_else(|| Error::CannotFindTensor { path: name.to_owned() }.bt())
    }
}

impl SimpleBackend for Weights {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        _: Init,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        // The shape is checked before the tensor is read, so that a tensor which is larger than the model expects takes no time
        // or memory.
        let (_, tensor) = self.find(name)?;
        let got = Shape::from(elements::dims(tensor.shape())?);
        if got != shape {
            let msg = format!("shape mismatch for {name}");
            return Err(Error::UnexpectedShape { msg, expected: shape, got }.bt());
        }
        self.get_unchecked(name, dtype, device)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        self.load(name, device)?.to_dtype(dtype)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }
}

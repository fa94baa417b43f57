//! A layer of a network whose weights lie in flash: they are verified once, and read where they lie.
//!
//! The program that uses this brings an allocator, of which opening takes a few hundred bytes, and a
//! panic handler, which nothing here needs. The file is put into the image so that it is aligned:
//!
//! ```
//! #[repr(C, align(64))]
//! struct Aligned<T: ?Sized>(T);
//! # macro_rules! include_model { () => { *include_bytes!("../../corpus/accept/1.2.3/dense_all.zt") } }
//! static MODEL: &Aligned<[u8]> = &Aligned(include_model!());
//!
//! let layer = zten_embedded::layer::Layer::open(&MODEL.0, "t_f32")?;
//! let mut outputs = [0.0; 2];
//! layer.apply(&[1.0, 0.0, 0.0], &mut outputs)?;
//! assert_eq!(outputs, [-1.25, 0.25]);
//! # Ok::<(), zten::Error>(())
//! ```

use zten::error::Misuse;
use zten::{Archive, Error, InMemory, Limits, OpenOptions};

/// A matrix of `f32` in flash, one row for each output.
#[derive(Debug)]
pub struct Layer {
    archive: Archive<InMemory<&'static [u8]>>,
    name: &'static str,
}

impl Layer {
    /// Opens `file`, verifies all of it, and finds the tensor `name`. Whether the tensor is a matrix of `f32` is checked by
    /// [`apply`](Self::apply).
    ///
    /// # Errors
    /// Any rule that the file breaks; [`Misuse::NoTensor`] if there is no tensor of that name.
    pub fn open(file: &'static [u8], name: &'static str) -> Result<Self, Error> {
        // These limits need little memory: a manifest has at most 1 MiB, and content is read in pieces of 1 KiB.
        let options = OpenOptions::default().limits(Limits::embedded());
        let archive = options.from_bytes(file)?;
        archive.verify()?;
        archive.tensor(name)?;
        Ok(Self { archive, name })
    }

    /// Multiplies the matrix by `inputs` and writes the result to `outputs`. Nothing is allocated or copied.
    ///
    /// # Errors
    /// [`Misuse::Type`] if the tensor is not a matrix of `f32`; [`Misuse::Buffer`] if the number of inputs or outputs
    /// does not fit the shape of the matrix.
    pub fn apply(&self, inputs: &[f32], outputs: &mut [f32]) -> Result<(), Error> {
        let tensor = self.archive.tensor(self.name)?;
        if tensor.shape() != [outputs.len(), inputs.len()].map(|length| length as u64) {
            return Err(Misuse::Buffer.into());
        }
        let mut weights = tensor.dense()?.view()?.elements::<f32>()?;
        for output in outputs {
            *output = weights.by_ref().zip(inputs).take(inputs.len()).map(|(a, b)| a * b).sum();
        }
        Ok(())
    }
}

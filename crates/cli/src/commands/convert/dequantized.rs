//! The values of quantized tensors, converted to dense floats.

use std::io;

use zten::formats::write::ChunkFn;
use zten::verify::Verifier;
use zten::{Error, Tensor};

use super::cast::Beyond;
use crate::args::Float;

/// How to convert dequantized values: the type of the floats to write, and what happens to a value that is out of its range.
#[derive(Clone, Copy)]
pub(super) struct Dequantized<'a> {
    pub(super) to: Float,
    pub(super) beyond: Beyond<'a>,
}

impl Dequantized<'_> {
    /// Passes the values of `object` to `take` as floats of the type `to`, until `take` or a conversion fails. `verifier` verifies
    /// the components. The inner error is the error of `take`, or says that a value is out of range; `beyond` then holds the
    /// value.
    pub(super) fn read(
        self,
        verifier: &mut Verifier,
        object: &Tensor<'_>,
        take: &mut ChunkFn<'_>,
    ) -> Result<io::Result<()>, Error> {
        let (mut numbers, mut out, mut done) = (Vec::new(), Vec::new(), Ok(()));
        verifier.values(object, |chunk| {
            if done.is_ok() {
                numbers.clear();
                numbers.extend(chunk.iter().copied().map(f64::from));
                out.clear();
                let converted = self.to.append(&numbers, &mut out, self.beyond);
                done = converted.and_then(|()| take(&out));
            }
        })?;
        Ok(done)
    }
}

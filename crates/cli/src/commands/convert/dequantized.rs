//! The values of quantized tensors, converted to dense floats.

use std::cell::Cell;
use std::io;

use zten::formats::write::ChunkFn;
use zten::verify::Verifier;
use zten::{Error, Tensor};

use crate::args::Float;

/// The type of the floats to write, and whether numbers beyond the largest one become the largest.
#[derive(Clone, Copy)]
pub(super) struct Dequantized {
    pub(super) to: Float,
    pub(super) saturates: bool,
}

impl Dequantized {
    /// Passes the values of `object` to `take` as floats, until `take` fails. `verifier` verifies the components. The inner error is that
    /// of `take`, or of a number beyond the largest, which is stored in `overflow`.
    pub(super) fn read(
        self,
        verifier: &mut Verifier,
        object: &Tensor<'_>,
        (overflow, take): (&Cell<Option<f64>>, &mut ChunkFn<'_>),
    ) -> Result<io::Result<()>, Error> {
        let (mut numbers, mut out, mut done) = (Vec::new(), Vec::new(), Ok(()));
        verifier.values(object, |chunk| {
            if done.is_ok() {
                numbers.clear();
                numbers.extend(chunk.iter().copied().map(f64::from));
                out.clear();
                let converted = self.to.append(&numbers, &mut out, (self.saturates, overflow));
                done = converted.and_then(|()| take(&out));
            }
        })?;
        Ok(done)
    }
}

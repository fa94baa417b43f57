//! Computes the elements of quantized objects for the JavaScript package.

use std::io::{self, BufWriter, Write};

use crate::border::{Answer, Out};
use crate::problem;
use crate::session::{self, File};
use zten::verify::Verified;
use zten::{Error, Tensor};

use super::read::done;

/// Dequantizes the tensor with the ordinal `object` in `file`, and passes its elements to the JavaScript host as little-endian
/// `f32`, in row-major order. Then writes the answer to `out`: whether the digests were verified or, if the elements cannot be
/// computed, the finding that says why. The errors that are returned are those of `out`.
pub(crate) fn object(file: &'static File, object: u32, out: &mut Answer) -> io::Result<()> {
    let mut data = BufWriter::with_capacity(1 << 16, Out::Data);
    let read = session::tensor(file, object).and_then(|tensor| elements(&tensor, &mut data));
    data.flush()?;
    match read {
        Ok(verified) => done(Some(verified), out),
        Err(error) => problem::reading(file, &error, out),
    }
}

fn elements(tensor: &Tensor<'_>, out: &mut impl Write) -> Result<Verified, Error> {
    let mut values = tensor.dequantizer()?;
    while let Some(chunk) = values.next_chunk()? {
        for value in chunk {
            // Handing bytes to the host cannot fail, so the result is ignored.
            let _ = out.write_all(&value.to_le_bytes());
        }
    }
    Ok(values.verified().unwrap_or(Verified::NoDigest))
}

//! Dequantizes objects: blocks of GGUF, blocks of `zt.mx/1`, and quantized groups.

use std::io::{self, BufWriter, Write};

use crate::border::{Answer, Out};
use crate::problem;
use crate::session::{self, File};
use zten::error::OutOfMemory;
use zten::formats::Block;
use zten::verify::Verified;
use zten::{Error, Layout, Tensor};

use super::read::done;

/// Hands the dequantized elements of an object to the host, as little-endian `f32`.
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
    let mut hand = |values: &[f32]| {
        for value in values {
            // Handing bytes to the host does not fail.
            let _ = out.write_all(&value.to_le_bytes());
        }
        Ok::<(), Error>(())
    };
    if let (Some(block), Some(data)) = (Block::of_layout(tensor), tensor.components().next()) {
        let (mut reader, mut blocks) = (data.reader()?, block.dequantizer());
        while let Some(chunk) = reader.next_chunk()? {
            blocks.chunk(chunk, &mut hand)?;
        }
        return Ok(all([reader.verified()]));
    }
    // Memory is allocated only after the lengths of the parts have been checked against the shape.
    if tensor.layout() == Layout::Mx {
        let mx = tensor.mx()?;
        let mut values = zeros(tensor)?;
        mx.dequantize(&mut values)?;
        hand(&values)?;
        return Ok(all([mx.data(), mx.scales()].map(|view| view.verified())));
    }
    let group = tensor.quantized()?;
    let mut values = zeros(tensor)?;
    group.dequantize(&mut values)?;
    hand(&values)?;
    let parts = [Some(group.packed_weight()), Some(group.scales()), group.zeros()];
    Ok(all(parts.into_iter().flatten().map(|view| view.verified())))
}

/// Allocates memory for the elements of an object.
fn zeros(tensor: &Tensor<'_>) -> Result<Vec<f32>, Error> {
    let count = tensor.element_count();
    let count = count.and_then(|count| usize::try_from(count).ok()).ok_or(OutOfMemory)?;
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| OutOfMemory)?;
    values.resize(count, 0.0);
    Ok(values)
}

/// Returns the verification of several parts together: digests count as verified only if those of all parts were.
fn all(parts: impl IntoIterator<Item = Option<Verified>>) -> Verified {
    let mut parts = parts.into_iter().map(|part| part.unwrap_or(Verified::Unverifiable));
    let first = parts.next().unwrap_or(Verified::NoDigest);
    parts.fold(first, |all, part| match (all, part) {
        (Verified::Digest, Verified::Digest) => Verified::Digest,
        (Verified::Unverifiable, _) | (_, Verified::Unverifiable) => Verified::Unverifiable,
        _ => Verified::NoDigest,
    })
}

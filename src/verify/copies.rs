//! Comparing the bytes of tensors that are in two files of an index.

use alloc::vec::Vec;

use crate::error::{BareError, Error, OutOfMemory, text};
use crate::escape::Short;
use crate::index::{CopyPair, Finding};
use crate::manifest::ManifestRef;
use crate::num::{u64_from_usize, usize_from_u32};
use crate::read_at::{ReadAt, Source};

/// The number of bytes of each of the two files that are read at once.
const PIECE: usize = 64 << 10;

/// Compares the tensors of `manifest` that are in two files, which are read from `source`, and returns the first pair whose
/// bytes differ as a finding. At most twice as many bytes are read as the tensors have that the index does not select, because
/// each of them is compared with one other tensor. A pair is skipped if one of its files was not found, since the check reports
/// the missing file.
///
/// # Errors
/// An error of the source; out of memory.
pub(super) fn compare(
    manifest: ManifestRef<'_>,
    source: &dyn Source,
) -> Result<Option<Finding>, Error> {
    let Some(copies) = manifest.copies() else { return Ok(None) };
    let mut buffers = [Vec::new(), Vec::new()];
    for buffer in &mut buffers {
        buffer.try_reserve_exact(PIECE).map_err(|_| OutOfMemory)?;
        buffer.resize(PIECE, 0);
    }
    for pair in &copies.pairs {
        let names = [pair.first, pair.second].map(|place| {
            let shard = manifest.shard_at(usize_from_u32(place.file));
            shard.map_or("", |shard| shard.name())
        });
        let [Some(first), Some(second)] = names.map(|name| source.sibling(name)) else { continue };
        let Some(at) = difference([&first, &second], pair, &mut buffers)? else { continue };
        let tensor = str::from_utf8(pair.name.of(&copies.names)).unwrap_or_default();
        let [first, second] = names;
        let sentence = text(format_args!(
            "{} has other bytes in this file than in {}{}",
            Short(tensor),
            Short(first),
            if pair.is_selected { ", where the index says that it is" } else { "" },
        ))?;
        let offset = pair.second.offset.saturating_add(at);
        let error = Error::of_format(copies.rule.into(), sentence, Some(offset));
        let names = [tensor, second].map(|name| text(format_args!("{name}")));
        let [tensor, file] = names;
        let error = error.about(Some(tensor?), Some(file?)).naming_its_tensor();
        return Ok(Some(Finding { error, more: 0, names: Vec::new() }));
    }
    Ok(None)
}

/// Returns the position in the tensor of the first byte in which the two files of `pair` differ. Returns `None` if no byte differs;
/// the same bytes of the same file are not read.
fn difference(
    files: [&dyn ReadAt; 2],
    pair: &CopyPair,
    buffers: &mut [Vec<u8>; 2],
) -> Result<Option<u64>, Error> {
    let [file, other_file] = files;
    // Many names may link to one large file. Reading that file once for each name would take far longer than its size suggests.
    let is_same_file = file.identity().is_some_and(|file| other_file.identity() == Some(file));
    if is_same_file && pair.first.offset == pair.second.offset {
        return Ok(None);
    }
    let [one, other] = buffers;
    let mut at = 0_u64;
    while at < pair.length {
        let left = usize::try_from(pair.length.saturating_sub(at)).unwrap_or(PIECE).min(PIECE);
        let [first, second] = [one.get_mut(..left), other.get_mut(..left)];
        let (first, second) = first.zip(second).ok_or(BareError::internal())?;
        file.read_at(pair.first.offset.saturating_add(at), first)?;
        other_file.read_at(pair.second.offset.saturating_add(at), second)?;
        if first != second {
            let differs = first.iter().zip(second.iter()).position(|(one, other)| one != other);
            return Ok(Some(at.saturating_add(u64_from_usize(differs.unwrap_or_default()))));
        }
        at = at.saturating_add(u64_from_usize(left));
    }
    Ok(None)
}

//! Where the data of tensors lies: one behind the other, with zeros up to the next multiple of the
//! alignment between them and at the end. Nothing is in the file that belongs to no tensor.

use crate::cursor::{Blames, Cursor};
use crate::listing::Tensors;
use crate::rules::Rule;
use crate::source::Source;
use crate::tensor::Tensor;
use crate::trouble::Trouble;
use zten_present::escape;

/// What the header says of where data lies.
pub(super) struct Layout {
    /// Where the header ends.
    pub(super) header: u64,
    /// Where the data begins.
    pub(super) data: u64,
    pub(super) alignment: u64,
}

/// Validates the places of tensors that are in the order of their data.
pub(super) fn validate(source: &Source, tensors: &Tensors, layout: &Layout) -> Result<(), Trouble> {
    let mut cursor = Cursor::new(source, layout.header..source.len(), Blames::GGUF);
    let mut before = String::new();
    for tensor in tensors.iter() {
        let start = place(&tensor, layout, source.len())?;
        // What is empty takes no place, wherever it lies.
        if tensor.bytes == 0 {
            continue;
        }
        if start < cursor.at() {
            let (name, before) = (escape::quoted(&tensor.name), escape::quoted(&before));
            let sentence = format!("{name} shares data with {before}");
            return Err(Trouble::refused_at(Rule::GgufOverlap, sentence, start));
        }
        padding(&mut cursor, layout.alignment)?;
        if start != cursor.at() {
            let sentence = "its data does not begin where that of the tensor before it ends";
            return Err(
                Trouble::refused_at(Rule::GgufContiguous, sentence, start).about(&tensor.name)
            );
        }
        cursor.skip(tensor.bytes)?;
        before = tensor.name;
    }
    padding(&mut cursor, layout.alignment)?;
    match source.len().checked_sub(cursor.at()) {
        None | Some(0) => Ok(()),
        Some(more) => {
            let sentence = format!("{more} bytes stand behind the data of the tensors");
            Err(Trouble::refused_at(Rule::GgufTrailing, sentence, cursor.at()))
        }
    }
}

/// Where the data of a tensor begins, if it can be there.
fn place(tensor: &Tensor, layout: &Layout, length: u64) -> Result<u64, Trouble> {
    let start = tensor.place.offset();
    let end = start.checked_add(tensor.bytes);
    if tensor.bytes == 0 || end.is_some_and(|end| end <= length) {
        return Ok(start);
    }
    let (offset, bytes) = (start.saturating_sub(layout.data), tensor.bytes);
    let sentence = format!("its data, at {offset}, takes {bytes} bytes, which are not there");
    Err(Trouble::refused(Rule::GgufBounds, sentence).about(&tensor.name))
}

/// Passes over the bytes up to the next multiple of the alignment, as far as the file goes.
fn padding(cursor: &mut Cursor<'_>, alignment: u64) -> Result<(), Trouble> {
    let end = cursor.at().checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
    cursor.zeros(end)
}

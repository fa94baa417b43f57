//! Quantized tensors that are stored as several tensors in the input, and as one object in a zTensor file.

use std::collections::BTreeMap;

use zten::conventions::Composites;
use zten::{Error, Generation};

use super::select::Selection;
use crate::args::Convert;
use crate::input::file::{FileWithShards, counted};
use crate::input::sources::Sources;
use crate::output::progress::Progress;

/// Finds the groups of tensors of `archive` that become composite objects in a zTensor file of `generation`. Finds no groups if the
/// user wants tensors to be written as they are, dequantized or with another dtype.
pub(super) fn find(
    args: &Convert,
    archive: &FileWithShards,
    generation: Generation,
    selection: &Selection,
) -> Result<Composites, Error> {
    if args.plain || args.dequantize.is_some() || args.dtype.is_some() {
        return Ok(Composites::default());
    }
    let progress = Progress::new(0).quiet_on_terminal();
    let files = Sources::bind(archive, &progress)?;
    Composites::find(archive, &files.all(), generation, &|ordinal| {
        let own = archive.manifest().tensor_at(ordinal).filter(|_| selection.holds(ordinal))?;
        Some(selection.new_name(ordinal).unwrap_or(own.name()))
    })
}

/// Returns the notes for the user: for each layout, the number of quantized tensors that became objects of this layout; and the
/// number of those that stay plain tensors, with the reason.
pub(super) fn notes(composites: &Composites) -> Vec<String> {
    let mut counts = BTreeMap::<_, u64>::new();
    for (convention, layout) in composites.forms() {
        let count = counts.entry((convention.title(), layout)).or_default();
        *count = count.saturating_add(1);
    }
    let written = counts.into_iter().map(|((title, layout), count)| {
        format!("{} written as {layout}", counted(count, &format!("{title} tensor")))
    });
    let plain = composites.plain().iter().map(|plain| {
        let noun = format!("{} tensor", plain.convention.title());
        format!("{} written as plain tensors: {}", counted(plain.count, &noun), plain.reason)
    });
    written.chain(plain).collect()
}

//! The tensors in the files of an index that the index does not select: the index does not have the name of the tensor, or maps
//! the name to another file.

use alloc::string::String;
use alloc::vec::Vec;

use crate::archive::Archive;
use crate::element::ByteOrder;
use crate::error::{Error, OutOfMemory};
use crate::escape::Short;
use crate::formats::error::{FormatError, copied};
use crate::formats::root::{PartFile, byte_length};
use crate::formats::rules::Rule;
use crate::index::{Copies, CopyPair, CopyPlace, Finding, Span};
use crate::limits::Limits;
use crate::manifest::{Component, Tensor};
use crate::num::{len_u32, sort_by, u64_from_usize, usize_from_u32};
use crate::read_at::ReadAt;
use crate::rules::Limit;

/// The list of tensors in the files of an index that the index does not select. Each tensor takes 48 bytes, its name, and a
/// text of its dtype and shape, so memory grows with the headers of the files.
#[derive(Debug, Default)]
pub(crate) struct Unselected {
    tensors: Vec<Other>,
    /// The names and descriptions of the tensors, one after the other. The spans of `tensors` point here.
    texts: Vec<u8>,
    /// The first finding of `index-unnamed`, about a tensor that the index does not name, and the number of such tensors.
    unnamed: Counted,
    /// The first finding of `index-copy`, about a tensor with a copy of the same dtype and shape in another file, and the
    /// number of such tensors. Whether the bytes of the copies are equal is found by a check.
    copies: Counted,
    /// The first finding of `index-overlay`, about a tensor that differs in dtype, layout or shape from a tensor of the same
    /// name in another file, or is stored in a form whose bytes zten does not compare with that tensor, and the number of such
    /// tensors.
    overlays: Counted,
}

/// A tensor in a file of the index that the index does not select.
#[derive(Clone, Copy, Debug)]
struct Other {
    name: Span,
    /// The span of the text that [`description`] returns for the tensor.
    description: Span,
    place: CopyPlace,
    /// The number of bytes of the tensor that a check compares with its copy, as [`compared_length`] returns it.
    length: Option<u64>,
}

/// A finding that is reported once, about the first tensor that breaks its rule, and the number of tensors that break the
/// rule.
#[derive(Debug, Default)]
struct Counted {
    first: Option<FormatError>,
    count: u64,
}

impl Counted {
    /// Counts a tensor that breaks the rule. `finding` makes the finding, and is called for the first tensor only.
    fn add(&mut self, finding: impl FnOnce() -> FormatError) {
        self.first.get_or_insert_with(finding);
        self.count = self.count.saturating_add(1);
    }

    fn into_finding(self) -> Option<Finding> {
        let error = Error::from(self.first?);
        let more = self.count.saturating_sub(1);
        Some(Finding { error, more, names: Vec::new() })
    }
}

impl Unselected {
    /// Adds `tensor` of the file `part`, whose ordinal is `file`, and returns the length of its elements in bytes. `is_named` says
    /// whether the index names the tensor, in another file.
    pub(super) fn add(
        &mut self,
        tensor: &Tensor<'_>,
        (part, file): (&PartFile<'_>, u32),
        is_named: bool,
        limits: &Limits,
    ) -> Result<u64, FormatError> {
        let name = tensor.name();
        if !is_named {
            self.unnamed.add(|| {
                let sentence = "is in this file, but the index does not name it";
                FormatError::predicate(Rule::IndexUnnamed, sentence).about(name).in_part(part.name)
            });
        }
        let offset = first_component(tensor)?.extent().offset();
        let description = description(tensor)?;
        let [name, description] = [name, &description].map(str::as_bytes).map(|text| {
            self.texts.try_reserve(text.len()).map_err(|_| OutOfMemory)?;
            let start = len_u32(self.texts.len());
            self.texts.extend_from_slice(text);
            Ok::<_, OutOfMemory>(Span::new(start, len_u32(text.len())))
        });
        // The limit bounds memory, and also keeps the spans of names and descriptions within 32 bits.
        let kept = u64_from_usize(self.texts.len());
        if kept > limits.manifest() {
            let sentence = "the names and descriptions of the tensors that the index does not select exceed the limit";
            return Err(FormatError::violation(Limit::Manifest, sentence).in_part(part.name));
        }
        let (place, length) = (CopyPlace { file, offset }, compared_length(tensor));
        self.tensors.try_reserve(1).map_err(|_| OutOfMemory)?;
        self.tensors.push(Other { name: name?, description: description?, place, length });
        Ok(byte_length(tensor))
    }

    /// Compares the dtype and shape of each tensor with those of the tensor that the index selects for its name, which is in
    /// `archive`, or, if the index does not have the name, with those of the first tensor of this name. Adds the findings to
    /// `archive`, and the pairs whose dtypes and shapes are equal, whose bytes a check compares. `files` are the files of the
    /// index in the order of their ordinals.
    pub(crate) fn resolve<S: ReadAt>(
        self,
        archive: &mut Archive<S>,
        files: &[PartFile<'_>],
    ) -> Result<(), FormatError> {
        let Self { mut tensors, texts, unnamed, mut copies, mut overlays } = self;
        if tensors.is_empty() {
            return Ok(());
        }
        let text_at = |span: Span| str::from_utf8(span.of(&texts)).unwrap_or_default();
        let file_at = |place: CopyPlace| files.get(usize_from_u32(place.file));
        let file_name = |place: CopyPlace| file_at(place).map_or("", |file| file.name);
        let order = |tensor: &Other| (text_at(tensor.name), tensor.place.file);
        sort_by(&mut tensors, |one, other| order(one).cmp(&order(other)));
        let mut pairs = Vec::new();
        for same in tensors.chunk_by(|one, other| text_at(one.name) == text_at(other.name)) {
            let Some((first, rest)) = same.split_first() else { continue };
            let name = text_at(first.name);
            // All tensors of one name are compared with the tensor that the index selects, or with the first of them if the index
            // does not have the name.
            let selected = archive.get(name);
            let is_selected = selected.is_some();
            let (place, own, others) = match &selected {
                Some(tensor) => (place_of(tensor, files)?, description(tensor)?, same),
                None => (first.place, copied(text_at(first.description))?, rest),
            };
            let compared = match &selected {
                Some(tensor) => compared_length(tensor),
                None => first.length,
            };
            let chosen = Short(file_name(place));
            let where_named = if is_selected { ", where the index says that it is" } else { "" };
            for other in others {
                let part = file_name(other.place);
                let found = text_at(other.description);
                if found != own {
                    overlays.add(|| {
                        let sentence = format_args!(
                            "is {found} in this file and {own} in {chosen}{where_named}"
                        );
                        FormatError::predicate(Rule::IndexOverlay, sentence)
                            .about(name)
                            .in_part(part)
                    });
                    continue;
                }
                let Some(length) = other.length.filter(|_| compared == other.length) else {
                    overlays.add(|| {
                        let sentence = format_args!(
                            "is in this file and in {chosen}{where_named}, in forms whose bytes zten does not compare"
                        );
                        FormatError::predicate(Rule::IndexOverlay, sentence)
                            .about(name)
                            .in_part(part)
                    });
                    continue;
                };
                copies.add(|| {
                    let sentence = format_args!("is in this file and in {chosen}{where_named}");
                    FormatError::predicate(Rule::IndexCopy, sentence).about(name).in_part(part)
                });
                pairs.try_reserve(1).map_err(|_| OutOfMemory)?;
                pairs.push(CopyPair {
                    name: other.name,
                    is_selected,
                    first: place,
                    second: other.place,
                    length,
                });
            }
        }
        let rule = Rule::IndexOverlay.row();
        let found = [overlays, copies, unnamed].into_iter().filter_map(Counted::into_finding);
        let copies = (!pairs.is_empty()).then_some(Copies { rule, names: texts, pairs });
        Ok(archive.add_copies(copies, found)?)
    }
}

/// Returns the place of the bytes of `tensor`: which of `files` holds the bytes of its first component, and the offset of the
/// bytes in that file. `files` are sorted by the lengths of their names, and then by the names.
fn place_of(tensor: &Tensor<'_>, files: &[PartFile<'_>]) -> Result<CopyPlace, FormatError> {
    let component = first_component(tensor)?;
    let place = component.shard().and_then(|name| {
        let by_length = |file: &PartFile<'_>| (file.name.len(), file.name).cmp(&(name.len(), name));
        let file = len_u32(files.binary_search_by(by_length).ok()?);
        Some(CopyPlace { file, offset: component.extent().offset() })
    });
    place.ok_or_else(|| FormatError::internal("a tensor is in no file of the index"))
}

fn first_component<'a>(tensor: &Tensor<'a>) -> Result<Component<'a>, FormatError> {
    let first = tensor.components().next();
    first.ok_or_else(|| FormatError::internal("a tensor has no components"))
}

/// Returns the number of bytes of `tensor` that are compared with those of its copy. Returns `None` if the bytes of equal tensors
/// may differ, because the tensor has several components, or its elements are strided, compressed, negated or big-endian.
fn compared_length(tensor: &Tensor<'_>) -> Option<u64> {
    let data = tensor.component("data").filter(Component::is_raw);
    let data = data.filter(|data| data.byte_order() == ByteOrder::Little);
    data.map(|data| data.extent().length())
}

/// Returns the dtype and the shape of `tensor` as text, or the layout and the shape if the tensor has no component `data`. Two
/// tensors are equal if these texts and their bytes are equal.
fn description(tensor: &Tensor<'_>) -> Result<String, FormatError> {
    let shape = tensor.shape();
    match tensor.component("data") {
        Some(data) => copied(format_args!("{} {shape:?}", data.type_name())),
        None => copied(format_args!("{} {shape:?}", tensor.layout_name())),
    }
}

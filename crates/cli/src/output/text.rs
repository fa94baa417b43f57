//! Short texts for element types, layouts and shapes.

use zten::conventions::Convention;
use zten::formats::Block;
use zten::manifest::ElementType;
use zten::{Layout, Tensor};

use crate::escape;

/// The largest width of a word in columns.
const WORD: usize = 24;
/// The largest width of a shape in columns.
const SHAPE: usize = 40;

/// Shortens `word`, and appends a question mark if the word is not `known` from the specification.
pub(crate) fn word(word: &str, known: bool) -> String {
    let mark = if known { "" } else { "?" };
    format!("{}{mark}", escape::word(word, WORD))
}

/// Returns the name of an element type. An unknown type is followed by its storage type.
pub(crate) fn element(element: ElementType<'_>) -> String {
    match element {
        ElementType::UnknownLogical(name, storage) => {
            format!("{} ({})", word(name, false), storage.name())
        }
        ElementType::UnknownOnLogical(name, dtype) => {
            format!("{} ({})", word(name, false), dtype.name())
        }
        ElementType::Opaque(name, _) => word(name, true),
        ElementType::Unknown(name) => word(name, false),
        known => known.name().to_owned(),
    }
}

/// Returns the name of the layout of `object`: `quantized` for a group of tensors that follow a convention.
pub(crate) fn format(object: &Tensor<'_>) -> String {
    if Convention::of(object).is_some() {
        return "quantized".to_owned();
    }
    word(object.layout_name(), is_known(object))
}

/// Returns whether zten knows the layout of `object`.
pub(crate) fn is_known(object: &Tensor<'_>) -> bool {
    object.layout() != Layout::Unknown || Block::of(object).is_some()
}

/// Returns the shape of `object` in brackets, shortened to [`SHAPE`] columns.
pub(crate) fn shape(object: &Tensor<'_>) -> String {
    let dimensions: Vec<_> = object.shape().iter().map(ToString::to_string).collect();
    escape::cut(&format!("[{}]", dimensions.join(", ")), SHAPE)
}

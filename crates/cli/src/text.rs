//! The words for element types, layouts and shapes, in a few columns.

use zten::tools::ElementType;
use zten::{Layout, Tensor};
use zten_formats::Block;

use crate::escape;

/// Columns of a word, at most.
const WORD: usize = 24;
/// Columns of a shape, at most.
const SHAPE: usize = 40;

/// A word that the format lists, or with a mark one that it does not.
pub(crate) fn word(word: &str, known: bool) -> String {
    let mark = if known { "" } else { "?" };
    format!("{}{mark}", escape::word(word, WORD))
}

/// The type of elements, and of one that is not known how it is stored.
pub(crate) fn element(element: ElementType<'_>) -> String {
    match element {
        ElementType::UnknownLogical(name, storage) => {
            format!("{} ({})", word(name, false), storage.name())
        }
        ElementType::UnknownOnLogical(name, dtype) => {
            format!("{} ({})", word(name, false), dtype.name())
        }
        ElementType::Unknown(name) => word(name, false),
        known => known.name().to_owned(),
    }
}

/// The layout of an object.
pub(crate) fn format(object: &Tensor<'_>) -> String {
    word(object.layout_name(), is_known(object))
}

/// Returns whether the layout of an object is one that a reader knows.
pub(crate) fn is_known(object: &Tensor<'_>) -> bool {
    object.layout() != Layout::Unknown || Block::of(object).is_some()
}

/// The shape of an object.
pub(crate) fn shape(object: &Tensor<'_>) -> String {
    let dimensions: Vec<_> = object.shape().iter().map(|dimension| dimension.to_string()).collect();
    escape::cut(&format!("[{}]", dimensions.join(", ")), SHAPE)
}

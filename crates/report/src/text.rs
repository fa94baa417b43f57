//! Short texts for element types, layouts and shapes.

use zten::conventions::{Convention, QuantizedForm};
use zten::formats::Block;
use zten::manifest::ElementType;
use zten::{Component, Tensor, escape};

use crate::archive::is_known;

/// The largest width of a word in output, in columns of the terminal.
const WORD: usize = 24;
/// The largest width of a shape in output, in columns of the terminal.
const SHAPE: usize = 40;

/// Shortens `word`, and appends a question mark if the word is not `known` from the specification.
pub fn word(word: &str, known: bool) -> String {
    let mark = if known { "" } else { "?" };
    format!("{}{mark}", escape::word(word, WORD))
}

/// Returns the name of an element type. An unknown type is followed by its storage type.
pub fn element(element: ElementType<'_>) -> String {
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
pub fn format(object: &Tensor<'_>) -> String {
    if Convention::of(object).is_some() {
        return "quantized".to_owned();
    }
    word(object.layout_name(), is_known(object))
}

/// Returns the type of the elements of `component`: the name of the blocks of GGUF, or of the dtype.
pub fn elements(component: &Component<'_>) -> String {
    match Block::of(&component.tensor()) {
        Some(block) => block.name.to_owned(),
        None => element(component.element_type()),
    }
}

/// Returns the type of the elements of `object` if `data` is its only component, the form of a group of tensors that follow a convention,
/// and the layout of other objects.
pub fn kind(object: &Tensor<'_>) -> String {
    let mut components = object.components();
    match (components.next(), components.next()) {
        (Some(only), None) if only.role() == "data" => elements(&only),
        _ => match QuantizedForm::of(object) {
            Some(form) => form.to_string(),
            None => format(object),
        },
    }
}

/// Returns the shape of `object` in brackets, shortened to 40 columns.
pub fn shape(object: &Tensor<'_>) -> String {
    let dimensions: Vec<_> = object.shape().iter().map(ToString::to_string).collect();
    escape::cut(&format!("[{}]", dimensions.join(", ")), SHAPE)
}

//! Short texts about the element types, layouts and shapes of tensors, for the output of commands.

use zten::conventions::{Convention, QuantizedForm};
use zten::formats::Block;
use zten::manifest::ElementType;
use zten::{Component, Tensor, escape};

use crate::archive::is_known;

/// The largest width of the name of a type or layout in output, in columns of a terminal.
const WORD: usize = 24;
/// The largest width of a shape in output, in columns of a terminal.
const SHAPE: usize = 40;

/// Returns `word`, the name of a type or layout, shortened to 24 columns. If zten does not know the name (`known` is false), a
/// question mark follows.
pub fn word(word: &str, known: bool) -> String {
    let mark = if known { "" } else { "?" };
    format!("{}{mark}", escape::word(word, WORD))
}

/// Returns the name of the type `element`. The name of an unknown or opaque type is shortened to 24 columns. A question mark
/// follows the name of an unknown type, and then, in parentheses, the name of the type in which its elements are stored, if that is
/// known.
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

/// Returns the name of the layout of `object`, followed by a question mark if zten does not know the layout. Returns `quantized` if
/// `object` stands for several tensors of a file that store one quantized tensor by a convention.
pub fn format(object: &Tensor<'_>) -> String {
    if Convention::of(object).is_some() {
        return "quantized".to_owned();
    }
    word(object.layout_name(), is_known(object))
}

/// Returns the name of the type of the elements of `component`: of the block type if the tensor has blocks of GGUF, and otherwise
/// of the dtype.
pub fn elements(component: &Component<'_>) -> String {
    match Block::of(&component.tensor()) {
        Some(block) => block.name.to_owned(),
        None => element(component.element_type()),
    }
}

/// Returns the text that describes the type of `object` in one word or phrase: the type of its elements if `data` is its only
/// component; the bits and group size if several tensors store it as a quantized tensor by a convention; and the name of the layout
/// otherwise.
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

//! The differences between an object in the old file and the object of the same name in the new file.

use std::fmt;

use serde::Serialize;
use zten::conventions::QuantizedForm;
use zten::element::StorageType;
use zten::escape;
use zten::json::Integer;
use zten::manifest::ElementType;
use zten::{Component, Error, Layout, Tensor};

use super::attribute::AttributeChange;
use super::elements::{Elements, Measure, Tolerance, measure};
use super::paired::{Pair, paired};
use crate::digests::{is_blocks, layout};
use crate::sums::Sum;
use crate::text::{element, format, shape};

/// The largest number of changed components, and of changed attributes, that a line of output about an object lists.
const LISTED: usize = 16;

/// A property of an object, such as its shape, that differs between two files: its value in the old file and its value in the new
/// file.
#[derive(Debug, Serialize)]
pub(super) struct Turn<T> {
    old: T,
    new: T,
}

/// The differences of an object between the old and the new file. The fields are keys of the JSON that `docs/json.md`
/// describes.
#[derive(Debug, Default, Serialize)]
pub struct Changes<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<Turn<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<Turn<Vec<Integer>>>,
    /// How the numeric values of the tensor differ, dequantized if the tensor is quantized. `None` if they were not compared, if
    /// the shapes differ, or if one of the tensors is neither dense nor quantized, or has no numeric values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elements: Option<Measure>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    components: Vec<ComponentChange<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) attributes: Vec<AttributeChange<'a>>,
    /// True if the object has one component in each file, so that lines of output need not name it.
    #[serde(skip)]
    is_alone: bool,
    #[serde(skip)]
    shapes: [String; 2],
}

/// The difference between the component of a role in an object of the old file and the component of the same role in the new file.
#[derive(Debug, Serialize)]
struct ComponentChange<'a> {
    role: &'a str,
    /// What happened to the component: `added`, `removed` or `changed`.
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dtype: Option<Turn<String>>,
    /// True if the content of the component differs, or the component is in one of the files only.
    content: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    elements: Option<Measure>,
    #[serde(skip)]
    places: Option<[u32; 2]>,
}

/// Returns the name of the layout of `object`, or of the convention that it follows.
fn layout_text(object: &Tensor<'_>) -> String {
    QuantizedForm::of(object).map_or_else(|| format(object), |form| form.to_string())
}

impl<'a> Changes<'a> {
    /// Finds the differences between the object `one` of the old file and the object `other` of the new file, without their
    /// attributes. `old` and `new` are the components of these objects with the digests of their content, sorted by role.
    pub(super) fn new(
        [one, other]: [&Tensor<'a>; 2],
        [old, new]: [Vec<(Component<'a>, Sum)>; 2],
    ) -> Self {
        let numbers =
            |object: &Tensor<'_>| object.shape().iter().copied().map(Integer).collect::<Vec<_>>();
        let mut changes = Self {
            // The bits and the group size of groups are a part of their layout.
            layout: (layout(one) != layout(other)
                || QuantizedForm::of(one) != QuantizedForm::of(other))
            .then(|| Turn { old: layout_text(one), new: layout_text(other) }),
            is_alone: old.len() == 1 && new.len() == 1,
            ..Self::default()
        };
        if one.shape() != other.shape() {
            changes.shape = Some(Turn { old: numbers(one), new: numbers(other) });
            changes.shapes = [shape(one), shape(other)];
        }
        let order = |one: &(Component<'_>, Sum), other: &(Component<'_>, Sum)| {
            one.0.role().cmp(other.0.role())
        };
        changes.components =
            paired(old, new, order).filter_map(|pair| ComponentChange::new(&pair)).collect();
        changes
    }

    /// Returns whether no difference was found: in the layout, the shape, the components and the attributes.
    pub(super) fn is_empty(&self) -> bool {
        let none = self.layout.is_none() && self.shape.is_none();
        none && self.components.is_empty() && self.attributes.is_empty()
    }

    /// Returns whether the content of a component differs, so that its elements can be compared.
    pub(super) fn has_content(&self) -> bool {
        self.components.iter().any(|component| component.content)
    }

    /// Returns whether all differences are differences of elements within the tolerance with which they were
    /// [measured](Self::measure). A tensor whose values were compared may have another dtype and layout.
    pub(super) fn is_within(&self) -> bool {
        let is_accepted = |elements: &Option<Measure>| {
            elements.as_ref().is_some_and(|elements| elements.beyond == Some(0))
        };
        let is_component_accepted = |component: &ComponentChange<'_>| {
            component.dtype.is_none() && is_accepted(&component.elements)
        };
        self.shape.is_none()
            && self.attributes.is_empty()
            && (is_accepted(&self.elements)
                || self.layout.is_none() && self.components.iter().all(is_component_accepted))
    }

    /// Compares the elements of `objects`, the object in the old file and in the new one. Counts the elements that differ, and with
    /// a `tolerance` those that differ by more. Quantized tensors are compared by their dequantized values if their shapes are
    /// equal.
    ///
    /// # Errors
    /// The index (0 or 1) of the object that cannot be read, and the error.
    pub(super) fn measure(
        &mut self,
        objects: [Tensor<'_>; 2],
        tolerance: Option<Tolerance>,
    ) -> Result<(), (usize, Error)> {
        let [old, new] = &objects;
        if self.shape.is_none() {
            let old = Elements::of_tensor(old).map_err(|error| (0, error))?;
            let new = Elements::of_tensor(new).map_err(|error| (1, error))?;
            if let (Some(old), Some(new)) = (old, new) {
                self.elements = measure([old, new], tolerance)?;
                return Ok(());
            }
        }
        // The codes and scales of a quantized tensor are not values: a stored integer that differs by one may hold several packed
        // codes, of which any may be another value. So no tolerance is applied to them.
        let has_values = [old, new]
            .map(Tensor::layout)
            .into_iter()
            .all(|layout| matches!(layout, Layout::Dense | Layout::SparseCsr | Layout::SparseCoo));
        let tolerance = tolerance.map(|own| if has_values { own } else { Tolerance::EXACT });
        for change in &mut self.components {
            let Some([one, other]) = change.places.filter(|_| change.content) else { continue };
            let both = old.component_at(one).zip(new.component_at(other));
            let Some((one, other)) = both else { continue };
            let one = Elements::of_component(&one).map_err(|error| (0, error))?;
            let other = Elements::of_component(&other).map_err(|error| (1, error))?;
            change.elements = measure([one, other], tolerance)?;
        }
        Ok(())
    }
}

impl<'a> ComponentChange<'a> {
    fn new(pair: &Pair<(Component<'a>, Sum)>) -> Option<Self> {
        let one = |change, component: Component<'a>| Self {
            role: component.role(),
            change,
            dtype: None,
            content: true,
            elements: None,
            places: None,
        };
        match pair {
            Pair::Old((component, _)) => Some(one("removed", *component)),
            Pair::New((component, _)) => Some(one("added", *component)),
            Pair::Both(old, new) => {
                let [before, after] = [meaning(&old.0), meaning(&new.0)];
                let layouts = [&old.0, &new.0].map(|component| layout(&component.tensor()));
                let dtype = (before != after && !layouts.into_iter().all(is_blocks))
                    .then(|| Turn { old: element(before), new: element(after) });
                let places = [old.0, new.0].map(|component| component.location().component());
                let change = Self {
                    dtype,
                    content: old.1.sha256 != new.1.sha256,
                    places: match places {
                        [Some(old), Some(new)] => Some([old, new]),
                        _ => None,
                    },
                    ..one("changed", old.0)
                };
                (change.dtype.is_some() || change.content).then_some(change)
            }
        }
    }
}

/// Returns the type by which the elements of `component` are compared. Indices of a sparse tensor have the type `u64` whatever
/// their stored type is, because the same index may be stored in 4 or 8 bytes.
fn meaning<'a>(component: &Component<'a>) -> ElementType<'a> {
    if component.is_index() {
        ElementType::Plain(StorageType::U64)
    } else {
        component.element_type()
    }
}

impl Changes<'_> {
    /// Formats the changes in one line, separated by commas. An ellipsis replaces components and attributes after the first 16 of
    /// each. `elements` is the difference of the values: of this tensor, or of several tensors if the line is about all of them.
    pub fn text(&self, elements: Option<&Measure>) -> String {
        let mut texts = Vec::new();
        texts.extend(self.layout.as_ref().map(|layout| format!("layout {layout}")));
        texts.extend(self.shape.as_ref().map(|_| format!("shape {}", self.shapes.join(" -> "))));
        for component in self.components.iter().take(LISTED) {
            component.list(self, &mut texts);
        }
        texts.extend(elements.map(ToString::to_string));
        let more = self.components.len().max(self.attributes.len()) > LISTED;
        let attributes = self.attributes.iter().take(LISTED);
        texts.extend(attributes.map(|change| format!("{}{change}", change.sign())));
        texts.extend(more.then(|| "…".to_owned()));
        texts.join(", ")
    }
}

impl ComponentChange<'_> {
    fn list(&self, of: &Changes<'_>, texts: &mut Vec<String>) {
        let role = escape::role(self.role);
        let role = match self.change {
            "added" => return texts.push(format!("+{role}")),
            "removed" => return texts.push(format!("-{role}")),
            _ if of.is_alone => String::new(),
            _ => format!("{role} "),
        };
        texts.extend(self.dtype.as_ref().map(|dtype| format!("{role}dtype {dtype}")));
        match &self.elements {
            Some(elements) => texts.push(format!("{role}{elements}")),
            None if self.content && of.elements.is_none() => texts.push(format!("{role}content")),
            None => {}
        }
    }
}

impl fmt::Display for Turn<String> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.old, self.new)
    }
}

//! `zten ls --tree`: prints tensors as a tree, grouped at the dots in their names. Tensors of one type and shape whose names differ
//! only in numbers share one row.

use std::cmp::Ordering;
use std::io::{self, Write};

use zten::finding::grouped;
use zten::{State, Tensor};
use zten_report::blocks;
use zten_report::text::{kind, shape};

use crate::input::selection::{Selection, stored};
use crate::output::fold::{Fold, Leaf, Tree};
use crate::output::table::Column;
use crate::size::human;

/// Tensors of one type and shape, or all tensors of a group.
#[derive(Clone)]
struct Tensors<'a> {
    /// The tensor that was added first. It has the type and shape of all tensors of a row without a group.
    first: Tensor<'a>,
    count: u64,
    stored: u64,
    /// The number of elements of the readable tensors; `None` if it exceeds 64 bits.
    parameters: Option<u64>,
}

impl<'a> Tensors<'a> {
    fn new(first: Tensor<'a>) -> Self {
        let is_readable = blocks::state(&first) == State::Readable;
        let parameters = if is_readable { first.element_count() } else { Some(0) };
        Self { first, count: 1, stored: stored(&first), parameters }
    }

    /// Formats the number of parameters, as the footer of the list counts them.
    fn parameters(&self) -> String {
        self.parameters.map_or_else(|| "more than 2^64".to_owned(), grouped)
    }
}

impl Fold for Tensors<'_> {
    fn compare(&self, other: &Self) -> Ordering {
        let types = |own: &Self| {
            let components = own.first.components();
            components.map(|component| (component.role(), component.type_name()))
        };
        let (one, two) = (&self.first, &other.first);
        one.layout_name()
            .cmp(two.layout_name())
            .then_with(|| one.shape().cmp(two.shape()))
            .then_with(|| types(self).cmp(types(other)))
    }

    fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.stored = self.stored.saturating_add(other.stored);
        let both = self.parameters.zip(other.parameters);
        self.parameters = both.and_then(|(own, other)| own.checked_add(other));
    }
}

/// Prints the tree of the selected tensors: its outermost `depth` levels.
pub(super) fn list(out: &mut dyn Write, selection: &Selection<'_>, depth: usize) -> io::Result<()> {
    let leaves = selection.objects().map(|object| Leaf::new(object.name(), Tensors::new(object)));
    let columns = [
        Column::Number("COUNT"),
        Column::Text("TYPE"),
        Column::Text("SHAPE"),
        Column::Common("STATE"),
        Column::Number("PARAMETERS"),
        Column::Number("STORED"),
    ];
    Tree::new(leaves.collect()).write(out, (columns, depth), |tensors, is_group| {
        let (count, stored) = (tensors.count.to_string(), human(tensors.stored));
        let parameters = tensors.parameters();
        if is_group {
            let [kind, shape, state] = [const { String::new() }; 3];
            return [count, kind, shape, state, parameters, stored];
        }
        let first = &tensors.first;
        let is_field = first.components().any(|component| component.is_field_of_records());
        let stored = if is_field { "-".to_owned() } else { stored };
        let state = blocks::state(first).name().to_owned();
        [count, kind(first), shape(first), state, parameters, stored]
    })
}

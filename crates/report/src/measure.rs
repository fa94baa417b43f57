//! The statistics of the elements of tensors, and the JSON document about the statistics of a file. The elements are verified while
//! they are read.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;
use zten::element::StorageType;
use zten::json::{Integer, List, Schema, integer, integer_or_null};
use zten::manifest::ElementType;
use zten::number::NumberKind;
use zten::{Component, Error, Tensor, verify::Verifier};

use crate::blocks::reason;
use crate::statistics::Statistics;
use crate::text::{element, kind};
use crate::values::Values;

/// The result of measuring an object: its statistics, or the reason why it has none.
#[derive(Clone, Copy, Debug)]
pub enum Measured {
    /// The elements were read, and these are their statistics.
    Read(Read),
    /// The elements are not numbers, or zten cannot read them as numbers. The text is an adjective or a clause about the object.
    Skipped(&'static str),
    /// zten does not read the object, because of the rule with this id.
    Unread(&'static str),
}

impl Measured {
    /// Returns the reason why the object has no statistics, as a phrase for output. Returns `None` if it has statistics.
    pub fn skipped(self) -> Option<String> {
        match self {
            Self::Read(_) => None,
            Self::Skipped(why) => Some(why.to_owned()),
            Self::Unread(rule) => Some(format!("unread ({rule})")),
        }
    }
}

/// The statistics of the stored elements of an object. If the object is sparse, also the number of zeros that it implies without
/// storing them.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// The type of the elements. It decides in how many digits an element is printed: the fewest that identify the element in this
    /// type.
    pub kind: NumberKind,
    /// The statistics of the stored elements.
    pub statistics: Statistics,
    /// The number of zeros that a sparse object implies without storing them. `None` for an object that is not sparse, and if the
    /// number of elements of the object exceeds 64 bits.
    pub implied: Option<u64>,
    /// Whether the object is sparse.
    pub is_sparse: bool,
}

/// Returns the dtype of the elements of `object`. For a sparse tensor this is the dtype of its values.
pub fn dtype(object: &Tensor<'_>) -> String {
    match object.component("values") {
        Some(values) => element(values.element_type()),
        None => kind(object),
    }
}

/// The statistics of all tensors of one dtype.
#[derive(Clone, Debug)]
pub struct Total {
    /// The name of the dtype.
    pub dtype: String,
    /// The type of the elements. It decides in how many digits an element is printed: the fewest that identify the element in this
    /// type.
    pub kind: NumberKind,
    /// The number of tensors of this dtype.
    pub tensors: u64,
    /// The statistics of the elements of all these tensors.
    pub statistics: Statistics,
}

/// Returns, for each dtype, the statistics of all tensors in `found` that have this dtype and have statistics. The dtype with the
/// most elements comes first.
pub fn totals(found: &[(Tensor<'_>, Measured)]) -> Vec<Total> {
    let mut totals: BTreeMap<String, Total> = BTreeMap::new();
    for (object, found) in found {
        let Measured::Read(read) = found else { continue };
        let (dtype, kind) = (dtype(object), read.kind);
        let statistics = Statistics::default();
        let empty = || Total { dtype: dtype.clone(), kind, tensors: 0, statistics };
        let total = totals.entry(dtype.clone()).or_insert_with(empty);
        total.tensors = total.tensors.saturating_add(1);
        total.statistics.merge(&read.statistics);
    }
    let mut totals: Vec<_> = totals.into_values().collect();
    totals.sort_by_key(|total| Reverse(total.statistics.count));
    totals
}

/// Reads and verifies `object`, and computes the statistics of its elements, dequantized if the object is quantized. Returns the
/// reason instead if the elements cannot be read as numbers.
///
/// # Errors
/// The content of `object` breaks a rule, or cannot be read.
pub fn object_statistics(verifier: &mut Verifier, object: &Tensor<'_>) -> Result<Measured, Error> {
    if let Some(rule) = reason(object.state()) {
        return Ok(Measured::Unread(rule));
    }
    let is_opaque =
        |component: Component<'_>| matches!(component.element_type(), ElementType::Opaque(..));
    if object.components().any(is_opaque) {
        return Ok(Measured::Skipped("opaque"));
    }
    if object.is_quantized() {
        let mut statistics = Statistics::default();
        verifier.values(object, |numbers| statistics.add(numbers))?;
        let kind = NumberKind::Plain(StorageType::F32);
        return Ok(Measured::Read(Read { kind, statistics, implied: None, is_sparse: false }));
    }
    let mut values = match Values::of(object) {
        Ok(values) => values,
        Err(why) => return Ok(Measured::Skipped(why)),
    };
    let (role, mut statistics) = (values.role(), Statistics::default());
    verifier.object(object, |component, chunk| {
        if component.role() == role {
            values.chunk(chunk, &mut |numbers| statistics.add(numbers));
        }
    })?;
    let is_sparse = role == "values";
    let implied = object.element_count().filter(|_| is_sparse);
    let implied = implied.and_then(|elements| elements.checked_sub(statistics.count));
    Ok(Measured::Read(Read { kind: values.kind(), statistics, implied, is_sparse }))
}

/// The JSON document with the statistics of a file. `docs/json.md` describes its keys.
#[derive(Serialize)]
struct Document<'a, O: Serialize, T: Serialize> {
    schema: Schema,
    file: &'a str,
    objects: O,
    totals: T,
}

/// A tensor in the JSON document about the statistics of a file.
#[derive(Serialize)]
struct Described<'a, S: Serialize> {
    name: &'a str,
    layout: &'a str,
    dtype: String,
    shape: S,
    /// The reason why there are no statistics; `None` if there are.
    skipped: Option<String>,
    statistics: Option<Statistics>,
    #[serde(serialize_with = "integer_or_null")]
    implied_zeros: Option<u64>,
}

/// The statistics of all tensors of one dtype in the JSON document.
#[derive(Serialize)]
struct DescribedTotal {
    dtype: String,
    #[serde(serialize_with = "integer")]
    tensors: u64,
    statistics: Statistics,
}

/// Returns the JSON document with the statistics `found` of the tensors of the file called `file`. `docs/json.md` describes its
/// keys.
pub fn document<'a>(file: &'a str, found: &'a [(Tensor<'a>, Measured)]) -> impl Serialize + 'a {
    let totals = totals(found);
    let objects = List(|| found.iter().map(|(object, found)| described(object, *found)));
    let totals = List(move || totals.clone().into_iter().map(described_total));
    Document { schema: Schema, file, objects, totals }
}

fn described_total(total: Total) -> DescribedTotal {
    let Total { dtype, tensors, statistics, .. } = total;
    DescribedTotal { dtype, tensors, statistics }
}

fn described<'a>(object: &Tensor<'a>, found: Measured) -> impl Serialize + use<'a> {
    let shape = object.shape();
    let (skipped, dtype) = (found.skipped(), dtype(object));
    let (statistics, implied_zeros) = match found {
        Measured::Read(read) => (Some(read.statistics), read.implied),
        Measured::Skipped(_) | Measured::Unread(_) => (None, None),
    };
    let shape = List(move || shape.iter().copied().map(Integer));
    let (name, layout) = (object.name(), object.layout_name());
    Described { name, layout, dtype, shape, skipped, statistics, implied_zeros }
}

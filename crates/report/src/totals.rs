//! The number of objects and components of a file, and the sums of their sizes, in total and for each type of elements.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use zten::{Component, DType, State, Tensor};

use crate::blocks::{block_name, state};
use zten::finding::grouped;
use zten::json::{self, Integer, List};

use crate::size::human;

/// The number of components of a file or of an element type, and the sums of their stored and decoded bytes.
#[derive(Clone, Copy, Debug)]
pub struct Totals {
    /// The number of components that were added.
    pub components: u64,
    /// The number of bytes that these components take in the file, before decoding.
    pub stored: u64,
    /// The number of bytes of the components after decoding, or `None` if the decoded length of a component is not known.
    pub decoded: Option<u64>,
}

impl Default for Totals {
    fn default() -> Self {
        Self { components: 0, stored: 0, decoded: Some(0) }
    }
}

impl Totals {
    /// Adds a component that takes `stored` bytes in the file and has `decoded` bytes after decoding. A `decoded` of `None`, for a
    /// length that is not known, makes the sum of decoded bytes unknown, too.
    pub fn add(&mut self, stored: u64, decoded: Option<u64>) {
        self.components = self.components.saturating_add(1);
        self.stored = self.stored.saturating_add(stored);
        let both = self.decoded.zip(decoded);
        self.decoded = both.map(|(sum, length)| sum.saturating_add(length));
    }
}

/// The sums over all objects of a file. Their memory does not grow with the number of objects, because there are few known element
/// types, and all unknown types are counted together.
#[derive(Debug)]
pub struct FileTotals {
    objects: u64,
    /// The number of elements of all readable objects together, or `None` if the number exceeds 64 bits.
    parameters: Option<u64>,
    /// The sums over all components of the file, whatever their types.
    pub all: Totals,
    /// The sums for each element type, by its name. The key `None` has the sums of the components of all unknown types.
    types: BTreeMap<Option<Cow<'static, str>>, Totals>,
}

impl Default for FileTotals {
    fn default() -> Self {
        let (all, types) = (Totals::default(), BTreeMap::new());
        Self { objects: 0, parameters: Some(0), all, types }
    }
}

impl FileTotals {
    /// Computes the sums over `objects`, the objects of a file. Fields of records are counted as objects, components and
    /// parameters, but their bytes are counted with the records only.
    pub fn of<'a>(objects: impl Iterator<Item = Tensor<'a>>) -> Self {
        let mut totals = Self::default();
        for object in objects {
            let is_readable = state(&object) == State::Readable;
            totals.object(if is_readable { object.element_count() } else { Some(0) });
            for component in object.components() {
                if component.is_field_of_records() {
                    totals.all.add(0, Some(0));
                    continue;
                }
                let stored = component.extent().length();
                let element = dtype_name(&component);
                totals.component(element, stored, component.decoded_length());
            }
        }
        totals
    }

    /// Adds an object with this number of `elements`, which count as parameters. `None` means that the number exceeds 64 bits.
    fn object(&mut self, elements: Option<u64>) {
        self.objects = self.objects.saturating_add(1);
        let both = self.parameters.zip(elements);
        self.parameters = both.and_then(|(sum, elements)| sum.checked_add(elements));
    }

    /// Adds a component to the sums of the file and of its element type. `element` is the name of this type, or `None` if the type
    /// is not known. `stored` and `decoded` are the sizes of the component in bytes.
    fn component(&mut self, element: Option<Cow<'static, str>>, stored: u64, decoded: Option<u64>) {
        self.all.add(stored, decoded);
        self.types.entry(element).or_default().add(stored, decoded);
    }

    /// Returns the types and their sums, sorted by stored bytes from large to small.
    fn types(&self) -> Vec<(Option<&str>, Totals)> {
        let mut types: Vec<_> =
            self.types.iter().map(|(name, totals)| (name.as_deref(), *totals)).collect();
        // The sort is stable, so types with equal sums stay sorted by name.
        types.sort_by_key(|(_, totals)| std::cmp::Reverse(totals.stored));
        types
    }

    /// Returns phrases that describe the file in text output, such as "8 parameters: 28 B of f32" and "1 B of u8". The first
    /// phrase has the number of parameters of all types, and the decoded bytes of the first type. Each further phrase has the
    /// decoded bytes of one further type; "?" is written if the number of bytes is unknown. For a file without components,
    /// the only phrase is the number of parameters.
    pub fn phrases(&self) -> Vec<String> {
        let mut words = vec![match self.parameters {
            Some(1) => "1 parameter".to_owned(),
            Some(parameters) => format!("{} parameters", grouped(parameters)),
            None => "more than 2^64 parameters".to_owned(),
        }];
        words.extend(self.types().into_iter().map(|(name, totals)| {
            let size = totals.decoded.map_or_else(|| "?".to_owned(), human);
            format!("{size} of {}", name.unwrap_or("other types"))
        }));
        if let [parameters, first, ..] = &mut *words {
            *first = format!("{parameters}: {first}");
            words.remove(0);
        }
        words
    }
}

impl Serialize for FileTotals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct OfType<'a> {
            dtype: Option<&'a str>,
            components: Integer,
            stored: Integer,
            #[serde(serialize_with = "json::integer_or_null")]
            decoded: Option<u64>,
        }
        #[derive(Serialize)]
        struct OfFile<L: Serialize> {
            objects: Integer,
            components: Integer,
            stored: Integer,
            #[serde(serialize_with = "json::integer_or_null")]
            decoded: Option<u64>,
            #[serde(serialize_with = "json::integer_or_null")]
            parameters: Option<u64>,
            dtypes: L,
        }
        let of_type = |(dtype, totals)| {
            let Totals { components, stored, decoded } = totals;
            OfType { dtype, components: Integer(components), stored: Integer(stored), decoded }
        };
        let Totals { components, stored, decoded } = self.all;
        OfFile {
            objects: Integer(self.objects),
            components: Integer(components),
            stored: Integer(stored),
            decoded,
            parameters: self.parameters,
            dtypes: List(|| self.types().into_iter().map(of_type)),
        }
        .serialize(serializer)
    }
}

/// Returns the name of the dtype of `component`, or the name of the block type if its tensor has blocks of GGUF. Returns `None` if
/// the dtype is not known.
pub fn dtype_name(component: &Component<'_>) -> Option<Cow<'static, str>> {
    if let Some(block) = block_name(&component.tensor()) {
        return Some(block.into());
    }
    let dtype = Some(component.dtype()).filter(|dtype| *dtype != DType::Unknown);
    dtype.map(|dtype| dtype.name().into())
}

//! Sums over the objects and components of a file.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use zten::{Component, DType, State, Tensor};

use crate::blocks::{block_name, state};
use zten::finding::grouped;
use zten::json::{self, Integer, List};

use crate::size::human;

/// The number of components of some kind, and the sums of their stored and decoded bytes.
#[derive(Clone, Copy, Debug)]
pub struct Totals {
    /// The number of components.
    pub components: u64,
    /// The number of bytes that the components take in the file.
    pub stored: u64,
    /// The number of bytes of the components after decoding; `None` if the decoded length of any of them is not known.
    pub decoded: Option<u64>,
}

impl Default for Totals {
    fn default() -> Self {
        Self { components: 0, stored: 0, decoded: Some(0) }
    }
}

impl Totals {
    /// Adds a component with `stored` stored bytes and `decoded` decoded bytes, if this number is known.
    pub fn add(&mut self, stored: u64, decoded: Option<u64>) {
        self.components = self.components.saturating_add(1);
        self.stored = self.stored.saturating_add(stored);
        let both = self.decoded.zip(decoded);
        self.decoded = both.map(|(sum, length)| sum.saturating_add(length));
    }
}

/// Sums over a whole file. Memory does not grow with the number of objects, since there are few known types and all unknown
/// types are counted together.
#[derive(Debug)]
pub struct FileTotals {
    objects: u64,
    /// The number of elements of all readable objects together; `None` if it exceeds 64 bits.
    parameters: Option<u64>,
    /// The sums over all components.
    pub all: Totals,
    /// The sums for each element type. The key `None` stands for all unknown types.
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

    /// Adds an object with `elements` parameters; `None` stands for a number that exceeds 64 bits.
    fn object(&mut self, elements: Option<u64>) {
        self.objects = self.objects.saturating_add(1);
        let both = self.parameters.zip(elements);
        self.parameters = both.and_then(|(sum, elements)| sum.checked_add(elements));
    }

    /// Adds a component with the element type `element`, if it is known.
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

    /// Returns phrases for text output: the number of parameters, and the bytes of each type.
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

/// Returns the name of the dtype of a component, if the dtype is known.
pub fn dtype_name(component: &Component<'_>) -> Option<Cow<'static, str>> {
    if let Some(block) = block_name(&component.tensor()) {
        return Some(block.into());
    }
    let dtype = Some(component.dtype()).filter(|dtype| *dtype != DType::Unknown);
    dtype.map(|dtype| dtype.name().into())
}

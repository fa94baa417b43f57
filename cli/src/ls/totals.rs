//! What is in a file in all: sums over its objects and components.

use std::collections::BTreeMap;
use std::io::{self, Write};

use zten::{Component, DType, Tensor};
use zten_formats::Block;

use crate::json::Json;
use crate::size::{grouped, human};

/// Sums over components.
#[derive(Debug)]
pub(super) struct Totals {
    pub(super) components: u64,
    pub(super) stored: u64,
    /// None as soon as one is not known.
    pub(super) decoded: Option<u64>,
}

impl Default for Totals {
    fn default() -> Self {
        Self { components: 0, stored: 0, decoded: Some(0) }
    }
}

impl Totals {
    /// Adds one component, which decodes to so many bytes if that is known.
    pub(super) fn add(&mut self, stored: u64, decoded: Option<u64>) {
        self.components = self.components.saturating_add(1);
        self.stored = self.stored.saturating_add(stored);
        let both = self.decoded.zip(decoded);
        self.decoded = both.map(|(sum, length)| sum.saturating_add(length));
    }

    fn json<W: Write>(&self, json: &mut Json<'_, W>) -> io::Result<()> {
        json.key("components")?;
        json.integer(self.components)?;
        json.key("stored")?;
        json.integer(self.stored)?;
        json.key("decoded")?;
        json.integer_or_null(self.decoded)
    }
}

/// Sums over a whole file. They take no more memory for more objects: there are so many types that
/// are known, and all others are counted as one.
#[derive(Debug)]
pub(super) struct FileTotals {
    objects: u64,
    /// Elements of all shapes, None beyond a `u64`.
    parameters: Option<u64>,
    pub(super) all: Totals,
    /// By what elements are, None where that is not known.
    types: BTreeMap<Option<&'static str>, Totals>,
}

impl Default for FileTotals {
    fn default() -> Self {
        let (all, types) = (Totals::default(), BTreeMap::new());
        Self { objects: 0, parameters: Some(0), all, types }
    }
}

impl FileTotals {
    /// Those of a file with such objects.
    pub(super) fn of<'a>(objects: impl Iterator<Item = Tensor<'a>>) -> Self {
        let mut totals = Self::default();
        for object in objects {
            totals.object(object.shape().elements());
            for component in object.components() {
                let stored = component.extent().length();
                let element = known(&component);
                totals.component(element, stored, component.decoded_length());
            }
        }
        totals
    }

    /// Adds an object of so many elements, None beyond a `u64`.
    pub(super) fn object(&mut self, elements: Option<u64>) {
        self.objects = self.objects.saturating_add(1);
        let both = self.parameters.zip(elements);
        self.parameters = both.and_then(|(sum, elements)| sum.checked_add(elements));
    }

    /// Adds a component of that type, if it is known.
    pub(super) fn component(
        &mut self,
        element: Option<&'static str>,
        stored: u64,
        decoded: Option<u64>,
    ) {
        self.all.add(stored, decoded);
        self.types.entry(element).or_default().add(stored, decoded);
    }

    /// Types, those first that take most.
    fn types(&self) -> Vec<(Option<&'static str>, &Totals)> {
        let mut types: Vec<_> = self.types.iter().map(|(name, totals)| (*name, totals)).collect();
        // Stable: in order of their names where they take the same.
        types.sort_by_key(|(_, totals)| std::cmp::Reverse(totals.stored));
        types
    }

    /// A line for people, without its end: how many elements, and what the data is.
    pub(super) fn line(&self) -> String {
        let mut line = match self.parameters {
            Some(1) => "1 parameter".to_owned(),
            Some(parameters) => format!("{} parameters", grouped(parameters)),
            None => "more than 2^64 parameters".to_owned(),
        };
        let mut before = ": ";
        for (name, totals) in self.types() {
            let size = totals.decoded.map_or_else(|| "?".to_owned(), human);
            line.extend([before, &size, " of ", name.unwrap_or("other types")]);
            before = ", ";
        }
        line
    }

    /// A JSON object.
    pub(super) fn json<W: Write>(&self, json: &mut Json<'_, W>) -> io::Result<()> {
        json.open('{')?;
        json.key("objects")?;
        json.integer(self.objects)?;
        self.all.json(json)?;
        json.key("parameters")?;
        json.integer_or_null(self.parameters)?;
        json.key("types")?;
        json.open('[')?;
        for (name, totals) in self.types() {
            json.open('{')?;
            json.key("type")?;
            json.string_or_null(name)?;
            totals.json(json)?;
            json.close('}')?;
        }
        json.close(']')?;
        json.close('}')
    }
}

/// The name of the type of a component, if it is known.
fn known(component: &Component<'_>) -> Option<&'static str> {
    if let Some(block) = Block::of(&component.tensor()) {
        return Some(block.name);
    }
    Some(component.dtype()).filter(|dtype| *dtype != DType::Unknown).map(DType::name)
}

//! What a foreign file holds, in about as many bytes as its header says it in: a file may have
//! millions of tensors of one byte each.

use std::cmp::Ordering;

use super::kind::Kind;
use super::place::Place;
use super::record::{self, NUMBER, Record};
use super::rules::Rule;
use super::tensor::Tensor;
use super::trouble::Trouble;
use zten::num::u64_from_usize;
use zten_present::escape;

/// Bytes that are kept of all tensors, at most. Headers are shorter; only in an archive each
/// tensor has one of its own.
const MOST: usize = 128 << 20;

/// What a foreign file holds, before any data is read.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// What the file says of itself: a CBOR map with text keys, in deterministic order. Empty where it says nothing.
    pub attributes: Vec<u8>,
    /// The tensors, in the order in which reading them is quickest. No two have one name.
    pub tensors: Tensors,
}

/// Tensors, in a few bytes each.
#[derive(Debug, Default)]
pub struct Tensors {
    /// Name, offset, kind, shape and the rest of the place of each.
    records: Vec<u8>,
    /// Where the record of each begins.
    starts: Vec<u32>,
    /// The kinds that there are, which records have numbers for.
    kinds: Vec<Kind>,
}

impl Tensors {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// One of them.
    pub fn get(&self, at: usize) -> Option<Tensor> {
        let mut record = self.record(*self.starts.get(at)?);
        let name = record.text().to_owned();
        let offset = record.number();
        let kind = *self.kinds.get(usize::try_from(record.number()).ok()?)?;
        let shape = record.numbers();
        let bytes = kind.bytes(&shape)?;
        let place = Place::recorded(&mut record, offset);
        Some(Tensor { name, shape, kind, bytes, place })
    }

    /// The name of one of them; empty where there is none.
    pub fn name_at(&self, at: usize) -> &str {
        self.starts.get(at).map(|start| self.name(*start)).unwrap_or_default()
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Tensor> {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// Puts them in an order of names.
    pub(super) fn put_in_order_of_names(
        &mut self,
        order: fn(&str, &str) -> Ordering,
    ) -> Result<(), Trouble> {
        self.starts = self.by_name(order)?;
        Ok(())
    }

    /// Checks that no two of them have one name, by the rule of the format.
    pub(super) fn check_unique(&self, rule: Rule) -> Result<(), Trouble> {
        let starts = self.by_name(str::cmp)?;
        let mut pairs = starts.iter().zip(starts.iter().skip(1));
        let Some((_, second)) = pairs.find(|(a, b)| self.name(**a) == self.name(**b)) else {
            return Ok(());
        };
        let name = escape::quoted(self.name(*second));
        Err(Trouble::refused(rule, format_args!("there are two tensors of the name {name}")))
    }

    /// Where their records begin, in an order of names.
    fn by_name(&self, order: fn(&str, &str) -> Ordering) -> Result<Vec<u32>, Trouble> {
        let mut starts = Vec::new();
        starts.try_reserve_exact(self.len()).map_err(|_| Trouble::memory())?;
        starts.extend_from_slice(&self.starts);
        starts.sort_unstable_by(|a, b| order(self.name(*a), self.name(*b)));
        Ok(starts)
    }

    fn name(&self, start: u32) -> &str {
        self.record(start).text()
    }

    fn record(&self, start: u32) -> Record<'_> {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        Record(self.records.get(start..).unwrap_or_default())
    }

    /// One more.
    pub(super) fn push(&mut self, tensor: &Tensor) -> Result<(), Trouble> {
        let start = self.records.len();
        let numbers = tensor.shape.len().saturating_add(Place::NUMBERS).saturating_add(4);
        let most = numbers.saturating_mul(NUMBER).saturating_add(tensor.name.len());
        if start.saturating_add(most) > MOST {
            let sentence = format!("the headers of the tensors take more than {MOST} bytes");
            return Err(Trouble::refused(Rule::LimitHeader, sentence));
        }
        self.records.try_reserve(most).map_err(|_| Trouble::memory())?;
        self.starts.try_reserve(1).map_err(|_| Trouble::memory())?;
        let known = self.kinds.iter().position(|kind| *kind == tensor.kind);
        let kind = known.unwrap_or(self.kinds.len());
        if known.is_none() {
            self.kinds.push(tensor.kind);
        }
        let out = &mut self.records;
        record::text(out, &tensor.name);
        record::number(out, tensor.place.offset());
        record::number(out, u64_from_usize(kind));
        record::numbers(out, &tensor.shape);
        tensor.place.record(out);
        self.starts.push(u32::try_from(start).unwrap_or(u32::MAX));
        Ok(())
    }

    /// Gives back the memory that no tensor has come for.
    pub(super) fn shrink(&mut self) {
        self.records.shrink_to_fit();
        self.starts.shrink_to_fit();
    }
}

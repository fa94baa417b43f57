//! Walking through a checkpoint to name its tensors and attributes by the keys that lead to them.
//!
//! A container with two references is visited twice, because its tensors have two names. A pickle could multiply visits
//! this way, so their cost is charged to the limit for headers, together with the bytes of the names. A container that contains
//! itself exceeds the limit of depth.

use alloc::string::String;
use alloc::vec::Vec;

use crate::cbor::Encoder;
use crate::escape::Short;
use crate::formats::cbor::{self, Written};
use crate::formats::error::{FormatError, copied};
use crate::formats::rules::Rule;
use crate::limits::Limits;
use crate::num::{sort_by, u64_from_usize, usize_from_u32};
use crate::rules::Limit;

use super::cost;
use super::globals::Global;
use super::pickle::{Pickle, Value};

/// A named value of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(super) enum Leaf {
    /// The node of a tensor.
    Tensor(u32),
    /// A scalar, or a list of scalars.
    Attribute(Value),
}

/// A container that is being visited.
struct Level {
    /// The next cell of the container.
    next: u32,
    /// The number of items that have been visited.
    ordinal: u64,
    is_map: bool,
    /// The length in bytes of the container's own name.
    name: usize,
}

/// A walk through the values of a checkpoint.
pub(super) struct NameWalk<'w, 'p> {
    pickle: &'w Pickle<'p>,
    limits: &'w Limits,
    levels: Vec<Level>,
    /// The name of the current value.
    name: String,
    /// The cost that visits, names and values may still have: see [`cost`].
    left: u64,
    /// The value of the whole pickle, if it is no container and has not been visited yet.
    root: Option<Value>,
    /// The error for the first unsupported value.
    unsupported: Option<FormatError>,
}

impl<'w, 'p> NameWalk<'w, 'p> {
    /// Creates a walk through `root`, the value of `pickle`.
    pub(super) fn new(
        pickle: &'w Pickle<'p>,
        root: Value,
        limits: &'w Limits,
    ) -> Result<Self, FormatError> {
        let (levels, name) = (Vec::new(), String::new());
        let left = pickle.allowance(limits);
        let mut walk = Self { pickle, limits, levels, name, left, root: None, unsupported: None };
        match root {
            Value::Dict(_) | Value::Ordered(_) | Value::List(_) | Value::Tuple(_) => {
                walk.enter(root)?;
            }
            root => {
                walk.name = copied("data")?;
                walk.root = Some(root);
            }
        }
        Ok(walk)
    }

    /// The name of the value that [`next`](Self::next) returned last: the keys that lead to it, joined with dots.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The cost that visits, names and values may still have.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Sets the cost that visits, names and values may still have, after the caller has written an attribute.
    pub(super) fn set_left(&mut self, left: u64) {
        self.left = left;
    }

    /// Returns the error for the first unsupported value.
    pub(super) fn into_unsupported(self) -> Option<FormatError> {
        self.unsupported
    }

    /// Returns the next tensor or attribute, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Leaf>, FormatError> {
        if let Some(root) = self.root.take()
            && let Some(leaf) = self.leaf(root)?
        {
            return Ok(Some(leaf));
        }
        while let Some(level) = self.levels.last_mut() {
            let mut items = self.pickle.resume(level.next);
            let key = if level.is_map { items.next() } else { None };
            let Some(value) = items.next() else {
                self.levels.pop();
                continue;
            };
            level.next = items.place();
            let ordinal = level.ordinal;
            level.ordinal = ordinal.saturating_add(1);
            self.name.truncate(level.name);
            if self.extend_name(key, ordinal)?
                && let Some(leaf) = self.leaf(value)?
            {
                return Ok(Some(leaf));
            }
        }
        Ok(None)
    }

    /// Appends `key`, or `ordinal` if there is no key, to the name. Returns false if the key is unsupported.
    fn extend_name(&mut self, key: Option<Value>, ordinal: u64) -> Result<bool, FormatError> {
        let text = match key {
            None => return self.append(&copied(ordinal)?),
            Some(Value::Text(at)) => self.pickle.text(at)?,
            Some(Value::Int(at)) => match self.pickle.int(at) {
                Some(key) => return self.append(&copied(key)?),
                None => return Ok(self.note("a key of more than 64 bits is not read")),
            },
            Some(_) => return Ok(self.note("a key that is neither text nor number is not read")),
        };
        self.append(text)
    }

    /// Appends `key` to the name, after a dot unless the key is the first one, and charges the bytes of the whole name.
    fn append(&mut self, key: &str) -> Result<bool, FormatError> {
        let dot = if self.levels.len() > 1 { "." } else { "" };
        let more = key.len().saturating_add(1);
        charge(&mut self.left, self.name.len().saturating_add(more))?;
        self.name.try_reserve(more).map_err(|_| FormatError::memory())?;
        self.name.push_str(dot);
        self.name.push_str(key);
        Ok(true)
    }

    /// Records that the current value is unsupported, which `sentence` describes, and returns false.
    fn note(&mut self, sentence: &str) -> bool {
        if self.unsupported.is_none() {
            let error = FormatError::violation(Rule::TorchValue, sentence);
            self.unsupported = Some(error.about(&self.name));
        }
        false
    }

    /// Begins to visit the container `value`.
    fn enter(&mut self, value: Value) -> Result<(), FormatError> {
        let (node, is_map) = match value {
            Value::Dict(node) | Value::Ordered(node) => (node, true),
            Value::List(node) | Value::Tuple(node) | Value::Set(node) => (node, false),
            _ => return Ok(()),
        };
        if u64_from_usize(self.levels.len()) >= u64::from(self.limits.depth()) {
            let most = self.limits.depth();
            let sentence = format_args!("lies more than {most} levels deep");
            return Err(FormatError::predicate(Limit::Depth, sentence).about(&self.name));
        }
        if is_map {
            self.check_keys(node)?;
        }
        let level = Level {
            next: self.pickle.items(node).place(),
            ordinal: 0,
            is_map,
            name: self.name.len(),
        };
        self.levels.try_reserve(1).map_err(|_| FormatError::memory())?;
        self.levels.push(level);
        Ok(())
    }

    /// Returns `value` as a tensor or attribute. Returns `None` for a container, which is entered, and for an unsupported
    /// value.
    fn leaf(&mut self, value: Value) -> Result<Option<Leaf>, FormatError> {
        match value {
            Value::Tensor(node) => return Ok(Some(Leaf::Tensor(node))),
            Value::List(node) | Value::Tuple(node) | Value::Set(node) if self.is_flat(node)? => {
                return Ok(Some(Leaf::Attribute(value)));
            }
            Value::Set(_) => drop(self.note("a set of other values than scalars is not read")),
            Value::Dict(_) | Value::Ordered(_) | Value::List(_) | Value::Tuple(_) => {
                self.enter(value)?;
            }
            _ if self.pickle.is_scalar(value) => return Ok(Some(Leaf::Attribute(value))),
            // The machine has recorded this value when the instruction made it.
            Value::Unread(_) => {}
            Value::Storage(_) => drop(self.note("a storage that is no tensor is not read")),
            _ => drop(self.note("this value is not read")),
        }
        Ok(None)
    }

    /// Returns whether all items of the container `node` are scalars, and charges a visit of each item.
    fn is_flat(&mut self, node: u32) -> Result<bool, FormatError> {
        charge(&mut self.left, usize_from_u32(self.pickle.length(node)))?;
        Ok(self.pickle.is_flat(node))
    }

    /// Checks that the keys of the dictionary `node` are unique, and charges a visit of each key.
    fn check_keys(&mut self, node: u32) -> Result<(), FormatError> {
        charge(&mut self.left, usize_from_u32(self.pickle.length(node)))?;
        self.pickle.check_keys(node).map_err(|error| error.about(&self.name))
    }
}

impl Pickle<'_> {
    /// Checks that the keys of the dictionary `node` are unique. Two keys from the same instruction are found by their
    /// positions, without reading them: otherwise a dictionary with many references to one long key would cost quadratic time.
    pub(super) fn check_keys(&self, node: u32) -> Result<(), FormatError> {
        let (mut places, mut texts, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        let mut items = self.items(node);
        while let (Some(key), Some(_)) = (items.next(), items.next()) {
            if let Value::Text(at) | Value::Int(at) = key {
                places.try_reserve(1).map_err(|_| FormatError::memory())?;
                places.push((at, matches!(key, Value::Text(_))));
            }
        }
        places.sort_unstable();
        let twice = |at: u32, key: &dyn core::fmt::Display| {
            let sentence = format_args!("duplicate key {key}");
            FormatError::violation_at(Rule::TorchDuplicateKey, sentence, self.byte(at))
        };
        for (place, next) in places.iter().zip(places.iter().skip(1).map(Some).chain([None])) {
            let (at, is_text) = *place;
            match is_text {
                _ if next.is_some_and(|next| next.0 == at) => {
                    let key = copied(Short(str::from_utf8(self.bytes(at)).unwrap_or("")))?;
                    return Err(twice(at, &key));
                }
                true => {
                    texts.try_reserve(1).map_err(|_| FormatError::memory())?;
                    texts.push((self.text(at)?, at));
                }
                false => {
                    numbers.try_reserve(1).map_err(|_| FormatError::memory())?;
                    numbers.push((self.int(at), at));
                }
            }
        }
        sort_by(&mut texts, Ord::cmp);
        numbers.sort_unstable();
        let text = texts.iter().zip(texts.iter().skip(1)).find(|(one, next)| one.0 == next.0);
        if let Some(((key, _), (_, at))) = text {
            return Err(twice(*at, &Short(key)));
        }
        let number = numbers.iter().zip(numbers.iter().skip(1)).find(|(one, next)| one.0 == next.0);
        match number {
            Some(((Some(key), _), (_, at))) => Err(twice(*at, key)),
            _ => Ok(()),
        }
    }
}

/// Subtracts the [`cost`] of a name or value of `bytes` bytes from `left`. Fails if `left` is smaller.
fn charge(left: &mut u64, bytes: usize) -> Result<(), FormatError> {
    let Some(rest) = left.checked_sub(cost(bytes)) else {
        let sentence = "the names and values of the pickle take more bytes than the limit allows";
        return Err(FormatError::violation(Limit::Manifest, sentence));
    };
    *left = rest;
    Ok(())
}

/// The identity of a scalar: two scalars have the same identity if Python considers them equal.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identity<'p> {
    None,
    Int(i64),
    /// The bits of a float whose value is no integer of 64 bits.
    Float(u64),
    /// The position of the instruction that makes this NaN.
    Nan(u32),
    Text(&'p [u8]),
    Bytes(&'p [u8]),
    Dtype(&'static str),
    Device(&'p [u8], Option<u64>),
}

/// Returns the value of `float` as an integer, or `None` if it is no integer of 64 bits.
fn whole(float: f64) -> Option<i64> {
    copied(float).ok().filter(|_| float.abs() < 9_223_372_036_854_775_808.0)?.parse().ok()
}

impl Pickle<'_> {
    /// Appends `value`, a scalar or a flat list of scalars, to `out` as CBOR, and charges its cost to `left`.
    pub(super) fn write(&self, value: Value, out: &mut Encoder, left: &mut u64) -> Written {
        match value {
            Value::List(node) | Value::Tuple(node) => {
                out.array(self.length(node).into())?;
                self.items(node).try_for_each(|item| self.scalar(item, out, left))
            }
            Value::Set(node) => {
                let items = self.distinct(node)?;
                out.array(u64_from_usize(items.len()))?;
                items.into_iter().try_for_each(|item| self.scalar(item, out, left))
            }
            value => self.scalar(value, out, left),
        }
    }

    /// Returns the distinct items of a set of scalars. Python keeps the first of several equal items.
    fn distinct(&self, node: u32) -> Result<Vec<Value>, FormatError> {
        let mut items = Vec::new();
        for (item, ordinal) in self.items(node).zip(0_usize..) {
            items.try_reserve(1).map_err(|_| FormatError::memory())?;
            items.push((self.identity(item)?, ordinal, item));
        }
        sort_by(&mut items, |one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
        items.dedup_by(|next, kept| next.0 == kept.0);
        sort_by(&mut items, |one, other| one.1.cmp(&other.1));
        let mut distinct = Vec::new();
        distinct.try_reserve_exact(items.len()).map_err(|_| FormatError::memory())?;
        distinct.extend(items.into_iter().map(|(_, _, item)| item));
        Ok(distinct)
    }

    /// Returns the identity of a scalar. Python considers `True`, 1 and 1.0 equal.
    fn identity(&self, value: Value) -> Result<Identity<'_>, FormatError> {
        Ok(match value {
            Value::Bool(value) => Identity::Int(value.into()),
            Value::Int(at) => Identity::Int(self.int(at).unwrap_or_default()),
            Value::Float(at) => match self.float(at) {
                // Python's sets compare by object first, so a NaN equals itself and no other NaN.
                float if float.is_nan() => Identity::Nan(at),
                float => match whole(float) {
                    Some(number) => Identity::Int(number),
                    None => Identity::Float(float.to_bits()),
                },
            },
            Value::Text(at) => Identity::Text(self.bytes(at)),
            Value::Bytes(at) => Identity::Bytes(self.bytes(at)),
            Value::Global(Global::Dtype(dtype)) => Identity::Dtype(dtype.name()),
            Value::Device(node) => {
                let [kind, number] = self.first(node);
                let Value::Text(kind) = kind else {
                    return Err(FormatError::internal("a device has no kind"));
                };
                Identity::Device(self.bytes(kind), self.count(number))
            }
            _ => Identity::None,
        })
    }

    /// Appends the scalar `value` to `out` as CBOR, and charges its cost to `left`.
    fn scalar(&self, value: Value, out: &mut Encoder, left: &mut u64) -> Written {
        let bytes = match value {
            Value::Text(at) | Value::Bytes(at) => self.bytes(at).len(),
            _ => 0,
        };
        charge(left, bytes)?;
        match value {
            Value::Bool(value) => out.bool(value)?,
            Value::Int(at) => cbor::int(out, self.int(at).unwrap_or_default())?,
            Value::Float(at) => out.float(self.float(at))?,
            Value::Text(at) => out.text(self.text(at)?)?,
            Value::Bytes(at) => out.bytes(self.bytes(at))?,
            Value::Global(Global::Dtype(dtype)) => out.text(dtype.name())?,
            Value::Device(node) => {
                let [kind, number] = self.first(node);
                let (Value::Text(kind), Some(number)) = (kind, self.count(number)) else {
                    return Err(FormatError::internal("a device has no kind"));
                };
                out.text(&copied(format_args!("{}:{number}", self.text(kind)?))?)?;
            }
            _ => out.null()?,
        }
        Ok(())
    }
}

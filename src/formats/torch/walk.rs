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

use super::arrays::ScalarValue;
use super::cost;
use super::globals::Global;
use super::left_out::LeftOut;
use super::pickle::{Fact, LONGEST_NAME, LargeInteger, Pickle, Pickled};

/// A named value of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(super) enum Leaf {
    /// A tensor, which may be sparse, unread, or an array of NumPy.
    Tensor(Pickled),
    /// A scalar, or a list, tuple or set of scalars.
    Attribute(Pickled),
}

/// A container that is being visited.
struct Level {
    /// The index in the pickle's arena of the next cell, the next item of the container.
    next: u32,
    /// The number of items that have been visited.
    ordinal: u64,
    shape: Shape,
    /// The length in bytes of the name of the container. `NameWalk::name` is cut to this length before the name of the
    /// next item is appended.
    name: usize,
    /// Whether the container is the value of the whole pickle, whose items have names without a dot in front.
    is_root: bool,
}

/// How the items of a container are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// By their position in the container, from 0.
    List,
    /// By their keys.
    Map,
    /// The items are the class and the parts of an object, whose own items have names like those of a dictionary or a list.
    /// The flag says whether a dictionary has been visited.
    Object(bool),
}

/// A walk through the values of a checkpoint, which composes the name of each tensor and attribute from the keys on the
/// way to it.
pub(super) struct NameWalk<'w, 'p> {
    pickle: &'w Pickle<'p>,
    limits: &'w Limits,
    levels: Vec<Level>,
    /// The name of the value that is being visited: the keys that lead to it, joined with dots.
    name: String,
    /// The rest of the budget for visits, names and values, in the unit of [`cost`].
    left: u64,
    /// The value of the whole pickle, if it is no container and has not been visited yet.
    root: Option<Pickled>,
    left_out: LeftOut,
    /// The objects that have been visited: a bit for each node. Objects may refer to each other in circles.
    visited: Vec<u64>,
}

impl<'w, 'p> NameWalk<'w, 'p> {
    /// Creates a walk through `root`, the value of `pickle`.
    pub(super) fn new(
        pickle: &'w Pickle<'p>,
        root: Pickled,
        limits: &'w Limits,
    ) -> Result<Self, FormatError> {
        let (levels, name) = (Vec::new(), String::new());
        let left = pickle.allowance(limits);
        let (left_out, visited) = (LeftOut::default(), Vec::new());
        let mut walk = Self { pickle, limits, levels, name, left, root: None, left_out, visited };
        match root {
            Pickled::Dict(_)
            | Pickled::Ordered(_)
            | Pickled::Namespace(_)
            | Pickled::List(_)
            | Pickled::Tuple(_) => {
                walk.enter(root, true)?;
            }
            Pickled::Object(node) if walk.has_parts(node) => walk.enter(root, true)?,
            root => {
                walk.name = copied("data")?;
                walk.root = Some(root);
            }
        }
        Ok(walk)
    }

    /// Returns the name of the value that [`next`](Self::next) returned last: the keys that lead to it, joined with dots.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the rest of the budget for visits, names and values, in the unit of [`cost`].
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Sets the rest of the budget for visits, names and values, after the caller has written an attribute and charged its cost.
    pub(super) fn set_left(&mut self, left: u64) {
        self.left = left;
    }

    /// Returns the counts of the values that were left out.
    pub(super) fn into_left_out(self) -> LeftOut {
        self.left_out
    }

    /// Returns the next tensor or attribute of the checkpoint, or `None` if all have been returned. Its name is
    /// [`name`](Self::name).
    pub(super) fn next(&mut self) -> Result<Option<Leaf>, FormatError> {
        if let Some(root) = self.root.take()
            && let Some(leaf) = self.leaf(root)?
        {
            return Ok(Some(leaf));
        }
        while let Some(level) = self.levels.last_mut() {
            let mut items = self.pickle.resume(level.next);
            let key = if level.shape == Shape::Map { items.next() } else { None };
            let Some(value) = items.next() else {
                self.levels.pop();
                continue;
            };
            level.next = items.place();
            let ordinal = level.ordinal;
            level.ordinal = ordinal.saturating_add(1);
            let is_root = level.is_root;
            self.name.truncate(level.name);
            let is_named = match level.shape {
                Shape::Object(has_dict) => {
                    let is_dict = matches!(value, Pickled::Dict(_));
                    let has_entries =
                        matches!(value, Pickled::Dict(node) if self.pickle.length(node) > 0);
                    level.shape = Shape::Object(has_dict || has_entries);
                    let is_of_object = is_dict && !has_dict || self.is_list_of_items(value);
                    match ordinal {
                        // The first item is the class, which gets no name.
                        0 => false,
                        1 => {
                            !matches!(value, Pickled::Tuple(args) if self.pickle.length(args) == 0)
                                && self.append("args", is_root)?
                        }
                        _ if is_of_object => {
                            self.enter(value, is_root)?;
                            false
                        }
                        _ => self.append(if is_dict { "__dict__" } else { "state" }, is_root)?,
                    }
                }
                Shape::List | Shape::Map => self.extend_name(key, ordinal, is_root)?,
            };
            if is_named && let Some(leaf) = self.leaf(value)? {
                return Ok(Some(leaf));
            }
        }
        Ok(None)
    }

    /// Returns whether `value` is the list of items that were added to an object.
    fn is_list_of_items(&self, value: Pickled) -> bool {
        matches!(value, Pickled::List(node) if self.pickle.has(node, Fact::IsItems))
    }

    /// Appends `key`, or `ordinal` if `key` is `None`, to the name. Returns false, and counts the value as left out, if the
    /// key has no spelling. `is_root` says whether the container is the value of the whole pickle.
    fn extend_name(
        &mut self,
        key: Option<Pickled>,
        ordinal: u64,
        is_root: bool,
    ) -> Result<bool, FormatError> {
        let text = match key {
            None => copied(ordinal)?,
            Some(Pickled::Text(at)) => return self.append(self.pickle.text(at)?, is_root),
            Some(key) => {
                let Some(text) = self.pickle.spelling(key)? else {
                    self.left_out.add("values whose keys have no name", &self.name)?;
                    return Ok(false);
                };
                text
            }
        };
        self.append(&text, is_root)
    }

    /// Appends `key` to the name, after a dot unless `is_root`, and charges the bytes of the whole name to the budget.
    /// Always returns true.
    fn append(&mut self, key: &str, is_root: bool) -> Result<bool, FormatError> {
        let dot = if is_root { "" } else { "." };
        let more = key.len().saturating_add(1);
        charge(&mut self.left, self.name.len().saturating_add(more))?;
        self.name.try_reserve(more).map_err(|_| FormatError::memory())?;
        self.name.push_str(dot);
        self.name.push_str(key);
        Ok(true)
    }

    /// Returns whether the object `node` has parts that may hold tensors or attributes: arguments, items or a state. Objects of
    /// the classes that zten knows have no such parts.
    fn has_parts(&self, node: u32) -> bool {
        let [class, args] = self.pickle.first(node);
        let has_arguments = matches!(args, Pickled::Tuple(args) if self.pickle.length(args) > 0);
        matches!(class, Pickled::Foreign(_) | Pickled::Object(_))
            && (has_arguments || self.pickle.length(node) > 2)
    }

    /// Notes that the object `node` is being visited. Returns false if it was visited before.
    fn visit(&mut self, node: u32) -> Result<bool, FormatError> {
        let (word, bit) = (usize_from_u32(node / u64::BITS), 1_u64 << (node % u64::BITS));
        let needed = word.saturating_add(1);
        if self.visited.len() < needed {
            let more = needed.saturating_sub(self.visited.len());
            self.visited.try_reserve(more).map_err(|_| FormatError::memory())?;
            self.visited.resize(needed, 0);
        }
        let Some(word) = self.visited.get_mut(word) else { return Ok(false) };
        let is_new = *word & bit == 0;
        *word |= bit;
        Ok(is_new)
    }

    /// Begins to visit the container `value`. `is_root` says whether the container is the value of the whole pickle. An object
    /// that was visited before is counted as left out. Fails if the container lies deeper than the limit, or a dictionary has a
    /// duplicate key.
    fn enter(&mut self, value: Pickled, is_root: bool) -> Result<(), FormatError> {
        let (node, shape) = match value {
            Pickled::Dict(node) | Pickled::Ordered(node) | Pickled::Namespace(node) => {
                (node, Shape::Map)
            }
            Pickled::List(node) | Pickled::Tuple(node) => (node, Shape::List),
            Pickled::Object(node) => {
                if !self.visit(node)? {
                    return self.left_out.add("objects that occur a second time", &self.name);
                }
                (node, Shape::Object(false))
            }
            _ => return Ok(()),
        };
        if u64_from_usize(self.levels.len()) >= u64::from(self.limits.depth()) {
            let most = self.limits.depth();
            let sentence = format_args!("lies more than {most} levels deep");
            return Err(FormatError::predicate(Limit::Depth, sentence).about(&self.name));
        }
        if shape == Shape::Map {
            self.check_keys(node)?;
        }
        let (next, name) = (self.pickle.items(node).place(), self.name.len());
        self.levels.try_reserve(1).map_err(|_| FormatError::memory())?;
        self.levels.push(Level { next, ordinal: 0, shape, name, is_root });
        Ok(())
    }

    /// Returns `value` as a tensor or attribute; a list, tuple or set of scalars is an attribute. If `value` is another
    /// container, enters it and returns `None`. Also returns `None` for a value that is left out.
    fn leaf(&mut self, value: Pickled) -> Result<Option<Leaf>, FormatError> {
        match value {
            Pickled::Tensor(_) | Pickled::Sparse(_) | Pickled::UnreadTensor(_) => {
                return Ok(Some(Leaf::Tensor(value)));
            }
            Pickled::Array(node) if self.pickle.is_tensor(node) => {
                return Ok(Some(Leaf::Tensor(value)));
            }
            Pickled::List(node) | Pickled::Tuple(node) | Pickled::Set(node)
                if self.is_flat(node)? =>
            {
                return Ok(Some(Leaf::Attribute(value)));
            }
            Pickled::Dict(_)
            | Pickled::Ordered(_)
            | Pickled::Namespace(_)
            | Pickled::List(_)
            | Pickled::Tuple(_) => self.enter(value, false)?,
            Pickled::Object(node) if self.has_parts(node) => self.enter(value, false)?,
            _ if self.pickle.is_scalar(value) => return Ok(Some(Leaf::Attribute(value))),
            _ => {
                let kind = self.pickle.kind(value);
                self.left_out.add(kind, &self.name)?;
            }
        }
        Ok(None)
    }

    /// Returns whether all items of the container `node` are scalars, and charges a visit of each item to the budget.
    fn is_flat(&mut self, node: u32) -> Result<bool, FormatError> {
        charge(&mut self.left, usize_from_u32(self.pickle.length(node)))?;
        Ok(self.pickle.is_flat(node))
    }

    /// Checks that the keys of the dictionary `node` are unique, and charges a visit of each item to the budget.
    fn check_keys(&mut self, node: u32) -> Result<(), FormatError> {
        charge(&mut self.left, usize_from_u32(self.pickle.length(node)))?;
        self.pickle.check_keys(node).map_err(|error| error.about(&self.name))
    }
}

/// The words in the error for a duplicate key that is an integer of more than 64 bits, in place of the key.
const LARGE: &str = "of more than 64 bits";

impl Pickle<'_> {
    /// Checks that the keys of the dictionary `node` are unique. Two keys from the same instruction are found by their
    /// positions, without reading them: otherwise a dictionary with many references to one long key would cost quadratic time.
    pub(super) fn check_keys(&self, node: u32) -> Result<(), FormatError> {
        let (mut places, mut texts) = (Vec::new(), Vec::new());
        let (mut numbers, mut large) = (Vec::new(), Vec::new());
        let mut items = self.items(node);
        let mut has_others = false;
        while let (Some(key), Some(_)) = (items.next(), items.next()) {
            if let Pickled::Text(at) | Pickled::Int(at) = key {
                places.try_reserve(1).map_err(|_| FormatError::memory())?;
                places.push((at, matches!(key, Pickled::Text(_))));
            } else {
                has_others = true;
            }
        }
        if has_others {
            self.check_other_keys(node)?;
        }
        places.sort_unstable();
        let twice = |at: u32, key: &dyn core::fmt::Display| {
            let sentence = format_args!("duplicate key {key}");
            FormatError::violation_at(Rule::TorchDuplicateKey, sentence, self.byte(at))
        };
        for (place, next) in places.iter().zip(places.iter().skip(1).map(Some).chain([None])) {
            let (at, is_text) = *place;
            if next.is_some_and(|next| next.0 == at) {
                return Err(if is_text {
                    twice(at, &copied(Short(str::from_utf8(self.bytes(at)).unwrap_or("")))?)
                } else if let Some(number) = self.int(at) {
                    twice(at, &number)
                } else {
                    twice(at, &LARGE)
                });
            }
            if is_text {
                texts.try_reserve(1).map_err(|_| FormatError::memory())?;
                texts.push((self.text(at)?, at));
            } else if let Some(number) = self.int(at) {
                numbers.try_reserve(1).map_err(|_| FormatError::memory())?;
                numbers.push((number, at));
            } else {
                large.try_reserve(1).map_err(|_| FormatError::memory())?;
                large.push((self.large_integer(at)?, at));
            }
        }
        sort_by(&mut texts, Ord::cmp);
        numbers.sort_unstable();
        let text = texts.iter().zip(texts.iter().skip(1)).find(|(one, next)| one.0 == next.0);
        if let Some(((key, _), (_, at))) = text {
            return Err(twice(*at, &Short(key)));
        }
        let number = numbers.iter().zip(numbers.iter().skip(1)).find(|(one, next)| one.0 == next.0);
        if let Some(((key, _), (_, at))) = number {
            return Err(twice(*at, key));
        }
        sort_by(&mut large, Ord::cmp);
        let large = large.iter().zip(large.iter().skip(1)).find(|(one, next)| one.0 == next.0);
        match large {
            Some((_, (_, at))) => Err(twice(*at, &LARGE)),
            None => Ok(()),
        }
    }
}

impl Pickle<'_> {
    /// Checks that the keys of the dictionary `node` are unique, except texts: numbers and other scalars, bytes, and tuples.
    /// Python considers `True`, 1 and 1.0 equal.
    fn check_other_keys(&self, node: u32) -> Result<(), FormatError> {
        let (mut identities, mut places) = (Vec::new(), Vec::new());
        let mut items = self.items(node);
        while let (Some(key), Some(_)) = (items.next(), items.next()) {
            // Two keys from the same instruction are equal. As for texts, comparing positions finds them without reading the
            // keys.
            let place = match key {
                Pickled::Bytes(at) | Pickled::Latin1(at) => (0, at),
                Pickled::Tuple(node) => (1, node),
                _ => continue,
            };
            places.try_reserve(1).map_err(|_| FormatError::memory())?;
            places.push(place);
        }
        places.sort_unstable();
        if places.iter().zip(places.iter().skip(1)).any(|(one, next)| one == next) {
            return Err(self.twice(node));
        }
        let mut items = self.items(node);
        while let (Some(key), Some(_)) = (items.next(), items.next()) {
            // Integers of more than 64 bits are no scalars, but may be equal to a float or a NumPy scalar.
            let is_compared = self.is_scalar(key) || matches!(key, Pickled::Int(_));
            if is_compared && !matches!(key, Pickled::Text(_)) {
                identities.try_reserve(1).map_err(|_| FormatError::memory())?;
                identities.push(self.identity(key)?);
            }
        }
        sort_by(&mut identities, Ord::cmp);
        if identities.iter().zip(identities.iter().skip(1)).any(|(one, next)| one == next) {
            return Err(self.twice(node));
        }
        self.check_keys_of_tuples(node)
    }

    /// Checks that the keys of the dictionary `node` that are tuples with a spelling in names are unique.
    fn check_keys_of_tuples(&self, node: u32) -> Result<(), FormatError> {
        let mut tuples = Vec::new();
        let mut items = self.items(node);
        while let (Some(key), Some(_)) = (items.next(), items.next()) {
            let Pickled::Tuple(tuple) = key else { continue };
            if self.spelling(key)?.is_none() {
                continue;
            }
            let mut identities = Vec::new();
            for item in self.items(tuple) {
                identities.try_reserve(1).map_err(|_| FormatError::memory())?;
                identities.push(self.identity(item)?);
            }
            tuples.try_reserve(1).map_err(|_| FormatError::memory())?;
            tuples.push(identities);
        }
        sort_by(&mut tuples, Ord::cmp);
        if tuples.iter().zip(tuples.iter().skip(1)).any(|(one, next)| one == next) {
            return Err(self.twice(node));
        }
        Ok(())
    }

    /// Returns the error for two equal keys of the dictionary `node`.
    fn twice(&self, node: u32) -> FormatError {
        let rule = Rule::TorchDuplicateKey;
        FormatError::violation_at(rule, rule.row().broken(), self.node_at(node))
    }

    /// Returns whether the elements of the array `node` can be read: a state has filled the array, and the elements are not
    /// Python objects.
    fn is_tensor(&self, node: u32) -> bool {
        let [_, _, _, content] = self.first(node);
        matches!(content, Pickled::Bytes(_) | Pickled::Latin1(_) | Pickled::ByteArray(_))
    }

    /// Returns the spelling of `key`, which is not a text, in the name of a tensor: as Python's `str` writes it. Returns `None`
    /// for a key that has no short spelling.
    fn spelling(&self, key: Pickled) -> Result<Option<String>, FormatError> {
        let Pickled::Tuple(node) = key else { return self.spelling_of_scalar(key, false) };
        if !self.is_flat(node) || self.length(node) > LONGEST_KEY {
            return Ok(None);
        }
        let mut spelled = String::new();
        for item in self.items(node) {
            let Some(item) = self.spelling_of_scalar(item, true)? else { return Ok(None) };
            let separator = if spelled.is_empty() { "" } else { ", " };
            spelled = copied(format_args!("{spelled}{separator}{item}"))?;
        }
        let comma = if self.length(node) == 1 { "," } else { "" };
        copied(format_args!("({spelled}{comma})")).map(Some)
    }

    /// Returns the spelling of the scalar `key`, with quotes around a text if `is_quoted`.
    fn spelling_of_scalar(
        &self,
        key: Pickled,
        is_quoted: bool,
    ) -> Result<Option<String>, FormatError> {
        Ok(Some(match key {
            Pickled::None => copied("None")?,
            Pickled::Bool(true) => copied("True")?,
            Pickled::Bool(false) => copied("False")?,
            Pickled::Float(at) => spelling_of_float(self.float(at))?,
            Pickled::Int(at) => match self.int(at) {
                Some(number) => copied(number)?,
                None => return Ok(None),
            },
            // A long text as a part of a name would make the names of many tensors long.
            Pickled::Text(at) if is_quoted && self.short(at, LONGEST_NAME).is_none() => {
                return Ok(None);
            }
            Pickled::Text(at) if is_quoted => {
                copied(format_args!("'{}'", self.text(at)?.escape_debug()))?
            }
            Pickled::Text(at) => copied(self.text(at)?)?,
            Pickled::Bytes(at) => {
                let Some(bytes) = self.short(at, LONGEST_NAME) else { return Ok(None) };
                copied(format_args!("b'{}'", bytes.escape_ascii()))?
            }
            Pickled::Latin1(at) if self.short(at, LONGEST_NAME).is_some() => {
                copied(format_args!("b'{}'", self.latin_1(at)?.escape_ascii()))?
            }
            Pickled::Global(Global::Dtype(dtype)) => {
                copied(format_args!("torch.{}", dtype.name()))?
            }
            Pickled::Scalar(node) => match self.number(node) {
                Some(ScalarValue::Bool(true)) => copied("True")?,
                Some(ScalarValue::Bool(false)) => copied("False")?,
                Some(ScalarValue::Int(number)) => copied(number)?,
                Some(ScalarValue::Unsigned(number)) => copied(number)?,
                Some(ScalarValue::Float(number)) => spelling_of_float(number)?,
                None => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    /// Returns the kind of `value`, a value that is left out, for the note: the name of its class, or a phrase.
    fn kind(&self, value: Pickled) -> KindOf<'_> {
        match value {
            Pickled::Object(node) => {
                let [class] = self.first(node);
                self.kind(class)
            }
            Pickled::Foreign(node) => {
                let (module, name) = self.foreign_name(node);
                KindOf::Class(
                    str::from_utf8(module).unwrap_or_default(),
                    str::from_utf8(name).unwrap_or_default(),
                )
            }
            Pickled::Global(Global::Known(known)) => {
                let (module, name) = known.name();
                KindOf::Class(module, name)
            }
            Pickled::Global(Global::Device) => KindOf::Class("torch", "device"),
            Pickled::Global(_) => KindOf::Phrase("a class or function"),
            Pickled::Array(_) => KindOf::Class("numpy", "ndarray"),
            Pickled::Scalar(_) => KindOf::Phrase("a NumPy scalar that is not a number"),
            Pickled::NumpyDtype(_) => KindOf::Class("numpy", "dtype"),
            Pickled::Storage(_) => KindOf::Phrase("a storage"),
            Pickled::Layout(_) => KindOf::Class("torch", "layout"),
            Pickled::Set(_) => KindOf::Phrase("a set of other values than scalars"),
            Pickled::Int(_) => KindOf::Phrase("an integer of more than 64 bits"),
            _ => KindOf::Phrase("another value"),
        }
    }
}

/// Returns the spelling of `number`, as Python's `str` writes it: an exponent has a sign and at least two digits.
fn spelling_of_float(number: f64) -> Result<String, FormatError> {
    if number.is_nan() {
        return copied("nan");
    }
    let text = copied(format_args!("{number:?}"))?;
    let Some((digits, exponent)) = text.split_once('e') else { return Ok(text) };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    copied(format_args!("{digits}e{sign}{exponent:0>2}"))
}

/// The kind of a value that is left out.
enum KindOf<'k> {
    /// A module, and the name of a class or function in it.
    Class(&'k str, &'k str),
    Phrase(&'static str),
}

impl core::fmt::Display for KindOf<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Class(module, name) => write!(f, "{module}.{name}"),
            Self::Phrase(phrase) => f.write_str(phrase),
        }
    }
}

/// The largest number of items of a tuple that is a key and becomes a part of a name.
const LONGEST_KEY: u32 = 16;

/// Subtracts the [`cost`] of a name or value of `bytes` bytes from `left`. Fails if `left` is smaller.
fn charge(left: &mut u64, bytes: usize) -> Result<(), FormatError> {
    let Some(rest) = left.checked_sub(cost(bytes)) else {
        let sentence = "the names and values of the pickle take more bytes than the limit allows";
        return Err(FormatError::violation(Limit::Manifest, sentence));
    };
    *left = rest;
    Ok(())
}

/// The identity of a scalar or long integer: two values have the same identity if Python considers them equal, except that
/// bytes and equal bytes that a text spells in Latin-1 have different identities.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identity<'p> {
    None,
    Int(i64),
    /// An integer that does not fit into 64 bits with a sign, or a float with such a value.
    Large(LargeInteger<'p>),
    /// The bits of a float that is not an integer.
    Float(u64),
    /// The position of the instruction that makes this NaN.
    Nan(u32),
    Text(&'p [u8]),
    Bytes(&'p [u8]),
    /// Bytes that this text spells in Latin-1.
    Latin1(&'p [u8]),
    Dtype(&'static str),
    Device(&'p [u8], Option<u64>),
}

/// Returns the identity of `float`, which the instruction at position `at` makes.
fn identity_of_float<'p>(float: f64, at: u32) -> Result<Identity<'p>, FormatError> {
    Ok(match whole(float) {
        // Python's sets compare by object first, so a NaN equals itself and no other NaN.
        _ if float.is_nan() => Identity::Nan(at),
        Some(number) => Identity::Int(number),
        // Every finite float of at least 2^63 is an integer.
        None if float.is_finite() && float.abs() >= 9_223_372_036_854_775_808.0 => {
            Identity::Large(large_integer_of_float(float)?)
        }
        None => Identity::Float(float.to_bits()),
    })
}

/// Returns the value of `float` as an integer. The value must be finite, and at least 2^63 or less than -2^63.
fn large_integer_of_float<'p>(float: f64) -> Result<LargeInteger<'p>, FormatError> {
    let (mantissa, exponent) = mantissa_and_exponent(float);
    let exponent = exponent.saturating_sub(BIAS);
    let zeros = usize::try_from(exponent / 8).unwrap_or_default();
    let shift = u32::try_from(exponent % 8).unwrap_or_default();
    let shifted = u128::from(mantissa).wrapping_shl(shift);
    let mut bytes = Vec::new();
    bytes.try_reserve(zeros.saturating_add(16)).map_err(|_| FormatError::memory())?;
    bytes.resize(zeros, 0);
    bytes.extend_from_slice(&shifted.to_le_bytes());
    Ok(LargeInteger::of_magnitude(float.is_sign_negative(), bytes))
}

/// The exponent field of an `f64` whose value is its mantissa: the bias of the format, and the 52 bits of the fraction.
const BIAS: u64 = 1023 + 52;

/// Returns the mantissa of `float` as an integer, with its leading one, and the exponent field. The absolute value of a
/// normal number is the mantissa times 2 to the power of the exponent field less [`BIAS`].
fn mantissa_and_exponent(float: f64) -> (u64, u64) {
    let bits = float.to_bits();
    ((bits & ((1 << 52) - 1)) | (1 << 52), (bits >> 52) & 0x7ff)
}

/// Returns the value of `float` as an integer, or `None` if the value is not a 64-bit integer.
fn whole(float: f64) -> Option<i64> {
    const LEAST: f64 = -9_223_372_036_854_775_808.0;
    if float == 0.0 {
        return Some(0);
    }
    if !(LEAST..-LEAST).contains(&float) {
        return None;
    }
    // The text of a float cannot be parsed instead: `Display` writes the fewest digits that tell it from other floats, and
    // then zeros.
    let (mantissa, exponent) = mantissa_and_exponent(float);
    let value = if let Some(shift) = exponent.checked_sub(BIAS) {
        mantissa.checked_shl(u32::try_from(shift).ok()?)?
    } else {
        let shift = u32::try_from(BIAS.saturating_sub(exponent)).ok()?;
        let value = mantissa.checked_shr(shift)?;
        if value.checked_shl(shift)? != mantissa {
            return None;
        }
        value
    };
    if float.is_sign_negative() {
        0_i64.checked_sub_unsigned(value)
    } else {
        i64::try_from(value).ok()
    }
}

impl Pickle<'_> {
    /// Appends `value`, a scalar or a flat list of scalars, to `out` as CBOR, and charges its cost to `left`.
    pub(super) fn write(&self, value: Pickled, out: &mut Encoder, left: &mut u64) -> Written {
        match value {
            Pickled::List(node) | Pickled::Tuple(node) => {
                out.array(self.length(node).into())?;
                self.items(node).try_for_each(|item| self.scalar(item, out, left))
            }
            Pickled::Set(node) => {
                // Equal items of the set are found by comparing whole texts. A set can refer to one long text many times, in a few
                // bytes each, so the length of each text is charged first.
                self.items(node).try_for_each(|item| match item {
                    Pickled::Text(at) | Pickled::Bytes(at) | Pickled::Latin1(at) => {
                        charge(left, self.bytes(at).len())
                    }
                    _ => Ok(()),
                })?;
                let items = self.distinct(node)?;
                out.array(u64_from_usize(items.len()))?;
                items.into_iter().try_for_each(|item| self.scalar(item, out, left))
            }
            value => self.scalar(value, out, left),
        }
    }

    /// Returns the distinct items of a set of scalars. Python keeps the first of several equal items.
    fn distinct(&self, node: u32) -> Result<Vec<Pickled>, FormatError> {
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

    /// Returns the identity of `value`, a scalar or an integer of more than 64 bits. Python considers `True`, 1 and 1.0 equal.
    fn identity(&self, value: Pickled) -> Result<Identity<'_>, FormatError> {
        Ok(match value {
            Pickled::Bool(value) => Identity::Int(value.into()),
            Pickled::Int(at) => match self.int(at) {
                Some(number) => Identity::Int(number),
                None => Identity::Large(self.large_integer(at)?),
            },
            Pickled::Float(at) => identity_of_float(self.float(at), at)?,
            Pickled::Scalar(node) => match self.number(node) {
                Some(ScalarValue::Bool(value)) => Identity::Int(value.into()),
                Some(ScalarValue::Int(value)) => Identity::Int(value),
                Some(ScalarValue::Unsigned(value)) => match i64::try_from(value) {
                    Ok(value) => Identity::Int(value),
                    Err(_) => Identity::Large(LargeInteger::of_u64(value)?),
                },
                Some(ScalarValue::Float(value)) => identity_of_float(value, self.position(node))?,
                None => Identity::None,
            },
            Pickled::Latin1(at) => Identity::Latin1(self.bytes(at)),
            Pickled::Text(at) => Identity::Text(self.bytes(at)),
            Pickled::Bytes(at) => Identity::Bytes(self.bytes(at)),
            Pickled::Global(Global::Dtype(dtype)) => Identity::Dtype(dtype.name()),
            Pickled::Device(node) => {
                let [kind, number] = self.first(node);
                let Pickled::Text(kind) = kind else {
                    return Err(FormatError::internal("a device has no kind"));
                };
                Identity::Device(self.bytes(kind), self.count(number))
            }
            _ => Identity::None,
        })
    }

    /// Returns the bytes that the text at position `at` spells in Latin-1.
    fn latin_1(&self, at: u32) -> Result<Vec<u8>, FormatError> {
        let text = self.text(at)?;
        let mut bytes = Vec::new();
        bytes.try_reserve(text.len()).map_err(|_| FormatError::memory())?;
        bytes.extend(text.chars().filter_map(|one| u8::try_from(u32::from(one)).ok()));
        Ok(bytes)
    }

    /// Appends the scalar `value` to `out` as CBOR, and charges its cost to `left`.
    fn scalar(&self, value: Pickled, out: &mut Encoder, left: &mut u64) -> Written {
        let value = match value {
            Pickled::ByteArray(node) => {
                let [content] = self.first(node);
                match content {
                    Pickled::None => return out.bytes(&[]).map_err(Into::into),
                    content => content,
                }
            }
            value => value,
        };
        let bytes = match value {
            Pickled::Text(at) | Pickled::Bytes(at) | Pickled::Latin1(at) => self.bytes(at).len(),
            _ => 0,
        };
        charge(left, bytes)?;
        match value {
            Pickled::Bool(value) => out.bool(value)?,
            Pickled::Int(at) => cbor::int(out, self.int(at).unwrap_or_default())?,
            Pickled::Float(at) => out.float(self.float(at))?,
            Pickled::Text(at) => out.text(self.text(at)?)?,
            Pickled::Bytes(at) => out.bytes(self.bytes(at))?,
            Pickled::Latin1(at) => out.bytes(&self.latin_1(at)?)?,
            Pickled::Scalar(node) => match self.number(node) {
                Some(ScalarValue::Bool(value)) => out.bool(value)?,
                Some(ScalarValue::Int(value)) => cbor::int(out, value)?,
                Some(ScalarValue::Unsigned(value)) => out.uint(value)?,
                Some(ScalarValue::Float(value)) => out.float(value)?,
                None => out.null()?,
            },
            Pickled::Global(Global::Dtype(dtype)) => out.text(dtype.name())?,
            Pickled::Device(node) => {
                let [kind, number] = self.first(node);
                let (Pickled::Text(kind), Some(number)) = (kind, self.count(number)) else {
                    return Err(FormatError::internal("a device has no kind"));
                };
                out.text(&copied(format_args!("{}:{number}", self.text(kind)?))?)?;
            }
            _ => out.null()?,
        }
        Ok(())
    }
}

//! The oracle for the builder of the index: a parser may pass any tensors to the builder, right or wrong, and the
//! builder must trust none of them.

mod generate;

use core::ops::Range;
use std::collections::BTreeSet;

use arbitrary::{Arbitrary as _, Unstructured};
use zten::attributes::{Attributes, Item};
use zten::element::{ByteOrder, Negation};
use zten::element::{LogicalType, StorageType};
use zten::index::{
    Blobs, Builder, FileFormat, Parsed, RawComponent, RawObject, Rules, StreamRules,
};
use zten::manifest::ElementType;
use zten::rules::{Class, Row, Scope, Source, Texts};
use zten::verify::Verifier;
use zten::view::Decoded;
use zten::write::{Copier, WriteOptions, Writer};
use zten::{
    Archive, Component as Read, Encoding, Error, ErrorKind, InMemory, Layout, OpenOptions, Tensor,
};

use super::components::ANY_BOOLS;
use super::strict::Strict;
use super::{heap, open};
use crate::heap_bound;

const TEXTS: Texts = Texts {
    holds: "The names of tensors are unique.",
    broken: "duplicate tensor name",
    source: Source::Policy("names tell tensors apart"),
    scope: Scope::Other("builder"),
    advice: "",
};
static DUPLICATE: Row = Row::new("builder-duplicate-name", Class::Invalid, &TEXTS);
static BOOL: Row = Row::new(
    "builder-bool",
    Class::Invalid,
    &Texts { holds: "A bool is 0 or 1.", broken: "a bool is {}, expected 0 or 1", ..TEXTS },
);

static STREAM: StreamRules =
    StreamRules { compression: &DUPLICATE, length: &DUPLICATE, checksum: &DUPLICATE };

const RULES: Rules = Rules {
    duplicate_name: &DUPLICATE,
    bool_value: Some(&BOOL),
    stream: Some(&STREAM),
    pickles: None,
    quantized: None,
};
const NO_BOOLS: Rules = Rules { bool_value: None, ..RULES };

/// The formats that a generated file may have, each with the rule for overlapping blobs that it was created with.
static FORMATS: [(FileFormat, Blobs); 4] = [
    (FileFormat::new("front", Blobs::Disjoint, RULES), Blobs::Disjoint),
    (FileFormat::new("front", Blobs::Identical, RULES), Blobs::Identical),
    (FileFormat::new("front", Blobs::Any, RULES), Blobs::Any),
    (FileFormat::new(ANY_BOOLS, Blobs::Any, NO_BOOLS), Blobs::Any),
];

/// A file, and the calls with which the parser of a format describes the file, rightly or wrongly.
#[derive(Clone, Debug)]
pub struct Calls {
    /// The index of the file's format in `FORMATS`.
    format: usize,
    options: OpenOptions,
    header: Range<u64>,
    /// The argument of `Builder::descriptions_at`, if the parser calls it.
    descriptions: Option<u64>,
    file: Vec<u8>,
    steps: Vec<Step>,
}

impl Calls {
    /// Creates the calls that are decoded from `bytes`. All bytes are valid input.
    ///
    /// # Panics
    /// Never: if the bytes run out, zeros follow.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self::arbitrary(&mut Unstructured::new(bytes)).expect("zeros follow")
    }
}

/// One call of a method of the builder.
#[derive(Clone, Debug)]
enum Step {
    Attributes(Vec<u8>),
    Object(BuiltObject),
}

#[derive(Clone, Debug)]
struct BuiltObject {
    name: String,
    shape: Vec<u64>,
    layout: Layout,
    layout_name: Option<String>,
    /// The attributes of the object as CBOR.
    attributes: Option<Vec<u8>>,
    components: Vec<Component>,
    source_offset: u32,
}

#[derive(Clone, Debug)]
struct Component {
    role: String,
    offset: u64,
    stored_length: u64,
    decoded_length: Option<u64>,
    storage: StorageType,
    logical: Option<LogicalType>,
    byte_order: ByteOrder,
    encoding: Encoding,
    column_major: bool,
    strides: Option<Vec<u64>>,
    negation: Negation,
    prefix: u64,
    checksum: Option<u32>,
}

impl Component {
    fn raw(&self) -> RawComponent<'_> {
        let Self { offset, stored_length, decoded_length, storage, .. } = *self;
        let Self { ref role, logical, byte_order, encoding, .. } = *self;
        let Self { column_major, negation, prefix, checksum, .. } = *self;
        RawComponent {
            role,
            decoded_length,
            logical,
            byte_order,
            encoding,
            column_major,
            negation,
            strides: self.strides.as_deref(),
            prefix,
            checksum,
            ..RawComponent::raw(storage, offset, stored_length)
        }
    }
}

impl BuiltObject {
    fn raw<'a>(&'a self, components: &'a [RawComponent<'a>]) -> RawObject<'a> {
        RawObject {
            name: &self.name,
            shape: &self.shape,
            layout: self.layout,
            layout_name: self.layout_name.as_deref(),
            attributes: self.attributes.as_deref(),
            components,
            source_offset: self.source_offset,
        }
    }

    /// Returns the number of header bytes that this object counts for in the bound on the heap: numbers of 8 bytes, strides of 9
    /// bytes, texts, and each dimension without its leading zero bytes.
    fn bytes(&self) -> usize {
        let dimensions = self.shape.iter().map(|n| 8 - n.leading_zeros() as usize / 8);
        let texts = self.layout_name.as_ref().map_or(0, String::len) + self.name.len();
        let attributes = self.attributes.as_ref().map_or(0, Vec::len);
        let components = self.components.iter().map(|component| {
            40 + component.role.len() + 9 * component.strides.as_ref().map_or(0, Vec::len)
        });
        24 + texts + attributes + dimensions.sum::<usize>() + components.sum::<usize>()
    }
}

/// How many objects and headers reached each step, to show that a test reaches all cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// The number of objects in archives that opened.
    pub opened: usize,
    /// The number of objects that were validated with their content.
    pub valid: usize,
    /// The number of headers that the builder rejected before the end: when it was created, or in a call.
    pub rejected: usize,
    /// The number of headers that the builder rejected at the end, because of all objects together.
    pub ended: usize,
    /// The number of archives that could be copied to a 1.2 file.
    pub copied: usize,
}

/// Makes the calls of a builder, valid or not, and continues after errors. The same calls must give the same result a second
/// time. If the result opens as an archive, it must have exactly the objects that were pushed, and reading it from memory and
/// from a source must give the same and stay within the file. If 1.2 can express the archive, a copy must have the same names and
/// shapes. After an error, no archive may open. The heap must stay within a bound that is proportional to the number of pushed
/// bytes.
///
/// # Panics
/// Panics if a promise does not hold.
pub fn builder(calls: &Calls) -> Filled {
    let pushed: usize = calls.steps.iter().map(Step::bytes).sum();
    let raw = calls.raw_components();
    let (peak, (failed, parsed)) = heap::peak(|| calls.parse(&raw));
    assert!(
        peak <= heap_bound(pushed as u64),
        "{peak} bytes of heap for {pushed} that were pushed"
    );
    let (again, parsed_again) = calls.parse(&raw);
    assert_eq!(failed, again, "the same calls gave another result the second time");
    let (parsed, parsed_again) = match (parsed, parsed_again) {
        (Ok(parsed), Ok(again)) => (parsed, again),
        (Err(error), Err(again)) => {
            assert_eq!(error, again, "the same calls gave another result the second time");
            calls.rejected(failed.as_ref(), &error);
            let (rejected, ended) = (failed.is_some().into(), failed.is_none().into());
            return Filled { rejected, ended, ..Filled::default() };
        }
        (one, other) => panic!("{:?} and then {:?}", one.err(), other.err()),
    };
    assert_eq!(failed, None, "an object is in the archive although the builder rejected it");
    let archive = Archive::from_parsed(InMemory(&calls.file[..]), parsed);
    let source = Archive::from_parsed(Strict(&calls.file), parsed_again);
    assert_eq!(archive.file_len(), calls.length(), "a file of that length");
    let mut filled = Filled { opened: archive.len(), ..Filled::default() };
    calls.compare(&archive);
    open::objects(&archive, &source);
    filled.valid = compare_source(&archive, &source);
    filled.copied = usize::from(copy(&archive));
    filled
}

impl Step {
    fn bytes(&self) -> usize {
        match self {
            Self::Attributes(map) => map.len(),
            Self::Object(object) => object.bytes(),
        }
    }
}

impl Calls {
    fn objects(&self) -> impl Iterator<Item = &BuiltObject> + Clone {
        self.steps.iter().filter_map(|step| match step {
            Step::Object(object) => Some(object),
            Step::Attributes(_) => None,
        })
    }

    fn raw_components(&self) -> Vec<Vec<RawComponent<'_>>> {
        self.objects()
            .map(|object| object.components.iter().map(Component::raw).collect())
            .collect()
    }

    /// Makes all calls of the builder. Returns the first error, and the result of finishing, which must be the same error if
    /// there was one. If the builder cannot be created, makes no call, and returns this error twice.
    fn parse(
        &self,
        components: &[Vec<RawComponent<'_>>],
    ) -> (Option<Error>, Result<Parsed, Error>) {
        let length = self.file.len() as u64;
        let (format, _) = &FORMATS[self.format];
        let begin = || Builder::new(format, self.header.clone(), length, &self.options);
        let mut builder = match begin() {
            Ok(builder) => builder,
            Err(error) => return (begin().err(), Err(error)),
        };
        if let Some(offset) = self.descriptions {
            builder.descriptions_at(offset);
        }
        let (mut failed, mut objects) = (None::<Error>, components.iter());
        let mut pushed = 0;
        for step in &self.steps {
            let outcome = match step {
                Step::Attributes(map) => builder.attributes(map),
                Step::Object(object) => {
                    let components = objects.next().map_or(&[][..], Vec::as_slice);
                    let outcome = builder.push(&object.raw(components));
                    if let (Err(error), None) = (&outcome, &failed) {
                        assert_eq!(error.location().object(), Some(pushed), "{error}");
                        self.check_name_and_offset(error);
                    }
                    pushed += 1;
                    outcome
                }
            };
            let named = outcome.as_ref().err().map(|error| (error, error.tensor()));
            let is_final =
                failed.as_ref().is_none_or(|failed| named == Some((failed, failed.tensor())));
            assert!(is_final, "{outcome:?} after {failed:?}");
            failed = failed.or(outcome.err());
        }
        (failed, builder.finish())
    }

    /// Checks the `error` with which a header was rejected. `failed` is the error of the first call that failed: if there is one,
    /// `error` must be the same, and otherwise the calls must give a reason for `error`.
    fn rejected(&self, failed: Option<&Error>, error: &Error) {
        assert_ne!(error.kind(), ErrorKind::OutOfMemory);
        assert!(failed.is_none_or(|failed| failed == error), "{error} after {failed:?}");
        let inside = self.header.start <= self.header.end && self.header.end <= self.length();
        assert_eq!(error.kind() == ErrorKind::Internal, !inside, "{error}");
        if let Some(failed) = failed {
            assert_eq!(error.tensor(), failed.tensor(), "{error}");
            return;
        }
        match error.rule() {
            Some("builder-duplicate-name") => assert!(self.names().len() < self.objects().count()),
            Some("blob-overlap") => assert!(self.overlaps(), "{error}"),
            Some("limit-decoded-total") => assert!(self.overlaps() || self.shares(), "{error}"),
            _ => panic!("{error}"),
        }
        assert!(error.location().object().is_some(), "{error} names no object");
        self.check_name_and_offset(error);
    }

    /// Checks that an error about an object has the name and offset with which this object was pushed. An error of
    /// misuse has neither name nor offset.
    fn check_name_and_offset(&self, error: &Error) {
        let ordinal = error.location().object().expect("an object") as usize;
        let object = self.objects().nth(ordinal).expect("an object that was pushed");
        let start = self.descriptions.unwrap_or(self.header.start);
        let offset = start.saturating_add(object.source_offset.into());
        let place = error.row().map(|_| (&*object.name, offset));
        assert_eq!(error.tensor().zip(error.offset()), place, "{error}");
        assert_eq!(error.tensor().is_some(), error.offset().is_some(), "{error}");
        assert_eq!(error.file(), None, "{error}");
    }

    fn length(&self) -> u64 {
        self.file.len() as u64
    }

    fn names(&self) -> BTreeSet<&str> {
        self.objects().map(|object| &*object.name).collect()
    }

    /// Returns the pairs of pushed components whose blobs share a byte.
    fn sharing(&self) -> impl Iterator<Item = (&Component, &Component)> {
        let components = self.objects().flat_map(|object| &object.components);
        let filled = components.filter(|component| component.stored_length > 0);
        let pairs = filled.clone().enumerate();
        pairs
            .flat_map(move |(at, one)| filled.clone().take(at).map(move |other| (one, other)))
            .filter(|(one, other)| {
                one.offset < other.offset + other.stored_length
                    && other.offset < one.offset + one.stored_length
            })
    }

    fn shares(&self) -> bool {
        self.sharing().next().is_some()
    }

    /// Returns whether any two pushed blobs overlap in a way that the format does not allow.
    fn overlaps(&self) -> bool {
        let identical = |(one, other): &(&Component, &Component)| {
            (one.offset, one.stored_length) == (other.offset, other.stored_length)
        };
        match FORMATS[self.format].1 {
            Blobs::Disjoint => self.shares(),
            Blobs::Identical => !self.sharing().all(|pair| identical(&pair)),
            _ => false,
        }
    }

    /// Checks that an archive has exactly the objects that were pushed.
    fn compare(&self, archive: &super::InMemory<'_>) {
        let (names, objects) = (self.names(), self.objects());
        assert_eq!(archive.len(), objects.clone().count());
        assert_eq!(names.len(), archive.len(), "a name occurs twice");
        assert!(!self.overlaps(), "blobs overlap");
        let manifest = archive.manifest();
        assert_eq!((manifest.generation(), manifest.version()), (None, None));
        assert_eq!((manifest.extent(), manifest.as_bytes()), (self.header.clone(), &[][..]));
        assert!(manifest.fields().is_none());
        let attributes = self.steps.iter().rev().find_map(|step| match step {
            Step::Attributes(map) => Some(map),
            Step::Object(_) => None,
        });
        same_attributes(archive.attributes(), attributes);
        super::tree::fields(archive.attributes());
        for (object, opened) in objects.zip(archive.tensors()) {
            object.compare(&opened, self.length());
            for wrong in [format!("{}\0", object.name), format!("x{}", object.name)] {
                let there = names.contains(&*wrong);
                assert_eq!(archive.get(&wrong).is_some(), there, "{wrong:?}");
            }
            let shorter = object.name.char_indices().next_back().map(|(at, _)| &object.name[..at]);
            if let Some(name) = shorter {
                assert_eq!(archive.get(name).is_some(), names.contains(name), "{name:?}");
            }
        }
    }
}

/// Checks that the attributes `read` are the entries of the CBOR map `pushed`, in their order, and that each key is stored in one
/// piece. If no map was pushed, there must be no attributes.
fn same_attributes(read: Attributes<'_>, pushed: Option<&Vec<u8>>) {
    let Some(pushed) = pushed else {
        assert_eq!(read.count(), 0, "attributes that were not pushed");
        return;
    };
    let range = |item: &Item<'_>| item.as_bytes().as_ptr_range();
    let last = read.clone().last().map(|(_, item)| range(&item).end.addr());
    let end = pushed.len() - usize::from(pushed[0] == 0xbf);
    let mut count = 0;
    for (key, item) in read {
        let left = last.expect("an item") - range(&item).start.addr();
        let (before, there) = pushed.split_at(end - left);
        assert!(before.ends_with(key.as_bytes()) && there.starts_with(item.as_bytes()));
        count += 1;
    }
    let few = pushed[0] & 0x1f;
    assert!(few > 23 || count == few, "{count} attributes of {few}");
}

impl BuiltObject {
    fn compare(&self, opened: &Tensor<'_>, length: u64) {
        assert_eq!(opened.name(), self.name);
        assert_eq!(opened.shape(), self.shape);
        assert_eq!(opened.layout(), self.layout);
        let unknown = self.layout_name.as_deref().unwrap_or(Layout::Unknown.name());
        let named = if self.layout == Layout::Unknown { unknown } else { self.layout.name() };
        assert_eq!(opened.layout_name(), named);
        assert!(opened.fields().is_none());
        same_attributes(opened.attributes(), self.attributes.as_ref());
        assert_eq!(opened.components().len(), self.components.len());
        for (pushed, read) in self.components.iter().zip(opened.components()) {
            pushed.compare(&read);
            assert!(
                read.extent().end() <= length,
                "{read:?} ends after the end of the file at {length}"
            );
        }
        for role in ["", "data", "values", "zzz"] {
            let is_there = self.components.iter().any(|component| component.role == role);
            assert_eq!(opened.component(role).is_some(), is_there, "{role:?}");
        }
    }
}

impl Component {
    /// Returns whether the elements of the component, whose tensor has the shape `shape`, are stored in another order
    /// than row-major.
    fn is_strided(&self, shape: &[u64]) -> bool {
        let Some(strides) = &self.strides else { return self.column_major && shape.len() > 1 };
        let in_rows = |at: usize| shape[at + 1..].iter().copied().fold(1, u64::saturating_mul);
        let lies_apart = |at: usize| shape[at] != 1 && strides[at] != in_rows(at);
        !shape.contains(&0) && (0..shape.len()).any(lies_apart)
    }

    fn compare(&self, read: &Read<'_>) {
        assert_eq!(read.role(), self.role);
        let extent = read.extent();
        assert_eq!((extent.offset(), extent.length()), (self.offset, self.stored_length));
        assert_eq!(extent.offset().checked_add(extent.length()), Some(extent.end()));
        let is_negated = self.negation != Negation::default();
        assert_eq!(read.encoding(), if is_negated { Encoding::Negated } else { self.encoding });
        let is_strided = self.is_strided(read.tensor().shape());
        assert_eq!(read.is_strided(), is_strided);
        assert_eq!(read.storage_type(), Some(self.storage));
        let element = match self.logical {
            Some(logical) => ElementType::Logical(logical),
            None => ElementType::Plain(self.storage),
        };
        assert_eq!(read.element_type(), element);
        let big = self.byte_order == ByteOrder::Big && self.storage.width() > 1;
        assert_eq!(read.byte_order() == ByteOrder::Big, big);
        let raw = self.encoding == Encoding::Raw;
        let length = if raw { Some(self.stored_length) } else { self.decoded_length };
        let elements = || read.tensor().element_count()?.checked_mul(read.element_size()?);
        let length = if self.strides.is_some() && is_strided { elements() } else { length };
        assert_eq!(read.decoded_length(), length);
        assert!(read.fields().is_none() && read.shard().is_none() && read.digest().is_none());
    }
}

/// Checks that an archive whose bytes come from `source` has the content of `archive`, which is the same file in
/// memory, and that the source is asked only for bytes of the file. Returns the number of valid objects.
pub(crate) fn compare_source(archive: &super::InMemory<'_>, source: &Archive<Strict<'_>>) -> usize {
    let mut valid = 0;
    let mut from_memory = Verifier::new(archive.manifest());
    let mut from_source = Verifier::new(source.manifest());
    for (one, other) in archive.tensors().zip(source.tensors()) {
        let expected = from_memory.object(&one, |_, _| ());
        let found = from_source.object(&other, |_, _| ());
        assert_eq!(found, expected);
        valid += usize::from(expected.is_ok());
        for (one, other) in one.components().zip(other.components()) {
            let [found, expected] = [other, one].map(|component| component.read());
            assert_eq!(bytes(&found), bytes(&expected));
        }
        compare_sparse(&one, &other);
        if other.dense().is_ok() {
            super::slices::read(&other);
        }
    }
    assert_eq!(source.verify().map(drop), archive.verify().map(drop));
    valid
}

fn bytes(read: &Result<Decoded, Error>) -> Result<&[u8], &Error> {
    read.as_ref().map(|decoded| &**decoded)
}

/// Compares a sparse tensor whose raw components are borrowed from memory with the same tensor from a source, whose
/// components are all decoded. Checksums and bools are verified only when components are decoded.
fn compare_sparse(one: &Tensor<'_>, other: &Tensor<'_>) {
    const ROLES: [&str; 4] = ["values", "indices", "indptr", "coords"];
    let parts = other.components().filter(|component| ROLES.contains(&component.role()));
    let is_readable = parts.into_iter().all(|component| component.read().is_ok());
    let compare = |found: Result<(), Error>, expected: Result<(), Error>| {
        if is_readable {
            assert_eq!(found, expected);
        } else {
            assert!(found.is_err(), "a component cannot be read: {other:?}");
        }
    };
    compare(other.csr().map(drop), one.csr().map(drop));
    compare(other.coo().map(drop), one.coo().map(drop));
}

/// Copies an archive to a 1.2 file, if 1.2 can express the archive, and checks that names, shapes and layouts are the same, and
/// that nothing can be appended to the archive itself. Returns whether the archive was copied.
fn copy(archive: &super::InMemory<'_>) -> bool {
    let settings = WriteOptions::default();
    assert!(Writer::append(Vec::new(), archive.manifest(), &settings).is_err());
    let copier = Copier::new(archive.manifest());
    let Ok(file) = copier.file(archive.manifest(), archive.source(), Vec::new(), &settings) else {
        return false;
    };
    let written = Archive::from_bytes(&file).expect("a file that was written");
    assert_eq!(written.len(), archive.len());
    for object in archive.tensors() {
        let again = written.get(object.name()).expect("an object that was written");
        assert_eq!(again.shape(), object.shape());
        assert_eq!(again.layout_name(), object.layout_name());
    }
    true
}

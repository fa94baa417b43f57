//! Models of files: written, read again, damaged.

mod compare;
mod generate;
mod mistakes;
mod objects;
mod values;
mod write;

use arbitrary::{Arbitrary as _, Unstructured};
pub(crate) use generate::raw as raw_attributes;
pub(crate) use values::attributes;
use zten::element::{LogicalType, StorageType};
use zten::manifest::ElementType;
use zten::write::Checksum;

use super::damage::{Broken, Damage};
use super::{append, open, steps};

/// A file to be written, valid or invalid, and what is done to it then.
#[derive(Clone, Debug)]
pub struct Model {
    checksum: Checksum,
    canonical: bool,
    /// CBOR.
    attributes: Option<Vec<u8>>,
    /// True if the attributes are given after the objects.
    late: bool,
    objects: Vec<Object>,
    damage: Vec<Damage>,
    splits: Vec<u8>,
}

impl Model {
    /// The model that those bytes stand for; any do.
    ///
    /// # Panics
    /// Never: where bytes run out, zeros follow.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self::arbitrary(&mut Unstructured::new(bytes)).expect("zeros follow")
    }
}

#[derive(Clone, Debug)]
struct Object {
    name: String,
    format: String,
    shape: Vec<u64>,
    /// CBOR.
    attributes: Option<Vec<u8>>,
    parts: Vec<Part>,
    /// Bytes that are written in one go.
    piece: usize,
    /// True if the model has no intended fault.
    right: bool,
}

#[derive(Clone, Debug)]
struct Part {
    role: String,
    element: Element,
    elements: u64,
    level: Option<u8>,
    content: Vec<u8>,
    /// The role that its bytes are written as.
    named: Option<String>,
}

#[derive(Clone, Debug)]
enum Element {
    Plain(StorageType),
    Logical(LogicalType),
    Named(String, StorageType),
    Unknown(String),
}

impl Element {
    fn element(&self) -> ElementType<'_> {
        match self {
            Self::Plain(storage) => ElementType::Plain(*storage),
            Self::Logical(logical) => ElementType::Logical(*logical),
            Self::Named(name, storage) => ElementType::UnknownLogical(name, *storage),
            Self::Unknown(name) => ElementType::Unknown(name),
        }
    }
}

/// Counts of objects and of damaged files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Objects that are in the file.
    pub written: usize,
    /// Objects that were rejected before a byte of them was written.
    pub rejected: usize,
    /// Objects that were rejected while their bytes were written.
    pub spoiled: usize,
    /// Damaged files.
    pub damaged: usize,
    /// Damaged files that open.
    pub opened: usize,
}

/// The file that a model becomes, without the objects that the writer rejects.
pub fn written(model: &Model) -> Vec<u8> {
    let mut chosen: Vec<&Object> = model.objects.iter().collect();
    loop {
        match write::write(model, &chosen) {
            Ok(written) => return written.file,
            Err(spoiler) => drop(chosen.remove(spoiler)),
        }
    }
}

/// Writes a model. What the writer accepts, the reader accepts and gives back; what it rejects
/// leaves no trace; and the file keeps the promises of [`append`], and damaged those of [`open`] and
/// [`steps`].
///
/// # Panics
/// Panics if a promise does not hold.
pub fn model(model: &Model) -> Outcome {
    let mut outcome = Outcome::default();
    let mut chosen: Vec<&Object> = model.objects.iter().collect();
    // Who was rejected in the middle spoils the file: it is written again, without.
    let written = loop {
        match write::write(model, &chosen) {
            Ok(written) => break written,
            Err(spoiler) => {
                chosen.remove(spoiler);
                outcome.spoiled += 1;
            }
        }
    };
    outcome.written = written.objects.len();
    outcome.rejected = chosen.len() - outcome.written;
    if outcome.rejected > 0 {
        let again = write::write(model, &written.objects);
        let again = again.unwrap_or_else(|_| panic!("what was accepted is rejected"));
        assert!(again.file == written.file, "what was rejected is in the file");
    }
    compare::read_back(model, &written.objects, written.attributes, &written.file);
    if !model.canonical && outcome.written > 1 {
        let appended = write::in_two(model, &written.objects);
        compare::read_back(model, &written.objects, written.attributes, &appended);
    }
    let pick = |at: usize| usize::from(model.splits.get(at).copied().unwrap_or_default());
    append(&written.file, pick(0), pick(1));
    let mut broken = Broken::parse(&written.file);
    for damage in &model.damage {
        broken.suffer(damage);
        let file = broken.file();
        outcome.damaged += 1;
        outcome.opened += usize::from(open(&file));
        steps(&file, &model.splits);
    }
    outcome
}

//! The oracle for models of files, which are written, read back and damaged.

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

/// A file to write, which may be invalid, and the damage to do to it.
#[derive(Clone, Debug)]
pub struct Model {
    checksum: Checksum,
    canonical: bool,
    /// The attributes as CBOR.
    attributes: Option<Vec<u8>>,
    /// Whether the attributes are set after the objects are written.
    late: bool,
    objects: Vec<ModelObject>,
    damage: Vec<Damage>,
    splits: Vec<u8>,
}

impl Model {
    /// Creates the model that `bytes` stand for. Any bytes stand for a model.
    ///
    /// # Panics
    /// Never: if the bytes run out, zeros follow.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self::arbitrary(&mut Unstructured::new(bytes)).expect("zeros follow")
    }
}

#[derive(Clone, Debug)]
struct ModelObject {
    name: String,
    format: String,
    shape: Vec<u64>,
    /// The attributes as CBOR.
    attributes: Option<Vec<u8>>,
    parts: Vec<ModelComponent>,
    /// The number of bytes that are written at once.
    piece: usize,
    /// Whether the model has no intended fault.
    right: bool,
}

#[derive(Clone, Debug)]
struct ModelComponent {
    role: String,
    element: Element,
    elements: u64,
    level: Option<u8>,
    content: Vec<u8>,
    /// The role under which the bytes are written, if it is not the declared one.
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

/// The numbers of objects and of damaged files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The number of objects in the file.
    pub written: usize,
    /// The number of objects that were rejected before any byte of them was written.
    pub rejected: usize,
    /// The number of objects that were rejected while their bytes were written.
    pub spoiled: usize,
    /// The number of damaged files.
    pub damaged: usize,
    /// The number of damaged files that open.
    pub opened: usize,
}

/// Returns the file of a model, without the objects that the writer rejects.
pub fn written(model: &Model) -> Vec<u8> {
    let mut chosen: Vec<&ModelObject> = model.objects.iter().collect();
    loop {
        match write::write(model, &chosen) {
            Ok(written) => return written.file,
            Err(spoiler) => drop(chosen.remove(spoiler)),
        }
    }
}

/// Writes a model. The reader must return everything that the writer accepted, and rejected objects must leave no trace.
/// The file must keep the promises of [`append`], and damaged forms of it those of [`open`] and [`steps`].
///
/// # Panics
/// Panics if a promise does not hold.
pub fn model(model: &Model) -> Outcome {
    let mut outcome = Outcome::default();
    let mut chosen: Vec<&ModelObject> = model.objects.iter().collect();
    // An object that is rejected while its bytes are written makes the file unusable, so the file is written again without
    // it.
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

//! The oracle for writing files: a model of a file is written, read back and damaged.

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

/// A description of a file to write, which may be invalid, and of the damage to do to it.
#[derive(Clone, Debug)]
pub struct Model {
    checksum: Checksum,
    canonical: bool,
    /// The attributes of the file as CBOR.
    attributes: Option<Vec<u8>>,
    /// Whether the attributes are passed to the writer after the objects.
    late: bool,
    objects: Vec<ModelObject>,
    damage: Vec<Damage>,
    splits: Vec<u8>,
}

impl Model {
    /// Creates the model that is decoded from `bytes`. All bytes are valid input.
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
    /// The attributes of the object as CBOR.
    attributes: Option<Vec<u8>>,
    parts: Vec<ModelComponent>,
    /// The number of bytes that are passed to the writer in one call.
    piece: usize,
    /// Whether the object was generated without a mistake, so that the writer must accept it.
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

/// How many objects of a model were written or rejected, and how many damaged copies of the file opened, to show that
/// a test reaches all cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The number of objects in the written file.
    pub written: usize,
    /// The number of objects that the writer rejected before any byte of them was written.
    pub rejected: usize,
    /// The number of objects that the writer rejected while their bytes were written.
    pub spoiled: usize,
    /// The number of damaged copies of the written file that were tested, each with one change more than the one
    /// before.
    pub damaged: usize,
    /// The number of damaged copies that still open.
    pub opened: usize,
}

/// Writes `model`, and returns the bytes of the file. Objects that the writer rejects are left out.
pub fn written(model: &Model) -> Vec<u8> {
    let mut chosen: Vec<&ModelObject> = model.objects.iter().collect();
    loop {
        match write::write(model, &chosen) {
            Ok(written) => return written.file,
            Err(spoiler) => drop(chosen.remove(spoiler)),
        }
    }
}

/// Writes a model to a file and damages copies of it. The reader must return everything that the writer accepted, also if the
/// second half is appended to a file with the first half, and the file must be the same as if rejected objects had never been
/// passed to the writer. The file must keep the promises of [`append`], and its damaged copies those of [`open`] and [`steps`].
///
/// # Panics
/// Panics if a promise does not hold.
pub fn model(model: &Model) -> Outcome {
    let mut outcome = Outcome::default();
    let mut chosen: Vec<&ModelObject> = model.objects.iter().collect();
    // An object that is rejected while its bytes are written makes the file unusable, so the file is written again
    // without this object.
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
        let again =
            again.unwrap_or_else(|_| panic!("an object that was accepted before is rejected"));
        assert!(again.file == written.file, "a rejected object left bytes in the file");
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

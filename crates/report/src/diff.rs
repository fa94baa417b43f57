//! The differences of the contents of two files, which `zten diff` and the Python package report.

mod attribute;
mod change;
mod document;
mod elements;
mod paired;

use std::collections::{HashMap, VecDeque};

use sha2::{Digest as _, Sha256};
use zten::attributes::Attributes;
use zten::conventions::Convention;
use zten::num::u64_from_usize;
use zten::shards::Source;
use zten::{Error, Generation, Manifest, Tensor};

pub use attribute::AttributeChange;
pub use change::Changes;
pub use document::{Summary, document};
pub use elements::{Measure, Numbers, Tolerance};

use crate::digests::kind;
use crate::natural;
use crate::sums::{Sum, sorted};
use paired::{Pair, paired};

/// A tensor, and for each of its components, in the order of the manifest, its length and the SHA-256 of its normalized content.
type Summed<'a> = (Tensor<'a>, &'a [Sum]);

/// One of two files that are compared: its attributes, and its tensors with the lengths and digests of their components.
#[derive(Debug)]
pub struct Side<'a> {
    generation: Option<Generation>,
    attributes: Attributes<'a>,
    tensors: Vec<Summed<'a>>,
}

impl<'a> Side<'a> {
    /// Creates the side of the file with this `manifest`. `tensors` are the tensors to compare, each with the digests of its
    /// components ([`Of::Content`](crate::sums::Of::Content)) in the order of the manifest.
    pub fn new(
        manifest: &'a Manifest<impl AsRef<[u8]>>,
        tensors: impl IntoIterator<Item = (Tensor<'a>, &'a [Sum])>,
    ) -> Self {
        let mut tensors: Vec<_> = tensors.into_iter().collect();
        tensors.sort_by(|(one, _), (other, _)| natural::compare(one.name(), other.name()));
        Self { generation: manifest.generation(), attributes: manifest.attributes(), tensors }
    }

    /// Returns whether the file can have attributes. Files of 0.1 cannot.
    fn has_attributes(&self) -> bool {
        self.generation != Some(Generation::V0_1)
    }
}

/// The differences of two files: an old and a new one.
#[derive(Debug)]
pub struct FileDifferences<'a> {
    /// The attributes of the files themselves that are not the same in both files.
    pub attributes: Vec<AttributeChange<'a>>,
    /// The objects that were added, removed, renamed or changed, in the natural order of their names.
    pub objects: Vec<ObjectDifference<'a>>,
    /// The number of objects that are equal in both files.
    pub equal: u64,
    /// The number of objects whose elements differ by no more than the tolerance. `None` until [`accept`](Self::accept) was called.
    pub within: Option<u64>,
    /// The names of the objects that were not compared, because they are unread in one of the files.
    pub unread: Vec<&'a str>,
}

/// An object that was added, removed, renamed or changed between the old file and the new one.
#[derive(Debug)]
pub struct ObjectDifference<'a> {
    /// The name of the object: in the new file, or in the old file if the object was removed.
    pub name: &'a str,
    /// Whether the object was added, removed, changed or renamed.
    pub difference: Difference<'a>,
    /// What differs between the two files. Of a renamed object only attributes can differ, and of an added or removed object
    /// nothing is compared.
    pub changes: Changes<'a>,
    /// The object in the old file, and the object in the new file. `None` unless the object is [`Difference::Changed`].
    pub both: Option<[Tensor<'a>; 2]>,
}

/// What happened to an object between the old file and the new one.
#[derive(Clone, Copy, Debug)]
pub enum Difference<'a> {
    /// The object is only in the new file.
    Added,
    /// The object is only in the old file.
    Removed,
    /// The object is in both files under one name, and differs in its layout, shape, components or attributes.
    Changed,
    /// The object has another name in the new file. The field is its name in the old file.
    Renamed(&'a str),
}

impl ObjectDifference<'_> {
    /// Returns whether [`measure`](Self::measure) has elements to compare: the object is in both files, and the content of a
    /// component differs. With a `tolerance`, every changed object has, because the tolerance may accept values of another dtype or
    /// layout.
    pub fn has_elements(&self, tolerance: Option<Tolerance>) -> bool {
        let is_changed = matches!(self.difference, Difference::Changed);
        self.changes.has_content() || is_changed && tolerance.is_some()
    }

    /// Compares the elements of a changed object, which are read from `files` (the old and the new file), and notes in `changes`
    /// how many differ and by how much. With a `tolerance`, also counts the elements that differ by more than the tolerance. Does
    /// nothing for an object that is not in both files under its name.
    ///
    /// # Errors
    /// The index (0 or 1) of the file that cannot be read, and the error.
    pub fn measure(
        &mut self,
        files: [&dyn Source; 2],
        tolerance: Option<Tolerance>,
    ) -> Result<(), (usize, Error)> {
        let ([Some(one), Some(other)], [old, new]) =
            (self.both.map_or([None; 2], |both| both.map(Some)), files)
        else {
            return Ok(());
        };
        let both = [one.read_from(old), other.read_from(new)];
        self.changes.measure(both, tolerance)
    }
}

impl FileDifferences<'_> {
    /// Returns whether no difference was found in the attributes of the files and the objects that were compared.
    pub fn is_equal(&self) -> bool {
        self.attributes.is_empty() && self.objects.is_empty()
    }

    /// Removes the tensors whose elements differ within the tolerance from `objects`, and counts the removed tensors in `within`.
    pub fn accept(&mut self) {
        let before = self.objects.len();
        let is_within = |object: &ObjectDifference<'_>| {
            matches!(object.difference, Difference::Changed) && object.changes.is_within()
        };
        self.objects.retain(|object| !is_within(object));
        self.within = Some(u64_from_usize(before.saturating_sub(self.objects.len())));
    }
}

/// Returns whether a component of the tensor has no digest because it cannot be read. Such a tensor cannot be called equal to
/// another tensor, or different.
fn is_unread((_, sums): &Summed<'_>) -> bool {
    sums.iter().any(|sum| sum.sha256.is_none())
}

/// Returns a SHA-256 of the roles, types, shapes and content of the components of a tensor. The name and the attributes of the
/// tensor are left out, so that renamed tensors are found by this digest.
fn content((tensor, sums): &Summed<'_>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for (component, sum) in sorted(tensor, sums) {
        for text in [component.role(), &kind(tensor, &component)] {
            hash.update(Sha256::digest(text));
        }
        hash.update(sum.sha256.unwrap_or_default());
    }
    hash.finalize().into()
}

/// Finds the differences between the tensors of two files by the digests of their components. The attributes of the files
/// themselves are compared only if `with_attributes` is true. No attributes are compared if a file is of 0.1, which has none.
/// Single elements are not compared: see [`ObjectDifference::measure`].
pub fn compare([old, new]: [Side<'_>; 2], with_attributes: bool) -> FileDifferences<'_> {
    let compared = old.has_attributes() && new.has_attributes();
    let attributes =
        |old, new| if compared { attribute::attributes(&old, &new) } else { Vec::new() };
    let (mut objects, mut added, mut equal) = (Vec::new(), Vec::new(), 0_u64);
    let mut unread = Vec::new();
    let mut removed: HashMap<_, VecDeque<Tensor<'_>>> = HashMap::new();
    let by_name =
        |(one, _): &Summed<'_>, (other, _): &Summed<'_>| natural::compare(one.name(), other.name());
    for pair in paired(old.tensors, new.tensors, by_name) {
        let is_unread = match &pair {
            Pair::Old(one) | Pair::New(one) => is_unread(one),
            Pair::Both(one, other) => is_unread(one) || is_unread(other),
        };
        match pair {
            Pair::Old((object, _)) | Pair::New((object, _)) | Pair::Both((object, _), _)
                if is_unread =>
            {
                unread.push(object.name());
            }
            Pair::Old(one) => removed.entry(content(&one)).or_default().push_back(one.0),
            Pair::New(other) => added.push(other),
            Pair::Both((one, old), (other, new)) => {
                let components = [sorted(&one, old), sorted(&other, new)];
                let mut changes = Changes::new([&one, &other], components);
                // The attributes of a group say how its codes are divided, which no file stores as attributes.
                if [one, other].iter().all(|object| Convention::of(object).is_none()) {
                    changes.attributes = attributes(one.attributes(), other.attributes());
                }
                if changes.is_empty() {
                    equal = equal.saturating_add(1);
                } else {
                    let (name, difference) = (one.name(), Difference::Changed);
                    objects.push(ObjectDifference {
                        name,
                        difference,
                        changes,
                        both: Some([one, other]),
                    });
                }
            }
        }
    }
    for summed in added {
        let same = removed.get_mut(&content(&summed)).and_then(VecDeque::pop_front);
        let (object, mut changes) = (summed.0, Changes::default());
        let difference = match same {
            Some(one) => {
                changes.attributes = attributes(one.attributes(), object.attributes());
                Difference::Renamed(one.name())
            }
            None => Difference::Added,
        };
        objects.push(ObjectDifference { name: object.name(), difference, changes, both: None });
    }
    objects.extend(removed.into_values().flatten().map(|object| ObjectDifference {
        name: object.name(),
        difference: Difference::Removed,
        changes: Changes::default(),
        both: None,
    }));
    // Renamed objects may have any new name, so the list is sorted again.
    objects.sort_by(|one, other| natural::compare(one.name, other.name));
    let attributes =
        if with_attributes { attributes(old.attributes, new.attributes) } else { Vec::new() };
    FileDifferences { attributes, objects, equal, within: None, unread }
}

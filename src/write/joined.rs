//! Objects that a copy has in place of several objects of another file.

use alloc::string::String;
use alloc::vec::Vec;

use super::encoded::Encoded;
use crate::element::DType;
use crate::error::{BareError, Error, Misuse, OutOfMemory};
use crate::layout::{Recode, Recoder};
use crate::manifest::Component;
use crate::num::sort_by;

/// The objects of a copy that are each made of several objects of the file that is copied.
#[derive(Debug, Default)]
pub struct JoinedObjects {
    list: Vec<JoinedObject>,
    /// The ordinal of each object that is joined with others, in ascending order, and the index in `list` of the new object.
    members: Vec<(u32, usize)>,
}

/// An object that is made of several objects.
#[derive(Debug)]
pub(crate) struct JoinedObject {
    pub(crate) name: String,
    pub(crate) shape: Vec<u64>,
    pub(crate) layout: &'static str,
    pub(crate) attributes: Encoded,
    pub(crate) parts: Vec<JoinedPart>,
    /// The smallest ordinal of the objects that are joined. The copy has the new object at the position of this object.
    pub(crate) first: u32,
}

/// A component of an object that is made of several objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinedPart {
    pub(crate) role: &'static str,
    pub(crate) dtype: DType,
    /// The length in bytes of the decoded content of this component.
    pub(crate) bytes: u64,
    /// The ordinal, in the file that is copied, of the object that holds the content.
    pub(crate) ordinal: u32,
    /// The conversion of the content to another form; `None` if the content is stored as it is.
    pub(crate) recode: Option<Recode>,
}

impl JoinedPart {
    /// Returns a converter of the content of `source`, the component of an object, to the content of this component.
    pub(crate) fn converter<'c>(&self, source: &Component<'c>) -> Converter<'c> {
        Converter { recoder: Recoder::new(self.recode), source: *source }
    }
}

/// A conversion of the content of a component, in progress.
#[derive(Debug)]
pub(crate) struct Converter<'c> {
    recoder: Recoder,
    source: Component<'c>,
}

impl Converter<'_> {
    /// Converts the next bytes `chunk`, and passes the result to `take`.
    ///
    /// # Errors
    /// The error of `take`; [`Misuse::Quantization`] if the content cannot be stored in the other form; out of memory.
    pub(crate) fn chunk(
        &mut self,
        chunk: &[u8],
        take: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.recoder.chunk(chunk, take, &|| lossy(&self.source))
    }
}

/// Returns the error of `component`, whose content cannot be stored in another form.
#[cold]
pub(crate) fn lossy(component: &Component<'_>) -> Error {
    BareError::misuse(Misuse::Quantization).at(component.location()).into()
}

impl JoinedObjects {
    /// Adds `object`, which is made of the objects with the ordinals `members`.
    pub(crate) fn add(
        &mut self,
        object: JoinedObject,
        members: impl ExactSizeIterator<Item = u32>,
    ) -> Result<(), OutOfMemory> {
        let index = self.list.len();
        self.list.try_reserve(1).map_err(|_| OutOfMemory)?;
        self.list.push(object);
        self.members.try_reserve(members.len()).map_err(|_| OutOfMemory)?;
        self.members.extend(members.map(|ordinal| (ordinal, index)));
        Ok(())
    }

    /// Sorts the original objects by their ordinals, so that `of` can search them. Called after the last object has been added.
    pub(crate) fn sort(&mut self) {
        sort_by(&mut self.members, |(one, _), (other, _)| one.cmp(other));
    }

    /// Returns the new object into which the object `ordinal` is joined, or `None` if it is not joined.
    pub(crate) fn of(&self, ordinal: u32) -> Option<&JoinedObject> {
        let at = self.members.binary_search_by_key(&ordinal, |(own, _)| *own).ok()?;
        let (_, index) = self.members.get(at)?;
        self.list.get(*index)
    }

    /// Returns whether the object `ordinal` is joined into a new object, but is not the first of the objects that are joined.
    pub fn follows(&self, ordinal: u32) -> bool {
        self.of(ordinal).is_some_and(|object| object.first != ordinal)
    }

    /// Returns the length in bytes of all components of the new object whose first original object is `ordinal`. Returns `None` if
    /// the object `ordinal` is not the first of objects that are joined.
    pub fn bytes(&self, ordinal: u32) -> Option<u64> {
        let object = self.of(ordinal).filter(|object| object.first == ordinal)?;
        Some(object.parts.iter().fold(0, |sum, part| sum.saturating_add(part.bytes)))
    }

    /// Returns the number of objects of the file that are joined into new objects.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Returns the layout of each new object.
    pub fn layouts(&self) -> impl ExactSizeIterator<Item = &'static str> {
        self.list.iter().map(|object| object.layout)
    }
}

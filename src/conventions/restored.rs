//! The tensors of a file that is written from an archive with composite objects.

use alloc::vec::Vec;

use super::Original;
use crate::error::OutOfMemory;
use crate::index::Layout;
use crate::manifest::Tensor;

/// The arrays of a new safetensors, `.npy` or `.npz` file that is written from an archive of zTensor: an array for each object of
/// the archive, except that a composite object becomes the tensors that it was made of.
#[derive(Debug)]
pub struct Restored<'a> {
    arrays: Vec<Item>,
    originals: Vec<Original<'a>>,
}

/// What an array of the new file is written from.
#[derive(Clone, Copy, Debug)]
enum Item {
    /// The object with this index among the given objects.
    Object(usize),
    /// The tensor with this index among those that are restored.
    Original(usize),
}

impl<'a> Restored<'a> {
    /// Finds the tensors that `objects` were made of. Each object comes with the name that it has in the new file. Returns `None`
    /// if no object was made of tensors.
    ///
    /// # Errors
    /// Out of memory.
    pub fn find<'n>(
        objects: impl Iterator<Item = (Tensor<'a>, &'n str)>,
    ) -> Result<Option<Self>, OutOfMemory> {
        let (mut arrays, mut originals) = (Vec::new(), Vec::new());
        for (index, (object, name)) in objects.enumerate() {
            let is_dense = object.layout() == Layout::Dense;
            let own = if is_dense { None } else { object.originals(name)? };
            let count = own.as_ref().map_or(1, Vec::len);
            arrays.try_reserve(count).map_err(|_| OutOfMemory)?;
            let Some(own) = own else {
                arrays.push(Item::Object(index));
                continue;
            };
            let first = originals.len();
            originals.try_reserve(count).map_err(|_| OutOfMemory)?;
            originals.extend(own);
            arrays.extend((first..originals.len()).map(Item::Original));
        }
        Ok(if originals.is_empty() { None } else { Some(Self { arrays, originals }) })
    }

    /// Returns the number of arrays that are written.
    pub fn count(&self) -> usize {
        self.arrays.len()
    }

    /// Returns the index of the object that is written as array `at`. Returns `None` if this array is restored from an object, or
    /// if there is no such array.
    pub fn object(&self, at: usize) -> Option<usize> {
        match self.arrays.get(at)? {
            Item::Object(index) => Some(*index),
            Item::Original(_) => None,
        }
    }

    /// Returns the tensor that is restored as array `at`. Returns `None` if this array is an object, or if there is no such array.
    pub fn original(&self, at: usize) -> Option<&Original<'a>> {
        match self.arrays.get(at)? {
            Item::Original(index) => self.originals.get(*index),
            Item::Object(_) => None,
        }
    }

    /// Returns a name that two arrays have, or `None` if all names differ: the names of restored tensors follow from the names of
    /// objects, and may be the names of other objects. `name` returns the new name of the object with the given index.
    ///
    /// # Errors
    /// Out of memory.
    pub fn repeated_name<'n>(
        &'n self,
        name: impl Fn(usize) -> &'n str,
    ) -> Result<Option<&'n str>, OutOfMemory> {
        let own = |array: &Item| match array {
            Item::Object(index) => name(*index),
            Item::Original(index) => self.originals.get(*index).map_or("", Original::name),
        };
        let mut names = Vec::new();
        names.try_reserve_exact(self.arrays.len()).map_err(|_| OutOfMemory)?;
        names.extend(self.arrays.iter().map(own));
        names.sort_unstable();
        let repeated = names.windows(2).find(|two| matches!(two, [one, other] if one == other));
        Ok(repeated.and_then(|two| two.first().copied()))
    }
}

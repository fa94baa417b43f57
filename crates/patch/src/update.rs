//! Applying patches to arrays in place.

use std::collections::{HashMap, HashSet};
use std::io;

use zten::formats::write::Inexpressible;

use crate::chain::{Chain, ResultTensor};
use crate::content::Producer;
use crate::failure::{PatchFailure, no_memory};

/// A function that takes changed elements: the name of the tensor, an offset in it, and the bytes from this offset on.
pub type WriteFn<'w> = dyn FnMut(&str, u64, &[u8]) -> io::Result<()> + 'w;

/// An update in place: it applies patches to a base that is arrays in memory. Only the elements of arrays can change.
///
/// Writing cannot be undone, so call [`check`](Self::check) first: [`write`](Self::write) then fails only if the base or a patch
/// has changed since, or cannot be read.
#[derive(Debug)]
pub struct ArrayUpdate<'u, 'c, 'a> {
    chain: &'u Chain<'c, 'a>,
    /// The names of tensors that share their memory with another tensor. The memory is changed once, as that of the other tensor.
    twins: HashSet<&'u str>,
}

impl<'u, 'c, 'a> ArrayUpdate<'u, 'c, 'a> {
    /// Prepares to apply `chain` to its base in place. Each pair of `twins` has the names of two tensors of the base that are the
    /// same memory. Reads no content.
    ///
    /// # Errors
    /// [`PatchFailure::Inexpressible`] if a patch adds, removes, renames or retypes a tensor, or gives two twins different elements.
    pub fn new(
        chain: &'u Chain<'c, 'a>,
        twins: &[(&'u str, &'u str)],
    ) -> Result<Self, PatchFailure> {
        let refused = |name: &str, sentence: &str| {
            PatchFailure::Inexpressible(Inexpressible::tensor(name, sentence.to_owned()))
        };
        let mut slots = HashMap::new();
        slots.try_reserve(chain.slots.len()).map_err(|_| PatchFailure::Old(no_memory()))?;
        for slot in &chain.slots {
            if slot.origin.is_some() {
                let sentence = "the patch adds it or changes its type, shape or attributes, and arrays in place change in their elements only";
                return Err(refused(slot.name, sentence));
            }
            if slot.name != slot.tensor.name() {
                let sentence = "the patch gives it another name, and arrays in place change in their elements only";
                return Err(refused(slot.tensor.name(), sentence));
            }
            slots.insert(slot.name, slot);
        }
        if let Some(removed) = chain.base.tensors.iter().find(|own| !slots.contains_key(own.name()))
        {
            let sentence =
                "the patch removes it, and arrays in place change in their elements only";
            return Err(refused(removed.name(), sentence));
        }
        let mut second = HashSet::new();
        second.try_reserve(twins.len()).map_err(|_| PatchFailure::Old(no_memory()))?;
        for (one, other) in twins {
            let (Some(first), Some(twin)) = (slots.get(*one), slots.get(*other)) else { continue };
            if !chain.are_alike(first, twin) {
                let sentence = "it shares its memory with another tensor, to which the patch gives other elements";
                return Err(refused(twin.name, sentence));
            }
            second.insert(*other);
        }
        Ok(Self { chain, twins: second })
    }

    /// Computes the result without writing it, and compares all digests. The base is read once.
    ///
    /// # Errors
    /// The errors of [`Chain::dry_run`].
    pub fn check(&self) -> Result<(), PatchFailure> {
        self.chain.dry_run()
    }

    /// Computes the elements of each tensor that changes, and passes them to `write`: the name of the tensor, an offset, and the
    /// bytes from this offset on. The offsets of a tensor come in ascending order. `write` may change the base, because the bytes
    /// that an element was computed from are not read again.
    ///
    /// # Errors
    /// The base or a patch has changed since [`check`](Self::check), or cannot be read, and the errors of `write`. Some tensors are
    /// then changed, and others are not.
    pub fn write(&self, write: &mut WriteFn<'_>) -> Result<(), PatchFailure> {
        let (mut producer, mut verifiers) = (Producer::new(self.chain), self.chain.verifiers());
        for (number, slot) in self.chain.slots.iter().enumerate() {
            if slot.deltas.is_empty() || self.twins.contains(slot.name) {
                continue;
            }
            let mut offset = 0;
            let mut take = |bytes: &[u8]| {
                let written = write(slot.name, offset, bytes);
                offset = offset.saturating_add(zten::num::u64_from_usize(bytes.len()));
                written
            };
            let read = self.chain.read(number, (&mut producer, &mut verifiers), &mut take);
            read.map_err(PatchFailure::of_writer)?;
        }
        Ok(())
    }
}

impl Chain<'_, '_> {
    /// Returns whether each patch gives the tensors `one` and `other` the same elements, as the digests in the patch say.
    fn are_alike(&self, one: &ResultTensor<'_>, other: &ResultTensor<'_>) -> bool {
        let steps = |slot: &ResultTensor<'_>| -> Vec<_> {
            let steps = slot.deltas.iter().map(|delta| {
                let patch = self.patches.get(delta.patch)?;
                let change = patch.record.changed.get(delta.change)?;
                Some((delta.patch, change.role, change.base, change.result))
            });
            steps.collect()
        };
        steps(one) == steps(other)
    }
}

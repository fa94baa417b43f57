//! Applying patches to arrays in memory in place, by changing their elements.

use std::collections::HashMap;
use std::io;

use zten::formats::write::Inexpressible;

use crate::chain::{Chain, ResultTensor};
use crate::content::Producer;
use crate::failure::{PatchFailure, no_memory};

/// A function that writes changed elements. Its arguments are the name of the tensor, an offset in bytes from the start of the
/// tensor's elements, and the new bytes from this offset on.
pub type WriteFn<'w> = dyn FnMut(&str, u64, &[u8]) -> io::Result<()> + 'w;

/// An update in place: applies a chain of patches to a base whose tensors are arrays in memory. Only the elements of arrays can
/// change.
///
/// Writing cannot be undone, so call [`check`](Self::check) first: after it, [`write`](Self::write) fails only if the base or a
/// patch has changed since, if one of them cannot be read, or if the function that writes the elements fails.
#[derive(Debug)]
pub struct ArrayUpdate<'u, 'c, 'a> {
    chain: &'u Chain<'c, 'a>,
    /// The names of tensors that are not written, because they share their memory with a tensor that is written, each with the name
    /// of another tensor of this memory. So the memory of several tensors is changed once.
    twins: HashMap<&'u str, &'u str>,
}

impl<'u, 'c, 'a> ArrayUpdate<'u, 'c, 'a> {
    /// Prepares to apply `chain` to its base in place, without reading elements. Each pair of `twins` has the names of two tensors
    /// of the base that are the same memory. If more than two tensors are the same memory, the pairs connect them, in any order. A
    /// pair with a name that no tensor has is ignored.
    ///
    /// # Errors
    /// [`PatchFailure::Inexpressible`] if a patch adds, removes or renames a tensor, changes its type, shape or attributes, or
    /// gives two tensors of one memory different elements; [`PatchFailure::Old`] if memory runs out.
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
                let sentence = "the patch adds it or changes its type, shape or attributes, but a change in place can only change elements";
                return Err(refused(slot.name, sentence));
            }
            if slot.name != slot.tensor.name() {
                let sentence = "the patch gives it another name, but a change in place can only change elements";
                return Err(refused(slot.tensor.name(), sentence));
            }
            slots.insert(slot.name, slot);
        }
        if let Some(removed) = chain.base.tensors.iter().find(|own| !slots.contains_key(own.name()))
        {
            let sentence = "the patch removes it, but a change in place can only change elements";
            return Err(refused(removed.name(), sentence));
        }
        // Of the tensors that are the same memory, only one is written. A tensor may be in several pairs, on either side, so
        // following the names in this map leads to the tensor that is written.
        let mut written_as = HashMap::new();
        written_as.try_reserve(twins.len()).map_err(|_| PatchFailure::Old(no_memory()))?;
        for (one, other) in twins {
            let (Some(first), Some(twin)) = (slots.get(*one), slots.get(*other)) else { continue };
            if !chain.are_alike(first, twin) {
                let sentence = "it shares its memory with another tensor, to which the patch gives other elements";
                return Err(refused(twin.name, sentence));
            }
            let (own, root) = (writer_of(&written_as, one), writer_of(&written_as, other));
            if own != root {
                written_as.insert(root, own);
            }
            // This makes the map lead from `other` to `own` in one step. If each later pair with `other` followed a long chain
            // of names again, many pairs of one tensor would take quadratic time.
            if *other != own {
                written_as.insert(other, own);
            }
        }
        Ok(Self { chain, twins: written_as })
    }

    /// Computes the changed elements without writing them, and compares their digests, and the identity of all tensors, with those
    /// that the patches declare. The base is read once.
    ///
    /// # Errors
    /// The errors of [`Chain::dry_run`].
    pub fn check(&self) -> Result<(), PatchFailure> {
        self.chain.dry_run()
    }

    /// Computes the elements of each tensor that changes, and passes them to `write` in pieces: the name of the tensor, the offset
    /// of the piece in bytes, and its bytes. The offsets of a tensor come in ascending order. `write` may change the memory of the
    /// base at once, because bytes from which elements were computed are not read again. The digests of the changed components are
    /// compared, but not the identity of all tensors. Of tensors that are the same memory, one is passed.
    ///
    /// # Errors
    /// The base or a patch has changed since [`check`](Self::check), or cannot be read, or `write` fails. After an error, some
    /// tensors are changed, and others are not.
    pub fn write(&self, write: &mut WriteFn<'_>) -> Result<(), PatchFailure> {
        let (mut producer, mut verifiers) = (Producer::new(self.chain), self.chain.verifiers());
        for (number, slot) in self.chain.slots.iter().enumerate() {
            if slot.deltas.is_empty() || self.twins.contains_key(slot.name) {
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

/// Returns the tensor that is written for all tensors that share the memory of the tensor `name`. `written_as` leads from each of
/// the other tensors, by one or several names, to that tensor.
fn writer_of<'u>(written_as: &HashMap<&'u str, &'u str>, mut name: &'u str) -> &'u str {
    while let Some(next) = written_as.get(name) {
        name = next;
    }
    name
}

impl Chain<'_, '_> {
    /// Returns whether each patch gives the tensors `one` and `other` the same elements. Compares the digests that the patches
    /// declare.
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

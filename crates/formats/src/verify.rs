//! Validating what only data can show: checksums of archives, and bools.

use zten::StorageType;

use super::kind::Kind;
use super::place::Place;
use super::tensor::Tensor;
use super::trouble::Trouble;
use super::{Failure, Input};

impl Input {
    /// Reads what only data can show to be valid: members of archives, and bools. Nothing is put in order or written.
    /// `note` is told how many bytes have been read.
    ///
    /// # Errors
    /// Data cannot be read, or is refused.
    pub fn verify(&mut self, note: &mut dyn FnMut(usize)) -> Result<(), Trouble> {
        for at in 0..self.listing.tensors.len() {
            let Some(tensor) = self.listing.tensors.get(at) else { continue };
            let is_bool = tensor.kind == Kind::Plain(StorageType::Bool);
            if is_bool || matches!(tensor.place, Place::Member(_)) {
                self.verify_tensor(&tensor, &mut |chunk| {
                    note(chunk.len());
                    let wrong = chunk.iter().find(|byte| is_bool && **byte > 1);
                    wrong.map_or(Ok(()), |byte| Err(Trouble::of_bool(&tensor.name, *byte)))
                })?;
            }
        }
        Ok(())
    }

    fn verify_tensor(
        &mut self,
        tensor: &Tensor,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        // In the order in which the bytes lie, which is quickest.
        let place = match tensor.place {
            Place::Array(array) => Place::Array(array.in_order()),
            Place::Member(mut packed) => {
                packed.array = packed.array.in_order();
                Place::Member(packed)
            }
            extent @ Place::Extent(_) => extent,
        };
        // What takes the bytes fails at what is wrong with a member only after its checksum has been read.
        let mut first = Ok(());
        let tensor = Tensor { place, name: tensor.name.clone(), shape: Vec::new(), ..*tensor };
        let read = self.read::<()>(&tensor, &mut |chunk| {
            let taken = take(chunk);
            if first.is_ok() {
                first = taken;
            }
            Ok(())
        });
        match read {
            Err(Failure::Input(trouble)) => Err(trouble),
            Ok(()) | Err(Failure::Taker(())) => first,
        }
    }
}

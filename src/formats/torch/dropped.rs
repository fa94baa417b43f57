//! Checks of the parts of a checkpoint that are dropped, because they are neither tensors nor attributes: states of parameters,
//! hooks, and versions of modules.

use alloc::vec::Vec;

use crate::formats::error::FormatError;
use crate::formats::rules::Rule;

use super::globals;
use super::pickle::{Fact, LONGEST_NAME, Pickle, Pickled};

impl Pickle<'_> {
    /// Checks the states of parameters, the lengths of deques, the fields of records, the metadata of tensors and the
    /// versions of modules, and counts what is dropped of them. The check comes after the last instruction, because
    /// containers may grow until then. Each container is visited once.
    pub(super) fn check_dropped(&mut self) -> Result<(), FormatError> {
        for node in self.nodes_with(Fact::IsState) {
            let mut items = self.items(node);
            while let (Some(key), Some(_)) = (items.next(), items.next()) {
                // PyTorch sets each key as an attribute of the tensor. Setting some built-in attributes, such as `data`,
                // changes the elements.
                let is_attribute = match key {
                    Pickled::Text(at) => {
                        !self.short(at, LONGEST_NAME).is_some_and(globals::is_property)
                    }
                    _ => false,
                };
                if !is_attribute {
                    let sentence = "the state of a parameter has a key that is a built-in attribute of tensors, or is not text";
                    let at = self.node_at(node);
                    return Err(FormatError::violation_at(Rule::TorchCall, sentence, at));
                }
            }
        }
        for (node, most) in &self.bounds {
            if u64::from(self.length(*node)) > *most {
                let sentence = "a deque has more items than its maximum";
                return Err(FormatError::violation_at(
                    Rule::TorchCall,
                    sentence,
                    self.node_at(*node),
                ));
            }
        }
        for (dtype, fields) in &self.records {
            self.check_fields(*dtype, *fields)?;
        }
        for node in self.nodes_with(Fact::IsTensorMetadata) {
            self.check_tensor_metadata(node)?;
        }
        let has_items = |node: &u32| self.length(*node) > 0;
        let states = self.nodes_with(Fact::IsState).filter(has_items).count();
        let hooks = self.nodes_with(Fact::IsHooks).filter(has_items).count();
        (0..states).for_each(|_| self.dropped.add_state());
        (0..hooks).for_each(|_| self.dropped.add_hooks());
        self.check_metadata()
    }

    /// Checks the dictionary `node`, which says how a tensor shows its elements: `conj` and `neg` are flags.
    fn check_tensor_metadata(&self, node: u32) -> Result<(), FormatError> {
        let mut items = self.items(node);
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            let is_known = matches!(key, Pickled::Text(at)
                if matches!(self.short(at, LONGEST_NAME), Some(b"conj" | b"neg")));
            if !is_known || !matches!(value, Pickled::Bool(_)) {
                let sentence = "the metadata of a tensor has a key other than `conj` and `neg`, or a value that is not a bool";
                return Err(FormatError::violation_at(
                    Rule::TorchCall,
                    sentence,
                    self.node_at(node),
                ));
            }
        }
        Ok(())
    }

    /// Counts, as dropped attributes, the keys and values in the versions of modules that PyTorch does not write. PyTorch
    /// writes nested dictionaries with texts as keys and scalars as values.
    fn check_metadata(&mut self) -> Result<(), FormatError> {
        let mut pending = Vec::new();
        for node in self.nodes_with(Fact::IsMetadata) {
            pending.try_reserve(1).map_err(|_| FormatError::memory())?;
            pending.push(node);
        }
        while let Some(node) = pending.pop() {
            let mut next = self.items(node).place();
            loop {
                let mut items = self.resume(next);
                let (Some(key), Some(value)) = (items.next(), items.next()) else { break };
                next = items.place();
                match value {
                    Pickled::Dict(inner) | Pickled::Ordered(inner) => {
                        if !self.has(inner, Fact::IsMetadata) {
                            self.note(inner, Fact::IsMetadata);
                            pending.try_reserve(1).map_err(|_| FormatError::memory())?;
                            pending.push(inner);
                        }
                    }
                    value if self.is_scalar(value) => {}
                    _ => self.dropped.add_attributes(),
                }
                if !matches!(key, Pickled::Text(_)) {
                    self.dropped.add_attributes();
                }
            }
        }
        Ok(())
    }
}

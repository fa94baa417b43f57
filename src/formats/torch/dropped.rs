//! Checks of the parts of a checkpoint that are dropped, because they are neither tensors nor attributes: states of parameters,
//! hooks, and versions of modules.

use alloc::vec::Vec;

use crate::formats::error::FormatError;
use crate::formats::rules::Rule;

use super::globals;
use super::pickle::{Fact, LONGEST_NAME, Pickle, Value};

/// The sentence about versions of modules that are unsupported.
const METADATA: &str = "the versions of modules are not dictionaries of scalars";

impl Pickle<'_> {
    /// Checks the states of parameters, hooks and versions of modules after all instructions, since containers may grow until
    /// the last one. Each container is visited once.
    pub(super) fn check_dropped(&mut self) -> Result<(), FormatError> {
        for node in self.nodes_with(Fact::IsState) {
            let mut items = self.items(node);
            while let (Some(key), Some(_)) = (items.next(), items.next()) {
                // PyTorch sets each key as an attribute of the tensor. Setting some built-in attributes, such as `data`,
                // changes the elements.
                let is_attribute = match key {
                    Value::Text(at) => {
                        !self.short(at, LONGEST_NAME).is_some_and(globals::is_property)
                    }
                    _ => false,
                };
                if !is_attribute {
                    let sentence = "the state of a parameter has a key that is no custom attribute of a tensor";
                    let at = self.node_at(node);
                    return Err(FormatError::violation_at(Rule::TorchCall, sentence, at));
                }
            }
        }
        let state = |node: &u32| !self.is_flat(*node);
        let state = self.nodes_with(Fact::IsState).find(state).map(|node| self.node_at(node));
        if let Some(at) = state {
            self.is_unsupported("a parameter with a state is not read", at);
        }
        let hooks = self.nodes_with(Fact::IsHooks).find(|node| self.length(*node) > 0);
        let hooks = hooks.map(|node| self.node_at(node));
        if let Some(at) = hooks {
            self.is_unsupported("a tensor with hooks is not read", at);
        }
        self.check_metadata()
    }

    /// Checks that the versions of modules are scalars in nested dictionaries whose keys are texts.
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
                    Value::Dict(inner) | Value::Ordered(inner) => {
                        if !self.has(inner, Fact::IsMetadata) {
                            self.note(inner, Fact::IsMetadata);
                            pending.try_reserve(1).map_err(|_| FormatError::memory())?;
                            pending.push(inner);
                        }
                    }
                    value if self.is_scalar(value) => {}
                    _ => self.is_unsupported(METADATA, self.node_at(node)),
                }
                if !matches!(key, Value::Text(_)) {
                    self.is_unsupported(METADATA, self.node_at(node));
                }
            }
        }
        Ok(())
    }
}

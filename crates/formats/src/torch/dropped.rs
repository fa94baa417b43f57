//! What a checkpoint holds that is no tensor and no attribute, and so is dropped: it is checked all the same.

use super::globals;
use super::pickle::{Fact, LONGEST_NAME, Pickle, Value};
use crate::error::FormatError;
use crate::rules::Rule;

/// What versions of modules are that are not read.
const METADATA: &str = "versions of modules are no dictionaries of scalars";

impl Pickle<'_> {
    /// Checks what is dropped when all of it is there: the states of parameters and the versions of modules, of which
    /// each is gone through once, and hooks.
    pub(super) fn check_dropped(&mut self) -> Result<(), FormatError> {
        for node in self.nodes_with(Fact::IsState) {
            let mut items = self.items(node);
            while let (Some(key), Some(_)) = (items.next(), items.next()) {
                // PyTorch sets each as an attribute, and some of those that every tensor has change its elements.
                let is_attribute = match key {
                    Value::Text(at) => {
                        !self.short(at, LONGEST_NAME).is_some_and(globals::is_property)
                    }
                    _ => false,
                };
                if !is_attribute {
                    let sentence =
                        "the state of a parameter has a key that is no attribute of its own";
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

    /// Checks that the versions of modules are scalars, in dictionaries with texts as keys.
    fn check_metadata(&mut self) -> Result<(), FormatError> {
        let mut waiting = Vec::new();
        for node in self.nodes_with(Fact::IsMetadata) {
            waiting.try_reserve(1).map_err(|_| FormatError::memory())?;
            waiting.push(node);
        }
        while let Some(node) = waiting.pop() {
            let mut next = self.items(node).place();
            loop {
                let mut items = self.resume(next);
                let (Some(key), Some(value)) = (items.next(), items.next()) else { break };
                next = items.place();
                match value {
                    Value::Dict(inner) | Value::Ordered(inner) => {
                        if !self.has(inner, Fact::IsMetadata) {
                            self.note(inner, Fact::IsMetadata);
                            waiting.try_reserve(1).map_err(|_| FormatError::memory())?;
                            waiting.push(inner);
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

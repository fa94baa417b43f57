//! The rules of the profiles of generation 2 for the parts of an object: v2 §5.2.

use super::{Candidate, ObjectFault, Part};
use crate::format::{Count, Profile, Role, Types};
use crate::manifest::index::Site;
use crate::num::divide_exactly;
use crate::rules::Rule;

impl Candidate<'_> {
    /// Checks the object by the rules that its attributes and its shape make.
    #[inline(never)]
    pub(crate) fn check_profile(&self, profile: &Profile) -> Result<(), ObjectFault> {
        let rules = || profile.iter().flatten();
        let part = |role| self.require(role, rules().count(), Rule::ProfileRoles);
        rules().try_for_each(|rule| part(rule.role).map(|_| ()))?;
        for rule in rules() {
            let part = part(rule.role)?;
            part.check_type(rule.types)?;
            match rule.count {
                Count::Exactly(count) => part.check_elements(count)?,
                Count::Either(one, other) => {
                    part.check_elements(one).or_else(|_| part.check_elements(other))?;
                }
                Count::PerScales(scales) => {
                    let count = self.get(Role::Scales).and_then(|part| part.record.count());
                    part.check_elements(count.and_then(|count| divide_exactly(count, scales)))?;
                }
            }
        }
        Ok(())
    }
}

impl Part<'_> {
    /// Checks its types.
    fn check_type(&self, types: Types) -> Result<(), ObjectFault> {
        let logical = self.record.logical;
        let known = self.record.storage.filter(|_| !logical.unknown);
        if known.is_some_and(|storage| types.allow(storage, logical.known)) {
            return Ok(());
        }
        Err(self.fault(Rule::ProfileDtype, Site::Type))
    }

    /// Checks that it has the bytes of just so many elements.
    fn check_elements(&self, count: Option<u64>) -> Result<(), ObjectFault> {
        let bytes = count.and_then(|count| match self.record.element_size() {
            Some(each) => count.checked_mul(each.get().into()),
            None => Some(count.div_ceil(2)),
        });
        match self.record.size() {
            Some(size) if bytes != Some(size) => {
                Err(self.found(Rule::ProfileSize, Site::Size, size))
            }
            _ => Ok(()),
        }
    }
}

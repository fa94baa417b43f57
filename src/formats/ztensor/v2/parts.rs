//! Checks of the components that the profile of an object requires. Profiles are layouts of generation 2 with parameters: v2
//! §5.2.

use super::profiles::{Count, Profile, Types};
use crate::index::{Candidate, ObjectFault, OrdinalComponent, Role, Site};
use crate::num::divide_exactly;
use crate::rules::Rule;

impl Candidate<'_> {
    /// Checks that this object has exactly the components that `profile` requires, with the required types and numbers of
    /// elements.
    #[inline(never)]
    pub(crate) fn check_profile(&self, profile: &Profile) -> Result<(), ObjectFault> {
        let rules = || profile.iter().flatten();
        let part = |role| self.require(role, rules().count(), Rule::ProfileRoles);
        rules().try_for_each(|rule| part(rule.role).map(|_| ()))?;
        for rule in rules() {
            let part = part(rule.role)?;
            if !rule.types.allow(part.record) {
                return Err(part.fault(Rule::ProfileDtype, Site::Type));
            }
            match rule.count {
                Count::Exactly(count) => part.check_elements(rule.types, count)?,
                Count::Either(one, other) => {
                    let one = part.check_elements(rule.types, one);
                    one.or_else(|_| part.check_elements(rule.types, other))?;
                }
                Count::PerScales(scales) => {
                    let each = self.require(Role::Scales, rules().count(), Rule::ProfileRoles)?;
                    // If the profile does not define the type of the scales, their size in bytes does not tell their number.
                    if !each.record.is_beyond_profile(self.layout) {
                        let count = each.record.count();
                        let count = count.and_then(|count| divide_exactly(count, scales));
                        part.check_elements(rule.types, count)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl OrdinalComponent<'_> {
    /// Checks that the decoded size of this component is the size of `count` elements. If the size of an element or the
    /// decoded size is unknown, the component passes.
    fn check_elements(&self, types: Types, count: Option<u64>) -> Result<(), ObjectFault> {
        let bytes = count.and_then(|count| types.bytes(self.record, count));
        match self.record.size() {
            Some(size) if types.has_size(self.record) && bytes != Some(size) => {
                Err(self.found(Rule::ProfileSize, Site::Size, size))
            }
            _ => Ok(()),
        }
    }
}

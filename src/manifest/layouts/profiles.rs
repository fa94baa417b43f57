//! What the profiles of generation 2 require of the parts of an object: v2 §5.2.

use super::{Candidate, ObjectFault, Part, in_components};
use crate::element::{LogicalType, StorageType};
use crate::format::{Factors, Profile, QuantGroup, Role, ScaleForm, Zeros};
use crate::manifest::index::Site;
use crate::num::divide_exactly;
use crate::rules::Rule;

impl Candidate<'_> {
    /// Checks the object by what its attributes and its shape ask for.
    #[inline(never)]
    pub(crate) fn check_profile(&self, profile: &Profile) -> Result<(), ObjectFault> {
        let wrong = || in_components(Rule::ProfileRoles);
        let part = |role| self.get(role).ok_or_else(wrong);
        let roles: &[Role] = match profile {
            Profile::QuantGroup(group) if group.zeros != Zeros::Absent => {
                &[Role::Data, Role::Scales, Role::Zeros]
            }
            Profile::QuantGroup(_) | Profile::Mx { .. } => &[Role::Data, Role::Scales],
            Profile::Gguf { .. } => &[Role::Data],
        };
        for role in roles {
            part(*role)?;
        }
        if !self.may_have_others(roles.len()) {
            return Err(wrong());
        }
        let data = part(Role::Data)?;
        match profile {
            Profile::Mx { scales } => {
                data.check_type(is_mx)?;
                data.check_elements(self.product.elements())?;
                part(Role::Scales)?.check_type(is_e8m0)?;
                part(Role::Scales)?.check_elements(Some(*scales))
            }
            Profile::Gguf { bytes } => {
                data.check_type(|storage, logical| {
                    storage == StorageType::U8 && logical.is_none()
                })?;
                data.check_elements(*bytes)
            }
            Profile::QuantGroup(group) => {
                data.check_type(|storage, logical| group.is_word(storage, logical))?;
                data.check_elements(group.words)?;
                let scales = part(Role::Scales)?;
                scales.check_type(|storage, logical| group.scale_form.allows(storage, logical))?;
                let Factors { by_size, by_text } = group.scales;
                scales.check_elements(by_size).or_else(|_| scales.check_elements(by_text))?;
                if group.zeros == Zeros::Absent {
                    return Ok(());
                }
                group.check_zeros(part(Role::Zeros)?, scales.count())
            }
        }
    }
}

impl Part<'_> {
    /// Checks its types.
    fn check_type(
        &self,
        allows: impl Fn(StorageType, Option<LogicalType>) -> bool,
    ) -> Result<(), ObjectFault> {
        let logical = self.record.logical;
        let known = self.record.storage.filter(|_| !logical.unknown);
        if known.is_some_and(|storage| allows(storage, logical.known)) {
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

/// Whether elements can have scales in common in `zt.mx/1`.
fn is_mx(storage: StorageType, logical: Option<LogicalType>) -> bool {
    use LogicalType as L;
    match logical {
        None => storage == StorageType::I8,
        Some(logical) => matches!(logical, L::F4E2M1 | L::F8E4M3Fn | L::F8E5M2),
    }
}

fn is_e8m0(_: StorageType, logical: Option<LogicalType>) -> bool {
    logical == Some(LogicalType::F8E8M0)
}

impl ScaleForm {
    /// Whether scales of that form are of those types.
    fn allows(self, storage: StorageType, logical: Option<LogicalType>) -> bool {
        use StorageType as S;
        let plain = logical.is_none();
        match self {
            Self::F32 => plain && matches!(storage, S::F64 | S::F32 | S::F16 | S::Bf16),
            Self::F16 => plain && matches!(storage, S::F16 | S::Bf16),
            Self::E8M0 => is_e8m0(storage, logical),
        }
    }
}

impl QuantGroup {
    /// Whether elements of those types are words of codes: unsigned ones, or their counterparts.
    fn is_word(&self, storage: StorageType, logical: Option<LogicalType>) -> bool {
        logical.is_none() && storage.is_integer() && storage.width() == self.word.width()
    }

    /// Checks the zero points, one for each of as many scales.
    fn check_zeros(&self, zeros: Part<'_>, scales: Option<u64>) -> Result<(), ObjectFault> {
        if self.zeros == Zeros::Plain {
            zeros.check_type(|_, logical| logical.is_none())?;
            return zeros.check_elements(scales);
        }
        zeros.check_type(|storage, logical| self.is_word(storage, logical))?;
        zeros.check_elements(scales.and_then(|scales| divide_exactly(scales, self.per_word)))
    }
}

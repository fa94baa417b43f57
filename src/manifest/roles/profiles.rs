//! What the profiles of generation 2 require of the parts of an object: v2 §5.2.

use super::{Part, Roles, in_object, in_part};
use crate::cbor::Fault;
use crate::element::{LogicalType, StorageType};
use crate::format::{
    Factors, ObjectClaim, ObjectFault, Profile, QuantGroup, Role, ScaleForm, Zeros,
};
use crate::num::divide_exactly;
use crate::rules::Rule;

impl Roles {
    /// Validates an object by what its attributes and its shape ask for.
    #[inline(never)]
    pub(crate) fn profile(
        &self,
        claim: &ObjectClaim,
        profile: &Profile,
    ) -> Result<(), ObjectFault> {
        let roles: &[Role] = match profile {
            Profile::QuantGroup(group) if group.zeros != Zeros::Absent => {
                &[Role::Data, Role::Scales, Role::Zeros]
            }
            Profile::QuantGroup(_) | Profile::Mx { .. } => &[Role::Data, Role::Scales],
            Profile::Gguf { .. } => &[Role::Data],
        };
        let wrong = || in_object(Rule::ProfileRoles, claim.components);
        if !self.exact(roles, claim.facts) {
            return Err(wrong());
        }
        let part = |role| self.get(role).ok_or_else(wrong);
        let data = part(Role::Data)?;
        match profile {
            Profile::Mx { scales } => {
                data.typed(is_mx)?;
                data.holds(claim.shape.product)?;
                part(Role::Scales)?.typed(is_e8m0)?;
                part(Role::Scales)?.holds(Some(*scales))
            }
            Profile::Gguf { bytes } => {
                data.typed(|storage, logical| storage == StorageType::U8 && logical.is_none())?;
                data.holds(*bytes)
            }
            Profile::QuantGroup(group) => {
                data.typed(|storage, logical| group.is_word(storage, logical))?;
                data.holds(group.words)?;
                let scales = part(Role::Scales)?;
                scales.typed(|storage, logical| group.scale_form.allows(storage, logical))?;
                let Factors { by_size, by_text } = group.scales;
                scales.holds(by_size).or_else(|_| scales.holds(by_text))?;
                if group.zeros == Zeros::Absent {
                    return Ok(());
                }
                group.zeros(part(Role::Zeros)?, scales.count())
            }
        }
    }
}

impl Part {
    /// Validates its types.
    fn typed(
        &self,
        allows: impl Fn(StorageType, Option<LogicalType>) -> bool,
    ) -> Result<(), ObjectFault> {
        let known = self.storage.filter(|_| !self.logical.unknown);
        if known.is_some_and(|storage| allows(storage, self.logical.known)) {
            return Ok(());
        }
        let remaining = self.type_remaining.unwrap_or(self.dtype);
        Err(in_part(self, Fault::new(Rule::ProfileDtype, remaining)))
    }

    /// Validates that it has the bytes of just so many elements.
    fn holds(&self, count: Option<u64>) -> Result<(), ObjectFault> {
        let bytes = count.and_then(|count| match self.each {
            Some(each) => count.checked_mul(each.get().into()),
            None => Some(count.div_ceil(2)),
        });
        match self.size {
            Some(size) if bytes != Some(size) => {
                Err(in_part(self, Fault::with(Rule::ProfileSize, self.size_remaining, size)))
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

    /// Validates the zero points, one for each of as many scales.
    fn zeros(&self, zeros: &Part, scales: Option<u64>) -> Result<(), ObjectFault> {
        if self.zeros == Zeros::Plain {
            zeros.typed(|_, logical| logical.is_none())?;
            return zeros.holds(scales);
        }
        zeros.typed(|storage, logical| self.is_word(storage, logical))?;
        zeros.holds(scales.and_then(|scales| divide_exactly(scales, self.per_word)))
    }
}

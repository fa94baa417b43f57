//! What the reader of generation 2 asks of single things, asked of what is to be written.

use super::shards::Table;
use super::values::{self, Layout};
use super::{V2, profiles};
use crate::cbor::{Checked, Fault, Input, Remaining, strict};
use crate::element::LogicalType;
use crate::format::claims::{Claims, ComponentClaim, ObjectClaim, ObjectFault, Walk};
use crate::format::dialect::{Dialect, Writing};
use crate::format::profile::Profile;
use crate::format::shape::Text;
use crate::format::slots::Slot as _;
use crate::format::{Encoding, Facts, Format};
use crate::limits::{Limits, format};
use crate::rules::Rule;

/// How generation 2 is written.
pub(super) static WRITING: Writing = Writing {
    dialect: &V2,
    compression: Encoding::ZstdSeekable,
    deterministic: true,
    digests_decoded: true,
    bool_is_type: true,
    bounded_shapes: true,
    canonical_alignment: format::CANONICAL_ALIGNMENT_V2,
    logical_type: |name| LogicalType::from_v2(name),
    format: |name| Layout::named(name),
    format_name: |format| match format {
        Format::Dense => Some("dense"),
        Format::SparseCsr => Some("zt.sparse_csr/1"),
        Format::SparseCoo => Some("zt.sparse_coo/1"),
        Format::Mx | Format::QuantGroup => Some(format.name()),
        _ => None,
    },
};

/// Dimensions of a shape, at most: v2 §3.3.
pub(crate) const RANK: usize = 64;

/// Validates the name of an object or a part: v2 §3.5.
pub(crate) fn validate_written_name(name: &[u8]) -> Checked<()> {
    values::validate_name(name, name)
}

/// Passes over deterministic attributes, which are to lie within `open` levels of the manifest.
pub(crate) fn pass_attributes<'m>(limits: &Limits, at: Input<'m>, open: u8) -> Checked<Input<'m>> {
    strict(at, open, limits.depth())?;
    Ok(values::attributes(limits, Rule::AttributesType, at)?.0)
}

/// Validates a table of shards: v2 §7.1.
pub(crate) fn validate_shards(limits: &Limits, table: Input<'_>) -> Checked<()> {
    let mut nothing = Asked(|_: &ObjectClaim, _: &Profile| Ok(()));
    let mut walk = Walk::new(&mut nothing, limits);
    Table::parse(&mut walk, Rule::ShardsType, table)?;
    Ok(())
}

/// Validates the attributes of an object of a profile, which are to be there, and hands to `ask` what
/// they ask of its parts. `fields` is CBOR that has its shape and its attributes, at those places.
pub(crate) fn profile(
    limits: &Limits,
    fields: Input<'_>,
    claim: &ObjectClaim,
    ask: impl Fn(&ObjectClaim, &Profile) -> Result<(), ObjectFault>,
) -> Checked<()> {
    let mut asked = Asked(ask);
    let mut walk = Walk::new(&mut asked, limits);
    profiles::validate(&mut walk, fields, claim)
}

/// Takes what a profile asks for, where nothing else is claimed.
struct Asked<F>(F);

impl<'m, F: Fn(&ObjectClaim, &Profile) -> Result<(), ObjectFault>> Claims<'m> for Asked<F> {
    fn begin(&mut self, _: &'static Dialect, _: Option<u32>, _: Remaining) -> Result<(), Fault> {
        Ok(())
    }

    fn component(&mut self, _: &ComponentClaim) -> Result<(), Fault> {
        Ok(())
    }

    fn name(&mut self, _: Text<'m>, _: Facts) {}

    fn profile(&mut self, claim: &ObjectClaim, profile: &Profile) -> Result<(), ObjectFault> {
        (self.0)(claim, profile)
    }

    fn object(&mut self, _: &ObjectClaim) -> Result<(), ObjectFault> {
        Ok(())
    }
}

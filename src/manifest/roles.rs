//! What each format requires of an object: its roles, and how their sizes agree.

#[cfg(feature = "v2")]
mod profiles;

use core::num::NonZeroU8;

use crate::cbor::{Fault, Remaining};
use crate::element::StorageType;
use crate::format::{
    ComponentClaim, Dialect, Encoding, Facts, Format, IndexTypes, Logical, ObjectClaim,
    ObjectFault, Role, Shape,
};
use crate::limits::{Options, Tolerance};
use crate::num::{divide_exactly, product, usize_from_u32};
use crate::rules::Rule;

/// What is known of a component, by the time its object is validated.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    ordinal: u32,
    dtype: Remaining,
    type_remaining: Option<Remaining>,
    storage: Option<StorageType>,
    encoding: Encoding,
    logical: Logical,
    /// Bytes of one logical element, a power of two, where its types are known and no two elements
    /// share a byte.
    each: Option<NonZeroU8>,
    /// Decoded bytes, where the manifest gives them.
    size: Option<u64>,
    /// Where it gives them, or would.
    size_remaining: Remaining,
}

impl Part {
    /// Validates the sizes that the component of that ordinal in its object claims.
    #[inline(always)]
    pub(crate) fn new(
        claim: &ComponentClaim,
        ordinal: u32,
        dialect: &Dialect,
    ) -> Result<Self, Fault> {
        let dtype = &claim.dtype;
        let (size, size_remaining) = size(claim, dialect)?;
        let each = dtype.storage.and_then(|storage| dtype.logical.element_size(storage));
        if let (Some(bytes), true) = (size, claim.facts.whole_elements) {
            let unit = dtype.storage.map_or(1, |storage| dtype.logical.unit(storage));
            if bytes & u64::from(unit.wrapping_sub(1)) != 0 {
                return Err(Fault::with(Rule::WholeElements, size_remaining, bytes));
            }
        }
        Ok(Self {
            ordinal,
            dtype: dtype.remaining,
            type_remaining: dtype.type_remaining,
            storage: dtype.storage,
            encoding: claim.encoding,
            logical: dtype.logical,
            each,
            size,
            size_remaining,
        })
    }

    /// How many logical elements it holds, where that is known.
    fn count(&self) -> Option<u64> {
        Some(self.size? >> self.each?.trailing_zeros())
    }

    /// Validates that it holds whole elements, as far as they are known.
    fn whole(&self) -> Result<(), ObjectFault> {
        match (self.size, self.each) {
            (Some(size), Some(each)) if size & u64::from(each.get().wrapping_sub(1)) != 0 => {
                Err(in_part(self, Fault::with(Rule::WholeElements, self.size_remaining, size)))
            }
            _ => Ok(()),
        }
    }
}

/// How many bytes a component holds when decoded, where the manifest says so, and where it does.
#[inline(always)]
fn size(claim: &ComponentClaim, dialect: &Dialect) -> Result<(Option<u64>, Remaining), Fault> {
    let (length, decoded) = (claim.length, claim.decoded);
    match (claim.encoding, decoded) {
        (Encoding::Raw, Some(decoded)) if decoded.value != length.value => {
            Err(Fault::with(Rule::DecodedLengthRaw, decoded.remaining, decoded.value))
        }
        (Encoding::Raw, _) => Ok((Some(length.value), length.remaining)),
        (Encoding::Zstd | Encoding::ZstdSeekable | Encoding::Unknown, Some(decoded)) => {
            Ok((Some(decoded.value), decoded.remaining))
        }
        (Encoding::Zstd, None) if dialect.needs_decoded_length => {
            Err(Fault::new(Rule::DecodedLengthMissing, claim.map))
        }
        _ => Ok((None, length.remaining)),
    }
}

/// The parts of one object that play a known role.
pub(crate) struct Roles {
    parts: [Part; Role::COUNT],
    /// A bit for each role that the current object has; the other parts are of objects before.
    present: Set,
    /// Whether it has others.
    others: bool,
}

/// A bit for each role.
type Set = u32;

const _: () = assert!(Role::COUNT <= usize_from_u32(Set::BITS));

impl Default for Roles {
    fn default() -> Self {
        let part = Part {
            ordinal: 0,
            dtype: Remaining::default(),
            type_remaining: None,
            storage: None,
            encoding: Encoding::Unknown,
            logical: Logical::NONE,
            each: None,
            size: None,
            size_remaining: Remaining::default(),
        };
        Self { parts: [part; Role::COUNT], present: 0, others: false }
    }
}

fn in_part(part: &Part, fault: Fault) -> ObjectFault {
    ObjectFault { fault, component: Some(part.ordinal) }
}

fn in_object(rule: Rule, remaining: Remaining) -> ObjectFault {
    Fault::new(rule, remaining).into()
}

impl Roles {
    /// Forgets the object before.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.present = 0;
        self.others = false;
    }

    /// Notes a component that plays no known role.
    #[inline(always)]
    pub(crate) fn note_other(&mut self) {
        self.others = true;
    }

    /// Whether the object has no roles but `known`, as far as they have to be exact.
    #[inline(always)]
    fn exact(&self, known: &[Role], facts: Facts) -> bool {
        let set = known.iter().fold(0, |set, role| set | 1 << role.ordinal());
        !facts.exact_roles || self.present == set && !self.others
    }

    /// Notes a component.
    #[inline(always)]
    pub(crate) fn note(&mut self, role: Role, part: Part) {
        if let Some(slot) = self.parts.get_mut(usize::from(role.ordinal())) {
            *slot = part;
            self.present |= 1 << role.ordinal();
        }
    }

    #[inline(always)]
    fn get(&self, role: Role) -> Option<&Part> {
        let present = self.present & (1 << role.ordinal()) != 0;
        self.parts.get(usize::from(role.ordinal())).filter(|_| present)
    }

    /// Validates an object by what its format requires.
    #[inline(always)]
    pub(crate) fn validate(
        &self,
        claim: &ObjectClaim,
        dialect: &Dialect,
        options: &Options,
    ) -> Result<(), ObjectFault> {
        match claim.format {
            Format::Dense => self.dense(claim),
            Format::SparseCsr => self.sparse_csr(claim, dialect, options),
            Format::SparseCoo => self.sparse_coo(claim, dialect, options),
            Format::QuantizedGroup => self.quantized_group(claim, options),
            // The attributes of profiles have had them validated.
            Format::Mx | Format::QuantGroup | Format::GgufBlocks | Format::Unknown => Ok(()),
        }
    }

    #[inline(always)]
    fn dense(&self, claim: &ObjectClaim) -> Result<(), ObjectFault> {
        let data = self.get(Role::Data).filter(|_| self.exact(&[Role::Data], claim.facts));
        let data = data.ok_or_else(|| in_object(Rule::DenseRoles, claim.components))?;
        if data.storage.is_none() || data.encoding == Encoding::Unknown && data.size.is_none() {
            // Of what 0.1 leaves open, no size follows from the shape.
            return Ok(());
        }
        let overflow = || in_object(Rule::ShapeOverflow, claim.shape.remaining);
        let elements = claim.shape.product.ok_or_else(overflow)?;
        let wanted = match data.each {
            Some(each) => match product(elements, each.get().into()) {
                (bytes, false) => Some(bytes),
                (_, true) => None,
            },
            None if data.logical.is_packed() => Some(elements.div_ceil(2)),
            None => return Ok(()),
        };
        match (wanted, data.size) {
            (wanted, Some(size)) if wanted != Some(size) => {
                Err(in_part(data, Fault::with(Rule::DenseSize, data.size_remaining, size)))
            }
            (None, None) => Err(overflow()),
            _ => Ok(()),
        }
    }

    fn sparse_csr(
        &self,
        claim: &ObjectClaim,
        dialect: &Dialect,
        options: &Options,
    ) -> Result<(), ObjectFault> {
        let (Some(values), Some(indices), Some(indptr)) =
            (self.get(Role::Values), self.get(Role::Indices), self.get(Role::Indptr))
        else {
            return Err(in_object(Rule::CsrRoles, claim.components));
        };
        if !self.exact(&[Role::Values, Role::Indices, Role::Indptr], claim.facts) {
            return Err(in_object(Rule::CsrRoles, claim.components));
        }
        let Shape { remaining, rank, first: rows, .. } = claim.shape;
        if rank != 2 {
            return Err(Fault::with(Rule::CsrRank, remaining, rank.into()).into());
        }
        index_type(indices, dialect, options)?;
        index_type(indptr, dialect, options)?;
        let bounds =
            rows.checked_add(1).ok_or_else(|| in_object(Rule::SparseOverflow, remaining))?;
        if cfg!(feature = "v2") && dialect.index_types == IndexTypes::Unsigned {
            same_type(indices, indptr)?;
            for part in [values, indices, indptr] {
                part.whole()?;
            }
        }
        agree(indptr, Rule::CsrIndptrSize, Some(bounds))?;
        agree(indices, Rule::CsrNnz, values.count())?;
        agree_packed(values, indices, Rule::CsrNnz, indices.count())
    }

    fn sparse_coo(
        &self,
        claim: &ObjectClaim,
        dialect: &Dialect,
        options: &Options,
    ) -> Result<(), ObjectFault> {
        let (Some(values), Some(coords)) = (self.get(Role::Values), self.get(Role::Coords)) else {
            return Err(in_object(Rule::CooRoles, claim.components));
        };
        if !self.exact(&[Role::Values, Role::Coords], claim.facts) {
            return Err(in_object(Rule::CooRoles, claim.components));
        }
        let Shape { remaining, rank, .. } = claim.shape;
        if rank == 0 {
            return Err(in_object(Rule::CooRank, remaining));
        }
        index_type(coords, dialect, options)?;
        if cfg!(feature = "v2") && dialect.index_types == IndexTypes::Unsigned {
            values.whole()?;
            coords.whole()?;
        }
        let Some(nnz) = values.count() else {
            let nnz = whole_tuples(coords, rank)?;
            return agree_packed(values, coords, Rule::CooNnz, nnz);
        };
        let overflow = || in_object(Rule::SparseOverflow, remaining);
        let indices = nnz.checked_mul(rank.into()).ok_or_else(overflow)?;
        agree(coords, Rule::CooNnz, Some(indices))
    }

    fn quantized_group(&self, claim: &ObjectClaim, options: &Options) -> Result<(), ObjectFault> {
        if self.get(Role::PackedWeight).is_none() || self.get(Role::Scales).is_none() {
            return Err(in_object(Rule::QuantizedRoles, claim.components));
        }
        if self.get(Role::Zeros).is_none() && !options.tolerates(Tolerance::MissingZeros) {
            return Err(in_object(Rule::QuantizedZeros, claim.components));
        }
        let overflow = || in_object(Rule::ShapeOverflow, claim.shape.remaining);
        claim.shape.product.map(|_| ()).ok_or_else(overflow)
    }
}

/// Index components are of the types that the generation allows, and mean just that.
fn index_type(part: &Part, dialect: &Dialect, options: &Options) -> Result<(), ObjectFault> {
    let dtype = || in_part(part, Fault::new(Rule::IndexDtype, part.dtype));
    if part.logical != Logical::NONE {
        let of_type = |remaining| in_part(part, Fault::new(Rule::IndexLogicalType, remaining));
        // A dtype of 1.1 may itself stand for a logical type.
        return Err(part.type_remaining.map_or_else(dtype, of_type));
    }
    let narrow = options.tolerates(Tolerance::NarrowIndices);
    let types = if narrow { IndexTypes::Integers } else { dialect.index_types };
    if part.storage.is_some_and(|storage| types.allow(storage)) { Ok(()) } else { Err(dtype()) }
}

/// Indices and the pointers into them are of one type: v2 §5.2.
fn same_type(indices: &Part, indptr: &Part) -> Result<(), ObjectFault> {
    if indices.storage == indptr.storage {
        return Ok(());
    }
    Err(in_part(indptr, Fault::new(Rule::IndexDtype, indptr.dtype)))
}

/// Values that share bytes take as many as `count` of them do; else it is `indices` that are at
/// fault, as where each value has bytes of its own.
fn agree_packed(
    values: &Part,
    indices: &Part,
    rule: Rule,
    count: Option<u64>,
) -> Result<(), ObjectFault> {
    match (values.size, count, indices.count()) {
        (Some(size), Some(count), Some(found))
            if values.logical.is_packed() && size != count.div_ceil(2) =>
        {
            Err(in_part(indices, Fault::with(rule, indices.size_remaining, found)))
        }
        _ => Ok(()),
    }
}

/// Coordinates are tuples of `rank`: how many, if that is known.
fn whole_tuples(coords: &Part, rank: u32) -> Result<Option<u64>, ObjectFault> {
    let Some(count) = coords.count() else { return Ok(None) };
    let broken = || in_part(coords, Fault::with(Rule::CooNnz, coords.size_remaining, count));
    divide_exactly(count, rank.into()).map(Some).ok_or_else(broken)
}

/// `part` holds as many elements as `wanted`, as far as both are known.
fn agree(part: &Part, rule: Rule, wanted: Option<u64>) -> Result<(), ObjectFault> {
    match (part.count(), wanted) {
        (Some(count), Some(wanted)) if count != wanted => {
            Err(in_part(part, Fault::with(rule, part.size_remaining, count)))
        }
        _ => Ok(()),
    }
}

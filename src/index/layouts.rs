//! The rules of each layout: the roles of an object's components, and the sizes that must agree.

use super::{
    ComponentRecord, Encoding, FormatFacts, IndexTypes, Layout, Logical, Product, Role, Site,
};
use crate::error::ErrorKind;
use crate::limits::{OpenOptions, Tolerance};
use crate::num::{divide_exactly, len_u32, product};
use crate::rules::Rule;

/// An object to check. Its components have been checked one by one.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'c> {
    pub(crate) layout: Layout,
    pub(crate) product: Product,
    pub(crate) shape: &'c [u64],
    pub(crate) components: &'c [ComponentRecord],
    pub(crate) facts: &'static FormatFacts,
}

/// A broken rule of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectFault {
    pub(crate) kind: ErrorKind,
    /// The number in the file that breaks the rule, which the error message shows.
    pub(crate) found: u64,
    pub(crate) at: FaultAt,
}

impl ObjectFault {
    /// Returns the ordinal of the component that is at fault, or `None` if the object itself is.
    pub(crate) fn component(&self) -> Option<u32> {
        match self.at {
            FaultAt::Component(ordinal, _) => Some(ordinal),
            FaultAt::Name | FaultAt::Shape | FaultAt::Components => None,
        }
    }
}

/// The part of an object that a fault is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultAt {
    Name,
    Shape,
    Components,
    /// A field of the component with this ordinal.
    Component(u32, Site),
}

/// A component, and its ordinal in the object.
#[derive(Clone, Copy)]
pub(crate) struct OrdinalComponent<'c> {
    ordinal: u32,
    pub(crate) record: &'c ComponentRecord,
}

impl OrdinalComponent<'_> {
    #[cold]
    pub(crate) fn fault(&self, rule: Rule, field: Site) -> ObjectFault {
        self.found(rule, field, 0)
    }

    #[cold]
    pub(crate) fn found(&self, rule: Rule, field: Site, found: u64) -> ObjectFault {
        let at = FaultAt::Component(self.ordinal, self.record.resolved(field));
        ObjectFault { kind: rule.into(), found, at }
    }

    /// Checks that the component holds whole elements, if its size and type are known.
    fn check_whole(&self) -> Result<(), ObjectFault> {
        match (self.record.size(), self.record.element_size()) {
            (Some(size), Some(each)) if size & u64::from(each.get().wrapping_sub(1)) != 0 => {
                let element = self.record.storage.map(|of| self.record.logical.described(of));
                let found = element.map_or(size, |element| element.beside(size));
                Err(self.found(Rule::WholeElements, Site::Size, found))
            }
            _ => Ok(()),
        }
    }
}

#[cold]
fn in_shape(rule: Rule, found: u64) -> ObjectFault {
    ObjectFault { kind: rule.into(), found, at: FaultAt::Shape }
}

#[cold]
fn in_components(rule: Rule) -> ObjectFault {
    ObjectFault { kind: rule.into(), found: 0, at: FaultAt::Components }
}

impl<'c> Candidate<'c> {
    /// Checks the object by the rules of its layout, except the attributes of profiles.
    #[inline(always)]
    pub(crate) fn check(&self, options: &OpenOptions) -> Result<(), ObjectFault> {
        match self.layout {
            Layout::Dense => self.check_dense(),
            Layout::SparseCsr => self.check_csr(options),
            Layout::SparseCoo => self.check_coo(options),
            Layout::QuantizedGroup => self.check_quantized(options),
            Layout::Mx | Layout::QuantGroup | Layout::GgufBlocks | Layout::Unknown => Ok(()),
        }
    }

    /// Returns the component with the role `role`.
    #[inline]
    fn get(&self, role: Role) -> Option<OrdinalComponent<'c>> {
        let ordinal = self.components.iter().position(|record| record.role == Some(role))?;
        Some(OrdinalComponent { ordinal: len_u32(ordinal), record: self.components.get(ordinal)? })
    }

    /// Returns the component with the role `role`. Fails with the rule `broken` if there is no such component, or, in
    /// generations that allow no further components, if the object does not have exactly `count` components.
    #[inline]
    pub(crate) fn require(
        &self,
        role: Role,
        count: usize,
        broken: Rule,
    ) -> Result<OrdinalComponent<'c>, ObjectFault> {
        let allowed = || !self.facts.container.exact_roles || self.components.len() == count;
        self.get(role).filter(|_| allowed()).ok_or_else(|| in_components(broken))
    }

    #[inline]
    fn check_dense(&self) -> Result<(), ObjectFault> {
        let data = self.require(Role::Data, 1, Rule::DenseRoles)?;
        let ComponentRecord { storage, encoding, logical, .. } = *data.record;
        let size = data.record.size();
        if storage.is_none() || encoding == Encoding::Unknown && size.is_none() {
            // 0.1 allows any dtype and encoding. If zten does not know the dtype or the encoding, no size follows from the
            // shape.
            return Ok(());
        }
        let overflow = || in_shape(Rule::ShapeOverflow, 0);
        let elements = self.product.elements().ok_or_else(overflow)?;
        let wanted = match data.record.element_size() {
            Some(each) => match product(elements, each.get().into()) {
                (bytes, false) => Some(bytes),
                (_, true) => None,
            },
            None if logical.is_packed() => Some(elements.div_ceil(2)),
            None => return Ok(()),
        };
        match (wanted, size) {
            (wanted, Some(size)) if wanted != Some(size) => {
                Err(data.found(Rule::DenseSize, Site::Size, size))
            }
            (None, None) => Err(overflow()),
            _ => Ok(()),
        }
    }

    #[inline(never)]
    fn check_csr(&self, options: &OpenOptions) -> Result<(), ObjectFault> {
        let part = |role| self.require(role, 3, Rule::CsrRoles);
        let [values, indices, indptr] =
            [part(Role::Values)?, part(Role::Indices)?, part(Role::Indptr)?];
        let (rank, rows) = (len_u32(self.shape.len()), *self.shape.first().unwrap_or(&0));
        if rank != 2 {
            return Err(in_shape(Rule::CsrRank, rank.into()));
        }
        self.check_index_type(indices, options)?;
        self.check_index_type(indptr, options)?;
        let bounds = rows.checked_add(1).ok_or_else(|| in_shape(Rule::SparseOverflow, 0))?;
        if self.facts.index_types == IndexTypes::Unsigned {
            // Indices and pointers have the same type: v2 §5.2.
            if indices.record.storage != indptr.record.storage {
                return Err(indptr.fault(Rule::IndexDtype, Site::Dtype));
            }
            for part in [values, indices, indptr] {
                part.check_whole()?;
            }
        }
        check_count(indptr, Rule::CsrIndptrSize, Some(bounds))?;
        check_count(indices, Rule::CsrNnz, values.record.count())?;
        check_packed(values, indices, Rule::CsrNnz, indices.record.count())
    }

    #[inline(never)]
    fn check_coo(&self, options: &OpenOptions) -> Result<(), ObjectFault> {
        let part = |role| self.require(role, 2, Rule::CooRoles);
        let [values, coords] = [part(Role::Values)?, part(Role::Coords)?];
        let rank = len_u32(self.shape.len());
        if rank == 0 {
            return Err(in_shape(Rule::CooRank, 0));
        }
        self.check_index_type(coords, options)?;
        if self.facts.index_types == IndexTypes::Unsigned {
            values.check_whole()?;
            coords.check_whole()?;
        }
        let Some(nnz) = values.record.count() else {
            // The number of values is unknown, but there must be one coordinate for each dimension of each value.
            let count = coords.record.count();
            let nnz = count.and_then(|count| divide_exactly(count, rank.into()));
            if let (Some(count), None) = (count, nnz) {
                return Err(coords.found(Rule::CooNnz, Site::Size, count));
            }
            return check_packed(values, coords, Rule::CooNnz, nnz);
        };
        let indices = nnz.checked_mul(rank.into());
        let indices = indices.ok_or_else(|| in_shape(Rule::SparseOverflow, 0))?;
        check_count(coords, Rule::CooNnz, Some(indices))
    }

    #[inline(never)]
    fn check_quantized(&self, options: &OpenOptions) -> Result<(), ObjectFault> {
        if self.get(Role::PackedWeight).is_none() || self.get(Role::Scales).is_none() {
            return Err(in_components(Rule::QuantizedRoles));
        }
        if self.get(Role::Zeros).is_none() && !options.tolerates(Tolerance::MissingZeros) {
            return Err(in_components(Rule::QuantizedZeros));
        }
        let elements = self.product.elements();
        elements.map(|_| ()).ok_or_else(|| in_shape(Rule::ShapeOverflow, 0))
    }

    /// Checks that indices have a type that the generation allows, and no logical type.
    fn check_index_type(
        &self,
        part: OrdinalComponent<'_>,
        options: &OpenOptions,
    ) -> Result<(), ObjectFault> {
        let ComponentRecord { logical, storage, has_type, .. } = *part.record;
        if logical != Logical::NONE {
            // In 1.1 the dtype itself may stand for a logical type.
            let rule = if has_type { Rule::IndexLogicalType } else { Rule::IndexDtype };
            return Err(part.fault(rule, Site::Type));
        }
        let narrow = options.tolerates(Tolerance::NarrowIndices);
        let types = if narrow { IndexTypes::Integers } else { self.facts.index_types };
        if storage.is_some_and(|storage| types.allow(storage)) {
            return Ok(());
        }
        Err(part.fault(Rule::IndexDtype, Site::Dtype))
    }
}

/// Checks that `count` values that share bytes have the right size in bytes. If not, `indices` are reported, as for
/// values that do not share bytes.
fn check_packed(
    values: OrdinalComponent<'_>,
    indices: OrdinalComponent<'_>,
    rule: Rule,
    count: Option<u64>,
) -> Result<(), ObjectFault> {
    match (values.record.size(), count, indices.record.count()) {
        (Some(size), Some(count), Some(found))
            if values.record.logical.is_packed() && size != count.div_ceil(2) =>
        {
            Err(indices.found(rule, Site::Size, found))
        }
        _ => Ok(()),
    }
}

/// Checks that the component holds `wanted` elements, if both numbers are known.
fn check_count(
    part: OrdinalComponent<'_>,
    rule: Rule,
    wanted: Option<u64>,
) -> Result<(), ObjectFault> {
    match (part.record.count(), wanted) {
        (Some(count), Some(wanted)) if count != wanted => Err(part.found(rule, Site::Size, count)),
        _ => Ok(()),
    }
}

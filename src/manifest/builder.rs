//! Filling the index: each object as it comes, then the rules that hold for all of them.

use alloc::vec::Vec;

use super::blobs::{BlobRule, InOrder, Wrong, wrong};
use super::index::{FieldFault, Index, ObjectRecord, Records, Site};
use super::names::{Clash, Names, Order};
#[cfg(feature = "v2")]
use super::shards;
use crate::cbor::{Fault, Input, Remaining};
use crate::error::{ErrorKind, OutOfMemory, Place};
#[cfg(feature = "v2")]
use crate::format::ShardRecord;
use crate::format::{ComponentRecord, Dialect, Shapes, Version, push, reserve};
use crate::limits::Limits;
use crate::num::{len_u32, usize_from_u32};

/// The objects of a file, as they come. Their components have been checked, alone and together.
#[derive(Debug)]
pub(crate) struct IndexBuilder {
    objects: Vec<ObjectRecord>,
    names_are_sorted: bool,
    blobs: InOrder,
    /// The number of components that are in other files.
    in_shards: u32,
}

/// The records of a file beside its objects.
#[derive(Debug)]
pub(crate) struct Collected<'m> {
    /// The bytes that the places of records are in.
    pub(crate) bytes: Input<'m>,
    pub(crate) components: Vec<ComponentRecord>,
    pub(crate) shapes: Shapes,
    #[cfg(feature = "v2")]
    pub(crate) shards: Vec<ShardRecord>,
    pub(crate) dialect: &'static Dialect,
    pub(crate) attributes: Option<Remaining>,
    pub(crate) version: Option<Version>,
}

/// A broken rule, and the object and component that break it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedFault {
    pub(crate) fault: Fault,
    pub(crate) place: Place,
}

impl From<OutOfMemory> for PlacedFault {
    fn from(out: OutOfMemory) -> Self {
        Self { fault: Fault::new(out, Remaining::END), place: Place::NOWHERE }
    }
}

impl IndexBuilder {
    pub(crate) fn new() -> Self {
        Self {
            objects: Vec::new(),
            names_are_sorted: true,
            blobs: InOrder::default(),
            in_shards: 0,
        }
    }

    /// Makes room for objects.
    pub(super) fn reserve(&mut self, objects: u32) -> Result<(), Fault> {
        reserve(&mut self.objects, objects)
    }

    /// The number of objects so far.
    #[cfg(feature = "std")]
    pub(crate) fn len(&self) -> u32 {
        len_u32(self.objects.len())
    }

    /// Adds an object whose components are `components`. `ascends` tells whether its name is behind the one
    /// before it.
    #[inline(always)]
    pub(crate) fn push(
        &mut self,
        record: ObjectRecord,
        components: &[ComponentRecord],
        ascends: bool,
    ) -> Result<(), Fault> {
        self.names_are_sorted &= ascends;
        for component in components {
            if component.in_shard() {
                self.in_shards = self.in_shards.wrapping_add(1);
            } else {
                self.blobs.note(component.extent);
            }
        }
        push(&mut self.objects, record)
    }

    /// Counts places from the end of the bytes that they are in, of which there are `total`, and no longer from
    /// their beginning.
    #[cfg(feature = "std")]
    pub(crate) fn rebase(&mut self, components: &mut [ComponentRecord], total: u32) {
        let rebase = |place: &mut Remaining| *place = place.rebased(total);
        for object in &mut self.objects {
            rebase(&mut object.name);
            rebase(&mut object.attributes);
        }
        for component in components {
            rebase(&mut component.at);
        }
    }

    /// Checks the rules that hold for all objects together.
    pub(crate) fn finish(
        self,
        collected: Collected<'_>,
        blob_rule: BlobRule,
        limits: &Limits,
    ) -> Result<Index, PlacedFault> {
        let Self { objects, names_are_sorted, blobs, in_shards } = self;
        let Collected { bytes, components, shapes, dialect, attributes, version, .. } = collected;
        let records = Records { bytes, dialect, objects: &objects, components: &components };
        if !blobs.holds() {
            let here = (0..).zip(&components).filter(|(_, record)| !record.in_shard());
            let here = here.map(|(component, _)| component);
            if let Some(found) = wrong(&components, here, blob_rule)? {
                return Err(overlap(records, found));
            }
        }
        #[cfg(feature = "v2")]
        if in_shards > 0 {
            shards::check(records, in_shards, &collected.shards, limits)?;
        }
        let _ = (in_shards, limits);
        let read = |ordinal| records.name_at(ordinal);
        let names = if names_are_sorted {
            Names::sorted(if dialect.facts.sorted_by_length { Order::Length } else { Order::Bytes })
        } else {
            Names::hashed(len_u32(objects.len()), read).map_err(|clash| match clash {
                Clash::Memory => OutOfMemory.into(),
                Clash::Duplicate(ordinal) => {
                    let object = objects.get(usize_from_u32(ordinal));
                    let at = object.map_or(Remaining::END, |object| object.name);
                    let place = Place::new(Some(ordinal), None);
                    PlacedFault { fault: Fault::new(dialect.duplicate_name, at), place }
                }
            })?
        };
        Ok(Index {
            objects,
            components,
            names,
            attributes,
            shapes,
            #[cfg(feature = "v2")]
            shards: collected.shards,
            dialect,
            version,
        })
    }
}

/// The fault of a blob that overlaps another one, or that is one too many.
pub(super) fn overlap(records: Records<'_>, found: Wrong) -> PlacedFault {
    let Wrong { component, kind, found } = found;
    let Some(record) = records.components.get(usize_from_u32(component)) else {
        let fault = Fault::new(ErrorKind::Internal, Remaining::END);
        return PlacedFault { fault, place: Place::NOWHERE };
    };
    let fault = records.fault(record, FieldFault { kind, field: Site::Offset, found });
    PlacedFault { fault, place: records.place(component) }
}

//! Validating what the manifest claims: each component, each object, and the whole.

use alloc::vec::Vec;
use core::mem::take;

use super::blobs::{InOrder, Sharing, Wrong, wrong};
use super::extent::Extent;
use super::index::{ComponentRecord, Index, ObjectRecord, Records, push, reserve};
use super::names::{Clash, Names, Order};
use super::roles::{Part, Roles};
#[cfg(feature = "v2")]
use super::shards;
use crate::cbor::{Fault, Input, Remaining, fault};
use crate::element::StorageType;
use crate::error::{Error, OutOfMemory, Place};
#[cfg(feature = "v2")]
use crate::format::Profile;
use crate::format::frame::Frame;
#[cfg(feature = "v2")]
use crate::format::v2::Shards;
use crate::format::{
    self, Claims, ComponentClaim, Dialect, Encoding, Facts, Logical, ObjectClaim, ObjectFault,
    Text, Walk, Walked,
};
use crate::limits::{Options, Tolerance};
use crate::num::{Assured as _, is_before, len_u32, u64_from_usize, usize_from_u32};
use crate::rules::Rule;

/// Reads and validates the manifest of `frame`, whose bytes are `manifest`.
pub(super) fn admit(frame: &Frame, manifest: &[u8], options: &Options) -> Result<Index, Error> {
    let mut validator = Validator::new(frame, options);
    let mut walk = Walk::new(&mut validator, options.limit());
    let walked = format::walk(frame.container(), &mut walk, manifest);
    let place = walk.place;
    let (rest, walked) = walked.map_err(|error| validator.error(fault(error)).at(place))?;
    if !rest.is_empty() {
        let left =
            Fault::with(Rule::ManifestTrailing, Remaining::of(rest), u64_from_usize(rest.len()));
        return Err(validator.error(left));
    }
    validator.whole(manifest, &walked)
}

/// Takes the claims as they come.
struct Validator<'m, 'o> {
    options: &'o Options,
    frame: &'o Frame,
    dialect: &'static Dialect,
    blobs_end: u64,
    /// How many components are in other files.
    #[cfg(feature = "v2")]
    in_shards: u32,

    objects: Vec<ObjectRecord>,
    components: Vec<ComponentRecord>,

    blobs: InOrder,
    last_name: Option<&'m [u8]>,
    names_are_sorted: bool,

    /// The current object: its name, the ordinal of its first component, its parts.
    name: Text<'m>,
    first: u32,
    parts: Roles,
}

/// The fewest bytes of CBOR that an object takes: a name and a map of three empty fields.
const OBJECT_BYTES: u32 = 29;

impl<'m, 'o> Validator<'m, 'o> {
    fn new(frame: &'o Frame, options: &'o Options) -> Self {
        Self {
            options,
            frame,
            dialect: frame.container().dialect(),
            blobs_end: frame.blobs_end(),
            #[cfg(feature = "v2")]
            in_shards: 0,
            objects: Vec::new(),
            components: Vec::new(),
            blobs: InOrder::default(),
            last_name: None,
            names_are_sorted: true,
            name: Text::NONE,
            first: 0,
            parts: Roles::default(),
        }
    }

    fn error(&self, fault: Fault) -> Error {
        let offset = self.frame.manifest().end.checked_sub(fault.remaining.left().into()).assured();
        Error::new(fault.kind, offset).found(fault.found)
    }

    /// Validates that a blob of this file is the manifest's own, or apart from it: v2 §2.4. Before
    /// 2, all blobs end before it.
    #[cfg(feature = "v2")]
    fn beside_manifest(&self, extent: Extent, claim: &ComponentClaim) -> Result<(), Fault> {
        let manifest = self.frame.manifest();
        let apart = extent.length() == 0
            || extent.end() <= manifest.start
            || manifest.end <= extent.offset()
            || extent.range() == *manifest;
        if apart {
            return Ok(());
        }
        Err(Fault::with(Rule::BlobOverlap, claim.offset.remaining, extent.offset()))
    }

    /// What can only be validated when everything is there.
    fn whole(mut self, manifest: Input<'m>, walked: &Walked) -> Result<Index, Error> {
        let dialect = self.dialect;
        let (objects, components) = (take(&mut self.objects), take(&mut self.components));
        let records =
            Records { bytes: manifest, dialect, objects: &objects, components: &components };
        let no_memory = Error::from(OutOfMemory);
        if !self.blobs.holds() {
            let here = (0..).zip(&components).filter(|(_, record)| !record.in_shard());
            let here = here.map(|(component, _)| component);
            let identical =
                dialect.facts.shares_blobs || self.options.tolerates(Tolerance::SharedBlobs);
            let sharing = Sharing {
                identical,
                most: self.options.limit().shared_total(self.frame.file_len()),
            };
            let wrong = wrong(&components, here, sharing).map_err(|_| no_memory)?;
            if let Some(Wrong { component, kind, found }) = wrong {
                let record = components.get(usize_from_u32(component));
                let at = record.map(|record| records.blob_places(record).0).assured();
                return Err(self.error(Fault::with(kind, at, found)).at(records.place(component)));
            }
        }
        #[cfg(feature = "v2")]
        if let Some(clash) = self.shards(records, walked)? {
            return Err(self.error(clash.fault).at(records.place(clash.component)));
        }

        let count = len_u32(objects.len());
        let read = |ordinal| records.name_at(ordinal);
        let names = if self.names_are_sorted {
            Names::sorted(if dialect.facts.sorted_by_length { Order::Length } else { Order::Bytes })
        } else {
            Names::hashed(count, read).map_err(|clash| match clash {
                Clash::Memory => no_memory,
                Clash::Duplicate(ordinal) => {
                    let name =
                        objects.get(usize_from_u32(ordinal)).map(|object| object.name).assured();
                    let error = self.error(Fault::new(Rule::DuplicateName, name));
                    error.at(Place::new(Some(ordinal), None))
                }
            })?
        };
        let Walked { attributes, version, .. } = *walked;
        Ok(Index {
            objects,
            components,
            names,
            attributes,
            #[cfg(feature = "v2")]
            shards: walked.shards,
            dialect,
            version,
        })
    }

    /// What is wrong with the components that are in other files, if something is.
    #[cfg(feature = "v2")]
    fn shards(
        &self,
        records: Records<'m>,
        walked: &Walked,
    ) -> Result<Option<shards::Clash>, Error> {
        if self.in_shards == 0 {
            return Ok(None);
        }
        let table = Shards::read(records.bytes, walked.shards)?;
        Ok(shards::validate(records, self.in_shards, &table, self.options.limit())?)
    }
}

/// Where the blob lies, in a file whose blobs end at `most`: v0.1 §3.2, v1.1 I.2 and IV.2, v1.2 §4 and
/// §5, v2 §2.4.
#[inline(always)]
pub(crate) fn extent(claim: &ComponentClaim, most: u64) -> Result<Extent, Fault> {
    let (offset, length) = (claim.offset.value, claim.length.value);
    if offset & claim.facts.alignment.wrapping_sub(1) != 0 {
        return Err(Fault::with(Rule::BlobAlignment, claim.offset.remaining, offset));
    }
    if offset == 0 && (length > 0 || claim.facts.shares_blobs) {
        return Err(Fault::new(Rule::BlobHeader, claim.offset.remaining));
    }
    match offset.checked_add(length) {
        Some(end) if end <= most => Ok(Extent::new(offset, length)),
        _ => Err(Fault::with(Rule::BlobBounds, claim.length.remaining, length)),
    }
}

impl<'m> Claims<'m> for Validator<'m, '_> {
    fn begin(
        &mut self,
        dialect: &'static Dialect,
        claimed: Option<u32>,
        at: Remaining,
    ) -> Result<(), Fault> {
        self.dialect = dialect;
        // There is room for as many as the bytes can hold, each with one component, as most have.
        let most = at.left() / OBJECT_BYTES;
        let objects = claimed.unwrap_or(0).min(most);
        reserve(&mut self.objects, objects)?;
        reserve(&mut self.components, objects)
    }

    #[inline(always)]
    fn component(&mut self, claim: &ComponentClaim) -> Result<(), Fault> {
        let dtype = &claim.dtype;
        if let (Logical { known: Some(logical), unknown: false }, Some(remaining)) =
            (dtype.logical, dtype.type_remaining)
            && (dtype.implied || dtype.storage != Some(logical.storage()))
        {
            return Err(Fault::new(Rule::LogicalTypeStorage, remaining));
        }
        // The length of another file is looked at when all of them are known.
        let most = if claim.shard.is_none() { self.blobs_end } else { u64::MAX };
        let extent = extent(claim, most)?;
        let part = Part::new(
            claim,
            len_u32(self.components.len()).wrapping_sub(self.first),
            self.dialect,
        )?;
        let width = dtype.storage.map_or(1, StorageType::width);
        if let (Some(remaining), Encoding::Zstd, 2..) = (claim.big_endian, claim.encoding, width) {
            return Err(Fault::new(Rule::EndiannessCompressed, remaining));
        }
        match claim.role {
            Some(role) => self.parts.note(role, part),
            None => self.parts.note_other(),
        }
        if claim.shard.is_none() {
            #[cfg(feature = "v2")]
            if claim.facts.shares_blobs {
                self.beside_manifest(extent, claim)?;
            }
            self.blobs.note(extent);
        }
        #[cfg(feature = "v2")]
        if claim.shard.is_some() {
            self.in_shards = self.in_shards.wrapping_add(1);
        }
        let unknown_type = if dtype.storage.is_none() {
            Some(dtype.remaining)
        } else {
            dtype.type_remaining.filter(|_| dtype.logical.unknown)
        };
        let record = ComponentRecord {
            extent,
            decoded: claim.decoded.map_or(0, |decoded| decoded.value),
            has_decoded: claim.decoded.is_some(),
            at: claim.at,
            digest: claim.digest.unwrap_or(Remaining::END),
            shard: claim.shard.unwrap_or(Remaining::END),
            type_name: unknown_type.unwrap_or(Remaining::END),
            role: claim.role,
            storage: dtype.storage,
            logical: dtype.logical,
            encoding: claim.encoding,
            big_endian: claim.big_endian.is_some() && width > 1,
        };
        push(&mut self.components, record)
    }

    #[inline(always)]
    fn name(&mut self, name: Text<'m>, facts: Facts) {
        self.name = name;
        if !facts.sorted_by_length {
            self.names_are_sorted &= self.last_name.is_none_or(|last| is_before(last, name.bytes));
            self.last_name = Some(name.bytes);
        }
        self.first = len_u32(self.components.len());
        self.parts.clear();
    }

    #[cfg(feature = "v2")]
    fn profile(&mut self, claim: &ObjectClaim, profile: &Profile) -> Result<(), ObjectFault> {
        self.parts.profile(claim, profile)
    }

    #[inline(always)]
    fn object(&mut self, claim: &ObjectClaim) -> Result<(), ObjectFault> {
        self.parts.validate(claim, self.dialect, self.options)?;
        let Text { remaining, bytes, behind } = self.name;
        let length = len_u32(bytes.len());
        // A head takes 9 bytes at most.
        let head = remaining.left().wrapping_sub(behind.left()).wrapping_sub(length);
        let record = ObjectRecord {
            name: remaining,
            name_head: u8::try_from(head).assured(),
            name_length: length,
            shape: claim.shape.remaining,
            layout: claim.layout.unwrap_or(Remaining::END),
            attributes: claim.attributes.unwrap_or(Remaining::END),
            first: self.first,
            count: len_u32(self.components.len()).wrapping_sub(self.first),
            format: claim.format,
        };
        Ok(push(&mut self.objects, record)?)
    }
}

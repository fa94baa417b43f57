//! Validating what the manifest claims: each component, each object, and the whole.

use super::blobs::{Extent, InOrder, Sharing, Wrong, wrong};
use super::index::{BoundedVec, ComponentFacts, ComponentRecord, Gathered, ObjectRecord};
use super::names::{Clash, Names, Order};
use super::records::Records;
use super::roles::{Part, Roles};
#[cfg(feature = "v2")]
use super::shards;
use super::{Index, Reader};
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
    Walk, Walked,
};
use crate::limits::{Options, Tolerance};
use crate::num::{Assured as _, is_before, u64_from_usize, usize_from_u32};
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
    elsewhere: u32,

    objects: BoundedVec<ObjectRecord>,
    /// The components that are not the first of their object.
    others: BoundedVec<ComponentRecord>,
    /// Where the first object begins.
    begin: Remaining,

    blobs: InOrder,
    last_name: Option<&'m [u8]>,
    names_are_sorted: bool,

    /// Of the current object: its name, its components, its parts.
    name: Remaining,
    components: Gathered,
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
            elsewhere: 0,
            objects: BoundedVec::default(),
            others: BoundedVec::default(),
            begin: Remaining::default(),
            blobs: InOrder::default(),
            last_name: None,
            names_are_sorted: true,
            name: Remaining::default(),
            components: Gathered::none(0),
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
        let objects = core::mem::take(&mut self.objects).into_vec();
        let others = core::mem::take(&mut self.others).into_vec();
        let records = Records { objects: &objects, others: &others };
        let reader = Reader { bytes: manifest, dialect };
        let no_memory = Error::from(OutOfMemory);
        if !self.blobs.holds() {
            let here = records.components().filter(|(_, record)| !record.is_elsewhere());
            let extents = here.map(|(which, record)| (which, reader.extent(record)));
            let identical =
                dialect.facts.shares_blobs || self.options.tolerates(Tolerance::SharedBlobs);
            let sharing = Sharing {
                identical,
                alignment: dialect.facts.alignment,
                most: self.options.limit().shared_total(self.frame.file_len()),
            };
            let wrong = wrong(self.blobs, extents, sharing).map_err(|_| no_memory)?;
            if let Some(Wrong { which, kind, found }) = wrong {
                let at = reader.offset_remaining(records.get(which).assured());
                return Err(self.error(Fault::with(kind, at, found)).at(records.place(which)));
            }
        }
        #[cfg(feature = "v2")]
        if let Some(clash) = self.shards(&reader, records, walked)? {
            return Err(self.error(clash.fault).at(records.place(clash.which)));
        }

        let count = crate::num::len_u32(objects.len());
        let read = |ordinal| reader.name(&objects, ordinal);
        let names = if self.names_are_sorted {
            Names::sorted(if dialect.facts.sorted_by_length { Order::Length } else { Order::Bytes })
        } else {
            Names::hashed(count, read).map_err(|clash| match clash {
                Clash::Memory => no_memory,
                Clash::Duplicate(ordinal) => {
                    let name = objects.get(usize_from_u32(ordinal)).map(|it| it.name()).assured();
                    let error = self.error(Fault::new(Rule::DuplicateName, name));
                    error.at(Place::new(Some(ordinal), None))
                }
            })?
        };
        let Walked { attributes, version, .. } = *walked;
        Ok(Index {
            objects,
            others,
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
        reader: &Reader<'m>,
        records: Records<'_>,
        walked: &Walked,
    ) -> Result<Option<shards::Clash>, Error> {
        if self.elsewhere == 0 {
            return Ok(None);
        }
        let table = Shards::read(reader.bytes, walked.shards)?;
        let components = shards::Components { reader, records, elsewhere: self.elsewhere };
        Ok(shards::validate(components, &table, self.options.limit())?)
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
        self.begin = at;
        self.objects.expect(claimed, at.left(), OBJECT_BYTES)
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
        let part = Part::new(claim, self.components.count, self.dialect)?;
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
            self.elsewhere = self.elsewhere.wrapping_add(1);
        }
        let record = ComponentRecord::new(&ComponentFacts {
            at: claim.at,
            storage: dtype.storage,
            logical: dtype.logical,
            encoding: claim.encoding,
            elsewhere: claim.shard.is_some(),
            big: claim.big_endian.is_some() && width > 1,
            digest: claim.digest,
            offset: claim.offset.remaining,
            length: claim.length.remaining,
        });
        if self.components.add(record) {
            self.others.push(record, self.begin, claim.at)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn name(&mut self, at: Remaining, name: &'m [u8], facts: Facts) {
        self.name = at;
        if !facts.sorted_by_length {
            self.names_are_sorted &= self.last_name.is_none_or(|last| is_before(last, name));
            self.last_name = Some(name);
        }
        self.components = Gathered::none(self.others.len());
        self.parts.clear();
    }

    #[cfg(feature = "v2")]
    fn profile(&mut self, claim: &ObjectClaim, profile: &Profile) -> Result<(), ObjectFault> {
        self.parts.profile(claim, profile)
    }

    #[inline(always)]
    fn object(&mut self, claim: &ObjectClaim) -> Result<(), ObjectFault> {
        self.parts.validate(claim, self.dialect, self.options)?;
        let record = ObjectRecord::new(self.name, claim.format, &self.components);
        Ok(self.objects.push(record, self.begin, self.name)?)
    }
}

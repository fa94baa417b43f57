//! What a manifest claims, by no dialect, and not validated yet.

use core::num::NonZeroU8;

#[cfg(feature = "v2")]
use super::profile::Profile;
use super::{Dialect, Encoding, Facts, Format, Role, Shape, Text, Uint, Version};
use crate::cbor::{Checked, Fault, Remaining};
#[cfg(feature = "v2")]
use crate::cbor::{Input, strict};
use crate::element::{LogicalType, StorageType};
use crate::error::Place;
use crate::limits::Limits;

/// What a component claims to hold: a name that was found in the tables, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dtype {
    pub(crate) remaining: Remaining,
    /// None where a 0.1 dtype is not known.
    pub(crate) storage: Option<StorageType>,
    pub(crate) logical: Logical,
    /// Where `type` stands, if there is one that says more than `dtype`.
    pub(crate) type_remaining: Option<Remaining>,
    /// Whether the dtype itself (of 1.1) stands for a logical type, which no `type` may change.
    pub(crate) implied: bool,
}

/// What storage elements mean, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Logical {
    /// The logical type that `type` names, or that a dtype of 1.1 stands for.
    pub(crate) known: Option<LogicalType>,
    /// Whether there is a `type` that is not known.
    pub(crate) unknown: bool,
}

impl Logical {
    /// Nothing but what the storage type says.
    pub(crate) const NONE: Self = Self { known: None, unknown: false };

    /// A logical type that is known.
    #[cfg(feature = "write")]
    pub(crate) const fn known(logical: LogicalType) -> Self {
        Self { known: Some(logical), unknown: false }
    }

    /// Bytes of which a component holds a whole number: those of a logical element, or, where its
    /// `type` is not known, of an element of the dtype.
    #[inline(always)]
    pub(crate) fn unit(self, storage: StorageType) -> u8 {
        storage.width().wrapping_mul(self.ratio())
    }

    /// Storage elements for each [unit](Self::unit).
    #[inline(always)]
    pub(crate) fn ratio(self) -> u8 {
        self.known.map_or(1, LogicalType::ratio)
    }

    /// Bytes of one logical element on that storage type, where this is known: v1.2 §2. Of
    /// elements that share a byte there is no such number, but [`bytes`](Self::bytes).
    #[inline(always)]
    pub(crate) fn element_size(self, storage: StorageType) -> Option<NonZeroU8> {
        if self.unknown || self.is_packed() { None } else { NonZeroU8::new(self.unit(storage)) }
    }

    /// Whether two elements share a byte: v2 appendix A.
    #[inline(always)]
    pub(crate) fn is_packed(self) -> bool {
        cfg!(feature = "v2") && self.known == Some(LogicalType::F4E2M1)
    }
}

/// What the manifest claims of one blob.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComponentClaim {
    /// Where its role stands; in 0.1, where its entry begins.
    pub(crate) at: Remaining,
    /// Where its map begins.
    pub(crate) map: Remaining,
    /// Its role, where it is a known one.
    pub(crate) role: Option<Role>,
    pub(crate) dtype: Dtype,
    pub(crate) offset: Uint,
    pub(crate) length: Uint,
    pub(crate) decoded: Option<Uint>,
    pub(crate) encoding: Encoding,
    /// The place of its digest, if it has one.
    pub(crate) digest: Option<Remaining>,
    /// Where the data is declared big-endian, if it is.
    pub(crate) big_endian: Option<Remaining>,
    /// Where the name of the other file stands that it is in, if it is not in this one.
    pub(crate) shard: Option<Remaining>,
    pub(crate) facts: Facts,
}

/// What the manifest claims of one object, its components having been claimed before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectClaim {
    pub(crate) shape: Shape,
    pub(crate) format: Format,
    /// The place of the layout's name, if there is one.
    pub(crate) layout: Option<Remaining>,
    /// The place of the attributes, if there are some.
    pub(crate) attributes: Option<Remaining>,
    /// Where its components begin.
    pub(crate) components: Remaining,
    pub(crate) facts: Facts,
}

/// What is wrong with an object.
pub(crate) struct ObjectFault {
    pub(crate) fault: Fault,
    /// The component of it that is at fault, if it is not the object as such.
    pub(crate) component: Option<u32>,
}

impl From<Fault> for ObjectFault {
    fn from(fault: Fault) -> Self {
        Self { fault, component: None }
    }
}

/// What validates the claims, in the order of the manifest. It says what is wrong with a claim;
/// which object and component that is, the parser knows.
pub(crate) trait Claims<'m> {
    /// Objects of that dialect follow in the bytes from `at`, as many as are claimed.
    fn begin(
        &mut self,
        dialect: &'static Dialect,
        claimed: Option<u32>,
        at: Remaining,
    ) -> Result<(), Fault>;
    /// One component of the object that is next to come.
    fn component(&mut self, claim: &ComponentClaim) -> Result<(), Fault>;
    /// The name of the object whose components come next.
    fn name(&mut self, name: Text<'m>, facts: Facts);
    /// What attributes and shape ask of the object that comes next, if it is one of a profile.
    #[cfg(feature = "v2")]
    fn profile(&mut self, claim: &ObjectClaim, profile: &Profile) -> Result<(), ObjectFault>;
    /// The object itself, once its components have come.
    fn object(&mut self, claim: &ObjectClaim) -> Result<(), ObjectFault>;
}

/// What reading a manifest carries along.
pub(crate) struct Walk<'w, C> {
    pub(crate) claims: &'w mut C,
    pub(crate) limits: &'w Limits,
    /// The dialect of the objects, once it is known.
    pub(crate) dialect: Option<&'static Dialect>,
    /// The object and component that is being read.
    pub(crate) place: Place,
    /// What is known to be deterministic CBOR beside what has been read.
    #[cfg(feature = "v2")]
    proven: Proven,
}

/// An item that is known to be deterministic CBOR.
#[cfg(feature = "v2")]
#[derive(Clone, Copy)]
struct Proven {
    from: Remaining,
    to: Remaining,
}

impl<'w, C> Walk<'w, C> {
    pub(crate) fn new(claims: &'w mut C, limits: &'w Limits) -> Self {
        Self {
            claims,
            limits,
            dialect: None,
            place: Place::NOWHERE,
            #[cfg(feature = "v2")]
            proven: Proven { from: Remaining::END, to: Remaining::END },
        }
    }

    /// Validates that the item at `at`, which lies within `open` levels, is deterministic CBOR, unless
    /// that is known.
    #[cfg(feature = "v2")]
    #[inline(never)]
    pub(super) fn prove(&mut self, at: Input<'_>, open: u8) -> Checked<()> {
        let from = Remaining::of(at);
        if from > self.proven.from || from <= self.proven.to {
            let (rest, ()) = strict(at, open, self.limits.depth())?;
            self.proven = Proven { from, to: Remaining::of(rest) };
        }
        Ok(())
    }

    /// Has the object validated whose components have been.
    #[inline(always)]
    pub(super) fn object<'m>(&mut self, claim: &ObjectClaim) -> Checked<()>
    where
        C: Claims<'m>,
    {
        self.claims.object(claim).map_err(|fault| Self::placed(&mut self.place, fault))
    }

    /// Has the object validated by its profile, whose parts have been.
    #[cfg(feature = "v2")]
    pub(super) fn profile<'m>(&mut self, claim: &ObjectClaim, profile: &Profile) -> Checked<()>
    where
        C: Claims<'m>,
    {
        self.claims.profile(claim, profile).map_err(|fault| Self::placed(&mut self.place, fault))
    }

    fn placed(place: &mut Place, ObjectFault { fault, component }: ObjectFault) -> nom::Err<Fault> {
        *place = place.in_component(component);
        fault.into()
    }
}

/// What a manifest says beside its objects.
pub(crate) struct Walked {
    /// Where the file's attributes are.
    pub(crate) attributes: Option<Remaining>,
    /// Where the table of other files is that hold blobs.
    pub(crate) shards: Option<Remaining>,
    pub(crate) version: Option<Version>,
}

//! What stands in for the rules of generation 2 on content where it is not built in.

use core::marker::PhantomData;

use super::declare::NewObject;
use super::settings::Target;
use crate::element::StorageType;
use crate::error::Error;
use crate::limits::Limits;

/// Nothing is asked.
pub(super) struct Content<'a>(PhantomData<&'a ()>);

#[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "generation 2 asks for more")]
impl<'a> Content<'a> {
    pub(super) fn new(
        _: &NewObject<'a>,
        _: &Target,
        _: Option<u64>,
        _: &Limits,
    ) -> Result<Self, Error> {
        Ok(Self(PhantomData))
    }

    pub(super) fn add(&mut self, _: &str, _: StorageType, _: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    pub(super) fn finish(&mut self, _: &str) -> Result<(), Error> {
        Ok(())
    }
}

pub(super) fn is_odd(_: &NewObject<'_>, _: &Target, _: Option<u64>, _: &str) -> bool {
    false
}

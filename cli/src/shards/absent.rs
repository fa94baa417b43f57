//! Without generation 2 there are no shards to look for.
#![cfg_attr(
    not(feature = "v2"),
    allow(
        clippy::allow_attributes,
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "of generation 2 alone there are shards"
    )
)]

use std::io;

use zten::Options;

use crate::file::Opened;
use crate::report::Problem;

pub(crate) fn find_in_process(_: &mut Opened, _: &Options) -> io::Result<()> {
    Ok(())
}

#[cfg(target_os = "linux")]
pub(crate) fn find(_: &mut [Result<Opened, Box<Problem>>], _: &Options) -> io::Result<Vec<u64>> {
    Ok(Vec::new())
}

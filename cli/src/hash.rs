//! stub
use crate::app::App;
pub(crate) fn run(_: &mut App, _: &crate::args::Hash) -> std::io::Result<()> { Ok(()) }

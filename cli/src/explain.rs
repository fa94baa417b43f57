//! stub
use crate::app::App;
pub(crate) fn run(_: &mut App, _: &crate::args::Explain) -> std::io::Result<()> { Ok(()) }

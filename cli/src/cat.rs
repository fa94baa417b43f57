//! stub
use crate::app::App;
pub(crate) fn run(_: &mut App, _: &crate::args::Cat) -> std::io::Result<()> { Ok(()) }

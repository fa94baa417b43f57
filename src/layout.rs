//! Views: the data of a component, as elements.

mod dense;
mod index;
mod view;

pub use dense::Dense;
pub(crate) use index::{BadIndex, Below, Coords, Indptr, Widened};
pub(crate) use view::bools;
pub use view::{Elements, View};

//! Tests of the HTTP front end with hostile clients and hostile files.

mod answers;
mod client;
mod formats;
mod limits;
mod load;
mod served;
mod stopped;
mod workers;

pub(crate) use served::{lying, patient};

//! Tests of the HTTP front against hostile clients, and against the files that they send.

mod answers;
mod client;
mod formats;
mod limits;
mod load;
mod served;
mod stopped;
mod workers;

pub(crate) use served::{lying, patient};

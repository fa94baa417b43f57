//! Tests of what users read: names, values, descriptions of archives, and findings.

mod archive;
mod finding;
mod hidden;
mod names;
mod values;

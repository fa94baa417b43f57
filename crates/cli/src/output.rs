//! What the command prints: text, tables, problems, progress and colors.

pub(crate) mod app;
pub(crate) mod fold;
pub(crate) mod kind;
pub(crate) mod paint;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod table;

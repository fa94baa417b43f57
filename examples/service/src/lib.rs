//! A service that checks tensor files which clients upload, each in a confined process of its own.
//!
//! This process receives files and never parses one: [`Service`] hands each file to a worker of a
//! [`Pool`](zten_worker::Pool), and [`http`] offers that over HTTP. A file can harm only its own worker.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

pub mod answer;
mod check;
pub mod http;
mod service;

pub use check::CHECK;
pub use service::{Checked, Service, Settings};

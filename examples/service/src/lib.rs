//! A service that checks tensor files which clients upload, each in a confined process of its own.
//!
//! This process receives files and never parses one: [`Service`] hands each file to a worker of a
//! [`Pool`](zten_worker::Pool), and [`http`] offers that over HTTP. A file can harm only its own worker.
//!
//! ```no_run
//! use std::fs::File;
//! use zten_service::{CHECK, Checked, Service, Settings};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // First of all: in a worker this call never returns.
//!     zten_worker::init(&[&CHECK]);
//!     let service = Service::start(Settings::default())?;
//!     match service.check("model.zt", File::open("model.zt")?)? {
//!         Checked::Valid { summary, .. } => println!("{summary}"),
//!         Checked::Rejected { finding, .. } => println!("rejected: {finding}"),
//!     }
//!     Ok(())
//! }
//! ```
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

pub mod answer;
mod check;
pub mod http;
mod service;

pub use check::CHECK;
pub use service::{Checked, Service, Settings};

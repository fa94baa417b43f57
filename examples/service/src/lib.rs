//! A service that reads untrusted files.
//!
//! The service opens a file and starts a worker, a process for this file only. The worker confines itself, checks the file, and
//! answers with the names, dtypes and shapes of the manifest. If the service asks for content, the worker also sends a memory
//! file of all decoded components. The memory file is sealed, so it can neither change nor shrink, and the service can map it.
//!
//! A malicious file may have taken over its worker, so the service trusts the worker as little as the file: the answer has a
//! bounded length and time, and is parsed strictly, and the memory file is validated before it is mapped. A file can harm only
//! its own worker.
//!
//! ```no_run
//! use std::fs::File;
//! use zten_service::{Service, Settings, Verdict, Want};
//!
//! let service = Service::new("target/release/zten-service-worker", Settings::default());
//! match service.check(File::open("model.zt")?, Want::Content)? {
//!     Verdict::Valid(model) => {
//!         for object in &model.facts.objects {
//!             println!("{:?}: {:?}", object.name, object.shape);
//!         }
//!     }
//!     Verdict::Rejected(why) => println!("rejected: {}", why.sentence),
//!     Verdict::Lost(how) => println!("its worker is lost: {how}"),
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The module [`http`] offers the service over HTTP.
#![cfg(target_os = "linux")]

pub mod answer;
pub mod http;
mod sealed;
mod service;
mod worker;

pub use answer::{Component, Facts, Object, Rejection, State, Want};
pub use sealed::{SEALS, Sealed};
pub use service::{Loss, Model, Service, Settings, Verdict};
pub use worker::work;

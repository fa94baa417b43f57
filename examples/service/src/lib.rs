//! A service that reads untrusted files.
//!
//! The service opens a file and starts a worker, a process that is there for this file alone. The
//! worker confines itself, checks the file, and answers with what the manifest says; if the
//! service asks for it, also with a memory file of all decoded components, sealed, so that the
//! service can map it: it cannot be changed or cut short any more.
//!
//! The worker has read the file, so the service believes it as little as the file: the answer is
//! of bounded length, read in bounded time, and of one form only, and the memory file is validated
//! before it is mapped. Whatever a file does to its worker, it costs that worker and nothing else.
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
//! [`http`] is a service that is asked over HTTP.
#![cfg(target_os = "linux")]

pub mod answer;
pub mod http;
mod sealed;
mod service;
mod worker;

pub use answer::{Component, Facts, Object, Rejection, Want};
pub use sealed::{SEALS, Sealed};
pub use service::{Loss, Model, Service, Settings, Verdict};
pub use worker::work;

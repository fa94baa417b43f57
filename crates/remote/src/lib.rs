#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::expect_used,
        clippy::get_unwrap,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

mod address;
mod connector;
mod credentials;
mod error;
mod file;
mod hub;
mod hub_name;
mod name;
mod network;
mod object;
mod options;
mod plan;
mod reading;
mod response;
mod retries;
mod s3;
mod siblings;
mod transport;

pub use error::RemoteError;
pub use file::RemoteFile;
pub use hub::HubAccess;
pub use name::{NameError, RemoteName};
pub use network::until;
pub use object::RemoteObject;
pub use options::{Redirects, RemoteOptions, TimeLimits};
pub use plan::Plan;
pub use reading::Reading;
pub use s3::S3Access;
pub use zten::shards::{Sibling, Want, Wanted};

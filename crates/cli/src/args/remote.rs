//! The options for reading files over the network.

use serde::{Deserialize, Serialize};

/// The settings for reading files over the network.
#[cfg(feature = "remote")]
#[derive(Clone, Debug, Default, clap::Args, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// Limit the time for reading one file over the network (default: 6 hours)
    #[arg(long, global = true, value_name = "SECONDS")]
    pub(crate) remote_time: Option<u32>,
    /// Follow redirects to private addresses, and between http and https
    #[arg(long, global = true)]
    pub(crate) remote_redirects: bool,
}

/// The settings for reading files over the network: none in this build.
#[cfg(not(feature = "remote"))]
#[derive(Clone, Debug, Default, clap::Args, Serialize, Deserialize)]
pub(crate) struct Settings {}

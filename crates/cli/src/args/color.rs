//! The option `--color`.

/// The choice of when to use color.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// Use color where output goes to a terminal, unless the environment says otherwise
    Auto,
    /// Use color everywhere
    Always,
    /// Use no color
    Never,
}

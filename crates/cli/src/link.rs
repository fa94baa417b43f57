//! What connects the processes of the command: their messages, and the worker's end of the socket.

#[cfg(target_os = "linux")]
pub(crate) mod channel;
#[cfg(target_os = "linux")]
pub(crate) mod message;
pub(crate) mod origin;
pub(crate) mod status;
pub(crate) mod verdict;

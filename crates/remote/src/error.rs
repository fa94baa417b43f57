//! The errors of fetching bytes.

use std::fmt;
use std::io;

use crate::name::NameError;

/// The reason why bytes of a remote file could not be fetched. Nothing that a server has sent is repeated but numbers.
#[derive(Debug)]
#[non_exhaustive]
pub enum RemoteError {
    /// The name is none.
    Name(NameError),
    /// A setting of the environment or of a profile cannot be used: the name of the setting.
    Setting(&'static str),
    /// The name of the server was not resolved to an address.
    Unresolved,
    /// No connection to the server was made.
    Connect(io::ErrorKind),
    /// The server is not the one that its certificate names, or TLS failed otherwise: a sentence without anything that the
    /// server has sent.
    Tls(&'static str),
    /// The server does not speak HTTP as it should.
    Protocol,
    /// The server answers with a status that is no answer to the request.
    Status(u16),
    /// The server has no such file.
    NotFound,
    /// The server denies access (401 or 403).
    Denied(u16),
    /// The server sent the whole file where a range was asked for.
    RangesIgnored,
    /// The server sent a range that was not asked for, or does not say which.
    OtherRange,
    /// The server says another length of its answer than the range has.
    OtherLength {
        /// Bytes that were asked for.
        asked: u64,
        /// Bytes that it says.
        said: u64,
    },
    /// The server sent fewer bytes than it was asked for, again and again.
    Fewer {
        /// Bytes that were asked for.
        asked: u64,
        /// Bytes that came.
        came: u64,
    },
    /// The server sent more bytes than it was asked for.
    More {
        /// Bytes that were asked for.
        asked: u64,
    },
    /// The server sent different values of a header that has one; the name of the header.
    Contradiction(&'static str),
    /// The server encoded the bytes, which it was told not to.
    Encoded,
    /// The server does not say how long the file is.
    NoLength,
    /// The server gives neither an `ETag` nor a date, so that a change of the file could not be noticed.
    NoVersion,
    /// The file changed after it was opened.
    Changed,
    /// The server says another length of the file than when it was opened.
    ChangedLength {
        /// Bytes when it was opened.
        opened: u64,
        /// Bytes now.
        now: u64,
    },
    /// The server redirects to another scheme.
    RedirectScheme,
    /// The server redirects to a private, local or reserved address.
    RedirectPrivate,
    /// The server redirects too often, to no URL, or where it may not (S3).
    Redirect,
    /// The server took longer than one request may take.
    RequestTime,
    /// All requests together took longer than they may.
    TotalTime,
    /// A range was asked for that the file does not have.
    BeyondEnd {
        /// Bytes of the file.
        length: u64,
    },
    /// The flag of [`until`](crate::until) was set.
    Interrupted,
    /// Out of memory.
    OutOfMemory,
    /// No thread for the network could be started.
    Runtime(io::ErrorKind),
    /// The code that talks to the server has panicked.
    Panic,
}

impl RemoteError {
    /// Returns whether the same request may succeed a moment later.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Unresolved | Self::Connect(_) | Self::Fewer { .. } | Self::RequestTime => true,
            Self::Status(status) => matches!(status, 408 | 429 | 500 | 502 | 503 | 504),
            _ => false,
        }
    }

    /// The kind of error of the standard library that is nearest.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            Self::Name(_) | Self::Setting(_) | Self::BeyondEnd { .. } => {
                io::ErrorKind::InvalidInput
            }
            Self::Connect(kind) | Self::Runtime(kind) => *kind,
            Self::NotFound => io::ErrorKind::NotFound,
            Self::Denied(_) | Self::RedirectScheme | Self::RedirectPrivate => {
                io::ErrorKind::PermissionDenied
            }
            Self::RequestTime | Self::TotalTime => io::ErrorKind::TimedOut,
            Self::Interrupted => io::ErrorKind::Interrupted,
            Self::Fewer { .. } => io::ErrorKind::UnexpectedEof,
            Self::OutOfMemory => io::ErrorKind::OutOfMemory,
            _ => io::ErrorKind::Other,
        }
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name(error) => return error.fmt(f),
            Self::Setting(name) => return write!(f, "invalid setting {name}"),
            Self::Unresolved => "the host name could not be resolved",
            Self::Connect(kind) => match kind {
                io::ErrorKind::ConnectionRefused => "the server refused the connection",
                io::ErrorKind::TimedOut => "connecting to the server timed out",
                io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                    "the server is unreachable"
                }
                io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => {
                    "the server reset the connection"
                }
                io::ErrorKind::UnexpectedEof => "the server closed the connection",
                kind => return write!(f, "connecting to the server failed: {kind}"),
            },
            Self::Tls(error) => return write!(f, "the TLS handshake failed: {error}"),
            Self::Protocol => "the server does not speak HTTP/1.1",
            Self::Status(status) => return write!(f, "the server answered with status {status}"),
            Self::NotFound => "the server has no such file",
            Self::Denied(status) => return write!(f, "the server denied access (status {status})"),
            Self::RangesIgnored => "the server ignores ranges: it sent the whole file",
            Self::OtherRange => "the server sent another range than requested",
            Self::OtherLength { asked, said } => {
                return write!(f, "the server declared {said} bytes: expected {asked}");
            }
            Self::Fewer { asked, came } => {
                return write!(f, "the server sent {came} bytes: expected {asked}");
            }
            Self::More { asked } => {
                return write!(f, "the server sent too many bytes: expected {asked}");
            }
            Self::Contradiction(name) => {
                return write!(f, "the server sent different values of the header {name}");
            }
            Self::Encoded => "the server sent encoded bytes (Content-Encoding)",
            Self::NoLength => "the server does not say how long the file is",
            Self::NoVersion => {
                "the server sends neither an ETag nor a Last-Modified date: a change between requests would go \
                 unnoticed"
            }
            Self::Changed => "the file changed while it was read",
            Self::ChangedLength { opened, now } => {
                return write!(
                    f,
                    "the file changed while it was read: its length was {opened} bytes, and is {now}"
                );
            }
            Self::RedirectScheme => "the server redirects to another scheme",
            Self::RedirectPrivate => "the server redirects to a private or local address",
            Self::Redirect => "the server redirects too often, or to what cannot be followed",
            Self::RequestTime => "the request timed out",
            Self::TotalTime => "reading exceeded the time limit",
            Self::BeyondEnd { length } => {
                return write!(f, "range exceeds the file, which has {length} bytes");
            }
            Self::Interrupted => "interrupted",
            Self::OutOfMemory => "out of memory",
            Self::Runtime(kind) => return write!(f, "starting a thread for the network failed: {kind}"),
            Self::Panic => "the thread for the network has panicked",
        })
    }
}

impl std::error::Error for RemoteError {}

impl From<NameError> for RemoteError {
    fn from(error: NameError) -> Self {
        Self::Name(error)
    }
}

impl From<RemoteError> for io::Error {
    fn from(error: RemoteError) -> Self {
        Self::new(error.kind(), error)
    }
}

impl From<RemoteError> for zten::Error {
    fn from(error: RemoteError) -> Self {
        io::Error::from(error).into()
    }
}

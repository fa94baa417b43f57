//! The error type of this package, and its messages.

use std::fmt;
use std::io;

use crate::name::NameError;

/// The reason why bytes of a remote file could not be fetched. The only values in an error that a server has sent are numbers, and
/// the name of a region.
#[derive(Debug)]
#[non_exhaustive]
pub enum RemoteError {
    /// A text is not the name of a remote file, for the reason in the field.
    Name(NameError),
    /// A setting of the environment or of a profile is invalid, or its file cannot be read. The text is the name of the setting.
    Setting(&'static str),
    /// The host name of the server could not be resolved to an address.
    Unresolved,
    /// A connection to the server could not be made, or was lost. The field is the kind of the I/O error.
    Connect(io::ErrorKind),
    /// The TLS handshake failed, for the reason in the text: for example, the certificate is for another server. The text does not
    /// repeat anything that the server has sent.
    Tls(&'static str),
    /// The response of the server is not valid HTTP/1.1, or its head is too long.
    Protocol,
    /// The server answered with this HTTP status, which is not expected.
    Status(u16),
    /// The server has no file of the requested name (status 404 or 410).
    NotFound,
    /// The server denies access to the file. The field is the HTTP status: 401 or 403.
    Denied(u16),
    /// The server ignored the header `Range`, and sent the whole file. Such a server is rejected, because reading one tensor would
    /// then download the whole file.
    RangesIgnored,
    /// The server sent another range of the file than requested, or did not say which range it sent.
    OtherRange,
    /// The `Content-Length` of a response differs from the length of the range.
    OtherLength {
        /// The number of bytes that were requested.
        asked: u64,
        /// The number of bytes in the response's `Content-Length`.
        said: u64,
    },
    /// The server sent fewer bytes than requested, even after the request was repeated.
    Fewer {
        /// The number of bytes that were requested.
        asked: u64,
        /// The number of bytes that were received.
        came: u64,
    },
    /// The server sent more bytes than requested.
    More {
        /// The number of bytes that were requested.
        asked: u64,
    },
    /// The server sent a header twice, with different values. The text is the name of the header.
    Contradiction(&'static str),
    /// The response has a `Content-Encoding`, although the request asked for none.
    Encoded,
    /// The server does not tell the length of the whole file in its header `Content-Range`.
    NoLength,
    /// The server sends neither an `ETag` nor a `Last-Modified` date, so that a change of the file would go unnoticed.
    NoVersion,
    /// The file on the server is no longer the version that was opened.
    Changed,
    /// The length of the file changed after it was opened.
    ChangedLength {
        /// The length of the file in bytes when it was opened.
        opened: u64,
        /// The length of the file in bytes that the latest response declares.
        now: u64,
    },
    /// The server redirects from http to https or back, or to a URL with another scheme, which the options do not allow.
    RedirectScheme,
    /// The server redirects to a private, local or reserved address, which the options do not allow.
    RedirectPrivate,
    /// The server redirects more than five times in a row, or to no or an invalid URL or to one with a user or password, or it
    /// redirects a request for S3, where redirects are not followed.
    Redirect,
    /// The bucket in S3 is in another region than the one that the settings name, or than `us-east-1` without a setting. The text
    /// is the region that the server names: at most 32 lower-case letters, digits and hyphens.
    OtherRegion(String),
    /// An answer of the hub does not name its commit, or names something that is no commit. Without the commit, two answers could
    /// come from different states of one branch.
    NoCommit,
    /// An answer of the hub names another commit than an earlier answer did, or than the name of the file has.
    OtherCommit,
    /// The repository on the hub is private or does not exist. The hub gives the same answer in both cases.
    NoRepository,
    /// The repository on the hub has no branch, tag or commit with the revision in the name of the file.
    NoRevision,
    /// The repository on the hub is gated: a user has to accept its terms before files can be downloaded.
    Gated,
    /// The hub rejects the access token that the request carried.
    Token,
    /// A single request exceeded its time limit, also when it was repeated.
    RequestTime,
    /// All requests for the file together exceeded the total time limit.
    TotalTime,
    /// The requested range ends after the end of the file, or before it begins.
    BeyondEnd {
        /// The length of the file in bytes, which the range exceeds.
        length: u64,
    },
    /// Another thread set the flag of [`until`](crate::until) to interrupt the caller.
    Interrupted,
    /// Memory for the received bytes could not be reserved.
    OutOfMemory,
    /// The thread that does the requests, or its runtime, could not be started. The field is the kind of the I/O error.
    Runtime(io::ErrorKind),
    /// The code of the network thread has panicked.
    Panic,
}

impl RemoteError {
    /// Returns whether the request that failed with this error may succeed if it is repeated.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Unresolved | Self::Connect(_) | Self::Fewer { .. } | Self::RequestTime => true,
            Self::Status(status) => matches!(status, 408 | 429 | 500 | 502 | 503 | 504),
            _ => false,
        }
    }

    /// Returns the [`io::ErrorKind`] that comes closest to this error.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            Self::Name(_) | Self::Setting(_) | Self::BeyondEnd { .. } => {
                io::ErrorKind::InvalidInput
            }
            Self::Connect(kind) | Self::Runtime(kind) => *kind,
            Self::NotFound => io::ErrorKind::NotFound,
            Self::Denied(_)
            | Self::RedirectScheme
            | Self::RedirectPrivate
            | Self::NoRepository
            | Self::NoRevision
            | Self::Gated
            | Self::Token => io::ErrorKind::PermissionDenied,
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
            Self::Protocol => "the response of the server is not valid HTTP/1.1, or its head is too long",
            Self::Status(status) => return write!(f, "the server answered with status {status}"),
            Self::NotFound => "the server has no such file",
            Self::Denied(status) => return write!(f, "the server denied access (status {status})"),
            Self::RangesIgnored => "the server ignores ranges: it sent the whole file",
            Self::OtherRange => "the server sent another range than requested",
            Self::OtherLength { asked, said } => {
                return write!(f, "the server declared a length of {said} bytes, expected {asked}");
            }
            Self::Fewer { asked, came } => {
                return write!(f, "the server sent too few bytes: expected {asked}, received {came}");
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
                    "the file changed while it was read: its length was {opened} bytes, and now is {now}"
                );
            }
            Self::RedirectScheme => "the server redirects to a URL with another scheme (such as http instead of https)",
            Self::RedirectPrivate => "the server redirects to a private or local address",
            Self::Redirect => {
                "the server redirects too often, to an invalid URL, or in S3, where redirects are not followed"
            }
            Self::OtherRegion(region) => {
                return write!(f, "the bucket is in the region {region}: set AWS_REGION to it");
            }
            Self::NoCommit => {
                "the hub does not say which commit it sends (header X-Repo-Commit): name a commit of 40 digits as the \
                 revision"
            }
            Self::OtherCommit => "the hub sent a file of another commit than before, or of another commit than the name of the file requests",
            Self::NoRepository => {
                "the repository is private or does not exist: check its name, or set HF_TOKEN to a token that may read it"
            }
            Self::NoRevision => "the repository has no such revision: check the text after @",
            Self::Gated => {
                "the repository is gated: accept its terms on the hub, and set HF_TOKEN to a token of the same account"
            }
            Self::Token => "the hub rejects the token: set HF_TOKEN to a valid one, or unset it",
            Self::RequestTime => "the request timed out",
            Self::TotalTime => "reading exceeded the time limit",
            Self::BeyondEnd { length } => {
                return write!(f, "the requested range ends after the end of the file, whose length is {length} bytes");
            }
            Self::Interrupted => "interrupted",
            Self::OutOfMemory => "out of memory",
            Self::Runtime(kind) => return write!(f, "starting a thread for the network failed: {kind}"),
            Self::Panic => "internal error: the thread for the network has panicked",
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

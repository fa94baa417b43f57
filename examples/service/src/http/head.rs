//! Reads the head of a request before HTTP is parsed, to reject request smuggling: the HTTP parser ignores a `Content-Length`
//! next to a `Transfer-Encoding`, and a proxy in front of the service may have used it.

use std::io;

use hyper::HeaderMap;
use hyper::header::TRANSFER_ENCODING;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The largest size of the head of a request in bytes. The head is the first line and the headers.
pub(super) const MOST: usize = 16 << 10;

/// The first bytes of a connection. They include the whole head, unless it is too long or the connection ends too early.
#[derive(Debug)]
pub(super) struct Head(pub(super) Vec<u8>);

impl Head {
    /// Reads from `stream` until the end of the head. Blank lines before the head are dropped, as the HTTP parser does.
    pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let mut bytes = Vec::with_capacity(MOST);
        let mut seen = 0;
        while bytes.len() < MOST && !has_blank_line(&bytes[seen..]) {
            seen = bytes.len().saturating_sub(2);
            if stream.read_buf(&mut bytes).await? == 0 {
                break;
            }
            if seen == 0 {
                let blank = bytes.iter().take_while(|byte| b"\r\n".contains(byte)).count();
                bytes.drain(..blank);
            }
        }
        Ok(Self(bytes))
    }

    /// Returns whether the head has both a `Content-Length` and a `Transfer-Encoding`.
    pub(super) fn is_ambiguous(&self) -> bool {
        let lines = self.0.split(|byte| *byte == b'\n');
        let fields = lines.take_while(|line| !matches!(line, [] | [b'\r']));
        let names = fields.filter_map(|line| line.split(|byte| *byte == b':').next());
        let has =
            |wanted: &str| names.clone().any(|name| name.eq_ignore_ascii_case(wanted.as_bytes()));
        has("content-length") && has("transfer-encoding")
    }
}

/// Returns whether `bytes` have the blank line that ends a head.
fn has_blank_line(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|end| end == b"\n\n") || bytes.windows(3).any(|end| end == b"\n\r\n")
}

/// Returns whether the service can decode the body: its only transfer encoding is `chunked`, or it has none.
pub(super) fn is_decoded(fields: &HeaderMap) -> bool {
    let mut encodings = fields.get_all(TRANSFER_ENCODING).iter();
    let first = encodings.next().is_none_or(|own| own.as_bytes().eq_ignore_ascii_case(b"chunked"));
    first && encodings.next().is_none()
}

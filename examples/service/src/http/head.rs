//! The head of a request, before HTTP is parsed: who parses it drops a `Content-Length` beside a `Transfer-Encoding`
//! without a word, and a proxy in front may have believed the one that is dropped.

use std::io;

use hyper::HeaderMap;
use hyper::header::TRANSFER_ENCODING;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The most bytes of a head.
pub(super) const MOST: usize = 16 << 10;

/// The first bytes of a connection, among which is all of the head unless that is too long or ends too soon.
#[derive(Debug)]
pub(super) struct Head(pub(super) Vec<u8>);

impl Head {
    /// Reads until the head ends. Blank lines before it are dropped, as by those who parse it.
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

    /// Returns whether it gives the length of its body in two ways.
    pub(super) fn is_ambiguous(&self) -> bool {
        let lines = self.0.split(|byte| *byte == b'\n');
        let fields = lines.take_while(|line| !matches!(line, [] | [b'\r']));
        let names = fields.filter_map(|line| line.split(|byte| *byte == b':').next());
        let has =
            |wanted: &str| names.clone().any(|name| name.eq_ignore_ascii_case(wanted.as_bytes()));
        has("content-length") && has("transfer-encoding")
    }
}

fn has_blank_line(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|end| end == b"\n\n") || bytes.windows(3).any(|end| end == b"\n\r\n")
}

/// Returns whether the body is in no other encoding than `chunked`, which is all that is decoded.
pub(super) fn is_decoded(fields: &HeaderMap) -> bool {
    let mut encodings = fields.get_all(TRANSFER_ENCODING).iter();
    let first = encodings.next().is_none_or(|own| own.as_bytes().eq_ignore_ascii_case(b"chunked"));
    first && encodings.next().is_none()
}

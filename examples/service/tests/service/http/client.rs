//! An HTTP client for tests, which can also send invalid requests.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// The time in which the server must answer.
const PLENTY: Duration = Duration::from_secs(60);

/// An answer as a client receives it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The lines of the head in lower case.
    pub(crate) head: Vec<String>,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn text(&self, key: &str) -> &str {
        self.body[key].as_str().unwrap_or_else(|| panic!("{key}: {self:?}"))
    }

    pub(crate) fn has(&self, line: &str) -> bool {
        self.head.iter().any(|own| own == line)
    }
}

/// A client with one connection.
pub(crate) struct Client(TcpStream);

impl Client {
    pub(crate) fn new(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PLENTY))?;
        stream.set_write_timeout(Some(PLENTY))?;
        Ok(Self(stream))
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    /// Sends the head of a request for a file of `length` bytes, and waits until the server asks for the body.
    pub(crate) fn offer(&mut self, length: usize) {
        self.announce(length);
        self.is_wanted();
    }

    /// Sends the head of a request that announces a file of `length` bytes and asks the server whether to send it.
    pub(crate) fn announce(&mut self, length: usize) {
        let head = head(&format!("content-length: {length}\r\nexpect: 100-continue\r\n"));
        self.send(head.as_bytes()).unwrap();
    }

    /// Waits until the server asks for the body.
    pub(crate) fn is_wanted(&mut self) {
        let mut wanted = [0; 25];
        self.0.read_exact(&mut wanted).unwrap();
        assert_eq!(&wanted, b"HTTP/1.1 100 Continue\r\n\r\n");
    }

    /// Reads until the server closes its side.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.0.read_to_end(&mut bytes).unwrap();
        bytes
    }

    /// Returns whether the server neither sends bytes nor closes the connection for the given time.
    pub(crate) fn is_silent(&mut self, time: Duration) -> bool {
        self.0.set_read_timeout(Some(time)).unwrap();
        let silent = self.0.peek(&mut [0]).is_err();
        self.0.set_read_timeout(Some(PLENTY)).unwrap();
        silent
    }

    pub(crate) fn answer(mut self) -> Answer {
        let text = String::from_utf8(self.rest()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
        let mut lines = head.lines();
        let status = lines.next().unwrap().strip_prefix("HTTP/1.1 ").unwrap();
        Answer {
            status: status[..3].parse().unwrap(),
            head: lines.map(str::to_lowercase).collect(),
            body: serde_json::from_str(body).unwrap(),
        }
    }
}

/// Returns the head of a request that sends a file, with the header lines `fields`.
pub(crate) fn head(fields: &str) -> String {
    format!("POST /check HTTP/1.1\r\nhost: test\r\n{fields}\r\n")
}

/// Returns a request without a body.
pub(crate) fn bare(method: &str, path: &str) -> Vec<u8> {
    format!("{method} {path} HTTP/1.1\r\nhost: test\r\n\r\n").into_bytes()
}

/// Sends a file with a name, as `curl -T` does.
pub(crate) fn put(address: SocketAddr, name: &str, file: &[u8]) -> Answer {
    let path = percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC);
    let fields = format!("host: test\r\ncontent-length: {}\r\n", file.len());
    let head = format!("PUT /check/{path} HTTP/1.1\r\n{fields}\r\n");
    ask(address, &[head.as_bytes(), file].concat())
}

/// Returns a request that sends a file and declares its length.
pub(crate) fn sized_request(file: &[u8]) -> Vec<u8> {
    [head(&format!("content-length: {}\r\n", file.len())).as_bytes(), file].concat()
}

/// Returns a request that sends a file in chunks, without declaring its length.
pub(crate) fn chunked(file: &[u8]) -> Vec<u8> {
    let mut bytes = head("transfer-encoding: chunked\r\n").into_bytes();
    for piece in file.chunks(1000) {
        let mut length = String::new();
        write!(length, "{:x}\r\n", piece.len()).unwrap();
        bytes.extend([length.as_bytes(), piece, b"\r\n"].concat());
    }
    bytes.extend(b"0\r\n\r\n");
    bytes
}

/// Sends a request and reads the answer. The server may answer before it has received the whole request.
pub(crate) fn ask(address: SocketAddr, request: &[u8]) -> Answer {
    let mut client = Client::new(address).unwrap();
    client.send(request).unwrap();
    client.answer()
}

/// Sends a file without a name by `POST`, and returns the answer.
pub(crate) fn post(address: SocketAddr, file: &[u8]) -> Answer {
    ask(address, &sized_request(file))
}

/// Requests `path` by `GET`, and returns the answer.
pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    ask(address, &bare("GET", path))
}

/// Requests a page of plain text.
pub(crate) fn get_text(address: SocketAddr, path: &str) -> String {
    let mut client = Client::new(address).unwrap();
    client.send(&bare("GET", path)).unwrap();
    let text = String::from_utf8(client.rest()).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    body.to_owned()
}

/// Returns a request with a form, as `curl -F file=@NAME` sends it. A part without a file name is a field.
pub(crate) fn form(parts: &[(Option<&str>, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, content) in parts {
        let name = name.map_or(String::new(), |name| format!("; filename=\"{name}\""));
        let head = format!("--x-y\r\ncontent-disposition: form-data; name=\"f\"{name}\r\n\r\n");
        body.extend([head.as_bytes(), content, b"\r\n"].concat());
    }
    body.extend(b"--x-y--\r\n");
    let fields = format!(
        "content-type: multipart/form-data; boundary=x-y\r\ncontent-length: {}\r\n",
        body.len()
    );
    [head(&fields).as_bytes(), &body].concat()
}

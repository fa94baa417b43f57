//! An HTTP server for tests, which replies as a test says, and records all requests. Tests of remote files use it.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request that the server has received.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The path and the query of the requested URL.
    pub path: String,
    /// The values of the headers by their names in lower case.
    pub headers: HashMap<String, String>,
}

impl Request {
    /// Returns the byte range that the `Range` header asks for in a file of `length` bytes. Returns `None` if there
    /// is no such header, or it has no last byte or suffix length.
    pub fn range(&self, length: u64) -> Option<std::ops::Range<u64>> {
        let (first, last) = self.headers.get("range")?.strip_prefix("bytes=")?.split_once('-')?;
        Some(match (first.parse::<u64>(), last.parse::<u64>()) {
            (Err(_), Ok(last)) => length.saturating_sub(last)..length,
            (Ok(first), Ok(last)) => first..(last + 1).min(length),
            _ => return None,
        })
    }
}

/// The reply of the server to a request.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP status, such as 206.
    pub status: u16,
    /// The names and values of the headers, in the order in which they are sent.
    pub headers: Vec<(&'static str, String)>,
    /// The body, which is sent after the headers.
    pub body: Vec<u8>,
    /// The number of bytes of the body after which the server closes the connection; `None` to send the whole body.
    pub cut: Option<usize>,
    /// True if the server sends no reply and keeps the connection open.
    pub silent: bool,
}

impl Reply {
    /// Returns a reply with an empty body, and a `Content-Length` of 0.
    pub fn status(status: u16) -> Self {
        let headers = vec![("Content-Length", "0".to_owned())];
        Self { status, headers, body: Vec::new(), cut: None, silent: false }
    }

    /// Returns a redirect to the URL `to`.
    pub fn redirect(to: &str) -> Self {
        Self::status(302).with("Location", to)
    }

    /// Sets a header, or removes it if the value is empty.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(given, _)| *given != name);
        if !value.is_empty() {
            self.headers.push((name, value.to_owned()));
        }
        self
    }
}

/// Returns the correct reply to `request` of a server whose only file is `content`, with support for `Range` and
/// `If-Match`.
pub fn honest(content: &[u8], request: &Request) -> Reply {
    let length = content.len() as u64;
    if request.headers.get("if-match").is_some_and(|tag| tag != "\"1\"") {
        return Reply::status(412);
    }
    let Some(range) = request.range(length) else {
        return Reply { body: content.to_vec(), ..Reply::status(200) }
            .with("Content-Length", &length.to_string());
    };
    if range.is_empty() {
        return Reply::status(416).with("Content-Range", &format!("bytes */{length}"));
    }
    let body = content[place(range.start)..place(range.end)].to_vec();
    Reply::status(206)
        .with("Content-Range", &format!("bytes {}-{}/{length}", range.start, range.end - 1))
        .with("Content-Length", &body.len().to_string())
        .with("ETag", "\"1\"")
        .with_body(body)
}

/// Returns the reply to `request` of a server that claims a file of `length` bytes, which begins with `begins`, ends with `ends`,
/// and has zeros between them. For a range of more than 64 KiB the reply ends after its headers. A request without a range gets
/// an empty reply.
pub fn claimed(begins: &[u8], ends: &[u8], length: u64, request: &Request) -> Reply {
    let Some(range) = request.range(length) else { return Reply::status(200) };
    let bytes = range.end - range.start;
    let end = length - ends.len() as u64;
    let byte = |at: u64| match at.checked_sub(end) {
        Some(at) => ends[place(at)],
        None => begins.get(place(at)).copied().unwrap_or_default(),
    };
    let is_long = bytes > 64 << 10;
    let body = if is_long { Vec::new() } else { range.clone().map(byte).collect() };
    let reply = Reply::status(206)
        .with("Content-Range", &format!("bytes {}-{}/{length}", range.start, range.end - 1))
        .with("Content-Length", &bytes.to_string())
        .with("ETag", "\"1\"")
        .with_body(body);
    Reply { cut: is_long.then_some(0), ..reply }
}

/// The commit of the branch `main` in the repository of [`Server::of_hub`].
pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// Returns the reply of a hub to a request for a file of its repository `o/m`, whose files are those of `folder`. The
/// hub sends the file itself, or redirects to the URL `storage` if there is one.
fn of_hub(folder: &Path, storage: Option<&str>, request: &Request) -> Reply {
    let Some(file) = request.path.strip_prefix("/o/m/resolve/") else {
        return Reply::status(401).with("X-Error-Code", "RepoNotFound");
    };
    let (revision, path) = file.split_once('/').unwrap();
    if !["main", "refs%2Fpr%2F3", COMMIT].contains(&revision) {
        return Reply::status(404).with("X-Error-Code", "RevisionNotFound");
    }
    let reply = match (fs::read(folder.join(path)), storage) {
        (Err(_), _) => Reply::status(404).with("X-Error-Code", "EntryNotFound"),
        (Ok(content), None) => honest(&content, request),
        (Ok(content), Some(storage)) => {
            Reply::redirect(&format!("{storage}{path}?Signature=hidden"))
                .with("X-Linked-Size", &content.len().to_string())
        }
    };
    reply.with("X-Repo-Commit", COMMIT)
}

fn place(at: u64) -> usize {
    usize::try_from(at).unwrap()
}

impl Reply {
    fn with_body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }
}

type Handler = dyn Fn(usize, &Request) -> Reply + Send + Sync;

/// A running HTTP server, which stops when the process ends.
pub struct Server {
    /// The port at which the server listens on 127.0.0.1.
    pub port: u16,
    asked: Arc<Mutex<Vec<Request>>>,
    sent: Arc<AtomicU64>,
}

impl Server {
    /// Starts a server that answers each request with the reply of `handler`, which is called with the number of the
    /// request, counted from 0 over all connections, and the request.
    pub fn start(handler: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, sent) = (Arc::<Mutex<Vec<Request>>>::default(), Arc::<AtomicU64>::default());
        let server = Self { port, asked: Arc::clone(&asked), sent: Arc::clone(&sent) };
        let handler: Arc<Handler> = Arc::new(handler);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (handler, asked, sent) =
                    (Arc::clone(&handler), Arc::clone(&asked), Arc::clone(&sent));
                thread::spawn(move || serve(&stream, &*handler, &asked, &sent));
            }
        });
        server
    }

    /// Starts a server whose only file is `content`, at every path, with correct replies.
    pub fn of(content: Vec<u8>) -> Self {
        Self::start(move |_, request| honest(&content, request))
    }

    /// Starts a server of the files in `folder` and its subfolders, with correct replies. The server ignores the
    /// query of a URL. `rejected` is the HTTP status for paths without a file.
    pub fn of_folder(folder: &Path, rejected: u16) -> Self {
        let folder = folder.to_owned();
        Self::start(move |_, request| {
            let path = request.path.split('?').next().unwrap_or_default();
            match fs::read(folder.join(path.trim_start_matches('/'))) {
                Ok(content) => honest(&content, request),
                Err(_) => Reply::status(rejected),
            }
        })
    }

    /// Starts a server that answers as the Hugging Face hub does. Its only repository is the model `o/m` with the
    /// files of `folder`. The server redirects to `storage` if there is one, and otherwise sends the files itself.
    pub fn of_hub(folder: &Path, storage: Option<&Self>) -> Self {
        let (folder, storage) = (folder.to_owned(), storage.map(|server| server.at("")));
        Self::start(move |_, request| of_hub(&folder, storage.as_deref(), request))
    }

    /// Returns the URL of a file `file.zt` on the server.
    pub fn url(&self) -> String {
        self.at("file.zt")
    }

    /// Returns the URL of `path` on the server.
    pub fn at(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Returns the paths and queries of all requests so far, each once, in the order of the first request for it.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for Request { path, .. } in self.asked() {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    /// Returns all requests so far, in the order in which they came.
    pub fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }

    /// Returns the number of bytes of all bodies that the server has sent so far.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }
}

fn serve(
    stream: &TcpStream,
    handler: &Handler,
    asked: &Mutex<Vec<Request>>,
    sent: &AtomicU64,
) -> Option<()> {
    // Each reply is two writes. Nagle's algorithm would delay the second one.
    stream.set_nodelay(true).ok()?;
    let mut lines = BufReader::new(stream);
    loop {
        let mut request = Request::default();
        let mut line = String::new();
        lines.read_line(&mut line).ok().filter(|read| *read > 0)?;
        line.split(' ').nth(1)?.clone_into(&mut request.path);
        loop {
            line.clear();
            lines.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            request.headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let number = {
            let mut asked = asked.lock().unwrap();
            asked.push(request.clone());
            asked.len() - 1
        };
        let reply = handler(number, &request);
        if reply.silent {
            let mut end = [0];
            let _ = lines.read(&mut end);
            return None;
        }
        let line = format!("HTTP/1.1 {} x\r\n", reply.status);
        let headers = reply.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let head: String = [line].into_iter().chain(headers).chain(["\r\n".to_owned()]).collect();
        let mut out = stream;
        out.write_all(head.as_bytes()).ok()?;
        let body = &reply.body[..reply.cut.unwrap_or(reply.body.len()).min(reply.body.len())];
        sent.fetch_add(body.len() as u64, Ordering::SeqCst);
        out.write_all(body).ok()?;
        out.flush().ok()?;
        if reply.cut.is_some() {
            return None;
        }
    }
}

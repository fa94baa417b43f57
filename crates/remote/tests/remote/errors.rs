//! Tests with servers that send wrong responses, each in one way.

use std::time::Duration;

use zten_testkit::server::{Reply, Request, Server, honest};

use super::{content, limits, read, rejected};
use zten_remote::{Redirects, RemoteError, RemoteFile, RemoteName, RemoteOptions};

fn options() -> RemoteOptions {
    RemoteOptions::default().times(limits())
}

fn open(server: &Server) -> Result<RemoteFile, RemoteError> {
    RemoteFile::open(&RemoteName::parse(&server.url()).unwrap(), &options())
}

/// Returns the error of reading bytes 100 to 1099 of a file from a server whose first answer is right, and which answers every
/// later request by `lie`.
fn later(lie: impl Fn(&[u8], &Request) -> Reply + Send + Sync + 'static) -> RemoteError {
    let content = content();
    let server = Server::start(move |number, request| match number {
        0 => honest(&content, request),
        _ => lie(&content, request),
    });
    let file = open(&server).unwrap();
    read(&file, 100..1100).unwrap_err()
}

/// Returns the error of opening a file from a server that answers every request by `lie`.
fn first(lie: impl Fn(&[u8], &Request) -> Reply + Send + Sync + 'static) -> RemoteError {
    let content = content();
    open(&Server::start(move |_, request| lie(&content, request))).unwrap_err()
}

#[test]
fn files_of_a_correct_server_are_read() {
    let server = Server::of(content());
    let file = open(&server).unwrap();
    assert_eq!(file.length(), 200_000);
    assert_eq!(read(&file, 100..200_000).unwrap(), content()[100..]);
    assert!(read(&file, 7..7).unwrap().is_empty());
    rejected!(read(&file, 1..200_001).unwrap_err(), RemoteError::BeyondEnd { length: 200_000 });
    let asked = server.asked();
    assert!(!asked[0].headers.contains_key("if-match"));
    assert_eq!(asked[1].headers["if-match"], "\"1\"");
    assert_eq!(asked[1].headers["accept-encoding"], "identity");
}

#[test]
fn servers_that_ignore_ranges_are_rejected() {
    let whole = |content: &[u8], _: &Request| honest(content, &Request::default());
    rejected!(first(whole), RemoteError::RangesIgnored);
    rejected!(later(whole), RemoteError::RangesIgnored);
}

#[test]
fn other_ranges_than_requested_are_rejected() {
    let other = |range: &'static str| {
        move |content: &[u8], request: &Request| {
            honest(content, request).with("Content-Range", range)
        }
    };
    for range in
        ["bytes 101-1100/200000", "bytes 100-1098/200000", "bytes 100-1100/200000", "", "x"]
    {
        rejected!(later(other(range)), RemoteError::OtherRange);
    }
    rejected!(first(other("bytes 0-65535/200000")), RemoteError::OtherRange);
    rejected!(first(other("bytes 134464-199999/*")), RemoteError::NoLength);
}

#[test]
fn more_or_fewer_bytes_than_requested_are_rejected() {
    rejected!(
        later(|content, request| honest(content, request).with("Content-Length", "999")),
        RemoteError::OtherLength { asked: 1000, said: 999 }
    );
    // Without a `Content-Length` the response ends with the connection.
    rejected!(
        later(|content, request| {
            let mut reply = honest(content, request).with("Content-Length", "");
            reply.body.push(0);
            Reply { cut: Some(1001), ..reply }
        }),
        RemoteError::More { asked: 1000 }
    );
    // A response in chunks has all requested bytes, and then a chunk with one more byte.
    rejected!(
        later(|content, request| {
            let mut reply = honest(content, request)
                .with("Content-Length", "")
                .with("Transfer-Encoding", "chunked");
            let body = std::mem::take(&mut reply.body);
            reply.body = [b"3e8\r\n", &body[..], b"\r\n1\r\nx\r\n0\r\n\r\n"].concat();
            reply
        }),
        RemoteError::More { asked: 1000 }
    );
    rejected!(
        later(|content, request| {
            Reply { cut: Some(0), ..honest(content, request).with("Content-Length", "") }
        }),
        RemoteError::Fewer { asked: 1000, came: 0 }
    );
    rejected!(
        later(|content, request| honest(content, request).with("Content-Encoding", "gzip")),
        RemoteError::Encoded
    );
}

#[test]
fn contradicting_headers_are_rejected() {
    for (name, value, other) in [
        ("ETag", "\"1\"", "\"2\""),
        ("ETag", "\"1\"", "\"\""),
        ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT"),
        ("Content-Range", "bytes 100-1099/200000", "bytes 100-1099/200001"),
    ] {
        let lie = move |content: &[u8], request: &Request, values: [&str; 2]| {
            let mut reply = honest(content, request).with(name, "");
            reply.headers.extend(values.map(|value| (name, value.to_owned())));
            reply
        };
        for values in [[value, other], [other, value]] {
            let error = later(move |content, request| lie(content, request, values));
            assert!(matches!(error, RemoteError::Contradiction(said) if said == name), "{error:?}");
        }
        // A header that is sent twice with the same value is accepted.
        let content = content();
        let server = Server::start(move |number, request| match number {
            0 => honest(&content, request),
            _ => lie(&content, request, [value; 2]),
        });
        read(&open(&server).unwrap(), 100..1100).unwrap();
    }
    // Responses with two different headers `Content-Length`, and redirects with two headers `Location`, are rejected. The HTTP
    // library may reject the first kind itself, so either error is accepted.
    rejected!(
        later(|content, request| {
            let mut reply = honest(content, request);
            reply.headers.push(("Content-Length", "999".to_owned()));
            reply
        }),
        RemoteError::Contradiction("Content-Length") | RemoteError::Protocol
    );
    rejected!(
        first(|_, _| {
            let mut reply = Reply::redirect("/a");
            reply.headers.push(("Location", "/b".to_owned()));
            reply
        }),
        RemoteError::Contradiction("Location")
    );
}

#[test]
fn an_empty_tag_does_not_count_as_a_version() {
    for tag in ["\"\"", "W/\"\"", " "] {
        let lie = move |content: &[u8], request: &Request| {
            let mut reply = honest(content, request).with("ETag", "");
            reply.headers.push(("ETag", tag.to_owned()));
            reply
        };
        rejected!(first(lie), RemoteError::NoVersion);
        rejected!(later(lie), RemoteError::Changed);
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let server =
            Server::start(move |_, request| lie(&content(), request).with("Last-Modified", date));
        read(&open(&server).unwrap(), 0..10).unwrap();
        let asked = &server.asked()[1].headers;
        assert_eq!(asked["if-unmodified-since"], date);
        assert!(!asked.contains_key("if-match"), "{tag}");
    }
}

#[test]
fn a_file_that_changes_is_rejected() {
    rejected!(later(|_, _| Reply::status(412)), RemoteError::Changed);
    rejected!(
        later(|content, request| honest(content, request).with("ETag", "\"2\"")),
        RemoteError::Changed
    );
    rejected!(
        later(|content, request| honest(content, request).with("ETag", "")),
        RemoteError::Changed
    );
    rejected!(
        later(|content, request| {
            honest(content, request).with("Content-Range", "bytes 100-1099/200001")
        }),
        RemoteError::ChangedLength { opened: 200_000, now: 200_001 }
    );
    rejected!(
        later(|_, _| Reply::status(416).with("Content-Range", "bytes */99")),
        RemoteError::ChangedLength { opened: 200_000, now: 99 }
    );
    rejected!(
        first(|content, request| honest(content, request).with("ETag", "")),
        RemoteError::NoVersion
    );
}

#[test]
fn requests_name_the_date_if_there_is_no_tag() {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    let server = Server::start(move |_, request| {
        honest(&content(), request).with("ETag", "").with("Last-Modified", date)
    });
    let file = open(&server).unwrap();
    read(&file, 0..10).unwrap();
    assert_eq!(server.asked()[1].headers["if-unmodified-since"], date);
}

#[test]
fn statuses_are_errors() {
    rejected!(first(|_, _| Reply::status(404)), RemoteError::NotFound);
    rejected!(first(|_, _| Reply::status(403)), RemoteError::Denied(403));
    rejected!(first(|_, _| Reply::status(400)), RemoteError::Status(400));
    rejected!(first(|_, _| Reply::status(503)), RemoteError::Status(503));
    rejected!(
        first(|_, _| Reply { silent: false, ..Reply::status(999) }),
        RemoteError::Status(999)
    );
}

#[test]
fn requests_are_repeated_after_transient_errors() {
    let content = content();
    let server = Server::start(move |number, request| match number {
        0 | 1 | 3 => Reply::status(503),
        4 => Reply { cut: Some(400), ..honest(&content, request) },
        _ => honest(&content, request),
    });
    let file = open(&server).unwrap();
    assert_eq!(read(&file, 100..1100).unwrap(), self::content()[100..1100]);
    let ranges: Vec<_> =
        server.asked().iter().map(|request| request.headers["range"].clone()).collect();
    let last = "bytes=-65536";
    let again = ["bytes=100-1099", "bytes=100-1099", "bytes=500-1099"];
    assert_eq!(ranges, [&[last; 3][..], &again].concat());
}

#[test]
fn requests_are_repeated_four_times() {
    let server = Server::start(|_, _| Reply::status(500));
    rejected!(open(&server).unwrap_err(), RemoteError::Status(500));
    assert_eq!(server.asked().len(), 5);
    let server = Server::start(|_, _| Reply::status(501));
    rejected!(open(&server).unwrap_err(), RemoteError::Status(501));
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_server_that_never_answers_times_out() {
    let server = Server::start(|_, _| Reply { silent: true, ..Reply::status(200) });
    let name = RemoteName::parse(&server.url()).unwrap();
    let times =
        zten_remote::TimeLimits { request: Duration::from_millis(50), rate: u64::MAX, ..limits() };
    let error = RemoteFile::open(&name, &options().times(times)).unwrap_err();
    rejected!(error, RemoteError::RequestTime);
    let times = zten_remote::TimeLimits { total: Duration::from_millis(50), ..limits() };
    let error = RemoteFile::open(&name, &options().times(times)).unwrap_err();
    rejected!(error, RemoteError::TotalTime);
}

#[test]
fn a_missing_server_is_an_error() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let name = RemoteName::parse(&format!("http://127.0.0.1:{port}/")).unwrap();
    let error = RemoteFile::open(&name, &options()).unwrap_err();
    assert_eq!(error.to_string(), "the server refused the connection");
    rejected!(error, RemoteError::Connect(std::io::ErrorKind::ConnectionRefused));
    // RFC 6761: names below `invalid` never resolve.
    let name = RemoteName::parse("http://server.invalid/").unwrap();
    let error = RemoteFile::open(&name, &options()).unwrap_err();
    assert_eq!(error.to_string(), "the host name could not be resolved");
    rejected!(error, RemoteError::Unresolved);
}

/// Starts a server that redirects every request to `to`.
fn redirecting(to: String) -> Server {
    Server::start(move |_, _| Reply::redirect(&to))
}

#[test]
fn redirects_to_other_schemes_and_private_addresses_are_rejected() {
    for to in ["https://example.org/", "ftp://example.org/", "file:///etc/passwd"] {
        rejected!(open(&redirecting(to.to_owned())).unwrap_err(), RemoteError::RedirectScheme);
    }
    let other = Server::of(content());
    for host in
        ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "169.254.169.254", "[::ffff:127.0.0.1]"]
    {
        let to = format!("http://{host}:{}/", other.port);
        rejected!(open(&redirecting(to)).unwrap_err(), RemoteError::RedirectPrivate);
    }
    assert!(other.asked().is_empty());
    rejected!(
        open(&redirecting("http://u:p@127.0.0.1/".to_owned())).unwrap_err(),
        RemoteError::Redirect
    );
    rejected!(open(&redirecting(String::new())).unwrap_err(), RemoteError::Redirect);
    // Redirects to URLs that a URL parser would change are rejected.
    for to in ["/a\tb", "/a\\b", "\\\\127.0.0.1/", "http://127.0.0.1\t/"] {
        let server = redirecting(to.to_owned());
        rejected!(open(&server).unwrap_err(), RemoteError::Redirect);
        assert_eq!(server.asked().len(), 1, "{to}");
    }
}

#[test]
fn allowed_redirects_are_followed() {
    let server = Server::start(|_, request| match request.path.as_str() {
        "/file.zt" => Reply::redirect("/a/../there"),
        _ => honest(&content(), request),
    });
    let file = open(&server).unwrap();
    assert_eq!(read(&file, 5..15).unwrap(), content()[5..15]);
    let paths: Vec<_> = server.asked().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/file.zt", "/there", "/there"]);
    // After five redirects, a further one is an error.
    let server = Server::start(|_, _| Reply::redirect("/file.zt"));
    rejected!(open(&server).unwrap_err(), RemoteError::Redirect);
    assert_eq!(server.asked().len(), 6);
    // A redirect to a private address is followed, because the options allow it. When the target of the redirect denies
    // access, the first URL is asked again.
    let other = Server::start(|number, request| match number {
        1 => Reply::status(403),
        _ => honest(&content(), request),
    });
    let server = redirecting(other.url());
    let name = RemoteName::parse(&server.url()).unwrap();
    let file = RemoteFile::open(&name, &options().redirects(Redirects::Any)).unwrap();
    assert_eq!(read(&file, 5..15).unwrap(), content()[5..15]);
    assert_eq!((server.asked().len(), other.asked().len()), (2, 3));
}

/// If the target of an earlier redirect fails or does not answer, the repetition of the request begins at the first URL, which
/// redirects to another server.
#[test]
fn a_failed_target_of_a_redirect_is_not_asked_again() {
    for failure in [Reply::status(503), Reply { silent: true, ..Reply::status(200) }] {
        let storage = Server::start(move |number, request| match number {
            1 => failure.clone(),
            _ if request.path == "/old" && number > 1 => Reply::status(503),
            _ => honest(&content(), request),
        });
        let (old, new) = (storage.at("old"), storage.at("new"));
        let server =
            Server::start(move |number, _| Reply::redirect(if number == 0 { &old } else { &new }));
        let name = RemoteName::parse(&server.url()).unwrap();
        let times = zten_remote::TimeLimits {
            request: Duration::from_millis(500),
            rate: u64::MAX,
            ..limits()
        };
        let options = options().redirects(Redirects::Any).times(times);
        let file = RemoteFile::open(&name, &options).unwrap();
        assert_eq!(read(&file, 5..15).unwrap(), content()[5..15]);
        let paths: Vec<_> = storage.asked().into_iter().map(|request| request.path).collect();
        assert_eq!(paths, ["/old", "/old", "/new"]);
    }
}

#[test]
fn an_empty_file_is_opened() {
    let server = Server::of(Vec::new());
    let file = open(&server).unwrap();
    assert_eq!((file.length(), read(&file, 0..0).unwrap()), (0, Vec::new()));
}

#[test]
fn responses_that_are_not_http_are_rejected() {
    rejected!(
        first(|_, _| Reply::status(200).with("Content-Length", "many")),
        RemoteError::Protocol | RemoteError::RangesIgnored
    );
    let long = "x".repeat(1 << 20);
    rejected!(first(move |_, _| Reply::status(206).with("X", &long)), RemoteError::Protocol);
}

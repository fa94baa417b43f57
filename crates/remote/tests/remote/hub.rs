//! Tests of files on the Hugging Face hub, which is a server in the test process.

use zten_remote::{HubAccess, Redirects, RemoteError, RemoteFile, RemoteName, RemoteOptions};
use zten_remote::{Sibling, Want};
use zten_testkit::server::{COMMIT, Reply, Request, Server, honest};

use super::{content, limits, read, rejected};

const OTHER: &str = "76543210fedcba9876543210fedcba9876543210";

/// The path in the URL of the test's file at the branch `main`.
const MAIN: &str = "/o/m/resolve/main/a/file.zt";
const PINNED: &str = "/o/m/resolve/0123456789abcdef0123456789abcdef01234567/a/file.zt";

/// Returns the reply of a hub that sends the file itself, without a redirect.
fn direct(request: &Request) -> Reply {
    honest(&content(), request).with("X-Repo-Commit", COMMIT)
}

/// Returns the reply of a hub that redirects to the file at `to`.
fn linked(to: &str) -> Reply {
    Reply::redirect(to).with("X-Repo-Commit", COMMIT).with("X-Linked-Size", "200000")
}

/// Returns options for the hub `hub`, whose redirects to other loopback addresses are followed.
fn options(hub: &Server, token: Option<&str>) -> RemoteOptions {
    let access = HubAccess::new(&hub.at(""), token).unwrap();
    RemoteOptions::default().times(limits()).redirects(Redirects::Any).hub(access)
}

fn open_as(name: &str, options: &RemoteOptions) -> Result<RemoteFile, RemoteError> {
    RemoteFile::open(&RemoteName::parse(name).unwrap(), options)
}

fn open(hub: &Server) -> Result<RemoteFile, RemoteError> {
    open_as("hf://o/m/a/file.zt", &options(hub, None))
}

fn sibling() -> Want {
    Want::Sibling(Sibling::new("b c.safetensors").unwrap())
}

fn paths(server: &Server) -> Vec<String> {
    server.asked().into_iter().map(|request| request.path).collect()
}

/// Returns the error of opening a file from a hub that answers every request with `reply`.
fn first(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> RemoteError {
    open(&Server::start(move |_, request| reply(request))).unwrap_err()
}

#[test]
fn later_requests_name_the_commit_of_the_first_answer() {
    let hub = Server::start(|_, request| direct(request));
    let file = open(&hub).unwrap();
    assert_eq!((file.length(), file.commit()), (200_000, Some(COMMIT)));
    assert_eq!(read(&file, 100..1100).unwrap(), content()[100..1100]);
    assert_eq!(file.find(&sibling()).unwrap().unwrap().commit(), Some(COMMIT));
    let beside = PINNED.replace("file.zt", "b%20c.safetensors");
    assert_eq!(paths(&hub), [MAIN, PINNED, &beside]);
    assert!(hub.asked().iter().all(|request| !request.headers.contains_key("authorization")));
    // Names of models, datasets and spaces, and revisions with and without a slash, lead to these paths.
    for (name, path) in [
        ("hf://models/o/m@v1/b.zt", "/o/m/resolve/v1/b.zt"),
        ("hf://datasets/o/m/b.zt", "/datasets/o/m/resolve/main/b.zt"),
        ("hf://spaces/o/m@refs%2Fpr%2F3/b.zt", "/spaces/o/m/resolve/refs%2Fpr%2F3/b.zt"),
    ] {
        let before = hub.asked().len();
        open_as(name, &options(&hub, None)).unwrap();
        assert_eq!(paths(&hub)[before..], [path]);
    }
}

#[test]
fn a_redirected_file_is_pinned_and_its_storage_is_asked_directly() {
    let storage = Server::of(content());
    let to = storage.url();
    let hub = Server::start(move |_, _| linked(&to));
    let file = open(&hub).unwrap();
    assert_eq!(read(&file, 100..1100).unwrap(), content()[100..1100]);
    file.find(&sibling()).unwrap().unwrap();
    assert_eq!(paths(&hub), [MAIN, &PINNED.replace("file.zt", "b%20c.safetensors")]);
    let ranges: Vec<_> =
        storage.asked().iter().map(|request| request.headers["range"].clone()).collect();
    assert_eq!(ranges, ["bytes=134464-199999", "bytes=100-1099", "bytes=134464-199999"]);
}

#[test]
fn answers_of_another_commit_are_rejected() {
    for second in [OTHER, &COMMIT[1..], "main"] {
        let hub = Server::start(move |number, request| match number {
            0 => direct(request),
            _ => direct(request).with("X-Repo-Commit", second),
        });
        let file = open(&hub).unwrap();
        for error in [read(&file, 100..1100).unwrap_err(), file.find(&sibling()).unwrap_err()] {
            if second == OTHER {
                rejected!(error, RemoteError::OtherCommit);
            } else {
                rejected!(error, RemoteError::NoCommit);
            }
        }
    }
    // A redirect within the hub leads to a file of another commit, which is an error.
    let hub = Server::start(|_, request| match &*request.path {
        "/cache" => direct(request).with("X-Repo-Commit", OTHER),
        _ => linked("/cache"),
    });
    rejected!(open(&hub).unwrap_err(), RemoteError::OtherCommit);
    // The answer is of another commit than the one in the name of the file, which is an error.
    let name = format!("hf://o/m@{OTHER}/a/file.zt");
    let hub = Server::start(|_, request| direct(request));
    rejected!(open_as(&name, &options(&hub, None)).unwrap_err(), RemoteError::OtherCommit);
    rejected!(
        first(|request| {
            let mut reply = direct(request);
            reply.headers.push(("X-Repo-Commit", OTHER.to_owned()));
            reply
        }),
        RemoteError::Contradiction("X-Repo-Commit")
    );
}

#[test]
fn a_hub_that_tells_no_commit_needs_one_in_the_name() {
    let storage = Server::of(content());
    for value in ["", "main", &COMMIT.to_uppercase(), &COMMIT[1..], &format!("{COMMIT}0")] {
        let (told, to) = (value.to_owned(), storage.url());
        let hub = Server::start(move |_, request| match &*request.path {
            "/o/m/resolve/main/linked.zt" => linked(&to).with("X-Repo-Commit", &told),
            _ => direct(request).with("X-Repo-Commit", &told),
        });
        rejected!(open(&hub).unwrap_err(), RemoteError::NoCommit);
        let linked = open_as("hf://o/m/linked.zt", &options(&hub, None));
        rejected!(linked.unwrap_err(), RemoteError::NoCommit);
        assert_eq!((hub.asked().len(), storage.asked().len()), (2, 0));
        let name = format!("hf://o/m@{COMMIT}/a/file.zt");
        let named = open_as(&name, &options(&hub, None));
        if value.is_empty() {
            let file = named.unwrap();
            assert_eq!(read(&file, 100..1100).unwrap(), content()[100..1100]);
            assert_eq!(paths(&hub)[2..], [PINNED, PINNED]);
        } else {
            rejected!(named.unwrap_err(), RemoteError::NoCommit);
        }
    }
}

/// Returns the header `Authorization` of each request to `server`.
fn tokens(server: &Server) -> Vec<Option<String>> {
    let asked = server.asked();
    asked.iter().map(|request| request.headers.get("authorization").cloned()).collect()
}

#[test]
fn the_token_is_sent_to_the_hub_alone() {
    // The hub answers directly, or redirects to itself, to another server, or to itself by another host name. Each
    // redirect is followed for two requests.
    let other = Server::of(content());
    let to = other.url();
    let hub = Server::start(move |_, request| {
        let host = &request.headers["host"];
        match request.path.rsplit('/').next().unwrap() {
            "within.zt" => linked("/cache/within"),
            "away.zt" => linked(&to),
            "alias.zt" => {
                linked(&format!("http://{}/there", host.replace("127.0.0.1", "localhost")))
            }
            _ => direct(request),
        }
    });
    let options = options(&hub, Some("secret"));
    let read_two = |name: &str| {
        let before = hub.asked().len();
        let file = open_as(&format!("hf://o/m/{name}"), &options).unwrap();
        assert_eq!(read(&file, 100..1100).unwrap(), content()[100..1100], "{name}");
        tokens(&hub).split_off(before)
    };
    let (with, without) = (|| Some("Bearer secret".to_owned()), || None);
    assert_eq!(read_two("direct.zt"), [with(), with()]);
    assert_eq!(read_two("within.zt"), [with(), with(), with()]);
    assert_eq!(read_two("away.zt"), [with()]);
    assert_eq!(read_two("alias.zt"), [with(), without(), without()]);
    assert_eq!(tokens(&other), [without(), without()]);
    // The same server under a plain URL does not get the token, which is for `hf://` names only.
    let before = hub.asked().len();
    open_as(&hub.url(), &options).unwrap();
    assert_eq!(tokens(&hub).split_off(before), [without()]);
    assert!(!format!("{options:?}").contains("secret"));
}

/// Checks that a server to which the hub redirects cannot choose what the hub is asked for with the token.
#[test]
fn the_token_is_not_sent_after_another_server_redirected() {
    let other = Server::start(|_, request| {
        let (_, port) = request.path.split_once("port=").unwrap();
        Reply::redirect(&format!("http://127.0.0.1:{port}/private/file.zt"))
    });
    let to = other.at("");
    let hub = Server::start(move |_, request| {
        let (_, port) = request.headers["host"].split_once(':').unwrap();
        match &*request.path {
            "/private/file.zt" => honest(&content(), request),
            _ => linked(&format!("{to}?port={port}")),
        }
    });
    let file = open_as("hf://o/m/a/file.zt", &options(&hub, Some("secret"))).unwrap();
    assert_eq!(read(&file, 100..1100).unwrap(), content()[100..1100]);
    assert_eq!(tokens(&hub), [Some("Bearer secret".to_owned()), None, None]);
    assert_eq!(tokens(&other), [None]);
    assert_eq!(paths(&hub), [MAIN, "/private/file.zt", "/private/file.zt"]);
}

#[test]
fn disallowed_redirects_are_rejected() {
    let storage = Server::of(content());
    let port = storage.port;
    let strict = |hub: &Server| options(hub, None).redirects(Redirects::Public);
    for (to, is_scheme) in [
        ("https://storage.example/".to_owned(), true),
        ("ftp://storage.example/".to_owned(), true),
        ("hf://o/m/a/file.zt".to_owned(), true),
        ("s3://bucket/file.zt".to_owned(), true),
        (format!("http://127.0.0.1:{port}/"), false),
        (format!("http://localhost:{port}/"), false),
        ("http://169.254.169.254/".to_owned(), false),
    ] {
        let hub = Server::start(move |_, _| linked(&to));
        let error = open_as("hf://o/m/a/file.zt", &strict(&hub)).unwrap_err();
        if is_scheme {
            rejected!(error, RemoteError::RedirectScheme);
        } else {
            rejected!(error, RemoteError::RedirectPrivate);
        }
    }
    for to in ["hf://o/m/a/file.zt", "s3://bucket/file.zt"] {
        rejected!(first(move |_| linked(to)), RemoteError::RedirectScheme);
    }
    for to in ["http://u:p@127.0.0.1/", "/a\\b", "http://127.0.0.1\t/", ""] {
        rejected!(first(move |_| linked(to)), RemoteError::Redirect);
    }
    assert!(storage.asked().is_empty());
    let hub = Server::start(|_, request| linked(&request.path));
    rejected!(open(&hub).unwrap_err(), RemoteError::Redirect);
    assert_eq!(hub.asked().len(), 6);
}

#[test]
fn an_expired_signature_is_renewed_once() {
    for status in [400, 401, 403, 404, 410] {
        // The first signature is valid for one request, the second always.
        let storage = Server::start(move |number, request| match &*request.path {
            "/1" if number > 0 => Reply::status(status),
            _ => honest(&content(), request),
        });
        let to = storage.at("");
        let hub = Server::start(move |number, _| linked(&format!("{to}{}", number + 1)));
        let file = open(&hub).unwrap();
        for start in [100, 5000] {
            assert_eq!(read(&file, start..start + 9).unwrap().len(), 9, "{status}");
        }
        assert_eq!(paths(&hub), [MAIN, PINNED]);
        assert_eq!(paths(&storage), ["/1", "/1", "/2", "/2"]);
        // The header `If-Match` has a version that the storage server gave, so it is sent to the storage server only.
        let has_version = |server: &Server| {
            let asked = server.asked();
            asked.iter().map(|request| request.headers.contains_key("if-match")).collect::<Vec<_>>()
        };
        assert_eq!(has_version(&storage), [false, true, true, true]);
        assert_eq!(has_version(&hub), [false, false]);
    }
    // The storage server denies access from the second request on.
    let storage = Server::start(|number, request| match number {
        0 => honest(&content(), request),
        _ => Reply::status(403),
    });
    let to = storage.url();
    let hub = Server::start(move |_, _| linked(&to));
    let file = open(&hub).unwrap();
    rejected!(read(&file, 100..1100).unwrap_err(), RemoteError::Denied(403));
    assert_eq!((hub.asked().len(), storage.asked().len()), (2, 3));
}

#[test]
fn errors_of_the_hub_say_what_to_do() {
    for (status, code, has_token, said) in [
        (
            401,
            "GatedRepo",
            false,
            "the repository is gated: accept its terms on the hub, and set HF_TOKEN",
        ),
        (
            403,
            "GatedRepo",
            true,
            "the repository is gated: accept its terms on the hub, and set HF_TOKEN",
        ),
        (
            401,
            "RepoNotFound",
            false,
            "the repository is private or does not exist: check its name, or set HF_TOKEN",
        ),
        (
            404,
            "RepoNotFound",
            true,
            "the repository is private or does not exist: check its name, or set HF_TOKEN",
        ),
        (
            401,
            "",
            false,
            "the repository is private or does not exist: check its name, or set HF_TOKEN",
        ),
        (401, "", true, "the hub rejects the token: set HF_TOKEN to a valid one, or unset it"),
        (
            404,
            "RevisionNotFound",
            false,
            "the repository has no such revision: check the text after @",
        ),
        (404, "EntryNotFound", false, "the server has no such file"),
        (404, "", false, "the server has no such file"),
        (404, "Hidden", false, "the server has no such file"),
        (403, "", false, "the server denied access (status 403)"),
        (403, "Hidden", true, "the server denied access (status 403)"),
    ] {
        let hub = Server::start(move |_, _| Reply::status(status).with("X-Error-Code", code));
        let options = options(&hub, has_token.then_some("secret"));
        let error = open_as("hf://o/m/a/file.zt", &options).unwrap_err();
        assert!(error.to_string().starts_with(said), "{status} {code}: {error}");
        assert_eq!(hub.asked().len(), 1);
    }
    // Error codes of the hub count in answers of the hub only. A storage server that sends one cannot make zten ask the
    // user for a token.
    let storage = Server::start(|_, _| Reply::status(401).with("X-Error-Code", "GatedRepo"));
    let to = storage.url();
    rejected!(first(move |_| linked(&to)), RemoteError::Denied(401));
    rejected!(
        first(|_| {
            let mut reply = Reply::status(401).with("X-Error-Code", "GatedRepo");
            reply.headers.push(("X-Error-Code", "RepoNotFound".to_owned()));
            reply
        }),
        RemoteError::Contradiction("X-Error-Code")
    );
    // The repository does not have the sibling file, which then counts as missing. When the repository has become gated,
    // the same question is an error.
    let hub = Server::start(|number, request| match number {
        0 => direct(request),
        1 => Reply::status(404).with("X-Error-Code", "EntryNotFound"),
        _ => Reply::status(403).with("X-Error-Code", "GatedRepo"),
    });
    let file = open(&hub).unwrap();
    assert!(file.find(&sibling()).unwrap().is_none());
    rejected!(file.find(&sibling()).unwrap_err(), RemoteError::Gated);
}

#[test]
fn the_declared_length_of_a_redirect_is_not_trusted() {
    // The storage server does not answer requests for the last bytes, so the length that the hub declares is needed.
    let storage = Server::start(|_, request| match &*request.headers["range"] {
        range if range.starts_with("bytes=-") => Reply::status(501),
        _ => honest(&content(), request),
    });
    let open_with = |length: &'static str| {
        let to = storage.url();
        open(&Server::start(move |_, _| linked(&to).with("X-Linked-Size", length)))
    };
    assert_eq!(read(&open_with("200000").unwrap(), 0..9).unwrap(), content()[..9]);
    for length in ["1", "199999", "200001"] {
        rejected!(open_with(length).unwrap_err(), RemoteError::OtherRange);
    }
    for length in ["400000", "18446744073709551615"] {
        rejected!(open_with(length).unwrap_err(), RemoteError::Status(416));
    }
    // Values of the header that are not lengths are ignored.
    for length in ["", "0", "-1", "many", "18446744073709551616"] {
        rejected!(open_with(length).unwrap_err(), RemoteError::Status(501));
    }
    let usual = Server::of(content());
    let to = usual.url();
    let hub = Server::start(move |_, _| linked(&to).with("X-Linked-Size", "many"));
    open(&hub).unwrap();
    assert_eq!(usual.asked()[0].headers["range"], "bytes=-65536");
}

#[test]
fn answers_that_are_wrong_for_any_server_are_rejected() {
    let long = "x".repeat(1 << 20);
    rejected!(first(move |request| direct(request).with("X", &long)), RemoteError::Protocol);
    let long = "x".repeat(1 << 20);
    rejected!(first(move |_| linked(&long)), RemoteError::Protocol);
    rejected!(
        first(|request| direct(request).with("Content-Length", "999")),
        RemoteError::OtherLength { asked: 65_536, said: 999 }
    );
    rejected!(first(|request| direct(request).with("ETag", "")), RemoteError::NoVersion);
    rejected!(first(|_| direct(&Request::default())), RemoteError::RangesIgnored);
    rejected!(
        first(|request| direct(request).with("Content-Encoding", "gzip")),
        RemoteError::Encoded
    );
    // The file changes at its storage server, which the commit does not show.
    let storage = Server::start(|number, request| {
        honest(&content(), request).with("ETag", &format!("\"{number}\""))
    });
    let to = storage.url();
    let hub = Server::start(move |_, _| linked(&to));
    let file = open(&hub).unwrap();
    rejected!(read(&file, 100..1100).unwrap_err(), RemoteError::Changed);
}

#[test]
fn an_empty_file_is_pinned() {
    let hub = |commit: &'static str| {
        Server::start(move |_, request| honest(&[], request).with("X-Repo-Commit", commit))
    };
    let file = open(&hub(COMMIT)).unwrap();
    assert_eq!((file.length(), file.commit()), (0, Some(COMMIT)));
    rejected!(open(&hub("")).unwrap_err(), RemoteError::NoCommit);
}

#[test]
fn busy_hubs_are_asked_again() {
    let hub = Server::start(|number, request| match number {
        0 | 3 => Reply::status(503),
        1 => Reply::status(429),
        _ => direct(request),
    });
    let file = open(&hub).unwrap();
    assert_eq!(read(&file, 100..1100).unwrap(), content()[100..1100]);
    assert_eq!(paths(&hub), [MAIN, MAIN, MAIN, PINNED, PINNED]);
}

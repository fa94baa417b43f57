//! Tests of the answers to all kinds of requests.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use zten_testkit::read;

use super::client::{
    Answer, Client, ask, bare, chunked, form, get, get_text, head, post, put, sized_request,
};
use super::served::{Served, plenty, valid};

/// Checks that the body of `answer` is JSON with exactly the keys that `docs/json.schema.json` requires in the output of
/// `zten check`.
fn is_record(answer: &Answer) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.schema.json");
    let schema: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let keys = schema["$defs"]["check"]["required"].as_array().unwrap();
    let keys = keys.iter().filter_map(Value::as_str);
    let own = answer.body.as_object().unwrap().keys().map(String::as_str);
    assert_eq!(own.collect::<BTreeSet<_>>(), keys.collect::<BTreeSet<_>>());
    assert!(answer.has("content-type: application/json"), "{answer:?}");
}

#[test]
fn a_valid_file_is_valid() {
    let served = Served::honest(plenty());
    let file = valid();
    for request in [sized_request(&file), chunked(&file)] {
        let answer = ask(served.address, &request);
        is_record(&answer);
        assert_eq!(answer.status, 200);
        let wanted = json!({
            "schema": 2, "file": null, "verdict": "valid", "level": null, "format": "ztensor", "rule": null,
            "clause": null, "advice": null, "page": null, "offset": null, "object": null, "component": null, "shard": null, "more": 0, "notes": [],
            "message": "valid (1.2, 13 tensors, 13 components, 282 B of data)",
        });
        assert_eq!(answer.body, wanted);
    }
}

#[test]
fn a_file_that_is_not_valid_has_its_rule_and_place() {
    let served = Served::honest(plenty());
    let answer = post(served.address, &read("reject/blob-alignment--v12-72.zt"));
    is_record(&answer);
    assert_eq!(answer.status, 200);
    let wanted = json!({
        "schema": 2, "file": null, "verdict": "invalid", "level": "error", "format": "ztensor", "rule": "blob-alignment",
        "clause": "v1.2 §4", "offset": 226, "object": "w", "component": "data", "shard": null,
        "more": null, "advice": zten::rules::find("blob-alignment").unwrap().advice(),
        "page": zten_report::page::page_of("blob-alignment"), "message": "", "notes": [],
    });
    let mut body = answer.body.clone();
    body["message"] = json!("");
    assert_eq!(body, wanted);
    let message = answer.text("message");
    assert!(
        message.contains("(rule blob-alignment, v1.2 §4) in \"w\"/data at byte 0xe2"),
        "{message}"
    );
}

/// Sends requests as `curl -F file=@model.zt` does. Checks that the file and its name are used, and that a form without a file,
/// with several files, with an invalid name or with a missing end is rejected.
#[test]
fn a_form_holds_a_file() {
    let served = Served::honest(plenty());
    let file = valid();
    let fields: [(Option<&str>, &[u8]); 3] =
        [(None, b"a field"), (Some("model.zt"), &file), (None, b"another")];
    let answer = ask(served.address, &form(&fields));
    is_record(&answer);
    assert_eq!((answer.status, answer.text("verdict")), (200, "valid"), "{answer:?}");

    // The bytes of an index could be any JSON, so the file name determines the format.
    let index = read("other/index/accept/two.index.json");
    let answer = ask(served.address, &form(&[(Some("two.index.json"), &index)]));
    assert_eq!(answer.text("rule"), "index-file");

    for (parts, why) in [
        (&fields[..1], "the form has no file"),
        (&[fields[1], fields[1]][..], "several files"),
        (&[(Some("../model.zt"), &file[..])][..], "invalid file name"),
        (&[][..], "the form has no file"),
    ] {
        let answer = ask(served.address, &form(parts));
        is_record(&answer);
        assert_eq!(answer.status, 400, "{why}");
        assert!(answer.text("message").contains(why), "{answer:?}");
    }
    // The last 60 bytes of this request are missing and not announced, so that its form is incomplete.
    let mut request = form(&fields);
    let text = String::from_utf8_lossy(&request).into_owned();
    let length = text.split_once("content-length: ").unwrap().1.split_once('\r').unwrap().0;
    let shorter = length.parse::<usize>().unwrap() - 60;
    request = text_replaced(&request, length, &shorter.to_string());
    request.truncate(request.len() - 60);
    let answer = ask(served.address, &request);
    assert_eq!(answer.status, 400, "{answer:?}");
}

fn text_replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let at = bytes.windows(from.len()).position(|own| own == from.as_bytes()).unwrap();
    [&bytes[..at], to.as_bytes(), &bytes[at + from.len()..]].concat()
}

#[test]
fn metrics_count_requests() {
    let served = Served::honest(plenty());
    let file = valid();
    post(served.address, &file);
    post(served.address, b"");
    get(served.address, "/nothing");
    let text = get_text(served.address, "/metrics");
    let bytes = format!("zten_upload_bytes_total {}", file.len());
    for line in [
        "zten_requests_total{status=\"200\"} 2",
        "zten_requests_total{status=\"404\"} 1",
        "zten_checks_total{verdict=\"valid\"} 1",
        "zten_checks_total{verdict=\"invalid\"} 1",
        "zten_workers 2",
        "zten_workers_busy 0",
        "zten_request_seconds_bucket{le=\"+Inf\"} 2",
        "zten_request_seconds_count 2",
        bytes.as_str(),
    ] {
        assert!(text.lines().any(|own| own == line), "{line}: {text}");
    }
    // Each line is a comment, or consists of a name, labels and a number.
    for line in text.lines().filter(|line| !line.starts_with("# ")) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("zten_") && value.parse::<f64>().is_ok(), "{line}");
    }
}

/// Checks that the verdict follows from the kind of the rule: a file that zten does not support, or that exceeds a limit, is
/// not reported as invalid.
#[test]
fn unsupported_files_and_exceeded_limits_are_not_invalid() {
    let served = Served::honest(plenty());
    for (name, verdict, rule) in [
        ("reject/unsupported-digest--v01-crc32.zt", "unsupported", "unsupported-digest"),
        ("reject/limit-depth--100000-arrays-in-root.zt", "limit", "limit-depth"),
    ] {
        let answer = post(served.address, &read(name));
        is_record(&answer);
        assert_eq!(
            (answer.status, answer.text("verdict"), answer.text("rule")),
            (200, verdict, rule)
        );
    }
}

#[test]
fn an_empty_body_is_a_file_without_bytes() {
    let served = Served::honest(plenty());
    let answer = post(served.address, b"");
    is_record(&answer);
    assert_eq!(answer.status, 200);
    assert_eq!((answer.text("verdict"), answer.text("rule")), ("invalid", "format-empty"));
    // An empty file could have any format, so the answer gives none.
    assert!(answer.body["format"].is_null(), "{answer:?}");
}

#[test]
fn other_requests_have_answers_too() {
    let served = Served::honest(plenty());
    for path in ["/", "/checks", "/check/a/b", "/healthy", "/check//"] {
        let answer = get(served.address, path);
        is_record(&answer);
        let status = if path.starts_with("/check/") { 405 } else { 404 };
        assert_eq!((answer.status, answer.text("verdict")), (status, "error"), "{path}");
    }
    for (method, path, methods) in [
        ("GET", "/check", "POST, PUT"),
        ("HEAD", "/check", "POST, PUT"),
        ("OPTIONS", "/check/model.gguf", "POST, PUT"),
        ("DELETE", "/health", "GET, HEAD"),
        ("POST", "/health", "GET, HEAD"),
        ("PUT", "/metrics", "GET, HEAD"),
    ] {
        let mut client = Client::new(served.address).unwrap();
        client.send(&bare(method, path)).unwrap();
        let text = String::from_utf8(client.rest()).unwrap().to_lowercase();
        let allow = format!("\r\nallow: {}\r\n", methods.to_lowercase());
        assert!(text.starts_with("http/1.1 405") && text.contains(&allow), "{text}");
        // An answer to `HEAD` has no body.
        assert_eq!(
            text.contains(&format!("this path takes {methods}").to_lowercase()),
            method != "HEAD"
        );
    }
}

/// Checks that `HEAD` gives the same answer without a body.
#[test]
fn health_has_a_head() {
    let served = Served::honest(plenty());
    let mut client = Client::new(served.address).unwrap();
    client.send(&bare("HEAD", "/health")).unwrap();
    let text = String::from_utf8(client.rest()).unwrap();
    assert!(text.starts_with("HTTP/1.1 200") && text.ends_with("\r\n\r\n"), "{text}");
}

/// Sends requests as `curl -T FILE http://…/check` and `curl -T FILE http://…/check/` do. Checks that names that are not those of a
/// file in a folder, and names that are not UTF-8, are rejected.
#[test]
fn a_file_is_put() {
    let served = Served::honest(plenty());
    let file = valid();
    for name in ["model.zt", "", "重み%.zt", "-", "a b?#"] {
        let answer = put(served.address, name, &file);
        assert_eq!((answer.status, answer.text("verdict")), (200, "valid"), "{name:?}");
    }
    let head =
        format!("PUT /check HTTP/1.1\r\nhost: test\r\ncontent-length: {}\r\n\r\n", file.len());
    let answer = ask(served.address, &[head.as_bytes(), file.as_slice()].concat());
    assert_eq!((answer.status, answer.text("verdict")), (200, "valid"));

    for name in ["..", ".", "a/b", "/etc", "a/", "a\0", &"x".repeat(256)] {
        let answer = put(served.address, name, &file);
        assert_eq!((answer.status, answer.text("verdict")), (400, "error"), "{name:?}");
    }
    let answer = ask(served.address, &bare("PUT", "/check/%ff"));
    assert_eq!(answer.status, 400, "{answer:?}");
}

#[test]
fn a_query_is_not_ignored() {
    let served = Served::honest(plenty());
    for (path, status) in [("/health?full", 400), ("/check?canonical=1", 400), ("/health?", 200)] {
        assert_eq!(get(served.address, path).status, status, "{path}");
    }
}

/// Checks that a request with two lengths is rejected: a proxy may believe the other length and treat the rest as another request.
/// Transfer encodings other than `chunked`, invalid lengths and heads that are too long are rejected, too.
#[test]
fn a_body_has_one_length() {
    let served = Served::honest(plenty());
    let chunks = "transfer-encoding: chunked\r\n";
    for (fields, status) in [
        (format!("{chunks}content-length: 5\r\n"), 400),
        (format!("content-length: 5\r\n{chunks}"), 400),
        (format!("Content-LENGTH:0\r\nx: y\r\n{chunks}"), 400),
        (format!("content-length: 5\n{chunks}"), 400),
        (format!("{chunks}{chunks}"), 501),
        ("transfer-encoding: gzip, chunked\r\n".to_owned(), 501),
        ("transfer-encoding: Chunked\r\nx-content-length: 5\r\n".to_owned(), 200),
    ] {
        for before in ["", "\r\n", "\n\r\n\r\n"] {
            let request = format!("{before}{}0\r\n\r\ncontent-length: 5\r\n", head(&fields));
            let answer = ask(served.address, request.as_bytes());
            is_record(&answer);
            assert_eq!(answer.status, status, "{fields:?}: {answer:?}");
        }
    }
    // A request with two lengths is also rejected if it arrives byte by byte.
    let mut client = Client::new(served.address).unwrap();
    for byte in head(&format!("content-length: 5\r\n{chunks}")).as_bytes() {
        client.send(&[*byte]).unwrap();
    }
    assert_eq!(client.answer().status, 400);
    // Requests with these fields are not valid in HTTP: two different lengths, a list, a sign, and a space before the colon.
    for fields in [
        "content-length: 5\r\ncontent-length: 6\r\n",
        "content-length: 5, 5\r\n",
        "content-length: +5\r\n",
        "content-length : 5\r\n",
    ] {
        let mut client = Client::new(served.address).unwrap();
        client.send(head(fields).as_bytes()).unwrap();
        assert!(client.rest().starts_with(b"HTTP/1.1 400 "), "{fields:?}");
    }
    let mut client = Client::new(served.address).unwrap();
    client.send(head(&format!("x: {}\r\n", "y".repeat(20_000))).as_bytes()).unwrap();
    assert!(client.rest().starts_with(b"HTTP/1.1 431 "));
}

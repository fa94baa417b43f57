//! What is answered to whom.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use zten_testkit::read;

use crate::client::{Answer, ask, chunked, get, post};
use crate::served::{Served, plenty, valid};

/// Each key of the command, with no name of a file.
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
    for request in [crate::client::whole(&file), chunked(&file)] {
        let answer = ask(served.address, &request);
        is_record(&answer);
        assert_eq!(answer.status, 200);
        let wanted = json!({
            "schema": 2, "file": null, "verdict": "valid", "level": null, "format": "ztensor", "rule": null,
            "clause": null, "advice": null, "offset": null, "object": null, "component": null, "shard": null, "more": 0,
            "message": "valid (1.2, 13 objects, 13 components, 282 B of data)",
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
        "schema": 2, "file": null, "verdict": "refused", "level": "error", "format": "ztensor", "rule": "blob-alignment",
        "clause": "v1.2 §4", "offset": 226, "object": "w", "component": "data", "shard": null,
        "more": null, "advice": zten::rules::find("blob-alignment").unwrap().advice,
        "message": "",
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

/// The verdict follows from the rule.
#[test]
fn what_is_not_read_is_not_refused() {
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
    assert_eq!((answer.text("verdict"), answer.text("rule")), ("refused", "file-size"));
    // It could be of any.
    assert!(answer.body["format"].is_null(), "{answer:?}");
}

#[test]
fn other_requests_have_answers_too() {
    let served = Served::honest(plenty());
    let answer = get(served.address, "/");
    is_record(&answer);
    assert_eq!((answer.status, answer.text("verdict")), (404, "error"));
    let answer = get(served.address, "/check");
    assert!(answer.status == 405 && answer.has("allow: post"), "{answer:?}");
    let answer = ask(served.address, b"DELETE /health HTTP/1.1\r\nhost: test\r\n\r\n");
    assert!(answer.status == 405 && answer.has("allow: get"), "{answer:?}");
}

//! Tests that the documents of `zten check --sarif` conform to the schema of SARIF 2.1.0.

use std::path::PathBuf;

use serde_json::{Value, json};
use zten_report::page::page_of;
use zten_testkit::reject_index;

use crate::schema::Schema;
use crate::{command, corpus_folder, in_corpus, json_lines};

fn schema() -> Schema {
    Schema::at("tests/data/sarif-2.1.0.schema.json")
}

/// Returns files of the corpus, each of which breaks a rule, and other files.
fn files() -> Vec<PathBuf> {
    let mut files: Vec<_> = reject_index().map(|row| row.path).collect();
    files.sort();
    files.extend(["accept/1.2.3/scalar.zt", "v2/accept/dense.zt"].map(PathBuf::from));
    files.push("no such file: ä%.zt".into());
    files
}

fn printed(form: &str, more: &[&str], files: &[PathBuf]) -> Vec<Value> {
    let output = command()
        .args(["check", form])
        .args(more)
        .args(files)
        .current_dir(corpus_folder())
        .output()
        .unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(2), &b""[..]));
    json_lines(&output.stdout)
}

#[test]
fn documents_keep_the_schema_and_say_what_json_says() {
    let files = files();
    let [document] = printed("--sarif", &["--summary"], &files).try_into().unwrap();
    assert!(schema().allows_whole(&document));
    let run = &document["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert!(rules.len() > 150, "{}", rules.len());
    assert_eq!(run["tool"]["driver"]["version"], env!("CARGO_PKG_VERSION"));
    // Every rule has a page. The id `not-validated`, for files that could not be read, is no rule and has no page.
    for rule in rules {
        let page = rule["id"].as_str().filter(|id| *id != "not-validated").map(page_of);
        assert_eq!(rule["helpUri"], json!(page), "{rule}");
    }
    assert_eq!(run["invocations"][0], json!({ "executionSuccessful": false, "exitCode": 2 }));
    let lines = printed("--json", &["--summary"], &files);
    let (summary, lines) = lines.split_last().unwrap();
    assert_eq!(run["properties"]["summary"], summary["summary"]);
    let found: Vec<_> = lines.iter().filter(|line| line["verdict"] != "valid").collect();
    let results = run["results"].as_array().unwrap();
    assert!(results.len() == found.len() && found.len() > 150, "{}", results.len());
    let mut lengths = 0;
    for (result, line) in results.iter().zip(found) {
        let id = if line["rule"].is_null() { &json!("not-validated") } else { &line["rule"] };
        assert_eq!(&result["ruleId"], id);
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(&rules[index]["id"], id);
        assert_eq!(result["message"]["text"], line["message"]);
        assert_eq!(result["properties"]["verdict"], line["verdict"]);
        let physical = &result["locations"][0]["physicalLocation"];
        let region = &physical["region"];
        if line["shard"].is_null() {
            assert_eq!(region["byteOffset"], line["offset"], "{line}");
        }
        lengths += usize::from(region["byteLength"].is_u64());
        let name = &result["locations"][0]["logicalLocations"][0]["name"];
        assert_eq!(name, &line["object"]);
    }
    assert!(lengths > 5, "{lengths}");
    let missing = results.last().unwrap();
    let uri = &missing["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(uri, "no%20such%20file%3A%20%C3%A4%25.zt");
    assert_eq!(run["artifacts"].as_array().unwrap().len(), files.len());
    assert_eq!(&run["artifacts"][files.len() - 1]["location"]["uri"], uri);
}

#[test]
fn a_document_is_the_same_in_one_process() {
    let files = files();
    let several = printed("--sarif", &[], &files);
    assert_eq!(several, printed("--sarif", &["--no-sandbox"], &files));
    let few: Vec<PathBuf> = files.into_iter().rev().take(3).collect();
    let few = printed("--sarif", &[], &few);
    assert!(schema().allows_whole(&few[0]));
    let valid = in_corpus(&["check", "--sarif", "accept/1.2.3/scalar.zt"]);
    let [valid] = json_lines(&valid.stdout).try_into().unwrap();
    let run = &valid["runs"][0];
    assert_eq!((&run["results"], schema().allows_whole(&valid)), (&json!([]), true));
    assert_eq!(run["invocations"][0], json!({ "executionSuccessful": true, "exitCode": 0 }));
}

#[test]
fn regions_are_as_long_as_what_breaks_the_rule() {
    let region = |file: &str, more: &[&str]| {
        let output = in_corpus(&[&["check", "--sarif", file], more].concat());
        let [document] = json_lines(&output.stdout).try_into().unwrap();
        let location = &document["runs"][0]["results"][0]["locations"][0];
        location["physicalLocation"]["region"].clone()
    };
    let byte = region("reject/canonical-padding--byte-ff.zt", &["--canonical"]);
    assert_eq!(byte, json!({ "byteOffset": 0x64, "byteLength": 1 }));
    let index: Vec<_> = reject_index().collect();
    let of = |rule: &str| {
        let row = index.iter().find(|row| row.expected.rule == rule).unwrap();
        region(row.path.to_str().unwrap(), &[])
    };
    assert_eq!(of("header-magic"), json!({ "byteOffset": 0, "byteLength": 8 }));
    let blob = of("digest-mismatch");
    assert!(blob["byteLength"].as_u64().unwrap() > 0, "{blob}");
}

/// Checks that the validator rejects documents that violate the schema.
#[test]
fn the_schema_rejects_what_it_should() {
    let schema = schema();
    let [document] = printed("--sarif", &[], &files()).try_into().unwrap();
    let changed = |place: &str, value: Value| {
        let mut other = document.clone();
        *other.pointer_mut(place).unwrap() = value;
        schema.allows_whole(&other)
    };
    let region = "/runs/0/results/0/locations/0/physicalLocation";
    assert!(changed("/version", json!("2.1.0")));
    for (place, value) in [
        ("/version".to_owned(), json!("2.0.0")),
        ("/runs/0/tool".to_owned(), json!({})),
        ("/runs/0/results/0/level".to_owned(), json!("fatal")),
        ("/runs/0/results/0/message".to_owned(), json!("text")),
        ("/runs/0/results/0/ruleIndex".to_owned(), json!(-2)),
        (format!("{region}/artifactLocation/uri"), json!("a b")),
        (format!("{region}/artifactLocation"), json!({ "path": "a" })),
        ("/runs/0/artifacts/0/roles".to_owned(), json!(["subject"])),
        ("/runs/0/invocations/0".to_owned(), json!({ "exitCode": 0 })),
    ] {
        assert!(!changed(&place, value), "{place}");
    }
}

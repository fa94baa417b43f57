//! Tests that `zten explain` explains every rule.

use zten::rules::rows;
use zten_report::page::page_of;

use crate::{ended, failed, succeeded_text, zten};

#[test]
fn every_rule() {
    for row in rows() {
        let text = succeeded_text(zten(["explain", row.id()]));
        // The output is wrapped, so the words are compared without line breaks.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = words(&text);
        assert!(text.starts_with(&format!("{} ", row.id())), "{text}");
        for part in [row.holds(), row.advice(), row.source().clause(), row.scope().as_str()] {
            assert!(text.contains(&words(part)), "{part}: {text}");
        }
        assert!(text.ends_with(&format!(" page {}", page_of(row.id()))), "{text}");
        assert!(text.contains("policy of this reader: ") == (row.source().clause() == "policy"));
    }
}

#[test]
fn lines_fit() {
    for row in rows() {
        let text = succeeded_text(zten(["explain", row.id()]));
        assert!(text.lines().all(|line| line.chars().count() <= 96), "{text}");
    }
}

#[test]
fn all() {
    let text = succeeded_text(zten(["explain"]));
    assert_eq!(text, succeeded_text(zten(["explain", "--list"])));
    let (text, _) = text.split_once("\nOf other formats:\n").unwrap();
    assert_eq!(text.lines().count(), rows().count());
    for (line, row) in text.lines().zip(rows()) {
        assert!(line.starts_with(row.id()) && line.ends_with(row.holds()), "{line}");
    }
}

#[test]
fn unknown_ones() {
    let output = zten(["explain", "blob-aligment"]);
    let (status, out, complaint) = ended(&output);
    assert_eq!((status, out), (Some(2), ""));
    assert!(complaint.starts_with("unknown rule \"blob-aligment\"\n  did you mean blob-alignment"));
    let complaint = failed(zten(["explain", "\u{1b}xyzzy"]), 2);
    assert_eq!(complaint, "unknown rule \"\\u{1b}xyzzy\"\n  `zten explain` lists all rules\n");
}

#[test]
fn published_faults_are_named() {
    let text = succeeded_text(zten(["explain", "gguf-experts"]));
    assert!(text.contains("published fault of a reader: llama.cpp #28345"), "{text}");
}

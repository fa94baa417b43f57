//! Clauses lead somewhere: what errors and comments cite has an anchor in `docs/format.md`, in the
//! section that names the rule; the rules it names exist, and its listings are the files.
#![allow(
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a test that panics has failed, and its numbers are small"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use zten::rules::{Row, Source, rows};
use zten::{Limits, Tolerance};

const FORMAT: &str = include_str!("../docs/format.md");
const DECISIONS: &str = include_str!("../docs/decisions.md");
/// Stands before and after what is about generation 2 alone.
const GENERATION_2: &str = "<!-- generation 2 -->\n";

/// What a text cites.
#[derive(Default)]
struct Citations {
    /// The anchors of its clauses: `v1.2-5-step-4`, `rfc8949`.
    anchors: Vec<String>,
    /// The words that are no part of a citation.
    others: usize,
}

/// Whether a text is numbers joined by dots.
fn is_numbers(text: &str) -> bool {
    text.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a text is a part of 1.1, or a section of one: `IV.2`.
fn is_part(text: &str) -> bool {
    let (part, section) = text.split_once('.').unwrap_or((text, "0"));
    !part.is_empty() && part.bytes().all(|byte| b"IVX".contains(&byte)) && is_numbers(section)
}

/// Whether a word is one of a title.
fn is_title(word: &str) -> bool {
    let mut letters = word.bytes();
    letters.next().is_some_and(|first| first.is_ascii_uppercase())
        && letters.next().is_some_and(|second| second.is_ascii_lowercase())
}

/// Reads the clauses that a text cites: `v1.1 I.2 and IV.2, v1.2 §5 step 4`. A section by itself
/// is of the document before it.
fn citations(text: &str) -> Citations {
    let mut found = Citations::default();
    let mut document = None;
    // Whether a clause may follow without a sign.
    let mut open = false;
    let mut words = text.split_whitespace().peekable();
    while let Some(spelled) = words.next() {
        let is_edge = |c: char| ".,;:()`'\"[]".contains(c);
        let word = spelled.trim_matches(is_edge);
        let follows = words.peek().map(|next| next.trim_matches(is_edge)).unwrap_or_default();
        // A list of clauses ends with its sentence.
        let ends = spelled.ends_with(['.', ';', ':']);
        if word.strip_prefix('v').is_some_and(is_numbers) {
            (document, open) = (Some(word.to_owned()), !ends);
            continue;
        }
        if word == "RFC" && is_numbers(follows) {
            document = Some(format!("rfc{follows}"));
            found.anchors.extend(document.clone());
            open = false;
            words.next();
            continue;
        }
        let third = words.clone().nth(1).map(|third| third.trim_matches(is_edge));
        if (word, follows, third) == ("zstd", "seekable", Some("format")) {
            found.anchors.push("zstd-seekable-format".to_owned());
            words.next();
            words.next();
            continue;
        }
        let section = word.strip_prefix('§').filter(|section| is_numbers(section));
        let Some(document) = document.as_ref().filter(|_| open || section.is_some()) else {
            found.others += 1;
            continue;
        };
        let mut clause = match (section, word, follows) {
            (Some(_), ..) if document.starts_with("rfc") => continue,
            (Some(section), ..) => section.to_owned(),
            (_, "and", _) => continue,
            (_, "appendix", _) => word.to_owned(),
            (_, "crate", "readme") => "crate-readme".to_owned(),
            _ if is_part(word) => word.to_owned(),
            _ => {
                (open, found.others) = (false, found.others + 1);
                continue;
            }
        };
        let is_appendix =
            follows.len() == 1 && follows.bytes().all(|byte| byte.is_ascii_uppercase());
        if (word == "appendix" && is_appendix) || word == "crate" {
            let next = words.next().unwrap_or_default();
            if word == "appendix" {
                clause = format!("{clause}-{follows}");
            }
            // `crate readme, Tensor Metadata`.
            let mut goes_on = word == "crate" && next.ends_with(',');
            while goes_on && let Some(title) = words.next_if(|next| is_title(next)) {
                clause = format!("{clause}-{}", title.trim_matches(is_edge));
                goes_on = !title.ends_with(is_edge);
            }
        } else if follows == "step" {
            words.next();
            let step = words.next().unwrap_or_default().trim_matches(is_edge);
            clause = format!("{clause}-step-{step}");
        }
        found.anchors.push(format!("{document}-{clause}"));
        open = !ends;
    }
    found
}

/// The comments of a source, each of which may have several lines.
fn comments(source: &str) -> Vec<String> {
    let mut comments = Vec::new();
    let mut lasts = false;
    for line in source.lines() {
        let whole = line.trim_start().strip_prefix("//");
        let Some(text) = whole.or_else(|| line.split_once(" // ").map(|(_, text)| text)) else {
            lasts = false;
            continue;
        };
        if !(lasts && whole.is_some()) {
            comments.push(String::new());
        }
        if let Some(comment) = comments.last_mut() {
            comment.push(' ');
            comment.push_str(text.trim_start_matches(['/', '!']));
        }
        lasts = whole.is_some();
    }
    comments
}

/// The anchors in a text.
fn anchors(text: &str) -> impl Iterator<Item = &str> {
    text.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next())
}

/// The sections of the document by the anchors in front of them, and in them.
fn sections() -> BTreeMap<&'static str, &'static str> {
    let mut sections = BTreeMap::new();
    let (mut start, mut at, mut is_listing) = (0, 0, false);
    let mut in_front = "";
    let mut begins = Vec::new();
    for line in FORMAT.split_inclusive('\n') {
        is_listing ^= line.starts_with("```");
        if line.starts_with('#') && !is_listing {
            begins.push((start, at));
            start = at - in_front.len();
        }
        in_front = if line.starts_with("<a id=") { line } else { "" };
        at += line.len();
    }
    begins.push((start, at));
    for (index, (start, end)) in begins.iter().enumerate() {
        // The anchors in front of the next heading are in its section.
        let end = begins.get(index + 1).map_or(*end, |next| next.0);
        let section = &FORMAT[*start..end];
        for anchor in anchors(section) {
            assert!(sections.insert(anchor, section).is_none(), "there are two anchors {anchor}");
        }
    }
    sections
}

/// What a text has as code.
fn code(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The anchors of the clauses that a row comes from.
fn clauses(row: &Row) -> Vec<String> {
    match row.source {
        Source::Spec(clauses) => {
            let found = citations(clauses);
            assert_eq!(found.others, 0, "{}: {clauses:?} is not all clauses", row.id);
            assert!(!found.anchors.is_empty(), "{} has no clause", row.id);
            found.anchors
        }
        Source::Implied(_) | Source::Policy(_) => Vec::new(),
    }
}

#[test]
fn citations_are_understood() {
    let anchors = |text: &str| citations(text).anchors;
    assert_eq!(
        anchors("as v0.1 §3.2, v1.1 I.2 and IV.2, v1.2 §4 and §5. I.9 is none"),
        ["v0.1-3.2", "v1.1-I.2", "v1.1-IV.2", "v1.2-4", "v1.2-5"]
    );
    assert_eq!(
        anchors("`v1.1 IV.1 step 4`, v1.2 §5 step 5"),
        ["v1.1-IV.1-step-4", "v1.2-5-step-5"]
    );
    assert_eq!(anchors("v0.1 §4. Open sets (§8): v1.1 III,"), ["v0.1-4", "v0.1-8", "v1.1-III"]);
    assert_eq!(
        anchors("v0.1 crate readme, Tensor Metadata, v1.2 appendix, v2 appendix A."),
        ["v0.1-crate-readme-Tensor-Metadata", "v1.2-appendix", "v2-appendix-A"]
    );
    assert_eq!(anchors("RFC 8949 §3, §3.2.1, v2 §3.1"), ["rfc8949", "v2-3.1"]);
    assert_eq!(anchors("v2 §8.2, zstd seekable format"), ["v2-8.2", "zstd-seekable-format"]);
    assert!(
        anchors("§3.1.1 of what the module names; v1.2 files; the features `v0`, `v1`").is_empty()
    );
}

#[test]
fn clauses_of_rules_lead_to_sections_that_name_them() {
    let sections = sections();
    let mut missing = Vec::new();
    for row in rows() {
        for anchor in clauses(row) {
            match sections.get(&*anchor) {
                None => missing.push(format!("{}: there is no anchor {anchor}", row.id)),
                Some(section) if !code(section).contains(row.id) => {
                    missing.push(format!("the section at {anchor} does not name {}", row.id));
                }
                Some(_) => {}
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
#[cfg_attr(miri, ignore = "it reads the sources alone")]
fn clauses_of_comments_have_anchors() {
    let sections = sections();
    let root = env!("CARGO_MANIFEST_DIR");
    let (mut count, mut missing) = (0, BTreeSet::new());
    for sources in ["src", "crates", "cli/src"] {
        for file in glob::glob(&format!("{root}/{sources}/**/*.rs")).unwrap() {
            let file = file.unwrap();
            for comment in comments(&fs::read_to_string(&file).unwrap()) {
                for anchor in citations(&comment).anchors {
                    count += 1;
                    if !sections.contains_key(&*anchor) {
                        missing.insert(format!("{}: {anchor}", file.display()));
                    }
                }
            }
        }
    }
    for row in rows() {
        let (Source::Spec(text) | Source::Implied(text) | Source::Policy(text)) = row.source;
        for text in [text, row.holds, row.broken, row.advice] {
            let found = citations(text).anchors.into_iter();
            missing.extend(found.filter(|anchor| !sections.contains_key(&**anchor)));
        }
    }
    assert!(count > 80, "only {count} citations were found");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn links_within_the_document_lead_to_its_anchors() {
    let sections = sections();
    for target in FORMAT.split("](#").skip(1).filter_map(|rest| rest.split(')').next()) {
        let is_clause = target.starts_with("rfc") || target.starts_with('v');
        assert!(!is_clause || sections.contains_key(target), "there is no anchor {target}");
    }
}

#[test]
fn every_rule_is_described() {
    let (format, decisions) = (code(FORMAT), code(DECISIONS));
    let is_missing = |id: &&str| !format.contains(id) && !decisions.contains(id);
    let missing: Vec<&str> = rows().map(|row| row.id).filter(is_missing).collect();
    assert!(missing.is_empty(), "neither docs/format.md nor docs/decisions.md has {missing:#?}");
}

#[test]
fn rules_that_are_named_exist() {
    let mut known: BTreeSet<&str> = rows().map(|row| row.id).collect();
    known.extend(Limits::NAMES);
    known.extend(Tolerance::ALL.iter().map(|tolerance| tolerance.name()));
    // What only generation 2 has is there once the catalogue knows that generation.
    let reads_2 = rows().flat_map(clauses).any(|anchor| anchor.starts_with("v2-"));
    for (index, text) in FORMAT.split(GENERATION_2).enumerate() {
        let is_expected = reads_2 || index % 2 == 0;
        let is_id = |name: &&str| {
            let spelled =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            name.trim_matches('-').contains('-') && name.bytes().all(spelled)
        };
        for name in code(text).into_iter().filter(is_id).filter(|_| is_expected) {
            assert!(known.contains(name), "there is no rule {name}");
        }
    }
}

/// The bytes of a listing: an offset, bytes or `00 × n`, and after three spaces what they are.
fn listed(listing: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in listing.lines() {
        let (offset, rest) = line.split_once("  ").unwrap();
        assert_eq!(usize::from_str_radix(offset, 16).unwrap(), bytes.len(), "{line}");
        let these = rest.split("   ").next().unwrap();
        if let Some(count) = these.strip_prefix("00 × ") {
            bytes.resize(bytes.len() + count.trim().parse::<usize>().unwrap(), 0);
        } else {
            let these = these.split_whitespace();
            bytes.extend(these.map(|byte| u8::from_str_radix(byte, 16).unwrap()));
        }
    }
    bytes
}

#[test]
#[cfg_attr(miri, ignore = "it reads files")]
fn listings_are_the_files_that_they_show() {
    let mut count = 0;
    for (index, _) in FORMAT.match_indices("```hex\n") {
        let (before, after) = FORMAT.split_at(index);
        let is_file =
            |code: &&str| Path::new(code).extension().is_some_and(|suffix| suffix == "zt");
        let name = before.rsplit('`').find(is_file).expect("a listing follows its file's name");
        let (listing, _) = after["```hex\n".len()..].split_once("```").unwrap();
        let bytes = listed(listing);
        let size = format!("`{name}`, {} bytes", bytes.len());
        assert!(before.contains(&size), "the text does not say {size}");
        // A file of a generation that the corpus does not have yet has no folder.
        if name.contains('/') {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
            assert!(bytes == fs::read(path).unwrap(), "{name}");
        }
        count += 1;
    }
    assert_eq!(count, 4, "one file of each generation");
}

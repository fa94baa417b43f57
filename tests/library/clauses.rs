//! Tests that compare documents with the code: each clause that an error cites has an anchor in `docs/format.md`, in the section
//! that names the rule. The rules that the section names exist. The listings of files match the files, and `docs/limits.md` has the
//! true defaults.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use zten::rules::{Source, rows};
use zten::{Limits, Tolerance};

const FORMAT: &str = include_str!("../../docs/format.md");
const DECISIONS: &str = include_str!("../../docs/decisions.md");
const LIMITS: &str = include_str!("../../docs/limits.md");

/// Returns the anchors of clauses: `v1.1-I.2`, `v1.2-5-step-4` and `v1.2-6` for `v1.1 I.2, v1.2 §5 step 4, §6`.
fn anchors_of(clauses: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    let mut document = String::new();
    for part in clauses.split(", ") {
        let (first, rest) = part.split_once(' ').unwrap_or(("", part));
        let clause = if let Some(version) = first.strip_prefix('v') {
            document = format!("v{version}");
            rest
        } else if first == "RFC" {
            // All sections of an RFC share one anchor.
            document = format!("rfc{}", rest.split(' ').next().unwrap());
            anchors.push(document.clone());
            continue;
        } else if part == "zstd seekable format" {
            anchors.push(part.replace(' ', "-"));
            continue;
        } else if !first.is_empty() || part.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            // A part that is only a title belongs to the anchor of the section before it.
            let section = anchors.last_mut().unwrap();
            *section = format!("{section}-{}", part.replace(' ', "-"));
            continue;
        } else if document.starts_with("rfc") {
            continue;
        } else {
            part
        };
        anchors.push(format!("{document}-{}", clause.trim_start_matches('§').replace(' ', "-")));
    }
    anchors
}

/// Returns the names of the HTML anchors in `text`.
fn anchors(text: &str) -> impl Iterator<Item = &str> {
    text.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next())
}

/// Returns the sections of `docs/format.md` by their anchors. The anchors of a section are in front of its heading or
/// in its text.
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
        // Anchors in front of the next heading belong to the section of that heading.
        let end = begins.get(index + 1).map_or(*end, |next| next.0);
        let section = &FORMAT[*start..end];
        for anchor in anchors(section) {
            assert!(sections.insert(anchor, section).is_none(), "there are two anchors {anchor}");
        }
    }
    sections
}

/// Returns the parts of `text` between backticks.
fn code(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn clauses_of_rules_lead_to_sections_that_name_them() {
    let sections = sections();
    let mut missing = Vec::new();
    for row in rows() {
        let Source::Spec(clauses) = row.source() else { continue };
        for anchor in anchors_of(clauses) {
            match sections.get(&*anchor) {
                None => missing.push(format!("{}: there is no anchor {anchor}", row.id())),
                Some(section) if !code(section).contains(row.id()) => {
                    missing.push(format!("the section at {anchor} does not name {}", row.id()));
                }
                Some(_) => {}
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn links_within_the_document_have_anchors() {
    let sections = sections();
    let targets = FORMAT.split("](#").skip(1).filter_map(|rest| rest.split(')').next());
    let is_clause = |target: &&str| target.starts_with("rfc") || target.starts_with('v');
    let mut count = 0;
    for target in targets.filter(is_clause) {
        assert!(sections.contains_key(target), "there is no anchor {target}");
        count += 1;
    }
    assert!(count > 10, "{count}");
}

#[test]
fn every_rule_is_described() {
    let (format, decisions) = (code(FORMAT), code(DECISIONS));
    let is_missing = |id: &&str| !format.contains(id) && !decisions.contains(id);
    let missing: Vec<&str> = rows().map(zten::rules::Row::id).filter(is_missing).collect();
    assert!(missing.is_empty(), "neither docs/format.md nor docs/decisions.md has {missing:#?}");
}

#[test]
fn documents_name_only_rules_that_exist() {
    let mut known: BTreeSet<&str> = rows().map(zten::rules::Row::id).collect();
    known.extend(Limits::NAMES);
    known.extend(Tolerance::ALL.iter().map(|tolerance| tolerance.name()));
    let is_id = |name: &&str| {
        let spelled = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        name.trim_matches('-').contains('-') && name.bytes().all(spelled)
    };
    let mut count = 0;
    for name in code(FORMAT).into_iter().filter(is_id) {
        assert!(known.contains(name), "there is no rule {name}");
        count += 1;
    }
    assert!(count > 50, "{count}");
}

/// Returns the bytes of a listing. Each line of a listing has an offset, then bytes or `00 × n`, and after three spaces their
/// meaning.
fn listed(listing: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in listing.lines() {
        let (offset, rest) = line.split_once("  ").unwrap();
        assert_eq!(usize::from_str_radix(offset, 16).unwrap(), bytes.len(), "{line}");
        let these = rest.split("   ").next().unwrap();
        if let Some(count) = these.strip_prefix("00 × ") {
            bytes.resize(bytes.len() + count.trim().parse::<usize>().unwrap(), 0);
        } else {
            let digits = these.replace(' ', "");
            let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
            bytes.extend(pairs.map(|byte| u8::from_str_radix(byte, 16).unwrap()));
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
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        assert!(bytes == fs::read(path).unwrap(), "{name}");
        count += 1;
    }
    assert_eq!(count, 4, "one file of each generation");
}

/// Returns `number` as the document writes it, with commas: 1,234.
fn written(number: u64) -> String {
    if number < 1000 {
        return number.to_string();
    }
    format!("{},{:03}", number / 1000, number % 1000)
}

#[test]
fn documents_give_every_limit_with_its_default() {
    let limits = Limits::default();
    let (mib, gib) = (1 << 20, 1 << 30);
    let total = limits.decoded_total(0);
    assert_eq!(limits.decoded_total(1) - total, 64);
    for (name, value) in [
        ("manifest", format!("{} GiB", limits.manifest() / gib)),
        ("depth", format!("{} levels", limits.depth())),
        ("rank", format!("{} dimensions", limits.rank())),
        ("keys", written(limits.keys().into())),
        ("shards", written(limits.shards().into())),
        ("window", format!("{} MiB", limits.window() / mib)),
        ("decoded", format!("{} GiB", limits.decoded() / gib)),
        ("decoded-total", format!("{} GiB + 64 × the file", total / gib)),
    ] {
        assert!(Limits::NAMES.contains(&name));
        assert!(LIMITS.contains(&format!("| `{name}` | {value}")), "{name}: {value}");
    }
    assert_eq!(Limits::NAMES.len(), 8);
}

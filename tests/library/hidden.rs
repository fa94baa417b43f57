//! Tests of the hidden characters: all code points are compared with tables of Unicode from other projects.

use std::collections::HashSet;

use regex_syntax::hir::{Class, HirKind};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};
use zten::escape::{Name, UNICODE_VERSION, escape_all, is_hidden, path, quoted, word};
use zten::json;

/// Returns the characters with `property`.
fn having(property: &str) -> HashSet<char> {
    let class = regex_syntax::parse(&format!(r"\p{{{property}}}")).unwrap();
    let HirKind::Class(Class::Unicode(class)) = class.kind() else { panic!("{property}") };
    class.iter().flat_map(|range| range.start()..=range.end()).collect()
}

#[test]
fn hidden_characters_follow_the_properties_of_unicode() {
    use GeneralCategory as C;
    let (major, minor, update) = unicode_properties::UNICODE_VERSION;
    assert_eq!(UNICODE_VERSION, format!("{major}.{minor}.{update}"));
    let ignorable = having("Default_Ignorable_Code_Point");
    assert!(ignorable.len() > 4000, "{}", ignorable.len());
    let blank = ['\u{2800}', '\u{1d159}', '\u{13441}', '\u{13442}', '\u{16fe4}'];
    for c in (0..=0x10_ffff).filter_map(char::from_u32) {
        let category = matches!(
            c.general_category(),
            C::Control
                | C::Format
                | C::PrivateUse
                | C::Unassigned
                | C::LineSeparator
                | C::ParagraphSeparator
                | C::SpaceSeparator
        );
        let wanted = c != ' '
            && (category
                || c.is_control()
                || c.is_whitespace()
                || ignorable.contains(&c)
                || blank.contains(&c));
        assert_eq!(is_hidden(c), wanted, "U+{:04X}", u32::from(c));
    }
}

#[test]
fn no_hidden_character_is_shown() {
    let mut out = Vec::new();
    for c in (0..=0x10_ffff).filter_map(char::from_u32) {
        let name = c.to_string();
        let texts = [
            escape_all(&name),
            quoted(&name),
            word(&name, 10),
            path(name.as_ref()),
            Name(&name).to_string(),
        ];
        for text in texts {
            assert!(!text.contains(is_hidden), "U+{:04X}: {text:?}", u32::from(c));
        }
        out.clear();
        json::to_writer(&mut out, &name).unwrap();
        let text = std::str::from_utf8(&out).unwrap();
        assert!(!text.contains(is_hidden), "U+{:04X}: {text:?}", u32::from(c));
        assert_eq!(serde_json::from_str::<String>(text).unwrap(), name);
    }
}

/// Characters that an earlier version displayed without an escape.
#[test]
fn characters_that_hide_or_reverse_text_are_escaped() {
    let known = "\u{34f}\u{17b4}\u{180b}\u{2800}\u{fe00}\u{fe0f}\u{1bca0}\u{1d173}\u{13430}\
        \u{202e}\u{2066}\u{200b}\u{ad}\u{61c}\u{3164}\u{115f}\u{1160}\u{ffa0}\u{feff}\u{e0041}\u{a0}";
    assert_eq!(known.find(|c| !is_hidden(c)), None);
    assert_eq!("aä重é\u{301}שלום سلام ➜😀".find(is_hidden), None);
}

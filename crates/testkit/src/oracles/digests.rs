//! The oracle for lists of digests: a list that is accepted can be written and parsed again, and every change of it is found.

use zten_report::digests::{Difference, DigestLine, Digests, HEADER};

use super::heap::peak;

/// Parses a list of digests, and checks that the heap stays within 8 times its length and 1 KiB. An accepted list must be sorted,
/// must be the same after it is written and parsed again, and must not differ from itself. If the first, the middle or the last
/// entry is removed, added or changed, exactly this difference must be found. Returns whether the list is accepted.
///
/// # Panics
/// Panics if a promise does not hold.
pub fn digests(input: &[u8]) -> bool {
    let (heap, list) = peak(|| Digests::parse(input));
    let most = 8 * input.len() as u64 + 1024;
    assert!(heap <= most, "{heap} bytes of heap, and {most} at most");
    let Ok(list) = list else { return false };
    let lines = list.entries().iter().map(|entry| format!("{entry}\n"));
    let written = format!("{HEADER}\n{}", lines.collect::<Vec<_>>().concat());
    let again = Digests::parse(written.as_bytes()).expect("a written list is rejected");
    assert!(list == again, "a written list is parsed to another list");
    let entries = list.entries();
    assert!(
        entries.windows(2).all(|two| two[0].key() < two[1].key()),
        "the entries are not sorted"
    );
    assert_eq!(list.differences(entries.to_vec()), [], "a list differs from itself");
    for place in [0, entries.len() / 2, entries.len().saturating_sub(1)] {
        let Some(entry) = entries.get(place) else { continue };
        let [before, after] = [&entries[..place], &entries[place + 1..]];
        let mut rest = [before, after].concat();
        let found = |difference| [(difference, entry.name.clone(), entry.role.clone())];
        let missing = list.differences(rest.clone());
        assert_eq!(missing, found(Difference::Missing), "an entry that is missing is not reported");
        let other = Digests::new(rest.clone()).expect("entries of a list");
        let added = other.differences(entries.to_vec());
        assert_eq!(added, found(Difference::Added), "an entry that was added is not reported");
        let changed =
            DigestLine { sha256: entry.sha256.map(|sum| sum.map(|byte| !byte)), ..entry.clone() };
        rest.insert(place, changed);
        assert_eq!(
            list.differences(rest),
            found(Difference::Changed),
            "an entry that was changed is not reported"
        );
    }
    true
}

//! Selecting the clauses of a rule that belong to one generation of zTensor.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::rules::Generation;

/// Selects from `clauses`, the clauses of a rule in all documents, those of `generation` and those of the standards on which
/// all generations are based. Returns all clauses if there is neither a clause of the generation nor one of a standard.
pub fn clause_of(clauses: &str, generation: Generation) -> String {
    let own = format!("v{} ", generation.as_str());
    let mut kept = Vec::new();
    let mut found = false;
    let mut keep = false;
    for part in clauses.split(',').map(str::trim_ascii_start) {
        // In `v1.1 III.2, III.3`, the second clause names no document, so it belongs to the document before it.
        if part.starts_with('v') {
            keep = part.starts_with(&own);
            found |= keep;
        } else if part.starts_with("RFC") {
            keep = true;
            found = true;
        }
        if keep {
            kept.push(part);
        }
    }
    if found { kept.join(", ") } else { clauses.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_of_one_generation() {
        let all = "v0.1 §3.2, v1.1 I.2, v1.2 §4";
        assert_eq!(clause_of(all, Generation::V0_1), "v0.1 §3.2");
        assert_eq!(clause_of(all, Generation::V1_2), "v1.2 §4");
        let two = "v1.1 III.2, III.3, v1.2 §3";
        assert_eq!(clause_of(two, Generation::V1_1), "v1.1 III.2, III.3");
        assert_eq!(clause_of(two, Generation::V0_1), two);
        assert_eq!(clause_of("RFC 8949 §3, §3.2.1", Generation::V1_2), "RFC 8949 §3, §3.2.1");
        assert_eq!(
            clause_of("RFC 8949 §3, v0.1 §2, v1.2 §1", Generation::V1_2),
            "RFC 8949 §3, v1.2 §1"
        );
        assert_eq!(clause_of("policy", Generation::V1_2), "policy");
    }
}

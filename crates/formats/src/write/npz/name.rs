//! The names that members may have: each names the same array to every reader, and no file outside
//! the folder that an archive is unpacked in.

/// The suffix of the name of a member, which the name of its array lacks.
pub(super) const SUFFIX: &str = ".npy";
/// Bytes of the name of a member, at most.
const LONGEST: usize = 0xffff;

/// Returns whether an array of that name can be a member.
pub(super) fn validate(name: &str) -> Result<(), &'static str> {
    let drive = matches!(name.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    let mut steps = name.split('/');
    if name.len().saturating_add(SUFFIX.len()) > LONGEST {
        return Err("its name exceeds the maximum length in a .npz file");
    }
    if name.ends_with(SUFFIX) {
        return Err("its name ends in .npy, which NumPy leaves out");
    }
    // The last step has a suffix, so that it is never one of those.
    let last = steps.next_back().unwrap_or_default();
    let leads_out = drive || steps.any(|step| matches!(step, "" | "." | ".."));
    if leads_out || name.contains(['\\', '\0']) || last.is_empty() {
        return Err("invalid name for a .npz file: it is empty or ends in /, begins as that of a \
             root, has a step that is empty, . or .., or a backslash or a zero in it");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_nowhere_else() {
        for name in
            ["a", "a/b/c", "..a", "a..", "...", "a/..b", "重み", "a b", ".", "..", "a/..", "é:"]
        {
            assert!(validate(name).is_ok(), "{name:?}");
        }
        for name in [
            "", "/", "/a", "../a", "a/../b", "./a", "a//b", "a/", "a\\b", "\\a", "C:a", "C:/a",
            "a\0b", "a.npy", ".npy", "a/.npy",
        ] {
            assert!(validate(name).is_err(), "{name:?}");
        }
        assert!(validate(&"x".repeat(LONGEST - 4)).is_ok());
        assert!(validate(&"x".repeat(LONGEST - 3)).is_err());
    }
}

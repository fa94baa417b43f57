//! Checking the names of arrays for an `.npz` archive. Every reader finds the array by a valid name, and unpacking an archive
//! with valid names creates no file outside of the target folder.

/// The suffix that is appended to the name of an array to make the name of its member in an `.npz` archive.
pub(super) const SUFFIX: &str = ".npy";
/// The largest length in bytes of the name of a member, which a zip archive stores in 16 bits.
const LONGEST: usize = 0xffff;

/// Checks that an array called `name` can be a member of an `.npz` archive. The error is a sentence with the reason why it
/// cannot.
pub(super) fn validate(name: &str) -> Result<(), &'static str> {
    let drive = matches!(name.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    let mut steps = name.split('/');
    if name.len().saturating_add(SUFFIX.len()) > LONGEST {
        return Err("its name exceeds the maximum length in a .npz file");
    }
    if name.ends_with(SUFFIX) {
        return Err("its name ends in .npy, which NumPy removes from the names of arrays");
    }
    // The suffix `.npy` is appended to the last step, so the last step is never empty, `.` or `..`.
    let last = steps.next_back().unwrap_or_default();
    let leads_out = drive || steps.any(|step| matches!(step, "" | "." | ".."));
    if leads_out || name.contains(['\\', '\0']) || last.is_empty() {
        return Err(
            "invalid name for a .npz file: it is empty, ends in /, begins with / or a drive \
             letter, has a step that is empty, . or .., or contains a backslash or a zero byte",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_out_of_the_folder_are_rejected() {
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

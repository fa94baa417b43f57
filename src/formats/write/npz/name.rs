//! The names that members may have. Every reader understands them as the same array, and unpacking the archive creates no file
//! outside of the target folder.

/// The suffix that the name of a member has and the name of its array lacks.
pub(super) const SUFFIX: &str = ".npy";
/// The largest length of the name of a member in bytes.
const LONGEST: usize = 0xffff;

/// Checks that an array called `name` can be a member. The error says why not.
pub(super) fn validate(name: &str) -> Result<(), &'static str> {
    let drive = matches!(name.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    let mut steps = name.split('/');
    if name.len().saturating_add(SUFFIX.len()) > LONGEST {
        return Err("its name exceeds the maximum length in a .npz file");
    }
    if name.ends_with(SUFFIX) {
        return Err("its name ends in .npy, which NumPy leaves out");
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

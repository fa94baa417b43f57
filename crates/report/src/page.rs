//! The addresses of the web pages about rules, which reports link to.

/// The address of the web site that `site/` builds, without a slash at the end. `.ci/release site ADDRESS` writes the address into this
/// file, and no other file has it. Before the first release the host is `zten.invalid`, a name that no one can register, so that no
/// stranger can serve pages in the name of the project.
pub const SITE: &str = "https://zten.invalid";

/// Returns the address of the web page about the rule whose id is `id`.
pub fn page_of(id: &str) -> String {
    format!("{SITE}/rules/{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the address of a rule's page is absolute, as SARIF requires, and that no id has a character that would have to be
    /// escaped in it.
    #[test]
    fn addresses_are_absolute_and_need_no_escape() {
        assert!(SITE.starts_with("https://") && !SITE.ends_with('/'), "{SITE}");
        for row in zten::rules::rows().chain(zten::formats::rules::rows()) {
            let plain =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            assert!(row.id().bytes().all(plain), "{}", row.id());
            assert_eq!(page_of(row.id()), format!("{SITE}/rules/{}", row.id()));
        }
    }
}

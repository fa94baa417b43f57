//! The addresses of the pages about rules.

/// The address of the site that `site/` builds. `.ci/release site ADDRESS` writes it here, which is the only file that has it.
/// Before the first release the host is `zten.invalid`, a name that no one can register, so that no stranger can serve these pages.
pub const SITE: &str = "https://zten.invalid";

/// Returns the address of the page about the rule whose id is `id`.
pub fn page_of(id: &str) -> String {
    format!("{SITE}/rules/{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SARIF requires an absolute address, and ids are not escaped in it.
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

//! Who writes files that break a rule, where the project knows it.

/// A line for each rule and writer: the rule, a sentence in Markdown, and the file of the repository that the sentence is known
/// from. The first line names the columns.
const WRITERS: &str = include_str!("../writers.tsv");

/// A program that writes files which break a rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer {
    /// The id of the rule.
    pub rule: &'static str,
    /// A sentence in Markdown that names the program.
    pub sentence: &'static str,
    /// The path of the file that says so, in the repository.
    pub source: &'static str,
}

/// Returns all known writers.
///
/// # Panics
/// Panics if a line does not have three columns.
pub(crate) fn writers() -> impl Iterator<Item = Writer> {
    WRITERS.lines().skip(1).map(|line| {
        let columns: Vec<_> = line.split('\t').collect();
        let [rule, sentence, source] = columns[..] else { panic!("writers.tsv: {line}") };
        Writer { rule, sentence, source }
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// A sentence about a writer needs a rule that exists, and a file that speaks of the rule or of what the sentence quotes.
    #[test]
    fn each_writer_is_known_from_its_source() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut lines = 0;
        for Writer { rule, sentence, source } in writers() {
            assert!(zten_report::catalog::find(rule).is_some(), "{rule}");
            assert!(sentence.ends_with('.'), "{sentence}");
            let text = fs::read_to_string(root.join(source)).unwrap();
            let quoted = sentence.split('`').skip(1).step_by(2).any(|quoted| text.contains(quoted));
            assert!(
                text.contains(rule) || quoted || text.contains("footer magic"),
                "{source}: {rule}"
            );
            lines += 1;
        }
        assert!(lines > 5, "{lines} lines");
    }
}

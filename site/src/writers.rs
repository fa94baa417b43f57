//! Programs that write files which break a rule, as far as the project knows them.

/// A line for each rule and writer: the rule, a sentence in Markdown, the file of the repository that the sentence is known
/// from, and the words of this file that say so. The first line names the columns.
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
    /// Words of that file, which a test looks for.
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test reads it"))]
    pub evidence: &'static str,
}

/// Returns all known writers.
///
/// # Panics
/// Panics if a line does not have four columns.
pub(crate) fn writers() -> impl Iterator<Item = Writer> {
    WRITERS.lines().skip(1).map(|line| {
        let columns: Vec<_> = line.split('\t').collect();
        let [rule, sentence, source, evidence] = columns[..] else { panic!("writers.tsv: {line}") };
        Writer { rule, sentence, source, evidence }
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// If a page no longer says what is known of a writer, the page about the rule must not say it either.
    #[test]
    fn each_writer_is_known_from_its_source() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut lines = 0;
        for Writer { rule, sentence, source, evidence } in writers() {
            assert!(zten_report::catalog::find(rule).is_some(), "{rule}");
            assert!(sentence.ends_with('.') && !evidence.is_empty(), "{sentence}");
            let text = fs::read_to_string(root.join(source)).unwrap();
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(evidence), "{source} does not say {evidence:?}");
            lines += 1;
        }
        assert!(lines > 5, "{lines} lines");
    }
}

//! The parts of Markdown that this program needs: finding code, rewriting the targets of links, and showing text as
//! it is.

use crate::Result;

/// A piece of a page of Markdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Text outside of code.
    Text(&'a str),
    /// A code span with its backticks.
    Span(&'a str),
    /// A line of a fenced block of code, or the line of a fence.
    Block(&'a str),
}

/// Splits `page` into its pieces, in order. Together they are the whole page.
pub(crate) fn pieces(page: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut fence = 0;
    // Code spans may continue on the next line, so the text between two fences is split as a whole.
    let (mut start, mut end) = (0, 0);
    for line in page.split_inclusive('\n') {
        let run = backticks(line.trim_start());
        let is_fence = if fence == 0 { run >= 3 } else { run >= fence };
        if is_fence || fence > 0 {
            split_text(&page[start..end], &mut pieces);
            pieces.push(Piece::Block(line));
            start = end + line.len();
        }
        if is_fence {
            fence = if fence == 0 { run } else { 0 };
        }
        end += line.len();
    }
    split_text(&page[start..end], &mut pieces);
    pieces
}

/// Returns the number of backticks at the start of `text`.
fn backticks(text: &str) -> usize {
    text.len() - text.trim_start_matches('`').len()
}

/// Splits `text`, which has no fenced blocks, at its code spans.
fn split_text<'a>(text: &'a str, pieces: &mut Vec<Piece<'a>>) {
    let mut rest = text;
    let mut seen = 0;
    while let Some(found) = rest[seen..].find('`') {
        let start = seen + found;
        let run = backticks(&rest[start..]);
        let inner = start + run;
        // A code span ends with as many backticks as it begins with, in the same paragraph.
        let paragraph = rest[inner..].find("\n\n").map_or(rest.len(), |blank| inner + blank);
        let mut at = inner;
        let end = loop {
            let Some(next) = rest[at..paragraph].find('`') else { break None };
            let closing = backticks(&rest[at + next..]);
            at += next + closing;
            if closing == run {
                break Some(at);
            }
        };
        match end {
            Some(end) => {
                pieces.push(Piece::Text(&rest[..start]));
                pieces.push(Piece::Span(&rest[start..end]));
                rest = &rest[end..];
                seen = 0;
            }
            None => seen = inner,
        }
    }
    pieces.push(Piece::Text(rest));
}

/// Rewrites `page`: `target` is given the target of each link and returns the new one, and `link` is given the content of each code
/// span outside of links and headings, and returns the target of a new link around the span, if there is to be one.
///
/// # Errors
/// Returns the first error of `target`, or an error if a link has no closing parenthesis.
pub(crate) fn rewritten(
    page: &str,
    mut target: impl FnMut(&str) -> Result<String>,
    link: impl Fn(&str) -> Option<String>,
) -> Result<String> {
    let mut out = String::with_capacity(page.len());
    // The number of open brackets: a code span within them is part of the text of a link.
    let mut brackets = 0_usize;
    for piece in pieces(page) {
        match piece {
            Piece::Block(text) => out.push_str(text),
            Piece::Span(span) => {
                let before = out.rsplit('\n').next().unwrap_or_default();
                let is_plain = brackets == 0 && !before.starts_with('#');
                match link(span.trim_matches('`')).filter(|_| is_plain) {
                    Some(target) => out.push_str(&format!("[{span}]({target})")),
                    None => out.push_str(span),
                }
            }
            Piece::Text(text) => {
                let mut rest = text;
                while let Some(end) = rest.find("](") {
                    let (before, behind) = rest.split_at(end + 2);
                    brackets = open_brackets(before, brackets);
                    out.push_str(before);
                    let length = behind.find(')').ok_or("a link has no closing parenthesis")?;
                    out.push_str(&target(&behind[..length])?);
                    rest = &behind[length..];
                }
                brackets = open_brackets(rest, brackets);
                out.push_str(rest);
            }
        }
    }
    Ok(out)
}

/// Returns the number of brackets that are open after `text`, if `open` brackets were open before. A blank line closes all
/// brackets, because it ends the paragraph.
fn open_brackets(text: &str, open: usize) -> usize {
    let (open, last) = match text.rsplit_once("\n\n") {
        Some((_, last)) => (0, last),
        None => (open, text),
    };
    last.bytes().fold(open, |open, byte| match byte {
        b'[' => open + 1,
        b']' => open.saturating_sub(1),
        _ => open,
    })
}

/// Returns `text` as Markdown that shows it as it is, except that code spans stay code spans. The text may be a cell of a table.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => {
                for character in text.chars() {
                    if "\\*_<>[]|#~&".contains(character) {
                        out.push('\\');
                    }
                    out.push(character);
                }
            }
            // Within a table, a bar ends a cell also in code.
            Piece::Span(text) | Piece::Block(text) => out.push_str(&text.replace('|', "\\|")),
        }
    }
    out
}

/// Returns the first heading of `page` of the first level, which is its title.
pub(crate) fn title(page: &str) -> Option<&str> {
    page.lines().find_map(|line| line.strip_prefix("# "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_whole_page() {
        let page = "a `b` ``c`d``\n```rust\n`e`\n```\n`f\ng` `h\n\ni` `\n";
        let found = pieces(page);
        let whole: String = found
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) | Piece::Span(text) | Piece::Block(text) => *text,
            })
            .collect();
        assert_eq!(whole, page);
        let spans: Vec<_> = found
            .iter()
            .filter_map(|piece| if let Piece::Span(span) = piece { Some(*span) } else { None })
            .collect();
        // The backtick in front of h has no other one in its paragraph.
        assert_eq!(spans, ["`b`", "``c`d``", "`f\ng`", "` `"]);
        assert_eq!(found.iter().filter(|piece| matches!(piece, Piece::Block(_))).count(), 3);
    }

    #[test]
    fn targets_and_ids_are_rewritten_outside_of_code_and_links() {
        let page = "# `id`\n`id` [`id` x](a.md#b) ![p](c.png)\n`[x](d.md)`\n```\n`id` [x](e.md)\n```\n[open\n\n`id`\n";
        let target = |target: &str| Ok(target.to_uppercase());
        let link = |span: &str| (span == "id").then(|| "rules".to_owned());
        let wanted = "# `id`\n[`id`](rules) [`id` x](A.MD#B) ![p](C.PNG)\n`[x](d.md)`\n```\n`id` [x](e.md)\n```\n[open\n\n[`id`](rules)\n";
        assert_eq!(rewritten(page, target, link).unwrap(), wanted);
        assert!(rewritten("[a](b", target, link).is_err());
        assert!(rewritten("[a](b)", |_| Err("no".into()), link).is_err());
    }

    #[test]
    fn texts_are_shown_as_they_are() {
        assert_eq!(shown("a `*` *b* <c> `|`"), "a `*` \\*b\\* \\<c\\> `\\|`");
        assert_eq!(title("x\n# A title\n# B"), Some("A title"));
        assert_eq!(title("## A"), None);
    }
}

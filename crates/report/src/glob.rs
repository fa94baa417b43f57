//! Shell patterns that select names.

/// A pattern of names. `*` matches any characters, including dots and slashes; `?` matches one character; `[a-z]` matches one
/// character of a set, and `[!a-z]` one character outside of the set. A character after a backslash matches itself, as does a
/// bracket that is never closed.
///
/// ```
/// let glob = zten_report::glob::Glob::new("layers.[0-3].*.weight");
/// assert!(glob.matches("layers.2.attention.wq.weight"));
/// assert!(!glob.matches("layers.5.attention.wq.weight"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(Vec<Token>);

/// A token of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// Any number of any characters.
    Star,
    /// One arbitrary character.
    Any,
    /// The character itself.
    Char(char),
    /// One character in any of the `ranges`, or in none of them if `negated`.
    Set { ranges: Vec<(char, char)>, negated: bool },
}

impl Token {
    fn matches(&self, own: char) -> bool {
        match self {
            Self::Star | Self::Any => true,
            Self::Char(char) => *char == own,
            Self::Set { ranges, negated } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&own)) != *negated
            }
        }
    }

    /// Parses a set in `rest`, the text after its opening bracket. Returns the set and the text after it, or `None` if the set
    /// is not closed. A closing bracket as the first character of a set matches itself.
    fn set(rest: &str) -> Option<(Self, &str)> {
        let (rest, negated) = match rest.strip_prefix(['!', '^']) {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let (mut chars, mut ranges) = (rest.chars(), Vec::new());
        loop {
            let first = match chars.next()? {
                ']' if !ranges.is_empty() => {
                    return Some((Self::Set { ranges, negated }, chars.as_str()));
                }
                '\\' => chars.next()?,
                own => own,
            };
            let mut ahead = chars.clone();
            let last = match (ahead.next(), ahead.next()) {
                (Some('-'), Some('\\')) => ahead.next()?,
                (Some('-'), Some(last)) if last != ']' => last,
                _ => {
                    ranges.push((first, first));
                    continue;
                }
            };
            ranges.push((first, last));
            chars = ahead;
        }
    }
}

impl Glob {
    /// Parses a pattern. Every text is a valid pattern.
    pub fn new(pattern: &str) -> Self {
        let (mut tokens, mut chars) = (Vec::new(), pattern.chars());
        // If one set is not closed, no later set is closed either. Skipping the search keeps parsing linear.
        let mut closes = true;
        while let Some(own) = chars.next() {
            tokens.push(match own {
                // Consecutive stars are equivalent to one star.
                '*' if tokens.last() == Some(&Token::Star) => continue,
                '*' => Token::Star,
                '?' => Token::Any,
                '\\' => Token::Char(chars.next().unwrap_or('\\')),
                '[' if closes => {
                    if let Some((set, rest)) = Token::set(chars.as_str()) {
                        chars = rest.chars();
                        set
                    } else {
                        closes = false;
                        Token::Char('[')
                    }
                }
                own => Token::Char(own),
            });
        }
        Self(tokens)
    }

    /// Returns whether the pattern matches the whole `name`. The time is at most proportional to the product of their lengths.
    pub fn matches(&self, name: &str) -> bool {
        let Self(tokens) = self;
        let (mut at, mut chars) = (0_usize, name.chars());
        // The last star, and the text that it has not matched yet. Backtracking to an earlier star is never necessary.
        let mut star = None;
        loop {
            match (tokens.get(at), chars.clone().next()) {
                (Some(Token::Star), _) => {
                    at = at.saturating_add(1);
                    star = Some((at, chars.clone()));
                }
                (Some(token), Some(own)) if token.matches(own) => {
                    at = at.saturating_add(1);
                    chars.next();
                }
                (None, None) => return true,
                _ => {
                    let Some((behind, rest)) = &mut star else { return false };
                    if rest.next().is_none() {
                        return false;
                    }
                    (at, chars) = (*behind, rest.clone());
                }
            }
        }
    }
}

impl From<&str> for Glob {
    fn from(pattern: &str) -> Self {
        Self::new(pattern)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::Glob;

    #[test]
    fn patterns_match_all_of_a_name() {
        for (pattern, name, matches) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "a.b/c", true),
            ("**", "abc", true),
            ("?", "", false),
            ("?", "ä", true),
            ("?", "ab", false),
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("*.weight", "layers.0.weight", true),
            ("*.weight", "layers.0.weights", false),
            ("a*b*c", "a-b-b-c-c", true),
            ("a*b*c", "a-c-b", false),
            ("*ab", "aab", true),
            ("[0-3]", "2", true),
            ("[0-3]", "4", false),
            ("[!0-3]", "4", true),
            ("[^0-3]", "3", false),
            ("[!0-3]", "", false),
            ("[]a]", "]", true),
            ("[!]]", "]", false),
            ("[a-]", "-", true),
            ("[a-c-e]", "-", true),
            ("[a-c-e]", "d", false),
            (r"[\]-a]", "^", true),
            (r"[a-\c]", "b", true),
            (r"[\!a]", "!", true),
            ("[z-a]", "b", false),
            ("[a", "[a", true),
            ("[a[b]", "[a[b]", false),
            ("[a[b]", "[", true),
            ("[!", "[!", true),
            (r"\*", "*", true),
            (r"\*", "a", false),
            (r"a\", r"a\", true),
            (r"\[a]", "[a]", true),
        ] {
            assert_eq!(Glob::new(pattern).matches(name), matches, "{pattern:?} {name:?}");
        }
    }

    #[test]
    fn steps_follow_both_lengths() {
        let (pattern, name) = ("*a".repeat(1_000) + "b", "a".repeat(4_000));
        let begun = Instant::now();
        assert!(!Glob::new(&pattern).matches(&name));
        assert!(Glob::new(&"[".repeat(1 << 20)).matches(&"[".repeat(1 << 20)));
        // Exponential matching would take longer than the universe, quadratic parsing an hour.
        assert!(begun.elapsed().as_secs() < 60);
    }
}

//! Shell patterns that select names.

use zten::escape;

/// A pattern of names. `*` matches any characters, including dots and slashes; `?` matches one character; `[a-z]` matches one
/// character of a set, and `[!a-z]` or `[^a-z]` one character outside of the set. `{a,b}` matches what one of its patterns matches,
/// and `{0..3}` a number from 0 to 3 without leading zeros; both can be combined, as in `{0..3,7}`. A character after a backslash
/// matches itself, as does a bracket or brace that is never closed, and a brace around neither a comma nor two numbers. `\u{202e}`
/// is the character with this code in hexadecimal, as names with hidden characters are printed.
///
/// ```
/// let glob = zten_report::glob::Glob::new("layers.{0..3,31}.*.weight");
/// assert!(glob.matches("layers.2.attention.wq.weight"));
/// assert!(!glob.matches("layers.5.attention.wq.weight"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(Vec<Token>);

/// A token of a pattern, which is a state of an automaton: the tokens before it have matched a beginning of the name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// Any number of any characters.
    Star,
    /// One arbitrary character.
    Any,
    /// Matches exactly this character.
    Char(char),
    /// Matches one character in any of the `ranges`, or in none of them if `negated`. A range includes both ends.
    Set { ranges: Vec<(char, char)>, negated: bool },
    /// Matches a decimal number without leading zeros that is at least the first field and at most the second field.
    Number(u64, u64),
    /// Matches the empty text. The match continues at any of the tokens of the pattern with these indices.
    Either(Vec<usize>),
}

impl Token {
    /// Returns whether the token matches the single character `own`. Tokens that can match longer or empty texts return false.
    fn matches(&self, own: char) -> bool {
        match self {
            Self::Any => true,
            Self::Char(char) => *char == own,
            Self::Star | Self::Number(..) | Self::Either(_) => false,
            Self::Set { ranges, negated } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&own)) != *negated
            }
        }
    }

    /// Parses a set of characters. `rest` is the text of the pattern after the opening bracket. Returns the set and the text after
    /// its closing bracket, or `None` if the set is not closed. A closing bracket as the first character of the set matches itself.
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

/// A brace that is open while a pattern is parsed.
struct Brace {
    /// The index of the token of the opening brace in the list of the pattern's tokens.
    open: usize,
    /// The indices of the tokens of the commas that separate the alternatives of this brace.
    commas: Vec<usize>,
}

impl Brace {
    /// Replaces the tokens of the brace, of its commas and of its closing brace, which is the last of `tokens`, so that the texts
    /// between them become alternatives. A range of numbers between them becomes a [`Token::Number`]. The tokens of a brace without
    /// a comma and without a range do not change, so that each character matches itself.
    fn close(self, tokens: &mut [Token]) {
        let close = tokens.len().saturating_sub(1);
        let ends = self.commas.iter().copied().chain([close]);
        let starts = [self.open].into_iter().chain(self.commas.iter().copied());
        let (mut targets, mut numbers) = (Vec::new(), Vec::new());
        for (start, end) in starts.zip(ends) {
            let start = start.saturating_add(1);
            targets.push(start);
            numbers.push((start, range(tokens.get(start..end).unwrap_or_default())));
        }
        if self.commas.is_empty() && numbers.iter().all(|(_, number)| number.is_none()) {
            return;
        }
        let after = close.saturating_add(1);
        let mut put = |at: usize, token| {
            if let Some(own) = tokens.get_mut(at) {
                *own = token;
            }
        };
        for (start, number) in numbers {
            if let Some((first, last)) = number {
                // A range has at least four tokens, as in `0..1`. A match skips all of them but the first.
                put(start, Token::Number(first.min(last), first.max(last)));
                put(start.saturating_add(1), Token::Either(vec![after]));
            }
        }
        put(self.open, Token::Either(targets));
        for comma in self.commas {
            put(comma, Token::Either(vec![after]));
        }
        put(close, Token::Either(vec![after]));
    }
}

/// Parses `tokens` as the two numbers of a range, as in `0..31`, or returns `None` if they are not a range.
fn range(tokens: &[Token]) -> Option<(u64, u64)> {
    // Two numbers of 64 bits and the dots have at most 42 characters.
    if tokens.len() > 42 {
        return None;
    }
    let own = |token: &Token| if let Token::Char(own) = token { Some(*own) } else { None };
    let text = tokens.iter().map(own).collect::<Option<String>>()?;
    let number = |text: &str| {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        let is_plain = is_plain && (text == "0" || !text.starts_with('0'));
        text.parse::<u64>().ok().filter(|_| is_plain)
    };
    let (first, last) = text.split_once("..")?;
    number(first).zip(number(last))
}

/// The indices of the tokens that may match the next character of a name. No index is in the list twice.
#[derive(Default)]
struct Active {
    tokens: Vec<usize>,
    /// For each token of the pattern, the last step in which the token was added, or 0. Each character of a name is a step.
    steps: Vec<usize>,
    /// The indices of the tokens that [`add`](Self::add) still has to look at. The list is empty between calls. It is kept, because
    /// allocating a new list for each character would take half of the time of a match.
    rest: Vec<usize>,
}

impl Active {
    /// Adds token `at` of the pattern `all` in step `step`, unless the token was added in this step before. If a match can go on
    /// from this token without a character, as it can from a star or a brace, adds the tokens that follow, too.
    fn add(&mut self, at: usize, all: &[Token], step: usize) {
        self.rest.push(at);
        while let Some(at) = self.rest.pop() {
            match self.steps.get_mut(at) {
                Some(last) if *last != step => *last = step,
                _ => continue,
            }
            match all.get(at) {
                Some(Token::Either(targets)) => self.rest.extend(targets),
                Some(Token::Star) => {
                    self.tokens.push(at);
                    self.rest.push(at.saturating_add(1));
                }
                _ => self.tokens.push(at),
            }
        }
    }
}

/// Returns the pattern that matches only `name`, as text without hidden characters.
pub fn literal(name: &str) -> String {
    let mut pattern = String::new();
    for own in name.chars() {
        match own {
            '*' | '?' | '[' | '{' => pattern.extend(['\\', own]),
            // A backslash, a quote and a hidden character are written with their codes.
            own => pattern.push_str(&escape::escape_all(own.encode_utf8(&mut [0; 4]))),
        }
    }
    pattern
}

impl Glob {
    /// Parses `pattern`. Every text is a valid pattern, because a character without a special meaning matches itself.
    pub fn new(pattern: &str) -> Self {
        let (mut tokens, mut chars) = (Vec::new(), pattern.chars());
        let mut braces: Vec<Brace> = Vec::new();
        // If one set is not closed, no later set is closed either. Skipping the search keeps parsing linear.
        let mut closes = true;
        while let Some(own) = chars.next() {
            tokens.push(match own {
                // Consecutive stars are equivalent to one star.
                '*' if tokens.last() == Some(&Token::Star) => continue,
                '*' => Token::Star,
                '?' => Token::Any,
                '\\' => {
                    if let Some((code, rest)) = escape::code(chars.as_str()) {
                        chars = rest.chars();
                        Token::Char(code)
                    } else {
                        Token::Char(chars.next().unwrap_or('\\'))
                    }
                }
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
            let at = tokens.len().saturating_sub(1);
            match (own, braces.last_mut()) {
                ('{', _) => braces.push(Brace { open: at, commas: Vec::new() }),
                (',', Some(brace)) => brace.commas.push(at),
                ('}', Some(_)) => {
                    if let Some(brace) = braces.pop() {
                        brace.close(&mut tokens);
                    }
                }
                _ => {}
            }
        }
        Self(tokens)
    }

    /// Returns whether the pattern matches the whole `name`. Takes time at most proportional to the length of the pattern times the
    /// length of the name.
    pub fn matches(&self, name: &str) -> bool {
        let Self(all) = self;
        let end = all.len();
        let steps = || vec![0; end.saturating_add(1)];
        let (mut now, mut next) = (
            Active { steps: steps(), ..Active::default() },
            Active { steps: steps(), ..Active::default() },
        );
        // The numbers of which only the first digits have been read: the index of the token, and the value of these digits. A value
        // has at most 20 digits, so at most 20 numbers of a token are in the list at a time.
        let (mut begun, mut longer) = (Vec::<(usize, u64)>::new(), Vec::new());
        now.add(0, all, 1);
        for (step, own) in (1..).zip(name.chars()) {
            next.tokens.clear();
            longer.clear();
            let digit = own.to_digit(10).map(u64::from);
            for at in now.tokens.iter().copied() {
                match (all.get(at), digit) {
                    (Some(Token::Star), _) => next.add(at, all, step),
                    (Some(Token::Number(..)), Some(digit)) => longer.push((at, digit)),
                    (Some(token), _) if token.matches(own) => {
                        next.add(at.saturating_add(1), all, step);
                    }
                    _ => {}
                }
            }
            for (at, value) in begun.drain(..) {
                // A number that begins with a zero is 0: further digits do not belong to it.
                let value = if value == 0 {
                    None
                } else {
                    digit.and_then(|digit| value.checked_mul(10)?.checked_add(digit))
                };
                longer.extend(value.map(|value| (at, value)));
            }
            for (at, value) in longer.iter().copied() {
                let Some(Token::Number(first, last)) = all.get(at) else { continue };
                if value <= *last {
                    begun.push((at, value));
                    if value >= *first {
                        next.add(at.saturating_add(1), all, step);
                    }
                }
            }
            if next.tokens.is_empty() && begun.is_empty() {
                return false;
            }
            std::mem::swap(&mut now, &mut next);
        }
        now.tokens.contains(&end)
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
    fn literal_patterns_match_their_name_only() {
        let names = [
            "",
            "w",
            "w[0]",
            "a{0..3}",
            "a{b,c}",
            "*",
            "?",
            r"a\",
            r"\u{61}",
            "\n\u{202e}",
            "\"",
            "]},-!^",
            "重み…",
        ];
        for name in names {
            let pattern = super::literal(name);
            for other in names {
                assert_eq!(Glob::new(&pattern).matches(other), name == other, "{pattern} {other}");
            }
            assert!(!pattern.contains(['\n', '\u{202e}']), "{pattern:?}");
        }
    }

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
            (r"a\u{a}b", "a\nb", true),
            (r"\u{202E}*", "\u{202e}x", true),
            (r"\u{2a}", "*", true),
            (r"\u{2a}", "a", false),
            (r"\u{7b}a,b}", "{a,b}", true),
            (r"\u{7b}a,b}", "a", false),
            (r"\u{}", "u{}", true),
            (r"\u{d800}", "u{d800}", true),
            (r"\ua", "ua", true),
            ("a.{b,c}.*", "a.c.d", true),
            ("a.{b,c}.*", "a.d.d", false),
            ("{a,}b", "b", true),
            ("{a*,b?}.c", "axx.c", true),
            ("{a*,b?}.c", "bxx.c", false),
            ("{a,b{c,d}}e", "bde", true),
            ("{a,b{c,d}}e", "bd", false),
            ("{a,{b}", "{a,{b}", true),
            ("{a{b,c}", "{ac", true),
            ("{a}", "{a}", true),
            ("{a}", "a", false),
            ("a,b}", "a,b}", true),
            (r"\{a,b}", "{a,b}", true),
            (r"{a\,b}", "{a,b}", true),
            ("{[,],x}", ",", true),
            ("l.{0..31}.w", "l.31.w", true),
            ("l.{0..31}.w", "l.32.w", false),
            ("l.{0..31}.w", "l.07.w", false),
            ("l.{0..31}.w", "l..w", false),
            ("l.{31..0}", "l.0", true),
            ("{0..16,18..19,21}", "19", true),
            ("{0..16,18..19,21}", "17", false),
            ("{1..12}3", "123", true),
            ("{1..12}{3..4}", "124", true),
            ("*{5..7}", "layer1234567", true),
            ("*{5..7}", "layer12345678", false),
            ("{00..3}", "{00..3}", true),
            ("{0..18446744073709551615}", "18446744073709551615", true),
            ("{0..18446744073709551615}", "18446744073709551616", false),
            ("{0..18446744073709551616}", "{0..18446744073709551616}", true),
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
        // Patterns with many alternatives, with alternatives inside of alternatives, and with numbers that may begin at every
        // digit.
        assert!(!Glob::new(&"{a,aa}".repeat(2_000)).matches(&"b".repeat(4_000)));
        assert!(Glob::new(&"{a,aa}".repeat(1_000)).matches(&"a".repeat(1_500)));
        assert!(Glob::new(&format!("{}{}", "{".repeat(20_000), ",}".repeat(20_000))).matches(""));
        assert!(!Glob::new(&"*{1..999999}".repeat(100)).matches(&("7".repeat(4_000) + "x")));
        // Exponential matching would take longer than the universe, quadratic parsing an hour.
        assert!(begun.elapsed().as_secs() < 60);
    }
}

//! Short `Debug` output. Little of a file is shown, however long it is, so that a log line stays short.

use core::fmt;

/// Bytes, for debug output that shows only how many there are.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl fmt::Debug for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// A text for debug output: its first characters, and its size in bytes if it is longer.
pub(crate) struct Start<'a>(pub(crate) &'a str);

/// The largest number of characters of a text that its debug output shows.
const MOST: usize = 64;

impl fmt::Debug for Start<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = self.0.char_indices().nth(MOST);
        match more.and_then(|(end, _)| self.0.get(..end)) {
            None => self.0.fmt(f),
            Some(start) => write!(f, "{start:?}… of {:?}", Bytes(self.0.as_bytes())),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::{Bytes, Start};

    #[test]
    fn a_text_ends_where_it_is_long() {
        assert_eq!(format!("{:?}", Start("a\nb")), r#""a\nb""#);
        let (most, more) = ("é".repeat(64), "é".repeat(65));
        assert_eq!(format!("{:?}", Start(&most)), format!("{most:?}"));
        assert_eq!(format!("{:?}", Start(&more)), format!("{most:?}… of 130 bytes"));
        assert_eq!(format!("{:?}", Bytes(&[1, 2])), "2 bytes");
    }
}

//! What the two processes say to each other. Numbers are little-endian.

use std::io::{self, Read, Write};
use std::ops::Range;

/// Bytes of a name, at most, and of a sentence.
const LONGEST: u32 = 8 << 10;
/// Ranges of a plan, at most.
const RANGES: u32 = 1 << 18;
/// Bytes of a part of an answer, at most.
const PART: usize = 1 << 20;
/// In the place of a number of bytes: what is wrong follows.
const FAILED: u32 = u32::MAX;

/// What the confined process asks for. Nothing in it is trusted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Question {
    Read(Range<u64>),
    Plan(Vec<Range<u64>>),
}

fn number(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn short(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn range(from: &mut impl Read) -> io::Result<Range<u64>> {
    Ok(number(from)?..number(from)?)
}

fn put_range(to: &mut impl Write, range: &Range<u64>) -> io::Result<()> {
    to.write_all(&range.start.to_le_bytes())?;
    to.write_all(&range.end.to_le_bytes())
}

fn unexpected() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the other process says what cannot be")
}

/// A short text.
pub(super) fn text(from: &mut impl Read) -> io::Result<String> {
    let length = short(from)?;
    if length > LONGEST {
        return Err(unexpected());
    }
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    from.read_exact(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| unexpected())
}

/// Sends a short text; of a longer one nothing.
pub(super) fn put_text(to: &mut impl Write, text: &str) -> io::Result<()> {
    let length = u32::try_from(text.len()).ok().filter(|length| *length <= LONGEST);
    let length = length.ok_or(io::ErrorKind::InvalidInput)?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(text.as_bytes())
}

/// The next question; none when there are no more.
pub(super) fn question(from: &mut impl Read) -> io::Result<Option<Question>> {
    let mut ranges = Vec::new();
    let count = match short(from) {
        Ok(count) => count,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    };
    if count == 0 {
        return Ok(Some(Question::Read(range(from)?)));
    }
    let count = count.checked_sub(1).filter(|count| *count <= RANGES).ok_or_else(unexpected)?;
    for _ in 0..count {
        ranges.push(range(from)?);
    }
    Ok(Some(Question::Plan(ranges)))
}

/// Asks.
pub(super) fn put_question(to: &mut impl Write, question: &Question) -> io::Result<()> {
    match question {
        Question::Read(range) => {
            to.write_all(&0_u32.to_le_bytes())?;
            put_range(to, range)
        }
        Question::Plan(ranges) => {
            let most = usize::try_from(RANGES).unwrap_or(usize::MAX);
            let ranges = ranges.get(..most.min(ranges.len())).unwrap_or_default();
            let count = u32::try_from(ranges.len()).unwrap_or(RANGES).saturating_add(1);
            to.write_all(&count.to_le_bytes())?;
            ranges.iter().try_for_each(|range| put_range(to, range))
        }
    }
}

/// Sends bytes of an answer.
pub(super) fn put_bytes(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    for part in bytes.chunks(PART) {
        let length = u32::try_from(part.len()).unwrap_or(FAILED);
        to.write_all(&length.to_le_bytes())?;
        to.write_all(part)?;
    }
    Ok(())
}

/// Says why there are no more bytes.
pub(super) fn put_failure(to: &mut impl Write, why: &str) -> io::Result<()> {
    to.write_all(&FAILED.to_le_bytes())?;
    put_text(to, why)
}

/// Fills a buffer with the bytes of an answer.
pub(super) fn bytes(from: &mut impl Read, mut buffer: &mut [u8]) -> io::Result<()> {
    while !buffer.is_empty() {
        let length = short(from)?;
        if length == FAILED {
            return Err(io::Error::other(text(from)?));
        }
        let length = usize::try_from(length).ok().filter(|length| *length > 0);
        let (part, rest) =
            length.and_then(|length| buffer.split_at_mut_checked(length)).ok_or_else(unexpected)?;
        from.read_exact(part)?;
        buffer = rest;
    }
    Ok(())
}

/// The length of the file, or why there is none.
pub(super) fn opened(from: &mut impl Read) -> io::Result<u64> {
    let mut length = [0; 8];
    bytes(from, &mut length)?;
    Ok(u64::from_le_bytes(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_arrive() {
        for asked in
            [Question::Read(3..9), Question::Plan(vec![1..2, 7..u64::MAX]), Question::Plan(vec![])]
        {
            let mut sent = Vec::new();
            put_question(&mut sent, &asked).unwrap();
            assert_eq!(question(&mut &*sent).unwrap(), Some(asked));
        }
        assert_eq!(question(&mut &[][..]).unwrap(), None);
        let many = (RANGES + 2).to_le_bytes();
        assert!(question(&mut &many[..]).is_err());
    }

    #[test]
    fn answers_arrive() {
        let content = vec![7; PART + 5];
        let mut sent = Vec::new();
        put_bytes(&mut sent, &content).unwrap();
        put_failure(&mut sent, "no more").unwrap();
        let mut buffer = vec![0; content.len()];
        let mut from = &*sent;
        bytes(&mut from, &mut buffer).unwrap();
        assert_eq!(buffer, content);
        assert_eq!(bytes(&mut from, &mut buffer).unwrap_err().to_string(), "no more");
        // More than was asked for.
        assert!(bytes(&mut &*sent, &mut [0; 9]).is_err());
        assert!(bytes(&mut &[0; 4][..], &mut [0; 9]).is_err());
    }
}

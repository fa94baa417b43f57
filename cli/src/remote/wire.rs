//! What the two processes say to each other. Numbers are little-endian.

use std::io::{self, Read, Write};
use std::ops::Range;

use zten_shards::Want;

/// Bytes of a name, at most, and of a sentence.
const LONGEST: u32 = 8 << 10;
/// Ranges of a plan, at most.
const RANGES: u32 = 1 << 18;
/// Bytes of a part of an answer, at most.
const PART: usize = 1 << 20;
/// In the place of a number of bytes: what is wrong follows.
const FAILED: u32 = u32::MAX;

/// In the place of a file's number: there is none.
const NONE: u32 = u32::MAX;

/// What the confined process asks for. Nothing in it is trusted but the form of names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// For those bytes.
    Read(FileNumber, Range<u64>),
    /// For nothing: what will be read. An empty range is where other files are.
    Plan(FileNumber, Vec<Range<u64>>),
    /// For a file that the first one names.
    Find(Want),
}

/// A file: the first one is 0, and those that are found follow.
pub(super) type FileNumber = u32;

/// A file that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) number: FileNumber,
    pub(super) length: u64,
}

/// What is asked for, in its first number; a plan has so many ranges more.
const READ: u32 = 0;
const FIND: u32 = 1;
const PLAN: u32 = 2;

fn number(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

pub(super) fn short(from: &mut impl Read) -> io::Result<u32> {
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
    let kind = match short(from) {
        Ok(kind) => kind,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    };
    let question = match kind {
        READ => Question::Read(short(from)?, range(from)?),
        FIND => Question::Find(Want::read(&text(from)?).ok_or_else(unexpected)?),
        count => {
            let count = count.checked_sub(PLAN).filter(|count| *count <= RANGES);
            let (number, mut ranges) = (short(from)?, Vec::new());
            for _ in 0..count.ok_or_else(unexpected)? {
                ranges.push(range(from)?);
            }
            Question::Plan(number, ranges)
        }
    };
    Ok(Some(question))
}

/// Asks.
pub(super) fn put_question(to: &mut impl Write, question: &Question) -> io::Result<()> {
    match question {
        Question::Read(file, range) => {
            to.write_all(&READ.to_le_bytes())?;
            to.write_all(&file.to_le_bytes())?;
            put_range(to, range)
        }
        Question::Find(want) => {
            to.write_all(&FIND.to_le_bytes())?;
            put_text(to, &want.to_string())
        }
        Question::Plan(file, ranges) => {
            let most = usize::try_from(RANGES).unwrap_or(usize::MAX);
            let ranges = ranges.get(..most.min(ranges.len())).unwrap_or_default();
            let count = u32::try_from(ranges.len()).unwrap_or(RANGES).saturating_add(PLAN);
            to.write_all(&count.to_le_bytes())?;
            to.write_all(&file.to_le_bytes())?;
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

/// Says why there are no more bytes, as far as that is a short text.
pub(super) fn put_failure(to: &mut impl Write, why: &str) -> io::Result<()> {
    to.write_all(&FAILED.to_le_bytes())?;
    let most = usize::try_from(LONGEST).unwrap_or_default();
    // No character is divided.
    let short = (0..=most.min(why.len())).rev().find_map(|end| why.get(..end));
    put_text(to, short.unwrap_or_default())
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

/// Sends which file was found, if one was.
pub(super) fn put_found(to: &mut impl Write, found: Option<&Found>) -> io::Result<()> {
    let Found { number, length } = found.unwrap_or(&Found { number: NONE, length: 0 });
    put_bytes(to, &[&number.to_le_bytes()[..], &length.to_le_bytes()].concat())
}

/// The file that was found, if one was, or why it could not be looked for.
pub(super) fn found(from: &mut impl Read) -> io::Result<Option<Found>> {
    let mut answer = [0; 12];
    bytes(from, &mut answer)?;
    let mut answer = &answer[..];
    let found = Found { number: short(&mut answer)?, length: number(&mut answer)? };
    Ok(Some(found).filter(|found| found.number != NONE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_arrive() {
        for asked in [
            Question::Read(0, 3..9),
            Question::Plan(7, vec![1..2, 7..u64::MAX]),
            Question::Plan(0, vec![]),
            Question::Find(Want::read("shard s xxh3 00").unwrap()),
        ] {
            let mut sent = Vec::new();
            put_question(&mut sent, &asked).unwrap();
            assert_eq!(question(&mut &*sent).unwrap(), Some(asked));
        }
        assert_eq!(question(&mut &[][..]).unwrap(), None);
        let many = (RANGES + PLAN + 1).to_le_bytes();
        assert!(question(&mut &[many, [0; 4]].concat()[..]).is_err());
    }

    #[test]
    fn no_other_names_arrive() {
        for name in [
            "shard ../s xxh3 00",
            "shard /s xxh3 00",
            "shard s xxh3 ../00",
            "shard http://h/s xxh3 00",
            "shard %2e%2e xxh3 00",
            "shard s?a xxh3 00",
            "beside ../a.safetensors",
            "beside /a.safetensors",
            "beside http://h/a.safetensors",
            "beside .safetensors",
            "file:///etc/hostname",
            "",
        ] {
            let mut sent = FIND.to_le_bytes().to_vec();
            put_text(&mut sent, name).unwrap();
            assert!(question(&mut &*sent).is_err(), "{name}");
        }
    }

    #[test]
    fn files_that_are_found_arrive() {
        for file in [None, Some(Found { number: 3, length: u64::MAX })] {
            let mut sent = Vec::new();
            put_found(&mut sent, file.as_ref()).unwrap();
            assert_eq!(found(&mut &*sent).unwrap(), file);
        }
    }

    #[test]
    fn what_is_wrong_arrives_however_long_it_is() {
        let long = "\u{1f4a5}".repeat(usize::try_from(LONGEST).unwrap());
        let why = format!("a{long}");
        let mut sent = Vec::new();
        put_failure(&mut sent, &why).unwrap();
        put_bytes(&mut sent, &[7]).unwrap();
        let (mut from, mut buffer) = (&*sent, [0]);
        let said = bytes(&mut from, &mut buffer).unwrap_err().to_string();
        assert!(why.starts_with(&said) && said.len() > 8000, "{}", said.len());
        bytes(&mut from, &mut buffer).unwrap();
        assert_eq!((buffer, from.len()), ([7], 0));
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

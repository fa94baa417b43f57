//! Checks of the head of a server's response: the status, the range, the length and the version of the file, against the request
//! and the first response.

use std::ops::Range;
use std::time::SystemTime;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{StatusCode, response::Parts};

use crate::error::RemoteError;

/// The bytes of a file that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestedBytes {
    /// This number of bytes at the end of the file, or the whole file if it is shorter.
    Last(u64),
    /// A non-empty range of a file whose length is known.
    Range(Range<u64>),
}

impl RequestedBytes {
    /// Returns the value of the HTTP header `Range` that asks for these bytes, such as `bytes=0-99` or `bytes=-100`. Returns `None`
    /// only for a range that ends at 0, which is empty.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let value = match self {
            Self::Last(bytes) => format!("bytes=-{bytes}"),
            Self::Range(range) => format!("bytes={}-{}", range.start, range.end.checked_sub(1)?),
        };
        HeaderValue::from_str(&value).ok()
    }
}

/// What identifies the version of a file: its entity tag and its modification date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    tag: Option<HeaderValue>,
    date: Option<HeaderValue>,
}

impl Version {
    fn read(headers: &HeaderMap) -> Result<Self, RemoteError> {
        let is_date = |value: &&HeaderValue| value.to_str().is_ok_and(is_date);
        Ok(Self {
            tag: single(headers, "ETag")?.filter(|tag| !is_empty_tag(tag)).cloned(),
            date: single(headers, "Last-Modified")?.filter(is_date).cloned(),
        })
    }

    /// Returns whether the server sent a tag or a date, by which versions can be told apart.
    fn is_some(&self) -> bool {
        self.tag.is_some() || self.date.is_some()
    }

    /// Returns the header that makes a server answer only if the file has this version: `If-Match`, or
    /// `If-Unmodified-Since` if there is no strong tag. A weak tag never matches in `If-Match`. Returns `None` for a weak
    /// tag without a date: then only the tags of responses are compared.
    pub(crate) fn condition(&self) -> Option<(HeaderName, HeaderValue)> {
        let strong = self.tag.as_ref().filter(|tag| !tag.as_bytes().starts_with(b"W/"));
        let tag = strong.map(|tag| (header::IF_MATCH, tag.clone()));
        tag.or_else(|| Some((header::IF_UNMODIFIED_SINCE, self.date.clone()?)))
    }

    /// Returns whether `other`, the version of a later response, is the same. Dates are compared only if this version has
    /// no tag.
    fn is_same(&self, other: &Self) -> bool {
        match &self.tag {
            Some(_) => self.tag == other.tag,
            None => self.date == other.date,
        }
    }
}

/// Returns the value of the header `name` in `headers`, or `None` if the response does not have this header.
///
/// # Errors
/// The header occurs more than once, with different values. Programs on the way could each believe another value, so no
/// value is chosen.
pub(crate) fn single<'h>(
    headers: &'h HeaderMap,
    name: &'static str,
) -> Result<Option<&'h HeaderValue>, RemoteError> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.any(|value| Some(value) != first) {
        return Err(RemoteError::Contradiction(name));
    }
    Ok(first)
}

/// Returns whether the entity tag `tag` is empty (`""`), so that it does not distinguish versions.
fn is_empty_tag(tag: &HeaderValue) -> bool {
    let tag = tag.as_bytes();
    matches!(tag.strip_prefix(b"W/").unwrap_or(tag), b"" | b"\"\"")
}

fn is_date(text: &str) -> bool {
    httpdate::parse_http_date(text).is_ok_and(|date| date > SystemTime::UNIX_EPOCH)
}

/// The length in bytes and the version of a file, as the first response declared them. Later responses must agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownFile {
    pub(crate) length: u64,
    pub(crate) version: Version,
}

/// What the head of a response says, after it was checked against the request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) known: KnownFile,
    /// The range of the file whose bytes are the body of the response.
    pub(crate) range: Range<u64>,
}

impl Answer {
    /// Checks the head of a response against the request `asked`, and against the length and version `known` from an earlier
    /// response.
    pub(crate) fn read(
        head: &Parts,
        asked: &RequestedBytes,
        known: Option<&KnownFile>,
    ) -> Result<Self, RemoteError> {
        let headers = &head.headers;
        match head.status {
            StatusCode::PARTIAL_CONTENT => {}
            StatusCode::OK => return Err(RemoteError::RangesIgnored),
            StatusCode::PRECONDITION_FAILED => return Err(RemoteError::Changed),
            StatusCode::RANGE_NOT_SATISFIABLE => {
                return unsatisfiable(headers, known);
            }
            StatusCode::NOT_FOUND | StatusCode::GONE => return Err(RemoteError::NotFound),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(RemoteError::Denied(head.status.as_u16()));
            }
            status => return Err(RemoteError::Status(status.as_u16())),
        }
        let identity = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
        if headers.get_all(header::CONTENT_ENCODING).iter().any(|value| !identity(value)) {
            return Err(RemoteError::Encoded);
        }
        let version = Version::read(headers)?;
        if known.is_some_and(|known| !known.version.is_same(&version)) {
            return Err(RemoteError::Changed);
        }
        if !version.is_some() {
            return Err(RemoteError::NoVersion);
        }
        let (range, length) =
            content_range(headers)?.and_then(read_range).ok_or(RemoteError::OtherRange)?;
        let length = length.ok_or(RemoteError::NoLength)?;
        if let Some(known) = known.filter(|known| known.length != length) {
            return Err(RemoteError::ChangedLength { opened: known.length, now: length });
        }
        let wanted = match asked {
            RequestedBytes::Last(most) => length.saturating_sub(*most)..length,
            RequestedBytes::Range(range) => range.clone(),
        };
        if range != wanted {
            return Err(RemoteError::OtherRange);
        }
        let asked = range.end.saturating_sub(range.start);
        if let Some(said) = single(headers, "Content-Length")? {
            let said = said.to_str().ok().and_then(number).ok_or(RemoteError::Protocol)?;
            if said != asked {
                return Err(RemoteError::OtherLength { asked, said });
            }
        }
        Ok(Self { known: KnownFile { length, version }, range })
    }
}

/// Interprets a response with the status 416, that the requested range cannot be satisfied. In the answer to the first request
/// (`known` is `None`) it means that the file is empty. In a later answer it means that the length of the file has changed. If the
/// header `Content-Range` does not confirm that, returns the status as an error.
fn unsatisfiable(headers: &HeaderMap, known: Option<&KnownFile>) -> Result<Answer, RemoteError> {
    let length = content_range(headers)?.and_then(|text| number(text.strip_prefix("bytes */")?));
    match (length, known) {
        (Some(now), Some(known)) if now != known.length => {
            Err(RemoteError::ChangedLength { opened: known.length, now })
        }
        (Some(0), None) => Ok(Answer {
            known: KnownFile { length: 0, version: Version::read(headers)? },
            range: 0..0,
        }),
        _ => Err(RemoteError::Status(StatusCode::RANGE_NOT_SATISFIABLE.as_u16())),
    }
}

/// Returns the value of the header `Content-Range`, if it is ASCII text.
fn content_range(headers: &HeaderMap) -> Result<Option<&str>, RemoteError> {
    Ok(single(headers, "Content-Range")?.and_then(|value| value.to_str().ok()))
}

/// Parses a `Content-Range` of the form `bytes FIRST-LAST/LENGTH`. The length may be `*`, for which `None` is returned.
fn read_range(text: &str) -> Option<(Range<u64>, Option<u64>)> {
    let (range, length) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last) = (number(first)?, number(last)?);
    let length = if length == "*" { None } else { Some(number(length)?) };
    let end = last.checked_add(1)?;
    (first < end && length.is_none_or(|length| end <= length)).then_some((first..end, length))
}

/// Parses a number that consists of digits only. Rust's own parser would accept a plus sign.
pub(crate) fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(status: u16, headers: &[(&str, &str)]) -> Parts {
        let mut response = http::Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        response.body(()).unwrap().into_parts().0
    }

    #[test]
    fn invalid_content_ranges_are_rejected() {
        assert_eq!(read_range("bytes 0-0/1"), Some((0..1, Some(1))));
        assert_eq!(read_range("bytes 3-9/*"), Some((3..10, None)));
        for wrong in [
            "bytes 1-0/9",
            "bytes 0-9/9",
            "bytes -1-2/9",
            "bytes +1-2/9",
            "bytes 0-/9",
            "0-1/9",
            "bytes */9",
            "bytes 0-18446744073709551615/*",
            "items 0-1/9",
            "bytes 0-1/",
            "bytes 0-1",
        ] {
            assert_eq!(read_range(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn versions_are_compared_by_tag_or_date() {
        let version = |tag: &str, date: &str| {
            let headers = [("etag", tag), ("last-modified", date)];
            let given = headers.iter().filter(|(_, value)| !value.is_empty());
            Version::read(&head(206, &given.copied().collect::<Vec<_>>()).headers).unwrap()
        };
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let strong = version("\"a\"", date);
        assert_eq!(strong.condition().unwrap().0, header::IF_MATCH);
        assert_eq!(version("W/\"a\"", date).condition().unwrap().0, header::IF_UNMODIFIED_SINCE);
        assert_eq!(version("", date).condition().unwrap().0, header::IF_UNMODIFIED_SINCE);
        assert_eq!(version("W/\"a\"", "").condition(), None);
        assert!(strong.is_same(&version("\"a\"", "")) && !strong.is_same(&version("\"b\"", date)));
        assert!(!strong.is_same(&version("", date)));
        assert!(!version("", date).is_same(&version("", "Sun, 06 Nov 1994 08:49:38 GMT")));
        assert!(!version("", "yesterday").is_some());
        for empty in ["\"\"", "W/\"\"", "W/"] {
            assert!(!version(empty, "").is_some(), "{empty}");
            assert_eq!(version(empty, date), version("", date), "{empty}");
        }
        let empty = head(206, &[("etag", "")]);
        assert!(!Version::read(&empty.headers).unwrap().is_some());
    }

    #[test]
    fn contradicting_headers_are_rejected() {
        let honest = [
            ("content-range", "bytes 0-0/1"),
            ("content-length", "1"),
            ("etag", "\"1\""),
            ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ];
        let asked = RequestedBytes::Last(9);
        for (name, value) in honest {
            let with = |other| [&honest[..], &[(name, other)]].concat();
            assert!(Answer::read(&head(206, &with(value)), &asked, None).is_ok(), "{name}");
            for other in ["", "x", "W/\"1\"", "bytes 0-0/2", "2"] {
                let error = Answer::read(&head(206, &with(other)), &asked, None).unwrap_err();
                let is_named = matches!(error, RemoteError::Contradiction(said) if said.eq_ignore_ascii_case(name));
                assert!(is_named, "{name}: {error:?}");
            }
        }
        let other = head(416, &[("content-range", "bytes */0"), ("content-range", "bytes */7")]);
        let error = Answer::read(&other, &asked, None).unwrap_err();
        assert!(matches!(error, RemoteError::Contradiction("Content-Range")), "{error:?}");
    }

    #[test]
    fn status_416_to_the_first_request_means_an_empty_file() {
        let empty = head(416, &[("content-range", "bytes */0")]);
        let answer = Answer::read(&empty, &RequestedBytes::Last(9), None).unwrap();
        assert_eq!((answer.known.length, answer.range), (0, 0..0));
        let other = head(416, &[("content-range", "bytes */7")]);
        let error = Answer::read(&other, &RequestedBytes::Last(9), None).unwrap_err();
        assert!(matches!(error, RemoteError::Status(416)));
    }
}

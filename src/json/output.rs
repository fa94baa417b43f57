//! Functions that write JSON to a `std::io::Write`, with hidden characters escaped.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter};

#[cfg(doc)]
use crate::escape::Escaped;
use crate::escape::runs;

/// Writes `value` to `out` as JSON on one line. Hidden characters in strings are escaped, and floats have the digits that
/// `Debug` gives them.
///
/// # Errors
/// The output fails, or the value fails to serialize.
pub fn to_writer(out: &mut dyn Write, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    Ok(value.serialize(&mut serializer(out))?)
}

/// Returns a serializer that writes JSON to `out` in the form of [`to_writer`].
pub fn serializer(out: &mut dyn Write) -> serde_json::Serializer<&mut dyn Write, impl Formatter> {
    serde_json::Serializer::with_formatter(out, Visible)
}

/// Writes `value` to `out` as JSON on one line, and ends the line.
///
/// # Errors
/// The errors of [`to_writer`].
pub fn to_line(out: &mut dyn Write, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    to_writer(out, value)?;
    out.write_all(b"\n")
}

/// Writes `value` to `out` as [`to_writer`] does, but with each string in the form of [`Escaped`], as in text output for
/// people.
///
/// # Errors
/// The errors of [`to_writer`].
pub fn to_shown(out: &mut dyn Write, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(out, Shown);
    Ok(value.serialize(&mut serializer)?)
}

/// The formatter of [`to_writer`], which escapes hidden characters in strings and writes floats as `Debug` does.
#[derive(Clone, Copy, Debug)]
struct Visible;

impl Formatter for Visible {
    fn write_f32<W: ?Sized + Write>(&mut self, out: &mut W, value: f32) -> io::Result<()> {
        write!(out, "{value:?}")
    }

    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        write!(out, "{value:?}")
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // `serde_json` has already split off quotes, backslashes and ASCII control characters, and writes them by another
        // method.
        for (run, hidden) in runs(fragment) {
            out.write_all(run.as_bytes())?;
            if let Some(c) = hidden {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}

/// The formatter of [`to_shown`], which writes strings in the form of [`Escaped`].
#[derive(Clone, Copy, Debug)]
struct Shown;

impl Formatter for Shown {
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        Visible.write_f64(out, value)
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        for (run, hidden) in runs(fragment) {
            out.write_all(run.as_bytes())?;
            hidden.map_or(Ok(()), |c| write!(out, "\\{}", c.escape_unicode()))?;
        }
        Ok(())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        let byte = match escape {
            CharEscape::Quote => b'"',
            CharEscape::ReverseSolidus => b'\\',
            CharEscape::Solidus => b'/',
            CharEscape::Backspace => 0x08,
            CharEscape::FormFeed => 0x0c,
            CharEscape::LineFeed => b'\n',
            CharEscape::CarriageReturn => b'\r',
            CharEscape::Tab => b'\t',
            CharEscape::AsciiControl(byte) => byte,
        };
        write!(out, "\\{}", char::from(byte).escape_unicode())
    }
}

#[cfg(test)]
mod tests {
    use std::string::String;
    use std::vec::Vec;

    use super::*;
    use crate::json::{List, Text};

    #[test]
    fn reads_back() {
        let text = "a\"\\\n\0\t\u{7f}\u{9b}\u{2028}ä重\u{1f600}\u{1d173}\u{e0041}";
        let value = serde_json::json!({ text: [text, u64::MAX, [], null, 1.0, 1e300], "b": {} });
        let mut out = Vec::new();
        to_line(&mut out, &value).unwrap();
        to_line(&mut out, &Text(text)).unwrap();
        let shown = std::str::from_utf8(&out).unwrap();
        assert!(shown.contains("\\ud834\\udd73") && shown.contains("1.0,1e300"), "{shown:?}");
        for (line, wanted) in shown.lines().zip([&value, &text.into()]) {
            assert!(!line.contains(crate::escape::is_hidden), "{line:?}");
            assert_eq!(&serde_json::from_str::<serde_json::Value>(line).unwrap(), wanted);
        }
    }

    #[test]
    fn strings_are_shown_as_names_are() {
        let text = "a\"\\\n\0\u{8}\t\u{c}\r\u{7f}/\u{2028}ä重\u{1d173}";
        let mut out = Vec::new();
        to_shown(&mut out, text).unwrap();
        let shown: String = serde_json::from_slice(&out).unwrap();
        assert_eq!(shown, crate::escape::escape_all(text));
    }

    #[test]
    fn an_output_that_fails_fails_with_its_error() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let error = to_line(&mut Full, &List(|| [Text("a")])).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}

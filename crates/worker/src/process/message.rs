//! What the messages of all programs with workers have in common: the limits of packets, long messages that are sent in parts, and
//! I/O errors in messages.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

use super::Packet;

/// The largest length in bytes of a packet between a broker and a worker.
pub const PACKET: usize = 64 << 10;
/// The largest number of file descriptors that are sent with a packet.
pub const DESCRIPTORS: usize = 32;
/// The largest length in bytes of a text, or of a part of a longer text, in a packet. The rest of the packet is for the other
/// fields of the message.
pub const PART: usize = PACKET - 1024;

/// A part of a long message, which is sent in several packets because it may not fit one.
#[derive(Debug, Serialize, Deserialize)]
pub struct MessagePart<'a> {
    /// The piece of the message that this packet carries.
    #[serde(with = "serde_bytes", borrow)]
    pub bytes: &'a [u8],
    /// Whether further parts of the message follow this one.
    pub has_more: bool,
}

impl MessagePart<'_> {
    /// Sends `bytes` in parts, each by a call of `send`. No bytes are sent as one empty part.
    ///
    /// # Errors
    /// The errors of `send`.
    pub fn send_all(bytes: &[u8], send: impl Fn(&Packet) -> io::Result<()>) -> io::Result<()> {
        let mut rest = bytes;
        loop {
            let (part, after) = rest.split_at_checked(PART).unwrap_or((rest, &[]));
            let has_more = !after.is_empty();
            send(&Packet::of(&MessagePart { bytes: part, has_more }, None)?)?;
            if !has_more {
                return Ok(());
            }
            rest = after;
        }
    }
}

/// A long message that is being received in parts.
#[derive(Debug)]
pub struct Assembly {
    bytes: Vec<u8>,
    most: usize,
}

impl Assembly {
    /// Creates an empty message that may have up to `most` bytes.
    pub fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), most }
    }

    /// Adds `part`, the next part of the message. Returns the whole message if this is the last part.
    ///
    /// # Errors
    /// The message exceeds its limit. No memory is allocated for the part that exceeds it.
    pub fn add(&mut self, part: &MessagePart<'_>) -> io::Result<Option<Vec<u8>>> {
        let length = self.bytes.len().saturating_add(part.bytes.len());
        if length > self.most {
            return Err(invalid(format_args!("more than {} bytes", self.most)));
        }
        self.bytes.extend(part.bytes);
        Ok((!part.has_more).then(|| std::mem::take(&mut self.bytes)))
    }
}

/// An I/O error, as a message carries it: the error number of the system, or a text if it has none.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoFailure {
    system: Option<i32>,
    text: String,
}

impl IoFailure {
    /// Converts `error` to the form in which a message carries it. A text is cut to 8 KiB, so that it fits a packet.
    pub fn new(error: &io::Error) -> Self {
        let system = error.raw_os_error();
        let text = if system.is_some() { String::new() } else { error.to_string() };
        Self { system, text: split_at_most(&text, 8 << 10).0.to_owned() }
    }
}

impl From<IoFailure> for io::Error {
    fn from(IoFailure { system, text }: IoFailure) -> Self {
        system.map_or_else(|| Self::other(text), Self::from_raw_os_error)
    }
}

/// Splits `text` into its beginning, which is as long as possible but has at most `bytes` bytes, and the text after it. No
/// character is divided.
pub fn split_at_most(text: &str, bytes: usize) -> (&str, &str) {
    let ends = (0..=bytes.min(text.len())).rev();
    ends.map(|end| text.split_at_checked(end)).find_map(|parts| parts).unwrap_or((text, ""))
}

/// Returns the error for an invalid message. `what` says what is wrong with the message.
pub fn invalid(what: impl fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("invalid message: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_keep_their_number_or_text() {
        let errors = [io::Error::from_raw_os_error(2), io::Error::other("é".repeat(10_000))];
        for error in errors {
            let failure = IoFailure::new(&error);
            let sent = postcard::to_allocvec(&failure).unwrap();
            let received = io::Error::from(postcard::from_bytes::<IoFailure>(&sent).unwrap());
            assert_eq!(received.raw_os_error(), error.raw_os_error());
            assert!(error.to_string().starts_with(&received.to_string()) && sent.len() <= PART);
        }
    }

    #[test]
    fn parts_are_joined_up_to_the_limit() {
        for length in [0, 1, PART, PART + 1, 3 * PART] {
            let bytes: Vec<u8> = (0..=250).cycle().take(length).collect();
            let packets = std::cell::RefCell::new(Vec::new());
            MessagePart::send_all(&bytes, |packet| {
                packets.borrow_mut().push(packet.bytes().to_vec());
                Ok(())
            })
            .unwrap();
            let packets = packets.into_inner();
            assert_eq!(packets.len(), length.div_ceil(PART).max(1), "{length}");
            for (most, is_ok) in [(length, true), (length.saturating_sub(1), length == 0)] {
                let mut assembly = Assembly::new(most);
                let joined = packets.iter().try_fold(None, |_, packet| {
                    assembly.add(&postcard::from_bytes(packet).unwrap())
                });
                assert_eq!(joined.is_ok(), is_ok, "{length} of {most}");
                assert!(joined.is_err() || joined.unwrap().unwrap() == bytes);
            }
        }
    }
}

//! The worker's end of the socket to the broker.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use zten::shards::Want;
use zten_report::digests::Sha256;
use zten_worker::process::{PACKET, PART, Received, invalid, split_at_most, write};

use super::message::{FoundSibling, Input, InputKind, Reply, Request, Stream, WireWant};

/// The worker's end of the socket to the broker.
#[derive(Debug, Default)]
pub(crate) struct Channel(Mutex<ChannelState>);

#[derive(Debug, Default)]
struct ChannelState {
    received: Option<Received>,
    /// Inputs that arrived while the worker waited for an answer.
    ahead: VecDeque<(Input, Option<File>)>,
    /// Serialized messages that have not been sent.
    unsent: Vec<u8>,
}

/// A message of the broker, with the open file whose descriptor came with the message.
enum Answer {
    Input(Input, Option<File>),
    Found(Option<(File, FoundSibling)>),
    Created(File),
    Blob(Option<u64>),
    Failed(io::Error),
}

impl Channel {
    fn lock(&self) -> MutexGuard<'_, ChannelState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message to the packet that is sent to the broker next. If the packet has no room for the message, the packet is sent
    /// first.
    pub(crate) fn put(&self, request: &Request<'_>) -> io::Result<()> {
        self.lock().put(request)
    }

    /// Sends a message, and all messages that were added before, now.
    pub(crate) fn send(&self, request: &Request<'_>) -> io::Result<()> {
        let mut state = self.lock();
        state.put(request)?;
        state.flush()
    }

    /// Moves `text`, which the job prints on `stream`, to the messages that are sent to the broker next. The bytes of an incomplete
    /// character at the end stay in `text`. Any other text that is not UTF-8 is an error.
    pub(crate) fn text(&self, stream: Stream, text: &mut Vec<u8>) -> io::Result<()> {
        let valid = match str::from_utf8(text) {
            Ok(_) => text.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(error) => return Err(io::Error::other(error)),
        };
        let mut rest =
            text.get(..valid).and_then(|text| str::from_utf8(text).ok()).unwrap_or_default();
        while !rest.is_empty() {
            let (part, after) = split_at_most(rest, PART);
            self.put(&Request::Text(stream, part))?;
            rest = after;
        }
        text.drain(..valid);
        Ok(())
    }

    /// Asks the broker for the sibling file `want` of input `number`. Returns `None` if there is no such file.
    pub(crate) fn find(
        &self,
        number: u32,
        want: &Want,
    ) -> io::Result<Option<(File, FoundSibling)>> {
        match self.ask(&Request::Find(number, WireWant(want.clone())))? {
            Answer::Found(found) => Ok(found),
            Answer::Failed(error) => Err(error),
            _ => Err(invalid("another answer")),
        }
    }

    /// Asks the broker for the length of the blob `sha256` in the store of input `number`, a manifest of Ollama. Returns `None` if
    /// the store has no such blob.
    pub(crate) fn blob(&self, number: u32, sha256: &Sha256) -> io::Result<Option<u64>> {
        match self.ask(&Request::Blob(number, *sha256))? {
            Answer::Blob(length) => Ok(length),
            Answer::Failed(error) => Err(error),
            _ => Err(invalid("another answer")),
        }
    }

    /// Asks the broker to create output file `number`. A single file is number 0 of 0 `shards`. In a set of shards, the shards
    /// are counted from 0, and the file with the number `shards` is the file that lists them.
    pub(crate) fn create(&self, number: u32, shards: u32) -> io::Result<File> {
        match self.ask(&Request::Create(number, shards))? {
            Answer::Created(file) => Ok(file),
            Answer::Failed(error) => Err(error),
            _ => Err(invalid("another answer")),
        }
    }

    /// Sends `request`, and waits for the answer. Inputs that arrive before the answer are kept.
    fn ask(&self, request: &Request<'_>) -> io::Result<Answer> {
        let mut state = self.lock();
        state.put(request)?;
        state.flush()?;
        loop {
            match state.receive()? {
                Some(Answer::Input(input, file)) => state.ahead.push_back((input, file)),
                Some(answer) => return Ok(answer),
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }

    /// Returns the next input, or `None` if no more follow. Sends the pending results first if the next input has not arrived, is
    /// not a local file, or has at least `large` bytes, so that they are not delayed.
    pub(crate) fn next(&self, large: u64) -> io::Result<Option<(Input, Option<File>)>> {
        let mut state = self.lock();
        match state.ahead.front() {
            Some((Input { kind: InputKind::File(length), .. }, _)) if *length < large => {}
            _ => state.flush()?,
        }
        if let Some(input) = state.ahead.pop_front() {
            return Ok(Some(input));
        }
        loop {
            match state.receive()? {
                Some(Answer::Input(input, file)) => state.ahead.push_back((input, file)),
                Some(_) => {
                    return Err(invalid(
                        "the process that opens files sent an answer without a request",
                    ));
                }
                None => return Ok(None),
            }
            // The inputs of one packet are read together, so that small files are processed without a message between them.
            if state.received.as_ref().is_none_or(Received::is_over) {
                return Ok(state.ahead.pop_front());
            }
        }
    }
}

impl ChannelState {
    fn put(&mut self, request: &Request<'_>) -> io::Result<()> {
        let message = postcard::to_allocvec(request).map_err(io::Error::other)?;
        if self.unsent.len().saturating_add(message.len()) > PACKET {
            self.flush()?;
        }
        self.unsent.extend(message);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.unsent.is_empty() {
            write(io::stdin(), &self.unsent)?;
            self.unsent.clear();
        }
        Ok(())
    }

    /// Receives the next message. Returns `None` if the broker has closed the socket.
    fn receive(&mut self) -> io::Result<Option<Answer>> {
        loop {
            let received = match &mut self.received {
                Some(received) => received,
                none => match Received::receive(io::stdin())? {
                    Some(received) => none.insert(received),
                    None => return Ok(None),
                },
            };
            let answer = match received.message()? {
                None => {
                    self.received = None;
                    continue;
                }
                Some(Reply::Input(input)) => {
                    let has_file = !matches!(input.kind, InputKind::Failed(_));
                    let file = has_file.then(|| received.file()).transpose()?;
                    Answer::Input(input, file)
                }
                Some(Reply::Found(None)) => Answer::Found(None),
                Some(Reply::Found(Some(found))) => Answer::Found(Some((received.file()?, found))),
                Some(Reply::Blob(length)) => Answer::Blob(length),
                Some(Reply::Created) => Answer::Created(received.file()?),
                Some(Reply::Failed(failure)) => Answer::Failed(failure.into()),
                Some(Reply::Bytes(_)) => return Err(invalid("another answer")),
            };
            return Ok(Some(answer));
        }
    }
}

//! Tests of sinks that fail: the bytes that they were given never become a file.

use std::io;

use zten::error::Misuse;
use zten::write::{NewObject, ShardWriter, Sink, Writer};
use zten::{DType, Error, ErrorKind};

use super::{misuse, settings};

/// A sink that takes a limited number of bytes. A write that would exceed the limit fails, and a later, shorter write
/// may succeed.
struct Short(usize);

impl Sink for Short {
    type Output = Self;

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let full = || Error::from_write(io::ErrorKind::StorageFull.into());
        self.0 = self.0.checked_sub(bytes.len()).ok_or_else(full)?;
        Ok(())
    }

    fn finish(self) -> Result<Self, Error> {
        Ok(self)
    }
}

/// Returns whether `error` is the error of a full sink, with the error of the system.
fn is_full(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|it| it.downcast_ref::<io::Error>());
    let is_its = source.is_some_and(|source| source.kind() == io::ErrorKind::StorageFull);
    error.kind() == ErrorKind::Write && is_its
}

fn failed(result: Result<(), Error>) -> bool {
    result.is_err_and(|error| is_full(&error))
}

/// If the sink of the root or of any shard is full, neither the root nor a shard can be finished.
#[test]
fn an_error_of_a_sink_is_final() {
    assert!(failed(ShardWriter::new(Short(0), &settings()).map(drop)));
    let mut writer = Writer::new(Short(1 << 20), &settings()).unwrap();
    let mut shard = ShardWriter::new(Short(4096), &settings()).unwrap();
    let object = NewObject::dense("w", &[3], DType::U8);
    let mut out = writer.object_in("s", &mut shard, &object).unwrap();
    let error = out.write_part("data", &[1, 2, 3]).unwrap_err();
    assert_eq!((error.tensor(), error.component()), (Some("w"), Some("data")));
    assert!(is_full(&error), "{error}");
    assert_eq!(misuse(out.finish().unwrap_err()), Misuse::Aborted);
    assert!(shard.finish().is_err());
    assert_eq!(misuse(writer.finish().map(drop).unwrap_err()), Misuse::Unfinished);

    let shard = ShardWriter::new(Short(4096), &settings()).unwrap();
    assert!(failed(shard.finish().map(drop)));
}

/// A failed sink gets no further bytes, even if it would take them.
#[test]
fn a_shard_that_lacks_bytes_is_not_finished() {
    let aborted = |error: Error| misuse(error) == Misuse::Aborted;
    let mut shard = ShardWriter::new(Short(5_000), &settings()).unwrap();
    assert!(failed(shard.write(&[0; 5_000])));
    assert!(aborted(shard.write(&[1, 2, 3]).unwrap_err()));
    assert!(aborted(shard.end_blob().map(drop).unwrap_err()));
    assert!(aborted(shard.finish().map(drop).unwrap_err()));
}

/// The error of the system is returned unchanged, not wrapped in another error.
#[test]
fn the_error_of_the_system_is_returned_unchanged() {
    let mut writer = Writer::new(Short(4096), &settings()).unwrap();
    let error = writer.add("w", &[3], &[1_u8, 2, 3]).unwrap_err();
    assert!(error.to_string().contains(" in tensor \"w\""), "{error}");
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::StorageFull);
    assert!(writer.finish().is_err());
}

//! Sinks that fail: what they were given never becomes a file.

use zten::StorageType;
use zten::error::Misuse;
use zten::write::{NewObject, ShardWriter, Sink, WriteError, Writer};

use super::{misuse, settings};

/// Takes so many bytes, and fails where more come. It may take fewer afterwards.
struct Short(usize);

impl Sink for Short {
    type Error = &'static str;

    fn write(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or("full")?;
        Ok(())
    }
}

/// Whichever file is full, none is finished.
#[test]
fn what_a_sink_fails_with_is_final() {
    let failed = |result: Result<(), WriteError<&str>>| match result {
        Err(WriteError::Sink(error)) => error == "full",
        _ => false,
    };
    assert!(failed(ShardWriter::new(Short(0), &settings()).map(drop)));
    let mut writer = Writer::new(Short(1 << 20), &settings()).unwrap();
    let mut shard = ShardWriter::new(Short(4096), &settings()).unwrap();
    let object = NewObject::dense("w", &[3], StorageType::U8);
    let mut out = writer.object_in("s", &mut shard, &object).unwrap();
    assert!(failed(out.write("data", &[1, 2, 3])));
    assert_eq!(misuse(out.end().unwrap_err()), Misuse::Aborted);
    assert!(shard.finish().is_err());
    assert!(matches!(writer.finish(), Err(WriteError::Refused(error))
        if misuse(error) == Misuse::Unfinished));

    let shard = ShardWriter::new(Short(4096), &settings()).unwrap();
    assert!(failed(shard.finish().map(drop)));
}

/// A sink that has failed is given nothing more, even if it would take it.
#[test]
fn a_shard_that_lacks_bytes_is_not_finished() {
    let aborted = |error: WriteError<&str>| match error {
        WriteError::Refused(error) => misuse(error) == Misuse::Aborted,
        WriteError::Sink(_) => false,
    };
    let mut shard = ShardWriter::new(Short(5_000), &settings()).unwrap();
    assert!(matches!(shard.write(&[0; 5_000]), Err(WriteError::Sink("full"))));
    assert!(aborted(shard.write(&[1, 2, 3]).unwrap_err()));
    assert!(aborted(shard.end_blob().map(drop).unwrap_err()));
    assert!(aborted(shard.finish().map(drop).unwrap_err()));
}

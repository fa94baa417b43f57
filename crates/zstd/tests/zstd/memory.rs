//! The heap memory that the encoder and the decoder use.

use crate::common::{KINDS, content};
use zten_zstd::decode::{Bounds, DecodeError, Decoder, Frames};
use zten_zstd::encode::{EncodeError, Encoder, Level};

/// Returns the largest number of bytes on the heap at one time while `run` runs.
fn most(run: impl FnOnce()) -> u64 {
    allocation_counter::measure(run).bytes_max
}

#[test]
#[cfg_attr(miri, ignore = "it is a matter of sizes")]
fn memory_does_not_follow_the_content() {
    for kind in KINDS {
        let content = content(*kind, 4 << 20);
        for level in 1..=5 {
            let mut frame = Vec::with_capacity(content.len() + 1000);
            let heap = most(|| {
                let mut out = |bytes: &[u8]| {
                    frame.extend(bytes);
                    Ok::<_, EncodeError>(())
                };
                let level = Level::new(level).unwrap();
                let mut encoder = Encoder::new(level, 4 << 20).unwrap();
                encoder.write(&content, &mut out).unwrap();
                encoder.finish(&mut out).unwrap();
            });
            assert!(heap <= 2_300_000, "{} {level}: {heap} bytes of heap", kind.0);

            // The bound allows for growth: the window is 256 KiB, and while a larger buffer is allocated, the smaller
            // one still exists.
            let mut buffer = vec![0; 64 << 10];
            let heap = most(|| {
                let mut source = |at: u64, buffer: &mut [u8]| {
                    let at = usize::try_from(at).unwrap();
                    buffer.copy_from_slice(frame.get(at..).unwrap().get(..buffer.len()).unwrap());
                    Ok::<_, DecodeError>(())
                };
                let bounds = Bounds { window: 1 << 20, decoded: 4 << 20, declared: None };
                let stored = 0..u64::try_from(frame.len()).unwrap();
                let mut frames = Frames::<Decoder>::open(&mut source, stored, bounds).unwrap();
                while frames.read(&mut source, &mut buffer, &mut |_| ()).unwrap() > 0 {}
            });
            let bound = (5 * 128 + 2 * 128 + 15) << 10;
            assert!(heap <= bound, "{} {level}: {heap} bytes of heap", kind.0);
        }
    }
}

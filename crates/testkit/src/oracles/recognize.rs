//! The oracle for recognizing the format of a file by its content.

use std::path::Path;

use zten::formats::Recognition;

use super::heap;
use super::strict::Strict;

/// The largest number of bytes of heap for each byte of a file. The most expensive file is a pickle each of whose
/// bytes pushes another kind of value.
const EACH: u64 = 64;
/// The largest number of bytes of heap that recognizing takes for any file in addition to [`EACH`]: windows of the
/// file, and tables for decompression.
const MORE: u64 = 512 << 10;

/// Recognizes the format of `file` from a source that lends bytes and from one that does not, and checks that both
/// find the same. The sources must not be asked for bytes outside of the file, and the heap must stay within a bound
/// that is proportional to its length.
///
/// # Panics
/// Panics if a promise does not hold.
pub fn recognize(file: &[u8]) {
    let length = u64::try_from(file.len()).expect("a length");
    let path = Path::new("x");
    let (peak, lent) = heap::peak(|| zten::formats::recognize(&file, length, path));
    let most = length.saturating_mul(EACH).saturating_add(MORE);
    assert!(peak <= most, "{peak} bytes of heap for {length} bytes");
    let lent = lent.expect("bytes in memory");
    let copied = zten::formats::recognize(&Strict(file), length, path).expect("bytes in memory");
    assert_eq!((lent.kind(), lent.format()), (copied.kind(), copied.format()));
    for name in ["x", "x.zt", "x.safetensors", "x.gguf", "x.npy", "x.npz", "x.pt", "x.txt"] {
        let verdicts = |recognition: &Recognition| {
            let error = recognition.check_name(Path::new(name)).err();
            error.map(|error| error.to_string())
        };
        assert_eq!(verdicts(&lent), verdicts(&copied), "{name}");
    }
}

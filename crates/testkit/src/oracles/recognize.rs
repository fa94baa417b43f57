//! The oracle for recognizing files.

use std::path::Path;

use zten::formats::Recognition;

use super::heap;
use super::strict::Strict;

/// The largest number of bytes of heap for each byte of a file. A pickle that pushes another kind of value with each byte
/// takes the most.
const EACH: u64 = 64;
/// The largest number of bytes of heap for any file in addition: windows of the file, and tables for decompression.
const MORE: u64 = 512 << 10;

/// Recognizes `file` from several sources, none of which may be asked for bytes outside of the file. Memory must follow its
/// length, and each name must have one verdict.
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

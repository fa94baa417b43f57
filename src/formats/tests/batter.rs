//! Damages small files in many small ways: cuts them at each length, flips each bit, sets or changes each byte by one, removes
//! each byte, and inserts a byte at each position. Reading the result must return an error about the file, or content that the
//! test of the format accepts, in less than [`MEMORY`] bytes of heap.

use alloc::string::ToString as _;
use alloc::vec::Vec;

use ::safetensors::SafeTensors;

use super::gguf::{info, pair, text};
use crate::error::Error;
use crate::formats::error::FormatError;

use super::{data, gguf, npy, npz, read, safetensors};

/// The memory in bytes that reading a file of a few bytes may take: a chunk, a decompressor and its buffers.
const MEMORY: u64 = 3 << 20;

/// The result of reading: attributes and tensors.
pub(super) type Content = (Vec<u8>, Vec<super::Read>);

/// A function that reads a whole file.
type Reader<'r> = &'r dyn Fn(&[u8]) -> Result<Content, Error>;

/// Reads `bytes`, which may be damaged, with `reader`. Returns the content, or `None` if the file is rejected. Checks the
/// memory that reading takes, that the error is about the file, and that its message has no control characters.
fn survive(bytes: &[u8], reader: Reader<'_>) -> Option<Content> {
    let mut result = Err(FormatError::violation(
        super::super::rules::Rule::NpyHeader,
        "nothing was read",
    )
    .into());
    let memory = allocation_counter::measure(|| result = reader(bytes));
    assert!(memory.bytes_max < MEMORY, "{} bytes of memory for {bytes:?}", memory.bytes_max);
    match result {
        Ok(content) => Some(content),
        Err(error) => {
            assert!(error.is_rejection(), "{error}");
            assert!(!error.to_string().chars().any(char::is_control), "{error:?}");
            None
        }
    }
}

/// Reads damaged forms of the file `bytes`, and calls `validate` with the damaged bytes, what was read of them, and the content
/// of the undamaged file, unless the damaged file is rejected or was only cut.
fn batter(bytes: &[u8], validate: impl Fn(&[u8], &Content, &Content)) {
    batter_for(bytes, &|bytes| read("name.npy", bytes), validate);
}

/// Damages a file as [`batter`] does, and reads it with `reader`. Checks that each start of the file is rejected or has the
/// content of the whole file; `validate` gets only the other damaged forms.
pub(super) fn batter_for(
    bytes: &[u8],
    reader: Reader<'_>,
    validate: impl Fn(&[u8], &Content, &Content),
) {
    let survive = |bytes: &[u8]| survive(bytes, reader);
    let whole = survive(bytes).expect("the file is valid before it is damaged");
    for end in 0..bytes.len() {
        if let Some(content) = survive(&bytes[..end]) {
            assert!(content == whole, "the first {end} bytes are another file");
        }
    }
    let mut damaged = bytes.to_vec();
    for at in 0..bytes.len() {
        let byte = bytes[at];
        let flips = (0..8).map(|bit| byte ^ 1 << bit);
        for other in flips.chain([0, 0xff, byte.wrapping_add(1), byte.wrapping_sub(1)]) {
            damaged[at] = other;
            if let Some(content) = survive(&damaged) {
                validate(&damaged, &content, &whole);
            }
        }
        damaged[at] = byte;
    }
    // A byte is inserted, and a byte is removed.
    for at in 0..=bytes.len() {
        let (before, behind) = bytes.split_at(at);
        let more = [0, b' ', 0xff].map(|byte| [before, &[byte], behind].concat());
        let less = [before, behind.get(1..).unwrap_or_default()].concat();
        for damaged in more.into_iter().chain([less]) {
            if let Some(content) = survive(&damaged) {
                validate(&damaged, &content, &whole);
            }
        }
    }
}

/// Accepts any content, for formats whose headers have no checksum: damage may turn one valid header into another.
fn anything(_: &[u8], _: &Content, _: &Content) {}

/// Checks that damage that is not detected does not change the content, for archives of members, which have checksums and
/// repeat their facts.
fn the_same(_: &[u8], content: &Content, whole: &Content) {
    assert!(content == whole);
}

/// Checks that the crate `safetensors` also accepts the damaged file, and reads the same tensors from it.
fn as_the_crate_does(bytes: &[u8], (_, tensors): &Content, _: &Content) {
    let other = SafeTensors::deserialize(bytes).expect("the crate rejects what is read here");
    assert_eq!(other.len(), tensors.len());
    for (name, shape, _, data) in tensors {
        let tensor = other.tensor(name).unwrap();
        assert!(tensor.data() == data);
        assert!(tensor.shape().iter().map(|dimension| *dimension as u64).eq(shape.iter().copied()));
    }
}

#[test]
fn safetensors_files() {
    let header = r#"{"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[1,2],"data_offsets":
        [0,8]},"y":{"dtype":"BOOL","shape":[],"data_offsets":[8,9]}} "#;
    batter(&safetensors::file(header, &[1, 2, 3, 4, 5, 6, 7, 8, 1]), as_the_crate_does);
    batter(&data("types.safetensors"), as_the_crate_does);
}

#[test]
fn numpy_files() {
    let elements: Vec<u8> = (0..48).collect();
    batter(&npy::file(">u2", true, "(2, 3, 4)", &elements), anything);
    batter(&npy::file("<f8", false, "(6,)", &elements), anything);
    batter(&data("columns.npy"), anything);
}

#[test]
fn numpy_archives() {
    let members = [
        ("a.npy", npy::file("|u1", true, "(2, 3)", &[1, 2, 3, 4, 5, 6])),
        ("b.npy", npy::file("<u2", false, "()", &[1, 2])),
    ];
    for deflated in [false, true] {
        batter(&npz::archive(&members, deflated), the_same);
    }
    batter(&data("stored.npz"), the_same);
    batter(&data("compressed.npz"), the_same);
}

#[test]
fn gguf_files() {
    let strings = [&8_u32.to_le_bytes()[..], &2_u64.to_le_bytes(), &text("a"), &text("b")].concat();
    let pairs = [pair("k", 9, &strings), pair("general.alignment", 4, &[32, 0, 0, 0])];
    let infos = [info("a", &[3, 2], 24, 0), info("b", &[32], 2, 32)];
    let mut elements = [9; 50];
    elements[6..32].fill(0);
    batter(&gguf::file(&pairs, &infos, &elements), anything);
    batter(&data("tiny.gguf"), anything);
}

//! Files that are named and not read: as much of each as tells its format.

use super::Cases;
use crate::other::zip::{Archive, Member};

pub(super) fn all(cases: &mut Cases) {
    let zip = |name: &str| Archive::new(&[Member::stored(name, b"content")]).bytes();
    let mut tar = vec![0; 1024];
    tar[..8].copy_from_slice(b"sys_info");
    tar[257..263].copy_from_slice(b"ustar\0");
    for (rule, name, bytes) in [
        ("format-pickle", "protocol-2.pkl", b"\x80\x02}q\0.".to_vec()),
        ("format-pickle", "protocol-4.bin", b"\x80\x04\x95\x03\0\0\0\0\0\0\0}\x94.".to_vec()),
        ("format-pickle", "protocol-0.pickle", b"(dp0\n.".to_vec()),
        ("format-torch", "legacy.pt", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.".to_vec()),
        ("torch-global", "system.pkl", b"\x80\x02cos\nsystem\nX\x04\0\0\0true\x85R.".to_vec()),
        ("torch-global", "protocol-0.pkl", b"cos\nsystem\n(S'true'\ntR.".to_vec()),
        ("torch-trailing", "two.pkl", b"\x80\x02}.\x80\x02}.".to_vec()),
        ("format-tar", "old.pth", tar),
        ("format-zip", "other.zip", zip("readme.txt")),
        ("format-keras", "model.keras", zip("metadata.json")),
        ("format-hdf5", "weights.h5", b"\x89HDF\r\n\x1a\n\0\0\0\0".to_vec()),
        ("format-onnx", "producer.onnx", b"\x08\x08\x12\x07pytorch\x1a\x032.0".to_vec()),
        ("format-onnx", "graph.onnx", b"\x08\x07:\x04\x12\x02ok".to_vec()),
        ("format-saved-model", "saved_model.pb", b"\x08\x01\x12\x80\x01\n\x02ok".to_vec()),
        ("format-tflite", "model.tflite", b"\x1c\0\0\0TFL3".to_vec()),
        ("format-ggml", "old.bin", b"tjgg\x03\0\0\0".to_vec()),
        ("format-unknown", "text.bin", b"Some text.".to_vec()),
    ] {
        cases.reject("named", (rule, name), bytes);
    }
}

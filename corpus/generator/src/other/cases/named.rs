//! Files that are named and not read: as much of each as tells its format.

use super::Cases;
use crate::other::torch::global;
use crate::other::zip::{Archive, Member};

/// The magic number of streams.
const LEGACY: &[u8] = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.";

pub(super) fn all(cases: &mut Cases) {
    let zip = |name: &str| Archive::new(&[Member::stored(name, b"content")]).bytes();
    // Detected by its first instructions.
    let lines = |rest: &[u8]| [b"(dp0\n0(", rest].concat();
    let stream = |magic: &[u8], others: &[&[u8]]| [magic, &others.concat()[..], &[0; 16]].concat();
    let id = [b"(U\x07storage", &global("torch", "FloatStorage")[..], b"U\x010U\x03cpuK\x04Nt"];
    let tensor = [b"\x80\x02", &id.concat()[..], b"Q."].concat();
    let keys: &[u8] = b"\x80\x02]U\x010a.";
    let mut tar = vec![0; 1024];
    tar[..8].copy_from_slice(b"sys_info");
    tar[257..263].copy_from_slice(b"ustar\0");
    for (rule, name, bytes) in [
        ("format-pickle", "protocol-2.pkl", b"\x80\x02}q\0.".to_vec()),
        ("format-pickle", "protocol-4.bin", b"\x80\x04\x95\x03\0\0\0\0\0\0\0}\x94.".to_vec()),
        ("format-pickle", "protocol-0.pickle", b"(dp0\n.".to_vec()),
        ("format-pickle", "text.pickle", lines(b"S'a'\nI1\nI01\nL5L\nF0.5\nV\\u00e4\nl.")),
        ("format-pickle", "memo.pickle", lines(b"S'a'\np1\ng1\nd.")),
        ("format-pickle", "popped.pickle", lines(b"NN0(N1S'a'\nd.")),
        ("format-pickle", "frozen.pkl", b"\x80\x04(N\x91.".to_vec()),
        ("format-pickle", "long.pkl", b"\x80\x02N0\x8b\x01\0\0\0\x05.".to_vec()),
        (
            "format-torch",
            "legacy.pt",
            stream(LEGACY, &[b"\x80\x02M\xe9\x03.", b"\x80\x02}.", &tensor, keys]),
        ),
        ("format-torch", "legacy-0.pt", {
            let texts: [&[u8]; 4] = [b"I1001\n.", b"(d.", b"(d.", b"(l."];
            stream(b"L119547037146038801333356L\n.", &texts)
        }),
        ("format-torch", "legacy-4.pt", {
            let modern: [&[u8]; 4] =
                [b"\x80\x04M\xe9\x03.", b"\x80\x04}.", b"\x80\x04}.", b"\x80\x04]."];
            let magic = [b"\x80\x04\x95\x0d\0\0\0\0\0\0\0", &LEGACY[2..]].concat();
            stream(&magic, &modern)
        }),
        (
            "torch-global",
            "legacy.pt",
            stream(LEGACY, &[b"\x80\x02K\x01.", b"\x80\x02cos\nsystem\n."]),
        ),
        ("torch-global", "legacy-keys.pt", {
            stream(
                LEGACY,
                &[b"\x80\x02K\x01.", b"\x80\x02}.", b"\x80\x02}.", b"\x80\x02cos\nsystem\n."],
            )
        }),
        ("torch-pickle", "legacy-cut.pt", LEGACY.to_vec()),
        ("torch-opcode", "legacy-three.pt", stream(LEGACY, &[b"\x80\x02K\x01.", b"\x80\x02}."])),
        ("torch-persistent-id", "legacy.pt", {
            stream(LEGACY, &[b"\x80\x02K\x01.", b"\x80\x02}.", b"\x80\x02U\x06module\x85Q."])
        }),
        ("torch-opcode", "inst.pickle", lines(b"(ios\nsystem\n.")),
        ("torch-opcode", "obj.pickle", lines(b"(NNo.")),
        ("torch-opcode", "ext.pkl", b"\x80\x02N\x82\x01.".to_vec()),
        ("torch-opcode", "dup.pickle", lines(b"N2.")),
        ("torch-opcode", "persid.pickle", lines(b"P1\n.")),
        ("torch-opcode", "later.pickle", lines(b"N\x85.")),
        ("torch-pickle", "number.pickle", lines(b"Ix\n.")),
        ("torch-pickle", "index.pickle", lines(b"Np-1\n.")),
        ("torch-pickle", "odd.pickle", lines(b"NNNd.")),
        ("torch-memo", "missing.pickle", lines(b"g7\n.")),
        ("torch-memo", "twice.pickle", lines(b"Np1\nNp1\nd.")),
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

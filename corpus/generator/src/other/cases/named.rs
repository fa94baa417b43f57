//! Files that are named and not read: files of formats that zten recognizes, files of unknown formats, and pickles that break a
//! rule. Most of them have only as many bytes as it takes to identify the format.

use super::Cases;
use super::torch_stream::MAGIC;
use crate::other::zip::{Archive, Member};

/// A pointer of Git LFS, which is in place of a file that was not fetched.
pub(super) const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n\
    oid sha256:0000000000000000000000000000000000000000000000000000000000000000\n\
    size 4976698672\n";

pub(super) fn all(cases: &mut Cases) {
    let zip = |name: &str| Archive::new(&[Member::stored(name, b"content")]).bytes();
    // Pickles of protocol 0, which consist of lines, have no magic, and are detected by their first instructions.
    let lines = |rest: &[u8]| [b"(dp0\n0(", rest].concat();
    let mut tar = vec![0; 1024];
    tar[..6].copy_from_slice(b"readme");
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
        ("torch-pickle", "legacy-cut.pt", MAGIC.to_vec()),
        ("torch-global", "legacy.pt", {
            [MAGIC, b"\x80\x02M\xe9\x03.\x80\x02cos\nsystem\n."].concat()
        }),
        ("torch-opcode", "legacy-protocol-0.pt", {
            b"L119547037146038801333356L\n.I1001\n.(d.(d.(l.".to_vec()
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
        ("format-tar", "files.tar", tar.clone()),
        ("format-torch", "old.pth", {
            tar[..8].copy_from_slice(b"sys_info");
            tar
        }),
        ("format-torch-export", "program.pt2", zip("program/archive_format")),
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
    for (rule, name, bytes) in programs() {
        cases.reject("named", (rule, name), bytes);
    }
    for (rule, name, bytes) in everyday() {
        cases.reject("named", (rule, name), bytes.to_vec());
    }
    for (rule, name, bytes) in pickles() {
        cases.reject("named", (rule, name), bytes);
    }
}

/// Returns the starts of model files that zten recognizes and does not read, each with the rule that names its format.
fn programs() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let joblib = [
        &b"\x80\x04\x95\x28\0\0\0\0\0\0\0\x8c\x13joblib.numpy_pickle\x94"[..],
        b"\x8c\x11NumpyArrayWrapper\x94\x93\x94)\x81\x94}\x94b.",
    ];
    let mut matlab = vec![b' '; 128];
    matlab[..19].copy_from_slice(b"MATLAB 5.0 MAT-file");
    matlab[124..].copy_from_slice(b"\x00\x01IM");
    let map = b"\x81\xa6params\x81\xa6kernel\xc7\x0d\x01\x93\x91\x01\xa7float32\xc4\x04";
    let flax = [&map[..], &[0; 4]].concat();
    let table = [&[0; 40][..], &0xdb47_7524_8b80_fb57_u64.to_le_bytes()].concat();
    let mut weights = vec![0; 128];
    weights[0] = 1;
    weights[4] = 2;
    weights[64..68].copy_from_slice(b"\xef\xbe\xad\xde");
    let core_ml = b"\x08\x04\x12\x10\n\x0e\n\x05image\x1a\x05*\x03\x08\x03\x10";
    vec![
        ("format-joblib", "model.joblib", joblib.concat()),
        ("format-flax", "flax_model.msgpack", flax),
        ("format-tensorflow-checkpoint", "model.ckpt-1.index", table),
        ("format-coreml", "model.mlmodel", core_ml.to_vec()),
        ("format-coreml", "weight.bin", weights),
        ("format-fasttext", "lid.bin", b"\xba\x16\x4f\x2f\x0c\0\0\0\x10\0\0\0".to_vec()),
        ("format-word2vec", "vectors.bin", b"1 2\n</s> \0\0\x80\x3f\0\0\0\x40\n".to_vec()),
        ("format-word2vec", "vectors.vec", b"2 3\nthe 0.5 -1 2e-3\nof 1 2 3\n".to_vec()),
        ("format-matlab", "arrays.mat", matlab),
    ]
}

/// Returns files that users meet in place of a model: pointers of Git LFS, error pages that a download saved, compressed
/// files, empty files and plain text.
fn everyday() -> Vec<(&'static str, &'static str, &'static [u8])> {
    const HTML: &[u8] =
        b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body></body></html>\n";
    const XML: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
        <Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>";
    const JSON: &[u8] = b"{\"error\": \"Repository not found\"}";
    vec![
        ("format-lfs-pointer", "model.safetensors", POINTER),
        ("format-lfs-pointer", "model.gguf", POINTER),
        ("format-lfs-pointer", "pytorch_model.bin", POINTER),
        ("format-html", "page.safetensors", HTML),
        ("format-html", "page.npz", HTML),
        ("format-xml", "denied.safetensors", XML),
        ("format-xml", "denied.bin", XML),
        ("format-json-error", "missing.safetensors", JSON),
        ("format-json-error", "missing.gguf", JSON),
        ("format-gzip", "model.bin.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0"),
        ("format-gzip", "model.safetensors", b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0"),
        ("format-bzip2", "model.bz2", b"BZh9\x17\x72\x45\x38\x50\x90\0\0\0\0"),
        ("format-xz", "model.xz", b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46"),
        ("format-zstd", "model.zst", b"\x28\xb5\x2f\xfd\x24\0\x01\0\0\x99\xe9\xd8\x51"),
        ("format-lz4", "model.lz4", b"\x04\x22\x4d\x18\x64\x40\xa7\0\0\0\0\x05\x5d\xcc\x02"),
        ("format-zlib", "model.joblib", b"\x78\x9c\x03\0\0\0\0\x01"),
        ("format-7z", "model.7z", b"7z\xbc\xaf\x27\x1c\0\x04\0\0\0\0"),
        ("format-empty", "model.bin", b""),
        ("format-empty", "model.pt", b""),
        ("format-name", "text.safetensors", b"These are no tensors.\n"),
    ]
}

/// Returns pickles of protocol 0, which begin with printable text, and pickles inside zip and tar archives. Both must be
/// reported as pickles, because loading one can run code.
fn pickles() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let member = |bytes: &[u8]| {
        let members = [Member::stored("readme.txt", b"text"), Member::stored("weights.dat", bytes)];
        Archive::new(&members).bytes()
    };
    let mut tar = vec![0; 1536];
    tar[..6].copy_from_slice(b"pickle");
    tar[124..135].copy_from_slice(b"00000000006");
    tar[148..156].copy_from_slice(b"        ");
    tar[156] = b'0';
    tar[257..263].copy_from_slice(b"ustar\0");
    let sum: u32 = tar[..512].iter().map(|byte| u32::from(*byte)).sum();
    tar[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    tar[512..518].copy_from_slice(b"\x80\x02}q\0.");
    vec![
        ("torch-global", "hidden.bin", b"S'hello'\n0cposix\nsystem\n(S'true'\ntR.".to_vec()),
        ("torch-global", "weights.pth.tar", b"cposix\nsystem\n(S'true'\ntR.".to_vec()),
        ("format-pickle", "member.zip", member(b"\x80\x02}q\0.")),
        ("format-pickle", "member.tar", tar),
    ]
}

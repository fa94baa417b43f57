//! Tests of the public interface as users meet it: one call for each common job, and errors that name what is wrong.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error as _;
use std::fmt::Display;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use zten::error::Misuse;
use zten::half::bf16;
use zten::open::{Opening, Step, Wanted};
use zten::write::{ComponentData, WriteOptions};
use zten::{
    Archive, DType, Digest, Encoding, Error, ErrorKind, Generation, InMemory, Layout, Limits,
    OpenOptions, ReadAt, Tensor, Tolerance, Writer,
};
use zten_testkit::{corpus, misuse, open_in_steps, placed, read_accepted, reads, reject_index};

fn accepted(name: &str) -> PathBuf {
    corpus().join("accept").join(name)
}

fn dense() -> Archive {
    zten::open(accepted("1.2.3/dense_all.zt")).unwrap()
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Meta {
    epoch: u32,
    notes: Vec<String>,
}

/// A file is written, opened, and read tensor by tensor, as in the introduction of the library.
#[test]
fn a_file_is_written_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.zt");
    let meta = Meta { epoch: 12, notes: vec!["one".to_owned()] };
    let weights: Vec<f32> = (0_u8..12).map(f32::from).collect();

    let mut file = Writer::create(&path).unwrap();
    file.attributes(&meta).unwrap();
    file.add("weight", &[3, 4], &weights).unwrap();
    file.add("scalar", &[], &[bf16::ONE]).unwrap();
    file.add("mask", &[2], &[true, false]).unwrap();
    let mut big = file.begin("embedding", &[4, 2], DType::BF16).unwrap();
    for row in 0_u8..4 {
        big.write_all(&[row; 4]).unwrap();
    }
    big.finish().unwrap();
    let (values, indices, indptr) = ([1.5_f32, 2.5], [2_u64, 0], [0_u64, 1, 2]);
    let parts = [
        ("values", ComponentData::from(&values)),
        ("indptr", ComponentData::from(&indptr)),
        ("indices", ComponentData::from(&indices)),
    ];
    file.add_csr("graph", &[2, 3], &parts).unwrap();
    assert!(!path.exists());
    file.finish().unwrap();

    let archive = zten::open(&path).unwrap();
    archive.verify().unwrap();
    assert_eq!(archive.attributes().deserialize::<Meta>().unwrap(), meta);
    assert_eq!((archive.len(), archive.is_empty(), archive.format()), (5, false, "zTensor"));
    assert_eq!(archive.generation(), Some(Generation::V1_2));
    assert!(archive.names().eq(["weight", "scalar", "mask", "embedding", "graph"]));
    assert!(archive.contains("mask") && !archive.contains("masks"));
    let listed: Vec<String> = (&archive)
        .into_iter()
        .map(|tensor| format!("{} {} {:?}", tensor.name(), tensor.dtype(), tensor.shape()))
        .collect();
    assert_eq!(
        listed,
        [
            "weight f32 [3, 4]",
            "scalar bf16 []",
            "mask bool [2]",
            "embedding bf16 [4, 2]",
            "graph f32 [2, 3]"
        ]
    );
    let weight = archive.tensor("weight").unwrap();
    assert_eq!(weight.to_vec::<f32>().unwrap(), weights);
    assert_eq!(*weight.to_cow::<f32>().unwrap(), weights);
    let mut buffer = [0_f32; 12];
    weight.read_into(&mut buffer).unwrap();
    assert!(buffer.iter().eq(&weights));
    let mut bytes = Vec::new();
    weight.reader().unwrap().read_to_end(&mut bytes).unwrap();
    assert!(bytes.chunks(4).zip(&weights).all(|(bytes, weight)| bytes == weight.to_le_bytes()));
    let rows = weight.slice((1..3, ..)).unwrap();
    assert_eq!(rows.to_vec::<f32>().unwrap(), weights[4..]);
    let column = weight.slice((.., 1..=1)).unwrap();
    assert_eq!(column.to_vec::<f32>().unwrap(), [1.0, 5.0, 9.0]);
    assert_eq!(archive.tensor("mask").unwrap().to_vec::<bool>().unwrap(), [true, false]);
    let graph = archive.tensor("graph").unwrap().csr().unwrap();
    assert!(graph.entries::<f32>().unwrap().eq([(0, 2, 1.5), (1, 0, 2.5)]));
}

/// Elements are borrowed from memory if they are aligned. Elements of a file on disk, which may change, are always copied.
#[test]
fn elements_are_borrowed_from_memory_and_copied_from_files() {
    let file = placed(&read_accepted("1.2.3/dense_all.zt"), 0);
    let archive = Archive::from_bytes(&*file).unwrap();
    let tensor = archive.tensor("t_f32").unwrap();
    if cfg!(target_endian = "little") {
        let slice: &[f32] = tensor.as_slice().unwrap();
        assert_eq!(slice, [-1.25, -0.75, -0.25, 0.25, 0.75, 1.25]);
        assert!(file.as_ptr_range().contains(&slice.as_ptr().cast()));
        assert!(matches!(tensor.to_cow::<f32>(), Ok(Cow::Borrowed(_))));
        let view = tensor.slice(1..).unwrap().view().unwrap().unwrap();
        assert_eq!(view.as_slice::<f32>().unwrap(), &slice[3..]);
    }
    let odd = placed(&file, 1);
    let archive = Archive::from_bytes(&*odd).unwrap();
    let tensor = archive.tensor("t_f32").unwrap();
    assert!(matches!(tensor.to_cow::<f32>(), Ok(Cow::Owned(_))));
    assert_eq!(tensor.dense().unwrap().bytes().unwrap().len(), 24);

    let archive = dense();
    let tensor = archive.tensor("t_f32").unwrap();
    let error = tensor.as_slice::<f32>().unwrap_err();
    assert_eq!((error.tensor(), error.component()), (Some("t_f32"), Some("data")));
    assert_eq!(misuse(error), Misuse::NotInMemory);
    assert_eq!(tensor.to_cow::<f32>().unwrap().len(), 6);
}

/// All methods that read a tensor give the same elements, from a file and from memory.
#[test]
fn all_ways_to_read_agree() {
    let mut tensors = 0;
    for case in zten_testkit::accepted().filter(|case| case.opens_only.is_none()) {
        let (Ok(file), Ok(memory)) = (zten::open(&case.path), Archive::from_bytes(&case.bytes))
        else {
            // Some files of the corpus need a tolerance that is not set here.
            continue;
        };
        for (one, other) in file.tensors().zip(&memory) {
            if one.dtype() == DType::F32 && one.layout() == Layout::Dense {
                let elements = one.to_vec::<f32>().unwrap();
                let bits = |all: &[f32]| all.iter().map(|it| it.to_bits()).collect::<Vec<_>>();
                let same = |all: &[f32]| assert_eq!(bits(all), bits(&elements), "{}", case.name);
                same(&other.to_vec::<f32>().unwrap());
                same(&one.to_cow::<f32>().unwrap());
                same(&other.to_cow::<f32>().unwrap());
                same(&one.slice(&[][..]).unwrap().to_vec::<f32>().unwrap());
                let mut buffer = vec![0.0; elements.len()];
                other.read_into(&mut buffer).unwrap();
                same(&buffer);
                tensors += 1;
            }
            for (one, other) in one.components().zip(other.components()) {
                let Ok(read) = one.read() else { continue };
                assert_eq!(*read, *other.read().unwrap());
                // The reader is asked for 1 to 7 bytes at a time, so that pieces end within elements.
                let (mut reader, mut bytes) = (other.reader().unwrap(), Vec::new());
                let (mut piece, mut length) = ([0; 7], 1);
                while length > 0 && bytes.len() < 4096 {
                    let most = bytes.len() % piece.len();
                    length = reader.read(&mut piece[..=most]).unwrap();
                    bytes.extend_from_slice(&piece[..length]);
                }
                assert_eq!(bytes[..], read[..bytes.len()], "{}", case.name);
                assert!(bytes.len() >= read.len().min(4096), "{}", case.name);
            }
        }
    }
    assert!(tensors > 10, "{tensors}");
}

/// A struct that stores an archive without a lifetime, and is shared among threads.
struct Model {
    archive: Archive<InMemory<Arc<[u8]>>>,
}

#[test]
fn archives_open_from_any_owner_of_bytes() {
    fn shared<T: Send + Sync + 'static>(value: T) -> T {
        value
    }
    fn sum<S: ReadAt>(archive: &Archive<S>) -> u32 {
        let elements = archive.tensor("t_f32").unwrap().to_vec::<f32>().unwrap();
        elements.iter().fold(0, |sum, element| sum ^ element.to_bits())
    }
    let file = read_accepted("1.2.3/dense_all.zt");
    let expected = sum(&Archive::from_bytes(&file[..]).unwrap());
    assert_eq!(sum(&shared(Archive::from_bytes(file.clone()).unwrap())), expected);
    assert_eq!(sum(&Archive::from_bytes(Cow::Borrowed(&file[..])).unwrap()), expected);
    assert_eq!(sum(&Archive::from_bytes(file.clone().into_boxed_slice()).unwrap()), expected);
    assert_eq!(sum(&shared(dense())), expected);
    let opened = File::open(accepted("1.2.3/dense_all.zt")).unwrap();
    let length = opened.metadata().unwrap().len();
    assert_eq!(sum(&OpenOptions::default().open_source(opened, length).unwrap()), expected);
    let model = shared(Model { archive: Archive::from_bytes(Arc::from(&file[..])).unwrap() });
    let model = Arc::new(model);
    let threads = [0; 4].map(|_| {
        let model = Arc::clone(&model);
        std::thread::spawn(move || sum(&model.archive))
    });
    assert!(threads.into_iter().all(|thread| thread.join().unwrap() == expected));
    assert_eq!(model.archive.bytes(), file);
    assert_eq!(Archive::from_bytes(file.clone()).unwrap().into_source().0, file);
}

/// An archive that was opened from a header alone can be joined with the file that has its tensors. Without the file, reading is
/// an error. A tensor can also be bound to another source than that of its archive.
#[test]
fn a_header_is_joined_with_its_file() {
    let file = read_accepted("1.2.3/dense_all.zt");
    let source: (&dyn ReadAt, usize) = (&file, file.len());
    let header = open_in_steps("", source, &OpenOptions::default()).unwrap();
    let tensor = header.manifest().tensor("t_f32").unwrap();
    let error = tensor.to_vec::<f32>().unwrap_err();
    assert!(error.to_string().contains("call `read_from`"), "{error}");
    assert_eq!(misuse(error), Misuse::NoFile);
    let fails: [fn(&Tensor<'_>) -> Option<Error>; 4] = [
        |tensor| tensor.as_slice::<f32>().err(),
        |tensor| tensor.dense().unwrap().view().err(),
        |tensor| tensor.slice(0..1).unwrap().view().err(),
        |tensor| tensor.dense().unwrap().read().err(),
    ];
    for fail in fails {
        assert_eq!(misuse(fail(&tensor).unwrap()), Misuse::NoFile);
    }
    let elements = tensor.read_from(&file).to_vec::<f32>().unwrap();
    assert_eq!(elements.len(), 6);
    // A tensor of an archive that is bound to another source reads and borrows from that source.
    let other: Vec<u8> = file.iter().map(|byte| byte ^ 1).collect();
    let archive = Archive::from_bytes(&file).unwrap();
    let tensor = archive.tensor("t_u8").unwrap();
    let (own, rebound) = (tensor.to_vec::<u8>().unwrap(), tensor.read_from(&other));
    assert!(own.iter().map(|byte| byte ^ 1).eq(rebound.to_vec::<u8>().unwrap()));
    assert_eq!(rebound.to_vec::<u8>().unwrap(), rebound.as_slice::<u8>().unwrap());
}

#[test]
fn limits_are_given_once() {
    let options = OpenOptions::default().limits(Limits::default().with_decoded(1));
    let archive = options.open(accepted("1.2.3/zstd.zt")).unwrap();
    let compressed = archive.tensors().filter(|tensor| {
        tensor
            .dense()
            .is_ok_and(|data| data.encoding() == Encoding::Zstd && data.decoded_length() > Some(1))
    });
    let mut limited = 0;
    for tensor in compressed {
        let data = tensor.dense().unwrap();
        let errors = [
            data.read().err(),
            data.reader().err(),
            data.read_into(&mut vec![0; usize::try_from(data.decoded_length().unwrap()).unwrap()])
                .err(),
        ];
        assert!(errors.iter().all(|error| error.as_ref().unwrap().rule() == Some("limit-decoded")));
        limited += 1;
    }
    assert!(limited > 0);
    assert_eq!(archive.verify().unwrap_err().rule(), Some("limit-decoded"));
    assert_eq!(archive.limits().decoded(), 1);
    let tolerated = OpenOptions::default().tolerate(Tolerance::SharedBlobs);
    let shared = reject_index().find(|case| case.expected.rule == "blob-overlap").unwrap();
    assert!(zten::open(&shared.path).is_err());
    let _ = tolerated.open(&shared.path);
}

#[test]
fn an_error_says_both_types() {
    let archive = dense();
    let float = archive.tensor("t_f32").unwrap();
    let says = |error: Error, sentence: &str| {
        assert_eq!(error.sentence().to_string(), sentence);
        assert_eq!(error.tensor(), Some("t_f32"));
        let place = r#" in tensor "t_f32", component "data""#;
        assert_eq!(error.to_string(), format!("{sentence}{place}"));
        assert_eq!(misuse(error), Misuse::Type);
    };
    says(float.to_vec::<bf16>().unwrap_err(), "the component is f32, requested bf16");
    says(float.to_cow::<u8>().unwrap_err(), "the component is f32, requested u8");
    says(
        float.to_cow::<zten::element::Complex<f32>>().unwrap_err(),
        "the component is f32, requested complex64",
    );
    says(
        float.slice(..).unwrap().to_vec::<i8>().unwrap_err(),
        "the component is f32, requested i8",
    );
    says(float.read_into(&mut [0_u64; 3]).unwrap_err(), "the component is f32, requested u64");
}

#[test]
fn misuse_is_a_kind_of_its_own() {
    let archive = dense();
    let float = archive.tensor("t_f32").unwrap();
    let kind = |error: Error| {
        assert_eq!((error.rule(), error.row(), error.source().is_none()), (None, None, true));
        assert_eq!(error.tensor(), Some("t_f32"));
        misuse(error)
    };
    assert_eq!(kind(float.csr().unwrap_err()), Misuse::Layout);
    assert_eq!(kind(float.slice(0..3).unwrap_err()), Misuse::Slice);
    assert_eq!(kind(float.slice((.., .., ..)).unwrap_err()), Misuse::Slice);
    #[expect(clippy::reversed_empty_ranges, reason = "that is the mistake")]
    let reversed = float.slice(2..1);
    assert_eq!(kind(reversed.unwrap_err()), Misuse::Slice);
    assert_eq!(kind(float.read_into(&mut [0_f32; 5]).unwrap_err()), Misuse::Buffer);
    assert_eq!(kind(float.quantization().unwrap_err()), Misuse::Layout);
    assert_eq!(misuse(Limits::default().with_named("none", 1).unwrap_err()), Misuse::Limit);
}

#[test]
fn a_missing_tensor_is_named() {
    let archive = dense();
    assert_eq!(archive.tensor("t_f32").unwrap().name(), "t_f32");
    assert!(archive.get("t_fp32").is_none());
    let missing = archive.tensor("t_fp32").unwrap_err();
    assert_eq!(missing.tensor(), Some("t_fp32"));
    assert_eq!(missing.to_string(), r#"no tensor named "t_fp32"; did you mean "t_f32"?"#);
    assert_eq!(misuse(missing), Misuse::NoTensor);
    let missing = archive.manifest().tensor("nothing like it\u{202e}").unwrap_err();
    assert_eq!(missing.to_string(), r#"no tensor named "nothing like it\u{202e}""#);
}

#[test]
fn errors_of_the_system_are_sources_of_errors() {
    assert_eq!(zten::open(corpus()).unwrap_err().kind(), ErrorKind::Read);
    let error = Writer::create("no such folder/new.zt").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Write);
    assert!(
        error.to_string().starts_with("the bytes of the file could not be written: "),
        "{error}"
    );
    let rule = zten::open(accepted("../reject/blob-alignment--v12-72.zt")).unwrap_err();
    let io = std::io::Error::from(rule);
    assert_eq!(io.kind(), std::io::ErrorKind::InvalidData);
    assert!(
        io.get_ref().unwrap().downcast_ref::<Error>().unwrap().rule() == Some("blob-alignment")
    );
}

#[test]
fn an_index_may_name_hidden_files() {
    let from = corpus().join("other/index/accept");
    let folder = tempfile::tempdir().unwrap();
    let index = std::fs::read_to_string(from.join("two.index.json")).unwrap();
    let index = index.replace("\"a.safetensors\"", "\".a.safetensors\"");
    assert!(index.contains(".a.safetensors"));
    std::fs::write(folder.path().join("two.index.json"), index).unwrap();
    std::fs::copy(from.join("a.safetensors"), folder.path().join(".a.safetensors")).unwrap();
    std::fs::copy(from.join("b.safetensors"), folder.path().join("b.safetensors")).unwrap();
    let archive = zten::open(folder.path().join("two.index.json")).unwrap();
    assert!(archive.names().eq(zten::open(from.join("two.index.json")).unwrap().names()));
    archive.verify().unwrap();
}

/// A source in memory that lends its bytes. Once `changed` is set, it lends other bytes.
struct Changing {
    before: Vec<u8>,
    after: Vec<u8>,
    changed: AtomicBool,
}

impl Changing {
    fn bytes(&self) -> &[u8] {
        if self.changed.load(Ordering::Relaxed) { &self.after } else { &self.before }
    }
}

impl ReadAt for Changing {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.bytes().read_at(offset, buffer)
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.bytes().bytes_at(offset, length)
    }
}

#[test]
fn the_manifest_of_a_source_that_may_change_is_copied() {
    let before = read_accepted("1.2.3/dense_all.zt");
    let length = before.len() as u64;
    let source = Changing { after: vec![0; before.len()], before, changed: AtomicBool::new(false) };
    let archive = OpenOptions::default().open_source(source, length).unwrap();
    let names: Vec<String> = archive.names().map(str::to_owned).collect();
    archive.source().changed.store(true, Ordering::Relaxed);
    assert!(archive.names().eq(names));
    assert!(archive.tensor("t_f32").is_ok());
}

#[test]
fn a_recognized_file_is_opened_without_reading_its_first_bytes_again() {
    let file = corpus().join("other/safetensors/accept/types.safetensors");
    let file = std::fs::read(file).unwrap();
    let counts = Mutex::new(vec![0; file.len()]);
    let source = reads(|offset, buffer| {
        let start = usize::try_from(offset).unwrap();
        counts.lock().unwrap()[start..start + buffer.len()]
            .iter_mut()
            .for_each(|count| *count += 1);
        file.read_at(offset, buffer)
    });
    let recognition = zten::formats::recognize(&source, file.len() as u64, "x").unwrap();
    counts.lock().unwrap().fill(0);
    let begun = OpenOptions::default().begin_recognized(&source, recognition, "x").unwrap();
    assert!(matches!(begun, zten::formats::Begun::Archive(archive) if archive.len() == 18));
    // Recognition has read the whole file, because it is short, so opening reads nothing again.
    assert_eq!(counts.lock().unwrap().iter().sum::<u32>(), 0);
}

#[test]
fn every_format_opens_in_the_same_ways() {
    let files = [
        ("accept/1.2.3/dense_all.zt", "zTensor"),
        ("other/safetensors/accept/types.safetensors", "safetensors"),
        ("other/gguf/accept/two.gguf", "GGUF"),
        ("other/npy/accept/columns.npy", ".npy"),
        ("other/npz/accept/two.npz", ".npz"),
        ("other/torch/accept/no-checksums.pt", "PyTorch"),
    ];
    for (file, format) in files {
        let path = corpus().join(file);
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let (options, length) = (OpenOptions::default(), bytes.len());
        let by_path = zten::open(&path).unwrap();
        assert_eq!(by_path.format(), format);
        let in_memory = Archive::from_bytes(&bytes).unwrap();
        assert_eq!((in_memory.format(), in_memory.len()), (format, by_path.len()));
        let of_source = options.open_source(File::open(&path).unwrap(), length as u64).unwrap();
        assert_eq!((of_source.format(), of_source.len()), (format, by_path.len()));
        let in_steps = open_in_steps(name, (&bytes, length), &options).unwrap();
        assert_eq!(in_steps.format(), format);
        assert!(in_steps.names().eq(by_path.names()));
    }
}

#[test]
fn bytes_of_no_format_are_unsupported_and_invalid_if_they_are_called_a_tensor() {
    let bytes = [0xa5; 64];
    let error = Archive::from_bytes(&bytes[..]).unwrap_err();
    assert_eq!(error.kind(), zten::formats::Rule::FormatUnknown);
    assert!(error.is_unsupported());
    let named = OpenOptions::default().open_named(&bytes[..], 64, "model.zt").unwrap_err();
    assert_eq!(named.kind(), zten::rules::Rule::HeaderMagic);
}

#[test]
fn an_error_about_a_digest_has_both_digests() {
    let mut file = read_accepted("1.1.1/crc32c.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let summary = archive.verify().unwrap();
    assert_eq!(summary.components(), summary.digests());
    assert!(summary.digests() > 0);
    let first = archive.tensors().next().unwrap().components().next().unwrap();
    let (at, digest) = (first.extent().offset(), first.digest().unwrap().to_string());
    file[usize::try_from(at).unwrap()] ^= 1;
    let archive = Archive::from_bytes(&file).unwrap();
    let error = archive.verify().unwrap_err();
    assert_eq!(error.rule(), Some("digest-mismatch"));
    let tensor = archive.tensors().next().unwrap();
    let mut reader = tensor.components().next().unwrap().reader().unwrap();
    assert_eq!(reader.mismatch(), None);
    let found = loop {
        if let Err(found) = reader.next_chunk() {
            break found;
        }
    };
    assert_eq!(found, error);
    let mismatch = *reader.mismatch().unwrap();
    assert_eq!(mismatch.expected().to_string(), digest);
    let text = mismatch.to_string();
    assert_eq!(text, format!("expected {digest}, computed {}", mismatch.computed()));
    let [expected, computed] =
        [mismatch.expected(), mismatch.computed()].map(|digest| match digest {
            Digest::Crc32c(sum) => sum,
            other => panic!("{other:?}"),
        });
    assert_ne!(expected, computed);
    let both = format!("expected {expected:08x}…, computed {computed:08x}…");
    assert!(error.to_string().contains(&both), "{error}");
    let mut verifier = zten::verify::Verifier::new(archive.manifest());
    assert!(verifier.object(&tensor, |_, _| ()).is_err());
    assert_eq!(verifier.mismatch(), Some(&mismatch));
}

/// A sink that takes no byte, because it is full.
#[derive(Debug)]
struct Full;

impl std::io::Write for Full {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A file written to memory and a file written to an `io::Write` have the same bytes. A writer that is full gives an error of
/// writing.
#[test]
fn a_file_goes_to_any_writer() {
    let attributes = BTreeMap::from([("bits", 4)]);
    let mut file = Writer::to(Vec::new()).unwrap();
    file.attributes(&attributes).unwrap();
    file.add("a", &[2], &[1_i64, -1]).unwrap();
    let file = file.finish().unwrap();
    let mut memory = Writer::new(Vec::new(), &WriteOptions::default()).unwrap();
    memory.attributes(&attributes).unwrap();
    memory.add("a", &[2], &[1_i64, -1]).unwrap();
    assert_eq!(memory.finish().unwrap(), file);
    let archive = Archive::from_bytes(&file).unwrap();
    assert_eq!(archive.tensor("a").unwrap().to_vec::<i64>().unwrap(), [1, -1]);
    assert_eq!(archive.attributes().get::<u8>("bits").unwrap(), Some(4));
    let error = archive.attributes().deserialize::<Meta>().unwrap_err();
    assert_eq!(misuse(error), Misuse::Attributes);
    let error = Writer::to(Full).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Write);
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::StorageFull);
}

#[test]
fn types_are_displayed_by_their_names() {
    let all: [(&dyn Display, &str); 8] = [
        (&DType::BF16, "bf16"),
        (&DType::F8E4M3Fn, "f8_e4m3fn"),
        (&DType::Complex64, "complex64"),
        (&Layout::SparseCsr, "sparse_csr"),
        (&Encoding::Zstd, "zstd"),
        (&Generation::V1_2, "1.2"),
        (&Digest::Crc32c(0xAB), "crc32c:000000ab"),
        (&Digest::Unverifiable("md5:00"), "md5:00"),
    ];
    for (shown, name) in all {
        assert_eq!(shown.to_string(), name);
    }
    assert_eq!(format!("[{:>5}]", DType::F32), "[  f32]");
    let sha = Digest::Sha256([0x1f; 32]).to_string();
    assert_eq!(sha, format!("sha256:{}", "1f".repeat(32)));
    assert_eq!(dense().manifest().version().unwrap().to_string(), "1.2.0");
    let bits: Vec<_> = DType::ALL.iter().map(|dtype| dtype.bits()).collect();
    assert_eq!((bits[0], bits.last()), (Some(64), Some(&None)));
    assert_eq!((DType::F4E2M1.bits(), DType::Complex128.bits()), (Some(4), Some(128)));
}

#[test]
fn limits_are_set_by_their_names() {
    let limits = Limits::default()
        .with_manifest(1)
        .with_depth(7)
        .with_rank(2)
        .with_keys(3)
        .with_window(4)
        .with_decoded(5)
        .with_decoded_total(6)
        .with_chunk(16);
    let named = [("manifest", 1), ("depth", 7), ("rank", 2), ("keys", 3), ("window", 4)];
    let named = named.into_iter().chain([("decoded", 5), ("decoded-total", 6)]);
    let by_name = named
        .fold(Limits::default(), |limits, (name, value)| limits.with_named(name, value).unwrap());
    assert_eq!(limits, by_name.with_chunk(16));
    let extremes = Limits::default().with_manifest(u64::MAX).with_depth(0);
    assert_eq!((extremes.manifest(), extremes.depth()), (1 << 30, 6));
    assert_eq!(Limits::default().with_depth(255), Limits::default());
}

#[test]
fn wrong_supplies_are_rejected() {
    let file = b"ZTEN0001\x80\x01\0\0\0\0\0\0\0";
    let mut opening = Opening::new("", file.len() as u64, &OpenOptions::default());
    let Step::Read(wanted) = opening.step().unwrap() else { panic!("no bytes were supplied") };
    let [wanted] = wanted.try_into().unwrap();
    assert_eq!((wanted.file.as_deref(), wanted.range.clone()), (None, 0..17));
    for wrong in [&file[..16], b"", &[0; 18]] {
        assert_eq!(misuse(opening.supply(&wanted, wrong.to_vec()).unwrap_err()), Misuse::Supply);
    }
    let sibling = Wanted { file: Some("x".to_owned()), ..wanted.clone() };
    assert_eq!(misuse(opening.supply(&sibling, file.to_vec()).unwrap_err()), Misuse::Supply);
    opening.supply(&wanted, file.to_vec()).unwrap();
    let Step::Done(archive) = opening.step().unwrap() else { panic!("the file is whole") };
    assert!(archive.is_empty());
}

//! The oracle for files of other formats than zTensor, such as safetensors, GGUF and PyTorch.

mod made;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use safetensors::SafeTensors;
use zten::element::ByteOrder;
use zten::finding::Finding;
use zten::formats::{Begun, Block, Detected, Format, PartFile, START, by_name, by_start};
use zten::open::{Opening, Step};
use zten::shards::{self, Candidate, Find, Shard};
use zten::verify::{Subject, check};
use zten::{Archive, Component, Encoding, Error, Layout, ReadAt, State, Tensor};

use super::open::objects;
use super::{InMemory, heap, options};
use crate::heap_bound;

/// The largest size of the header of a NumPy array in bytes.
const NPY_HEADER: u64 = 12 + 0xffff;

/// A generated file and its sibling files, with their names.
struct Files {
    path: &'static str,
    file: Vec<u8>,
    siblings: Vec<(&'static str, Vec<u8>)>,
}

/// Opens a file of `format` and reads all of it. The heap must stay within a bound that follows the length of the file, all ways
/// of opening it must have the same result, and the data of tensors must lie within the file. The number of steps to parse a
/// pickle must be bounded by its length. Returns whether the file is valid: a file without siblings is opened by the name `x` and
/// by a name of its format, and must be valid by one of them.
///
/// The last byte of `input` says what the bytes before it are. If it is even, they are the file; for an index, they
/// are the index up to the first zero byte, and then its sibling `a.safetensors`. If it is odd, files are generated
/// from them.
///
/// # Panics
/// Panics if a promise does not hold.
pub fn file_format(format: Format, input: &[u8]) -> bool {
    let Some((choice, input)) = input.split_last() else { return false };
    let files = if choice.is_multiple_of(2) {
        unchanged(format, input)
    } else {
        made::files(format, choice >> 1, input)
    };
    if !files.siblings.is_empty() {
        return read_several(&files);
    }
    if format == Format::Torch {
        for start in [&b""[..], b"\x80\x02", b"\x80\x05"] {
            validate_steps(&[start, input].concat());
        }
    }
    let names = ["x", files.path].map(|name| read_named(&files.file, name));
    names.contains(&true)
}

/// Checks that the number of steps to parse `pickle` is at most proportional to its length plus 1 KiB.
fn validate_steps(pickle: &[u8]) {
    let bytes = u64::try_from(pickle.len()).unwrap() + 1024;
    let steps = zten::formats::torch_steps(pickle);
    assert!(steps <= zten::formats::TORCH_STEPS * bytes, "{steps} steps for {bytes} bytes");
}

/// Returns `input` as a file, or for an index as the index and one sibling file, separated by the first zero byte.
fn unchanged(format: Format, input: &[u8]) -> Files {
    let mut halves = input.splitn(2, |byte| *byte == 0).map(<[u8]>::to_vec);
    let mut half = || halves.next().unwrap_or_default();
    if format == Format::Index {
        return Files { path: INDEX, file: half(), siblings: vec![("a.safetensors", half())] };
    }
    Files { path: path(format), file: input.to_vec(), siblings: Vec::new() }
}

/// The name under which an index is opened.
const INDEX: &str = "x.index.json";

/// Returns the name under which a file of `format` is opened.
fn path(format: Format) -> &'static str {
    match format {
        Format::Safetensors => "x.safetensors",
        Format::Npy => "x.npy",
        Format::Npz => "x.npz",
        Format::Gguf => "x.gguf",
        Format::Index => INDEX,
        Format::Torch => "x.pt",
    }
}

fn read_named(bytes: &[u8], path: &'static str) -> bool {
    let start = &bytes[..bytes.len().min(START)];
    let (start, name) = (by_start(start, Path::new(path)), by_name(Path::new(path)));
    match start.or(name) {
        Some(Detected::Read(format)) => archive(bytes, path, Some(format)),
        _ => archive(bytes, path, None),
    }
}

/// A source of bytes in memory that does not lend them.
struct Positions<'b>(&'b [u8]);

impl ReadAt for Positions<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let read = self.0.read_at(offset, buffer);
        Ok(read.map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?)
    }
}

/// Opens `bytes` from a source and from memory, reads all tensors, and checks that both have the same result. `path`
/// is the name of the file, and `format` its format if it is known. Returns whether the file is valid.
fn archive(bytes: &[u8], path: &'static str, format: Option<Format>) -> bool {
    let length = length(bytes);
    let (peak, opened) =
        heap::peak(|| options().open_named(Positions(bytes), length, Path::new(path)));
    let header = match format {
        Some(Format::Safetensors) => {
            bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first)).min(length)
        }
        // The values of a pickle take more memory than its bytes, even if the pickle is not read in the end.
        Some(Format::Torch) | None => {
            // A deflated pickle may have many times the size of its member, so the bound is larger.
            let each = if bytes.windows(10).any(is_deflated) { 24 * 64 } else { 24 };
            (length + NPY_HEADER).saturating_mul(each)
        }
        // The bound assumes that all bytes of the file are headers, because the oracle does not know where headers
        // end, and adds the largest header that a member may hold if it is deflated.
        _ => length + NPY_HEADER,
    };
    let most = heap_bound(header);
    assert!(peak <= most, "{peak} bytes of heap for {header} of a header");
    Files { path, file: bytes.to_vec(), siblings: Vec::new() }.assert_same_in_steps(&opened);
    let (peak, again) = heap::peak(|| options().from_bytes(bytes));
    assert!(peak <= most, "{peak} bytes of heap for {header} of a header in memory");
    match (opened, again) {
        (Ok(opened), Ok(archive)) => {
            objects(&archive, &opened);
            read_archive(&archive, &opened);
            if format == Some(Format::Safetensors) {
                as_the_crate_does(&archive);
            }
            archive.verify().is_ok()
        }
        (Err(one), other) => {
            rejected(&one, length);
            match other {
                Err(other) if one.row() == other.row() => {
                    assert_eq!(one.to_string(), other.to_string());
                }
                // A file in memory has no name, so its format may not be recognized, or taken for that of a pickle.
                Err(other) => {
                    let row = other.row().expect("a rule");
                    let is_other =
                        row.id().starts_with("format-") || row.id().starts_with("torch-");
                    assert!(is_other, "{one}; in memory: {other}");
                }
                Ok(_) => panic!("{one}; valid in memory"),
            }
            false
        }
        // A zip archive whose first member tells no format is read as an archive of NumPy if its name ends in `.npz`. A file in
        // memory has no name, so it is rejected by a rule `format-…`.
        (Ok(opened), Err(other)) => {
            let is_other = other.rule().is_some_and(|id| id.starts_with("format-"));
            assert!(
                is_other && opened.format() == ".npz",
                "the file is rejected only in memory: {other}"
            );
            opened.verify().is_ok()
        }
    }
}

/// Checks that every tensor of `archive`, which is in memory, is found by its name and can be read by views, into
/// memory and from the source of `opened`, unless its data breaks a rule.
fn read_archive(archive: &InMemory<'_>, opened: &Archive<Positions<'_>>) {
    assert_eq!(archive.generation(), None);
    assert_eq!(archive.format(), opened.format());
    let verified = archive.verify();
    assert_eq!(verified, opened.verify());
    let is_verified = verified.is_ok();
    assert_eq!(archive.len(), opened.len());
    let mut is_valid = true;
    for (object, again) in archive.tensors().zip(opened.tensors()) {
        let found = archive.get(object.name()).expect("a tensor that is there by its name");
        assert_eq!(found.ordinal(), object.ordinal());
        let Some(component) = object.component("data") else {
            is_valid &= read_sparse(&object, &again);
            continue;
        };
        // The array of an .npy file is named after the file.
        let is_named = archive.format() != ".npy";
        assert!(!is_named || again.name() == object.name());
        assert_eq!(again.shape(), object.shape());
        let data_again = again.component("data").expect("the data of a tensor");
        assert_eq!(data_again.extent(), component.extent());
        let decoded = read(&object);
        assert_eq!(decoded, read(&again));
        let is_raw = component.encoding() == Encoding::Raw && !component.is_strided();
        let is_read = !matches!(object.state(), State::Unread(_));
        assert_eq!(object.state(), again.state());
        if let Some(block) = Block::of(&object) {
            assert_eq!(data_length(block, &object), component.extent().length());
        } else if object.layout() == Layout::Unknown {
            assert!(object.layout_name().ends_with(".big_endian"), "{}", object.layout_name());
        } else {
            let view = object.dense().expect("a dense tensor").view();
            assert_eq!(view.is_ok(), is_raw && is_read);
            if let Ok(view) = &view {
                assert_eq!(view.as_bytes(), data(archive, &object));
            }
        }
        match decoded {
            Ok(decoded) if is_raw && component.byte_order() == ByteOrder::Little => {
                assert_eq!(decoded, data(archive, &object));
            }
            Ok(decoded) => {
                assert_eq!(u64::try_from(decoded.len()).ok(), component.decoded_length());
            }
            Err(error) if !is_read => {
                assert_eq!(State::Unread(error.kind()), object.state());
                is_valid = false;
            }
            // Elements in another order are read into memory first, which may exceed the limit.
            Err(error) if error.rule() == Some("limit-decoded") => {
                assert!(component.is_strided());
            }
            Err(error) => {
                let rules = ["tensor-bool-value", "zip-crc", "zip-deflate", "zip-length"];
                assert!(error.rule().is_some_and(|id| rules.contains(&id)), "{error}");
                is_valid = false;
            }
        }
    }
    // Damage outside of tensors, and contradictions between the tensors of a group, are found only when the whole
    // file is verified.
    let is_of_the_whole = verified.is_err_and(|error| match error.rule().unwrap_or_default() {
        "zip-crc" | "limit-decoded" => archive.format() == "PyTorch",
        id => ["quant-index", "quant-state"].contains(&id),
    });
    assert!(is_valid == is_verified || is_valid && is_of_the_whole);
}

/// Returns whether `start`, ten bytes of a zip archive, are the beginning of the local header of a deflated member.
fn is_deflated(start: &[u8]) -> bool {
    start.starts_with(b"PK\x03\x04") && start.ends_with(&[8, 0])
}

/// Returns the number of bytes that the data of the quantized tensor `object` must have. `block` says how many
/// elements a block has, and how many bytes.
fn data_length(block: &Block, object: &Tensor<'_>) -> u64 {
    object.element_count().expect("a number of elements") / block.elements * block.bytes
}

/// Reads the components of a sparse tensor from memory (`object`) and from a source (`again`), and checks that they
/// are equal. Returns whether its indices are valid.
fn read_sparse(object: &Tensor<'_>, again: &Tensor<'_>) -> bool {
    for (part, part_again) in object.components().zip(again.components()) {
        assert_eq!((part.role(), part.extent()), (part_again.role(), part_again.extent()));
        let bytes = |part: &Component<'_>| part.read().map(|decoded| decoded.to_vec());
        assert_eq!(bytes(&part), bytes(&part_again));
    }
    match object.layout() {
        Layout::SparseCoo => object.coo().is_ok(),
        layout => {
            assert_eq!(layout, Layout::SparseCsr);
            object.csr().is_ok()
        }
    }
}

/// Reads the first component of a tensor, which is all of a dense tensor.
fn read(tensor: &Tensor<'_>) -> Result<Vec<u8>, Error> {
    let data = tensor.components().next().expect("the data of a tensor");
    data.read().map(|decoded| decoded.to_vec())
}

/// Returns the stored bytes of the dense tensor `object`.
fn data<'a>(archive: &'a InMemory<'_>, object: &Tensor<'_>) -> &'a [u8] {
    let range = object.component("data").expect("the data of a tensor").extent().range();
    &archive.bytes()[place(range.start)..place(range.end)]
}

/// Checks that the crate `safetensors` finds the same tensors and metadata in the file.
fn as_the_crate_does(archive: &InMemory<'_>) {
    let other = SafeTensors::deserialize(archive.bytes()).expect("a file that is valid here");
    assert_eq!(other.len(), archive.len());
    for object in archive.tensors() {
        let tensor = other.tensor(object.name()).expect("a tensor of the same name");
        assert_eq!(tensor.data(), data(archive, &object));
        let shape =
            tensor.shape().iter().map(|dimension| u64::try_from(*dimension).expect("64 bits"));
        assert!(shape.eq(object.shape().iter().copied()));
    }
    let (_, header) = SafeTensors::read_metadata(archive.bytes()).expect("it has been read");
    let mut metadata = header.metadata().clone().unwrap_or_default();
    // The entry `zten.json-keys` lists values that zten decodes as JSON. With a valid list, it is no attribute itself.
    let list = metadata.get("zten.json-keys").cloned();
    for (key, value) in archive.attributes() {
        let text = metadata.remove(key).expect("an entry of the same name");
        // A key in the list may be written with escapes, so a list with a backslash may list any key.
        let may_be_listed = list
            .as_ref()
            .is_some_and(|list| list.contains(&format!("\"{key}\"")) || list.contains('\\'));
        assert!(may_be_listed || value.get::<&str>().ok() == Some(&*text), "{key:?}: {text:?}");
    }
    metadata.remove("zten.json-keys");
    assert!(metadata.is_empty(), "{metadata:?}");
}

/// Checks that `error` has a rule, and no offset beyond the `length` bytes of the file, and that its message shows no control
/// character.
fn rejected(error: &Error, length: u64) {
    assert!(error.is_rejection(), "{error}");
    let finding = Finding::from_error(error);
    assert!(finding.row.is_some(), "{error}");
    assert!(finding.offset.is_none_or(|offset| offset <= length), "{error} of {length} bytes");
    assert!(!finding.to_string().chars().any(char::is_control), "{error:?}");
}

impl<'f> Find for &'f Files {
    type Source = Positions<'f>;

    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<Positions<'f>>>, Error> {
        let found = self.siblings.iter().find(|part| part.0 == shard.name());
        Ok(found.map(|(_, bytes)| Candidate { source: Positions(bytes), length: length(bytes) }))
    }
}

impl Files {
    /// Opens the file and its siblings with [`Opening`](zten::open::Opening), which does no I/O: the oracle supplies
    /// the ranges and files that are requested.
    fn open_in_steps(&self) -> Result<Archive<zten::InMemory<[u8; 0]>>, Error> {
        let sibling = |name: &str| self.siblings.iter().find(|part| part.0 == name);
        let mut opening = Opening::new(self.path, length(&self.file), &options());
        for _ in 0..64 {
            match opening.step()? {
                Step::Read(all) => {
                    for wanted in all {
                        let name = wanted.file.as_deref();
                        let file = match name {
                            Some(name) => &sibling(name).expect("a file that is there").1,
                            None => &self.file,
                        };
                        let bytes =
                            file[place(wanted.range.start)..place(wanted.range.end)].to_vec();
                        assert!(!bytes.is_empty(), "{wanted:?}");
                        opening
                            .supply(&wanted, bytes)
                            .expect("bytes of the requested range are rejected");
                    }
                }
                Step::Open(names) => {
                    for name in names {
                        let found = sibling(&name).map(|part| length(&part.1));
                        opening.opened(name, found);
                    }
                }
                Step::Done(archive) => return Ok(*archive),
            }
        }
        panic!("the file is not open after 64 steps")
    }

    /// Checks that opening the file without I/O has the same result as `opened`, the result of opening it from a
    /// source.
    fn assert_same_in_steps(&self, opened: &Result<Archive<Positions<'_>>, Error>) {
        match (opened, self.open_in_steps()) {
            (Ok(archive), Ok(header)) => {
                assert_eq!(archive.len(), header.len());
                for (object, again) in archive.tensors().zip(header.tensors()) {
                    assert_eq!((object.name(), object.shape()), (again.name(), again.shape()));
                    let own = |tensor: &Tensor<'_>| {
                        let data = tensor.components().next().expect("a component");
                        let shard = data.shard().map(ToOwned::to_owned);
                        (data.extent(), data.dtype(), shard)
                    };
                    assert_eq!(own(&object), own(&again));
                    if own(&object).2.is_none() {
                        let source = Positions(&self.file);
                        let bound = again.read_from(&source);
                        assert_eq!(
                            read(&object),
                            read(&bound),
                            "the archive cannot be connected to the source"
                        );
                    }
                }
            }
            (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
            (one, other) => panic!("{:?}, and in steps {:?}", one.as_ref().err(), other.err()),
        }
    }
}

fn place(at: u64) -> usize {
    usize::try_from(at).expect("an offset that fits in memory")
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).expect("a length")
}

/// Opens a file with its siblings, and checks that the archive has the tensors of the file and of the siblings that
/// it names. Returns whether the file is valid.
fn read_several(files: &Files) -> bool {
    let sources: Vec<_> =
        files.siblings.iter().map(|(name, bytes)| (*name, Positions(bytes))).collect();
    let parts: Vec<_> = sources
        .iter()
        .map(|(name, source)| PartFile { name, source, length: length(source.0) })
        .collect();
    let own = length(&files.file);
    let open = || match options().begin(Positions(&files.file), own, Path::new(files.path))? {
        Begun::Root(root) => root.open(&parts, &options()),
        Begun::Archive(archive) => Ok(archive),
    };
    let (peak, opened) = heap::peak(open);
    let all = own + parts.iter().map(|part| part.length).sum::<u64>();
    assert!(peak <= heap_bound(all), "{peak} bytes of heap for files of {all}");
    files.assert_same_in_steps(&opened);
    let archive = match opened {
        Ok(archive) => archive,
        Err(error) => {
            rejected(&error, all);
            return false;
        }
    };
    let manifest = archive.manifest();
    let named = |name: &str| manifest.shards().any(|shard| shard.name() == name);
    let alone: BTreeMap<_, _> = files
        .siblings
        .iter()
        .filter(|(name, _)| named(name))
        .map(|(name, bytes)| (*name, options().from_bytes(bytes).expect("a header that was read")))
        .collect();
    assert_eq!(manifest.shards().len(), alone.len());
    let mut shards = manifest.bind_shards(&files).expect("sibling files that exist are not found");
    shards.verify().expect("shards without digests");
    let content = shards::Files { root: archive.source(), shards: &shards };
    let summary = check(Subject::with_shards(manifest, &content), &mut ()).into_result();
    let mut tensors: usize = alone.values().map(Archive::len).sum();
    for object in archive.tensors() {
        let here = object.component("data").expect("data");
        let Some(part) = here.shard() else {
            assert!(here.extent().end() <= own);
            tensors += 1;
            continue;
        };
        let of_part = alone[part].tensor(object.name()).expect("the sibling file lacks the tensor");
        let there = of_part.component("data").expect("data");
        assert_eq!(here.extent(), there.extent());
        assert_eq!((object.shape(), here.dtype()), (of_part.shape(), there.dtype()));
    }
    assert_eq!(archive.len(), tensors);
    let all_ok = alone.values().all(|part| part.verify().is_ok());
    // Opening reads only headers. They do not show errors in the content of this file, but they show which of its
    // tensors are unread.
    let mut own = archive
        .tensors()
        .filter(|tensor| tensor.components().all(|component| component.shard().is_none()));
    let reads_own = own.all(|tensor| !matches!(tensor.state(), State::Unread(_)));
    assert_eq!(summary.is_ok(), all_ok && reads_own, "{summary:?}");
    summary.is_ok()
}

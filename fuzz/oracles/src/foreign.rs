//! Files of other formats.

use std::io;
use std::path::Path;

use safetensors::SafeTensors;
use zten::element::ByteOrder;
use zten::shards::{Candidate, Find, Shard};
use zten::source::SourceArchive;
use zten::verify::Verifier;
use zten::{Archive, Encoding, Error, Object, ReadAt, ReadError};
use zten_formats::{
    Begun, Block, Detected, Format, Part, START, Trouble, begin, by_name, by_start, open_bytes,
    open_source,
};

use crate::heap;
use crate::{limits, options};

/// Bytes of heap for each byte of the header of an archive, at most, and beside it.
const EACH_OF_HEADER: u64 = 8;
const FIXED_ARCHIVE: u64 = 64 << 10;
/// Bytes of the header of a NumPy array, at most.
const NPY_HEADER: u64 = 12 + 0xffff;

/// The name of the file beside an index.
const PART: &str = "a.safetensors";

/// Opens a file as each of the formats, by its bytes and by names, and reads all of it: memory follows its length, two
/// runs end alike, and what tensors take lies within the file. Returns whether it is valid under any name.
///
/// An index is what comes before the first zero, and the rest the file `a.safetensors` beside it.
///
/// # Panics
/// If a promise does not hold.
pub fn foreign(bytes: &[u8]) -> bool {
    let names = ["x", "x.npz", "x.safetensors", "x.index.json"];
    names.into_iter().filter(|name| named(bytes, name)).count() > 0
}

fn named(bytes: &[u8], name: &str) -> bool {
    let path = Path::new(name);
    let start = &bytes[..bytes.len().min(START)];
    match by_start(start, path).or_else(|| by_name(path)) {
        Some(Detected::Read(Format::Index)) => index(bytes),
        Some(Detected::Read(format)) => archive(bytes, path, Some(format)),
        _ => archive(bytes, path, None),
    }
}

/// Bytes that are read at positions.
struct Positions<'b>(&'b [u8]);

impl ReadAt for Positions<'_> {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, buffer).map_err(|_| io::ErrorKind::UnexpectedEof.into())
    }
}

/// Opens a file in memory and at positions, which agree.
fn archive(bytes: &[u8], path: &Path, format: Option<Format>) -> bool {
    let length = u64::try_from(bytes.len()).expect("a length");
    let (peak, opened) = heap::peak(|| open_source(Positions(bytes), length, path, &options()));
    let header = match format {
        Some(Format::Safetensors) => {
            bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first)).min(length)
        }
        // Nothing says how many bytes of the file are headers, one of which may be deflated.
        _ => length + NPY_HEADER,
    };
    let most = EACH_OF_HEADER * header + FIXED_ARCHIVE;
    assert!(peak <= most, "{peak} bytes of heap for {header} of a header");
    let (peak, again) = heap::peak(|| open_bytes(bytes, &options()));
    assert!(peak <= most, "{peak} bytes of heap for {header} of a header in memory");
    match (opened, again) {
        (Ok(opened), Ok(archive)) => {
            read_archive(&archive, &opened);
            if format == Some(Format::Safetensors) {
                as_the_crate_does(&archive);
            }
            archive.verify().is_ok()
        }
        (Err(one), other) => {
            refused(&one, length);
            match other {
                Err(other) if one.finding().row == other.finding().row => {
                    assert_eq!(one.to_string(), other.to_string());
                }
                // Bytes alone have no name that tells what they should be.
                other => assert!(other.is_err_and(|other| {
                    let row = other.finding().row.expect("a rule");
                    row.id.starts_with("format-")
                })),
            }
            false
        }
        (Ok(_), Err(other)) => panic!("{other} in memory alone"),
    }
}

/// Every tensor is found by its name and can be read, by views, in memory of its own and at positions, unless what only
/// data shows breaks a rule.
fn read_archive(archive: &Archive<&[u8]>, opened: &SourceArchive<Positions<'_>>) {
    assert_eq!(archive.generation(), None);
    assert_eq!(archive.file_format(), opened.file_format());
    let same = |error| match error {
        ReadError::Refused(error) => error,
        ReadError::Source(error) => panic!("{error}"),
    };
    let verified = archive.verify();
    assert_eq!(verified, opened.verify().map_err(same));
    assert_eq!(archive.len(), opened.len());
    let mut is_valid = true;
    for (object, again) in archive.objects().zip(opened.objects()) {
        let found = archive.get(object.name()).expect("a tensor that is there by its name");
        assert_eq!(found.ordinal(), object.ordinal());
        let component = object.component("data").expect("the data of a tensor");
        // The array of an .npy file is named after the file.
        let is_named = archive.file_format() != ".npy";
        assert!(!is_named || again.name() == object.name());
        assert_eq!(again.shape(), object.shape());
        let again = again.component("data").expect("the data of a tensor");
        assert_eq!(again.extent(), component.extent());
        let decoded = component.read_to_vec(archive.data(), &limits()).map_err(Error::from);
        assert_eq!(decoded, again.read_to_vec(opened, &limits()).map_err(same));
        let is_raw = component.encoding() == Encoding::Raw && !component.is_column_major();
        if let Some(block) = Block::of(&object) {
            assert_eq!(data_length(block, &object), component.extent().length());
        } else {
            let view = object.dense().expect("a dense tensor").view();
            assert_eq!(view.is_ok(), is_raw);
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
            // Elements in another order are held.
            Err(error) if error.id() == Some("limit-decoded") => {
                assert!(component.is_column_major());
            }
            Err(error) => {
                let rules = ["tensor-bool-value", "npz-crc", "npz-deflate", "npz-length"];
                assert!(error.id().is_some_and(|id| rules.contains(&id)), "{error}");
                is_valid = false;
            }
        }
    }
    assert_eq!(is_valid, verified.is_ok());
}

/// The bytes that a tensor of such blocks takes.
fn data_length(block: &Block, object: &Object<'_>) -> u64 {
    object.shape().elements().expect("a number of elements") / block.elements * block.bytes
}

/// The bytes of a tensor.
fn data<'a>(archive: &'a Archive<&[u8]>, object: &Object<'_>) -> &'a [u8] {
    let range = object.component("data").expect("the data of a tensor").extent().range();
    let place = |at| usize::try_from(at).expect("a place in memory");
    &archive.data()[place(range.start)..place(range.end)]
}

/// The same tensors are in the file for the `safetensors` crate.
fn as_the_crate_does(archive: &Archive<&[u8]>) {
    let other = SafeTensors::deserialize(archive.data()).expect("a file that is valid here");
    assert_eq!(u32::try_from(other.len()), Ok(archive.len()));
    for object in archive.objects() {
        let tensor = other.tensor(object.name()).expect("a tensor of the same name");
        assert_eq!(tensor.data(), data(archive, &object));
        let shape =
            tensor.shape().iter().map(|dimension| u64::try_from(*dimension).expect("64 bits"));
        assert!(shape.eq(object.shape().iter()));
    }
    let (_, header) = SafeTensors::read_metadata(archive.data()).expect("it has been read");
    let mut metadata = header.metadata().clone().unwrap_or_default();
    for (key, value) in archive.attributes().into_iter().flatten() {
        assert_eq!(value.get::<&str>().ok(), metadata.remove(key).as_deref());
    }
    assert!(metadata.is_empty(), "{metadata:?}");
}

/// An error is about the file, and shows nothing that is hidden.
fn refused(trouble: &Trouble, length: u64) {
    assert!(trouble.is_refusal(), "{trouble}");
    let finding = trouble.finding();
    assert!(finding.row.is_some(), "{trouble}");
    assert!(finding.offset.is_none_or(|offset| offset <= length), "{trouble} of {length} bytes");
    assert!(!finding.to_string().chars().any(char::is_control), "{trouble:?}");
}

/// The file beside an index, by its name.
struct Only<'b>(&'b [u8]);

impl<'b> Find for Only<'b> {
    type Source = Positions<'b>;

    fn find(&self, shard: &Shard<'_>) -> io::Result<Option<Candidate<Positions<'b>>>> {
        assert_eq!(shard.name(), PART, "no other is beside the index");
        let length = u64::try_from(self.0.len()).expect("a length");
        Ok(Some(Candidate { source: Positions(self.0), length }))
    }
}

/// Opens an index, which is what comes before the first zero, with the rest as the file beside it.
fn index(bytes: &[u8]) -> bool {
    let split = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (index, beside) = bytes.split_at(split);
    let beside = beside.get(1..).unwrap_or_default();
    let length = |bytes: &[u8]| u64::try_from(bytes.len()).expect("a length");
    let part = Part { name: PART, source: &Positions(beside), length: length(beside) };
    let open = || {
        let parts = std::slice::from_ref(&part);
        let source = Positions(index);
        match begin(source, length(index), Path::new("x.index.json"), &options())? {
            Begun::Root(root) => root.open(parts, &options()),
            Begun::Archive(_) => panic!("an index is an archive of its own"),
        }
    };
    let (peak, opened) = heap::peak(open);
    let most = EACH_OF_HEADER * length(bytes) + FIXED_ARCHIVE;
    assert!(peak <= most, "{peak} bytes of heap for an index of {}", length(bytes));
    let archive = match (opened, open()) {
        (Ok(archive), Ok(_)) => archive,
        (Err(one), Err(other)) => {
            assert_eq!(one.to_string(), other.to_string());
            refused(&one, length(index).max(length(beside)));
            return false;
        }
        (one, other) => panic!("{:?} and then {:?}", one.err(), other.err()),
    };
    if archive.shards().len() == 0 {
        assert_eq!(archive.objects().len(), 0);
        return true;
    }
    let alone = open_bytes(beside, &options()).expect("a header that was read with the index");
    assert_eq!(archive.objects().len(), alone.objects().len());
    let mut shards =
        archive.bind_shards(&Only(beside), archive.limits()).expect("the file is there");
    let mut verifier = Verifier::new(archive.file_len(), archive.limits());
    let summary = verifier.file_in(archive.manifest(), archive.source(), &mut shards);
    for object in archive.objects() {
        let of_part = alone.require(object.name()).expect("a tensor of the part");
        let [here, there] = [&object, &of_part].map(|it| it.component("data").expect("data"));
        assert_eq!((here.shard(), here.extent()), (Some(PART), there.extent()));
        assert_eq!((object.shape(), here.element_type()), (of_part.shape(), there.element_type()));
    }
    assert_eq!(summary.is_ok(), alone.verify().is_ok());
    summary.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_for_the_corpus_and_for_damage_to_it() {
        let mut valid = 0;
        for output in zten_corpus::files().iter().filter(|file| file.path.starts_with("other/")) {
            println!("{}", output.path);
            let bytes = &output.bytes;
            valid += u32::from(foreign(bytes));
            for at in (0..bytes.len()).step_by(1 + bytes.len() / 64) {
                for change in [0x01, 0x80, 0xff] {
                    let mut damaged = bytes.clone();
                    damaged[at] ^= change;
                    foreign(&damaged);
                }
                foreign(&bytes[..at]);
            }
        }
        assert!(valid > 25, "only {valid} are valid");
    }
}

//! Files of other formats.

use std::io;
use std::path::Path;

use safetensors::SafeTensors;
use zten::shards::{Candidate, Find, Shard};
use zten::source::SourceArchive;
use zten::verify::Verifier;
use zten::{Archive, Error, Object, ReadAt, ReadError};
use zten_formats::{
    Block, Detected, Failure, Format, Input, Part, START, Source, Trouble, by_name, by_start,
    open_bytes, open_input, open_source, open_with_parts,
};

use crate::heap;
use crate::{limits, options};

/// Bytes of heap for each byte of a file, at most, and beside it, where it is no archive: windows, and what
/// decompresses. `SECURITY.md` has 5 for opening.
const EACH: u64 = 5;
const FIXED: u64 = 2 << 20;
/// Bytes of heap for each byte of the header of an archive, at most, and beside it.
const EACH_OF_HEADER: u64 = 8;
const FIXED_ARCHIVE: u64 = 64 << 10;

/// The name of the file beside an index.
const PART: &str = "a.safetensors";

/// Opens a file as each of the formats, by its bytes and by names, and reads all of it: memory follows its length, two
/// runs end alike, and what tensors take lies within the file. Whether it is valid under any name.
///
/// An index is what comes before the first zero, and the rest the file `a.safetensors` beside it.
///
/// # Panics
/// Where a promise does not hold.
pub fn foreign(bytes: &[u8]) -> bool {
    let names = ["x", "x.npz", "x.safetensors", "x.index.json"];
    names.into_iter().filter(|name| named(bytes, name)).count() > 0
}

fn named(bytes: &[u8], name: &str) -> bool {
    let path = Path::new(name);
    let start = &bytes[..bytes.len().min(START)];
    match by_start(start, path).or_else(|| by_name(path)) {
        Some(Detected::Read(Format::Index)) => index(bytes, path),
        Some(Detected::Read(format)) if format.has_archives() => archive(bytes, path, format),
        _ => input(bytes, name),
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
fn archive(bytes: &[u8], path: &Path, format: Format) -> bool {
    let length = u64::try_from(bytes.len()).expect("a length");
    let (peak, opened) = heap::peak(|| open_source(Positions(bytes), length, path, &options()));
    let header = match format {
        Format::Safetensors => bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first)),
        // It does not say how long it is.
        _ => length,
    };
    let most = EACH_OF_HEADER * header.min(length) + FIXED_ARCHIVE;
    assert!(peak <= most, "{peak} bytes of heap for {header} of a header");
    let (peak, again) = heap::peak(|| open_bytes(bytes, &options()));
    assert!(peak <= most, "{peak} bytes of heap for {header} of a header in memory");
    match (opened, again) {
        (Ok(opened), Ok(archive)) => {
            assert_eq!(archive.generation(), None);
            read_archive(&archive, &opened);
            if format == Format::Safetensors {
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
                other => assert!(other.is_err_and(|other| other.to_string().contains("none of"))),
            }
            false
        }
        (Ok(_), Err(other)) => panic!("{other} in memory alone"),
    }
}

/// Every tensor is found by its name and can be read, by views, in memory of its own and at positions, unless a bool
/// is neither 0 nor 1.
fn read_archive(archive: &Archive<&[u8]>, opened: &SourceArchive<Positions<'_>>) {
    assert_eq!(archive.file_format(), opened.file_format());
    let same = |error| match error {
        ReadError::Refused(error) => error,
        ReadError::Source(error) => panic!("{error}"),
    };
    let verified = archive.verify();
    assert_eq!(verified, opened.verify().map_err(same));
    assert_eq!(archive.len(), opened.len());
    let mut is_valid = true;
    for object in archive.objects() {
        let found = archive.get(object.name()).expect("a tensor that is there by its name");
        assert_eq!(found.ordinal(), object.ordinal());
        let component = object.component("data").expect("the data of a tensor");
        let again = opened.get(object.name()).expect("a tensor that is in the same header");
        assert_eq!(again.shape(), object.shape());
        let again = again.component("data").expect("the data of a tensor");
        assert_eq!(again.extent(), component.extent());
        let bytes = data(archive, &object);
        let decoded = component.read_to_vec(archive.data(), &limits()).map_err(Error::from);
        if let Some(block) = Block::of(&object) {
            assert_eq!(data_length(block, &object), component.extent().length());
        } else {
            let view = object.dense().expect("a dense tensor").view();
            assert_eq!(view.expect("raw bytes").as_bytes(), bytes);
        }
        match decoded {
            Ok(decoded) => assert_eq!(decoded, bytes),
            Err(error) => {
                assert_eq!(error.id(), Some("tensor-bool-value"));
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

fn input(bytes: &[u8], name: &str) -> bool {
    let (peak, opened) = heap::peak(|| validate(bytes, name));
    let length = u64::try_from(bytes.len()).expect("a length");
    assert!(peak <= EACH * length + FIXED + length, "{peak} bytes of heap for {length}, as {name}");
    let again = validate(bytes, name);
    match (opened, again) {
        (Ok(input), Ok(mut again)) => {
            let listed: Vec<_> = input.tensors().iter().collect();
            assert_eq!(
                format!("{listed:?}"),
                format!("{:?}", again.tensors().iter().collect::<Vec<_>>())
            );
            extents(&input, length);
            read(&mut again);
            true
        }
        (Err(one), Err(other)) => {
            assert_eq!(one.to_string(), other.to_string());
            refused(&one, length);
            false
        }
        (one, other) => panic!("{:?} and then {:?}", one.err(), other.err()),
    }
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
fn index(bytes: &[u8], path: &Path) -> bool {
    let split = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (index, beside) = bytes.split_at(split);
    let beside = beside.get(1..).unwrap_or_default();
    let length = |bytes: &[u8]| u64::try_from(bytes.len()).expect("a length");
    let part = Part { name: PART, source: &Positions(beside), length: length(beside) };
    let open = || {
        let parts = std::slice::from_ref(&part);
        open_with_parts(Positions(index), length(index), path, parts, &options())
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

fn validate(bytes: &[u8], name: &str) -> Result<Input, Trouble> {
    let mut input = open_input(Source::from(bytes.to_vec()), Path::new(name), &limits())?;
    input.verify(&mut |_| ())?;
    Ok(input)
}

/// What tensors take lies within the file.
fn extents(input: &Input, length: u64) {
    for tensor in input.tensors().iter() {
        let stored = input.stored(&tensor);
        let end = stored.offset.checked_add(stored.length);
        // Those of nothing may lie anywhere.
        let inside = stored.length == 0 || end.is_some_and(|end| end <= length);
        assert!(inside, "{tensor:?} ends at {end:?} of {length}");
    }
}

/// All that has been validated can be read, but for what the system does not let be done.
fn read(input: &mut Input) {
    for at in 0..input.tensors().len() {
        let tensor = input.tensors().get(at).expect("a tensor that is counted");
        let mut bytes = 0_u64;
        let read = input.read::<()>(&tensor, &mut |chunk| {
            bytes += u64::try_from(chunk.len()).expect("a length");
            Ok(())
        });
        match read {
            Ok(()) => assert_eq!(bytes, tensor.bytes),
            Err(Failure::Input(trouble)) => assert!(!trouble.is_refusal(), "{trouble}"),
            Err(Failure::Taker(())) => panic!("nothing was refused by the taker"),
        }
    }
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

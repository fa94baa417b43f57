//! Files of other formats.

use std::path::Path;

use zten_formats::{
    Beside, Detected, Failure, Format, Input, Source, Trouble, detect, open_bytes, open_input,
    open_source,
};

use crate::strict::Strict;
use crate::{heap, limits};

/// Bytes of heap for each byte of a file, at most: `SECURITY.md` has 5 for opening; what follows no header is
/// [`FIXED`].
const EACH: u64 = 5;
/// Windows, and what decompresses.
const FIXED: u64 = 2 << 20;

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
    let detected = detect(&Source::from(bytes.to_vec()), Path::new(name));
    if let Ok(Some(Detected::Read(Format::Safetensors))) = detected {
        return archive(bytes, name);
    }
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
            refused(&one, &other, length);
            false
        }
        (one, other) => panic!("{:?} and then {:?}", one.err(), other.err()),
    }
}

/// Two runs end in one refusal, which has a rule and a byte of the file.
fn refused(one: &Trouble, other: &Trouble, length: u64) {
    assert_eq!(one.to_string(), other.to_string());
    assert!(one.is_refusal(), "{one}");
    let finding = one.finding();
    assert!(finding.row.is_some(), "{one}");
    assert!(finding.offset.is_none_or(|offset| offset <= length), "{one} of {length} bytes");
    assert!(!finding.to_string().chars().any(char::is_control), "{one:?}");
}

/// Opens a file of a format that has archives, from memory and from a source that is asked for bytes of the file only,
/// and reads all of it.
fn archive(bytes: &[u8], name: &str) -> bool {
    let (length, options) = (u64::try_from(bytes.len()).expect("a length"), crate::options());
    let open = || open_source(Strict(bytes), length, Path::new(name), &options);
    let (peak, opened) = heap::peak(open);
    assert!(peak <= EACH * length + FIXED, "{peak} bytes of heap for {length}, as {name}");
    let source = match (opened, open()) {
        (Ok(opened), Ok(_)) => opened,
        (Err(one), Err(other)) => {
            refused(&one, &other, length);
            return false;
        }
        (one, other) => panic!("{:?} and then {:?}", one.err(), other.err()),
    };
    // Without the name, the bytes may be those of no format.
    let Ok(archive) = open_bytes(bytes, &options) else { return false };
    crate::open::objects(&archive);
    crate::front::compare_source(&archive, &source);
    archive.verify().is_ok()
}

fn validate(bytes: &[u8], name: &str) -> Result<Input, Trouble> {
    let is_index = zten_formats::opened_beside(Path::new(name)).is_some();
    let split = bytes.iter().position(|byte| *byte == 0).filter(|_| is_index);
    let (bytes, beside) = bytes.split_at(split.unwrap_or(bytes.len()));
    let beside = beside.get(1..).unwrap_or_default().to_vec();
    let beside = vec![Beside { name: "a.safetensors".to_owned(), source: Source::from(beside) }];
    let mut input = open_input(Source::from(bytes.to_vec()), beside, Path::new(name), &limits())?;
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

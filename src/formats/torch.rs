//! Reading of PyTorch checkpoints, as `torch.save` writes them: a pickle and storages. Since PyTorch 1.6 they are in a zip
//! archive (module `archive`), and before in a stream (module `stream`).
//!
//! The module `machine` reads the pickle without calling anything, and `calls`, `values` and `arrays` make the values that
//! functions and classes would return. The module `walk` derives the names of tensors from the keys in the pickle, and
//! `checkpoint` adds the tensors to the index. The data of each tensor is a range of a storage (module `storages`).

mod archive;
mod arrays;
mod calls;
mod checkpoint;
mod dropped;
mod globals;
mod left_out;
mod machine;
mod opcodes;
mod pickle;
mod storages;
mod stream;
mod values;
mod walk;

use alloc::vec::Vec;
use core::cell::Cell;

use crate::index::{Blobs, Builder, FileFormat, Parsed, PickleRules, Rules, StreamRules};
use crate::limits::{Limits, OpenOptions};
use crate::num::u64_from_usize;
use crate::read_at::ReadAt;

use super::builder_error::format_error;
use super::cbor::Map;
use super::error::FormatError;
use super::limits::check_length;
use super::rules::Rule;
use super::zip::{Directory, Window, Writer};

use archive::{EACH, Folder, MORE};
use checkpoint::Checkpoint;
use machine::{Context, Setting};
use pickle::Pickle;
use stream::Stream;
use walk::{Leaf, NameWalk};

/// The rules of PyTorch checkpoints that are checked while the index of tensors is built and content is read.
pub(super) const RULES: Rules = Rules {
    duplicate_name: Rule::TorchDuplicateName.row(),
    bool_value: Some(Rule::TensorBoolValue.row()),
    stream: Some(&StreamRules {
        compression: Rule::ZipDeflate.row(),
        length: Rule::ZipLength.row(),
        checksum: Rule::ZipCrc.row(),
    }),
    pickles: None,
    quantized: Some(&super::rules::QUANTIZED),
};
/// The format of PyTorch checkpoints: its name, and the rules that are checked while the index of tensors is built and while
/// tensors are read.
static TORCH: FileFormat = FileFormat::new("PyTorch", Blobs::Any, RULES);

/// The length in bytes of the longest pickle that zten reads, and of the longest archive member that it reads as a whole.
const LONGEST: u64 = 64 << 20;
/// The check of arrays of Python objects in NumPy files.
pub(super) static OBJECTS: PickleRules = PickleRules {
    unread: Rule::NpyObjects.row(),
    longest: LONGEST,
    expansion: EACH,
    slack: MORE,
    check: |bytes, base, limits| {
        let steps = Cell::new(0);
        Ok(Pickle::check_objects(bytes, base, (limits, &steps))?)
    },
};
/// The number of bytes at the start of a stream that are read first to find the ends of its pickles.
const FIRST: u64 = 64 << 10;

#[cfg(feature = "std")]
pub(super) use globals::known_by_zten_alone;

/// Reads the directory and the pickle of an archive of `length` bytes, and returns the header.
pub(super) fn open(
    source: &dyn ReadAt,
    length: u64,
    options: &OpenOptions,
) -> Result<Parsed, FormatError> {
    let limits = options.limit();
    let directory = Directory::find(source, length, limits, Writer::Torch)?;
    let mut window = Window::new(source, length);
    let mut folder = Folder::find(&directory, &mut window, (length, limits))?;
    let is_big = folder.check_notes(&mut window, options)?;
    let bytes = folder.read_pickle(&mut window, options)?;
    let steps = Cell::new(0);
    let context = if folder.is_script { Context::Script } else { Context::Archived };
    let setting = Setting { context, limits, tolerates_globals: options.tolerates_globals() };
    let pickle_at = folder.pickle_at();
    let (pickle, root) = Pickle::read(&bytes, pickle_at, setting, &steps)?;
    let mut builder =
        Builder::new(&TORCH, directory.range.clone(), length, options).map_err(format_error)?;
    builder.descriptions_at(pickle_at);
    let notes =
        [(folder.has_no_checksums, Rule::TorchNoChecksums), (folder.is_script, Rule::TorchScript)];
    for (_, rule) in notes.into_iter().filter(|(is_found, _)| *is_found) {
        let found = FormatError::violation_at(rule, rule.row().broken(), pickle_at);
        builder.found(found.into());
    }
    let is_raw_pickle = folder.has_raw_pickle();
    let storages = &mut folder.storages;
    Checkpoint { pickle, root, storages, is_big, is_raw_pickle, builder }.parsed()
}

/// Reads the pickles of a stream of PyTorch before 1.6, of `length` bytes, and returns the header. The elements are always
/// little-endian: machines of the other byte order swapped the bytes when they wrote the stream.
pub(super) fn open_stream(
    source: &dyn ReadAt,
    length: u64,
    options: &OpenOptions,
) -> Result<Parsed, FormatError> {
    let (bytes, bounds) = stream::read_pickles(source, length, options)?;
    let steps = Cell::new(0);
    let stream = Stream::read((&bytes, bounds), (source, length), options, &steps)?;
    let Stream { pickle, root, mut storages, pickle_at, end } = stream;
    let mut builder = Builder::new(&TORCH, 0..end, length, options).map_err(format_error)?;
    builder.descriptions_at(pickle_at);
    let storages = &mut storages;
    Checkpoint { pickle, root, storages, is_big: false, is_raw_pickle: true, builder }.parsed()
}

/// Reads `bytes` as the pickle of an archive without storages, and returns the amount of work: the number of instructions, items
/// of containers and bytes of texts that were visited. The pickle may be invalid.
pub(super) fn steps(bytes: &[u8]) -> u64 {
    let (limits, steps) = (Limits::default(), Cell::new(0));
    let read = || {
        let setting =
            Setting { context: Context::Archived, limits: &limits, tolerates_globals: false };
        let (mut pickle, root) = Pickle::read(bytes, 0, setting, &steps)?;
        pickle.check_dropped()?;
        let mut attributes = Map::default();
        let mut walk = NameWalk::new(&pickle, root, &limits)?;
        while let Some(leaf) = walk.next()? {
            if let Leaf::Attribute(value) = leaf {
                let mut left = walk.left();
                attributes.put(walk.name(), |out| pickle.write(value, out, &mut left))?;
                walk.set_left(left);
            }
        }
        let (storages, tensors) = (pickle.storages(), pickle.tensors());
        let _: usize = storages.chain(tensors).map(|node| pickle.items(node).count()).sum();
        pickle.maps().try_for_each(|node| pickle.check_keys(node))
    };
    drop(read());
    steps.get()
}

/// Checks that a file of `length` bytes that is only a pickle is valid, and imports no global that may run code.
pub(super) fn check_pickle(
    source: &dyn ReadAt,
    length: u64,
    limits: &Limits,
) -> Result<(), FormatError> {
    check_length(length, limits, "the pickle")?;
    check_longest(length, 0)?;
    let mut bytes = Vec::new();
    source.append_range(0..length, &mut bytes)?;
    let steps = Cell::new(0);
    let setting = Setting { context: Context::Alone, limits, tolerates_globals: false };
    Pickle::read(&bytes, 0, setting, &steps)?;
    Ok(())
}

/// Checks the `length` of a pickle, or of a member that is read as a whole, against [`LONGEST`]. `at` is the offset of the pickle
/// or member in the file.
fn check_longest(length: u64, at: u64) -> Result<(), FormatError> {
    if length <= LONGEST {
        return Ok(());
    }
    let sentence =
        format_args!("a pickle or member of {length} bytes exceeds the maximum of {LONGEST} bytes");
    Err(FormatError::violation_at(Rule::LimitHeader, sentence, at))
}

/// Returns the error for a checkpoint in which two attributes have the name `key`.
fn duplicate_key(key: &str) -> FormatError {
    FormatError::predicate(Rule::TorchDuplicateKey, "is the name of two values").about(key)
}

/// Returns the cost of a name or value of `bytes` bytes: the bytes, and 16 more for the work that each name and value takes.
const fn cost(bytes: usize) -> u64 {
    u64_from_usize(bytes).saturating_add(16)
}

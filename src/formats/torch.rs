//! Reading of PyTorch checkpoints, as `torch.save` writes them: a zip archive of a pickle and of storages.
//!
//! The module `pickle` reads the pickle without executing anything. The module `walk` derives the names of tensors from
//! the keys in the pickle. The data of each tensor is a range of a storage, and several tensors may share a storage.

mod dropped;
mod globals;
mod opcodes;
mod pickle;
mod walk;

use alloc::vec::Vec;
use core::cell::Cell;

use crate::element::ByteOrder;
use crate::index::Layout;
use crate::index::{
    Blobs, Builder, FileFormat, Parsed, PickleRules, RawComponent, RawObject, Rules, StreamRules,
};
use crate::limits::{Limits, OpenOptions};
use crate::num::{len_u32, sort_by, u64_from_usize, usize_from_u32};
use crate::read_at::ReadAt;

use super::builder_error::{self, format_error};
use super::cbor::Map;
use super::error::FormatError;
use super::kind::Kind;
use super::limits::{check_length, check_rank};
use super::rules::Rule;
use super::zip::{Decoded, Directory, Extents, Member, Window, Writer, defer, read_whole};

use globals::{Dtype, Global};
use pickle::{Pickle, Storage, Value};
use walk::{Leaf, NameWalk};

/// The format's name and rules for the index of an archive.
static TORCH: FileFormat = FileFormat::new(
    "PyTorch",
    Blobs::Any,
    Rules {
        duplicate_name: Rule::TorchDuplicateName.row(),
        bool_value: Some(Rule::TensorBoolValue.row()),
        stream: Some(&StreamRules {
            compression: Rule::ZipDeflate.row(),
            length: Rule::ZipLength.row(),
            checksum: Rule::ZipCrc.row(),
        }),
        pickles: None,
    },
);

/// The name of the pickle in the folder of the archive.
const PICKLE: &str = "data.pkl";
/// The length in bytes of the longest key of a storage: a 64-bit number in decimal digits.
const KEY: usize = 20;
/// The length in bytes of the longest note, a small member such as `version`.
const NOTE: u64 = 128;
/// The length in bytes of the longest pickle.
const LONGEST: u64 = 64 << 20;
/// The largest expansion factor of a compressed member that is read as a whole. It ties memory to the stored size, which the
/// file cannot exaggerate. [`MORE`] bytes are always allowed.
const EACH: u64 = 64;
/// The number of bytes to which a member may expand beyond the factor [`EACH`].
const MORE: u64 = 64 << 10;
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
/// The number of bytes of a stream of pickles that are read first.
const FIRST: u64 = 64 << 10;
/// The number of pickles in the stream that PyTorch wrote before 1.6: a magic number, the protocol, facts about the system, the
/// value, and the keys of its storages.
const PICKLES: usize = 5;

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
    let (mut pickle, root) = Pickle::read(&bytes, folder.pickle_at(), (limits, &steps))?;
    pickle.check_dropped()?;
    let unsupported = pickle.check_supported().err();
    let mut builder =
        Builder::new(&TORCH, directory.range.clone(), length, options).map_err(format_error)?;
    builder.descriptions_at(folder.pickle_at());
    let mut attributes = Map::default();
    if folder.has_no_checksums {
        let rule = Rule::TorchNoChecksums;
        let found = FormatError::violation_at(rule, rule.row().broken(), folder.pickle_at());
        builder.found(found.into());
    }
    let mut walk = NameWalk::new(&pickle, root, limits)?;
    let mut skipped = None;
    while let Some(leaf) = walk.next()? {
        match leaf {
            Leaf::Tensor(node) => {
                let about = |error: FormatError| error.about(walk.name());
                let tensor = folder.tensor(&pickle, node, (limits, is_big)).map_err(about)?;
                folder.mark_used(&tensor);
                if tensor.is_swapped_here_alone {
                    let rule = Rule::TorchByteOrder;
                    let found = FormatError::violation_at(rule, rule.row().broken(), tensor.at);
                    builder.found(found.about(walk.name()).into());
                }
                match tensor.component(is_big) {
                    Ok(component) => {
                        let pushed = builder.push(&tensor.object(walk.name(), &[component]));
                        pushed.map_err(|error| match error.rule() {
                            Some(id) if id.starts_with("limit-decoded") => {
                                about(format_error(error))
                            }
                            _ => format_error(error),
                        })?;
                    }
                    Err(error) => drop(skipped.get_or_insert(about(error))),
                }
            }
            Leaf::Attribute(value) => {
                let mut left = walk.left();
                attributes.put(walk.name(), |out| pickle.write(value, out, &mut left))?;
                walk.set_left(left);
            }
        }
    }
    // A file with an unsupported value may be invalid as well, and then "invalid" is the verdict.
    folder.check_made(&pickle, limits, is_big)?;
    if let Some(error) = unsupported.or(skipped).or(walk.into_unsupported()) {
        return Err(error);
    }
    folder.check_used()?;
    let attributes = attributes.finish(duplicate_key)?;
    if !attributes.is_empty() {
        builder.attributes(&attributes).map_err(format_error)?;
    }
    builder_error::finish(builder, Rule::TorchDuplicateName)
}

/// Reads `bytes` as the pickle of an archive without storages, and returns the amount of work, whether the pickle is valid or
/// not: the number of instructions, items of containers and bytes of texts that were visited.
pub(super) fn steps(bytes: &[u8]) -> u64 {
    let (limits, steps) = (Limits::default(), Cell::new(0));
    let read = || {
        let (mut pickle, root) = Pickle::read(bytes, 0, (&limits, &steps))?;
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

/// Checks that the pickles of a file that is no archive import no global that may run code. The file is a single pickle or, if
/// `is_stream`, a stream of pickles with storages after them.
pub(super) fn check_pickles(
    source: &dyn ReadAt,
    length: u64,
    (limits, is_stream): (&Limits, bool),
) -> Result<(), FormatError> {
    if !is_stream {
        check_length(length, limits, "the pickle")?;
        check_longest(length, 0)?;
    }
    // A stream does not give the length of its pickles, so the check is repeated with twice as many bytes until the pickles end
    // within these bytes.
    let most = length.min(LONGEST).min(limits.manifest());
    let mut prefix = if is_stream { most.min(FIRST) } else { length };
    loop {
        let mut bytes = Vec::new();
        source.append_range(0..prefix, &mut bytes)?;
        match check_in_order(&bytes, (limits, is_stream)) {
            Err(error) if prefix < length && error.breaks(Rule::TorchPickle) => {
                if prefix == most {
                    check_length(prefix.saturating_add(1), limits, "a pickle of the stream")?;
                    check_longest(prefix.saturating_add(1), 0)?;
                }
                prefix = prefix.saturating_mul(2).min(most);
            }
            checked => return checked,
        }
    }
}

/// Checks the pickle at the start of `bytes` or, if `is_stream`, the first [`PICKLES`] pickles. Other bytes may follow the
/// pickles of a stream.
fn check_in_order(bytes: &[u8], (limits, is_stream): (&Limits, bool)) -> Result<(), FormatError> {
    let mut at = 0;
    for _ in 0..if is_stream { PICKLES } else { 1 } {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = Pickle::check(rest, u64_from_usize(at), (limits, is_stream))?;
        at = at.saturating_add(length);
    }
    Ok(())
}

/// Checks the `length` of a pickle, or of a member that is read as a whole, against [`LONGEST`]. `at` is its offset in the
/// file.
fn check_longest(length: u64, at: u64) -> Result<(), FormatError> {
    if length <= LONGEST {
        return Ok(());
    }
    let sentence = format_args!("{length} bytes exceed the maximum of {LONGEST} bytes");
    Err(FormatError::violation_at(Rule::LimitHeader, sentence, at))
}

/// Reads and decompresses the whole `member`, and verifies its checksum.
fn read_member(
    member: Member,
    window: &mut Window<'_>,
    options: &OpenOptions,
) -> Result<Vec<u8>, FormatError> {
    let Member { start, packed, size, .. } = member;
    // Deflated data may be longer than the bytes to which it decompresses.
    let longest = size.max(packed);
    check_length(longest, options.limit(), "the member")?;
    check_longest(longest, start)?;
    if size > packed.saturating_mul(EACH).saturating_add(MORE) {
        let most = packed.saturating_mul(EACH).saturating_add(MORE);
        let sentence = format_args!(
            "{packed} bytes decompress to {size}, which exceeds the maximum of {most}"
        );
        return Err(FormatError::violation_at(Rule::LimitHeader, sentence, start));
    }
    read_whole(member, window)
}

/// Returns the error for two attributes with the name `key`.
fn duplicate_key(key: &str) -> FormatError {
    FormatError::predicate(Rule::TorchDuplicateKey, "is the name of two values").about(key)
}

/// The members of an archive.
struct Folder<'d> {
    pickle: Option<Member>,
    /// Small members in which PyTorch describes the archive: the name in the folder, and the member.
    notes: Vec<(&'d str, Member)>,
    /// The members that are storages, sorted by their keys.
    records: Vec<Record<'d>>,
    /// True if the checksum of every member is 0.
    has_no_checksums: bool,
    /// The offset in the file at which the members end.
    end: u64,
}

/// A member that is a storage.
#[derive(Clone, Copy)]
struct Record<'d> {
    key: &'d str,
    member: Member,
    /// Whether the data of a tensor with a name lies in the storage.
    is_used: bool,
    /// The node of the first reference to the storage in the pickle.
    reference: Option<u32>,
}

impl<'d> Folder<'d> {
    /// Finds and checks all members of an archive of `length` bytes.
    fn find(
        directory: &'d Directory,
        window: &mut Window<'_>,
        (length, limits): (u64, &Limits),
    ) -> Result<Self, FormatError> {
        let end = directory.range.start;
        let mut folder = Self {
            pickle: None,
            notes: Vec::new(),
            records: Vec::new(),
            has_no_checksums: false,
            end,
        };
        let (mut extents, mut decoded) = (Extents::new(end), Decoded::default());
        let (mut names, mut pending, mut prefix) = (Vec::new(), None, None);
        for entry in directory.entries() {
            let entry = entry?;
            let about = |error: FormatError| error.about(entry.name);
            decoded.add(&entry, length, limits).map_err(about)?;
            let located = entry.find(window, end).map_err(about);
            let Some(located) = defer(located, &mut pending)? else { continue };
            extents.add(located.start, located.end)?;
            names.try_reserve(1).map_err(|_| FormatError::memory())?;
            names.push(entry.name);
            let inside = match (entry.name.split_once('/'), prefix) {
                (Some((folder, inside)), None) => {
                    prefix = Some(folder);
                    Some(inside)
                }
                (Some((folder, inside)), Some(prefix)) if folder == prefix => Some(inside),
                _ => None,
            };
            let inside = inside.ok_or_else(|| {
                let sentence = "is not in the folder of the first member";
                FormatError::predicate(Rule::TorchFolder, sentence).or_at(entry.at)
            });
            let inside = inside.map_err(about)?;
            folder.add(inside, located.member).map_err(|error| about(error.or_at(entry.at)))?;
        }
        if let Some(pending) = pending {
            return Err(pending);
        }
        directory.check_count(extents.count())?;
        extents.check()?;
        folder.has_no_checksums = folder.forgive_checksums();
        names.sort_unstable();
        let mut pairs = names.iter().zip(names.iter().skip(1));
        if let Some((name, _)) = pairs.find(|(name, next)| name == next) {
            let sentence = Rule::TorchDuplicateMember.row().broken();
            return Err(FormatError::violation(Rule::TorchDuplicateMember, sentence).about(name));
        }
        sort_by(&mut folder.records, |one, other| one.key.cmp(other.key));
        Ok(folder)
    }

    /// Adds `member`, whose name in the folder is `name`.
    fn add(&mut self, name: &'d str, member: Member) -> Result<(), FormatError> {
        const NOTES: [&str; 5] = [
            "version",
            "byteorder",
            ".format_version",
            ".storage_alignment",
            ".data/serialization_id",
        ];
        let is_number = |key: &str| {
            (1..=KEY).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_digit())
        };
        if name == PICKLE {
            self.pickle = Some(member);
        } else if let Some(key) = name.strip_prefix("data/").filter(|key| is_number(key)) {
            self.records.try_reserve(1).map_err(|_| FormatError::memory())?;
            self.records.push(Record { key, member, is_used: false, reference: None });
        } else if NOTES.contains(&name) {
            self.notes.try_reserve(1).map_err(|_| FormatError::memory())?;
            self.notes.push((name, member));
        } else {
            let of_script = ["code/", "constants/", "constants.pkl"];
            let is_script = of_script.iter().any(|prefix| name.starts_with(prefix));
            let rule = if is_script { Rule::TorchScript } else { Rule::TorchMember };
            return Err(FormatError::violation(rule, rule.row().broken()));
        }
        Ok(())
    }

    /// Returns all members of the archive.
    fn members(&mut self) -> impl Iterator<Item = &mut Member> {
        let notes = self.notes.iter_mut().map(|(_, member)| member);
        let records = self.records.iter_mut().map(|record| &mut record.member);
        self.pickle.iter_mut().chain(notes).chain(records)
    }

    /// Removes the checksums of all members if all are 0, and returns whether they were: PyTorch writes 0 if it is told to
    /// compute none.
    fn forgive_checksums(&mut self) -> bool {
        let are_absent = self.members().all(|member| member.crc == Some(0));
        if are_absent {
            self.members().for_each(|member| member.crc = None);
        }
        are_absent
    }

    /// Checks the notes of the archive, and returns whether the elements of its tensors are big-endian.
    fn check_notes(
        &self,
        window: &mut Window<'_>,
        options: &OpenOptions,
    ) -> Result<bool, FormatError> {
        let (mut has_version, mut is_big) = (false, false);
        for (name, member) in &self.notes {
            let about = |error: FormatError| error.about(name);
            if member.size > NOTE {
                let sentence =
                    format_args!("is {} bytes long, expected at most {NOTE}", member.size);
                let error = FormatError::predicate(Rule::TorchMember, sentence);
                return Err(about(error.or_at(member.start)));
            }
            let note = read_member(*member, window, options).map_err(about)?;
            let is_text = str::from_utf8(&note);
            let text = is_text.unwrap_or_default();
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let is_known = match *name {
                "version" => {
                    has_version = true;
                    let version = text.trim_end_matches('\n').parse::<u8>();
                    version.is_ok_and(|version| (1..=10).contains(&version))
                }
                "byteorder" => {
                    is_big = text == "big";
                    is_big || text == "little"
                }
                ".storage_alignment" | ".format_version" => is_number,
                _ => is_text.is_ok(),
            };
            if !is_known {
                let rule = Rule::TorchVersion;
                return Err(about(FormatError::violation_at(
                    rule,
                    rule.row().broken(),
                    member.start,
                )));
            }
        }
        if has_version {
            return Ok(is_big);
        }
        Err(FormatError::violation_at(Rule::TorchVersion, "the archive has no version", self.end))
    }

    /// Reads the whole pickle and verifies its checksum.
    fn read_pickle(
        &self,
        window: &mut Window<'_>,
        options: &OpenOptions,
    ) -> Result<Vec<u8>, FormatError> {
        let member = self.pickle.ok_or_else(|| {
            FormatError::violation_at(Rule::TorchFolder, "the folder has no data.pkl", self.end)
        })?;
        let about = |error: FormatError| error.about(PICKLE);
        read_member(member, window, options).map_err(about)
    }

    /// Returns the offset in the file at which the pickle begins, or 0 if the archive has no pickle.
    fn pickle_at(&self) -> u64 {
        self.pickle.map_or(0, |member| member.start)
    }

    /// Returns the position in `records` of the storage with the key `key`; `None` if there is no such member.
    fn place(&self, key: &str) -> Option<usize> {
        self.records.binary_search_by(|record| record.key.cmp(key)).ok()
    }

    /// Checks all storages, tensors and keys of dictionaries that the pickle makes, even if they are unreachable from the root
    /// or lie within an unsupported value: PyTorch makes all of them.
    fn check_made(
        &mut self,
        pickle: &Pickle<'_>,
        limits: &Limits,
        is_big: bool,
    ) -> Result<(), FormatError> {
        for node in pickle.storages() {
            self.check_storage(pickle, node)?;
        }
        for node in pickle.tensors() {
            self.tensor(pickle, node, (limits, is_big))?;
        }
        pickle.maps().try_for_each(|node| pickle.check_keys(node))?;
        let unnamed = self.records.iter().find(|record| record.reference.is_none());
        unnamed.map_or(Ok(()), |record| Err(record.unused_error()))
    }

    /// Checks that the reference `node` to a storage names a member of the same length, and agrees with the first reference to
    /// this storage. PyTorch makes the storage from the first reference and ignores the class and device in later ones.
    fn check_storage(&mut self, pickle: &Pickle<'_>, node: u32) -> Result<(), FormatError> {
        let at = pickle.node_at(node);
        let storage = pickle.storage(node)?;
        let missing =
            || FormatError::violation_at(Rule::TorchStorage, Rule::TorchStorage.row().broken(), at);
        let place = self.place(storage.key).ok_or_else(missing)?;
        let record = self.records.get_mut(place).ok_or_else(missing)?;
        if storage.bytes() != Some(record.member.size) {
            return Err(missing());
        }
        let first = pickle.storage(*record.reference.get_or_insert(node))?;
        // PyTorch gives the same key to empty storages of different types.
        let is_same = (first.dtype, first.is_typed) == (storage.dtype, storage.is_typed);
        if (is_same || record.member.size == 0) && first.device == storage.device {
            return Ok(());
        }
        let sentence = "two references to this storage differ in its class or its device";
        Err(FormatError::violation_at(Rule::TorchStorage, sentence, at).about(storage.key))
    }

    /// Finds the storage of the tensor `node`, and checks that the elements of the tensor lie within the storage.
    fn tensor(
        &self,
        pickle: &Pickle<'_>,
        node: u32,
        (limits, is_big): (&Limits, bool),
    ) -> Result<Tensor, FormatError> {
        let at = pickle.node_at(node);
        let violation = |rule: Rule| FormatError::violation_at(rule, rule.row().broken(), at);
        let [storage, offset, shape, strides, dtype] = pickle.first(node);
        let (Value::Storage(storage), Value::Tuple(shape), Value::Tuple(strides)) =
            (storage, shape, strides)
        else {
            return Err(FormatError::internal("a tensor has no storage"));
        };
        let storage = pickle.storage(storage)?;
        let place = self.place(storage.key).ok_or_else(|| violation(Rule::TorchStorage))?;
        let record = self.records.get(place).ok_or_else(|| violation(Rule::TorchStorage))?;
        let member = record.member;
        if storage.bytes() != Some(member.size) {
            return Err(violation(Rule::TorchStorage));
        }
        let dtype = match dtype {
            Value::Global(Global::Dtype(dtype)) => dtype,
            _ => storage.dtype,
        };
        let rank = usize_from_u32(pickle.length(shape));
        check_rank(rank, limits, "it").map_err(|error| error.or_at(at))?;
        let wrong = || violation(Rule::TorchTensor);
        let numbers = |node: u32| -> Result<Vec<u64>, FormatError> {
            let mut numbers = Vec::new();
            numbers.try_reserve_exact(rank).map_err(|_| FormatError::memory())?;
            for value in pickle.items(node).take(rank) {
                numbers.push(pickle.count(value).ok_or_else(wrong)?);
            }
            Ok(numbers)
        };
        let is_of_rank = pickle.length(strides) == len_u32(rank);
        let (shape, strides) = (numbers(shape)?, numbers(strides)?);
        let offset = pickle.count(offset).filter(|_| is_of_rank).ok_or_else(wrong)?;
        let width = dtype.width();
        // PyTorch would swap the bytes of elements of another width.
        if is_big && storage.is_typed && storage.dtype.width() != width {
            return Err(wrong());
        }
        // PyTorch counts elements in signed 64-bit integers and multiplies dimensions in order, so a product may overflow even
        // if a later dimension is 0.
        let fits = |number: &u64| i64::try_from(*number).is_ok();
        let product = |total: u64, dimension: &u64| total.checked_mul(*dimension).filter(fits);
        let count = shape.iter().try_fold(1, product).ok_or_else(wrong)?;
        let bytes = count.checked_mul(width).filter(fits).ok_or_else(wrong)?;
        // The last element has the highest index in each dimension. A view without elements may have any offset, even one
        // beyond the end of its storage.
        let last = shape.iter().zip(&strides).try_fold(0_u64, |last, (dimension, stride)| {
            dimension.saturating_sub(1).checked_mul(*stride)?.checked_add(last)
        });
        let range = match count {
            0 => Some((0, 0)),
            _ => offset.checked_mul(width).zip(last).and_then(|(start, last)| {
                let span = last.checked_add(1)?.checked_mul(width)?;
                (start.checked_add(span)? <= member.size).then_some((start, span))
            }),
        };
        let (start, span) = range.ok_or_else(wrong)?;
        // PyTorch swaps the bytes of a storage by the width of its class, which is one byte for a storage without a type.
        let is_swapped_here_alone = is_big && !storage.is_typed && width > 1 && count > 0;
        Ok(Tensor {
            shape,
            strides,
            dtype,
            place,
            member,
            start,
            span,
            bytes,
            at,
            position: pickle.position(node),
            is_swapped_here_alone,
        })
    }

    /// Marks the storage of `tensor` as used.
    fn mark_used(&mut self, tensor: &Tensor) {
        if let Some(record) = self.records.get_mut(tensor.place) {
            record.is_used = true;
        }
    }

    /// Checks that every storage contains the data of a tensor.
    fn check_used(&self) -> Result<(), FormatError> {
        let Some(record) = self.records.iter().find(|record| !record.is_used) else {
            return Ok(());
        };
        Err(record.unused_error())
    }
}

impl Record<'_> {
    /// Returns the error for a storage without a tensor.
    fn unused_error(&self) -> FormatError {
        let sentence = "is a storage that no tensor uses";
        let error = FormatError::predicate(Rule::TorchStorage, sentence);
        error.or_at(self.member.start).about(self.key)
    }
}

impl Storage<'_> {
    /// Returns the length of all elements in bytes; `None` if it exceeds 64 bits.
    fn bytes(&self) -> Option<u64> {
        self.length.and_then(|length| length.checked_mul(self.dtype.width()))
    }
}

/// A tensor whose elements lie within a storage.
struct Tensor {
    shape: Vec<u64>,
    /// The strides in elements.
    strides: Vec<u64>,
    dtype: Dtype,
    /// The position of the storage in [`Folder::records`].
    place: usize,
    /// The member that is the storage.
    member: Member,
    /// The offset in the decompressed member at which the elements begin.
    start: u64,
    /// The number of bytes from `start` to the end of the last element.
    span: u64,
    /// The length of all elements in bytes, as a dense array.
    bytes: u64,
    /// The offset in the file of the instruction that makes the tensor.
    at: u64,
    /// The offset of the instruction that makes the tensor, counted from the start of the pickle.
    position: u32,
    /// True if PyTorch, on a little-endian machine, leaves the bytes of its big-endian elements as they are.
    is_swapped_here_alone: bool,
}

impl Tensor {
    /// Returns the record of this tensor for the index of an archive.
    fn object<'a>(&'a self, name: &'a str, components: &'a [RawComponent<'a>]) -> RawObject<'a> {
        RawObject {
            name,
            shape: &self.shape,
            layout: Layout::Dense,
            layout_name: None,
            attributes: None,
            components,
            source_offset: self.position,
        }
    }

    /// Returns the component that holds the elements. `is_big` says that the elements are big-endian.
    ///
    /// # Errors
    /// The dtype is unsupported, or the tensor is a part of a compressed storage.
    fn component(&self, is_big: bool) -> Result<RawComponent<'_>, FormatError> {
        let Self { member, start, span, .. } = *self;
        let name = self.dtype.name();
        let kind = self.dtype.kind().ok_or_else(|| {
            let sentence = format_args!("unsupported dtype {name}");
            FormatError::violation_at(Rule::TorchDtype, sentence, self.at)
        })?;
        let (storage, logical) = match kind {
            Kind::Logical(logical) => (logical.storage(), Some(logical)),
            Kind::Plain(storage) => (storage, None),
        };
        let is_whole = start == 0 && span == member.size;
        if member.is_deflated && (!is_whole || span != self.bytes) {
            let sentence = "a part of a compressed storage is not read";
            return Err(FormatError::violation_at(Rule::TorchValue, sentence, self.at));
        }
        let mut component = RawComponent {
            storage,
            logical,
            byte_order: if is_big { ByteOrder::Big } else { ByteOrder::Little },
            strides: Some(&self.strides),
            ..member.component(member.start)
        };
        if !is_whole {
            component.offset = member.start.saturating_add(start);
            component.stored_length = span;
            component.decoded_length = None;
            let end = member.start.saturating_add(member.size);
            component.checksum_range = component.checksum.map(|_| [member.start, end]);
        }
        Ok(component)
    }
}

/// Returns the cost of a name or value of `bytes` bytes: the bytes, and 16 more for the work that each name and value takes.
const fn cost(bytes: usize) -> u64 {
    u64_from_usize(bytes).saturating_add(16)
}

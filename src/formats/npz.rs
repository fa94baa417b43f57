//! Reading of `.npz` archives, as `numpy.savez` and `numpy.savez_compressed` write them.
//!
//! Every byte of an archive is accounted for: members lie one after the other, a number that zip stores two or three times
//! must be the same each time, and constructs that zip readers treat differently are rejected. The time at which a member
//! was changed must be the same in the directory and in the member's local header. Other times, owners and the version of
//! the program that wrote the archive are ignored.

use alloc::vec::Vec;

use miniz_oxide::inflate::core::DecompressorOxide;

use crate::archive::Archive;
use crate::element::StorageType;
use crate::error::ErrorKind;
use crate::escape::Short;
use crate::index::{
    Blobs, Builder, Encoding, FileFormat, Layout, Parsed, RawComponent, RawObject, Rules,
    StreamRules,
};
use crate::limits::OpenOptions;
use crate::read_at::ReadAt;
use crate::verify::Verifier;

use super::builder_error::{self, format_error};
use super::error::FormatError;
use super::npy::{MAGIC, NpyHeader, PICKLES, Room, Stored};
use super::recognize::{PickleSearch, pickle_in_zip};
use super::rules::Rule;
use super::zip::{
    Content, Decoded, Directory, Extents, Member, Window, Writer, ZipEntry, damage, defer,
};

/// The suffix that the name of a member has and the name of its tensor lacks.
const SUFFIX: &str = ".npy";

/// The .npz format: its name, and the rules that are checked while the index of the arrays is built and while arrays are read.
static NPZ: FileFormat = FileFormat::new(
    ".npz",
    Blobs::Disjoint,
    Rules {
        duplicate_name: Rule::NpzDuplicateName.row(),
        bool_value: Some(Rule::TensorBoolValue.row()),
        stream: Some(&StreamRules {
            compression: Rule::ZipDeflate.row(),
            length: Rule::ZipLength.row(),
            checksum: Rule::ZipCrc.row(),
        }),
        pickles: PICKLES,
        quantized: Some(&super::rules::QUANTIZED),
    },
);

/// Reads the directory of an archive of `length` bytes and the header of each array, and returns the header of the archive.
pub(super) fn open(
    source: &dyn ReadAt,
    length: u64,
    options: &OpenOptions,
) -> Result<Parsed, FormatError> {
    let limits = options.limit();
    let directory = Directory::find(source, length, limits, Writer::NumPy)?;
    let mut builder =
        Builder::new(&NPZ, directory.range.clone(), length, options).map_err(format_error)?;
    let mut arrays = Arrays::new(source, length, options);
    let (mut extents, mut decoded) = (Extents::new(directory.range.start), Decoded::default());
    let (mut may_collide, mut has_others) = (false, false);
    let mut names_fields = None;
    let mut room = Room::new(directory.range.end.saturating_sub(directory.range.start));
    // Missing bytes do not end the loop, so that the missing bytes of all members can be requested in one pass.
    let mut pending = None;
    for entry in directory.entries() {
        let entry = entry?;
        let about = |error: FormatError| error.about(entry.name);
        decoded.add(&entry, length, limits).map_err(about)?;
        let located = entry.find(&mut arrays.window, directory.range.start).map_err(about);
        let Some(located) = defer(located, &mut pending)? else { continue };
        extents.add(located.start, located.end)?;
        if !entry.name.ends_with(SUFFIX) {
            (may_collide, has_others) = (true, true);
            let is_array = arrays.is_array(&located.member).map_err(about);
            match defer(is_array, &mut pending)? {
                Some(true) => {}
                Some(false) => {
                    let what = if entry.is_folder() {
                        "is a folder"
                    } else {
                        "is not an array, and zten does not read it"
                    };
                    let note = about(FormatError::predicate(Rule::NpzName, what));
                    builder.found(note.or_at(entry.at).into());
                    continue;
                }
                None => continue,
            }
        }
        let header = arrays.header(&located.member).map_err(about);
        let Some(header) = defer(header, &mut pending)? else { continue };
        let tensor_and_member = (tensor(&entry), directory.position(&entry));
        if header.has_fields() {
            let names_fields = *names_fields.get_or_insert_with(|| has_names_of_fields(&directory));
            room.has_fields = !names_fields;
        }
        if !located.member.is_deflated {
            room.add(header.length);
        }
        header.push(
            &mut builder,
            &stored(&header, &located.member),
            tensor_and_member,
            &mut room,
        )?;
        may_collide |= tensor(&entry).ends_with(SUFFIX);
    }
    if let Some(pending) = pending {
        return Err(pending);
    }
    directory.check_count(extents.count())?;
    extents.check()?;
    if may_collide {
        check_suffixes(&directory)?;
    }
    // A loader of pickles might open the archive, whatever its name is, and load a pickle among its members.
    let pickle = if has_others { pickle_in_zip(source, length)? } else { PickleSearch::NotFound };
    let found = match pickle {
        PickleSearch::NotFound => None,
        PickleSearch::Found(name) => {
            Some((name, "is a pickle, which can call any function when it is loaded"))
        }
        PickleSearch::Stopped(name) => Some((
            name,
            "or a member after it may be a pickle: the members are too long for the search for pickles",
        )),
    };
    if let Some((name, what)) = found {
        let error = FormatError::predicate(Rule::FormatPickle, what);
        builder.found(error.about(&name).into());
    }
    builder_error::finish(builder, Rule::NpzDuplicateName)
}

/// Returns the name of the tensor in the member of `entry`: the name of the member without the suffix `.npy`.
fn tensor<'d>(entry: &ZipEntry<'d>) -> &'d str {
    entry.name.strip_suffix(SUFFIX).unwrap_or(entry.name)
}

/// Returns where the bytes of the array in the archive member `member` are, and how they are encoded. `header` is the header of the
/// array, at the start of the member's content.
fn stored(header: &NpyHeader, member: &Member) -> Stored {
    let bytes = member.size.saturating_sub(header.length);
    let offset = member.start.saturating_add(header.length);
    let component = RawComponent {
        prefix: header.length,
        checksum: member.crc,
        ..RawComponent::raw(StorageType::U8, offset, bytes)
    };
    let component = if member.is_deflated {
        RawComponent {
            offset: member.start,
            stored_length: member.packed,
            decoded_length: Some(bytes),
            encoding: Encoding::Deflate,
            ..component
        }
    } else {
        component
    };
    let end = member.start.saturating_add(member.packed);
    Stored { component, range: Some([member.start, end]) }
}

/// Returns whether some member is named like a field of records, as in `a["x"]`. If so, the fields of records do not become
/// tensors, because two tensors might get the same name.
fn has_names_of_fields(directory: &Directory) -> bool {
    let mut entries = directory.entries().map_while(Result::ok);
    entries.any(|entry| tensor(&entry).contains("[\""))
}

/// Checks that no member's name without the suffix `.npy` is the name of another member, as for the members `a.npy` and
/// `a.npy.npy`: NumPy looks up a name both with and without the suffix.
fn check_suffixes(directory: &Directory) -> Result<(), FormatError> {
    let mut names = Vec::new();
    for entry in directory.entries() {
        names.try_reserve(1).map_err(|_| FormatError::memory())?;
        names.push(entry?.name);
    }
    names.sort_unstable();
    for entry in directory.entries() {
        let entry = entry?;
        if entry.name.ends_with(SUFFIX) && names.binary_search(&tensor(&entry)).is_ok() {
            let (name, member) = (Short(entry.name), Short(tensor(&entry)));
            let sentence = format_args!(
                "without its suffix, the member {name} has the name of the member {member}"
            );
            return Err(FormatError::violation_at(Rule::NpzDuplicateName, sentence, entry.at));
        }
    }
    Ok(())
}

/// A reader of the .npy headers of the arrays in an .npz archive.
struct Arrays<'s> {
    window: Window<'s>,
    source: &'s dyn ReadAt,
    length: u64,
    options: &'s OpenOptions,
    /// The decompressed first bytes of the member whose header was read most recently.
    start: Vec<u8>,
    /// The decoder of the compressed member that was read most recently, kept to reuse its memory; empty before the
    /// first.
    decoder: Vec<DecompressorOxide>,
}

impl<'s> Arrays<'s> {
    fn new(source: &'s dyn ReadAt, length: u64, options: &'s OpenOptions) -> Self {
        let (start, decoder) = (Vec::new(), Vec::new());
        Self { window: Window::new(source, length), source, length, options, start, decoder }
    }

    /// Parses the header of the array in `member`. If the header is invalid and the content of the member is damaged, the
    /// error is about the damage.
    fn header(&mut self, member: &Member) -> Result<NpyHeader, FormatError> {
        self.parse(member).map_err(|error| {
            // If the compressed data, the length or the checksum of the member is wrong, damage is the cause of the invalid
            // header. The error about the damage is then returned in its place.
            match error.is_rejection().then(|| self.damage(member)) {
                Some(Ok(Some(damage))) => damage,
                Some(Err(failure)) => failure,
                Some(Ok(None)) | None => error,
            }
        })
    }

    /// Returns whether `member` begins as an array does. NumPy reads such a member, whatever its name is.
    fn is_array(&mut self, member: &Member) -> Result<bool, FormatError> {
        let Self { window, start, decoder, .. } = self;
        start.clear();
        let length = usize::try_from(member.size).unwrap_or(usize::MAX).min(MAGIC.len());
        Content::new(*member, window, decoder)?.extend(start, length)?;
        Ok(start == MAGIC)
    }

    /// Parses the header of the array in `member`, and checks the length of the array.
    fn parse(&mut self, member: &Member) -> Result<NpyHeader, FormatError> {
        let Self { window, start, decoder, options, .. } = self;
        start.clear();
        let mut content = Content::new(*member, window, decoder)?;
        let header =
            NpyHeader::read(start, options.limit(), |start, end| content.extend(start, end))?;
        header.check_length(member.size.saturating_sub(header.length))?;
        Ok(header)
    }

    /// Reads the whole `member`. Returns the error about its content if the compressed data, the length or the checksum is
    /// wrong, and `None` if no damage is found.
    ///
    /// # Errors
    /// The source cannot be read, memory is out, or the member exceeds a limit.
    #[cold]
    fn damage(&self, member: &Member) -> Result<Option<FormatError>, FormatError> {
        let (shape, components) = ([member.size], [member.component(member.start)]);
        let object = RawObject {
            name: "",
            shape: &shape,
            layout: Layout::Dense,
            layout_name: None,
            attributes: None,
            components: &components,
            source_offset: 0,
        };
        let mut builder = Builder::new(&NPZ, 0..0, self.length, self.options)?;
        builder.push(&object).map_err(|error| damage(error, member.start))?;
        let archive = Archive::from_parsed(self.source, builder.finish()?);
        let mut verifier = Verifier::new(archive.manifest());
        let read = archive.tensors().try_for_each(|tensor| verifier.check(&tensor));
        match read {
            Err(error) if matches!(error.kind(), ErrorKind::Read | ErrorKind::OutOfMemory) => {
                Err(error.into())
            }
            Err(error) => {
                let is_of_member = matches!(error.kind(), ErrorKind::Invalid(_));
                Ok(is_of_member.then(|| damage(error, member.start)))
            }
            Ok(()) => Ok(None),
        }
    }
}

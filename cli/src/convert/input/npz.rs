//! Archives of NumPy files, as `numpy.savez` and `numpy.savez_compressed` write them.

mod directory;

use std::io::{self, BufReader, Read};

use zip::read::{ArchiveOffset, Config, ZipFile, ZipFileEntry};
use zip::result::ZipError;
use zip::{CompressionMethod, ExtraField, ZipArchive, ZipReadOptions};
use zten::Limits;

use super::npy::{self, Array};
use super::source::{Reader, Scratch, Source, buffer};
use super::{CHUNK, Failure, Listing, Place, Take, Tensor, Trouble, wide};
use crate::escape;

/// What the names of members end with, and those of tensors do not.
const SUFFIX: &str = ".npy";
/// What the flags of a member may say: how it was compressed, that its sizes stand behind it
/// too, that its name is UTF-8.
const FLAGS: u16 = 0b1000_0000_1110;
const UTF8: u16 = 1 << 11;
/// Columns of a message of the crate, which may quote the file.
const MESSAGE: usize = 200;
/// Bytes behind a member that say its sizes again, at most.
const DESCRIPTOR: u64 = 24;
/// Bytes of headers that are read at once. Data is read in larger pieces.
const WINDOW: usize = 512;

/// A member, open for reading.
type Member<'a> = ZipFile<'a, BufReader<Reader>>;

/// An archive whose members are all arrays.
#[derive(Debug)]
pub(super) struct Archive {
    zip: ZipArchive<BufReader<Reader>>,
    source: Source,
}

/// Opens an archive, and reads the header of each array in it.
pub(super) fn open(source: &Source, limits: &Limits) -> Result<(Archive, Listing), Trouble> {
    let end = directory::judge(source)?;
    let config = Config { archive_offset: ArchiveOffset::Known(0) };
    let reader = BufReader::with_capacity(WINDOW, source.reader());
    let mut zip = ZipArchive::with_config(config, reader).map_err(damaged)?;
    if zip.has_duplicate_names() {
        return Err(Trouble::refused("two members of the archive have one name"));
    }
    let mut tensors = Vec::with_capacity(zip.len());
    let mut extents = Vec::with_capacity(zip.len());
    let mut decoded = 0_u64;
    for member in 0..zip.len() {
        let entry = zip.by_index_data(member).map_err(damaged)?;
        let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
        let about = |trouble: Trouble| trouble.about(&name);
        judge(&entry).map_err(about)?;
        if entry.compression() != CompressionMethod::Stored {
            decoded = decoded.saturating_add(entry.size());
            let most = limits.decoded_total(source.len());
            if entry.size() > limits.decoded() || decoded > most {
                let size = entry.size();
                let sentence = format!("it decompresses to {size} bytes, beyond the limit");
                return Err(about(Trouble::refused(sentence)));
            }
        }
        // What is said of a member twice must be the same.
        let options = ZipReadOptions::new().enforce_header_consistency(true);
        let file = zip.by_index_with_options(member, options);
        let mut file = file.map_err(|error| about(damaged(error)))?;
        extents.push(Extent::of(&file));
        let header = header(&mut file, limits).map_err(about)?;
        let array = header.array;
        let tensor = name.strip_suffix(SUFFIX).unwrap_or(&name).to_owned();
        tensors.push(header.tensor(tensor, |_| Place::Member(member, array)));
    }
    judge_extents(extents, end)?;
    let archive = Archive { zip, source: source.clone() };
    Ok((archive, Listing { tensors, ..Listing::default() }))
}

/// Where a member lies, with its header.
struct Extent {
    start: u64,
    end: u64,
    /// Bytes that may stand behind it.
    slack: u64,
}

impl Extent {
    fn of(file: &Member<'_>) -> Self {
        let start = file.header_start();
        let end = file.data_start().unwrap_or(start).saturating_add(file.compressed_size());
        let slack = if file.flags().is_using_data_descriptor() { DESCRIPTOR } else { 0 };
        Self { start, end, slack }
    }
}

/// Whether the members lie one after the other: no bytes belong to two, and none to no one.
fn judge_extents(mut extents: Vec<Extent>, end: u64) -> Result<(), Trouble> {
    extents.sort_unstable_by_key(|extent| extent.start);
    let last = Extent { start: end, end, slack: 0 };
    let mut from = 0..=0;
    for extent in extents.into_iter().chain([last]) {
        if !from.contains(&extent.start) {
            let sentence = "a member of the archive does not begin where the one before it ends";
            return Err(Trouble::refused_at(sentence, extent.start));
        }
        from = extent.end..=extent.end.saturating_add(extent.slack);
    }
    Ok(())
}

/// Whether a member is what `numpy` reads, and all readers read the same.
fn judge(entry: &ZipFileEntry<'_>) -> Result<(), Trouble> {
    let flags = entry.flags().as_u16();
    let name = entry.name_raw();
    let sentence = match entry.compression() {
        _ if !name.ends_with(SUFFIX.as_bytes()) => "it is no NumPy array",
        _ if entry.encrypted() => "it is encrypted",
        _ if flags & !FLAGS != 0 => "it uses a feature of zip that is not supported",
        // Without the flag, names are of one code page for some readers and of another for others.
        _ if !name.is_ascii() && (flags & UTF8 == 0 || str::from_utf8(name).is_err()) => {
            "its name is not UTF-8"
        }
        CompressionMethod::Stored if entry.size() != entry.compressed_size() => {
            "it is not compressed, and has two sizes"
        }
        CompressionMethod::Stored | CompressionMethod::Deflated => return Ok(()),
        _ => "the method of its compression is not supported",
    };
    Err(Trouble::refused(sentence))
}

/// The header of the array that a member is.
fn header(file: &mut Member<'_>, limits: &Limits) -> Result<npy::Header, Trouble> {
    if file.extra_data_fields().any(|field| matches!(field, ExtraField::UnicodePath(_))) {
        return Err(Trouble::refused("it has two names"));
    }
    let header = npy::Header::read(file, limits, fault)?;
    let wanted = header.array.start.checked_add(header.bytes);
    if wanted != Some(file.size()) {
        let there = file.size().saturating_sub(header.array.start);
        let bytes = header.bytes;
        let sentence = format!("there are {there} bytes of data, and the array has {bytes}");
        return Err(Trouble::refused(sentence));
    }
    Ok(header)
}

impl Archive {
    /// Hands on the elements of the array that a member is. All of the member is read, and its
    /// checksum is right, or this fails.
    pub(super) fn read<E>(
        &mut self,
        member: usize,
        array: &Array,
        tensor: &Tensor,
        take: &mut Take<'_, E>,
    ) -> Result<(), Failure<E>> {
        let about = |failure| match failure {
            Failure::Input(trouble) => Failure::Input(trouble.about(&tensor.name)),
            taker @ Failure::Taker(_) => taker,
        };
        self.read_member(member, array, tensor, take).map_err(about)
    }

    fn read_member<E>(
        &mut self,
        member: usize,
        array: &Array,
        tensor: &Tensor,
        take: &mut Take<'_, E>,
    ) -> Result<(), Failure<E>> {
        let mut file = self.zip.by_index(member).map_err(damaged)?;
        skip(&mut file, array.start)?;
        if !array.is_out_of_order(&tensor.shape) {
            array.stream(&mut file, tensor, fault, take)?;
            return Ok(end(&mut file)?);
        }
        let stored = file.compression() == CompressionMethod::Stored;
        if let Some(start) = file.data_start().filter(|_| stored) {
            // The checksum first; then any place of the member can be read.
            skip(&mut file, tensor.bytes)?;
            end(&mut file)?;
            let array = array.at(start.saturating_add(array.start));
            return array.read(&self.source, tensor, take);
        }
        let spooled = spool(&mut file, tensor.bytes)?;
        end(&mut file)?;
        array.at(0).read(&spooled, tensor, take)
    }
}

/// Passes over bytes of a member, which its checksum counts.
fn skip(file: &mut impl Read, length: u64) -> Result<(), Trouble> {
    let skipped = io::copy(&mut file.take(length), &mut io::sink()).map_err(fault)?;
    if skipped == length { Ok(()) } else { Err(fault(io::ErrorKind::UnexpectedEof.into())) }
}

/// Finds the end of a member, where its checksum is judged.
fn end(file: &mut impl Read) -> Result<(), Trouble> {
    match io::copy(&mut file.take(1), &mut io::sink()).map_err(fault)? {
        0 => Ok(()),
        _ => Err(Trouble::refused("it is longer than the array")),
    }
}

/// Bytes of a member in a temporary file, which can be read at any place.
fn spool(file: &mut impl Read, length: u64) -> Result<Source, Trouble> {
    let mut scratch = Scratch::new()?;
    let mut chunk = buffer(CHUNK, 0_u8)?;
    let mut at = 0;
    while at < length {
        let next = usize::try_from(length.saturating_sub(at)).unwrap_or(CHUNK).min(CHUNK);
        let bytes = chunk.get_mut(..next).unwrap_or_default();
        file.read_exact(bytes).map_err(fault)?;
        scratch.write_at(at, bytes)?;
        at = at.saturating_add(wide(next));
    }
    Ok(scratch.into_source())
}

/// What is wrong with an archive.
fn damaged(error: ZipError) -> Trouble {
    match error {
        ZipError::Io(error) => fault(error),
        other => Trouble::refused(escape::cut(&other.to_string(), MESSAGE)),
    }
}

/// An error of reading a member: of the system, or of decompressing and checking.
fn fault(error: io::Error) -> Trouble {
    if error.raw_os_error().is_some() {
        return Trouble::reading(error);
    }
    let message = escape::cut(&error.to_string(), MESSAGE);
    Trouble::refused(format!("the archive is damaged: {message}"))
}

//! The description of a member: in the directory, in front of it, and perhaps behind it. All of it is
//! read, and must be the same wherever it stands.

use super::Writer;
use super::cursor::{Cursor, Window};
use super::extra::Extra;
use super::member::Member;
use crate::error::FormatError;
use crate::rules::Rule;
use zten::num::u64_from_usize;

/// Signatures.
const DIRECTORY: u32 = 0x0201_4b50;
const LOCAL: u32 = 0x0403_4b50;
const DESCRIPTOR: u32 = 0x0807_4b50;
/// The flags that a member may have: how it was compressed, that its sizes stand behind it, that
/// its name is UTF-8.
const FLAGS: u16 = 0b1000_0000_1110;
const ENCRYPTED: u16 = 1;
const BEHIND: u16 = 1 << 3;
const UTF8: u16 = 1 << 11;
/// Methods of compression.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// The version of zip that numbers of 64 bits need, and the highest that anything here needs.
const VERSION64: u16 = 45;
/// The value of a 32-bit field if a 64-bit one holds the number.
const LARGE: u32 = u32::MAX;
/// The internal attribute that says that a member is text, which is about lines and not about bytes. Another says that
/// records have their lengths in front of them.
const TEXT: u16 = 1;
/// External attributes of what is no file with content: a volume's label, a directory, a device, a link of Windows. Readers
/// skip such a member, or make a folder or a link of it, whatever system its entry names.
const NO_FILE: u32 = 0x08 | 0x10 | 0x40 | 0x400;
/// The kinds of file that Unix has in the upper half of the external attributes: none, and regular.
const FILE_KINDS: [u32; 2] = [0, 8];
/// Bytes of a member's own header in front of its name, and of what may stand behind it.
const FIXED: u64 = 30;
const BEHIND_MOST: u64 = 24;
/// The end of the names of members of NumPy.
const SUFFIX: &[u8] = b".npy";

/// Fields that are in the directory and in a member's own header.
struct Header {
    version: u16,
    flags: u16,
    method: u16,
    /// Time and date.
    moment: u32,
    crc: u32,
    packed: u32,
    size: u32,
    name: u16,
    extra: u16,
}

impl Header {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, FormatError> {
        Ok(Self {
            version: cursor.u16()?,
            flags: cursor.u16()?,
            method: cursor.u16()?,
            moment: cursor.u32()?,
            crc: cursor.u32()?,
            packed: cursor.u32()?,
            size: cursor.u32()?,
            name: cursor.u16()?,
            extra: cursor.u16()?,
        })
    }
}

/// The entry of a member in the directory.
pub(crate) struct Entry<'d> {
    /// The byte of the file at which it begins.
    pub(crate) at: u64,
    header: Header,
    /// True if it has numbers of 64 bits.
    has_large: bool,
    /// The name of the member.
    pub(crate) name: &'d str,
    writer: Writer,
    /// The byte of the file at which the member's own header begins.
    start: u64,
    packed: u64,
    size: u64,
}

/// A member, and where its bytes begin and end, all that is said of it included.
pub(crate) struct Found {
    pub(crate) member: Member,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl<'d> Entry<'d> {
    /// Reads the next entry of the directory.
    pub(super) fn read(cursor: &mut Cursor<'d>, writer: Writer) -> Result<Self, FormatError> {
        let at = cursor.at();
        if cursor.u32()? != DIRECTORY {
            return Err(FormatError::violation_at(
                Rule::ZipDirectory,
                "there is no member of the archive",
                at,
            ));
        }
        // The version and system of what made it, by which no reader takes other bytes for the content.
        cursor.skip(2)?;
        let header = Header::read(cursor)?;
        let (comment, disk) = (cursor.u16()?, cursor.u16()?);
        let (internal, external) = (cursor.u16()?, cursor.u32()?);
        let start = cursor.u32()?;
        let name = cursor.bytes(header.name.into())?;
        let about = |error: FormatError| error.about_bytes(name);
        let extra = Extra::parse(cursor.bytes(header.extra.into())?, writer).map_err(about)?;
        if comment != 0 || disk != 0 {
            let sentence = "has a comment, or lies in another part of the archive";
            return Err(about(FormatError::predicate(Rule::ZipDirectory, sentence)));
        }
        if internal & !TEXT != 0
            || external & NO_FILE != 0
            || !FILE_KINDS.contains(&(external >> 28))
        {
            let sentence = "its attributes are not those of a regular file";
            return Err(about(FormatError::violation_at(Rule::ZipAttributes, sentence, at)));
        }
        let has_large = extra.large.is_some();
        let numbers = extra.large.unwrap_or_default().iter();
        let mut numbers = numbers.map(|number| u64::from_le_bytes(*number));
        // Those that are too large for their own fields, in this order.
        let mut number =
            |small: u32| if small == LARGE { numbers.next() } else { Some(small.into()) };
        let all = (number(header.size), number(header.packed), number(start), numbers.next());
        let (Some(size), Some(packed), Some(start), None) = all else {
            let sentence = "has an extra field for large files with other numbers than are missing";
            return Err(about(FormatError::predicate(Rule::ZipExtra, sentence)));
        };
        let name = validate(&header, name, packed == size, writer).map_err(about)?;
        Ok(Self { at, header, has_large, name, writer, start, packed, size })
    }

    /// Bytes that decompressing it gives.
    pub(crate) fn decompressed(&self) -> Option<u64> {
        (self.header.method == DEFLATED).then_some(self.size)
    }

    /// Finds the member, which ends before `end`, and holds what is said there to the directory.
    pub(crate) fn find(&self, window: &mut Window<'_>, end: u64) -> Result<Found, FormatError> {
        let differs = || {
            FormatError::predicate(
                Rule::ZipHeader,
                "has a header that does not agree with the directory",
            )
        };
        let start = self.start;
        let within = (end, Rule::ZipBounds);
        let mut fixed = window.cursor(start, FIXED, within)?;
        if fixed.u32()? != LOCAL {
            let error = FormatError::predicate(Rule::ZipBounds, "is not where the directory says");
            return Err(error.or_at(start));
        }
        let header = Header::read(&mut fixed)?;
        let length = FIXED.saturating_add(header.name.into()).saturating_add(header.extra.into());
        let mut cursor = window.cursor(start, length, within)?;
        cursor.skip(FIXED)?;
        let name = cursor.bytes(header.name.into())?;
        let extra = Extra::parse(cursor.bytes(header.extra.into())?, self.writer)?;
        let own = &self.header;
        // Only the directory may need numbers of 64 bits: it says where a member lies.
        let version = header.version == own.version
            || self.has_large && own.version == VERSION64 && header.version < VERSION64;
        let same =
            (header.flags, header.method, header.moment) == (own.flags, own.method, own.moment);
        if !version || !same || name != self.name.as_bytes() {
            return Err(differs());
        }
        let is_large = extra.large.is_some();
        let sizes = match self.writer {
            Writer::NumPy => local_sizes(&header, extra.large, false),
            Writer::Torch => self.padded_sizes(&header, extra.large),
        };
        let sizes = sizes.ok_or_else(|| {
            FormatError::predicate(
                Rule::ZipExtra,
                "has an extra field for large files that contradicts its header",
            )
        })?;
        let is_behind = header.flags & BEHIND != 0;
        let is = |same: bool, zero: bool| same || is_behind && zero;
        let wanted = (self.size, self.packed);
        if !is(header.crc == own.crc, header.crc == 0) || !is(sizes == wanted, sizes == (0, 0)) {
            return Err(differs());
        }
        let first = cursor.at();
        let behind = first.checked_add(self.packed).filter(|behind| *behind <= end);
        let behind = behind.ok_or_else(|| {
            let packed = self.packed;
            let sentence = format_args!("has {packed} bytes, which exceed the archive");
            FormatError::predicate(Rule::ZipBounds, sentence).or_at(first)
        })?;
        let descriptor = if is_behind {
            let there = window.get(behind..behind.saturating_add(BEHIND_MOST), end)?;
            self.descriptor(there, is_large).ok_or_else(|| {
                let sentence = "the data descriptor does not agree with the directory";
                FormatError::violation_at(Rule::ZipDescriptor, sentence, behind)
            })?
        } else {
            0
        };
        let Self { packed, size, .. } = *self;
        let is_deflated = own.method == DEFLATED;
        let member = Member { start: first, packed, size, crc: Some(own.crc), is_deflated };
        Ok(Found { member, start, end: behind.saturating_add(descriptor) })
    }

    /// Size and packed size, as the header has them that PyTorch writes: nothing, for what stands behind a member has
    /// them. Beside that it has the numbers that take 64 bits, of which the packed size is not known yet, and the place
    /// of the member is the last.
    fn padded_sizes(&self, header: &Header, large: Option<&[[u8; 8]]>) -> Option<(u64, u64)> {
        let (sizes, place) = match *large.unwrap_or_default() {
            [] => return local_sizes(header, large, false),
            [place] => (None, Some(place)),
            [size, packed] => (Some([size, packed]), None),
            [size, packed, place] => (Some([size, packed]), Some(place)),
            _ => return None,
        };
        if place.is_some_and(|place| u64::from_le_bytes(place) != self.start) {
            return None;
        }
        let is_behind = header.flags & BEHIND != 0;
        let sizes = sizes.map(|[size, packed]| {
            if is_behind && packed == [0; 8] {
                [size, self.packed.to_le_bytes()]
            } else {
                [size, packed]
            }
        });
        local_sizes(header, sizes.as_ref().map(<[_; 2]>::as_slice), is_behind)
    }

    /// The number of bytes behind a member, if they begin `there` and say the same: checksum and sizes, of 64 bits where
    /// its header has such, and in front of them a signature, which may be left out.
    fn descriptor(&self, there: &[u8], is_large: bool) -> Option<u64> {
        let length = if is_large { 8 } else { 4 };
        let behind = |there: &[u8]| {
            let there = there.strip_prefix(&self.header.crc.to_le_bytes())?;
            let there = there.strip_prefix(self.packed.to_le_bytes().get(..length)?)?;
            Some(there.strip_prefix(self.size.to_le_bytes().get(..length)?)?.len())
        };
        let signed = there.strip_prefix(&DESCRIPTOR.to_le_bytes()).and_then(behind);
        let left = signed.or_else(|| behind(there))?;
        there.len().checked_sub(left).map(u64_from_usize)
    }
}

/// Size and packed size, as a member's own header has them; none where it contradicts itself.
/// `may_be_zero` if the header may have nothing instead.
fn local_sizes(
    header: &Header,
    large: Option<&[[u8; 8]]>,
    may_be_zero: bool,
) -> Option<(u64, u64)> {
    let small = (header.size, header.packed);
    match large {
        None => (small.0 != LARGE && small.1 != LARGE).then(|| (small.0.into(), small.1.into())),
        Some(&[size, packed]) => {
            let (size, packed) = (u64::from_le_bytes(size), u64::from_le_bytes(packed));
            // Python before 3.11.4 has both.
            let agree = |small: u32, large: u64| {
                small == LARGE || u64::from(small) == large || small == 0 && may_be_zero
            };
            (agree(small.0, size) && agree(small.1, packed)).then_some((size, packed))
        }
        Some(_) => None,
    }
}

/// Checks that a member is what `numpy` reads, and all readers read the same, and returns its name.
fn validate<'d>(
    header: &Header,
    name: &'d [u8],
    is_of_one_size: bool,
    writer: Writer,
) -> Result<&'d str, FormatError> {
    let Header { version, flags, method, .. } = *header;
    // Without the flag, names are of one code page for some readers and of another for others.
    let text = str::from_utf8(name).ok().filter(|text| text.is_ascii() || flags & UTF8 != 0);
    let (rule, sentence) = match (method, text) {
        _ if writer == Writer::NumPy && !name.ends_with(SUFFIX) => {
            (Rule::NpzName, "is not a NumPy array")
        }
        _ if flags & ENCRYPTED != 0 => (Rule::ZipEncrypted, "is encrypted"),
        _ if flags & !FLAGS != 0 || version > VERSION64 => {
            (Rule::ZipFeature, "needs a feature of zip that is not supported")
        }
        (_, None) => (Rule::ZipName, "has a name that is not UTF-8"),
        // Some readers end it there.
        _ if name.contains(&0) => (Rule::ZipName, "has a name with a zero byte"),
        (STORED, _) if !is_of_one_size => {
            (Rule::ZipStoredSize, "is not compressed, and has two sizes")
        }
        (STORED | DEFLATED, Some(text)) => return Ok(text),
        _ => (Rule::ZipFeature, "has an unsupported compression method"),
    };
    Err(FormatError::predicate(rule, sentence))
}

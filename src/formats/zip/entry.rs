//! The three descriptions of a member: its entry in the directory, its local header, and an optional data descriptor after
//! its data. All three are read and must agree.

use crate::formats::error::FormatError;
use crate::formats::rules::Rule;
use crate::num::u64_from_usize;

use super::Writer;
use super::cursor::{Cursor, Window};
use super::extra::Extra;
use super::member::Member;

/// The signature of an entry in the directory.
const DIRECTORY: u32 = 0x0201_4b50;
/// The signature of a local header.
const LOCAL: u32 = 0x0403_4b50;
/// The signature of a data descriptor.
const DESCRIPTOR: u32 = 0x0807_4b50;
/// The bits of all flags that are allowed: two hints about the compression, [`BEHIND`] and [`UTF8`].
const FLAGS: u16 = 0b1000_0000_1110;
/// The flag for an encrypted member.
const ENCRYPTED: u16 = 1;
/// The flag for a member whose data is followed by a data descriptor.
const BEHIND: u16 = 1 << 3;
/// The flag for a name in UTF-8.
const UTF8: u16 = 1 << 11;
/// The compression method of uncompressed members.
const STORED: u16 = 0;
/// The compression method of deflated members.
const DEFLATED: u16 = 8;
/// The version of zip that 64-bit fields need, times 10: 4.5. It is the highest allowed version.
const VERSION64: u16 = 45;
/// The value of a 32-bit field whose number is in the zip64 extra field instead.
const LARGE: u32 = u32::MAX;
/// The only allowed bit of the internal attributes: the member is a text. It does not change the bytes. The other bit of the zip
/// specification says that each record in the member begins with its length.
const TEXT: u16 = 1;
/// The external attributes of entries that are no regular files: a volume label, a directory, a device, a Windows link. Readers
/// skip such a member, or make a folder or link of it, even if the entry claims to come from Unix.
const NO_FILE: u32 = 0x08 | 0x10 | 0x40 | 0x400;
/// The bit in the external attributes of an entry that marks the member as a folder.
const DIRECTORY_BIT: u32 = 0x10;
/// The file type of a regular file in Unix, in the upper four bits of the external attributes. The bits may also be unset (0).
const REGULAR_KIND: u32 = 8;
/// The file type of a directory in Unix, in the upper four bits of the external attributes. For a folder, the bits may also be
/// unset (0), or be those of a regular file.
const FOLDER_KIND: u32 = 4;
/// The last byte of the name of a folder.
const FOLDER: &[u8] = b"/";
/// The length in bytes of the local header up to the name.
const FIXED: u64 = 30;
/// The length in bytes of the longest data descriptor.
const BEHIND_MOST: u64 = 24;

/// The fields of a member that are both in its entry in the directory and in its local header.
struct MemberHeader {
    /// The version of zip that a reader needs, times 10.
    version: u16,
    /// The general purpose bit flags.
    flags: u16,
    /// The compression method.
    method: u16,
    /// The time and date in the format of MS-DOS, which are compared between the directory and the local header.
    moment: u32,
    /// The CRC-32 of the uncompressed content.
    crc: u32,
    /// The length in bytes of the member's data as stored in the file, compressed or not.
    packed: u32,
    /// The length in bytes of the member's uncompressed content.
    size: u32,
    /// The length of the name in bytes.
    name: u16,
    /// The length of the extra fields in bytes.
    extra: u16,
}

impl MemberHeader {
    /// Reads the fields at `cursor`.
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
pub(crate) struct ZipEntry<'d> {
    /// The offset of the entry in the file.
    pub(crate) at: u64,
    /// The fields that must agree with those of the local header.
    header: MemberHeader,
    /// Whether the entry has a zip64 extra field.
    has_large: bool,
    /// The name of the member.
    pub(crate) name: &'d str,
    writer: Writer,
    /// The offset in the file of the member's local header.
    start: u64,
    /// The length in bytes of the member's data as stored in the file, compressed or not.
    packed: u64,
    /// The length in bytes of the member's uncompressed content.
    size: u64,
}

/// A member that has been located in the file.
pub(crate) struct LocatedMember {
    /// The data of the member.
    pub(crate) member: Member,
    /// The offset in the file at which the local header begins.
    pub(crate) start: u64,
    /// The offset in the file at which the data descriptor ends, or the data if the member has no data descriptor.
    pub(crate) end: u64,
}

impl<'d> ZipEntry<'d> {
    /// Reads the entry of the directory at `cursor`, and checks its name, flags, attributes, extra fields and sizes. `writer`
    /// decides which extra fields are allowed, and whether a name that ends in a slash is that of a folder.
    pub(super) fn read(cursor: &mut Cursor<'d>, writer: Writer) -> Result<Self, FormatError> {
        let at = cursor.at();
        if cursor.u32()? != DIRECTORY {
            return Err(FormatError::violation_at(
                Rule::ZipDirectory,
                "the directory of the archive has an entry without its signature",
                at,
            ));
        }
        // The version and system of the program that made the entry do not affect the content.
        cursor.skip(2)?;
        let header = MemberHeader::read(cursor)?;
        let (comment, disk) = (cursor.u16()?, cursor.u16()?);
        let (internal, external) = (cursor.u16()?, cursor.u32()?);
        let start = cursor.u32()?;
        let name = cursor.bytes(header.name.into())?;
        let about = |error: FormatError| error.about_bytes(name);
        let extra = Extra::parse(cursor.bytes(header.extra.into())?, writer).map_err(about)?;
        if comment != 0 || disk != 0 {
            let sentence = "has a comment, or is in another file of a split archive";
            return Err(about(FormatError::predicate(Rule::ZipDirectory, sentence)));
        }
        // All readers take a member for a folder if its name ends in a slash, whatever its attributes are.
        let is_folder = writer == Writer::NumPy && name.ends_with(FOLDER);
        let (bits, kind) = if is_folder { (DIRECTORY_BIT, FOLDER_KIND) } else { (0, REGULAR_KIND) };
        if internal & !TEXT != 0
            || external & NO_FILE & !bits != 0
            || ![0, REGULAR_KIND, kind].contains(&(external >> 28))
        {
            let what = if is_folder { "a folder" } else { "a regular file" };
            let sentence =
                format_args!("has file attributes in the zip directory other than those of {what}");
            return Err(about(FormatError::predicate(Rule::ZipAttributes, sentence).or_at(at)));
        }
        if is_folder && (header.size, header.packed, header.method) != (0, 0, STORED) {
            let sentence = "has content, but the name of a folder";
            return Err(about(FormatError::predicate(Rule::ZipAttributes, sentence).or_at(at)));
        }
        let has_large = extra.large.is_some();
        let numbers = extra.large.unwrap_or_default().iter();
        let mut numbers = numbers.map(|number| u64::from_le_bytes(*number));
        // The zip64 extra field has a 64-bit number for each 32-bit field with its largest value, in the order size, packed
        // size, offset.
        let mut number =
            |small: u32| if small == LARGE { numbers.next() } else { Some(small.into()) };
        let all = (number(header.size), number(header.packed), number(start), numbers.next());
        let (Some(size), Some(packed), Some(start), None) = all else {
            let sentence = "has a zip64 extra field that does not hold exactly the missing numbers";
            return Err(about(FormatError::predicate(Rule::ZipExtra, sentence)));
        };
        let name = validate(&header, name, packed == size).map_err(about)?;
        Ok(Self { at, header, has_large, name, writer, start, packed, size })
    }

    /// Returns whether the member is a folder: whether its name ends with a slash.
    pub(crate) fn is_folder(&self) -> bool {
        self.name.as_bytes().ends_with(FOLDER)
    }

    /// Returns the number of bytes to which the member decompresses according to the directory, or `None` if the member is
    /// not compressed.
    pub(crate) fn decompressed(&self) -> Option<u64> {
        (self.header.method == DEFLATED).then_some(self.size)
    }

    /// Locates the member, which must end (with its data descriptor, if it has one) at or before offset `end`, and checks its
    /// local header and data descriptor against the directory. The version in the local header may be lower if only the
    /// directory needs 64-bit fields; the checksum and the sizes in it may be 0 if a data descriptor follows.
    pub(crate) fn find(
        &self,
        window: &mut Window<'_>,
        end: u64,
    ) -> Result<LocatedMember, FormatError> {
        let differs = || {
            FormatError::predicate(
                Rule::ZipHeader,
                "has a local header that does not agree with the directory",
            )
        };
        let start = self.start;
        let within = (end, Rule::ZipBounds);
        let mut fixed = window.cursor(start, FIXED, within)?;
        if fixed.u32()? != LOCAL {
            let error = FormatError::predicate(
                Rule::ZipBounds,
                "does not begin at the offset that the directory gives",
            );
            return Err(error.or_at(start));
        }
        let header = MemberHeader::read(&mut fixed)?;
        let length = FIXED.saturating_add(header.name.into()).saturating_add(header.extra.into());
        let mut cursor = window.cursor(start, length, within)?;
        cursor.skip(FIXED)?;
        let name = cursor.bytes(header.name.into())?;
        let extra = Extra::parse(cursor.bytes(header.extra.into())?, self.writer)?;
        let own = &self.header;
        // The entry in the directory has the offset of the member, so it may need 64-bit fields when the local header does not.
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
                "has a zip64 extra field that contradicts its local header",
            )
        })?;
        let is_behind = header.flags & BEHIND != 0;
        let is = |same: bool, zero: bool| same || is_behind && zero;
        let expected = (self.size, self.packed);
        if !is(header.crc == own.crc, header.crc == 0) || !is(sizes == expected, sizes == (0, 0)) {
            return Err(differs());
        }
        let first = cursor.at();
        let behind = first.checked_add(self.packed).filter(|behind| *behind <= end);
        let behind = behind.ok_or_else(|| {
            let sentence = "extends into the directory of the archive";
            FormatError::predicate(Rule::ZipBounds, sentence).or_at(first)
        })?;
        let descriptor = if is_behind {
            let following = window.get(behind..behind.saturating_add(BEHIND_MOST), end)?;
            self.descriptor(following, is_large).ok_or_else(|| {
                let sentence = "the data descriptor does not agree with the directory";
                FormatError::violation_at(Rule::ZipDescriptor, sentence, behind)
            })?
        } else {
            0
        };
        let Self { packed, size, .. } = *self;
        let is_deflated = own.method == DEFLATED;
        let member = Member { start: first, packed, size, crc: Some(own.crc), is_deflated };
        Ok(LocatedMember { member, start, end: behind.saturating_add(descriptor) })
    }

    /// Returns the size and packed size in a local header that PyTorch wrote, or `None` if the header contradicts itself or the
    /// offset in the directory. PyTorch writes zeros as sizes, since the data descriptor has the sizes. `large` are the 64-bit
    /// numbers of the header's zip64 extra field: the offset of the member, or the size and the packed size, or these three in
    /// the order size, packed size, offset. If a data descriptor follows, a packed size of 0 stands for that in the directory.
    fn padded_sizes(&self, header: &MemberHeader, large: Option<&[[u8; 8]]>) -> Option<(u64, u64)> {
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

    /// Returns the length in bytes of the data descriptor at the start of `bytes`, or `None` if the descriptor does not
    /// agree with the directory. A data descriptor has an optional signature, the checksum, and both sizes, in 64 bits each
    /// if `is_large` and in 32 bits otherwise.
    fn descriptor(&self, bytes: &[u8], is_large: bool) -> Option<u64> {
        let length = if is_large { 8 } else { 4 };
        let after_sizes = |bytes: &[u8]| {
            let bytes = bytes.strip_prefix(&self.header.crc.to_le_bytes())?;
            let bytes = bytes.strip_prefix(self.packed.to_le_bytes().get(..length)?)?;
            Some(bytes.strip_prefix(self.size.to_le_bytes().get(..length)?)?.len())
        };
        let signed = bytes.strip_prefix(&DESCRIPTOR.to_le_bytes()).and_then(after_sizes);
        let left = signed.or_else(|| after_sizes(bytes))?;
        bytes.len().checked_sub(left).map(u64_from_usize)
    }
}

/// Returns the size and packed size in a local header, or `None` if the header contradicts itself: if a 32-bit field has the
/// largest value without an extra field, if the two forms of a number differ, or if `large` does not have two numbers. `large`
/// are the 64-bit numbers of the header's zip64 extra field, and `may_be_zero` says that a 32-bit field may be 0 if the extra
/// field has its number.
fn local_sizes(
    header: &MemberHeader,
    large: Option<&[[u8; 8]]>,
    may_be_zero: bool,
) -> Option<(u64, u64)> {
    let small = (header.size, header.packed);
    match large {
        None => (small.0 != LARGE && small.1 != LARGE).then(|| (small.0.into(), small.1.into())),
        Some(&[size, packed]) => {
            let (size, packed) = (u64::from_le_bytes(size), u64::from_le_bytes(packed));
            // Python before 3.11.4 writes the sizes in the 32-bit fields and in the zip64 extra field.
            let agree = |small: u32, large: u64| {
                small == LARGE || u64::from(small) == large || small == 0 && may_be_zero
            };
            (agree(small.0, size) && agree(small.1, packed)).then_some((size, packed))
        }
        Some(_) => None,
    }
}

/// Checks that a member with the fields `header` and the name `name` is not encrypted, needs no other features of zip than zten
/// reads, has two equal sizes if it is not compressed, and has a name that all zip readers decode in the same way. Returns the
/// name as text. `is_of_one_size` says that the size and the packed size are equal.
fn validate<'d>(
    header: &MemberHeader,
    name: &'d [u8],
    is_of_one_size: bool,
) -> Result<&'d str, FormatError> {
    let MemberHeader { version, flags, method, .. } = *header;
    // Without the flag for UTF-8, zip readers decode names that are not ASCII with different code pages.
    let text = str::from_utf8(name).ok().filter(|text| text.is_ascii() || flags & UTF8 != 0);
    let (rule, sentence) = match (method, text) {
        _ if flags & ENCRYPTED != 0 => (Rule::ZipEncrypted, "is encrypted"),
        _ if flags & !FLAGS != 0 || version > VERSION64 => {
            (Rule::ZipFeature, "needs a feature of zip that is not supported")
        }
        (_, None) => (Rule::ZipName, "has a name that is not UTF-8"),
        // Some readers, written in C, end a name at a zero byte.
        _ if name.contains(&0) => (Rule::ZipName, "has a name with a zero byte"),
        (STORED, _) if !is_of_one_size => {
            (Rule::ZipStoredSize, "is not compressed, but its two sizes differ")
        }
        (STORED | DEFLATED, Some(text)) => return Ok(text),
        _ => (Rule::ZipFeature, "has an unsupported compression method"),
    };
    Err(FormatError::predicate(rule, sentence))
}

//! The zip archive that PyTorch writes since 1.6: a pickle, storages, and notes, which are small members such as `version`
//! that describe the archive. The data of a TorchScript program is in an archive of this form, too.

use alloc::vec::Vec;

use crate::escape::Short;
use crate::formats::error::FormatError;
use crate::formats::limits::check_length;
use crate::formats::rules::Rule;
use crate::formats::zip::{Decoded, Directory, Extents, Member, Window, defer, read_whole};
use crate::limits::{Limits, OpenOptions};

use super::check_longest;
use super::storages::{StorageRecord, Storages};

/// The name of the pickle in the folder of the archive.
const PICKLE: &str = "data.pkl";
/// The length in bytes of the longest key of a storage: a 64-bit number in decimal digits.
const KEY: usize = 20;
/// The length in bytes of the longest note, a small member such as `version`.
const NOTE: u64 = 128;
/// The largest expansion factor of a compressed member that is read as a whole. It ties memory to the stored size, which the
/// file cannot exaggerate. [`MORE`] bytes are always allowed.
pub(super) const EACH: u64 = 64;
/// The number of bytes to which a member may expand beyond the factor [`EACH`].
pub(super) const MORE: u64 = 64 << 10;

/// The members of a zip archive that PyTorch has written, which are all in one folder.
pub(super) struct Folder<'d> {
    /// The member `data.pkl`; `None` if the archive has no such member.
    pickle: Option<Member>,
    /// Small members in which PyTorch describes the archive: the name in the folder, and the member.
    notes: Vec<(&'d str, Member)>,
    /// The members that are storages.
    pub(super) storages: Storages<'d>,
    /// Whether the archive has the code of a TorchScript program.
    pub(super) is_script: bool,
    /// Whether the checksums of the pickle, the notes and the storages are all 0, so that no checksum is verified.
    pub(super) has_no_checksums: bool,
    /// The offset in the file at which the members end.
    end: u64,
}

impl<'d> Folder<'d> {
    /// Finds and checks all members of an archive of `length` bytes, which `directory` lists.
    pub(super) fn find(
        directory: &'d Directory,
        window: &mut Window<'_>,
        (length, limits): (u64, &Limits),
    ) -> Result<Self, FormatError> {
        let end = directory.range.start;
        let mut folder = Self {
            pickle: None,
            notes: Vec::new(),
            storages: Storages::default(),
            // A damaged directory returns the same error without end, so the search stops at the first error.
            is_script: directory
                .entries()
                .map_while(Result::ok)
                .any(|entry| is_of_script(entry.name)),
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
        folder.storages.sort();
        Ok(folder)
    }

    /// Adds `member`, whose name in the folder is `name`, as the pickle, a storage, or one of the small members about the
    /// archive, such as `version`. A member with another name is an error, unless the archive is a TorchScript program, whose
    /// other members are ignored.
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
            self.storages.add(StorageRecord::new(key, member))?;
        } else if NOTES.contains(&name) {
            self.notes.try_reserve(1).map_err(|_| FormatError::memory())?;
            self.notes.push((name, member));
        } else if !self.is_script {
            let sentence = "is not a member that PyTorch writes";
            return Err(FormatError::predicate(Rule::TorchMember, sentence));
        }
        Ok(())
    }

    /// Returns all members that have been added: the pickle, the notes, and the storages.
    fn members(&mut self) -> impl Iterator<Item = &mut Member> {
        let notes = self.notes.iter_mut().map(|(_, member)| member);
        self.pickle.iter_mut().chain(notes).chain(self.storages.members())
    }

    /// Removes the checksums of the pickle, the notes and the storages if all are 0, and returns whether they were: PyTorch
    /// writes 0 if it is told to compute none.
    fn forgive_checksums(&mut self) -> bool {
        let are_absent = self.members().all(|member| member.crc == Some(0));
        if are_absent {
            self.members().for_each(|member| member.crc = None);
        }
        are_absent
    }

    /// Checks the notes of the archive, small members such as `version` and `byteorder`, and returns whether the elements of
    /// its tensors are big-endian: whether there is a note `byteorder` and it says `big`.
    ///
    /// # Errors
    /// `torch-version` if there is no note `version` or a note has an unknown value; `torch-member` if a note is longer than
    /// [`NOTE`]; the errors of reading a member.
    pub(super) fn check_notes(
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
            let (is_known, expected) = match *name {
                "version" => {
                    has_version = true;
                    let version = text.trim_end_matches('\n').parse::<u8>();
                    let is_known = version.is_ok_and(|version| (1..=10).contains(&version));
                    (is_known, "a number from 1 to 10")
                }
                "byteorder" => {
                    is_big = text == "big";
                    (is_big || text == "little", "little or big")
                }
                ".storage_alignment" | ".format_version" => (is_number, "a number"),
                _ => (is_text.is_ok(), "text"),
            };
            if !is_known {
                let error = match is_text {
                    Ok(text) => FormatError::predicate(
                        Rule::TorchVersion,
                        format_args!("is {}, expected {expected}", Short(text)),
                    ),
                    Err(_) => FormatError::predicate(
                        Rule::TorchVersion,
                        format_args!("is not UTF-8, expected {expected}"),
                    ),
                };
                return Err(about(error.or_at(member.start)));
            }
        }
        if has_version {
            return Ok(is_big);
        }
        Err(FormatError::violation_at(Rule::TorchVersion, "the archive has no version", self.end))
    }

    /// Reads the whole pickle, and verifies its checksum unless the archive [has none](Self::has_no_checksums). Fails with
    /// `torch-folder` if the archive has no pickle.
    pub(super) fn read_pickle(
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
    pub(super) fn pickle_at(&self) -> u64 {
        self.pickle.map_or(0, |member| member.start)
    }

    /// Returns whether the pickle is stored in the zip archive without compression.
    pub(super) fn has_raw_pickle(&self) -> bool {
        self.pickle.is_some_and(|pickle| !pickle.is_deflated)
    }
}

/// Returns whether a member called `name` belongs to the code of a TorchScript program.
fn is_of_script(name: &str) -> bool {
    let inside = name.split_once('/').map_or("", |(_, inside)| inside);
    inside.starts_with("code/") || inside == "constants.pkl"
}

/// Reads and decompresses the whole `member`, and verifies its checksum, if it has one. Fails before reading if the member is
/// longer than a limit, or would expand by more than the factor [`EACH`] and [`MORE`] bytes.
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
            "decompresses from {packed} bytes to {size}, which exceeds the maximum of {most}"
        );
        return Err(FormatError::predicate(Rule::LimitHeader, sentence).or_at(start));
    }
    read_whole(member, window)
}

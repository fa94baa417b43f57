//! Writes zip archives with the features that NumPy uses, and with wrong headers on request.

/// A member of a zip archive. Its headers may make false claims.
#[derive(Clone, Debug)]
pub struct Member {
    /// The name of the member.
    pub name: Vec<u8>,
    /// The decompressed content of the member.
    pub content: Vec<u8>,
    /// The bytes that the archive stores for the member.
    pub packed: Vec<u8>,
    /// The number of the compression method: 0 for stored, 8 for deflated.
    pub method: u16,
    /// The general purpose flags of both headers.
    pub flags: u16,
    /// The CRC-32 that the headers claim.
    pub crc: u32,
    /// The decompressed size in bytes that the headers claim.
    pub size: u32,
    /// The extra fields of the local header and the directory entry.
    pub extra: Vec<u8>,
    /// The bytes that follow the stored bytes of the member, such as a data descriptor.
    pub behind: Vec<u8>,
    /// The comment of the member in the directory.
    pub comment: Vec<u8>,
    /// The internal and the external file attributes of the central directory. The upper half of the external attributes
    /// is a Unix mode, and the lower byte is the attributes of MS-DOS.
    pub attributes: (u16, u32),
}

impl Member {
    /// Returns a member that is stored.
    pub fn stored(name: &str, content: &[u8]) -> Self {
        let none = Vec::new;
        Self {
            name: name.into(),
            content: content.into(),
            packed: content.into(),
            method: 0,
            flags: 0,
            crc: crc32(content),
            size: u32::try_from(content.len()).unwrap(),
            extra: none(),
            behind: none(),
            comment: none(),
            attributes: (0, 0),
        }
    }

    /// Returns a member that is deflated, as a block that is not compressed.
    pub fn deflated(name: &str, content: &[u8]) -> Self {
        let length = u16::try_from(content.len()).unwrap();
        let mut packed = vec![1];
        packed.extend(length.to_le_bytes());
        packed.extend((!length).to_le_bytes());
        packed.extend(content);
        Self { packed, method: 8, ..Self::stored(name, content) }
    }

    fn header(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for number in [20, self.flags, self.method, 0, 0x21] {
            out.extend(number.to_le_bytes());
        }
        for number in [self.crc, u32::try_from(self.packed.len()).unwrap(), self.size] {
            out.extend(number.to_le_bytes());
        }
        for part in [&self.name, &self.extra] {
            out.extend(u16::try_from(part.len()).unwrap().to_le_bytes());
        }
        out
    }

    fn local(&self) -> Vec<u8> {
        [b"PK\x03\x04", &self.header()[..], &self.name, &self.extra, &self.packed, &self.behind]
            .concat()
    }

    fn central(&self, start: usize) -> Vec<u8> {
        let comment = u16::try_from(self.comment.len()).unwrap().to_le_bytes();
        let start = u32::try_from(start).unwrap().to_le_bytes();
        let header = self.header();
        let (internal, external) = self.attributes;
        let parts = [
            b"PK\x01\x02\x14\0",
            &header[..],
            &comment,
            &[0; 2],
            &internal.to_le_bytes(),
            &external.to_le_bytes(),
            &start,
            &self.name,
            &self.extra,
            &self.comment,
        ];
        parts.concat()
    }
}

/// A zip archive in three parts, which tests change before they are joined.
#[derive(Clone, Debug)]
pub struct Archive {
    /// The local headers and the stored bytes of the members, one member after another.
    pub members: Vec<u8>,
    /// The central directory.
    pub directory: Vec<u8>,
    /// The end of central directory record.
    pub end: Vec<u8>,
}

impl Archive {
    /// Returns an archive of `members`. The directory repeats what the headers of the members claim, true or not, and its offsets
    /// and the end record are correct.
    pub fn new(members: &[Member]) -> Self {
        let (mut all, mut directory) = (Vec::new(), Vec::new());
        for member in members {
            directory.extend(member.central(all.len()));
            all.extend(member.local());
        }
        let end = end(members.len(), directory.len(), all.len());
        Self { members: all, directory, end }
    }

    /// Returns the bytes of the archive.
    pub fn bytes(&self) -> Vec<u8> {
        [&self.members[..], &self.directory, &self.end].concat()
    }
}

/// Returns an end record for `members` members and a directory of `length` bytes at offset `start`.
pub fn end(members: usize, length: usize, start: usize) -> Vec<u8> {
    let members = u16::try_from(members).unwrap().to_le_bytes();
    let (length, start) = (u32::try_from(length).unwrap(), u32::try_from(start).unwrap());
    [
        b"PK\x05\x06\0\0\0\0",
        &members[..],
        &members,
        &length.to_le_bytes(),
        &start.to_le_bytes(),
        &[0; 2],
    ]
    .concat()
}

/// Computes the CRC-32 of zip.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 }
        })
    })
}

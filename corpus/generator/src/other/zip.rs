//! Writes zip archives with the features that NumPy uses, and with wrong headers on request.

/// A member, with the claims of its headers.
#[derive(Clone, Debug)]
pub struct Member {
    /// The name.
    pub name: Vec<u8>,
    /// The content, decompressed.
    pub content: Vec<u8>,
    /// The bytes in the archive.
    pub packed: Vec<u8>,
    /// The number of the method of compression.
    pub method: u16,
    /// The flags.
    pub flags: u16,
    /// The checksum that the headers claim.
    pub crc: u32,
    /// The decompressed size that the headers claim.
    pub size: u32,
    /// The extra fields of both headers.
    pub extra: Vec<u8>,
    /// Bytes after the content of the member.
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

/// An archive in parts.
#[derive(Clone, Debug)]
pub struct Archive {
    /// The members, one after the other.
    pub members: Vec<u8>,
    /// The directory.
    pub directory: Vec<u8>,
    /// The end record.
    pub end: Vec<u8>,
}

impl Archive {
    /// An archive of those members.
    pub fn new(members: &[Member]) -> Self {
        let (mut all, mut directory) = (Vec::new(), Vec::new());
        for member in members {
            directory.extend(member.central(all.len()));
            all.extend(member.local());
        }
        let end = end(members.len(), directory.len(), all.len());
        Self { members: all, directory, end }
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> Vec<u8> {
        [&self.members[..], &self.directory, &self.end].concat()
    }
}

/// An end record.
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

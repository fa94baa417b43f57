//! Writers of GGUF, version 3, in both byte orders.

/// Defines functions that write numbers with the method `$to_bytes`.
macro_rules! parts {
    ($to_bytes:ident) => {
        /// Returns a GGUF string: the text with its length before it.
        pub fn text(text: impl AsRef<[u8]>) -> Vec<u8> {
            let text = text.as_ref();
            [&(text.len() as u64).$to_bytes(), text].concat()
        }

        /// Returns a pair of the metadata: a key, the number `kind` of a type, and an encoded value.
        pub fn pair(key: &str, kind: u32, value: &[u8]) -> Vec<u8> {
            [text(key), kind.$to_bytes().to_vec(), value.to_vec()].concat()
        }

        /// Returns the description of a tensor: its name, its dimensions, fastest first, the number of its type, and
        /// the offset of its data.
        pub fn info(name: &str, dimensions: &[u64], kind: u32, offset: u64) -> Vec<u8> {
            let mut bytes = text(name);
            bytes.extend(u32::try_from(dimensions.len()).unwrap().$to_bytes());
            bytes.extend(dimensions.iter().flat_map(|dimension| dimension.$to_bytes()));
            bytes.extend(kind.$to_bytes());
            bytes.extend(offset.$to_bytes());
            bytes
        }

        /// Returns a GGUF file of version 3, whose data is aligned to 32 bytes.
        pub fn file(pairs: &[Vec<u8>], infos: &[Vec<u8>], data: &[u8]) -> Vec<u8> {
            let mut bytes = [b"GGUF", &3_u32.$to_bytes()[..]].concat();
            bytes.extend((infos.len() as u64).$to_bytes());
            bytes.extend((pairs.len() as u64).$to_bytes());
            bytes.extend(pairs.concat());
            bytes.extend(infos.concat());
            bytes.resize(bytes.len().next_multiple_of(32), 0);
            bytes.extend(data);
            bytes
        }
    };
}

parts!(to_le_bytes);

/// The functions of this module for big-endian files.
pub mod big_endian {
    parts!(to_be_bytes);
}

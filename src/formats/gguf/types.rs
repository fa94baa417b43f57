//! The types of tensors in GGUF files, which ggml defines, with their numbers in files.

use core::fmt;

use crate::element::StorageType;
use crate::formats::block::Block;

use super::dequantize::{
    Iq1M, Iq1S, Iq2S, Iq2Xs, Iq2Xxs, Iq3S, Iq3Xxs, Iq4Nl, Iq4Xs, Mxfp4, Nvfp4, Q1_0, Q2_0, Q2K,
    Q3K, Q4_0, Q4_1, Q4K, Q5_0, Q5_1, Q5K, Q6K, Q8_0, Q8K, Tq1_0, Tq2_0,
};

/// The ggml type of a tensor in a GGUF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// Elements that are stored one by one, without blocks.
    Plain(StorageType),
    /// Quantized elements, which are stored in blocks.
    Blocks(&'static Block),
    /// Elements that zten does not read, and whose size it does not know.
    Unread(UnknownType),
}

impl Type {
    /// Returns the type that has the number `id` in ggml, and [`Type::Unread`] for a number that zten does not read.
    pub(crate) fn of(id: u32) -> Self {
        let plain = PLAIN.iter().find(|row| row.0 == id).map(|row| Self::Plain(row.1));
        let known = plain.or_else(|| Block::by_number(id).map(Self::Blocks));
        known.unwrap_or(Self::Unread(UnknownType(id)))
    }
}

/// The ggml numbers of the types without blocks, and their storage types.
const PLAIN: [(u32, StorageType); 8] = [
    (0, StorageType::F32),
    (1, StorageType::F16),
    (24, StorageType::I8),
    (25, StorageType::I16),
    (26, StorageType::I32),
    (27, StorageType::I64),
    (28, StorageType::F64),
    (30, StorageType::Bf16),
];

/// The ggml number and the description of each type with blocks that zten reads. Missing numbers belong to types without
/// blocks, to [`Q8_1`], and to types that ggml removed or never defined.
pub(crate) static BLOCKS: [(u32, Block); 26] = [
    (2, Block::new::<Q4_0, _>("Q4_0")),
    (3, Block::new::<Q4_1, _>("Q4_1")),
    (6, Block::new::<Q5_0, _>("Q5_0")),
    (7, Block::new::<Q5_1, _>("Q5_1")),
    (8, Block::new::<Q8_0, _>("Q8_0")),
    (10, Block::new::<Q2K, _>("Q2_K")),
    (11, Block::new::<Q3K, _>("Q3_K")),
    (12, Block::new::<Q4K, _>("Q4_K")),
    (13, Block::new::<Q5K, _>("Q5_K")),
    (14, Block::new::<Q6K, _>("Q6_K")),
    (15, Block::new::<Q8K, _>("Q8_K")),
    (16, Block::new::<Iq2Xxs, _>("IQ2_XXS")),
    (17, Block::new::<Iq2Xs, _>("IQ2_XS")),
    (18, Block::new::<Iq3Xxs, _>("IQ3_XXS")),
    (19, Block::new::<Iq1S, _>("IQ1_S")),
    (20, Block::new::<Iq4Nl, _>("IQ4_NL")),
    (21, Block::new::<Iq3S, _>("IQ3_S")),
    (22, Block::new::<Iq2S, _>("IQ2_S")),
    (23, Block::new::<Iq4Xs, _>("IQ4_XS")),
    (29, Block::new::<Iq1M, _>("IQ1_M")),
    (34, Block::new::<Tq1_0, _>("TQ1_0")),
    (35, Block::new::<Tq2_0, _>("TQ2_0")),
    (39, Block::new::<Mxfp4, _>("MXFP4")),
    (40, Block::new::<Nvfp4, _>("NVFP4")),
    (41, Block::new::<Q1_0, _>("Q1_0")),
    // A fork used this name and number for blocks of 128 elements in 34 bytes. In a file of that fork, the next tensor usually
    // does not begin where this type makes the tensor end, so the file is rejected.
    (42, Block::new::<Q2_0, _>("Q2_0")),
];

/// The ggml number of the type `Q8_1`, which ggml uses only for intermediate results. Some readers assume 36 bytes for a
/// block and others 40, so the end of a tensor of this type is ambiguous.
const Q8_1: u32 = 9;

/// The ggml numbers and names of types that ggml removed, for messages.
const GIVEN_UP: [(u32, &str); 8] = [
    (4, "Q4_2"),
    (5, "Q4_3"),
    (31, "Q4_0_4_4"),
    (32, "Q4_0_4_8"),
    (33, "Q4_0_8_8"),
    (36, "IQ4_NL_4_4 or I2_S"),
    (37, "IQ4_NL_4_8"),
    (38, "IQ4_NL_8_8"),
];

/// The numbers and names of types that only a fork of ggml has, for messages.
const FORKS: [(u32, &str); 20] = [
    (133, "Q6_0 of ik_llama.cpp"),
    (134, "IQ1_BN of ik_llama.cpp"),
    (135, "IQ2_BN of ik_llama.cpp"),
    (137, "IQ2_K of ik_llama.cpp"),
    (138, "IQ3_K of ik_llama.cpp"),
    (139, "IQ4_K of ik_llama.cpp"),
    (140, "IQ5_K of ik_llama.cpp"),
    (141, "IQ6_K of ik_llama.cpp"),
    (142, "PQ2_0 of PrismML"),
    (143, "PTQ1_0 of PrismML"),
    (144, "IQ4_KS of ik_llama.cpp"),
    (145, "IQ2_KS of ik_llama.cpp"),
    (146, "IQ4_KSS of ik_llama.cpp"),
    (152, "IQ5_KS of ik_llama.cpp"),
    (153, "IQ2_KT of ik_llama.cpp"),
    (154, "IQ3_KT of ik_llama.cpp"),
    (155, "IQ4_KT of ik_llama.cpp"),
    (156, "IQ3_KS of ik_llama.cpp"),
    (157, "IQ2_KL of ik_llama.cpp"),
    (158, "IQ1_KT of ik_llama.cpp"),
];

/// The number of a tensor type that zten does not read. `Display` writes the number, and the name of the type in ggml or in
/// a fork of ggml if it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnknownType(u32);

impl fmt::Display for UnknownType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.0;
        let name =
            |rows: &[(u32, &'static str)]| rows.iter().find(|row| row.0 == id).map(|row| row.1);
        match (name(&GIVEN_UP), name(&FORKS)) {
            _ if id == Q8_1 => write!(f, "ggml type {id} (Q8_1)"),
            (Some(name), _) | (None, Some(name)) => write!(f, "ggml type {id} ({name})"),
            (None, None) => write!(f, "ggml type {id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;
    use alloc::vec::Vec;

    #[test]
    fn what_readers_are_told() {
        let Type::Blocks(block) = Type::of(12) else { panic!("not blocks") };
        assert_eq!(block.layout().unwrap(), "gguf.q4_k");
        assert_eq!(
            block.attributes().unwrap(),
            b"\xa3\x69ggml_type\x64Q4_K\x6bblock_bytes\x18\x90\x6eblock_elements\x19\x01\x00"
        );
    }

    #[test]
    fn numbers_and_names_are_there_once() {
        let mut ids: Vec<_> = PLAIN.iter().map(|row| row.0).collect();
        ids.extend(BLOCKS.iter().map(|row| row.0));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), PLAIN.len() + BLOCKS.len());
        let mut names: Vec<_> = BLOCKS.iter().map(|row| row.1.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), BLOCKS.len());
    }

    #[test]
    fn types_that_are_not_read_have_names() {
        for (id, name) in [
            (9, "ggml type 9 (Q8_1)"),
            (31, "ggml type 31 (Q4_0_4_4)"),
            (137, "ggml type 137 (IQ2_K of ik_llama.cpp)"),
            (43, "ggml type 43"),
            (u32::MAX, "ggml type 4294967295"),
        ] {
            let Type::Unread(unknown) = Type::of(id) else { panic!("{id}") };
            assert_eq!(unknown.to_string(), name);
        }
    }
}

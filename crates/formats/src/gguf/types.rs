//! The types of ggml.

use zten::StorageType;

use crate::block::Block;
use crate::kind::Kind;

/// Types whose elements stand for themselves, by their numbers.
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

/// Types of blocks, by their numbers. The others were given up, or never were.
static BLOCKS: [(u32, Block); 25] = [
    (2, block("Q4_0", 32, 18)),
    (3, block("Q4_1", 32, 20)),
    (6, block("Q5_0", 32, 22)),
    (7, block("Q5_1", 32, 24)),
    (8, block("Q8_0", 32, 34)),
    (10, block("Q2_K", 256, 84)),
    (11, block("Q3_K", 256, 110)),
    (12, block("Q4_K", 256, 144)),
    (13, block("Q5_K", 256, 176)),
    (14, block("Q6_K", 256, 210)),
    (15, block("Q8_K", 256, 292)),
    (16, block("IQ2_XXS", 256, 66)),
    (17, block("IQ2_XS", 256, 74)),
    (18, block("IQ3_XXS", 256, 98)),
    (19, block("IQ1_S", 256, 50)),
    (20, block("IQ4_NL", 32, 18)),
    (21, block("IQ3_S", 256, 110)),
    (22, block("IQ2_S", 256, 82)),
    (23, block("IQ4_XS", 256, 136)),
    (29, block("IQ1_M", 256, 56)),
    (34, block("TQ1_0", 256, 54)),
    (35, block("TQ2_0", 256, 66)),
    (39, block("MXFP4", 32, 17)),
    (40, block("NVFP4", 64, 36)),
    (41, block("Q1_0", 128, 18)),
];

/// The type of blocks that are only made while computing. Some readers count 36 bytes a block and
/// some 40, so it is not known where such a tensor ends.
const Q8_1: u32 = 9;

const fn block(name: &'static str, elements: u64, bytes: u64) -> Block {
    Block { name, elements, bytes }
}

/// The type of that number, or what is wrong with it.
pub(crate) fn kind(id: u32) -> Result<Kind, String> {
    let plain = PLAIN.iter().find(|row| row.0 == id).map(|row| Kind::Plain(row.1));
    let found = plain
        .or_else(|| BLOCKS.iter().find(|row| row.0 == id).map(|(_, block)| Kind::Verbatim(block)));
    found.ok_or_else(|| match id {
        Q8_1 => "its type 9 (Q8_1) has blocks of no certain size".to_owned(),
        _ => format!("its type {id} is not known"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_readers_are_told() {
        let Ok(Kind::Verbatim(block)) = kind(12) else { panic!("not blocks") };
        assert_eq!(block.format(), "gguf.q4_k");
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
    fn types_that_were_given_up() {
        for id in [4, 5, 31, 32, 33, 36, 37, 38, 42, u32::MAX] {
            assert!(kind(id).unwrap_err().contains(&id.to_string()));
        }
        assert!(kind(9).unwrap_err().contains("Q8_1"));
    }
}

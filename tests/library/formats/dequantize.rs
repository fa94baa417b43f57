//! Tests that blocks of GGUF become the `f32` values that the package `gguf` computed. The blocks and values are in
//! `corpus/gguf-blocks`, or in the folder that `ZTEN_GGUF_BLOCKS` names. Blocks of arbitrary bytes become values, too.

use std::env;
use std::fs;
use std::path::PathBuf;

use zten::formats::Block;

/// Returns all block types with their numbers.
fn types() -> impl Iterator<Item = (u32, &'static Block)> {
    (0..1000).filter_map(|number| Some((number, Block::by_number(number)?)))
}

fn bytes(block: &Block) -> usize {
    usize::try_from(block.bytes).unwrap()
}

fn elements(block: &Block) -> usize {
    usize::try_from(block.elements).unwrap()
}

#[test]
fn chunks_may_end_within_a_block() {
    for (number, block) in types() {
        let data: Vec<u8> = (0..61).cycle().take(bytes(block) * 70).collect();
        let mut wanted = vec![0.0; elements(block) * 70];
        block.dequantize(&data, &mut wanted).unwrap();
        for length in [1, 3, bytes(block) - 1, bytes(block), bytes(block) + 1, 4096, data.len()] {
            let (mut blocks, mut values) = (block.dequantizer(), Vec::new());
            for chunk in data.chunks(length) {
                let taken = blocks.chunk(chunk, |some| {
                    values.extend_from_slice(some);
                    Ok::<(), std::io::Error>(())
                });
                taken.unwrap();
            }
            let bits =
                |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&values), bits(&wanted), "{number}, in chunks of {length}");
        }
    }
}

#[test]
fn elements_equal_those_of_the_reference() {
    let folder = env::var_os("ZTEN_GGUF_BLOCKS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/gguf-blocks")),
        PathBuf::from,
    );
    for (_, block) in types() {
        let file = fs::read(folder.join(block.name).with_extension("bin")).unwrap();
        let (header, data) = file.split_first_chunk::<8>().unwrap();
        let size = [block.elements, block.bytes].map(|size| u32::try_from(size).unwrap());
        assert_eq!(*header.as_chunks().0, size.map(u32::to_le_bytes), "{}", block.name);
        let count = data.len() / (bytes(block) + 4 * elements(block));
        let (blocks, wanted) = data.split_at(count * bytes(block));
        let mut out = vec![0.0; count * elements(block)];
        assert!(count > 0);
        block.dequantize(blocks, &mut out).unwrap();
        let wanted = wanted.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        for (at, (got, wanted)) in out.iter().zip(wanted).enumerate() {
            // IEEE 754 does not say which NaN an operation returns, so any NaN matches.
            let is_equal = got.to_bits() == wanted.to_bits() || got.is_nan() && wanted.is_nan();
            assert!(is_equal, "{} [{at}]: {got:e}, not {wanted:e}", block.name);
        }
    }
    assert_eq!(types().count(), 26);
}

#[test]
fn any_bytes_are_dequantized_and_any_other_length_is_an_error() {
    let mut random = fastrand::Rng::with_seed(1);
    for (_, block) in types() {
        for count in [0, 1, 2, 7] {
            let blocks: Vec<u8> = (0..count * bytes(block)).map(|_| random.u8(..)).collect();
            let mut out = vec![f32::NAN; count * elements(block)];
            block.dequantize(&blocks, &mut out).unwrap();
            // Each block is decoded without regard to its neighbors.
            for (packed, out) in blocks.chunks(bytes(block)).zip(out.chunks(elements(block))) {
                let mut alone = vec![0.0; elements(block)];
                block.dequantize(packed, &mut alone).unwrap();
                let bits =
                    |elements: &[f32]| elements.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(out), bits(&alone));
            }
            let wanted = [blocks.len(), out.len()];
            for [given, room] in [[1, 0], [0, 1], [bytes(block), 0], [0, elements(block)], [1, 1]] {
                let (mut more, mut longer) = (blocks.clone(), out.clone());
                more.resize(wanted[0] + given, 0);
                longer.resize(wanted[1] + room, 0.0);
                let error = block.dequantize(&more, &mut longer).unwrap_err();
                assert_eq!((error.bytes, error.elements), (more.len(), longer.len()));
                assert!(error.to_string().contains(block.name), "{error}");
            }
        }
    }
}

#[test]
fn types_are_found_by_name_and_number() {
    for (number, block) in types() {
        for name in [block.name.to_owned(), block.name.to_ascii_lowercase()] {
            assert_eq!(Block::by_name(&name), Block::by_number(number));
        }
    }
    for name in ["", "F32", "Q8_1", "Q4_2", "Q4_K ", "gguf.q4_k"] {
        assert_eq!(Block::by_name(name), None, "{name}");
    }
    for number in [0, 4, 9, 31, 36, 43, 137, u32::MAX] {
        assert_eq!(Block::by_number(number), None, "{number}");
    }
}

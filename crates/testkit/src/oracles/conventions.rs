//! The oracle for groups of tensors that follow a convention of quantization, such as weights with separate scales.

use std::fmt::Write as _;

use arbitrary::{Result, Unstructured};
use zten::conventions::{Composites, Convention};
use zten::verify::{Verifier, check};
use zten::write::{Copier, WriteOptions};
use zten::{Archive, Error, ErrorKind, Generation, ReadAt};
use zten_corpus::other::safetensors;

use super::{heap, options};

/// A tensor of the safetensors file that the oracle generates.
struct GeneratedTensor {
    name: String,
    dtype: &'static str,
    shape: Vec<u64>,
    /// The content, or `None` for arbitrary bytes.
    content: Option<Vec<u8>>,
}

impl GeneratedTensor {
    fn new(end: &str, dtype: &'static str, shape: &[u64]) -> Self {
        Self { name: format!("p{end}"), dtype, shape: shape.to_vec(), content: None }
    }

    fn with(self, content: Vec<u8>) -> Self {
        Self { content: Some(content), ..self }
    }

    /// Returns the size of the tensor's data in bytes.
    fn length(&self) -> u64 {
        let width = match self.dtype {
            "I64" => 8,
            "F32" | "I32" | "U32" => 4,
            "F16" | "BF16" => 2,
            _ => 1,
        };
        self.shape.iter().product::<u64>() * width
    }
}

/// Generates the tensors of a group of few columns and at most 40 rows. `choice` selects the convention. In one of three cases, a
/// tensor is missing or has another first dimension, so that the group may be invalid.
fn parts(u: &mut Unstructured<'_>, choice: u8) -> Result<Vec<GeneratedTensor>> {
    let (r, g) = (u.int_in_range(0..=40)?, u.int_in_range(0..=3)?);
    let bits = *u.choose(&[1, 2, 3, 4, 5, 6, 7, 8])?;
    let float = *u.choose(&["F32", "F16", "BF16"])?;
    let p = GeneratedTensor::new;
    let pair = |rows: u64, columns: u64| [rows.to_le_bytes(), columns.to_le_bytes()].concat();
    let mut parts = match choice % 11 {
        0 => vec![p("_blocks", "U8", &[2, r, g, 16]), p("_scales", "U8", &[2, r, g])],
        1 => {
            let blocks = [r.div_ceil(16), (g * 20).div_ceil(16)];
            vec![p("", "F8_E4M3", &[r, g * 20]), p("_scale_inv", float, &blocks)]
        }
        2 => {
            let scale: &[u64] = if g == 0 { &[] } else { &[r, 1] };
            vec![p("", "F8_E5M2", &[r, 5]), p("_scale", float, scale)]
        }
        3 => {
            let zero = p("_zero_point", "I8", &[r, g]);
            vec![p("", "I8", &[r, g * 4]), p("_scale", float, &[r, g]), zero]
        }
        4 => {
            let scale = p("_scale", "F8_E4M3", &[r, g]);
            vec![p("", "U8", &[r, g * 8]), scale, p("_scale_2", "F32", &[])]
        }
        5 => {
            let (inputs, outputs) = (g * 32, 32);
            let index = p(".g_idx", "I32", &[inputs]);
            let zeros = p(".qzeros", "I32", &[g, outputs * bits / 32]);
            let words = p(".qweight", "I32", &[inputs * bits / 32, outputs]);
            let mut parts = vec![words, zeros, p(".scales", float, &[g, outputs])];
            if u.arbitrary()? {
                parts.push(index);
            }
            parts
        }
        6 => {
            let zeros = p(".qzeros", "I32", &[g, 2]);
            vec![p(".qweight", "I32", &[g * 16, 2]), zeros, p(".scales", float, &[g, 16])]
        }
        7 => {
            let columns = g * 32;
            let shape = p("_shape", "I64", &[2]).with(pair(r, columns));
            let words = p("_packed", "I32", &[r, columns * bits / 32]);
            let mut parts = vec![words, p("_scale", float, &[r, g]), shape];
            if u.arbitrary()? {
                parts.push(p("_zero_point", "I32", &[(r * bits).div_ceil(32), g]));
            }
            if u.arbitrary()? {
                parts.push(p("_g_idx", "I32", &[columns]));
            }
            parts
        }
        8 => {
            let (kind, size) = (*u.choose(&["nf4", "fp4"])?, *u.choose(&[2, 64, 7])?);
            let elements = r * 5;
            let state = format!(
                r#"{{"blocksize": {size}, "shape": [{r}, 5], "nested_blocksize": 4, "nested_offset": 0.5}}"#
            );
            let length = u64::try_from(state.len()).unwrap();
            let name = format!(".quant_state.bitsandbytes__{kind}");
            let state = p(&name, "U8", &[length]).with(state.into_bytes());
            let blocks = elements.div_ceil(size);
            let data = p("", "U8", &[elements.div_ceil(2), 1]);
            let map = p(".quant_map", "F32", &[16]);
            if u.arbitrary()? {
                let nested = p(".nested_absmax", "F32", &[blocks.div_ceil(4)]);
                let nested_map = p(".nested_quant_map", "F32", &[256]);
                vec![data, map, p(".absmax", "U8", &[blocks]), nested, nested_map, state]
            } else {
                vec![data, map, p(".absmax", "F32", &[blocks]), state]
            }
        }
        9 => vec![p(".weight", "I8", &[r, 6]), p(".SCB", "F32", &[r])],
        _ => {
            let words = p(".weight", "U32", &[r, g * 2 * bits]);
            vec![words, p(".scales", float, &[r, g]), p(".biases", float, &[r, g])]
        }
    };
    // In one of three cases, break the group: remove one tensor, or change the first dimension of one tensor.
    if u.ratio(1, 3)? {
        let at = u.choose_index(parts.len())?;
        if u.ratio(1, 4)? {
            parts.remove(at);
        } else if let Some(size) = parts[at].shape.first_mut() {
            *size = u.int_in_range(0..=*size + 2)?;
            parts[at].content = None;
        }
    }
    Ok(parts)
}

/// Returns a safetensors file of the tensors `parts`. A tensor without content gets bytes from `u`.
fn file(u: &mut Unstructured<'_>, parts: &[GeneratedTensor]) -> Result<Vec<u8>> {
    let (mut header, mut data) = (String::from("{"), Vec::new());
    for part in parts {
        let comma = if data.is_empty() && header.len() == 1 { "" } else { "," };
        let (start, length) = (data.len(), usize::try_from(part.length()).unwrap());
        if let Some(content) = &part.content {
            data.extend_from_slice(content);
        } else {
            let pattern = u.arbitrary::<[u8; 7]>()?;
            data.extend(pattern.iter().cycle().take(length));
        }
        let GeneratedTensor { name, dtype, shape, .. } = part;
        let end = data.len();
        write!(header, r#"{comma}"{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{start},{end}]}}"#)
            .unwrap();
    }
    header.push('}');
    Ok(safetensors::file(&header, &data))
}

/// A source of bytes in memory that does not lend them.
struct Positions<'b>(&'b [u8]);

impl ReadAt for Positions<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::result::Result<(), Error> {
        self.0.read_at(offset, buffer)
    }
}

/// Generates a safetensors file with a group of tensors, and dequantizes the values of the group. There must be as many values as
/// the shape says; they must be the same from memory and from a source, and as a whole and in parts; memory must be within a few
/// times the length of the file; and a copy with composite objects must have the original tensors. Returns whether a group was
/// found.
///
/// # Panics
/// Panics if a promise does not hold.
pub fn conventions(input: &[u8]) -> bool {
    let Some((choice, input)) = input.split_last() else { return false };
    let mut u = Unstructured::new(input);
    let Ok(parts) = parts(&mut u, *choice) else { return false };
    let Ok(bytes) = file(&mut u, &parts) else { return false };
    let length = u64::try_from(bytes.len()).unwrap();
    let Ok(archive) = options().from_bytes(&bytes[..]) else { return false };
    check_and_copy(&archive);
    let archive = archive.with_conventions().expect("groups in a valid file");
    let opened = options().open_source(Positions(&bytes), length).expect("a valid file");
    let opened = opened.with_conventions().expect("groups in a valid file");
    let mut has_group = false;
    assert_eq!(archive.len(), opened.len());
    for (tensor, again) in archive.tensors().zip(opened.tensors()) {
        assert_eq!((tensor.name(), tensor.shape()), (again.name(), again.shape()));
        assert_eq!(Convention::of(&tensor), Convention::of(&again));
        if Convention::of(&tensor).is_none() {
            continue;
        }
        has_group = true;
        let (peak, values) = heap::peak(|| values(&tensor));
        let values = values.expect("the values of a group");
        parts_are_those_of_the_whole(&again, &values);
        let again = self::values(&again).expect("the values of a group");
        assert_eq!(u64::try_from(values.len()).ok(), tensor.element_count());
        assert!(values.iter().zip(&again).all(|(one, other)| one.to_bits() == other.to_bits()));
        let most = 16 * (length + (1 << 16)) + 8 * u64::try_from(values.len()).unwrap();
        assert!(peak <= most, "{peak} bytes of heap for a file of {length}");
    }
    has_group
}

/// Dequantizes ranges at the beginning, in the middle and at the end of `tensor`, and checks that they are the same
/// ranges of `values`, which are the values of the whole tensor.
fn parts_are_those_of_the_whole(tensor: &zten::Tensor<'_>, values: &[f32]) {
    let all = values.len();
    for (start, end) in [(0, all.min(1)), (all / 3, all / 2), (all - all.min(5), all)] {
        let mut part = vec![0.0; end - start];
        let range = u64::try_from(start).unwrap()..u64::try_from(end).unwrap();
        tensor.dequantize_range(range, &mut part).expect("a part of a group");
        let whole = values[start..end].iter().map(|value| value.to_bits());
        assert!(part.iter().map(|value| value.to_bits()).eq(whole), "{start}..{end}");
    }
}

/// Validates `archive`, copies it to a file with composite objects, and checks that the original tensors can be
/// restored from the copy.
fn check_and_copy<S: ReadAt>(archive: &Archive<S>) {
    let report = check(archive, &mut ());
    let notes = report.notes().iter();
    assert!(notes.map(|note| note.error().kind()).all(|kind| matches!(kind, ErrorKind::Note(_))));
    let name = |ordinal| Some(archive.manifest().tensor_at(ordinal)?.name());
    for generation in [Generation::V1_2, Generation::V2] {
        let composites = Composites::find(archive, archive, generation, &name).expect("groups");
        let copier = Copier::new(archive.manifest()).joined(composites.objects());
        let options = WriteOptions::default().generation(generation);
        let copy = copier.file(archive.manifest(), archive, Vec::new(), &options);
        let copy = Archive::from_bytes(copy.expect("a copy")).expect("a valid copy");
        copy.verify().expect("valid content");
        let mut count = 0;
        for object in copy.tensors() {
            let Some(originals) = object.originals(object.name()).expect("memory") else {
                continue;
            };
            for original in originals {
                let (mut verifier, mut bytes) = (Verifier::new(copy.manifest()), Vec::new());
                let read = original.read(&copy, &mut verifier, &mut |chunk| {
                    bytes.extend_from_slice(chunk);
                    Ok(())
                });
                read.expect("the content of a tensor");
                let tensor = archive.tensor(original.name()).expect("the tensor that it was");
                assert_eq!((original.dtype(), original.shape()), (tensor.dtype(), tensor.shape()));
                let own = tensor.component("data").expect("its data").read().expect("its bytes");
                assert!(own[..] == bytes, "{} is not restored", original.name());
                count += 1;
            }
        }
        assert_eq!(count, composites.objects().members());
    }
}

fn values(tensor: &zten::Tensor<'_>) -> std::result::Result<Vec<f32>, Error> {
    let (mut reader, mut values) = (tensor.dequantizer()?, Vec::new());
    while let Some(chunk) = reader.next_chunk()? {
        assert!(!chunk.is_empty());
        values.extend_from_slice(chunk);
    }
    Ok(values)
}

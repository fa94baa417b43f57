//! Cases of the corpus about quantized tensors that are stored as several tensors of a safetensors file.

use super::Cases;
use crate::other::safetensors::file;

/// The name, dtype, shape and content of a tensor.
type Tensor<'a> = (&'a str, &'a str, &'a [usize], Vec<u8>);

/// Returns a safetensors file of `tensors`, the widest elements first. The data begins at a multiple of 8.
fn of(tensors: &[Tensor<'_>]) -> Vec<u8> {
    let (mut entries, mut data) = (Vec::new(), Vec::new());
    for (name, dtype, shape, content) in tensors {
        let start = data.len();
        data.extend_from_slice(content);
        let end = data.len();
        entries.push(format!(
            r#""{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{start},{end}]}}"#
        ));
    }
    let header = format!("{{{}}}", entries.join(","));
    let padded = header.len().next_multiple_of(8);
    file(&format!("{header:padded$}"), &data)
}

fn words(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Returns a safetensors file with a GPTQ group of 4 bits with 32 inputs in groups of 16 and 8 outputs. The last row
/// is in group `last`, the zero points have `rows` rows, and the last scale has the bits `scale`.
fn gptq(last: i32, rows: usize, scale: u16) -> Vec<u8> {
    let mut index: Vec<i32> = (0..32).map(|row| row / 16).collect();
    index[31] = last;
    let mut scales = [0x3c00_u16; 16];
    scales[15] = scale;
    let scales = scales.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    of(&[
        ("p.qweight", "I32", &[4, 8], words(&[0x7654_3210; 32])),
        ("p.qzeros", "I32", &[rows, 1], words(&vec![0x7777_7777; rows])),
        ("p.g_idx", "I32", &[32], words(&index)),
        ("p.scales", "F16", &[2, 8], scales),
    ])
}

/// Returns a safetensors file with an MXFP4 group, whose blocks are one block of codes, and whose scales are the bytes `scales`.
fn mxfp4(scales: &[u8]) -> Vec<u8> {
    of(&[
        ("p_blocks", "U8", &[1, 16], vec![0x21; 16]),
        ("p_scales", "U8", &[scales.len()], scales.to_vec()),
    ])
}

/// Returns a safetensors file with a bitsandbytes group of two NF4 codes, whose quantization state is the JSON
/// `state` and whose scale is `absmax`.
fn nf4(state: &str, absmax: f32) -> Vec<u8> {
    of(&[
        ("p.absmax", "F32", &[1], floats(&[absmax])),
        ("p.quant_map", "F32", &[16], floats(&[0.5; 16])),
        ("p", "U8", &[1, 1], vec![0x21]),
        ("p.quant_state.bitsandbytes__nf4", "U8", &[state.len()], state.as_bytes().to_vec()),
    ])
}

/// Returns a safetensors file with a group of compressed-tensors: 2 rows of 8 codes of 4 bits. The file claims a
/// shape with `columns` columns.
fn packed(columns: i64) -> Vec<u8> {
    let shape = [2, columns].iter().flat_map(|size| size.to_le_bytes()).collect();
    of(&[
        ("p_shape", "I64", &[2], shape),
        ("p_packed", "I32", &[2, 1], words(&[0x7654_3210; 2])),
        ("p_scale", "F32", &[2, 1], floats(&[1.0; 2])),
    ])
}

/// Returns a safetensors file with a group of `LLM.int8()` with two rows and the scales `scales`.
fn int8(scales: &[f32]) -> Vec<u8> {
    of(&[
        ("p.SCB", "F32", &[scales.len()], floats(scales)),
        ("p.weight", "I8", &[2, 3], vec![1; 6]),
    ])
}

pub(super) fn all(cases: &mut Cases) {
    const STATE: &str = r#"{"blocksize": 2, "shape": [2]}"#;
    let (one, nan) = (0x3c00, 0x7e00);
    // The names of the tensors in these two files follow a convention, but the first has a layer that is not quantized,
    // and the second a layer of the AWQ version `gemv`.
    let plain = of(&[
        ("p.weight", "F32", &[2, 2], floats(&[1.0; 4])),
        ("p.scales", "F32", &[3], floats(&[f32::NAN; 3])),
        ("p.biases", "F32", &[2], floats(&[1.0; 2])),
    ]);
    let gemv = of(&[
        ("p.qweight", "I32", &[8, 4], words(&[0x7654_3210; 32])),
        ("p.qzeros", "I32", &[8, 1], words(&[0; 8])),
        ("p.scales", "F16", &[8, 8], vec![0; 128]),
    ]);
    let stack = of(&[
        ("p_scale_inv", "F32", &[2, 5, 7], floats(&[1.0; 70])),
        ("p", "F8_E4M3", &[2, 2, 2], vec![0x38; 8]),
    ]);
    for (name, bytes) in [
        ("quant-index", gptq(1, 2, one)),
        // As in PyTorch, the group index -1 means the last group.
        ("quant-index-negative", gptq(-1, 2, one)),
        ("quant-blocks", mxfp4(&[254])),
        ("quant-state", nf4(STATE, 1.0)),
        ("quant-packed", packed(8)),
        ("quant-rows", int8(&[1.0, 0.0])),
        ("quant-names", plain),
        ("quant-gemv", gemv),
        ("quant-stack", stack),
        // Files with notes.
        ("quant-scale-255", mxfp4(&[255])),
        ("quant-scale-nan", gptq(1, 2, nan)),
        ("quant-scale-infinite", int8(&[1.0, f32::INFINITY])),
        ("quant-scale-state", nf4(STATE, f32::NAN)),
        ("quant-parts-blocks", mxfp4(&[127, 127])),
        ("quant-parts-zeros", gptq(1, 3, one)),
        ("quant-parts-state", nf4(r#"{"blocksize": 2, "shape": [9]}"#, 1.0)),
        ("quant-parts-no-shape", nf4(r#"{"blocksize": 2}"#, 1.0)),
        // `p_shape` claims rows of 33 codes, but each row has one word of 32 bits, which is too short even for codes of 1 bit. So
        // zten does not take the tensors for a quantized tensor. The file is valid, with a note.
        ("quant-parts-packed", packed(33)),
        ("quant-parts-rows", int8(&[1.0; 3])),
    ] {
        cases.accept("safetensors", &format!("{name}.safetensors"), bytes);
    }
    for (rule, name, bytes) in [
        ("quant-index", "beyond", gptq(2, 2, one)),
        ("quant-index", "before", gptq(-3, 2, one)),
        ("quant-state", "text", nf4("NF4", 1.0)),
        ("quant-state", "array", nf4("[2]", 1.0)),
        ("quant-state", "cut", nf4(&STATE[..STATE.len() - 1], 1.0)),
        ("quant-state", "empty", nf4("", 1.0)),
    ] {
        cases.reject("safetensors", (rule, &format!("{name}.safetensors")), bytes);
    }
}

//! Checks that a quantized model of candle-transformers computes the same logits from a GGUF file and from its conversions to
//! zTensor, and that it reports a damaged tensor.

use std::fs::File;
use std::io::{Read, Seek};

use candle_core::quantized::gguf_file::{Content, Value, write};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Result, Tensor};
use candle_transformers::models::quantized_llama::ModelWeights;
use zten::{Generation, OpenOptions};
use zten_candle::Weights;

use crate::quantized::converted;
use crate::{bits, numbers};

const WIDTH: usize = 64;
const TOKENS: usize = 50;

fn tensors() -> Vec<(String, QTensor)> {
    let matrix = |name: &str, rows, columns| (format!("{name}.weight"), vec![rows, columns]);
    let norm = |name: &str| (format!("{name}.weight"), vec![WIDTH]);
    let mut all = vec![matrix("token_embd", TOKENS, WIDTH), matrix("output", TOKENS, WIDTH)];
    all.push(norm("output_norm"));
    for name in ["attn_q", "attn_k", "attn_v", "attn_output"] {
        all.push(matrix(&format!("blk.0.{name}"), WIDTH, WIDTH));
    }
    for (name, rows, columns) in
        [("ffn_gate", 128, WIDTH), ("ffn_down", WIDTH, 128), ("ffn_up", 128, WIDTH)]
    {
        all.push(matrix(&format!("blk.0.{name}"), rows, columns));
    }
    all.extend(["blk.0.attn_norm", "blk.0.ffn_norm"].map(norm));
    let quantized = |(seed, (name, shape)): (u32, (String, Vec<usize>))| {
        let values: Vec<f32> = numbers(seed).take(shape.iter().product()).collect();
        let dtype = if shape.len() == 1 { GgmlDType::F32 } else { GgmlDType::Q8_0 };
        let all = Tensor::from_vec(values, shape, &Device::Cpu).unwrap();
        (name, QTensor::quantize(&all, dtype).unwrap())
    };
    (1..).zip(all).map(quantized).collect()
}

fn logits(file: &mut (impl Read + Seek)) -> Result<Vec<u32>> {
    let content = Content::read(file)?;
    let mut model = ModelWeights::from_gguf(content, file, &Device::Cpu)?;
    let input = Tensor::new(&[[1_u32, 7, 3]], &Device::Cpu)?;
    Ok(bits(&model.forward(&input, 0)?))
}

#[test]
fn logits_equal_those_of_the_gguf_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let metadata = [
        ("general.architecture", Value::String("llama".to_owned())),
        ("llama.attention.head_count", Value::U32(2)),
        ("llama.attention.head_count_kv", Value::U32(2)),
        ("llama.block_count", Value::U32(1)),
        ("llama.embedding_length", Value::U32(64)),
        ("llama.rope.dimension_count", Value::U32(32)),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("llama.rope.freq_base", Value::F32(10_000.0)),
    ];
    let metadata: Vec<(&str, &Value)> = metadata.iter().map(|(key, value)| (*key, value)).collect();
    let tensors = tensors();
    let named: Vec<(&str, &QTensor)> = tensors.iter().map(|(name, all)| (&**name, all)).collect();
    write(&mut File::create(&path).unwrap(), &metadata, &named).unwrap();
    let wanted = logits(&mut File::open(&path).unwrap()).unwrap();
    assert_eq!(wanted.len(), TOKENS);
    let zten = converted(&path, &[Generation::V1_2, Generation::V2]);
    for path in [&path].into_iter().chain(&zten) {
        let weights = Weights::open(&[path], &OpenOptions::default()).unwrap();
        assert_eq!(logits(&mut weights.gguf().unwrap()).unwrap(), wanted, "{}", path.display());
    }

    // candle's model takes a tensor `output.weight` that it cannot read for absent. If the tensor is damaged, the error
    // must be reported nevertheless.
    let weights = Weights::open(&[&zten[0]], &OpenOptions::default()).unwrap();
    let at = weights.tensor("output.weight").unwrap().component("data").unwrap().extent().offset();
    let mut bytes = std::fs::read(&zten[0]).unwrap();
    bytes[usize::try_from(at).unwrap()] ^= 1;
    std::fs::write(&zten[0], bytes).unwrap();
    let weights = Weights::open(&[&zten[0]], &OpenOptions::default()).unwrap();
    let error = logits(&mut weights.gguf().unwrap()).unwrap_err().to_string();
    assert!(error.contains("digest-mismatch") && error.contains("output.weight"), "{error}");
}

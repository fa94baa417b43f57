//! Checks that a transformer block computes bitwise equal logits from zTensor and from safetensors.

use std::collections::HashMap;
use std::path::Path;

use candle_core::{D, DType, Device, Result, Tensor};
use candle_nn::{LayerNorm, Linear, Module as _, VarBuilder, layer_norm, linear};
use zten::write::{Level, NewObject, WriteOptions};
use zten::{DType as Own, Generation};

use crate::numbers;

const WIDTH: usize = 32;
const HEADS: usize = 4;
const TOKENS: usize = 6;
const VOCABULARY: usize = 50;

struct Block {
    norms: [LayerNorm; 2],
    qkv: Linear,
    out: Linear,
    up: Linear,
    down: Linear,
    head: Linear,
}

impl Block {
    fn new(weights: &VarBuilder<'_>) -> Result<Self> {
        let norm = |name: &str| layer_norm(WIDTH, 1e-5, weights.pp(name));
        Ok(Self {
            norms: [norm("norm.0")?, norm("norm.1")?],
            qkv: linear(WIDTH, 3 * WIDTH, weights.pp("attention.qkv"))?,
            out: linear(WIDTH, WIDTH, weights.pp("attention.out"))?,
            up: linear(WIDTH, 4 * WIDTH, weights.pp("mlp.up"))?,
            down: linear(4 * WIDTH, WIDTH, weights.pp("mlp.down"))?,
            head: linear(WIDTH, VOCABULARY, weights.pp("head"))?,
        })
    }

    fn logits(&self, input: &Tensor) -> Result<Tensor> {
        let [first, second] = &self.norms;
        let qkv = self.qkv.forward(&first.forward(input)?)?;
        let head = |part: usize| {
            let part = qkv.narrow(D::Minus1, part * WIDTH, WIDTH)?;
            part.reshape((TOKENS, HEADS, WIDTH / HEADS))?.transpose(0, 1)?.contiguous()
        };
        let (q, k, v) = (head(0)?, head(1)?, head(2)?);
        let scores = (q.matmul(&k.t()?.contiguous()?)? / (8.0_f64).sqrt())?;
        let mixed = candle_nn::ops::softmax(&scores, D::Minus1)?.matmul(&v)?;
        let mixed = mixed.transpose(0, 1)?.contiguous()?.reshape((TOKENS, WIDTH))?;
        let input = (input + self.out.forward(&mixed)?)?;
        let hidden = self.up.forward(&second.forward(&input)?)?.gelu()?;
        self.head.forward(&(input + self.down.forward(&hidden)?)?)
    }
}

fn weights() -> Vec<(String, Vec<usize>)> {
    let mut all = Vec::new();
    let sizes = [
        ("attention.qkv", 3 * WIDTH, WIDTH),
        ("attention.out", WIDTH, WIDTH),
        ("mlp.up", 4 * WIDTH, WIDTH),
        ("mlp.down", WIDTH, 4 * WIDTH),
        ("head", VOCABULARY, WIDTH),
    ];
    for (name, rows, columns) in sizes {
        all.push((format!("{name}.weight"), vec![rows, columns]));
        all.push((format!("{name}.bias"), vec![rows]));
    }
    for norm in ["norm.0", "norm.1"] {
        all.push((format!("{norm}.weight"), vec![WIDTH]));
        all.push((format!("{norm}.bias"), vec![WIDTH]));
    }
    all
}

fn bytes(tensor: &Tensor) -> Vec<u8> {
    let tensor = tensor.flatten_all().unwrap();
    match tensor.dtype() {
        DType::F32 => {
            tensor.to_vec1::<f32>().unwrap().iter().flat_map(|x| x.to_le_bytes()).collect()
        }
        DType::BF16 => {
            let all = tensor.to_vec1::<half::bf16>().unwrap();
            all.iter().flat_map(|x| x.to_le_bytes()).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn write(
    path: &Path,
    tensors: &HashMap<String, Tensor>,
    options: &WriteOptions,
    level: Option<Level>,
) {
    let mut writer = options.create(path).unwrap();
    for (name, shape) in weights() {
        let tensor = &tensors[&name];
        let dtype = match tensor.dtype() {
            DType::BF16 => Own::BF16,
            _ => Own::F32,
        };
        let shape: Vec<u64> = shape.iter().map(|side| u64::try_from(*side).unwrap()).collect();
        let mut new = NewObject::dense(&name, &shape, dtype);
        if let Some(level) = level {
            new = new.compressed(level);
        }
        writer.add_object(&new, &[("data", &bytes(tensor))]).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn logits_equal_those_of_safetensors() {
    let folder = tempfile::tempdir().unwrap();
    for dtype in [DType::F32, DType::BF16] {
        let tensors: HashMap<String, Tensor> = (1..)
            .zip(weights())
            .map(|(seed, (name, shape))| {
                let count = shape.iter().product();
                let all: Vec<f32> = numbers(seed).take(count).collect();
                let tensor = Tensor::from_vec(all, shape, &Device::Cpu).unwrap();
                (name, tensor.to_dtype(dtype).unwrap())
            })
            .collect();
        let other = folder.path().join("block.safetensors");
        candle_core::safetensors::save(&tensors, &other).unwrap();
        let other = std::fs::read(&other).unwrap();
        let other = VarBuilder::from_buffered_safetensors(other, DType::F32, &Device::Cpu).unwrap();
        let input: Vec<f32> = numbers(99).take(TOKENS * WIDTH).collect();
        let input = Tensor::from_vec(input, (TOKENS, WIDTH), &Device::Cpu).unwrap();
        let wanted = Block::new(&other).unwrap().logits(&input).unwrap();
        assert_eq!(wanted.dims(), [TOKENS, VOCABULARY]);
        let wanted = wanted.to_vec2::<f32>().unwrap();
        assert!(wanted.iter().flatten().all(|logit| logit.is_finite() && *logit != 0.0));
        for generation in [Generation::V1_2, Generation::V2] {
            for level in [None, Some(Level::new(2).unwrap())] {
                let path = folder.path().join("block.zt");
                let _ = std::fs::remove_file(&path);
                write(&path, &tensors, &WriteOptions::default().generation(generation), level);
                let ours = zten_candle::var_builder(&[&path], DType::F32, &Device::Cpu).unwrap();
                let logits = Block::new(&ours).unwrap().logits(&input).unwrap();
                let logits = logits.to_vec2::<f32>().unwrap();
                let bits = |all: &[Vec<f32>]| -> Vec<u32> {
                    all.iter().flatten().map(|logit| logit.to_bits()).collect()
                };
                assert_eq!(bits(&logits), bits(&wanted), "{dtype:?} {generation:?} {level:?}");
            }
        }
    }
}

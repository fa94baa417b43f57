//! Blocks of GGUF are candle's.

use candle_core::Device;
use candle_core::quantized::GgmlDType;
use zten::Options;
use zten_candle::Weights;

use crate::corpus;

#[test]
fn blocks_are_those_of_the_file() {
    let path = corpus("v2/accept/gguf.zt");
    let weights = Weights::open(&[&path], &Options::default()).unwrap();
    let tensor = weights.quantized("w", &Device::Cpu).unwrap();
    assert_eq!((tensor.dtype(), tensor.shape().dims()), (GgmlDType::Q8_0, [2, 32].as_slice()));
    let archive = zten::Archive::open(std::fs::read(&path).unwrap()).unwrap();
    let blocks = archive.require("w").unwrap().gguf_blocks().unwrap().data;
    assert_eq!(tensor.data().unwrap(), blocks.view().unwrap().as_bytes());
    let error = weights.load("w", &Device::Cpu).unwrap_err().to_string();
    assert!(error.contains("gguf.q8_0/1"), "{error}");
}

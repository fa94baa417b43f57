//! Reads one file with candle: `worker candle FILE`.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use candle_core::npy::NpzTensors;
use candle_core::pickle::PthTensors;
use candle_core::quantized::gguf_file::Content;
use candle_core::safetensors::BufferedSafetensors;
use candle_core::{CpuStorage, Device, Result, Storage, Tensor};
use zten_lab::readers::subject::Report;

#[global_allocator]
static GUARDED: zten_lab::readers::subject::Guarded = zten_lab::readers::subject::Guarded;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ["worker", "candle", file, ..] = arguments[..] else { return ExitCode::from(2) };
    let file = Path::new(file);
    let read = match file.extension().and_then(|suffix| suffix.to_str()) {
        Some("safetensors") => safetensors,
        Some("gguf") => gguf,
        Some("npy") => npy,
        Some("npz") => npz,
        Some("pt") => pt,
        _ => return ExitCode::from(2),
    };
    zten_lab::readers::subject::run(file, read);
    ExitCode::SUCCESS
}

fn safetensors(path: &Path, report: &mut Report) {
    let file = fs::read(path).unwrap_or_default();
    let Some(file) = report.opened(BufferedSafetensors::new(file)) else { return };
    for (name, view) in file.tensors() {
        let tensor = file.load(&name, &Device::Cpu).and_then(|tensor| bytes(&tensor));
        let Some(mut bytes) = report.read(tensor) else { continue };
        if format!("{:?}", view.dtype()) == "U16" {
            // candle has no tensors of the type U16 and reads the elements as `u32`, which holds the same numbers.
            bytes = bytes.chunks_exact(4).flat_map(|four| [four[0], four[1]]).collect();
        }
        report.content(&name, "data", &bytes);
    }
}

fn gguf(path: &Path, report: &mut Report) {
    let opened = fs::File::open(path).map_err(Into::into);
    let read = |mut file| Content::read(&mut file).map(|content| (file, content));
    let Some((mut file, content)) = report.opened(opened.and_then(read)) else { return };
    for name in content.tensor_infos.keys() {
        let tensor = content.tensor(&mut file, name, &Device::Cpu);
        let bytes = tensor.and_then(|tensor| Ok(tensor.data()?.into_owned()));
        if let Some(bytes) = report.read(bytes) {
            report.content(name, "data", &bytes);
        }
    }
}

fn npy(path: &Path, report: &mut Report) {
    let opened = Tensor::read_npy(path).and_then(|tensor| bytes(&tensor));
    let Some(bytes) = report.opened(opened) else { return };
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    report.content(name, "data", &bytes);
}

fn npz(path: &Path, report: &mut Report) {
    let Some(tensors) = report.opened(NpzTensors::new(path)) else { return };
    for name in tensors.names() {
        let tensor = tensors.get(name).and_then(|tensor| tensor.as_ref().map(bytes).transpose());
        if let Some(Some(bytes)) = report.read(tensor) {
            report.content(name, "data", &bytes);
        }
    }
}

fn pt(path: &Path, report: &mut Report) {
    let Some(tensors) = report.opened(PthTensors::new(path, None)) else { return };
    for name in tensors.tensor_infos().keys() {
        let tensor = tensors.get(name).and_then(|tensor| tensor.as_ref().map(bytes).transpose());
        if let Some(Some(bytes)) = report.read(tensor) {
            report.content(name, "data", &bytes);
        }
    }
}

/// Returns the elements of a tensor, little-endian and in row-major order.
fn bytes(tensor: &Tensor) -> Result<Vec<u8>> {
    let tensor = tensor.contiguous()?;
    let (storage, _) = tensor.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else { candle_core::bail!("not in memory") };
    Ok(match storage {
        CpuStorage::U32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        CpuStorage::I16(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        CpuStorage::I32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        CpuStorage::I64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        CpuStorage::BF16(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        CpuStorage::F16(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        CpuStorage::F32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        CpuStorage::F64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        CpuStorage::F8E4M3(values) => values.iter().flat_map(|value| [value.to_bits()]).collect(),
        CpuStorage::U8(values)
        | CpuStorage::F6E2M3(values)
        | CpuStorage::F6E3M2(values)
        | CpuStorage::F4(values)
        | CpuStorage::F8E8M0(values) => values.clone(),
    })
}

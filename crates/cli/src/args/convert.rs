//! The arguments of `zten convert`.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use zten::DType;
use zten::write::Level;
use zten_report::{dtype, size};

use crate::args::attributes::Set;
use crate::args::rename::Rename;
use crate::args::strictness::Strictness;

/// `zten convert`
#[derive(Debug, clap::Args, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Convert {
    /// Read this file, whose first bytes tell its format. If a safetensors model has several files, give the index, whose
    /// name ends in .index.json: the files that the index names are read, too. The shards of a zTensor file are read
    /// in the same way
    #[arg(value_name = "IN")]
    #[serde(with = "super::os_path")]
    pub(crate) input: PathBuf,
    /// Write this file, or standard output if OUT is -. The suffix selects the format: .zt, .safetensors, .npz or .npy; for
    /// -, --format does. The file appears when it is complete, and standard output gets its bytes then. Tensors of unread
    /// and opaque types that the format cannot hold are left out and named. If the format cannot hold another tensor or an
    /// attribute, an error names it, and no file is written
    #[arg(value_name = "OUT")]
    #[serde(with = "super::os_path")]
    pub(crate) output: PathBuf,
    /// Write this format, to standard output or to a file with another suffix
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<OutFormat>,
    /// Write a .zt file of this generation (default: 1.2)
    #[arg(long, value_name = "GENERATION")]
    pub(crate) to: Option<To>,
    /// Leave out the bytes that follow the last tensor of a safetensors or GGUF file, which make the file invalid
    #[arg(long)]
    pub(crate) trim: bool,
    /// Replace the file that is at OUT
    #[arg(long)]
    pub(crate) force: bool,
    /// Also list each value of a checkpoint that is left out because it is neither a tensor nor an attribute
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Compress every component of a .zt file, at a level from 1 (fast) to 5 (small)
    #[arg(
        long,
        value_name = "LEVEL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2",
        value_parser = level
    )]
    pub(crate) zstd: Option<u8>,
    /// Give every component of a .zt file this digest (default: sha256, in 2 xxh3)
    #[arg(long, value_name = "ALGORITHM")]
    pub(crate) digest: Option<Digest>,
    /// Write the canonical form of a .zt file, which is unique for each content
    #[arg(long, conflicts_with = "zstd")]
    pub(crate) canonical: bool,
    #[command(flatten)]
    pub(crate) select: Select,
    /// Convert dense f16, bf16, f32 and f64 tensors to this type, rounding once: to the nearest, ties to even.
    /// The type may also have another of its names, in any case: BF16, bfloat16, fp32, half
    #[arg(long, value_name = "DTYPE", value_parser = float)]
    pub(crate) dtype: Option<Float>,
    /// Write the values of quantized tensors and of blocks as dense floats of this type: f32, f16 or bf16 (default: f32)
    #[arg(
        long,
        value_name = "DTYPE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "f32",
        value_parser = dequantized,
        conflicts_with = "canonical"
    )]
    pub(crate) dequantize: Option<Float>,
    /// Write the tensors of codes, of scales and of zero points of quantized tensors as they are. Without this option a .zt
    /// file has one object for each quantized tensor whose form the generation has. --dtype implies it
    #[arg(long, conflicts_with = "dequantize")]
    pub(crate) plain: bool,
    /// Replace a finite number outside the range of the type of --dtype or --dequantize by the nearest number in the range
    /// (default: fail)
    #[arg(long)]
    pub(crate) saturate: bool,
    /// Choose how tensors with the same elements in shared storage are written: each tensor (copy), or the first only, and
    /// the names of the others as attributes (keep-first). Without this option each tensor is written, unless the
    /// output would have more than four times the bytes of the shared storage
    #[arg(long, value_name = "HOW")]
    pub(crate) tied: Option<Tied>,
    /// Set an attribute of the file to a JSON value, or to text if the value is not JSON; may be given more than once
    #[arg(long, value_name = "KEY=VALUE", value_parser = Set::check)]
    pub(crate) set: Vec<String>,
    /// Drop the attributes of the file, and those of dense and sparse tensors; --set adds new attributes
    #[arg(long)]
    pub(crate) drop_attributes: bool,
    /// Write several files, each with at most this many bytes of data (5GB, 512MiB) or with one larger tensor. For an OUT of
    /// model.safetensors the files are model-00001-of-00002.safetensors and so on, and last model.safetensors.index.json;
    /// for model.zt (with --to 2) the shards model-00001.zt and so on, and last model.zt. The files appear one by one
    #[arg(long, value_name = "SIZE", value_parser = shard_size, conflicts_with = "canonical")]
    pub(crate) shard_size: Option<u64>,
    /// Begin the data of a .safetensors file at a multiple of this power of two. The format has no gaps, so tensors whose
    /// lengths are multiples of this number come first, and also begin at multiples of this number
    #[arg(long, value_name = "BYTES", value_parser = align)]
    pub(crate) align: Option<u32>,
    /// Print nothing if OUT is written, except which tensors are left out
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}

/// The options that select and rename the tensors that are written.
#[derive(Debug, Default, clap::Args, Serialize, Deserialize)]
pub(crate) struct Select {
    /// Write only tensors whose names match this pattern: * matches any characters, ? one character, [a-z] one of a set,
    /// {a,b} one of several patterns, and {0..31} a number of a range; may be given more than once
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Vec<String>,
    /// Leave out tensors whose names match this pattern; may be given more than once
    #[arg(long, value_name = "GLOB")]
    pub(crate) except: Vec<String>,
    /// Rename one tensor (OLD=NEW), or replace the match of a regular expression in names (s/^model\.//; a g at the end
    /// replaces all matches in a name); may be given more than once, and is applied in that order
    #[arg(long, value_name = "OLD=NEW", value_parser = Rename::check)]
    pub(crate) rename: Vec<String>,
}

impl Convert {
    /// Returns whether the output goes to standard output.
    pub(crate) fn is_to_stdout(&self) -> bool {
        self.output.as_os_str() == "-"
    }
}

/// An output format of `convert`, named on the command line by its file suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub(crate) enum OutFormat {
    /// zTensor
    Zt,
    /// safetensors
    Safetensors,
    /// An archive of NumPy arrays
    Npz,
    /// One NumPy array
    Npy,
}

/// A floating-point type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Float {
    /// Half precision
    F16,
    /// The first 16 bits of f32
    Bf16,
    /// Single precision
    F32,
    /// Double precision
    F64,
}

impl Float {
    pub(crate) const ALL: [Self; 4] = [Self::F16, Self::Bf16, Self::F32, Self::F64];

    pub(crate) fn dtype(self) -> DType {
        match self {
            Self::F16 => DType::F16,
            Self::Bf16 => DType::BF16,
            Self::F32 => DType::F32,
            Self::F64 => DType::F64,
        }
    }
}

/// How tensors with the same elements in shared storage are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub(crate) enum Tied {
    /// Write each tensor
    Copy,
    /// Write only the first tensor, and for each other tensor an attribute with the name of the first
    KeepFirst,
}

/// A digest algorithm for the components of a zTensor file, by its name in such files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub(crate) enum Digest {
    /// SHA-256
    Sha256,
    /// CRC-32C, which detects accidental changes only; in 1.2
    Crc32c,
    /// XXH3-64, which detects accidental changes only; in 2
    Xxh3,
    /// Write the components without digests
    None,
}

/// A generation of zTensor that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub(crate) enum To {
    /// Read by releases of `ztensor` before 2.0
    #[value(name = "1.2")]
    V1_2,
    /// Draft 4, read by releases of `ztensor` from 2.0 on
    #[value(name = "2")]
    V2,
}

/// Returns the arguments of the command, with `--zstd 3` rewritten as `--zstd=3`, and `--dequantize f16` as `--dequantize=f16`.
/// These values are optional, so clap takes them only after `=`, and the next argument is a value only if it is a number up to 255
/// or a floating-point type.
pub(crate) fn arguments() -> impl Iterator<Item = OsString> {
    let mut given = std::env::args_os().peekable();
    std::iter::from_fn(move || {
        let argument = given.next()?;
        let is_value = |next: &str| match argument.to_str() {
            Some("--zstd") => next.parse::<u8>().is_ok(),
            Some("--dequantize") => float(next).is_ok(),
            _ => false,
        };
        match given.next_if(|next| next.to_str().is_some_and(is_value)) {
            Some(value) => {
                let mut joined = argument;
                joined.push("=");
                joined.push(value);
                Some(joined)
            }
            None => Some(argument),
        }
    })
}

/// Parses the value of `--shard-size`: a number of bytes above 0.
fn shard_size(text: &str) -> Result<u64, String> {
    match size::parse(text)? {
        0 => Err("expected a number of bytes above 0".to_owned()),
        size => Ok(size),
    }
}

/// Parses the value of `--dtype`: a floating-point type under any of its names.
fn float(text: &str) -> Result<Float, String> {
    let dtype = dtype::parse(text)
        .and_then(|name| Float::ALL.into_iter().find(|own| own.dtype().name() == name));
    dtype.ok_or_else(|| "expected f16, bf16, f32 or f64".to_owned())
}

/// Parses the value of `--dequantize`: f32, f16 or bf16, under any of its names.
fn dequantized(text: &str) -> Result<Float, String> {
    let dtype = float(text).ok().filter(|dtype| *dtype != Float::F64);
    dtype.ok_or_else(|| "expected f32, f16 or bf16".to_owned())
}

/// Parses the value of `--align`: a power of two up to [`ALIGN`].
fn align(text: &str) -> Result<u32, String> {
    let align = text.parse::<u32>().ok();
    let align = align.filter(|align| align.is_power_of_two() && *align <= ALIGN);
    align.ok_or_else(|| format!("expected a power of two up to {ALIGN}"))
}

/// The largest alignment in bytes that `--align` accepts: the size of a huge page.
const ALIGN: u32 = 2 << 20;

/// Parses the value of `--zstd`: a compression level from 1 to 5.
fn level(text: &str) -> Result<u8, String> {
    let level = text.parse().ok().filter(|level| Level::new(*level).is_ok());
    level.ok_or_else(|| "compression level must be between 1 and 5".to_owned())
}

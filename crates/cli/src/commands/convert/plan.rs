//! The plan of a conversion, from the command line.

use std::time::Instant;

use zten::Generation;
use zten::attributes::Attributes;
use zten::formats::write::WrittenFormat;
use zten::write::{Checksum, Encoded, Level, WriteOptions};

use super::left_out::LeftOut;
use super::select::Selection;
use super::sharded;
use super::shared::Shared;
use crate::args::attributes::{changed, with_texts};
use crate::args::{Convert, Digest, OutFormat, Tied, To};
use crate::input::file::{FileWithShards, TensorFile};
use crate::output::report::Problem;

/// The format, generation, compression and shard size that a conversion writes.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) target: WrittenFormat,
    /// The generation that is written if the output is a zTensor file.
    pub(super) generation: Generation,
    pub(super) options: WriteOptions,
    pub(super) level: Option<Level>,
    /// The largest number of data bytes of each output file (`--shard-size`), or `None` for a single file.
    pub(super) shard_size: Option<u64>,
    pub(super) begun: Instant,
}

/// The objects that are written and that are left out, and the attributes of the new file.
pub(super) struct Selected {
    pub(super) selection: Selection,
    /// The storage that the selected objects share or repeat.
    pub(super) shared: Shared,
    /// The attributes of the new file, or `None` if it keeps those of the input.
    pub(super) attributes: Option<Encoded>,
    pub(super) left_out: LeftOut,
}

/// Returns the format of OUT: that of its suffix, or the one that `--format` names. Standard output with `--to` gets a zTensor
/// file. Returns a message if the suffix and `--format` name two formats, or neither names one.
fn target(args: &Convert) -> Result<WrittenFormat, &'static str> {
    let asked = args.format.map(|format| match format {
        OutFormat::Zt => WrittenFormat::ZTensor,
        OutFormat::Safetensors => WrittenFormat::Safetensors,
        OutFormat::Npz => WrittenFormat::Npz,
        OutFormat::Npy => WrittenFormat::Npy,
    });
    match (WrittenFormat::from_path(&args.output), asked) {
        (Some(own), Some(asked)) if own != asked => {
            Err("--format names another format than the suffix of OUT")
        }
        (Some(format), _) | (None, Some(format)) => Ok(format),
        // `--to` names a generation, and only `.zt` files have generations.
        (None, None) if args.is_to_stdout() && args.to.is_some() => Ok(WrittenFormat::ZTensor),
        (None, None) if args.is_to_stdout() => {
            Err("standard output has no suffix: choose a format with --format")
        }
        (None, None) => Err(
            "unknown format of OUT: expected a name that ends in .zt, .safetensors, .npz or .npy, or --format",
        ),
    }
}

impl Plan {
    /// Returns the plan that the arguments ask for, or a message if the format of OUT is unknown, options contradict each other or
    /// do not fit the format, or the names of shards cannot be made from OUT.
    pub(super) fn new(args: &Convert) -> Result<Self, &'static str> {
        let target = target(args)?;
        let asks = args.canonical || args.zstd.is_some();
        if target != WrittenFormat::ZTensor && (asks || args.digest.is_some() || args.to.is_some())
        {
            return Err("--to, --zstd, --digest and --canonical are for an OUT that ends in .zt");
        }
        if args.align.is_some() && target != WrittenFormat::Safetensors {
            return Err("--align is for an OUT that ends in .safetensors");
        }
        let lists = matches!(target, WrittenFormat::ZTensor | WrittenFormat::Safetensors);
        if args.tied == Some(Tied::KeepFirst) && !lists {
            return Err("--tied keep-first is for an OUT that ends in .safetensors or .zt");
        }
        if args.saturate && args.dtype.is_none() && args.dequantize.is_none() {
            return Err("--saturate requires --dtype or --dequantize");
        }
        let shard_size = args.shard_size;
        if shard_size.is_some() && args.is_to_stdout() {
            return Err("--shard-size writes several files, so OUT cannot be standard output");
        }
        // The names of the shards are made from the suffix of OUT, so `--format` cannot take its place.
        match WrittenFormat::from_path(&args.output) {
            _ if shard_size.is_none() => {}
            Some(WrittenFormat::ZTensor) if args.dequantize.is_some() => {
                return Err(
                    "--dequantize and --shard-size together require an OUT that ends in .safetensors",
                );
            }
            Some(WrittenFormat::ZTensor) if args.to == Some(To::V2) => {}
            Some(WrittenFormat::ZTensor) => {
                return Err(
                    "--shard-size for an OUT that ends in .zt requires --to 2: files of 1.2 have no shards",
                );
            }
            Some(WrittenFormat::Safetensors) => {}
            _ => return Err("--shard-size requires an OUT that ends in .safetensors or .zt"),
        }
        if shard_size.is_some() {
            sharded::check_names(args)?;
        }
        let to = args.to.unwrap_or(To::V1_2);
        let generation = match to {
            To::V1_2 => Generation::V1_2,
            To::V2 => Generation::V2,
        };
        let limits = *args.strictness.options().limit();
        let options = WriteOptions::default().generation(generation).limits(limits);
        let options = match args.digest.map(|digest| checksum(digest, to, args.canonical)) {
            Some(checksum) => options.checksum(checksum?),
            None => options,
        };
        let options = if args.canonical { options.canonical() } else { options };
        Ok(Self {
            target,
            generation,
            options,
            level: args.zstd.and_then(|level| Level::new(level).ok()),
            shard_size,
            begun: Instant::now(),
        })
    }

    /// Returns whether the output stores tensors with equal bytes once, as zTensor files of generation 2 do.
    pub(super) fn stores_once(&self) -> bool {
        self.target == WrittenFormat::ZTensor && self.generation == Generation::V2
    }

    /// Returns the selection of objects to write, without the tensors that are left out. With `--tied keep-first`, a tensor with
    /// the elements of an earlier tensor is not in the selection, and becomes an attribute.
    pub(super) fn select(
        &self,
        args: &Convert,
        archive: &FileWithShards,
    ) -> Result<Selected, Box<Problem>> {
        let usage = |sentence: String| Box::new(Problem::inexpressible(&args.input, &sentence));
        let mut selection = Selection::new(&args.select, archive).map_err(usage)?;
        let left_out = LeftOut::find(self.target, archive, &mut selection).map_err(usage)?;
        left_out.check(args, archive, &selection)?;
        let (shared, attributes) = self.share(args, archive, &mut selection).map_err(usage)?;
        Ok(Selected { selection, shared, attributes, left_out })
    }

    /// Returns the storage that the objects of `selection` share, and the attributes of the new file (`None` if it keeps those of
    /// the input). With `--tied keep-first`, removes the repeated tensors from `selection`, and adds attributes with their names.
    /// Returns a message if memory runs out, or the shared storage would be written too often.
    fn share(
        &self,
        args: &Convert,
        archive: &FileWithShards,
        selection: &mut Selection,
    ) -> Result<(Shared, Option<Encoded>), String> {
        let mut shared = Shared::find(archive, selection)?;
        let mut attributes = Self::attributes(args, archive)?;
        if args.tied == Some(Tied::KeepFirst) && !shared.ties.is_empty() {
            let name = |ordinal| {
                let own = || archive.manifest().tensor_at(ordinal).map(|own| own.name());
                selection.new_name(ordinal).or_else(own).unwrap_or_default()
            };
            let ties = shared.ties.iter().map(|(own, kept)| (name(*own), name(*kept)));
            let old = attributes.as_ref().map_or_else(|| archive.attributes(), Encoded::entries);
            let with = with_texts(&old, ties)?;
            attributes = Some(with);
            selection.leave_out(archive, &shared.ties)?;
            shared = Shared::find(archive, selection)?;
        }
        shared.check(args, self.stores_once())?;
        Ok((shared, attributes))
    }

    /// Returns the attributes of the new file as `--set` and `--drop-attributes` change them, or `None` if they stay as
    /// they are.
    pub(super) fn attributes(
        args: &Convert,
        archive: &TensorFile,
    ) -> Result<Option<Encoded>, String> {
        if args.set.is_empty() && !args.drop_attributes {
            return Ok(None);
        }
        let old = if args.drop_attributes { Attributes::default() } else { archive.attributes() };
        changed(&old, &args.set, &[]).map(Some)
    }
}

/// Returns the algorithm of `digest`, or a message if generation `to` or the canonical form does not allow it.
fn checksum(digest: Digest, to: To, canonical: bool) -> Result<Checksum, &'static str> {
    let own = match to {
        To::V1_2 => Digest::Sha256,
        To::V2 => Digest::Xxh3,
    };
    if canonical && digest != own {
        return Err(
            "a canonical file has sha256 digests in 1.2, and xxh3 digests in 2: --canonical takes no other --digest",
        );
    }
    match (digest, to) {
        (Digest::Sha256, _) => Ok(Checksum::Sha256),
        (Digest::None, _) => Ok(Checksum::None),
        (Digest::Crc32c, To::V1_2) => Ok(Checksum::Crc32c),
        (Digest::Xxh3, To::V2) => Ok(Checksum::Xxh3),
        (Digest::Crc32c, To::V2) => Err("crc32c is a digest of 1.2: --to 2 has sha256 and xxh3"),
        (Digest::Xxh3, To::V1_2) => Err("xxh3 is a digest of 2: 1.2 has sha256 and crc32c"),
    }
}

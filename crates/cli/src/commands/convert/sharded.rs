//! Output to several files: safetensors files and their index (`*.index.json`), or the shards of a zTensor file and their root.
//!
//! The files are written one after another, and get their names when all are complete. The index or root, which names the
//! other files, gets its name last. The files do not appear at one instant, but until the index or root appears, no file
//! refers to them.

use std::cell::Cell;
use std::cmp::Ordering;
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::PathBuf;

use zten::attributes::Attributes;
use zten::formats::write::{
    self, Array, ArrayList, ArraySource, ChunkFn, Inexpressible, WrittenFormat,
};
use zten::shards::Source as Bytes;
use zten::shards::{NAME, Sibling};
use zten::write::{Copier, Encoded, ShardWriter, Sink, WriteOptions, Writer};
use zten::{Error, Tensor};

use super::failure::ConvertFailure;
use super::plan::Plan;
use super::summary::{Summary, input};
use super::{Counted, Written, export, tensors};
use crate::args::Convert;
use crate::commands::Create;
use crate::input::file::FileWithShards;
use crate::output::report::Problem;

/// The output files: how to create them, and the number and total length of the files that are complete.
pub(super) struct Files<'c> {
    pub(super) create: &'c dyn Create,
    pub(super) count: Cell<u32>,
    pub(super) bytes: Cell<u64>,
}

impl Files<'_> {
    /// Creates the next output file of a set with `shards` shards (0 for a single file).
    pub(super) fn create(&self, shards: u32) -> io::Result<Counted> {
        self.create.create(self.count.get(), shards).map(Counted::new)
    }

    /// Flushes the complete file `out`, and counts it.
    pub(super) fn finish(&self, mut out: Counted) -> io::Result<()> {
        out.flush()?;
        self.count.set(self.count.get().saturating_add(1));
        self.bytes.set(self.bytes.get().saturating_add(out.length));
        Ok(())
    }
}

/// Converts `archive` to several output files of limited size (`--shard-size`), or to one if all tensors fit in it. A larger tensor
/// gets a file of its own.
pub(super) fn convert(
    args: &Convert,
    archive: &FileWithShards,
    plan: &Plan,
    create: &dyn Create,
) -> Result<Summary, Box<Problem>> {
    let files = Files { create, count: Cell::new(0), bytes: Cell::new(0) };
    let Written { objects, mut notes, left_out } = match plan.target {
        WrittenFormat::ZTensor => tensors::convert_sharded(args, archive, plan, &files)?,
        _ => export::archive_sharded(args, archive, plan, &files)?,
    };
    super::add_left_out(&mut notes, args, archive);
    let (output, files) = (files.bytes.get(), files.count.get());
    Ok(Summary { objects, input: input(archive), output, files, notes, left_out })
}

/// Returns the path of output file `number` (from 0) of a set with `shards` shards. Number `shards` is the index or root. A
/// single file (0 of 0) has the path OUT. Returns `None` if the set has no such file.
pub(crate) fn shard_name(args: &Convert, number: u32, shards: u32) -> Option<PathBuf> {
    let out = &args.output;
    if shards == 0 || args.shard_size.is_none() {
        return (number == 0 && shards == 0).then(|| out.clone());
    }
    let (stem, name) = (out.file_stem()?.to_str()?, out.file_name()?.to_str()?);
    let (is_tensors, next) =
        (WrittenFormat::from_path(out)? == WrittenFormat::ZTensor, number.checked_add(1)?);
    Some(out.with_file_name(match (is_tensors, number.cmp(&shards)) {
        (_, Ordering::Greater) => return None,
        (true, Ordering::Equal) => name.to_owned(),
        (false, Ordering::Equal) => format!("{name}.index.json"),
        (true, Ordering::Less) => format!("{stem}-{}.zt", number_name(next)),
        (false, Ordering::Less) => format!("{stem}-{next:05}-of-{shards:05}.safetensors"),
    }))
}

/// Checks, before the first file is created, that readers accept the names that shards and index get from OUT.
pub(super) fn check_names(args: &Convert) -> Result<(), &'static str> {
    // The name of the last shard is the longest, when there are as many shards as the limit allows.
    let most = args.strictness.options().limit().shards().max(1);
    let name = |number| {
        let path = shard_name(args, number, most)?;
        Some(path.file_name()?.to_str()?.to_owned()).filter(|name| name.len() <= NAME)
    };
    let (Some(shard), Some(_)) = (name(most.saturating_sub(1)), name(most)) else {
        return Err(
            "--shard-size requires an OUT whose name is UTF-8, and so short that the number of a shard can be added to it",
        );
    };
    let is_tensors = WrittenFormat::from_path(&args.output) == Some(WrittenFormat::ZTensor);
    if !is_tensors && Sibling::new(&shard).is_none() {
        return Err(
            "--shard-size requires an OUT whose name has no colon, backslash or control character, which no index accepts in the names of files",
        );
    }
    Ok(())
}

/// Returns the name by which a zTensor file refers to shard `number`.
fn number_name(number: u32) -> String {
    format!("{number:05}")
}

/// Divides a list of lengths into consecutive groups of at most `most` bytes. A length above `most` is a group by itself.
pub(super) fn groups(lengths: impl Iterator<Item = u64>, most: u64) -> Vec<Range<usize>> {
    let (mut groups, mut bytes) = (Vec::<Range<usize>>::new(), 0_u64);
    for (at, length) in lengths.enumerate() {
        bytes = bytes.saturating_add(length);
        match groups.last_mut() {
            Some(last) if bytes <= most => last.end = at.saturating_add(1),
            _ => {
                groups.push(at..at.saturating_add(1));
                bytes = length;
            }
        }
    }
    groups
}

/// Checks that `count` shards are within the limit on shards.
pub(super) fn check_count(args: &Convert, count: usize) -> Result<u32, String> {
    let most = args.strictness.options().limit().shards();
    if let Some(count) = u32::try_from(count).ok().filter(|count| *count <= most) {
        return Ok(count);
    }
    Err(format!(
        "the output would have {count} shards, which exceeds the maximum of {most}; --limit shards={count} allows them, and a larger --shard-size makes fewer"
    ))
}

/// A source of the arrays that are written.
type Arrays<'a> = dyn ArraySource<Error = Box<Problem>> + 'a;

/// A range of consecutive arrays of a source.
struct SourceRange<'s> {
    source: &'s mut Arrays<'s>,
    range: Range<usize>,
}

impl SourceRange<'_> {
    fn at(&self, at: usize) -> usize {
        self.range.start.saturating_add(at)
    }
}

impl ArrayList for SourceRange<'_> {
    fn count(&self) -> usize {
        self.range.len()
    }

    fn name(&self, at: usize) -> &str {
        self.source.name(self.at(at))
    }

    fn array(&self, at: usize) -> Result<Array, String> {
        self.source.array(self.at(at))
    }

    fn attributes(&self) -> Attributes<'_> {
        self.source.attributes()
    }
}

impl ArraySource for SourceRange<'_> {
    type Error = Box<Problem>;

    fn read(&mut self, at: usize, take: &mut ChunkFn<'_>) -> Result<(), ConvertFailure> {
        self.source.read(self.at(at), take)
    }
}

/// Writes several safetensors files and their index, or one file if the arrays fit it.
pub(super) fn safetensors(
    args: &Convert,
    source: &mut Arrays<'_>,
    files: &Files<'_>,
) -> Result<(), ConvertFailure> {
    let settings = export::settings(args);
    let mut lengths = Vec::new();
    for at in 0..source.count() {
        let array = source.array(at).map_err(|why| Inexpressible::tensor(source.name(at), why))?;
        lengths.push(array.bytes());
    }
    let groups = groups(lengths.iter().copied(), args.shard_size.unwrap_or(u64::MAX));
    if groups.len() <= 1 {
        let mut out = files.create(0)?;
        write::write(WrittenFormat::Safetensors, source, &mut out, settings)?;
        return Ok(files.finish(out)?);
    }
    let shards = check_count(args, groups.len()).map_err(|why| {
        ConvertFailure::Source(Box::new(Problem::inexpressible(&args.input, &why)))
    })?;
    for range in &groups {
        let mut out = files.create(shards)?;
        let mut part = SourceRange { source, range: range.clone() };
        write::write(WrittenFormat::Safetensors, &mut part, &mut out, settings)?;
        files.finish(out)?;
    }
    let mut out = files.create(shards)?;
    let total = lengths.into_iter().fold(0, u64::saturating_add);
    write!(out, r#"{{"metadata":{{"total_size":{total}}},"weight_map":"#)?;
    let mut separator = "{";
    for (range, number) in groups.iter().zip(0..) {
        let path = shard_name(args, number, shards).unwrap_or_default();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        for ordinal in range.clone() {
            write!(out, "{separator}{}:{}", json(source.name(ordinal)), json(&name))?;
            separator = ",";
        }
    }
    writeln!(out, "}}}}")?;
    Ok(files.finish(out)?)
}

fn json(text: &str) -> serde_json::Value {
    text.into()
}

/// The output of a writer: the file of a shard, or the root, which is held in memory, because it is small and is written last.
enum Out {
    Shard(Counted),
    Root(Vec<u8>),
}

impl Sink for Out {
    type Output = Self;

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match self {
            Self::Shard(out) => out.write_all(bytes).map_err(Error::from_write),
            Self::Root(out) => Sink::write(out, bytes),
        }
    }

    fn finish(self) -> Result<Self, Error> {
        Ok(self)
    }
}

/// The objects of a sharded zTensor file: each group of them is written to one shard. The root gets the attributes.
pub(super) struct Shards<'s> {
    pub(super) objects: &'s [Tensor<'s>],
    pub(super) groups: &'s [Range<usize>],
    pub(super) attributes: &'s Encoded,
    pub(super) options: &'s WriteOptions,
    pub(super) source: &'s dyn Bytes,
}

impl Shards<'_> {
    /// Writes `shards` shards, and then the root, the file that refers to the shards.
    pub(super) fn write(
        &self,
        mut copier: Copier<'_>,
        shards: u32,
        files: &Files<'_>,
    ) -> Result<(), Error> {
        let mut writer = Writer::new(Out::Root(Vec::new()), self.options)?;
        if self.attributes.entries().next().is_some() {
            writer.attributes_encoded(self.attributes)?;
        }
        for (group, number) in self.groups.iter().zip(1..) {
            let (name, out) =
                (number_name(number), files.create(shards).map_err(Error::from_write)?);
            let mut shard = ShardWriter::new(Out::Shard(out), self.options)?;
            for object in self.objects.get(group.clone()).unwrap_or_default() {
                let object = object.read_from(self.source);
                copier.object(&object, &mut writer, Some((&name, &mut shard)))?;
            }
            let (out, record) = shard.finish()?;
            if let Out::Shard(out) = out {
                files.finish(out).map_err(Error::from_write)?;
            }
            writer.shard(&name, &record)?;
        }
        let Out::Root(bytes) = writer.finish()? else { return Ok(()) };
        let root = files.create(shards).and_then(|mut root| {
            root.write_all(&bytes)?;
            files.finish(root)
        });
        root.map_err(Error::from_write)
    }
}

#[cfg(test)]
mod tests {
    use super::groups;

    #[test]
    fn groups_are_filled_up_to_the_limit() {
        for (lengths, ends) in [
            (&[][..], &[][..]),
            (&[11], &[1]),
            (&[4, 6, 1], &[2, 3]),
            (&[11, 1, 12, 0, 1], &[1, 2, 3, 5]),
            (&[0, 0, 10, 0], &[4]),
            (&[u64::MAX, u64::MAX], &[1, 2]),
        ] {
            let groups = groups(lengths.iter().copied(), 10);
            assert!(groups.iter().map(|group| group.end).eq(ends.iter().copied()), "{groups:?}");
            assert!(groups.windows(2).all(|two| two[0].end == two[1].start), "{groups:?}");
        }
    }
}

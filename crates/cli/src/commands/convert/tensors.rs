//! Writes files of any supported format as zTensor files.

use std::cell::Cell;
use std::io::{self, Write};

use zten::conventions::Composites;
use zten::formats::{find_without_profile, profile};
use zten::verify::Verifier;
use zten::write::{
    Change, Conversion, Copier, Encoded, IoSink, Level, NewComponent, NewObject, Sink,
    WriteOptions, Writer,
};
use zten::{Component, Error, ErrorKind, Generation, Layout, Tensor};

use super::Written;
use super::cast::{Beyond, Cast, overflow};
use super::composites;
use super::dequantized::Dequantized;
use super::plan::{Plan, Selected};
use super::select::Selection;
use super::sharded::{Files, Shards, check_count, groups};
use crate::args::attributes::changed;
use crate::args::{Convert, Float};
use crate::escape;
use crate::input::file::{FileWithShards, stored};
use crate::input::sources::Sources;
use crate::output::progress::Progress;
use crate::output::report::Problem;

/// Writes the selected objects of `archive` to `out` as one zTensor file.
pub(super) fn convert(
    args: &Convert,
    archive: &FileWithShards,
    out: impl Write,
    plan: &Plan,
) -> Result<Written, Box<Problem>> {
    with_copier(args, archive, plan, |mut copier, job| {
        let (manifest, files) = (archive.manifest(), job.files.all());
        let Some(to) = args.dequantize else {
            return copier.file(manifest, &files, IoSink(out), &job.options).map(drop);
        };
        let mut writer = Writer::new(IoSink(out), &job.options)?;
        let own = changed(&archive.attributes(), &[], &[])
            .map_err(|why| Error::from_write(io::Error::other(why)))?;
        let attributes = job.attributes.unwrap_or(&own);
        if attributes.entries().next().is_some() {
            writer.attributes_encoded(attributes)?;
        }
        let written = |at| manifest.tensor_at(job.selection.ordinal(at));
        for object in (0..job.selection.len(archive)).filter_map(written) {
            let object = object.read_from(&files);
            if object.is_quantized() {
                let name = job.selection.new_name(object.ordinal()).unwrap_or(object.name());
                let form = (to, args.saturate, plan.level);
                dequantize(&object, name, form, archive.verifier(), &mut writer)?;
            } else {
                copier.object(&object, &mut writer, None)?;
            }
        }
        writer.finish().map(drop)
    })
}

/// Writes the values of the quantized `object` as a dense object called `name`.
fn dequantize<S: Sink>(
    object: &Tensor<'_>,
    name: &str,
    (to, saturates, level): (Float, bool, Option<Level>),
    mut verifier: Verifier,
    writer: &mut Writer<S>,
) -> Result<(), Error> {
    let (overflow_at, shape) = (Cell::new(None), object.shape().to_vec());
    let other = |why: String| Error::from_write(io::Error::other(why));
    let elements = object.element_count().unwrap_or(u64::MAX);
    let component = NewComponent::new("data", to.dtype(), elements);
    let component = [level.map_or(component, |level| component.compressed(level))];
    let mut out = writer.object(&NewObject::custom(name, &shape, "dense", &component))?;
    let mut take = |bytes: &[u8]| out.write_part("data", bytes).map_err(io::Error::from);
    let beyond = Beyond { saturates, value: &overflow_at };
    let written = Dequantized { to, beyond }.read(&mut verifier, object, &mut take);
    if let Some(value) = overflow_at.get() {
        let name = escape::quoted(object.name());
        return Err(other(format!("{} in {name}", overflow(value, to.dtype()))));
    }
    written?.map_err(Error::from_write)?;
    out.finish()
}

/// Writes the selected objects of `archive` as a root and its shards, or as one file if they fit one shard.
pub(super) fn convert_sharded(
    args: &Convert,
    archive: &FileWithShards,
    plan: &Plan,
    out: &Files<'_>,
) -> Result<Written, Box<Problem>> {
    with_copier(args, archive, plan, |copier, job| {
        let written = |at| archive.manifest().tensor_at(job.selection.ordinal(at));
        let objects = (0..job.selection.len(archive)).filter_map(written);
        let objects: Vec<_> =
            objects.filter(|object| !job.composites.objects().follows(object.ordinal())).collect();
        let length = |own: &Tensor<'_>| {
            job.composites
                .objects()
                .bytes(own.ordinal())
                .unwrap_or_else(|| decoded(own, args.dtype))
        };
        let groups = groups(objects.iter().map(length), plan.shard_size.unwrap_or(u64::MAX));
        let other = |why| Error::from_write(io::Error::other(why));
        let shards = check_count(args, groups.len()).map_err(other)?;
        let source = &job.files.all();
        if groups.len() <= 1 {
            let file = IoSink(out.create(0).map_err(Error::from_write)?);
            let file = copier.file(archive.manifest(), source, file, &job.options)?;
            return out.finish(file).map_err(Error::from_write);
        }
        let own = changed(&archive.attributes(), &[], &[]).map_err(other)?;
        let attributes = job.attributes.unwrap_or(&own);
        let (objects, groups, options) = (&objects, &groups, &job.options);
        Shards { objects, groups, attributes, options, source }.write(copier, shards, out)
    })
}

/// Returns the number of decoded bytes of `object` after its floats are converted to `to`. A component whose decoded length
/// is not known counts with its stored length.
fn decoded(object: &Tensor<'_>, to: Option<Float>) -> u64 {
    let bytes = |own: Component<'_>| own.decoded_length().unwrap_or(own.extent().length());
    let bytes = object.components().map(bytes).fold(0, u64::saturating_add);
    let [Some(from), Some(to)] = [Float::of(object), to].map(|own| own?.dtype().bits()) else {
        return bytes;
    };
    bytes.saturating_mul(to.into()).checked_div(from.into()).unwrap_or(bytes)
}

/// The inputs of a copy: options, selected objects, new attributes and open files.
struct Job<'j> {
    options: WriteOptions,
    selection: &'j Selection,
    composites: &'j Composites,
    attributes: Option<&'j Encoded>,
    files: &'j Sources<'j>,
}

/// Calls `copy` with a copier of the selected objects of `archive`, which applies all options of `args`, and returns the number
/// of objects and the notes.
fn with_copier(
    args: &Convert,
    archive: &FileWithShards,
    plan: &Plan,
    copy: impl FnOnce(Copier<'_>, &Job<'_>) -> Result<(), Error>,
) -> Result<Written, Box<Problem>> {
    let manifest = archive.manifest();
    let Selected { selection, shared, attributes, left_out } = plan.select(args, archive)?;
    let is_selected = |object: &Tensor<'_>| selection.holds(object.ordinal());
    let keeps_layout = |object: &Tensor<'_>| {
        is_selected(object) && (args.dequantize.is_none() || !object.is_quantized())
    };
    if plan.generation == Generation::V2
        && let Some(finding) = find_without_profile(manifest.tensors().filter(keeps_layout))
    {
        return Err(Box::new(Problem::found(&args.input, finding)));
    }
    let failed = |error| Box::new(Problem::reading(&args.input, archive, &error));
    let composites =
        composites::find(args, archive, plan.generation, &selection).map_err(failed)?;
    let progress = Progress::new(stored(manifest));
    let mut files = Sources::bind(archive, &progress).map_err(failed)?;
    files.require().map_err(failed)?;
    let out_of_range = Cell::new(None);
    let beyond = Beyond { saturates: args.saturate, value: &out_of_range };
    let casts = args.dtype.map(|to| Cast::all(to, beyond));
    let conversions = casts.as_ref().map(|casts| {
        casts
            .each_ref()
            .map(|cast| move |chunk: &[u8], take: &mut ChunkFn<'_>| cast.chunk(chunk, take))
    });
    let changes = |object: &Tensor<'_>| {
        let conversion = || -> Option<(_, &Conversion<'_>)> {
            let at = Cast::of(object, casts.as_ref()?)?;
            Some((args.dtype?.dtype(), conversions.as_ref()?.get(at)?))
        };
        is_selected(object).then(|| Change {
            name: selection.new_name(object.ordinal()),
            drops_attributes: args.drop_attributes && drops(object),
            elements: conversion(),
            content: None,
        })
    };
    let copier = Copier::new(manifest).with_shard_bytes(archive.shard_bytes()).changes(&changes);
    let copier = copier.joined(composites.objects());
    let copier = match plan.level {
        Some(level) => copier.compressed(level),
        None => copier,
    };
    let copier = match plan.generation {
        Generation::V2 => copier.layouts(profile),
        _ => copier,
    };
    let copier = match &attributes {
        Some(attributes) => copier.attributes(attributes),
        None => copier,
    };
    let is_shared = plan.stores_once() && !shared.ties.is_empty();
    let options = if is_shared { plan.options.sharing() } else { plan.options };
    let job = Job {
        options,
        selection: &selection,
        composites: &composites,
        attributes: attributes.as_ref(),
        files: &files,
    };
    copy(copier, &job).map_err(|error| {
        match (error.kind(), out_of_range.get().zip(args.dtype)) {
            (_, Some((value, to))) => {
                let object = error.location().object().and_then(|at| manifest.tensor_at(at));
                let sentence = overflow(value, to.dtype());
                let object = object.as_ref().map(Tensor::name);
                Box::new(Problem::unwritable(&args.input, object, &sentence))
            }
            (ErrorKind::Write, _) => Box::new(Problem::io(&args.output, &error.into())),
            _ => failed(files.settle(error)),
        }
    })?;
    let merged = composites.objects().members().saturating_sub(composites.forms().len());
    let mut notes = composites::notes(&composites);
    notes.extend(shared.note(plan.stores_once()));
    Ok(Written { objects: selection.len(archive).saturating_sub(merged), notes, left_out })
}

/// A function that takes converted bytes.
type ChunkFn<'t> = dyn FnMut(&[u8]) -> Result<(), Error> + 't;

/// Returns whether the attributes of `object` may be dropped. Attributes of layouts other than dense and sparse tell how the
/// components are decoded, so they must stay.
pub(super) fn drops(object: &Tensor<'_>) -> bool {
    matches!(object.layout(), Layout::Dense | Layout::SparseCsr | Layout::SparseCoo)
}

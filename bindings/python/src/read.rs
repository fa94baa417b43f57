//! Reading and validating content, without the interpreter's lock.

use std::io;
use std::mem;
use std::num::NonZeroUsize;
use std::ops::Range;

use zten::error::{Misuse, OutOfMemory};
use zten::load::{Loader, Target};
use zten::shards::{ComponentSource, Files, Locate as _};
use zten::source::Content;
use zten::verify::{Summary, Verified, Verifier};
use zten::view::{Decoded, View};
use zten::{Component, Encoding, Error, Format, Object, ReadAt, ReadError};
use zten_formats::Block;

use crate::error::Failure;
use crate::interrupt::Cancel;
use crate::source::Open;

type Reading<T> = Result<T, ReadError<io::Error>>;

/// Validates all of a file.
pub(crate) fn verify(open: &Open, cancel: &Cancel) -> Result<Summary, Failure> {
    let verify = || {
        let (mut shards, whole) = open.verified_shards(cancel)?;
        if let Err(error @ ReadError::Source(_)) = whole {
            return Err(error);
        }
        open.plan_components(open.manifest.objects().flat_map(|object| object.components()))?;
        let mut verifier = Verifier::new(open.all_bytes(), open.limits());
        verifier.file_in(&open.manifest, &open.root(cancel), &mut shards)
    };
    verify().map_err(|error| Failure::reading(&open.manifest, error))
}

/// Validates all of an object.
pub(crate) fn verify_object(open: &Open, ordinal: u32, cancel: &Cancel) -> Result<(), Failure> {
    tapped(open, ordinal, cancel, |_, _| ())
}

/// Validates all of an object. `tap` sees its content.
fn tapped(
    open: &Open,
    ordinal: u32,
    cancel: &Cancel,
    tap: impl FnMut(&Component<'_>, &[u8]),
) -> Result<(), Failure> {
    let verify = || {
        let object = required(open, ordinal)?;
        let components: Vec<_> = object.components().collect();
        let shards = open.shards_for(components.iter().copied(), cancel)?;
        open.plan_components(components)?;
        let files = Files { root: &open.root(cancel), shards: &shards };
        Verifier::new(open.all_bytes(), open.limits()).object(&object, files, tap)
    };
    verify().map_err(|error| Failure::reading(&open.manifest, error))
}

/// Reads and verifies components on several threads, each into a buffer of its decoded length.
pub(crate) fn components(
    open: &Open,
    places: &[(u32, u32)],
    buffers: Vec<&mut [u8]>,
    cancel: &Cancel,
) -> Result<(), Failure> {
    let read = || {
        let mut targets = Vec::new();
        for (place, buffer) in places.iter().zip(buffers) {
            targets.push(Target { component: component(open, *place)?, buffer });
        }
        // What is fetched comes file by file.
        targets.sort_by_key(|target| target.component.shard());
        let shards = open.shards_for(targets.iter().map(|target| target.component), cancel)?;
        open.plan_components(targets.iter().map(|target| target.component))?;
        let files = Files { root: &open.root(cancel), shards: &shards };
        loader(open).read_into(targets.into_iter(), files)
    };
    read().map_err(|error| Failure::reading(&open.manifest, error))
}

/// Threads for a file that is there; what is fetched comes in one order.
fn loader(open: &Open) -> Loader {
    let loader = Loader::new(open.all_bytes(), open.limits());
    if open.is_remote() { loader.threads(NonZeroUsize::MIN) } else { loader }
}

/// What the content of a component goes to.
enum Slot<'b> {
    /// What is left of a buffer.
    Given(&'b mut [u8]),
    /// Memory that grows as bytes come.
    Grown(Vec<u8>),
}

/// Reads and validates an object as a whole. Components without a buffer are returned.
pub(crate) fn object(
    open: &Open,
    ordinal: u32,
    buffers: Vec<Option<&mut [u8]>>,
    cancel: &Cancel,
) -> Result<Vec<Option<Vec<u8>>>, Failure> {
    let slots = buffers.into_iter();
    let mut slots: Vec<_> =
        slots.map(|buffer| buffer.map_or_else(|| Slot::Grown(Vec::new()), Slot::Given)).collect();
    let mut failed = None;
    tapped(open, ordinal, cancel, |component, chunk| {
        let at = component.place().component().and_then(|at| usize::try_from(at).ok());
        let put = match at.and_then(|at| slots.get_mut(at)) {
            Some(Slot::Given(rest)) => {
                let split = mem::take(rest).split_at_mut_checked(chunk.len());
                split.ok_or(Misuse::Buffer.into()).map(|(room, behind)| {
                    room.copy_from_slice(chunk);
                    *rest = behind;
                })
            }
            Some(Slot::Grown(bytes)) => bytes
                .try_reserve(chunk.len())
                .map_err(|_| Error::from(OutOfMemory))
                .map(|()| bytes.extend_from_slice(chunk)),
            None => Err(Misuse::Buffer.into()),
        };
        failed = failed.or(put.err());
    })?;
    if slots.iter().any(|slot| matches!(slot, Slot::Given(rest) if !rest.is_empty())) {
        failed = failed.or(Some(Misuse::Buffer.into()));
    }
    if let Some(error) = failed {
        return Err(Failure::refused(&open.manifest, &error));
    }
    let grown = |slot| match slot {
        Slot::Given(_) => None,
        Slot::Grown(bytes) => Some(bytes),
    };
    Ok(slots.into_iter().map(grown).collect())
}

/// Reads a part of a dense object, and where it is not compressed no other byte. No digest is of a part:
/// only one of what is compressed is verified, as that is read whole.
pub(crate) fn slice(
    open: &Open,
    ordinal: u32,
    ranges: &[Range<u64>],
    buffer: &mut [u8],
    cancel: &Cancel,
) -> Result<(), Failure> {
    with_object(open, ordinal, cancel, |object, source| {
        let dense = object.dense()?;
        let (component, slice) = (dense.component(), dense.slice(ranges)?);
        if component.encoding() == Encoding::Raw {
            let planned = if component.is_column_major() || open.is_compared(&component) {
                // More is read, to be put in order or compared.
                open.plan_components([component])
            } else {
                open.plan(component.shard(), slice.file_ranges()?).map_err(ReadError::Source)
            };
            planned.map_err(ReadError::Source)?;
        }
        slice.read(source, open.limits(), buffer).map(drop)
    })
}

/// Decodes and verifies one component.
pub(crate) fn bytes(open: &Open, place: (u32, u32), cancel: &Cancel) -> Result<Decoded, Failure> {
    let read = || {
        let component = component(open, place)?;
        let shards = open.shards_for([component].into_iter(), cancel)?;
        open.plan_components([component])?;
        let files = Files { root: &open.root(cancel), shards: &shards };
        let decoded = loader(open).decode([component].into_iter(), files)?;
        decoded.into_iter().next().ok_or(Error::from(Misuse::NoObject).into())
    };
    read().map_err(|error| Failure::reading(&open.manifest, error))
}

/// Fills a buffer with the values of a quantized object, in row-major order.
pub(crate) fn dequantize(
    open: &Open,
    ordinal: u32,
    values: &mut [f32],
    cancel: &Cancel,
) -> Result<(), Failure> {
    let limits = open.limits();
    let mut unverifiable = false;
    with_object(open, ordinal, cancel, |object, source| {
        let views = |views: &[Option<&View<'_>>]| {
            let mut views = views.iter().flatten();
            views.any(|view| view.verified() == Some(Verified::Unverifiable))
        };
        if let Some(block) = Block::of_layout(object) {
            let data = object.components().next().ok_or(Error::from(Misuse::NoObject))?;
            let mut content = data.content(source, limits)?;
            dequantize_blocks(block, &mut content, values)?;
            unverifiable = content.verified() == Some(Verified::Unverifiable);
        } else if object.format() == Format::Mx {
            let decoded = object.mx()?.decode(source, limits)?;
            let array = decoded.view();
            unverifiable = views(&[Some(array.data()), Some(array.scales())]);
            array.dequantize(values)?;
        } else {
            let decoded = object.quantized_group()?.decode(source, limits)?;
            let group = decoded.view();
            unverifiable =
                views(&[Some(group.packed_weight()), Some(group.scales()), group.zeros()]);
            group.dequantize(values)?;
        }
        Ok(())
    })?;
    // It says which digest it is.
    if unverifiable { verify_object(open, ordinal, cancel) } else { Ok(()) }
}

/// Fills a buffer with the elements of blocks.
fn dequantize_blocks<R: ReadAt>(
    block: &'static Block,
    content: &mut Content<'_, R>,
    mut values: &mut [f32],
) -> Result<(), ReadError<R::Error>> {
    let mut blocks = block.dequantizer();
    while let Some(chunk) = content.next_chunk()? {
        blocks.chunk(chunk, |some| {
            let split = mem::take(&mut values).split_at_mut_checked(some.len());
            let (room, behind) = split.ok_or(Error::from(Misuse::Buffer))?;
            room.copy_from_slice(some);
            values = behind;
            Ok::<(), ReadError<R::Error>>(())
        })?;
    }
    if values.is_empty() { Ok(()) } else { Err(Error::from(Misuse::Buffer).into()) }
}

/// Reads an object where it lies: in the file, or in the shard that its components are in.
fn with_object(
    open: &Open,
    ordinal: u32,
    cancel: &Cancel,
    read: impl FnOnce(
        &Object<'_>,
        &dyn ReadAt<Error = ReadError<io::Error>>,
    ) -> Result<(), ReadError<ReadError<io::Error>>>,
) -> Result<(), Failure> {
    let read = || {
        let object = required(open, ordinal)?;
        let components: Vec<_> = object.components().collect();
        let shards = open.shards_for(components.iter().copied(), cancel)?;
        let root = open.root(cancel);
        let files = Files { root: &root, shards: &shards };
        let (object, source) = match components.iter().find(|part| part.shard().is_some()) {
            Some(component) => {
                let (component, source) = files.locate(component)?;
                (component.object(), source)
            }
            None => (object, ComponentSource::Root(&root)),
        };
        read(&object, &source).map_err(ReadError::flatten)
    };
    read().map_err(|error| Failure::reading(&open.manifest, error))
}

fn required(open: &Open, ordinal: u32) -> Reading<Object<'_>> {
    open.manifest.object(ordinal).ok_or(Error::from(Misuse::NoObject).into())
}

fn component(open: &Open, (object, component): (u32, u32)) -> Reading<Component<'_>> {
    let found = required(open, object)?.component_at(component);
    found.ok_or(Error::from(Misuse::NoObject).into())
}

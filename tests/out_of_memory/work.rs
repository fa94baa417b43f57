//! All that the library does with a file, each as a function that gives the error it ends in.

use zten::front::{Blobs, Builder, FrontEnd, RawComponent, RawObject, Rules};
use zten::rules::{Row, Scope, Source};
use zten::write::{
    Checksum, Copier, CopyError, Encoded, Level, NewComponent, NewObject, Settings, WriteError,
    Writer,
};
use zten::{
    Archive, Component, Error, Format, Limits, LogicalType, Object, Options, ReadError, StorageType,
};

use zten::{Generation, verify::Verifier, write::ShardWriter};
use zten_testkit::{Shards, check};

/// Something that may be done with a file.
pub(crate) type Work = fn(&[u8], &Options) -> Result<(), Error>;

/// All that may be, and what it is called.
pub(crate) const WORKS: &[(&str, Work)] = &[
    ("open", open),
    ("check", check),
    ("decode", decode),
    ("views", views),
    ("look up", look_up),
    ("copy", |file, options| copy(file, options, &Settings::default(), None)),
    ("copy in canonical form", |file, options| {
        copy(file, options, &Settings::default().canonical(), None)
    }),
    ("copy compressed", |file, options| {
        copy(file, options, &Settings::default().checksum(Checksum::Crc32c), Some(FASTEST))
    }),
    ("copy into 2", |file, options| copy(file, options, &generation_2(), None)),
    ("copy into canonical 2", |file, options| {
        copy(file, options, &generation_2().canonical(), None)
    }),
    ("copy into 2 compressed", |file, options| {
        copy(file, options, &generation_2().checksum(Checksum::Sha256), Some(FASTEST))
    }),
    ("append", append),
    ("front end", front_end),
];

fn generation_2() -> Settings {
    Settings::default().generation(Generation::V2)
}

const FASTEST: u8 = 1;

static ROW: Row = Row {
    id: "front-duplicate-name",
    holds: "No two tensors have one name.",
    broken: "there are two tensors of one name",
    source: Source::Policy("names tell tensors apart"),
    scope: Scope::Other("front"),
    advice: "",
};
static FRONT: FrontEnd = FrontEnd::new(
    "front",
    Blobs::Any,
    Rules { duplicate_name: &ROW, bool_value: None, stream: None },
);

/// Opens a file as a front end of another format would that says the same of it.
fn front_end(file: &[u8], options: &Options) -> Result<(), Error> {
    let archive = Archive::open_with(file, options)?;
    let mut builder = Builder::new(&FRONT, archive.extent(), file.len() as u64, options)?;
    builder.attributes(b"\xa1\x61a\x01")?;
    for object in archive.objects() {
        let (mut components, mut shape) = (Vec::new(), Vec::new());
        reserve(&mut components, object.components().len())?;
        components.extend(object.components().map(|component| {
            let storage = component.storage_type().unwrap_or(StorageType::U8);
            let extent = component.extent();
            RawComponent {
                role: component.role(),
                decoded_length: component.decoded_length(),
                byte_order: component.byte_order(),
                encoding: component.encoding(),
                ..RawComponent::raw(storage, extent.offset(), extent.length())
            }
        }));
        components.sort_unstable_by_key(|component| component.role);
        reserve(&mut shape, object.shape().len())?;
        shape.extend(object.shape());
        let (layout, attributes) = (object.format(), Some(&b"\xa0"[..]));
        let layout_name = Some(object.format_name());
        let raw = RawObject {
            name: object.name(),
            shape: &shape,
            layout,
            layout_name,
            attributes,
            components: &components,
        };
        if builder.push(&raw).is_err() {
            break;
        }
    }
    let archive = Archive::from_front(file, builder.finish()?)?;
    for object in archive.objects() {
        assert_eq!(archive.get(object.name()).map(|found| found.ordinal()), Some(object.ordinal()));
        ignore(view(&object, file, options.limit()))?;
    }
    ignore(archive.verify().map(drop))
}

pub(crate) fn open(file: &[u8], options: &Options) -> Result<(), Error> {
    Archive::open_with(file, options).map(drop)
}

/// Reads every component by itself, whatever the others are.
fn decode(file: &[u8], options: &Options) -> Result<(), Error> {
    let archive = Archive::open_with(file, options)?;
    let parts = archive.objects().flat_map(|object| object.components());
    all(parts.map(|part| decode_one(&part, file, options.limit())))
}

/// The first error, but running out of memory before any other.
fn all(outcomes: impl Iterator<Item = Result<(), Error>>) -> Result<(), Error> {
    let mut first = Ok(());
    for outcome in outcomes {
        ignore(outcome)?;
        first = first.and(outcome);
    }
    first
}

fn decode_one(part: &Component<'_>, file: &[u8], limits: &Limits) -> Result<(), Error> {
    part.read_to_vec(file, limits)?;
    let decoded = part.decode(file, limits)?;
    if decoded.view().storage_type() == StorageType::U8 {
        decoded.view().to_vec::<u8>()?;
        part.read_elements::<u8, _>(file, limits)?;
    }
    Ok(())
}

/// Binds, decodes and looks through every object as what it is.
fn views(file: &[u8], options: &Options) -> Result<(), Error> {
    let archive = Archive::open_with(file, options)?;
    all(archive.objects().map(|object| view(&object, file, options.limit())))
}

fn view(object: &Object<'_>, file: &[u8], limits: &Limits) -> Result<(), Error> {
    let compressed = object.components().any(|part| part.bind(file).is_err());
    match object.format() {
        Format::Dense => {
            let dense = object.dense()?;
            ignore(dense.to_cow::<f32>().map(drop))?;
            if !compressed {
                dense.view()?;
                ignore(dense.rows(0..0).map(drop))?;
                let all = dense.shape().iter().map(|dimension| 0..dimension);
                let mut ranges = Vec::new();
                reserve(&mut ranges, dense.shape().len())?;
                ranges.extend(all);
                ignore(dense.slice(&ranges).map(drop))?;
            }
        }
        Format::SparseCsr => {
            let csr = object.sparse_csr()?;
            csr.decode(file, limits)?.view().has_duplicates()?;
            if !compressed {
                csr.view()?.has_duplicates()?;
            }
        }
        Format::SparseCoo => {
            let coo = object.sparse_coo()?;
            coo.decode(file, limits)?.view().has_duplicates()?;
            if !compressed {
                coo.view()?.has_duplicates()?;
            }
        }
        Format::QuantizedGroup => {
            object.quantized_group()?.decode(file, limits).map(drop).map_err(Error::from)?;
        }
        Format::Mx => {
            let mx = object.mx()?;
            mx.decode(file, limits)?;
            if !compressed {
                mx.view()?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Binds the shards of a file, which are in memory by their names, and validates all of it with them.
pub(crate) fn with_shards(
    file: &[u8],
    beside: &[(String, Vec<u8>)],
    options: &Options,
) -> Result<(), Error> {
    let archive = Archive::open_with(file, options)?;
    let find = Shards(|name: &str| {
        let found = beside.iter().find(|(own, _)| own == name);
        found.map(|(_, file)| (&file[..], file.len()))
    });
    let mut shards = archive.bind_shards(&find, options.limit())?;
    let mut verifier = Verifier::new(file.len() as u64, options.limit());
    verifier.file_in(&archive, file, &mut shards)?;
    Ok(())
}

/// Passes over any error but the one that is tested here.
fn ignore(outcome: Result<(), Error>) -> Result<(), Error> {
    match outcome {
        Err(error) if is_memory(&error) => outcome,
        _ => Ok(()),
    }
}

fn reserve<T>(vec: &mut Vec<T>, count: usize) -> Result<(), Error> {
    vec.try_reserve_exact(count).map_err(|_| zten::error::OutOfMemory.into())
}

/// Whether memory could not be allocated.
pub(crate) fn is_memory(error: &Error) -> bool {
    error.kind() == zten::ErrorKind::OutOfMemory
}

/// Finds every object by its name, and reads every attribute.
fn look_up(file: &[u8], options: &Options) -> Result<(), Error> {
    let archive = Archive::open_with(file, options)?;
    for object in archive.objects() {
        assert_eq!(archive.get(object.name()).map(|found| found.ordinal()), Some(object.ordinal()));
        for (_, item) in object.attributes().into_iter().flatten() {
            // A string in chunks is put together to be compared, if it is not too long.
            item.get::<Any>().map_or_else(|error| ignore(Err(error)), |_| Ok(()))?;
        }
    }
    Ok(())
}

fn copy(
    file: &[u8],
    options: &Options,
    settings: &Settings,
    level: Option<u8>,
) -> Result<(), Error> {
    let archive = Archive::open_with(file, options)?;
    let mut copier = Copier::new(file.len() as u64, options.limit());
    if let Some(level) = level {
        copier = copier.compressed(Level::new(level)?);
    }
    let outcome = copier.file(archive.manifest(), file, Vec::new(), settings);
    outcome.map(drop).map_err(|error| match error {
        CopyError::Read(ReadError::Source(error) | ReadError::Refused(error))
        | CopyError::Write(WriteError::Sink(error) | WriteError::Refused(error)) => error,
        CopyError::Inexpressible(what) => what.error(),
    })
}

fn append(file: &[u8], options: &Options) -> Result<(), Error> {
    let archive = Archive::open_with(file, options)?;
    let mut writer = Writer::append(Vec::new(), archive.manifest(), &Settings::default())?;
    let object = NewObject::dense("a name that is in no file", &[2], StorageType::U8);
    writer.add(&object, &[("data", &[1, 2])])?;
    Ok(writer.finish().map(drop)?)
}

/// Names that are not sorted: they go into a table, which grows.
const NAMES: &str = "zyxwvutsrqponmlkjihgfedcba9876543210ZYXWVUTSRQPONMLKJIHGFEDCBA_-.:";

/// Writes objects of every format, with every kind of checksum, compressed or not.
pub(crate) fn write(checksum: Checksum, level: Option<u8>) -> Result<(), Error> {
    let level = level.map(Level::new).transpose()?;
    let at = |object: NewObject<'static>| match level {
        Some(level) => object.compressed(level),
        None => object,
    };
    let mut writer = Writer::new(Vec::new(), &Settings::default().checksum(checksum))?;
    let attributes = Encoded::from_value(&Attributes { bits: 4, packing: "int32_le" })?;
    writer.attributes(&attributes)?;
    for at in 0..NAMES.len() {
        let name = NAMES.get(at..=at).unwrap_or_default();
        writer.add(&NewObject::dense(name, &[0], StorageType::U8), &[])?;
    }
    let dense = NewObject::dense("dense", &[2, 3], LogicalType::Complex64);
    writer.add(&at(dense).attributes(&attributes), &[("data", &[7; 48])])?;
    let [zero, one] = [[0; 8], [1, 0, 0, 0, 0, 0, 0, 0]];
    let csr = NewObject::sparse_csr("csr", &[1, 9], StorageType::U8, 1);
    let indptr = [zero, one];
    let parts = [("indptr", indptr.as_flattened()), ("values", &[1][..]), ("indices", &one[..])];
    writer.add(&at(csr), &parts)?;
    let coo = NewObject::sparse_coo("coo", &[4, 5], StorageType::I16, 1);
    writer.add(&at(coo), &[("coords", indptr.as_flattened()), ("values", &[1, 0])])?;
    let quantized = [(StorageType::I32, 2), (StorageType::F16, 1), (StorageType::F16, 1)];
    let quantized = NewObject::quantized_group("quantized", &[16, 1], quantized);
    let parts = [("zeros", &[0; 2][..]), ("scales", &[0; 2]), ("packed_weight", &[0; 8])];
    writer.add(&at(quantized), &parts)?;
    let parts = ["b", "a"].map(|role| NewComponent::new(role, StorageType::U8, 1));
    let custom = NewObject::custom("custom", &[6], "mine", &parts);
    writer.add(&custom, &[("b", &[1]), ("a", &[2])])?;
    Ok(writer.finish().map(drop)?)
}

/// Writes a root and shards: those that are there already, and two at once; and appends another.
pub(crate) fn write_shards() -> Result<(), Error> {
    let settings = Settings::default().generation(Generation::V2).sharing();
    let mut alone = ShardWriter::new(Vec::new(), &settings)?;
    alone.write(&[1, 2, 3])?;
    let blob = alone.end_blob()?;
    let (_, record) = alone.finish()?;
    let mut writer = Writer::new(Vec::new(), &settings)?;
    writer.shard("given", &record)?;
    let blob = blob.in_shard("given");
    let part = [NewComponent::new("data", StorageType::U8, 3).stored(&blob)];
    writer.add(&NewObject::custom("z", &[3], "dense", &part), &[])?;
    let begin = || ShardWriter::new(Vec::new(), &settings);
    let mut open = [("b", begin()?), ("a", begin()?)];
    for (name, at) in [("y", 0), ("x", 1), ("w", 0)] {
        let object = NewObject::dense(name, &[5000], StorageType::U8);
        let (shard_name, shard) = &mut open[at];
        let mut out = writer.object_in(shard_name, shard, &object)?;
        out.write("data", &[7; 5000])?;
        out.end()?;
    }
    for (name, shard) in open {
        let (_, record) = shard.finish()?;
        writer.shard(name, &record)?;
    }
    let root = writer.finish()?;
    let archive = Archive::open(&root[..])?;
    let mut writer = Writer::append(Vec::new(), &archive, &settings)?;
    writer.shard("0", &record)?;
    Ok(writer.finish().map(drop)?)
}

/// A type that takes any value, and no memory for it.
struct Any;

impl<'de> serde::Deserialize<'de> for Any {
    fn deserialize<D: serde::Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(value).map(|_| Self)
    }
}

#[derive(serde::Serialize)]
struct Attributes {
    bits: u8,
    packing: &'static str,
}

//! The calls of the library whose allocations the tests let fail, each as a function that returns the error of the
//! call.

use std::path::Path;

use zten::element::StorageType;
use zten::index::{Blobs, Builder, FileFormat, RawComponent, RawObject, Rules};
use zten::rules::{Class, Row, Scope, Source, Texts};
use zten::shards::Files;
use zten::verify::{self, Subject};
use zten::write::{
    Checksum, ComponentData, Copier, Encoded, Level, NewComponent, NewObject, ShardWriter,
    WriteOptions, Writer,
};
use zten::{
    Archive, Component, DType, Element, Error, Generation, InMemory, Layout, OpenOptions, Tensor,
};
use zten_testkit::{Far, Shards, check};

/// A test of reading a file with some options.
pub(crate) type Work = fn(&[u8], &OpenOptions) -> Result<(), Error>;

/// All tests of reading, with their names.
pub(crate) const WORKS: &[(&str, Work)] = &[
    ("open", open),
    ("check", check),
    ("decode", decode),
    ("views", views),
    ("look up", look_up),
    ("copy", |file, options| copy(file, options, &WriteOptions::default(), None)),
    ("copy in canonical form", |file, options| {
        copy(file, options, &WriteOptions::default().canonical(), None)
    }),
    ("copy compressed", |file, options| {
        copy(file, options, &WriteOptions::default().checksum(Checksum::Crc32c), Some(FASTEST))
    }),
    ("copy into 2", |file, options| copy(file, options, &generation_2(), None)),
    ("copy into canonical 2", |file, options| {
        copy(file, options, &generation_2().canonical(), None)
    }),
    ("copy into 2 compressed", |file, options| {
        copy(file, options, &generation_2().checksum(Checksum::Sha256), Some(FASTEST))
    }),
    ("append", append),
    ("builder", builder),
];

fn generation_2() -> WriteOptions {
    WriteOptions::default().generation(Generation::V2)
}

const FASTEST: u8 = 1;

static ROW: Row = Row::new(
    "test-duplicate-name",
    Class::Invalid,
    &Texts {
        holds: "The names of tensors are unique.",
        broken: "duplicate tensor name",
        source: Source::Policy("names tell tensors apart"),
        scope: Scope::Other("test"),
        advice: "",
    },
);
static FRONT: FileFormat = FileFormat::new(
    "test",
    Blobs::Any,
    Rules { duplicate_name: &ROW, bool_value: None, stream: None, pickles: None, quantized: None },
);

/// Opens a file through the builder of the index, as parsers of other formats do.
fn builder(file: &[u8], options: &OpenOptions) -> Result<(), Error> {
    let archive = options.from_bytes(file)?;
    let header = archive.manifest().extent();
    let mut builder = Builder::new(&FRONT, header, file.len() as u64, options)?;
    builder.attributes(b"\xa1\x61a\x01")?;
    for object in archive.tensors() {
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
        let (layout, attributes) = (object.layout(), Some(&b"\xa0"[..]));
        let layout_name = Some(object.layout_name());
        let raw = RawObject {
            name: object.name(),
            shape: &shape,
            layout,
            layout_name,
            attributes,
            components: &components,
            source_offset: 0,
        };
        if builder.push(&raw).is_err() {
            break;
        }
    }
    let archive = Archive::from_parsed(InMemory(file), builder.finish()?);
    for object in archive.tensors() {
        assert_eq!(archive.get(object.name()).map(|found| found.ordinal()), Some(object.ordinal()));
        ignore(view(&object))?;
    }
    ignore(archive.verify().map(drop))
}

pub(crate) fn open(file: &[u8], options: &OpenOptions) -> Result<(), Error> {
    options.from_bytes(file).map(drop)
}

/// Opens the file at `path` with its shards, and reads all tensors if there are shards.
pub(crate) fn open_path(path: &Path, options: &OpenOptions) -> Result<(), Error> {
    let archive = options.open(path)?;
    if archive.manifest().shards().len() == 0 {
        return Ok(());
    }
    all(archive.tensors().map(|tensor| view(&tensor)))
}

/// Reads the components of `file` in order, and returns the first error. Goes on after an error, unless memory ran out: then the
/// function returns this error at once.
fn decode(file: &[u8], options: &OpenOptions) -> Result<(), Error> {
    let archive = options.from_bytes(file)?;
    let parts = archive.tensors().flat_map(|object| object.components());
    all(parts.map(|part| decode_one(&part)))
}

/// Returns the first error of `outcomes`, but an error of running out of memory before any other.
fn all(outcomes: impl Iterator<Item = Result<(), Error>>) -> Result<(), Error> {
    let mut first = Ok(());
    for outcome in outcomes {
        match outcome {
            Err(error) if is_memory(&error) => return Err(error),
            other => first = first.and(other),
        }
    }
    first
}

fn decode_one(part: &Component<'_>) -> Result<(), Error> {
    let decoded = part.read()?;
    if decoded.view().storage_type() == StorageType::U8 {
        decoded.view().to_vec::<u8>()?;
    }
    Ok(())
}

/// Borrows, decodes and examines every object by its layout.
fn views(file: &[u8], options: &OpenOptions) -> Result<(), Error> {
    // `archive` lends its bytes, while `far` does not, so that its components are read and decoded into memory.
    let (archive, far) = (options.from_bytes(file)?, Far(file));
    all(archive.tensors().map(|tensor| {
        view(&tensor)?;
        view(&tensor.read_from(&far))
    }))
}

fn view(tensor: &Tensor<'_>) -> Result<(), Error> {
    match tensor.layout() {
        Layout::Dense => {
            match tensor.dense()?.storage_type() {
                Some(StorageType::F32) => dense::<f32>(tensor)?,
                Some(StorageType::U8) => dense::<u8>(tensor)?,
                _ => {}
            }
            tensor.dense()?.read()?;
        }
        Layout::SparseCsr => {
            tensor.csr()?.has_duplicates()?;
        }
        Layout::SparseCoo => {
            tensor.coo()?.has_duplicates()?;
        }
        Layout::QuantizedGroup => {
            tensor.quantized()?;
        }
        Layout::Mx => {
            tensor.mx()?;
        }
        _ => {}
    }
    Ok(())
}

/// Reads all elements of a dense object, and a slice of it.
fn dense<T: Element>(tensor: &Tensor<'_>) -> Result<(), Error> {
    tensor.to_vec::<T>()?;
    tensor.to_cow::<T>()?;
    let mut ranges = Vec::new();
    reserve(&mut ranges, tensor.shape().len())?;
    ranges.extend(tensor.shape().iter().map(|dimension| 0..*dimension));
    // The slice has only the first index of the last dimension, so it has several runs.
    if let Some(last) = ranges.last_mut() {
        last.end = last.end.min(1);
    }
    tensor.slice(&ranges[..])?.to_vec::<T>().map(drop)
}

/// A file in memory, its shards in memory with their names, and the options to open the file with.
pub(crate) struct Sharded<'f> {
    pub(crate) root: &'f [u8],
    pub(crate) shards: &'f [(String, Vec<u8>)],
    pub(crate) options: &'f OpenOptions,
}

impl<'f> Sharded<'f> {
    /// Returns a finder of the shards in memory.
    fn find(&self) -> impl zten::shards::Find<Source = InMemory<&'f [u8]>> {
        let shards = self.shards;
        Shards(move |name: &str| {
            let found = shards.iter().find(|(own, _)| own == name);
            found.map(|(_, file)| (InMemory(&file[..]), file.len()))
        })
    }

    /// Binds the shards, verifies the file with them, and reads all tensors.
    pub(crate) fn bind(&self) -> Result<(), Error> {
        let archive = self.options.from_bytes(self.root)?;
        let mut shards = archive.manifest().bind_shards(&self.find())?;
        shards.verify()?;
        let files = Files { root: archive.source(), shards: &shards };
        verify::check(Subject::with_shards(archive.manifest(), &files), &mut ()).into_result()?;
        archive.tensors().try_for_each(|tensor| view(&tensor.read_from(&files)))
    }

    /// Opens the file as an archive that owns its shards, reads all tensors, and verifies the file; if `verify_first`, also
    /// verifies the file before the tensors are read.
    pub(crate) fn own(&self, verify_first: bool) -> Result<(), Error> {
        let archive = self.options.from_bytes(self.root)?.find_shards(&self.find())?;
        if verify_first {
            archive.verify()?;
        }
        archive.tensors().try_for_each(|tensor| view(&tensor))?;
        archive.verify().map(drop)
    }
}

/// Turns every error except running out of memory into success.
fn ignore(outcome: Result<(), Error>) -> Result<(), Error> {
    match outcome {
        Err(error) if is_memory(&error) => Err(error),
        _ => Ok(()),
    }
}

fn reserve<T>(vec: &mut Vec<T>, count: usize) -> Result<(), Error> {
    vec.try_reserve_exact(count).map_err(|_| zten::error::OutOfMemory.into())
}

/// Returns whether the error is that memory could not be allocated.
pub(crate) fn is_memory(error: &Error) -> bool {
    error.kind() == zten::ErrorKind::OutOfMemory
}

/// Finds every object by its name, and reads every attribute.
fn look_up(file: &[u8], options: &OpenOptions) -> Result<(), Error> {
    let archive = options.from_bytes(file)?;
    for object in archive.tensors() {
        assert_eq!(archive.get(object.name()).map(|found| found.ordinal()), Some(object.ordinal()));
        for (_, item) in object.attributes() {
            // Joining the chunks of a string in `get` allocates memory. Only a failed allocation is an error here.
            item.get::<Any>().map_or_else(|error| ignore(Err(error)), |_| Ok(()))?;
        }
    }
    Ok(())
}

fn copy(
    file: &[u8],
    options: &OpenOptions,
    settings: &WriteOptions,
    level: Option<u8>,
) -> Result<(), Error> {
    let archive = options.from_bytes(file)?;
    let mut copier = Copier::new(archive.manifest());
    if let Some(level) = level {
        copier = copier.compressed(Level::new(level)?);
    }
    copier.file(archive.manifest(), archive.source(), Vec::new(), settings).map(drop)
}

fn append(file: &[u8], options: &OpenOptions) -> Result<(), Error> {
    let archive = options.from_bytes(file)?;
    let mut writer = Writer::append(Vec::new(), archive.manifest(), &WriteOptions::default())?;
    writer.add("a name that is in no file", &[2], &[1_u8, 2])?;
    writer.finish().map(drop)
}

/// Names of one letter that are not sorted, so that they go into a table, which grows.
const NAMES: &str = "zyxwvutsrqponmlkjihgfedcba9876543210ZYXWVUTSRQPONMLKJIHGFEDCBA_-.:";

/// Writes objects of every layout with `checksum`, compressed if there is a `level`.
pub(crate) fn write(checksum: Checksum, level: Option<u8>) -> Result<(), Error> {
    let level = level.map(Level::new).transpose()?;
    let at = |object: NewObject<'static>| match level {
        Some(level) => object.compressed(level),
        None => object,
    };
    let mut writer = Writer::new(Vec::new(), &WriteOptions::default().checksum(checksum))?;
    let attributes = Attributes { bits: 4, packing: "int32_le" };
    writer.attributes(&attributes)?;
    let attributes = Encoded::from_value(&attributes)?;
    for at in 0..NAMES.len() {
        let name = NAMES.get(at..=at).unwrap_or_default();
        writer.add_object(&NewObject::dense(name, &[0], DType::U8), &[])?;
    }
    let dense = NewObject::dense("dense", &[2, 3], DType::Complex64);
    writer.add_object(&at(dense).attributes(&attributes), &[("data", &[7; 48])])?;
    let [zero, one] = [[0; 8], [1, 0, 0, 0, 0, 0, 0, 0]];
    let csr = NewObject::sparse_csr("csr", &[1, 9], DType::U8, 1);
    let indptr = [zero, one];
    let parts = [("indptr", indptr.as_flattened()), ("values", &[1][..]), ("indices", &one[..])];
    writer.add_object(&at(csr), &parts)?;
    let coo = NewObject::sparse_coo("coo", &[4, 5], DType::I16, 1);
    writer.add_object(&at(coo), &[("coords", indptr.as_flattened()), ("values", &[1, 0])])?;
    let quantized = [(DType::I32, 2), (DType::F16, 1), (DType::F16, 1)];
    let quantized = NewObject::quantized_group("quantized", &[16, 1], quantized);
    let parts = [("zeros", &[0; 2][..]), ("scales", &[0; 2]), ("packed_weight", &[0; 8])];
    writer.add_object(&at(quantized), &parts)?;
    let parts = ["b", "a"].map(|role| NewComponent::new(role, DType::U8, 1));
    let custom = NewObject::custom("custom", &[6], "mine", &parts);
    writer.add_object(&custom, &[("b", &[1]), ("a", &[2])])?;
    writer.finish().map(drop)
}

/// Writes tensors from their elements, in one call and piece by piece.
pub(crate) fn write_elements(checksum: Checksum, level: Option<u8>) -> Result<(), Error> {
    let mut settings = WriteOptions::default().checksum(checksum);
    if let Some(level) = level {
        settings = settings.compressed(Level::new(level)?);
    }
    let mut writer = Writer::new(Vec::new(), &settings)?;
    writer.add("dense", &[2, 3], &[1.5_f32; 6])?;
    writer.add("packed", &[2], ComponentData::of_bytes(DType::U8, &[1, 2]))?;
    let mut begun = writer.begin("begun", &[5000], DType::F16)?;
    for _ in 0..10 {
        begun.write_part("data", &[7; 1000])?;
    }
    begun.finish()?;
    let (indptr, index, one) = ([0_u64, 1], [3_u64], [1_u8]);
    let indptr = ("indptr", ComponentData::from(&indptr));
    let (indices, values) =
        (("indices", ComponentData::from(&index)), ("values", ComponentData::from(&one)));
    writer.add_csr("csr", &[1, 9], &[values, indptr, indices])?;
    let coords = ("coords", ComponentData::from(&index));
    writer.add_coo("coo", &[4], &[("values", ComponentData::from(&one)), coords])?;
    let parts = ["packed_weight", "scales", "zeros"].map(|role| (role, ComponentData::from(&one)));
    writer.add_quantized("quantized", &[2, 1], &Attributes { bits: 4, packing: "" }, &parts)?;
    writer.finish().map(drop)
}

/// Returns a file with a single tensor of floats.
fn written() -> Result<Vec<u8>, Error> {
    let mut writer = Writer::new(Vec::new(), &WriteOptions::default())?;
    writer.add("some weights", &[2, 3], &[1.5_f32; 6])?;
    writer.finish()
}

/// A call of the library that fails with an error that has names.
type Named = fn() -> Result<(), Error>;

/// All calls that fail with an error that has names, and what each of them tests.
pub(crate) const NAMED: &[(&str, Named)] = &[
    ("no tensor of a name", || {
        let file = written()?;
        Archive::from_bytes(&file)?.tensor("same weights").map(drop)
    }),
    ("elements of another type", || {
        let file = written()?;
        Archive::from_bytes(&file)?.tensor("some weights")?.to_vec::<u8>().map(drop)
    }),
    ("a slice that there is not", || {
        let file = written()?;
        Archive::from_bytes(&file)?.tensor("some weights")?.slice((.., 4..5)).map(drop)
    }),
    ("another layout", || {
        let file = written()?;
        Archive::from_bytes(&file)?.tensor("some weights")?.csr().map(drop)
    }),
    ("another digest", || {
        let mut file = written()?;
        file[64] ^= 1;
        Archive::from_bytes(&file)?.verify().map(drop)
    }),
    ("a manifest that is rejected", || {
        let mut file = written()?;
        let at = file.windows(3).position(|text| text == b"f32").unwrap_or_default();
        file[at] = b'g';
        Archive::from_bytes(&file).map(drop)
    }),
    ("parts that there are not", || {
        let mut writer = Writer::new(Vec::new(), &WriteOptions::default())?;
        writer.add_csr("a matrix", &[1, 9], &[])
    }),
    ("elements that are wrong", || {
        let mut writer = Writer::new(Vec::new(), &WriteOptions::default())?;
        writer.add("truth", &[1], ComponentData::of_bytes(DType::Bool, &[2]))
    }),
    ("more elements than there should be", || {
        let mut writer = Writer::new(Vec::new(), &WriteOptions::default())?;
        writer.add("many", &[1], &[1_u8, 2])
    }),
];

/// Writes a root with a shard that exists already and two shards that are written at the same time, and appends a
/// shard.
pub(crate) fn write_shards() -> Result<(), Error> {
    let settings = WriteOptions::default().generation(Generation::V2).sharing();
    let mut alone = ShardWriter::new(Vec::new(), &settings)?;
    alone.write(&[1, 2, 3])?;
    let blob = alone.end_blob()?;
    let (_, record) = alone.finish()?;
    let mut writer = Writer::new(Vec::new(), &settings)?;
    writer.shard("given", &record)?;
    let blob = blob.in_shard("given");
    let part = [NewComponent::new("data", DType::U8, 3).stored(&blob)];
    writer.add_object(&NewObject::custom("z", &[3], "dense", &part), &[])?;
    let begin = || ShardWriter::new(Vec::new(), &settings);
    let mut open = [("b", begin()?), ("a", begin()?)];
    for (name, at) in [("y", 0), ("x", 1), ("w", 0)] {
        let object = NewObject::dense(name, &[5000], DType::U8);
        let (shard_name, shard) = &mut open[at];
        let mut out = writer.object_in(shard_name, shard, &object)?;
        out.write_part("data", &[7; 5000])?;
        out.finish()?;
    }
    for (name, shard) in open {
        let (_, record) = shard.finish()?;
        writer.shard(name, &record)?;
    }
    let root = writer.finish()?;
    let archive = Archive::from_bytes(&root[..])?;
    let mut writer = Writer::append(Vec::new(), archive.manifest(), &settings)?;
    writer.shard("0", &record)?;
    writer.finish().map(drop)
}

/// A type that deserializes any value without allocating.
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

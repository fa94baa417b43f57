//! The oracle for appending: a file that was appended to opens as it did before, also if each limit has its smallest
//! sufficient value.

use zten::element::StorageType;
use zten::formats::is_ztensor;
use zten::manifest::ElementType;
use zten::write::{Checksum, Encoded, Level, NewComponent, NewObject, WriteOptions, Writer};
use zten::{
    DType, Error, ErrorKind, Generation, Manifest, OpenOptions, Tensor, error::Misuse,
    verify::Verifier,
};

use super::{DECODED, DECODED_TOTAL, limits, options, tolerant};

/// The numbers of files that were appended to, and of additions that were rejected, to show that a test reaches all
/// cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// The number of files that were appended to with the usual limits of the oracles.
    pub files: usize,
    /// The number of files that were written with one limit at the smallest value that suffices, or near it.
    pub edges: usize,
    /// The number of additions that a limit prevented.
    pub rejected: usize,
}

/// A function that appends something to the file that a writer appends to: an object of the given name, which the file does not
/// have, or only attributes, or nothing.
type Addition = fn(&mut Writer<Vec<u8>>, &str) -> Result<(), Error>;

const ADDITIONS: [(Checksum, Addition); 7] = [
    (Checksum::Sha256, |_, _| Ok(())),
    (Checksum::Sha256, |writer, _| writer.attributes_encoded(&deep(2))),
    (Checksum::None, |writer, name| {
        let object = NewObject::dense(name, &[3, 1, 1], DType::U8);
        writer.add_object(&object, &[("data", &[1, 2, 3])])
    }),
    (Checksum::Crc32c, |writer, name| {
        let object = NewObject::dense(name, &[300], DType::U8);
        let content: Vec<u8> = (0..300_u32).map(|n| (n * n / 7).to_le_bytes()[0]).collect();
        writer.add_object(&object.compressed(Level::default()), &[("data", &content)])
    }),
    (Checksum::Sha256, |writer, name| {
        let attributes = Encoded::from_cbor(b"\xa0".to_vec());
        let object = NewObject::dense(name, &[2; 5], DType::Complex64);
        let object = object.compressed(Level::default()).attributes(&attributes);
        writer.add_object(&object, &[("data", &[7; 256])])
    }),
    (Checksum::None, |writer, name| {
        let unknown = ElementType::UnknownLogical("f8_e4m3", StorageType::U8);
        let parts = ["a", "b", "c", "d", "e", "f"].map(|role| NewComponent::new(role, unknown, 0));
        writer.attributes_encoded(&deep(1))?;
        writer.add_object(&NewObject::custom(name, &[], "mine", &parts), &[])
    }),
    (Checksum::Crc32c, |writer, name| {
        let (attributes, ends) = (deep(9), [0, 2].map(u64::to_le_bytes));
        let object = NewObject::sparse_csr(name, &[1, 3], DType::U8, 2);
        let object = object.compressed(Level::default()).attributes(&attributes);
        let ends = ends.as_flattened();
        writer.add_object(&object, &[("indptr", ends), ("values", &[1, 2]), ("indices", ends)])
    }),
];

/// Creates attributes with a key whose value is `arrays` nested arrays.
fn deep(arrays: usize) -> Encoded {
    Encoded::from_cbor([&b"\xa2\x61a"[..], &vec![0x81; arrays], b"\x07\x61b\x61c"].concat())
}

/// The names of the limits, each with the range of values in which the smallest sufficient value is searched for.
const LIMITS: [(&str, u64, u64); 7] = [
    ("manifest", 0, 1 << 30),
    ("depth", 6, 64),
    ("rank", 0, 64),
    ("keys", 0, 4096),
    ("window", 0, DECODED),
    ("decoded", 0, DECODED),
    ("decoded-total", 0, DECODED_TOTAL),
];

/// The number of bytes by which the writer may overestimate the length of a manifest, because it checks the limit
/// before the length is known.
const SLACK: u64 = 4096;

/// The limits that apply when content is read, and not when a file is opened.
const OF_CONTENT: [&str; 3] = ["window", "decoded", "decoded-total"];

/// Appends to the file `bytes`, if it is a file: once with its own limits, and then with one limit at its smallest sufficient
/// value and at values near it. A finished file must open with the same options, and be valid if the old file was; a rejected
/// addition must exceed a limit. A file of 0.1 or a data shard must reject any addition. `addition` and `limit` (each modulo 7)
/// choose what is appended and which limit.
///
/// # Panics
/// Panics if a promise does not hold.
pub fn append(bytes: &[u8], addition: usize, limit: usize) -> Appended {
    let mut sum = Appended::default();
    if !is_ztensor(bytes) {
        return sum;
    }
    let opens = |options: &OpenOptions| options.from_bytes(bytes).is_ok();
    let Some(options) = [options(), tolerant(options())].into_iter().find(opens) else {
        return sum;
    };
    let (checksum, add) = ADDITIONS[addition % ADDITIONS.len()];
    let is_v2 =
        options.from_bytes(bytes).is_ok_and(|archive| archive.generation() == Some(Generation::V2));
    // Generation 2 has no CRC-32C, so its default digest is used instead.
    let by_default = is_v2 && checksum == Checksum::Crc32c;
    let settings = WriteOptions::default();
    let settings = if by_default { settings } else { settings.checksum(checksum) };
    let case = Case { old: bytes, options, settings, add };
    if !case.is_closed() {
        case.run(LIMITS[limit % LIMITS.len()], &mut sum);
    }
    sum
}

struct Case<'d> {
    old: &'d [u8],
    options: OpenOptions,
    settings: WriteOptions,
    add: Addition,
}

impl Case<'_> {
    /// Returns whether nothing can be appended to the file, because it is a file of 0.1 or a data shard. Checks that
    /// appending is then rejected.
    fn is_closed(&self) -> bool {
        let old = self.options.from_bytes(self.old);
        let misuse = Err(Misuse::Append.into());
        let is_closed = old.is_ok_and(|old| {
            old.generation() == Some(Generation::V0_1) || old.manifest().is_data_shard()
        });
        assert!(!is_closed || self.write(&self.options, &self.settings) == misuse);
        is_closed
    }

    /// Makes the chosen addition to the file, which is opened with `options`, and returns the new file.
    fn write(&self, options: &OpenOptions, settings: &WriteOptions) -> Result<Vec<u8>, Error> {
        let archive = options.from_bytes(self.old)?;
        let start = usize::try_from(archive.manifest().appends_at()).expect("a file in memory");
        let blobs = self.old[..start].to_vec();
        let mut writer = Writer::append(blobs, archive.manifest(), settings)?;
        (self.add)(&mut writer, &unused(archive.manifest()))?;
        writer.finish()
    }

    /// Appends to the old file, and checks the new file. Adds 1 in `sum` to the files that were written, or to the additions that
    /// were rejected because of a limit. After a rejection, nothing else is done.
    ///
    /// Then tests one limit: [`edge`](Self::edge) finds its smallest value with which the new file is valid, appends with that
    /// value, a smaller one and larger ones, and checks what is written. `limit` has the name of this limit, and the range in
    /// which the value is searched. Limits on reading content are tested only if the old file is valid: otherwise the new file
    /// would be invalid with every value.
    fn run(&self, limit: (&str, u64, u64), sum: &mut Appended) {
        let new = match self.write(&self.options, &self.settings) {
            Ok(new) => new,
            Err(error) => {
                assert!(is_limit(&error), "{error}");
                sum.rejected += 1;
                return;
            }
        };
        sum.files += 1;
        same(self.old, &new, &self.options);
        let valid = valid(self.old, &self.options).is_ok();
        assert!(
            !valid || self::valid(&new, &self.options).is_ok(),
            "appending made a valid file invalid"
        );
        if valid || !OF_CONTENT.contains(&limit.0) {
            self.edge(&new, limit, sum);
        }
    }

    /// Appends with one limit at the smallest value with which the file `new` is valid, and at values near it.
    fn edge(&self, new: &[u8], (name, low, high): (&str, u64, u64), sum: &mut Appended) {
        let limited =
            |value| limits().with_named(name, value).map(|limits| self.options.limits(limits));
        let is_good = |value| {
            let options = limited(value).expect("a value within the range");
            let read = OF_CONTENT.contains(&name);
            options.from_bytes(new).is_ok() && (!read || valid(new, &options).is_ok())
        };
        let edge = least(low, high, is_good);
        for value in [edge.checked_sub(1), Some(edge), edge.checked_add(1), Some(edge + SLACK)] {
            let Some(Ok(options)) = value.map(limited) else { continue };
            let settings = self.settings.limits(*options.limit());
            let written = self.write(&self.options, &settings);
            if options.from_bytes(self.old).is_ok() {
                let inherited = self.write(&options, &self.settings);
                assert!(
                    written == inherited,
                    "{name}: the limits of the archive and of the settings have another effect"
                );
            }
            match written {
                Ok(file) => {
                    sum.edges += 1;
                    let opened = options.from_bytes(&file).map(drop);
                    opened.unwrap_or_else(|error| panic!("{name} {value:?}: {error}"));
                    let kept = valid(self.old, &options).and(valid(&file, &options));
                    assert!(kept.is_ok() || valid(self.old, &options).is_err(), "{kept:?}");
                }
                Err(error) => {
                    sum.rejected += 1;
                    assert!(is_limit(&error), "{name} {value:?}: {error}");
                    // The writer may count more bytes than the finished file has, if it must check a limit before
                    // their number is known.
                    let counted =
                        name == "manifest" || (name == "decoded-total" && self.is_unsaid());
                    // If the old file exceeds the limits, it does not open, and nothing can be said about appending.
                    let far = options.from_bytes(self.old).is_ok()
                        && value >= Some(if counted { edge + SLACK } else { edge });
                    assert!(!far || (counted && name != "manifest"), "{name} {value:?}: {error}");
                }
            }
        }
    }

    /// Returns whether the manifest omits the decoded length of at least one component.
    fn is_unsaid(&self) -> bool {
        let archive = self.options.from_bytes(self.old).expect("it has been opened");
        let mut components = archive.tensors().flat_map(|object| object.components());
        components.any(|component| component.decoded_length().is_none())
    }
}

/// Returns the smallest value from `low` to `high` for which `is_good` returns true. It must be true for `high`.
fn least(mut low: u64, mut high: u64, is_good: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = u64::midpoint(low, high);
        if is_good(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

fn is_limit(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Limit(_))
}

/// Validates the header and all content of a file. An object that needs an unsupported feature is no error.
fn valid(file: &[u8], options: &OpenOptions) -> Result<(), Error> {
    let archive = options.from_bytes(file)?;
    let mut verifier = Verifier::new(archive.manifest());
    archive.tensors().try_for_each(|tensor| match verifier.object(&tensor, |_, _| ()) {
        Err(error) if error.is_unsupported() => Ok(()),
        outcome => outcome,
    })
}

/// Returns a name that no object of the file has.
fn unused(manifest: &Manifest<impl AsRef<[u8]>>) -> String {
    let names = (0..).map(|number: u32| format!("appended {number}"));
    names.into_iter().find(|name| manifest.get(name).is_none()).expect("there are fewer objects")
}

/// Checks that `new`, which was made by appending to the file `old`, has all blobs, objects and fields of `old`, and
/// at most one object more.
fn same(old: &[u8], new: &[u8], options: &OpenOptions) {
    let new = options.from_bytes(new);
    let new = new.unwrap_or_else(|error| panic!("the file is rejected after appending: {error}"));
    let old = options.from_bytes(old).expect("it has been opened");
    let start = usize::try_from(old.manifest().appends_at()).expect("a file in memory");
    assert!(new.bytes()[..start] == old.bytes()[..start], "other blobs");
    assert_eq!(
        (old.manifest().version(), old.generation()),
        (new.manifest().version(), new.generation())
    );
    assert!(new.len() >= old.len() && new.len() <= old.len() + 1);
    let in_order = old.generation() != Some(Generation::V2);
    for (old, next) in old.tensors().zip(new.tensors()) {
        let new = if in_order { next } else { new.get(old.name()).expect("the same object") };
        assert_eq!(said(&old), said(&new));
    }
    for (name, item) in old.manifest().fields().into_iter().flatten() {
        let kept = new.manifest().fields().and_then(|fields| fields.item(name));
        let kept = kept.map(|kept| kept.as_bytes() == item.as_bytes());
        assert!(matches!(name, "objects" | "attributes") || kept == Some(true), "another {name}");
    }
}

/// Returns the name of an object, the roles and byte ranges of its components, and the fields of the object and its components as
/// the manifest has them: pairs of a key and the encoded value.
fn said(object: &Tensor<'_>) -> Vec<(String, Vec<u8>)> {
    let fields = |fields: Option<zten::attributes::Attributes<'_>>| {
        let fields = fields.into_iter().flatten();
        fields.map(|(name, item)| (name.to_owned(), item.as_bytes().to_vec())).collect::<Vec<_>>()
    };
    let mut all = vec![(object.name().to_owned(), Vec::new())];
    all.extend(fields(object.fields()));
    for component in object.components() {
        let extent = component.extent().range();
        all.push((component.role().to_owned(), format!("{extent:?}").into_bytes()));
        all.extend(fields(component.fields()));
    }
    all
}

//! The oracles for patches between checkpoints: a patch that zten makes between two files, and patches of arbitrary
//! bytes.

use std::io::Cursor;
use std::sync::OnceLock;

use zten::attributes::Encoder;
use zten::error::OutOfMemory;
use zten::formats::write::WrittenFormat;
use zten::verify::Verifier;
use zten::write::{Encoded, NewObject, WriteOptions, Writer};
use zten::{Archive, DType, Generation};
use zten_patch::{Chain, Model, Patch, PatchFailure, Settings, make, verify};
use zten_report::sums::{Of, entries, identity, sum};

use super::heap::peak;
use super::{InMemory, options};

/// Makes the patch that turns the file `old` into the file `new`, and applies it. The result must have the tensors of `new` and
/// the keys of its attributes, and the patch must not fit `new`, unless both files have the same tensors. Returns whether the
/// patch was made and applied: both files must be valid, and the formats must be able to express the tensors of `new`.
///
/// # Panics
/// Panics if a promise does not hold.
pub fn patch_roundtrip(old: &[u8], new: &[u8]) -> bool {
    let (Ok(old), Ok(new)) = (options().from_bytes(old), options().from_bytes(new)) else {
        return false;
    };
    let (Some(before), Some(after)) = (tensors(&old), tensors(&new)) else { return false };
    let base = Model::new(old.manifest(), &old).expect("memory");
    let wanted = Model::new(new.manifest(), &new).expect("memory");
    let patch = match make(&base, &wanted, Vec::new(), &Settings::default()) {
        Ok((patch, _)) => patch,
        Err(PatchFailure::Inexpressible(_) | PatchFailure::New(_)) => return false,
        Err(failure) => panic!("there is no patch: {failure}"),
    };
    let patch = Archive::from_bytes(&patch).expect("a patch is a file");
    patch.verify().expect("the file is valid");
    let patches = [Patch::open(patch.manifest(), &patch).expect("the made file is not a patch")];
    assert_eq!((patches[0].base(), patches[0].result()), (before, after), "the identities");
    let verified = verify(&base, &patches).expect("the patch fits the old file");
    assert_eq!(verified.result, after, "the patch leads to other tensors");
    assert!(
        before == after || verify(&wanted, &patches).is_err(),
        "the patch fits the new file, too"
    );
    let chain = Chain::new(&base, &patches).expect("the patch fits the old file");
    // Generation 2 sorts tensors by their names, so the order shows only in other files.
    let is_of_2 = new.generation() == Some(Generation::V2);
    let generation = if is_of_2 { Generation::V2 } else { Generation::V1_2 };
    let settings = WriteOptions::default().generation(generation);
    let mut out = Cursor::new(Vec::new());
    match chain.write(WrittenFormat::ZTensor, &mut out, &settings) {
        Ok(()) => {}
        Err(PatchFailure::Inexpressible(_)) => return false,
        Err(failure) => panic!("the patch is not applied: {failure}"),
    }
    let result = out.into_inner();
    let result = Archive::from_bytes(result.as_slice()).expect("the result is a file");
    let names = |file: &InMemory<'_>| file.names().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(names(&result), names(&new), "the order of the tensors");
    let sorted = |file: &InMemory<'_>| {
        let mut all: Vec<_> = file
            .attributes()
            .map(|(key, item)| (key.to_owned(), item.as_bytes().to_vec()))
            .collect();
        all.sort();
        all
    };
    let (found, expected) = (sorted(&result), sorted(&new));
    // Only the keys are compared, because generation 2 stores each value in one encoding, which may not be that of
    // `new`.
    let keys =
        |all: &[(String, Vec<u8>)]| all.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&found), keys(&expected), "the attributes");
    assert_eq!(contents(&result), contents(&new), "the content");
    true
}

/// Returns the digest that identifies the tensors of a valid file, or `None` if the file is not valid, or not all of
/// it can be read.
fn tensors(file: &InMemory<'_>) -> Option<[u8; 32]> {
    file.verify().ok()?;
    let mut verifier = Verifier::new(file.manifest());
    let mut all = Vec::new();
    for tensor in file.tensors() {
        let sums = sum(&mut verifier, &tensor, Of::Bytes).ok()?;
        all.extend(entries(&tensor, &sums));
    }
    all.sort_by(|one, other| one.key().cmp(&other.key()));
    identity(all)
}

/// Returns the name of the tensor, the role and the digest of the content of each component. Indices are widened to
/// one width before they are hashed.
fn contents(file: &InMemory<'_>) -> Vec<(String, String, Option<[u8; 32]>)> {
    let mut verifier = Verifier::new(file.manifest());
    let mut all = Vec::new();
    for tensor in file.tensors() {
        let sums = sum(&mut verifier, &tensor, Of::Content).expect("the file is valid");
        for (component, sum) in tensor.components().zip(sums) {
            all.push((tensor.name().to_owned(), component.role().to_owned(), sum.sha256));
        }
    }
    all.sort();
    all
}

/// The change of one component in a [`HandPatch`].
#[derive(Clone, Debug)]
pub struct HandChange {
    /// The name of the tensor that is changed.
    pub name: String,
    /// The role of the component that is changed.
    pub role: String,
    /// The element type and the shape, as text such as `bf16[70000]`.
    pub kind: String,
    /// The digest of the component in the base, the file to which the patch is applied.
    pub base: Vec<u8>,
    /// The digest of the component in the result.
    pub result: Vec<u8>,
    /// The number of bytes that the change takes from each stream of the patch, in the order of the streams.
    pub lengths: Vec<u64>,
}

/// A patch that is written as `docs/patch.md` says, without the crate `zten-patch`. It may be invalid.
#[derive(Clone, Debug)]
pub struct HandPatch {
    /// The generation of zTensor in which the patch file is written.
    pub generation: Generation,
    /// The version of the patch format.
    pub version: u64,
    /// The digest that identifies the tensors of the base, the file to which the patch is applied.
    pub base: Vec<u8>,
    /// The digest that identifies the tensors of the result.
    pub result: Vec<u8>,
    /// The components that the patch changes.
    pub changed: Vec<HandChange>,
    /// The names of the tensors that the patch removes.
    pub removed: Vec<String>,
    /// The old and new names of the tensors that the patch renames.
    pub renamed: Vec<[String; 2]>,
    /// The order of the tensors in the result, if the patch gives it.
    pub order: Option<Vec<u64>>,
    /// A required key that the description of the patch lacks, to make it invalid.
    pub without: Option<&'static str>,
    /// An unknown key that is added to the description of the patch, to make it invalid.
    pub with: Option<&'static str>,
    /// A further attribute that the patch file has beside the description, to make it invalid.
    pub attribute: Option<&'static str>,
    /// The names and bytes of the tensors in the patch file, which hold its streams and new tensors.
    pub tensors: Vec<(String, Vec<u8>)>,
}

impl Default for HandPatch {
    fn default() -> Self {
        Self {
            generation: Generation::V2,
            version: 1,
            base: vec![0; 32],
            result: vec![0; 32],
            changed: Vec::new(),
            removed: Vec::new(),
            renamed: Vec::new(),
            order: None,
            without: None,
            with: None,
            attribute: None,
            tensors: Vec::new(),
        }
    }
}

impl HandPatch {
    /// Returns the bytes of the patch file.
    ///
    /// # Panics
    /// Panics if the writer does not accept a tensor or the attributes, such as a name or a key that occurs twice.
    pub fn file(&self) -> Vec<u8> {
        let options = WriteOptions::default().generation(self.generation);
        let mut writer = Writer::new(Vec::new(), &options).expect("memory");
        for (name, bytes) in &self.tensors {
            let shape = [bytes.len() as u64];
            let object = NewObject::dense(name, &shape, DType::U8);
            writer.add_object(&object, &[("data", bytes)]).expect("a tensor");
        }
        let attributes = self.attributes().expect("memory");
        writer.attributes_encoded(&Encoded::from_cbor(attributes)).expect("attributes");
        writer.finish().expect("a file")
    }

    fn attributes(&self) -> Result<Vec<u8>, OutOfMemory> {
        let keys =
            ["base", "order", "format", "result", "changed", "removed", "renamed", "version"];
        let is_there =
            |key: &&str| self.without != Some(*key) && (*key != "order" || self.order.is_some());
        let keys: Vec<_> = keys.into_iter().filter(is_there).chain(self.with).collect();
        let mut out = Encoder::default();
        out.map(1 + u64::from(self.attribute.is_some()))?;
        // In files of 1.2 the keys stay in this order; in generation 2 the writer sorts them.
        if let Some(key) = self.attribute {
            out.text(key)?;
            out.uint(1)?;
        }
        out.text("zten.patch")?;
        out.map(keys.len() as u64)?;
        for key in keys {
            out.text(key)?;
            match key {
                "base" => out.bytes(&self.base)?,
                "result" => out.bytes(&self.result)?,
                "format" => out.text("safetensors")?,
                "version" => out.uint(self.version)?,
                "order" => {
                    let order = self.order.as_deref().unwrap_or_default();
                    out.array(order.len() as u64)?;
                    order.iter().try_for_each(|at| out.uint(*at))?;
                }
                "removed" => {
                    out.array(self.removed.len() as u64)?;
                    self.removed.iter().try_for_each(|name| out.text(name))?;
                }
                "renamed" => {
                    out.array(self.renamed.len() as u64)?;
                    for names in &self.renamed {
                        out.array(2)?;
                        names.iter().try_for_each(|name| out.text(name))?;
                    }
                }
                "changed" => {
                    out.array(self.changed.len() as u64)?;
                    self.changed.iter().try_for_each(|change| change.write(&mut out))?;
                }
                _ => out.null()?,
            }
        }
        Ok(out.into_bytes())
    }
}

impl HandChange {
    fn write(&self, out: &mut Encoder) -> Result<(), OutOfMemory> {
        out.map(6)?;
        out.text("base")?;
        out.bytes(&self.base)?;
        for (key, text) in [("kind", &self.kind), ("name", &self.name), ("role", &self.role)] {
            out.text(key)?;
            out.text(text)?;
        }
        out.text("result")?;
        out.bytes(&self.result)?;
        out.text("lengths")?;
        out.array(self.lengths.len() as u64)?;
        self.lengths.iter().try_for_each(|length| out.uint(*length))
    }
}

/// The names of the streams of a patch, in the order in which a change gives their lengths.
const STREAMS: [&str; 18] = [
    "frames",
    "gaps",
    "differences.0",
    "differences.1",
    "differences.2",
    "differences.3",
    "differences.4",
    "differences.5",
    "differences.6",
    "differences.7",
    "values.0",
    "values.1",
    "values.2",
    "values.3",
    "values.4",
    "values.5",
    "values.6",
    "values.7",
];

/// The tensors of the base to which arbitrary patches are applied: name, type, and number of elements.
const BASE: [(&str, DType, u64); 3] =
    [("a", DType::BF16, 70_000), ("b", DType::F32, 300), ("c", DType::U8, 5)];

/// Returns the bytes of the file to which arbitrary patches are applied.
fn base() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(|| {
        let mut random = fastrand::Rng::with_seed(1);
        let mut writer = Writer::to(Vec::new()).expect("memory");
        for (name, dtype, elements) in BASE {
            let width = u64::from(dtype.bits().expect("a known type") / 8);
            let bytes: Vec<_> = (0..elements * width).map(|_| random.u8(..)).collect();
            let shape = [elements];
            let object = NewObject::dense(name, &shape, dtype);
            writer.add_object(&object, &[("data", &bytes)]).expect("a tensor");
        }
        writer.finish().expect("a file")
    })
}

/// The largest number of bytes on the heap that applying a patch may take in addition to 64 times the size of the
/// patch: a chunk of each stream, a frame, and the decoders.
const APPLYING: u64 = 32 << 20;

/// Applies an arbitrary patch to a base of three tensors, without writing the result. An error must have a rule, and the heap
/// must not follow the sizes that the patch claims. If the first byte of `input` is a multiple of 4, the bytes after it are the
/// patch file, and otherwise the lengths and the content of its streams. Returns whether the patch was valid enough to be
/// applied.
///
/// # Panics
/// Panics if a promise does not hold.
pub fn patch_apply(input: &[u8]) -> bool {
    let (choice, rest) = input.split_first().unwrap_or((&0, &[]));
    let file = if choice.is_multiple_of(4) { rest.to_vec() } else { streams(rest) };
    let base = Archive::from_bytes(base()).expect("the base is valid");
    let (heap, was_read) = peak(|| {
        let Ok(patch) = options().from_bytes(file.as_slice()) else { return false };
        let base = Model::new(base.manifest(), &base).expect("memory");
        let patch = match Patch::open(patch.manifest(), &patch) {
            Ok(patch) => patch,
            Err(error) => {
                assert!(error.rule().is_some(), "{error}");
                return false;
            }
        };
        let patches = [patch];
        let chain = match Chain::new(&base, &patches) {
            Ok(chain) => chain,
            Err(failure) => {
                assert!(failure.error().is_some_and(|own| own.rule().is_some()), "{failure}");
                return false;
            }
        };
        if let Err(failure) = chain.dry_run() {
            assert!(failure.error().is_some_and(|own| own.rule().is_some()), "{failure}");
        }
        true
    });
    let most = APPLYING + 64 * file.len() as u64;
    assert!(heap <= most, "{heap} bytes of heap, and {most} at most");
    was_read
}

/// Returns a patch file that changes the three tensors of the base. The first 54 bytes of `input` are the lengths of
/// the 18 streams for each tensor, and the bytes after them the content of the streams.
fn streams(input: &[u8]) -> Vec<u8> {
    let (lengths, mut rest) = input.split_at(input.len().min(54));
    let mut lengths = lengths.iter().copied().map(usize::from);
    let mut patch = HandPatch::default();
    let mut bytes: [Vec<u8>; 18] = Default::default();
    for (name, dtype, elements) in BASE {
        let own = bytes.each_mut().map(|stream| {
            let length = lengths.next().unwrap_or(0).min(rest.len());
            let (now, later) = rest.split_at(length);
            stream.extend_from_slice(now);
            rest = later;
            length as u64
        });
        patch.changed.push(HandChange {
            name: name.to_owned(),
            role: "data".to_owned(),
            kind: format!("{dtype}[{elements}]"),
            base: vec![0; 32],
            result: vec![0; 32],
            lengths: own.to_vec(),
        });
    }
    let named = STREAMS.iter().zip(bytes).filter(|(_, bytes)| !bytes.is_empty());
    patch.tensors = named.map(|(name, bytes)| (format!("{name}/0"), bytes)).collect();
    patch.file()
}

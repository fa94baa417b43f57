//! Oracles of patches: between two files, written by hand, and of arbitrary bytes.

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

/// Makes the patch between two files, and applies it. The result has the tensors and attributes of the new file; the patch fits
/// nothing else. Returns whether there was a patch: both files are valid, and generation 2 can hold what is new.
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
    let patches = [Patch::open(patch.manifest(), &patch).expect("it is a patch")];
    assert_eq!((patches[0].base(), patches[0].result()), (before, after), "the identities");
    let verified = verify(&base, &patches).expect("the patch fits the old file");
    assert_eq!(verified.result, after, "it leads to the new one");
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
    // Generation 2 writes an attribute in one way only.
    let keys =
        |all: &[(String, Vec<u8>)]| all.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&found), keys(&expected), "the attributes");
    assert_eq!(contents(&result), contents(&new), "the content");
    true
}

/// Returns the identity of the tensors of a valid file, or `None` if the file is not valid, or not all of it can be read.
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

/// Returns the digests of the content of all components, whose indices have one width.
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

/// A change of a [`HandPatch`].
#[derive(Clone, Debug)]
pub struct HandChange {
    /// The name of the tensor.
    pub name: String,
    /// The role of the component.
    pub role: String,
    /// The type and shape.
    pub kind: String,
    /// The digest of the base.
    pub base: Vec<u8>,
    /// The digest of the result.
    pub result: Vec<u8>,
    /// The bytes in each stream.
    pub lengths: Vec<u64>,
}

/// A patch that is written as `docs/patch.md` says, without the crate that makes patches; right or wrong.
#[derive(Clone, Debug)]
pub struct HandPatch {
    /// The generation of the file.
    pub generation: Generation,
    /// The version of the format.
    pub version: u64,
    /// The identity of the base.
    pub base: Vec<u8>,
    /// The identity of the result.
    pub result: Vec<u8>,
    /// The changes.
    pub changed: Vec<HandChange>,
    /// The names of tensors that are removed.
    pub removed: Vec<String>,
    /// The old and new names of tensors that are renamed.
    pub renamed: Vec<[String; 2]>,
    /// The order of the result.
    pub order: Option<Vec<u64>>,
    /// The key that the description lacks.
    pub without: Option<&'static str>,
    /// Another key of the description.
    pub with: Option<&'static str>,
    /// Another attribute of the file.
    pub attribute: Option<&'static str>,
    /// The names and bytes of the tensors of the file.
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
    /// Returns the file.
    ///
    /// # Panics
    /// Panics if the writer does not accept a tensor, such as one whose name is there twice.
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
        // The one shorter than the other is first.
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

/// The names of the streams, in their order.
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

/// The tensors of the base that arbitrary patches are applied to: name, type, and number of elements.
const BASE: [(&str, DType, u64); 3] =
    [("a", DType::BF16, 70_000), ("b", DType::F32, 300), ("c", DType::U8, 5)];

/// Returns the file of the base.
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

/// Bytes of memory that applying a patch takes, at most: a chunk of each stream, a frame, and the decoders.
const APPLYING: u64 = 32 << 20;

/// Applies an arbitrary patch to a base of three tensors. Its error has a rule, and memory does not follow what the patch claims. The
/// first byte of the input decides whether the rest is the file, or what its streams hold. Returns whether the content of the patch
/// was read.
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

/// Returns the patch whose streams have these bytes: the first 54 give their lengths for each of the three tensors of the base.
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

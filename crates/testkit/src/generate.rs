//! Generates zTensor files in memory that tests and benchmarks open: files like those of real models, and files that
//! are expensive to open.

use fastrand::Rng;
use zten::{Archive, Error, OpenOptions, ReadAt};
use zten_corpus::base::{NONE, bare_object, component, dense_object, object, v1, zstd_component};
use zten_corpus::cbor::{Item, fields, keyed, nested as levels, push_head, push_text, text, uint};

/// A generated file of generation 1 of which only the manifest is in memory. Its data, which may be many gigabytes of
/// zeros, is not, so the file is good for opening only.
pub struct File {
    /// The bytes of the manifest.
    pub manifest: Vec<u8>,
    /// The number of bytes of the file before the manifest.
    pub data: u64,
    /// The number of objects, levels or keys, depending on what the file has many of.
    pub objects: u64,
}

impl File {
    /// Opens this generated file. Its manifest is read from memory, and its data is never read.
    ///
    /// # Errors
    /// The faults of the manifest.
    pub fn open(&self) -> Result<Archive<ManifestInMemory<'_>>, Error> {
        let length = self.manifest.len() as u64;
        OpenOptions::default().open_source(self.source(), self.data + length + 16)
    }

    /// Returns a source of the bytes of the file.
    pub fn source(&self) -> ManifestInMemory<'_> {
        ManifestInMemory { manifest: &self.manifest, start: self.data }
    }
}

/// The source of the bytes of a [`File`] of generation 1. Only the manifest is in memory; the magic and the footer
/// are computed, and all other bytes are zeros.
pub struct ManifestInMemory<'m> {
    manifest: &'m [u8],
    /// The offset of the manifest in the file.
    start: u64,
}

impl ReadAt for ManifestInMemory<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        const MAGIC: &[u8; 8] = b"ZTEN1000";
        let size = (self.manifest.len() as u64).to_le_bytes();
        let footer = self.start + self.manifest.len() as u64;
        // The data, which is not in memory, is zero.
        buffer.fill(0);
        let parts: [(u64, &[u8]); 4] =
            [(0, MAGIC), (self.start, self.manifest), (footer, &size), (footer + 8, MAGIC)];
        for (start, part) in parts {
            let (skipped, at) = (offset.saturating_sub(start), start.saturating_sub(offset));
            let [skipped, at] = [skipped, at].map(|number| usize::try_from(number).unwrap());
            let (from, to) = (part.get(skipped..), buffer.get_mut(at..));
            for (from, to) in from.unwrap_or_default().iter().zip(to.unwrap_or_default()) {
                *to = *from;
            }
        }
        Ok(())
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.manifest.get(start..start.checked_add(length)?)
    }

    fn is_immutable(&self) -> bool {
        true
    }
}

/// Returns `count` different names of tensors like those of a transformer model, such as
/// `model.layers.000000.mlp.up_proj.weight`.
pub fn names(count: usize) -> Vec<String> {
    const PARTS: [&str; 9] = [
        "input_layernorm.weight",
        "mlp.down_proj.weight",
        "mlp.gate_proj.weight",
        "mlp.up_proj.weight",
        "post_attention_layernorm.weight",
        "self_attn.k_proj.weight",
        "self_attn.o_proj.weight",
        "self_attn.q_proj.weight",
        "self_attn.v_proj.weight",
    ];
    let name = |i: usize| format!("model.layers.{:06}.{}", i / PARTS.len(), PARTS[i % PARTS.len()]);
    (0..count).map(name).collect()
}

/// Returns `items` in a shuffled order, which is the same in each run.
pub fn shuffled<T>(mut items: Vec<T>) -> Vec<T> {
    Rng::with_seed(1).shuffle(&mut items);
    items
}

/// Returns the bytes of a 1.2 manifest with `objects`, which are encoded one by one as the iterator returns them. The
/// CBOR map of the objects has an indefinite length if `indefinite`.
fn manifest<N: AsRef<str>>(
    objects: impl ExactSizeIterator<Item = (N, Item)>,
    indefinite: bool,
) -> Vec<u8> {
    let mut out = v1("1.2.0", NONE).take("").encode().bytes;
    // The encoded manifest ends with an empty map of objects, whose one byte is replaced.
    out.pop();
    if indefinite {
        out.push(0xbf);
    } else {
        push_head(&mut out, 5, objects.len() as u64);
    }
    for (name, object) in objects {
        push_text(&mut out, name.as_ref());
        out.extend(object.encode().bytes);
    }
    out.extend(indefinite.then_some(0xff));
    out
}

/// The size in bytes of the blob of each object of [`dense`]: 4,096 rows of 16 bf16 elements.
const BLOB: u64 = 4096 * 32;

/// Returns a 1.2 file of dense objects with `names`. If `digests`, each component has a digest. If `disorder`, the
/// blobs are in a shuffled order, and otherwise in the order of the objects.
pub fn dense(names: &[String], digests: bool, disorder: bool) -> File {
    let mut places: Vec<u64> = (0..names.len() as u64).collect();
    if disorder {
        Rng::with_seed(7).shuffle(&mut places);
    }
    placed(names, digests, &places)
}

/// Returns a 1.2 file of dense objects with `names`. The blob of each object lies at the index in `places`, counted
/// in blobs from the start of the data.
fn placed(names: &[String], digests: bool, places: &[u64]) -> File {
    let digest = text(&format!("sha256:{}", "0123456789abcdef".repeat(4)));
    let object = |(name, place): (&String, &u64)| {
        let mut data = component("bf16", 64 + place * BLOB, BLOB);
        if digests {
            data.pairs("").push((text("digest"), digest.clone()));
        }
        (name.clone(), dense_object(&[4096, 16], data))
    };
    let objects = names.len() as u64;
    let manifest = manifest(names.iter().zip(places).map(object), false);
    File { manifest, data: 64 + objects * BLOB, objects }
}

/// Returns a 1.2 file of `count` objects with the shortest possible CBOR. Each object has one component if
/// `has_component`, and otherwise none. The map of objects has an indefinite length if `indefinite`.
pub fn smallest(count: u32, has_component: bool, indefinite: bool) -> File {
    let parts = has_component.then(|| ("", component("u8", 0, 0)));
    let own = object(&[], "", parts);
    let objects = (0..count).map(|i| (short_name(i, count), own.clone()));
    File { manifest: manifest(objects, indefinite), data: 64, objects: count.into() }
}

/// Returns the short name of object number `i` of `count`. The names are not in sorted order, and distinct unless `count` is a
/// multiple of 7919.
fn short_name(i: u32, count: u32) -> String {
    let mut n = (u64::from(i) * 7919 + 13) % u64::from(count.max(1));
    let mut name = String::new();
    while n > 0 {
        name.push(char::from(b'0' + (n % 64) as u8));
        n /= 64;
    }
    name
}

/// Returns a file of `count` objects. The first is called `other`, and all others have the same name, which is an
/// error.
pub fn same_names(count: usize) -> File {
    let mut all = vec!["same".to_owned(); count];
    "other".clone_into(&mut all[0]);
    dense(&all, false, false)
}

/// Returns a file of `count` objects with different names, whose blobs are the same byte range of the file.
pub fn same_blobs(count: usize) -> File {
    placed(&names(count), false, &vec![1; count])
}

/// Returns a file whose manifest is a map of only the fields `pairs`. `objects` becomes [`File::objects`].
fn of_fields<const N: usize>(pairs: [(&str, Item); N], objects: u64) -> File {
    File { manifest: fields(pairs).encode().bytes, data: 64, objects }
}

/// Returns a file whose manifest has an unknown field `x` of `depth` nested arrays, which a reader skips.
pub fn nested(depth: usize) -> File {
    of_fields([("x", levels(depth, &[0x81], &[0], &[]))], depth as u64)
}

/// Returns twelve files, each with a short CBOR string, array or map that claims 2^60 bytes or entries, in an unknown
/// field, as the objects, or as the attributes.
pub fn claims() -> Vec<File> {
    let claim = |major: u8| [&[(major << 5) + 27][..], &(1_u64 << 60).to_be_bytes()].concat();
    let item = |major| Item::Raw([claim(major), vec![0; 1000]].concat());
    let file = |major, field| of_fields([("version", text("1.2")), (field, item(major))], 1);
    let kinds = [2, 3, 4, 5].into_iter();
    kinds.flat_map(|kind| ["x", "objects", "attributes"].map(|field| file(kind, field))).collect()
}

/// Returns a file of `maps` objects, each with a map of `count` attributes, whose keys are short and not sorted.
pub fn attributes(count: u32, maps: u32) -> File {
    let own = keyed((0..count).map(|key| (short_name(key, count), uint(0))));
    let mut object = bare_object();
    object.pairs("").insert(2, (text("attributes"), own));
    let objects = (0..maps).map(|i| (format!("object {i:08}"), object.clone()));
    let all = u64::from(count) * u64::from(maps);
    File { manifest: manifest(objects, false), data: 64, objects: all }
}

/// Returns a file of one object `w` of an unknown layout, whose only component is the zstd frame `frame`. If the decoded size in
/// bytes is `declared`, the file is of generation 1.2; if it is `None`, of generation 1.1, which does not require this field.
pub fn packed(frame: &[u8], declared: Option<u64>) -> Vec<u8> {
    let component = zstd_component("u8", 64, frame.len() as u64, declared.unwrap_or_default());
    let version = if declared.is_some() { "1.2.0" } else { "1.1.0" };
    let file =
        v1(version, vec![("w", object(&[], "x", vec![("data", component)]))]).blob(64, frame);
    let file = if declared.is_some() { file } else { file.without("w:data/uncompressed_length") };
    file.build("").bytes
}

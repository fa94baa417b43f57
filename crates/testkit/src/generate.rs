//! Files to open: realistic ones, and ones made to be expensive.

use fastrand::Rng;
use zten_corpus::base::{object, v1, zstd_component};
use zten_corpus::cbor::{push_head as head, push_text as text};

/// A file around a manifest, its data all zeros and not there: only for opening.
pub struct File {
    /// The magic.
    pub head: [u8; 8],
    /// The manifest.
    pub manifest: Vec<u8>,
    /// Bytes before it.
    pub data: u64,
    /// What it has many of.
    pub objects: u64,
}

impl File {
    fn v1(manifest: Vec<u8>, data: u64, objects: u64) -> Self {
        Self { head: *b"ZTEN1000", manifest, data, objects }
    }

    /// Opens it without I/O.
    ///
    /// # Errors
    /// What is wrong with the manifest.
    pub fn open(&self) -> Result<zten::Manifest<&[u8]>, zten::Error> {
        self.open_with(&zten::Options::default())
    }

    /// The same, with other options.
    ///
    /// # Errors
    /// What is wrong with the manifest.
    pub fn open_with(&self, options: &zten::Options) -> Result<zten::Manifest<&[u8]>, zten::Error> {
        let mut footer = (self.manifest.len() as u64).to_le_bytes().to_vec();
        if &self.head == b"ZTEN1000" {
            footer.extend(self.head);
        }
        let length = self.data + self.manifest.len() as u64 + footer.len() as u64;
        let opening = zten::open::Opening::new(length, options)?;
        let body = opening.header(&self.head)?.footer(&footer)?;
        Ok(body.manifest(self.manifest.as_slice())?)
    }
}

/// The names of a transformer's tensors, as many as asked for.
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

/// A 1.2 file of dense objects.
pub fn dense(names: &[String], digests: bool, disorder: bool) -> File {
    let mut out = Vec::new();
    head(&mut out, 5, 2);
    text(&mut out, "version");
    text(&mut out, "1.2.0");
    text(&mut out, "objects");
    head(&mut out, 5, names.len() as u64);
    let mut places: Vec<u64> = (0..names.len() as u64).collect();
    if disorder {
        Rng::with_seed(7).shuffle(&mut places);
    }
    for (name, place) in names.iter().zip(&places) {
        text(&mut out, name);
        head(&mut out, 5, 3);
        text(&mut out, "shape");
        head(&mut out, 4, 2);
        head(&mut out, 0, 4096);
        head(&mut out, 0, 16);
        text(&mut out, "format");
        text(&mut out, "dense");
        text(&mut out, "components");
        head(&mut out, 5, 1);
        text(&mut out, "data");
        head(&mut out, 5, if digests { 4 } else { 3 });
        text(&mut out, "dtype");
        text(&mut out, "bf16");
        text(&mut out, "offset");
        head(&mut out, 0, 64 + place * 4096 * 32);
        text(&mut out, "length");
        head(&mut out, 0, 4096 * 32);
        if digests {
            text(&mut out, "digest");
            text(&mut out, &format!("sha256:{}", "0123456789abcdef".repeat(4)));
        }
    }
    let data = 64 + names.len() as u64 * 4096 * 32;
    File::v1(out, data, names.len() as u64)
}

/// Objects as small as CBOR can spell them, with a component each or with none, in a map that
/// claims how many there are or does not.
pub fn smallest(count: u64, component: bool, indefinite: bool) -> File {
    let mut out = Vec::new();
    head(&mut out, 5, 2);
    text(&mut out, "version");
    text(&mut out, "1.2");
    text(&mut out, "objects");
    if indefinite {
        out.push(0xbf);
    } else {
        head(&mut out, 5, count);
    }
    for i in 0..count {
        text(&mut out, &short_name(i, count));
        head(&mut out, 5, 3);
        text(&mut out, "shape");
        head(&mut out, 4, 0);
        text(&mut out, "format");
        text(&mut out, "");
        text(&mut out, "components");
        head(&mut out, 5, u64::from(component));
        if component {
            text(&mut out, "");
            head(&mut out, 5, 3);
            text(&mut out, "dtype");
            text(&mut out, "u8");
            text(&mut out, "offset");
            head(&mut out, 0, 0);
            text(&mut out, "length");
            head(&mut out, 0, 0);
        }
    }
    if indefinite {
        out.push(0xff);
    }
    File::v1(out, 64, count)
}

/// Short names that are not sorted.
fn short_name(i: u64, count: u64) -> String {
    let mut n = (i * 7919 + 13) % count.max(1);
    let mut name = String::new();
    while n > 0 {
        name.push(char::from(b'0' + (n % 64) as u8));
        n /= 64;
    }
    name
}

/// Objects that share one name, but for the first.
pub fn same_names(count: usize) -> File {
    let mut all = vec!["same".to_owned(); count];
    "other".clone_into(&mut all[0]);
    dense(&all, false, false)
}

/// Objects whose blobs all lie at the same place.
pub fn same_blobs(count: usize) -> File {
    let mut file = dense(&names(count), false, true);
    // Every offset becomes the last: the digits of a CBOR integer of the same width.
    let wanted = (64 + 4096_u64 * 32).to_be_bytes();
    let key = b"foffset\x1a";
    let mut at = 0;
    while let Some(found) = file.manifest[at..].windows(key.len()).position(|w| w == key) {
        at += found + key.len();
        file.manifest[at..at + 4].copy_from_slice(&wanted[4..]);
    }
    file
}

/// Arrays in arrays, in an ignored field.
pub fn nested(depth: usize) -> File {
    let mut out = Vec::new();
    head(&mut out, 5, 1);
    text(&mut out, "x");
    out.extend(std::iter::repeat_n(0x81, depth));
    out.push(0);
    File::v1(out, 64, depth as u64)
}

/// A container of each kind that claims 2^60 entries.
pub fn claims() -> Vec<File> {
    let initial = |major: u8| (major << 5) + 27;
    let kinds = [2, 3, 4, 5].map(initial);
    let file = |initial: u8, field: &str| {
        let mut out = Vec::new();
        head(&mut out, 5, 2);
        text(&mut out, "version");
        text(&mut out, "1.2");
        text(&mut out, field);
        out.push(initial);
        out.extend((1_u64 << 60).to_be_bytes());
        out.extend([0; 1000]);
        File::v1(out, 64, 1)
    };
    kinds.iter().flat_map(|kind| ["x", "objects", "attributes"].map(|f| file(*kind, f))).collect()
}

/// One attribute map of `count` keys that are not sorted and differ in their last bytes only.
pub fn attributes(count: usize, maps: usize) -> File {
    let mut out = Vec::new();
    head(&mut out, 5, 2);
    text(&mut out, "version");
    text(&mut out, "1.2");
    text(&mut out, "objects");
    head(&mut out, 5, maps as u64);
    for i in 0..maps {
        text(&mut out, &format!("object {i:08}"));
        head(&mut out, 5, 4);
        text(&mut out, "shape");
        head(&mut out, 4, 0);
        text(&mut out, "format");
        text(&mut out, "x");
        text(&mut out, "attributes");
        head(&mut out, 5, count as u64);
        for key in 0..count {
            text(&mut out, &short_name(key as u64, count as u64));
            head(&mut out, 0, 0);
        }
        text(&mut out, "components");
        head(&mut out, 5, 0);
    }
    File::v1(out, 64, (count * maps) as u64)
}

/// A file of one object `w` of unknown format with one zstd component; with `declared`, of 1.2.
pub fn packed(frame: &[u8], declared: Option<u64>) -> Vec<u8> {
    let component = zstd_component("u8", 64, frame.len() as u64, declared.unwrap_or_default());
    let version = if declared.is_some() { "1.2.0" } else { "1.1.0" };
    let file =
        v1(version, vec![("w", object(&[], "x", vec![("data", component)]))]).blob(64, frame);
    let file = if declared.is_some() { file } else { file.without("w:data/uncompressed_length") };
    file.build("").bytes
}

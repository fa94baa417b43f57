//! Files of other formats than zTensor, generated from fuzzer input. Their lengths, offsets and checksums are
//! computed, because a fuzzer would never find them. Some of the files are then damaged.

use arbitrary::{Result, Unstructured};
use zten::formats::{Block, Format};
use zten_corpus::other::zip::{Archive, Member};
use zten_corpus::other::{gguf, npy, safetensors, torch};

use super::{Files, path};

/// Dtypes as NumPy spells them, each with the size of an element in bytes.
const TYPES: [(&str, usize); 9] = [
    ("|b1", 1),
    ("|u1", 1),
    ("<i2", 2),
    ("<f2", 2),
    (">f4", 4),
    ("<f8", 8),
    ("<c8", 8),
    ("|O", 8),
    ("|V2", 2),
];

/// Generates a file of `format`, and its sibling files. `choice` and `input` decide what is generated.
pub(super) fn files(format: Format, choice: u8, input: &[u8]) -> Files {
    let (header, data) = text(input);
    let mut u = Unstructured::new(input);
    let mut files = Files { path: path(format), file: Vec::new(), siblings: Vec::new() };
    match format {
        Format::Safetensors => files.file = safetensors::file(&header, data),
        Format::Index => (files.file, files.siblings) = index(input),
        Format::Npy => files.file = npy::versioned(1 + choice % 3, &header, data),
        Format::Npz => files.file = npz(&mut u).unwrap_or_default(),
        Format::Torch => files.file = checkpoint(&mut u).unwrap_or_default(),
        Format::Gguf => {
            let count = 1 + u16::from(choice % 2);
            let mut made = gguf_files(&mut u, count).unwrap_or_default().into_iter();
            files.file = made.next().unwrap_or_default();
            if let Some(second) = made.next() {
                files.path = "x-00001-of-00002.gguf";
                files.siblings.push(("x-00002-of-00002.gguf", second));
            }
        }
    }
    if matches!(format, Format::Npz | Format::Gguf | Format::Torch) {
        for _ in 0..u.int_in_range(0..=2).unwrap_or_default() {
            damage(&mut u, &mut files.file);
            files.siblings.iter_mut().for_each(|part| damage(&mut u, &mut part.1));
        }
    }
    files
}

/// Changes one byte of `file`, or leaves the file as it is.
fn damage(u: &mut Unstructured<'_>, file: &mut [u8]) {
    let (at, bits) = u.arbitrary::<(u16, u8)>().unwrap_or_default();
    let at = usize::from(at) % file.len().max(1);
    file.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= bits);
}

/// Generates an index and two safetensors files with the headers in `input`, each of which ends with a zero byte. The
/// byte after them says how many bytes of data the first file has.
fn index(input: &[u8]) -> (Vec<u8>, Vec<(&'static str, Vec<u8>)>) {
    let mut texts = input.splitn(4, |byte| *byte == 0);
    let mut next = || texts.next().unwrap_or_default();
    let (index, one, other) = (next(), next(), next());
    let (length, data) = next().split_first().unwrap_or((&0, &[]));
    let (of_one, of_other) = data.split_at(data.len().min(usize::from(*length)));
    let part = |header, data| safetensors::file(&String::from_utf8_lossy(header), data);
    let parts = [("a.safetensors", part(one, of_one)), ("b.safetensors", part(other, of_other))];
    (index.to_vec(), parts.into())
}

/// Splits `input` at its first zero byte. Returns the text before it, and the bytes after it.
fn text(input: &[u8]) -> (String, &[u8]) {
    let mut halves = input.splitn(2, |byte| *byte == 0);
    let text = String::from_utf8_lossy(halves.next().unwrap_or_default());
    (text.into(), halves.next().unwrap_or_default())
}

fn npz(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut members = Vec::new();
    for _ in 0..u.int_in_range(0..=3)? {
        let (name, content) = (format!("{}.npy", u.arbitrary::<char>()?), array(u)?);
        let member = if u.arbitrary()? { Member::deflated } else { Member::stored };
        let flags = if name.is_ascii() { 0 } else { 1 << 11 };
        members.push(Member { flags, ..member(&name, &content) });
    }
    Ok(Archive::new(&members).bytes())
}

/// Generates a NumPy file with an array of at most three dimensions.
fn array(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let (descr, width) = *u.choose(&TYPES)?;
    let shape = sizes(u, 0)?;
    let each: String = shape.iter().map(|dimension| dimension.to_string() + ",").collect();
    let data = bytes(u, shape.iter().product::<usize>() * width)?;
    Ok(npy::file(descr, u.arbitrary()?, &format!("({each})"), &data))
}

/// Generates the `count` files of a split GGUF model; with a `count` of 1, a single file.
fn gguf_files(u: &mut Unstructured<'_>, count: u16) -> Result<Vec<Vec<u8>>> {
    let mut files: Vec<Gguf> = (0..count).map(|_| gguf(u)).collect::<Result<_>>()?;
    let tensors = files.iter().map(|(_, infos, _)| infos.len() as u64).sum::<u64>();
    for (number, (pairs, ..)) in (0_u16..).zip(&mut files).filter(|_| count > 1) {
        pairs.push(gguf::pair("split.no", 2, &number.to_le_bytes()));
        pairs.push(gguf::pair("split.count", 2, &count.to_le_bytes()));
        pairs.push(gguf::pair("split.tensors.count", 10, &tensors.to_le_bytes()));
    }
    Ok(files.iter().map(|(pairs, infos, data)| gguf::file(pairs, infos, data)).collect())
}

/// The parts of a GGUF file: the encoded pairs of its metadata, the encoded descriptions of its tensors, and their
/// data.
type Gguf = (Vec<Vec<u8>>, Vec<Vec<u8>>, Vec<u8>);

fn gguf(u: &mut Unstructured<'_>) -> Result<Gguf> {
    let (mut pairs, mut infos, mut data) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..u.int_in_range(0..=3)? {
        let (key, kind) = (u.arbitrary::<char>()?.to_string(), u.int_in_range(0..=12)?);
        let value = match kind {
            8 => gguf::text(u.arbitrary::<char>()?.to_string()),
            9 => [&[0; 4][..], &3_u64.to_le_bytes(), &bytes(u, 3)?].concat(),
            10.. => bytes(u, 8)?,
            0 | 1 | 7 => bytes(u, 1)?,
            2 | 3 => bytes(u, 2)?,
            4..=6 => bytes(u, 4)?,
        };
        pairs.push(gguf::pair(&key, kind, &value));
    }
    for _ in 0..u.int_in_range(0..=3)? {
        let (name, kind) = (u.arbitrary::<char>()?.to_string(), u.int_in_range(0..=42)?);
        let (elements, width) = match (Block::by_number(kind), kind) {
            (Some(block), _) => (block.elements, block.bytes),
            (None, 24) => (1, 1),
            (None, 1 | 25 | 30) => (1, 2),
            (None, 27 | 28) => (1, 8),
            (None, _) => (1, 4),
        };
        let small = |size: u64| usize::try_from(size).expect("a block");
        let shape = sizes(u, 1)?;
        let blocks: usize = shape.iter().product();
        let mut dimensions: Vec<u64> = shape.iter().map(|dimension| *dimension as u64).collect();
        dimensions.iter_mut().take(1).for_each(|row| *row *= elements);
        infos.push(gguf::info(&name, &dimensions, kind, data.len() as u64));
        data.extend(bytes(u, blocks * small(width))?);
        data.resize(data.len().next_multiple_of(32), 0);
    }
    Ok((pairs, infos, data))
}

/// Generates a shape of `least` to 3 dimensions of size 0 to 3.
fn sizes(u: &mut Unstructured<'_>, least: usize) -> Result<Vec<usize>> {
    (0..u.int_in_range(least..=3)?).map(|_| u.int_in_range(0..=3)).collect()
}

/// Generates `length` bytes, the last of which are zeros.
fn bytes(u: &mut Unstructured<'_>, length: usize) -> Result<Vec<u8>> {
    let given = u.int_in_range(0..=8)?.min(length);
    let mut bytes = u.bytes(given.min(u.len()))?.to_vec();
    bytes.resize(length, 0);
    Ok(bytes)
}

/// Generates a PyTorch checkpoint: tensors in a few storages, and other values.
fn checkpoint(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    const CLASSES: [(&str, usize); 4] =
        [("ByteStorage", 1), ("BFloat16Storage", 2), ("BoolStorage", 1), ("LongStorage", 8)];
    let (mut storages, mut tensors) = (Vec::new(), Vec::new());
    for key in 0..u.int_in_range(0..=3)? {
        let (class, width) = *u.choose(&CLASSES)?;
        let (rows, columns) = (u.int_in_range(0..=4_u8)?, u.int_in_range(1..=4_u8)?);
        let (length, key) = (rows * columns, format!("{key}"));
        let storage = || torch::storage(class, &key, length);
        let whole = torch::tensor(storage(), 0, &[rows, columns], &[columns, 1]);
        tensors.push((u.choose(&["a", "b", "c", "d"])?.to_string() + &key, whole));
        if u.arbitrary()? {
            let (offset, size) = (u.int_in_range(0..=length)?, u.int_in_range(0..=length)?);
            let part = torch::tensor(storage(), offset, &[size], &[u.int_in_range(0..=2)?]);
            tensors.push((format!("part{key}"), part));
        }
        storages.push(vec![u.int_in_range(0..=1)?; usize::from(length) * width]);
    }
    let nested = [("n", torch::int(1)), ("t", torch::text("x")), ("raw", u.bytes(3)?.to_vec())];
    let count = u.int_in_range(0..=3)?;
    tensors.push(("nested".to_owned(), torch::dict(&nested[..count])));
    let tensors: Vec<_> = tensors.iter().map(|(name, value)| (&**name, value.clone())).collect();
    let storages: Vec<_> = storages.iter().map(Vec::as_slice).collect();
    Ok(torch::file(&torch::dict(&tensors), &storages))
}

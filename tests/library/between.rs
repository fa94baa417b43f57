//! Tests of copies between generations: a copy has all content of its source, or the copy is rejected with a rule that says why.

use std::collections::{BTreeMap, BTreeSet};

use zten::Generation::V2;
use zten::element::{LogicalType, StorageType};
use zten::manifest::ElementType;
use zten::write::{Copier, Level, NewObject, WriteOptions, Writer};
use zten::{Archive, Error, ErrorKind, Generation, OpenOptions, Tensor};
use zten_testkit::oracles::{Model, written};
use zten_testkit::sample::chance;
use zten_testkit::{accepted, accepted_v2, canonical, check, slice};

fn copy(file: &[u8], generation: Generation, level: Option<Level>) -> Result<Vec<u8>, Error> {
    let archive = Archive::from_bytes(file).unwrap();
    let mut copier = Copier::new(archive.manifest());
    if let Some(level) = level {
        copier = copier.compressed(level);
    }
    let settings = WriteOptions::default().generation(generation);
    copier.file(archive.manifest(), archive.source(), Vec::new(), &settings)
}

/// Returns the content of `file`, as texts under keys that are the same in all generations. Of attributes, it has only the keys,
/// and none of 0.1.
fn content(file: &[u8]) -> BTreeMap<String, Vec<String>> {
    let archive = Archive::from_bytes(file).unwrap();
    let mut content = BTreeMap::new();
    for object in archive.tensors() {
        let mut lines = vec![format!("{:?}", object.shape().to_vec())];
        lines.push(layout(&object).to_owned());
        if archive.generation() != Some(Generation::V0_1) {
            lines.extend(object.attributes().map(|(key, _)| key.to_owned()));
        }
        for part in object.components() {
            let bytes = if part.readable().is_ok() {
                let bytes = part.read().unwrap();
                let indices = matches!(part.role(), "indices" | "indptr" | "coords")
                    && object.layout() != zten::Layout::Unknown;
                if indices {
                    format!("{:?}", widened(&bytes, part.storage_type().unwrap()))
                } else {
                    format!("{:x?}", &*bytes)
                }
            } else {
                // The elements of an unknown type have no known meaning, so only the stored bytes are compared.
                format!("{:x?}", slice(file, part.extent().range()))
            };
            let element = if bytes.starts_with("wide") { "index" } else { part.type_name() };
            lines.push(format!("{} {element} {bytes}", part.role()));
        }
        lines[2..].sort();
        content.insert(object.name().to_owned(), lines);
    }
    content
}

#[derive(Debug)]
#[expect(non_camel_case_types, dead_code, reason = "it is shown")]
struct wide(Vec<u64>);

fn widened(bytes: &[u8], storage: StorageType) -> wide {
    let number = |bytes: &[u8]| {
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(all)
    };
    wide(bytes.chunks(storage.width().into()).map(number).collect())
}

fn layout<'a>(object: &Tensor<'a>) -> &'a str {
    match object.layout_name() {
        "sparse_csr" => "zt.sparse_csr/1",
        "sparse_coo" => "zt.sparse_coo/1",
        // The dense layout is called `dense` in each generation.
        name => name,
    }
}

/// Returns the copy of `file` in generation `to`, or a line with the rule that prevents the copy. A copy with compressed
/// components must have the same content, or be prevented by the same rule.
fn outcome(name: &str, file: &[u8], to: Generation) -> Result<Vec<u8>, String> {
    let levels = [None, Some(Level::default())];
    let [plain, packed] = levels.map(|level| copy(file, to, level));
    match (plain, packed) {
        (Ok(plain), Ok(packed)) => {
            let archive = Archive::from_bytes(&packed).unwrap();
            let mut parts = archive.tensors().flat_map(|object| object.components());
            if parts.all(|part| part.readable().is_ok()) {
                assert_eq!(content(&plain), content(&packed), "{name}");
            }
            assert_eq!(Archive::from_bytes(&plain).unwrap().generation(), Some(to));
            Ok(plain)
        }
        (Err(plain), Err(packed)) => {
            assert_eq!((plain.kind(), plain.rule()), (packed.kind(), packed.rule()), "{name}");
            let rule = plain.rule().unwrap_or_else(|| panic!("{name}: {plain}"));
            let reading = if is_inexpressible(&plain, to) { "" } else { "read " };
            Err(format!("{name} {reading}{rule}"))
        }
        other => panic!("{name}: {other:?}"),
    }
}

/// Returns whether `error` means that the file is valid, but cannot be written in generation `to`.
fn is_inexpressible(error: &Error, to: Generation) -> bool {
    match error.kind() {
        ErrorKind::Inexpressible(generation) => {
            assert_eq!(generation, to);
            // An error about an unsupported feature would mean that zten could not read the source.
            assert!(!error.is_unsupported(), "{error}");
            true
        }
        _ => false,
    }
}

/// Copies each file to generation `to`, and the copy to generation `back`, and returns a line for each file that cannot be
/// copied. Each copy must have the content of its source, except that the content of files of 0.1 is not compared.
fn rejected(
    files: impl Iterator<Item = zten_testkit::Accepted>,
    (to, back): (Generation, Generation),
) -> Vec<String> {
    let mut rejected = Vec::new();
    for file in files {
        match outcome(&file.name, &file.bytes, to) {
            Ok(copy) => {
                if file.opens_only.is_none() && to == V2 {
                    let verdict =
                        check(&copy, &OpenOptions::default()).map_err(|error| error.rule());
                    assert!(
                        matches!(
                            verdict,
                            Ok(()) | Err(Some("unsupported-format" | "unsupported-type"))
                        ),
                        "{}: {verdict:?}",
                        file.name
                    );
                }
                if Archive::from_bytes(&file.bytes).unwrap().generation() != Some(Generation::V0_1)
                {
                    assert_eq!(content(&copy), content(&file.bytes), "{}", file.name);
                }
                if let (V2, Ok(form)) = (to, canonical(&file.bytes)) {
                    assert_eq!(canonical(&copy), Ok(form), "{}", file.name);
                }
                let again = outcome(&file.name, &copy, back).unwrap();
                assert_eq!(content(&again), content(&copy), "{}", file.name);
            }
            Err(line) => rejected.push(line),
        }
    }
    rejected
}

/// The files of generation 2 whose content cannot be read, because of an unsupported feature or because their shards are not
/// opened, each with the rule of the error.
const UNREADABLE: [&str; 6] = [
    "frames-behind-an-encoding.zt read unsupported-encoding",
    "part-of-an-unknown-encoding.zt read unsupported-encoding",
    "part-with-an-unknown-digest.zt read unsupported-digest",
    "tied-in-a-shard.zt read unsupported-shard",
    "unsupported-encoding--v2.zt read unsupported-encoding",
    "unsupported-shard--v2.zt read unsupported-shard",
];

#[test]
#[cfg_attr(miri, ignore = "it needs the whole corpus")]
fn from_1_to_2_and_back() {
    let found = rejected(accepted(), (V2, Generation::V1_2));
    let mut reasons: BTreeSet<&str> =
        found.iter().filter_map(|line| line.split_once(' ')).map(|pair| pair.1).collect();
    for reason in [
        // Rules of generation 2 about names and attributes, which a copy of the file would break.
        "name-form",
        "duplicate-key",
        "cbor-tag",
        "cbor-value",
        "cbor-depth",
        "limit-depth",
        // Rules of generation 2 about objects that the copy of at least one file would break.
        "components-empty",
        "shape-overflow",
        "dense-roles",
        "csr-index-order",
        "coo-cell-repeated",
        "unsupported-format",
        "type-storage",
        // The reasons why zten cannot read the content of a source.
        "read unsupported-dtype",
        "read unsupported-encoding",
        "read unsupported-layout",
        "read unsupported-digest",
    ] {
        assert!(reasons.remove(reason), "nothing is rejected for {reason}");
    }
    assert_eq!(reasons, BTreeSet::new());
    for line in ["1.2.3/quantized_group.zt unsupported-format", "v12-extra-role.zt dense-roles"] {
        assert!(found.iter().any(|other| other == line), "{line}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "it needs the whole corpus")]
fn from_2_to_1_2_and_back() {
    let found = rejected(accepted_v2(), (Generation::V1_2, V2));
    let mut wanted = UNREADABLE.to_vec();
    // The file has 3 bytes of `f64`, which is no whole element, in a layout that zten does not know.
    wanted.insert(5, "unsupported-format--v2.zt whole-elements");
    assert_eq!(found, wanted);
}

#[test]
#[cfg_attr(miri, ignore = "it needs the whole corpus")]
fn from_2_to_2() {
    let found = rejected(accepted_v2(), (V2, V2));
    assert_eq!(found, UNREADABLE);
}

/// A `type` that is unknown in the source and known in the target is rejected, because the copy would give the elements a meaning
/// that they did not have. The types that only generation 2 knows survive a copy to 1.2 and back.
#[test]
fn unknown_types_get_no_meaning() {
    use LogicalType::{Complex64, F8E4M3Fn};
    use StorageType::{F32, U8};
    let (v1, v2) = (Generation::V1_2, V2);
    for (from, to, name, storage) in [
        (v1, v2, "bool", U8),
        (v1, v2, "bool", F32),
        (v1, v2, "f8_e8m0", F32),
        (v1, v2, "f4_e2m1", F32),
        (v2, v1, "u8", U8),
        (v2, v1, "f32", F32),
    ] {
        let element = ElementType::UnknownLogical(name, storage);
        let file = of_type(element, from);
        let archive = Archive::from_bytes(&file).unwrap();
        let part = archive.get("w").unwrap().component("data").unwrap();
        assert_eq!(part.element_type(), element);
        assert_eq!(content(&copy(&file, from, None).unwrap()), content(&file));
        for level in [None, Some(Level::default())] {
            let why = copy(&file, to, level).unwrap_err();
            assert!(is_inexpressible(&why, to), "{name} on {storage}: {why}");
            assert_eq!(why.rule(), Some("unsupported-type"), "{name}");
            assert_eq!(why.location(), part.location());
            let wanted = format!(
                "the file can be read, but not written: the `type` is unknown, and would get a \
                 meaning in {to} in tensor \"w\", component \"data\""
            );
            assert_eq!(why.to_string(), wanted);
        }
    }
    // 1.2 does not know these types of generation 2, but keeps their names, so that they survive a copy to 1.2 and back.
    for logical in [LogicalType::F8E8M0, LogicalType::F4E2M1] {
        let file = of_type(ElementType::UnknownLogical(logical.name(), U8), v1);
        let second = copy(&file, v2, None).unwrap();
        let archive = Archive::from_bytes(&second).unwrap();
        let part = archive.get("w").unwrap().component("data").unwrap();
        assert_eq!(part.element_type(), ElementType::Logical(logical));
        assert_eq!(content(&copy(&second, v1, None).unwrap()), content(&file));
    }
    // A type that neither generation knows, and a type that both know, stay what they are.
    for element in [
        ElementType::UnknownLogical("u8", F32),
        ElementType::UnknownLogical("Bool", U8),
        ElementType::UnknownLogical("f8_e4m3", U8),
        ElementType::Plain(StorageType::Bool),
        ElementType::Logical(F8E4M3Fn),
        ElementType::Logical(Complex64),
    ] {
        for (from, to) in [(v1, v2), (v2, v1)] {
            let file = of_type(element, from);
            assert_eq!(content(&copy(&file, to, None).unwrap()), content(&file));
        }
    }
}

/// Returns a file of `generation` with one object, `w`, of one element of type `element`.
fn of_type(element: ElementType<'_>, generation: Generation) -> Vec<u8> {
    let settings = WriteOptions::default().generation(generation);
    let mut writer = Writer::new(Vec::new(), &settings).unwrap();
    let ratio = if element == ElementType::Logical(LogicalType::Complex64) { 2 } else { 1 };
    let bytes = vec![1; ratio * usize::from(element.storage().unwrap().width())];
    writer.add_object(&NewObject::dense("w", &[1], element), &[("data", &bytes)]).unwrap();
    writer.finish().unwrap()
}

/// The number of random models: files with objects of every kind. Miri is slow, and checks only a few.
const MODELS: u64 = if cfg!(miri) { 5 } else { 6000 };

#[test]
fn random_models_survive_copies_to_every_generation() {
    let (mut copied, mut compared) = (0, 0);
    let mut rejected = BTreeMap::<String, u32>::new();
    for seed in 0..MODELS {
        let file = written(&Model::from_bytes(&chance(seed)));
        let level = (seed % 2 == 0).then(Level::default);
        match copy(&file, V2, level) {
            Ok(second) => {
                assert_eq!(Archive::from_bytes(&*second).unwrap().generation(), Some(V2));
                let verdict = check(&second, &OpenOptions::default()).map_err(|error| error.rule());
                let unknown = [Some("unsupported-format"), Some("unsupported-type")];
                assert!(verdict.is_ok() || unknown.contains(&verdict.unwrap_err()), "{seed}");
                let back = copy(&second, Generation::V1_2, level)
                    .unwrap_or_else(|error| panic!("{seed}: {error}"));
                if let Ok(wanted) = canonical(&file) {
                    assert!(canonical(&back) == Ok(wanted), "{seed}");
                    compared += 1;
                }
                copied += 1;
            }
            Err(why) => {
                assert!(is_inexpressible(&why, V2), "{seed}: {why}");
                *rejected.entry(why.rule().unwrap_or("").to_owned()).or_default() += 1;
            }
        }
    }
    println!("{copied} of {MODELS} copied, {compared} compared; {rejected:#?}");
    assert!(cfg!(miri) || copied > 100 && compared > 100, "{copied} {compared} {rejected:#?}");
}

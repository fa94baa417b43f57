//! Groups of tensors that become composite objects of zTensor, and the tensors that are restored from such objects.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use zten::conventions::{Composites, Convention, Restored};
use zten::write::{Copier, Encoded, NewComponent, NewObject, WriteOptions, Writer};
use zten::{Archive, DType, Error, ErrorKind, Generation, InMemory};

use crate::conventions::{self, Entry};

type Held = Archive<InMemory<Vec<u8>>>;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/conventions"))
}

/// Returns the files in `corpus/conventions` by the names of their cases.
fn cases() -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "safetensors"));
    let name = |path: &PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    files.map(|path| (name(&path), fs::read(path).unwrap())).collect()
}

/// Returns the copy of `archive` with composite objects, and the reasons of the groups that stay plain.
fn copy(archive: &Held, options: &WriteOptions, to: Generation) -> (Held, Vec<&'static str>) {
    let name = |ordinal| Some(archive.manifest().tensor_at(ordinal)?.name());
    let composites = Composites::find(archive, archive, to, &name).unwrap();
    let copier = Copier::new(archive.manifest()).joined(composites.objects());
    let bytes = copier.file(archive.manifest(), archive, Vec::new(), options).unwrap();
    let reasons = composites.plain().iter().map(|plain| plain.reason).collect();
    let copy = Archive::from_bytes(bytes).unwrap();
    copy.verify().unwrap();
    (copy, reasons)
}

/// The dtype, shape and content of a tensor.
type Plain = (DType, Vec<u64>, Vec<u8>);

/// Returns the tensors of `archive`, whose groups have not been joined.
fn plain(archive: &Held) -> BTreeMap<String, Plain> {
    let of = |tensor: zten::Tensor<'_>| {
        let data = tensor.component("data").unwrap().read().unwrap().to_vec();
        (tensor.name().to_owned(), (tensor.dtype(), tensor.shape().to_vec(), data))
    };
    archive.tensors().map(of).collect()
}

/// Returns the tensors that are restored from `archive`, or `None` if an object is not restored.
fn restored(archive: &Held) -> Option<Result<BTreeMap<String, Plain>, Error>> {
    let mut tensors = BTreeMap::new();
    for object in archive.tensors() {
        for original in object.originals(object.name()).unwrap()? {
            let mut verifier = zten::verify::Verifier::new(archive.manifest());
            let mut data = Vec::new();
            let read = original.read(archive, &mut verifier, &mut |bytes| {
                data.extend_from_slice(bytes);
                Ok(())
            });
            if let Err(error) = read {
                return Some(Err(error));
            }
            let form = (original.dtype(), original.shape().to_vec(), data);
            assert!(tensors.insert(original.name().to_owned(), form).is_none());
        }
    }
    Some(Ok(tensors))
}

/// Returns whether the case has a form in generation `to`, as the table in `docs/quantized.md` says for its convention.
fn has_form(case: &str, to: Generation) -> bool {
    let in_both = ["awq", "gptq-4", "gptq-8"];
    let in_2 = ["mxfp4", "gptq-2", "int8", "int8-zero-point"];
    let is_packed = ["packed-2", "packed-4", "packed-8"]
        .iter()
        .any(|own| case.strip_prefix(own).is_some_and(|end| end != "-g-idx"));
    in_both.contains(&case) || to == Generation::V2 && (in_2.contains(&case) || is_packed)
}

/// Each group either becomes an object whose values have the same bits, and from which the same tensors are restored, or stays as
/// it is with a reason. The same holds for a canonical copy, and for a compressed copy of a copy.
#[test]
fn composite_objects_keep_values_and_tensors() {
    let level = zten::write::Level::new(2).unwrap();
    for (case, file) in cases() {
        let archive = Archive::from_bytes(file).unwrap();
        let wanted = fs::read(folder().join(case.clone() + ".f32")).unwrap();
        for to in [Generation::V1_2, Generation::V2] {
            let options = WriteOptions::default().generation(to);
            let (own, reasons) = copy(&archive, &options, to);
            if !has_form(&case, to) {
                assert_eq!(plain(&own), plain(&archive), "{case} {to:?}");
                assert_eq!(reasons.len(), 1, "{case} {to:?}");
                continue;
            }
            assert_eq!((own.len(), reasons), (1, vec![]), "{case} {to:?}");
            let object = own.tensors().next().unwrap();
            let values = object.to_f32().unwrap();
            let values: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            assert!(values == wanted, "{case} {to:?}: other values");
            assert_eq!(restored(&own).unwrap().unwrap(), plain(&archive), "{case} {to:?}");
            // In a canonical file, the attributes are in another order, which must not change the restored tensors.
            let canonical = options.canonical();
            let (other, _) = copy(&archive, &canonical, to);
            assert_eq!(restored(&other).unwrap().unwrap(), plain(&archive), "{case} {to:?}");
            zten::OpenOptions::default().canonical().from_bytes(other.bytes()).unwrap();
            // A copy of the copy keeps the attributes from which the tensors are restored.
            let again = Copier::new(own.manifest()).compressed(level);
            let again = again.file(own.manifest(), &own, Vec::new(), &options).unwrap();
            let again = Archive::from_bytes(again).unwrap();
            assert_eq!(restored(&again).unwrap().unwrap(), plain(&archive), "{case} {to:?}");
        }
    }
}

fn file(tensors: &[Entry<'_>]) -> Held {
    Archive::from_bytes(conventions::file(tensors)).unwrap()
}

fn words(numbers: impl IntoIterator<Item = i32>) -> Vec<u8> {
    numbers.into_iter().flat_map(i32::to_le_bytes).collect()
}

/// Returns an archive of one GPTQ group: 64 inputs in groups of `size`, 8 outputs, and the order of rows `index`.
fn gptq(size: usize, index: Option<Vec<i32>>) -> Held {
    let groups = 64_usize.div_ceil(size);
    let mut tensors = vec![
        ("p.qweight", "I32", vec![8, 8], words((0..64).map(|at| at * 0x0123_4567))),
        ("p.qzeros", "I32", vec![groups, 1], vec![0xf7; groups * 4]),
        ("p.scales", "F16", vec![groups, 8], vec![0x3c; groups * 16]),
    ];
    if let Some(index) = index {
        tensors.push(("p.g_idx", "I32", vec![64], words(index)));
    }
    file(&tensors)
}

/// The order of rows that most programs write, 0, 0, …, 1, 1, …, follows from the group size, and is restored from
/// it. A group with any other order stays plain tensors.
#[test]
fn the_usual_order_is_restored() {
    let usual: Vec<i32> = (0..64).map(|row| row / 32).collect();
    let mut swapped = usual.clone();
    swapped.swap(31, 32);
    let mut negative = usual.clone();
    negative[0] = -1;
    for to in [Generation::V1_2, Generation::V2] {
        let options = WriteOptions::default().generation(to);
        for (index, holds) in
            [(usual.clone(), true), (swapped.clone(), false), (negative.clone(), false)]
        {
            let archive = gptq(32, Some(index));
            let (copy, reasons) = copy(&archive, &options, to);
            assert_eq!(reasons.is_empty(), holds, "{reasons:?}");
            let tensors = if holds { restored(&copy).unwrap().unwrap() } else { plain(&copy) };
            assert_eq!(tensors, plain(&archive));
        }
        // The last of the groups of 24 inputs is shorter than the other groups, which generation 2 does not allow.
        let archive = gptq(24, None);
        let (copy, _) = copy(&archive, &options, to);
        assert_eq!(copy.len() == 1, to == Generation::V1_2);
    }
}

/// Groups whose content no composite object could hold stay plain tensors.
#[test]
fn content_that_would_be_lost_stays_plain() {
    let packed = |rows: usize, columns: usize, zeros: u8, words_of_row: usize| {
        let (high, wide) = (i64::try_from(rows).unwrap(), i64::try_from(columns).unwrap());
        let shape = [high.to_le_bytes(), wide.to_le_bytes()].concat();
        file(&[
            ("p_packed", "I32", vec![rows, words_of_row], vec![0x5a; rows * words_of_row * 4]),
            ("p_scale", "F32", vec![rows, 1], words((0..rows).map(|_| 0x3f80_0000))),
            ("p_shape", "I64", vec![2], shape),
            ("p_zero_point", "I32", vec![1, 1], vec![1, 2, zeros, 0]),
        ])
    };
    let int8 = |shape: Vec<usize>, scales: Vec<usize>| {
        let (count, scale) = (shape.iter().product(), scales.iter().product::<usize>());
        file(&[("p", "I8", shape, vec![7; count]), ("p_scale", "F32", scales, vec![0; 4 * scale])])
    };
    for (archive, holds) in [
        // Five rows of zero points of 4 bits fill 20 bits of a word. In the second file, one of the other bits is set.
        (packed(5, 8, 3, 1), true),
        (packed(5, 8, 0x13, 1), false),
        // Rows of 4 codes would leave half of each word unused, so this group stays plain.
        (packed(5, 4, 3, 1), false),
        (int8(vec![3, 4], vec![3, 1]), true),
        (int8(vec![3, 4], vec![3]), true),
        (int8(vec![2, 3, 4], vec![2, 3, 2]), true),
        (int8(vec![1, 4], vec![]), true),
        (int8(vec![3, 4], vec![]), false),
    ] {
        let options = WriteOptions::default().generation(Generation::V2);
        let (copy, reasons) = copy(&archive, &options, Generation::V2);
        assert_eq!(
            reasons.is_empty(),
            holds,
            "{:?} {reasons:?}",
            archive.names().collect::<Vec<_>>()
        );
        let tensors = if holds { restored(&copy).unwrap().unwrap() } else { plain(&copy) };
        assert_eq!(tensors, plain(&archive));
    }
}

/// Only a group whose tensors are all written becomes an object. Its name follows from their new names.
#[test]
fn tensors_are_joined_only_if_their_new_names_form_a_group() {
    let archive = gptq(32, None);
    let find = |names: [Option<&'static str>; 3]| {
        let name = |ordinal: u32| names[usize::try_from(ordinal).unwrap()];
        Composites::find(&archive, &archive, Generation::V2, &name).unwrap()
    };
    let [qweight, qzeros, scales] = [Some("x.qweight"), Some("x.qzeros"), Some("x.scales")];
    let counts = |found: Composites| (found.forms().len(), found.plain().len());
    // The names are given in the order of the tensors in the file, which is the order of their data.
    let renamed = find([qweight, qzeros, scales]);
    assert_eq!(counts(renamed), (1, 0));
    assert_eq!(counts(find([qweight, qzeros, None])), (0, 1));
    assert_eq!(counts(find([Some("y.qweight"), qzeros, scales])), (0, 1));
    assert_eq!(counts(find([Some("codes"), qzeros, scales])), (0, 1));
    assert_eq!(counts(find([None; 3])), (0, 0));
}

/// Returns an archive with an object of `quantized_group` with 8 inputs and 8 outputs, whose attributes are
/// `attributes` and whose zero points are all `zeros`, the bits of an `f16`.
fn object(attributes: &serde_json::Value, zeros: u16) -> Held {
    let mut writer = Writer::new(Vec::new(), &WriteOptions::default()).unwrap();
    let components = [
        NewComponent::new("zeros", DType::F16, 8),
        NewComponent::new("scales", DType::F16, 8),
        NewComponent::new("packed_weight", DType::I32, 8),
    ];
    let attributes = Encoded::from_value(attributes).unwrap();
    let object = NewObject::custom("p.weight", &[8, 8], "quantized_group", &components);
    let mut out = writer.object(&object.attributes(&attributes)).unwrap();
    let parts = [
        ("zeros", zeros.to_le_bytes().repeat(8)),
        ("scales", vec![0; 16]),
        ("packed_weight", vec![9; 32]),
    ];
    for (role, bytes) in parts {
        out.write_part(role, &bytes).unwrap();
    }
    out.finish().unwrap();
    Archive::from_bytes(writer.finish().unwrap()).unwrap()
}

/// An object whose attributes contradict its components is not restored. Each of these objects differs from the valid object in one
/// way.
#[test]
fn objects_whose_attributes_contradict_them_are_not_restored() {
    let valid = serde_json::json!({
        "bits": 4, "group_size": 8, "packing": "8_per_i32", "zten.convention": "quant.gptq",
        "zten.tensors": {
            ".scales": ["f16", 1, 8], ".qzeros": ["i32", 1, 1], ".qweight": ["i32", 1, 8],
        },
    });
    let archive = object(&valid, 0x3c00);
    let tensors = restored(&archive).unwrap().unwrap();
    assert_eq!(tensors["p.qzeros"].2, [0; 4]);
    // GPTQ stores each zero point minus one, and so cannot store a zero point of 0.
    let error = restored(&object(&valid, 0)).unwrap().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Misuse(_)), "{error}");
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    for (pointer, value) in [
        ("/zten.convention", r#""quant.int8""#),
        ("/zten.convention", r#""quant.mxfp4""#),
        ("/zten.convention", r#""gptq""#),
        ("/zten.convention", "4"),
        ("/zten.tensors", "[]"),
        ("/zten.tensors", "{}"),
        ("/zten.tensors/.scales", r#"["f16",1,9]"#),
        ("/zten.tensors/.scales", r#"["f16",4294967296,4294967296,8]"#),
        ("/zten.tensors/.scales", r#"["f32",1,8]"#),
        ("/zten.tensors/.scales", r#"["half",1,8]"#),
        ("/zten.tensors/.scales", "8"),
        ("/zten.tensors/.scales", "[]"),
        ("/zten.tensors/.scales", r#"["f16",1,-8]"#),
        ("/zten.tensors/.qzeros", r#"["i32",2,1]"#),
        ("/zten.tensors/.qweight", r#"["i32",1,8,0]"#),
        ("/zten.tensors", r#"{".scales":["f16",8],".qweight":["i32",8]}"#),
        (
            "/zten.tensors",
            r#"{".scales":["f16",8],".qzeros":["i32",1],".qweight":["i32",8],".g_idx":["i32",9]}"#,
        ),
        (
            "/zten.tensors",
            r#"{".scales":["f16",8],".qzeros":["i32",1],".qweight":["i32",8],".bias":["i32",8]}"#,
        ),
    ] {
        let mut other = valid.clone();
        *other.pointer_mut(pointer).unwrap() = json(value);
        assert!(restored(&object(&other, 0x3c00)).is_none(), "{pointer} {value}");
    }
    // A tensor that is described twice would be written twice.
    let mut twice = valid.clone();
    twice["zten.tensors"][".g_idx"] = json(r#"["i32",8]"#);
    twice["zten.tensors"][".h_idx"] = json(r#"["i32",8]"#);
    let mut bytes = object(&twice, 0x3c00).bytes().to_vec();
    let at = bytes.windows(6).position(|bytes| bytes == b".h_idx").unwrap();
    bytes[at + 1] = b'g';
    assert!(restored(&Archive::from_bytes(bytes).unwrap()).is_none());
    // An explicit order of rows is restored if its length is the number of rows.
    let mut index = valid;
    index["zten.tensors"][".g_idx"] = json(r#"["i32",8]"#);
    let tensors = restored(&object(&index, 0x3c00)).unwrap().unwrap();
    assert_eq!(tensors["p.g_idx"].2, [0; 32]);
}

/// A composite object is replaced by its tensors, other objects stay, and a name that two arrays would get is found.
#[test]
fn objects_are_replaced_by_their_tensors() {
    let archive = gptq(32, None);
    let options = WriteOptions::default().generation(Generation::V2);
    let (copy, _) = copy(&archive, &options, Generation::V2);
    let composite = copy.tensor("p.weight").unwrap();
    let plain = archive.tensor("p.scales").unwrap();
    assert!(Restored::find([(plain, "p.scales")].into_iter()).unwrap().is_none());
    let restored = |names: [&str; 3]| {
        let objects = [plain, composite, composite];
        let found = Restored::find(objects.into_iter().zip(names)).unwrap().unwrap();
        let name = |at: usize| match found.original(at) {
            Some(original) => original.name().to_owned(),
            None => names[found.object(at).unwrap()].to_owned(),
        };
        let all: Vec<_> = (0..found.count()).map(name).collect();
        (all, found.repeated_name(|at| names[at]).unwrap().map(str::to_owned))
    };
    let (names, repeated) = restored(["x", "a.weight", "b"]);
    let wanted = ["x", "a.qzeros", "a.scales", "a.qweight", "b.qzeros", "b.scales", "b.qweight"];
    assert_eq!((names, repeated), (wanted.map(str::to_owned).into(), None));
    // `a` and `a.weight` have the same stem, so their tensors would get the same names.
    let (_, repeated) = restored(["x", "a.weight", "a"]);
    assert!(repeated.is_some_and(|name| name.starts_with("a.")));
    let (_, repeated) = restored(["a.scales", "a.weight", "b"]);
    assert_eq!(repeated.as_deref(), Some("a.scales"));
}

/// Every convention has a case in the corpus, so that the tests above cover the whole table of forms.
#[test]
fn every_convention_has_a_case() {
    let mut found: Vec<Convention> = Vec::new();
    for (_, file) in cases() {
        let archive = Archive::from_bytes(file).unwrap();
        let name = |ordinal| Some(archive.manifest().tensor_at(ordinal)?.name());
        let composites = Composites::find(&archive, &archive, Generation::V2, &name).unwrap();
        found.extend(composites.forms().map(|(convention, _)| convention));
        found.extend(composites.plain().iter().map(|plain| plain.convention));
    }
    for convention in Convention::ALL {
        assert!(found.contains(&convention), "{convention:?}");
    }
}

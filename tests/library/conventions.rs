//! Tests of quantized tensors that programs store as several tensors. `corpus/conventions/conventions.py` made the files and the
//! values.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::floats::parts_are_those_of_the_whole;
use zten::conventions::{Convention, QuantizedForm};
use zten::{Archive, InMemory, Limits, OpenOptions};
use zten_corpus::other::npy;
use zten_corpus::other::safetensors;
use zten_corpus::other::zip::{Archive as Zip, Member};

fn folder() -> PathBuf {
    std::env::var_os("ZTEN_CONVENTIONS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/conventions")),
        PathBuf::from,
    )
}

/// Returns the bytes of the file of each case, by the name of the case.
fn cases() -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "safetensors"));
    let case = |path: PathBuf| {
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap())
    };
    files.map(case).collect()
}

fn open(file: Vec<u8>) -> Archive<InMemory<Vec<u8>>> {
    Archive::from_bytes(file).unwrap().with_conventions().unwrap()
}

/// The values of each case are bit for bit those that the package that defines the convention computes.
#[test]
fn values_are_those_of_the_packages() {
    let mut conventions = BTreeMap::new();
    for (case, file) in cases() {
        let archive = open(file);
        let tensors: Vec<_> = archive.tensors().collect();
        let [tensor] = &tensors[..] else { panic!("{case}: {tensors:?}") };
        let form = QuantizedForm::of(tensor).unwrap();
        *conventions.entry(form.convention.layout()).or_insert(0) += 1;
        let wanted = fs::read(folder().join(case.clone() + ".f32")).unwrap();
        let wanted: Vec<f32> =
            wanted.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect();
        let values = tensor.to_f32().unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(values.len() as u64, tensor.element_count().unwrap(), "{case}");
        assert_eq!(values.len(), wanted.len(), "{case}");
        for (at, (value, wanted)) in values.iter().zip(&wanted).enumerate() {
            assert_eq!(value.to_bits(), wanted.to_bits(), "{case} [{at}]: {value} {wanted}");
        }
        parts_are_those_of_the_whole(tensor, &values);
    }
    assert_eq!(conventions.len(), Convention::ALL.len(), "{conventions:?}");
}

/// A tensor of a safetensors file: name, dtype, shape, content.
pub(crate) type Entry<'a> = (&'a str, &'a str, Vec<usize>, Vec<u8>);

/// Makes a safetensors file of `tensors`.
pub(crate) fn file(tensors: &[Entry<'_>]) -> Vec<u8> {
    let (mut entries, mut data) = (Vec::new(), Vec::new());
    for (name, dtype, shape, content) in tensors {
        let start = data.len();
        data.extend_from_slice(content);
        let end = data.len();
        entries.push(format!(
            r#""{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{start},{end}]}}"#
        ));
    }
    safetensors::file(&format!("{{{}}}", entries.join(",")), &data)
}

/// The name, dtype, width of an element in bytes, and shape of a tensor.
type Form<'a> = (&'a str, &'a str, usize, &'a [usize]);

/// Returns a safetensors file of tensors of zeros. If `state` gives a name and a content, a tensor with them is
/// added.
fn zeros(tensors: &[Form<'_>], state: Option<(&str, &str)>) -> Vec<u8> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for (name, dtype, width, shape) in tensors {
        let length = width * shape.iter().product::<usize>();
        entries.push((*name, *dtype, shape.to_vec(), vec![0; length]));
    }
    entries.extend(state.map(|(name, content)| (name, "U8", vec![content.len()], content.into())));
    file(&entries)
}

const GPTQ: [(&str, &str, usize, &[usize]); 3] = [
    ("p.qweight", "I32", 4, &[4, 8]),
    ("p.qzeros", "I32", 4, &[1, 1]),
    ("p.scales", "F16", 2, &[1, 8]),
];

/// If the tensors of two groups lead to the same name, the first group gets the name, and the tensors of the other group stay
/// plain.
#[test]
fn two_groups_never_get_the_same_name() {
    let blocks: [(&str, &str, usize, &[usize]); 2] =
        [("p.weight_blocks", "U8", 1, &[1, 16]), ("p.weight_scales", "U8", 1, &[1])];
    let archive = open(zeros(&[&GPTQ[..], &blocks].concat(), None));
    let names: Vec<_> = archive.names().collect();
    assert_eq!(names, ["p.weight", "p.weight_blocks", "p.weight_scales"]);
    // A plain tensor keeps its name even if a group would have the same one.
    let plain: (&str, &str, usize, &[usize]) = ("p.weight", "F32", 4, &[2]);
    let archive = open(zeros(&[&GPTQ[..], &[plain]].concat(), None));
    assert_eq!(archive.len(), 4);
}

/// The scales of NVFP4 have the dtype of FP8 elements, and may have scales themselves. A tensor still belongs to one group
/// only.
#[test]
fn a_tensor_is_in_one_group() {
    let tensors: [(&str, &str, usize, &[usize]); 4] = [
        ("p", "U8", 1, &[1, 8]),
        ("p_scale", "F8_E4M3", 1, &[1, 1]),
        ("p_scale_2", "F32", 4, &[]),
        ("p_scale_scale", "F32", 4, &[1, 1]),
    ];
    let names = |file: Vec<u8>| open(file).names().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(names(zeros(&tensors, None)), ["p", "p_scale_scale"]);
    assert_eq!(names(zeros(&tensors[..3], None)), ["p"]);
    assert_eq!(names(zeros(&[tensors[1], tensors[3]], None)), ["p_scale"]);
}

/// If a group would exceed a limit that its file does not exceed, the tensors of the group stay plain, and the file opens.
#[test]
fn limits_do_not_reject_files_with_groups() {
    let options = OpenOptions::default().limits(Limits::default().with_keys(2));
    let file = zeros(&GPTQ, None);
    let archive = options.from_bytes(&*file).unwrap().with_conventions().unwrap();
    assert_eq!(archive.len(), 3);
    let options = OpenOptions::default().limits(Limits::default().with_keys(3));
    let archive = options.from_bytes(&*file).unwrap().with_conventions().unwrap();
    assert_eq!(archive.len(), 1);
    // In a group of bitsandbytes, the shape of the quantized tensor is in the content of another tensor. If its rank is
    // more than 64, the four tensors stay plain.
    let file = |rank: usize| {
        let shape = vec![1; rank];
        let state = format!(r#"{{"blocksize":2,"shape":{shape:?}}}"#);
        let tensors: [(&str, &str, usize, &[usize]); 3] =
            [("p", "U8", 1, &[1]), ("p.absmax", "F32", 4, &[1]), ("p.quant_map", "F32", 4, &[16])];
        zeros(&tensors, Some(("p.quant_state.bitsandbytes__nf4", &state)))
    };
    assert_eq!(open(file(64)).len(), 1);
    assert_eq!(open(file(65)).len(), 4);
}

/// Tensors that are not stored in row-major order stay plain, because the order refers to their own shape and not to that of the
/// group.
#[test]
#[cfg(feature = "numpy")]
fn tensors_that_are_not_in_row_major_order_stay_plain() {
    for (is_fortran, count) in [("False", 1), ("True", 2)] {
        let array = |order: &str, shape: &str, data: &[u8]| {
            let header =
                format!("{{'descr': '|u1', 'fortran_order': {order}, 'shape': {shape}, }}\n");
            npy::versioned(1, &header, data)
        };
        let blocks = array(is_fortran, "(2, 1, 16)", &[0x21; 32]);
        let scales = array("False", "(2, 1)", &[127, 127]);
        let members =
            [Member::stored("p_blocks.npy", &blocks), Member::stored("p_scales.npy", &scales)];
        let archive = open(Zip::new(&members).bytes());
        assert_eq!(archive.len(), count, "{is_fortran}");
    }
}

/// Returns the little-endian bytes of `numbers`, for tensors of `i32` or `u32`.
fn words(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// A tensor that a group may have, in a form that zten does not know, leaves all tensors as they are: values that are computed
/// without it would be wrong.
#[test]
fn values_are_not_computed_without_a_tensor() {
    let int8: [Form<'_>; 2] = [("p", "I8", 1, &[2, 4]), ("p_scale", "F32", 4, &[2, 1])];
    let fp8: [Form<'_>; 2] = [("p", "F8_E4M3", 1, &[2, 4]), int8[1]];
    let bnb8: [Form<'_>; 2] = [("p.weight", "I8", 1, &[2, 3]), ("p.SCB", "F32", 4, &[2])];
    let forms: [(&[Form<'_>], Form<'_>, bool); 11] = [
        (&int8, ("p_zero_point", "I8", 1, &[2, 1]), true),
        (&int8, ("p_zero_point", "I8", 1, &[2]), false),
        (&int8, ("p_zero_point", "I32", 4, &[2, 1]), false),
        (&int8, ("p_g_idx", "I32", 4, &[4]), false),
        (&fp8, ("p_zero_point", "F8_E4M3", 1, &[2, 1]), false),
        (&fp8, ("p_g_idx", "I32", 4, &[4]), false),
        (&GPTQ, ("p.g_idx", "I32", 4, &[32]), true),
        (&GPTQ, ("p.g_idx", "I64", 8, &[32]), false),
        (&bnb8, ("p.weight_format", "U8", 1, &[]), true),
        (&bnb8, ("p.weight_format", "U8", 1, &[2]), false),
        (&bnb8, ("p.weight_format", "F32", 4, &[]), false),
    ];
    for (tensors, further, is_known) in forms {
        assert_eq!(open(zeros(tensors, None)).len(), 1, "{tensors:?}");
        let count = if is_known { 1 } else { tensors.len() + 1 };
        assert_eq!(open(zeros(&[tensors, &[further]].concat(), None)).len(), count, "{further:?}");
    }
    // These are groups of compressed-tensors. Each row of `dense` has 8 codes of 4 bits. Each row of `whole` has 64
    // codes of 3 bits, of which a word holds 10.
    let packed = |columns: u8, words: usize| -> [Entry<'static>; 3] {
        let shape = [[2, 0, 0, 0, 0, 0, 0, 0], [columns, 0, 0, 0, 0, 0, 0, 0]].concat();
        [
            ("p_packed", "I32", vec![2, words], vec![0; 8 * words]),
            ("p_scale", "F32", vec![2, 1], vec![0; 8]),
            ("p_shape", "I64", vec![2], shape),
        ]
    };
    let (dense, whole) = (packed(8, 1), packed(64, 7));
    let zero: Entry<'_> = ("p_zero_point", "I32", vec![1, 1], vec![0; 4]);
    let forms: [(&[Entry<'_>], Entry<'_>, bool); 4] = [
        (&dense, zero.clone(), true),
        (&dense, ("p_zero_point", "I8", vec![2, 1], vec![0; 2]), false),
        (&dense, ("p_g_idx", "I64", vec![8], vec![0; 64]), false),
        (&whole, zero, false),
    ];
    for (tensors, further, is_known) in forms {
        assert_eq!(open(file(tensors)).len(), 1, "{tensors:?}");
        let count = if is_known { 1 } else { tensors.len() + 1 };
        let what = format!("{further:?}");
        assert_eq!(open(file(&[tensors, &[further]].concat())).len(), count, "{what}");
    }
}

/// Old releases of bitsandbytes stored some weights in the order in which a GPU kernel reads them. zten computes no
/// values for such weights.
#[test]
fn weights_in_the_order_of_a_kernel_have_no_values() {
    for (format, is_usual) in [(0, true), (1, false), (2, false), (3, false)] {
        let archive = open(file(&[
            ("p.weight", "I8", vec![1, 2], vec![1, 2]),
            ("p.SCB", "F32", vec![1], 127_f32.to_le_bytes().into()),
            ("p.weight_format", "U8", vec![], vec![format]),
        ]));
        let values = archive.tensor("p.weight").unwrap().to_f32();
        assert_eq!(values.ok(), is_usual.then_some(vec![1.0, 2.0]), "{format}");
    }
}

/// An order of columns with -1 has not been set, as in compressed-tensors: the columns are in the order of their groups.
#[test]
fn an_order_that_has_not_been_set_is_ignored() {
    let values = |index: Option<Vec<i32>>| {
        let mut tensors: Vec<Entry<'_>> = vec![
            ("p_packed", "I32", vec![1, 2], words(&[0x7654_3210, 0x0fed_cba9])),
            ("p_scale", "F32", vec![1, 2], [1_f32, 0.5].map(f32::to_le_bytes).concat()),
            ("p_shape", "I32", vec![2], words(&[1, 16])),
        ];
        tensors.extend(index.map(|index| ("p_g_idx", "I32", vec![16], words(&index))));
        let archive = open(file(&tensors));
        let tensor = archive.tensor("p").unwrap();
        let values = tensor.to_f32().unwrap();
        parts_are_those_of_the_whole(&tensor, &values);
        values
    };
    let plain = values(None);
    assert_eq!((plain[0], plain[8], plain[15]), (-8.0, 0.5, -4.0));
    assert_eq!(values(Some(vec![-1; 16])), plain);
    let turned = [vec![1; 8], vec![0; 8]].concat();
    let other = values(Some(turned.clone()));
    assert_eq!((other[0], other[8]), (-4.0, 1.0));
    assert_eq!(values(Some([&turned[..15], &[-1]].concat())), plain);
}

/// A negative number in `g_idx` of GPTQ counts from the last group, and a number that is no group has no values.
#[test]
fn negative_groups_count_from_the_end() {
    let values = |index: &[i32]| {
        let archive = open(file(&[
            ("p.qweight", "I32", vec![4, 8], words(&[0x7654_3210; 32])),
            ("p.qzeros", "I32", vec![2, 1], words(&[0x7777_7777, 0x1111_1111])),
            ("p.scales", "F16", vec![2, 8], [[0, 0x3c].repeat(8), [0, 0x40].repeat(8)].concat()),
            ("p.g_idx", "I32", vec![32], words(index)),
        ]));
        let tensor = archive.tensor("p.weight").unwrap();
        let values = tensor.to_f32().unwrap();
        parts_are_those_of_the_whole(&tensor, &values);
        values
    };
    let mut index = [[0; 16], [1; 16]].concat();
    let wanted = values(&index);
    assert_eq!((wanted[0], wanted[16 * 8]), (-8.0, -4.0));
    assert_eq!(values(&[[-2; 16], [-1; 16]].concat()), wanted);
    (index[3], index[20]) = (2, -3);
    let values = values(&index);
    for (row, (values, wanted)) in values.chunks(8).zip(wanted.chunks(8)).enumerate() {
        let is_nan = values.iter().all(|value| value.is_nan());
        assert!(if matches!(row, 3 | 20) { is_nan } else { values == wanted }, "{row}");
    }
}

/// Tensors that known programs store in other forms have no note. The same tensors with one number more or less have
/// a note.
#[test]
fn other_forms_of_known_programs_have_no_note() {
    // vLLM saves 4-bit codes of 32 inputs and 32 outputs in the order of the kernel Marlin.
    let marlin = |words: usize| {
        file(&[
            ("p.qweight", "I32", vec![2, words], vec![0; 8 * words]),
            ("p.qzeros", "I32", vec![1, 4], vec![0; 16]),
            ("p.scales", "F16", vec![1, 32], vec![0; 64]),
        ])
    };
    // vLLM saves the transposes of weights whose rows have scales.
    let transposed = |scales: usize| {
        file(&[
            ("p", "F8_E4M3", vec![8, 20], vec![0; 160]),
            ("p_scale", "F32", vec![scales, 1], vec![0; 4 * scales]),
        ])
    };
    for (file, notes) in
        [(marlin(64), 0), (marlin(63), 1), (transposed(20), 0), (transposed(19), 1)]
    {
        let archive = Archive::from_bytes(file).unwrap();
        let report = zten::verify::check(&archive, &mut ());
        assert_eq!(report.notes().len(), notes);
        let count = archive.len();
        assert_eq!(archive.with_conventions().unwrap().len(), count);
    }
}

/// A check has the same verdict whether or not the tensors of a group were joined to one tensor of the archive.
#[test]
#[cfg(feature = "safetensors")]
fn a_check_of_groups_has_the_verdict_of_the_file() {
    let (mut rules, mut notes) = (0, 0);
    for folder in ["accept", "reject"] {
        let pattern =
            format!("{}/other/safetensors/{folder}/quant-*", zten_testkit::corpus().display());
        for path in glob::glob(&pattern).unwrap() {
            let path = path.unwrap();
            let file = zten::open(&path).unwrap();
            let plain = zten::verify::check(&file, &mut ());
            let rule = plain.fault().map(|fault| fault.error().rule());
            let wanted: Vec<_> = plain.notes().iter().map(|note| note.error().kind()).collect();
            let groups = zten::open(&path).unwrap().with_conventions().unwrap();
            let report = zten::verify::check(&groups, &mut ());
            let found = report.fault().map(|fault| fault.error().rule());
            assert_eq!(found, rule, "{}", path.display());
            let kinds: Vec<_> = report.notes().iter().map(|note| note.error().kind()).collect();
            assert_eq!(kinds, wanted, "{}", path.display());
            rules += usize::from(rule.is_some());
            notes += wanted.len();
        }
    }
    assert!(rules > 3 && notes > 3, "{rules} {notes}");
}

/// Damage in any tensor of a group is an error when the values of the group are read.
#[test]
#[cfg(feature = "numpy")]
fn checksums_of_all_tensors_are_verified() {
    let array = |descr: &str, shape: &str, data: &[u8]| {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        npy::versioned(1, &header, data)
    };
    let arrays = [
        ("p.weight.npy", array("|i1", "(1, 2)", b"WW")),
        ("p.SCB.npy", array("<f4", "(1,)", b"SSSS")),
        ("p.weight_format.npy", array("|u1", "()", b"\0")),
    ];
    let members: Vec<_> = arrays.iter().map(|(name, data)| Member::stored(name, data)).collect();
    let file = Zip::new(&members).bytes();
    let archive = open(file.clone());
    assert_eq!(archive.len(), 1);
    archive.tensor("p.weight").unwrap().to_f32().unwrap();
    for content in [&b"}\nWW"[..], b"}\nSSSS", b"}\n\0"] {
        let mut damaged = file.clone();
        let at = damaged.windows(content.len()).position(|bytes| bytes == content).unwrap();
        damaged[at + 2] ^= 1;
        let error = open(damaged).tensor("p.weight").unwrap().to_f32().unwrap_err();
        assert_eq!(error.rule(), Some("zip-crc"), "{content:?}");
    }
    // The codes, scales, zero points and row order of GPTQ, all in the only group of the file.
    let arrays = [
        ("p.qweight.npy", array("<i4", "(4, 8)", &[b'W'; 128])),
        ("p.qzeros.npy", array("<i4", "(1, 1)", b"ZZZZ")),
        ("p.scales.npy", array("<f2", "(1, 8)", &[b'S'; 16])),
        ("p.g_idx.npy", array("<i4", "(32,)", &[0; 128])),
    ];
    let members: Vec<_> = arrays.iter().map(|(name, data)| Member::stored(name, data)).collect();
    let file = Zip::new(&members).bytes();
    open(file.clone()).tensor("p.weight").unwrap().to_f32().unwrap();
    for content in [&b"\nWWWW"[..], b"\nZZZZ", b"\nSSSS", b"\n\0\0\0\0"] {
        let mut damaged = file.clone();
        let at = damaged.windows(content.len()).position(|bytes| bytes == content).unwrap();
        damaged[at + 1] ^= 1;
        let error = open(damaged).tensor("p.weight").unwrap().to_f32().unwrap_err();
        assert_eq!(error.rule(), Some("zip-crc"), "{content:?}");
    }
}

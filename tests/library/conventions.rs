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

/// Returns the bytes of the file of each case.
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

/// Makes a safetensors file of tensors of zeros: names, dtypes, widths of elements and shapes. `state` is the content of a tensor that
/// is added with this name.
fn zeros(tensors: &[(&str, &str, usize, &[usize])], state: Option<(&str, &str)>) -> Vec<u8> {
    let (mut entries, mut data) = (Vec::new(), Vec::new());
    let mut add = |name: &str, dtype: &str, shape: &[usize], content: &[u8]| {
        let start = data.len();
        data.extend_from_slice(content);
        let end = data.len();
        entries.push(format!(
            r#""{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{start},{end}]}}"#
        ));
    };
    for (name, dtype, width, shape) in tensors {
        add(name, dtype, shape, &vec![0; width * shape.iter().product::<usize>()]);
    }
    if let Some((name, content)) = state {
        add(name, "U8", &[content.len()], content.as_bytes());
    }
    safetensors::file(&format!("{{{}}}", entries.join(",")), &data)
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
    // For bitsandbytes, the rank of the quantized tensor is in the content of another tensor.
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
        ("p.weight_format.npy", array("|u1", "()", b"F")),
    ];
    let members: Vec<_> = arrays.iter().map(|(name, data)| Member::stored(name, data)).collect();
    let file = Zip::new(&members).bytes();
    let archive = open(file.clone());
    assert_eq!(archive.len(), 1);
    archive.tensor("p.weight").unwrap().to_f32().unwrap();
    for content in [&b"\nWW"[..], b"\nSSSS", b"\nF"] {
        let mut damaged = file.clone();
        let at = damaged.windows(content.len()).position(|bytes| bytes == content).unwrap();
        damaged[at + 1] ^= 1;
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

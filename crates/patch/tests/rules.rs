//! Tests of a patch that is written by hand, and of patches that break one rule each and keep all others.

use sha2::{Digest as _, Sha256};
use zten::verify::Verifier;
use zten::write::WriteOptions;
use zten::{Archive, DType, Generation, InMemory};
use zten_patch::{Chain, Model, Patch, PatchFailure, Settings, make};
use zten_report::sums::{Of, entries, identity, sum};
use zten_testkit::corpus;
use zten_testkit::oracles::{HandChange, HandPatch};

type File = Archive<InMemory<Vec<u8>>>;

const OLD: [f32; 3] = [1.0, 2.0, 3.0];
/// The elements of the new model. The second one is the next float after that of `OLD`, and the third one is another number.
const NEW: [f32; 3] = [1.0, 2.000_000_2, 0.5];

fn file(weights: &[f32]) -> File {
    let mut file = zten::Writer::to(Vec::new()).unwrap();
    file.add("w", &[3], weights).unwrap();
    file.add("n", &[1], &[true]).unwrap();
    Archive::from_bytes(file.finish().unwrap()).unwrap()
}

fn identity_of(file: &File) -> Vec<u8> {
    let mut verifier = Verifier::new(file.manifest());
    let mut all = Vec::new();
    for tensor in file.tensors() {
        all.extend(entries(&tensor, &sum(&mut verifier, &tensor, Of::Bytes).unwrap()));
    }
    all.sort_by(|one, other| one.key().cmp(&other.key()));
    identity(all).unwrap().to_vec()
}

fn digest(weights: &[f32]) -> Vec<u8> {
    let bytes: Vec<_> = weights.iter().flat_map(|weight| weight.to_le_bytes()).collect();
    Sha256::digest(bytes).to_vec()
}

/// Returns the number that encodes the change of the third element from 3.0 to 0.5, computed by the formula of `docs/patch.md`.
fn third() -> u32 {
    let position = |value: f32| {
        let bits = value.to_bits();
        if bits >> 31 == 1 { !bits } else { bits ^ (1 << 31) }
    };
    let down = position(OLD[2]) - position(NEW[2]);
    2 * down - 2
}

/// Returns a valid patch, written by hand, from a file with the elements `OLD` to a file with the elements `NEW`.
fn valid() -> HandPatch {
    let [a, b, c, d] = third().to_le_bytes();
    let streams: [(&str, &[u8]); 6] = [
        ("frames/0", &[4, 1, 0]),
        ("gaps/0", &[1, 0]),
        ("differences.0/0", &[1, a]),
        ("differences.1/0", &[0, b]),
        ("differences.2/0", &[0, c]),
        ("differences.3/0", &[0, d]),
    ];
    HandPatch {
        base: identity_of(&file(&OLD)),
        result: identity_of(&file(&NEW)),
        changed: vec![HandChange {
            name: "w".to_owned(),
            role: "data".to_owned(),
            kind: "f32[3]".to_owned(),
            base: digest(&OLD),
            result: digest(&NEW),
            lengths: vec![3, 2, 2, 2, 2, 2],
        }],
        tensors: streams.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect(),
        ..HandPatch::default()
    }
}

/// Applies the patch to the file of `base`, and returns the weights of the result, or the rule.
fn apply(patch: &HandPatch, base: &File) -> Result<Vec<f32>, String> {
    let bytes = Archive::from_bytes(patch.file()).unwrap();
    bytes.verify().unwrap();
    let rule = |error: &zten::Error| error.rule().unwrap_or_else(|| panic!("{error}")).to_owned();
    let base = Model::new(base.manifest(), base).unwrap();
    let patches = [Patch::open(bytes.manifest(), &bytes).map_err(|error| rule(&error))?];
    let written = Chain::new(&base, &patches)
        .and_then(|chain| chain.write_ztensor(Vec::new(), &WriteOptions::default()));
    let written = written.map_err(|failure| match &failure {
        PatchFailure::Old(error) | PatchFailure::Patch(0, error) => rule(error),
        other => panic!("{other}"),
    })?;
    let result = Archive::from_bytes(written).unwrap();
    result.verify().unwrap();
    Ok(result.tensor("w").unwrap().to_vec().unwrap())
}

fn model(file: &File) -> Model<'_> {
    Model::new(file.manifest(), file).unwrap()
}

/// Returns the bytes of the tensor `name` of `patch`, so that a test can change them.
fn bytes<'p>(patch: &'p mut HandPatch, name: &str) -> &'p mut Vec<u8> {
    &mut patch.tensors.iter_mut().find(|(own, _)| own == name).unwrap().1
}

#[test]
fn a_patch_that_follows_the_page_is_applied() {
    assert_eq!(apply(&valid(), &file(&OLD)), Ok(NEW.to_vec()));
    // The patch holds all bytes of the new frame instead of the changes of the old one.
    let mut patch = valid();
    let planes = (0..4).map(|byte| NEW.iter().map(|own| own.to_le_bytes()[byte]).collect());
    patch.tensors = vec![("frames/0".to_owned(), vec![255])];
    patch.tensors.extend(planes.enumerate().map(|(at, own)| (format!("values.{at}/0"), own)));
    patch.changed[0].lengths = vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 3, 3, 3];
    assert_eq!(apply(&patch, &file(&OLD)), Ok(NEW.to_vec()));
    // The tensors have this order even without the list.
    let patch = HandPatch { order: Some(vec![0, 1]), ..valid() };
    assert_eq!(apply(&patch, &file(&OLD)), Ok(NEW.to_vec()));
    let patch = HandPatch { order: Some(vec![1, 0]), ..valid() };
    assert_eq!(apply(&patch, &file(&OLD)), Ok(NEW.to_vec()));
}

/// A test case: a description of a fault, the rule that the fault breaks, and the change of a valid patch that causes the fault.
type Case = (&'static str, &'static str, fn(&mut HandPatch));

const CASES: &[Case] = &[
    ("an older generation", "patch-file", |own| own.generation = Generation::V1_2),
    ("another version", "patch-version", |own| own.version = 2),
    ("version 0", "patch-version", |own| own.version = 0),
    ("no version", "patch-record", |own| own.without = Some("version")),
    ("no base", "patch-record", |own| own.without = Some("base")),
    ("no result", "patch-record", |own| own.without = Some("result")),
    ("no format", "patch-record", |own| own.without = Some("format")),
    ("no changes", "patch-record", |own| own.without = Some("changed")),
    ("no removed tensors", "patch-record", |own| own.without = Some("removed")),
    ("no renamed tensors", "patch-record", |own| own.without = Some("renamed")),
    ("another key", "patch-record", |own| own.with = Some("versions")),
    ("another attribute", "patch-record", |own| own.attribute = Some("epoch")),
    ("attributes that are no map", "patch-record", |own| own.attribute = Some("attributes")),
    ("a short identity", "patch-record", |own| {
        own.base.pop();
    }),
    ("a long digest", "patch-record", |own| own.changed[0].result.push(0)),
    ("two changes of a component", "patch-record", |own| own.changed.push(own.changed[0].clone())),
    ("19 lengths", "patch-record", |own| own.changed[0].lengths.resize(19, 0)),
    ("a tensor removed twice", "patch-record", |own| {
        own.removed = vec!["n".to_owned(), "n".to_owned()];
    }),
    ("a tensor removed and renamed", "patch-record", |own| {
        own.removed.push("n".to_owned());
        own.renamed.push(["n".to_owned(), "m".to_owned()]);
    }),
    ("two tensors of one new name", "patch-record", |own| {
        own.renamed = vec![["n".to_owned(), "m".to_owned()], ["w".to_owned(), "m".to_owned()]];
    }),
    ("a changed tensor that is whole", "patch-record", |own| {
        own.tensors.push(("tensor/w".to_owned(), vec![1]));
    }),
    ("an order with a position twice", "patch-record", |own| own.order = Some(vec![0, 0])),
    // An order with too few positions breaks no rule on the record, because a base with fewer tensors could fit it. It
    // does not fit this base.
    ("an order that is short", "patch-base", |own| own.order = Some(vec![0])),
    ("an order of a tensor that is not there", "patch-record", |own| own.order = Some(vec![0, 2])),
    ("a tensor of no kind", "patch-stream", |own| own.tensors.push(("w".to_owned(), vec![1]))),
    ("a stream of no kind", "patch-stream", |own| {
        own.tensors.push(("values.8/0".to_owned(), vec![1]));
    }),
    ("another spelling of a number", "patch-stream", |own| {
        "frames/00".clone_into(&mut own.tensors[0].0);
    }),
    ("a chunk that is missing", "patch-stream", |own| "frames/1".clone_into(&mut own.tensors[0].0)),
    ("a chunk after one that is short", "patch-stream", |own| {
        own.tensors.push(("frames/1".to_owned(), vec![1]));
    }),
    ("an empty chunk", "patch-stream", |own| own.tensors.push(("values.0/0".to_owned(), vec![]))),
    ("a chunk that is too long", "patch-stream", |own| {
        own.tensors.push(("values.0/0".to_owned(), vec![0; (1 << 20) + 1]));
    }),
    ("a byte that no component has", "patch-stream", |own| bytes(own, "gaps/0").push(0)),
    ("a length that no stream has", "patch-stream", |own| own.changed[0].lengths[1] = 3),
    ("a length that overflows", "patch-stream", |own| own.changed[0].lengths[1] = u64::MAX),
    ("five bytes of differences", "patch-frame", |own| bytes(own, "frames/0")[0] = 5),
    ("a form that no frame has", "patch-frame", |own| bytes(own, "frames/0")[0] = 254),
    ("more changes than elements", "patch-frame", |own| bytes(own, "frames/0")[1] = 3),
    ("more changes than gaps", "patch-frame", |own| bytes(own, "frames/0")[1] = 2),
    ("fewer changes than gaps", "patch-frame", |own| bytes(own, "frames/0")[1] = 0),
    ("a gap beyond the last element", "patch-frame", |own| bytes(own, "gaps/0")[1] = 1),
    ("a gap far beyond the last element", "patch-frame", |own| bytes(own, "gaps/0")[0] = 254),
    ("a gap that is cut", "patch-frame", |own| bytes(own, "gaps/0")[1] = 255),
    ("a difference with all bits", "patch-frame", |own| {
        for at in 0..4 {
            bytes(own, &format!("differences.{at}/0"))[0] = 255;
        }
    }),
    ("frames that do not change, and changes", "patch-frame", |own| bytes(own, "frames/0")[0] = 0),
    ("frames after the last", "patch-frame", |own| {
        bytes(own, "frames/0").push(0);
        own.changed[0].lengths[0] = 4;
    }),
    ("a bool that becomes 2", "patch-frame", |own| {
        let n = HandChange {
            name: "n".to_owned(),
            kind: "bool[1]".to_owned(),
            base: Sha256::digest([1]).to_vec(),
            lengths: vec![3, 1, 1],
            ..own.changed[0].clone()
        };
        own.changed.push(n);
        bytes(own, "frames/0").extend([1, 0, 0]);
        bytes(own, "gaps/0").push(0);
        bytes(own, "differences.0/0").push(1);
    }),
    ("a change of a tensor that is not there", "patch-base", |own| {
        "v".clone_into(&mut own.changed[0].name);
    }),
    ("a change of a component that is not there", "patch-base", |own| {
        "values".clone_into(&mut own.changed[0].role);
    }),
    ("another type", "patch-base", |own| "u32[3]".clone_into(&mut own.changed[0].kind)),
    ("another shape", "patch-base", |own| "f32[3,1]".clone_into(&mut own.changed[0].kind)),
    ("a removed tensor that is not there", "patch-base", |own| own.removed.push("v".to_owned())),
    ("a renamed tensor that is not there", "patch-base", |own| {
        own.renamed.push(["v".to_owned(), "u".to_owned()]);
    }),
    ("a new name that is there", "patch-base", |own| {
        own.renamed.push(["n".to_owned(), "w".to_owned()]);
    }),
    ("the digest of another base, and another result", "patch-base", |own| {
        own.changed[0].base[0] ^= 1;
        own.changed[0].result[0] ^= 1;
    }),
    ("another digest of the result", "patch-result", |own| own.changed[0].result[0] ^= 1),
    ("another gap", "patch-result", |own| *bytes(own, "gaps/0") = vec![0, 0]),
    ("another difference", "patch-result", |own| bytes(own, "differences.0/0")[0] = 3),
];

#[test]
fn each_rule_is_broken_alone() {
    let base = file(&OLD);
    for (what, rule, break_it) in CASES {
        let mut patch = valid();
        break_it(&mut patch);
        assert_eq!(apply(&patch, &base), Err((*rule).to_owned()), "{what}");
    }
}

/// Files of 0.1 may store any byte but 0 for true. A file that zten writes stores 1 instead and so has another identity. So no
/// patch to such a file is made, and no patch whose result keeps such a bool is applied. A patch from such a file to one without
/// such bools is made.
#[test]
fn bools_other_than_0_and_1_have_no_patch() {
    let bytes = std::fs::read(corpus().join("accept/0.1.0/dense_all.zt")).unwrap();
    let file: File = Archive::from_bytes(bytes.clone()).unwrap();
    let bools = file.tensors().find(|own| own.dtype() == DType::Bool).unwrap();
    let offset = bools.component("data").unwrap().extent().offset();
    let mut bytes = bytes;
    bytes[usize::try_from(offset).unwrap()] = 2;
    let other: File = Archive::from_bytes(bytes).unwrap();
    let made =
        |old: &File, new: &File| make(&model(old), &model(new), Vec::new(), &Settings::default());
    made(&other, &file).unwrap();
    for old in [&file, &other] {
        let failed = made(old, &other);
        assert!(matches!(failed, Err(PatchFailure::Inexpressible(_))), "{failed:?}");
    }
    // A patch that changes nothing cannot be applied either, because the base has a bool that is 2.
    let identity = identity_of(&other);
    let patch = HandPatch { base: identity.clone(), result: identity, ..HandPatch::default() };
    let patch = Archive::from_bytes(patch.file()).unwrap();
    let base = model(&other);
    let patches = [Patch::open(patch.manifest(), &patch).unwrap()];
    let chain = Chain::new(&base, &patches).unwrap();
    let failed = chain.write_ztensor(Vec::new(), &WriteOptions::default());
    assert!(matches!(failed, Err(PatchFailure::Inexpressible(_))), "{failed:?}");
}

/// Checks that a description of changes that repeats an empty name a million times, at one byte each, takes no memory for each
/// repetition.
#[test]
fn repeated_names_take_no_memory() {
    let repeated = |own: &mut HandPatch, which: usize| match which {
        0 => own.removed = vec![String::new(); 1 << 20],
        _ => own.renamed = vec![[String::new(), String::new()]; 1 << 20],
    };
    for which in [0, 1] {
        let mut patch = valid();
        repeated(&mut patch, which);
        let bytes = Archive::from_bytes(patch.file()).unwrap();
        let mut opened = None;
        let heap = allocation_counter::measure(|| {
            opened = Some(Patch::open(bytes.manifest(), &bytes).map(drop));
        });
        let error = opened.unwrap().unwrap_err();
        assert_eq!(error.rule(), Some("patch-record"));
        assert!(heap.bytes_max < 64 << 10, "{} bytes", heap.bytes_max);
    }
}

#[test]
fn the_identity_covers_what_the_patch_does_not_name() {
    let mut patch = valid();
    patch.result[0] ^= 1;
    assert_eq!(apply(&patch, &file(&OLD)), Err("patch-result".to_owned()));
    patch.base[0] ^= 1;
    assert_eq!(apply(&patch, &file(&OLD)), Err("patch-base".to_owned()));
    // The base is the result of the patch, as if the patch had been applied already.
    assert_eq!(apply(&valid(), &file(&NEW)), Err("patch-base".to_owned()));
    // A zTensor file that is no patch cannot be opened as a patch.
    let other = file(&OLD);
    let error = Patch::open(other.manifest(), &other).unwrap_err();
    assert_eq!(error.rule(), Some("patch-file"));
}

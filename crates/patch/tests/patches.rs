//! Tests of making, applying and rejecting patches.

use std::io::Cursor;

use zten::formats::write::WrittenFormat;
use zten::write::{Encoded, Level, NewObject, WriteOptions, Writer};
use zten::{Archive, DType, Generation, InMemory, Limits, OpenOptions};
use zten_patch::{Chain, Model, Patch, PatchFailure, Settings, make, verify};

type File = Archive<InMemory<Vec<u8>>>;

/// A tensor of a test: its name, dtype, shape and bytes.
#[derive(Clone, Debug, PartialEq)]
struct Tensor {
    name: String,
    dtype: DType,
    shape: Vec<u64>,
    bytes: Vec<u8>,
}

fn tensor(name: &str, dtype: DType, shape: &[u64], random: &mut fastrand::Rng) -> Tensor {
    let bits = shape.iter().product::<u64>() * u64::from(dtype.bits().unwrap());
    let bytes = (0..bits.div_ceil(8)).map(|_| match dtype {
        DType::Bool => random.u8(..2),
        DType::F4E2M1 => random.u8(..) & 0x77,
        _ => random.u8(..),
    });
    let (name, shape) = (name.to_owned(), shape.to_vec());
    Tensor { name, dtype, shape, bytes: bytes.collect() }
}

fn file(tensors: &[Tensor], generation: Generation, attributes: &[(&str, &str)]) -> File {
    let options = WriteOptions::default().generation(generation);
    let mut writer = Writer::new(Vec::new(), &options).unwrap();
    if !attributes.is_empty() {
        let map: std::collections::BTreeMap<_, _> = attributes.iter().copied().collect();
        writer.attributes_encoded(&Encoded::from_value(&map).unwrap()).unwrap();
    }
    for Tensor { name, dtype, shape, bytes } in tensors {
        let mut out = writer.begin(name, shape, *dtype).unwrap();
        out.write_part("data", bytes).unwrap();
        out.finish().unwrap();
    }
    Archive::from_bytes(writer.finish().unwrap()).unwrap()
}

fn patch(old: &File, new: &File) -> File {
    let (old, new) = (model(old), model(new));
    let (bytes, _) = make(&old, &new, Vec::new(), &Settings::default()).unwrap();
    let patch = Archive::from_bytes(bytes).unwrap();
    patch.verify().unwrap();
    patch
}

fn model(file: &File) -> Model<'_> {
    Model::new(file.manifest(), file).unwrap()
}

fn opened(patch: &File) -> Patch<'_> {
    Patch::open(patch.manifest(), patch).unwrap()
}

/// Applies `patches` to `old`, and returns the result as a file of `format`.
fn apply(old: &File, patches: &[&File], format: WrittenFormat) -> Result<Vec<u8>, PatchFailure> {
    let base = model(old);
    let patches: Vec<_> = patches.iter().map(|own| opened(own)).collect();
    let chain = Chain::new(&base, &patches)?;
    let mut out = Cursor::new(Vec::new());
    chain.write(format, &mut out, &WriteOptions::default().generation(Generation::V2))?;
    Ok(out.into_inner())
}

/// Returns the tensors of a file, in the order of the file.
fn content(file: &File) -> Vec<(String, DType, Vec<u64>, Vec<u8>)> {
    let one = |tensor: zten::Tensor<'_>| {
        let mut bytes = Vec::new();
        for component in tensor.components() {
            let mut reader = component.reader().unwrap();
            while let Some(chunk) = reader.next_chunk().unwrap() {
                bytes.extend_from_slice(chunk);
            }
        }
        (tensor.name().to_owned(), tensor.dtype(), tensor.shape().to_vec(), bytes)
    };
    file.tensors().map(one).collect()
}

fn attributes(file: &File) -> Vec<(String, String)> {
    let one = |(key, item): (&str, zten::attributes::Item<'_>)| {
        (key.to_owned(), format!("{:?}", item.value()))
    };
    let mut all: Vec<_> = file.attributes().map(one).collect();
    all.sort();
    all
}

/// Changes elements of `tensor`, possibly none, in one of several ways, which `random` chooses.
fn change(tensor: &mut Tensor, random: &mut fastrand::Rng) {
    let width = usize::try_from(tensor.dtype.bits().unwrap().div_ceil(8)).unwrap();
    let count = tensor.bytes.len() / width;
    if count == 0 {
        return;
    }
    let one_in = [1, 3, 30, 1000, 100_000][random.usize(..5)];
    let kind = random.usize(..4);
    for at in 0..count {
        if random.usize(..one_in) > 0 {
            continue;
        }
        let element = &mut tensor.bytes[at * width..][..width];
        match (tensor.dtype, kind) {
            (DType::Bool, _) => element[0] ^= 1,
            (DType::F4E2M1, _) => element[0] = random.u8(..) & 0x77,
            // The lowest byte of the element is increased by one, and 255 becomes 0.
            (_, 0) => element[0] = element[0].wrapping_add(1),
            (_, 1) => element.fill(0),
            (_, 2) => element.fill(0xff),
            _ => element.iter_mut().for_each(|byte| *byte = random.u8(..)),
        }
    }
}

const DTYPES: &[DType] = &[
    DType::F64,
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::I64,
    DType::I32,
    DType::I16,
    DType::I8,
    DType::U64,
    DType::U32,
    DType::U16,
    DType::U8,
    DType::Bool,
    DType::F8E4M3Fn,
    DType::F8E5M2,
    DType::F8E4M3Fnuz,
    DType::F8E5M2Fnuz,
    DType::F8E8M0,
    DType::F4E2M1,
    DType::Complex64,
    DType::Complex128,
];

/// Makes a model of arbitrary tensors.
fn arbitrary(random: &mut fastrand::Rng) -> Vec<Tensor> {
    let mut tensors = Vec::new();
    for (at, dtype) in DTYPES.iter().enumerate() {
        let large = [0, 1, 2, 65_535, 65_536, 65_537, 140_000][random.usize(..7)];
        let shape = if random.bool() { vec![2, large / 2] } else { vec![large / 2 * 2] };
        tensors.push(tensor(&format!("t{at}"), *dtype, &shape, random));
    }
    tensors
}

/// Returns the successor of a model: some tensors change, are removed, added or renamed, or get another shape or position.
fn successor(old: &[Tensor], random: &mut fastrand::Rng) -> Vec<Tensor> {
    let mut tensors = old.to_vec();
    for (at, tensor) in tensors.iter_mut().enumerate() {
        match random.usize(..8) {
            0..4 => change(tensor, random),
            4 => tensor.name = format!("renamed {at} {}", random.u8(..)),
            5 => tensor.shape.push(1),
            _ => {}
        }
    }
    if random.bool() {
        tensors.swap_remove(random.usize(..tensors.len()));
        tensors.push(tensor(&format!("added {}", random.u64(..)), DType::F32, &[3, 5], random));
    }
    if random.bool() {
        random.shuffle(&mut tensors);
    }
    tensors
}

#[test]
fn applying_a_patch_gives_the_new_model() {
    let mut random = fastrand::Rng::with_seed(1);
    for round in 0..12 {
        let old = arbitrary(&mut random);
        let new = successor(&old, &mut random);
        let before = file(&old, Generation::V2, &[("epoch", "1"), ("kept", "yes")]);
        let after = file(&new, Generation::V2, [&[("epoch", "2")][..], &[]][round % 2]);
        let patch = patch(&before, &after);
        let result = apply(&before, &[&patch], WrittenFormat::ZTensor).unwrap();
        let result = Archive::from_bytes(result).unwrap();
        assert_eq!(content(&result), content(&after), "round {round}");
        assert_eq!(attributes(&result), attributes(&after), "round {round}");
        let verified = verify(&model(&before), &[opened(&patch)]).unwrap();
        assert_eq!(verified.result, opened(&patch).result());
        // The patch back leads to the identity that the patch was made of.
        let back = self::patch(&after, &before);
        assert_eq!(opened(&back).base(), opened(&patch).result());
        assert_eq!(opened(&back).result(), opened(&patch).base());
    }
}

#[test]
fn a_chain_is_applied_in_one_pass() {
    let mut random = fastrand::Rng::with_seed(2);
    let mut models = vec![arbitrary(&mut random)];
    for _ in 0..4 {
        models.push(successor(models.last().unwrap(), &mut random));
    }
    let files: Vec<_> = models.iter().map(|own| file(own, Generation::V2, &[])).collect();
    let patches: Vec<_> = files.windows(2).map(|two| patch(&two[0], &two[1])).collect();
    for end in 1..=patches.len() {
        let chain: Vec<_> = patches[..end].iter().collect();
        let result = apply(&files[0], &chain, WrittenFormat::ZTensor).unwrap();
        let result = Archive::from_bytes(result).unwrap();
        assert_eq!(content(&result), content(&files[end]), "{end} patches");
    }
    let skips = apply(&files[0], &[&patches[0], &patches[2]], WrittenFormat::ZTensor);
    let Err(PatchFailure::Patch(1, error)) = skips else { panic!("{skips:?}") };
    assert_eq!(error.rule(), Some("patch-base"), "{error}");
}

#[test]
fn other_bases_are_rejected() {
    let mut random = fastrand::Rng::with_seed(3);
    let old = [
        tensor("a", DType::BF16, &[70_000], &mut random),
        tensor("b", DType::F32, &[5], &mut random),
    ];
    let mut new = old.clone();
    new[0].bytes[140] ^= 1;
    let [before, after] = [&old, &new].map(|own| file(own, Generation::V2, &[]));
    let patch = patch(&before, &after);
    let rejected = |base: &[Tensor]| {
        let base = file(base, Generation::V1_2, &[]);
        for result in [
            apply(&base, &[&patch], WrittenFormat::ZTensor).map(drop),
            verify(&model(&base), &[opened(&patch)]).map(drop),
        ] {
            let Err(PatchFailure::Old(error)) = result else { panic!("{result:?}") };
            assert_eq!(error.rule(), Some("patch-base"), "{error}");
        }
        let Err(PatchFailure::Old(error)) = apply(&base, &[&patch], WrittenFormat::Safetensors)
        else {
            panic!("it is applied")
        };
        error.to_string()
    };
    assert!(rejected(&new).contains("was applied already"), "{}", rejected(&new));
    // Flips one bit: in an element that does not change, in an element that changes, and in a tensor that the patch does not name.
    for (at, byte) in [(0, 0), (0, 140), (0, 139_999), (1, 3)] {
        let mut other = old.clone();
        other[at].bytes[byte] ^= 4;
        rejected(&other);
    }
    let mut other = old.clone();
    other[0].dtype = DType::F16;
    assert!(rejected(&other).contains("the tensor is f16[70000]"), "{}", rejected(&other));
    other[0].name = "c".to_owned();
    rejected(&other);
    rejected(&old[..1]);
    let more = [&old[..], &[tensor("c", DType::U8, &[1], &mut random)]].concat();
    rejected(&more);
}

/// Returns a file of one sparse matrix of 4 rows and 4 columns, with `values` in its first row.
fn sparse(values: &[f32]) -> File {
    let nnz = u64::try_from(values.len()).unwrap();
    let [indptr, indices] = [vec![0, nnz, nnz, nnz, nnz], (0..nnz).collect()]
        .map(|all| all.iter().flat_map(|own| own.to_le_bytes()).collect::<Vec<_>>());
    let values: Vec<_> = values.iter().flat_map(|own| own.to_le_bytes()).collect();
    let options = WriteOptions::default().generation(Generation::V2);
    let mut writer = Writer::new(Vec::new(), &options).unwrap();
    let object = NewObject::sparse_csr("s", &[4, 4], DType::F32, nnz);
    let parts: [(&str, &[u8]); 3] =
        [("indptr", &indptr), ("values", &values), ("indices", &indices)];
    writer.add_object(&object, &parts).unwrap();
    Archive::from_bytes(writer.finish().unwrap()).unwrap()
}

/// Checks that the error blames the base, and not the patch, if a valid patch leads to impossible elements because it is applied to
/// another base.
#[test]
fn frames_that_do_not_fit_another_base_are_not_errors_of_the_patch() {
    let bools = |bytes: &[u8]| {
        let shape = vec![u64::try_from(bytes.len()).unwrap()];
        let (name, dtype, bytes) = ("b".to_owned(), DType::Bool, bytes.to_vec());
        file(&[Tensor { name, dtype, shape, bytes }], Generation::V2, &[])
    };
    let why = |base: &File, patch: &File| {
        let result = apply(base, &[patch], WrittenFormat::ZTensor);
        let Err(PatchFailure::Old(error)) = result else { panic!("{result:?}") };
        assert_eq!(error.rule(), Some("patch-base"), "{error}");
        error.to_string()
    };
    for (old, new) in [([0, 0, 1], [1, 0, 1]), ([1, 0, 1], [0, 0, 1])] {
        let (old, new) = (bools(&old), bools(&new));
        let made = patch(&old, &new);
        assert!(apply(&old, &[&made], WrittenFormat::ZTensor).is_ok());
        assert!(why(&new, &made).contains("was applied already"));
    }
    let made = patch(&bools(&[0, 0, 1]), &bools(&[1, 0, 1]));
    assert!(why(&bools(&[1, 1, 1]), &made).contains("not those that the patch was made of"));
    // The base `more` has three tensors, but the order of the patch has two.
    let old = [("a", 1), ("b", 2)].map(|(name, byte)| Tensor {
        name: name.to_owned(),
        dtype: DType::U8,
        shape: vec![1],
        bytes: vec![byte],
    });
    let [mut new, mut more] = [old.to_vec(), old.to_vec()];
    new.reverse();
    more.push(Tensor { name: "c".to_owned(), ..old[0].clone() });
    let [old, new, more] = [&old[..], &new, &more].map(|own| file(own, Generation::V1_2, &[]));
    let made = patch(&old, &new);
    assert!(apply(&old, &[&made], WrittenFormat::ZTensor).is_ok());
    assert!(why(&more, &made).contains("3 tensors"));
    // The type and shape of a sparse tensor do not say how many values it has.
    let made = patch(&sparse(&[1.0, 2.0]), &sparse(&[1.0, 3.0]));
    assert!(apply(&sparse(&[1.0, 2.0]), &[&made], WrittenFormat::ZTensor).is_ok());
    for other in [&[1.0][..], &[1.0, 2.0, 3.0], &[]] {
        why(&sparse(other), &made);
    }
}

/// The components of a base whose tensors have another order than the patch need chunks of streams again and again. The bytes of
/// all chunks that are read are limited.
#[test]
fn chunks_that_are_read_again_count_against_the_limit() {
    let mut random = fastrand::Rng::with_seed(9);
    let mut ordered = vec![tensor("big", DType::U8, &[1 << 20], &mut random)];
    ordered.extend((0..20).map(|at| tensor(&format!("t{at:02}"), DType::U8, &[8], &mut random)));
    let (even, odd): (Vec<_>, Vec<_>) =
        ordered[1..].iter().cloned().enumerate().partition(|(at, _)| at % 2 == 0);
    // The bytes of `big` fill the rest of the first chunk, and those of the tensors after it are in the second one.
    let mut apart: Vec<_> = even.into_iter().map(|(_, own)| own).collect();
    apart.push(ordered[0].clone());
    apart.extend(odd.into_iter().map(|(_, own)| own));
    let inverted = |all: &[Tensor]| -> Vec<_> {
        let invert = |own: &Tensor| Tensor {
            bytes: own.bytes.iter().map(|byte| !byte).collect(),
            ..own.clone()
        };
        all.iter().map(invert).collect()
    };
    let as_file = |all: &[Tensor]| file(all, Generation::V1_2, &[]);
    let made = patch(&as_file(&apart), &as_file(&inverted(&apart)));
    let apply = |base: &[Tensor], total: u64| {
        let limits = Limits::default().with_decoded_total(total);
        let options = OpenOptions::default().limits(limits);
        let made = options.from_bytes(made.bytes().to_vec()).unwrap();
        let base = as_file(base);
        let (base, patches) = (model(&base), [opened(&made)]);
        Chain::new(&base, &patches).unwrap().dry_run()
    };
    apply(&apart, 8 << 20).unwrap();
    let failed = apply(&ordered, 8 << 20);
    let Err(PatchFailure::Patch(0, error)) = failed else { panic!("{failed:?}") };
    assert_eq!(error.rule(), Some("limit-decoded-total"), "{error}");
    apply(&ordered, 64 << 20).unwrap();
}

/// Making a patch decodes each compressed component of both models, and all of these bytes together are limited, however many
/// components there are. A tensor that is read a second time does not count twice.
#[test]
fn decoded_bytes_of_both_models_count_against_the_limit() {
    const SIZE: u64 = 100_000;
    let compressed = |names: &[&str], byte: u8| {
        let options = WriteOptions::default().generation(Generation::V1_2);
        let mut writer = Writer::new(Vec::new(), &options).unwrap();
        for name in names {
            let object = NewObject::dense(name, &[SIZE], DType::U8).compressed(Level::default());
            let bytes = vec![byte; usize::try_from(SIZE).unwrap()];
            writer.add_object(&object, &[("data", &bytes)]).unwrap();
        }
        writer.finish().unwrap()
    };
    let made = |old: &[u8], new: &[u8], totals: [u64; 2]| {
        let open = |bytes: &[u8], total| {
            let limits = Limits::default().with_decoded_total(total);
            OpenOptions::default().limits(limits).from_bytes(bytes.to_vec()).unwrap()
        };
        let [old_total, new_total] = totals;
        let (old, new) = (open(old, old_total), open(new, new_total));
        make(&model(&old), &model(&new), Vec::new(), &Settings::default()).map(drop)
    };
    let old = compressed(&["a", "b", "c"], 1);
    for (case, new) in [
        ("equal", compressed(&["a", "b", "c"], 1)),
        ("changed", compressed(&["a", "b", "c"], 2)),
        ("renamed", compressed(&["d", "e", "f"], 1)),
        ("removed and added", compressed(&["d", "e", "f"], 2)),
    ] {
        made(&old, &new, [3 * SIZE; 2]).unwrap();
        for (totals, is_old) in
            [([3 * SIZE - 1, 3 * SIZE], true), ([3 * SIZE, 3 * SIZE - 1], false)]
        {
            let failed = made(&old, &new, totals);
            let error = match failed {
                Err(PatchFailure::Old(error)) if is_old => error,
                Err(PatchFailure::New(error)) if !is_old => error,
                other => panic!("{case}: {other:?}"),
            };
            assert_eq!(error.rule(), Some("limit-decoded-total"), "{case}: {error}");
        }
    }
}

#[test]
fn results_are_written_in_any_format() {
    let mut random = fastrand::Rng::with_seed(4);
    let old = [
        tensor("a", DType::F16, &[3, 70_000], &mut random),
        tensor("b", DType::I64, &[5], &mut random),
    ];
    let mut new = old.clone();
    change(&mut new[1], &mut random);
    new[0].bytes[5] ^= 1;
    let [before, after] = [&old, &new].map(|own| file(own, Generation::V1_2, &[("format", "pt")]));
    let safetensors = apply(&before, &[], WrittenFormat::Safetensors).unwrap();
    let safetensors = OpenOptions::default().from_bytes(safetensors).unwrap();
    for base in [&before, &safetensors] {
        let patch = patch(base, &after);
        for format in [WrittenFormat::ZTensor, WrittenFormat::Safetensors] {
            let result = apply(base, &[&patch], format).unwrap();
            let result = OpenOptions::default().from_bytes(result).unwrap();
            let mut found = content(&result);
            found.sort_by(|one, other| one.0.cmp(&other.0));
            assert_eq!(found, content(&after), "{format:?}");
            assert_eq!(attributes(&result), attributes(&after), "{format:?}");
        }
    }
}

/// Checks that applying a patch with one to three damaged bytes, or a patch that is also cut, gives the new model or an error, and
/// no other result.
#[test]
fn damaged_patches_give_the_result_or_an_error() {
    let mut random = fastrand::Rng::with_seed(5);
    let old = [
        tensor("a", DType::BF16, &[70_000], &mut random),
        tensor("b", DType::F32, &[70_000], &mut random),
    ];
    let mut new = old.clone();
    for _ in 0..500 {
        let at = random.usize(..140_000);
        new[0].bytes[at] ^= 1;
        new[1].bytes[at] = random.u8(..);
    }
    for tensor in &mut new {
        tensor.bytes[7] ^= 1;
    }
    let [before, after] = [&old, &new].map(|own| file(own, Generation::V2, &[]));
    let good = patch(&before, &after);
    let expected = content(&after);
    let (mut rejected, mut equal) = (0, 0);
    for round in 0..2000 {
        let mut bytes = good.bytes().to_vec();
        for _ in 0..=random.usize(..3) {
            let at = random.usize(..bytes.len());
            bytes[at] = random.u8(..);
        }
        if round % 10 == 0 {
            bytes.truncate(random.usize(..bytes.len()));
        }
        let Ok(damaged) = Archive::from_bytes(bytes) else { continue };
        let base = model(&before);
        let Ok(patch) = Patch::open(damaged.manifest(), &damaged) else { continue };
        let patches = [patch];
        let chain = Chain::new(&base, &patches);
        let result = chain.and_then(|own| own.write_ztensor(Vec::new(), &WriteOptions::default()));
        match result {
            Ok(bytes) => {
                assert_eq!(content(&Archive::from_bytes(bytes).unwrap()), expected);
                equal += 1;
            }
            Err(_) => rejected += 1,
        }
    }
    // Padding may have any value. Most of the file is padding, so some rounds damage nothing but padding.
    assert!(rejected > 20 && equal > 20, "{rejected} rejected, {equal} equal");
}

//! Tests of the writer: readers accept and find everything that it writes, and an invalid object is rejected before its bytes are
//! in the file.

use std::collections::BTreeMap;

use zten::element::StorageType;
use zten::manifest::ElementType;
use zten::write::{
    Checksum, ComponentData, Encoded, Level, NewComponent, NewObject, Sink, WriteOptions, Writer,
    canonical_order,
};
use zten::{
    Archive, DType, Element, Error, ErrorKind, Generation, Limits, OpenOptions, error::Misuse,
};
use zten_corpus::base::words;
use zten_testkit::{check, misuse};

fn writer(settings: &WriteOptions) -> Writer<Vec<u8>> {
    Writer::new(Vec::new(), settings).unwrap()
}

/// Writes `object` with the components `parts`, and returns the error, which the writer must have.
fn rejection(object: &NewObject<'_>, parts: &[(&str, &[u8])]) -> Error {
    writer(&WriteOptions::default()).add_object(object, parts).unwrap_err()
}

#[test]
fn bad_objects_are_rejected_before_a_byte_is_written() {
    let u8s = |role, count| NewComponent::new(role, DType::U8, count);
    let u64s = |role, count| NewComponent::new(role, DType::U64, count);
    // The lists of components are leaked, so that they live as long as the test.
    let cases: &[(&str, NewObject<'_>)] = &[
        ("shape-overflow", NewObject::dense("x", &[1 << 40, 1 << 40], DType::U8)),
        ("shape-overflow", NewObject::dense("x", &[1 << 61, 1], DType::F64)),
        ("dense-roles", NewObject::custom("x", &[1], "dense", vec![u8s("values", 1)].leak())),
        ("dense-size", NewObject::custom("x", &[2], "dense", vec![u8s("data", 3)].leak())),
        (
            "csr-rank",
            NewObject::custom(
                "x",
                &[2],
                "sparse_csr",
                vec![u8s("values", 0), u64s("indptr", 3), u64s("indices", 0)].leak(),
            ),
        ),
        (
            "index-dtype",
            NewObject::custom(
                "x",
                &[2, 2],
                "sparse_csr",
                vec![u8s("values", 0), u8s("indptr", 3), u64s("indices", 0)].leak(),
            ),
        ),
        (
            "csr-indptr-size",
            NewObject::custom(
                "x",
                &[2, 2],
                "sparse_csr",
                vec![u8s("values", 0), u64s("indptr", 2), u64s("indices", 0)].leak(),
            ),
        ),
        (
            "csr-nnz",
            NewObject::custom(
                "x",
                &[2, 2],
                "sparse_csr",
                vec![u8s("values", 1), u64s("indptr", 3), u64s("indices", 2)].leak(),
            ),
        ),
        (
            "coo-nnz",
            NewObject::custom(
                "x",
                &[2, 2],
                "sparse_coo",
                vec![u8s("values", 1), u64s("coords", 3)].leak(),
            ),
        ),
        (
            "quantized-zeros",
            NewObject::custom(
                "x",
                &[2, 2],
                "quantized_group",
                vec![u8s("packed_weight", 1), u8s("scales", 3)].leak(),
            ),
        ),
        (
            "duplicate-key",
            NewObject::custom("x", &[], "mine", vec![u8s("a", 1), u8s("a", 1)].leak()),
        ),
        ("limit-rank", NewObject::dense("x", &[1; 65], DType::U8)),
        ("unsupported-dtype", NewObject::dense("x", &[], ElementType::Unknown("f4"))),
        (
            "type-storage",
            NewObject::dense("x", &[], ElementType::UnknownLogical("complex64", StorageType::F64)),
        ),
    ];
    for (rule, object) in cases {
        let mut writer = writer(&WriteOptions::default());
        let error = writer.object(object).err().unwrap_or_else(|| panic!("{rule}: accepted"));
        assert_eq!(error.rule(), Some(*rule), "{error}");
        assert_eq!(error.location().object(), Some(0));
        // The writer continues as if the rejected object had never been passed.
        let valid = NewObject::dense("x", &[], DType::U8);
        writer.add_object(&valid, &[("data", &[1])]).unwrap();
        check(&writer.finish().unwrap(), &OpenOptions::default()).unwrap();
    }
    let many: Vec<String> = (0..4097).map(|n| n.to_string()).collect();
    let many: Vec<_> = many.iter().map(|role| u8s(role, 0)).collect();
    assert_eq!(
        rejection(&NewObject::custom("x", &[], "mine", &many), &[]).rule(),
        Some("limit-keys")
    );
}

#[test]
fn a_type_given_by_a_known_name_is_known() {
    let spelled = |name, storage| {
        let mut writer = writer(&WriteOptions::default().canonical());
        let element = ElementType::UnknownLogical(name, storage);
        let bytes = [0; 16];
        let bytes = &bytes[..if name == "complex64" { 8 } else { storage.width().into() }];
        writer.add_object(&NewObject::dense("x", &[1], element), &[("data", bytes)]).unwrap();
        let file = writer.finish().unwrap();
        check(&file, &OpenOptions::default().canonical()).unwrap();
        let archive = Archive::from_bytes(&file).unwrap();
        format!("{:?}", archive.tensor("x").unwrap().component("data").unwrap().element_type())
    };
    assert_eq!(spelled("f32", StorageType::F32), "Plain(F32)");
    assert_eq!(spelled("complex64", StorageType::F32), "Logical(Complex64)");
    assert_eq!(spelled("f32", StorageType::U8), "UnknownLogical(\"f32\", U8)");
    assert_eq!(spelled("f8_e4m3", StorageType::U8), "UnknownLogical(\"f8_e4m3\", U8)");
}

#[test]
fn bad_content_is_rejected() {
    let csr = NewObject::sparse_csr("x", &[2, 3], DType::U8, 2);
    let with = |indptr: &[u64], indices: &[u64]| {
        let parts =
            [("indptr", &words(indptr)[..]), ("values", &[1, 2]), ("indices", &words(indices))];
        rejection(&csr, &parts).rule().unwrap()
    };
    assert_eq!(with(&[1, 1, 2], &[0, 0]), "csr-indptr-start");
    assert_eq!(with(&[0, 2, 1], &[0, 0]), "csr-indptr-order");
    assert_eq!(with(&[0, 1, 1], &[0, 0]), "csr-indptr-end");
    assert_eq!(with(&[0, 1, 2], &[0, 3]), "index-range");
    let coo = NewObject::sparse_coo("x", &[2, 3], DType::U8, 1);
    assert_eq!(rejection(&coo, &[("coords", &words(&[2, 0]))]).rule(), Some("index-range"));
    assert_eq!(rejection(&coo, &[("coords", &words(&[1, 3]))]).rule(), Some("index-range"));
    let bools = NewObject::dense("x", &[3], DType::Bool);
    assert_eq!(rejection(&bools, &[("data", &[0, 1, 2])]).rule(), Some("bool-value"));
}

#[test]
fn components_must_have_their_length_and_order() {
    let four = NewObject::dense("x", &[4], DType::U8);
    // A component of another length than declared is rejected, even if that length is a divisor or a multiple of the
    // right one.
    for length in [0, 1, 2, 3, 5, 8] {
        let error = rejection(&four, &[("data", &vec![0; length])]);
        assert_eq!((error.tensor(), error.component()), (Some("x"), Some("data")));
        assert_eq!(misuse(error), Misuse::Length, "{length}");
    }
    let mut writer = writer(&WriteOptions::default());
    let mut out = writer.object(&four).unwrap();
    out.write_part("data", &[0; 3]).unwrap();
    assert_eq!(misuse(out.write_part("data", &[0; 2]).unwrap_err()), Misuse::Length);
    let mut writer = self::writer(&WriteOptions::default());
    let mut out = writer.object(&four).unwrap();
    assert_eq!(misuse(out.write_part("values", &[0; 4]).unwrap_err()), Misuse::Order);

    // A further call does not make the invalid object valid.
    let mut writer = self::writer(&WriteOptions::default());
    let bools = NewObject::dense("x", &[4], DType::Bool);
    let mut out = writer.object(&bools).unwrap();
    out.write_part("data", &[1, 0]).unwrap();
    assert!(out.write_part("data", &[2]).is_err());
    assert_eq!(misuse(out.write_part("data", &[1]).unwrap_err()), Misuse::Aborted);
    assert_eq!(misuse(out.finish().unwrap_err()), Misuse::Aborted);
    assert!(writer.finish().is_err());

    // An object that was begun and not ended never gets into a file.
    let mut writer = self::writer(&WriteOptions::default());
    drop(writer.object(&four).unwrap());
    assert_eq!(misuse(writer.object(&four).err().unwrap()), Misuse::Unfinished);
    assert_eq!(misuse(writer.finish().unwrap_err()), Misuse::Unfinished);
}

/// Returns the elements of `items` in each possible order.
fn orders<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let Some((first, rest)) = items.split_first() else { return vec![Vec::new()] };
    let places = |order: Vec<T>| {
        (0..=order.len()).map(move |at| {
            let mut order = order.clone();
            order.insert(at, first.clone());
            order
        })
    };
    orders(rest).into_iter().flat_map(places).collect()
}

/// Returns variants of `parts` that lack one part, repeat one part, or have a part of another role.
fn wrong_parts<T: Clone>(parts: &[(&'static str, T)]) -> Vec<Vec<(&'static str, T)>> {
    let mut wrong = Vec::new();
    for at in 0..parts.len() {
        let without = [&parts[..at], &parts[at + 1..]].concat();
        let (role, part) = parts[at].clone();
        for more in [role, "another", ""] {
            wrong.push([parts, &[(more, part.clone())]].concat());
        }
        for other in ["another", parts[(at + 1) % parts.len()].0] {
            wrong.push([&without[..], &[(other, part.clone())]].concat());
        }
        wrong.push(without);
    }
    wrong
}

/// A function that writes a tensor from its parts.
type Add<'a> = &'a dyn Fn(&mut Writer<Vec<u8>>, &[(&str, ComponentData<'_>)]) -> Result<(), Error>;

/// Checks that the parts of tensor `x` may come in any order, and that each part is required exactly once.
fn check_parts(
    settings: &WriteOptions,
    wanted: &[u8],
    parts: &[(&'static str, ComponentData<'_>)],
    add: Add<'_>,
) {
    for order in orders(parts) {
        let mut writer = writer(settings);
        add(&mut writer, &order).unwrap();
        assert_eq!(writer.finish().unwrap(), wanted);
    }
    let mut writer = writer(settings);
    for wrong in wrong_parts(parts) {
        let error = add(&mut writer, &wrong).unwrap_err();
        assert_eq!(error.tensor(), Some("x"));
        assert!(error.to_string().ends_with(" in tensor \"x\""), "{error}");
        assert_eq!(misuse(error), Misuse::Parts);
    }
    // The writer continues as if the rejected parts had never been passed.
    add(&mut writer, parts).unwrap();
    assert_eq!(writer.finish().unwrap(), wanted);
}

#[test]
fn parts_come_in_any_order_and_once() {
    let two = WriteOptions::default().generation(Generation::V2);
    for settings in [WriteOptions::default(), two, two.checksum(Checksum::None)] {
        let (indptr, values, indices) = ([0_u64, 1, 3], [1_u8, 2, 3], [8_u64, 0, 4]);
        let of_csr: [(&'static str, ComponentData<'_>); 3] = [
            ("indptr", (&indptr).into()),
            ("values", (&values).into()),
            ("indices", (&indices).into()),
        ];
        let (coords, halves) = ([3_u64, 4, 5], [1_i16]);
        let of_coo: [(&'static str, ComponentData<'_>); 2] =
            [("coords", (&coords).into()), ("values", (&halves).into())];
        let written = |object: &NewObject<'_>, parts: &[(&str, &[u8])]| {
            let mut writer = writer(&settings);
            writer.add_object(object, parts).unwrap();
            writer.finish().unwrap()
        };
        let csr = NewObject::sparse_csr("x", &[2, 9], DType::U8, 3);
        let bytes = [words(&indptr), words(&indices)];
        let parts = [("indptr", &bytes[0][..]), ("values", &values), ("indices", &bytes[1])];
        let file = written(&csr, &parts);
        check_parts(&settings, &file, &of_csr, &|writer, parts| {
            writer.add_csr("x", &[2, 9], parts)
        });
        assert!(orders(&parts).iter().all(|parts| written(&csr, parts) == file));
        let archive = Archive::from_bytes(&file).unwrap();
        let entries = archive.tensor("x").unwrap().csr().unwrap();
        let entries: Vec<_> = entries.entries::<u8>().unwrap().collect();
        assert_eq!(entries, [(0, 8, 1), (1, 0, 2), (1, 4, 3)]);

        let coo = NewObject::sparse_coo("x", &[4, 5, 6], DType::I16, 1);
        let file = written(&coo, &[("values", &[1, 0]), ("coords", &words(&coords))]);
        check_parts(&settings, &file, &of_coo, &|writer, parts| {
            writer.add_coo("x", &[4, 5, 6], parts)
        });
        check(&file, &OpenOptions::default()).unwrap();
    }
}

#[test]
fn quantized_parts_come_in_any_order_and_once() {
    let attributes = BTreeMap::from([("bits", 4_u8), ("group_size", 16)]);
    let (zeros, scales, packed) = ([half::f16::ONE], [half::f16::ONE], [7_i32, -1]);
    let parts: [(&'static str, ComponentData<'_>); 3] = [
        ("scales", (&scales).into()),
        ("packed_weight", (&packed).into()),
        ("zeros", (&zeros).into()),
    ];
    let settings = WriteOptions::default();
    let encoded = Encoded::from_value(&attributes).unwrap();
    let object = [(DType::I32, 2), (DType::F16, 1), (DType::F16, 1)];
    let object = NewObject::quantized_group("x", &[16, 1], object).attributes(&encoded);
    let mut alone = writer(&settings);
    let of_packed = [7, 0, 0, 0, 255, 255, 255, 255];
    let bytes: [(&str, &[u8]); 3] =
        [("zeros", &[0, 0x3c]), ("scales", &[0, 0x3c]), ("packed_weight", &of_packed)];
    alone.add_object(&object, &bytes).unwrap();
    let file = alone.finish().unwrap();
    check_parts(&settings, &file, &parts, &|writer, parts| {
        writer.add_quantized("x", &[16, 1], &attributes, parts)
    });
    check(&file, &OpenOptions::default()).unwrap();
    // Generation 2 does not have the layout of quantized groups.
    let mut two = writer(&settings.generation(Generation::V2));
    let error = two.add_quantized("x", &[16, 1], &attributes, &parts).unwrap_err();
    assert_eq!((error.rule(), error.tensor()), (Some("unsupported-format"), Some("x")));
}

/// A declared object needs each part exactly once, with the right bytes, except that a part without bytes may be left out.
/// Otherwise the writer does not finish.
#[test]
fn a_declared_object_needs_each_part_exactly_once() {
    let parts = ["a", "b", "none"]
        .map(|role| NewComponent::new(role, DType::U8, if role == "none" { 0 } else { 2 }));
    let object = NewObject::custom("x", &[], "mine", &parts);
    let with = |parts: &[(&str, &[u8])]| {
        let mut writer = writer(&WriteOptions::default());
        let added = writer.add_object(&object, parts);
        let finished = writer.finish();
        assert_eq!(added.is_ok(), finished.is_ok());
        added.map(|()| finished.unwrap())
    };
    let good: [(&str, &[u8]); 3] = [("a", &[1, 2]), ("b", &[3, 4]), ("none", &[])];
    let file = with(&good).unwrap();
    assert!(orders(&good).iter().all(|order| with(order) == Ok(file.clone())));
    assert_eq!(with(&good[..2]), Ok(file));
    let lists = wrong_parts(&good[..2]).into_iter();
    let empty = [("none", &[1][..]), ("another", &[])].map(|more| [&good[..2], &[more]].concat());
    let twice = [("none", &[][..]), ("a", &[])].map(|more| [&good[..], &[more]].concat());
    for wrong in lists.chain(empty).chain(twice) {
        let error = with(&wrong).unwrap_err();
        assert_eq!(error.tensor(), Some("x"), "{wrong:?}");
        assert_eq!(misuse(error), Misuse::Parts, "{wrong:?}");
    }
}

/// Writes the elements `own` as a tensor `name` of one dimension.
fn elements<T: Element>(writer: &mut Writer<Vec<u8>>, name: &str, own: &[T]) {
    writer.add(name, &[own.len() as u64], own).unwrap();
}

#[test]
fn elements_are_written_at_once() {
    use half::{bf16, f16};
    use zten::element::{Complex, F8E4M3Fn, F8E5M2};

    for generation in [Generation::V1_2, Generation::V2] {
        let mut writer = writer(&WriteOptions::default().generation(generation));
        elements(&mut writer, "f64", &[1.5_f64, -2.0]);
        elements(&mut writer, "f32", &[1.5_f32, -2.0]);
        elements(&mut writer, "f16", &[f16::ONE, f16::NEG_ONE]);
        elements(&mut writer, "bf16", &[bf16::ONE, bf16::NEG_ONE]);
        elements(&mut writer, "i64", &[i64::MIN, -1]);
        elements(&mut writer, "u32", &[u32::MAX, 1]);
        elements(&mut writer, "bool", &[true, false, true]);
        elements(&mut writer, "complex64", &[Complex { re: 1.0_f32, im: -1.0 }]);
        elements(&mut writer, "f8_e4m3fn", &[F8E4M3Fn::from_bits(0x38)]);
        elements(&mut writer, "f8_e5m2", &[F8E5M2::from_bits(0x3c)]);
        elements(&mut writer, "u8", &[0_u8; 0]);
        // Also added are a scalar, elements in a `Vec`, and bytes with an explicit dtype.
        writer.add("scalar", &[], &[7_u8]).unwrap();
        writer.add("vector", &[2, 2], &vec![1_i8, 2, 3, 4]).unwrap();
        writer
            .add("bytes", &[1, 2], ComponentData::of_bytes(DType::I16, &[1, 0, 255, 255]))
            .unwrap();
        let file = writer.finish().unwrap();
        check(&file, &OpenOptions::default()).unwrap();
        let archive = Archive::from_bytes(&file).unwrap();
        assert_eq!((archive.len(), archive.generation()), (14, Some(generation)));
        for tensor in &archive {
            let own = ["scalar", "vector", "bytes"].contains(&tensor.name());
            assert!(own || tensor.dtype().name() == tensor.name(), "{tensor:?}");
        }
        let tensor = |name: &str| archive.tensor(name).unwrap();
        assert_eq!(tensor("f64").to_vec::<f64>(), Ok(vec![1.5, -2.0]));
        assert_eq!(tensor("f32").to_vec::<f32>(), Ok(vec![1.5, -2.0]));
        assert_eq!(tensor("f16").to_vec::<f16>(), Ok(vec![f16::ONE, f16::NEG_ONE]));
        assert_eq!(tensor("bf16").to_vec::<bf16>(), Ok(vec![bf16::ONE, bf16::NEG_ONE]));
        assert_eq!(tensor("i64").to_vec::<i64>(), Ok(vec![i64::MIN, -1]));
        assert_eq!(tensor("u32").to_vec::<u32>(), Ok(vec![u32::MAX, 1]));
        assert_eq!(tensor("bool").to_vec::<bool>(), Ok(vec![true, false, true]));
        let complex = tensor("complex64").to_vec::<Complex<f32>>().unwrap();
        assert_eq!(complex, [Complex { re: 1.0, im: -1.0 }]);
        assert_eq!(tensor("f8_e4m3fn").to_vec::<u8>(), Ok(vec![0x38]));
        assert_eq!(tensor("f8_e5m2").to_vec::<F8E5M2>(), Ok(vec![F8E5M2::from_bits(0x3c)]));
        assert_eq!(tensor("scalar").to_vec::<u8>(), Ok(vec![7]));
        assert_eq!(tensor("vector").shape(), [2, 2]);
        assert_eq!(tensor("vector").to_vec::<i8>(), Ok(vec![1, 2, 3, 4]));
        assert_eq!(tensor("bytes").to_vec::<i16>(), Ok(vec![1, -1]));
    }
}

#[test]
fn elements_are_written_piece_by_piece() {
    use std::io::Write as _;

    let bytes: Vec<u8> = (0..24).collect();
    let mut at_once = Writer::to(Vec::new()).unwrap();
    at_once.add("x", &[2, 3], ComponentData::of_bytes(DType::F32, &bytes)).unwrap();
    let at_once = at_once.finish().unwrap();
    for size in [1, 3, 7, 24] {
        let mut writer = Writer::to(Vec::new()).unwrap();
        let mut out = writer.begin("x", &[2, 3], DType::F32).unwrap();
        for piece in bytes.chunks(size) {
            out.write_all(piece).unwrap();
        }
        assert_eq!(out.write(&[]).unwrap(), 0);
        out.flush().unwrap();
        out.finish().unwrap();
        assert_eq!(writer.finish().unwrap(), at_once);
    }
    // `write` takes only the 24 bytes that the tensor has. Each further byte is an error.
    let mut writer = Writer::to(Vec::new()).unwrap();
    let mut out = writer.begin("x", &[2, 3], DType::F32).unwrap();
    assert_eq!(out.write(&[0; 30]).unwrap(), 24);
    let error = out.write_all(&[0]).unwrap_err();
    let error = error.get_ref().and_then(|error| error.downcast_ref::<Error>()).unwrap();
    assert_eq!((error.kind(), error.tensor()), (Misuse::Length.into(), Some("x")));
    assert_eq!(misuse(out.finish().unwrap_err()), Misuse::Aborted);
    let mut writer = Writer::to(Vec::new()).unwrap();
    let mut out = writer.begin("x", &[2, 3], DType::F32).unwrap();
    out.write_all(&bytes[..23]).unwrap();
    let error = out.finish().unwrap_err();
    assert_eq!((error.tensor(), error.component()), (Some("x"), Some("data")));
    assert_eq!(misuse(error), Misuse::Length);
    assert_eq!(misuse(writer.finish().unwrap_err()), Misuse::Unfinished);

    // The parts of a sparse tensor are written one after the other.
    let csr = NewObject::sparse_csr("x", &[1, 9], DType::U8, 1);
    let all = [words(&[0, 1]), vec![5], words(&[8])].concat();
    for size in [1, 5, 25] {
        let mut writer = Writer::to(Vec::new()).unwrap();
        let mut out = writer.object(&csr).unwrap();
        all.chunks(size).for_each(|piece| out.write_all(piece).unwrap());
        out.finish().unwrap();
        let file = writer.finish().unwrap();
        let archive = Archive::from_bytes(&file).unwrap();
        let csr = archive.tensor("x").unwrap().csr().unwrap();
        assert!(csr.entries::<u8>().unwrap().eq([(0, 8, 5)]));
    }
}

#[test]
fn errors_of_writing_name_tensor_and_component() {
    let named = |error: &Error, tensor: &str, component: Option<&str>| {
        assert_eq!((error.tensor(), error.component()), (Some(tensor), component), "{error}");
        let place = match component {
            Some(component) => format!(" in tensor {tensor:?}, component {component:?}"),
            None => format!(" in tensor {tensor:?}"),
        };
        assert!(error.to_string().ends_with(&place), "{error}");
    };
    let settings = WriteOptions::default();
    let add = |name: &str, shape: &[u64], part: ComponentData<'_>| {
        writer(&settings).add(name, shape, part).unwrap_err()
    };
    // These errors are about the declaration of the tensor, or about the bytes of its component.
    named(&add("big", &[1 << 40, 1 << 40], (&[0_u8]).into()), "big", Some("data"));
    named(&add("few", &[2], (&[0_u8]).into()), "few", Some("data"));
    named(&add("many", &[2], (&[0_u8; 3]).into()), "many", Some("data"));
    named(
        &add("of what", &[2], ComponentData::of_bytes(DType::Unknown, &[0])),
        "of what",
        Some("data"),
    );
    named(&add("rank", &[1; 65], (&[0_u8]).into()), "rank", None);
    let bools = ComponentData::of_bytes(DType::Bool, &[0, 2]);
    let error = add("bools", &[2], bools);
    assert_eq!(error.rule(), Some("bool-value"));
    named(&error, "bools", Some("data"));

    let (indptr, values, indices) = ([0_u64, 2], [1_u8, 2], [0_u64, 3]);
    let csr = |indptr: &[u64], values: &[u8], indices: &[u64]| {
        let parts: [(&str, ComponentData<'_>); 3] =
            [("indptr", indptr.into()), ("values", values.into()), ("indices", indices.into())];
        writer(&settings).add_csr("m", &[1, 3], &parts).unwrap_err()
    };
    for (error, rule, component) in [
        (csr(&indptr, &values, &indices), "index-range", "indices"),
        (csr(&[1, 2], &values, &[0, 1]), "csr-indptr-start", "indptr"),
        (csr(&[0, 1], &values, &[0, 1]), "csr-indptr-end", "indptr"),
        (csr(&[0, 1, 2], &values, &[0, 1]), "csr-indptr-size", "indptr"),
        (csr(&indptr, &[1], &[0, 1]), "csr-nnz", "indices"),
    ] {
        assert_eq!(error.rule(), Some(rule));
        named(&error, "m", Some(component));
    }
    let narrow = [("indptr", (&[0_u32, 2]).into()), ("values", (&values).into())];
    let narrow = [&narrow[..], &[("indices", (&[0_u64, 1]).into())]].concat();
    let error = writer(&settings).add_csr("m", &[1, 3], &narrow).unwrap_err();
    assert_eq!(error.rule(), Some("index-dtype"));
    named(&error, "m", Some("indptr"));
    let parts: [(&str, ComponentData<'_>); 2] =
        [("coords", (&[0_u64, 5]).into()), ("values", (&[1_u8]).into())];
    let error = writer(&settings).add_coo("c", &[3, 3], &parts).unwrap_err();
    assert_eq!(error.rule(), Some("index-range"));
    named(&error, "c", Some("coords"));

    // These errors are about the name of the object or its position in the file, so they name no component.
    let mut writer = writer(&settings);
    writer.add("twice", &[1], &[1_u8]).unwrap();
    let error = writer.add("twice", &[1], &[1_u8]).unwrap_err();
    assert_eq!(error.rule(), Some("duplicate-name"));
    named(&error, "twice", None);
    drop(writer.begin("begun", &[1], DType::U8).unwrap());
    let error = writer.add("next", &[1], &[1_u8]).unwrap_err();
    named(&error, "next", None);
    assert_eq!(misuse(error), Misuse::Unfinished);
    let mut canonical = self::writer(&settings.canonical());
    canonical.add("b", &[1], &[1_u8]).unwrap();
    let error = canonical.add("a", &[1], &[1_u8]).unwrap_err();
    named(&error, "a", None);
    assert_eq!(misuse(error), Misuse::Order);
}

#[test]
fn duplicate_names_are_rejected() {
    let object = |name| NewObject::dense(name, &[0], DType::U8);
    for order in [["a", "b", "a"], ["b", "a", "b"], ["b", "a", "a"], ["a", "a", "b"]] {
        let mut writer = writer(&WriteOptions::default());
        let tries = order.map(|name| writer.add_object(&object(name), &[]).is_ok());
        assert_eq!(tries.iter().filter(|valid| **valid).count(), 2, "{order:?}");
        check(&writer.finish().unwrap(), &OpenOptions::default()).unwrap();
    }
}

#[test]
fn attributes_are_validated() {
    let with = |cbor: &[u8]| {
        let attributes = Encoded::from_cbor(cbor.to_vec());
        let object = NewObject::dense("x", &[0], DType::U8).attributes(&attributes);
        let at_object = writer(&WriteOptions::default()).object(&object).err();
        let at_file = writer(&WriteOptions::default()).attributes_encoded(&attributes).err();
        assert_eq!(at_object.is_some(), at_file.is_some());
        at_object.as_ref().and_then(Error::rule)
    };
    assert_eq!(with(b"\xa1\x61a\x01"), None);
    assert_eq!(with(b"\xbf\xff"), None);
    assert_eq!(with(b"\x80"), Some("attributes-type"));
    assert_eq!(with(b"\xa1\x01\x01"), Some("key-type"));
    assert_eq!(with(b"\xa2\x61a\x01\x61a\x02"), Some("duplicate-key"));
    assert_eq!(with(b"\xa1\x61a"), Some("cbor-truncated"));
    assert_eq!(with(b"\xa1\x61a\x61\xff"), Some("cbor-utf8"));
    assert_eq!(with(b"\xa0\xa0"), Some("manifest-trailing"));
    assert_eq!(with(&[&b"\xa1\x61a"[..], &[0x81; 80], &[0]].concat()), Some("limit-depth"));
    assert!(Encoded::from_value(&Unwritable).is_err());
    // At most 64 levels are allowed: the root, the objects, the object, its attributes, and 60 arrays.
    for (levels, valid) in [(60, true), (61, false)] {
        let cbor = [&b"\xa1\x61a"[..], &vec![0x81; levels], &[0]].concat();
        let attributes = Encoded::from_cbor(cbor);
        let object = NewObject::dense("x", &[0], DType::U8).attributes(&attributes);
        let mut writer = writer(&WriteOptions::default());
        assert_eq!(writer.add_object(&object, &[]).is_ok(), valid);
        check(&writer.finish().unwrap(), &OpenOptions::default()).unwrap();
    }
}

struct Unwritable;

impl serde::Serialize for Unwritable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("no"))
    }
}

#[test]
fn the_writer_keeps_the_limits_of_its_readers() {
    let limits = Limits::default().with_manifest(2000);
    let settings = WriteOptions::default().limits(limits);
    let file = |objects: u32| {
        let mut writer = writer(&settings);
        for name in 0..objects {
            let name = name.to_string();
            writer.add_object(&NewObject::dense(&name, &[0], DType::U8), &[])?;
        }
        writer.finish()
    };
    let most = (0..2000).take_while(|objects| file(*objects).is_ok()).last().unwrap();
    assert!(most > 4);
    check(&file(most).unwrap(), &OpenOptions::default().limits(limits)).unwrap();
    assert_eq!(file(most + 1).unwrap_err().rule(), Some("limit-manifest"));
    // A name of more bytes than a whole manifest may have is rejected, and the writer can still finish the file.
    let mut writer = writer(&settings);
    let long = "n".repeat(2001);
    let rejected = writer.add_object(&NewObject::dense(&long, &[0], DType::U8), &[]);
    assert_eq!(rejected.unwrap_err().rule(), Some("limit-manifest"));
    check(&writer.finish().unwrap(), &OpenOptions::default().limits(limits)).unwrap();
}

#[test]
fn canonical_files_require_their_order() {
    let settings = WriteOptions::default().canonical().checksum(Checksum::None);
    let mut names = ["bb", "a", "c", "", "aaa", "b"];
    names.sort_by(|a, b| canonical_order(a, b));
    assert_eq!(names, ["", "a", "b", "c", "bb", "aaa"]);
    let mut writer = writer(&settings);
    for name in names {
        writer.add_object(&NewObject::dense(name, &[1], DType::U8), &[("data", &[1])]).unwrap();
    }
    let again = writer.object(&NewObject::dense("aaa", &[1], DType::U8)).err().unwrap();
    assert_eq!(again.rule(), Some("duplicate-name"));
    let before = writer.object(&NewObject::dense("z", &[1], DType::U8)).err().unwrap();
    assert_eq!(before.kind(), ErrorKind::Misuse(Misuse::Order));
    let file = writer.finish().unwrap();
    check(&file, &OpenOptions::default().canonical()).unwrap();
    assert!(
        Archive::from_bytes(&file)
            .unwrap()
            .tensors()
            .all(|object| { object.component("data").unwrap().digest().is_some() })
    );
}

#[cfg(feature = "zstd")]
#[test]
#[cfg_attr(miri, ignore = "decoding zstd takes minutes there")]
fn compressed_components_can_be_read_again() {
    use zten::write::Level;
    let bytes: Vec<u8> = (0..300_000_u32).map(|n| (n / 7).to_le_bytes()[0]).collect();
    let mut plain = writer(&WriteOptions::default());
    let object = NewObject::dense("x", &[300_000], DType::U8).compressed(Level::default());
    plain.add_object(&object, &[("data", &bytes)]).unwrap();
    let empty = NewObject::dense("empty", &[0], DType::F32).compressed(Level::default());
    plain.add_object(&empty, &[]).unwrap();
    let file = plain.finish().unwrap();
    check(&file, &OpenOptions::default()).unwrap();
    assert!(file.len() < 100_000, "{}", file.len());
    let archive = Archive::from_bytes(&file).unwrap();
    let tensor = archive.tensor("x").unwrap();
    assert_eq!(tensor.dense().unwrap().encoding(), zten::Encoding::Zstd);
    assert_eq!(tensor.to_vec::<u8>().unwrap(), bytes);

    // The compression level of the settings applies to everything that is added as elements, and to nothing else.
    let settings = WriteOptions::default().compressed(Level::default());
    let mut all = writer(&settings);
    all.add("x", &[300_000], &bytes).unwrap();
    all.add("empty", &[0], &[0_f32; 0]).unwrap();
    assert_eq!(all.finish().unwrap(), file);
    let mut all = writer(&settings);
    let parts: [(&str, ComponentData<'_>); 2] =
        [("coords", (&[0_u64; 2]).into()), ("values", (&[1_u8]).into())];
    all.add_coo("coo", &[1, 1], &parts).unwrap();
    all.begin("begun", &[0], DType::U8).unwrap().finish().unwrap();
    all.add_object(&NewObject::dense("raw", &[1], DType::U8), &[("data", &[1])]).unwrap();
    let file = all.finish().unwrap();
    check(&file, &OpenOptions::default()).unwrap();
    let archive = Archive::from_bytes(&file).unwrap();
    for (name, encoding) in [("coo", zten::Encoding::Zstd), ("raw", zten::Encoding::Raw)] {
        let tensor = archive.tensor(name).unwrap();
        assert!(tensor.components().all(|part| part.encoding() == encoding), "{name}");
    }
}

/// Returns a file of two tensors with the elements `bytes`, which are written in calls with at most `piece` bytes
/// each.
fn in_pieces(settings: &WriteOptions, level: Option<Level>, bytes: &[u8], piece: usize) -> Vec<u8> {
    let mut file = writer(settings);
    for (name, dtype) in [("a", DType::U8), ("b", DType::Bool)] {
        let shape = [bytes.len() as u64];
        let new = NewObject::dense(name, &shape, dtype);
        let mut out = file.object(&level.map_or(new, |level| new.compressed(level))).unwrap();
        for part in bytes.chunks(piece) {
            out.write_part("data", part).unwrap();
        }
        out.finish().unwrap();
    }
    file.finish().unwrap()
}

#[test]
fn a_hashing_thread_changes_no_byte() {
    let bytes: Vec<u8> = (0..600_000_u32).map(|at| u8::from(at % 7 == 0)).collect();
    let plain = WriteOptions::default();
    let second = plain.generation(Generation::V2);
    let ways = [
        (plain, None),
        (plain.checksum(Checksum::Crc32c), None),
        (plain.checksum(Checksum::None), None),
        (plain.canonical(), None),
        (plain, Some(Level::new(1).unwrap())),
        (second, None),
        (second.checksum(Checksum::Sha256).sharing(), None),
    ];
    for (settings, level) in ways {
        // The bytes come in one call, in pieces large enough that a thread hashes them, and in pieces too small for a thread.
        for piece in [bytes.len(), 300_000, 1000] {
            // For the canonical form, only one call is tested. In generation 2, that form requires that equal
            // components come in one call.
            if settings == plain.canonical() && piece < bytes.len() {
                continue;
            }
            let wanted = in_pieces(&settings, level, &bytes, piece);
            let threaded = in_pieces(&settings.hashing_thread(), level, &bytes, piece);
            assert!(threaded == wanted, "{settings:?}, {level:?}, {piece}");
            Archive::from_bytes(threaded).unwrap().verify().unwrap();
        }
    }
}

/// A sink whose `write` fails when it is called for the nth time. The field is the number of calls that are left until then.
#[derive(Debug)]
struct Failing(u32);

impl Sink for Failing {
    type Output = ();

    fn write(&mut self, _: &[u8]) -> Result<(), Error> {
        self.0 -= 1;
        if self.0 == 0 {
            Err(Error::from_write(std::io::ErrorKind::StorageFull.into()))
        } else {
            Ok(())
        }
    }

    fn finish(self) -> Result<(), Error> {
        Ok(())
    }
}

#[test]
fn an_error_of_the_sink_is_returned_while_a_thread_hashes() {
    let settings = WriteOptions::default().hashing_thread();
    let mut file = Writer::new(Failing(3), &settings).unwrap();
    let bytes = vec![0_u8; 300_000];
    let error = file.add("a", &[300_000], &bytes).unwrap_err();
    assert_eq!((error.kind(), error.tensor()), (ErrorKind::Write, Some("a")));
    assert!(file.finish().is_err());
}

#[test]
fn a_component_is_only_stored_if_no_step_reads_it() {
    let none = WriteOptions::default().checksum(Checksum::None);
    let second = none.generation(Generation::V2);
    let level = Level::new(1).unwrap();
    for (settings, dtype, level, only_stores) in [
        (none, DType::F32, None, true),
        (second, DType::F32, None, true),
        (none, DType::Bool, None, false),
        (none, DType::F32, Some(level), false),
        (WriteOptions::default(), DType::F32, None, false),
        (none.checksum(Checksum::Crc32c), DType::F32, None, false),
        (second.sharing(), DType::F32, None, false),
        // The last byte of an odd number of nibbles is validated, so the bytes are read.
        (second, DType::F4E2M1, None, false),
    ] {
        let mut file = writer(&settings);
        let new = NewObject::dense("a", &[3], dtype);
        let new = level.map_or(new, |level| new.compressed(level));
        let out = file.object(&new).unwrap();
        assert_eq!(out.only_stores(), only_stores, "{settings:?}, {dtype:?}");
    }
    let mut file = writer(&none);
    let mut out = file.object(&NewObject::sparse_coo("a", &[3], DType::F32, 1)).unwrap();
    assert!(!out.only_stores(), "indices are validated");
    out.write_part("coords", &[0; 8]).unwrap();
    assert!(out.only_stores());
    out.write_part("values", &[0; 4]).unwrap();
    assert!(!out.only_stores(), "no component is left");
    out.finish().unwrap();
}

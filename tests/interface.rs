//! The public interface as its callers meet it: what holds the bytes, views that know their file,
//! one call for elements, errors that name what is wrong.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt::Display;
use std::sync::Arc;

use zten::half;
use zten::source::FileArchive;
use zten::{
    Archive, Digest, Encoding, Error, Format, Generation, Limits, LogicalType, Manifest, Object,
    Options, ReadError, StorageType, error::Misuse,
};
use zten_testkit::{Expected, body, is_lax, misuse, placed, read_accepted as read, reject_index};

/// The manifest of a file by itself.
fn bare<B: AsRef<[u8]> + From<Vec<u8>>>(file: &[u8]) -> Manifest<B> {
    let (body, manifest) = body(file, &Options::default()).unwrap();
    body.manifest(B::from(manifest.to_vec())).map_err(Error::from).unwrap()
}

/// Stored without a lifetime.
struct Model {
    archive: Archive<Arc<[u8]>>,
}

#[test]
fn any_holder_of_bytes_will_do() {
    fn shared<T: Send + Sync + 'static>(value: T) -> T {
        value
    }
    fn sum(archive: &Archive<impl AsRef<[u8]>>) -> u32 {
        let view = archive.get("t_f32").unwrap().dense().unwrap().view().unwrap();
        view.elements::<f32>().unwrap().fold(0, |sum, element| sum ^ element.to_bits())
    }
    let file = read("1.2.3/dense_all.zt");
    let expected = sum(&Archive::open(&file[..]).unwrap());
    assert_eq!(sum(&Archive::open(&file).unwrap()), expected);
    assert_eq!(sum(&shared(Archive::open(file.clone()).unwrap())), expected);
    assert_eq!(sum(&Archive::open(Cow::Borrowed(&file[..])).unwrap()), expected);
    assert_eq!(sum(&shared(Archive::open(file.clone().into_boxed_slice()).unwrap())), expected);
    let model = shared(Model { archive: Archive::open(Arc::from(&file[..])).unwrap() });
    let model = Arc::new(model);
    let threads = [0; 4].map(|_| {
        let model = Arc::clone(&model);
        std::thread::spawn(move || sum(&model.archive))
    });
    assert!(threads.into_iter().all(|thread| thread.join().unwrap() == expected));
    assert_eq!(*model.archive.manifest().as_bytes(), *bare::<Vec<u8>>(&file).as_bytes());
    assert_eq!(shared(bare::<Arc<[u8]>>(&file)).len(), model.archive.len());
    assert_eq!(Archive::open(file.clone()).unwrap().into_manifest().into_inner(), file);
}

#[test]
fn a_manifest_without_its_file_has_no_views() {
    let fails = |name: &str, object: &str, view: fn(&Object<'_>) -> Option<Error>| {
        let file = read(name);
        let archive = Archive::open(&file).unwrap();
        assert_eq!(view(&archive.get(object).unwrap()), None, "{name}");
        let error = view(&bare::<Vec<u8>>(&file).get(object).unwrap()).unwrap();
        assert_eq!(misuse(error), Misuse::NoFile, "{name}");
        assert!(error.to_string().contains("call `bind`"), "{error}");
    };
    fails("1.2.3/dense_all.zt", "t_f32", |object| object.dense().unwrap().view().err());
    fails("1.2.3/dense_all.zt", "t_f32", |object| {
        object.dense().unwrap().rows(0..1).unwrap().view().err()
    });
    fails("1.2.3/dense_all.zt", "t_f32", |object| object.dense().unwrap().to_cow::<f32>().err());
    fails("1.2.3/csr_raw.zt", "csr_f32", |object| object.sparse_csr().unwrap().view().err());
    fails("v12-coo.zt", "w", |object| object.sparse_coo().unwrap().view().err());
    fails("1.2.3/quantized_group.zt", "q_proj", |object| {
        object.quantized_group().unwrap().view().err()
    });
}

#[test]
fn views_are_of_the_file() {
    let file = read("1.2.3/dense_all.zt");
    let archive = Archive::open(&file).unwrap();
    for object in archive.objects() {
        for component in object.components() {
            let (view, bound) = (component.view().unwrap(), component.bind(&file).unwrap());
            assert_eq!(view.as_bytes().as_ptr_range(), bound.as_bytes().as_ptr_range());
        }
        let dense = object.dense().unwrap();
        let rows = dense.shape().first().unwrap();
        let all = dense.rows(0..rows).unwrap().view().unwrap().unwrap();
        assert_eq!(all.as_bytes(), dense.view().unwrap().as_bytes());
    }
}

#[test]
fn elements_are_borrowed_where_they_can_be() {
    let file = read("1.2.3/dense_all.zt");
    let of = |file: &[u8]| {
        let archive = Archive::open(file).unwrap();
        let dense = archive.get("t_f32").unwrap().dense().unwrap();
        let elements = dense.to_cow::<f32>().unwrap();
        let read = dense.read_elements::<f32, _>(&archive, archive.limits()).unwrap();
        assert_eq!(*elements, read);
        (matches!(elements, Cow::Borrowed(_)), read)
    };
    let (aligned, elements) = of(&placed(&file, 0));
    let (odd, same) = of(&placed(&file, 1));
    assert_eq!((aligned, odd), (cfg!(target_endian = "little"), false));
    assert_eq!((elements[1], &same), (-0.75, &elements));
}

/// What is compressed is decoded, by the limits that the file was opened with.
#[cfg(feature = "zstd")]
#[test]
fn elements_are_decoded_where_they_must_be() {
    let file = read("1.2.3/zstd.zt");
    let archive = Archive::open(&file).unwrap();
    let mut compressed = 0;
    for object in archive.objects() {
        let component = object.components().next().unwrap();
        if component.storage_type() != Some(StorageType::F32) || component.view().is_ok() {
            continue;
        }
        let elements = object.dense().unwrap().to_cow::<f32>().unwrap();
        assert!(matches!(elements, Cow::Owned(_)));
        let bytes = component.read_to_vec(&archive, archive.limits()).unwrap();
        let expected = bytes.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
        assert!(elements.iter().copied().eq(expected));
        // No more than what is declared.
        assert!(elements.into_owned().capacity() * 4 == bytes.len());
        if bytes.is_empty() {
            continue;
        }
        compressed += 1;
        let options = Options::default().limits(Limits::default().with_decoded(1));
        let archive = Archive::open_with(&file, &options).unwrap();
        let limited = archive.object(object.ordinal()).unwrap().dense().unwrap();
        assert_eq!(limited.to_cow::<f32>().unwrap_err().id(), Some("limit-decoded"));
    }
    assert!(compressed > 0);
}

#[test]
fn an_error_says_both_types() {
    let file = read("1.2.3/dense_all.zt");
    let archive = Archive::open(&file).unwrap();
    let says = |error: Error, sentence: &str| {
        assert_eq!(misuse(error), Misuse::Type);
        assert_eq!(error.sentence().to_string(), sentence);
    };
    let float = archive.get("t_f32").unwrap().dense().unwrap();
    says(
        float.view().unwrap().as_slice::<half::bf16>().unwrap_err(),
        "component is f32, requested bf16",
    );
    says(float.to_cow::<u8>().unwrap_err(), "component is f32, requested u8");
    says(
        float.to_cow::<zten::element::Complex<f32>>().unwrap_err(),
        "component is f32, requested complex64",
    );
    let error = float.read_elements::<i8, _>(&archive, archive.limits()).unwrap_err();
    says(error.into(), "component is f32, requested i8");
    let error = float.view().unwrap().nibbles(1).err().unwrap();
    says(error, "component is f32, requested f4_e2m1");
}

#[test]
fn a_wrong_digest_is_told_with_the_right_one() {
    let mut file = read("1.1.1/crc32c.zt");
    let archive = Archive::open(&file).unwrap();
    let summary = archive.verify().unwrap();
    assert_eq!(summary.components(), summary.digests());
    assert!(summary.digests() > 0);
    let first = archive.object(0).unwrap().components().next().unwrap();
    let (at, digest) = (first.extent().offset(), first.digest().unwrap().to_string());
    file[usize::try_from(at).unwrap()] ^= 1;
    let archive = Archive::open(&file).unwrap();
    let error = archive.verify().unwrap_err();
    assert_eq!(error.id(), Some("digest-mismatch"));
    let object = archive.object(0).unwrap();
    let component = object.components().next().unwrap();
    let mut content = component.content(&archive, archive.limits()).unwrap();
    assert_eq!(content.mismatch(), None);
    let found = loop {
        if let Err(found) = content.next_chunk() {
            break Error::from(found);
        }
    };
    assert_eq!(found, error);
    let mismatch = *content.mismatch().unwrap();
    assert_eq!(mismatch.expected().to_string(), digest);
    let text = mismatch.to_string();
    assert_eq!(text, format!("expected {digest}, computed {}", mismatch.computed()));
    let [expected, computed] =
        [mismatch.expected(), mismatch.computed()].map(|digest| match digest {
            Digest::Crc32c(sum) => sum,
            other => panic!("{other:?}"),
        });
    assert_ne!(expected, computed);
    let both = format!("expected {expected:08x}…, computed {computed:08x}…");
    assert!(error.to_string().contains(&both), "{error}");
    let mut verifier = zten::verify::Verifier::new(file.len() as u64, archive.limits());
    assert!(verifier.object(&object, &archive, |_, _| ()).is_err());
    assert_eq!(verifier.mismatch(), Some(&mismatch));
}

/// One call validates what the corpus says of content.
#[test]
fn one_call_verifies_a_file() {
    let mut refused = 0;
    let is_lax = |file: &str| cfg!(feature = "zstd-ruzstd") && is_lax(file);
    for case in reject_index().filter(|case| case.content && !is_lax(&case.file)) {
        let archive = Archive::open_with(case.read(), &case.options).unwrap();
        let error = archive.verify().unwrap_err();
        assert_eq!(Expected::from_error(&error), case.expected, "{}", case.file);
        let from_file = FileArchive::open(&case.path, &case.options).unwrap().verify();
        assert!(matches!(from_file, Err(ReadError::Refused(found)) if found == error));
        refused += 1;
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn a_missing_object_is_named() {
    let file = read("1.2.3/dense_all.zt");
    let archive = Archive::open(&file).unwrap();
    assert_eq!(archive.require("t_f32").unwrap().name(), "t_f32");
    let missing = archive.require("t_fp32").unwrap_err();
    assert_eq!((missing.name(), missing.nearest()), ("t_fp32", Some("t_f32")));
    assert_eq!(missing.to_string(), r#"there is no object "t_fp32"; the nearest name is "t_f32""#);
    assert_eq!(misuse(missing), Misuse::NoObject);
    let missing = archive.require("nothing like it\u{202e}").unwrap_err();
    assert_eq!(missing.nearest(), None);
    assert_eq!(missing.to_string(), r#"there is no object "nothing like it\u{202e}""#);
}

#[test]
fn types_are_displayed_by_their_names() {
    let all: [(&dyn Display, &str); 9] = [
        (&StorageType::Bf16, "bf16"),
        (&LogicalType::F8E4M3Fn, "f8_e4m3fn"),
        (&Format::SparseCsr, "sparse_csr"),
        (&Encoding::Zstd, "zstd"),
        (&Generation::V1_2, "1.2"),
        (&Digest::Crc32c(0xAB), "crc32c:000000ab"),
        (&Digest::Unverifiable("md5:00"), "md5:00"),
        (&zten::ElementType::Unknown("float8"), "float8"),
        (&zten::ElementType::Logical(LogicalType::Complex64), "complex64"),
    ];
    for (shown, name) in all {
        assert_eq!(shown.to_string(), name);
    }
    assert_eq!(format!("[{:>5}]", StorageType::F32), "[  f32]");
    let sha = Digest::Sha256([0x1f; 32]).to_string();
    assert_eq!(sha, format!("sha256:{}", "1f".repeat(32)));
    let file = read("1.2.3/dense_all.zt");
    assert_eq!(Archive::open(file).unwrap().version().unwrap().to_string(), "1.2.0");
}

#[test]
fn limits_are_set_by_their_names() {
    let limits = Limits::default()
        .with_manifest(1)
        .with_depth(7)
        .with_rank(2)
        .with_keys(3)
        .with_window(4)
        .with_decoded(5)
        .with_decoded_total(6)
        .with_chunk(16);
    let named = [("manifest", 1), ("depth", 7), ("rank", 2), ("keys", 3), ("window", 4)];
    let named = named.into_iter().chain([("decoded", 5), ("decoded-total", 6)]);
    let by_name = named
        .fold(Limits::default(), |limits, (name, value)| limits.with_named(name, value).unwrap());
    assert_eq!(limits, by_name.with_chunk(16));
    let extremes = Limits::default().with_manifest(u64::MAX).with_depth(0);
    assert_eq!((extremes.manifest(), extremes.depth()), (1 << 30, 6));
    assert_eq!(Limits::default().with_depth(255), Limits::default());
}

/// Gives one of several files each time that it is asked.
struct Fickle<'f> {
    files: &'f [Vec<u8>],
    asked: Cell<usize>,
    constant: usize,
}

impl AsRef<[u8]> for Fickle<'_> {
    fn as_ref(&self) -> &[u8] {
        let asked = self.asked.replace(self.asked.get() + 1);
        let at = asked.saturating_sub(self.constant);
        &self.files[at % self.files.len()]
    }
}

/// Nothing panics where bytes change, but the assertions of builds that have them.
#[test]
fn bytes_that_change_are_survived() {
    let names = ["1.2.3/dense_all.zt", "1.2.3/csr_raw.zt", "v12-coo.zt", "1.1.1/crc32c.zt"];
    let mut files: Vec<Vec<u8>> = names.iter().map(|name| read(name)).collect();
    files.extend([vec![], vec![0xff; 4096], vec![0; 40]]);
    let all = |constant: usize| {
        let fickle = Fickle { files: &files, asked: Cell::new(0), constant };
        let Ok(archive) = Archive::open(fickle) else { return 0 };
        for name in ["t_f32", "csr_f32", "w", ""] {
            let _ = archive.require(name).map(|object| object.ordinal());
        }
        let mut read = 0;
        for ordinal in 0..archive.len() {
            let Some(object) = archive.object(ordinal) else { continue };
            let _ = (object.name(), object.format_name(), object.shape().len());
            let _ = (object.attributes(), object.fields().map(Iterator::count));
            for component in object.components() {
                let _ = (component.role(), component.element_type(), component.digest());
                let _ = (component.view(), component.to_cow::<f32>(), component.decoded_length());
                read += 1;
            }
            let _ = object.dense().map(|dense| dense.to_cow::<u8>());
            let _ = object.sparse_csr().and_then(|csr| csr.view().map(|csr| csr.is_sorted()));
            let _ = object.sparse_coo().and_then(|coo| coo.view().map(|coo| coo.is_sorted()));
        }
        let _ = (archive.verify(), format!("{archive:?}"));
        read
    };
    let mut read = 0;
    for constant in 0..64 {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| all(constant)));
        assert!(outcome.is_ok() || cfg!(debug_assertions), "{constant}");
        read += outcome.unwrap_or(1);
    }
    assert!(read > 0);
}

//! Tests of generation 2: content digests, normalized content, packed elements, and cells of sparse objects.

use zten::verify::{DigestAlgorithm, NoContentDigest};
use zten::view::Normalization;
use zten::{Archive, Component, OpenOptions, element::F4E2M1};
use zten_corpus::cbor::{Item, array, fields, map, text, uints};
use zten_corpus::v2::{FileV2, file, object, part, words};
use zten_testkit::{Layout, check, corpus, read};

#[test]
#[cfg_attr(miri, ignore = "it needs the whole corpus")]
fn content_digests_are_those_of_the_reference() {
    let folder = corpus().join("v2/2.1");
    let table = std::fs::read_to_string(folder.join("content.tsv")).unwrap();
    for line in table.lines().skip(1) {
        let (file, xxh3) = line.split_once('\t').unwrap();
        let bytes = std::fs::read(folder.join(file).with_extension("zt")).unwrap();
        let archive = Archive::from_bytes(&bytes).unwrap();
        let own = archive.manifest().content_digest(DigestAlgorithm::Xxh3).unwrap().to_string();
        assert_eq!(own, xxh3, "{file}");
    }
    let undefined = |file: &str| {
        let file = read(file);
        let archive = Archive::from_bytes(&file).unwrap();
        archive.manifest().content_digest(DigestAlgorithm::Xxh3).unwrap_err()
    };
    let NoContentDigest::Undigested(place) = undefined("v2/accept/csr.zt") else { panic!() };
    assert_eq!((place.object(), place.component()), (Some(0), Some(0)));
    assert_eq!(undefined("v2/accept/csr.zt").location(), place);
    for file in ["v2/accept/data-shard.zt", "accept/1.2.3/dense_all.zt"] {
        assert_eq!(undefined(file), NoContentDigest::NotDefined);
        assert!(undefined(file).to_string().contains("only files of generation 2 have one"));
        assert_eq!(undefined(file).location(), zten::error::Location::default());
    }
}

/// A content digest is computed from the digests of the components, and so cannot be stronger than they are. A content digest
/// `sha256` is an error if a component has another digest than `sha256`, and `xxh3` if a component has neither of the two.
#[test]
fn content_digests_are_no_stronger_than_those_of_the_parts() {
    const SHA256: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    const XXH3: &str = "xxh3:2d06800538d394c2";
    let found = |first: &str, second: &str, algorithm| {
        let objects = [("a", first), ("b", second)].map(|(name, digest)| {
            let own =
                [("blob", uints(&[4096, 0])), ("dtype", text("u8")), ("digest", text(digest))];
            (name, object(&[0], "dense", vec![("data", fields(own))]))
        });
        let file = FileV2::new(fields([("objects", fields(objects))])).bytes();
        let digest = Archive::from_bytes(&file).unwrap().manifest().content_digest(algorithm);
        digest.map(|digest| digest.algorithm()).map_err(|error| {
            assert!(matches!(error, NoContentDigest::WeakPart(_)));
            (error.location().object(), error.location().component())
        })
    };
    let weak = |object| Err((Some(object), Some(0)));
    for (first, second, xxh3, sha256) in [
        (SHA256, SHA256, Ok("xxh3"), Ok("sha256")),
        (SHA256, XXH3, Ok("xxh3"), weak(1)),
        (XXH3, SHA256, Ok("xxh3"), weak(0)),
        (XXH3, "crc32c:00000000", weak(1), weak(0)),
        ("sum:0", SHA256, weak(0), weak(0)),
    ] {
        assert_eq!(found(first, second, DigestAlgorithm::Xxh3), xxh3, "{first} {second}");
        assert_eq!(found(first, second, DigestAlgorithm::Sha256), sha256, "{first} {second}");
    }
}

/// The content digest covers a map of all objects, whose CBOR head grows with their number. The expected encoding
/// comes from the generator of the corpus.
#[test]
#[cfg_attr(miri, ignore = "it makes a file of 65,536 objects")]
fn content_digests_cover_many_objects() {
    let digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let part = |more: &[(&str, Item)]| {
        let own = [("dtype", text("u8")), ("digest", text(digest))];
        let mut pairs: Vec<_> = own.into_iter().chain(more.iter().cloned()).collect();
        pairs.sort_by_key(|(key, _)| key.len());
        map(pairs.into_iter().map(|(key, value)| (text(key), value)).collect())
    };
    for count in [23, 24, 255, 256, 65_535, 65_536] {
        let names: Vec<String> = (0..count).map(|number| format!("{number:05}")).collect();
        let objects = |more: &[(&str, Item)]| {
            let data = part(more);
            let object = object(&[0], "dense", vec![("data", data)]);
            map(names.iter().map(|name| (text(name), object.clone())).collect())
        };
        let blob = ("blob", uints(&[4096, 0]));
        let file = FileV2::new(fields([("objects", objects(&[blob]))])).bytes();
        let archive = Archive::from_bytes(&file).unwrap();
        let content = array(vec![text("zt.content/1"), objects(&[])]).encode().bytes;
        let wanted: [u8; 32] = <sha2::Sha256 as sha2::Digest>::digest(&content).into();
        let found = archive.manifest().content_digest(DigestAlgorithm::Sha256).unwrap();
        assert_eq!(found.to_string(), format!("sha256:{}", zten_testkit::hex(&wanted)), "{count}");
    }
}

/// Normalizing turns the indices of sparse objects into `u64`, and bools into 0 or 1. It changes nothing else.
#[test]
#[cfg_attr(miri, ignore = "it needs the whole corpus")]
fn only_indices_and_bools_are_normalized() {
    let normalized = |file: &[u8], role: &str, of: fn(&Component<'_>) -> Normalization| {
        let archive = Archive::from_bytes(file).unwrap();
        let part = archive.tensors().next().unwrap().component(role).unwrap();
        let content = part.read().unwrap().to_vec();
        let mut bytes = Vec::new();
        let Ok(()) = of(&part).chunk(&content, |piece| {
            bytes.extend_from_slice(piece);
            Ok::<(), core::convert::Infallible>(())
        });
        (part.is_index(), part.storage_type().unwrap().width(), content, bytes)
    };
    let named = object(&[2], "mine/1", vec![("indices", part("u16", 4096, 4))]);
    let named = file(vec![("w", named)]).blob(4096, &[1, 2, 3, 4]).bytes();
    let (csr, coo) = (read("v2/accept/csr.zt"), read("v2/accept/coo.zt"));
    for (file, role, is_index) in [
        (&csr, "values", false),
        (&csr, "indices", true),
        (&csr, "indptr", true),
        (&coo, "values", false),
        (&coo, "coords", true),
        (&read("accept/v12-csr.zt"), "indices", true),
        (&read("accept/v12-dense.zt"), "data", false),
        (&named, "indices", false),
    ] {
        let (found, width, content, bytes) = normalized(file, role, Normalization::content);
        assert_eq!(found, is_index, "{role}");
        let width = if is_index { usize::from(width) } else { 8 };
        let wide = content.chunks(width).flat_map(|number| {
            let zeros = [0; 8];
            [number, &zeros[..8 - width]].concat()
        });
        let wanted = if is_index { wide.collect() } else { content.clone() };
        assert_eq!(bytes, wanted, "{role}");
    }
    let wide = read("accept/v12-csr.zt");
    let archive = Archive::from_bytes(&wide).unwrap();
    let indices = archive.get("w").unwrap().component("indices").unwrap();
    assert_eq!(Normalization::content(&indices), Normalization::bools(&indices));
    for of in [Normalization::content, Normalization::bools] {
        let (_, _, content, bytes) = normalized(&read("accept/v01-bool-2-first.zt"), "data", of);
        let truth: Vec<u8> = content.iter().map(|byte| u8::from(*byte != 0)).collect();
        assert!(bytes == truth && bytes != content);
    }
}

#[test]
fn nibbles_are_unpacked_from_the_low_one() {
    let file = read("v2/accept/nibbles.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let data = archive.tensor("w").unwrap().dense().unwrap();
    assert_eq!(data.packed_elements(), Some(3));
    let view = data.view().unwrap();
    let values: Vec<f32> = view.nibbles(3).unwrap().map(F4E2M1::to_f32).collect();
    assert_eq!(values, [0.5, 1.0, 1.5]);
    let mut nibbles = view.nibbles(3).unwrap();
    for left in (0..3).rev() {
        assert!(nibbles.next().is_some());
        assert_eq!(nibbles.size_hint(), (left, Some(left)));
    }
    assert!(view.nibbles(5).is_err());
}

/// Looks for the first cell, in row-major order, that occurs more than once in `cells`, and returns the index of its second
/// occurrence, or `None` if all cells differ.
fn repeated(cells: &[Vec<u32>]) -> Option<usize> {
    let twice = |cell: &&Vec<u32>| cells.iter().filter(|other| other == cell).count() > 1;
    let first = cells.iter().filter(twice).min()?;
    cells.iter().enumerate().filter(|(_, cell)| *cell == first).nth(1).map(|(value, _)| value)
}

#[test]
#[cfg_attr(miri, ignore = "it makes a few hundred files")]
fn repeated_cells_are_found_in_any_order() {
    let mut rng = fastrand::Rng::with_seed(1);
    let (mut good, mut bad) = (0, 0);
    for round in 0..400 {
        let shape: Vec<u64> = (0..rng.usize(1..5)).map(|_| rng.u64(1..40)).collect();
        let count = if round % 50 == 0 { 600 } else { rng.usize(..30) };
        let mut cells: Vec<Vec<u32>> = (0..count)
            .map(|_| shape.iter().map(|size| u32::try_from(rng.u64(..*size)).unwrap()).collect())
            .collect();
        match round % 3 {
            0 => cells.sort(),
            1 => {
                cells.sort();
                cells.dedup();
                rng.shuffle(&mut cells);
            }
            _ => {}
        }
        let coords: Vec<u32> =
            (0..shape.len()).flat_map(|axis| cells.iter().map(move |cell| cell[axis])).collect();
        let mut layout = Layout::new(4096);
        let start = 4096;
        let parts = [
            ("coords", layout.part("u32", words(&coords))),
            ("values", layout.part("u8", vec![0; cells.len()])),
        ];
        layout.named("w", object(&shape, "zt.sparse_coo/1", parts));
        let found = check(&layout.v2().bytes(), &OpenOptions::default());
        match repeated(&cells) {
            None => good += u32::from(found.is_ok()),
            Some(value) => {
                let error = found.unwrap_err();
                assert_eq!(error.rule(), Some("coo-cell-repeated"));
                assert_eq!(error.offset(), Some(start + 4 * value as u64), "{cells:?}");
                bad += 1;
            }
        }
        assert_eq!(good + bad, round + 1, "{cells:?}");
    }
    assert!(good > 100 && bad > 50, "{good} {bad}");
}

#[test]
fn checking_cells_counts_against_the_limit() {
    let file = read("v2/accept/coo.zt");
    let with = |decoded| {
        let limits = zten::Limits::default().with_named("decoded", decoded).unwrap();
        check(&file, &OpenOptions::default().limits(limits)).map_err(|error| error.rule())
    };
    assert_eq!(with(16), Ok(()));
    assert_eq!(with(15), Err(Some("limit-decoded")));
}

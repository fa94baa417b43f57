//! Runs the checks of the fuzz targets on the corpus and on pseudo-random models.

use std::collections::BTreeMap;

use zten::attributes::Value;
use zten_testkit::oracles::{
    self, Calls, CanonicalRelation, Filled, Format, Grown, Lie, Lied, Model, Outcome, Plan,
    file_format,
};
use zten_testkit::safetensors::header;
use zten_testkit::sample::{chance, least, rounds};
use zten_testkit::{Accepted, Reject, Sharded, accepted, accepted_v2, reject_index};
use zten_testkit::{reject_index_v2, sharded};

/// The name of an input, which is printed if the test panics.
struct Named(String);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input was {}", self.0);
        }
    }
}

fn measure_heap() {
    oracles::measure_heap_by(|run| allocation_counter::measure(run).bytes_max);
}

/// Returns every zTensor file of the corpus, without shards: its name, its path, and its bytes.
fn corpus() -> impl Iterator<Item = (Named, std::path::PathBuf, Vec<u8>)> {
    measure_heap();
    let valid = |file: Accepted| (Named(file.name), file.path, file.bytes);
    let bad = |row: Reject| (Named(row.file.clone()), row.path.clone(), row.read());
    let of_1 = accepted().map(valid).chain(reject_index().map(bad));
    let root = |row: Sharded| {
        let (name, bytes) = (row.path.display().to_string(), std::fs::read(&row.path).unwrap());
        (Named(name), row.path, bytes)
    };
    let of_2 = accepted_v2().map(valid).chain(reject_index_v2().map(bad));
    of_1.chain(of_2).chain(sharded().map(root))
}

#[test]
#[cfg_attr(feature = "zstd-ruzstd", ignore = "the memory of that decoder is not bounded so")]
fn opening_holds_for_the_corpus() {
    let opened = corpus().filter(|(_name, _, bytes)| oracles::open(bytes)).count();
    assert!(opened >= least(401), "only {opened} files open");
}

#[test]
fn steps_hold_for_the_corpus() {
    let mut opened = 0;
    for (_name, path, bytes) in corpus() {
        for splits in [&[][..], &[1], &[3, 8, 200], &[64, 0, 7, 255]] {
            opened += u32::from(oracles::steps(&bytes, splits));
        }
        oracles::steps_on_disk(&bytes, &path);
    }
    assert!(opened >= least(1601), "only {opened} files open");
}

#[test]
fn the_canonical_form_holds_for_the_corpus() {
    let (mut own, mut other) = (0, 0);
    for (_name, _, bytes) in corpus() {
        match oracles::canonical(&bytes) {
            CanonicalRelation::Own => own += 1,
            CanonicalRelation::Other => other += 1,
            _ => {}
        }
    }
    assert!(
        own >= least(25) && other >= least(301),
        "only {own} canonical files, and {other} with a form"
    );
}

#[test]
fn appending_holds_for_the_corpus() {
    let (mut files, mut edges, mut rejected) = (0, 0, 0);
    for (at, (_name, _, bytes)) in corpus().enumerate() {
        // Over the loop, every file gets every addition. Each time another limit is tested, and another one for the next file.
        for addition in 0..7 {
            let appended = oracles::append(&bytes, addition, addition + at);
            files += appended.files;
            edges += appended.edges;
            rejected += appended.rejected;
        }
    }
    println!("{files} files, {edges} of a limit at its edge, {rejected} rejected");
    assert!(files >= least(201) && edges >= least(201) && rejected >= least(201));
}

/// Adds the counts `lied` of one run to `sum`.
fn add(sum: &mut Lied, lied: Lied) {
    sum.times = sum.times.max(lied.times);
    sum.ended += lied.ended;
    sum.verified += lied.verified;
    sum.rejected += lied.rejected;
}

#[test]
fn lies_are_found_or_harmless_for_the_corpus() {
    let mut sum = Lied::default();
    for (_name, _, bytes) in corpus() {
        for lends in [false, true] {
            let truth = oracles::lies(&bytes, Plan::Once(Lie::Error, usize::MAX, lends));
            add(&mut sum, truth);
            for lie in Lie::ALL {
                // The source lies once: at one of its first three reads, or at the last one.
                let times = truth.times;
                for time in (0..times).filter(|time| *time < 3 || time + 2 > times) {
                    add(&mut sum, oracles::lies(&bytes, Plan::Once(lie, time, lends)));
                }
            }
        }
        for plan in [&[0x03][..], &[0x41, 0x41, 1, 0x41, 5], &[0x40, 0x40, 0, 0x40]] {
            add(&mut sum, oracles::lies(&bytes, Plan::Often(plan)));
        }
    }
    println!("{sum:?}");
    assert!(sum.ended >= least(201) && sum.verified >= least(201) && sum.rejected >= least(201));
}

#[test]
fn other_decoders_of_cbor_agree_on_the_corpus() {
    let mut compared = 0;
    for (_name, _, bytes) in corpus() {
        let Ok(archive) = zten::Archive::from_bytes(&bytes) else { continue };
        for (_, item) in archive.manifest().fields().into_iter().flatten() {
            compared += u32::from(oracles::cbor(item.as_bytes()));
            if let Value::Map(entries) = item.value() {
                for (_, item) in entries {
                    compared += u32::from(oracles::cbor(item.as_bytes()));
                }
            }
        }
    }
    assert!(compared >= least(1001), "only {compared} items");
}

#[test]
fn what_is_written_can_be_read_again() {
    measure_heap();
    let mut sum = Outcome::default();
    for seed in 0..rounds(6000) as u64 {
        let _name = Named(format!("the model of seed {seed}"));
        let model = Model::from_bytes(&chance(seed));
        let outcome = oracles::model(&model);
        sum.written += outcome.written;
        sum.rejected += outcome.rejected;
        sum.spoiled += outcome.spoiled;
        sum.damaged += outcome.damaged;
        sum.opened += outcome.opened;
    }
    println!("{sum:?}");
    assert!(
        sum.written >= least(6001) && sum.rejected >= least(601) && sum.spoiled >= least(601),
        "{sum:?}"
    );
    assert!(sum.damaged >= least(4001) && sum.opened >= least(401), "{sum:?}");
}

#[test]
#[cfg_attr(feature = "zstd-ruzstd", ignore = "the memory of that decoder is not bounded so")]
fn what_a_parser_passes_to_the_builder_is_checked() {
    measure_heap();
    let mut sum = Filled::default();
    for seed in 0..rounds(6000) as u64 {
        let _name = Named(format!("the calls of seed {seed}"));
        let filled = oracles::builder(&Calls::from_bytes(&chance(seed)));
        sum.opened += filled.opened;
        sum.valid += filled.valid;
        sum.rejected += filled.rejected;
        sum.ended += filled.ended;
        sum.copied += filled.copied;
    }
    println!("{sum:?}");
    assert!(sum.opened >= least(4001) && sum.valid >= least(2001), "{sum:?}");
    assert!(sum.rejected >= least(401) && sum.ended >= least(201), "{sum:?}");
    assert!(sum.copied >= least(401), "{sum:?}");
}

#[test]
fn files_of_the_grammar_are_valid_and_damaged_ones_cause_no_panic() {
    measure_heap();
    let mut sum = Grown::default();
    for seed in 0..rounds(3000) as u64 {
        let _name = Named(format!("the file of seed {seed}"));
        let grown = oracles::grammar(&chance(seed));
        sum.objects += grown.objects;
        sum.damaged += grown.damaged;
        sum.opened += grown.opened;
    }
    println!("{sum:?}");
    assert!(
        sum.objects >= least(3001) && sum.damaged >= least(3001) && sum.opened >= least(301),
        "{sum:?}"
    );
}

/// Lists of digests with names of all kinds, and damaged lists.
#[test]
fn the_oracle_of_digest_lists_holds_for_damaged_lists() {
    const PIECES: [&str; 24] = [
        "# zten digests 1\n",
        "#",
        " ",
        "  ",
        "\n",
        "\r",
        "\"",
        "/",
        "\\",
        "\\u{22}",
        "\\u{",
        "}",
        "…",
        "重",
        "\u{202e}",
        "8",
        "0",
        "f32[2]",
        "a",
        "-",
        "a/data\n",
        "\"a b\"/\"\"\n",
        "\"\\u{a}\"/x\n",
        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff  8  u8[8]  ",
    ];
    measure_heap();
    let (mut accepted, mut rejected) = (0, 0);
    for seed in (0..).take(rounds(3000)) {
        let mut bytes = chance(seed).into_iter();
        let mut next = move || usize::from(bytes.next().unwrap_or_default());
        let mut list = PIECES[0].as_bytes().to_vec();
        for _ in 0..next() % 6 {
            list.extend_from_slice(PIECES[23].as_bytes());
            let name = ["a", "\"\\u{22}\"", "\"a b\"", "重", "\"\\u{202e}/\""][next() % 5];
            list.extend_from_slice(format!("{name}/r{}\n", next() % 40).as_bytes());
        }
        if next() % 2 == 0 {
            let at = next() % (list.len() + 1);
            let end = (at + next() % 3).min(list.len());
            list.splice(at..end, PIECES[next() % PIECES.len()].bytes());
        }
        let outcome = if oracles::digests(&list) { &mut accepted } else { &mut rejected };
        *outcome += 1;
    }
    assert!(accepted >= least(1000) && rejected >= least(500), "{accepted} {rejected}");
}

/// The oracle of other formats holds for the files of the corpus, and for damaged copies of them. The last byte of an
/// input tells the oracle that the bytes before it are a complete file.
#[test]
#[cfg_attr(miri, ignore = "it takes hours")]
fn other_formats_hold_for_the_corpus_and_for_damage_to_it() {
    measure_heap();
    let mut valid = BTreeMap::<_, u32>::new();
    for output in zten_corpus::files().iter().filter(|file| file.path.starts_with("other/")) {
        let bytes = &output.bytes[..];
        let own = Format::ALL
            .iter()
            .filter(|format| output.path.contains(&format!("/{format:?}/").to_lowercase()));
        for format in own {
            let is_valid = file_format(*format, &[bytes, &[0]].concat());
            *valid.entry(format.name()).or_default() += u32::from(is_valid);
            for at in (0..bytes.len()).step_by(1 + bytes.len() / 64) {
                for change in [0x01, 0x80, 0xff] {
                    let mut damaged = bytes.to_vec();
                    damaged[at] ^= change;
                    file_format(*format, &[&damaged[..], &[0]].concat());
                }
                file_format(*format, &[&bytes[..at], &[0]].concat());
            }
        }
        for format in Format::ALL {
            file_format(format, &[bytes, &[0]].concat());
        }
    }
    for format in Format::ALL {
        assert!(valid.get(format.name()).is_some_and(|valid| *valid > 0), "{valid:?}");
    }
}

/// Recognizing the format keeps its promises for every file of another format, and for each of these files cut to half its length
/// and to 9 bytes.
#[test]
#[cfg_attr(miri, ignore = "it takes hours")]
fn recognizing_holds_for_the_corpus() {
    measure_heap();
    let mut files = 0;
    for folder in ["accept", "reject"] {
        for path in zten_testkit::other_formats(folder) {
            let bytes = std::fs::read(&path).unwrap();
            let _name = Named(path.display().to_string());
            for length in [bytes.len(), bytes.len() / 2, bytes.len().min(9)] {
                oracles::recognize(&bytes[..length]);
            }
            files += 1;
        }
    }
    assert!(files >= 500, "{files} files");
}

/// The oracle of other formats holds for files that it assembles from parts: indexes, safetensors files, NumPy files, and
/// pseudorandom GGUF files, archives of NumPy files and checkpoints.
#[test]
#[cfg_attr(miri, ignore = "it takes hours")]
fn other_formats_hold_for_files_that_are_made() {
    measure_heap();
    let index = br#"{"weight_map":{"x":"a.safetensors","y":"b.safetensors"}}"#;
    let [one, other] = ["x", "y"].map(|name| header([(name, "U8", [2], 2)]));
    let texts = [&index[..], one.as_bytes(), other.as_bytes(), &[2, 1, 2, 3, 4, 1]].join(&0);
    assert!(file_format(Format::Index, &texts));
    let wrong = [&index[..], one.as_bytes(), other.as_bytes(), &[1, 1, 2, 3, 4, 1]].join(&0);
    assert!(!file_format(Format::Index, &wrong));
    assert!(file_format(Format::Safetensors, &[one.as_bytes(), &[0, 1, 2, 1]].concat()));
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n";
    for version in [1, 3, 5] {
        assert!(file_format(Format::Npy, &[header.as_bytes(), &[0, 1, 2, version]].concat()));
    }
    for (format, choice) in
        [(Format::Gguf, 1), (Format::Gguf, 3), (Format::Npz, 1), (Format::Torch, 1)]
    {
        let made = |seed: &u64| file_format(format, &[&chance(*seed)[..], &[choice]].concat());
        let valid = (0..2000).filter(made).count();
        assert!(valid > 20, "only {valid} of {format:?} are valid");
    }
}

/// The oracle of conventions holds for groups of quantized tensors of each convention, of random sizes.
#[test]
#[cfg_attr(miri, ignore = "it takes hours")]
fn conventions_hold_for_groups_that_are_made() {
    measure_heap();
    for choice in 0..11 {
        let made = |seed: &u64| oracles::conventions(&[&chance(*seed)[..], &[choice]].concat());
        let found = (0..2000).filter(made).count();
        assert!(found > 100, "only {found} groups of kind {choice}");
    }
}

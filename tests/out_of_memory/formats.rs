//! Running out of memory while a file of another format than zTensor is opened and verified.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use zten::{Error, ErrorKind, Limits, OpenOptions, ReadAt};
use zten_corpus::other::gguf;
use zten_corpus::other::safetensors::file;

use super::{ONE, sweep};

/// A source in memory that does not lend its bytes.
struct Positions<'b>(&'b [u8]);

impl ReadAt for Positions<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let start = usize::try_from(offset).unwrap();
        buffer.copy_from_slice(&self.0[start..start + buffer.len()]);
        Ok(())
    }
}

fn borrow(bytes: &[u8], options: &OpenOptions) -> Result<(), Error> {
    let archive = options.from_bytes(bytes)?;
    archive.verify()?;
    Ok(())
}

fn read(bytes: &[u8], options: &OpenOptions) -> Result<(), Error> {
    let length = u64::try_from(bytes.len()).unwrap();
    options.open_named(Positions(bytes), length, Path::new("x"))?.verify()?;
    Ok(())
}

/// Returns whether two outcomes are the same. Takes no memory itself, because allocations fail during the test.
fn is_same(one: &Result<(), Error>, other: &Result<(), Error>) -> bool {
    match (one, other) {
        (Ok(()), Ok(())) => true,
        // Equal errors may differ in names and sentences, which are left out where there is no memory for them.
        (Err(one), Err(other)) => one == other,
        _ => false,
    }
}

fn is_memory(error: &Error) -> bool {
    error.kind() == ErrorKind::OutOfMemory
}

/// Fails each allocation of `work` in turn: each time the outcome must be out of memory, or the outcome with enough memory.
/// Returns the number of allocations that failed, and of failures that did not change the outcome.
fn tally(what: &str, work: impl Fn() -> Result<(), Error>) -> [usize; 2] {
    let harmless = Cell::new(0);
    let failed = sweep(what, work, |outcome, usual| {
        if is_same(outcome, usual) {
            harmless.set(harmless.get() + 1);
        } else {
            assert!(outcome.as_ref().is_err_and(is_memory), "{what}");
        }
    });
    [failed, harmless.get()]
}

/// Returns valid and invalid files of the corpus, and some files that take other paths through the code, with their
/// names.
fn files() -> Vec<(String, Vec<u8>)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/other");
    let read = |path: PathBuf| (path.display().to_string(), fs::read(path).unwrap());
    let mut files = Vec::new();
    for format in ["safetensors", "gguf", "npy", "npz", "torch"] {
        for folder in ["accept", "reject"] {
            let folder = fs::read_dir(corpus.join(format).join(folder)).unwrap();
            files.extend(folder.map(|file| read(file.unwrap().path())));
        }
    }
    let entry = |begin: usize, end: usize| {
        format!(r#"{{"dtype":"U8","shape":[{}],"data_offsets":[{begin},{end}]}}"#, end - begin)
    };
    let many = (0..300).rev().map(|at| format!(r#""\u0061{at}":{}"#, entry(at, at + 1)));
    let many =
        format!(r#"{{{},"__metadata__":{{"b":"\n","a":""}}}}"#, many.collect::<Vec<_>>().join(","));
    files.push(("disorder".to_owned(), file(&many, &[0; 300])));
    let texts: Vec<_> = (0..100).rev().map(|at| format!(r#""{at}\t":"{at}""#)).collect();
    let texts = format!(r#"{{"__metadata__":{{{}}}}}"#, texts.join(","));
    files.push(("metadata".to_owned(), file(&texts, &[])));
    let name = r"\u0062".repeat(200);
    for (what, header, data) in [
        ("a name that is cut", format!(r#"{{"{name}":{}}}"#, entry(1, 2)), 2),
        ("a name twice", format!(r#"{{"{name}":{},"{name}":{}}}"#, entry(0, 1), entry(1, 2)), 2),
        ("an escape in an unknown field", format!(r#"{{"{name}":{{"{name}":1}}}}"#), 0),
        ("an escape in a dtype", format!(r#"{{"{name}":{{"dtype":"{name}"}}}}"#), 0),
    ] {
        files.push((what.to_owned(), file(&header, &vec![0; data])));
    }
    let infos: Vec<_> = (0..300_u64)
        .rev()
        .map(|at| match at % 3 {
            0 => gguf::info(&format!("{at}"), &[0, at], 17, 0),
            1 => gguf::info(&format!("{at}"), &[256, 0], 18, 0),
            _ => gguf::info(&format!("{at}"), &[32], 24, at / 3 * 32),
        })
        .collect();
    let pairs: Vec<_> = (0..99).rev().map(|at| gguf::pair(&format!("{at}"), 0, &[200])).collect();
    files.push(("GGUF".to_owned(), gguf::file(&pairs, &infos, &[7; 3200])));
    let text = [gguf::pair("long", 8, &gguf::text("x".repeat(100_000)))];
    files.push(("a long header".to_owned(), gguf::file(&text, &[], &[])));
    let twice = ["a", "b", "a"].map(|name| gguf::info(name, &[0], 0, 0));
    files.push(("a name of GGUF twice".to_owned(), gguf::file(&[], &twice, &[])));
    let key = gguf::pair(&"k".repeat(300), 7, &[1]);
    files.push(("a key twice".to_owned(), gguf::file(&[key.clone(), key], &[], &[])));
    files
}

#[test]
fn files_of_other_formats() {
    let limits = Limits::default().with_named("keys", 99).unwrap();
    let _one = ONE.lock();
    let mut sum = [0; 2];
    for (name, bytes) in files() {
        for options in [OpenOptions::default(), OpenOptions::default().limits(limits)] {
            let swept = [
                tally(&name, || borrow(&bytes, &options)),
                tally(&name, || read(&bytes, &options)),
            ];
            for [failed, harmless] in swept {
                sum = [sum[0] + failed, sum[1] + harmless];
            }
        }
    }
    let [failed, harmless] = sum;
    println!("{failed} failed, {harmless} of them harmless");
    assert!(failed > 1000, "only {failed} allocations");
    // A failed allocation is harmless if the outcome is the same, except that an error or a note may lack its names.
    // Most allocations must not be harmless.
    assert!(harmless * 12 < failed, "{harmless} of {failed} are harmless");
}

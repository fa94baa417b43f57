//! Tests that a file and its plain and its canonical copy in generation 1.2 are equal. Only the canonical form replaces every NaN
//! in attributes with the same NaN, which is a difference.

use std::fs;

use zten::Archive;
use zten::write::{Copier, WriteOptions};

use super::lines;
use crate::corpus_folder;
use crate::files::write;

#[test]
fn copies_are_equal() {
    let accept = corpus_folder().join("accept");
    let opens_only = fs::read_to_string(accept.join("opens-only.tsv")).unwrap();
    let mut folders = vec![accept];
    let (mut plain, mut canonical, mut other_nan) = (0, 0, Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.file_name().unwrap().to_str().unwrap();
            let skipped = opens_only.lines().any(|line| line.split('\t').next() == Some(name));
            if skipped || path.extension().is_none_or(|extension| extension != "zt") {
                continue;
            }
            let bytes = fs::read(&path).unwrap();
            let archive = Archive::from_bytes(bytes).unwrap();
            for (options, count) in [
                (WriteOptions::default(), &mut plain),
                (WriteOptions::default().canonical(), &mut canonical),
            ] {
                let copier = Copier::new(archive.manifest());
                let copy = copier.file(archive.manifest(), archive.source(), Vec::new(), &options);
                // Some values cannot be copied: a value with a repeated key has no canonical form.
                let Ok(copy) = copy else { continue };
                let copy = write("diff-copy.zt", &copy);
                match lines(&path, &copy).as_str() {
                    "" => {}
                    other => {
                        assert!(other.contains("{\"$nan\":\""), "{other}");
                        other_nan.push(name.to_owned());
                    }
                }
                *count += 1;
            }
        }
    }
    other_nan.sort_unstable();
    assert_eq!(other_nan, ["v12-ignored-doubles.zt", "v12-ignored-floats.zt"]);
    assert!(plain > 500 && canonical > 500, "{plain} {canonical}");
}

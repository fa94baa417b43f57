//! Loads a file into memory, verifies all of it, and lists what is in it:
//! `cargo run --example verify -- FILE`.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use zten::source::FileArchive;
use zten::{Archive, Options};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("FILE")?;
    print!("{}", list(path.as_ref())?);
    Ok(())
}

/// All bytes in memory: views borrow them.
fn list(path: &Path) -> Result<String, Box<dyn Error>> {
    // The archive owns the file: it can be stored, moved, and sent to another thread.
    let archive = Archive::open(std::fs::read(path)?)?;
    let verified = archive.verify()?;
    let mut text = String::new();
    for object in archive.objects() {
        // Names are any UTF-8. `{:?}` escapes what a terminal should not be sent.
        writeln!(text, "{:?} {} {:?}", object.name(), object.format(), object.shape())?;
        for component in object.components() {
            let (role, element) = (component.role(), component.element_type().name());
            writeln!(text, "  {role:?} {element:?} {}", component.encoding())?;
        }
    }
    let (components, digests) = (verified.components(), verified.digests());
    writeln!(text, "{components} components, {digests} of them with a digest that matches")?;
    Ok(text)
}

/// The manifest in memory, and of the data what is asked for: for files that are larger.
#[cfg_attr(not(test), expect(dead_code, reason = "the other way to do it"))]
fn first_elements(path: &Path, name: &str) -> Result<Vec<f32>, Box<dyn Error>> {
    let archive = FileArchive::open(path, &Options::default())?;
    let dense = archive.require(name)?.dense()?;
    let mut elements: Vec<f32> = dense.read_elements(&archive, archive.limits())?;
    elements.truncate(2);
    Ok(elements)
}

#[test]
fn a_file_is_listed() {
    let path = Path::new("corpus/accept/1.1.1/crc32c.zt");
    let text = list(path).unwrap();
    assert!(text.ends_with("with a digest that matches\n") && text.lines().count() > 2, "{text}");
    let path = Path::new("corpus/accept/1.2.3/dense_all.zt");
    assert!(list(path).unwrap().contains("\"t_f32\" dense [2, 3]\n  \"data\" \"f32\" raw\n"));
    assert_eq!(first_elements(path, "t_f32").unwrap(), [-1.25, -0.75]);
    let missing = first_elements(path, "t_fp32").unwrap_err().to_string();
    assert!(missing.contains("nearest name is \"t_f32\""), "{missing}");
}

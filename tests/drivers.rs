//! One file, three ways to open it: whole slice, step by step, and from disk. They agree on
//! every corpus file, in what they accept and in what they say.

use zten::open::Opening;
use zten::{Archive, Component, Error, OpenOptions, Tensor};
use zten_oracles::said;
use zten_testkit::sample::least;
use zten_testkit::{accepted, body, reject_index, slice};

/// The content of every component, or why it cannot be read.
fn content<'t>(tensors: impl Iterator<Item = Tensor<'t>>) -> Vec<Result<Vec<u8>, String>> {
    let read = |component: Component<'_>| match component.read() {
        Ok(bytes) => Ok(bytes.to_vec()),
        Err(error) if error.rule().is_some() => Err(all_of(&error)),
        Err(error) => panic!("{component:?} lies outside the file: {error}"),
    };
    tensors.flat_map(|object| object.components()).map(read).collect()
}

/// All that an error says.
fn all_of(error: &Error) -> String {
    format!("{error} {error:?}")
}

#[test]
fn content_is_the_same_through_every_driver() {
    let mut compressed = 0;
    for file in accepted() {
        let bytes = &file.bytes[..];
        let archive = Archive::from_bytes(bytes).unwrap();
        let whole = content(archive.tensors());
        let disk = zten::open(&file.path).unwrap();
        assert_eq!(whole, content(disk.tensors()), "{}", file.name);
        let (body, manifest) = body(bytes, &OpenOptions::default()).unwrap();
        let manifest = body.manifest(manifest).unwrap();
        let bound = manifest.tensors().map(|object| object.read_from(&bytes));
        assert_eq!(whole, content(bound), "{}", file.name);
        // A blob alone is enough to bind a raw component.
        for component in manifest.tensors().flat_map(|object| object.components()) {
            match component.bind(bytes) {
                Ok(view) => {
                    let blob =
                        component.bind_blob(slice(bytes, component.extent().range())).unwrap();
                    assert_eq!(view.as_bytes(), blob.as_bytes(), "{}", file.name);
                }
                Err(_) => compressed += 1,
            }
        }
    }
    assert!(compressed >= least(101), "only {compressed} components cannot be bound");
}

fn whole(file: &[u8], options: &OpenOptions) -> Result<String, Error> {
    options.from_bytes(file).map(|archive| said(archive.manifest()))
}

fn steps(file: &[u8], options: &OpenOptions) -> Result<String, Error> {
    let (body, manifest) = body(file, options)?;
    // An owned manifest this time.
    Ok(said(&body.manifest(manifest.to_vec())?))
}

fn disk(file: &std::path::Path, options: &OpenOptions) -> Result<String, Error> {
    options.open(file).map(|archive| said(archive.manifest()))
}

#[test]
fn drivers_agree_on_every_accepted_file() {
    for file in accepted() {
        let options = OpenOptions::default();
        let whole = whole(&file.bytes, &options);
        assert!(whole.is_ok(), "{}: {whole:?}", file.name);
        assert_eq!(whole, steps(&file.bytes, &options), "{}", file.name);
        assert_eq!(whole, disk(&file.path, &options), "{}", file.name);
    }
}

#[test]
fn drivers_agree_on_every_reject_file() {
    for row in reject_index() {
        let file = row.read();
        let [whole, steps, disk] =
            [whole(&file, &row.options), steps(&file, &row.options), disk(&row.path, &row.options)];
        assert_eq!((&whole, &whole), (&steps, &disk), "{}", row.file);
        let [whole, steps, disk] =
            [whole, steps, disk].map(|opened| opened.map_err(|error| all_of(&error)));
        assert_eq!(whole, disk, "{}", row.file);
        // The header alone does not show which other format a file has.
        if row.expected.rule != "header-magic" {
            assert_eq!(whole, steps, "{}", row.file);
        }
    }
}

#[test]
fn wrong_supplies_are_refused() {
    let options = OpenOptions::default();
    let opening = Opening::new(17, &options).unwrap();
    assert!(opening.header(b"ZTEN000").is_err());
    assert!(opening.header(b"ZTEN00011").is_err());
    let footer = opening.header(b"ZTEN0001").unwrap();
    assert!(footer.footer(&[1, 0, 0, 0, 0, 0, 0]).is_err());
    let body = footer.footer(&[1, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    assert!(body.clone().manifest(&[][..]).is_err());
    assert!(body.clone().manifest(&[0x80, 0x80][..]).is_err());
    assert!(body.manifest(&[0x80][..]).is_ok());
}

//! One file, three ways to open it: whole slice, step by step, and from disk. They agree on
//! every corpus file, in what they accept and in what they say.

use zten::open::Opening;
use zten::source::FileArchive;
use zten::{Archive, Component, Error, Limits, Manifest, Options, ReadAt, ReadError};
use zten_oracles::said;
use zten_testkit::sample::least;
use zten_testkit::{accepted, body, reject_index, slice};

/// The content of every component, or why it cannot be read.
fn content<R: ReadAt + ?Sized>(
    manifest: &Manifest<impl AsRef<[u8]>>,
    source: &R,
) -> Vec<Result<Vec<u8>, Error>> {
    let read = |component: Component<'_>| match component.read_to_vec(source, &Limits::default()) {
        Ok(bytes) => Ok(bytes),
        Err(ReadError::Refused(error)) => Err(error),
        Err(ReadError::Source(_)) => panic!("{component:?} lies outside the file"),
    };
    manifest.objects().flat_map(|object| object.components()).map(read).collect()
}

#[test]
fn content_is_the_same_through_every_driver() {
    let mut compressed = 0;
    for file in accepted() {
        let bytes = &file.bytes[..];
        let archive = Archive::open(bytes).unwrap();
        let whole = content(&archive, bytes);
        let disk = FileArchive::open(&file.path, &Options::default()).unwrap();
        assert_eq!(whole, content(&disk, &disk), "{}", file.name);
        let (body, manifest) = body(bytes, &Options::default()).unwrap();
        let manifest = body.manifest(manifest).unwrap();
        assert_eq!(whole, content(&manifest, bytes), "{}", file.name);
        // A blob alone is enough to bind a raw component.
        for component in manifest.objects().flat_map(|object| object.components()) {
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

fn whole(file: &[u8], options: &Options) -> Result<String, Error> {
    Archive::open_with(file, options).map(|archive| said(&archive))
}

fn steps(file: &[u8], options: &Options) -> Result<String, Error> {
    let (body, manifest) = body(file, options)?;
    // An owned manifest this time.
    Ok(said(&body.manifest(manifest.to_vec())?))
}

fn disk(file: &std::path::Path, options: &Options) -> Result<String, Error> {
    match FileArchive::open(file, options).map_err(ReadError::from) {
        Ok(archive) => Ok(said(&archive)),
        Err(ReadError::Refused(error)) => Err(error),
        Err(ReadError::Source(error)) => panic!("{}: {error}", file.display()),
    }
}

#[test]
fn drivers_agree_on_every_accepted_file() {
    for file in accepted() {
        let options = Options::default();
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
        let whole = whole(&file, &row.options);
        assert_eq!(whole, steps(&file, &row.options), "{}", row.file);
        assert_eq!(whole, disk(&row.path, &row.options), "{}", row.file);
    }
}

#[test]
fn wrong_supplies_are_refused() {
    let options = Options::default();
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

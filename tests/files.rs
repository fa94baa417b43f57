//! Files are published whole or not at all, whenever the program stops.

use std::fs;
use std::io;
use std::path::Path;

use zten::source::FileArchive;
use zten::write::{FileSink, NewObject, Settings, Sink, Writer, append};
use zten::{Options, StorageType, Verifier};

/// Adds one object of those bytes.
fn add<S: Sink>(writer: &mut Writer<S>, name: &str, bytes: &[u8])
where
    S::Error: std::fmt::Debug,
{
    let shape = [bytes.len() as u64];
    writer.add(&NewObject::dense(name, &shape, StorageType::U8), &[("data", bytes)]).unwrap();
}

fn create(path: &Path, names: &[&str]) {
    let sink = FileSink::create(path).unwrap();
    let mut writer = Writer::new(sink, &Settings::default()).unwrap();
    for name in names {
        add(&mut writer, name, name.as_bytes());
    }
    writer.finish().unwrap().publish().unwrap();
}

/// The names in a file, all of which has been verified.
fn names(path: &Path) -> Vec<String> {
    let archive = FileArchive::open(path, &Options::default()).unwrap();
    let mut verifier = Verifier::new(archive.file_len(), &zten::Limits::default());
    for object in archive.objects() {
        verifier.object(&object, &archive, |_, _| ()).unwrap();
    }
    archive.objects().map(|object| object.name().to_owned()).collect()
}

/// The temporary files in a folder.
fn leftovers(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .filter(|entry| entry.as_ref().unwrap().path().extension() == Some("tmp".as_ref()))
        .count()
}

#[test]
fn a_file_appears_when_it_is_published() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zt");
    let mut writer = Writer::new(FileSink::create(&path).unwrap(), &Settings::default()).unwrap();
    add(&mut writer, "a", &vec![1; 300_000]);
    let sink = writer.finish().unwrap();
    assert!(!path.exists());
    sink.publish().unwrap();
    assert_eq!(names(&path), ["a"]);
    assert_eq!(leftovers(folder.path()), 0);
}

#[test]
fn what_is_not_published_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zt");
    create(&path, &["old"]);
    let mut writer = append(&path, &Options::default(), &Settings::default()).unwrap();
    add(&mut writer, "new", b"new");
    drop(writer.finish().unwrap());
    assert_eq!(names(&path), ["old"]);
    assert_eq!(leftovers(folder.path()), 0);
}

#[test]
fn appending_adds_to_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zt");
    create(&path, &["b", "a"]);
    for (name, all) in [("c", &["b", "a", "c"][..]), ("aa", &["b", "a", "c", "aa"])] {
        let mut writer = append(&path, &Options::default(), &Settings::default()).unwrap();
        add(&mut writer, name, name.as_bytes());
        writer.finish().unwrap().publish().unwrap();
        assert_eq!(names(&path), all);
    }
    fs::write(&path, b"no file").unwrap();
    assert!(append(&path, &Options::default(), &Settings::default()).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"no file");
    assert_eq!(leftovers(folder.path()), 0);
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_permissions_kept() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("x.zt"), folder.path().join("link"));
    create(&path, &["a"]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("x.zt", &link).unwrap();
    create(&link, &["b"]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(names(&path), ["b"]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(
        FileSink::create(Path::new("/dev/null")).unwrap_err().kind(),
        io::ErrorKind::InvalidInput,
    );
}

/// A sink that ends the process before it takes so many pieces.
struct Mortal {
    sink: FileSink,
    left: u32,
}

impl Sink for Mortal {
    type Error = io::Error;

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.left = self.left.checked_sub(1).unwrap_or_else(|| std::process::abort());
        self.sink.write(bytes)?;
        // What is written is in the file, and not held back by the process.
        self.sink.flush()
    }
}

const PATH: &str = "ZTEN_TEST_PATH";
const LIFE: &str = "ZTEN_TEST_LIFE";

/// Run by the test below in processes of their own; by itself it has nothing to do.
#[test]
#[cfg_attr(miri, ignore = "it starts processes")]
fn append_and_die() {
    let (Ok(path), Ok(life)) = (std::env::var(PATH), std::env::var(LIFE)) else { return };
    let (sink, manifest) = FileSink::edition(Path::new(&path), &Options::default()).unwrap();
    let sink = Mortal { sink, left: life.parse().unwrap() };
    let mut writer = Writer::append(sink, &manifest, &Settings::default()).unwrap();
    add(&mut writer, "new", &[7; 1000]);
    let Mortal { sink, left } = writer.finish().unwrap();
    if left == 0 {
        std::process::abort();
    }
    sink.publish().unwrap();
}

#[test]
#[cfg_attr(miri, ignore = "it starts processes")]
fn whenever_the_process_dies_the_file_is_the_old_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zt");
    create(&path, &["old"]);
    for life in 0.. {
        let status = zten_testkit::process::command(std::env::current_exe().unwrap())
            .args(["--exact", "append_and_die"])
            .env(PATH, &path)
            .env(LIFE, life.to_string())
            .output()
            .unwrap()
            .status;
        if status.success() {
            assert!(life > 3, "it died {life} times only");
            break;
        }
        assert_eq!(names(&path), ["old"], "after {life} pieces");
        assert_eq!(leftovers(folder.path()), life + 1);
    }
    assert_eq!(names(&path), ["old", "new"]);
}

//! Tests that files are published whole or not at all, even if the program stops at any moment.

use std::error::Error as _;
use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use zten::write::{FileSink, Sink, WriteOptions};
use zten::{Error, ErrorKind, OpenOptions, Writer};

/// Adds an object `name` with the content `bytes`.
fn add<S: Sink>(writer: &mut Writer<S>, name: &str, bytes: &[u8]) {
    writer.add(name, &[bytes.len() as u64], bytes).unwrap();
}

fn create(path: &Path, names: &[&str]) {
    let mut writer = Writer::create(path).unwrap();
    for name in names {
        add(&mut writer, name, name.as_bytes());
    }
    writer.finish().unwrap();
}

/// Returns the sink of a complete file without objects that is not published yet.
fn begun(path: &Path) -> FileSink {
    let mut sink = FileSink::create(path).unwrap();
    Writer::new(&mut sink, &WriteOptions::default()).unwrap().finish().unwrap();
    sink
}

/// Verifies all of the file at `path`, and returns the names of its objects.
fn names(path: &Path) -> Vec<String> {
    let archive = zten::open(path).unwrap();
    archive.verify().unwrap();
    archive.names().map(str::to_owned).collect()
}

/// Returns the error of the operating system that prevented publishing.
fn reason(error: &Error) -> &io::Error {
    assert_eq!((error.kind(), error.rule()), (ErrorKind::Write, None), "{error}");
    error.source().unwrap().downcast_ref().unwrap()
}

/// Counts the temporary files in `folder`.
fn leftovers(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .filter(|entry| entry.as_ref().unwrap().path().extension() == Some("tmp".as_ref()))
        .count()
}

/// Bytes that a separate thread sends to the disk, and bytes that overwrite earlier ones, are all in the published file.
#[test]
fn many_bytes_are_published_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let mut sink = FileSink::create(&path).unwrap();
    let (piece, count) = (vec![7; 1 << 20], 70);
    for _ in 0..count {
        sink.write(&piece).unwrap();
    }
    sink.seek(SeekFrom::Start(3)).unwrap();
    sink.write(&[1, 2]).unwrap();
    sink.seek(SeekFrom::End(0)).unwrap();
    sink.write(&[3]).unwrap();
    assert!(!path.exists());
    sink.publish().unwrap();
    let mut wanted = piece.repeat(count);
    wanted[3..5].copy_from_slice(&[1, 2]);
    wanted.push(3);
    assert!(fs::read(&path).unwrap() == wanted);
    assert_eq!(leftovers(folder.path()), 0);
}

#[test]
fn a_file_appears_when_it_is_published() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zt");
    let mut sink = FileSink::create(&path).unwrap();
    let mut writer = Writer::new(&mut sink, &WriteOptions::default()).unwrap();
    add(&mut writer, "a", &vec![1; 300_000]);
    writer.finish().unwrap();
    assert!(!path.exists());
    sink.publish().unwrap();
    assert_eq!(names(&path), ["a"]);
    // A writer that owns its sink publishes the file in `finish`, and not before.
    let mut writer = Writer::create(&path).unwrap();
    add(&mut writer, "b", &vec![2; 300_000]);
    assert_eq!(names(&path), ["a"]);
    writer.finish().unwrap();
    assert_eq!(names(&path), ["b"]);
    assert_eq!(leftovers(folder.path()), 0);
}

#[test]
fn what_is_not_published_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zt");
    create(&path, &["old"]);
    let mut writer = Writer::append_to(&path).unwrap();
    add(&mut writer, "new", b"new");
    drop(writer);
    assert_eq!(names(&path), ["old"]);
    let (mut sink, manifest) = FileSink::edition(&path, &OpenOptions::default()).unwrap();
    let mut writer = Writer::append(&mut sink, &manifest, &WriteOptions::default()).unwrap();
    add(&mut writer, "new", b"new");
    writer.finish().unwrap();
    drop(sink);
    assert_eq!(names(&path), ["old"]);
    assert_eq!(leftovers(folder.path()), 0);
}

#[test]
fn publish_new_replaces_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zt");
    begun(&path).publish_new().unwrap();
    assert_eq!(names(&path), [""; 0]);
    fs::remove_file(&path).unwrap();
    // A file that another program created at the path in the meantime is not replaced.
    let sink = begun(&path);
    create(&path, &["other"]);
    let error = sink.publish_new().unwrap_err();
    assert_eq!(reason(&error).kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(names(&path), ["other"]);
    assert_eq!(leftovers(folder.path()), 0);
}

#[test]
fn appending_keeps_the_old_objects() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zt");
    create(&path, &["b", "a"]);
    for (name, all) in [("c", &["b", "a", "c"][..]), ("aa", &["b", "a", "c", "aa"])] {
        let mut writer = Writer::append_to(&path).unwrap();
        add(&mut writer, name, name.as_bytes());
        writer.finish().unwrap();
        assert_eq!(names(&path), all);
    }
    fs::write(&path, b"no file").unwrap();
    assert!(Writer::append_to(&path).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"no file");
    assert_eq!(leftovers(folder.path()), 0);
}

/// Returns the error for `path`, which must be the same for creating and for appending.
fn rejected(path: &Path) -> String {
    let [created, appended] = [
        FileSink::create(path).unwrap_err(),
        FileSink::edition(path, &OpenOptions::default()).unwrap_err(),
    ]
    .map(io::Error::from);
    assert_eq!(created.kind(), io::ErrorKind::InvalidInput, "{created}");
    assert_eq!((appended.kind(), appended.to_string()), (created.kind(), created.to_string()));
    created.to_string()
}

#[cfg(unix)]
#[test]
fn links_are_rejected() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    create(&at("x.zt"), &["a"]);
    symlink("x.zt", at("link")).unwrap();
    symlink("nothing", at("dangling")).unwrap();
    for link in ["link", "dangling"] {
        assert!(rejected(&at(link)).starts_with("is a symbolic link"));
        assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink());
    }
    assert!(!at("nothing").exists());
    // A symbolic link that was created in the meantime is rejected, too.
    let sink = FileSink::create(&at("late")).unwrap();
    symlink("x.zt", at("late")).unwrap();
    reason(&sink.publish().unwrap_err());
    assert_eq!(names(&at("x.zt")), ["a"]);
    // A link to a folder on the way to the file is followed.
    fs::create_dir(at("folder")).unwrap();
    symlink("folder", at("way")).unwrap();
    create(&at("way/y.zt"), &["b"]);
    assert_eq!(names(&at("folder/y.zt")), ["b"]);
    assert_eq!(leftovers(folder.path()), 0);
}

#[test]
fn only_regular_files_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    rejected(folder.path());
    create(&folder.path().join("x.zt"), &["a"]);
    for path in ["x.zt/", "x.zt/.", "new/", "..", ""] {
        let path =
            if path.is_empty() { Path::new("").to_owned() } else { folder.path().join(path) };
        assert!(rejected(&path).contains("the path does not end"), "{}", path.display());
    }
    #[cfg(unix)]
    assert!(rejected(Path::new("/dev/null")).starts_with("is not a regular file"));
    assert_eq!(names(&folder.path().join("x.zt")), ["a"]);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_new_file_keeps_the_mode_of_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("x.zt"), folder.path().join("other"));
        create(&path, &["a"]);
        fs::write(&other, "").unwrap();
        assert_eq!(mode(&path), mode(&other), "as any new file");
        for (old, new) in [(0o600, 0o600), (0o640, 0o640), (0o444, 0o444), (0o7757, 0o757)] {
            set_mode(&path, old);
            create(&path, &["b"]);
            assert_eq!(mode(&path), new);
            set_mode(&path, old);
            let writer = Writer::append_to(&path).unwrap();
            writer.finish().unwrap();
            assert_eq!(mode(&path), new);
        }
        // The new file gets the mode that the old file has when the sink is published, not when it is created.
        let sink = FileSink::create(&path).unwrap();
        set_mode(&path, 0o600);
        sink.publish().unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn hard_links_keep_the_old_content() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("x.zt"), folder.path().join("other"));
        create(&path, &["a"]);
        fs::hard_link(&path, &other).unwrap();
        create(&path, &["b"]);
        assert_eq!((names(&path), names(&other)), (vec!["b".to_owned()], vec!["a".to_owned()]));
    }

    /// The sink keeps the folder open from the beginning, so a file is published in this folder even if the folder is renamed.
    #[test]
    fn a_file_is_published_in_the_folder_where_it_began() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("one")).unwrap();
        let writer = Writer::create(at("one/x.zt")).unwrap();
        fs::rename(at("one"), at("two")).unwrap();
        fs::create_dir(at("one")).unwrap();
        writer.finish().unwrap();
        assert!(!at("one/x.zt").exists());
        assert_eq!(names(&at("two/x.zt")), [""; 0]);
    }

    /// A file that appears at the target or vanishes while another is written does not matter: publishing replaces it. A folder
    /// that appears there is an error.
    #[test]
    fn files_that_appear_or_vanish_in_the_meantime_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.zt");
        let begin = || Writer::create(&path).unwrap();
        let writer = begin();
        create(&path, &["a"]);
        set_mode(&path, 0o600);
        writer.finish().unwrap();
        assert_eq!((names(&path), mode(&path)), (vec![], 0o600));
        let writer = begin();
        fs::remove_file(&path).unwrap();
        writer.finish().unwrap();
        assert_eq!(leftovers(folder.path()), 0);
        let writer = begin();
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        reason(&writer.finish().unwrap_err());
        assert_eq!((path.is_dir(), leftovers(folder.path())), (true, 0));
    }
}

/// A sink that ends the process when it has taken a number of pieces.
struct Mortal {
    sink: FileSink,
    left: u32,
}

impl Mortal {
    fn live_on(&mut self) {
        self.left = self.left.checked_sub(1).unwrap_or_else(|| std::process::abort());
    }
}

impl Sink for Mortal {
    type Output = ();

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.live_on();
        // Written bytes must be in the file already, not in a buffer of the process.
        let mut file: &File = self.sink.file();
        file.write_all(bytes).map_err(Error::from_write)
    }

    fn finish(mut self) -> Result<(), Error> {
        self.live_on();
        self.sink.finish()
    }
}

const PATH: &str = "ZTEN_TEST_PATH";
const LIFE: &str = "ZTEN_TEST_LIFE";

/// The body of the child processes that the next test starts. It does nothing if it runs as a test.
#[test]
#[cfg_attr(miri, ignore = "it starts processes")]
fn append_and_die() {
    let (Ok(path), Ok(life)) = (std::env::var(PATH), std::env::var(LIFE)) else { return };
    let (sink, manifest) = FileSink::edition(Path::new(&path), &OpenOptions::default()).unwrap();
    let sink = Mortal { sink, left: life.parse().unwrap() };
    let mut writer = Writer::append(sink, &manifest, &WriteOptions::default()).unwrap();
    add(&mut writer, "new", &[7; 1000]);
    writer.finish().unwrap();
}

#[test]
#[cfg_attr(miri, ignore = "it starts processes")]
fn a_killed_process_leaves_the_old_or_the_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zt");
    create(&path, &["old"]);
    // On systems with unnamed files, the kernel removes the file together with the process.
    let sink = FileSink::create(&path).unwrap();
    let named = leftovers(folder.path());
    drop(sink);
    for life in 0.. {
        let status = zten_testkit::process::command(std::env::current_exe().unwrap())
            .args(["--exact", "files::append_and_die"])
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
        assert_eq!(leftovers(folder.path()), named * (life + 1));
    }
    assert_eq!(names(&path), ["old", "new"]);
}

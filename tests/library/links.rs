//! Tests that opening a file never waits (as for a pipe), and follows no link except those of a hub's cache.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use zten::source::{open_below, open_regular};
use zten_testkit::corpus;

/// Makes the repository of a hub's cache, with a snapshot that names a file and its shard.
fn repository(root: &Path) {
    let shards = corpus().join("v2/shards");
    let snapshot = root.join("snapshots/0123");
    fs::create_dir_all(&snapshot).unwrap();
    fs::create_dir_all(root.join("blobs")).unwrap();
    for (name, digest) in [("dense.zt", "00aa"), ("dense-s.zt", "00bb")] {
        fs::copy(shards.join(name), root.join("blobs").join(digest)).unwrap();
        symlink(format!("../../blobs/{digest}"), snapshot.join(name)).unwrap();
    }
}

#[test]
fn shards_are_found_in_a_hubs_cache() {
    let hub = tempfile::tempdir().unwrap();
    for (name, is_found) in [
        ("models--x--y", true),
        ("datasets--x", true),
        ("spaces--x--y", true),
        ("kernels--x--y", true),
        ("other", false),
    ] {
        let root = hub.path().join(name);
        repository(&root);
        let archive = zten::open(root.join("snapshots/0123/dense.zt")).unwrap();
        assert_eq!(archive.verify().is_ok(), is_found, "{name}");
    }
}

#[test]
fn no_other_link_is_opened() {
    let hub = tempfile::tempdir().unwrap();
    let root = hub.path().join("models--x--y");
    repository(&root);
    let snapshot = root.join("snapshots/0123");
    fs::create_dir(snapshot.join("deep")).unwrap();
    fs::write(hub.path().join("outside"), "").unwrap();
    symlink("../../outside", root.join("blobs/on")).unwrap();
    fs::create_dir(root.join("blobs/folder")).unwrap();
    let opened = |folder: &Path, target: &str| {
        let link = folder.join("link");
        symlink(target, &link).unwrap();
        let opened = open_below(folder, &["link".as_ref()]).unwrap();
        fs::remove_file(link).unwrap();
        opened.is_some()
    };
    let absolute = root.join("blobs/00aa");
    for (folder, target, expected) in [
        ("snapshots/0123", "../../blobs/00aa", true),
        ("snapshots/0123/deep", "../../../blobs/00aa", true),
        ("snapshots/0123/deep", "../../blobs/00aa", false),
        ("snapshots/0123", "../../../blobs/00aa", false),
        ("snapshots/0123", "../../../models--x--y/blobs/00aa", false),
        ("snapshots/0123", "../../blobs/../blobs/00aa", false),
        ("snapshots/0123", "../../blobs/none", false),
        ("snapshots/0123", "../../blobs/on", false),
        ("snapshots/0123", "../../blobs/folder", false),
        ("snapshots/0123", "../../blobs", false),
        ("snapshots/0123", "../../blobs/..", false),
        ("snapshots/0123", "../../blobs/00aa/", true),
        ("snapshots/0123", "dense.zt", false),
        ("snapshots/0123", absolute.to_str().unwrap(), false),
        ("snapshots", "../blobs/00aa", false),
        ("blobs", "../blobs/00aa", false),
    ] {
        assert_eq!(opened(&root.join(folder), target), expected, "{folder}: {target}");
    }
    // The folder `blobs` itself must not be a link.
    fs::rename(root.join("blobs"), hub.path().join("elsewhere")).unwrap();
    symlink("../elsewhere", root.join("blobs")).unwrap();
    assert!(open_below(&snapshot, &["dense.zt".as_ref()]).unwrap().is_none());
    // Only the last step of the path may be a link.
    symlink(root.join("snapshots/0123"), hub.path().join("folder")).unwrap();
    let steps = ["folder".as_ref(), "dense.zt".as_ref()];
    assert!(open_below(hub.path(), &steps).unwrap().is_none());
}

#[test]
fn opening_a_pipe_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let socket = folder.path().join("socket");
    let _bound = UnixListener::bind(&socket).unwrap();
    for (path, kind, message) in [
        (&*pipe, io::ErrorKind::InvalidInput, "is a named pipe, not a regular file"),
        (&*socket, io::ErrorKind::InvalidInput, "is a socket, not a regular file"),
        (Path::new("/dev/null"), io::ErrorKind::InvalidInput, "is a device, not a regular file"),
        (folder.path(), io::ErrorKind::IsADirectory, "is a directory"),
    ] {
        let error = open_regular(path).unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (kind, message.to_owned()));
        // Folders are left out: `zten::open` searches a folder for a model.
        if kind != io::ErrorKind::IsADirectory {
            assert!(zten::open(path).unwrap_err().to_string().contains(message));
        }
    }
    for name in ["pipe", "socket"] {
        assert!(open_below(folder.path(), &[name.as_ref()]).unwrap().is_none());
    }
}

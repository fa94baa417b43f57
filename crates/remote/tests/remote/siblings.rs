//! Tests that shards and other sibling files of a remote file are found and read.

use zten_remote::{RemoteError, RemoteFile, RemoteName, RemoteObject, Sibling, Want};
use zten_testkit::corpus;
use zten_testkit::server::{Reply, Server, honest};

use super::limits;
use zten_remote::RemoteOptions;

fn options() -> RemoteOptions {
    RemoteOptions::default().times(limits())
}

fn shard(name: &str) -> Want {
    Want::read(&format!("shard {name} xxh3 00")).unwrap()
}

#[test]
fn shards_are_found_and_read() {
    let server = Server::of_folder(&corpus().join("v2/shards"), 404);
    let name = RemoteName::parse(&server.at("dense.zt")).unwrap();
    let root = RemoteFile::open(&name, &options()).unwrap();
    let found = root.find(&shard("s")).unwrap().unwrap();
    assert!(root.find(&shard("t")).unwrap().is_none());
    // A sibling file stays open when the file by which it was found is dropped.
    drop(root);
    let mut start = [0; 4];
    zten::ReadAt::read_at(&found, 0, &mut start).unwrap();
    assert_eq!(&start, b"\x89ZT2");
    let expected = ["/dense.zt", "/dense-s.zt", "/dense-t.zt", "/blobs/xxh3/00"];
    assert_eq!(server.paths(), expected);
    let sibling = Want::Sibling(Sibling::new("a.safetensors").unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let root = RemoteObject::open(&name, &options()).await.unwrap();
        assert!(root.find(&shard("s")).await.unwrap().is_some());
        assert!(root.find(&sibling).await.unwrap().is_none());
    });
}

/// Checks that shards are looked for beside the name of the file, and not beside the target of a redirect, while redirects of
/// shards are followed. A redirect of a shard that is not allowed is an error, and so is a shard to which access is denied at all
/// places.
#[test]
fn shards_are_where_the_name_says() {
    let content = std::fs::read(corpus().join("v2/shards/dense.zt")).unwrap();
    let server = Server::start(move |_, request| match &*request.path {
        "/a/m.zt" => Reply::redirect("/b/other.zt"),
        "/a/m-s.zt" => Reply::redirect("/c/s.zt"),
        "/a/m-t.zt" => Reply::redirect("ftp://127.0.0.1/"),
        "/a/m-u.zt" => Reply::redirect("http://127.0.0.1:1/"),
        "/b/other.zt" | "/c/s.zt" => honest(&content, request),
        _ => Reply::status(403),
    });
    let name = RemoteName::parse(&server.at("a/m.zt")).unwrap();
    let root = RemoteFile::open(&name, &options()).unwrap();
    assert!(root.find(&shard("s")).unwrap().is_some());
    assert!(matches!(root.find(&shard("t")), Err(RemoteError::RedirectScheme)));
    assert!(matches!(root.find(&shard("u")), Err(RemoteError::RedirectPrivate)));
    assert!(matches!(root.find(&shard("v")), Err(RemoteError::Denied(403))));
}

/// Checks that names are requested as they are given, whatever characters they hold, and that names with a control character, a
/// slash or a backslash are not requested: they are no names of sibling files.
#[test]
fn names_are_requested_as_they_are() {
    let server = Server::start(|_, request| match &*request.path {
        "/m.safetensors.index.json" => honest(b"{}", request),
        _ => Reply::status(404),
    });
    let name = RemoteName::parse(&server.at("m.safetensors.index.json")).unwrap();
    let root = RemoteFile::open(&name, &options()).unwrap();
    let find = |name: &str| {
        let before = server.asked().len();
        let want = Sibling::new(&format!("{name}.safetensors")).map(Want::Sibling)?;
        assert!(root.find(&want).unwrap().is_none());
        let asked: Vec<_> = server.asked().split_off(before).into_iter().map(|r| r.path).collect();
        Some(asked.concat())
    };
    for (name, path) in [
        ("a b?c#d%2e", "/a%20b%3Fc%23d%252e"),
        ("%09%2F..", "/%2509%252F.."),
        ("\u{2028}\u{e4}", "/%E2%80%A8%C3%A4"),
    ] {
        assert_eq!(find(name), Some(format!("{path}.safetensors")), "{name}");
    }
    for character in ['\t', '\n', '\r', '\0', '\u{7f}', '\u{85}', '/', '\\'] {
        assert_eq!(find(&format!("a{character}b")), None, "{character:?}");
    }
}

//! Tests of files that are read over the network, if the command was built with this feature.

#[cfg(feature = "remote")]
mod changing;
#[cfg(feature = "remote")]
mod check_files;
#[cfg(all(feature = "remote", target_os = "linux"))]
mod fetcher;
#[cfg(feature = "remote")]
mod hub;
#[cfg(feature = "remote")]
mod large;
#[cfg(all(feature = "remote", target_os = "linux"))]
mod memory;
#[cfg(feature = "remote")]
mod shards;

use super::{ended, zten};

#[cfg(not(feature = "remote"))]
#[test]
fn names_are_rejected_with_how_to_have_them() {
    for name in
        ["http://localhost/a.zt", "https://localhost/a.zt?b", "s3://bucket/a.zt", "hf://o/m/a.zt"]
    {
        for command in ["ls", "check", "hash"] {
            let output = zten([command, name]);
            let (status, _, complaint) = ended(&output);
            assert_eq!(status, Some(2), "{command}");
            assert!(
                output.stdout.is_empty() && complaint.contains("--features remote"),
                "{complaint}"
            );
        }
    }
}

#[cfg(feature = "remote")]
mod built_in {
    use std::fs;

    use zten_corpus::other::safetensors;
    use zten_testkit::server::{Reply, Server, honest};

    use super::{ended, zten};
    use crate::{corpus_folder, failed, succeeded, succeeded_json};

    fn file(name: &str) -> Vec<u8> {
        fs::read(corpus_folder().join(name)).unwrap()
    }

    const DENSE: &str = "accept/1.2.3/dense_all.zt";

    #[test]
    fn listing_takes_few_requests() {
        let content = file(DENSE);
        let server = Server::of(content.clone());
        let there = succeeded_json(zten(["ls", "--json", &server.url(), "--require-sandbox"]));
        // The command requests the last 64 KiB first. They contain the whole file, so one request is enough.
        assert_eq!((server.asked().len(), server.sent()), (1, content.len() as u64));
        let path = corpus_folder().join(DENSE);
        let here = succeeded_json(zten(["ls", "--json", path.to_str().unwrap()]));
        assert_eq!(there["objects"], here["objects"]);
        assert_eq!(there["file"], server.url());
    }

    #[test]
    fn files_of_both_kinds_beside_each_other() {
        let server = Server::of(file(DENSE));
        let path = corpus_folder().join(DENSE);
        succeeded(zten(["diff", path.to_str().unwrap(), &server.url()]));
        succeeded(zten(["diff", &server.url(), &server.url(), "--no-sandbox"]));
        succeeded(zten(["check", &server.url(), path.to_str().unwrap(), "--require-sandbox"]));
    }

    #[test]
    fn a_policy_holds_for_them() {
        let server = Server::of(file(DENSE));
        let folder = tempfile::tempdir().unwrap();
        let policy = folder.path().join("policy.toml");
        fs::write(&policy, "require-digests = ['sha256']").unwrap();
        for how in ["--require-sandbox", "--no-sandbox"] {
            let complaint = failed(
                zten(["check", "--policy", policy.to_str().unwrap(), &server.url(), how]),
                1,
            );
            assert!(complaint.contains("(rule policy-digest, policy) in "), "{complaint}");
        }
    }

    #[test]
    fn converting() {
        let server = Server::of(file("other/npz/accept/compressed.npz"));
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out.zt");
        let url = server.at("file.npz");
        succeeded(zten(["check", &url]));
        let args = ["convert", "--require-sandbox", &url, out.to_str().unwrap()];
        let output = zten(args);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        succeeded(zten(["check", out.to_str().unwrap()]));
    }

    /// Checks that commands read a safetensors file, and are sent at most its length and 72,000 bytes, or 72,000 bytes if they read
    /// no data or a slice.
    #[test]
    fn files_of_another_format() {
        let data = vec![1; 300_000];
        let header = r#"{"b":{"dtype":"U8","shape":[200000],"data_offsets":[100000,300000]},"a":{"dtype":"I8","shape":[100000],"data_offsets":[0,100000]}}"#;
        let content = safetensors::file(header, &data);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.safetensors");
        fs::write(&path, &content).unwrap();
        let out = folder.path().join("out.zt");
        for (command, options) in [
            ("ls", &[][..]),
            ("check", &[]),
            ("hash", &[]),
            ("stat", &["b*"]),
            ("cat", &["a", "--slice=:3"]),
            ("diff", &[path.to_str().unwrap()]),
            ("convert", &[out.to_str().unwrap()]),
        ] {
            let server = Server::of(content.clone());
            let name = server.at("x.safetensors");
            let args = [&[command, "--require-sandbox", &name], options].concat();
            let output = zten(args);
            let (status, _, complaint) = ended(&output);
            assert_eq!((status, complaint), (Some(0), ""), "{command}");
            println!("{command}: {} requests, {} bytes", server.asked().len(), server.sent());
            // The last 64 KiB are fetched before the format is known, and the first bytes by which it is recognized.
            let most =
                if matches!(command, "ls" | "cat") { 72_000 } else { content.len() + 72_000 };
            assert!(server.sent() <= most as u64, "{command}: {}", server.sent());
        }
        assert_eq!(
            succeeded(zten(["hash", out.to_str().unwrap()])),
            succeeded(zten(["hash", path.to_str().unwrap()]))
        );
    }

    #[test]
    fn errors_of_servers_are_reported_without_secrets() {
        let long: Vec<u8> = vec![0; 100_000];
        let changing = Server::start(move |number, request| match number {
            0 => honest(&long, request),
            _ => Reply::status(412),
        });
        let whole = Server::start(|_, _| Reply::status(200));
        let gone = Server::start(|_, _| Reply::status(404));
        for (server, sentence) in [
            (changing, "the file changed while it was read"),
            (whole, "the server ignores ranges"),
            (gone, "the server has no such file"),
        ] {
            for command in ["ls", "check", "hash"] {
                let name = format!("{}?X-Signature=hidden", server.url());
                let complaint = failed(zten([command, &name]), 2);
                assert!(
                    complaint.contains(sentence) && !complaint.contains("hidden"),
                    "{complaint}"
                );
            }
        }
    }

    #[test]
    fn errors_of_remote_files_are_those_of_local_files() {
        let name = "reject/blob-alignment--v12-72.zt";
        let server = Server::of(file(name));
        let path = corpus_folder().join(name);
        let reported = |name: &str| {
            let output = zten(["check", "--json", name]);
            assert_eq!(output.status.code(), Some(1));
            let mut said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            said["file"] = serde_json::Value::Null;
            said
        };
        assert_eq!(reported(&server.url()), reported(path.to_str().unwrap()));
    }
}

//! The layer of the confinement by Landlock, which takes the rights to open files, to use TCP ports, and to reach the sockets and
//! send signals of other processes.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, Ruleset, RulesetAttr as _, RulesetError, RulesetStatus,
    Scope,
};

use crate::Layer;

/// The newest version of the Landlock interface that is used. An older kernel knows fewer rights, and
/// takes the rights that it knows.
const NEWEST: ABI = ABI::V6;

/// Takes all rights that Landlock knows from this thread, and from the threads that it starts later.
pub(crate) fn restrict() -> Layer {
    match take_all() {
        Ok(RulesetStatus::FullyEnforced) => Layer::Enforced,
        Ok(RulesetStatus::PartiallyEnforced) => Layer::Partly,
        Ok(RulesetStatus::NotEnforced) => {
            Layer::Missing("the kernel does not support Landlock, or it is turned off".to_owned())
        }
        Err(error) => Layer::Missing(error.to_string()),
    }
}

/// Enforces a ruleset that handles every right. The ruleset has no rule, because a rule would give
/// rights back.
fn take_all() -> Result<RulesetStatus, RulesetError> {
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    Ok(ruleset.create()?.restrict_self()?.ruleset)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::{ErrorKind, Read as _};
    use std::net::TcpListener;

    use super::*;

    /// Checks that Landlock alone denies opening, creating and removing files and using TCP ports. A file that is open already can
    /// still be read. The test does not enable seccomp, which would deny these accesses, too. TCP ports are checked only if the
    /// kernel enforces the whole layer.
    #[test]
    fn rights_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "x").unwrap();
        let new = folder.path().join("new");
        let probes = || {
            [
                File::open(&path).err(),
                File::options().write(true).open(&path).err(),
                File::create(&new).err(),
                fs::remove_file(&path).err(),
                fs::create_dir(&new).err(),
                fs::read_dir(&folder).err(),
                TcpListener::bind("127.0.0.1:0").err(),
            ]
        };
        let mut open = File::open(&path).unwrap();
        let denied = std::thread::scope(|scope| {
            let confined = scope.spawn(|| match restrict() {
                Layer::Missing(_) => None,
                layer => {
                    let mut text = String::new();
                    open.read_to_string(&mut text).unwrap();
                    assert_eq!(text, "x");
                    Some((layer, probes()))
                }
            });
            confined.join().unwrap()
        });
        let Some((layer, denied)) = denied else {
            eprintln!("NOT TESTED: this kernel has no Landlock");
            return;
        };
        let known = if layer == Layer::Enforced { denied.len() } else { denied.len() - 1 };
        for (number, error) in denied[..known].iter().enumerate() {
            let kind = error.as_ref().map(std::io::Error::kind);
            assert_eq!(kind, Some(ErrorKind::PermissionDenied), "deed {number}");
        }
        // Without Landlock the same accesses succeed, so the denials above come from Landlock.
        let allowed = probes();
        assert!(allowed[..2].iter().all(Option::is_none) && allowed[6].is_none(), "{allowed:?}");
    }
}

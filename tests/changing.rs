//! Tests of an archive whose bytes change after it was opened. These tests are a separate program, because they also
//! run in a release build, where no debug assertion notices the change.

use std::sync::atomic::{AtomicUsize, Ordering};

use zten::Archive;
use zten_testkit::read_accepted;

/// Bytes that are a different file on each call of `as_ref`.
struct Fickle<'f> {
    /// The files that `as_ref` returns in turn.
    files: &'f [Vec<u8>],
    /// The number of calls of `as_ref` so far.
    calls: AtomicUsize,
    /// The number of calls after the first one for which `as_ref` still returns the first file.
    constant: usize,
}

impl AsRef<[u8]> for Fickle<'_> {
    fn as_ref(&self) -> &[u8] {
        let calls = self.calls.fetch_add(1, Ordering::Relaxed);
        let changes = calls.saturating_sub(self.constant);
        &self.files[changes % self.files.len()]
    }
}

/// Bytes that change under an open archive cause no panic, except from debug assertions in a build that has them.
#[test]
fn bytes_that_change_cause_no_panic() {
    let names = ["1.2.3/dense_all.zt", "1.2.3/csr_raw.zt", "v12-coo.zt", "1.1.1/crc32c.zt"];
    let mut files: Vec<Vec<u8>> = names.iter().map(|name| read_accepted(name)).collect();
    files.extend([vec![], vec![0xff; 4096], vec![0; 40]]);
    let read_everything = |constant: usize| {
        let fickle = Fickle { files: &files, calls: AtomicUsize::new(0), constant };
        let Ok(archive) = Archive::from_bytes(fickle) else { return 0 };
        for name in ["t_f32", "csr_f32", "w", ""] {
            let _ = archive.tensor(name).map(|tensor| tensor.ordinal());
        }
        let mut read = 0;
        for tensor in &archive {
            let _ = (tensor.name(), tensor.layout_name(), tensor.shape().len(), tensor.dtype());
            let _ = (tensor.attributes(), tensor.fields().map(Iterator::count));
            for component in tensor.components() {
                let _ = (component.role(), component.type_name(), component.digest());
                let _ = (component.view(), component.read(), component.decoded_length());
                read += 1;
            }
            let _ = (tensor.to_cow::<u8>(), tensor.to_vec::<f32>());
            let _ = tensor.csr().map(|csr| csr.is_sorted());
            let _ = tensor.coo().map(|coo| coo.is_sorted());
        }
        let _ = (archive.verify(), format!("{archive:?}"));
        read
    };
    let mut read = 0;
    for constant in 0..64 {
        let outcome =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read_everything(constant)));
        assert!(outcome.is_ok() || cfg!(debug_assertions), "{constant}");
        read += outcome.unwrap_or(1);
    }
    assert!(read > 0);
}

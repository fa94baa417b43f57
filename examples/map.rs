//! Maps a file into memory and sums its tensors in several threads, without copying them:
//! `cargo run --example map -- FILE`.
//!
//! Mapping is for files that no other process changes: a map changes when its file does, and is gone
//! where the file has been cut. `zten::source::FileArchive` reads files that may be changed.

use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use memmap2::Mmap;
use zten::{Archive, StorageType};

/// What threads share: no lifetime, and no lock.
struct Model {
    archive: Archive<Mmap>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("FILE")?;
    for (name, sum) in sums(path.as_ref())? {
        println!("{name:?} {sum}");
    }
    Ok(())
}

impl Model {
    #[expect(unsafe_code, reason = "that no other process changes the file is the caller's word")]
    fn open(path: &Path) -> Result<Self, Box<dyn Error>> {
        let file = File::open(path)?;
        // SAFETY: the file is not written to as long as the map is there. It has been installed
        // with the program, by a user that this process is not.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Self { archive: Archive::open(map)? })
    }

    /// The sum of a tensor of `f32`; none if it is another object.
    fn sum(&self, ordinal: u32) -> Option<Result<f32, zten::Error>> {
        let dense = self.archive.object(ordinal)?.dense().ok()?;
        if dense.component().storage_type() != Some(StorageType::F32) {
            return None;
        }
        // Borrowed from the map, unless it is compressed or not aligned.
        Some(dense.to_cow::<f32>().map(|elements| elements.iter().sum()))
    }
}

/// The sum of every tensor of `f32`, each in a thread of its own.
fn sums(path: &Path) -> Result<Vec<(String, f32)>, Box<dyn Error>> {
    let model = Arc::new(Model::open(path)?);
    let threads: Vec<_> = (0..model.archive.len())
        .map(|ordinal| {
            let model = Arc::clone(&model);
            thread::spawn(move || model.sum(ordinal))
        })
        .collect();
    let mut sums = Vec::new();
    for (thread, object) in threads.into_iter().zip(model.archive.objects()) {
        if let Some(sum) = thread.join().map_err(|_| "a thread has panicked")? {
            sums.push((object.name().to_owned(), sum?));
        }
    }
    Ok(sums)
}

#[test]
fn threads_sum() {
    let sums = sums("corpus/accept/1.2.3/dense_all.zt".as_ref()).unwrap();
    assert!(sums.contains(&("t_f32".to_owned(), 0.0)), "{sums:?}");
    let model = Model::open("corpus/accept/1.2.3/dense_all.zt".as_ref()).unwrap();
    let dense = model.archive.require("t_f32").unwrap().dense().unwrap();
    let borrowed = matches!(dense.to_cow::<f32>(), Ok(std::borrow::Cow::Borrowed(_)));
    assert_eq!(borrowed, cfg!(target_endian = "little"));
}

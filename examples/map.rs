//! Maps a file into memory and sums its tensors in several threads, without copying them:
//! `cargo run --example map -- FILE`.
//!
//! Mapping is for files that no other process changes: a map changes when its file does, and is gone
//! where the file has been cut. `zten::open` reads files that may be changed.

use std::fs::File;

use zten::{Archive, DType, InMemory};

/// An archive that threads share: it has no lifetime, and no lock.
type Model = Archive<InMemory<memmap2::Mmap>>;

#[expect(unsafe_code, reason = "that no other process changes the file is the caller's word")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("FILE")?;
    let file = File::open(path)?;
    // SAFETY: the file is not written to as long as the map is there: it has been installed with the program, by a
    // user that this process is not.
    let model: Model = Archive::from_bytes(unsafe { memmap2::Mmap::map(&file)? })?;
    let tensors: Vec<_> = model.tensors().filter(|it| it.dtype() == DType::F32).collect();
    let sums = std::thread::scope(|scope| {
        let sum = |tensor: &zten::Tensor<'_>| -> Result<f32, zten::Error> {
            // Borrowed from the map, unless it is compressed or not aligned.
            Ok(tensor.to_cow::<f32>()?.iter().sum())
        };
        let threads: Vec<_> =
            tensors.iter().map(|tensor| scope.spawn(move || sum(tensor))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread has panicked")).collect()
    });
    let sums: Vec<Result<f32, zten::Error>> = sums;
    for (tensor, sum) in tensors.iter().zip(sums) {
        println!("{:?} {}", tensor.name(), sum?);
    }
    Ok(())
}

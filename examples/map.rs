//! Maps a file into memory and sums its tensors in several threads, without copying them:
//! `cargo run --example map -- FILE`.
//!
//! Map only files that no other process changes: a map changes with its file, and reading beyond the end of a truncated file
//! ends the process. `zten::open` reads files that may change.

use std::fs::File;

use zten::{Archive, DType, InMemory};

/// An archive that threads can share, because it has neither a lifetime nor a lock.
type Model = Archive<InMemory<memmap2::Mmap>>;

#[expect(unsafe_code, reason = "the caller guarantees that no other process changes the file")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("FILE")?;
    let file = File::open(path)?;
    // SAFETY: the file must not change while it is mapped. It was installed with the program by another user, and this process
    // has no permission to write to it.
    let model: Model = Archive::from_bytes(unsafe { memmap2::Mmap::map(&file)? })?;
    let tensors: Vec<_> = model.tensors().filter(|it| it.dtype() == DType::F32).collect();
    let sums = std::thread::scope(|scope| {
        let sum = |tensor: &zten::Tensor<'_>| -> Result<f32, zten::Error> {
            // The elements are borrowed from the map, unless they are compressed or not aligned.
            Ok(tensor.to_cow::<f32>()?.iter().sum())
        };
        let threads: Vec<_> =
            tensors.iter().map(|tensor| scope.spawn(move || sum(tensor))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("the thread that sums a tensor has panicked"))
            .collect()
    });
    let sums: Vec<Result<f32, zten::Error>> = sums;
    for (tensor, sum) in tensors.iter().zip(sums) {
        println!("{:?} {}", tensor.name(), sum?);
    }
    Ok(())
}

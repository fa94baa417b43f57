//! Opens and checks a file that its host supplies, so that the host can count the work.
//!
//! Every call but [`reserve`] returns 0 if the file is valid. Otherwise the upper half of the result is the address of the id of
//! the broken rule, or of `misuse` if no rule is broken, and the lower half is the length of the id.
#![expect(unsafe_code, reason = "the host finds functions by name, which is an unsafe attribute")]

use std::sync::{Mutex, PoisonError};

use zten::write::{Copier, WriteOptions};
use zten::{Archive, Error, InMemory, OpenOptions, verify::Verifier};

/// The file that the next call reads.
static FILE: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Allocates memory for a file of `length` bytes, and returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn reserve(length: usize) -> *mut u8 {
    let mut file = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    *file = vec![0; length];
    file.as_mut_ptr()
}

/// Opens the file in memory, as canonical if `canonical` is 1.
#[unsafe(no_mangle)]
pub extern "C" fn open(canonical: u32) -> u64 {
    run(canonical, |_| Ok(()))
}

/// Opens the file, as canonical if `canonical` is 1, and validates all of its content, of a canonical file also the padding.
#[unsafe(no_mangle)]
pub extern "C" fn check(canonical: u32) -> u64 {
    run(canonical, |archive| {
        let mut verifier = Verifier::new(archive.manifest());
        for tensor in archive {
            verifier.object(&tensor, |_, _| ())?;
        }
        if canonical == 1 {
            verifier.padding(archive.manifest(), archive.source())?;
        }
        Ok(())
    })
}

/// Opens the file, as canonical if `canonical` is 1, and copies it into canonical form.
#[unsafe(no_mangle)]
pub extern "C" fn copy(canonical: u32) -> u64 {
    run(canonical, |archive| {
        let copier = Copier::new(archive.manifest());
        let options = WriteOptions::default().canonical();
        copier.file(archive.manifest(), archive.source(), Vec::new(), &options).map(drop)
    })
}

fn run(canonical: u32, work: impl FnOnce(&Archive<InMemory<&[u8]>>) -> Result<(), Error>) -> u64 {
    let file = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let options = OpenOptions::default();
    let options = if canonical == 1 { options.canonical() } else { options };
    match options.from_bytes(&file[..]).and_then(|archive| work(&archive)) {
        Ok(()) => 0,
        Err(error) => {
            let id = error.rule().unwrap_or("misuse");
            (id.as_ptr() as u64) << 32 | id.len() as u64
        }
    }
}

//! Judging all of a file, as `zten check` does.

use zten::{Archive, Error, Options, Verifier};

/// Opens a file and reads all of it; under the option `canonical`, its padding too.
pub(crate) fn check(file: &[u8], options: &Options) -> Result<(), Error> {
    let archive = Archive::open_with(file, options)?;
    let mut verifier = Verifier::new(file.len() as u64, options.limit());
    for object in archive.objects() {
        verifier.object(&object, file, |_, _| ())?;
    }
    #[cfg(feature = "write")]
    if *options == options.canonical() {
        verifier.padding(archive.manifest(), file)?;
    }
    Ok(())
}

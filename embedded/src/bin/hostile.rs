//! The image that opens hostile files in flash and prints the rule and the byte by which each is rejected.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod image {
    use core::fmt::Write;

    use cortex_m_rt::entry;
    use zten::{Limits, OpenOptions};
    use zten_embedded::image::report;

    /// Includes the named files of the corpus as pairs of name and bytes.
    macro_rules! corpus {
        ($($name:literal)+) => {
            [$(($name, include_bytes!(concat!("../../../corpus/reject/", $name)).as_slice())),+]
        };
    }

    /// Files that small readers may accept: an offset that is valid in its lower 32 bits, an end that overflows,
    /// blobs that overlap, a map that claims 2^60 entries, and two objects of one name.
    static FILES: [(&str, &[u8]); 5] = corpus! {
        "blob-bounds--v12-offset-past-2-pow-32.zt"
        "blob-bounds--v12-wraps-to-64.zt"
        "blob-overlap--v12-60-unsorted-middle.zt"
        "cbor-count--components-of-2-pow-60.zt"
        "duplicate-name--v12-unsorted.zt"
    };

    #[entry]
    fn main() -> ! {
        report::run(|out| {
            let options = OpenOptions::default().limits(Limits::embedded());
            for (name, file) in FILES {
                match options.from_bytes(file) {
                    Ok(_) => writeln!(out, "accepted {name}")?,
                    Err(error) => {
                        let (rule, offset) =
                            (error.rule().unwrap_or("-"), error.offset().unwrap_or(0));
                        writeln!(out, "invalid {name} {rule} {offset}")?;
                    }
                }
            }
            Ok(())
        })
    }
}

#[cfg(not(target_os = "none"))]
fn main() {}

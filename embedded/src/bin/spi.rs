//! The network outside the address space: opened without I/O, and read in pieces from a flash
//! behind a bus.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod image {
    extern crate alloc;

    use alloc::vec::Vec;
    use core::cell::RefCell;
    use core::fmt::Write;
    use core::ops::Range;

    use cortex_m_rt::entry;
    use embedded_storage::nor_flash::ReadNorFlash;
    use zten::open::Opening;
    use zten::{Archive, Error, Limits, OpenOptions, ReadAt};
    use zten_embedded::image::failure::Failure;
    use zten_embedded::image::flash::{Flash, Simulated};
    use zten_embedded::image::network::classify;
    use zten_embedded::image::{MODEL, report, stream};

    #[entry]
    fn main() -> ! {
        report::run(|out| {
            let options = OpenOptions::default().limits(Limits::embedded().with_chunk(256));
            let archive = open(Flash(RefCell::new(Simulated::new(MODEL))), &options)?;
            for tensor in &archive {
                writeln!(out, "object {} {}", tensor.name(), tensor.dense()?.type_name())?;
            }
            print_reads(out, "opening", archive.source())?;
            let logits = classify(&archive, stream::for_each)?;
            print_reads(out, "all", archive.source())?;
            report::digits(out, &logits)
        })
    }

    fn print_reads(
        out: &mut impl Write,
        of: &str,
        flash: &Flash<Simulated>,
    ) -> Result<(), Failure> {
        let device = flash.0.borrow();
        writeln!(out, "reads {of} {} bytes {}", device.reads, device.read)?;
        Ok(())
    }

    /// Opens the file with three ranges of its bytes.
    fn open(
        flash: Flash<Simulated>,
        options: &OpenOptions,
    ) -> Result<Archive<Flash<Simulated>>, Error> {
        let length = flash.0.borrow().capacity();
        let opening = Opening::new(u64::try_from(length).unwrap_or(u64::MAX), options)?;
        let footer = opening.header(&fetch(&flash, opening.needs())?)?;
        let body = footer.footer(&fetch(&flash, footer.needs())?)?;
        let bytes = fetch(&flash, body.needs())?;
        Ok(Archive::new(body.manifest(bytes)?, flash))
    }

    fn fetch(flash: &Flash<Simulated>, range: Range<u64>) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        flash.append_range(range, &mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(not(target_os = "none"))]
fn main() {}

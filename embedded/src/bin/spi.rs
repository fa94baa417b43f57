//! Runs the neural network from flash memory that is not in the address space: the file is opened and read in pieces over SPI.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod image {
    use core::cell::RefCell;
    use core::fmt::Write;

    use cortex_m_rt::entry;
    use embedded_storage::nor_flash::ReadNorFlash;
    use zten::{Limits, OpenOptions};
    use zten_embedded::image::failure::Failure;
    use zten_embedded::image::flash::{Flash, Simulated};
    use zten_embedded::image::network::classify;
    use zten_embedded::image::{MODEL, report, stream};

    #[entry]
    fn main() -> ! {
        report::run(|out| {
            let options = OpenOptions::default().limits(Limits::embedded().with_chunk(256));
            let flash = Flash(RefCell::new(Simulated::new(MODEL)));
            let length = u64::try_from(flash.0.borrow().capacity()).unwrap_or(u64::MAX);
            let archive = options.open_source(flash, length)?;
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
}

#[cfg(not(target_os = "none"))]
fn main() {}

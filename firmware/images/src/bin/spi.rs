//! The network outside the address space: opened without I/O, and read in pieces from a flash
//! behind a bus.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt::Write;
use core::ops::Range;

use cortex_m_rt::entry;
use embedded_storage::nor_flash::ReadNorFlash;
use zten::open::Opening;
use zten::{Limits, Manifest, Object, Options, ReadAt, error::OutOfMemory};
use zten_images::failure::Failure;
use zten_images::flash::{Flash, Simulated};
use zten_images::network::{NotThatNetwork, Weights, classify};
use zten_images::{MODEL, report, stream};

#[entry]
fn main() -> ! {
    report::run(|out| {
        let limits = Limits::embedded().with_chunk(256);
        let flash = Flash(RefCell::new(Simulated::new(MODEL)));
        let manifest = open(&flash, &Options::default().limits(limits))?;
        for object in manifest.objects() {
            let element = object.dense()?.component().element_type();
            writeln!(out, "object {} {}", object.name(), element.name())?;
        }
        print_reads(out, "opening", &flash)?;
        let remote = Remote { manifest, flash, limits };
        let logits = classify(&remote)?;
        print_reads(out, "all", &remote.flash)?;
        report::digits(out, &logits)
    })
}

fn print_reads(out: &mut impl Write, of: &str, flash: &Flash<Simulated>) -> Result<(), Failure> {
    let device = flash.0.borrow();
    writeln!(out, "reads {of} {} bytes {}", device.reads, device.read)?;
    Ok(())
}

/// Opens the file with three ranges of its bytes.
fn open(flash: &Flash<Simulated>, options: &Options) -> Result<Manifest<Vec<u8>>, Failure> {
    let length = flash.0.borrow().capacity();
    let opening = Opening::new(u64::try_from(length).unwrap_or(u64::MAX), options)?;
    let footer = opening.header(&fetch(flash, opening.needs())?)?;
    let body = footer.footer(&fetch(flash, footer.needs())?)?;
    let bytes = fetch(flash, body.needs())?;
    Ok(body.manifest(bytes).map_err(zten::Error::from)?)
}

fn fetch(flash: &Flash<Simulated>, range: Range<u64>) -> Result<Vec<u8>, Failure> {
    let memory = || Failure::Refused(OutOfMemory.into());
    let length = usize::try_from(range.end - range.start).map_err(|_| memory())?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(|_| memory())?;
    bytes.resize(length, 0);
    flash.read_at(range.start, &mut bytes)?;
    Ok(bytes)
}

struct Remote {
    manifest: Manifest<Vec<u8>>,
    flash: Flash<Simulated>,
    limits: Limits,
}

impl Weights for Remote {
    type Error = Failure;

    fn object(&self, name: &str) -> Option<Object<'_>> {
        self.manifest.get(name)
    }

    fn each(&self, name: &str, take: &mut dyn FnMut(f32)) -> Result<(), Failure> {
        let component = self.manifest.get(name).ok_or(NotThatNetwork)?.dense()?.component();
        stream::each(&component, &self.flash, &self.limits, take)
    }
}

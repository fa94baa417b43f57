//! The network in flash: opened in place, its digests verified, its weights borrowed. A layer that
//! is compressed is decoded in chunks.
#![no_std]
#![no_main]

use cortex_m_rt::entry;
use zten::{
    Archive, Component, Encoding, Limits, LogicalType, Object, Options, element::F8E4M3Fn,
    verify::Verified, view::View,
};
use zten_images::failure::Failure;
use zten_images::network::{NotThatNetwork, Weights, classify};
use zten_images::{MODEL, report, stream};

#[entry]
fn main() -> ! {
    report::run(|out| {
        let limits = Limits::embedded();
        let archive = Archive::open_with(MODEL, &Options::default().limits(limits))?;
        let logits = classify(&InPlace { archive, limits })?;
        report::digits(out, &logits)
    })
}

struct InPlace {
    archive: Archive<&'static [u8]>,
    limits: Limits,
}

impl Weights for InPlace {
    type Error = Failure;

    fn object(&self, name: &str) -> Option<Object<'_>> {
        self.archive.get(name)
    }

    fn each(&self, name: &str, take: &mut dyn FnMut(f32)) -> Result<(), Failure> {
        let component = self.archive.get(name).ok_or(NotThatNetwork)?.dense()?.component();
        let file = self.archive.data();
        if component.encoding() != Encoding::Raw {
            return stream::each(&component, file, &self.limits, take);
        }
        self.verify(&component)?;
        borrowed(&component.view()?, take)
    }
}

impl InPlace {
    /// Reads all of a component where it lies.
    fn verify(&self, component: &Component<'_>) -> Result<(), Failure> {
        let mut content = component.content(self.archive.data(), &self.limits)?;
        while content.next_chunk()?.is_some() {}
        match content.verified() {
            Some(Verified::Digest) => Ok(()),
            _ => Err(Failure::Unverified),
        }
    }
}

/// The elements as native ones, which are not copied.
fn borrowed(view: &View<'_>, take: &mut dyn FnMut(f32)) -> Result<(), Failure> {
    if view.logical_type() == Some(LogicalType::F8E4M3Fn) {
        for element in view.as_slice::<F8E4M3Fn>()? {
            take(element.to_f32());
        }
    } else {
        for element in view.as_slice::<f32>()? {
            take(*element);
        }
    }
    Ok(())
}

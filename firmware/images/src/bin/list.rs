//! Opens the file, lists it and binds all that is in it, without digests, zstd and formatting.
#![no_std]
#![no_main]

use core::hint::black_box;

use cortex_m_rt::entry;
use cortex_m_semihosting::hio::{self, HostStream};
use zten::{Archive, Limits, Options, element::F8E4M3Fn};
use zten_images::{MODEL, end, memory};

#[entry]
fn main() -> ! {
    memory::begin();
    let listed = hio::hstdout().and_then(|mut out| list(black_box(MODEL), &mut out));
    end(listed.is_ok())
}

/// Prints the name and the type of each object.
fn list(file: &[u8], out: &mut HostStream) -> Result<(), ()> {
    let options = Options::default().limits(Limits::embedded());
    let archive = Archive::open_with(file, &options).map_err(|_| ())?;
    for object in archive.objects() {
        let dense = object.dense().map_err(|_| ())?;
        let view = dense.view().map_err(|_| ())?;
        black_box(view.as_slice::<f32>().map(<[f32]>::len).ok());
        black_box(view.as_slice::<F8E4M3Fn>().map(<[F8E4M3Fn]>::len).ok());
        black_box(dense.shape().elements());
        let element = dense.component().element_type().name();
        for text in ["object ", object.name(), " ", element, "\n"] {
            out.write_all(text.as_bytes())?;
        }
    }
    Ok(())
}

//! Does nothing with the file but have it: what the image `list` is measured against.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec::Vec;
use core::hint::black_box;

use cortex_m_rt::entry;
use cortex_m_semihosting::hio;
use zten_images::{MODEL, end, memory};

#[entry]
fn main() -> ! {
    memory::begin();
    drop(black_box(Vec::<u8>::with_capacity(black_box(1))));
    black_box(MODEL);
    let written = hio::hstdout().and_then(|mut out| out.write_all(black_box(b"")));
    end(written.is_ok())
}

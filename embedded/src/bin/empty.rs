//! The image that contains the file and does not use it. The difference in size to the image `list` is the size of
//! the library.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod image {
    extern crate alloc;

    use alloc::vec::Vec;
    use core::hint::black_box;

    use cortex_m_rt::entry;
    use cortex_m_semihosting::hio;
    use zten_embedded::image::{MODEL, end, memory};

    #[entry]
    fn main() -> ! {
        memory::begin();
        drop(black_box(Vec::<u8>::with_capacity(black_box(1))));
        black_box(MODEL);
        let written = hio::hstdout().and_then(|mut out| out.write_all(black_box(b"")));
        end(written.is_ok())
    }
}

#[cfg(not(target_os = "none"))]
fn main() {}

//! The code that all images share.

extern crate alloc;

pub mod failure;
pub mod flash;
pub mod memory;
pub mod network;
pub mod report;
pub mod stream;

use cortex_m_semihosting::debug;

/// Bytes in flash memory that begin at a multiple of 64 or more, like blobs in a file, so that every element can be
/// borrowed.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

#[cfg(not(any(feature = "zstd", feature = "generation-2", feature = "safetensors")))]
static FILE: &Aligned<[u8]> = &Aligned(*include_bytes!("../network/digits.zt"));
#[cfg(feature = "safetensors")]
static FILE: &Aligned<[u8]> = &Aligned(*include_bytes!("../network/digits.safetensors"));
#[cfg(all(feature = "generation-2", not(feature = "safetensors")))]
static FILE: &Aligned<[u8]> = &Aligned(*include_bytes!("../network/digits-2.zt"));
#[cfg(all(feature = "zstd", not(any(feature = "generation-2", feature = "safetensors"))))]
static FILE: &Aligned<[u8]> = &Aligned(*include_bytes!("../network/digits-zstd.zt"));

/// The file with the network: a 1.2 file, or with the feature `generation-2` a file of generation 2. With the feature
/// `zstd`, one layer of the file is compressed. With the feature `safetensors`, the file is a safetensors file instead.
pub static MODEL: &[u8] = &FILE.0;

/// Ends the emulator. Its exit status says whether the run of the image was `valid`.
pub fn end(valid: bool) -> ! {
    debug::exit(if valid { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
    loop {
        cortex_m::asm::bkpt();
    }
}

#[cfg(feature = "messages")]
use panic_semihosting as _;

/// Ends the image with a failure after a panic. The message is not printed, because formatting takes flash memory.
#[cfg(not(feature = "messages"))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    end(false)
}

//! The heap and the stack of an image, and how much of each has been used.
#![expect(unsafe_code, reason = "an allocator is unsafe to be, to set up, and to look under")]

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use embedded_alloc::LlffHeap;

/// The size of the heap in bytes.
#[cfg(not(feature = "zstd"))]
pub const HEAP: usize = 8 << 10;
/// The size of the heap in bytes, of which zstd needs more.
#[cfg(feature = "zstd")]
pub const HEAP: usize = 40 << 10;

/// The allocator, which records the largest number of bytes that were in use at once.
struct Counted {
    heap: LlffHeap,
    peak: AtomicUsize,
}

#[global_allocator]
static ALLOCATOR: Counted = Counted { heap: LlffHeap::empty(), peak: AtomicUsize::new(0) };

// SAFETY: both calls are passed unchanged to an allocator, and counting does not touch the allocated memory.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the requirements of this call are those of the caller, who must meet them.
        let memory = unsafe { self.heap.alloc(layout) };
        self.peak.fetch_max(self.heap.used(), Relaxed);
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the requirements of this call are those of the caller, who must meet them.
        unsafe { self.heap.dealloc(memory, layout) };
    }
}

/// Gives the allocator its memory. Must be called once, before anything is allocated.
///
/// # Panics
/// Panics if it is called again.
pub fn begin() {
    let heap = &ALLOCATOR.heap;
    // SAFETY: the memory is a static of this size, which nothing else uses. A second call panics before it touches
    // any memory.
    unsafe {
        embedded_alloc::init!(heap, HEAP);
    }
}

/// Returns the largest number of bytes of heap that were in use at once, including what the allocator adds to round
/// them up.
pub fn heap_peak() -> usize {
    ALLOCATOR.peak.load(Relaxed)
}

/// Returns the largest number of bytes of stack that were in use. The stack was filled with a pattern at the start,
/// and the bytes that no longer have it have been used.
pub fn stack_peak() -> usize {
    unsafe extern "C" {
        static _stack_start: u32;
        static _stack_end: u32;
    }
    let mut left = &raw const _stack_end;
    let top = &raw const _stack_start;
    // SAFETY: the stack lies between these two symbols of the linker script, and was filled with the pattern in whole
    // words before `main`. Volatile reads do not change it.
    unsafe {
        while left < top && left.read_volatile() == cortex_m_rt::STACK_PAINT_VALUE {
            left = left.add(1);
        }
        usize::try_from(top.byte_offset_from(left)).unwrap_or_default()
    }
}

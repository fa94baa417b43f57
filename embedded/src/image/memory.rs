//! The heap and the stack, and how much of each has been used.
#![expect(unsafe_code, reason = "an allocator is unsafe to be, to set up, and to look under")]

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use embedded_alloc::LlffHeap;

/// Bytes of the heap.
#[cfg(not(feature = "zstd"))]
pub const HEAP: usize = 8 << 10;
/// Bytes of the heap.
#[cfg(feature = "zstd")]
pub const HEAP: usize = 40 << 10;

/// The allocator, and the most bytes that were ever taken from it at once.
struct Counted {
    heap: LlffHeap,
    peak: AtomicUsize,
}

#[global_allocator]
static ALLOCATOR: Counted = Counted { heap: LlffHeap::empty(), peak: AtomicUsize::new(0) };

// SAFETY: both calls go to an allocator unchanged; the count touches no memory of theirs.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the one that is asked for.
        let memory = unsafe { self.heap.alloc(layout) };
        self.peak.fetch_max(self.heap.used(), Relaxed);
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { self.heap.dealloc(memory, layout) };
    }
}

/// Gives the allocator its memory. To be called once, first of all.
///
/// # Panics
/// Panics if it is called again.
pub fn begin() {
    let heap = &ALLOCATOR.heap;
    // SAFETY: the memory is a static of that size, which nothing else knows of. A second call
    // panics before it touches anything.
    unsafe {
        embedded_alloc::init!(heap, HEAP);
    }
}

/// The most bytes of heap that were in use at once, with what the allocator rounds them up by.
pub fn heap_peak() -> usize {
    ALLOCATOR.peak.load(Relaxed)
}

/// The most bytes of stack that were in use: those above the paint that is left at its end.
pub fn stack_peak() -> usize {
    unsafe extern "C" {
        static _stack_start: u32;
        static _stack_end: u32;
    }
    let mut left = &raw const _stack_end;
    let top = &raw const _stack_start;
    // SAFETY: between these two symbols of the linker script lies the stack, painted before
    // `main`, in whole words; reading it as volatile disturbs nothing.
    unsafe {
        while left < top && left.read_volatile() == cortex_m_rt::STACK_PAINT_VALUE {
            left = left.add(1);
        }
        usize::try_from(top.byte_offset_from(left)).unwrap_or_default()
    }
}

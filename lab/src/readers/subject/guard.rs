//! An allocator that detects writes to the 16 bytes behind an allocation, when the allocation is freed or resized.
#![expect(unsafe_code, reason = "an allocator hands out memory by its address")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

/// The message that is printed when a write beyond the end of an allocation is detected. The process then aborts.
pub const OVERRUN: &str = "memory past an allocation was written";

/// The bytes that the allocator writes after every allocation, to detect writes beyond its end.
const MARK: [u8; 16] = *b"\x9d\xe1\x5c\xb3the end\xf4\x87\xca\x31\x06";

/// The allocator, which each program that lets a reader read declares as its global one.
#[derive(Clone, Copy, Debug)]
pub struct Guarded;

/// True once [`Guarded`] has served an allocation.
static DECLARED: AtomicBool = AtomicBool::new(false);

/// Returns whether writes past an allocation are detected, because [`Guarded`] is the global allocator.
pub(crate) fn is_guarded() -> bool {
    drop(std::hint::black_box(Box::new(0_u8)));
    DECLARED.load(Ordering::Relaxed)
}

/// Returns the layout with room for the mark.
fn marked(layout: Layout) -> Option<Layout> {
    let size = layout.size().checked_add(MARK.len())?;
    Layout::from_size_align(size, layout.align()).ok()
}

/// Writes the mark after `size` bytes.
///
/// # Safety
/// `start` is null, or points to `size` bytes and room for the mark.
unsafe fn mark(start: *mut u8, size: usize) -> *mut u8 {
    if !start.is_null() {
        DECLARED.store(true, Ordering::Relaxed);
        // SAFETY: the caller guarantees that there is room for the mark after `size` bytes.
        unsafe { start.add(size).cast::<[u8; 16]>().write_unaligned(MARK) };
    }
    start
}

/// Ends the process if the mark has been overwritten.
///
/// # Safety
/// `start` was returned by [`mark`] with this size, and is not null.
unsafe fn check(start: *mut u8, size: usize) {
    // SAFETY: `mark` has written the mark after `size` bytes.
    let found = unsafe { start.add(size).cast::<[u8; 16]>().read_unaligned() };
    if found != MARK {
        // If this cannot be printed, there is no other place to report it.
        let _ = std::io::stderr().write_all(OVERRUN.as_bytes());
        std::process::abort();
    }
}

// SAFETY: all memory comes from the allocator of the system, and each allocation is larger by the mark than
// requested.
unsafe impl GlobalAlloc for Guarded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(with) = marked(layout) else { return std::ptr::null_mut() };
        // SAFETY: the layout is not empty, because the mark is not.
        unsafe { mark(System.alloc(with), layout.size()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(with) = marked(layout) else { return std::ptr::null_mut() };
        // SAFETY: the layout is not empty, because the mark is not.
        unsafe { mark(System.alloc_zeroed(with), layout.size()) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        let Some(with) = marked(layout) else { return };
        // SAFETY: `alloc` has allocated this memory with the layout that has room for the mark.
        unsafe {
            check(start, layout.size());
            System.dealloc(start, with);
        }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (Some(with), Some(size_with)) = (marked(layout), size.checked_add(MARK.len())) else {
            return std::ptr::null_mut();
        };
        if Layout::from_size_align(size_with, layout.align()).is_err() {
            return std::ptr::null_mut();
        }
        // SAFETY: `alloc` has allocated this memory with the layout that has room for the mark, and the new size with
        // the mark is a valid size.
        unsafe {
            check(start, layout.size());
            mark(System.realloc(start, with, size_with), size)
        }
    }
}

/// Writes to the mark after an allocation, to show that this is detected.
///
/// # Panics
/// [`Guarded`] is not the allocator.
pub fn overrun() {
    assert!(is_guarded(), "there is no mark to write to");
    let mut bytes = vec![0_u8; 8];
    let end = bytes.as_mut_ptr_range().end;
    // SAFETY: every allocation has room for the mark after it.
    unsafe { end.write_volatile(1) };
    drop(std::hint::black_box(bytes));
}

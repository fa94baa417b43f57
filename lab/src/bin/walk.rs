//! Opens a file without an operating system, and reads all its tensors.
//!
//! The proof searches this linked image for panics. The bytes of the file are unknown to the compiler, and all results are
//! used, so the compiler cannot remove any code.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "the entry has a name of its own, which is an unsafe attribute")]

use core::hint::black_box;

use linked_list_allocator::LockedHeap;
use zten::{Archive, Component, Element, InMemory, Limits, Tensor, verify::Verifier, view::View};

#[global_allocator]
static HEAP: LockedHeap = LockedHeap::empty();

/// Handles a panic. It is not inlined, so that the proof finds it by its name.
#[panic_handler]
#[inline(never)]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        black_box(info);
    }
}

/// The entry point of the image.
#[unsafe(no_mangle)]
pub extern "C" fn _start() -> u32 {
    let file: &[u8] = black_box(&[]);
    black_box(walk(file).is_err()).into()
}

// The function is not inlined, so that the proof attributes to it the code that is inlined into it.
#[inline(never)]
fn walk(file: &[u8]) -> Result<(), zten::Error> {
    let options = black_box(zten::OpenOptions::default().limits(Limits::embedded()));
    let archive = options.from_bytes(file)?;
    black_box((archive.generation(), archive.len(), archive.manifest().index_bytes()));
    let attributes = archive.attributes();
    black_box(attributes.item(black_box("a")));
    black_box(attributes.count());
    named(&archive);
    let mut verifier = Verifier::new(archive.manifest());
    for tensor in &archive {
        walk_tensor(&tensor);
        verifier.object(&tensor, |_, chunk| {
            black_box(chunk);
        })?;
    }
    #[cfg(feature = "write")]
    copied(&archive);
    #[cfg(feature = "control")]
    black_box(file[black_box(7)]);
    Ok(())
}

fn named(archive: &Archive<InMemory<&[u8]>>) {
    if let Some(tensor) = archive.get(black_box("weight")) {
        black_box((tensor.ordinal(), tensor.component(black_box("data"))));
    }
}

fn walk_tensor(tensor: &Tensor<'_>) {
    black_box((tensor.name(), tensor.layout(), tensor.layout_name()));
    let shape = tensor.shape();
    black_box((shape.len(), tensor.element_count(), shape.iter().sum::<u64>()));
    black_box(tensor.attributes().get::<u64>(black_box("bits")).ok());
    for component in tensor.components() {
        walk_component(&component);
    }
    if let Ok(view) = tensor.dense().and_then(|data| data.view()) {
        elements::<f32>(&view);
        elements::<u8>(&view);
        elements::<zten::element::F8E4M3Fn>(&view);
    }
}

fn walk_component(component: &Component<'_>) {
    black_box((component.role(), component.dtype(), component.type_name(), component.extent()));
    black_box((component.digest(), component.decoded_length(), component.encoding_name()));
    let _ = black_box(component.view());
    let _ = black_box(component.read());
}

fn elements<T: Element>(view: &View<'_>) {
    let _ = black_box(view.as_slice::<T>().map(<[T]>::len));
    if let Ok(elements) = view.elements::<T>() {
        for element in elements {
            black_box(element);
        }
    }
}

/// Copies the file into canonical form.
#[cfg(feature = "write")]
fn copied(archive: &Archive<InMemory<&[u8]>>) {
    use zten::write::{Copier, WriteOptions};
    let copier = Copier::new(archive.manifest());
    let options = WriteOptions::default().canonical();
    let copy = copier.file(archive.manifest(), archive.source(), alloc::vec::Vec::new(), &options);
    black_box(copy.map_or(0, |copy| copy.len()));
}
#[cfg(feature = "write")]
extern crate alloc;

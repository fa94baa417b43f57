//! Opens a file without an operating system, and walks all that is in it.
//!
//! It is linked to be looked at: no panic may be in it. What it reads is not known when it is
//! compiled, and what it finds is handed on, so that nothing of it is left out.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "the entry has a name of its own, which is an unsafe attribute")]

use core::hint::black_box;

use linked_list_allocator::LockedHeap;
use zten::{Archive, Component, Element, Limits, Manifest, Object, verify::Verifier, view::View};

#[global_allocator]
static HEAP: LockedHeap = LockedHeap::empty();

/// What a panic would come to. It is a function of its own, which the proof looks for.
#[panic_handler]
#[inline(never)]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        black_box(info);
    }
}

/// Where the image begins.
#[unsafe(no_mangle)]
pub extern "C" fn _start() -> u32 {
    let file: &[u8] = black_box(&[]);
    black_box(walk(file).is_err()).into()
}

// A function of its own: what is inlined into it is seen to be.
#[inline(never)]
fn walk(file: &[u8]) -> Result<(), zten::Error> {
    let options = black_box(zten::Options::default().limits(Limits::embedded()));
    let archive = Archive::open_with(file, &options)?;
    let manifest = archive.manifest();
    black_box((manifest.generation(), manifest.len(), manifest.index_bytes()));
    if let Some(attributes) = manifest.attributes() {
        black_box(attributes.item(black_box("a")));
        black_box(attributes.count());
    }
    named(manifest);
    let mut verifier = Verifier::new(file.len() as u64, options.limit());
    for object in archive.objects() {
        walk_object(&object, file);
        verifier.object(&object, file, |_, chunk| {
            black_box(chunk);
        })?;
    }
    #[cfg(feature = "write")]
    copied(&archive, file);
    #[cfg(feature = "control")]
    black_box(file[black_box(7)]);
    Ok(())
}

fn named(manifest: &Manifest<impl AsRef<[u8]>>) {
    if let Some(object) = manifest.get(black_box("weight")) {
        black_box((object.ordinal(), object.component(black_box("data"))));
    }
}

fn walk_object(object: &Object<'_>, file: &[u8]) {
    black_box((object.name(), object.format(), object.format_name()));
    let shape = object.shape();
    black_box((shape.len(), shape.elements(), shape.iter().sum::<u64>()));
    if let Some(attributes) = object.attributes() {
        black_box(attributes.get::<u64>(black_box("bits")).ok());
    }
    for component in object.components() {
        walk_component(&component, file);
    }
    if let Ok(view) = object.dense().and_then(|dense| dense.component().bind(file)) {
        elements::<f32>(&view);
        elements::<u8>(&view);
        elements::<zten::element::F8E4M3Fn>(&view);
    }
}

fn walk_component(component: &Component<'_>, file: &[u8]) {
    black_box((component.role(), component.element_type(), component.extent()));
    black_box((component.digest(), component.decoded_length(), component.encoding_name()));
    let _ = black_box(component.bind(file));
    let _ = black_box(component.read_to_vec(file, &Limits::embedded()));
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
fn copied(archive: &Archive<&[u8]>, file: &[u8]) {
    use zten::write::{Copier, Settings};
    let copier = Copier::new(file.len() as u64, &Limits::embedded());
    let settings = Settings::default().canonical();
    let copy = copier.file(archive.manifest(), file, alloc::vec::Vec::new(), &settings);
    black_box(copy.map_or(0, |copy| copy.len()));
}
#[cfg(feature = "write")]
extern crate alloc;

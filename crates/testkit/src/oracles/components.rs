//! The oracle for reading components: their bytes are borrowed, streamed and decoded, and their elements are read as
//! every type.

use core::fmt::Debug;
use std::io::{self, Read as _};

use zten::element::StorageType;
use zten::manifest::ElementType;
use zten::{
    Component, Element, Encoding, Error, ErrorKind, Generation, Layout, Tensor, element::ByteOrder,
    error::Misuse, view::View,
};

use super::{DECODED, DECODED_TOTAL, FEW, InMemory, heap};

/// The name of a test format that has no rule for bools, so any byte is one.
pub(crate) const ANY_BOOLS: &str = "front-any-bools";

/// The number of bytes that the oracle may still decode for the current file.
pub(crate) struct Work(u64);

impl Default for Work {
    fn default() -> Self {
        Self(DECODED_TOTAL)
    }
}

impl Work {
    pub(crate) fn is_left(&self) -> bool {
        self.0 > 0
    }

    fn spend(&mut self, bytes: u64) {
        self.0 = self.0.saturating_sub(bytes);
    }
}

/// Reads `component` in all ways, and checks that they agree. `other` is the same component of an archive whose source does not
/// lend its bytes. When no work is left, only the views are checked.
pub(crate) fn read(
    [component, other]: [&Component<'_>; 2],
    archive: &InMemory<'_>,
    work: &mut Work,
) {
    let file = archive.bytes();
    let extent = component.extent();
    let generation = component.generation();
    let alignment = match generation {
        Some(Generation::V2) => 4096,
        Some(_) => 64,
        None => 1,
    };
    assert_eq!(extent.offset() % alignment, 0);
    assert_eq!(extent.offset().checked_add(extent.length()), Some(extent.end()));
    let before_manifest = extent.end() <= archive.manifest().extent().start || extent.length() == 0;
    assert!(alignment != 64 || before_manifest);
    let is_opaque = matches!(component.element_type(), ElementType::Opaque(..));
    // The bytes of opaque elements are read as `u8`.
    let storage = component.element_type().storage().or(is_opaque.then_some(StorageType::U8));
    assert_eq!(storage, component.storage_type());
    assert_eq!(component.generation(), archive.generation());
    let width = component.storage_type().map(|storage| u64::from(storage.width()));
    if let (Some(size), Some(width)) = (component.element_size(), width) {
        assert!(size == width || size == 2 * width || is_opaque);
    }
    let _ = component.digest().map(|digest| digest.algorithm().len());

    let any_bools = generation == Some(Generation::V0_1) || archive.format() == ANY_BOOLS;
    let raw = component.encoding() == Encoding::Raw;
    let is_here = component.shard().is_none();
    let place = |at| usize::try_from(at).expect("an offset that fits in memory");
    let blob = || &file[place(extent.offset())..place(extent.end())];
    let bound = if is_here { component.bind(blob()) } else { component.view() };
    // Big-endian blocks cannot be borrowed, because a view would show their scales in the wrong byte order.
    let is_block = component.byte_order() == ByteOrder::Big && width == Some(1);
    let in_place = raw && !component.is_strided() && is_here && !is_block;
    assert_eq!(bound.is_ok(), in_place && component.readable().is_ok(), "{bound:?}");
    assert_eq!(raw, component.encoding_name() == "raw");
    let bytes = |view: &Result<View<'_>, Error>| {
        view.as_ref().ok().map(|view| view.as_bytes().as_ptr_range())
    };
    let view = component.view();
    assert_eq!(bytes(&view), bytes(&bound));
    // The view of an empty file never fails, because there are no bytes to borrow.
    if !file.is_empty() {
        let not_lent = other.view().expect_err("a source that does not lend its bytes lent some");
        let is_misuse = not_lent.kind() == ErrorKind::Misuse(Misuse::NotInMemory);
        assert_eq!(is_misuse, bound.is_ok(), "{not_lent}");
        if is_here {
            assert_eq!(view.as_ref().err(), bound.as_ref().err());
            assert!(is_misuse || Some(&not_lent) == bound.as_ref().err(), "{not_lent}");
        } else {
            // It is not defined which of several unsupported features is reported.
            let errors = [view.as_ref().err(), bound.as_ref().err(), Some(&not_lent)];
            assert!(errors.into_iter().all(|error| error.is_some_and(Error::is_unsupported)));
        }
    }
    if let Ok(view) = &bound {
        assert_eq!(view.as_bytes(), blob());
        every_type(view, any_bools);
    }
    if !work.is_left() {
        return;
    }
    let streamed = streamed(component);
    match component.read() {
        Ok(decoded) => {
            let length = decoded.len() as u64;
            work.spend(length + 256);
            assert_eq!(streamed, Ok(length));
            if let (Ok(view), ByteOrder::Little) = (bound, component.byte_order()) {
                assert_eq!(&*decoded, view.as_bytes());
            }
            every_type(&decoded.view(), any_bools);
            if component.tensor().layout() == Layout::Dense && component.role() == "data" {
                every_way(&component.tensor(), &decoded.view());
            }
            assert!(in_buffers(component).expect("it was decoded") == *decoded, "other bytes");
            assert!(
                *other.read().expect("it was decoded") == *decoded,
                "the source gave other bytes than memory"
            );
            let mut buffer = vec![0; decoded.len()];
            let view = component.read_into(&mut buffer).expect("it was decoded");
            assert_eq!(view.as_bytes(), &*decoded);
            let mut longer = vec![0; decoded.len() + 1];
            assert!(component.read_into(&mut longer).is_err());
        }
        Err(error) => {
            work.spend(DECODED / 8);
            assert_eq!(streamed.as_ref(), Err(&error));
            let failed = in_buffers(component)
                .expect_err("a component that cannot be decoded was read in another way");
            assert_eq!(failed, error);
            assert_eq!(
                other
                    .read()
                    .expect_err("a component that cannot be decoded was read in another way"),
                error
            );
        }
    }
}

/// Reads a component through [`io::Read`], into small and large buffers in turn.
fn in_buffers(component: &Component<'_>) -> Result<Vec<u8>, Error> {
    let (mut reader, mut all) = (component.reader()?, Vec::new());
    let mut room = vec![0; 100_000];
    for length in [1, 3, 0, 15, 16, 5000, 7, 100_000, 0, 2].into_iter().cycle() {
        let buffer = &mut room[..length];
        match reader.read(buffer) {
            Ok(0) if length > 0 => break,
            Ok(read) => all.extend_from_slice(&buffer[..read]),
            Err(error) => return Err(own(error)),
        }
    }
    assert_eq!(
        reader.read(&mut room).expect("the end"),
        0,
        "a chunk follows the end of the content"
    );
    assert!(reader.verified().is_some(), "the content ended without a result of its verification");
    Ok(all)
}

/// Returns the error of zten that is inside an I/O error.
fn own(error: io::Error) -> Error {
    let held = error.into_inner().expect("an error of the library");
    *held.downcast().expect("an error of the library")
}

/// Checks that all ways of reading the elements of a dense tensor give the same elements. `decoded` is the view of
/// its decoded content.
fn every_way(tensor: &Tensor<'_>, decoded: &View<'_>) {
    macro_rules! all {
        ($($element:ty),+) => { $(one_way::<$element>(tensor, decoded);)+ };
    }
    every_element!(all);
}

/// Reads the elements as `T`, if they have this type, and checks that reading them all at once and one by one gives the same. If
/// they have another type, or the last one is cut, all reading must fail.
fn one_way<T: Element + Debug>(tensor: &Tensor<'_>, decoded: &View<'_>) {
    let expected: Vec<T> = match decoded.elements() {
        Ok(elements) => elements.collect(),
        Err(error) => {
            assert_eq!(tensor.to_vec::<T>(), Err(error));
            assert!(tensor.to_cow::<T>().is_err());
            return;
        }
    };
    // In 0.1, a component may end with a part of an element, which is not returned.
    if !decoded.as_bytes().len().is_multiple_of(size_of::<T>()) {
        assert!(tensor.to_vec::<T>().is_err());
        return;
    }
    let is_same = |elements: &[T]| {
        let pairs = elements.iter().zip(&expected);
        elements.len() == expected.len() && pairs.into_iter().all(|(a, b)| same(*a, *b))
    };
    assert!(is_same(&tensor.to_vec().expect("it was decoded")), "other elements in {tensor:?}");
    assert!(is_same(&tensor.to_cow().expect("it was decoded")), "the borrowed elements differ");
    let mut buffer = vec![T::ZERO; expected.len()];
    tensor.read_into(&mut buffer).expect("it was decoded");
    assert!(is_same(&buffer), "the elements in the buffer differ");
    assert!(tensor.read_into(&mut vec![T::ZERO; expected.len() + 1]).is_err());
    let view = tensor.dense().and_then(|data| data.view());
    let in_place = view.is_ok_and(|view| view.as_slice::<T>().is_ok());
    let borrowed = tensor.as_slice::<T>();
    assert_eq!(borrowed.is_ok(), in_place);
    assert!(borrowed.map_or(true, is_same), "the borrowed elements differ");
}

/// The largest number of bytes on the heap that reading a raw component takes.
const CHUNKS: u64 = 64 << 10;
/// The number of bytes that decoding a compressed component takes in addition to the windows: tables and two blocks.
const BLOCKS: u64 = (32 << 10) + 2 * (128 << 10);

/// Streams a component, checks that the heap stays within the documented bound, and returns the number of decoded
/// bytes.
fn streamed(component: &Component<'_>) -> Result<u64, Error> {
    let (peak, read) = heap::peak(|| {
        let mut content = component.reader()?;
        let mut length = 0;
        loop {
            match content.next_chunk() {
                Ok(None) => break,
                Ok(Some(chunk)) => {
                    assert!(!chunk.is_empty() && chunk.len() <= 64 << 10);
                    length += chunk.len() as u64;
                }
                Err(error) => {
                    let again = content.next_chunk().map(|_| ());
                    assert_eq!(again.as_ref(), Err(&error), "reading succeeds after an error");
                    return Err(error);
                }
            }
        }
        assert!(
            content.verified().is_some(),
            "the content ended without a result of its verification"
        );
        assert_eq!(content.next_chunk(), Ok(None), "a chunk follows the end of the content");
        Ok(length)
    });
    let declared = component.decoded_length();
    let window = declared.map_or(DECODED, |length| length.min(DECODED));
    let compressed = component.encoding() != Encoding::Raw;
    let bound = CHUNKS + if compressed { BLOCKS + 3 * window } else { 0 };
    assert!(peak <= bound + 4096, "{peak} bytes of heap to read {component:?}");
    if let (Ok(length), Some(declared)) = (&read, declared) {
        assert_eq!(*length, declared);
    }
    if let (Ok(length), Some(size)) = (&read, component.element_size()) {
        let free = matches!(component.generation(), Some(Generation::V0_1 | Generation::V2));
        assert!(free || length.is_multiple_of(size), "part of an element");
    }
    read
}

/// Checks the elements of a view with every type, as [`elements`] does. `any_bools` says that bools may be any byte.
fn every_type(view: &View<'_>, any_bools: bool) {
    macro_rules! all {
        ($($element:ty),+) => { $(elements::<$element>(view, any_bools);)+ };
    }
    every_element!(all);
}

/// Checks that the elements of a view can be read as `T` exactly if they have this type and are valid, and that the first
/// elements of the slice, if there is one, are those of the iterator. `any_bools` says that bools may be any byte.
fn elements<T: Element + Debug>(view: &View<'_>, any_bools: bool) {
    let meant = T::LOGICAL.is_none() || T::LOGICAL == view.logical_type();
    let typed = T::DTYPE == view.storage_type() && meant;
    let bool = T::DTYPE == StorageType::Bool && !any_bools;
    let valid = typed && (!bool || view.as_bytes().iter().all(|byte| *byte < 2));
    let elements = view.elements::<T>();
    assert_eq!(elements.is_ok(), valid, "{view:?}");
    let Ok(elements) = elements else {
        assert!(view.as_slice::<T>().is_err());
        return;
    };
    let count = view.as_bytes().len() / size_of::<T>();
    assert_eq!((elements.len(), elements.get(count).is_none()), (count, true));
    match view.as_slice::<T>() {
        Ok(slice) => {
            assert_eq!(slice.len(), count);
            assert!(slice.iter().zip(elements).take(FEW).all(|(one, other)| same(*one, other)));
        }
        Err(error) => {
            let ErrorKind::Misuse(why) = error.kind() else { panic!("{error}") };
            let known = [Misuse::Alignment, Misuse::ByteOrder, Misuse::BoolBytes, Misuse::Size];
            assert!(known.contains(&why), "{error}");
            assert!(elements.count() >= count.min(1));
        }
    }
}

/// Returns whether two elements are equal, or both are NaN.
pub(crate) fn same<T: PartialEq + Copy>(one: T, other: T) -> bool {
    let differ = |a: T, b: T| a != b;
    one == other || (differ(one, one) && differ(other, other))
}

//! Components: their bytes borrowed, streamed and decoded, and their elements as every type.

use core::fmt::Debug;

use half::{bf16, f16};
use zten::{
    Archive, Component, Element, Encoding, Error, ErrorKind, Generation, StorageType,
    element::{ByteOrder, Complex, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz},
    error::Misuse,
    view::View,
};

use crate::{DECODED, DECODED_TOTAL, FEW, heap, limits};

/// The name of a format that has no rule for bools: any byte is one.
pub(crate) const ANY_BOOLS: &str = "front-any-bools";

/// How many bytes may still be decoded.
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

/// Reads one component in every way that there is.
pub(crate) fn read(component: &Component<'_>, archive: &Archive<&[u8]>, work: &mut Work) {
    let file = archive.data();
    let extent = component.extent();
    let generation = component.generation();
    let alignment = match generation {
        Some(Generation::V2) => 4096,
        Some(_) => 64,
        None => 1,
    };
    assert_eq!(extent.offset() % alignment, 0);
    assert_eq!(extent.offset().checked_add(extent.length()), Some(extent.end()));
    let before_manifest = extent.end() <= archive.extent().start || extent.length() == 0;
    assert!(alignment != 64 || before_manifest);
    assert_eq!(component.element_type().storage(), component.storage_type());
    assert_eq!(component.generation(), archive.generation());
    let width = component.storage_type().map(|storage| u64::from(storage.width()));
    if let (Some(size), Some(width)) = (component.element_size(), width) {
        assert!(size == width || size == 2 * width);
    }
    let _ = component.digest().map(|digest| digest.algorithm().len());

    let any_bools = generation == Some(Generation::V0_1) || archive.file_format() == ANY_BOOLS;
    let raw = component.encoding() == Encoding::Raw;
    let bound = component.bind(file);
    let in_place = raw && !component.is_column_major();
    assert_eq!(bound.is_ok(), in_place && component.readable().is_ok(), "{bound:?}");
    assert_eq!(raw, component.encoding_name() == "raw");
    let bytes = |view: &Result<View<'_>, Error>| view.map(|view| view.as_bytes().as_ptr_range());
    assert_eq!(bytes(&component.view()), bytes(&bound));
    if let Ok(view) = &bound {
        let place = |at| usize::try_from(at).expect("a place in memory");
        let blob = &file[place(extent.offset())..place(extent.end())];
        assert_eq!(view.as_bytes(), blob);
        assert_eq!(component.bind_blob(blob).expect("its own blob").as_bytes(), blob);
        every_type(view, any_bools);
    }
    if !work.is_left() {
        return;
    }
    let streamed = streamed(component, file);
    match component.decode(file, &limits()).map_err(Error::from) {
        Ok(decoded) => {
            let length = decoded.len() as u64;
            work.spend(length + 256);
            assert_eq!(streamed, Ok(length));
            if let (Ok(view), ByteOrder::Little) = (bound, component.byte_order()) {
                assert_eq!(&*decoded, view.as_bytes());
            }
            every_type(&decoded.view(), any_bools);
            as_slice(component, file, &decoded.view());
            let mut buffer = vec![0; decoded.len()];
            let view = component.read_into(file, &limits(), &mut buffer).expect("it was decoded");
            assert_eq!(view.as_bytes(), &*decoded);
            let mut longer = vec![0; decoded.len() + 1];
            assert!(component.read_into(file, &limits(), &mut longer).is_err());
        }
        Err(error) => {
            work.spend(DECODED / 8);
            assert_eq!(streamed, Err(error));
        }
    }
}

/// Elements of one type in one call are those that are read one by one.
fn as_slice(component: &Component<'_>, file: &[u8], decoded: &View<'_>) {
    let expected = decoded.elements::<f32>().map(|elements| elements.map(f32::to_bits));
    let bits = |elements: &[f32]| elements.iter().map(|element| element.to_bits()).collect();
    let expected: Result<Vec<u32>, Error> = expected.map(Iterator::collect);
    let read = component.read_elements::<f32, _>(file, &limits()).map_err(Error::from);
    // Part of an element (0.1) is no element.
    if decoded.as_bytes().len().is_multiple_of(4) || expected.is_err() {
        assert_eq!(read.map(|elements| bits(&elements)), expected);
    }
    // It has the limits that the file was opened with.
    if let (Ok(elements), Ok(expected)) = (component.to_cow::<f32>(), expected) {
        assert_eq!(bits(&elements), expected);
    }
}

/// What reading takes at most, whatever it reads; and what decoding takes beside that and windows:
/// tables, and two blocks.
const CHUNKS: u64 = 64 << 10;
const BLOCKS: u64 = (32 << 10) + 2 * (128 << 10);

/// Streams a component, in as much heap as is promised: how many bytes it holds.
fn streamed(component: &Component<'_>, file: &[u8]) -> Result<u64, Error> {
    let limits = limits();
    let (peak, read) = heap::peak(|| {
        let mut content = component.content(file, &limits)?;
        let mut length = 0;
        loop {
            match content.next_chunk() {
                Ok(None) => break,
                Ok(Some(chunk)) => {
                    assert!(!chunk.is_empty() && chunk.len() <= 64 << 10);
                    length += chunk.len() as u64;
                }
                Err(error) => {
                    assert_eq!(content.next_chunk(), Err(error), "an error is final");
                    return Err(error.into());
                }
            }
        }
        assert!(content.verified().is_some(), "the end has come, and nothing has been shown");
        assert_eq!(content.next_chunk(), Ok(None), "the end is the end");
        Ok(length)
    });
    let declared = component.decoded_length();
    let window = declared.map_or(DECODED, |length| length.min(DECODED));
    let compressed = component.encoding() != Encoding::Raw;
    let bound = CHUNKS + if compressed { BLOCKS + 3 * window } else { 0 };
    assert!(peak <= bound + 4096, "{peak} bytes of heap to read {component:?}");
    if let (Ok(length), Some(declared)) = (read, declared) {
        assert_eq!(length, declared);
    }
    if let (Ok(length), Some(size)) = (read, component.element_size()) {
        let free = matches!(component.generation(), Some(Generation::V0_1 | Generation::V2));
        assert!(free || length.is_multiple_of(size), "part of an element");
    }
    read
}

/// Asks a view for elements of every type.
fn every_type(view: &View<'_>, any_bools: bool) {
    macro_rules! all {
        ($($element:ty),+) => { $(elements::<$element>(view, any_bools);)+ };
    }
    all!(f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, bool);
    all!(Complex<f32>, Complex<f64>, F8E4M3Fn, F8E5M2, F8E4M3Fnuz, F8E5M2Fnuz);
}

/// Elements are there if their type is right, and the same however they are asked for.
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

/// Whether two elements are equal, or both equal nothing.
pub(crate) fn same<T: PartialEq + Copy>(one: T, other: T) -> bool {
    let differ = |a: T, b: T| a != b;
    one == other || (differ(one, one) && differ(other, other))
}

//! Builds zTensor files from objects and blobs, and places the blobs one after another.

use zten_corpus::base::{component, v1};
use zten_corpus::cbor::{Item, fields, text, uint};
use zten_corpus::file::File;
use zten_corpus::v2::{self, FileV2};

/// A zTensor file under construction, whose blobs get aligned offsets in the order in which they are appended.
pub struct Layout {
    unit: usize,
    end: usize,
    blobs: Vec<(usize, Vec<u8>)>,
    objects: Vec<(String, Item)>,
}

impl Layout {
    /// Begins a file whose blobs are aligned to `unit` bytes: 64 before generation 2, and 4,096 in generation 2.
    pub fn new(unit: usize) -> Self {
        Self { unit, end: unit, blobs: Vec::new(), objects: Vec::new() }
    }

    /// Appends `bytes` as a blob, and returns its offset in the file.
    pub fn blob(&mut self, bytes: Vec<u8>) -> u64 {
        let at = self.end.next_multiple_of(self.unit);
        self.end = at + bytes.len();
        self.blobs.push((at, bytes));
        at as u64
    }

    /// Appends `bytes` as a blob, and returns the CBOR map of a raw component of the type `dtype` that has this blob,
    /// for generations before 2.
    pub fn raw(&mut self, dtype: &str, bytes: Vec<u8>) -> Item {
        let length = bytes.len() as u64;
        component(dtype, self.blob(bytes), length)
    }

    /// Appends a zstd frame as a blob, and returns the CBOR map of a compressed component that has this blob and no
    /// decoded size, for generations before 2.
    pub fn packed(&mut self, dtype: &str, frame: Vec<u8>) -> Item {
        let length = ("length", uint(frame.len() as u64));
        let offset = ("offset", uint(self.blob(frame)));
        fields([("dtype", text(dtype)), offset, length, ("encoding", text("zstd"))])
    }

    /// Appends `bytes` as a blob, and returns the CBOR map of a raw component of the type `dtype` that has this blob,
    /// for generation 2.
    pub fn part(&mut self, dtype: &str, bytes: Vec<u8>) -> Item {
        let length = bytes.len() as u64;
        v2::part(dtype, self.blob(bytes), length)
    }

    /// Adds an object, whose name is the number of objects before it in six digits.
    pub fn object(&mut self, item: Item) {
        self.named(&format!("{:06}", self.objects.len()), item);
    }

    /// Adds an object named `name`.
    pub fn named(&mut self, name: &str, item: Item) {
        self.objects.push((name.to_owned(), item));
    }

    /// Returns the finished file of the generation `version`, such as `1.2.0`, which is before 2.
    pub fn v1(self, version: &str) -> File {
        let file = v1(version, self.objects).start(self.end.next_multiple_of(self.unit));
        self.blobs.iter().fold(file, |file, (at, bytes)| file.blob(*at, bytes))
    }

    /// Returns the finished file of generation 2.
    pub fn v2(self) -> FileV2 {
        let file = v2::file(self.objects).start(self.end.next_multiple_of(self.unit));
        self.blobs.iter().fold(file, |file, (at, bytes)| file.blob(*at, bytes))
    }
}

//! Files that are laid out: objects, and their blobs one after another.

use zten_corpus::base::{component, v1};
use zten_corpus::cbor::{Item, fields, text, uint};
use zten_corpus::file::File;
use zten_corpus::v2::{self, FileV2};

/// A file being laid out.
pub struct Layout {
    unit: usize,
    end: usize,
    blobs: Vec<(usize, Vec<u8>)>,
    objects: Vec<(String, Item)>,
}

impl Layout {
    /// A file whose blobs begin at multiples of so many bytes: 64 before generation 2, and 4,096 in it.
    pub fn new(unit: usize) -> Self {
        Self { unit, end: unit, blobs: Vec::new(), objects: Vec::new() }
    }

    /// Puts a blob behind the others, and returns where it lies.
    pub fn blob(&mut self, bytes: Vec<u8>) -> u64 {
        let at = self.end.next_multiple_of(self.unit);
        self.end = at + bytes.len();
        self.blobs.push((at, bytes));
        at as u64
    }

    /// Puts a blob behind the others, and returns the map of its component before generation 2.
    pub fn raw(&mut self, dtype: &str, bytes: Vec<u8>) -> Item {
        let length = bytes.len() as u64;
        component(dtype, self.blob(bytes), length)
    }

    /// The same of a frame of zstd that does not say what it decodes to.
    pub fn packed(&mut self, dtype: &str, frame: Vec<u8>) -> Item {
        let length = ("length", uint(frame.len() as u64));
        let offset = ("offset", uint(self.blob(frame)));
        fields([("dtype", text(dtype)), offset, length, ("encoding", text("zstd"))])
    }

    /// Puts a blob behind the others, and returns its part in generation 2.
    pub fn part(&mut self, dtype: &str, bytes: Vec<u8>) -> Item {
        let length = bytes.len() as u64;
        v2::part(dtype, self.blob(bytes), length)
    }

    /// Adds an object, whose name follows those of the others.
    pub fn object(&mut self, item: Item) {
        self.named(&format!("{:06}", self.objects.len()), item);
    }

    /// Adds an object of that name.
    pub fn named(&mut self, name: &str, item: Item) {
        self.objects.push((name.to_owned(), item));
    }

    /// The file, of that version before generation 2.
    pub fn v1(self, version: &str) -> File {
        let file = v1(version, self.objects).start(self.end.next_multiple_of(self.unit));
        self.blobs.iter().fold(file, |file, (at, bytes)| file.blob(*at, bytes))
    }

    /// The file in generation 2.
    pub fn v2(self) -> FileV2 {
        let file = v2::file(self.objects).start(self.end.next_multiple_of(self.unit));
        self.blobs.iter().fold(file, |file, (at, bytes)| file.blob(*at, bytes))
    }
}

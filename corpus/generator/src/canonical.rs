//! Files in canonical form, which `docs/canonical.md` describes, and files laid out like them.

use crate::base::{DATA, words};
use crate::cbor::{Item, fields, map, sort, sorted_map, text, uint, uints};
use crate::file::File;
use crate::sha256::sha256;

/// A component of a file in canonical form, and its content.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    role: String,
    fields: Vec<(Item, Item)>,
    bytes: Vec<u8>,
    at: Option<usize>,
}

/// Returns a component with the role `role`, the storage type `dtype` and the content `bytes`.
pub(crate) fn part(role: &str, dtype: &str, bytes: &[u8]) -> Part {
    let fields = vec![(text("dtype"), text(dtype))];
    Part { role: role.to_owned(), fields, bytes: bytes.to_vec(), at: None }
}

impl Part {
    /// Adds the field `key` to the map of the component.
    pub(crate) fn field(mut self, key: &str, value: Item) -> Self {
        self.fields.push((text(key), value));
        self
    }

    /// Sets the logical type of the component.
    pub(crate) fn of_type(self, name: &str) -> Self {
        self.field("type", text(name))
    }

    /// Sets the offset of the component in the file. Without this call, the component begins at the next multiple of
    /// 64 after the previous one.
    pub(crate) fn at(mut self, offset: usize) -> Self {
        self.at = Some(offset);
        self
    }
}

/// An object of a file in canonical form, and its components.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    name: String,
    fields: Vec<(Item, Item)>,
    parts: Vec<Part>,
}

/// Returns an object with this name, shape and format.
pub(crate) fn tensor(name: &str, shape: &[u64], format: &str, parts: Vec<Part>) -> Tensor {
    let fields = vec![(text("shape"), uints(shape)), (text("format"), text(format))];
    Tensor { name: name.to_owned(), fields, parts }
}

/// Returns a dense object named `name` whose only component has the content `bytes`.
pub(crate) fn dense(name: &str, shape: &[u64], dtype: &str, bytes: &[u8]) -> Tensor {
    tensor(name, shape, "dense", vec![part("data", dtype, bytes)])
}

/// Returns an object named `name` of an unknown format and without components.
pub(crate) fn bare(name: &str) -> Tensor {
    tensor(name, &[], "x", Vec::new())
}

impl Tensor {
    /// Sets the attributes of the object.
    pub(crate) fn attributes(mut self, attributes: Item) -> Self {
        self.fields.push((text("attributes"), attributes));
        self
    }

    /// Sets the offset of all components of the object.
    pub(crate) fn at(mut self, offset: usize) -> Self {
        self.parts = self.parts.into_iter().map(|part| part.at(offset)).collect();
        self
    }
}

/// Returns the canonical file of `tensors` and of the attributes of the file, if there are any. It is not canonical if the offset
/// of a component was set to another one than the component has by itself.
pub(crate) fn canonical(attributes: Option<Item>, mut tensors: Vec<Tensor>) -> File {
    tensors.sort_by_key(|tensor| text(&tensor.name).encode().bytes);
    for tensor in &mut tensors {
        tensor.parts.sort_by_key(|part| text(&part.role).encode().bytes);
    }
    in_order(attributes, tensors)
}

/// Returns a file that is canonical, except that the objects and components have the order in which they are given,
/// both in the manifest and in the data.
pub(crate) fn in_order(attributes: Option<Item>, tensors: Vec<Tensor>) -> File {
    let (mut blobs, mut cursor, mut end) = (Vec::new(), 64, 64);
    let mut objects = Vec::new();
    for Tensor { name, mut fields, parts } in tensors {
        let mut components = Vec::new();
        for Part { role, mut fields, bytes, at } in parts {
            let offset = at.unwrap_or(cursor);
            fields.push((text("offset"), uint(offset as u64)));
            fields.push((text("length"), uint(bytes.len() as u64)));
            fields.push((text("digest"), text(&sha256(&bytes))));
            components.push((text(&role), sorted_map(fields)));
            if !bytes.is_empty() {
                cursor = (offset + bytes.len()).next_multiple_of(64);
                end = end.max(cursor);
                blobs.push((offset, bytes));
            }
        }
        fields.push((text("components"), map(components)));
        objects.push((text(&name), sorted_map(fields)));
    }
    let mut root = vec![(text("objects"), map(objects)), (text("version"), text("1.2.0"))];
    root.extend(attributes.map(|attributes| (text("attributes"), attributes)));
    sort(&mut root);
    let file = blobs.iter().fold(File::v1(map(root)), |file, (at, bytes)| file.blob(*at, bytes));
    file.start(end)
}

/// Returns a canonical file with one dense object `w` of `f32` and shape `[2, 2]`.
pub(crate) fn one() -> File {
    canonical(None, vec![dense("w", &[2, 2], "f32", &DATA)])
}

/// Returns the file of [`one`], with an attribute `x` of the file and of the object.
pub(crate) fn attribute() -> File {
    let x = || fields([("x", uint(0))]);
    canonical(Some(x()), vec![dense("w", &[2, 2], "f32", &DATA).attributes(x())])
}

/// Returns two dense vectors for a canonical file: `v` of three bytes at offset 64, and `w` of four floats at offset
/// 128.
pub(crate) fn two() -> Vec<Tensor> {
    vec![dense("v", &[3], "u8", &DATA[13..]), dense("w", &[4], "f32", &DATA)]
}

/// Returns the parts of a `sparse_csr` object of shape `[2, 3]`, in the order of the manifest.
pub(crate) fn csr_parts() -> Vec<Part> {
    vec![
        part("indptr", "u64", &words(&[0, 2, 3])),
        part("values", "f32", &DATA[..12]),
        part("indices", "u64", &words(&[0, 2, 1])),
    ]
}

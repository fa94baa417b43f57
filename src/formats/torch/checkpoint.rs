//! Builds the index of a checkpoint's archive from the value that the pickle describes. The tensors and attributes in this value
//! become those of the archive, and a note counts the values that are neither.

use alloc::vec::Vec;

use crate::element::{ByteOrder, StorageType};
use crate::escape::Short;
use crate::formats::builder_error::{self, format_error};
use crate::formats::cbor::Map;
use crate::formats::error::{FormatError, copied};
use crate::formats::kind::FormatDType;
use crate::formats::npy::types::{Number, Type};
use crate::formats::rules::Rule;
use crate::index::{Builder, Encoding, Layout, Parsed, RawComponent, RawElements, RawObject};
use crate::num::{sort_by, u64_from_usize};

use super::duplicate_key;
use super::globals::{Global, Known};
use super::pickle::{Fact, Pickle, Pickled, TensorLayout, Unknown};
use super::storages::{Storages, Tensor};
use super::walk::{Leaf, NameWalk};

/// A checkpoint whose pickle has been read: its values, its storages, and the builder of its index.
pub(super) struct Checkpoint<'c, 'p> {
    pub(super) pickle: Pickle<'p>,
    /// The value of the whole pickle, from which the names of tensors begin.
    pub(super) root: Pickled,
    pub(super) storages: &'c mut Storages<'p>,
    /// Whether the elements of storages are big-endian.
    pub(super) is_big: bool,
    /// Whether the pickle is stored in the file without compression, so that bytes in it can be read in place.
    pub(super) is_raw_pickle: bool,
    pub(super) builder: Builder<'c>,
}

impl Checkpoint<'_, '_> {
    /// Walks through the value of the pickle, adds each tensor and attribute to the index, and returns the header.
    pub(super) fn parsed(mut self) -> Result<Parsed, FormatError> {
        self.pickle.check_dropped()?;
        let limits = *self.builder.limits();
        let mut attributes = Map::default();
        // The fields are borrowed one by one, because the walk reads the pickle while the builder takes the tensors.
        let Checkpoint { pickle, root, storages, is_big, is_raw_pickle, builder } = &mut self;
        let pickle = &*pickle;
        let mut walk = NameWalk::new(pickle, *root, &limits)?;
        let mut tensors = Tensors {
            pickle,
            storages,
            is_big: *is_big,
            is_raw_pickle: *is_raw_pickle,
            builder,
            is_complete: true,
        };
        while let Some(leaf) = walk.next()? {
            match leaf {
                Leaf::Tensor(value) => tensors.add(value, walk.name())?,
                Leaf::Attribute(value) => {
                    let mut left = walk.left();
                    attributes.put(walk.name(), |out| pickle.write(value, out, &mut left))?;
                    walk.set_left(left);
                }
            }
        }
        let mut left_out = walk.into_left_out();
        let is_complete = tensors.is_complete && left_out.is_empty();
        self.storages.check_made(&self.pickle, &limits, self.is_big)?;
        // A storage that no tensor uses may belong to a value that is left out.
        if is_complete && !self.pickle.has_dropped() {
            self.storages.check_used()?;
        }
        let attributes = attributes.finish(duplicate_key)?;
        if !attributes.is_empty() {
            self.builder.attributes(&attributes).map_err(format_error)?;
        }
        if let Some(note) = left_out.note(self.pickle.dropped)? {
            self.builder.found_named(note.into(), left_out.take_names());
        }
        self.note_beyond_torch();
        self.note_globals()?;
        builder_error::finish(self.builder, Rule::TorchDuplicateName)
    }

    /// Adds a note about the first instruction, import, storage or device in the pickle that keeps PyTorch from reading the
    /// file with `weights_only=True`, if there is one.
    fn note_beyond_torch(&mut self) {
        let Some(beyond) = self.pickle.beyond_torch else { return };
        let rule = Rule::TorchWeightsOnly;
        let error = match beyond.what {
            Unknown::Instruction(name) => {
                let sentence = format_args!(
                    "PyTorch does not know the instruction {name} when it loads with `weights_only=True`"
                );
                FormatError::violation_at(rule, sentence, beyond.at)
            }
            Unknown::UntypedStorage => {
                let sentence = "PyTorch does not read a storage without a type in a file that is not a zip archive";
                FormatError::violation_at(rule, sentence, beyond.at)
            }
            Unknown::Device => {
                let sentence = "PyTorch knows this device only with an extension package";
                FormatError::violation_at(rule, sentence, beyond.at)
            }
            Unknown::Import(known) => {
                let (module, name) = known.name();
                let sentence = format_args!(
                    "PyTorch does not import {module}.{name} when it loads with `weights_only=True`"
                );
                FormatError::violation_at(rule, sentence, beyond.at)
            }
        };
        self.builder.found(error.into());
    }

    /// Adds, as a finding of the file, the error for each imported global that zten does not know and that the caller
    /// tolerates. A global that is imported several times gets one finding. A check of the file reports these errors.
    fn note_globals(&mut self) -> Result<(), FormatError> {
        let mut known = Vec::new();
        for node in self.pickle.nodes_with(Fact::IsForeign) {
            known.try_reserve(1).map_err(|_| FormatError::memory())?;
            known.push((self.pickle.foreign_name(node), node));
        }
        sort_by(&mut known, Ord::cmp);
        known.dedup_by_key(|(name, _)| *name);
        for ((module, name), node) in known {
            let text = |bytes| str::from_utf8(bytes).unwrap_or("\u{fffd}");
            let name_of_global = copied(format_args!("{}.{}", text(module), text(name)))?;
            let (module, name) = (Short(text(module)), Short(text(name)));
            let sentence = format_args!("the global {name} of the module {module} is not allowed");
            let at = self.pickle.node_at(node);
            let error = FormatError::violation_at(Rule::TorchGlobal, sentence, at);
            self.builder.found_about(error.into(), name_of_global);
        }
        Ok(())
    }
}

/// The state of adding the tensors of a checkpoint to the builder of its index.
struct Tensors<'t, 'c, 'p, 'o> {
    pickle: &'t Pickle<'p>,
    storages: &'t mut Storages<'c>,
    is_big: bool,
    is_raw_pickle: bool,
    builder: &'t mut Builder<'o>,
    /// Whether every tensor so far can be read.
    is_complete: bool,
}

/// What the index keeps about a tensor besides its components.
struct Described<'d> {
    name: &'d str,
    shape: &'d [u64],
    layout: Layout,
    source_offset: u32,
}

impl Tensors<'_, '_, '_, '_> {
    /// Adds the tensor `value` to the index under the name `name`. `value` may be a dense or sparse tensor, a NumPy array,
    /// or a tensor that zten does not read.
    fn add(&mut self, value: Pickled, name: &str) -> Result<(), FormatError> {
        let about = |error: FormatError| error.about(name);
        match value {
            Pickled::Tensor(node) => self.add_tensor(node, name),
            Pickled::Sparse(node) => self.add_sparse(node, name),
            Pickled::Array(node) => self.add_array(node, name),
            Pickled::UnreadTensor(node) => {
                let [function, shape] = self.pickle.first(node);
                let shape = match shape {
                    Pickled::Tuple(shape) => self.dimensions(shape, node).map_err(about)?,
                    _ => Vec::new(),
                };
                let kind = match function {
                    Pickled::Global(Global::Known(Known::Quantized)) => "quantized",
                    Pickled::Global(Global::Known(Known::Meta)) => "meta",
                    Pickled::Global(Global::Known(Known::Nested)) => "nested",
                    Pickled::Global(Global::Known(Known::DeviceTensor)) => "device tensor",
                    _ => "subclass",
                };
                self.add_unread(name, &shape, (Rule::TorchValue, kind), self.pickle.position(node))
            }
            _ => Err(FormatError::internal("a value that is no tensor is added as a tensor")),
        }
    }

    /// Adds the dense tensor `node`, whose elements lie in a storage, to the index under the name `name`. A tensor whose
    /// elements zten does not read is added as an unread tensor.
    fn add_tensor(&mut self, node: u32, name: &str) -> Result<(), FormatError> {
        let about = |error: FormatError| error.about(name);
        let tensor = self.tensor(node).map_err(about)?;
        self.storages.mark_used(&tensor);
        self.note_byte_order(&tensor, name);
        match tensor.component(self.is_big) {
            Ok(component) => {
                let described = Described {
                    name,
                    shape: &tensor.shape,
                    layout: Layout::Dense,
                    source_offset: tensor.position,
                };
                self.push(&described, &[component])
            }
            Err(reason) => self.add_unread(name, &tensor.shape, reason, tensor.position),
        }
    }

    /// Finds the elements of the dense tensor `node` in their storage, and checks that they lie within it.
    fn tensor(&self, node: u32) -> Result<Tensor, FormatError> {
        self.storages.tensor(self.pickle, node, (self.builder.limits(), self.is_big))
    }

    /// Adds a note that names the tensor `name` if PyTorch, on a little-endian machine, reads other values of `tensor` than zten.
    fn note_byte_order(&mut self, tensor: &Tensor, name: &str) {
        if tensor.is_swapped_here_alone {
            let rule = Rule::TorchByteOrder;
            let found = FormatError::violation_at(rule, rule.row().broken(), tensor.at);
            self.builder.found(found.about(name).into());
        }
    }

    /// Adds the sparse tensor `node` to the index under the name `name`. zten reads coordinates and compressed rows whose
    /// parts are dense and whole; other sparse tensors are left unread. PyTorch's flag for a tensor whose entries are sorted
    /// and unique (coalesced) is ignored: entries may have any order, and the values of several entries with the same
    /// coordinates add up.
    fn add_sparse(&mut self, node: u32, name: &str) -> Result<(), FormatError> {
        let [layout, first, second, values, shape] = self.pickle.first(node);
        let (Pickled::Layout(layout), Pickled::Tuple(shape)) = (layout, shape) else {
            return Err(FormatError::internal(
                "the node of a sparse tensor lacks its layout or shape",
            ));
        };
        let about = |error: FormatError| error.about(name);
        let shape = self.dimensions(shape, node).map_err(about)?;
        let position = self.pickle.position(node);
        let mut parts = Vec::new();
        for part in [first, second, values] {
            let Pickled::Tensor(node) = part else { continue };
            let tensor = self.tensor(node).map_err(about)?;
            self.storages.mark_used(&tensor);
            self.note_byte_order(&tensor, name);
            parts.try_reserve(1).map_err(|_| FormatError::memory())?;
            parts.push(tensor);
        }
        let is_big = self.is_big;
        let component = |tensor: &Tensor, role: &'static str| -> Option<RawComponent<'static>> {
            let component = tensor.whole_component(is_big)?;
            Some(RawComponent { role, ..component })
        };
        let rank = u64_from_usize(shape.len());
        let components = match (layout, parts.as_slice()) {
            (TensorLayout::Coo, [coords, values]) if is_coo(coords, values, rank) => {
                component(coords, "coords")
                    .zip(component(values, "values"))
                    .map(|(coords, values)| ([coords, values, values], 2))
            }
            (TensorLayout::Csr, [indptr, indices, values])
                if is_csr(indptr, indices, values, &shape) =>
            {
                let parts = component(indices, "indices").zip(component(indptr, "indptr"));
                parts
                    .zip(component(values, "values"))
                    .map(|((indices, indptr), values)| ([indices, indptr, values], 3))
            }
            _ => None,
        };
        match components {
            Some((components, count)) => {
                let layout = match layout {
                    TensorLayout::Coo => Layout::SparseCoo,
                    _ => Layout::SparseCsr,
                };
                let described = Described { name, shape: &shape, layout, source_offset: position };
                self.push(&described, components.get(..count).unwrap_or_default())
            }
            None => self.add_unread(name, &shape, (Rule::TorchValue, "sparse"), position),
        }
    }

    /// Adds the NumPy array `node` of the pickle as the tensor `name`. An array whose form zten does not read becomes an
    /// unread tensor.
    fn add_array(&mut self, node: u32, name: &str) -> Result<(), FormatError> {
        let about = |error: FormatError| error.about(name);
        let position = self.pickle.position(node);
        let [Pickled::Tuple(shape), Pickled::NumpyDtype(dtype), order, content] =
            self.pickle.first(node)
        else {
            return Err(FormatError::internal(
                "the node of a NumPy array lacks its shape or dtype",
            ));
        };
        let shape = self.dimensions(shape, node).map_err(about)?;
        let content = match content {
            Pickled::ByteArray(node) => {
                let [content] = self.pickle.first(node);
                content
            }
            content => content,
        };
        let type_name = self.pickle.numpy_name(dtype);
        let component = match content {
            // The node of an empty `bytearray` has no item.
            Pickled::None => RawComponent::raw(StorageType::U8, 0, 0),
            Pickled::Bytes(at) if self.is_raw_pickle => {
                let (offset, length) = self.pickle.extent(at);
                RawComponent::raw(StorageType::U8, offset, length)
            }
            Pickled::Latin1(at) if self.is_raw_pickle => {
                let (offset, length) = self.pickle.extent(at);
                RawComponent {
                    encoding: Encoding::Latin1,
                    decoded_length: Some(self.pickle.latin_1_size(at)),
                    ..RawComponent::raw(StorageType::U8, offset, length)
                }
            }
            _ => {
                return self.add_unread(
                    name,
                    &shape,
                    (Rule::TorchValue, "numpy.ndarray"),
                    position,
                );
            }
        };
        let component = RawComponent { column_major: order == Pickled::Bool(true), ..component };
        let component = match self.pickle.numpy_type(dtype) {
            Type::Known(Number { storage, logical, is_big }) => RawComponent {
                storage,
                logical,
                byte_order: if is_big { ByteOrder::Big } else { ByteOrder::Little },
                ..component
            },
            Type::Opaque(size) => {
                RawComponent { elements: RawElements::Opaque { type_name, size }, ..component }
            }
            Type::Objects | Type::Unknown => {
                return self.add_unread(
                    name,
                    &shape,
                    (Rule::TorchValue, "numpy.ndarray"),
                    position,
                );
            }
        };
        let described =
            Described { name, shape: &shape, layout: Layout::Dense, source_offset: position };
        self.push(&described, &[component])
    }

    /// Adds a tensor whose elements zten does not read, with the dimensions `shape`, to the index under the name `name`.
    /// `rule` is the reason, and `type_name` the kind of tensor or the dtype.
    fn add_unread(
        &mut self,
        name: &str,
        shape: &[u64],
        (rule, type_name): (Rule, &str),
        source_offset: u32,
    ) -> Result<(), FormatError> {
        self.is_complete = false;
        let component = RawComponent {
            elements: RawElements::Unread { type_name, reason: rule.row() },
            ..RawComponent::raw(StorageType::U8, 0, 0)
        };
        let described = Described { name, shape, layout: Layout::Dense, source_offset };
        self.push(&described, &[component])
    }

    /// Adds the tensor `described` with the given components to the builder.
    fn push(
        &mut self,
        described: &Described<'_>,
        components: &[RawComponent<'_>],
    ) -> Result<(), FormatError> {
        let Described { name, shape, layout, source_offset } = *described;
        let object = RawObject {
            name,
            shape,
            layout,
            layout_name: None,
            attributes: None,
            components,
            source_offset,
        };
        self.builder.push(&object).map_err(|error| match error.rule() {
            Some(id) if id.starts_with("limit-decoded") => format_error(error).about(name),
            _ => format_error(error),
        })
    }

    /// Returns the items of the tuple `shape` of the tensor `node` as dimensions.
    fn dimensions(&self, shape: u32, node: u32) -> Result<Vec<u64>, FormatError> {
        self.pickle.dimensions(shape, (self.builder.limits(), self.pickle.node_at(node)))
    }
}

/// Returns whether the tensors `coords` and `values` describe a sparse tensor of `rank` dimensions, at least one: `coords` has
/// one row of integers for each dimension and one column for each entry, and `values` has one value for each entry.
fn is_coo(coords: &Tensor, values: &Tensor, rank: u64) -> bool {
    match (coords.shape.as_slice(), values.shape.as_slice()) {
        ([dimensions, entries], [count]) => {
            *dimensions == rank && entries == count && rank > 0 && has_indices(coords)
        }
        _ => false,
    }
}

/// Returns whether the elements of `tensor` are integers, as indices must be.
fn has_indices(tensor: &Tensor) -> bool {
    matches!(tensor.dtype.kind(), Some(FormatDType::Plain(storage)) if storage.is_integer())
}

/// Returns whether tensors of starts, indices and values describe a sparse matrix of the given shape.
fn is_csr(indptr: &Tensor, indices: &Tensor, values: &Tensor, shape: &[u64]) -> bool {
    match (indptr.shape.as_slice(), indices.shape.as_slice(), values.shape.as_slice(), shape) {
        ([starts], [entries], [count], [rows, _]) => {
            rows.checked_add(1) == Some(*starts)
                && entries == count
                && has_indices(indptr)
                && has_indices(indices)
        }
        _ => false,
    }
}

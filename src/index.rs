//! Plain records of the tensors of a file, which parsers of all formats fill. Semantic versioning does not cover this
//! module.

mod builder;
mod copies;
mod facts;
mod finding;
mod header;
mod layouts;
mod raw;
mod record;
mod shapes;
mod shared_sums;
mod span;
mod terms;

use alloc::vec::Vec;

pub use builder::Blobs;
pub(crate) use builder::{FaultyObject, IndexBuilder, IndexFault, reserve};
pub(crate) use copies::{Copies, CopyPair, CopyPlace};
pub(crate) use facts::{Facts, FormatFacts, IndexTypes};
pub use finding::Finding;
#[cfg(feature = "detect")]
pub(crate) use header::Rejection;
pub use header::{Builder, Parsed};
pub(crate) use layouts::{Candidate, FaultAt, ObjectFault, OrdinalComponent};
pub use raw::{
    FileFormat, PickleRules, QuantizedRules, RawComponent, RawElements, RawObject, RecordField,
    Rules,
};
pub use record::Extent;
pub(crate) use record::{
    Arrangement, ComponentFault, ComponentRecord, Details, ElementOrder, Logical, ObjectRecord,
    ShardRecord, Site, SpecialElements,
};
pub(crate) use shapes::{Product, ShapeSpan, Shapes};
pub(crate) use shared_sums::{SharedSum, SharedSums};
pub(crate) use span::Span;
pub(crate) use terms::Role;
pub use terms::{Encoding, Layout};

pub use crate::rules::StreamRules;

use crate::names::Names;
use crate::num::usize_from_u32;

/// The checked records of a file. The spans in the records point into texts that the caller holds, and passes to the
/// functions of the index as `texts`.
pub(crate) struct Index {
    pub(crate) objects: Vec<ObjectRecord>,
    /// The names of unknown layouts and of GGUF blocks, as the file spells them, sorted by the ordinal of the object.
    /// They are stored outside the object records, because few objects have such a layout.
    layout_names: Vec<(u32, Span)>,
    pub(crate) components: Vec<ComponentRecord>,
    details: Vec<Details>,
    /// The special elements of components, sorted by the ordinal of the component among all components.
    special_elements: Vec<(u32, SpecialElements)>,
    pub(crate) names: Names,
    /// The span of the CBOR map of the file's attributes.
    pub(crate) attributes: Span,
    pub(crate) shapes: Shapes,
    /// The other files that hold blobs: shards and sibling files.
    pub(crate) shards: Vec<ShardRecord>,
    /// The ranges with checksums that several components share, and the outcomes of verifying them.
    pub(crate) sums: SharedSums,
    pub(crate) facts: &'static FormatFacts,
}

impl Index {
    /// Returns the name of the object at `ordinal`, or an empty name if there is no such object.
    #[inline]
    pub(crate) fn name_at<'t>(&self, texts: &'t [u8], ordinal: u32) -> &'t [u8] {
        builder::name_at(&self.objects, texts, ordinal)
    }

    /// Returns the name of `layout`, the layout of the object at `ordinal`, as the file spells it.
    pub(crate) fn layout_name<'t>(
        &self,
        texts: &'t [u8],
        layout: Layout,
        ordinal: u32,
    ) -> &'t [u8] {
        if let Some(name) = self.facts.layout_name(layout) {
            return name.as_bytes();
        }
        let found = self.layout_names.binary_search_by_key(&ordinal, |(object, _)| *object);
        let name = found.ok().and_then(|found| self.layout_names.get(found));
        name.map_or(&[], |(_, name)| name.of(texts))
    }

    /// Returns the components of `object`.
    #[inline]
    pub(crate) fn components_of(&self, object: &ObjectRecord) -> &[ComponentRecord] {
        let start = usize_from_u32(object.first);
        let end = start.wrapping_add(usize_from_u32(object.count));
        self.components.get(start..end).unwrap_or_default()
    }

    /// Returns the details of `component`, if the component has any.
    #[inline]
    pub(crate) fn details(&self, component: &ComponentRecord) -> Option<&Details> {
        self.details.get(usize_from_u32(component.details))
    }

    /// Returns the special elements of a component; `None` if its elements are plain numbers. `component` is the ordinal of the
    /// component among all components.
    #[cold]
    pub(crate) fn special_elements(&self, component: u32) -> Option<SpecialElements> {
        let found = self.special_elements.binary_search_by_key(&component, |(ordinal, _)| *ordinal);
        self.special_elements.get(found.ok()?).map(|(_, special)| *special)
    }

    /// Returns the role of `component`.
    pub(crate) fn role<'t>(&self, texts: &'t [u8], component: &ComponentRecord) -> &'t [u8] {
        match component.role {
            Some(role) => role.name().as_bytes(),
            None => self.details(component).map_or(&[], |details| details.role.of(texts)),
        }
    }

    /// Returns the size of the index in bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        fn list<T>(list: &Vec<T>) -> usize {
            list.capacity().saturating_mul(size_of::<T>())
        }
        let lists = [list(&self.objects), list(&self.layout_names), list(&self.components)];
        let others = [
            list(&self.details),
            list(&self.special_elements),
            list(&self.shards),
            self.shapes.heap(),
            self.names.bytes(),
            self.sums.bytes(),
        ];
        lists.into_iter().chain(others).fold(0, usize::saturating_add)
    }
}

//! Archives in which each group of tensors is one tensor.

use alloc::vec::Vec;

use super::NestedScales;
use super::find::{TensorGroup, find, needs_content};
use crate::archive::Archive;
use crate::cbor::Encoder;
use crate::error::{Error, OutOfMemory};
use crate::formats::{cbor, root};
use crate::index::{Builder, Layout, Parsed, RawComponent, RawObject};
use crate::num::{sort_by, usize_from_u32};
use crate::read_at::{ReadAt, Source};

/// The groups of tensors in an archive that follow conventions. Found by [`Archive::find_groups`].
#[derive(Debug)]
pub struct Groups(Option<Parsed>);

impl Groups {
    /// Returns whether the archive has no groups.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl<S: ReadAt> Archive<S> {
    /// Returns this archive with each group of tensors that follows a [`Convention`](super::Convention) as one tensor: its
    /// components are the tensors of the group, its shape is that of the values, and
    /// [`Tensor::dequantizer`](crate::Tensor::dequantizer) computes its values. Tensors whose names match a convention, and whose
    /// dtypes or shapes do not, stay as they are. An archive of a zTensor file is returned as it is, since zTensor has layouts of
    /// its own.
    ///
    /// ```
    /// let archive = zten::open("corpus/conventions/mxfp4.safetensors")?.with_conventions()?;
    /// let tensor = archive.tensor("experts.proj")?;
    /// assert_eq!((tensor.layout_name(), tensor.shape()), ("quant.mxfp4", &[2, 3, 64][..]));
    /// let values: Vec<f32> = tensor.to_f32()?;
    /// # assert_eq!(values.len(), 2 * 3 * 64);
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`find_groups`](Self::find_groups).
    pub fn with_conventions(self) -> Result<Self, Error> {
        let groups = self.find_groups(Some(&self))?;
        Ok(self.with_groups(groups))
    }

    /// Returns whether [`find_groups`](Self::find_groups) may read the content of tensors if it has a source. If this is false, it
    /// reads nothing.
    pub fn needs_content_for_groups(&self) -> bool {
        self.generation().is_none() && self.names().any(needs_content)
    }

    /// Finds the groups of tensors that follow a [`Convention`](super::Convention).
    ///
    /// The names, dtypes and shapes tell the groups. Only the shapes that compressed-tensors and bitsandbytes store as the
    /// content of small tensors are read, from `source`: the archive itself, or the file with its sibling files. Without a source
    /// nothing is read, and tensors whose group needs such content stay as they are. Time grows with the number of tensors, and
    /// memory with their names.
    ///
    /// # Errors
    /// Out of memory; a limit on the number of components; the errors of reading content from `source`.
    pub fn find_groups(&self, source: Option<&dyn Source>) -> Result<Groups, Error> {
        self.grouped(source).map(Groups)
    }

    /// Returns this archive with each of `groups`, which were found in it, as one tensor.
    #[must_use]
    pub fn with_groups(self, groups: Groups) -> Self {
        match groups.0 {
            Some(parsed) => self.with_parsed(parsed),
            None => self,
        }
    }

    /// Builds a copy of the archive's index in which the tensors of each quantized group (codes, scales, zero points) are
    /// replaced by one tensor. Shapes that a file stores as the content of a tensor are read from `source`. Returns `None` if the
    /// archive has no groups, or is a zTensor file.
    fn grouped(&self, source: Option<&dyn Source>) -> Result<Option<Parsed>, Error> {
        if self.generation().is_some() {
            return Ok(None);
        }
        let groups = find(self.manifest().parts(), source)?;
        if groups.is_empty() {
            return Ok(None);
        }
        let options = *self.options();
        let mut builder = self.builder_of_same(&options)?;
        // For each tensor, by ordinal: the quantized group to which it belongs, or `None`.
        let mut member = Vec::new();
        member.try_reserve_exact(self.len()).map_err(|_| OutOfMemory)?;
        member.resize(self.len(), None);
        for group in &groups {
            for (_, ordinal) in &group.members {
                if let Some(slot) = member.get_mut(usize_from_u32(*ordinal)) {
                    *slot = Some(group);
                }
            }
        }
        for tensor in self.tensors() {
            match member.get(usize_from_u32(tensor.ordinal())).copied().flatten() {
                None => {
                    let file = tensor.components().next().and_then(|first| first.file_ordinal());
                    root::push(&mut builder, &tensor, file)?;
                }
                Some(group) if group.first == tensor.ordinal() => {
                    self.push_group(&mut builder, group)?;
                }
                Some(_) => {}
            }
        }
        if let Some(attributes) = cbor::copy(self.attributes())? {
            builder.attributes(&attributes)?;
        }
        Ok(Some(builder.finish()?))
    }

    /// Adds `group` as one tensor.
    fn push_group(&self, builder: &mut Builder<'_>, group: &TensorGroup) -> Result<(), Error> {
        let (mut tensors, mut components) = (Vec::new(), Vec::new());
        tensors.try_reserve_exact(group.members.len()).map_err(|_| OutOfMemory)?;
        for (role, ordinal) in &group.members {
            tensors.extend(self.manifest().tensor_at(*ordinal).map(|tensor| (*role, tensor)));
        }
        sort_by(&mut tensors, |(role, _), (other, _)| role.cmp(other));
        components.try_reserve_exact(tensors.len()).map_err(|_| OutOfMemory)?;
        for (role, tensor) in &tensors {
            let Some(component) = tensor.components().next() else { continue };
            let raw = root::raw_component(&component, tensor.state())?;
            let file = component.file_ordinal();
            components.push(RawComponent { role, file, ..raw });
        }
        let mut attributes = Encoder::default();
        attributes.map(if group.nested.is_some() { 4 } else { 2 })?;
        attributes.text("bits")?;
        attributes.uint(group.form.bits.into())?;
        attributes.text("group_size")?;
        attributes.uint(group.form.group_size)?;
        if let Some(NestedScales { size, offset }) = group.nested {
            attributes.text("scale_group_size")?;
            attributes.uint(size)?;
            attributes.text("scale_offset")?;
            attributes.float(offset)?;
        }
        let first = self.manifest().tensor_at(group.first);
        builder.push(&RawObject {
            name: &group.name,
            shape: &group.shape,
            layout: Layout::Unknown,
            layout_name: Some(group.form.convention.layout()),
            attributes: Some(&attributes.into_bytes()),
            components: &components,
            source_offset: first.map_or(0, |first| first.source_offset()),
        })
    }
}

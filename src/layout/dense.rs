//! `dense`: a contiguous array in row-major order. v1.1 III.1, v1.2 §3; every 0.1 entry whose
//! layout is known.

use super::View;
use crate::error::{Error, Misuse};
use crate::format::Format;
use crate::manifest::{Component, Object, Shape};

/// A dense object: its shape and its one component.
#[derive(Clone, Copy, Debug)]
pub struct Dense<'a> {
    data: Component<'a>,
}

impl<'a> Object<'a> {
    /// The object as a dense array.
    ///
    /// # Errors
    /// [`Misuse::Format`] where it is of another format; `unsupported-layout` where a 0.1 layout
    /// is not known.
    #[cfg_attr(not(feature = "small"), inline(always))]
    pub fn dense(&self) -> Result<Dense<'a>, Error> {
        let data = match self.format() {
            // Each has it, so that where there is one component, it is that.
            Format::Dense => self.only_component().or_else(|| self.component("data")),
            _ => None,
        };
        match data {
            Some(data) => Ok(Dense { data }),
            None => Err(self.other_format()),
        }
    }

    /// Why the object cannot be read as the format that was asked for.
    pub(super) fn other_format(&self) -> Error {
        let first = self.components().next();
        let place = first.as_ref().map(Component::place).unwrap_or_default();
        match (self.format(), first) {
            (Format::Unknown, Some(first)) => match self.dialect().unknown_format {
                Some(why) => Error::new(why, first.extent().offset()).at(place),
                None => Error::misuse(Misuse::Format).at(place),
            },
            _ => Error::misuse(Misuse::Format).at(place),
        }
    }
}

impl<'a> Dense<'a> {
    /// The dimensions, outermost first.
    pub fn shape(&self) -> Shape<'a> {
        self.data.object().shape()
    }

    /// The component that holds the elements.
    pub fn component(&self) -> Component<'a> {
        self.data
    }

    /// The elements where they lie in the file. For objects of an [`Archive`](crate::Archive),
    /// which holds that file. The view has `product(shape)` elements, times the ratio of a complex
    /// type. [`to_cow`](Self::to_cow) also takes what is compressed or not aligned.
    ///
    /// # Errors
    /// As [`Component::view`].
    pub fn view(&self) -> Result<View<'a>, Error> {
        self.data.view()
    }

    /// Binds the array to the file it is in, all of whose bytes are in `file`. The view has
    /// `product(shape)` elements, times the ratio of a complex type.
    ///
    /// # Errors
    /// As [`Component::bind`].
    #[inline]
    pub fn bind<'d>(&self, file: &'d [u8]) -> Result<View<'d>, Error> {
        self.data.bind(file)
    }
}

//! `zt.quant_group/1`: codes in words, with scales and zero points. v2 §5.2.

use crate::error::Error;
use crate::format::Format;
use crate::format::v2::QuantKey;
use crate::manifest::{Component, Object, Shape};

/// A `zt.quant_group/1` object: its shape, its parts, and what its attributes say.
///
/// Opening validates types and sizes of its parts. Its weights are not read: the specification
/// contradicts itself on how many scales there are where [`group_size`](Self::group_size) is 0.
#[derive(Clone, Copy, Debug)]
pub struct QuantGroup<'a> {
    object: Object<'a>,
    data: Component<'a>,
    scales: Component<'a>,
    zeros: Option<Component<'a>>,
    bits: u8,
    group_size: u64,
    axis: u32,
}

impl<'a> Object<'a> {
    /// The object as groups of codes (2).
    ///
    /// # Errors
    /// [`Misuse::Format`](crate::error::Misuse::Format) where it is of another format; `unsupported-layout`,
    /// `unsupported-format` where that is not known.
    pub fn quant_group(&self) -> Result<QuantGroup<'a>, Error> {
        let read = || {
            Some(QuantGroup {
                object: *self,
                data: self.component("data")?,
                scales: self.component("scales")?,
                zeros: self.component("zeros"),
                bits: u8::try_from(self.number(QuantKey::bits.field())?).ok()?,
                group_size: self.number(QuantKey::group_size.field())?,
                axis: u32::try_from(self.number(QuantKey::axis.field())?).ok()?,
            })
        };
        let group = if self.format() == Format::QuantGroup { read() } else { None };
        group.ok_or_else(|| self.other_format())
    }
}

impl<'a> QuantGroup<'a> {
    /// The dimensions of the weights, outermost first.
    pub fn shape(&self) -> Shape<'a> {
        self.object.shape()
    }

    /// The part `data`: words of codes.
    pub fn data(&self) -> Component<'a> {
        self.data
    }

    /// The part `scales`.
    pub fn scales(&self) -> Component<'a> {
        self.scales
    }

    /// The part `zeros`, if zero points are a tensor.
    pub fn zeros(&self) -> Option<Component<'a>> {
        self.zeros
    }

    /// The attribute `bits`: bits of a code, 2, 4 or 8.
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// The attribute `group_size`: how many weights along the axis have a scale in common; 0 where
    /// all of a lane have.
    pub fn group_size(&self) -> u64 {
        self.group_size
    }

    /// The attribute `axis`: the dimension along which groups lie, the outermost being 0.
    pub fn axis(&self) -> u32 {
        self.axis
    }
}

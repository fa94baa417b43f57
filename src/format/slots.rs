//! What the values of fields are read into, in any generation.

use nom::Parser as _;

use super::context::ParseContext;
use super::shape::{Product, ShapeSpan, Text, Uint};
use crate::cbor::{
    Checked, Fault, Input, Keys, Parsed, Remaining, array_head, key, map_head, skip,
};
use crate::cbor::{check_utf8, fault, text, uint, utf8};
use crate::limits::Limits;
use crate::rules::{Limit, Rule};

/// What a field's value is read into.
pub(crate) trait Slot<'m>: Sized {
    /// What is in the slot before; it is never read.
    const BLANK: Self;

    /// Reads the value at `at`; one of another type breaks `wrong`.
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self>;
}

impl<'m> Slot<'m> for Text<'m> {
    const BLANK: Self = Self::NONE;

    #[inline(always)]
    fn parse(_: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, bytes) = text(wrong).parse(at)?;
        Ok((rest, Self { remaining: Remaining::of(at), bytes, behind: Remaining::of(rest) }))
    }
}

impl Text<'_> {
    /// Breaks `rule` if it is not what `valid` wants, or `cbor-utf8` if it is not even text.
    #[cold]
    pub(super) fn validate(&self, valid: impl Fn(&str) -> bool, rule: Rule) -> Checked<()> {
        let text = utf8(self.remaining, self.bytes)?;
        if valid(text) { Ok(()) } else { Err(Fault::new(rule, self.remaining).into()) }
    }

    /// Breaks `rule`, or `cbor-utf8` if it is not even text.
    #[cold]
    pub(super) fn unknown(&self, rule: Rule) -> Fault {
        utf8(self.remaining, self.bytes).map_or_else(fault, |_| Fault::new(rule, self.remaining))
    }
}

impl<'m> Slot<'m> for Uint {
    const BLANK: Self = Self { remaining: Remaining::END, value: 0 };

    #[inline(always)]
    fn parse(_: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, value) = uint(wrong).parse(at)?;
        Ok((rest, Self { remaining: Remaining::of(at), value }))
    }
}

/// A shape: where it stands, where it is kept, and its product.
#[derive(Clone, Copy)]
pub(crate) struct ShapeField {
    pub(super) remaining: Remaining,
    pub(super) span: ShapeSpan,
    pub(super) product: Product,
}

impl<'m> Slot<'m> for ShapeField {
    const BLANK: Self =
        Self { remaining: Remaining::END, span: ShapeSpan::EMPTY, product: Product::ONE };

    #[inline(always)]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (mut input, mut entries) = array_head(wrong, cx.limits.rank()).parse(at)?;
        let (first, mut product) = (input, Product::ONE);
        while entries.next(input) {
            let dimension;
            (input, dimension) = uint(wrong).parse(input)?;
            product.multiply(dimension);
        }
        let span = cx.keep_shape(first, input)?;
        let shape = Self { remaining: Remaining::of(at), span, product };
        Ok((entries.end(input, at, Limit::Rank)?, shape))
    }
}

/// Passes over the attributes at `at`, which lie within `open` levels: a map whose keys are text
/// and unique, and whose values may be anything.
pub(crate) fn pass_attributes<'m>(
    limits: &Limits,
    wrong: Rule,
    at: Input<'m>,
    open: u8,
) -> Parsed<'m, ()> {
    let (mut input, mut entries) = map_head(wrong, limits.keys()).parse(at)?;
    let mut keys = Keys::of(input);
    while entries.next(input) {
        let (value, name) = key(input)?;
        check_utf8(Remaining::of(input), name)?;
        keys.note(name);
        input = skip(value, open.saturating_add(1), limits.depth())?.0;
    }
    let rest = entries.end(input, at, Limit::Keys)?;
    keys.finish(input)?;
    Ok((rest, ()))
}

/// Attributes within that many levels, and where they stand.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<const OPEN: u8>(pub(super) Remaining);

impl<'m, const OPEN: u8> Slot<'m> for Attributes<OPEN> {
    const BLANK: Self = Self(Remaining::END);

    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, ()) = pass_attributes(cx.limits, wrong, at, OPEN)?;
        Ok((rest, Self(Remaining::of(at))))
    }
}

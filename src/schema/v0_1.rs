//! `ZTEN0001`: v0.1 §4 and §5, and its crate's readme for `layout`.

use nom::Parser as _;

use super::{
    ComponentClaim, Dtype, Encoding, Format, Logical, ObjectClaim, Role, Shape, Sink, Slot, Text,
    Uint, Walk, table,
};
use crate::cbor::{Checked, Input, Mark, Parsed, UNLIMITED, array_head, check_utf8};
use crate::digest::Digest;
use crate::element::StorageType;
use crate::num::SMALL;
use crate::rules::{Limit, Rule};

table! {
    /// One tensor: v0.1 §4. Dtype, encoding and layout are open sets (§8): an entry with a name
    /// that is not known is listed and cannot be read.
    Entry<'m>, within 1 levels, else Rule::ObjectType;
    // key                slot         type            presence                         else
    "name"            => name:         Text<'m>,       required(Rule::NameMissing),     else Rule::NameType;
    "offset"          => offset:       Uint,           required(Rule::OffsetMissing),   else Rule::OffsetType;
    "size"            => size:         Uint,           required(Rule::LengthMissing),   else Rule::LengthType;
    "dtype"           => dtype:        Open<'m>,       required(Rule::DtypeMissing),    else Rule::DtypeType;
    "layout"          => layout:       Open<'m>,       optional,                        else Rule::LayoutType;
    "shape"           => shape:        Shape,          required(Rule::ShapeMissing),    else Rule::ShapeType;
    "encoding"        => encoding:     Open<'m>,       required(Rule::EncodingMissing), else Rule::EncodingType;
    "data_endianness" => endianness:   Endianness,     optional,                        else Rule::EndiannessType;
    "checksum"        => checksum:     Open<'m>,       optional,                        else Rule::DigestType;
}

/// Whether an entry's field of that name is a known one.
#[cfg(feature = "write")]
pub(crate) fn is_field(name: &str) -> bool {
    Entry::KEYS.contains(&name)
}

/// The role of the one blob that an entry has.
pub(crate) const ROLE: &str = "data";

/// Walks a 0.1 manifest.
pub(crate) fn walk<'m, S: Sink<'m>>(
    walk: &mut Walk<'_, S>,
    manifest: Input<'m>,
) -> Parsed<'m, Option<Mark>> {
    let (mut input, mut entries) = array_head(Rule::RootType, UNLIMITED).parse(manifest)?;
    walk.sink.expect(entries.claimed(), Mark::of(input))?;
    while entries.next(input) {
        let at = input;
        walk.sink.begin_object();
        (input, ()) = Entry::read(walk, at, |walk, entry| {
            check_utf8(entry.name.mark, entry.name.bytes)?;
            walk.sink.name(entry.name.mark, entry.name.bytes);
            walk.sink.begin_component();
            walk.sink.component(&entry.component(at)?)?;
            let claim = ObjectClaim {
                shape: entry.shape,
                format: entry.format(),
                components: Mark::of(at),
            };
            Ok(walk.sink.object(&claim)?)
        })?;
    }
    walk.sink.end_objects();
    Ok((entries.end(input, manifest, Limit::Keys)?, None))
}

impl Entry<'_> {
    #[inline(always)]
    fn component(&self, at: Input<'_>) -> Checked<ComponentClaim> {
        if let Some(Open(text)) = self.checksum {
            digest_form(text)?;
        }
        Ok(ComponentClaim {
            at: Mark::of(at),
            map: Mark::of(at),
            role: Some(Role::Data),
            dtype: Dtype {
                mark: self.dtype.0.mark,
                storage: StorageType::from_v0(self.dtype.0.bytes),
                logical: Logical::NONE,
                type_mark: None,
                implied: false,
            },
            offset: self.offset,
            length: self.size,
            decoded: None,
            encoding: match self.encoding.0.bytes {
                b"raw" => Encoding::Raw,
                b"zstd" => Encoding::Zstd,
                _ => Encoding::Unknown,
            },
            digest: self.checksum.is_some(),
            big_endian: match self.endianness {
                Some(Endianness::Big(mark)) => Some(mark),
                _ => None,
            },
        })
    }

    fn format(&self) -> Format {
        match self.layout.map(|layout| layout.0.bytes) {
            None | Some(b"dense") => Format::Dense,
            _ => Format::Unknown,
        }
    }
}

/// A name out of an open set.
#[derive(Clone, Copy)]
pub(crate) struct Open<'m>(Text<'m>);

impl<'m> Slot<'m> for Open<'m> {
    const BLANK: Self = Self(Text::BLANK);

    fn take<S: Sink<'m>>(walk: &mut Walk<'_, S>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, text) = Text::take(walk, wrong, at)?;
        check_utf8(text.mark, text.bytes)?;
        Ok((rest, Self(text)))
    }
}

/// Judges the form of a `checksum`, as far as it is known: v0.1 §4.
#[inline(always)]
fn digest_form(text: Text<'_>) -> Checked<()> {
    if !SMALL && Digest::is_known(text.bytes) {
        return Ok(());
    }
    text.judge(|text| Digest::read_v0(text).is_some(), Rule::DigestForm)
}

/// `data_endianness`: v0.1 §4.
#[derive(Clone, Copy)]
pub(crate) enum Endianness {
    Little,
    Big(Mark),
}

impl<'m> Slot<'m> for Endianness {
    const BLANK: Self = Self::Little;

    fn take<S: Sink<'m>>(walk: &mut Walk<'_, S>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, text) = Text::take(walk, wrong, at)?;
        match text.bytes {
            b"little" => Ok((rest, Self::Little)),
            b"big" => Ok((rest, Self::Big(text.mark))),
            _ => Err(text.unknown(Rule::EndiannessValue).into()),
        }
    }
}

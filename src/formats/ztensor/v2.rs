//! The manifest of generation 2: v2 §3. It is deterministic CBOR. Records that consist of known fields are checked for this
//! form
//! while they are parsed. A record with an unknown field is first checked as a whole by the walker.

mod content;
mod parts;
mod profiles;
mod shards;
mod values;

pub(crate) use self::content::content;
pub(crate) use self::profiles::{GgufKey, MxKey, QuantKey, profile};
use self::shards::Table;
pub(crate) use self::shards::{ShardKey, validate_shards};
use self::values::{
    BlobPlace, DtypeName, EncodingName, NAME_CAP, ShardName, TypeName, validate_name,
};
pub(crate) use self::values::{layout, pass_attributes};
use super::context::{
    Attributes, DigestText, FieldType, LayoutName, ManifestFields, OpenList, ParseContext,
    ShapeField,
};
use super::record::{ParsedComponent, ParsedObject, Uint};
use super::table::table;
use super::v1::{FORMAT, V1_2};
use super::{Blob, Container, Dialect, Field, Fields, Generation, Objects, Writing};
use crate::cbor::{
    BytesLeft, Checked, Fault, Input, Parsed, ascend, check_utf8, fail, is_ascii, read_text,
    short_text, strict_map_head,
};
use crate::digest::Digest;
use crate::element::LogicalType;
use crate::index::{ComponentRecord, Encoding, Facts, FormatFacts, IndexTypes, Layout, Role, Span};
use crate::limits::format;
use crate::num::{Word, len_u32};
use crate::rules::{Limit, Rule, Unsupported};

table! {
    /// The root of the manifest: v2 §3.2. `objects` maps the name of each object to an object.
    Root<'m>, keys RootKey, reader RootReader, within 0 levels of deterministic CBOR, else Rule::RootType;
    // key           field      type        presence                        else (another type)
    "shards"     => shards:     Table,      optional,                       else Rule::ShardsType;
    "objects"    => objects:    PulledObjects, required(Rule::ObjectsMissing), else Rule::ObjectsType;
    "attributes" => attributes: Attributes<1>, optional,                    else Rule::AttributesType;
}

table! {
    /// One object: v2 §3.3. `parts` maps the role of each component to the component.
    Tensor<'m>, keys ObjectKey, reader ObjectReader, within 2 levels of deterministic CBOR, else Rule::ObjectType;
    // key           field      type        presence                           else (another type)
    "parts"      => parts:      ComponentsMap,      required(Rule::ComponentsMissing), else Rule::ComponentsType;
    "shape"      => shape:      ShapeField, required(Rule::ShapeMissing),      else Rule::ShapeType;
    "layout"     => layout:     LayoutName, required(Rule::FormatMissing),     else Rule::FormatType;
    "attributes" => attributes: Attributes<3>, optional,                       else Rule::AttributesType;
}

table! {
    /// One component, which the specification calls a part: v2 §3.4. Without `encoding` the blob is not compressed, and
    /// without `shard` it lies in this file.
    Part<'m>, keys PartKey, reader PartReader, within 4 levels of deterministic CBOR, else Rule::ComponentType;
    // key               field           type           presence                     else (another type)
    "blob"           => blob:           BlobPlace,     required(Rule::BlobMissing),  else Rule::BlobType;
    "type"           => logical_type:   TypeName,      optional,                     else Rule::LogicalTypeType;
    "dtype"          => dtype:          DtypeName,     required(Rule::DtypeMissing), else Rule::DtypeType;
    "shard"          => shard:          ShardName,     optional,                     else Rule::ShardReferenceType;
    "digest"         => digest:         DigestText,    optional,                     else Rule::DigestType;
    "encoding"       => encoding:       EncodingName,  optional,                     else Rule::EncodingType;
    "decoded_length" => decoded_length: Uint,          optional,                     else Rule::DecodedLengthType;
}

const FACTS: Facts = Facts {
    alignment: format::ALIGNMENT_V2,
    shares_blobs: true,
    sorted_by_length: true,
    exact_roles: true,
    whole_elements: false,
    has_magic: true,
};

/// The facts about generation 2 of zTensor, which direct the parser that all generations share.
pub(crate) static V2: Dialect = Dialect {
    facts: FormatFacts {
        generation: Some(Generation::V2),
        layout_names: layout_name,
        read_digest: |text| Digest::read_v2(text),
        digests_decoded: true,
        index_types: IndexTypes::Unsigned,
        unknown_format: Some(Unsupported::Format),
        unknown_type: Some(Unsupported::LogicalType),
        single_cells: true,
        container: FACTS,
        ..FORMAT
    },
    has_shards: true,
    fields: Fields {
        name: Field::NONE,
        shape: ObjectKey::shape.field(),
        layout: ObjectKey::layout.field(),
        attributes: ObjectKey::attributes.field(),
        components: ObjectKey::parts.field(),
        blob: Blob::Pair(PartKey::blob.field()),
        dtype: PartKey::dtype.field(),
        logical_type: PartKey::logical_type.field(),
        digest: PartKey::digest.field(),
        encoding: PartKey::encoding.field(),
        decoded_length: PartKey::decoded_length.field(),
        byte_order: Field::NONE,
    },
    writing: Some(&WRITING),
    ..V1_2
};

/// The facts that a writer needs about generation 2.
static WRITING: Writing = Writing {
    generation: Generation::V2,
    container: Container::V2,
    dialect: &V2,
    compression: Encoding::ZstdSeekable,
    deterministic: true,
    bool_is_type: true,
    canonical_alignment: format::CANONICAL_ALIGNMENT_V2,
    logical_type: |name| LogicalType::from_v2(name),
    format: |name| layout(name),
    format_name: |format| match format {
        Layout::QuantizedGroup => None,
        format => V2.facts.layout_name(format),
    },
};

/// Returns the name of `layout` in generation 2. For unknown layouts and for GGUF blocks, which have no fixed name, the
/// result is a general name that files do not use.
fn layout_name(layout: Layout) -> &'static str {
    match layout {
        Layout::SparseCsr => "zt.sparse_csr/1",
        Layout::SparseCoo => "zt.sparse_coo/1",
        other => other.name(),
    }
}

impl<'m> Objects<'m> {
    /// Reads fields of the root up to the field `objects`, or to the end of the root. `behind` is the input after the objects
    /// if they have been read.
    pub(super) fn read_root_v2(
        &mut self,
        cx: &mut ParseContext<'_>,
        mut root: RootReader<'m>,
        behind: Option<Input<'m>>,
    ) -> Checked<()> {
        if let Some(rest) = behind {
            root.input = rest;
        }
        while let Some((field, value)) = root.next_field(cx)? {
            if field == RootKey::objects {
                let open = strict_map_head(Rule::ObjectsType, value)?;
                self.list = Some(OpenList::open(cx, value, open)?);
                self.root = super::Root::V2(root);
                return Ok(());
            }
            root.read_field(cx, field, value)?;
        }
        let (rest, root) = root.finish()?;
        let attributes = root.attributes.map_or(Span::NONE, |attributes| attributes.0);
        self.header = Some((rest, ManifestFields { attributes, version: None }));
        Ok(())
    }
}

/// A placeholder for the value of the field `objects`. It holds nothing, because the objects are parsed one by one, by
/// [`Objects`].
#[derive(Clone, Copy)]
pub(crate) struct PulledObjects;

impl<'m> FieldType<'m, true> for PulledObjects {
    const BLANK: Self = Self;

    fn parse(_: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        fail(wrong, at)
    }
}

/// Parses the name of an object or the role of a component at `at`. The name must come after the previous name, `last`, in
/// the order of deterministic CBOR, and replaces it there. Returns the input after the name, and the name.
#[inline(always)]
fn name<'m>(last: &mut Input<'m>, at: Input<'m>) -> Parsed<'m, Input<'m>> {
    let (value, name) = read_text::<true>(Rule::KeyType, at)?;
    if !matches!(name.len(), 1..=NAME_CAP) || !is_ascii::<true>(name) {
        validate_name(at, name)?;
        check_utf8(BytesLeft::of(at), name)?;
    }
    ascend(last, at, name)?;
    Ok((value, name))
}

/// Reads the object whose name is at `at`. `LISTED` is true for objects of a file, and false for objects that are about
/// to be written. The function does not use it: with two instances, each with one caller, the compiler inlines both.
/// Otherwise opening takes 5 % to 9 % more instructions (`benches/open`).
#[inline]
pub(super) fn object<'m, const LISTED: bool>(
    cx: &mut ParseContext<'_>,
    last: &mut Input<'m>,
    at: Input<'m>,
    raw: &mut ParsedObject<'m>,
) -> Checked<Input<'m>> {
    let (value, name) = name(last, at)?;
    let first = len_u32(cx.index.components.len());
    let (rest, ()) = Tensor::read(cx, value, |cx, object| {
        if object.shape.product.elements().is_none() {
            return Err(Fault::new(Rule::ShapeOverflow, object.shape.bytes_left).into());
        }
        *raw = ParsedObject {
            name,
            name_span: cx.text_span(name, BytesLeft::of(value)),
            source_offset: cx.offset(at),
            map: value,
            shape: object.shape.span,
            product: object.shape.product,
            layout: object.layout.layout,
            layout_name: object.layout.name,
            first,
            attributes: object.attributes.map_or(Span::NONE, |attributes| attributes.0),
        };
        Ok(())
    })?;
    Ok(rest)
}

/// The value of the field `parts`. It holds nothing, because parsing adds each component to the index.
pub(crate) struct ComponentsMap;

impl<'m> FieldType<'m, true> for ComponentsMap {
    const BLANK: Self = Self;

    #[inline(always)]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (mut input, mut entries) = strict_map_head(wrong, at)?;
        if entries.are_over() {
            return Err(Fault::new(Rule::ComponentsEmpty, BytesLeft::of(at)).into());
        }
        let (mut ordinal, mut last) = (0_u32, Input::default());
        while entries.next(input) {
            cx.location = cx.location.in_component(Some(ordinal));
            input = part(cx, &mut last, input)?;
            ordinal = ordinal.wrapping_add(1);
        }
        cx.location = cx.location.in_component(None);
        Ok((entries.end(input, at, Limit::Keys)?, Self))
    }
}

/// Reads the component whose role is at `at`, and adds it to the index. Returns the input after the component.
#[inline(never)]
fn part<'m>(cx: &mut ParseContext<'_>, last: &mut Input<'m>, at: Input<'m>) -> Checked<Input<'m>> {
    let (value, role) = match short_text(at) {
        Some((value, name, word)) if word == const { Word::new("data") } => {
            ascend(last, at, name)?;
            (value, (Some(Role::Data), Span::NONE))
        }
        _ => {
            let (value, name) = name(last, at)?;
            match Role::from_name(name) {
                Some(role) => (value, (Some(role), Span::NONE)),
                None => (value, (None, cx.text_span(name, BytesLeft::of(value)))),
            }
        }
    };
    let source_offset = cx.offset(at);
    let (rest, ()) = Part::read(cx, value, |cx, part| {
        part.check(BytesLeft::of(value))?;
        cx.component(&part.raw(source_offset, role), value, FACTS)
    })?;
    Ok(rest)
}

impl Part<'_> {
    /// Checks the fields of the component that depend on each other. `map` is the position of the component's map, for
    /// errors.
    #[inline]
    fn check(&self, map: BytesLeft) -> Result<(), Fault> {
        match (&self.encoding, self.decoded_length) {
            (None, Some(decoded)) => Err(Fault::new(Rule::DecodedLengthAlone, decoded.bytes_left)),
            (Some(_), None) => Err(Fault::new(Rule::DecodedLengthMissing, map)),
            _ => self.dtype.check(self.logical_type),
        }
    }

    #[inline]
    fn raw(self, source_offset: u32, (role, role_name): (Option<Role>, Span)) -> ParsedComponent {
        let encoding = self.encoding.unwrap_or(EncodingName::BLANK);
        ParsedComponent {
            source_offset,
            role,
            role_name,
            dtype: self.dtype.and(self.logical_type),
            blob: [self.blob.offset.value, self.blob.length.value],
            decoded: self.decoded_length.map(|decoded| decoded.value),
            encoding: encoding.encoding,
            encoding_name: encoding.name,
            digest: self.digest.map_or(Span::NONE, |digest| digest.0),
            is_big: false,
            file: self.shard.map_or(ComponentRecord::FILE_OF_HEADER, |shard| shard.0),
        }
    }
}

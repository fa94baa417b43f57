//! The manifest of generations 1.1 and 1.2, of files with the magic `ZTEN1000`: v1.1 II, v1.2 §1. Both share one schema.
//! The minor version decides three things only: the set of dtypes, whether a zstd component needs `uncompressed_length`, and
//! which types indices may have.

use super::context::{
    Attributes, DigestText, FieldType, LayoutName, ManifestFields, Name, OpenList, ParseContext,
    ShapeField,
};
use super::record::{Dtype, ParsedComponent, ParsedObject, Text, Uint};
use super::table::table;
use super::{
    Blob, Container, Dialect, Field, Fields, Generation, Nesting, Objects, Version, Writing,
};
use crate::cbor::{
    BytesLeft, Checked, Fault, Input, Keys, Parsed, UNLIMITED, check_utf8, fault, key, keys_before,
    map_head, pass, short_text, skip, text, utf8,
};
use crate::digest::Digest;
use crate::element::{LogicalType, StorageType};
use crate::error::ErrorKind;
use crate::index::{
    ComponentRecord, Encoding, Facts, FormatFacts, IndexTypes, Layout, Logical, Role, Span,
};
use crate::limits::format;
use crate::num::{Word, len_u32};
use crate::rules::{Limit, Rule, Unsupported};

table! {
    /// The root of the manifest: v1.1 II.1, v1.2 §1. `objects` maps the name of each object to an object.
    Root<'m>, keys RootKey, reader RootReader, within 0 levels of any CBOR, else Rule::RootType;
    // key           field      type           presence                        else (another type)
    "version"    => version:    Version,       required(Rule::VersionMissing), else Rule::VersionType;
    "attributes" => attributes: Attributes<1>, optional,                       else Rule::AttributesType;
    "objects"    => objects:    Deferred<'m>,  required(Rule::ObjectsMissing), else Rule::ObjectsType;
}

table! {
    /// One object: v1.1 II.2, v1.2 §1. `format` is the layout, and `components` maps the role of each component to the
    /// component.
    Tensor<'m>, keys ObjectKey, reader ObjectReader, within 2 levels of any CBOR, else Rule::ObjectType;
    // key           field      type           presence                           else (another type)
    "shape"      => shape:      ShapeField,    required(Rule::ShapeMissing),      else Rule::ShapeType;
    "format"     => format:     LayoutName,    required(Rule::FormatMissing),     else Rule::FormatType;
    "attributes" => attributes: Attributes<3>, optional,                          else Rule::AttributesType;
    "components" => components: Components,    required(Rule::ComponentsMissing), else Rule::ComponentsType;
}

table! {
    /// One component: v1.1 II.3, v1.2 §1. `offset` and `length` are those of the blob in bytes. Without `encoding` the blob
    /// is not compressed. `uncompressed_length` is the decoded size, and `type` the logical type. These two came with 1.2
    /// and are honored in every 1.x file, because an appended file keeps its old version.
    Component<'m>, keys ComponentKey, reader ComponentReader, within 4 levels of any CBOR, else Rule::ComponentType;
    // key                    field           type        presence                       else (another type)
    "dtype"               => dtype:          DtypeName,  required(Rule::DtypeMissing),  else Rule::DtypeType;
    "offset"              => offset:         Uint,       required(Rule::OffsetMissing), else Rule::OffsetType;
    "length"              => length:         Uint,       required(Rule::LengthMissing), else Rule::LengthType;
    "digest"              => digest:         DigestText, nullable,                      else Rule::DigestType;
    "encoding"            => encoding:       Encoding,   optional,                      else Rule::EncodingType;
    "uncompressed_length" => decoded_length: Uint,       nullable,                      else Rule::DecodedLengthType;
    "type"                => logical_type:   TypeName,   nullable,                      else Rule::LogicalTypeType;
}

const FACTS: Facts = Facts::BEFORE_2;

/// The facts about generation 1.2 of zTensor, which direct the parser. 1.x files are written as 1.2, and canonical 1.x
/// files are 1.2.
pub(crate) static V1_2: Dialect = Dialect {
    facts: FORMAT,
    nesting: Nesting::Named,
    object_fields: None,
    has_shards: false,
    fields: Fields {
        name: Field::NONE,
        shape: ObjectKey::shape.field(),
        layout: ObjectKey::format.field(),
        attributes: ObjectKey::attributes.field(),
        components: ObjectKey::components.field(),
        blob: Blob::Fields(ComponentKey::offset.field(), ComponentKey::length.field()),
        dtype: ComponentKey::dtype.field(),
        logical_type: ComponentKey::logical_type.field(),
        digest: ComponentKey::digest.field(),
        encoding: ComponentKey::encoding.field(),
        decoded_length: ComponentKey::decoded_length.field(),
        byte_order: Field::NONE,
    },
    logical_dtypes: false,
    needs_decoded_length: true,
    writing: Some(&WRITING),
};

/// The facts about 1.2 that code uses after a manifest has been parsed.
pub(super) const FORMAT: FormatFacts = FormatFacts {
    format: "zTensor",
    generation: Some(Generation::V1_2),
    duplicate_name: ErrorKind::Invalid(Rule::DuplicateName.row()),
    bool_value: Some(ErrorKind::Invalid(Rule::BoolValue.row())),
    stream: None,
    pickles: None,
    quantized: None,
    layout_names: Layout::name,
    read_digest: |text| Digest::read_v1(text),
    digests_decoded: false,
    index_types: IndexTypes::U64,
    unknown_format: None,
    unknown_type: None,
    single_cells: false,
    container: FACTS,
};

/// The facts that a writer needs about generation 1.2.
static WRITING: Writing = Writing {
    generation: Generation::V1_2,
    container: Container::V1,
    dialect: &V1_2,
    compression: Encoding::Zstd,
    deterministic: false,
    bool_is_type: false,
    canonical_alignment: format::ALIGNMENT,
    logical_type: |name| LogicalType::from_name(name),
    format: |name| Layout::named(name),
    format_name: |format| FORMATS.contains(&format).then(|| format.name()),
};

/// The facts in which generation 1.1 differs from 1.2: v1.1 II.3, II.4, III.2.
static V1_1: Dialect = Dialect {
    facts: FormatFacts {
        generation: Some(Generation::V1_1),
        index_types: IndexTypes::Integers,
        ..FORMAT
    },
    logical_dtypes: true,
    needs_decoded_length: false,
    ..V1_2
};

impl<'m> Objects<'m> {
    /// Reads fields of the root up to the field `objects`, or to the end of the root. `behind` is the input after the objects
    /// if they have been read. If the field `version` comes after `objects`, all other fields of the root are read before the
    /// objects, because the version decides how objects are parsed.
    pub(super) fn read_root_v1(
        &mut self,
        cx: &mut ParseContext<'_>,
        mut root: RootReader<'m>,
        behind: Option<Input<'m>>,
    ) -> Checked<()> {
        let open = |at| map_head(Rule::ObjectsType, UNLIMITED, at);
        if let Some(rest) = behind {
            root.input = rest;
        }
        while let Some((field, value)) = root.next_field(cx)? {
            if field == RootKey::objects && root.has(RootKey::version) {
                self.list = Some(OpenList::open(cx, value, open(value)?)?);
                self.root = super::Root::V1(root);
                return Ok(());
            }
            root.read_field(cx, field, value)?;
        }
        let (rest, root) = root.finish()?;
        let attributes = root.attributes.map_or(Span::NONE, |attributes| attributes.0);
        self.header = Some((rest, ManifestFields { attributes, version: Some(root.version) }));
        if let Deferred(Some(at)) = root.objects {
            self.list = Some(OpenList::open(cx, at, open(at)?)?);
        }
        Ok(())
    }
}

/// Returns the dialect that the version in `manifest` selects, for a manifest that may be invalid. Returns `None` if there is
/// no valid version, or if the major version is not 1.
pub(crate) fn dialect(manifest: Input<'_>) -> Option<&'static Dialect> {
    let (_, text) = text(Rule::VersionType, RootKey::version.field().find(manifest)?).ok()?;
    let version = version(core::str::from_utf8(text).ok()?)?;
    (version.major == 1).then(|| version.dialect())
}

impl<'m> FieldType<'m> for Version {
    const BLANK: Self = Self { major: 0, minor: 0, patch: None };

    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, bytes) = text(wrong, at)?;
        let bytes_left = BytesLeft::of(at);
        let version = version(utf8(bytes_left, bytes)?)
            .ok_or_else(|| Fault::new(Rule::VersionSyntax, bytes_left))?;
        if version.major != 1 {
            return Err(Fault::with(Unsupported::Version, bytes_left, version.major.into()).into());
        }
        cx.dialect = version.dialect();
        Ok((rest, version))
    }
}

impl Version {
    fn dialect(self) -> &'static Dialect {
        if self.minor < 2 { &V1_1 } else { &V1_2 }
    }
}

/// Parses two or three decimal numbers that are joined by dots. A sign, a suffix or a leading zero is an error.
fn version(text: &str) -> Option<Version> {
    let mut numbers = text.split('.').map(|number| {
        let leading = number.len() > 1 && number.starts_with('0');
        if leading || number.starts_with('+') { None } else { number.parse().ok() }
    });
    let (major, minor) = (numbers.next()??, numbers.next()??);
    let patch = numbers.next().map_or(Some(None), |number| number.map(Some))?;
    numbers.next().is_none().then_some(Version { major, minor, patch })
}

/// The input at the value of the field `objects`, if the field `version` comes after it: the objects are then parsed
/// last, once the version is known.
#[derive(Clone, Copy)]
pub(crate) struct Deferred<'m>(Option<Input<'m>>);

impl<'m> FieldType<'m> for Deferred<'m> {
    const BLANK: Self = Self(None);

    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        map_head(wrong, UNLIMITED, at)?;
        // Errors in the objects are reported when they are parsed.
        let rest = match pass(at) {
            Some(rest) => rest,
            None => skip(at, 1, cx.limits.depth())?.0,
        };
        Ok((rest, Self(Some(at))))
    }
}

/// Reads the object whose name is at `at`. `LISTED` is true for objects of a file, and false for objects that are about
/// to be written. The function does not use it: with two instances, each with one caller, the compiler inlines both.
/// Otherwise opening takes 5 % to 9 % more instructions (`benches/open`).
#[inline]
pub(super) fn object<'m, const LISTED: bool>(
    cx: &mut ParseContext<'_>,
    at: Input<'m>,
    raw: &mut ParsedObject<'m>,
) -> Checked<Input<'m>> {
    let (value, name) = key(at)?;
    check_utf8(BytesLeft::of(at), name)?;
    let first = len_u32(cx.index.components.len());
    let (rest, ()) = Tensor::read(cx, value, |cx, object| {
        *raw = ParsedObject {
            name,
            name_span: cx.text_span(name, BytesLeft::of(value)),
            source_offset: cx.offset(at),
            map: value,
            shape: object.shape.span,
            product: object.shape.product,
            layout: object.format.layout,
            layout_name: object.format.name,
            first,
            attributes: object.attributes.map_or(Span::NONE, |attributes| attributes.0),
        };
        Ok(())
    })?;
    Ok(rest)
}

/// The value of the field `components`. It holds nothing, because parsing adds each component to the index.
pub(crate) struct Components;

impl<'m> FieldType<'m> for Components {
    const BLANK: Self = Self;

    #[inline(always)]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let limit = cx.limits.keys();
        let (mut input, mut entries) = map_head(wrong, limit, at)?;
        let mut keys = Keys::of(input);
        let mut ordinal = 0_u32;
        while entries.next(input) {
            cx.location = cx.location.in_component(Some(ordinal));
            input = component(cx, &mut keys, input)?;
            ordinal = ordinal.wrapping_add(1);
        }
        cx.location = cx.location.in_component(None);
        let rest = entries.end(input, at, Limit::Keys)?;
        if let Err(error) = keys.finish() {
            let fault = fault(error);
            if fault.kind == Rule::DuplicateKey {
                cx.location = cx.location.in_component(Some(keys_before(at, fault.bytes_left)));
            }
            return Err(fault.into());
        }
        Ok((rest, Self))
    }
}

/// Parses the name of a role at `at`, and checks that an unknown name is UTF-8. Returns the input after the name, the name,
/// and the role if it is known.
#[inline(never)]
fn any_role(at: Input<'_>) -> Checked<(Input<'_>, Input<'_>, Option<Role>)> {
    let (rest, name) = key(at)?;
    let role = Role::from_name(name);
    if role.is_none() {
        check_utf8(BytesLeft::of(at), name)?;
    }
    Ok((rest, name, role))
}

/// Reads the component whose role is at `at`, and adds it to the index. Returns the input after the component.
#[inline(never)]
fn component<'m>(
    cx: &mut ParseContext<'_>,
    keys: &mut Keys<'m>,
    at: Input<'m>,
) -> Checked<Input<'m>> {
    let (value, name, role) = match short_text(at) {
        Some((value, name, word)) if word == const { Word::new("data") } => {
            (value, name, Some(Role::Data))
        }
        _ => any_role(at)?,
    };
    keys.note(name);
    let source_offset = cx.offset(at);
    let role = match role {
        Some(role) => (Some(role), Span::NONE),
        None => (None, cx.text_span(name, BytesLeft::of(value))),
    };
    let (rest, ()) = Component::read(cx, value, |cx, component| {
        component.dtype.check(component.logical_type)?;
        cx.component(&component.raw(source_offset, role), value, FACTS)
    })?;
    Ok(rest)
}

impl Component<'_> {
    #[inline]
    fn raw(self, source_offset: u32, (role, role_name): (Option<Role>, Span)) -> ParsedComponent {
        ParsedComponent {
            source_offset,
            role,
            role_name,
            dtype: self.dtype.and(self.logical_type),
            blob: [self.offset.value, self.length.value],
            decoded: self.decoded_length.map(|decoded| decoded.value),
            encoding: self.encoding.unwrap_or(Encoding::Raw),
            encoding_name: Span::NONE,
            digest: self.digest.map_or(Span::NONE, |digest| digest.0),
            is_big: false,
            file: ComponentRecord::FILE_OF_HEADER,
        }
    }
}

/// The value of the field `dtype`, whose names are a closed set, which is larger in 1.1 than in 1.2: v1.1 II.4, v1.2 §2.
#[derive(Clone, Copy)]
pub(crate) struct DtypeName {
    meaning: Meaning,
}

/// The meaning of a dtype: its storage type, and its logical type if it is one of the dtypes that only 1.1 has.
type Meaning = (StorageType, Option<LogicalType>);

/// Returns the meaning of the dtype `name`; `None` if neither 1.1 nor 1.2 has a dtype of this name.
fn meaning(name: &[u8]) -> Option<Meaning> {
    let old =
        || LogicalType::from_dtype_v1_1(name).map(|logical| (logical.storage(), Some(logical)));
    StorageType::from_v1(name).map(|storage| (storage, None)).or_else(old)
}

impl<'m> FieldType<'m> for DtypeName {
    const BLANK: Self = Self { meaning: (StorageType::U8, None) };

    #[inline]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        if let Some((rest, _, word)) = short_text(at)
            && let Some(storage) = StorageType::from_word::<false>(word)
        {
            return Ok((rest, Self { meaning: (storage, None) }));
        }
        let (rest, dtype) = Self::any(cx, wrong, at)?;
        Ok((rest, dtype))
    }
}

impl DtypeName {
    /// Parses a dtype that [`parse`](FieldType::parse) does not recognize at once: a dtype that only 1.1 has, a text whose
    /// CBOR head is longer than needed, or an unknown name, which is an error.
    #[cold]
    #[inline(never)]
    fn any<'m>(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, text) = <Text<'m> as FieldType<'m>>::parse(cx, wrong, at)?;
        match meaning(text.bytes) {
            Some(meaning) if meaning.1.is_none() || cx.dialect.logical_dtypes => {
                Ok((rest, Self { meaning }))
            }
            _ => Err(text.unknown(Rule::DtypeUnknown).into()),
        }
    }

    /// Checks that the field `type` does not contradict this dtype, if it is one of the dtypes of 1.1 that imply a logical
    /// type: v1.2 §2.
    #[inline]
    fn check(self, logical_type: Option<TypeName>) -> Result<(), Fault> {
        match (self.meaning, logical_type) {
            ((_, Some(_)), Some(TypeName { logical: Some(_), as_dtype, bytes_left, .. }))
                if as_dtype != Some(self.meaning) =>
            {
                Err(Fault::new(Rule::LogicalTypeStorage, bytes_left))
            }
            _ => Ok(()),
        }
    }

    /// Returns the element type that this dtype and the field `type` declare together. A `type` that is equal to the dtype
    /// adds nothing.
    #[inline]
    pub(super) fn and(self, logical_type: Option<TypeName>) -> Dtype {
        let (storage, implied) = self.meaning;
        let named = logical_type.filter(|name| name.as_dtype != Some(self.meaning));
        Dtype {
            storage: Some(storage),
            logical: Logical {
                known: named.and_then(|name| name.logical).or(implied),
                unknown: named.is_some_and(|name| name.logical.is_none()),
            },
            has_type: named.is_some(),
            unknown_name: named.map_or(Span::NONE, |name| name.name),
        }
    }
}

/// The value of the field `type`, a logical type. The set of names is open, so unknown names are accepted: v1.2 §2.
#[derive(Clone, Copy)]
pub(crate) struct TypeName {
    bytes_left: BytesLeft,
    name: Span,
    logical: Option<LogicalType>,
    /// The meaning that the name would have as the value of `dtype`; `None` if it would have none.
    as_dtype: Option<Meaning>,
}

impl<'m> FieldType<'m> for TypeName {
    const BLANK: Self =
        Self { bytes_left: BytesLeft::END, name: Span::NONE, logical: None, as_dtype: None };

    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, Name(Text { bytes_left, bytes, behind })) =
            <Name<'m> as FieldType<'m>>::parse(cx, wrong, at)?;
        let (name, logical) = (cx.text_span(bytes, behind), LogicalType::from_name(bytes));
        Ok((rest, Self { bytes_left, name, logical, as_dtype: meaning(bytes) }))
    }
}

impl<'m> FieldType<'m> for Encoding {
    const BLANK: Self = Self::Raw;

    #[inline]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, text) = <Text<'m> as FieldType<'m>>::parse(cx, wrong, at)?;
        match text.bytes {
            b"raw" => Ok((rest, Self::Raw)),
            b"zstd" => Ok((rest, Self::Zstd)),
            _ => Err(text.unknown(Rule::EncodingUnknown).into()),
        }
    }
}

impl Layout {
    /// Returns the layout whose name in 1.x is `name`: v1.1 III, v1.2 §3.
    pub(crate) fn named(name: &[u8]) -> Self {
        let found = FORMATS.into_iter().find(|format| format.name().as_bytes() == name);
        found.unwrap_or(Self::Unknown)
    }
}

/// The layouts that the specifications of 1.x define, as values of the field `format`.
pub(crate) const FORMATS: [Layout; 4] =
    [Layout::Dense, Layout::SparseCsr, Layout::SparseCoo, Layout::QuantizedGroup];

//! Composite objects of zTensor that are made of the tensors of a convention, and the tensors that such an object was made of.
//!
//! `docs/quantized.md` has the table of conventions and forms.

use alloc::string::String;
use alloc::vec::Vec;

use super::find::{TensorGroup, find};
use super::{Convention, uint};
use crate::archive::Archive;
use crate::cbor::{Attributes, Encoder, Item, Value};
use crate::element::DType;
use crate::error::{BareError, Error, OutOfMemory};
use crate::index::Layout;
use crate::layout::{CodeForm, Recode, Recoder};
use crate::limits::Limits;
use crate::manifest::{Component, Tensor};
use crate::num::{sort_by, u64_from_usize, usize_from_u32};
use crate::read_at::{ReadAt, Source};
use crate::rules::Generation;
use crate::verify::Verifier;
use crate::write::{Encoded, JoinedObject, JoinedObjects, JoinedPart, lossy};

/// The attribute of a composite object that names the convention of the tensors that it was made of.
const CONVENTION: &str = "zten.convention";
/// The attribute of a composite object that maps the end of each original tensor's name to the dtype and the shape of that tensor.
const TENSORS: &str = "zten.tensors";

/// The groups of tensors of an archive that become composite objects in a new file, and the groups that stay plain tensors.
#[derive(Debug, Default)]
pub struct Composites {
    objects: JoinedObjects,
    /// The convention that each of `objects` followed before it was joined, in the same order.
    conventions: Vec<Convention>,
    plain: Vec<PlainGroups>,
}

/// Groups of one convention that stay plain tensors for the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainGroups {
    /// The convention that the groups follow.
    pub convention: Convention,
    /// Why the groups stay plain tensors.
    pub reason: &'static str,
    /// The number of groups.
    pub count: u64,
}

impl Composites {
    /// Finds the groups of `archive` that can become composite objects in a file of `generation`. The values of each object have
    /// the same bits as those of the group, and the original tensors can be restored from the object. `name` returns the new name
    /// of the tensor with the given ordinal, or `None` if the tensor is not written. A group becomes a composite object only if all
    /// its tensors are written, and their new names still form a group.
    ///
    /// Whether a group of GPTQ or compressed-tensors can become an object also depends on the content of its order and its zero
    /// points, which this function reads from `source`. In an archive of a zTensor file, no groups are found. A group is left out
    /// if none of its tensors is written.
    ///
    /// # Errors
    /// The errors of [`Component::reader`]; out of memory.
    pub fn find<'n, S: ReadAt>(
        archive: &Archive<S>,
        source: &dyn Source,
        generation: Generation,
        name: &dyn Fn(u32) -> Option<&'n str>,
    ) -> Result<Self, Error> {
        let mut found = Self::default();
        if archive.generation().is_some() {
            return Ok(found);
        }
        for group in find(archive.manifest().parts(), Some(source))? {
            if group.members.iter().all(|(_, ordinal)| name(*ordinal).is_none()) {
                continue;
            }
            let mut tensors = Vec::new();
            tensors.try_reserve_exact(group.members.len()).map_err(|_| OutOfMemory)?;
            for (role, ordinal) in &group.members {
                let tensor = archive.manifest().tensor_at(*ordinal);
                tensors.extend(tensor.map(|tensor| (*role, tensor.read_from(source))));
            }
            let whole = Whole { group: &group, tensors: &tensors, limits: archive.limits() };
            let convention = group.form.convention;
            match whole.composite(generation, name)? {
                Ok(object) => {
                    let members = group.members.iter().map(|(_, ordinal)| *ordinal);
                    found.objects.add(object, members)?;
                    found.conventions.try_reserve(1).map_err(|_| OutOfMemory)?;
                    found.conventions.push(convention);
                }
                Err(reason) => found.add_plain(convention, reason)?,
            }
        }
        found.objects.sort();
        Ok(found)
    }

    fn add_plain(
        &mut self,
        convention: Convention,
        reason: &'static str,
    ) -> Result<(), OutOfMemory> {
        let same =
            |plain: &&mut PlainGroups| (plain.convention, plain.reason) == (convention, reason);
        if let Some(plain) = self.plain.iter_mut().find(same) {
            plain.count = plain.count.saturating_add(1);
            return Ok(());
        }
        self.plain.try_reserve(1).map_err(|_| OutOfMemory)?;
        self.plain.push(PlainGroups { convention, reason, count: 1 });
        Ok(())
    }

    /// Returns the objects, for [`Copier::joined`](crate::write::Copier::joined).
    pub fn objects(&self) -> &JoinedObjects {
        &self.objects
    }

    /// Returns the convention and the layout of each object.
    pub fn forms(&self) -> impl ExactSizeIterator<Item = (Convention, &'static str)> {
        self.conventions.iter().copied().zip(self.objects.layouts())
    }

    /// Returns the groups that stay plain tensors, by convention and reason.
    pub fn plain(&self) -> &[PlainGroups] {
        &self.plain
    }
}

/// Returns the ends that follow the common stem of a group's names: the end of the name of the group, then the role and the end of
/// the name of each tensor. No tensors are listed for conventions that have no composite form.
fn ends(convention: Convention) -> (&'static str, &'static [(&'static str, &'static str)]) {
    match convention {
        Convention::Mxfp4 => ("", &[("blocks", "_blocks"), ("scales", "_scales")]),
        Convention::Int8 => (
            "",
            &[
                ("data", ""),
                ("scale", "_scale"),
                ("scale_inv", "_scale_inv"),
                ("zero_point", "_zero_point"),
            ],
        ),
        Convention::Gptq | Convention::Awq => (
            ".weight",
            &[
                ("qweight", ".qweight"),
                ("scales", ".scales"),
                ("qzeros", ".qzeros"),
                ("g_idx", ".g_idx"),
            ],
        ),
        Convention::Packed => (
            "",
            &[
                ("data", "_packed"),
                ("scale", "_scale"),
                ("shape", "_shape"),
                ("zero_point", "_zero_point"),
                ("g_idx", "_g_idx"),
            ],
        ),
        _ => ("", &[]),
    }
}

/// The numbers from which the form of a composite object follows.
#[derive(Clone, Copy, Debug)]
struct Facts {
    convention: Convention,
    /// Whether the object has a layout of zTensor 2; otherwise it has the layout of zTensor 1.2.
    is_v2: bool,
    bits: u8,
    /// The number of rows of the matrix, or of all matrices of a stack together: 1 or more.
    rows: u64,
    /// The number of columns of each matrix: 1 or more.
    columns: u64,
    /// The number of codes that share a scale, counted along the axis of the groups: 1 or more.
    size: u64,
    /// The index of the last dimension. Groups lie along this dimension, unless the codes are packed along the inputs: then they
    /// lie along dimension 0.
    last_axis: u64,
}

/// What a tensor of a group becomes in a composite object.
#[derive(Clone, Copy, Debug)]
enum MemberRole {
    /// The component with this role. Its content is converted to another form if there is a `Recode`.
    Component(&'static str, Option<Recode>),
    /// No component: for each row or column in order, the tensor stores the ordinal of its group, which follows from the group
    /// size. The number is the number of rows or columns.
    Index(u64),
    /// No component: the tensor stores the shape, which the object has already.
    Shape,
}

impl Facts {
    /// Returns what the tensor with the role `role` in its group becomes in the composite object. Returns `None` if the
    /// convention has no such tensor, or no composite form.
    fn member_role(&self, role: &str) -> Option<MemberRole> {
        let Self { convention, bits, rows, columns, size, .. } = *self;
        let component = |role, from, to, shape| {
            let recode = Some(Recode { from, to, shape }).filter(|_| from != to);
            MemberRole::Component(role, recode)
        };
        let codes = if self.is_v2 { "data" } else { "packed_weight" };
        // The shape of the scales and zero points. In GPTQ and AWQ, the codes of a group are in successive rows of a column
        // (`across`); in the other conventions, they are in successive columns of a row (`along`).
        let across = [rows.div_ceil(size), columns];
        let along = [rows, columns.div_ceil(size)];
        let words = if self.is_v2 { CodeForm::Rows { bits } } else { CodeForm::Columns { bits } };
        let whole = [rows, columns];
        Some(match (convention, role) {
            (Convention::Mxfp4, "blocks") | (Convention::Packed, "data") => {
                MemberRole::Component("data", None)
            }
            (Convention::Int8, "data") => {
                component("data", CodeForm::Signed, CodeForm::Unsigned, whole)
            }
            (Convention::Gptq, "qweight") => {
                component(codes, CodeForm::Columns { bits }, words, whole)
            }
            (Convention::Awq, "qweight") => component(codes, CodeForm::Awq, words, whole),
            (Convention::Mxfp4 | Convention::Gptq | Convention::Awq, "scales")
            | (Convention::Packed | Convention::Int8, "scale")
            | (Convention::Int8, "scale_inv") => MemberRole::Component("scales", None),
            // Files of GPTQ store each zero point minus 1, so the conversion adds 1.
            (Convention::Gptq, "qzeros") => {
                component("zeros", CodeForm::Rows { bits }, CodeForm::Halves { add: 1 }, across)
            }
            (Convention::Awq, "qzeros") => {
                component("zeros", CodeForm::Awq, CodeForm::Halves { add: 0 }, across)
            }
            (Convention::Packed, "zero_point") => {
                component("zeros", CodeForm::Columns { bits }, CodeForm::Halves { add: 0 }, along)
            }
            (Convention::Int8, "zero_point") => {
                component("zeros", CodeForm::Signed, CodeForm::Halves { add: 0 }, along)
            }
            (Convention::Gptq, "g_idx") => MemberRole::Index(rows),
            (Convention::Packed, "g_idx") => MemberRole::Index(columns),
            (Convention::Packed, "shape") => MemberRole::Shape,
            _ => return None,
        })
    }

    /// Returns the dtype of the component `role` of a composite object. `own` is the dtype of the tensor from which the component
    /// is made.
    fn dtype(&self, role: &str, own: DType) -> DType {
        match (self.convention, role) {
            (Convention::Mxfp4, "data") => DType::F4E2M1,
            (Convention::Mxfp4, _) => DType::F8E8M0,
            (Convention::Int8, "data") => DType::U8,
            (_, "data") => DType::U32,
            (_, "zeros") => DType::F16,
            _ => own,
        }
    }

    fn layout(&self) -> &'static str {
        match (self.is_v2, self.convention) {
            (false, _) => "quantized_group",
            (true, Convention::Mxfp4) => "zt.mx/1",
            (true, _) => "zt.quant_group/1",
        }
    }

    /// Returns why the layout of the object cannot express these facts, or `None` if it can.
    fn misfit(&self) -> Option<&'static str> {
        let Self { convention, is_v2, bits, rows, columns, size, .. } = *self;
        let fills_words = matches!(bits, 2 | 4 | 8);
        match convention {
            Convention::Fp8Block | Convention::Fp8 => {
                Some("a quantized group of zTensor has codes that are integers, not floats")
            }
            Convention::Nvfp4 => {
                Some("a quantized group of zTensor has one level of scales, not two")
            }
            Convention::Nf4 | Convention::Fp4 => {
                Some("a quantized group of zTensor has no table of values")
            }
            Convention::Bnb8 => {
                Some("the scales would have to be divided by 127, which rounds them")
            }
            Convention::Mlx => Some("a quantized group of zTensor has zero points, not biases"),
            Convention::Mxfp4 if is_v2 => None,
            Convention::Mxfp4 => Some("generation 1.2 has no scales that are exponents"),
            Convention::Packed | Convention::Int8 if !is_v2 => {
                Some("quantized groups of generation 1.2 lie along the first dimension")
            }
            _ if !fills_words => Some("codes with this number of bits do not fill whole words"),
            Convention::Gptq if !is_v2 && bits == 2 => {
                Some("generation 1.2 has codes of 4 and 8 bits only")
            }
            Convention::Awq if !is_v2 && !rows.is_multiple_of(8) => Some(
                "the number of inputs is no multiple of 8, so their codes do not fill whole words",
            ),
            Convention::Gptq | Convention::Awq if is_v2 && !rows.is_multiple_of(size) => {
                Some("the last group is shorter than the other groups")
            }
            Convention::Packed if !columns.saturating_mul(bits.into()).is_multiple_of(32) => {
                Some("the codes of a row do not fill whole words")
            }
            _ => None,
        }
    }

    /// Writes the attributes of the object. Its scales have the type `scales`. Its zero points are a component if `has_zeros`, and
    /// `tensors` is the value of the attribute [`TENSORS`].
    fn attributes(
        &self,
        scales: DType,
        has_zeros: bool,
        tensors: &[u8],
    ) -> Result<Encoder, OutOfMemory> {
        let Self { convention, bits, size, .. } = *self;
        let per_word =
            if convention == Convention::Int8 { 1 } else { 32_u8.checked_div(bits).unwrap_or(1) };
        let own = |out: &mut Encoder| -> Result<(), OutOfMemory> {
            out.text(CONVENTION)?;
            out.text(convention.layout())?;
            out.text(TENSORS)?;
            out.raw(tensors)
        };
        let number = |out: &mut Encoder, key, number| {
            out.text(key)?;
            out.uint(number)
        };
        let text = |out: &mut Encoder, key, text| {
            out.text(key)?;
            out.text(text)
        };
        Encoder::with(|out| {
            if convention == Convention::Mxfp4 {
                out.map(4)?;
                number(out, "block_size", size)?;
                text(out, "scale_form", "e8m0_exponent")?;
                return own(out);
            }
            out.map(if self.is_v2 { 8 } else { 5 })?;
            number(out, "bits", bits.into())?;
            number(out, "group_size", size)?;
            if !self.is_v2 {
                text(out, "packing", if bits == 4 { "8_per_i32" } else { "4_per_i32" })?;
                return own(out);
            }
            let is_across = matches!(convention, Convention::Gptq | Convention::Awq);
            number(out, "axis", if is_across { 0 } else { self.last_axis })?;
            // The keys of these maps are in the order of deterministic CBOR, as a reader of 2 finds them.
            out.text("packing")?;
            out.map(3)?;
            text(out, "word", if convention == Convention::Int8 { "u8" } else { "u32" })?;
            text(out, "order", "lsb_first")?;
            number(out, "per_word", per_word.into())?;
            let is_half = matches!(scales, DType::F16 | DType::BF16);
            text(out, "scale_form", if is_half { "f16_factors" } else { "f32_factors" })?;
            out.text("zero_point")?;
            out.map(2)?;
            if has_zeros {
                text(out, "form", "tensor")?;
                text(out, "packing", "plain")?;
            } else {
                text(out, "form", "implied")?;
                number(
                    out,
                    "value",
                    1_u64.checked_shl(u32::from(bits).saturating_sub(1)).unwrap_or(0),
                )?;
            }
            own(out)
        })
    }
}

/// A group, and its tensors with their roles.
struct Whole<'g> {
    group: &'g TensorGroup,
    tensors: &'g [(&'static str, Tensor<'g>)],
    limits: &'g Limits,
}

/// Returns the product of the dimensions of `shape`, or `None` if it exceeds 64 bits.
fn product(shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(1_u64, |all, next| all.checked_mul(*next))
}

/// Returns the index of the last dimension of `shape`, counted from 0. For a shape without dimensions this is 0.
fn last_axis(shape: &[u64]) -> u64 {
    u64_from_usize(shape.len()).saturating_sub(1)
}

impl Whole<'_> {
    /// Returns the composite object of the group in `generation`, or the reason why its tensors stay plain.
    fn composite<'n>(
        &self,
        generation: Generation,
        name: &dyn Fn(u32) -> Option<&'n str>,
    ) -> Result<Result<JoinedObject, &'static str>, Error> {
        const TOO_LARGE: &str = "a decoded row has more bytes than the limit `decoded` allows";
        let TensorGroup { form, shape, .. } = self.group;
        let columns = shape.last().copied().unwrap_or(1).max(1);
        let rows = product(shape).and_then(|all| all.checked_div(columns)).unwrap_or(0);
        let is_across = matches!(form.convention, Convention::Gptq | Convention::Awq);
        let whole = if is_across { rows.max(1) } else { columns };
        let facts = Facts {
            convention: form.convention,
            is_v2: generation == Generation::V2,
            bits: form.bits,
            rows,
            columns,
            size: if form.group_size == 0 { whole } else { form.group_size },
            last_axis: last_axis(shape),
        };
        if let Some(why) = facts.misfit() {
            return Ok(Err(why));
        }
        let Some(name) = self.name(name)? else {
            return Ok(Err(
                "not all tensors of the group are written, or their new names do not form a group",
            ));
        };
        let mut parts = Vec::new();
        parts.try_reserve_exact(self.tensors.len()).map_err(|_| OutOfMemory)?;
        let mut scales = DType::Unknown;
        for (role, tensor) in self.tensors {
            let Some(source) = tensor.component("data") else {
                return Err(BareError::internal().into());
            };
            let length = source.decoded_length();
            match facts.member_role(role) {
                Some(MemberRole::Component(role, recode)) => {
                    let lengths = recode.map(Recode::lengths);
                    let bytes = match lengths {
                        None => length,
                        Some(Some([before, after])) if length == Some(before) => Some(after),
                        Some(_) => None,
                    };
                    let Some(bytes) = bytes else {
                        return Ok(Err("the number of scales is not the number of groups"));
                    };
                    if recode.is_some_and(|recode| recode.memory() > self.limits.decoded()) {
                        return Ok(Err(TOO_LARGE));
                    }
                    let dtype = facts.dtype(role, source.dtype());
                    if role == "scales" {
                        scales = dtype;
                    }
                    let part = JoinedPart { role, dtype, bytes, ordinal: tensor.ordinal(), recode };
                    if facts.convention == Convention::Packed
                        && role == "zeros"
                        && !holds(&part, &source)?
                    {
                        return Ok(Err(
                            "the words of the zero points have bits that are not 0 and belong to no zero point",
                        ));
                    }
                    parts.push(part);
                }
                Some(MemberRole::Index(_)) if !ascends(&source, facts.size)? => {
                    return Ok(Err("the groups are not in ascending order (g_idx)"));
                }
                Some(MemberRole::Index(_) | MemberRole::Shape) => {
                    // The composite object does not store this tensor, because its content follows from the group size or the
                    // shape. Nothing else reads the tensor, so its digest is verified here.
                    read(&source, |_| Ok(()))?;
                }
                None => return Err(BareError::internal().into()),
            }
        }
        let factors = parts.iter().find(|part| part.role == "scales").map(|part| part.bytes);
        let groups = if is_across {
            rows.div_ceil(facts.size).checked_mul(columns)
        } else {
            columns.div_ceil(facts.size).checked_mul(rows)
        };
        let width = scales.bits().map(|bits| u64::from(bits >> 3));
        if factors != groups.zip(width).and_then(|(groups, width)| groups.checked_mul(width)) {
            return Ok(Err("the number of scales is not the number of groups"));
        }
        let has_zeros = parts.iter().any(|part| part.role == "zeros");
        let attributes = facts.attributes(scales, has_zeros, self.forms()?.as_bytes())?;
        let mut own = Vec::new();
        own.try_reserve_exact(shape.len()).map_err(|_| OutOfMemory)?;
        own.extend_from_slice(shape);
        Ok(Ok(JoinedObject {
            name,
            shape: own,
            layout: facts.layout(),
            attributes: Encoded::from_cbor(attributes.into_bytes()),
            parts,
            first: self.group.first,
        }))
    }

    /// Returns the name of the object. Returns `None` if a tensor is not written, or if the new names have no common stem.
    fn name<'n>(
        &self,
        name: &dyn Fn(u32) -> Option<&'n str>,
    ) -> Result<Option<String>, OutOfMemory> {
        let (suffix, ends) = ends(self.group.form.convention);
        let mut common = None;
        for (role, ordinal) in &self.group.members {
            let end = ends.iter().find(|(own, _)| own == role).map(|(_, end)| *end);
            let Some(stem) = name(*ordinal).zip(end).and_then(|(name, end)| name.strip_suffix(end))
            else {
                return Ok(None);
            };
            if common.is_some_and(|common| common != stem) {
                return Ok(None);
            }
            common = Some(stem);
        }
        common.map(|stem| joined(stem, suffix)).transpose()
    }

    /// Returns the CBOR value of the attribute [`TENSORS`]: the dtype and the shape of each tensor of the group.
    fn forms(&self) -> Result<Encoder, OutOfMemory> {
        let (_, ends) = ends(self.group.form.convention);
        let end =
            |role: &str| ends.iter().find(|(own, _)| *own == role).map_or("", |(_, end)| *end);
        let mut tensors = Vec::new();
        tensors.try_reserve_exact(self.tensors.len()).map_err(|_| OutOfMemory)?;
        tensors.extend(self.tensors.iter().map(|(role, tensor)| (end(role), tensor)));
        // Deterministic CBOR requires this order of the keys: shorter keys first.
        sort_by(&mut tensors, |(one, _), (other, _)| (one.len(), *one).cmp(&(other.len(), *other)));
        Encoder::with(|out| {
            out.map(u64_from_usize(tensors.len()))?;
            tensors.iter().try_for_each(|(end, tensor)| {
                out.text(end)?;
                out.array(u64_from_usize(tensor.shape().len()).saturating_add(1))?;
                out.text(tensor.dtype().name())?;
                tensor.shape().iter().try_for_each(|dimension| out.uint(*dimension))
            })
        })
    }
}

/// Returns `stem` followed by `end`.
fn joined(stem: &str, end: &str) -> Result<String, OutOfMemory> {
    let mut name = String::new();
    name.try_reserve_exact(stem.len().saturating_add(end.len())).map_err(|_| OutOfMemory)?;
    name.push_str(stem);
    name.push_str(end);
    Ok(name)
}

/// Reads the whole content of `component`, and passes its chunks to `take`.
fn read(
    component: &Component<'_>,
    mut take: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut reader = component.reader()?;
    while let Some(chunk) = reader.next_chunk()? {
        take(chunk)?;
    }
    Ok(())
}

/// Reads the content of `source`, and returns whether it can be stored as `part` without loss.
fn holds(part: &JoinedPart, source: &Component<'_>) -> Result<bool, Error> {
    let mut convert = part.converter(source);
    let checked = read(source, |chunk| convert.chunk(chunk, &mut |_| Ok(())));
    match checked {
        Err(error) if error.kind() == lossy(source).kind() => Ok(false),
        checked => checked.map(|()| true),
    }
}

/// Returns whether the `i32` numbers in `component` are 0 for the first `size` numbers, 1 for the next `size` numbers, and so on.
fn ascends(component: &Component<'_>, size: u64) -> Result<bool, Error> {
    let (mut ascends, mut at) = (true, 0_u64);
    read(component, |chunk| {
        let (numbers, _) = chunk.as_chunks::<4>();
        for number in numbers {
            ascends &= at.checked_div(size) == u64::try_from(i32::from_le_bytes(*number)).ok();
            at = at.saturating_add(1);
        }
        Ok(())
    })?;
    Ok(ascends)
}

/// A tensor that a composite object was made of.
#[derive(Debug)]
pub struct Original<'a> {
    name: String,
    shape: Vec<u64>,
    dtype: DType,
    content: Content<'a>,
}

/// The content of a tensor that a composite object was made of.
#[derive(Debug)]
enum Content<'a> {
    /// The content of a component, converted to another form if there is a `Recode`.
    Component(Component<'a>, Option<Recode>),
    /// For each of `count` rows or columns, the ordinal of its group. Each group has `size` successive rows or columns.
    Index { count: u64, size: u64 },
    /// The dimensions of the object, stored as integers of the tensor's dtype.
    Shape([u64; 2]),
}

impl<'a> Tensor<'a> {
    /// Returns the tensors from which [`Composites`] made this composite object, as the attributes of the object describe them.
    /// `name` is the current name of the object; the names of the tensors are derived from it. Returns `None` for any other tensor,
    /// and if the attributes do not describe the components.
    ///
    /// # Errors
    /// Out of memory.
    pub fn originals(&self, name: &str) -> Result<Option<Vec<Original<'a>>>, OutOfMemory> {
        let Some((facts, tensors)) = self.facts_of_originals() else { return Ok(None) };
        let (suffix, ends) = ends(facts.convention);
        let stem = name.strip_suffix(suffix).unwrap_or(name);
        let mut originals = Vec::<Original<'a>>::new();
        for (end, item) in tensors.clone() {
            let role = ends.iter().find(|(_, own)| *own == end).map(|(role, _)| *role);
            let (Some(role), Some((dtype, shape))) = (role, form(&item)?) else { return Ok(None) };
            let name = joined(stem, end)?;
            // A CBOR map in a file may have a key twice.
            if originals.iter().any(|original| original.name == name) {
                return Ok(None);
            }
            let Some(content) = self.content(&facts, role, (dtype, &shape)) else {
                return Ok(None);
            };
            originals.try_reserve(1).map_err(|_| OutOfMemory)?;
            originals.push(Original { name, shape, dtype, content });
        }
        let is_of = |original: &&Original<'_>, role: &str| match &original.content {
            Content::Component(component, _) => component.role() == role,
            _ => false,
        };
        let mut components = self.components();
        let is_used_once = components
            .all(|own| originals.iter().filter(|one| is_of(one, own.role())).count() == 1);
        let is_whole = is_used_once && self.has_attributes_of(&facts, &tensors)?;
        Ok(if is_whole { Some(originals) } else { None })
    }

    /// Reads the numbers from which the form of this object follows, and the forms of the tensors that it was made of.
    fn facts_of_originals(&self) -> Option<(Facts, Attributes<'a>)> {
        let attributes = self.attributes();
        let Value::Text(convention) = attributes.item(CONVENTION)?.value() else { return None };
        let convention = convention.as_str()?;
        let known = |own: &Convention| own.layout() == convention;
        let convention = Convention::ALL.into_iter().find(known)?;
        let tensors = Attributes::read(attributes.item(TENSORS)?.as_bytes())?;
        let is_v2 = match self.layout() {
            Layout::QuantizedGroup => false,
            Layout::QuantGroup | Layout::Mx => true,
            _ => return None,
        };
        let (bits, size) = match convention {
            Convention::Mxfp4 => (4, "block_size"),
            _ => (uint(self, "bits")?, "group_size"),
        };
        let columns = self.shape().last().copied()?;
        let facts = Facts {
            convention,
            is_v2,
            bits: u8::try_from(bits).ok()?,
            rows: product(self.shape())?.checked_div(columns)?,
            columns,
            size: uint(self, size)?,
            last_axis: last_axis(self.shape()),
        };
        let is_one = facts.layout() == self.layout_name() && facts.misfit().is_none();
        (is_one && facts.rows > 0 && facts.size > 0).then_some((facts, tensors))
    }

    /// This object replaces several tensors. Returns the source of the content of the tensor with the role `role` among them: a
    /// component of this object, or numbers that are computed from the number of codes that share a scale, or from the shape.
    /// Returns `None` if this object cannot give a tensor of this dtype and shape.
    fn content(
        &self,
        facts: &Facts,
        role: &str,
        (dtype, shape): (DType, &[u64]),
    ) -> Option<Content<'a>> {
        let width = u64::from(dtype.bits().filter(|bits| bits.is_multiple_of(8))? >> 3);
        match facts.member_role(role)? {
            MemberRole::Component(role, recode) => {
                let component = self.component(role)?;
                let (bytes, length) =
                    (product(shape)?.checked_mul(width)?, component.decoded_length()?);
                let recode = recode.map(Recode::inverse);
                let fits = match recode {
                    None => bytes == length,
                    Some(recode) => {
                        recode.lengths() == Some([length, bytes])
                            && recode.memory() <= component.limits().decoded()
                    }
                };
                fits.then_some(Content::Component(component, recode))
            }
            MemberRole::Index(count) => {
                let is_it = dtype == DType::I32 && shape == [count];
                is_it.then_some(Content::Index { count, size: facts.size })
            }
            MemberRole::Shape => {
                let is_it = matches!(dtype, DType::I64 | DType::I32) && shape == [2];
                let &[rows, columns] = self.shape() else { return None };
                is_it.then_some(Content::Shape([rows, columns]))
            }
        }
    }

    /// Returns whether this object has the attributes that [`Composites`] writes for an object with these `facts`.
    fn has_attributes_of(
        &self,
        facts: &Facts,
        tensors: &Attributes<'_>,
    ) -> Result<bool, OutOfMemory> {
        let scales = self.component("scales").map_or(DType::Unknown, |scales| scales.dtype());
        let has_zeros = self.component("zeros").is_some();
        let tensors = Encoder::with(|out| {
            out.map(u64_from_usize(tensors.clone().count()))?;
            tensors.clone().try_for_each(|(end, item)| {
                out.text(end)?;
                out.raw(item.as_bytes())
            })
        })?;
        let written = facts.attributes(scales, has_zeros, tensors.as_bytes())?;
        let own = self.attributes();
        let is_own = |(key, item): (&str, Item<'_>)| {
            key == TENSORS || own.item(key).is_some_and(|own| own.value() == item.value())
        };
        Ok(Attributes::read(written.as_bytes()).is_some_and(|mut written| written.all(is_own)))
    }
}

/// Reads the dtype and the shape of a tensor from an entry of [`TENSORS`]. Returns `None` if the entry is no array of the name of
/// a dtype and of dimensions.
fn form(item: &Item<'_>) -> Result<Option<(DType, Vec<u64>)>, OutOfMemory> {
    let Value::Array(mut items) = item.value() else { return Ok(None) };
    let dtype = items.next().and_then(|item| match item.value() {
        Value::Text(name) => {
            let name = name.as_str()?;
            DType::ALL.into_iter().find(|dtype| dtype.name() == name)
        }
        _ => None,
    });
    let mut shape = Vec::new();
    for item in items {
        let Value::Uint(dimension) = item.value() else { return Ok(None) };
        shape.try_reserve(1).map_err(|_| OutOfMemory)?;
        shape.push(dimension);
    }
    Ok(dtype.map(|dtype| (dtype, shape)))
}

impl Original<'_> {
    /// Returns the name of the tensor.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the shape of the tensor.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the dtype of the tensor.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Reads the content of the tensor from `source`, and passes it to `take` chunk by chunk. Components are verified by
    /// `verifier`.
    ///
    /// # Errors
    /// The errors of [`Verifier::object`] and of `take`; [`Misuse::Quantization`](crate::error::Misuse::Quantization) if a zero
    /// point cannot be stored in the form that the tensor had.
    pub fn read(
        &self,
        source: &dyn Source,
        verifier: &mut Verifier,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        /// The number of integers that are passed on at a time.
        const PIECE: u64 = 1 << 13;
        let number = |out: &mut Vec<u8>, number: u64| {
            let wide = number.to_le_bytes();
            let bytes = wide.get(..if self.dtype == DType::I64 { 8 } else { 4 });
            out.extend_from_slice(bytes.unwrap_or_default());
        };
        match &self.content {
            Content::Component(component, recode) => {
                let component = component.read_from(source);
                let (mut recoder, tensor) = (Recoder::new(*recode), component.tensor());
                let mut sparse = Verifier::sparse(&tensor)?;
                let order = crate::verify::Order::Rows;
                verifier.component(&component, &mut sparse, order, |chunk| {
                    recoder.chunk(chunk, take, &|| lossy(&component))
                })
            }
            Content::Index { count, size } => {
                let mut out = Vec::new();
                out.try_reserve_exact(usize_from_u32(4 << 13)).map_err(|_| OutOfMemory)?;
                let mut at = 0_u64;
                while at < *count {
                    let end = at.saturating_add(PIECE).min(*count);
                    out.clear();
                    (at..end).for_each(|at| number(&mut out, at.checked_div(*size).unwrap_or(0)));
                    take(&out)?;
                    at = end;
                }
                Ok(())
            }
            Content::Shape(shape) => {
                let mut out = Vec::new();
                out.try_reserve_exact(16).map_err(|_| OutOfMemory)?;
                for dimension in shape {
                    number(&mut out, *dimension);
                }
                take(&out)
            }
        }
    }
}

//! What a check of a file finds in groups of tensors that follow a convention: tensors that contradict each other, and numbers
//! with which programs fail or compute nothing.

use alloc::string::String;
use alloc::vec::Vec;

use super::super::plan::{Number, row_of};
use super::super::{Convention, QuantizedForm};
use super::state::is_object;
use super::{Anchor, Contradiction, Finder, MOST_STATE, find_with};
use crate::element::{ByteOrder, DType};
use crate::error::{Error, Location, OutOfMemory, text};
use crate::escape::Short;
use crate::index::{Finding, QuantizedRules};
use crate::manifest::{Component, ManifestRef, Tensor};
use crate::num::{sort_by, u64_from_usize};
use crate::rules::Row;

/// The tensors of a file whose content a check examines while it reads them.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// The location of each component to examine, and what to look for in it; in ascending order of the ordinals of tensors. Only a
    /// tensor that is a group has several probes.
    probes: Vec<(Location, Probe)>,
}

/// What is looked for in the content of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    /// Entries of `g_idx` of GPTQ that do not refer to one of the `groups` groups.
    Index { groups: u64 },
    /// Scales, stored as numbers of this type, that are NaN or infinite.
    Scales(Number),
    /// A tensor that describes its group: a state of bitsandbytes that is not a JSON object, or a state or a shape that contradicts
    /// the other tensors of the group.
    State(Anchor),
}

/// The notes of a check: the first by each rule, and the number of further ones.
#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<Finding>);

impl Notes {
    /// Adds the note `error`. If there is a note by the same rule already, only counts `error`.
    pub(crate) fn add(&mut self, error: Error) -> Result<(), OutOfMemory> {
        let same = |note: &&mut Finding| note.error.kind() == error.kind();
        if let Some(note) = self.0.iter_mut().find(same) {
            note.more = note.more.saturating_add(1);
            return Ok(());
        }
        self.0.try_reserve(1).map_err(|_| OutOfMemory)?;
        self.0.push(Finding { error, more: 0, names: Vec::new() });
        Ok(())
    }

    pub(crate) fn all(&self) -> &[Finding] {
        &self.0
    }
}

/// Returns what to look for in the tensor of a group that has the role `role` and the dtype `dtype`. The values of the group have
/// the form `form` and the shape `shape`. Returns `None` for tensors that are neither `g_idx` of GPTQ nor scales, and for scales
/// whose [`number`] is `None`.
fn probe(form: QuantizedForm, shape: &[u64], role: &str, dtype: DType) -> Option<Probe> {
    if form.convention == Convention::Gptq && role == "g_idx" {
        let inputs = shape.first().copied().unwrap_or_default();
        return Some(Probe::Index { groups: inputs.div_ceil(form.group_size.max(1)) });
    }
    let is_scale = scales(form.convention).contains(&role);
    Some(Probe::Scales(number(form.convention, dtype).filter(|_| is_scale)?))
}

/// Returns the type of the scales of a group of `convention` whose dtype is `dtype`. Returns `None` for a type whose numbers are
/// all finite, and for a type that no convention uses for scales.
fn number(convention: Convention, dtype: DType) -> Option<Number> {
    match (convention, dtype) {
        (Convention::Mxfp4, _) => Some(Number::E8M0),
        (_, DType::F32) => Some(Number::F32),
        (_, DType::F16) => Some(Number::F16),
        (_, DType::BF16) => Some(Number::Bf16),
        (_, DType::F8E4M3Fn) => Some(Number::E4M3),
        _ => None,
    }
}

/// Returns whether `tensor` may store the shape of a matrix as its elements: two integers.
fn is_shape(tensor: &Tensor<'_>) -> bool {
    tensor.shape() == [2] && matches!(tensor.dtype(), DType::I64 | DType::I32)
}

/// Returns the roles of the tensors of a group whose numbers must be finite: scales, and the biases of MLX.
fn scales(convention: Convention) -> &'static [&'static str] {
    match convention {
        Convention::Mxfp4 | Convention::Gptq | Convention::Awq => &["scales"],
        Convention::Mlx => &["scales", "biases"],
        Convention::Nvfp4 => &["scale", "scale_2", "global_scale"],
        Convention::Nf4 | Convention::Fp4 => &["absmax", "nested_absmax"],
        Convention::Bnb8 => &["SCB"],
        _ => &["scale", "scale_inv"],
    }
}

impl Gate {
    /// Lists the components of quantized tensors whose content the check has to examine, such as scales. Adds notes to `notes` on
    /// tensors of the same group that contradict each other. No content is read here. For a file whose format has no rules on
    /// quantized tensors, the list is empty and no note is added.
    pub(crate) fn new(manifest: ManifestRef<'_>, notes: &mut Notes) -> Result<Self, Error> {
        let mut gate = Self::default();
        let Some(rules) = manifest.facts().quantized else { return Ok(gate) };
        let groups = find_with(manifest, None, |anchor, tensor, contradiction| {
            if let Some(contradiction) = contradiction {
                let note = contradiction.note(manifest, rules)?;
                return Ok(note.map_or(Ok(()), |note| notes.add(note))?);
            }
            // The shape of a group of these anchors is the content of one of its tensors, `state`. The other tensors are
            // compared with the shape once the check has read this content.
            let state = match anchor {
                Anchor::Nf4 | Anchor::Fp4 => Some(*tensor),
                Anchor::Packed => beside(manifest, tensor, PACKED)?.filter(is_shape),
                _ => None,
            };
            let Some(state) = state else { return Ok(()) };
            gate.add(&state, Probe::State(anchor))?;
            // The group is known only after the content of `state` has been read, so its scales are found by their names
            // here.
            let from =
                tensor.name().get(Anchor::of(tensor.name()).map_or(0, |(stem, _)| stem.len())..);
            let ends: &[&str] = match anchor {
                Anchor::Packed => &["_scale"],
                _ => &[".absmax", ".nested_absmax"],
            };
            for end in ends {
                let found = beside(manifest, tensor, [from.unwrap_or_default(), end])?;
                let found = found
                    .and_then(|found| Some((found, number(Convention::Packed, found.dtype())?)));
                found.map_or(Ok(()), |(found, number)| gate.add(&found, Probe::Scales(number)))?;
            }
            Ok(())
        })?;
        for group in groups {
            for (role, ordinal) in &group.members {
                let Some(tensor) = manifest.object(*ordinal) else { continue };
                if let Some(probe) = probe(group.form, &group.shape, role, tensor.dtype()) {
                    gate.add(&tensor, probe)?;
                }
            }
        }
        // In an archive with conventions, each group is already one tensor. Its components are examined as well, so that the
        // verdict is that on the file without conventions.
        for tensor in manifest.tensors() {
            let Some(form) = QuantizedForm::of(&tensor) else { continue };
            for component in tensor.components() {
                let (role, dtype) = (component.role(), component.dtype());
                if let Some(probe) = probe(form, tensor.shape(), role, dtype) {
                    gate.push(&component, probe)?;
                }
            }
        }
        sort_by(&mut gate.probes, |(one, _), (other, _)| one.object().cmp(&other.object()));
        Ok(gate)
    }

    /// Adds a probe of the only component of `tensor`.
    fn add(&mut self, tensor: &Tensor<'_>, probe: Probe) -> Result<(), Error> {
        tensor.components().next().map_or(Ok(()), |component| self.push(&component, probe))
    }

    /// Adds a probe of `component`. Big-endian numbers are skipped, because bytes are passed on in stored order.
    fn push(&mut self, component: &Component<'_>, probe: Probe) -> Result<(), Error> {
        if component.byte_order() == ByteOrder::Little {
            self.probes.try_reserve(1).map_err(|_| OutOfMemory)?;
            self.probes.push((component.location(), probe));
        }
        Ok(())
    }

    /// Returns a [`Look`] for each probe of the tensor `ordinal`, or `None` if the tensor has no probe.
    ///
    /// # Errors
    /// Out of memory.
    pub(crate) fn look(&self, ordinal: u32) -> Result<Option<Looks>, OutOfMemory> {
        let first = self.probes.partition_point(|(own, _)| own.object() < Some(ordinal));
        let from_first = self.probes.get(first..).unwrap_or_default();
        let own = from_first.iter().take_while(|(own, _)| own.object() == Some(ordinal));
        let mut looks = Vec::new();
        looks.try_reserve_exact(own.clone().count()).map_err(|_| OutOfMemory)?;
        looks.extend(own.map(|(location, probe)| Look {
            location: *location,
            probe: *probe,
            passed: 0,
            wrong: None,
            held: Vec::new(),
            numbers: Vec::new(),
        }));
        Ok(Some(Looks(looks)).filter(|looks| !looks.0.is_empty()))
    }
}

/// Returns the tensor whose name is that of `tensor` with the end `to` instead of the end `from`. Returns `None` if there is no
/// such tensor, or if the name of `tensor` does not end with `from`.
fn beside<'a>(
    manifest: ManifestRef<'a>,
    tensor: &Tensor<'_>,
    [from, to]: [&str; 2],
) -> Result<Option<Tensor<'a>>, OutOfMemory> {
    let Some(stem) = tensor.name().strip_suffix(from) else { return Ok(None) };
    let mut name = String::new();
    name.try_reserve_exact(stem.len().saturating_add(to.len())).map_err(|_| OutOfMemory)?;
    name.push_str(stem);
    name.push_str(to);
    Ok(manifest.get(&name))
}

/// The ends of the names of the codes of compressed-tensors, and of the tensor whose content is their shape.
const PACKED: [&str; 2] = ["_packed", "_shape"];

impl Contradiction {
    /// Returns the note on the contradiction, or `None` if the file has no tensor with its ordinal.
    fn note(
        self,
        manifest: ManifestRef<'_>,
        rules: &QuantizedRules,
    ) -> Result<Option<Error>, OutOfMemory> {
        let Some(tensor) = manifest.object(self.ordinal) else { return Ok(None) };
        let sentence = text(format_args!(
            "{} is named as a part of a tensor of {}, and contradicts the other parts: {}",
            Short(tensor.name()),
            self.convention.title(),
            self.what
        ))?;
        let component = tensor.components().next();
        let offset = component.map(|component| component.extent().offset());
        let file = component.and_then(|component| component.shard());
        let owned = |name: &str| text(format_args!("{name}"));
        let note = Error::of_format(rules.parts.into(), sentence, offset);
        let note = note.about(Some(owned(tensor.name())?), file.map(owned).transpose()?);
        Ok(Some(note.naming_its_tensor()))
    }
}

/// The examinations of the components of one tensor, while their content is read.
#[derive(Debug)]
pub(crate) struct Looks(Vec<Look>);

impl Looks {
    /// Looks at the next bytes `chunk` of `component`, which are whole elements.
    ///
    /// # Errors
    /// Out of memory.
    pub(crate) fn chunk(
        &mut self,
        component: &Component<'_>,
        chunk: &[u8],
    ) -> Result<(), OutOfMemory> {
        let of_component = |look: &&mut Look| look.location == component.location();
        self.0.iter_mut().filter(of_component).try_for_each(|look| look.chunk(chunk))
    }

    /// Returns the first note on the content of `tensor`, all of which has been passed to [`chunk`](Self::chunk). Returns `None` if
    /// nothing wrong was found.
    ///
    /// # Errors
    /// `quant-index`, `quant-state`; out of memory.
    pub(crate) fn finish(
        self,
        tensor: &Tensor<'_>,
        manifest: ManifestRef<'_>,
    ) -> Result<Option<Error>, Error> {
        let mut first = None;
        for look in self.0 {
            let note = look.finish(tensor, manifest)?;
            first = first.or(note);
        }
        Ok(first)
    }
}

/// The examination of the content of one component, while the content is read.
#[derive(Debug)]
struct Look {
    /// The location of the component.
    location: Location,
    probe: Probe,
    /// The number of bytes of the content that have been read.
    passed: u64,
    /// The offset of the first wrong number in the content, and the number.
    wrong: Option<(u64, f64)>,
    /// The content of a tensor with [`Probe::State`], as far as it has been read. Once more than [`MOST_STATE`] bytes have come, no
    /// further bytes are kept, and the content is not examined.
    held: Vec<u8>,
    /// A buffer for the scales of one chunk, converted to `f32`.
    numbers: Vec<f32>,
}

impl Look {
    /// Examines `chunk`, the next bytes of the component, which are whole elements.
    fn chunk(&mut self, chunk: &[u8]) -> Result<(), OutOfMemory> {
        let first = self.passed;
        self.passed = first.saturating_add(u64_from_usize(chunk.len()));
        if self.wrong.is_some() {
            return Ok(());
        }
        let at = |index: usize, width: u64| {
            first.saturating_add(u64_from_usize(index).saturating_mul(width))
        };
        match self.probe {
            Probe::Index { groups } => {
                let (numbers, _) = chunk.as_chunks::<4>();
                let mut numbers = numbers.iter().enumerate();
                let wrong = numbers.find(|(_, bytes)| row_of(**bytes, groups).is_none());
                self.wrong =
                    wrong.map(|(index, bytes)| (at(index, 4), i32::from_le_bytes(*bytes).into()));
            }
            Probe::Scales(number) => {
                self.numbers.clear();
                number.widen(chunk, &mut self.numbers)?;
                let wrong = self.numbers.iter().enumerate().find(|(_, value)| !value.is_finite());
                self.wrong =
                    wrong.map(|(index, value)| (at(index, number.width()), (*value).into()));
            }
            Probe::State(_) => {
                if self.passed <= MOST_STATE {
                    self.held.try_reserve(chunk.len()).map_err(|_| OutOfMemory)?;
                    self.held.extend_from_slice(chunk);
                }
            }
        }
        Ok(())
    }

    /// Returns the note on the content of `tensor`, all of which has been passed to [`chunk`](Self::chunk). Returns `None` if
    /// nothing wrong was found.
    ///
    /// # Errors
    /// `quant-index`, `quant-state`; out of memory.
    fn finish(
        self,
        tensor: &Tensor<'_>,
        manifest: ManifestRef<'_>,
    ) -> Result<Option<Error>, Error> {
        let component = self.location.component().and_then(|own| tensor.component_at(own));
        let Some(component) = component else { return Ok(None) };
        let offset = |within: u64| {
            let offset = component.extent().offset();
            Some(if component.is_raw() { offset.saturating_add(within) } else { offset })
        };
        let Some(rules) = manifest.facts().quantized else { return Ok(None) };
        let error = |rule: &'static Row, sentence: core::fmt::Arguments<'_>, at: u64| {
            let error = Error::of_format(rule.into(), text(sentence)?, offset(at));
            Ok::<_, OutOfMemory>(tensor.named(error.at(self.location)))
        };
        match (self.probe, self.wrong) {
            (Probe::Index { groups }, Some((at, number))) => {
                let (row, noun) = (at >> 2, if groups == 1 { "group" } else { "groups" });
                let sentence = format_args!(
                    "row {row} is in group {number}, but the tensor has {groups} {noun}"
                );
                Err(error(rules.index, sentence, at)?)
            }
            (Probe::Scales(_), Some((at, number))) => {
                let sentence = format_args!("a scale is {number}, expected a finite number");
                Ok(Some(error(rules.scale, sentence, at)?))
            }
            (Probe::State(anchor), _) if self.passed <= MOST_STATE => {
                let is_json = anchor == Anchor::Packed || is_object(&self.held);
                if !is_json {
                    let sentence =
                        format_args!("the state of a quantized tensor is not a JSON object");
                    return if is_loaded(tensor, manifest)? {
                        Err(error(rules.state, sentence, 0)?)
                    } else {
                        Ok(None)
                    };
                }
                let given = Some((tensor.ordinal(), &*self.held));
                let mut finder = Finder::new(manifest, None, given);
                let found = match anchor {
                    Anchor::Packed => {
                        let [codes, shape] = PACKED;
                        beside(manifest, tensor, [shape, codes])?
                    }
                    _ => Some(*tensor),
                };
                let Some(found) = found else { return Ok(None) };
                let Some((stem, anchor)) = Anchor::of(found.name()) else { return Ok(None) };
                finder.group_of(anchor, stem, &found)?;
                let note = finder.contradiction.take().map(|found| found.note(manifest, rules));
                Ok(note.transpose()?.flatten())
            }
            _ => Ok(None),
        }
    }
}

/// Returns whether bitsandbytes loads `state`, a tensor that is named as its state: the file also has the tensors that bitsandbytes
/// loads together with a state, and all of them and `state` itself have the right dtypes.
fn is_loaded(state: &Tensor<'_>, manifest: ManifestRef<'_>) -> Result<bool, OutOfMemory> {
    let Some((stem, _)) = Anchor::of(state.name()) else { return Ok(false) };
    let own = state.name().get(stem.len()..).unwrap_or_default();
    let is_there = |end: &str, dtypes: &[DType]| {
        let found = beside(manifest, state, [own, end])?;
        Ok::<_, OutOfMemory>(found.is_some_and(|found| dtypes.contains(&found.dtype())))
    };
    Ok(state.dtype() == DType::U8
        && is_there("", &[DType::U8])?
        && is_there(".absmax", &[DType::F32, DType::U8])?
        && is_there(".quant_map", &[DType::F32])?)
}

//! Finding the groups of tensors that follow a convention, by their names, dtypes and shapes.

mod gate;
mod state;

use alloc::string::String;
use alloc::vec::Vec;

pub(crate) use gate::{Gate, Notes};

use self::state::QuantState;
use super::anchors::Anchor;
use super::{Convention, NestedScales, QuantizedForm};
use crate::element::DType;
use crate::error::{Error, OutOfMemory};
use crate::index::Layout;
use crate::layout::State;
use crate::manifest::{Component, ManifestRef, Tensor};
use crate::num::{divide_exactly, sort_by, u64_from_usize, usize_from_u32};
use crate::read_at::Source;

/// Several tensors of a file that together are one quantized tensor.
#[derive(Debug)]
pub(super) struct TensorGroup {
    /// The name of the group: that of the tensor before it was quantized.
    pub(super) name: String,
    /// The shape of the tensor of dequantized values.
    pub(super) shape: Vec<u64>,
    pub(super) form: QuantizedForm,
    /// How the scales are quantized themselves; `None` if they are not.
    pub(super) nested: Option<NestedScales>,
    /// The role of each tensor in the group, and its ordinal in the file.
    pub(super) members: Vec<(&'static str, u32)>,
    /// The smallest ordinal of the members. The group takes the position of this tensor.
    pub(super) first: u32,
}

/// The dtypes that scales may have. Programs write the same convention with each of them.
const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];
/// The dtypes of FP8 elements.
const FP8: [DType; 4] = [DType::F8E4M3Fn, DType::F8E5M2, DType::F8E4M3Fnuz, DType::F8E5M2Fnuz];
/// The numbers of rows (and of columns) that a square block of FP8 elements with one scale may have, the usual number first.
const FP8_BLOCKS: [u64; 6] = [128, 64, 256, 32, 512, 16];
/// The largest content that is read to find the shape of a tensor, in bytes.
pub(super) const MOST_STATE: u64 = 4096;

/// Returns whether a group that is found by the tensor called `name` may have its shape in the content of a tensor. Groups of
/// NVFP4, whose codes may also have a name that ends in `_packed`, have it in the shapes of the tensors.
pub(super) fn needs_content(name: &str) -> bool {
    let ends = ["_packed", ".quant_state.bitsandbytes__nf4", ".quant_state.bitsandbytes__fp4"];
    ends.into_iter().any(|end| name.ends_with(end))
}

/// Finds the groups in the file with `manifest`. Shapes that are the content of a tensor are read from `source`; without a source,
/// groups with such shapes are not found. No tensor is in two groups, and no two groups have the same name.
pub(super) fn find(
    manifest: ManifestRef<'_>,
    source: Option<&dyn Source>,
) -> Result<Vec<TensorGroup>, Error> {
    find_with(manifest, source, |_, _, _| Ok(()))
}

/// Finds the groups as [`find`] does, and calls `other` with each anchor that has no group, its tensor, and the contradiction
/// between the tensors, if they contradict each other.
pub(super) fn find_with<'a>(
    manifest: ManifestRef<'a>,
    source: Option<&dyn Source>,
    mut other: impl FnMut(Anchor, &Tensor<'a>, Option<Contradiction>) -> Result<(), Error>,
) -> Result<Vec<TensorGroup>, Error> {
    let mut finder = Finder::new(manifest, source, None);
    let (mut groups, mut taken) = (Vec::<TensorGroup>::new(), Vec::new());
    for tensor in manifest.tensors() {
        let Some((stem, anchor)) = Anchor::of(tensor.name()) else { continue };
        let Some(group) = finder.group_of(anchor, stem, &tensor)? else {
            other(anchor, &tensor, finder.contradiction.take())?;
            continue;
        };
        if taken.is_empty() {
            let count = usize_from_u32(manifest.len());
            taken.try_reserve_exact(count).map_err(|_| OutOfMemory)?;
            taken.resize(count, false);
        }
        let members = || group.members.iter().map(|(_, ordinal)| usize_from_u32(*ordinal));
        if members().any(|ordinal| taken.get(ordinal).copied().unwrap_or(true)) {
            continue;
        }
        members()
            .for_each(|ordinal| taken.get_mut(ordinal).into_iter().for_each(|own| *own = true));
        groups.try_reserve(1).map_err(|_| OutOfMemory)?;
        groups.push(group);
    }
    // Two groups of different conventions may get the same name, which is derived from the names of their tensors. Only the
    // first such group is kept, since names of tensors are unique.
    sort_by(&mut groups, |one, other| (&one.name, one.first).cmp(&(&other.name, other.first)));
    groups.dedup_by(|later, earlier| later.name == earlier.name);
    Ok(groups)
}

/// Tensors that have the names and the dtypes of a group of a convention, but whose shapes or contents contradict each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contradiction {
    pub(super) convention: Convention,
    /// The ordinal of the tensor that contradicts the others.
    pub(super) ordinal: u32,
    /// What is wrong, as a sentence about this tensor.
    pub(super) what: &'static str,
}

/// A search for the group of a tensor.
pub(super) struct Finder<'a, 's> {
    manifest: ManifestRef<'a>,
    source: Option<&'s dyn Source>,
    /// A tensor whose content the caller has read, as its ordinal and its content. The content of other tensors is read from
    /// `source`.
    given: Option<(u32, &'s [u8])>,
    /// Why the last group was not found, if its tensors contradict each other.
    pub(super) contradiction: Option<Contradiction>,
    /// A buffer for the name that is looked up, which is reused from one name to the next.
    name: String,
}

/// Returns whether `tensor` is a dense tensor of one of `dtypes` whose elements are stored in row-major order. In any other
/// order, the elements could be found only with the shape of the tensor, and a component of a group has no shape of its own.
fn is_plain(tensor: &Tensor<'_>, dtypes: &[DType]) -> bool {
    let is_in_rows = |data: Component<'_>| !data.is_strided() && !data.is_field_of_records();
    tensor.layout() == Layout::Dense
        && tensor.state() == State::Readable
        && dtypes.contains(&tensor.dtype())
        && tensor.only_component().is_some_and(is_in_rows)
}

/// Returns whether a group may have `found`, the tensor with the name of a tensor that some groups of a convention have and
/// others do not: there is no such tensor, or it is a dense tensor of `dtype`. A tensor of another dtype changes the values in a
/// way that zten does not know, so values that are computed without it would be wrong.
fn is_known(found: Option<&Tensor<'_>>, dtype: DType) -> bool {
    found.is_none_or(|tensor| is_plain(tensor, &[dtype]))
}

/// Returns whether `scale` has fewer elements than `data` has groups of 16 codes, of which each byte of `data` holds two.
fn too_few(scale: &Tensor<'_>, data: &Tensor<'_>) -> bool {
    let both = scale.element_count().zip(data.element_count());
    both.is_some_and(|(scales, bytes)| scales < bytes >> 3)
}

/// Splits a shape into its outer dimensions, its rows and its columns. Returns `None` if it has fewer than two dimensions.
fn matrix(shape: &[u64]) -> Option<(&[u64], u64, u64)> {
    let (last, rest) = shape.split_last()?;
    let (rows, outer) = rest.split_last()?;
    Some((outer, *rows, *last))
}

impl<'a, 's> Finder<'a, 's> {
    /// Creates a search in `manifest`. Content is read from `source`, except for the tensor whose ordinal and content are `given`.
    pub(super) fn new(
        manifest: ManifestRef<'a>,
        source: Option<&'s dyn Source>,
        given: Option<(u32, &'s [u8])>,
    ) -> Self {
        Self { manifest, source, given, contradiction: None, name: String::new() }
    }

    /// Notes that `tensor` contradicts the others of its group: `what` says how. Returns `None`, as there is no group then.
    fn contradicts(
        &mut self,
        convention: Convention,
        tensor: &Tensor<'_>,
        what: &'static str,
    ) -> Option<TensorGroup> {
        self.contradiction = Some(Contradiction { convention, ordinal: tensor.ordinal(), what });
        None
    }

    /// Returns the group of `tensor`, whose name is `stem` followed by the end that `anchor` has. Returns `None` if other tensors
    /// are missing, or have other dtypes or shapes than the convention says. If the tensors contradict each other, also sets
    /// `contradiction`.
    pub(super) fn group_of(
        &mut self,
        anchor: Anchor,
        stem: &str,
        tensor: &Tensor<'_>,
    ) -> Result<Option<TensorGroup>, Error> {
        match anchor {
            Anchor::Blocks => self.mxfp4(stem, tensor),
            Anchor::ScaleInv => self.scaled(stem, tensor),
            Anchor::Packed => self.packed(stem, tensor),
            Anchor::Scale => self.scaled_or_nvfp4(stem, tensor),
            Anchor::Qweight => self.qweight(stem, tensor),
            Anchor::Nf4 => self.bnb4(Convention::Nf4, stem, tensor),
            Anchor::Fp4 => self.bnb4(Convention::Fp4, stem, tensor),
            Anchor::Scb => self.bnb8(stem, tensor),
            Anchor::Biases => self.mlx(stem, tensor),
        }
    }

    /// Returns the tensor whose name is `stem` followed by `suffix`, if there is one and [`is_plain`] accepts it with one of
    /// `dtypes`.
    fn get(
        &mut self,
        stem: &str,
        suffix: &str,
        dtypes: &[DType],
    ) -> Result<Option<Tensor<'a>>, OutOfMemory> {
        let tensor = self.any(stem, suffix)?;
        Ok(tensor.filter(|tensor| is_plain(tensor, dtypes)))
    }

    /// Returns the tensor whose name is `stem` followed by `suffix`, or `None` if there is no such tensor.
    fn any(&mut self, stem: &str, suffix: &str) -> Result<Option<Tensor<'a>>, OutOfMemory> {
        self.name.clear();
        let length = stem.len().saturating_add(suffix.len());
        self.name.try_reserve(length).map_err(|_| OutOfMemory)?;
        self.name.push_str(stem);
        self.name.push_str(suffix);
        Ok(self.manifest.get(&self.name))
    }

    /// Makes a group called `stem` followed by `suffix`, whose shape is `outer` followed by `inner`. Returns `None` if a tensor
    /// that is no member has this name, if the rank or the number of members exceeds a limit, and if the group would have no
    /// elements or more than 64 bits count.
    fn group(
        &mut self,
        (stem, suffix): (&str, &str),
        (outer, inner): (&[u64], &[u64]),
        form: QuantizedForm,
        tensors: &[Option<(&'static str, &Tensor<'_>)>],
    ) -> Result<Option<TensorGroup>, Error> {
        let named = self.any(stem, suffix)?.map(|tensor| tensor.ordinal());
        let (mut members, mut shape) = (Vec::new(), Vec::new());
        members.try_reserve_exact(tensors.len()).map_err(|_| OutOfMemory)?;
        members.extend(tensors.iter().flatten().map(|(role, tensor)| (*role, tensor.ordinal())));
        if named.is_some_and(|named| !members.iter().any(|(_, ordinal)| *ordinal == named)) {
            return Ok(None);
        }
        let rank = outer.len().saturating_add(inner.len());
        let limits = self.manifest.options().limit();
        // A limit on the content of a file must not keep the file itself from opening.
        let exceeds = |count: usize, limit: u32| u64_from_usize(count) > limit.into();
        if exceeds(rank, limits.rank()) || exceeds(members.len(), limits.keys()) {
            return Ok(None);
        }
        shape.try_reserve_exact(rank).map_err(|_| OutOfMemory)?;
        shape.extend(outer.iter().chain(inner));
        // A quantized tensor without elements is not joined with its scales into one tensor, because the scales would have
        // nothing to scale.
        let elements = shape.iter().try_fold(1_u64, |all, next| all.checked_mul(*next));
        if elements.is_none_or(|elements| elements == 0) {
            return Ok(None);
        }
        let Some(first) = members.iter().map(|(_, ordinal)| *ordinal).min() else {
            return Ok(None);
        };
        let name = core::mem::take(&mut self.name);
        Ok(Some(TensorGroup { name, shape, form, nested: None, members, first }))
    }

    fn mxfp4(&mut self, stem: &str, blocks: &Tensor<'_>) -> Result<Option<TensorGroup>, Error> {
        let Some(scales) = self.get(stem, "_scales", &[DType::U8])? else { return Ok(None) };
        let Some((16, groups)) =
            blocks.shape().split_last().filter(|_| is_plain(blocks, &[DType::U8]))
        else {
            return Ok(None);
        };
        let Some((last, outer)) = groups.split_last() else { return Ok(None) };
        if groups != scales.shape() {
            let what = "the shape of the scales is not the shape of the blocks without their last dimension";
            return Ok(self.contradicts(Convention::Mxfp4, &scales, what));
        }
        let Some(columns) = last.checked_mul(32) else { return Ok(None) };
        let form = QuantizedForm::new(Convention::Mxfp4, 4, 32);
        let members = [Some(("blocks", blocks)), Some(("scales", &scales))];
        self.group((stem, ""), (outer, &[columns]), form, &members)
    }

    fn scaled_or_nvfp4(
        &mut self,
        stem: &str,
        scale: &Tensor<'_>,
    ) -> Result<Option<TensorGroup>, Error> {
        if !is_plain(scale, &[DType::F8E4M3Fn]) {
            return self.scaled(stem, scale);
        }
        let modelopt =
            self.get(stem, "", &[DType::U8])?.zip(self.get(stem, "_scale_2", &[DType::F32])?);
        let Some((data, second)) = modelopt else { return Ok(None) };
        self.nvfp4(stem, [("data", &data), ("scale", scale), ("scale_2", &second)])
    }

    fn nvfp4(
        &mut self,
        stem: &str,
        members: [(&'static str, &Tensor<'_>); 3],
    ) -> Result<Option<TensorGroup>, Error> {
        let [(_, data), (_, scale), (_, second)] = members;
        let both = data.shape().split_last().zip(scale.shape().split_last());
        let Some(((half, outer), (groups, other))) = both else { return Ok(None) };
        let columns =
            half.checked_mul(2).filter(|columns| groups.checked_mul(16) == Some(*columns));
        match columns {
            Some(columns) if outer == other && second.element_count() == Some(1) => {
                let form = QuantizedForm::new(Convention::Nvfp4, 4, 16);
                self.group((stem, ""), (outer, &[columns]), form, &members.map(Some))
            }
            // Programs may add scales as padding for a processor, but no program stores fewer scales than there are groups.
            _ if too_few(scale, data) => {
                let what = "there are fewer scales than groups of 16 codes";
                Ok(self.contradicts(Convention::Nvfp4, scale, what))
            }
            _ => Ok(None),
        }
    }

    /// Finds the group of FP8 elements or 8-bit integers called `stem`, whose scales are the floats `scale`.
    fn scaled(&mut self, stem: &str, scale: &Tensor<'_>) -> Result<Option<TensorGroup>, Error> {
        let Some(data) = self.any(stem, "")?.filter(|data| data.ordinal() != scale.ordinal())
        else {
            return Ok(None);
        };
        let is_fp8 = is_plain(&data, &FP8);
        if !is_plain(scale, &FLOATS) || !is_fp8 && !is_plain(&data, &[DType::I8]) {
            return Ok(None);
        }
        let role = if scale.name().ends_with("_inv") { "scale_inv" } else { "scale" };
        let Some((outer, rows, columns)) = matrix(data.shape()) else { return Ok(None) };
        let zero = self.any(stem, "_zero_point")?;
        let has_known_zero = zero.is_none_or(|zero| {
            !is_fp8 && is_plain(&zero, &[DType::I8]) && zero.shape() == scale.shape()
        });
        // If there is a tensor `_g_idx`, it assigns the columns to groups in another order than that of the columns, which
        // zten does not read for these conventions.
        if !has_known_zero || self.any(stem, "_g_idx")?.is_some() {
            return Ok(None);
        }
        let own = if is_fp8 { Convention::Fp8 } else { Convention::Int8 };
        let group = |scale: &[u64]| -> Option<(Convention, u64)> {
            // A single scale for the tensor, or a scale for each row, makes no groups: the group size is 0.
            let count = scale.iter().try_fold(1_u64, |all, next| all.checked_mul(*next))?;
            if count == 1 {
                return Some((own, 0));
            }
            if outer.is_empty() && count == rows && (scale == [rows] || scale == [rows, 1]) {
                return Some((own, 0));
            }
            let (other, high, wide) = matrix(scale)?;
            if other != outer || wide == 0 {
                return None;
            }
            if high == rows {
                return divide_exactly(columns, wide)
                    .map(|size| (own, if wide == 1 { 0 } else { size }));
            }
            let is_block =
                |size: &u64| rows.div_ceil(*size) == high && columns.div_ceil(*size) == wide;
            let size = FP8_BLOCKS.into_iter().find(is_block).filter(|_| is_fp8)?;
            Some((Convention::Fp8Block, size))
        };
        let Some((convention, size)) = group(scale.shape()) else {
            // Whether scales of another shape are wrong is unknown for a stack of matrices, whose scales have many shapes,
            // and for blocks of a size that `FP8_BLOCKS` does not list.
            let is_number_of_blocks = |size: u64, count: u64| {
                let block = size.checked_div(count).map(|_| size.div_ceil(count.max(1)).max(1));
                block.is_some_and(|block| size.div_ceil(block) == count)
            };
            let &[high, wide] = scale.shape() else { return Ok(None) };
            let has_blocks = is_number_of_blocks(rows, high) && is_number_of_blocks(columns, wide);
            // vLLM saves weights that have a scale for each row transposed, so their scales are as many as the columns.
            let is_transposed = (high, wide) == (columns, 1);
            if !outer.is_empty() || has_blocks || is_transposed {
                return Ok(None);
            }
            let what = "the number of scales fits neither the rows nor blocks of the elements";
            return Ok(self.contradicts(own, scale, what));
        };
        let form = QuantizedForm::new(convention, 8, size);
        let zero = zero.as_ref().map(|zero| ("zero_point", zero));
        let members = [Some(("data", &data)), Some((role, scale)), zero];
        self.group((stem, ""), (data.shape(), &[]), form, &members)
    }

    /// Finds a group of compressed-tensors, whose codes are the tensor `packed` with a name that ends in `_packed`.
    fn packed(&mut self, stem: &str, packed: &Tensor<'_>) -> Result<Option<TensorGroup>, Error> {
        if is_plain(packed, &[DType::U8]) {
            let scale = self.get(stem, "_scale", &[DType::F8E4M3Fn])?;
            let Some((scale, global)) =
                scale.zip(self.get(stem, "_global_scale", &[DType::F32])?)
            else {
                return Ok(None);
            };
            return self
                .nvfp4(stem, [("data", packed), ("scale", &scale), ("global_scale", &global)]);
        }
        let scale = self.get(stem, "_scale", &FLOATS)?;
        let shape = self.get(stem, "_shape", &[DType::I64, DType::I32])?;
        let Some((scale, shape)) = scale.zip(shape).filter(|_| is_plain(packed, &[DType::I32]))
        else {
            return Ok(None);
        };
        let (index, zero) = (self.any(stem, "_g_idx")?, self.any(stem, "_zero_point")?);
        // Only `i32` is read. Old releases of compressed-tensors stored zero points as `i8`, in another form.
        if !is_known(index.as_ref(), DType::I32) || !is_known(zero.as_ref(), DType::I32) {
            return Ok(None);
        }
        let Some([rows, columns]) = self.stored_shape(&shape)? else { return Ok(None) };
        let wrong = "the stored shape does not fit the shapes of the codes and scales";
        let (&[high, words], &[scale_rows, groups]) = (packed.shape(), scale.shape()) else {
            return Ok(None);
        };
        // The number of bits is not stored, so it is inferred from the number of words in a row. Dense packing is tried first and
        // whole codes in each word second, with the usual sizes first. Codes of 7 bits in whole words are not tried, because they
        // take the same room as codes of 8 bits.
        let dense =
            |bits: &u64| columns.checked_mul(*bits).map(|all| all.div_ceil(32)) == Some(words);
        let whole =
            |bits: &u64| columns.div_ceil(32_u64.checked_div(*bits).unwrap_or(1).max(1)) == words;
        let bits = [4, 8, 2, 3, 5, 6, 7, 1].into_iter().find(dense);
        if bits.is_none() && zero.is_some() {
            // The releases of compressed-tensors that put whole codes in each word packed zero points in this way, too,
            // which zten does not read.
            return Ok(None);
        }
        let bits = bits.or_else(|| [3, 5, 6].into_iter().find(whole));
        let (Some(bits), Some(size)) = (bits, divide_exactly(columns, groups)) else {
            return Ok(self.contradicts(Convention::Packed, &shape, wrong));
        };
        let zero_words = rows.checked_mul(bits).map(|all| all.div_ceil(32));
        let zeros_fit =
            |zero: &Tensor<'_>| zero_words.is_some_and(|words| zero.shape() == [words, groups]);
        let index_fits = |index: &Tensor<'_>| index.shape() == [columns];
        if high != rows
            || scale_rows != rows
            || !zero.as_ref().is_none_or(zeros_fit)
            || !index.as_ref().is_none_or(index_fits)
        {
            return Ok(self.contradicts(Convention::Packed, &shape, wrong));
        }
        let form = QuantizedForm::new(Convention::Packed, bits, if groups == 1 { 0 } else { size });
        let zero = zero.as_ref().map(|zero| ("zero_point", zero));
        let index = index.as_ref().map(|index| ("g_idx", index));
        let (data, scale) = (Some(("data", packed)), Some(("scale", &scale)));
        let members = [data, scale, Some(("shape", &shape)), zero, index];
        self.group((stem, ""), (&[rows, columns], &[]), form, &members)
    }

    /// Returns the two numbers that are the content of `shape`. Returns `None` if the content is something else, or cannot be read.
    fn stored_shape(&self, shape: &Tensor<'_>) -> Result<Option<[u64; 2]>, Error> {
        let Some(bytes) = self.content(shape)? else { return Ok(None) };
        let width = bytes.len().checked_div(2).filter(|_| shape.shape() == [2]);
        let numbers = bytes.chunks_exact(width.unwrap_or(1).max(1)).map(|bytes| {
            let mut wide = [0; 8];
            wide.iter_mut().zip(bytes).for_each(|(wide, byte)| *wide = *byte);
            u64::from_le_bytes(wide)
        });
        let mut numbers = numbers.filter(|number| i64::try_from(*number).is_ok());
        Ok(numbers.next().zip(numbers.next()).map(|(rows, columns)| [rows, columns]))
    }

    /// Reads the whole content of a small tensor, or copies it if it was given. Returns `None` without a source, or if the content
    /// has more than [`MOST_STATE`] bytes or cannot be read.
    fn content(&self, tensor: &Tensor<'_>) -> Result<Option<Vec<u8>>, Error> {
        let mut bytes = Vec::new();
        if let Some((_, given)) = self.given.filter(|(ordinal, _)| *ordinal == tensor.ordinal()) {
            bytes.try_reserve_exact(given.len()).map_err(|_| OutOfMemory)?;
            bytes.extend_from_slice(given);
            return Ok(Some(bytes));
        }
        let Some(source) = self.source else { return Ok(None) };
        let tensor = tensor.read_from(source);
        let Some(data) = tensor.component("data") else { return Ok(None) };
        if data.decoded_length().is_none_or(|length| length > MOST_STATE) {
            return Ok(None);
        }
        let Ok(mut reader) = data.reader() else { return Ok(None) };
        loop {
            match reader.next_chunk() {
                Ok(Some(chunk)) => {
                    bytes.try_reserve(chunk.len()).map_err(|_| OutOfMemory)?;
                    bytes.extend_from_slice(chunk);
                }
                Ok(None) => return Ok(Some(bytes)),
                Err(_) => return Ok(None),
            }
        }
    }

    /// Finds a group of GPTQ or AWQ, whose codes are `words`. The scales of GPTQ have as many columns as `words`, the scales of AWQ
    /// eight times as many.
    fn qweight(&mut self, stem: &str, words: &Tensor<'_>) -> Result<Option<TensorGroup>, Error> {
        let scales = self.get(stem, ".scales", &FLOATS)?;
        let zeros = self.get(stem, ".qzeros", &[DType::I32])?;
        let index = self.any(stem, ".g_idx")?;
        let has_known = is_plain(words, &[DType::I32]) && is_known(index.as_ref(), DType::I32);
        let Some((scales, zeros)) = scales.zip(zeros).filter(|_| has_known) else {
            return Ok(None);
        };
        let (&[high, wide], &[groups, outputs], &[zero_rows, zero_words]) =
            (words.shape(), scales.shape(), zeros.shape())
        else {
            return Ok(None);
        };
        let found = if outputs == wide {
            // Each word has 32 bits. A row of zero points has one code for each output, so its number of words gives the bits of
            // a code.
            let bits = zero_words.checked_mul(32).and_then(|all| divide_exactly(all, outputs));
            let inputs = bits.and_then(|bits| divide_exactly(high.checked_mul(32)?, bits));
            bits.zip(inputs).map(|(bits, inputs)| (Convention::Gptq, bits, inputs))
        } else {
            let is_awq =
                wide.checked_mul(8) == Some(outputs) && zero_words == wide && index.is_none();
            is_awq.then_some((Convention::Awq, 4, high))
        };
        // The version `gemv` of AutoAWQ has codes and scales for each output. vLLM saves codes of 4 or 8 bits in the order of its
        // kernel Marlin, whose words hold the codes of 16 inputs. Neither is one of these conventions.
        let is_marlin = [2, 4].into_iter().any(|words| outputs.checked_mul(words) == Some(wide));
        if found.is_none() && (high == groups || is_marlin) {
            return Ok(None);
        }
        let what = "the shape of the codes does not fit the shapes of the zero points, the scales and the order of the rows";
        let Some((convention, bits, inputs)) = found else {
            return Ok(self.contradicts(Convention::Gptq, words, what));
        };
        let size = if groups == 0 { 0 } else { inputs.div_ceil(groups) };
        let fits = matches!(bits, 2 | 3 | 4 | 8)
            && zero_rows == groups
            && size > 0
            && inputs.div_ceil(size) == groups
            && index.as_ref().is_none_or(|index| index.shape() == [inputs]);
        if !fits {
            return Ok(self.contradicts(convention, words, what));
        }
        let form = QuantizedForm::new(convention, bits, size);
        let index = index.as_ref().map(|index| ("g_idx", index));
        let members =
            [Some(("qweight", words)), Some(("scales", &scales)), Some(("qzeros", &zeros)), index];
        self.group((stem, ".weight"), (&[inputs, outputs], &[]), form, &members)
    }

    /// Finds a group of bitsandbytes with codes of 4 bits. `state` holds its shape and the size of its blocks.
    fn bnb4(
        &mut self,
        convention: Convention,
        stem: &str,
        state: &Tensor<'_>,
    ) -> Result<Option<TensorGroup>, Error> {
        let data = self.get(stem, "", &[DType::U8])?;
        let absmax = self.get(stem, ".absmax", &[DType::F32, DType::U8])?;
        let map = self.get(stem, ".quant_map", &[DType::F32])?;
        let nested = self.get(stem, ".nested_absmax", &[DType::F32])?;
        let nested_map = self.get(stem, ".nested_quant_map", &[DType::F32])?;
        let (Some(data), Some(absmax), Some(map)) = (data, absmax, map) else { return Ok(None) };
        if !is_plain(state, &[DType::U8]) {
            return Ok(None);
        }
        let Some(bytes) = self.content(state)? else { return Ok(None) };
        let what = "the stored block size and shape do not fit the codes and scales";
        let Some(quant) = QuantState::read(&bytes)? else {
            return Ok(self.contradicts(convention, state, what));
        };
        let elements = quant.shape.iter().try_fold(1_u64, |all, next| all.checked_mul(*next));
        let Some(elements) = elements else {
            return Ok(self.contradicts(convention, state, what));
        };
        let blocks = elements.div_ceil(quant.blocksize.max(1));
        let nested_fits = nested.as_ref().is_none_or(|nested| {
            let count = blocks.checked_div(quant.nested_blocksize);
            count.is_some()
                && nested.element_count() == Some(blocks.div_ceil(quant.nested_blocksize))
        });
        let map_fits = nested_map.as_ref().is_none_or(|map| map.shape() == [256]);
        let fits = nested_fits
            && map_fits
            && quant.blocksize > 0
            && quant.blocksize.is_multiple_of(2)
            && data.element_count() == Some(elements.div_ceil(2))
            && absmax.element_count() == Some(blocks)
            && map.shape() == [16]
            && (absmax.dtype() == DType::U8) == nested.is_some()
            && nested.is_some() == nested_map.is_some();
        if !fits {
            return Ok(self.contradicts(convention, state, what));
        }
        let form = QuantizedForm::new(convention, 4, quant.blocksize);
        let members = [
            Some(("data", &data)),
            Some(("absmax", &absmax)),
            Some(("quant_map", &map)),
            nested.as_ref().map(|nested| ("nested_absmax", nested)),
            nested_map.as_ref().map(|nested| ("nested_quant_map", nested)),
            Some(("quant_state", state)),
        ];
        let group = self.group((stem, ""), (&quant.shape, &[]), form, &members)?;
        let scales = NestedScales { size: quant.nested_blocksize, offset: quant.nested_offset };
        let nested = nested.map(|_| scales);
        Ok(group.map(|group| TensorGroup { nested, ..group }))
    }

    fn bnb8(&mut self, stem: &str, scales: &Tensor<'_>) -> Result<Option<TensorGroup>, Error> {
        let Some(data) = self.get(stem, ".weight", &[DType::I8])? else { return Ok(None) };
        let format = self.any(stem, ".weight_format")?;
        let is_number = |format: &Tensor<'_>| format.element_count() == Some(1);
        if !is_known(format.as_ref(), DType::U8) || !format.as_ref().is_none_or(is_number) {
            return Ok(None);
        }
        let is_one_a_row = matches!(data.shape(), &[rows, _] if scales.shape() == [rows]);
        if !is_plain(scales, &[DType::F32]) || data.shape().len() != 2 {
            return Ok(None);
        }
        let rows = data.shape().first().copied();
        if !is_one_a_row && scales.element_count() == rows {
            return Ok(None);
        }
        if !is_one_a_row {
            let what = "the number of scales is not the number of rows";
            return Ok(self.contradicts(Convention::Bnb8, scales, what));
        }
        let form = QuantizedForm::new(Convention::Bnb8, 8, 0);
        let format = format.as_ref().map(|format| ("weight_format", format));
        let members = [Some(("data", &data)), Some(("SCB", scales)), format];
        self.group((stem, ".weight"), (data.shape(), &[]), form, &members)
    }

    fn mlx(&mut self, stem: &str, biases: &Tensor<'_>) -> Result<Option<TensorGroup>, Error> {
        let data = self.get(stem, ".weight", &[DType::U32])?;
        let Some((data, scales)) = data.zip(self.get(stem, ".scales", &FLOATS)?) else {
            return Ok(None);
        };
        if !is_plain(biases, &[scales.dtype()]) {
            return Ok(None);
        }
        let fits = biases.shape() == scales.shape();
        let both = data.shape().split_last().zip(scales.shape().split_last());
        let Some(((words, outer), (groups, _))) =
            both.filter(|((_, one), (_, other))| fits && one == other)
        else {
            let what =
                "the biases do not have the shape of the scales, or not the rows of the codes";
            return Ok(self.contradicts(Convention::Mlx, biases, what));
        };
        // A group has bits × group size / 32 words. Several pairs of bits and group size have the same product, so the usual
        // group sizes are tried first.
        let ratio = divide_exactly(*words, *groups).and_then(|ratio| ratio.checked_mul(32));
        let pair = ratio.and_then(|ratio| {
            [64, 32, 128].into_iter().find_map(|size| {
                let bits = divide_exactly(ratio, size)?;
                matches!(bits, 2 | 3 | 4 | 5 | 6 | 8).then_some((bits, size))
            })
        });
        let columns = pair.and_then(|(_, size)| groups.checked_mul(size));
        let Some(((bits, size), columns)) = pair.zip(columns) else { return Ok(None) };
        let form = QuantizedForm::new(Convention::Mlx, bits, size);
        let members = [Some(("data", &data)), Some(("scales", &scales)), Some(("biases", biases))];
        self.group((stem, ".weight"), (outer, &[columns]), form, &members)
    }
}

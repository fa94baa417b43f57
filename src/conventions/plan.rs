//! What is computed for a group: the record that a [`Dequantizer`](super::Dequantizer) follows.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::codes::row_bytes;
use super::{Convention, NestedScales, QuantizedForm};
use crate::element::{DType, F4E2M1, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0};
use crate::error::{Error, OutOfMemory};
use crate::manifest::{Component, Tensor};
use half::{bf16, f16};

/// The order of codes that are packed along the columns of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The bits of the codes follow each other, from the lowest bit of the first byte on. A code may be in two words.
    Stream,
    /// Each word of 32 bits holds as many whole codes as it can, the first one in its lowest bits.
    Words,
    /// Each word holds eight codes of 4 bits in the order of AWQ.
    Awq,
}

/// How stored codes become numbers, before scales and zero points are applied.
#[derive(Debug)]
pub(super) enum Codes {
    /// Two codes in each byte. `table` has the number for each code.
    Nibbles { table: [f32; 16], high_first: bool },
    /// One code in each byte. The table has the number for each code.
    Bytes(Box<[f32; 256]>),
    /// Unsigned codes. The words of a row hold the codes of that row.
    Rows { order: Order, bits: u8 },
    /// Unsigned codes. A word holds the codes of several rows in one column: see [`unpack_columns`](super::codes::unpack_columns).
    Columns(ColumnPacking),
}

/// How codes are packed along the rows: the codes of a column follow each other in the words of that column, from the lowest bit
/// on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ColumnPacking {
    /// The number of bits of a code: 1 to 8.
    pub(super) bits: u8,
    /// The number of bits of a word: 8 or 32.
    pub(super) word: u8,
}

impl ColumnPacking {
    /// Creates a packing in words of 32 bits.
    pub(super) fn words(bits: u8) -> Self {
        Self { bits, word: 32 }
    }

    /// Returns the smallest number of rows whose codes fill whole words.
    pub(super) fn unit(self) -> u64 {
        // A word has 2^n bits, so the unit is that number divided by the largest power of 2 that divides the bits of a code.
        let both = self.bits.trailing_zeros().min(self.word.trailing_zeros());
        u64::from(self.word).wrapping_shr(both)
    }
}

/// The type of scales and of other numbers that are not codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    F32,
    F16,
    Bf16,
    E8M0,
    E4M3,
    I8,
    U8,
}

impl Number {
    /// Returns the type of the numbers of `component`, or `None` for a dtype that no convention uses for such numbers. Bytes that
    /// are exponents (E8M0) are returned as `U8`.
    pub(super) fn of(component: &Component<'_>) -> Option<Self> {
        Some(match component.dtype() {
            DType::F32 => Self::F32,
            DType::F16 => Self::F16,
            DType::BF16 => Self::Bf16,
            DType::F8E4M3Fn => Self::E4M3,
            DType::I8 => Self::I8,
            DType::U8 => Self::U8,
            _ => return None,
        })
    }

    /// Returns the size in bytes of one stored number of this type.
    pub(super) fn width(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::E8M0 | Self::E4M3 | Self::I8 | Self::U8 => 1,
        }
    }

    /// Appends the numbers in `bytes` to `out`.
    pub(super) fn widen(self, bytes: &[u8], out: &mut Vec<f32>) -> Result<(), OutOfMemory> {
        out.try_reserve(bytes.len()).map_err(|_| OutOfMemory)?;
        let (words, _) = bytes.as_chunks::<4>();
        let (halves, _) = bytes.as_chunks::<2>();
        let signed = |byte: &u8| f32::from(byte.cast_signed());
        match self {
            Self::F32 => out.extend(words.iter().map(|bytes| f32::from_le_bytes(*bytes))),
            Self::F16 => out.extend(halves.iter().map(|bytes| f16::from_le_bytes(*bytes).to_f32())),
            Self::Bf16 => {
                out.extend(halves.iter().map(|bytes| bf16::from_le_bytes(*bytes).to_f32()));
            }
            Self::E8M0 => out.extend(bytes.iter().map(|bits| F8E8M0::from_bits(*bits).to_f32())),
            Self::E4M3 => out.extend(bytes.iter().map(|bits| F8E4M3Fn::from_bits(*bits).to_f32())),
            Self::I8 => out.extend(bytes.iter().map(signed)),
            Self::U8 => out.extend(bytes.iter().map(|byte| f32::from(*byte))),
        }
        Ok(())
    }
}

/// How zero points, or the biases of MLX, are stored. There is one for each scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Zeros {
    /// Zero points are numbers of this type.
    Numbers(Number),
    /// Zero points are codes of `bits` bits, packed along the columns in this order. `add` is added to each zero point.
    Rows { order: Order, bits: u8, add: f32 },
    /// Zero points are codes of `bits` bits, packed along the rows: the codes of one column follow each other in the words of that
    /// column.
    Columns { bits: u8 },
}

/// How a number and its factors become a value. Each operation is rounded to `f32` by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Formula {
    /// number × scale
    Product,
    /// (number − zero point) × scale
    Difference,
    /// number × scale + bias
    Sum,
    /// number × scale × (1 / 127), as bitsandbytes computes it
    Of127,
}

/// The scales of bitsandbytes if they are quantized, too: scale = map\[code\] × absmax + offset.
#[derive(Debug)]
pub(super) struct Nested<'a> {
    pub(super) map: Vec<f32>,
    /// The component that stores `absmax`, the scales of the scales, as `f32`.
    pub(super) absmax: Component<'a>,
    /// The number of scales that share an `absmax`.
    pub(super) size: u64,
    pub(super) offset: f32,
}

/// One number for the whole tensor, by which each scale is multiplied or divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Global {
    None,
    Times(f32),
    Over(f32),
}

/// What is needed to dequantize a group: its components, whose sizes have been checked against its shape and form.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    /// The number of all values.
    pub(super) elements: u64,
    /// The number of values in a row of the tensor. The last row may be shorter.
    pub(super) columns: u64,
    pub(super) data: Component<'a>,
    pub(super) codes: Codes,
    pub(super) scales: Component<'a>,
    pub(super) scale: Number,
    /// The number of scales in a row of scales.
    pub(super) scale_columns: u64,
    /// The number of successive columns that share a scale.
    pub(super) per_column: u64,
    /// The number of successive rows that share a row of scales. At each multiple of `period`, a new row of scales begins.
    pub(super) per_row: u64,
    /// The number of rows after which a new row of scales begins in any case: the rows of one matrix of a stack.
    pub(super) period: u64,
    pub(super) zeros: Option<(Component<'a>, Zeros)>,
    /// The zero point of all values, if no component stores zero points (`zeros` is `None`).
    pub(super) zero: f32,
    pub(super) formula: Formula,
    pub(super) global: Global,
    pub(super) nested: Option<Nested<'a>>,
    /// The component that stores, for each row of values, the ordinal of its row of scales.
    pub(super) index: Option<Component<'a>>,
    /// The component that stores, for each column of values, the ordinal of its column of scales.
    pub(super) column_index: Option<Component<'a>>,
}

/// Returns the row of scales to which `entry`, a number in an index of `count` rows, refers. A negative number counts from the
/// end, as in PyTorch. Returns `None` if there is no such row.
pub(super) fn row_of(entry: [u8; 4], count: u64) -> Option<u64> {
    let entry = i32::from_le_bytes(entry);
    let distance = u64::from(entry.unsigned_abs());
    let row = if entry < 0 { count.checked_sub(distance) } else { Some(distance) };
    row.filter(|row| *row < count)
}

/// Returns the value of each of the 16 codes of FP4 (E2M1), indexed by code.
fn e2m1() -> [f32; 16] {
    let mut table = [0.0; 16];
    table.iter_mut().zip(0..).for_each(|(slot, bits)| *slot = F4E2M1::from_bits(bits).to_f32());
    table
}

/// Returns the table with the value of each byte of `dtype`, or `None` if the dtype has no such table.
fn bytes_of(dtype: DType) -> Option<Codes> {
    let number: fn(u8) -> f32 = match dtype {
        DType::F8E4M3Fn => |bits| F8E4M3Fn::from_bits(bits).to_f32(),
        DType::F8E5M2 => |bits| F8E5M2::from_bits(bits).to_f32(),
        DType::F8E4M3Fnuz => |bits| F8E4M3Fnuz::from_bits(bits).to_f32(),
        DType::F8E5M2Fnuz => |bits| F8E5M2Fnuz::from_bits(bits).to_f32(),
        DType::I8 => |bits| f32::from(bits.cast_signed()),
        _ => return None,
    };
    let mut table = [0.0; 256];
    table.iter_mut().zip(0..=u8::MAX).for_each(|(slot, bits)| *slot = number(bits));
    Some(Codes::Bytes(Box::new(table)))
}

impl<'a> Plan<'a> {
    /// Returns the plan of `tensor`. Returns `None` if it is no group, or if a component has another size or type than the
    /// convention says.
    ///
    /// # Errors
    /// The errors of [`Component::reader`], if numbers that are the same for the whole tensor are read; out of memory.
    pub(super) fn of(tensor: &Tensor<'a>) -> Result<Option<Self>, Error> {
        let Some(form) = QuantizedForm::of(tensor) else { return Ok(None) };
        let parts = UncheckedGroup { tensor: *tensor, form };
        // Old releases of bitsandbytes could store weights in the order that a kernel needs. They stored the number of the
        // order as `weight_format`: 0 is row-major order, and zten reads no other.
        if parts.numbers("weight_format")?.is_some_and(|format| format != [0.0]) {
            return Ok(None);
        }
        let Some(plan) = parts.plan()? else { return Ok(None) };
        Ok(if plan.has_sizes() == Some(true) { Some(plan) } else { None })
    }

    /// Returns the number of rows of values.
    pub(super) fn rows(&self) -> u64 {
        self.elements.div_ceil(self.columns.max(1))
    }
}

/// A group whose components have not been checked.
struct UncheckedGroup<'a> {
    tensor: Tensor<'a>,
    form: QuantizedForm,
}

impl<'a> UncheckedGroup<'a> {
    fn get(&self, role: &str) -> Option<Component<'a>> {
        self.tensor.component(role)
    }

    /// Reads the component `role` as `f32` numbers. Returns `None` if the tensor has no such component, if its type is not a
    /// [`Number`], or if its decoded length is unknown or above 64 KiB.
    fn numbers(&self, role: &str) -> Result<Option<Vec<f32>>, Error> {
        let Some(component) = self.get(role) else { return Ok(None) };
        let (Some(number), Some(length)) = (Number::of(&component), component.decoded_length())
        else {
            return Ok(None);
        };
        let mut out = Vec::new();
        if length > 1 << 16 {
            return Ok(None);
        }
        let mut reader = component.reader()?;
        while let Some(chunk) = reader.next_chunk()? {
            number.widen(chunk, &mut out)?;
        }
        Ok(Some(out))
    }

    /// Builds the plan for dequantizing this tensor from its components. Returns `None` if a component is missing or has the wrong
    /// type. The sizes of the components are not checked here: see `Plan::has_sizes`.
    fn plan(&self) -> Result<Option<Plan<'a>>, Error> {
        let QuantizedForm { convention, bits, group_size } = self.form;
        let shape = self.tensor.shape();
        let Some(elements) = self.tensor.element_count() else { return Ok(None) };
        let columns = shape.last().copied().unwrap_or(1);
        let rows = elements.checked_div(columns).unwrap_or(0);
        let whole = if group_size == 0 { columns.max(1) } else { group_size };
        let basic = |data: &str, codes: Codes, scales: Component<'a>| {
            let scale = Number::of(&scales)?;
            Some(Plan {
                elements,
                columns,
                data: self.get(data)?,
                codes,
                scales,
                scale,
                scale_columns: columns.div_ceil(whole),
                per_column: whole,
                per_row: 1,
                period: rows,
                zeros: None,
                zero: 0.0,
                formula: Formula::Product,
                global: Global::None,
                nested: None,
                index: None,
                column_index: None,
            })
        };
        let zeros = |role: &str, form: Zeros| self.get(role).map(|zeros| (zeros, form));
        let dtype = self.get("data").map(|data| data.dtype());
        let scales = ["scale", "scale_inv", "scales", "absmax", "SCB"];
        let Some(scales) = scales.into_iter().find_map(|role| self.get(role)) else {
            return Ok(None);
        };
        let plan = match convention {
            Convention::Mxfp4 => {
                basic("blocks", Codes::Nibbles { table: e2m1(), high_first: false }, scales)
                    .map(|plan| Plan { scale: Number::E8M0, ..plan })
            }
            Convention::Nvfp4 => {
                let codes = Codes::Nibbles { table: e2m1(), high_first: false };
                let one = |numbers: Option<Vec<f32>>| numbers.and_then(|all| all.first().copied());
                let global =
                    match (one(self.numbers("scale_2")?), one(self.numbers("global_scale")?)) {
                        (Some(scale), None) => Global::Times(scale),
                        (None, Some(scale)) => Global::Over(scale),
                        _ => return Ok(None),
                    };
                basic("data", codes, scales).map(|plan| Plan { global, ..plan })
            }
            Convention::Fp8 | Convention::Int8 | Convention::Fp8Block | Convention::Bnb8 => {
                let Some(codes) = dtype.and_then(bytes_of) else { return Ok(None) };
                basic("data", codes, scales).map(|plan| self.scaled(plan))
            }
            Convention::Gptq => {
                basic("qweight", Codes::Columns(ColumnPacking::words(bits)), scales).map(|plan| {
                    Plan {
                        zeros: zeros(
                            "qzeros",
                            Zeros::Rows { order: Order::Stream, bits, add: 1.0 },
                        ),
                        index: self.get("g_idx"),
                        formula: Formula::Difference,
                        scale_columns: columns,
                        per_column: 1,
                        per_row: group_size.max(1),
                        ..plan
                    }
                })
            }
            Convention::Awq => basic("qweight", Codes::Rows { order: Order::Awq, bits: 4 }, scales)
                .map(|plan| Plan {
                    zeros: zeros("qzeros", Zeros::Rows { order: Order::Awq, bits: 4, add: 0.0 }),
                    formula: Formula::Difference,
                    scale_columns: columns,
                    per_column: 1,
                    per_row: group_size.max(1),
                    ..plan
                }),
            Convention::Packed => {
                let order = self.packed_order(rows, columns);
                basic("data", Codes::Rows { order, bits }, scales).map(|plan| Plan {
                    zeros: zeros("zero_point", Zeros::Columns { bits }),
                    zero: f32::from(1_u8.wrapping_shl(u32::from(bits).saturating_sub(1))),
                    formula: Formula::Difference,
                    column_index: self.get("g_idx"),
                    ..plan
                })
            }
            Convention::Mlx => basic("data", Codes::Rows { order: Order::Stream, bits }, scales)
                .map(|plan| {
                    let biases = self
                        .get("biases")
                        .and_then(|biases| Some((biases, Zeros::Numbers(Number::of(&biases)?))));
                    Plan { zeros: biases, formula: Formula::Sum, ..plan }
                }),
            Convention::Nf4 | Convention::Fp4 => return self.bnb4(basic, scales),
        };
        Ok(plan)
    }

    /// Returns the order of the codes of a tensor of compressed-tensors with `rows` rows of `columns` codes.
    ///
    /// Older versions of compressed-tensors put only whole codes in each word, so codes of 3, 5, 6 or 7 bits left some bits of
    /// each word unused. Newer versions pack codes densely. The length of the data tells which one wrote the file.
    fn packed_order(&self, rows: u64, columns: u64) -> Order {
        let dense = row_bytes(Order::Stream, self.form.bits, columns);
        let dense = dense.and_then(|row| row.checked_mul(rows));
        let stored = self.get("data").and_then(|data| data.decoded_length());
        if stored == dense { Order::Stream } else { Order::Words }
    }

    /// Completes the `plan` of a tensor of one byte for each element: the scales are for blocks, rows, or the whole tensor.
    fn scaled(&self, plan: Plan<'a>) -> Plan<'a> {
        let QuantizedForm { convention, group_size, .. } = self.form;
        let zeros = self.get("zero_point");
        let zeros = zeros.map(|zeros| (zeros, Zeros::Numbers(Number::I8)));
        let formula = match convention {
            Convention::Bnb8 => Formula::Of127,
            Convention::Int8 if zeros.is_some() => Formula::Difference,
            _ => Formula::Product,
        };
        let plan = Plan { zeros, formula, ..plan };
        if convention == Convention::Fp8Block {
            // In a stack of matrices, a block never reaches from one matrix into the next, so the rows of blocks are counted
            // anew in each matrix.
            let period = self.tensor.shape().iter().rev().nth(1).copied().unwrap_or(1);
            return Plan { per_row: group_size.max(1), period, ..plan };
        }
        let is_single = plan.scales.decoded_length() == Some(plan.scale.width());
        if is_single { Plan { per_row: plan.rows().max(1), ..plan } } else { plan }
    }

    /// Returns the plan of a tensor of bitsandbytes with codes of 4 bits. Its blocks of codes with one scale run through all
    /// elements in row-major order. Returns `None` if a table or a component of nested scales is missing, or has another size or
    /// type.
    fn bnb4(
        &self,
        basic: impl Fn(&str, Codes, Component<'a>) -> Option<Plan<'a>>,
        absmax: Component<'a>,
    ) -> Result<Option<Plan<'a>>, Error> {
        let size = self.form.group_size.max(1);
        let map = self.numbers("quant_map")?;
        let table = map.and_then(|map| <[f32; 16]>::try_from(map).ok());
        let Some(table) = table else { return Ok(None) };
        let map = self.numbers("nested_quant_map")?;
        let absmax_of_scales = self.get("nested_absmax");
        let nested = match (map, absmax_of_scales, NestedScales::of(&self.tensor)) {
            (Some(map), Some(absmax), Some(NestedScales { size, offset })) => {
                Some(Nested { map, absmax, size, offset: narrow(offset) })
            }
            (None, None, None) => None,
            _ => return Ok(None),
        };
        let plan = basic("data", Codes::Nibbles { table, high_first: true }, absmax);
        let plan = plan.map(|plan| Plan {
            columns: size,
            scale_columns: 1,
            per_column: size,
            per_row: 1,
            period: plan.elements.div_ceil(size),
            nested,
            ..plan
        });
        let fits = |plan: &Plan<'_>| match &plan.nested {
            None => plan.scale == Number::F32,
            Some(nested) => {
                let bytes = plan.rows().div_ceil(nested.size).checked_mul(4);
                plan.scale == Number::U8
                    && nested.map.len() == 256
                    && nested.absmax.decoded_length() == bytes
            }
        };
        Ok(plan.filter(fits))
    }
}

/// Rounds `number`, which was read from JSON, to `f32`, the type in which bitsandbytes computes.
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "it rounds")]
fn narrow(number: f64) -> f32 {
    number as f32
}

//! Conversion of small integers between two storage forms: that of the tensors of a convention, and that of the components of a
//! composite object of zTensor.

use alloc::vec::Vec;

use half::f16;

use crate::error::{Error, OutOfMemory};
use crate::num::u64_from_usize;

/// The largest number of codes that are converted at a time. Only whole rows are converted, and rows that share words are converted
/// together. If the smallest number of rows that can be converted has more codes than this, these rows are converted at once.
const PIECE: u64 = 1 << 13;

/// For each of eight successive codes, the offset in bits of the code in a word of AWQ, from the lowest bit of the word on.
const AWQ: [u32; 8] = [0, 16, 4, 20, 8, 24, 12, 28];

/// How a matrix of numbers from 0 to 255 is stored, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodeForm {
    /// One unsigned byte for each number.
    Unsigned,
    /// One signed byte for each number, which is the number − 128.
    Signed,
    /// One little-endian `f16` for each number, which is the number + `add`.
    Halves {
        /// What is added to each number.
        add: u8,
    },
    /// Codes of 2, 4 or 8 bits. Neighbors in a row share a word of 32 bits, the first one in the lowest bits. Each row begins
    /// with a new word, so its last word may have unused bits.
    Rows {
        /// The number of bits of a code.
        bits: u8,
    },
    /// Codes of 4 bits. Eight neighbors in a row share a word of 32 bits, in the order of AWQ.
    Awq,
    /// Codes of 2, 4 or 8 bits. Neighbors in a column share a word of 32 bits, the first one in the lowest bits.
    Columns {
        /// The number of bits of a code.
        bits: u8,
    },
}

/// The error of bytes that the other form cannot hold: a number that is too large, an `f16` that stores no number, or in
/// [`Columns`](CodeForm::Columns) set bits below the last row. Set bits after the last code of a row of [`Rows`](CodeForm::Rows) or
/// [`Awq`](CodeForm::Awq) are no error, and are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lossy;

impl CodeForm {
    /// Returns the number of rows that are stored together, because the codes of a column in these rows share a word. Returns 1 for
    /// forms that do not share words between rows.
    fn unit(self) -> u64 {
        match self {
            Self::Columns { bits } => 32_u64.checked_div(bits.into()).unwrap_or(1).max(1),
            _ => 1,
        }
    }

    /// Returns the number of bytes of `rows` rows of `columns` numbers. Returns `None` if the number exceeds 64 bits.
    pub(crate) fn bytes(self, rows: u64, columns: u64) -> Option<u64> {
        match self {
            Self::Unsigned | Self::Signed => rows.checked_mul(columns),
            Self::Halves { .. } => rows.checked_mul(columns)?.checked_mul(2),
            Self::Rows { bits } => {
                columns.checked_mul(bits.into())?.div_ceil(32).checked_mul(4)?.checked_mul(rows)
            }
            Self::Awq => columns.div_ceil(8).checked_mul(4)?.checked_mul(rows),
            Self::Columns { bits } => {
                rows.checked_mul(bits.into())?.div_ceil(32).checked_mul(columns)?.checked_mul(4)
            }
        }
    }

    /// Fills `numbers`, which are whole rows of `columns` numbers, from their stored form `bytes`.
    fn decode(self, bytes: &[u8], columns: usize, numbers: &mut [u8]) -> Result<(), Lossy> {
        let rows = numbers.chunks_mut(columns.max(1));
        match self {
            Self::Unsigned => numbers.iter_mut().zip(bytes).for_each(|(slot, byte)| *slot = *byte),
            Self::Signed => {
                numbers.iter_mut().zip(bytes).for_each(|(slot, byte)| *slot = *byte ^ 0x80);
            }
            Self::Halves { add } => {
                let (halves, _) = bytes.as_chunks::<2>();
                for (slot, half) in numbers.iter_mut().zip(halves) {
                    let half = f16::from_le_bytes(*half);
                    let is_it = |number: &u8| stored_half(*number, add) == half.to_bits();
                    *slot = whole(half, add).filter(is_it).ok_or(Lossy)?;
                }
            }
            Self::Rows { bits } => {
                let per_byte = usize::from(8_u8.checked_div(bits).unwrap_or(1).max(1));
                let stride = bytes_of_row(bits, columns);
                for (row, bytes) in rows.zip(bytes.chunks(stride)) {
                    for (slots, byte) in row.chunks_mut(per_byte).zip(bytes) {
                        let mut rest = *byte;
                        for slot in slots {
                            *slot = rest & mask(bits);
                            rest = rest.checked_shr(bits.into()).unwrap_or(0);
                        }
                    }
                }
            }
            Self::Awq => {
                for (row, bytes) in rows.zip(bytes.chunks(bytes_of_row(4, columns))) {
                    let (words, _) = bytes.as_chunks::<4>();
                    for (slots, word) in row.chunks_mut(AWQ.len()).zip(words) {
                        for (slot, position) in slots.iter_mut().zip(AWQ) {
                            let [low, ..] = shifted(*word, position).to_le_bytes();
                            *slot = low & mask(4);
                        }
                    }
                }
            }
            Self::Columns { bits } => {
                let (words, _) = bytes.as_chunks::<4>();
                let unit = usize::try_from(self.unit()).unwrap_or(usize::MAX);
                let units = numbers.chunks_mut(columns.saturating_mul(unit).max(1));
                for (rows, words) in units.zip(words.chunks(columns.max(1))) {
                    let mut shift = 0_u32;
                    for row in rows.chunks_mut(columns.max(1)) {
                        for (slot, word) in row.iter_mut().zip(words) {
                            let [low, ..] = shifted(*word, shift).to_le_bytes();
                            *slot = low & mask(bits);
                        }
                        shift = shift.saturating_add(bits.into());
                    }
                    // If the last rows do not fill their words, the unused bits must be 0, because the other form has no
                    // place for them.
                    if words.iter().any(|word| shifted(*word, shift) != 0) {
                        return Err(Lossy);
                    }
                }
            }
        }
        Ok(())
    }

    /// Fills `bytes` with `numbers`, which are whole rows of `columns` numbers.
    fn encode(self, numbers: &[u8], columns: usize, bytes: &mut [u8]) -> Result<(), Lossy> {
        bytes.fill(0);
        let largest = numbers.iter().copied().max().unwrap_or_default();
        let (Self::Rows { bits } | Self::Columns { bits }) = self else {
            return self.encode_bytes(numbers, columns, (bytes, largest));
        };
        if largest > mask(bits) {
            return Err(Lossy);
        }
        if matches!(self, Self::Rows { .. }) {
            let per_byte = usize::from(8_u8.checked_div(bits).unwrap_or(1).max(1));
            let stride = bytes_of_row(bits, columns);
            for (row, bytes) in numbers.chunks(columns.max(1)).zip(bytes.chunks_mut(stride)) {
                for (codes, byte) in row.chunks(per_byte).zip(bytes) {
                    let next =
                        |byte: u8, code: &u8| byte.checked_shl(bits.into()).unwrap_or(0) | *code;
                    // The first code ends up in the lowest bits.
                    *byte = codes.iter().rev().fold(0, next);
                }
            }
            return Ok(());
        }
        let (words, _) = bytes.as_chunks_mut::<4>();
        let unit = usize::try_from(self.unit()).unwrap_or(usize::MAX);
        let units = numbers.chunks(columns.saturating_mul(unit).max(1));
        for (rows, words) in units.zip(words.chunks_mut(columns.max(1))) {
            let mut shift = 0_u32;
            for row in rows.chunks(columns.max(1)) {
                for (code, word) in row.iter().zip(words.iter_mut()) {
                    let own = u32::from(*code).checked_shl(shift).unwrap_or(0);
                    *word = (u32::from_le_bytes(*word) | own).to_le_bytes();
                }
                shift = shift.saturating_add(bits.into());
            }
        }
        Ok(())
    }

    /// Fills `bytes`, which are zero, with `numbers` in a form that is not [`Rows`](Self::Rows) or [`Columns`](Self::Columns).
    fn encode_bytes(
        self,
        numbers: &[u8],
        columns: usize,
        (bytes, largest): (&mut [u8], u8),
    ) -> Result<(), Lossy> {
        match self {
            Self::Halves { add } => {
                let (halves, _) = bytes.as_chunks_mut::<2>();
                for (half, number) in halves.iter_mut().zip(numbers) {
                    *half = stored_half(*number, add).to_le_bytes();
                }
            }
            Self::Awq => {
                if largest > mask(4) {
                    return Err(Lossy);
                }
                let rows = numbers.chunks(columns.max(1));
                for (row, bytes) in rows.zip(bytes.chunks_mut(bytes_of_row(4, columns))) {
                    let (words, _) = bytes.as_chunks_mut::<4>();
                    for (codes, word) in row.chunks(AWQ.len()).zip(words) {
                        let own = |(code, position): (&u8, u32)| u32::from(*code) << position;
                        let all = codes.iter().zip(AWQ).map(own);
                        *word = all.fold(0, |all, own| all | own).to_le_bytes();
                    }
                }
            }
            Self::Signed => {
                bytes.iter_mut().zip(numbers).for_each(|(slot, number)| *slot = *number ^ 0x80);
            }
            _ => bytes.iter_mut().zip(numbers).for_each(|(slot, number)| *slot = *number),
        }
        Ok(())
    }
}

/// Returns `word` as a little-endian number, shifted to the right by `shift` bits, which may be 32.
fn shifted(word: [u8; 4], shift: u32) -> u32 {
    u32::from_le_bytes(word).checked_shr(shift).unwrap_or(0)
}

/// Returns the largest code of `bits` bits, of which there are at most 8.
fn mask(bits: u8) -> u8 {
    u8::MAX.checked_shr(8_u32.saturating_sub(bits.into())).unwrap_or(0)
}

/// Returns the number of bytes of a row of `columns` codes: whole words of 32 bits, and at least one, so that rows can be divided.
fn bytes_of_row(bits: u8, columns: usize) -> usize {
    columns.saturating_mul(bits.into()).div_ceil(32).saturating_mul(4).max(4)
}

/// Returns the bits of the `f16` that stores `number`.
fn stored_half(number: u8, add: u8) -> u16 {
    // An `f16` holds the integers up to 2048.
    f16::from_f32(f32::from(u16::from(number).saturating_add(add.into()))).to_bits()
}

/// Returns the number that `half` stores. If no number is stored as `half`, returns `None` or a number whose stored form differs
/// from `half`.
#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers beyond a byte are rejected by the caller, which stores the result again"
)]
fn whole(half: f16, add: u8) -> Option<u8> {
    (half.to_f32() as u16).checked_sub(add.into()).and_then(|number| u8::try_from(number).ok())
}

/// A conversion of a matrix of numbers from one storage form to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recode {
    pub(crate) from: CodeForm,
    pub(crate) to: CodeForm,
    /// The number of rows and of columns.
    pub(crate) shape: [u64; 2],
}

impl Recode {
    /// Returns the conversion in the other direction.
    pub(crate) fn inverse(self) -> Self {
        Self { from: self.to, to: self.from, ..self }
    }

    /// Returns the number of bytes before the conversion, and after it. Returns `None` if a number exceeds 64 bits.
    pub(crate) fn lengths(self) -> Option<[u64; 2]> {
        let [rows, columns] = self.shape;
        Some([self.from.bytes(rows, columns)?, self.to.bytes(rows, columns)?])
    }

    /// Returns the number of rows that are converted together. The last rows may be fewer.
    fn unit(self) -> u64 {
        let [_, columns] = self.shape;
        let least = self.from.unit().max(self.to.unit());
        let units = PIECE.checked_div(columns.saturating_mul(least)).unwrap_or(1).max(1);
        units.saturating_mul(least)
    }

    /// Returns the memory that the conversion takes, in bytes.
    pub(crate) fn memory(self) -> u64 {
        let [rows, columns] = self.shape;
        let unit = self.unit().min(rows);
        let bytes = |form: CodeForm| form.bytes(unit, columns).unwrap_or(u64::MAX);
        let both = bytes(self.from).saturating_add(bytes(self.to));
        unit.saturating_mul(columns).saturating_add(both)
    }
}

/// A conversion of successive bytes in progress. Without a [`Recode`], the bytes stay as they are.
#[derive(Debug)]
pub(crate) struct Recoder {
    recode: Option<Recode>,
    /// The number of rows that have not been converted.
    left: u64,
    /// The bytes of rows that cannot be converted yet, because they do not fill a unit of rows.
    held: Vec<u8>,
    numbers: Vec<u8>,
    out: Vec<u8>,
}

/// Makes `buffer` `length` bytes long, all of them 0.
fn resize(buffer: &mut Vec<u8>, length: u64) -> Result<(), OutOfMemory> {
    let length = usize::try_from(length).map_err(|_| OutOfMemory)?;
    buffer.clear();
    buffer.try_reserve(length).map_err(|_| OutOfMemory)?;
    buffer.resize(length, 0);
    Ok(())
}

impl Recoder {
    pub(crate) fn new(recode: Option<Recode>) -> Self {
        let left = recode.map_or(0, |recode| {
            let [rows, _] = recode.shape;
            rows
        });
        Self { recode, left, held: Vec::new(), numbers: Vec::new(), out: Vec::new() }
    }

    /// Converts the next bytes `chunk`, and passes the result to `take`. Bytes that do not fill a unit of rows are held for the
    /// next call. Bytes after the last row are ignored: the caller has compared the lengths. Without a conversion, `chunk` is
    /// passed on as it is.
    ///
    /// # Errors
    /// The error of `take`; `lossy()` if the other form cannot hold the numbers; out of memory.
    pub(crate) fn chunk(
        &mut self,
        mut chunk: &[u8],
        take: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
        lossy: &dyn Fn() -> Error,
    ) -> Result<(), Error> {
        let Some(recode) = self.recode else { return take(chunk) };
        let [_, columns] = recode.shape;
        while self.left > 0 {
            let rows = recode.unit().min(self.left);
            let need = recode.from.bytes(rows, columns).ok_or(OutOfMemory)?;
            let missing = need.saturating_sub(u64_from_usize(self.held.len()));
            let missing = usize::try_from(missing).map_err(|_| OutOfMemory)?.min(chunk.len());
            let (first, rest) = chunk.split_at(missing);
            self.held.try_reserve(first.len()).map_err(|_| OutOfMemory)?;
            self.held.extend_from_slice(first);
            chunk = rest;
            if u64_from_usize(self.held.len()) < need {
                break;
            }
            resize(&mut self.numbers, rows.checked_mul(columns).ok_or(OutOfMemory)?)?;
            resize(&mut self.out, recode.to.bytes(rows, columns).ok_or(OutOfMemory)?)?;
            let width = usize::try_from(columns).map_err(|_| OutOfMemory)?;
            recode.from.decode(&self.held, width, &mut self.numbers).map_err(|_| lossy())?;
            recode.to.encode(&self.numbers, width, &mut self.out).map_err(|_| lossy())?;
            self.held.clear();
            self.left = self.left.saturating_sub(rows);
            take(&self.out)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    use crate::error::Misuse;

    /// Numbers that do not repeat soon, below 2^bits.
    fn numbers(bits: u8, count: usize) -> Vec<u8> {
        let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        let states = core::iter::successors(Some(u32::from(bits)), next);
        states.map(|state| state.to_le_bytes()[3] & mask(bits)).take(count).collect()
    }

    fn recoded(recode: Recode, bytes: &[u8], step: usize) -> Result<Vec<u8>, Error> {
        let (mut recoder, mut out) = (Recoder::new(Some(recode)), Vec::new());
        for chunk in bytes.chunks(step) {
            recoder.chunk(
                chunk,
                &mut |bytes| {
                    out.extend_from_slice(bytes);
                    Ok(())
                },
                &|| Misuse::Quantization.into(),
            )?;
        }
        Ok(out)
    }

    /// Each form that holds codes of `bits` bits.
    fn forms(bits: u8) -> Vec<CodeForm> {
        let halves = [CodeForm::Halves { add: 0 }, CodeForm::Halves { add: 1 }];
        let mut forms = vec![
            CodeForm::Unsigned,
            CodeForm::Signed,
            CodeForm::Rows { bits },
            CodeForm::Columns { bits },
        ];
        forms.extend(halves);
        if bits == 4 {
            forms.push(CodeForm::Awq);
        }
        forms
    }

    #[test]
    fn every_form_becomes_every_other_and_back() {
        for bits in [2, 4, 8] {
            for (rows, columns) in [(1, 32), (16, 16), (48, 32), (64, 1024), (4096, 16)] {
                let count = usize::try_from(rows * columns).unwrap();
                let numbers = numbers(bits, count);
                let width = usize::try_from(columns).unwrap();
                for from in forms(bits) {
                    let mut bytes =
                        vec![0; usize::try_from(from.bytes(rows, columns).unwrap()).unwrap()];
                    from.encode(&numbers, width, &mut bytes).unwrap();
                    for to in forms(bits) {
                        let recode = Recode { from, to, shape: [rows, columns] };
                        let [before, after] = recode.lengths().unwrap();
                        assert_eq!(u64::try_from(bytes.len()).unwrap(), before);
                        for step in [7, 4096, bytes.len()] {
                            let other = recoded(recode, &bytes, step).unwrap();
                            assert_eq!(u64::try_from(other.len()).unwrap(), after);
                            let back = recoded(recode.inverse(), &other, step).unwrap();
                            assert!(back == bytes, "{recode:?} in steps of {step}");
                        }
                    }
                }
            }
        }
    }

    /// Each form stores the codes at the positions that its format prescribes.
    #[test]
    fn forms_are_those_of_the_formats() {
        let stored = |form: CodeForm, numbers: &[u8], columns: usize| {
            let shape = [numbers.len() / columns, columns].map(|size| u64::try_from(size).unwrap());
            let mut bytes =
                vec![0; usize::try_from(form.bytes(shape[0], shape[1]).unwrap()).unwrap()];
            form.encode(numbers, columns, &mut bytes).unwrap();
            bytes
        };
        let eight = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(stored(CodeForm::Rows { bits: 4 }, &eight, 8), [0x21, 0x43, 0x65, 0x87]);
        // AutoAWQ: the codes 0, 2, 4, 6, 1, 3, 5, 7 from the lowest bits on.
        assert_eq!(stored(CodeForm::Awq, &eight, 8), [0x31, 0x75, 0x42, 0x86]);
        assert_eq!(stored(CodeForm::Columns { bits: 4 }, &eight, 1), [0x21, 0x43, 0x65, 0x87]);
        let two = stored(CodeForm::Columns { bits: 8 }, &eight, 2);
        assert_eq!(two, [1, 3, 5, 7, 2, 4, 6, 8]);
        assert_eq!(stored(CodeForm::Halves { add: 1 }, &[0, 255], 2), [0x00, 0x3c, 0x00, 0x5c]);
        assert_eq!(stored(CodeForm::Signed, &[0, 128, 255], 3), [0x80, 0, 0x7f]);
    }

    /// Bytes that the other form cannot hold are an error, and nothing is lost silently.
    #[test]
    fn lossy_bytes_are_errors() {
        let shape = [1, 8];
        let recode = |from, to| Recode { from, to, shape };
        let halves = CodeForm::Halves { add: 1 };
        let rows = CodeForm::Rows { bits: 4 };
        for (bits, holds) in [
            (0x3c00, true),
            (0x4c00, true),
            (0x4c40, false),
            (0, false),
            (0x3e00, false),
            (0x7e00, false),
            (0xbc00, false),
            (0x7c00, false),
        ] {
            let bytes: Vec<u8> = [u16::to_le_bytes(bits); 8].concat();
            let is_held = recoded(recode(halves, rows), &bytes, 16).is_ok();
            assert_eq!(is_held, holds, "{bits:#x}");
        }
        // Three rows of codes of 4 bits leave the rest of their words unused. Bits in this rest would be lost, so they
        // are errors.
        let columns = CodeForm::Columns { bits: 4 };
        let partial = Recode { from: columns, to: CodeForm::Unsigned, shape: [3, 1] };
        assert_eq!(recoded(partial, &[0x21, 0x03, 0, 0], 4).unwrap(), [1, 2, 3]);
        assert!(recoded(partial, &[0x21, 0x43, 0, 0], 4).is_err());
        assert!(
            recoded(Recode { from: CodeForm::Unsigned, to: CodeForm::Awq, shape }, &[16; 8], 8)
                .is_err()
        );
    }
}

//! Plans of the layout `quantized_group`.

use super::plan::{Codes, ColumnPacking, Formula, Global, Number, Plan, Zeros};
use crate::error::{BareError, Error, Misuse};
use crate::manifest::{Component, Tensor};

impl<'a> Plan<'a> {
    /// Returns the plan of a `quantized_group`, whose components [`Quantized`](crate::view::Quantized) describes.
    ///
    /// # Errors
    /// The errors of [`Tensor::quantized`].
    pub(super) fn of_matrix(tensor: &Tensor<'a>) -> Result<Self, Error> {
        let (quantization, [inputs, outputs]) = tensor.quantized_matrix()?;
        let misfit = || BareError::misuse(Misuse::Quantization).at(tensor.location());
        let number = |component: &Component<'_>| Number::of(component).ok_or_else(misfit);
        let component = |role| tensor.component(role).ok_or_else(BareError::internal);
        let (data, scales) = (component("packed_weight")?, component("scales")?);
        let zeros = tensor.component("zeros");
        let zeros = zeros.map(|zeros| Ok::<_, BareError>((zeros, Zeros::Numbers(number(&zeros)?))));
        let packing = quantization.packing();
        let word = packing.word().width().saturating_mul(8);
        Ok(Self {
            elements: inputs.checked_mul(outputs).ok_or_else(misfit)?,
            columns: outputs,
            data,
            codes: Codes::Columns(ColumnPacking { bits: packing.bits(), word }),
            scales,
            scale: number(&scales)?,
            scale_columns: outputs,
            per_column: 1,
            per_row: quantization.group_size(),
            period: inputs,
            zeros: zeros.transpose()?,
            zero: f32::from(1_u8.wrapping_shl(u32::from(packing.bits()).saturating_sub(1))),
            formula: Formula::Difference,
            global: Global::None,
            nested: None,
            index: None,
            column_index: None,
        })
    }
}

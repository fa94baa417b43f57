//! The neural network that images run: three layers, each `weight × input + bias`. Negative activations between
//! layers are set to 0.

use zten::{Archive, Component, ReadAt};

use super::failure::Failure;

/// The number of digits that an image classifies.
pub const DIGITS: usize = 8;
/// The number of elements of the widest layer, which is the input.
const WIDEST: usize = 64;

/// The pixels of the digits: 8 × 8 bytes from 0 to 16 for each, row-major.
static INPUTS: [u8; DIGITS * WIDEST] = *include_bytes!("../../network/inputs.u8");

/// The names of the weight, the scale (one for each row of FP8 weights) and the bias of each layer.
const LAYERS: [[&str; 3]; 3] = [
    ["layer1.weight", "layer1.scale", "layer1.bias"],
    ["layer2.weight", "layer2.scale", "layer2.bias"],
    ["layer3.weight", "layer3.scale", "layer3.bias"],
];

/// The logits of one digit, one for each class.
pub type Logits = [f32; 10];

/// The activations of one layer for all digits.
type Batch = [[f32; WIDEST]; DIGITS];

/// A function that passes all elements of a component in row-major order to another function. If it fails, results of
/// these elements must not be used.
type Each = fn(&Component<'_>, &mut dyn FnMut(f32)) -> Result<(), Failure>;

/// Computes the logits of all digits. `each` reads the weights of `archive`.
pub fn classify<S: ReadAt>(archive: &Archive<S>, each: Each) -> Result<[Logits; DIGITS], Failure> {
    let weights = &Weights { archive, each };
    let mut batch: Batch = [[0.0; WIDEST]; DIGITS];
    for (element, byte) in batch.as_flattened_mut().iter_mut().zip(INPUTS) {
        *element = f32::from(byte) / 16.0;
    }
    let mut width = WIDEST;
    for (number, layer) in LAYERS.into_iter().enumerate() {
        if number > 0 {
            for element in batch.as_flattened_mut() {
                *element = element.max(0.0);
            }
        }
        let rows = rows(weights, layer, width)?;
        batch = outputs(weights, layer, &batch, width)?;
        width = rows;
    }
    let mut all = [Logits::default(); DIGITS];
    for (logits, row) in all.iter_mut().zip(&batch) {
        *logits = *row.first_chunk().filter(|_| width == 10).ok_or(Failure::NotThatNetwork)?;
    }
    Ok(all)
}

/// An archive with the weights, and the function that reads them.
struct Weights<'a, S> {
    archive: &'a Archive<S>,
    each: Each,
}

impl<S: ReadAt> Weights<'_, S> {
    fn for_each(&self, name: &str, take: &mut dyn FnMut(f32)) -> Result<(), Failure> {
        let tensor = self.archive.get(name).ok_or(Failure::NotThatNetwork)?;
        (self.each)(&tensor.dense()?, take)
    }
}

/// Returns the number of outputs of the layer with the tensors `weight`, `scale` and `bias`, if their shapes fit each
/// other and `width` inputs.
fn rows<S: ReadAt>(
    weights: &Weights<'_, S>,
    [weight, scale, bias]: [&str; 3],
    width: usize,
) -> Result<usize, Failure> {
    let mut shape =
        weights.archive.get(weight).ok_or(Failure::NotThatNetwork)?.shape().iter().copied();
    let (rows, columns, more) = (shape.next(), shape.next(), shape.next());
    let one_each = |name| match weights.archive.get(name) {
        Some(tensor) => tensor.shape().iter().copied().eq(rows),
        None => name == scale,
    };
    let fits = columns == u64::try_from(width).ok() && more.is_none();
    let rows = rows.and_then(|rows| usize::try_from(rows).ok()).filter(|rows| *rows <= WIDEST);
    rows.filter(|_| fits && one_each(scale) && one_each(bias)).ok_or(Failure::NotThatNetwork)
}

/// Computes the outputs of a layer of `width` inputs for all digits at once, so that each weight is read only once.
fn outputs<S: ReadAt>(
    weights: &Weights<'_, S>,
    [weight, scale, bias]: [&str; 3],
    inputs: &Batch,
    width: usize,
) -> Result<Batch, Failure> {
    let mut sums = [[0.0; WIDEST]; DIGITS];
    let (mut row, mut column) = (0, 0);
    weights.for_each(weight, &mut |weight| {
        for (sums, inputs) in sums.iter_mut().zip(inputs) {
            if let (Some(sum), Some(input)) = (sums.get_mut(row), inputs.get(column)) {
                *sum += weight * input;
            }
        }
        column += 1;
        if column == width {
            (row, column) = (row + 1, 0);
        }
    })?;
    if weights.archive.contains(scale) {
        by_row(weights, scale, &mut sums, |sum, scale| *sum *= scale)?;
    }
    by_row(weights, bias, &mut sums, |sum, bias| *sum += bias)?;
    Ok(sums)
}

/// Applies `change` to each sum and the element of the tensor `name` for its row, such as the bias.
fn by_row<S: ReadAt>(
    weights: &Weights<'_, S>,
    name: &str,
    sums: &mut Batch,
    change: impl Fn(&mut f32, f32),
) -> Result<(), Failure> {
    let mut row = 0;
    weights.for_each(name, &mut |element| {
        for sum in sums.iter_mut().filter_map(|sums| sums.get_mut(row)) {
            change(sum, element);
        }
        row += 1;
    })
}

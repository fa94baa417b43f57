//! The network: three layers, each `weight × input + bias`, and negative activations cut to 0
//! between them.

use zten::Object;

/// How many digits are classified.
pub const DIGITS: usize = 8;
/// Elements of the widest layer, which is the input.
const WIDEST: usize = 64;

/// The digits: bytes from 0 to 16, row-major.
static INPUTS: [u8; DIGITS * WIDEST] = *include_bytes!("../../network/inputs.u8");

/// Weight, scale (of FP8, one for each row) and bias of each layer.
const LAYERS: [[&str; 3]; 3] = [
    ["layer1.weight", "layer1.scale", "layer1.bias"],
    ["layer2.weight", "layer2.scale", "layer2.bias"],
    ["layer3.weight", "layer3.scale", "layer3.bias"],
];

/// What the network says of one digit, for each class.
pub type Logits = [f32; 10];

/// The activations of all digits.
type Batch = [[f32; WIDEST]; DIGITS];

/// Where the weights are.
pub trait Weights {
    /// Why they could not be read.
    type Error: From<NotThatNetwork>;

    /// The object of that name.
    fn object(&self, name: &str) -> Option<Object<'_>>;

    /// Hands all elements of a dense object to `take`, in row-major order. What they came to is
    /// not to be used if this fails.
    fn each(&self, name: &str, take: &mut dyn FnMut(f32)) -> Result<(), Self::Error>;
}

/// The file is a valid one, but does not hold this network.
#[derive(Debug)]
pub struct NotThatNetwork;

/// What the network makes of the digits.
pub fn classify<W: Weights>(weights: &W) -> Result<[Logits; DIGITS], W::Error> {
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
        *logits = *row.first_chunk().filter(|_| width == 10).ok_or(NotThatNetwork)?;
    }
    Ok(all)
}

/// How many outputs a layer of `width` inputs has, if the shapes of its parts agree.
fn rows<W: Weights>(
    weights: &W,
    [weight, scale, bias]: [&str; 3],
    width: usize,
) -> Result<usize, NotThatNetwork> {
    let mut shape = weights.object(weight).ok_or(NotThatNetwork)?.shape().iter();
    let (rows, columns, more) = (shape.next(), shape.next(), shape.next());
    let one_each = |name| match weights.object(name) {
        Some(object) => object.shape().iter().eq(rows),
        None => name == scale,
    };
    let fits = columns == u64::try_from(width).ok() && more.is_none();
    let rows = rows.and_then(|rows| usize::try_from(rows).ok()).filter(|rows| *rows <= WIDEST);
    rows.filter(|_| fits && one_each(scale) && one_each(bias)).ok_or(NotThatNetwork)
}

/// What a layer of `width` inputs makes of them: of all digits at a time, so that each weight is
/// read once.
fn outputs<W: Weights>(
    weights: &W,
    [weight, scale, bias]: [&str; 3],
    inputs: &Batch,
    width: usize,
) -> Result<Batch, W::Error> {
    let mut sums = [[0.0; WIDEST]; DIGITS];
    let (mut row, mut column) = (0, 0);
    weights.each(weight, &mut |weight| {
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
    if weights.object(scale).is_some() {
        by_row(weights, scale, &mut sums, |sum, scale| *sum *= scale)?;
    }
    by_row(weights, bias, &mut sums, |sum, bias| *sum += bias)?;
    Ok(sums)
}

/// Changes each sum by the element of `name` for its row.
fn by_row<W: Weights>(
    weights: &W,
    name: &str,
    sums: &mut Batch,
    change: impl Fn(&mut f32, f32),
) -> Result<(), W::Error> {
    let mut row = 0;
    weights.each(name, &mut |element| {
        for sum in sums.iter_mut().filter_map(|sums| sums.get_mut(row)) {
            change(sum, element);
        }
        row += 1;
    })
}

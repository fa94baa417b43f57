//! Files of other formats.

use std::io;
use std::path::Path;

use zten::StorageType;
use zten::write::{Encoded, NewComponent, NewObject, Sink, WriteError, Writer};

use super::input::{Failure, Input, Kind, Tensor, Trouble};
use super::plan::Plan;
use crate::args::Convert;
use crate::escape;
use crate::progress::Progress;
use crate::report::{Problem, Verdict};

/// Writes all tensors of a file; in canonical form, in the order that this asks for.
pub(super) fn convert<S: Sink<Error = io::Error>>(
    args: &Convert,
    mut input: Input,
    sink: S,
    plan: &Plan,
) -> Result<S, Box<Problem>> {
    let failed = |error| problem(args, None, error);
    let mut writer = Writer::new(sink, &plan.settings).map_err(failed)?;
    let attributes = input.take_attributes();
    if let Some(key) = attributes.other_nan.filter(|_| plan.canonical) {
        let key = escape::quoted(&key);
        let sentence = format!(
            "it can be read, and not be written: the attribute {key} has a NaN that the canonical \
             form does not have"
        );
        return Err(Box::new(Problem::inexpressible(&args.input, &sentence)));
    }
    if !attributes.cbor.is_empty() {
        let attributes = Encoded::from_cbor(attributes.cbor);
        writer.attributes(&attributes).map_err(|error| failed(error.into()))?;
    }
    let trouble = |trouble: Trouble| troubled(&args.input, &trouble);
    let total = input.tensors().iter().fold(0_u64, |sum, tensor| sum.saturating_add(tensor.bytes));
    let progress = Progress::new(total);
    if plan.canonical {
        input.put_in_canonical_order().map_err(trouble)?;
    }
    for at in 0..input.tensors().len() {
        let Some(tensor) = input.tensors().get(at) else { continue };
        let failed = |error| problem(args, Some(&tensor.name), error);
        let becomes = Becomes::from_tensor(&tensor);
        let components = [becomes.component(plan)];
        let mut object =
            NewObject::custom(&tensor.name, &tensor.shape, &becomes.format, &components);
        if let Some(attributes) = &becomes.attributes {
            object = object.attributes(attributes);
        }
        let mut out = writer.object(&object).map_err(|error| failed(error.into()))?;
        let mut take = |chunk: &[u8]| {
            progress.note(chunk.len());
            out.write("data", chunk)
        };
        input.read(&tensor, &mut take).map_err(|failure| match failure {
            Failure::Input(input) => trouble(input),
            Failure::Taker(error) => failed(error),
        })?;
        out.end().map_err(|error| failed(error.into()))?;
    }
    writer.finish().map_err(failed)
}

/// What a tensor becomes.
struct Becomes {
    format: String,
    attributes: Option<Encoded>,
    element: zten::ElementType<'static>,
    elements: u64,
}

impl Becomes {
    fn from_tensor(tensor: &Tensor) -> Self {
        let (element, size) = match tensor.kind {
            Kind::Plain(storage) => (storage.into(), storage.width()),
            Kind::Logical(logical) => {
                (logical.into(), logical.storage().width().saturating_mul(logical.ratio()))
            }
            Kind::Verbatim(_) => (StorageType::U8.into(), 1),
        };
        let (format, attributes) = match tensor.kind {
            Kind::Verbatim(block) => (block.format(), Some(Encoded::from_cbor(block.attributes()))),
            _ => ("dense".to_owned(), None),
        };
        let elements = tensor.bytes.checked_div(size.into()).unwrap_or_default();
        Self { format, attributes, element, elements }
    }

    fn component(&self, plan: &Plan) -> NewComponent<'static> {
        let component = NewComponent::new("data", self.element, self.elements);
        match plan.level {
            Some(level) => component.compressed(level),
            None => component,
        }
    }
}

/// What kept a tensor, or the file, from being written.
fn problem(args: &Convert, tensor: Option<&str>, error: WriteError<io::Error>) -> Box<Problem> {
    Box::new(match error {
        WriteError::Sink(error) => Problem::io(&args.output, &error),
        WriteError::Refused(error) => Problem::unwritable(&args.input, tensor, &error),
    })
}

/// Why the file could not be read.
pub(super) fn troubled(file: &Path, trouble: &Trouble) -> Box<Problem> {
    let verdict = if trouble.is_refusal() { Verdict::Refused } else { Verdict::Error };
    Box::new(Problem::foreign(file, verdict, trouble))
}

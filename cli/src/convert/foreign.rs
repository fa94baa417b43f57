//! Files of other formats.

use std::io;

use zten::StorageType;
use zten::write::{Encoded, NewComponent, NewObject, Sink, WriteError, Writer, canonical_order};

use super::Plan;
use super::input::{Failure, Input, Kind, Tensor};
use crate::args::Convert;
use crate::progress::Progress;
use crate::report::Problem;

/// Writes all tensors of a file; in canonical form, in the order that this asks for.
pub(super) fn convert<S: Sink<Error = io::Error>>(
    args: &Convert,
    mut input: Input,
    sink: S,
    plan: &Plan,
) -> Result<S, Box<Problem>> {
    let failed = |error| problem(args, None, error);
    let mut writer = Writer::new(sink, &plan.settings).map_err(failed)?;
    let listing = input.listing();
    if !listing.attributes.is_empty() {
        let attributes = Encoded::from_cbor(listing.attributes.clone());
        writer.attributes(&attributes).map_err(|error| failed(error.into()))?;
    }
    let total = listing.tensors.iter().fold(0_u64, |sum, tensor| sum.saturating_add(tensor.bytes));
    let progress = Progress::new(total);
    let mut order: Vec<usize> = (0..listing.tensors.len()).collect();
    if plan.canonical {
        let name = |at: &usize| listing.tensors.get(*at).map_or("", |tensor| &tensor.name);
        order.sort_by(|a, b| canonical_order(name(a), name(b)));
    }
    for at in order {
        let Some(tensor) = input.listing().tensors.get(at) else { continue };
        let (name, shape) = (tensor.name.clone(), tensor.shape.clone());
        let failed = |error| problem(args, Some(&name), error);
        let becomes = Becomes::of(tensor);
        let components = [becomes.component(plan)];
        let mut object = NewObject::custom(&name, &shape, &becomes.format, &components);
        if let Some(attributes) = &becomes.attributes {
            object = object.attributes(attributes);
        }
        let mut out = writer.object(&object).map_err(|error| failed(error.into()))?;
        let mut take = |chunk: &[u8]| {
            progress.note(chunk.len());
            out.write("data", chunk)
        };
        input.read(at, &mut take).map_err(|failure| match failure {
            Failure::Input(trouble) => Box::new(Problem::foreign(&args.input, &trouble)),
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
    fn of(tensor: &Tensor) -> Self {
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

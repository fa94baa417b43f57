//! Files of other formats.

use std::io;
use std::path::Path;

use zten::write::{Encoded, NewComponent, NewObject, Sink, WriteError, Writer, canonical_order};
use zten::{ElementType, Error, ErrorKind, Generation, LogicalType};
use zten_formats::{Failure, Input, Kind, Trouble};

use super::plan::Plan;
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
    let attributes = input.take_attributes();
    if !attributes.is_empty() {
        let attributes = Encoded::from_cbor(attributes);
        let declared = writer.attributes(&attributes);
        declared.map_err(|error| undeclared(args, plan, None, &error))?;
    }
    let trouble = |trouble: Trouble| troubled(&args.input, &trouble);
    let total = input.tensors().iter().fold(0_u64, |sum, tensor| sum.saturating_add(tensor.bytes));
    let progress = Progress::new(total);
    if plan.canonical {
        let order = match plan.generation {
            Generation::V2 => str::cmp,
            _ => canonical_order,
        };
        input.put_in_order_of_names(order).map_err(trouble)?;
    }
    for at in 0..input.tensors().len() {
        let Some(tensor) = input.tensors().get(at) else { continue };
        let failed = |error| problem(args, Some(&tensor.name), error);
        let element = element(tensor.kind, plan.generation);
        let mut component = NewComponent::of_bytes("data", element, tensor.bytes);
        if let Some(level) = plan.level {
            component = component.compressed(level);
        }
        let components = [component];
        let object = NewObject::custom(&tensor.name, &tensor.shape, "dense", &components);
        let declared = writer.object(&object);
        let mut out =
            declared.map_err(|error| undeclared(args, plan, Some(&tensor.name), &error))?;
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

/// The type that the elements of a tensor have in a generation.
fn element(kind: Kind, generation: Generation) -> ElementType<'static> {
    match kind {
        Kind::Plain(storage) => storage.into(),
        // As copying does: readers of 1.2 list it, and show how it is stored.
        Kind::Logical(logical)
            if generation == Generation::V1_2 && !LogicalType::V1_2.contains(&logical) =>
        {
            ElementType::UnknownLogical(logical.name(), logical.storage())
        }
        Kind::Logical(logical) => logical.into(),
    }
}

/// What is said of a tensor, or of the file, breaks a rule of the generation that is written, and none
/// of its own format. Limits are those of readers, of this file too.
fn undeclared(args: &Convert, plan: &Plan, tensor: Option<&str>, error: &Error) -> Box<Problem> {
    match error.kind() {
        ErrorKind::Malformed(_) | ErrorKind::Unsupported(_) => {
            let (generation, id) = (plan.generation, error.id().unwrap_or_default());
            let sentence = format!(
                "it can be read, and not be written: in {generation}, {} ({id})",
                error.sentence()
            );
            let problem = Problem::inexpressible(&args.input, &sentence);
            Box::new(problem.in_object(tensor.map(str::to_owned)))
        }
        _ => problem(args, tensor, (*error).into()),
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
    Box::new(Problem::foreign(file, trouble, None))
}

//! The tensors of a file of a format that has no archives.

use zten::attributes::Attributes;
use zten::{Archive, StorageType};
use zten_formats::{Input, Kind, Trouble};

use crate::args::Convert;
use crate::convert::foreign::troubled;
use crate::convert::output::{Array, Element, Failure, Source, Take};
use crate::other;
use crate::progress::Progress;
use crate::report::Problem;

/// A file of a format that has no archives.
pub(super) struct Foreign<'a> {
    args: &'a Convert,
    input: Input,
    /// What the file says of itself, in a file that says no more.
    attributes: Archive<Vec<u8>>,
    progress: Progress,
}

impl<'a> Foreign<'a> {
    /// All of a file.
    pub(super) fn new(args: &'a Convert, mut input: Input) -> Result<Self, Box<Problem>> {
        let options = args.strictness.options();
        let attributes = other::alone(input.take_attributes(), &options)
            .map_err(|error| Box::new(Problem::unwritable(&args.input, None, &error)))?;
        let bytes = input.tensors().iter().map(|tensor| tensor.bytes);
        let progress = Progress::new(bytes.fold(0, u64::saturating_add));
        Ok(Self { args, input, attributes, progress })
    }
}

impl Source for Foreign<'_> {
    fn count(&self) -> usize {
        self.input.tensors().len()
    }

    fn name(&self, at: usize) -> &str {
        self.input.tensors().name_at(at)
    }

    fn array(&self, at: usize) -> Result<Array, String> {
        let tensor = self.input.tensors().get(at).ok_or("there is no such tensor")?;
        let element = match tensor.kind {
            Kind::Plain(storage) => Element::Plain(storage),
            Kind::Logical(logical) => Element::Logical(logical),
        };
        Ok(Array { shape: tensor.shape, element })
    }

    fn attributes(&self) -> Option<Attributes<'_>> {
        self.attributes.attributes()
    }

    fn read(&mut self, at: usize, take: &mut Take<'_>) -> Result<(), Failure> {
        let Some(tensor) = self.input.tensors().get(at) else { return Ok(()) };
        let strict = tensor.kind == Kind::Plain(StorageType::Bool);
        let mut wrong = None;
        let read = self.input.read(&tensor, &mut |chunk| {
            if strict && wrong.is_none() {
                wrong = chunk.iter().find(|byte| **byte > 1).copied();
            }
            self.progress.note(chunk.len());
            take(chunk)
        });
        if let Some(byte) = wrong {
            let trouble = Trouble::of_bool(&tensor.name, byte);
            return Err(Failure::Input(troubled(&self.args.input, &trouble)));
        }
        read.map_err(|failure| match failure {
            zten_formats::Failure::Input(trouble) => {
                Failure::Input(troubled(&self.args.input, &trouble))
            }
            zten_formats::Failure::Taker(error) => Failure::Output(error),
        })
    }
}

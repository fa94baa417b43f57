//! The dense objects of a zTensor file of any generation, or of a safetensors file.

use zten::attributes::Attributes;
use zten::tools::Normalization;
use zten::verify::Verifier;
use zten::{DType, Error, Layout, Tensor};

use crate::args::Convert;
use crate::convert::output::{Array, Failure, Source, Take};
use crate::escape;
use crate::file::FileWithShards;
use crate::progress::Progress;
use crate::report::Problem;
use crate::sources::Sources;

/// Columns of a name that is a part of a message.
const NAME: usize = 60;

/// A file whose objects are all dense, or it is refused when they are asked for.
pub(super) struct Archived<'a> {
    args: &'a Convert,
    archive: &'a FileWithShards,
    progress: &'a Progress,
    files: Sources<'a>,
    verifier: Verifier,
}

impl<'a> Archived<'a> {
    /// All of a file and its shards; `progress` shows how much of them has been read.
    pub(super) fn new(
        args: &'a Convert,
        archive: &'a FileWithShards,
        progress: &'a Progress,
    ) -> Result<Self, Failure> {
        if archive.manifest().is_data_shard() {
            return Err(Failure::file("it is a data shard, and another file says what is in it"));
        }
        let failed = |error| refused(args, archive, &error);
        let mut files = Sources::bind(archive, progress).map_err(failed)?;
        files.require().map_err(failed)?;
        Ok(Self { args, archive, progress, files, verifier: archive.verifier() })
    }

    fn object(&self, at: usize) -> Option<Tensor<'_>> {
        self.archive.tensors().nth(at)
    }
}

fn refused(args: &Convert, archive: &FileWithShards, error: &Error) -> Failure {
    Failure::Input(Box::new(Problem::reading(&args.input, archive, error)))
}

impl Source for Archived<'_> {
    fn count(&self) -> usize {
        self.archive.len()
    }

    fn name(&self, at: usize) -> &str {
        self.object(at).map(|object| object.name()).unwrap_or_default()
    }

    fn array(&self, at: usize) -> Result<Array, String> {
        let object = self.object(at).ok_or("there is no such object")?;
        if object.layout() != Layout::Dense {
            let format = escape::quoted(&escape::cut(object.layout_name(), NAME));
            return Err(format!("its format is {format}, and only dense arrays can be held"));
        }
        if object.has_attributes() {
            return Err("it has attributes, and only those of a file can be held".to_owned());
        }
        let mut components = object.components();
        let (Some(component), None) = (components.next(), components.next()) else {
            return Err("it has other components beside its data".to_owned());
        };
        let dtype = component.dtype();
        if dtype == DType::Unknown {
            let name = escape::quoted(&escape::cut(component.type_name(), NAME));
            return Err(format!("its type {name} is not known"));
        }
        Ok(Array { shape: object.shape().to_vec(), dtype })
    }

    fn attributes(&self) -> Attributes<'_> {
        self.archive.attributes()
    }

    fn read(&mut self, at: usize, take: &mut Take<'_>) -> Result<(), Failure> {
        let Some(object) = self.archive.tensors().nth(at) else { return Ok(()) };
        let mut stopped = None;
        let files = self.files.all();
        let read = self.verifier.object(&object.read_from(&files), |component, chunk| {
            if stopped.is_none() {
                let normalization = Normalization::bools(component);
                stopped = normalization.chunk(chunk, |bytes| take(bytes)).err();
                if stopped.is_some() {
                    self.progress.stop();
                }
            }
        });
        if let Some(error) = stopped {
            return Err(Failure::Output(error));
        }
        read.map_err(|error| refused(self.args, self.archive, &self.files.settle(error)))
    }
}

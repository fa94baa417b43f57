//! The dense objects of a zTensor file of any generation, or of a safetensors file.

use std::io;

use zten::attributes::Attributes;
use zten::verify::Verifier;
use zten::view::Normalization;
use zten::{Format, Object, ReadError};

use crate::args::Convert;
use crate::convert::output::{Array, Element, Failure, Source, Take};
use crate::escape;
use crate::file::FileWithShards;
use crate::progress::Watched;
use crate::report::Problem;
use crate::sources::Sources;

/// Columns of a name that is a part of a message.
const NAME: usize = 60;

/// A file whose objects are all dense, or it is refused when they are asked for.
pub(super) struct Archived<'a> {
    args: &'a Convert,
    archive: &'a FileWithShards,
    source: &'a Watched<'a>,
    files: Sources<'a>,
    verifier: Verifier,
}

impl<'a> Archived<'a> {
    /// All of a file and its shards, which is read from `source`.
    pub(super) fn new(
        args: &'a Convert,
        archive: &'a FileWithShards,
        source: &'a Watched<'a>,
    ) -> Result<Self, Failure> {
        if archive.is_data_shard() {
            return Err(Failure::file("it is a data shard, and another file says what is in it"));
        }
        let options = args.strictness.options();
        let limits = options.limit();
        let failed = |error| Failure::Input(refused(args, archive, &error));
        let mut files = Sources::bind(archive, source, limits).map_err(failed)?;
        files.require(limits).map_err(failed)?;
        let verifier = Verifier::new(archive.all_bytes(), limits);
        Ok(Self { args, archive, source, files, verifier })
    }

    fn object(&self, at: usize) -> Option<Object<'_>> {
        self.archive.object(u32::try_from(at).ok()?)
    }
}

fn refused(args: &Convert, archive: &FileWithShards, error: &ReadError<io::Error>) -> Box<Problem> {
    Box::new(Problem::reading(&args.input, archive, error))
}

impl Source for Archived<'_> {
    fn count(&self) -> usize {
        self.archive.objects().len()
    }

    fn name(&self, at: usize) -> &str {
        self.object(at).map(|object| object.name()).unwrap_or_default()
    }

    fn array(&self, at: usize) -> Result<Array, String> {
        let object = self.object(at).ok_or("there is no such object")?;
        if object.format() != Format::Dense {
            let format = escape::quoted(&escape::cut(object.format_name(), NAME));
            return Err(format!("its format is {format}, and only dense arrays can be held"));
        }
        if object.has_attributes() {
            return Err("it has attributes, and only those of a file can be held".to_owned());
        }
        let mut components = object.components();
        let (Some(component), None) = (components.next(), components.next()) else {
            return Err("it has other components beside its data".to_owned());
        };
        let element = component.element_type();
        let element = Element::known(element).ok_or_else(|| {
            let name = escape::quoted(&escape::cut(element.name(), NAME));
            format!("its type {name} is not known")
        })?;
        Ok(Array { shape: object.shape().to_vec(), element })
    }

    fn attributes(&self) -> Option<Attributes<'_>> {
        self.archive.attributes()
    }

    fn read(&mut self, at: usize, take: &mut Take<'_>) -> Result<(), Failure> {
        let index = u32::try_from(at).ok();
        let Some(object) = index.and_then(|index| self.archive.object(index)) else {
            return Ok(());
        };
        let mut stopped = None;
        let read = self.files.object(&mut self.verifier, &object, |component, chunk| {
            if stopped.is_none() {
                let normalization = Normalization::bools(component);
                stopped = normalization.chunk(chunk, |bytes| take(bytes)).err();
                if stopped.is_some() {
                    self.source.stop();
                }
            }
        });
        if let Some(error) = stopped {
            return Err(Failure::Output(error));
        }
        read.map_err(|error| {
            let options = self.args.strictness.options();
            let error = self.files.settle(error, options.limit());
            Failure::Input(refused(self.args, self.archive, &error))
        })
    }
}

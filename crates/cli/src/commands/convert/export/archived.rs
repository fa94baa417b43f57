//! The selected objects of an archive, as a source of dense arrays for the writers of other formats.

use std::cell::Cell;

use zten::attributes::Attributes;
use zten::conventions::{Original, Restored};
use zten::error::OutOfMemory;
use zten::formats::write::{Array, ArrayList, ArraySource, ChunkFn, Inexpressible, OpaqueType};
use zten::verify::Verifier;
use zten::view::Normalization;
use zten::write::Encoded;
use zten::{DType, Error, Layout, Tensor};

use crate::args::{Convert, Float};
use crate::commands::convert::cast::{Beyond, Cast, overflow};
use crate::commands::convert::dequantized::Dequantized;
use crate::commands::convert::failure::ConvertFailure;
use crate::commands::convert::left_out::{LeftOut, opaque};
use crate::commands::convert::plan::{Plan, Selected};
use crate::commands::convert::select::Selection;
use crate::commands::convert::tensors::drops;
use crate::escape;
use crate::input::file::FileWithShards;
use crate::input::sources::Sources;
use crate::output::progress::Progress;
use crate::output::report::Problem;

/// The largest number of terminal columns of the name of a layout or type in a message.
const NAME: usize = 60;

/// The selected objects of an archive, as dense arrays. An object that is not dense is rejected when it is asked for, unless it is
/// dequantized or written as the tensors that it was made of.
pub(super) struct Archived<'a> {
    args: &'a Convert,
    archive: &'a FileWithShards,
    selection: Selection,
    /// The arrays that are written if composite objects are written as the tensors that they were made of. `None` if each selected
    /// object is written as one array.
    restored: Option<Restored<'a>>,
    /// The note on how often shared storage is written, if any is shared.
    pub(super) shared: Option<String>,
    /// The tensors that are left out.
    pub(super) left_out: LeftOut,
    /// The attributes of the new file, or `None` if they are those of the archive.
    attributes: Option<Encoded>,
    casts: Option<[Cast<'a>; 4]>,
    beyond: Beyond<'a>,
    progress: &'a Progress,
    files: Sources<'a>,
    verifier: Verifier,
}

impl<'a> Archived<'a> {
    /// Selects the objects of `archive` as `plan` asks. `progress` shows how many bytes have been read, and `overflow`
    /// receives the first number beyond the largest of the target type.
    pub(super) fn new(
        args: &'a Convert,
        archive: &'a FileWithShards,
        plan: &Plan,
        (progress, overflow): (&'a Progress, &'a Cell<Option<f64>>),
    ) -> Result<Self, ConvertFailure> {
        if archive.manifest().is_data_shard() {
            return Err(
                Inexpressible::file("it is a data shard, which another file describes").into()
            );
        }
        let selected = plan.select(args, archive).map_err(ConvertFailure::Source)?;
        let Selected { selection, shared, attributes, left_out } = selected;
        let beyond = Beyond { saturates: args.saturate, value: overflow };
        let casts = args.dtype.map(|to| Cast::all(to, beyond));
        let failed = |error| failure(args, archive, &error);
        let mut files = Sources::bind(archive, progress).map_err(failed)?;
        files.require().map_err(failed)?;
        let verifier = archive.verifier();
        let restored = restored(args, archive, &selection)?;
        Ok(Self {
            args,
            archive,
            selection,
            restored,
            shared: shared.note(false),
            left_out,
            attributes,
            casts,
            beyond,
            progress,
            files,
            verifier,
        })
    }

    /// Returns the object that is written as array `at`. Returns `None` if that array is restored from an object.
    fn object(&self, at: usize) -> Option<Tensor<'a>> {
        self.archive.manifest().tensor_at(self.ordinal(at)?)
    }

    /// Returns the ordinal, in the file that is read, of the object that is written as array `at`. Returns `None` if the array
    /// is one of the tensors that a composite object was made of.
    fn ordinal(&self, at: usize) -> Option<u32> {
        match &self.restored {
            None => Some(self.selection.ordinal(at)),
            Some(restored) => restored.object(at).map(|at| self.selection.ordinal(at)),
        }
    }

    /// Returns the original tensor that array `at` restores, or `None` if array `at` is an object of the file.
    fn original(&self, at: usize) -> Option<&Original<'a>> {
        self.restored.as_ref()?.original(at)
    }

    /// Returns the type to which the values of `object` are dequantized, or `None` if the object is not quantized or
    /// `--dequantize` is not given.
    fn dequantizes(&self, object: &Tensor<'_>) -> Option<Float> {
        self.args.dequantize.filter(|_| object.is_quantized())
    }

    fn cast(&self, object: &Tensor<'_>) -> Option<Cast<'a>> {
        let casts = self.casts.as_ref()?;
        casts.get(Cast::of(object, casts)?).copied()
    }
}

/// Finds the tensors that the selected objects of `archive` were made of. Returns `None` if each selected object is written as it
/// is, or dequantized. Two tensors of one name are an error.
fn restored<'a>(
    args: &Convert,
    archive: &'a FileWithShards,
    selection: &Selection,
) -> Result<Option<Restored<'a>>, ConvertFailure> {
    if args.dequantize.is_some() {
        return Ok(None);
    }
    let failed = |error: OutOfMemory| failure(args, archive, &error.into());
    let object = |at| {
        let object = archive.manifest().tensor_at(selection.ordinal(at))?;
        Some((object, selection.new_name(object.ordinal()).unwrap_or(object.name())))
    };
    let objects = (0..selection.len(archive)).filter_map(object);
    let Some(restored) = Restored::find(objects).map_err(failed)? else { return Ok(None) };
    let name = |at| object(at).map_or("", |(_, name)| name);
    if let Some(name) = restored.repeated_name(name).map_err(failed)? {
        let sentence = "two tensors would have this name after the quantized tensors are restored";
        return Err(Inexpressible::tensor(name, sentence).into());
    }
    Ok(Some(restored))
}

fn failure(args: &Convert, archive: &FileWithShards, error: &Error) -> ConvertFailure {
    ConvertFailure::Source(Box::new(Problem::reading(&args.input, archive, error)))
}

impl ArrayList for Archived<'_> {
    fn count(&self) -> usize {
        match &self.restored {
            None => self.selection.len(self.archive),
            Some(restored) => restored.count(),
        }
    }

    fn name(&self, at: usize) -> &str {
        if let Some(original) = self.original(at) {
            return original.name();
        }
        let new = self.ordinal(at).and_then(|ordinal| self.selection.new_name(ordinal));
        new.or_else(|| Some(self.object(at)?.name())).unwrap_or_default()
    }

    fn array(&self, at: usize) -> Result<Array, String> {
        if let Some(original) = self.original(at) {
            return Ok(Array { shape: original.shape().to_vec(), dtype: original.dtype() });
        }
        let object = self.object(at).ok_or("no such object")?;
        if let Some(dtype) = self.dequantizes(&object) {
            return Ok(Array { shape: object.shape().to_vec(), dtype: dtype.dtype() });
        }
        if object.layout() != Layout::Dense {
            let format = escape::quoted(&escape::cut(object.layout_name(), NAME));
            let advice = if object.is_quantized() {
                "; --dequantize writes its values as floats"
            } else {
                ""
            };
            return Err(format!("its layout is {format}, expected dense{advice}"));
        }
        if object.has_attributes() && !(self.args.drop_attributes && drops(&object)) {
            return Err(
                "it has attributes, but only attributes of the file can be written".to_owned()
            );
        }
        let mut components = object.components();
        let (Some(component), None) = (components.next(), components.next()) else {
            return Err("it has components other than its data".to_owned());
        };
        let cast = self.cast(&object).and(self.args.dtype);
        let dtype = cast.map_or(component.dtype(), Float::dtype);
        if dtype == DType::Unknown && opaque(&component).is_none() {
            let name = escape::quoted(&escape::cut(component.type_name(), NAME));
            return Err(format!("its type {name} is unknown"));
        }
        Ok(Array { shape: object.shape().to_vec(), dtype })
    }

    fn opaque(&self, at: usize) -> Option<OpaqueType<'_>> {
        let (name, size) = opaque(&self.object(at)?.component("data")?)?;
        Some(OpaqueType { name, size })
    }

    fn attributes(&self) -> Attributes<'_> {
        self.attributes.as_ref().map_or_else(|| self.archive.attributes(), Encoded::entries)
    }
}

impl ArraySource for Archived<'_> {
    type Error = Box<Problem>;

    fn read(&mut self, at: usize, take: &mut ChunkFn<'_>) -> Result<(), ConvertFailure> {
        if let Some(original) = self.restored.as_ref().and_then(|all| all.original(at)) {
            let (mut stopped, progress) = (None, self.progress);
            let read = original.read(&self.files.all(), &mut self.verifier, &mut |bytes| {
                if stopped.is_none() {
                    stopped = take(bytes).err();
                    if stopped.is_some() {
                        progress.stop();
                    }
                }
                Ok(())
            });
            if let Some(error) = stopped {
                return Err(ConvertFailure::Output(error));
            }
            return read
                .map_err(|error| failure(self.args, self.archive, &self.files.settle(error)));
        }
        let Some(object) = self.object(at) else { return Ok(()) };
        let (mut stopped, cast) = (None, self.cast(&object));
        let files = self.files.all();
        let (bound, to) = (object.read_from(&files), self.dequantizes(&object));
        let rejected = |error| failure(self.args, self.archive, &error);
        if let Some(to) = to {
            let dequantized = Dequantized { to, beyond: self.beyond };
            let written = dequantized.read(&mut self.verifier, &bound, take);
            if let Some(value) = self.beyond.value.get() {
                let sentence = overflow(value, to.dtype());
                return Err(Inexpressible::tensor(object.name(), sentence).into());
            }
            let written = written.map_err(|error| rejected(self.files.settle(error)));
            return written?.map_err(ConvertFailure::Output);
        }
        let read = self.verifier.object(&bound, |component, chunk| {
            if stopped.is_none() {
                stopped = match &cast {
                    Some(cast) => cast.chunk(chunk, take).err(),
                    None => Normalization::bools(component).chunk(chunk, |bytes| take(bytes)).err(),
                };
                if stopped.is_some() {
                    self.progress.stop();
                }
            }
        });
        if let Some((value, to)) = self.beyond.value.get().zip(self.args.dtype) {
            let sentence = overflow(value, to.dtype());
            return Err(Inexpressible::tensor(object.name(), sentence).into());
        }
        if let Some(error) = stopped {
            return Err(ConvertFailure::Output(error));
        }
        read.map_err(|error| failure(self.args, self.archive, &self.files.settle(error)))
    }
}

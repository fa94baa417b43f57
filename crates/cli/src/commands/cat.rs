//! `zten cat`: prints the elements of one component.

mod dequantized;
mod feed;
mod opaque;
mod print;
mod slice;
mod steps;

use std::io;
use std::ops::Range;

use zten::element::StorageType;
use zten::finding::counted;
use zten::manifest::ElementType;
use zten::num::u64_from_usize;
use zten::view::Normalization;
use zten::{Component, Error, Generation, Layout, Tensor, verify::Verified};

use crate::args::Cat;
use crate::args::nearest::nearest;
use crate::escape;
use crate::input::file::FileWithShards;
use crate::input::sources::Sources;
use crate::npy;
use crate::number::{Fp8, NumberKind, Style};
use crate::output::app::App;
use crate::output::progress::{self, Progress};
use crate::output::report::Problem;
use crate::size::human;
use crate::source::remote::shown;
use feed::{ComponentReader, FeedFailure, HoldUntilVerified, NeededBytes};
use opaque::Opaque;
use print::{Elements, Nested, Printer};
use slice::Slice;
use steps::Steps;

/// The largest number of roles that a message lists.
const ROLES: usize = 16;
/// The largest number of terminal columns of the name of a type in a message.
const TYPE: usize = 40;

/// Prints one component of `archive`, or the reason why it cannot be printed.
pub(crate) fn run(app: &mut App, args: &Cat, archive: &FileWithShards) -> io::Result<()> {
    if (args.raw || args.npy) && progress::output_is_terminal() {
        return app.usage(
            "standard output is a terminal, and --raw and --npy write binary data: redirect it",
        );
    }
    match find(archive, args).and_then(|component| print(app, args, archive, component)) {
        Ok(()) => Ok(()),
        Err(Stop::Usage(message)) => {
            app.usage(format_args!("{}: {message}", escape::path(&shown(&archive.path))))
        }
        Err(Stop::Problem(problem)) => app.problem(&problem),
        Err(Stop::Output(error)) => Err(error),
    }
}

/// The reason why printing stopped.
enum Stop {
    /// The command line asks for an object, component or slice that does not exist, or for a form in which the elements
    /// cannot be printed.
    Usage(String),
    /// The file is invalid, or cannot be read.
    Problem(Box<Problem>),
    /// Standard output cannot be written to.
    Output(io::Error),
}

/// Returns the component that the command line asks for. If it asks for the values of a quantized tensor, returns the first
/// component of the tensor. Returns a message if there is no such tensor or component, or several components and none is called
/// `data`.
fn find<'a>(archive: &'a FileWithShards, args: &Cat) -> Result<Component<'a>, Stop> {
    let object = match (args.index, &args.name) {
        (Some(index), _) => archive.manifest().tensor_at(index).ok_or_else(|| {
            let count = counted(u64_from_usize(archive.len()), "tensor");
            format!("no tensor {index}: the file has {count}, and the first one has the index 0")
        }),
        (None, name) => {
            let name = name.as_deref().unwrap_or_default();
            // A name with hidden characters is given as `ls` prints it, unless another tensor has exactly this text as its name.
            let printed = || archive.get(&escape::unescaped(name));
            match archive.get(name).or_else(printed) {
                Some(object) => Ok(object),
                None => archive.tensor(name).map_err(|error| error.to_string()),
            }
        }
    };
    let object = object.map_err(Stop::Usage)?;
    let mut components = object.components();
    let component = match (&args.component, components.next(), components.next()) {
        (Some(role), ..) => object.component(role),
        (None, Some(only), None) => Some(only),
        // The values of a quantized object need all of its components, so the first component stands for the object.
        (None, first, _) if dequantized::is_requested(&object, args) => first,
        (None, ..) => object.component("data"),
    };
    match component {
        Some(component) => Ok(component),
        None => Err(Stop::Usage(no_component(&object, args.component.as_deref()))),
    }
}

/// Returns the message for a missing or ambiguous component, which lists the components of `object`.
fn no_component(object: &Tensor<'_>, role: Option<&str>) -> String {
    let name = escape::quoted(object.name());
    let mut there: Vec<_> =
        object.components().take(ROLES).map(|component| escape::role(component.role())).collect();
    if object.components().len() > ROLES {
        there.push("…".to_owned());
    }
    let there = match there.join(", ") {
        none if none.is_empty() => "none".to_owned(),
        some => some,
    };
    match role {
        Some(role) => {
            let roles = object.components().take(ROLES).map(|component| component.role());
            let near = nearest(role, roles, 0.8);
            let near = near.map(|near| format!("; did you mean {}?", escape::role(near)));
            let near = near.unwrap_or_default();
            format!("{name} has no component {}, expected {there}{near}", escape::role(role))
        }
        None => format!("{name} has several components ({there}): choose one with --component"),
    }
}

/// Prints the elements of `component`, or the values of its object if the object is quantized.
fn print(
    app: &mut App,
    args: &Cat,
    archive: &FileWithShards,
    component: Component<'_>,
) -> Result<(), Stop> {
    let rejected =
        |error: Error| Stop::Problem(Box::new(Problem::reading(&archive.path, archive, &error)));
    let progress = Progress::new(component.extent().length()).quiet_on_terminal();
    let object = component.tensor();
    let is_dequantized = dequantized::is_requested(&object, args);
    let read = components_to_read(&component, is_dequantized);
    // The components of a quantized tensor may be in several shards.
    let files = if is_dequantized && object.components().len() > 1 {
        Sources::bind(archive, &progress)
    } else {
        Sources::bind_for(archive, &progress, &component)
    };
    let mut files = files.map_err(rejected)?;
    files.verify_for(&read).map_err(rejected)?;
    let files = files.all();
    let component = &component.read_from(&files);
    let source = &component.located().map_err(rejected)?;
    let object = &component.tensor();
    let unsupported = |part: &Component<'_>, id| {
        Stop::Problem(Box::new(Problem::unsupported(&archive.path, archive, part, id)))
    };
    component.readable().map_err(rejected)?;
    let packed = zten_report::unpacked::count(component).filter(|_| !args.raw);
    let opaque = opaque_type(args, component).map_err(Stop::Usage)?;
    let kind = kind(args, component, packed, opaque.is_some());
    let kind = kind.ok_or_else(|| unsupported(component, "unsupported-dtype"))?;
    // Files of 0.1 may have layouts of their own. Only the writer knows what the components of such an object mean.
    let is_unknown =
        component.generation() == Some(Generation::V0_1) && object.layout() == Layout::Unknown;
    if is_unknown && !args.raw {
        return Err(unsupported(component, "unsupported-layout"));
    }

    let shard = component.shard().and_then(|name| archive.shard_file(name));
    let file = shard.map_or(archive.source(), |shard| &shard.file);
    let is_remote = !file.is_local();
    let reader = ComponentReader { component, source, packed, is_remote };
    let plan = |ranges: &mut dyn Iterator<Item = Range<u64>>| {
        file.plan([ranges]).map_err(|error| rejected(error.into()))
    };
    if is_remote && (is_dequantized || args.slice.is_none()) {
        plan(&mut read.iter().map(|part| part.extent().range()))?;
    }
    let failed = |failure| match failure {
        FeedFailure::Output(error) => Stop::Output(error),
        FeedFailure::Read(error) => rejected(error),
    };
    let kind = if is_dequantized { NumberKind::Plain(StorageType::F32) } else { kind };
    let width = opaque.map_or(kind.width(), |(_, width)| width);
    let whole = if is_dequantized {
        Some(object.shape().to_vec())
    } else {
        shape(object, component, width, packed)
    };
    let select = |text: &String| {
        let whole = whole.as_deref().ok_or("--slice is for dense tensors and quantized blocks")?;
        Slice::parse(text)?.apply(whole)
    };
    let selection = args.slice.as_ref().map(select).transpose().map_err(Stop::Usage)?;
    let mut shape = selection.as_ref().map(|selection| selection.shape.clone()).or(whole.clone());
    let (mut part, mut steps) = (None, None);
    if let (Some(selection), Some(whole)) = (&selection, &whole) {
        if is_dequantized {
            steps = Steps::of_array(whole, selection, width);
        } else {
            let slice = object.slice(&selection.ranges[..]).map_err(rejected)?;
            if is_remote {
                let mut all = [component.extent().range()].into_iter();
                match reader.parts() {
                    // Reads from a shard fetch more than the runs, to compare the bytes with the verified ones.
                    NeededBytes::Runs if shard.is_none() => {
                        plan(&mut slice.file_ranges().map_err(rejected)?)?;
                    }
                    NeededBytes::Runs | NeededBytes::Whole => plan(&mut all)?,
                    NeededBytes::Frames => {}
                }
            }
            part = Some(slice);
            steps = Steps::of_ranges(selection, width);
        }
    }
    let is_shortened = shortens(args) && (packed.or(component.decoded_length())).is_some();
    if (args.npy || is_shortened) && shape.is_none() {
        shape = Some(vec![reader.count(width).map_err(failed)?]);
    }
    let printer = printer(args, (kind, opaque), shape, component)?;
    let mut held = HoldUntilVerified::new(printer, &mut app.out);
    let mut take = |bytes: &[u8]| match &mut steps {
        Some(steps) => steps.chunk(bytes, &mut |bytes| held.push(bytes)),
        None => held.push(bytes),
    };
    let not = |verified| (verified == Verified::Unverifiable).then_some(*component);
    let unverified = match &part {
        _ if is_dequantized => dequantized::read(object, &mut take),
        Some(slice) => reader.read_slice(slice, &mut take).map(not),
        None => reader.read_elements(&mut take).map(not),
    };
    let unverified = unverified.map_err(failed)?;
    held.end().map_err(Stop::Output)?;
    match unverified {
        Some(part) => Err(unsupported(&part, "unsupported-digest")),
        None => Ok(()),
    }
}

/// Returns the components that `zten cat` reads from the file or shard that holds `component`: only `component`, or all components
/// of its tensor (such as scales) if values are dequantized.
fn components_to_read<'a>(component: &Component<'a>, is_dequantized: bool) -> Vec<Component<'a>> {
    let beside = component.tensor().components();
    beside
        .filter(|other| other.shard() == component.shard())
        .filter(|other| is_dequantized || other.location() == component.location())
        .collect()
}

/// Returns the type as which the elements of `component` are printed, or `None` if they cannot be printed. `packed` is the number
/// of elements if two of them share a byte.
fn kind(
    args: &Cat,
    component: &Component<'_>,
    packed: Option<u64>,
    is_opaque: bool,
) -> Option<NumberKind> {
    match (packed, NumberKind::of_component(component)) {
        (Some(_), _) => Some(NumberKind::Fp8(Fp8::E2M1)),
        (None, None) => (args.raw || is_opaque).then_some(NumberKind::Plain(StorageType::U8)),
        (None, kind) => kind,
    }
}

/// Returns the name of the type of opaque elements and their size in bytes, or `None` if the elements of `component` are not
/// opaque.
///
/// # Errors
/// An element is too large to be printed as text or JSON, or for the memory of this machine.
fn opaque_type<'a>(
    args: &Cat,
    component: &Component<'a>,
) -> Result<Option<(&'a str, usize)>, String> {
    let ElementType::Opaque(name, size) = component.element_type() else { return Ok(None) };
    let fits = args.raw || args.npy || size <= opaque::MOST;
    let size = usize::try_from(size).ok().filter(|_| fits).ok_or_else(|| {
        let (name, most) = (escape::word(name, TYPE), human(opaque::MOST));
        format!(
            "an element of the type {name} has more than {most}, which is too large to print; --raw writes its bytes"
        )
    })?;
    Ok(Some((name, size)))
}

/// Returns the printer of elements of type `kind`, or of the opaque type with this name and width. `shape` must be known for a
/// NumPy file.
fn printer(
    args: &Cat,
    (kind, opaque): (NumberKind, Option<(&str, usize)>),
    shape: Option<Vec<u64>>,
    component: &Component<'_>,
) -> Result<Printer, Stop> {
    if args.raw {
        return Ok(Printer::Bytes { header: Vec::new(), normalization: None });
    }
    if args.npy {
        let shape = shape.unwrap_or_default();
        let header = match opaque {
            Some((name, _)) => npy::opaque_header(name, &shape),
            None => npy::header(kind, &shape),
        };
        let header = header.map_err(Stop::Usage)?;
        let normalization = Some(Normalization::bools(component));
        return Ok(Printer::Bytes { header, normalization });
    }
    let style = if args.json { Style::Json } else { Style::Text };
    let elements = match opaque {
        Some((name, width)) => Elements::Opaque(Opaque::new(name, width, style)),
        None => Elements::Numbers(kind),
    };
    let nested = Nested::new(elements, style, shape);
    Ok(Printer::Nested(if shortens(args) { nested.shortened() } else { nested }))
}

/// Returns whether only the edges of large arrays are printed: the output is text on a terminal, and `--full` is not given.
fn shortens(args: &Cat) -> bool {
    let is_text = !(args.raw || args.npy || args.json);
    is_text && !args.full && progress::output_is_terminal()
}

/// Returns the shape in which the elements of `component`, of `width` bytes each, are printed, or `None` if they are printed as a
/// list. `packed` is the number of elements if two elements share a byte.
fn shape(
    object: &Tensor<'_>,
    component: &Component<'_>,
    width: usize,
    packed: Option<u64>,
) -> Option<Vec<u64>> {
    // Bytes that several elements share have no shape, unless the elements are unpacked.
    let is_opaque = matches!(component.element_type(), ElementType::Opaque(..));
    let whole = packed.is_some() || is_opaque || NumberKind::of_component(component).is_some();
    if object.layout() != Layout::Dense || component.role() != "data" || !whole {
        return None;
    }
    // Elements of an unknown type are printed as their storage type, which may have another size.
    let elements = object.element_count()?;
    let bytes = elements.checked_mul(u64::try_from(width).ok()?);
    let whole = bytes.is_some() && bytes == component.decoded_length() || packed == Some(elements);
    whole.then(|| object.shape().to_vec())
}

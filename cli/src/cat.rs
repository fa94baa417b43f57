//! `zten cat`: the elements of one component.

mod dequantized;
mod feed;
mod print;
mod slice;
mod steps;
pub(crate) mod unpacked;

use std::io;
use std::ops::Range;

use zten::shards::Source as _;
use zten::tools::{Normalization, StorageType};
use zten::{Component, Error, Generation, Layout, Tensor, verify::Verified};

use crate::app::App;
use crate::args::Cat;
use crate::element::{Fp8, Kind, Style};
use crate::escape;
use crate::file::{FileWithShards, Opened};
use crate::npy;
use crate::progress::{self, Progress};
use crate::remote::shown;
use crate::report::Problem;
use crate::sources::Sources;
use feed::{ComponentReader, Failure, HoldUntilVerified, Parts};
use print::{Nested, Printer};
use slice::Slice;
use steps::Steps;

/// Roles that a message lists, at most.
const ROLES: usize = 16;
/// Bytes of a role that may have been meant, at most.
const LONG: usize = 64;

/// Prints one component.
pub(crate) fn run(app: &mut App, args: &Cat, file: Result<Opened, Box<Problem>>) -> io::Result<()> {
    let opened = file.and_then(|file| {
        let path = file.path.clone();
        Ok((path, file.archive(&args.strictness.options())?))
    });
    let (path, archive) = match opened {
        Ok(opened) => opened,
        Err(problem) => return app.problem(&problem),
    };
    let outcome = find(&archive, args).and_then(|component| print(app, args, &archive, component));
    match outcome {
        Ok(()) => Ok(()),
        Err(Stop::Usage(message)) => {
            app.usage(format_args!("{}: {message}", escape::path(&shown(&path))))
        }
        Err(Stop::Problem(problem)) => app.problem(&problem),
        Err(Stop::Output(error)) => Err(error),
    }
}

/// Why there is nothing more to print.
enum Stop {
    /// Something was asked for that is not there.
    Usage(String),
    /// The file is to blame.
    Problem(Box<Problem>),
    /// Standard output is.
    Output(io::Error),
}

/// The component that is asked for.
fn find<'a>(archive: &'a FileWithShards, args: &Cat) -> Result<Component<'a>, Stop> {
    let object = match (args.index, &args.name) {
        (Some(index), _) => archive
            .manifest()
            .tensor_at(index)
            .ok_or_else(|| format!("there is no object {index}: there are {}", archive.len())),
        (None, name) => {
            let name = name.as_deref().unwrap_or_default();
            archive.tensor(name).map_err(|error| error.to_string())
        }
    };
    let object = object.map_err(Stop::Usage)?;
    let mut components = object.components();
    let component = match (&args.component, components.next(), components.next()) {
        (Some(role), ..) => object.component(role),
        (None, Some(only), None) => Some(only),
        (None, ..) => object.component("data"),
    };
    match component {
        Some(component) => Ok(component),
        None => Err(Stop::Usage(no_component(&object, args.component.as_deref()))),
    }
}

/// The role that is most like another, if one is.
fn nearest_role<'a>(object: &Tensor<'a>, role: &str) -> Option<&'a str> {
    let roles = object.components().take(ROLES).map(|component| component.role());
    let short = roles.filter(|role| role.len() <= LONG);
    let likeness = |other: &str| strsim::jaro_winkler(role, other);
    let near = short.map(|other| (likeness(other), other)).filter(|(likeness, _)| *likeness > 0.8);
    near.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, role)| role)
}

/// Which components there are instead.
fn no_component(object: &Tensor<'_>, role: Option<&str>) -> String {
    let name = escape::quoted(object.name());
    let mut there: Vec<_> =
        object.components().take(ROLES).map(|component| escape::role(component.role())).collect();
    if object.components().len() > ROLES {
        there.push("…".to_owned());
    }
    let there = match there.join(", ") {
        none if none.is_empty() => "there is none".to_owned(),
        some => format!("there are {some}"),
    };
    match role {
        Some(role) => {
            let near = nearest_role(object, role).filter(|_| role.len() <= LONG);
            let near = near.map(|near| format!("; did you mean {}?", escape::role(near)));
            let near = near.unwrap_or_default();
            format!("{name} has no component {}: {there}{near}", escape::role(role))
        }
        None => format!("choose a component of {name} by --component: {there}"),
    }
}

/// Prints the component that was found.
fn print(
    app: &mut App,
    args: &Cat,
    archive: &FileWithShards,
    component: Component<'_>,
) -> Result<(), Stop> {
    let refused =
        |error: Error| Stop::Problem(Box::new(Problem::reading(&args.file, archive, &error)));
    let progress = Progress::new(component.extent().length()).quiet_on_terminal();
    let mut files = Sources::bind_for(archive, &progress, &component).map_err(refused)?;
    // What is read of the file that the component is in.
    let object = component.tensor();
    let is_dequantized = dequantized::is_asked(&object, args);
    let beside = object.components().filter(|part| part.shard() == component.shard());
    let read: Vec<_> =
        beside.filter(|part| is_dequantized || part.place() == component.place()).collect();
    files.verify_for(&read).map_err(refused)?;
    let files = files.all();
    let source = &files.locate(&component).map_err(refused)?;
    let component = &component.read_from(&files);
    let object = &component.tensor();
    let unsupported =
        |id| Stop::Problem(Box::new(Problem::unsupported(&args.file, archive, component, id)));
    component.readable().map_err(refused)?;
    let packed = unpacked::count(component).filter(|_| !args.raw);
    let kind = match packed {
        Some(_) => Kind::Fp8(Fp8::E2M1),
        None if args.raw => Kind::of_component(component).unwrap_or(Kind::Plain(StorageType::U8)),
        None => Kind::of_component(component).ok_or_else(|| unsupported("unsupported-dtype"))?,
    };
    let foreign =
        component.generation() == Some(Generation::V0_1) && object.layout() == Layout::Unknown;
    if foreign && !args.raw {
        return Err(unsupported("unsupported-layout"));
    }

    let shard = component.shard().and_then(|name| archive.shard_file(name));
    let file = shard.map_or(archive.source(), |shard| &shard.file);
    let is_remote = !file.is_local();
    let reader = ComponentReader { component, source, packed, is_remote };
    let plan = |ranges: &mut dyn Iterator<Item = Range<u64>>| {
        file.plan([ranges]).map_err(|error| refused(error.into()))
    };
    if is_remote && args.slice.is_none() {
        plan(&mut read.iter().map(|part| part.extent().range()))?;
    }
    let failed = |failure| match failure {
        Failure::Output(error) => Stop::Output(error),
        Failure::Read(error) => refused(error),
    };
    if let Some(quantized) = dequantized::asked(object, args) {
        if args.slice.is_some() {
            return Err(Stop::Usage("--slice is for dense objects".to_owned()));
        }
        let reader = ComponentReader { packed: None, ..reader };
        let kind = Kind::Plain(StorageType::F32);
        let printer = printer(args, kind, Some(object.shape().to_vec()), component)?;
        let mut held = HoldUntilVerified::new(printer, &mut app.out);
        let mut take = |bytes: &[u8]| held.push(bytes);
        let not = dequantized::read(&quantized, &reader, &mut take).map_err(failed)?;
        held.end().map_err(Stop::Output)?;
        let Some(part) = not else { return Ok(()) };
        let problem = Problem::unsupported(&args.file, archive, &part, "unsupported-digest");
        return Err(Stop::Problem(Box::new(problem)));
    }

    let mut shape = shape(object, component, kind, packed);
    let mut part = None;
    if let Some(text) = &args.slice {
        let Some(whole) = &shape else {
            return Err(Stop::Usage("--slice is for dense objects".to_owned()));
        };
        let selection = Slice::parse(text).and_then(|own| own.apply(whole)).map_err(Stop::Usage)?;
        let slice = object.slice(&selection.ranges[..]).map_err(refused)?;
        if is_remote {
            match reader.parts() {
                // Of a shard, more than the runs is read to be compared.
                Parts::Runs if shard.is_none() => plan(&mut slice.file_ranges().map_err(refused)?)?,
                Parts::Runs | Parts::Whole => plan(&mut [component.extent().range()].into_iter())?,
                Parts::Frames => {}
            }
        }
        part = Some((slice, Steps::new(&selection.ranges, &selection.steps, kind.width())));
        shape = Some(selection.shape);
    }
    let is_shortened = shortens(args) && (packed.or(component.decoded_length())).is_some();
    if (args.npy || is_shortened) && shape.is_none() {
        shape = Some(vec![reader.count(kind).map_err(failed)?]);
    }
    let printer = printer(args, kind, shape, component)?;
    let mut held = HoldUntilVerified::new(printer, &mut app.out);
    let mut take = |bytes: &[u8]| held.push(bytes);
    let verified = match part {
        Some((slice, None)) => reader.read_slice(&slice, &mut take),
        Some((slice, Some(mut steps))) => {
            reader.read_slice(&slice, &mut |chunk| steps.chunk(chunk, &mut take))
        }
        None => reader.read_elements(&mut take),
    };
    let verified = verified.map_err(failed)?;
    held.end().map_err(Stop::Output)?;
    if verified == Verified::Unverifiable {
        return Err(unsupported("unsupported-digest"));
    }
    Ok(())
}

/// How elements of that kind are printed; for a NumPy file, their shape has to be known.
fn printer(
    args: &Cat,
    kind: Kind,
    shape: Option<Vec<u64>>,
    component: &Component<'_>,
) -> Result<Printer, Stop> {
    if args.raw {
        return Ok(Printer::Bytes { header: Vec::new(), normalization: None });
    }
    if args.npy {
        let header = npy::header(kind, &shape.unwrap_or_default()).map_err(Stop::Usage)?;
        let normalization = Some(Normalization::bools(component));
        return Ok(Printer::Bytes { header, normalization });
    }
    let style = if args.json { Style::Json } else { Style::Text };
    let nested = Nested::new(kind, style, shape);
    Ok(Printer::Nested(if shortens(args) { nested.shortened() } else { nested }))
}

/// Whether people get the edges of large arrays alone.
fn shortens(args: &Cat) -> bool {
    let is_text = !(args.raw || args.npy || args.json);
    is_text && !args.full && progress::output_is_terminal()
}

/// The shape of what is printed; none where it is only a list. Of elements that share bytes there are
/// so many.
fn shape(
    object: &Tensor<'_>,
    component: &Component<'_>,
    kind: Kind,
    packed: Option<u64>,
) -> Option<Vec<u64>> {
    // The bytes of elements that share them have no shape.
    let whole = packed.is_some() || Kind::of_component(component).is_some();
    if object.layout() != Layout::Dense || component.role() != "data" || !whole {
        return None;
    }
    // Elements of a type that is not known may be of another size than what is printed.
    let elements = object.shape().elements()?;
    let bytes = elements.checked_mul(u64::try_from(kind.width()).ok()?);
    let whole = bytes.is_some() && bytes == component.decoded_length() || packed == Some(elements);
    whole.then(|| object.shape().to_vec())
}

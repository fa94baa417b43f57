//! `zten cat`: the elements of one component.

mod dequantized;
mod feed;
mod print;
mod slice;
mod unpacked;

use std::io;

use zten::{
    Component, Format, Generation, Object, ReadError, StorageType, verify::Verified,
    view::Normalization,
};

use crate::app::App;
use crate::args::Cat;
use crate::element::{Fp8, Kind, Style};
use crate::escape;
use crate::file::FileWithShards;
use crate::mode::Mode;
use crate::npy;
use crate::progress::Watched;
use crate::report::Problem;
use crate::sandbox::{self, Access, Task};
use crate::sources::Placed;
use feed::{ComponentReader, Failure, HoldUntilVerified};
use print::{Nested, Printer};
use slice::Slice;

/// Roles that a message lists, at most.
const ROLES: usize = 16;

/// Prints one component.
pub(crate) fn run(app: &mut App, args: &Cat, mode: Mode) -> io::Result<()> {
    let options = args.strictness.options();
    let access = Access { mode, task: Task::Print, strictness: &args.strictness };
    let Some(file) = sandbox::file(app, &args.file, access)? else {
        return Ok(());
    };
    let archive = match file.archive(&options) {
        Ok(archive) => archive,
        Err(problem) => return app.problem(&problem),
    };
    let outcome = find(&archive, args).and_then(|component| print(app, args, &archive, component));
    match outcome {
        Ok(()) => Ok(()),
        Err(Stop::Usage(message)) => {
            app.usage(format_args!("{}: {message}", escape::path(&args.file)))
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
            .object(index)
            .ok_or_else(|| format!("there is no object {index}: there are {}", archive.len())),
        (None, name) => {
            let name = name.as_deref().unwrap_or_default();
            archive.get(name).ok_or_else(|| {
                format!("there is no object {}; `zten ls` lists them", escape::quoted(name))
            })
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

/// Which components there are instead.
fn no_component(object: &Object<'_>, role: Option<&str>) -> String {
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
        Some(role) => format!("{name} has no component {}: {there}", escape::role(role)),
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
    // Those that it was opened with.
    let limits = archive.limits();
    let refused = |error| Stop::Problem(Box::new(Problem::reading(&args.file, archive, &error)));
    let watched = Watched::new(archive, component.extent().length()).quiet_on_terminal();
    let Placed { object, component, source } =
        Placed::locate(archive, &watched, component).map_err(refused)?;
    let (object, component) = (&object, &component);
    let unsupported =
        |id| Stop::Problem(Box::new(Problem::unsupported(&args.file, archive, component, id)));
    component.readable().map_err(|error| refused(ReadError::Refused(error)))?;
    let packed = unpacked::count(component).filter(|_| !args.raw);
    let kind = match packed {
        Some(_) => Kind::Fp8(Fp8::E2M1),
        None if args.raw => Kind::of_component(component).unwrap_or(Kind::Plain(StorageType::U8)),
        None => Kind::of_component(component).ok_or_else(|| unsupported("unsupported-dtype"))?,
    };
    let foreign = component.generation() == Generation::V0_1 && object.format() == Format::Unknown;
    if foreign && !args.raw {
        return Err(unsupported("unsupported-layout"));
    }

    let reader = ComponentReader { component, source: &*source, limits, packed };
    let failed = |failure| match failure {
        Failure::Output(error) => Stop::Output(error),
        Failure::Read(error) => refused(error),
    };
    if let Some(mx) = dequantized::asked(object, args) {
        if args.slice.is_some() {
            return Err(Stop::Usage("--slice is for dense objects".to_owned()));
        }
        let reader = ComponentReader { packed: None, ..reader };
        let kind = Kind::Plain(StorageType::F32);
        let printer = printer(args, kind, Some(object.shape().collect()), component)?;
        let mut held = HoldUntilVerified::new(printer, &mut app.out);
        let mut take = |bytes: &[u8]| held.push(bytes);
        let not = dequantized::read(&mx, &reader, &mut take).map_err(failed)?;
        held.end().map_err(Stop::Output)?;
        let Some(part) = not else { return Ok(()) };
        let problem = Problem::unsupported(&args.file, archive, &part, "unsupported-digest");
        return Err(Stop::Problem(Box::new(problem)));
    }

    let mut shape = shape(object, component, kind, packed);
    let mut part = None;
    if let Some(text) = &args.slice {
        let slice = Slice::parse(text).map_err(Stop::Usage)?;
        let Some(whole) = &shape else {
            return Err(Stop::Usage("--slice is for dense objects".to_owned()));
        };
        let selection = slice.apply(whole).map_err(Stop::Usage)?;
        let dense = object.dense().map_err(|error| refused(ReadError::Refused(error)))?;
        part = Some((dense, selection.ranges));
        shape = Some(selection.shape);
    }
    if args.npy && shape.is_none() {
        shape = Some(vec![reader.count(kind).map_err(failed)?]);
    }
    let printer = printer(args, kind, shape, component)?;
    let mut held = HoldUntilVerified::new(printer, &mut app.out);
    let mut take = |bytes: &[u8]| held.push(bytes);
    let verified = match part {
        Some((dense, ranges)) => reader.read_slice(&dense, &ranges, &mut take),
        None => reader.read_elements(&mut take),
    };
    let verified = verified.map_err(failed)?;
    held.end().map_err(Stop::Output)?;
    match verified {
        Verified::Unverifiable => Err(unsupported("unsupported-digest")),
        Verified::Digest | Verified::NoDigest => Ok(()),
    }
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
    Ok(Printer::Nested(Nested::new(kind, style, shape)))
}

/// The shape of what is printed; none where it is only a list. Of elements that share bytes there are
/// so many.
fn shape(
    object: &Object<'_>,
    component: &Component<'_>,
    kind: Kind,
    packed: Option<u64>,
) -> Option<Vec<u64>> {
    // The bytes of elements that share them have no shape.
    let whole = packed.is_some() || Kind::of_component(component).is_some();
    if object.format() != Format::Dense || component.role() != "data" || !whole {
        return None;
    }
    // Elements of a type that is not known may be of another size than what is printed.
    let elements = object.shape().elements()?;
    let bytes = elements.checked_mul(u64::try_from(kind.width()).ok()?);
    let whole = bytes.is_some() && bytes == component.decoded_length() || packed == Some(elements);
    whole.then(|| object.shape().collect())
}
